"""Loss where more people play than `joint` keeps dense: who returns has lost their correlations.

`python -m bench.findings.active [--people 75 150 300] [--active 64 125] [--seeds 1-16] [--each 300]`. 24 places, one
of which changes hands every second round, teams at random; from a third of the rounds on, every eighth round those who
are present are split as a due scramble splits them, under each `active`. Measured is the favourite's true chance, and
what it is expected to be by what is known with all people dense: that is the same in the mean, with less noise.
"""

from __future__ import annotations

from argparse import ArgumentParser
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from bench.findings.anew import PLACES, Row, split_anew
from bench.findings.people import chances, crowd, history_of, player
from bench.findings.pools import seed_range
from bench.findings.table import against, estimate, show
from equipoise.balancing.chances import expected_distance
from equipoise.core.model import Side
from equipoise.ratings import replay
from equipoise.ratings.history import Floats, Numbers
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.system import Match

EVERY = 8


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="*", default=(75, 150, 300))
    parser.add_argument("--active", type=int, nargs="*", default=(64, 125), help="beside all")
    parser.add_argument("--seeds", type=seed_range, default="1-16", metavar="FROM-TO")
    parser.add_argument("--each", type=int, default=300, help="rounds of each of the people")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    head = ("active", "favourite's true chance", "beside all dense", "expected", "beside all dense")
    with ProcessPoolExecutor(asked.jobs) as processes:
        for people in asked.people:
            rounds = people * asked.each // PLACES
            sizes = (people, *(size for size in asked.active if size < people))
            found = np.array(list(processes.map(partial(favoured, people, rounds, sizes), asked.seeds)))
            whole = found[:, 0].T
            rows = []
            for place, size in enumerate(sizes):
                cells = zip(found[:, place].T, whole, strict=True)
                both = [(estimate(mine, ".1%"), against(mine, dense, ".2%")) for mine, dense in cells]
                rows.append((f"{size:,}", *both[0], *both[1]))
            show(f"{people:,} people, {rounds:,} rounds, {len(asked.seeds)} seeds", head, rows)


def favoured(people: int, rounds: int, sizes: tuple[int, ...], seed: int) -> Floats:
    """Shape (sizes, 2): the favourite's chance in the splits of one pool, as it is and as the first system expects."""
    rng = np.random.default_rng(seed)
    skills, seats = crowd(rng, people), who_plays(people, rounds, rng)
    lost = (rng.random(rounds) >= chances(skills, seats)).astype(np.int32)
    systems = [Joint.create(active=size) for size in sizes]
    measured = range(rounds // 3, rounds, EVERY)
    found = np.empty((len(measured), len(sizes), 2))
    for split, (start, end) in enumerate(zip((0, *measured), measured, strict=False)):
        for system in systems:
            replay(system, history_of(people, seats[start:end], lost[start:end]))
        here = {player(int(one)): int(one) for one in seats[end]}
        for place, system in enumerate(systems):
            sides = split_anew(Row("joint"), system, dict.fromkeys(here))
            a, b = (tuple(one for one in here if sides[one] is side) for side in Side)
            chance = chances(skills, np.array([[here[one] for one in (*a, *b)]]))[0]
            found[split, place] = (
                max(chance, 1 - chance),
                0.5 + expected_distance(*systems[0].outlook(Match((a, b), (0, 0)))),
            )
    means: Floats = found.mean(axis=0)
    return means


def who_plays(people: int, rounds: int, rng: np.random.Generator) -> Numbers:
    """Shape (rounds, places): the first half of the places is one side. One place changes hands every second round."""
    here = rng.permutation(people)[:PLACES].astype(np.int32)
    seats = np.empty((rounds, PLACES), np.int32)
    for number in range(rounds):
        if number % 2 == 0:
            here[rng.integers(PLACES)] = rng.choice(np.setdiff1d(np.arange(people), here))
        seats[number] = rng.permutation(here)
    return seats


if __name__ == "__main__":
    main()
