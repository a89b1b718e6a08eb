"""`lab tune` on histories of which the last part was never searched: what it hands out against the defaults.

    python -m bench.findings.tuning [FOLDER]

The folder holds `football_intl` and `afl` ([lab](lab.md#figures)); without it only the simulated pools are tuned.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.findings.table import figure, show
from equipoise.core.model import Mode
from equipoise.lab.backtest import backtest, difference
from equipoise.lab.models import Model
from equipoise.lab.reading import read_history
from equipoise.lab.simulation.population import Scenario, Visits
from equipoise.lab.simulation.run import simulate
from equipoise.lab.tune import Tuned, tune
from equipoise.ratings.history import History
from equipoise.ratings.quality import Estimate
from equipoise.ratings.system import Match, Rated, System

SYSTEMS = ("elo", "synelo", "glicko2", "trueskill")
TRIALS, BURN_IN = 200, 0.2
ROUNDS, SEED = 3000, 30
POOLS = {
    "arena, 6 v 6": Scenario(ROUNDS, SEED, slots=12, people=40, stalemates=0),
    "arena, 3 v 3, skill tells": Scenario(ROUNDS, SEED, slots=6, people=20, spread=0.7, drift=0.1),
    "KOTH, 12 v 12, evenings": Scenario(
        ROUNDS, SEED, Mode.KOTH, slots=24, people=60, attendance=Visits.EVENINGS, churn=0.03
    ),
    "KOTH, 6 v 6, a side is better": Scenario(
        ROUNDS, SEED, Mode.KOTH, slots=12, people=40, side_advantage=0.4, map_spread=0.4
    ),
    "arena, 6 v 6, all are alike": Scenario(ROUNDS, SEED, slots=12, people=40, spread=0.0, drift=0.0, bond=0.0),
}


def main(folder: str | None = None) -> None:
    """Tune each system on each history, and measure behind the burn-in, with the calibration of a daemon."""
    rows, spoilt = [], 0
    for name, history in histories(folder):
        for system in SYSTEMS:
            found, rest = tried(system, history)
            spoilt += found.is_better and -rest.value > (rest.error or 0.0)
            rows.append((name, system, of(found.gain), "take it" if found.is_better else "do not", of(rest)))
            print(*rows[-1], found.model, found.trials, file=sys.stderr, flush=True)
    head = ("history", "system", "gain, inside the burn-in", "said", "gain, behind it")
    show(f"{TRIALS} trials on the first {BURN_IN:.0%}; taken and worse by more than one error: {spoilt}", head, rows)


def tried(system: str, history: History) -> tuple[Tuned, Estimate]:
    """What is found on the burn-in, and what it gains behind it."""
    found = tune(Model(system), history, burn_in=BURN_IN, trials=TRIALS)
    start, end = (backtest(model, history, burn_in=BURN_IN, correct="live") for model in (found.start, found.model))
    return found, difference(start, end).log_loss


def of(gain: Estimate | None) -> str:
    """A gain and its error."""
    return "-" if gain is None else f"{figure(gain.value, '+.4f')} ± {gain.error or 0.0:.4f}"


def histories(folder: str | None) -> Iterator[tuple[str, History]]:
    """The two of the folder, and the pools."""
    if folder is not None:
        files = Path(folder)
        yield "football_intl", read_history(files / "football_intl_matches.csv.gz", None)
        yield "afl", read_history(files / "afl_matches.csv.gz", files / "afl_participants.csv.gz")
    for name, scenario in POOLS.items():
        yield name, played(scenario)


def played(scenario: Scenario) -> History:
    """The rounds of a simulated pool that SynElo balances."""
    matches: list[Match] = []

    class Recorded(Model):
        def make(self) -> System[Any]:
            system = super().make()
            rate = system.rate

            def recorded(match: Match) -> Rated:
                # Skills on the scale of another system say nothing.
                matches.append(replace(match, skill_at_start={}))
                return rate(match)

            system.rate = recorded  # type: ignore[method-assign]
            return system

    simulate(scenario, Recorded("synelo"))
    return History.of(matches)


if __name__ == "__main__":
    main(*sys.argv[1:])
