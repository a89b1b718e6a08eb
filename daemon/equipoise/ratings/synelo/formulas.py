"""SynElo's arithmetic: formulas, window and replay loop, as plain functions that numba can compile.

A player is anything with the fields of `Player`: that object itself in the live path (`synelo`), a record of an
array in a replay.
Formulas F1 to F5: docs/ratings.md.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts.compiling import compiled as machine_code
from equipoise.ratings.parts.two_teams import lineup_sum, result
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = "array[float] | NDArray[np.float64] | NDArray[np.float32]"
    Ints: TypeAlias = "array[int] | NDArray[np.int64]"

EXCESS = 0.10
"""F3: a win rate this far from the expected one saturates the signal."""

FIXED_POINT = 2.0**50
"""Probabilities enter window sums as multiples of 2⁻⁵⁰: such a sum is exact in any order."""


@dataclass(slots=True)
class Player:
    """What SynElo knows of a player: his standing, the sums over his window, and its rows.

    Windowed ratings are relative to the initial one.  Whole ratings, as banker's rounding makes them, have exact
    sums: `count * squares` stays below 2⁵³ (`synelo.LIMIT`).
    """

    rating: float
    rounds: int = 0
    last_played: float = NEVER
    count: int = 0
    """Rows in the window."""
    head: int = 0
    """Where its oldest row is; 0 until it is full."""
    total: float = 0.0
    squares: float = 0.0
    """Sum of squared ratings."""
    drift: float = 0.0
    """Sum of the newer half less that of the older; the middle row of an odd window belongs to neither."""
    excess: int = 0
    """Sum of score - expected in fixed point."""
    ring: array[float] = field(default_factory=lambda: array("d"))
    """Ratings after each windowed round."""
    errors: array[int] = field(default_factory=lambda: array("q"))
    """score - expected of each, in fixed point."""


RECORD = ("rating", "rounds", "last_played", "count", "head", "total", "squares", "drift", "excess")
"""The fields of a player that a replay keeps in a record; his rows go to arrays of all players."""


class Constants(NamedTuple):
    """The parameters as the formulas read them."""

    initial: float
    floor: float
    shadow_cap: float
    shadow_rounds: int
    theta: float
    width: int
    k_min: float
    k_max: float
    velocity: float
    excess: float
    volatility: float
    compression: float
    whole: bool


def win_probability(difference: float, theta: float) -> float:
    """F1, base e, of the sums' difference; p(x) + p(-x) is exactly 1, and no gap overflows."""
    favourite = 1.0 / (1.0 + math.exp(-abs(difference) / theta))
    return favourite if difference >= 0 else 1.0 - favourite


def fixed(probability: float) -> int:
    """A probability or a score as a multiple of 2⁻⁵⁰."""
    return int(probability * FIXED_POINT + 0.5)


