"""Elo: a rating in points moves by K times the surprise, the score less the score that was expected.

The expected score of a team is a curve of the difference d of both teams' strengths (Elo 1978): the logistic
1/(1 + base^(-d/scale)), or the normal distribution function Φ(d/(√2·β)) (Herbrich et al. 2006, eq. 1).  A team is as
strong as the mean rating of its lineup, so teams of any size are on the scale of a single player.  Every participant
moves by the team's surprise times K, the weight of the match and the fraction that they played.

What else an Elo system may have is a number in `EloConstants` or a column of `MatchTerms`; with the defaults it changes
nothing: a K that is larger for newcomers (as FIDE and USCF have it), for winners or by the margin of victory; a score
that is the logistic of the margin; points that a side gives its team; changes in whole points; matches in which no team
loses points.  Football's rankings are made of these.

`rate_match` rates a match, in a replay and in a live system.  `replay_duels` does the same for one against one without
adding up teams or looking up lineups, which halves the time of a replay.

Formulas, sources and decisions: docs/ratings/elo.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.core.model import logistic
from equipoise.ratings.parts.match_arrays import (
    Lineup,
    MatchArrays,
    fraction_played_at,
    lineup_sums,
    result,
    within_limit,
)
from equipoise.ratings.parts.truncated_gaussian import quantile

if TYPE_CHECKING:
    from equipoise.ratings.parts.match_arrays import Floats
    from equipoise.ratings.parts.points import Record

SQRT_2 = math.sqrt(2.0)

SURE = 1e-12
"""No chance counts as nearer to 0 or 1 than this."""
LEAST_PART = 0.1
"""An outsider's lead, which is below 0, leaves at least this part of `margin_log`."""


class EloConstants(NamedTuple):
    """Elo's parameters, in points unless a field says otherwise."""

    initial: float
    """Points: a bot's rating, and the strength of a team without players."""
    gaussian: bool
    spread: float
    """Points per unit of the curve: of the logistic's logit, or of the normal's deviation."""
    k: float
    """K, points."""
    win_factor: float
    loss_factor: float
    newcomer: float
    newcomer_rounds: float
    margin_power: float
    margin_scale: float
    """Points of the game; 0: the score is the result."""
    margin_log: float
    """Thousands of rating points; 0: K does not depend on the margin in this way."""
    whole: bool
    """Changes are rounded to whole points, halves away from 0."""


class MatchTerms(NamedTuple):
    """Arrays that Elo reads of m matches besides `MatchArrays`; one is empty if it would change no match."""

    lead: Floats
    """Shape (m,), points that the sides themselves give the first team over the second."""
    margin: Floats
    """Shape (m,), points or goals of the first team less the second's; NaN where unknown."""
    scores: Floats
    """Shape (2·m,): each team's score, for systems in which it is not the result; a match's need not add up to 1."""
    protected: Any
    """Shape (m,), flags: no player loses points by the match."""


def win_probability(difference: float, c: EloConstants) -> float:
    """The score expected of a team that is stronger by `difference` points.

    p(x) + p(-x) is exactly 1, and no difference overflows.
    """
    z = difference / c.spread
    if not c.gaussian:
        return logistic(z)
    # From the favourite's side alone, so that p(x) + p(-x) is 1 to the last bit.
    favourite = 0.5 * math.erfc(-abs(z) / SQRT_2)
    return 0.5 + math.copysign(favourite - 0.5, z)


def scored(earned: float, margin: float, c: EloConstants) -> float:
    """The score: the result `earned` (1, 0.5 or 0), or with a `margin_scale` the logistic of the margin."""
    if c.margin_scale == 0.0 or math.isnan(margin):
        return earned
    return logistic(margin / c.margin_scale)


def stake(weight: float, margin: float, c: EloConstants) -> float:
    """K of a match, before the factors for a side's result and for a newcomer."""
    k = c.k * weight
    if c.margin_power != 0.0 and not math.isnan(margin):
        k *= (1.0 + abs(margin)) ** c.margin_power
    return k


def upset_factor(earned: float, margin: float, expected: float, c: EloConstants) -> float:
    """FiveThirtyEight's factor on K: the logarithm of the margin, less for a favourite who wins than for an outsider.

    `expected` is the score that was expected of the team that earned `earned`; a draw counts as if they were even,
    and as FiveThirtyEight has it.
    """
    size = math.log(max(abs(margin), 1.0) + 1.0)
    if earned == 0.5:
        return size * c.margin_log
    chance = min(max(expected if earned > 0.5 else 1.0 - expected, SURE), 1.0 - SURE)
    lead = c.spread * (quantile(chance) if c.gaussian else math.log(chance / (1.0 - chance)))
    return size * c.margin_log / max(c.margin_log + lead / 1000.0, LEAST_PART * c.margin_log)


def side_factor(earned: float, c: EloConstants) -> float:
    """The factor on K for winners or for losers; 1 at a draw."""
    if c.win_factor == c.loss_factor == 1.0:
        return 1.0
    return c.win_factor if earned > 0.5 else c.loss_factor if earned < 0.5 else 1.0


