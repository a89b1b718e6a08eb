"""How soon teams become fair, without a session: 60 people, 24 at a time, by the real systems and the real splits.

`python -m bench.findings.anew [--seeds 8]`. One place in 24 changes hands every second round; there is no bench, and
skill does not drift. Teams are made anew in every round, or after three wins in a row. Measured is the favourite's true
chance.
"""

from __future__ import annotations

from argparse import ArgumentParser
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.findings.people import PEOPLE, SPREAD, crowd, player
from bench.findings.pools import by_means, weighing
from bench.findings.table import estimate, show
from equipoise.balancing import answer
from equipoise.balancing.chances import MEAN_WEIGHT
from equipoise.core.asks import AskSplit, Purpose
from equipoise.core.events import SplitSolved
from equipoise.core.model import Context, Entry, Mode, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.lab.simulation.outcome_model import CountsModel
from equipoise.lab.simulation.population import Person, Scenario
from equipoise.ratings import create
from equipoise.ratings.history import Floats
from equipoise.ratings.quality import logistic
from equipoise.ratings.system import Match, System, ranks_of

PLACES, ROUNDS, SECONDS = 24, 1000, 150.0
PERIODS = ((0, 50), (50, 150), (150, 300), (300, 600), (600, 1000))
ARENA = Context(Mode.ARENA, "arena_lumberyard")


@dataclass(frozen=True, slots=True)
class Row:
    """One way to make the teams."""

    system: str
    means: bool = False
    scores: float = 0.0
    weight: float = MEAN_WEIGHT


ROWS = {
    "elo, means": Row("elo"),
    "joint, means": Row("joint", means=True),
    "joint, expected square": Row("joint", weight=1.0),
    "joint, expected square, own score r = 0.35": Row("joint", scores=0.35, weight=1.0),
    "joint, even first, then surest": Row("joint"),
    "joint, even first, then surest, own score r = 0.35": Row("joint", scores=0.35),
}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    seeds = range(parser.parse_args().seeds)
    with ProcessPoolExecutor(2) as processes:
        for when, streak in (("in every round", 0), ("after three wins in a row", 3)):
            rows = []
            for name, row in ROWS.items():
                played = list(processes.map(play, seeds, [row] * len(seeds), [streak] * len(seeds)))
                periods = [[float(chances[low:high].mean()) for chances, _ in played] for low, high in PERIODS]
                moved = estimate([moves for _, moves in played], ".1f")
                rows.append((name, *(estimate(values, ".1%") for values in periods), moved))
            head = ("known by, chosen by", *(f"{low}–{high}" for low, high in PERIODS), "moved per round")
            show(f"Teams made anew {when}, {len(seeds)} seeds", head, rows)


def play(seed: int, row: Row, streak: int) -> tuple[Floats, float]:
    """The favourite's true chance in each round, and players put on the other side per round."""
    rng = np.random.default_rng(seed)
    skills, system = crowd(rng), create(row.system)
    counts = CountsModel(Scenario(seed=seed, spread=SPREAD, scores=row.scores))
    people = {player(number): Person(player(number), skill) for number, skill in enumerate(skills)}
    here = [player(int(number)) for number in rng.permutation(PEOPLE)[:PLACES]]
    sides: dict[PlayerId, Side | None] = dict.fromkeys(here)
    found, moved, won_in_a_row, last = np.zeros(ROUNDS), 0, 0, None
    for number in range(ROUNDS):
        if number % 2 == 0:
            _change_one(here, sides, people, rng)
        if number == 0 or not streak or won_in_a_row >= streak:
            before, sides = sides, split_anew(row, system, sides)
            moved += sum(before[each] not in (None, sides[each]) for each in here)
            won_in_a_row = 0
        a, b = ([each for each in here if sides[each] is side] for side in Side)
        lead = sum(people[each].skill for each in a) - sum(people[each].skill for each in b)
        probability = float(logistic(np.array(lead)))
        found[number] = max(probability, 1 - probability)
        won = bool(rng.random() < probability)
        won_in_a_row, last = (won_in_a_row + 1 if won == last else 1), won
        done = counts.drawn(number, dict.fromkeys(here, SECONDS), people)
        match = Match((tuple(a), tuple(b)), ranks_of(float(won)), seconds=SECONDS, counts=done, mode="arena")
        system.rate(match)
    return found, moved / ROUNDS


def _change_one(
    here: list[PlayerId], sides: dict[PlayerId, Side | None], people: dict[PlayerId, Person], rng: np.random.Generator
) -> None:
    """One of those who are away takes the place of one who is here."""
    away, place = [each for each in people if each not in sides], int(rng.integers(PLACES))
    comes = away[int(rng.integers(len(away)))]
    sides[comes] = sides.pop(here[place])
    here[place] = comes


def split_anew(row: Row, system: System[Any], sides: dict[PlayerId, Side | None]) -> dict[PlayerId, Side | None]:
    entries = tuple(Entry(each, side, waiting=side is None) for each, side in sides.items())
    sizes = (PLACES // 2, PLACES // 2)
    asked = AskSplit(Purpose.SCRAMBLE, 0, Text(Phrase.REASON_ROUND_TWO), ARENA, entries, sizes, {}, 0.0)
    with weighing(row.weight):
        solved = by_means(asked, system) if row.means else answer(asked, system)
    assert isinstance(solved, SplitSolved)
    split = solved.split
    return {each: Side.A if each in split.a else Side.B for each in sides}


if __name__ == "__main__":
    main()
