"""Intervals hold what they promise, and the unevenness is the one that comes, where the system's model is true."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

from equipoise.balancing import outlook
from equipoise.core.model import Context, Mode, PlayerId
from equipoise.core.outlook import Outlook
from equipoise.ratings import create
from equipoise.ratings.system import Match

KOTH = Context(Mode.KOTH, "")
SPREAD = 0.25
"""Of true skill, in log-odds: the prior of `joint`."""
SIZE, PEOPLE, ROUNDS, SEEDS = 6, 30, 200, 4


def evening(seed: int) -> list[tuple[float, Outlook]]:
    """True win probability and outlook of each round; teams are drawn at random, as are the results."""
    draw = Random(seed)
    skills = {PlayerId(str(76561198000000000 + n)): draw.gauss(0.0, SPREAD) for n in range(PEOPLE)}
    system, found = create("joint", spread=SPREAD, drift=0.0, drift_days=0.0), []
    for number in range(ROUNDS):
        players = draw.sample(sorted(skills), 2 * SIZE)
        a, b = tuple(players[:SIZE]), tuple(players[SIZE:])
        true = 1 / (1 + math.exp(sum(map(skills.__getitem__, b)) - sum(map(skills.__getitem__, a))))
        found.append((true, outlook(system, KOTH, a, b)))
        ranks = (0, 1) if draw.random() < true else (1, 0)
        system.rate(Match((a, b), ranks, mode="koth", started_at=1e9 + 600.0 * number, seconds=600.0))
    return found


def test_four_of_five_true_chances_are_inside_their_interval_and_teams_are_as_uneven_as_expected() -> None:
    evenings = [evening(seed) for seed in range(SEEDS)]
    for begin, end in ((0, 60), (60, ROUNDS)):
        rounds = [one for found in evenings for one in found[begin:end]]
        inside = fmean(known.low <= true <= known.high for true, known in rounds if known.low and known.high)
        assert 0.72 < inside < 0.88
        expected, came = fmean(known.unevenness for _, known in rounds), fmean(abs(true - 0.5) for true, _ in rounds)
        assert abs(expected - came) < 0.02
