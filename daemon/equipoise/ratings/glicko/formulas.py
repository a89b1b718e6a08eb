"""Glicko and Glicko-2: a rating with a deviation, updated by rating periods.

Both assume that the matches of a period are played at once (Glickman 1999, 2013): every match is judged by the ratings
and deviations at the onset of the period.  A match says less if the opponent's deviation is large (`attenuation`).  The
step depends on a player's period by two sums only, the information and the surprise of its matches; they give the new
variance and rating.  Between periods the deviation grows: in Glicko by c² a period, in Glicko-2 by the player's
own volatility squared, which each period changes (`settled`).

The daemon cannot wait for a period to end.  So after every match a player has the rating that the period would give if
it ended there: `enter` stores the values at the onset, `learn` adds one match to the sums and repeats the step.
After the last match of a period that is exactly the rating of the papers.

A team is the mean of its players, in rating and in variance, as if it were one player; each participant learns from the
match of both teams what a single player would, times the weight of the match and the fraction that they played.

Units: ratings and deviations of both systems are points of Glicko; deviations are kept as variances.  A match is rated
by `rate_match`, in a replay as in a live system.  `replay_duels` is the same for one against one, many at a time.

Formulas, sources and decisions: docs/ratings/glicko.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from equipoise.ratings.parameters import NEVER
from equipoise.ratings.parts.match_arrays import LIMIT, Lineup, MatchArrays, fraction_played_at, result, within_limit
from equipoise.ratings.parts.player_table import bounded
from equipoise.ratings.parts.points import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = "list[float] | NDArray[np.float64]"
    Records: TypeAlias = "list[GlickoPlayer] | NDArray[np.void]"


FROM_0, ABOVE_0 = (0.0, math.inf), (1e-300, math.inf)


@dataclass(slots=True)
class GlickoPlayer(Record):
    """A player's present rating, that at the onset of their last period, and the sums over its matches."""

    variance: float = bounded(*ABOVE_0, 0.0)
    """RD², points², after the last match."""
    volatility: float = bounded(*FROM_0, 0.0)
    """σ of Glicko-2, in its unit per √period."""
    onset_rating: float = bounded(-LIMIT, LIMIT, 0.0)
    onset_variance: float = bounded(*ABOVE_0, 0.0)
    onset_volatility: float = bounded(*FROM_0, 0.0)
    information: float = bounded(*FROM_0, 0.0)
    """1/d², points⁻²: over the period, Σ q²·g²·E·(1 - E)."""
    surprise: float = 0.0
    """Per point: over the period, Σ q·g·(s - E)."""


class GlickoConstants(NamedTuple):
    """Glicko's and Glicko-2's parameters, in points and rating periods."""

    initial: float
    variance: float
    """Points²: a newcomer's variance, and the largest that absence leads to."""
    growth: float
    """c², points² per period; Glicko-2 has each player's own."""
    tau: float
    """0: Glicko, without volatility."""
    frequency: float
    """Periods per second."""
    pooled: bool
    """Matches of a period of the calendar count as played at once; else each is a period."""


class Block(NamedTuple):
    """Consecutive duels that are computed together; all arrays but the first have shape (`BLOCK`,)."""

    latest: NDArray[np.int64]
    """Shape (players,): first match of the last block that the player was in; -1 if none."""
    difference: Floats
    """Difference of the ratings: at the onset of the period at first, later before the match."""
    variance: Floats
    other_variance: Floats
    score: Floats
    information: Floats
    surprise: Floats
    other_information: Floats
    other_surprise: Floats
    wins: Floats


LEAST_EXPONENT: Final = -40.0
"""1 + e^x is 1 from here on down."""


def exponential(x: float) -> float:
    """e^x, for x up to 0; in replays a form without a library call, so that loops over it make several at a time."""
    return math.exp(x)


def exponential_in_vectors(x: float) -> float:
    """`exponential` with a relative error of 3e-14 from -8 on, and an absolute one of 1e-16 below.

    The Taylor series of a 64th of the exponent, in even and odd powers, squared six times.
    """
    z = max(x, LEAST_EXPONENT) / 64.0
    square = z * z
    even = 1.0 + square * (1.0 / 2.0 + square * (1.0 / 24.0 + square * (1.0 / 720.0 + square / 40320.0)))
    odd = 1.0 + square * (1.0 / 6.0 + square * (1.0 / 120.0 + square * (1.0 / 5040.0 + square / 362880.0)))
    series = even + z * odd
    for _ in range(6):
        series *= series
    return series


