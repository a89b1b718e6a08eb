"""TrueSkill's generative model on a grid of skills, independent of its inference; and matches to play it with."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core.model import PlayerId
from equipoise.ratings.system import Match
from tests.ratings.samples import people

REACH = 7.0
phi = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)))


@dataclass(frozen=True)
class Skill:
    """A player before the match, and the fraction that they play."""

    mean: float
    deviation: float
    fraction_played: float = 1.0


Side = Sequence[Skill]


def duel_posteriors(sides: tuple[Side, Side], beta: float, margin: float) -> dict[float, list[tuple[float, float]]]:
    """By outcome, mean and deviation of every skill after the match, by summing over a grid of all of them."""
    everybody = [*sides[0], *sides[1]]
    signs = [1.0] * len(sides[0]) + [-1.0] * len(sides[1])
    z = np.linspace(-REACH, REACH, {2: 401, 3: 81, 4: 33}[len(everybody)])
    skills = np.meshgrid(*[skill.mean + skill.deviation * z for skill in everybody], indexing="ij")
    prior = np.exp(-0.5 * sum(grid**2 for grid in np.meshgrid(*[z] * len(everybody), indexing="ij", sparse=True)))
    difference = sum(s * p.fraction_played * x for s, p, x in zip(signs, everybody, skills, strict=True))
    noise = beta * math.sqrt(sum(p.fraction_played**2 for p in everybody))
    above, below = phi((difference - margin) / noise), phi((-difference - margin) / noise)
    likelihoods = {1.0: above, 0.0: below, 0.5: 1 - above - below}
    return {outcome: [moments(x, prior * each) for x in skills] for outcome, each in likelihoods.items()}


def moments(values: NDArray[np.float64], density: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and deviation under an unscaled density."""
    mean = float((values * density).sum() / density.sum())
    return mean, math.sqrt(float(((values - mean) ** 2 * density).sum() / density.sum()))


def performances(
    teams: Sequence[tuple[float, float]], points: int = 161
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """A grid of the performances of teams N(mean, variance), and its density; a known one has one point."""
    axes = [np.linspace(-REACH, REACH, points) if variance > 0 else np.zeros(1) for _, variance in teams]
    density = np.exp(-0.5 * sum(grid**2 for grid in np.meshgrid(*axes, indexing="ij", sparse=True)))
    values = [mean + math.sqrt(variance) * z for (mean, variance), z in zip(teams, axes, strict=True)]
    return np.meshgrid(*values, indexing="ij", sparse=True), density / density.sum()


def many_teams(seed: int, count: int, players: int) -> Iterator[Match]:
    """Two to five uneven teams, draws, leavers, bots in lineups, unknown times, known skills at the start."""
    rng = random.Random(seed)
    everybody = people(players)
    for number in range(count):
        sizes = [rng.randrange(1, 4) for _ in range(rng.randrange(2, 6))]
        chosen = iter(rng.sample(everybody, sum(sizes)))
        teams = tuple(tuple(itertools.islice(chosen, size)) for size in sizes)
        lineup = ((*teams[0], PlayerId("bot:3")), *teams[1:]) if rng.random() < 0.3 else ()
        yield Match(
            teams=teams,
            ranks=tuple(rng.randrange(3) for _ in teams),
            lineup=lineup,
            fraction_played={teams[0][0]: rng.random()} if rng.random() < 0.5 else {},
            skill_at_start={teams[1][0]: 25 + rng.gauss(0, 3)} if rng.random() < 0.3 else {},
            started_at=None if rng.random() < 0.2 else 1e9 + 1e5 * (number + rng.uniform(-0.5, 0.5)),
        )


def orders(count: int) -> Iterator[tuple[int, ...]]:
    """All orders of teams, with ties, as ranks from 0 on."""
    for ranks in itertools.product(range(count), repeat=count):
        if set(ranks) == set(range(max(ranks) + 1)):
            yield ranks


def empty_teams(count: int) -> list[Match]:
    """Every order of teams of one, any of which may be empty or have fraction 0; no player plays twice."""
    made = []
    for ranks, idle in itertools.product(orders(count), itertools.product((False, True), repeat=count)):
        away = sum(ranks) % 2 == 0
        players = [PlayerId(f"{len(made)}.{team}") for team in range(count)]
        teams = tuple(() if none and away else (player,) for player, none in zip(players, idle, strict=True))
        fraction_played = {player: 0.0 for player, none in zip(players, idle, strict=True) if none and not away}
        made.append(Match(teams, ranks, fraction_played=fraction_played))
    return made
