"""Coverage of the stated intervals: how often the true chance of a round lies within the interval that was stated.

`python -m bench.findings.coverage [--seeds 1-8] [--out FILE]` plays worlds that differ in how far skills differ, and
one that is unlike the model (friends who win together, smurfs, people who leave when they lose, maps that favour a
side), with the configured spread of 0.25 and with one that is learnt.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.findings.evening import DRIFT, Measures
from bench.findings.pools import Found, Pool, play, seed_range
from bench.findings.table import estimate, show
from equipoise.core.model import Mode
from equipoise.lab.simulation.population import Scenario, Visits

SEEDS = "1-8"
ROUNDS = 1000
KOTH = Scenario(rounds=ROUNDS, mode=Mode.KOTH, attendance=Visits.EVENINGS, evening=30)
OTHER = replace(KOTH, parties=6, smurfs=3, quitters=12, churn=0.04, map_spread=0.3, side_advantage=0.1)
WORLDS = {
    **{f"spread {spread:g}": replace(KOTH, spread=spread, drift=DRIFT * spread) for spread in (0.1, 0.25, 0.5, 1.0)},
    "arena, steady, spread 0.5": Scenario(rounds=ROUNDS, evening=100, spread=0.5, drift=0.04),
    "unlike the model": OTHER,
    "unlike the model, spread 0.5": replace(OTHER, spread=0.5, drift=0.04),
    "NS2": replace(KOTH, mode=Mode.NS2, slots=20),
}
WAYS = {
    "fixed": Pool("joint"),
    "learnt": Pool("joint", learns=True),
    "learnt, own scores": Pool("joint", Scenario(scores=0.35, score_offset=0.5), learns=True),
}
"""Of their scenarios the own scores count."""
MEASURES: Measures = {
    "covered": (".0%", lambda found: found["fairness"]["covered"]),
    "second half": (".0%", lambda found: found["fairness"]["covered_late"]),
    "favourite": (".1%", lambda found: found["favourite"]),
    "expected": (".1%", lambda found: found["expected_favourite"]),
    "calibration": (".3f", lambda found: found["quality"]["calibration_error"]),
}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=seed_range, default=SEEDS, metavar="FROM-TO")
    parser.add_argument("--worlds", nargs="*", choices=WORLDS, default=list(WORLDS), metavar="WORLD")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS), metavar="WAY")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("coverage.jsonl"), metavar="FILE")
    asked = parser.parse_args()
    pools = [
        pool(WORLDS[world], way).seeded(seed) for seed in asked.seeds for world in asked.worlds for way in asked.ways
    ]
    found = play({each.key: each for each in pools}, asked.out, asked.jobs)
    rows = [
        (world, way, *row([found[pool(WORLDS[world], way).seeded(seed).key] for seed in asked.seeds]))
        for world in asked.worlds
        for way in asked.ways
    ]
    show(f"80 % intervals, {ROUNDS:,} rounds, {len(asked.seeds)} seeds", ("world", "spread", *MEASURES), rows)


def pool(scenario: Scenario, way: str) -> Pool:
    """A pool of `joint` in a world."""
    made, told = WAYS[way], WAYS[way].scenario
    return replace(made, scenario=replace(scenario, scores=told.scores, score_offset=told.score_offset))


def row(found: Sequence[Found]) -> list[str]:
    """The means over seeds."""
    return [estimate([read(one) for one in found], form) for form, read in MEASURES.values()]


if __name__ == "__main__":
    main()
