"""TrueSkill 2's generative model, independent of its inference: one against one by quadrature, and histories drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.history import ALONE, History
from equipoise.ratings.system import Counts, Match
from equipoise.ratings.trueskill2.params import TrueSkill2Params
from tests.ratings.samples import people

POINTS, REACH = 1201, 9.0

_Z = np.linspace(-40.0, 40.0, 80_001)
_PHI = np.array([0.5 * math.erfc(-z / math.sqrt(2.0)) for z in _Z])


def phi(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The normal distribution function, right to 1e-7: a grid has a million points."""
    return np.interp(z, _Z, _PHI)


@dataclass(frozen=True)
class Normal:
    """A skill as a normal distribution, before or after a match."""

    mean: float
    variance: float


def posterior(params: TrueSkill2Params, match: Match, priors: tuple[Normal, Normal]) -> list[Normal]:
    """Both skills after a duel without dynamics, by a sum over a grid of performances."""
    grids = [_grid(prior, params.beta2) for prior in priors]
    x, y = np.meshgrid(grids[0][0], grids[1][0], indexing="ij")
    joint = grids[0][1][:, None] * grids[1][1][None, :] * likelihood(params, match, x, y)
    joint /= joint.sum()
    return [
        _skill(prior, params.beta2, grid[0], joint.sum(axis=1 - axis))
        for axis, (prior, grid) in enumerate(zip(priors, grids, strict=True))
    ]


def evidence(params: TrueSkill2Params, match: Match, priors: tuple[Normal, Normal]) -> float:
    """Log probability of the observations of a duel."""
    grids = [_grid(prior, params.beta2) for prior in priors]
    x, y = np.meshgrid(grids[0][0], grids[1][0], indexing="ij")
    return math.log((grids[0][1][:, None] * grids[1][1][None, :] * likelihood(params, match, x, y)).sum())


