"""SynElo: Elo on sums of ratings, with a K for each player that falls as their rating settles.

A team is as strong as the sum of its lineup; the expected score is the logistic of the difference of the sums (F1).
Every participant moves by K times the surprise (F2).  K is between K_min and K_max: large while the convergence score C
(F3) says that the rating still moves, and shrunk far from the initial rating (F4, F5).  C looks back over a window of
the player's last W rounds: the drift of the ratings between the halves of the window (velocity), score less expectation
(excess), and the deviation of the ratings (volatility).

Recomputing C from the window would cost W steps for each player of each round, which makes a replay twenty times as
slow.  So a player keeps the sums over their window, and `remember` changes them in constant time as the oldest row
leaves and the newest enters.  Rounded ratings are whole and small enough for exact sums; the excess is kept in fixed
point, and so is exact in any order; other sums are recomputed each time the window has been overwritten once (`resum`).

A player is a `SynEloPlayer` with a window of their own in a live system; in a replay it is a row of an array, and all
windows lie behind each other in two arrays (`Players`).  Only `window_of` differs.

Formulas F1 to F5 and what their source leaves open: docs/ratings.md.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from equipoise.core.model import logistic
from equipoise.ratings.parts.match_arrays import Lineup, MatchArrays, fraction_played_at, lineup_sums, result
from equipoise.ratings.parts.points import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.match_arrays import Floats

    Ratings: TypeAlias = "array[float] | NDArray[np.float64] | NDArray[np.float32]"
    Errors: TypeAlias = "array[int] | NDArray[np.int64]"

EXCESS = 0.10
"""F3: a win rate this far from the expected one saturates the signal."""

FIXED_POINT = 2.0**50
"""Probabilities enter window sums as multiples of 2⁻⁵⁰: such a sum is exact in any order."""


@dataclass(slots=True)
class SynEloPlayer(Record):
    """A player's rating, the sums over their window, and the rows of the window.

    Windowed ratings are relative to the initial one.  Whole ratings, as banker's rounding makes them, have exact
    sums: `count * squares` stays below 2⁵³ (`synelo.system.LIMIT`).
    """

    count: int = 0
    """Rows in the window."""
    head: int = 0
    """Index of the oldest row; 0 until the window is full."""
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
    """score - expected of each windowed round, in fixed point."""


class SynEloConstants(NamedTuple):
    """SynElo's parameters, in points unless a field says otherwise."""

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
    by_share: bool
    """K counts for the part of the match that a participant played."""


def fixed(probability: float) -> int:
    """A probability or a score as a multiple of 2⁻⁵⁰."""
    # Rounded by adding a half: a probability is never negative, and `round` is slower.
    return int(probability * FIXED_POINT + 0.5)


