"""Skill of newcomers: how near predictions come to the truth with the coordinate of `joint`, and without it.

`python -m bench.findings.newcomers [--seeds 12]`. Random teams of 12; newcomers are as good as the others,
worse for good, or learn; everybody stays for 30 rounds on average, or 12 regulars for all of them and strangers for 10.
Measured is the loss against predictions by the hidden skills, in thousandths of a nat.
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

import numpy as np

from bench.findings.people import PEOPLE, SPREAD, history_of
from bench.findings.table import compared, show
from equipoise.ratings.history import Floats, History
from equipoise.ratings.joint.formulas import NEWCOMERS
from equipoise.ratings.joint.params import JointParams
from equipoise.ratings.joint.replay import answered
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.quality import logistic

PLACES = 24
KNOWN = 0.7
"""Fraction of returning people among those who come, where people stay for longer."""
RATIOS = (0.0, 0.25, 0.5, 1.0)
"""`newcomers` of `joint`; 0: without the coordinate."""
FORMS = (".2f", ".2f", ".2f", ".2f", ".2f")


@dataclass(frozen=True, slots=True)
class World:
    """Who comes, and how good newcomers are."""

    worth: float = 0.0
    """Skill of newcomers beside the others', log-odds."""
    learn: int = 0
    """Rounds in which they catch up; 0: never."""
    stay: float = 30.0
    regulars: int = 0

    def play(self, rounds: int, seed: int) -> tuple[History, Floats]:
        """The rounds, and the true chances of the first sides."""
        rng = np.random.default_rng(seed)
        skill, played = rng.normal(0, SPREAD, PEOPLE + PLACES * rounds), np.full(PEOPLE + PLACES * rounds, 0)
        here, people = rng.permutation(PEOPLE)[:PLACES], PEOPLE
        seats, true = np.empty((rounds, PLACES), np.int32), np.empty(rounds)
        for number in range(rounds):
            for place in np.flatnonzero(rng.random(PLACES) < 1 / self.stay):
                if place < self.regulars:
                    continue
                away = np.setdiff1d(np.arange(people), here)
                if not self.regulars and rng.random() < KNOWN:
                    here[place] = rng.choice(away)
                else:
                    here[place], people = people, people + 1
            seats[number] = rng.permutation(here)
            lacking = np.maximum(0.0, 1 - played / self.learn) if self.learn else 1.0
            now = skill + self.worth * lacking * (np.arange(len(skill)) >= PEOPLE)
            lead = now[seats[number]].reshape(2, -1).sum(axis=1)
            true[number] = logistic(np.array(lead[0] - lead[1]))
            played[here] += 1
        lost = (rng.random(rounds) >= true).astype(np.int32)
        return history_of(people, seats, lost), true


WORLDS = {
    "as good as the others": World(),
    "as good, people stay half as long": World(stay=15.0),
    "as good, half of them strangers": World(stay=10.0, regulars=12),
    "a spread worse for good": World(-SPREAD),
    "a spread worse, half of them strangers": World(-SPREAD, stay=10.0, regulars=12),
    "a spread worse for 30 rounds": World(-SPREAD, learn=30),
    "two spreads worse for 30 rounds": World(-2 * SPREAD, learn=30),
    "a spread worse for 100 rounds": World(-SPREAD, learn=100),
    "a spread better for good": World(SPREAD),
}
PERIODS = ((0, 100), (100, 250), (250, 500))


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    seeds = range(parser.parse_args().seeds)
    head = ("newcomers are", "coordinate", *(f"{after + 1}–{to}" for after, to in PERIODS), "all", "found")
    rows = []
    for name, world in WORLDS.items():
        played = [world.play(PERIODS[-1][1], seed) for seed in seeds]
        ways = [[measures(ratio, *one) for one in played] for ratio in RATIOS]
        rows += [(name, f"{ratio:g}", *row) for ratio, row in zip(RATIOS, compared(ways, FORMS), strict=True)]
    show(f"Loss against the truth, 1/1000 nat, {len(seeds)} seeds; below the first row differences to it", head, rows)


def measures(ratio: float, rounds: History, true: Floats) -> list[float]:
    """The loss in each period and over all rounds, and the worth that was found, in spreads."""
    system = Joint(JointParams(newcomers=ratio))
    stated = answered(system, rounds).wins
    loss = 1000 * (true * np.log(true / stated) + (1 - true) * np.log((1 - true) / (1 - stated)))
    worth = float(system.active.state.dense.mean[NEWCOMERS]) / SPREAD
    return [*(float(loss[after:to].mean()) for after, to in PERIODS), float(loss.mean()), worth]


if __name__ == "__main__":
    main()
