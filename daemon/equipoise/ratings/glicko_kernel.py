"""The arithmetic of Glicko and Glicko-2: rating periods and replay loop, as plain functions that numba can compile.

A player is anything with the fields of `Player`: that object itself in the live path, a record of an array in a
replay.  Ratings and deviations of both systems are in points of Glicko; deviations are kept as variances.  All
functions stand in this one file.  Formulas: docs/ratings/glicko.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.compiled_kernel import compiled as machine_code
from equipoise.ratings.ledger import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

Q = math.log(10.0) / 400.0
"""q: units of the logit per point; 1/q, 173.7178 points, is Glicko-2's unit."""

TOLERANCE = 1e-10
"""How near ln σ² is to its solution when the iteration ends; the paper's 10⁻⁶ shows in no printed digit either."""

NEVER = -math.inf


@dataclass(slots=True)
class Player(Record):
    """What both systems know of a player: as he stands, as the period found him, and what it has said of him."""

    variance: float = 0.0
    """RD², points², by all that is known."""
    volatility: float = 0.0
    """σ of Glicko-2, in its unit per √period."""
    onset_rating: float = 0.0
    onset_variance: float = 0.0
    onset_volatility: float = 0.0
    information: float = 0.0
    """1/d², points⁻²: over the period, Σ q²·g²·E·(1 - E)."""
    surprise: float = 0.0
    """Per point: over the period, Σ q·g·(s - E)."""


class Onset(NamedTuple):
    """A player as his period found him, and what it has said of him since."""

    rating: float
    variance: float
    volatility: float
    information: float
    surprise: float
    doubt: float
    """His variance by all that is known."""


class Constants(NamedTuple):
    """The parameters as the formulas read them."""

    initial: float
    variance: float
    """Points²: a newcomer's, and the most that absence makes of anybody's."""
    growth: float
    """c², points² per period; Glicko-2 has each player's own."""
    tau: float
    """0: Glicko, without volatility."""
    frequency: float
    """Periods per second."""
    pooled: bool
    """Matches of a period of the calendar count as played at once; else each is a period."""


class Rounds(NamedTuple):
    """A `History` of two-team matches as the replay reads it."""

    teams: NDArray[np.int64]
    members: NDArray[np.int32]
    ranks: NDArray[np.int32]
    started_at: Floats
    doors: NDArray[np.int64]
    seated: NDArray[np.int32]
    standing: Floats
    weight: Floats
    """Shape (m,), or empty: 1."""
    share: Floats
    """Shape (p,), NaN counting as 1, or empty: 1."""


def attenuation(variance: float) -> float:
    """g(RD): how little an opponent that is not known well says."""
    return 1.0 / math.sqrt(1.0 + 3.0 * Q * Q * variance / (math.pi * math.pi))


def expectation(difference: float, g: float) -> float:
    """E, or the chance to win; E(x) + E(-x) is exactly 1, and no gap overflows."""
    favourite = 1.0 / (1.0 + math.exp(-g * Q * abs(difference)))
    return 0.5 + math.copysign(favourite - 0.5, difference)


def result(rank: int, other: int) -> float:
    """1, 0.5 or 0; without a branch, which half the time would be guessed wrong."""
    return 0.5 + 0.5 * (rank < other) - 0.5 * (rank > other)


def period_at(at: float, c: Constants) -> int:
    """Number of a period of the calendar; half a second early, so that no multiple of its length is rounded down."""
    return math.floor((at + 0.5) * c.frequency)


def periods_since(p: Player, at: float, c: Constants) -> float:
    """Periods from his last match to one at a time, NaN where unknown; 0 in the same one, and before his first."""
    if p.last_played == NEVER:
        return 0.0 if p.rounds == 0 else 1.0
    if math.isnan(at):
        return 1.0
    if c.pooled:
        return max(0.0, 1.0 * (period_at(at, c) - period_at(p.last_played, c)))
    return max(1.0, (at - p.last_played) * c.frequency)