IN_VECTORS: Final[Mapping[str, Callable[[float], float]]] = {"exponential": exponential_in_vectors}
"""Replacements for `compiling.compiled`: the forms that numba can vectorise."""


Q = math.log(10.0) / 400.0
"""q: units of the logit per point; 1/q, 173.7178 points, is Glicko-2's unit."""

SPREAD = 3.0 * Q * Q / (math.pi * math.pi)
"""3q²/π²: what an opponent's variance in points² is beside that of the logistic."""

TOLERANCE = 1e-10
"""The iteration ends when ln σ² is this near its solution.  The paper's 10⁻⁶ gives the same printed digits."""

FAINTEST = 1e-50
"""Points⁻²: with less information the volatility is not updated, because squares of its inverse could overflow."""

MOST_VOLATILE = 10.0
"""Largest σ; without a limit, a win of practically zero probability would lead to some 10⁸."""

BLOCK = 512
"""Matches that `replay_duels` handles at once; its arrays for so many fit into the processor's first-level cache."""


def attenuation(variance: float) -> float:
    """g(RD): how much a match against an opponent of this variance says, 1 at most.

    >>> round(attenuation(300.0**2), 4)  # Glickman's example
    0.7242
    """
    return 1.0 / math.sqrt(1.0 + SPREAD * variance)


def expectation(difference: float, g: float) -> float:
    """E, the expected score of a player better by `difference` points; E(x) + E(-x) is exactly 1.

    >>> round(expectation(1500.0 - 1550.0, attenuation(100.0**2)), 3)  # Glickman's example
    0.432
    """
    favourite = 1.0 / (1.0 + exponential(-g * Q * abs(difference)))
    return 0.5 + math.copysign(favourite - 0.5, difference)


def evidence(difference: float, g: float, score: float) -> tuple[float, float]:
    """Return the addends of a match with a score of 1, 0.5 or 0 to a player's `information` and `surprise`."""
    chance = expectation(difference, g)
    return Q * Q * g * g * chance * (1.0 - chance), Q * g * (score - chance)


def period_of(at: float, c: GlickoConstants) -> float:
    """Number of a period of the calendar; infinite where a match is a period of its own, as at a time NaN.

    Half a second early, so that no multiple of a period's length is rounded down.
    """
    if not c.pooled or math.isnan(at):
        return math.inf
    return 1.0 * math.floor((at + 0.5) * c.frequency)


def begins(p: GlickoPlayer, period: float, c: GlickoConstants) -> bool:
    """Whether it is the player's first match of a period: their last one is in an earlier period."""
    return (p.last_played + 0.5) * c.frequency < period


def periods_since(p: GlickoPlayer, at: float, c: GlickoConstants) -> float:
    """Periods from a player's last match to a time (NaN if unknown); 0 within a period and before the first match."""
    # No time is known of them: after their first match one period has passed at least, as between any two of unknown
    # time.
    if p.last_played == NEVER:
        return 0.0 if p.rounds == 0 else 1.0
    if math.isnan(at):
        return 1.0
    if c.pooled:
        return max(0.0, period_of(at, c) - period_of(p.last_played, c))
    return max(1.0, (at - p.last_played) * c.frequency)


def grown(p: GlickoPlayer, periods: float, c: GlickoConstants) -> float:
    """Variance at the onset of a period.  Glicko-2 adds the period's own σ² when it is rated (its step 6)."""
    if c.tau == 0.0:
        more = c.growth * periods
    else:
        more = max(0.0, periods - 1.0) * p.volatility * p.volatility / (Q * Q)
    # Absence makes nobody less known than a newcomer; but a player who is (by a seed) stays so.
    return max(p.variance, min(p.variance + more, c.variance))


def enter(p: GlickoPlayer, at: float, new: bool, c: GlickoConstants) -> None:
    """Begin a match at time `at`; if the period is `new`, let the deviation grow and store the values at its onset."""
    if new:
        p.variance = grown(p, periods_since(p, at, c), c)
        p.onset_rating, p.onset_variance, p.onset_volatility = p.rating, p.variance, p.volatility
        p.information = p.surprise = 0.0
    p.rounds += 1
    if at > p.last_played:
        p.last_played = at


