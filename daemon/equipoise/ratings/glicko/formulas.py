"""The arithmetic of Glicko and Glicko-2: rating periods and replay loops, as plain functions that numba can compile.

A player is anything with the fields of `Player`: that object itself in the live path, a record of an array in a
replay.  Ratings and deviations of both systems are in points of Glicko; deviations are kept as variances.
Formulas: docs/ratings/glicko.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from equipoise.ratings.glicko.arrays import Block, Constants, Player, Rounds
from equipoise.ratings.parts.compiling import compiled as machine_code
from equipoise.ratings.parts.exponential import IN_VECTORS, exponential
from equipoise.ratings.parts.two_teams import fraction_played_at, result, within_limit
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    from equipoise.ratings.glicko.arrays import Floats, Records

Q = math.log(10.0) / 400.0
"""q: units of the logit per point; 1/q, 173.7178 points, is Glicko-2's unit."""

SPREAD = 3.0 * Q * Q / (math.pi * math.pi)
"""3q²/π²: what an opponent's variance in points² is beside that of the logistic."""

TOLERANCE = 1e-10
"""How near ln σ² is to its solution when the iteration ends; the paper's 10⁻⁶ shows in no printed digit either."""

FAINTEST = 1e-50
"""Points⁻²: less information says nothing of a volatility; the squares of its inverse would soon be infinite."""

MOST_VOLATILE = 10.0
"""No σ is set, or goes, beyond this: a victory that nobody thought possible would make it some 10⁸."""

BLOCK = 512
"""Matches that `replay_duels` takes at once: what it keeps of them stays in the fastest memory."""


def attenuation(variance: float) -> float:
    """g(RD): how little an opponent that is not known well says."""
    return 1.0 / math.sqrt(1.0 + SPREAD * variance)


def expectation(difference: float, g: float) -> float:
    """E, or the chance to win; E(x) + E(-x) is exactly 1, and no gap overflows."""
    favourite = 1.0 / (1.0 + exponential(-g * Q * abs(difference)))
    return 0.5 + math.copysign(favourite - 0.5, difference)


def evidence(difference: float, g: float, score: float) -> tuple[float, float]:
    """What a match adds to a player's `information` and `surprise`."""
    expected = expectation(difference, g)
    return Q * Q * g * g * expected * (1.0 - expected), Q * g * (score - expected)


def period_of(at: float, c: Constants) -> float:
    """Number of a period of the calendar; infinite where a match is a period of its own, as at a time NaN.

    Half a second early, so that no multiple of a period's length is rounded down.
    """
    if not c.pooled or math.isnan(at):
        return math.inf
    return 1.0 * math.floor((at + 0.5) * c.frequency)


def begins(p: Player, period: float, c: Constants) -> bool:
    """Whether it is a player's first match of a period: as `period_of` his last match is below it."""
    return (p.last_played + 0.5) * c.frequency < period


def periods_since(p: Player, at: float, c: Constants) -> float:
    """Periods from his last match to one at a time, NaN where unknown; 0 in the same one, and before his first."""
    if p.last_played == NEVER:
        return 0.0 if p.rounds == 0 else 1.0
    if math.isnan(at):
        return 1.0
    if c.pooled:
        return max(0.0, period_of(at, c) - period_of(p.last_played, c))
    return max(1.0, (at - p.last_played) * c.frequency)


def grown(p: Player, periods: float, c: Constants) -> float:
    """Variance at the onset of a period.  Glicko-2 adds the period's own σ² when it is rated (its step 6)."""
    if c.tau == 0.0:
        more = c.growth * periods
    else:
        more = max(0.0, periods - 1.0) * p.volatility * p.volatility / (Q * Q)
    return max(p.variance, min(p.variance + more, c.variance))


def enter(p: Player, at: float, new: bool, c: Constants) -> None:
    """He plays at a time: in the period that he is in already, or in a new one that finds him as he stands."""
    if new:
        p.variance = grown(p, periods_since(p, at, c), c)
        p.onset_rating, p.onset_variance, p.onset_volatility = p.rating, p.variance, p.volatility
        p.information = p.surprise = 0.0
    p.rounds += 1
    if at > p.last_played:
        p.last_played = at


