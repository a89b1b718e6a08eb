"""Intervals hold what they promise, and the unevenness is the one that comes, where the system's model is true."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

import numpy as np
import pytest

from equipoise.balancing import outlook
from equipoise.balancing.chances import match_to_come
from equipoise.core.model import Context, Mode, Outlook, PlayerId
from equipoise.ratings import create
from equipoise.ratings.system import Match
from tests.ratings.joint.reference import Reference

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


@pytest.mark.slow
def test_four_of_five_true_chances_are_inside_their_interval_and_teams_are_as_uneven_as_expected() -> None:
    evenings = [evening(seed) for seed in range(SEEDS)]
    for begin, end in ((0, 60), (60, ROUNDS)):
        rounds = [one for found in evenings for one in found[begin:end]]
        inside = fmean(known.low <= true <= known.high for true, known in rounds if known.low and known.high)
        assert 0.72 < inside < 0.88
        expected, came = fmean(known.unevenness for _, known in rounds), fmean(abs(true - 0.5) for true, _ in rounds)
        assert abs(expected - came) < 0.02


@pytest.mark.parametrize("rounds", [0, 60])
def test_sides_of_different_sizes_are_as_uncertain_as_what_head_count_side_and_map_are_worth(rounds: int) -> None:
    """Of 20,000 worlds drawn from all that is known, four of five are inside the interval."""
    system = create("joint", spread=0.12, drift=0.0, drift_days=0.0, side_spread=0.2, map_spread=0.2)
    everything, draw, context = Reference(system.params), Random(5), Context(Mode.KOTH, "koth_viaduct")
    people = [PlayerId(str(76561198000000000 + n)) for n in range(11)]
    for _ in range(rounds):
        draw.shuffle(people)
        match = Match((tuple(people[:6]), tuple(people[6:])), draw.choice([(0, 1), (1, 0)]), sides=("red", "blu"))
        system.rate(match)
        everything.rate(match)
    match = match_to_come(context, people[:6], people[6:])
    signs = dict.fromkeys(people[:6], 1.0) | dict.fromkeys(people[6:], -1.0)
    x = everything.coefficients(match, signs, (6.0, 5.0))
    worlds = np.random.default_rng(3).multivariate_normal(everything.mean, everything.cov, 20_000)
    chances = 1 / (1 + np.exp(-worlds @ x))
    known = outlook(system, context, people[:6], people[6:])
    assert known.low is not None
    assert known.high is not None
    assert np.mean((known.low <= chances) & (chances <= known.high)) == pytest.approx(0.8, abs=0.02)
    assert known.unevenness == pytest.approx(np.mean(np.abs(chances - 0.5)), abs=0.005)