def learn(p: GlickoPlayer, information: float, surprise: float, c: GlickoConstants) -> None:
    """Add one match to the period that the player has entered, and rate the period as if it were over."""
    p.information += information
    p.surprise += surprise
    prior = p.onset_variance
    # Always from the values at the onset, with the sums so far: so the order of matches within a period does not
    # matter.
    if c.tau > 0.0 and p.information > FAINTEST:
        p.volatility = settled(prior, p.onset_volatility, p.information, p.surprise, c.tau)
        prior += p.volatility * p.volatility / (Q * Q)
    p.variance = prior / (1.0 + prior * p.information)
    p.rating = within_limit(p.onset_rating + p.variance * p.surprise)


def slope(x: float, start: float, phi2: float, v: float, delta2: float, tau: float) -> float:
    """f(x) of Glicko-2, step 5; its zero is ln σ'²."""
    e = math.exp(x)
    total = phi2 + v + e
    return e * (delta2 - total) / (2.0 * total * total) - (x - start) / (tau * tau)


def settled(variance: float, volatility: float, information: float, surprise: float, tau: float) -> float:
    """σ' of Glicko-2, step 5: the zero of f by the Illinois form of regula falsi."""
    # In Glicko-2's own unit, as the paper's equations are.
    phi2, v = variance * Q * Q, Q * Q / information
    delta = surprise / information * Q
    start, delta2 = math.log(volatility * volatility), delta * delta
    # The zero is bracketed as in the paper: by ln(Δ² - φ² - v) from above, or by steps of τ downwards.
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
            # Illinois: the end that stays has its value halved, so that it cannot stay for long.
            f_a *= 0.5
        b, f_b = middle, f
    return min(math.exp(0.5 * b), MOST_VOLATILE)


def mean_of_lineup(team: int, at: float, lineup: Lineup, records: Records, c: GlickoConstants) -> tuple[float, float]:
    """Mean rating and mean variance of a team's lineup; a bot is a newcomer, and so is a team without players."""
    starts, members, skills = lineup
    rating = variance = 0.0
    for place in range(starts[team], starts[team + 1]):
        number = members[place]
        has_skill = len(skills) > 0 and not math.isnan(skills[place])
        # A bot: as unknown as a newcomer, with a rating of its own only if one was given.
        if number < 0:
            rating += skills[place] if has_skill else c.initial
            variance += c.variance
        else:
            p = records[number]
            rating += skills[place] if has_skill else p.rating
            # As it will be when the match is played, without changing the record.
            variance += grown(p, periods_since(p, at, c), c)
    count = starts[team + 1] - starts[team]
    if count == 0:
        return c.initial, c.variance
    return rating / count, variance / count


def mean_at_onset(team: int, matches: MatchArrays, records: Records, c: GlickoConstants) -> tuple[float, float]:
    """Mean rating and mean variance of the participants at the onset of their periods."""
    rating = variance = 0.0
    for place in range(matches.teams[team], matches.teams[team + 1]):
        p = records[matches.members[place]]
        rating += p.onset_rating
        variance += p.onset_variance
    count = matches.teams[team + 1] - matches.teams[team]
    if count == 0:
        return c.initial, c.variance
    return rating / count, variance / count


def expected_score(match: int, at: float, lineup: Lineup, records: Records, c: GlickoConstants) -> float:
    """The expected score of a match's first team, at a time."""
    rating, variance = mean_of_lineup(2 * match, at, lineup, records, c)
    second, other_variance = mean_of_lineup(2 * match + 1, at, lineup, records, c)
    return expectation(rating - second, attenuation(variance + other_variance))


def rate_match(
    match: int, matches: MatchArrays, records: Records, wins: Floats, after: Floats, c: GlickoConstants
) -> None:
    """Rate every participant as if their period ended with this match; fills `wins` and `after` for it."""
    a, b, at = 2 * match, 2 * match + 1, matches.started_at[match]
    wins[a] = expected_score(match, at, matches.lineup, records, c)
    wins[b] = 1.0 - wins[a]
    period = period_of(at, c)
    # All enter before anyone learns: each is judged by the others' values at the onset.
    for place in range(matches.teams[a], matches.teams[b + 1]):
        p = records[matches.members[place]]
        enter(p, at, begins(p, period, c), c)
    rating, variance = mean_at_onset(a, matches, records, c)
    mean_b, other_variance = mean_at_onset(b, matches, records, c)
    weight = matches.weight[match] if len(matches.weight) > 0 else 1.0
    for team in range(a, b + 1):
        difference = rating - mean_b if team == a else mean_b - rating
        g = attenuation(other_variance if team == a else variance)
        score = result(matches.ranks[team], matches.ranks[a + b - team])
        information, surprise = evidence(difference, g, score)
        for place in range(matches.teams[team], matches.teams[team + 1]):
            p, amount = records[matches.members[place]], weight * fraction_played_at(place, matches.fraction_played)
            learn(p, amount * information, amount * surprise, c)
            after[place] = p.rating


