"""TrueSkill 2's parameters from a history: what is estimated, and whether counts are used."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import Counts, PlayerId
from equipoise.lab.estimates import climbs, estimates, is_better, losses, unseen
from equipoise.ratings.history import History
from equipoise.ratings.system import Match, ranks_of
from equipoise.ratings.trueskill2.estimate import guess
from equipoise.ratings.trueskill2.params import TrueSkill2Params

DEFAULTS = TrueSkill2Params()
PEOPLE = [PlayerId(f"p{number}") for number in range(24)]


def drawn(count: int, *, by_skill: float, squads: float = 0.0, seed: int = 1) -> History:
    """Rounds of three against three; kills follow skill by this much, else luck and habit; squads gain log-odds."""
    rng = np.random.default_rng(seed)
    skill, habit = rng.normal(0, 0.5, len(PEOPLE)), rng.normal(0, 1.0, len(PEOPLE))
    matches = []
    for number in range(count):
        seats = rng.permutation(len(PEOPLE))[:6]
        a, b = seats[:3], seats[3:]
        together = (tuple(PEOPLE[one] for one in a[:2]),) if squads and number % 2 else ()
        odds = skill[a].sum() - skill[b].sum() + squads * bool(together)
        rate = np.exp(by_skill * skill + (1 - by_skill) * habit)
        counts = {PEOPLE[one]: Counts(kills=int(rng.poisson(5 * rate[one])), deaths=5) for one in seats}
        teams = tuple(PEOPLE[one] for one in a), tuple(PEOPLE[one] for one in b)
        won = float(rng.random() < 1 / (1 + math.exp(-odds)))
        at = 1.7e9 + 600 * number
        matches.append(Match(teams, ranks_of(won), started_at=at, seconds=300.0, counts=counts, squads=together))
    return History.of(matches)


def test_only_what_the_history_holds_is_estimated() -> None:
    duel = ((PEOPLE[0],), (PEOPLE[1],))
    bare = History.of([Match(duel, ranks_of(1.0)), Match(duel, ranks_of(0.0))])
    assert guess(DEFAULTS, bare) == (DEFAULTS, ("initial", "initial_variance", "gamma2"))
    drawn_once = History.of([Match(duel, ranks_of(0.5), quits=frozenset(duel[1])), Match(duel, ranks_of(0.0))])
    start, names = guess(DEFAULTS, drawn_once)
    assert names[3:] == ("margin", "quit_margin", "quit_unrelated", "quit_related")
    assert start.quit_related > 0.0
    full, names = guess(DEFAULTS, drawn(10, by_skill=0.0, squads=1.0))
    assert {"tau2", "kill_own", "death_variance", "squad_offset"} <= set(names)
    assert full.squad_offset == (0.0,)
    assert (full.kill_own > 0 > full.kill_opponent, full.death_own < 0 < full.death_opponent) == (True, True)


def test_what_is_on_already_starts_where_it_is() -> None:
    own = replace(DEFAULTS, kill_own=0.3, kill_variance=2.0, squad_offset=(0.1,), gamma2=0.01, quit_related=0.2)
    start, _ = guess(own, drawn(10, by_skill=0.0, squads=1.0))
    kept = ("kill_own", "kill_opponent", "kill_variance", "squad_offset", "gamma2", "quit_related", "quit_margin")
    assert [getattr(start, name) for name in kept] == [getattr(own, name) for name in kept]


@pytest.mark.slow
def test_counts_that_say_nothing_of_winning_are_left_out_and_squads_that_do_are_not() -> None:
    history = drawn(800, by_skill=0.0, squads=1.0)
    seen: list[None] = []
    best, other = estimates(DEFAULTS, history, 40, lambda: seen.append(None))
    assert (best.counted, other.counted) == (False, True)
    assert len(seen) == 40 * climbs(DEFAULTS, history) == 80
    present = losses(DEFAULTS, history)
    assert len(present) == unseen(history) == 240
    assert best.log_loss < present.mean() < other.log_loss
    assert is_better(best, present)
    assert not is_better(other, present)
    assert best.values()["squad_offset"] == pytest.approx((0.72,), abs=0.25)  # half of 1 log-odds at six players
    assert not any(name.startswith(("kill", "death")) for name in best.values())


@pytest.mark.slow
def test_counts_that_are_configured_and_mislead_are_switched_off() -> None:
    own = replace(DEFAULTS, kill_own=0.3, modes={"koth": {"kill_own": 0.2}})
    best, _ = estimates(own, drawn(800, by_skill=0.0), 40)
    assert best.values()["kill_own"] == 0.0
    assert best.params.modes["koth"]["kill_own"] == 0.0
    assert losses(best.params, drawn(800, by_skill=0.0)).mean() == best.log_loss


@pytest.mark.slow
def test_an_estimate_that_is_better_by_luck_is_not_proposed() -> None:
    """Nobody differs in skill: all that an estimate finds in the rounds that it sees is luck."""
    history = drawn(800, by_skill=0.0)
    flipped = replace(history, ranks=np.random.default_rng(5).permuted(history.ranks.reshape(-1, 2), axis=1).ravel())
    best, *_ = estimates(DEFAULTS, flipped, 20)
    assert not is_better(best, losses(DEFAULTS, flipped))