def grown(p: Player, periods: float, c: Constants) -> float:
    """Variance at the onset of a period.  Glicko-2 adds the period's own σ² when it is rated (its step 6)."""
    if c.tau == 0.0:
        more = c.growth * periods
    else:
        more = max(0.0, periods - 1.0) * p.volatility * p.volatility / (Q * Q)
    return max(p.variance, min(p.variance + more, c.variance))


def onset(p: Player, at: float, c: Constants) -> Onset:
    """What a match finds: the period that he is in already, or a new one."""
    periods = periods_since(p, at, c)
    doubt = grown(p, periods, c)
    new = periods > 0.0 or p.information == 0.0
    return Onset(
        p.rating if new else p.onset_rating,
        doubt if new else p.onset_variance,
        p.volatility if new else p.onset_volatility,
        0.0 if new else p.information,
        0.0 if new else p.surprise,
        doubt,
    )


def learn(p: Player, o: Onset, g: float, expected: float, score: float, weight: float, at: float, c: Constants) -> None:
    """One match of his period; he then stands as if it were its last."""
    information = o.information + weight * Q * Q * g * g * expected * (1.0 - expected)
    surprise = o.surprise + weight * Q * g * (score - expected)
    prior, volatility = o.variance, o.volatility
    if c.tau > 0.0 and information > 0.0:
        volatility = settled(o, information, surprise, c.tau)
        prior += volatility * volatility / (Q * Q)
    variance = prior / (1.0 + prior * information)
    p.rating = o.rating + variance * surprise
    p.variance, p.volatility = variance, volatility
    p.onset_rating, p.onset_variance, p.onset_volatility = o.rating, o.variance, o.volatility
    p.information, p.surprise = information, surprise
    p.rounds += 1
    if at > p.last_played:
        p.last_played = at


def slope(x: float, start: float, phi2: float, v: float, delta2: float, tau: float) -> float:
    """f(x) of Glicko-2, step 5."""
    e = math.exp(x)
    total = phi2 + v + e
    return e * (delta2 - total) / (2.0 * total * total) - (x - start) / (tau * tau)


def settled(o: Onset, information: float, surprise: float, tau: float) -> float:
    """σ' of Glicko-2, step 5: the zero of f by the Illinois form of regula falsi."""
    phi2, v = o.variance * Q * Q, Q * Q / information
    delta = surprise / information * Q
    start, delta2 = math.log(o.volatility * o.volatility), delta * delta
    a, b = start, start - tau
    if delta2 > phi2 + v:
        b = math.log(delta2 - phi2 - v)
    else:
        while slope(b, start, phi2, v, delta2, tau) < 0.0:
            b -= tau
    f_a, f_b = slope(a, start, phi2, v, delta2, tau), slope(b, start, phi2, v, delta2, tau)
    while abs(b - a) > TOLERANCE and f_b != 0.0:
        middle = a + (a - b) * f_a / (f_b - f_a)
        f = slope(middle, start, phi2, v, delta2, tau)
        if f * f_b <= 0.0:
            a, f_a = b, f_b
        else:
            f_a *= 0.5
        b, f_b = middle, f
    return math.exp(0.5 * b)


def replay_duels(rounds: Rounds, records: NDArray[np.void], wins: Floats, after: Floats, c: Constants) -> None:
    """`replay` of one against one, as they stood at the doors."""
    for match in range(len(rounds.started_at)):
        a, b, at = 2 * match, 2 * match + 1, rounds.started_at[match]
        p, q = records[rounds.members[a]], records[rounds.members[b]]
        of, to = onset(p, at, c), onset(q, at, c)
        wins[a] = expectation(p.rating - q.rating, attenuation(of.doubt + to.doubt))
        wins[b] = 1.0 - wins[a]
        weight = rounds.weight[match] if len(rounds.weight) > 0 else 1.0
        own, other = weight * share_at(a, rounds.share), weight * share_at(b, rounds.share)
        score, difference = result(rounds.ranks[a], rounds.ranks[b]), of.rating - to.rating
        g, h = attenuation(to.variance), attenuation(of.variance)
        learn(p, of, g, expectation(difference, g), score, own, at, c)
        learn(q, to, h, expectation(-difference, h), 1.0 - score, other, at, c)
        after[a], after[b] = p.rating, q.rating