def likelihood(
    p: TrueSkill2Params, match: Match, x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Equations (5) to (13), of two performances."""
    (a,), (b,) = match.teams
    fractions = match.fraction_played.get(a, 1.0), match.fraction_played.get(b, 1.0)
    difference = fractions[0] * x - fractions[1] * y
    if match.ranks[0] == match.ranks[1]:
        found = (np.abs(difference) <= p.margin).astype(float)
    else:
        found = ((difference if match.ranks[0] < match.ranks[1] else -difference) > p.margin).astype(float)
    for player, own, other, fraction_played, facing in (
        (a, x, y, fractions[0], fractions[1]),
        (b, y, x, fractions[1], fractions[0]),
    ):
        opponents = other * facing / fraction_played
        minutes = fraction_played * (match.seconds or math.nan) / 60.0
        if player in match.counts:
            found = found * _counts(p, match.counts[player], own, opponents, minutes)
        if player in match.quits:
            behind = phi((p.quit_margin - own + opponents) / math.sqrt(p.quit_variance))
            found = found * (p.quit_unrelated + (1.0 - p.quit_unrelated) * p.quit_related * behind)
    return found


def _counts(
    p: TrueSkill2Params, counts: Counts, own: NDArray[np.float64], other: NDArray[np.float64], minutes: float
) -> NDArray[np.float64]:
    kills = _count(counts.kills, (p.kill_own * own + p.kill_opponent * other) * minutes, p.kill_variance * minutes)
    deaths = _count(counts.deaths, (p.death_own * own + p.death_opponent * other) * minutes, p.death_variance * minutes)
    return kills * deaths


def _count(count: int, mean: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    if count == 0:
        return phi(-mean / math.sqrt(variance))
    return np.exp(-((count - mean) ** 2) / (2.0 * variance)) / math.sqrt(2.0 * math.pi * variance)


def _grid(prior: Normal, beta2: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    z = np.linspace(-REACH, REACH, POINTS)
    weight = np.exp(-0.5 * z * z)
    return prior.mean + math.sqrt(prior.variance + beta2) * z, weight / weight.sum()


def _skill(prior: Normal, beta2: float, x: NDArray[np.float64], weight: NDArray[np.float64]) -> Normal:
    mean = float((x * weight).sum())
    variance = float(((x - mean) ** 2 * weight).sum())
    lever = prior.variance / (prior.variance + beta2)
    skill = prior.mean + lever * (mean - prior.mean)
    return Normal(skill, prior.variance + lever**2 * (variance - prior.variance - beta2))


def drawn(p: TrueSkill2Params, seed: int, matches: int, players: int, size: int) -> History:
    """A history drawn from the model: newcomers throughout, squads, fractions played, quits."""
    rng = np.random.default_rng(seed)
    skill = p.initial + math.sqrt(p.initial_variance) * rng.standard_normal(players)
    squad_offset = np.array((0.0, *p.squad_offset))
    gain, played = np.array(p.experience_offset or (0.0,)), np.zeros(players, int)
    rows = []
    for number in range(matches):
        who = rng.choice(min(players, 4 * size + players * number // matches + 1), 2 * size, replace=False)
        squad, sizes = _squads(rng, size)
        mean = skill[who] + squad_offset[np.minimum(sizes, len(squad_offset)) - 1]
        row = _played(p, rng, mean + math.sqrt(p.beta2) * rng.standard_normal(2 * size))
        rows.append({**row, "members": who, "squad": squad})
        skill[who] += gain[np.minimum(played[who], len(gain) - 1)]
        skill[who] += math.sqrt(p.gamma2) * rng.standard_normal(2 * size)
        played[who] += 1
    facts = {name: np.concatenate([np.atleast_1d(row[name]) for row in rows]) for name in rows[0]}
    for name in ("members", "ranks", "squad"):
        facts[name] = facts[name].astype(np.int32)
    return History(
        players=tuple(people(players)),
        matches=2 * np.arange(matches + 1),
        teams=size * np.arange(2 * matches + 1),
        started_at=900.0 * np.arange(matches),
        **facts,
    )


def _squads(rng: np.random.Generator, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Squads of up to three in each team: their numbers, and the size of each player's squad."""
    squad, sizes = np.full(2 * size, ALONE), np.ones(2 * size, int)
    for team in range(2):
        together = rng.integers(1, 4)
        if together > 1:
            squad[team * size : team * size + together] = team
            sizes[team * size : team * size + together] = together
    return squad, sizes


def _played(p: TrueSkill2Params, rng: np.random.Generator, performance: NDArray[np.float64]) -> dict[str, object]:
    size = len(performance) // 2
    fraction_played = np.where(rng.random(2 * size) < 0.8, 1.0, rng.uniform(0.3, 1.0, 2 * size))
    team = (fraction_played * performance).reshape(2, size).sum(axis=1)
    opponents = np.repeat(team[::-1] / fraction_played.reshape(2, size).sum(axis=1), size)
    seconds = rng.uniform(360.0, 840.0)
    minutes = fraction_played * seconds / 60.0

    def counted(own: float, opponent: float, variance: float) -> NDArray[np.float64]:
        rate = own * performance + opponent * opponents
        return np.maximum(0.0, rate * minutes + np.sqrt(variance * minutes) * rng.standard_normal(2 * size))

    behind = performance - opponents - p.quit_margin + math.sqrt(p.quit_variance) * rng.standard_normal(2 * size) < 0
    quits = (rng.random(2 * size) < p.quit_unrelated) | ((rng.random(2 * size) < p.quit_related) & behind)
    ahead = team[0] - team[1]
    return {
        "ranks": (0, 0) if abs(ahead) <= p.margin else (0, 1) if ahead > 0 else (1, 0),
        "fraction_played": fraction_played,
        "kills": counted(p.kill_own, p.kill_opponent, p.kill_variance),
        "deaths": counted(p.death_own, p.death_opponent, p.death_variance),
        "quit": quits,
        "seconds": seconds,
    }