def convergence(p: Player, c: Constants) -> float:
    """F3, the convergence score C; 1 below two windowed rounds.  No term is negative: max(0, ·) never binds."""
    if p.count < 2:
        return 1.0
    velocity = abs(p.drift) / (p.count // 2) / c.k_max
    excess = abs(p.excess) / FIXED_POINT / p.count / EXCESS
    squared = p.count * p.squares - p.total * p.total
    volatility = math.sqrt(max(0.0, squared)) / p.count / c.k_max
    return min(1.0, c.velocity * velocity + c.excess * excess + c.volatility * volatility)


def k_factor(p: Player, c: Constants) -> float:
    """F4 and F5: K of a player as he stands."""
    away = p.rating - c.initial
    compression = math.exp(-away * away / (2.0 * c.compression * c.compression))
    return c.k_min + (c.k_max - c.k_min) * convergence(p, c) * compression


def updated(rating: float, change: float, rounds: int, c: Constants) -> float:
    """F2: the rating after its `rounds`-th round; capped once, by the round that ends the shadow period."""
    after = rating + change
    if c.whole:
        after = float(round(after))
    after = max(c.floor, after)
    if rounds == c.shadow_rounds:
        after = min(after, c.shadow_cap)
    return after


def wrapped(place: int, width: int) -> int:
    """A place below twice the width, modulo the width; a division would be the dearest step of `remember`."""
    return place - width if place >= width else place


def resum(p: Player, ring: Floats, base: int) -> None:
    """Take the sums afresh from a window whose oldest row is its first."""
    half = p.count // 2
    p.total = p.squares = p.drift = 0.0
    for place in range(p.count):
        value = 1.0 * ring[base + place]
        p.total += value
        p.squares += value * value
        if place < half:
            p.drift -= value
        if place >= p.count - half:
            p.drift += value


def remember(p: Player, ring: Floats, errors: Ints, base: int, error: int, c: Constants) -> None:
    """Append his newest round to his window, in constant time; of a full one the oldest row goes.

    The window is at `base` of `ring` and `errors` (modified in place); places not used yet hold 0.
    """
    full, half = p.count == c.width, p.count // 2
    place = base + (p.head if full else p.count)
    value, oldest = p.rating - c.initial, 1.0 * ring[place]  # a product: squared in double precision below
    p.total += value - oldest
    p.squares += value * value - oldest * oldest
    p.excess += error - errors[place]
    ring[place], errors[place] = value, error
    # Growing, the newer half gives up its oldest row or the older half takes in the middle: the same row here.
    # Full, both happen, and the oldest row leaves the older half.
    p.drift += value - ring[base + wrapped(p.head + half, c.width)]
    if full:
        p.drift += oldest - ring[base + wrapped(p.head + c.width - half, c.width)]
        p.head = wrapped(p.head + 1, c.width)
    else:
        p.count += 1


def rate(
    p: Player, ring: Floats, errors: Ints, base: int, expected: float, score: float, at: float, c: Constants
) -> None:
    """One participant of one match at time `at`, or `NEVER`; the arrays as for `remember`."""
    k = k_factor(p, c)
    p.rounds += 1
    p.last_played = max(p.last_played, at)
    p.rating = updated(p.rating, k * (score - expected), p.rounds, c)
    remember(p, ring, errors, base, fixed(score) - fixed(expected), c)
    if p.head == 0 and p.count == c.width and not c.whole:  # once round: unrounded sums gather no drift
        resum(p, ring, base)


class Rounds(NamedTuple):
    """A `History` of two-team matches as the replay reads it."""

    teams: NDArray[np.int64]
    members: NDArray[np.int32]
    ranks: NDArray[np.int32]
    started_at: NDArray[np.float64]
    lineup: NDArray[np.int64]
    lineup_members: NDArray[np.int32]
    skill_at_start: NDArray[np.float64]
    """Empty where nothing is known of any seat."""


class Players(NamedTuple):
    """All players of a history; modified in place by a replay."""

    records: NDArray[np.void]
    """One of `RECORD` each."""
    bases: NDArray[np.int64]
    """Where each one's window begins in `ring` and `errors`."""
    ring: NDArray[np.float64] | NDArray[np.float32]
    """Single precision holds whole ratings exactly, in half the memory."""
    errors: NDArray[np.int64]


def replay(
    rounds: Rounds, players: Players, wins: NDArray[np.float64], after: NDArray[np.float64], c: Constants
) -> None:
    """Rate match after match; fills `wins` (per team) and `after` (per participant)."""
    teams, members, ranks, started_at, lineup, lineup_members, skill_at_start = rounds
    records, bases, ring, errors = players
    for match in range(len(started_at)):
        a, b = 2 * match, 2 * match + 1
        strength_a = lineup_sum(lineup[a], lineup[b], lineup_members, skill_at_start, records, c.initial)
        strength_b = lineup_sum(lineup[b], lineup[b + 1], lineup_members, skill_at_start, records, c.initial)
        wins[a] = win_probability(strength_a - strength_b, c.theta)
        wins[b] = 1.0 - wins[a]
        for team in range(a, b + 1):
            score = result(ranks[team], ranks[a + b - team])
            for place in range(teams[team], teams[team + 1]):
                p, base = records[members[place]], bases[members[place]]
                rate(p, ring, errors, base, wins[team], score, started_at[match], c)
                after[place] = p.rating


Replay: TypeAlias = Callable[[Rounds, Players, "NDArray[np.float64]", "NDArray[np.float64]", Constants], None]


def build(*, compiled: bool) -> Replay:
    """`replay` as it stands here, or compiled with its callees (the machine code is cached on disk)."""
    return machine_code(replay, inline="all") if compiled else replay
