"""SynElo 12v12, 2,000 players, every window full: replay, the same with windows recomputed each time, live rating."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from bench.measuring import timed
from equipoise.core.model import PlayerId
from equipoise.ratings import replay
from equipoise.ratings.history import History
from equipoise.ratings.synelo import formulas as kernel
from equipoise.ratings.synelo.system import SynElo
from equipoise.ratings.system import Match

PLAYERS, SIZE = 2000, 12
WARM_UP, MATCHES, NAIVE_MATCHES, LIVE_ROUNDS = 60_000, 400_000, 10_000, 1000
RUNS = 5


def main() -> None:
    system = SynElo.create()
    replay(system, history(WARM_UP, seed=1))
    assert all(player.count == system.window for player in system.players.values())
    same_numbers(system)

    big, small = history(MATCHES, seed=2), history(NAIVE_MATCHES, seed=3)
    bulk = MATCHES / timed(lambda: replay(system, big), RUNS)
    naive = NAIVE_MATCHES / timed(lambda: recomputed(system, small), RUNS)
    live = timed(lambda: rate_live(system), RUNS) / LIVE_ROUNDS
    print(f"{SIZE}v{SIZE}, {PLAYERS:,} players, full {system.window}-round windows, median of {RUNS} runs")
    print(f"  replay from arrays, end to end    {bulk / 1e6:8.2f} M matches/s   (target 1.00)")
    print(f"  windows recomputed, compiled too  {naive / 1e6:8.3f} M matches/s   (replay: {bulk / naive:.0f} times)")
    print(f"  live rate(), plain Python         {live * 1e6:8.0f} µs a round")


def history(matches: int, seed: int) -> History:
    rng = np.random.default_rng(seed)
    each = 2 * SIZE
    drawn = np.concatenate([rng.permutation(PLAYERS) for _ in range(matches * each // PLAYERS + 1)])
    ranks = rng.integers(0, 2, matches)
    return History(
        players=tuple(PlayerId(str(76561198000000000 + number)) for number in range(PLAYERS)),
        matches=2 * np.arange(matches + 1),
        teams=SIZE * np.arange(2 * matches + 1),
        members=without_repeats(drawn[: matches * each].reshape(matches, each)).astype(np.int32).ravel(),
        ranks=np.stack([ranks, 1 - ranks], axis=1).astype(np.int32).ravel(),
        started_at=np.arange(matches, dtype=np.float64),
    )


def without_repeats(members: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that name no player twice: one that spans two permutations may, and becomes a copy of the first row."""
    ordered = np.sort(members, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    members[twice] = members[0]
    return members


def rate_live(system: SynElo) -> None:
    names = list(system.players)
    for number in range(LIVE_ROUNDS):
        first = number % (PLAYERS - 2 * SIZE)
        teams = tuple(names[first : first + SIZE]), tuple(names[first + SIZE : first + 2 * SIZE])
        system.rate(Match(teams, (number % 2, 1 - number % 2)))


def same_numbers(system: SynElo) -> None:
    small = history(NAIVE_MATCHES, seed=3)
    naive = recomputed(system, small)
    assert np.array_equal(naive, replay(system, small).after)


def recomputed(system: SynElo, small: History) -> NDArray[np.float64]:
    """Ratings after each participation, with every window summed up anew; the system does not change."""
    held = [system.players[player] for player in small.players]
    after = np.empty(len(small.members))
    _recompute(
        small.members.reshape(-1, 2 * SIZE),
        small.ranks,
        np.array([player.rating for player in held]),
        np.array([player.ring for player in held]),
        np.array([player.errors for player in held]),
        np.array([player.head for player in held]),
        after,
        system.constants,
    )
    return after


logistic = numba.njit(kernel.logistic)
fixed = numba.njit(kernel.fixed)
updated = numba.njit(kernel.updated)
NO_SHADOW = -1


@numba.njit
def _recompute(members, ranks, rating, ring, errors, head, after, c):  # type: ignore[no-untyped-def]
    width = c.width
    for match in range(len(members)):
        strength = [rating[members[match, team * SIZE : (team + 1) * SIZE]].sum() for team in range(2)]
        first = logistic((strength[0] - strength[1]) / c.theta)
        for place in range(2 * SIZE):
            player, team = members[match, place], place // SIZE
            expected = first if team == 0 else 1.0 - first
            score = 1.0 - ranks[2 * match + team]
            k = _k(rating[player], ring[player], errors[player], head[player], c)
            rating[player] = updated(rating[player], k * (score - expected), NO_SHADOW, c)
            ring[player, head[player]] = rating[player] - c.initial
            errors[player, head[player]] = fixed(score) - fixed(expected)
            head[player] = (head[player] + 1) % width
            after[match * 2 * SIZE + place] = rating[player]


@numba.njit
def _k(rating, ring, errors, head, c):  # type: ignore[no-untyped-def]
    width, half = c.width, c.width // 2
    total, squares, older, newer, excess = 0.0, 0.0, 0.0, 0.0, 0
    for place in range(width):
        value = ring[head + place - (width if head + place >= width else 0)]
        total += value
        squares += value * value
        excess += errors[place]
        if place < half:
            older += value
        else:
            newer += value
    velocity = abs(newer - older) / half / c.k_max
    volatility = math.sqrt(max(0.0, width * squares - total * total)) / width / c.k_max
    wrong = abs(excess) / kernel.FIXED_POINT / width / kernel.EXCESS
    score = min(1.0, c.velocity * velocity + c.excess * wrong + c.volatility * volatility)
    away = rating - c.initial
    return c.k_min + (c.k_max - c.k_min) * score * math.exp(-away * away / (2.0 * c.compression * c.compression))