def share_at(place: int, share: Floats) -> float:
    """The part of the match that a participant played; 1 where unknown."""
    return 1.0 * share[place] if len(share) > 0 and not math.isnan(share[place]) else 1.0


def seen(
    first: int, last: int, at: float, rounds: Rounds, records: NDArray[np.void], c: Constants
) -> tuple[float, float]:
    """Mean rating and mean variance at the doors; a bot is a newcomer, and so is nobody."""
    rating = variance = 0.0
    for seat in range(first, last):
        number = rounds.seated[seat]
        known = len(rounds.standing) > 0 and not math.isnan(rounds.standing[seat])
        if number < 0:
            rating += rounds.standing[seat] if known else c.initial
            variance += c.variance
        else:
            p = records[number]
            rating += rounds.standing[seat] if known else p.rating
            variance += grown(p, periods_since(p, at, c), c)
    count = last - first
    if count == 0:
        return c.initial, c.variance
    return rating / count, variance / count


def composite(
    first: int, last: int, at: float, rounds: Rounds, records: NDArray[np.void], c: Constants
) -> tuple[float, float]:
    """Mean rating and mean variance of the participants as their period found them."""
    rating = variance = 0.0
    for place in range(first, last):
        o = onset(records[rounds.members[place]], at, c)
        rating += o.rating
        variance += o.variance
    count = last - first
    if count == 0:
        return c.initial, c.variance
    return rating / count, variance / count


def replay_teams(rounds: Rounds, records: NDArray[np.void], wins: Floats, after: Floats, c: Constants) -> None:
    """`replay` of any two teams."""
    teams, doors = rounds.teams, rounds.doors
    for match in range(len(rounds.started_at)):
        a, b, at = 2 * match, 2 * match + 1, rounds.started_at[match]
        rating, variance = seen(doors[a], doors[b], at, rounds, records, c)
        other, other_variance = seen(doors[b], doors[b + 1], at, rounds, records, c)
        wins[a] = expectation(rating - other, attenuation(variance + other_variance))
        wins[b] = 1.0 - wins[a]
        rating, variance = composite(teams[a], teams[b], at, rounds, records, c)
        other, other_variance = composite(teams[b], teams[b + 1], at, rounds, records, c)
        weight = rounds.weight[match] if len(rounds.weight) > 0 else 1.0
        for team in range(a, b + 1):
            g = attenuation(other_variance if team == a else variance)
            expected = expectation(rating - other if team == a else other - rating, g)
            score = result(rounds.ranks[team], rounds.ranks[a + b - team])
            for place in range(teams[team], teams[team + 1]):
                p = records[rounds.members[place]]
                amount = weight * share_at(place, rounds.share)
                learn(p, onset(p, at, c), g, expected, score, amount, at, c)
                after[place] = p.rating


def replay(rounds: Rounds, duels: bool, records: NDArray[np.void], wins: Floats, after: Floats, c: Constants) -> None:
    """Rate match after match; `records`, `wins` (per team) and `after` (per participant) are modified in place."""
    if duels:
        replay_duels(rounds, records, wins, after, c)
    else:
        replay_teams(rounds, records, wins, after, c)


Replay: TypeAlias = Callable[[Rounds, bool, "NDArray[np.void]", "Floats", "Floats", Constants], None]

CALLEES = (
    attenuation,
    expectation,
    result,
    period_at,
    periods_since,
    grown,
    onset,
    slope,
    settled,
    learn,
    share_at,
    seen,
    composite,
    replay_duels,
    replay_teams,
)
"""All that `replay` calls."""

CALLED = (settled, slope)
"""What is worth a real call: it takes long, and no arrays."""


def build(*, compiled: bool) -> Replay:
    """`replay` as it stands here, or compiled with its callees (the machine code is cached on disk)."""
    inline = [function for function in CALLEES if function not in CALLED]
    return machine_code(replay, CALLED, inline) if compiled else replay