def nearest(change: float) -> float:
    """Round to whole points, halves away from 0, so that one team still gains what the other loses.

    >>> nearest(2.5), nearest(-2.5), nearest(0.4)
    (3.0, -3.0, 0.0)
    """
    return math.copysign(math.floor(abs(change) + 0.5), change)


def move(p: Record, k: float, surprise: float, protected: bool, at: float, c: EloConstants) -> None:
    """Rate one participant of a match at time `at`, NaN where unknown; modifies the record."""
    if c.newcomer != 0.0:
        k *= 1.0 + c.newcomer * math.exp(-p.rounds / c.newcomer_rounds)
    change = k * surprise
    if c.whole:
        change = nearest(change)
    if protected:
        change = max(change, 0.0)
    p.rating = within_limit(p.rating + change)
    p.rounds += 1
    # False for NaN, an unknown time; and rounds may arrive late.
    if at > p.last_played:
        p.last_played = at


def expected_score(match: int, lineup: Lineup, lead: Floats, records: Any, c: EloConstants) -> float:
    """The expected score of a match's first team, by the mean ratings; a team without players has the initial one."""
    a, starts = 2 * match, lineup.starts
    first, second = lineup_sums(match, lineup, records, c.initial)
    size, other_size = starts[a + 1] - starts[a], starts[a + 2] - starts[a + 1]
    difference = (first / size if size > 0 else c.initial) - (second / other_size if other_size > 0 else c.initial)
    return win_probability(difference + (lead[match] if len(lead) > 0 else 0.0), c)


def rate_match(
    match: int, matches: MatchArrays, terms: MatchTerms, records: Any, wins: Floats, after: Floats, c: EloConstants
) -> None:
    """Rate a match of two teams; modifies `records`, fills `wins` (per team) and `after` (per participant)."""
    a, b = 2 * match, 2 * match + 1
    wins[a] = expected_score(match, matches.lineup, terms.lead, records, c)
    wins[b] = 1.0 - wins[a]
    learn(match, matches, terms, records, wins, after, c)


def learn(
    match: int, matches: MatchArrays, terms: MatchTerms, records: Any, wins: Floats, after: Floats, c: EloConstants
) -> None:
    """Move every participant of a match whose expected scores are in `wins`."""
    a, b, at = 2 * match, 2 * match + 1, matches.started_at[match]
    outcome = result(matches.ranks[a], matches.ranks[b])
    margin = terms.margin[match] if len(terms.margin) > 0 else math.nan
    score = scored(outcome, margin, c)
    k = stake(matches.weight[match] if len(matches.weight) > 0 else 1.0, margin, c)
    if c.margin_log != 0.0 and not math.isnan(margin):
        k *= upset_factor(outcome, margin, wins[a], c)
    shield = len(terms.protected) > 0 and terms.protected[match]
    for team in range(a, b + 1):
        # `own` may be the margin's score; winners and losers, for `side_factor`, are by the result in any case.
        own, own_outcome = (score, outcome) if team == a else (1.0 - score, 1.0 - outcome)
        if len(terms.scores) > 0:
            own = terms.scores[team]
        side_stake, surprise = k * side_factor(own_outcome, c), own - wins[team]
        for place in range(matches.teams[team], matches.teams[team + 1]):
            p = records[matches.members[place]]
            move(p, side_stake * fraction_played_at(place, matches.fraction_played), surprise, shield, at, c)
            after[place] = p.rating


def replay_duels(
    matches: MatchArrays, terms: MatchTerms, records: Any, wins: Floats, after: Floats, c: EloConstants
) -> None:
    """`rate_match` for a history in which `record_arrays.only_duels` holds."""
    # Checking seven empty arrays in every match would take as long as all the rest, so it is done once.
    ordinary = len(terms.lead) + len(terms.margin) + len(terms.scores) + len(terms.protected) == 0
    ordinary = ordinary and len(matches.weight) + len(matches.fraction_played) == 0
    for match in range(len(matches.started_at)):
        a, b, at = 2 * match, 2 * match + 1, matches.started_at[match]
        p, q = records[matches.members[a]], records[matches.members[b]]
        lead = 0.0 if ordinary or len(terms.lead) == 0 else terms.lead[match]
        wins[a] = win_probability(p.rating - q.rating + lead, c)
        wins[b] = 1.0 - wins[a]
        if ordinary:
            outcome, k = result(matches.ranks[a], matches.ranks[b]), stake(1.0, math.nan, c)
            move(p, k * side_factor(outcome, c), outcome - wins[a], False, at, c)
            move(q, k * side_factor(1.0 - outcome, c), 1.0 - outcome - wins[b], False, at, c)
            after[a], after[b] = p.rating, q.rating
        else:
            learn(match, matches, terms, records, wins, after, c)


def replay(
    matches: MatchArrays,
    terms: MatchTerms,
    duels: bool,
    records: Any,
    wins: Floats,
    after: Floats,
    c: EloConstants,
) -> None:
    """Rate match after match.

    `records` (one per player) is modified in place; `wins`, shape (2·m,), and `after`, shape (p,), are filled.
    """
    if duels:
        replay_duels(matches, terms, records, wins, after, c)
    else:
        for match in range(len(matches.started_at)):
            rate_match(match, matches, terms, records, wins, after, c)