def learn(p: Player, information: float, surprise: float, c: Constants) -> None:
    """One match of the period that he has entered; he then stands as if it were its last."""
    p.information += information
    p.surprise += surprise
    prior = p.onset_variance
    if c.tau > 0.0 and p.information > FAINTEST:
        p.volatility = settled(prior, p.onset_volatility, p.information, p.surprise, c.tau)
        prior += p.volatility * p.volatility / (Q * Q)
    p.variance = prior / (1.0 + prior * p.information)
    p.rating = within_limit(p.onset_rating + p.variance * p.surprise)


def slope(x: float, start: float, phi2: float, v: float, delta2: float, tau: float) -> float:
    """f(x) of Glicko-2, step 5."""
    e = math.exp(x)
    total = phi2 + v + e
    return e * (delta2 - total) / (2.0 * total * total) - (x - start) / (tau * tau)


def settled(variance: float, volatility: float, information: float, surprise: float, tau: float) -> float:
    """σ' of Glicko-2, step 5: the zero of f by the Illinois form of regula falsi."""
    phi2, v = variance * Q * Q, Q * Q / information
    delta = surprise / information * Q
    start, delta2 = math.log(volatility * volatility), delta * delta
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
    return min(math.exp(0.5 * b), MOST_VOLATILE)


def face(first: int, rounds: Rounds, records: Records, b: Block, c: Constants) -> int:
    """Match after match enters a block, as far as it can be: returns the one behind the last.

    Opponents are as their periods found them.  So the block ends before anybody's new period of whose last one it
    has a match, which he has not learnt from yet.
    """
    last, limit = first, min(first + BLOCK, len(rounds.started_at))
    while last < limit:
        one, two, at, place = (
            rounds.members[2 * last],
            rounds.members[2 * last + 1],
            rounds.started_at[last],
            last - first,
        )
        p, q, period = records[one], records[two], period_of(at, c)
        new, other_new = begins(p, period, c), begins(q, period, c)
        if (new and b.latest[one] == first) or (other_new and b.latest[two] == first):
            break
        b.latest[one] = b.latest[two] = first
        enter(p, at, new, c)
        enter(q, at, other_new, c)
        b.difference[place] = p.onset_rating - q.onset_rating
        b.variance[place], b.other_variance[place] = p.onset_variance, q.onset_variance
        b.score[place] = result(rounds.ranks[2 * last], rounds.ranks[2 * last + 1])
        last += 1
    return last


def weigh(count: int, b: Block) -> None:
    """What each duel of a block says of both."""
    for place in range(count):
        g, h = attenuation(b.other_variance[place]), attenuation(b.variance[place])
        difference, score = b.difference[place], b.score[place]
        b.information[place], b.surprise[place] = evidence(difference, g, score)
        b.other_information[place], b.other_surprise[place] = evidence(-difference, h, 1.0 - score)


def move(first: int, last: int, rounds: Rounds, records: Records, after: Floats, b: Block, c: Constants) -> None:
    """Match after match; what predictions are made of is as it was before."""
    for match in range(first, last):
        place, one, two = match - first, 2 * match, 2 * match + 1
        p, q = records[rounds.members[one]], records[rounds.members[two]]
        b.difference[place], b.variance[place] = p.rating - q.rating, p.variance + q.variance
        weight = rounds.weight[match] if len(rounds.weight) > 0 else 1.0
        own, other = (
            weight * fraction_played_at(one, rounds.fraction_played),
            weight * fraction_played_at(two, rounds.fraction_played),
        )
        learn(p, own * b.information[place], own * b.surprise[place], c)
        learn(q, other * b.other_information[place], other * b.other_surprise[place], c)
        after[one], after[two] = p.rating, q.rating


def predict(first: int, count: int, wins: Floats, b: Block) -> None:
    """The predictions of a block."""
    for place in range(count):
        b.wins[place] = expectation(b.difference[place], attenuation(b.variance[place]))
    # Apart: writing pairs would keep the loop above from being done in vectors.
    for place in range(count):
        wins[2 * (first + place)], wins[2 * (first + place) + 1] = b.wins[place], 1.0 - b.wins[place]