def convergence(p: SynEloPlayer, c: SynEloConstants) -> float:
    """F3, the convergence score C; 1 below two windowed rounds.  No term is negative: max(0, ·) never binds."""
    count, total, k_max = p.count, p.total, c.k_max
    if count < 2:
        return 1.0
    velocity = abs(p.drift) / (count // 2) / k_max
    excess = abs(p.excess) / FIXED_POINT / count / EXCESS
    # n²·variance; exact for whole ratings, and a little below 0 at worst for others.
    spread = count * p.squares - total * total
    volatility = math.sqrt(max(0.0, spread)) / count / k_max
    return min(1.0, c.velocity * velocity + c.excess * excess + c.volatility * volatility)


def k_factor(p: SynEloPlayer, c: SynEloConstants) -> float:
    """F4 and F5: a player's K in their next round, points."""
    away = p.rating - c.initial
    compression = math.exp(-away * away / (2.0 * c.compression * c.compression))
    return c.k_min + (c.k_max - c.k_min) * convergence(p, c) * compression


def updated(rating: float, change: float, rounds: int, c: SynEloConstants) -> float:
    """F2: the rating after the `rounds`-th round; capped once, by the round that ends the shadow period."""
    after = rating + change
    if c.whole:
        after = float(round(after))
    after = max(c.floor, after)
    # Only in that round: later ratings may pass the cap (docs/ratings.md, what the source leaves open).
    if rounds == c.shadow_rounds:
        after = min(after, c.shadow_cap)
    return after


def wrapped(place: int, width: int) -> int:
    """A place below twice the width, modulo the width; a division would be the slowest step of `remember`."""
    return place - width if place >= width else place


def resum(p: SynEloPlayer, ring: Ratings, base: int) -> None:
    """Recompute the sums from a window whose oldest row is its first."""
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


def remember(p: SynEloPlayer, ring: Ratings, errors: Errors, base: int, error: int, c: SynEloConstants) -> None:
    """Append a player's newest round to their window, in constant time; a full window drops its oldest row.

    The window is at `base` of `ring` and `errors` (modified in place); places not used yet hold 0.
    """
    count, head, width = p.count, p.head, c.width
    full, half = count == width, count // 2
    # A ring: a full window has its oldest row at `head`, where the newest goes.
    place = base + (head if full else count)
    value, oldest = p.rating - c.initial, 1.0 * ring[place]  # a product, to square it in double precision below
    # A place that was not used yet holds 0, so a growing window needs no case of its own.
    p.total += value - oldest
    p.squares += value * value - oldest * oldest
    p.excess += error - errors[place]
    # Before the drift: of a window's first row the middle row is this one, and the drift stays 0.
    ring[place], errors[place] = value, error
    # In a growing window the newer half loses its oldest row, or the older half gains the middle one: the same row.
    # In a full window both happen, and the oldest row leaves the older half.
    p.drift += value - ring[base + wrapped(head + half, width)]
    if full:
        p.drift += oldest - ring[base + wrapped(head + width - half, width)]
        p.head = wrapped(head + 1, width)
    else:
        p.count = count + 1


def move(
    p: SynEloPlayer,
    ring: Ratings,
    errors: Errors,
    base: int,
    surprise: float,
    error: int,
    at: float,
    share: float,
    c: SynEloConstants,
) -> None:
    """Rate one participant of a match at time `at`, NaN where unknown; the arrays as for `remember`.

    `surprise` is score - expected, `error` the same in fixed point, and `share` the part of K that counts.
    """
    # By the window before this round, which is not in it yet.
    k = k_factor(p, c) * share
    p.rounds += 1
    if at > p.last_played:
        p.last_played = at
    p.rating = updated(p.rating, k * surprise, p.rounds, c)
    remember(p, ring, errors, base, error, c)
    if p.head == 0 and p.count == c.width and not c.whole:  # overwritten once: rounding errors do not accumulate
        resum(p, ring, base)


class Players(NamedTuple):
    """The players of a match or of a history; modified in place."""

    records: Any
    """One record per player: objects in a list, or rows of an array."""
    rings: Any = ()
    """In a replay, the windowed ratings of all players; in a live system each record has its own.

    A replay with whole ratings uses single precision, which holds them exactly in half the memory.
    """
    errors: Any = ()
    """score - expected in fixed point, laid out like `rings`."""
    bases: Any = ()
    """Shape (players,): in a replay, the index in `rings` and `errors` where each player's window begins."""


def window_of(number: int, players: Players) -> tuple[Ratings, Errors, int]:
    """A player's window: the array of ratings, that of errors, and the first index in both."""
    record = players.records[number]
    return record.ring, record.errors, 0


def window_in_arrays(number: int, players: Players) -> tuple[Ratings, Errors, int]:
    """`window_of` in a replay."""
    return players.rings, players.errors, players.bases[number]


IN_ARRAYS = {"window_of": window_in_arrays}
"""Replacement for `compiling.compiled` in a replay."""


def expected_score(match: int, lineup: Lineup, records: Any, c: SynEloConstants) -> float:
    """F1, base e: the score expected of a match's first team, from the difference of the lineups' sums.

    The logistic has p(x) + p(-x) = 1 exactly, and no difference overflows.
    """
    strength, second = lineup_sums(match, lineup, records, c.initial)
    return logistic((strength - second) / c.theta)


def rate_match(
    match: int, matches: MatchArrays, players: Players, wins: Floats, after: Floats, c: SynEloConstants
) -> None:
    """Rate a match of two teams; modifies `players`, fills `wins` (per team) and `after` (per participant)."""
    a, b, at = 2 * match, 2 * match + 1, matches.started_at[match]
    wins[a] = expected_score(match, matches.lineup, players.records, c)
    wins[b] = 1.0 - wins[a]
    for team in range(a, b + 1):
        score = result(matches.ranks[team], matches.ranks[a + b - team])
        surprise, error = score - wins[team], fixed(score) - fixed(wins[team])
        for place in range(matches.teams[team], matches.teams[team + 1]):
            number = matches.members[place]
            p = players.records[number]
            ring, errors, base = window_of(number, players)
            share = fraction_played_at(place, matches.fraction_played) if c.by_share else 1.0
            move(p, ring, errors, base, surprise, error, at, share, c)
            after[place] = p.rating


def replay(matches: MatchArrays, players: Players, wins: Floats, after: Floats, c: SynEloConstants) -> None:
    """Rate match after match; modifies `players`, fills `wins`, shape (2·m,), and `after`, shape (p,)."""
    for match in range(len(matches.started_at)):
        rate_match(match, matches, players, wins, after, c)
