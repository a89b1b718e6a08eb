"""Defaults of a pool: SynElo's largest K in random teams, and systems through the real session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from bench.findings.people import chances, crowd, miss, random_rounds, true_order
from bench.findings.table import against, compared, show
from equipoise.lab.models import Model
from equipoise.lab.simulation.measures import Point, Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.simulation.run import simulate
from equipoise.ratings import replay

SOURCE = 72.0
SMALLER = 24.0
RANDOM_SEEDS, RANDOM_ROUNDS, EARLY = range(1, 21), 4000, 500
SIZES, SPREADS = (1, 2, 4, 6, 9, 12), (0.1, 0.25, 0.5)
SESSION_SEEDS, SESSION_ROUNDS, SESSION_SPREADS = range(1, 17), 2000, (0.1, 0.25)
SMALLER_K = f"synelo:k_factor_max={SMALLER:g}"
SESSIONS = {6: ("synelo", SMALLER_K), 12: ("synelo", SMALLER_K, "trueskill2", "trueskill:beta=12.5")}
"""Systems that play, by team size; the others are compared with the first."""
DRIFT = 0.08
"""Drift of skill in 100 rounds, in standard deviations of skill: the ratio of the defaults of `lab simulate`."""
MEASURES: dict[str, tuple[str, Callable[[Summary], float]]] = {
    "ρ, first half": (".3f", lambda summary: fmean(point.found for point in _halves(summary)[0])),
    "ρ, second half": (".3f", lambda summary: fmean(point.found for point in _halves(summary)[1])),
    "favourite, first half": (".1%", lambda summary: fmean(point.favourite for point in _halves(summary)[0])),
    "favourite, second half": (".1%", lambda summary: fmean(point.favourite for point in _halves(summary)[1])),
}


def main() -> None:
    head = ("spread", "teams", "ρ after 500", "ρ after 4,000", "miss, first 500", "miss, last 3,500")
    rows = [(f"{spread:g}", f"{size} v {size}", *_sized(spread, size)) for spread in SPREADS for size in SIZES]
    show(f"Random teams: K_max {SMALLER:g} against {SOURCE:g}, {len(RANDOM_SEEDS)} seeds", head, rows)
    rows = [row for size in SESSIONS for spread in SESSION_SPREADS for row in _in_sessions(size, spread)]
    show(f"Arena, {SESSION_ROUNDS} rounds, {len(SESSION_SEEDS)} seeds", ("teams", "spread", "system", *MEASURES), rows)


def _sized(spread: float, size: int) -> list[str]:
    """Changes by the smaller K, paired by seed."""
    source, smaller = (
        list(zip(*(_random(spread, size, most, seed) for seed in RANDOM_SEEDS), strict=True))
        for most in (SOURCE, SMALLER)
    )
    forms = (".3f", ".3f", ".4f", ".4f")
    return [against(less, more, form) for less, more, form in zip(smaller, source, forms, strict=True)]


def _random(spread: float, size: int, most: float, seed: int) -> tuple[float, ...]:
    """Order found early and at the end; mean squared miss of the true chance early and later."""
    rng = np.random.default_rng(seed)
    skills = crowd(rng, spread=spread)
    system = Model("synelo", {"k_max": size, "k_factor_max": most}).make()
    found, missed = [], []
    for rounds in (EARLY, RANDOM_ROUNDS - EARLY):
        history = random_rounds(skills, rounds, size, rng)
        true = chances(skills, history.members.reshape(rounds, -1))
        missed.append(miss(replay(system, history).wins[0::2], true))
        found.append(true_order(system, skills))
    return *found, *missed


def _in_sessions(size: int, spread: float) -> list[tuple[str, ...]]:
    names = SESSIONS[size]
    found = [[_session(size, spread, name, seed) for seed in SESSION_SEEDS] for name in names]
    table = compared(found, [form for form, _ in MEASURES.values()])
    return [(f"{size} v {size}", f"{spread:g}", name, *cells) for name, cells in zip(names, table, strict=True)]


def _session(size: int, spread: float, name: str, seed: int) -> list[float]:
    scenario = Scenario(
        SESSION_ROUNDS, seed, slots=2 * size, people=5 * size, spread=spread, drift=DRIFT * spread, stalemates=0
    )
    model = Model.of(name)
    if model.name == "synelo":
        model = Model(model.name, {"k_max": size, **model.settings})
    summary = simulate(scenario, model)
    return [measure(summary) for _, measure in MEASURES.values()]


def _halves(summary: Summary) -> tuple[Sequence[Point], Sequence[Point]]:
    middle = len(summary.points) // 2
    return summary.points[:middle], summary.points[middle:]


if __name__ == "__main__":
    main()
