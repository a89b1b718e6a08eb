"""Does throwing games pay? The same six people, once honest and once not; the luck of all others is the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from statistics import fmean

import numpy as np

from bench.findings.people import Round, balanced_rounds, crowd, player
from bench.findings.table import estimate, show
from equipoise.lab.models import Model

SEEDS, ROUNDS, SIZE = range(1, 9), 1500, 12
LATE = 500
"""Rounds before this one are warm-up: none is thrown or counted."""
STOP = 1000
"""Round after which the policy `first` throws no more."""
THROWERS = frozenset(range(6))
SHARE = 1 / 3
Policy = Callable[[int, Collection[int], int], Collection[int]]
"""Given a round's number, the players in it and the seed, the players who throw it."""
SYSTEMS = ("synelo", "elo:k=32", "trueskill:beta=12.5")


def main() -> None:
    rows = [row for system in SYSTEMS for row in _rows(Model.of(system))]
    head = ("system", "policy", "won, all", "won, not thrown", "won after round 1,000", "rating lost, log-odds")
    show(f"Six throwers of 60, rounds {LATE} to {ROUNDS}, {len(SEEDS)} seeds", head, rows)


def never(number: int, here: Collection[int], seed: int) -> Collection[int]:
    """No round is thrown."""
    return ()


def some(number: int, here: Collection[int], seed: int) -> Collection[int]:
    """A third of the rounds is thrown, to the end."""
    if number < LATE:
        return ()
    draws = np.random.default_rng((seed, number)).random(len(THROWERS))
    return {thrower for thrower, draw in zip(sorted(THROWERS & set(here)), draws, strict=False) if draw < SHARE}


def first(number: int, here: Collection[int], seed: int) -> Collection[int]:
    """Every round until `STOP` is thrown, none after it."""
    return THROWERS & set(here) if LATE <= number < STOP else ()


POLICIES = {"honest": never, "a third, always": some, "all, to round 1,000": first}


def _rows(model: Model) -> list[tuple[str, ...]]:
    found = {name: [_fate(model, seed, policy) for seed in SEEDS] for name, policy in POLICIES.items()}
    honest = [fate[-1] for fate in found["honest"]]
    rows = []
    for name, fates in found.items():
        won, clean, after, rated = zip(*fates, strict=True)
        lost = [before - now for before, now in zip(honest, rated, strict=True)]
        rows.append((str(model), name, *(estimate(each, ".1%") for each in (won, clean, after)), estimate(lost)))
    return rows


def _fate(model: Model, seed: int, policy: Policy) -> tuple[float, float, float, float]:
    """Share won of all rounds, of those not thrown, and of those after `STOP`; mean skill in log-odds at the end."""
    rng, system = np.random.default_rng(seed), model.make()
    skills = crowd(rng)
    played = list(balanced_rounds(system, skills, ROUNDS, SIZE, rng, lambda number, here: policy(number, here, seed)))
    rated = fmean(system.skill(player(number)) for number in THROWERS) / system.gap(0.25, SIZE)
    return (
        share_won(played[LATE:]),
        share_won(played[LATE:], thrown=False),
        share_won(played[STOP:]),
        rated,
    )


def share_won(rounds: Sequence[Round], *, thrown: bool = True) -> float:
    """Fraction won of the throwers' rounds; with `thrown=False`, only of those that they did not throw."""
    scores = [
        score
        for one in rounds
        for number in THROWERS
        if (score := one.won(number)) is not None and (thrown or number not in one.thrown)
    ]
    return fmean(scores)


if __name__ == "__main__":
    main()