def seen(first: int, last: int, at: float, rounds: Rounds, records: Records, c: Constants) -> tuple[float, float]:
    """Mean rating and mean variance at the doors; a bot is a newcomer, and so is nobody."""
    rating = variance = 0.0
    for seat in range(first, last):
        number = rounds.lineup_members[seat]
        known = len(rounds.skill_at_start) > 0 and not math.isnan(rounds.skill_at_start[seat])
        if number < 0:
            rating += rounds.skill_at_start[seat] if known else c.initial
            variance += c.variance
        else:
            p = records[number]
            rating += rounds.skill_at_start[seat] if known else p.rating
            variance += grown(p, periods_since(p, at, c), c)
    count = last - first
    if count == 0:
        return c.initial, c.variance
    return rating / count, variance / count


def composite(first: int, last: int, rounds: Rounds, records: Records, c: Constants) -> tuple[float, float]:
    """Mean rating and mean variance of the participants as their period found them."""
    rating = variance = 0.0
    for place in range(first, last):
        p = records[rounds.members[place]]
        rating += p.onset_rating
        variance += p.onset_variance
    count = last - first
    if count == 0:
        return c.initial, c.variance
    return rating / count, variance / count


def rate(match: int, rounds: Rounds, records: Records, wins: Floats, after: Floats, c: Constants) -> None:
    """A match of any two teams."""
    teams, lineup, a, b, at = rounds.teams, rounds.lineup, 2 * match, 2 * match + 1, rounds.started_at[match]
    rating, variance = seen(lineup[a], lineup[b], at, rounds, records, c)
    other, other_variance = seen(lineup[b], lineup[b + 1], at, rounds, records, c)
    wins[a] = expectation(rating - other, attenuation(variance + other_variance))
    wins[b] = 1.0 - wins[a]
    period = period_of(at, c)
    for place in range(teams[a], teams[b + 1]):
        p = records[rounds.members[place]]
        enter(p, at, begins(p, period, c), c)
    rating, variance = composite(teams[a], teams[b], rounds, records, c)
    other, other_variance = composite(teams[b], teams[b + 1], rounds, records, c)
    weight = rounds.weight[match] if len(rounds.weight) > 0 else 1.0
    for team in range(a, b + 1):
        difference = rating - other if team == a else other - rating
        g = attenuation(other_variance if team == a else variance)
        score = result(rounds.ranks[team], rounds.ranks[a + b - team])
        information, surprise = evidence(difference, g, score)
        for place in range(teams[team], teams[team + 1]):
            p, amount = records[rounds.members[place]], weight * fraction_played_at(place, rounds.fraction_played)
            learn(p, amount * information, amount * surprise, c)
            after[place] = p.rating


def replay_duels(rounds: Rounds, records: Records, wins: Floats, after: Floats, b: Block, c: Constants) -> None:
    """`replay` of one against one, as they stood at the doors.

    What a match says depends on the onset of its period alone.  So the long chains of roots, quotients and
    exponentials are not gone through match after match, but for a block of them side by side, several in one
    instruction.
    """
    first = 0
    while first < len(rounds.started_at):
        last = face(first, rounds, records, b, c)
        weigh(last - first, b)
        move(first, last, rounds, records, after, b, c)
        predict(first, last - first, wins, b)
        first = last


def replay(rounds: Rounds, duels: bool, records: Records, wins: Floats, after: Floats, b: Block, c: Constants) -> None:
    """Rate match after match; `records`, `wins` (per team) and `after` (per participant) are modified in place."""
    if duels:
        replay_duels(rounds, records, wins, after, b, c)
    else:
        for match in range(len(rounds.started_at)):
            rate(match, rounds, records, wins, after, c)


Replay: TypeAlias = Callable[[Rounds, bool, "Records", "Floats", "Floats", Block, Constants], None]

CALLED = (settled, slope)
"""What is worth a real call: it takes long, and no arrays."""


def build(*, compiled: bool) -> Replay:
    """`replay` as it stands here, or compiled with its callees (the machine code is cached on disk)."""
    if not compiled:
        return replay
    return machine_code(replay, inline="all", called=CALLED, instead=IN_VECTORS, fastmath={"contract"})
