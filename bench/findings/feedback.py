"""Does the feedback loop of ratings and balance drive the Brier score to 0.25, and does that mean good ratings?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bench.findings.table import estimate, show
from equipoise.core.rules import Rules, Triggers
from equipoise.lab.models import Model
from equipoise.lab.simulation.measures import Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.simulation.run import simulate
from equipoise.ratings.quality import Quality

SEEDS, ROUNDS = range(1, 6), 2000
SYSTEMS = {
    "synelo": "synelo",
    "synelo that never learns": "synelo:k_factor_min=0,k_factor_max=0.001",
    "synelo, σ off": "synelo:compression=1000000",
    "synelo, σ off, K_max 24": "synelo:compression=1000000,k_factor_max=24",
    "trueskill, β × 3": "trueskill:beta=12.5",
}
MEASURES: dict[str, tuple[str, Callable[[Summary], float]]] = {
    "Brier score": (".3f", lambda summary: _quality(summary).brier.value),
    "by true skill": (".3f", lambda summary: _known(summary.reachable)),
    "log loss": (".3f", lambda summary: _quality(summary).log_loss.value),
    "within 45–55 %": (".3f", lambda summary: _quality(summary).even.value),
    "calibration error": (".3f", lambda summary: _quality(summary).calibration_error),
    "ρ at the end": (".3f", lambda summary: summary.points[-1].found),
    "favourite, truly": (".1%", lambda summary: _known(summary.favourite)),
    "in random teams": (".1%", lambda summary: _known(summary.random)),
}


EVERY_ROUND = Rules(triggers={"arena": Triggers(round_two=True, streak=1)})
"""A scramble after every round: no round is played in teams that are carried over from the one before."""
SCRAMBLED = ("Brier score", "within 45–55 %", "ρ at the end", "favourite, truly")


def main() -> None:
    where = f"second half of {ROUNDS} arena rounds, no stalemates, {len(SEEDS)} seeds"
    rows = [(name, *_measured(runs(text), MEASURES)) for name, text in SYSTEMS.items()]
    show(f"Scrambles after three wins in a row; {where}", ("system", *MEASURES), rows)
    rows = [(name, *_measured(runs(text, EVERY_ROUND), SCRAMBLED)) for name, text in SYSTEMS.items()]
    show(f"A scramble before every round; {where}", ("system", *SCRAMBLED), rows)


def runs(system: str, rules: Rules | None = None) -> list[Summary]:
    """One simulation per seed; without stalemates, predicting 50 % scores exactly 0.25."""
    return [simulate(Scenario(rounds=ROUNDS, seed=seed, stalemates=0), Model.of(system), rules) for seed in SEEDS]


def _quality(summary: Summary) -> Quality:
    assert summary.quality is not None, "nothing was rated"
    return summary.quality


def _known(value: float | None) -> float:
    assert value is not None, "nothing was rated"
    return value


def _measured(summaries: list[Summary], names: Iterable[str]) -> list[str]:
    measures = [MEASURES[name] for name in names]
    return [estimate([measure(summary) for summary in summaries], form) for form, measure in measures]


if __name__ == "__main__":
    main()