def face(first: int, matches: MatchArrays, records: Records, b: Block, c: GlickoConstants) -> int:
    """Fill a block with matches from `first` on; returns the match after the last that fits.

    A match reads its opponents at the onset of their periods.  So the block ends before a player's new period if a
    match of their previous period is in the block, because they have not learned from that match yet.
    """
    last, limit = first, min(first + BLOCK, len(matches.started_at))
    while last < limit:
        player_a, player_b = matches.members[2 * last], matches.members[2 * last + 1]
        at, place = matches.started_at[last], last - first
        p, q, period = records[player_a], records[player_b], period_of(at, c)
        new, other_new = begins(p, period, c), begins(q, period, c)
        # `latest` holds the first match of the block in which a player was last: equal means that they are in this one.
        if (new and b.latest[player_a] == first) or (other_new and b.latest[player_b] == first):
            break
        b.latest[player_a] = b.latest[player_b] = first
        enter(p, at, new, c)
        enter(q, at, other_new, c)
        b.difference[place] = p.onset_rating - q.onset_rating
        b.variance[place], b.other_variance[place] = p.onset_variance, q.onset_variance
        b.score[place] = result(matches.ranks[2 * last], matches.ranks[2 * last + 1])
        last += 1
    return last


def weigh(count: int, b: Block) -> None:
    """Information and surprise of each duel of a block, for both players."""
    for place in range(count):
        g, h = attenuation(b.other_variance[place]), attenuation(b.variance[place])
        difference, score = b.difference[place], b.score[place]
        b.information[place], b.surprise[place] = evidence(difference, g, score)
        b.other_information[place], b.other_surprise[place] = evidence(-difference, h, 1.0 - score)


def move(
    first: int, last: int, matches: MatchArrays, records: Records, after: Floats, b: Block, c: GlickoConstants
) -> None:
    """Both players of each duel learn, match after match; stores in the block what `predict` reads."""
    for match in range(first, last):
        place, first_team, second_team = match - first, 2 * match, 2 * match + 1
        p, q = records[matches.members[first_team]], records[matches.members[second_team]]
        b.difference[place], b.variance[place] = p.rating - q.rating, p.variance + q.variance
        weight = matches.weight[match] if len(matches.weight) > 0 else 1.0
        own = weight * fraction_played_at(first_team, matches.fraction_played)
        weight_b = weight * fraction_played_at(second_team, matches.fraction_played)
        learn(p, own * b.information[place], own * b.surprise[place], c)
        learn(q, weight_b * b.other_information[place], weight_b * b.other_surprise[place], c)
        after[first_team], after[second_team] = p.rating, q.rating


def predict(first: int, count: int, wins: Floats, b: Block) -> None:
    """Fill `wins` for the matches of a block."""
    for place in range(count):
        b.wins[place] = expectation(b.difference[place], attenuation(b.variance[place]))
    # A separate loop, because writing pairs would keep numba from vectorising the loop above.
    for place in range(count):
        wins[2 * (first + place)], wins[2 * (first + place) + 1] = b.wins[place], 1.0 - b.wins[place]


def replay_duels(
    matches: MatchArrays, records: Records, wins: Floats, after: Floats, b: Block, c: GlickoConstants
) -> None:
    """`rate_match` for a history in which `record_arrays.only_duels` holds.

    What a match says depends only on the onset of its period.  So the roots, quotients and exponentials of a block of
    matches are computed together, several in one vector instruction.
    """
    first = 0
    while first < len(matches.started_at):
        last = face(first, matches, records, b, c)
        weigh(last - first, b)
        move(first, last, matches, records, after, b, c)
        predict(first, last - first, wins, b)
        first = last


def replay(
    matches: MatchArrays, duels: bool, records: Records, wins: Floats, after: Floats, b: Block, c: GlickoConstants
) -> None:
    """Rate match after match.

    `records` (one per player) is modified in place; `wins`, shape (2·m,), and `after`, shape (p,), are filled.
    """
    if duels:
        replay_duels(matches, records, wins, after, b, c)
    else:
        for match in range(len(matches.started_at)):
            rate_match(match, matches, records, wins, after, c)


CALLED = (settled, slope)
"""Functions that are not inlined: they take long, and pass no arrays."""
