"""Elo's arithmetic: expectation, stake, change and replay loop, as plain functions that numba can compile.

A player is anything with the fields of `ledger.Record`: that object itself in the live path, a record of an array in
a replay.
Formulas: docs/ratings/elo.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts.compiling import compiled as machine_code
from equipoise.ratings.parts.two_teams import fraction_played_at, lineup_sum, result, within_limit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.points import Record

    Floats: TypeAlias = NDArray[np.float64]

SQRT_2 = math.sqrt(2.0)


class Constants(NamedTuple):
    """The parameters as the formulas read them."""

    initial: float
    gaussian: bool
    spread: float
    """Points per unit of the curve: of the logistic's logit, or of the normal's deviation."""
    k: float
    win_factor: float
    loss_factor: float
    newcomer: float
    newcomer_rounds: float
    margin_power: float
    margin_scale: float
    """0: the score is the result."""
    whole: bool
    """Changes are rounded to whole points, halves away from 0."""


class Terms(NamedTuple):
    """What a match is about besides who plays."""

    lead: float
    """Points that the sides themselves give the first team over the second."""
    weight: float
    """Multiplies K."""
    margin: float
    """Points or goals of the first team less the second's; NaN where unknown."""
    score: float
    """Of the first team, and of the second: they need not add up to 1."""
    other_score: float
    protected: bool
    """Nobody loses by it."""


class Facts(NamedTuple):
    """`Terms` of m matches with t teams and p participants; an empty array: as in an ordinary match."""

    lead: Floats
    """Shape (m,), as are `weight`, `margin` and `protected`."""
    weight: Floats
    margin: Floats
    scores: Floats
    """Shape (t,)."""
    protected: NDArray[np.bool_]
    fraction_played: Floats
    """Shape (p,): NaN counts as 1."""


class Rounds(NamedTuple):
    """A `History` of two-team matches as the replay reads it."""

    teams: NDArray[np.int64]
    members: NDArray[np.int32]
    ranks: NDArray[np.int32]
    started_at: Floats
    lineup: NDArray[np.int64]
    lineup_members: NDArray[np.int32]
    skill_at_start: Floats


def win_probability(difference: float, c: Constants) -> float:
    """The chance of a team so many points better; p(x) + p(-x) is exactly 1, and no gap overflows."""
    z = abs(difference) / c.spread
    favourite = 0.5 * math.erfc(-z / SQRT_2) if c.gaussian else 1.0 / (1.0 + math.exp(-z))
    return 0.5 + math.copysign(favourite - 0.5, difference)


def scored(earned: float, margin: float, c: Constants) -> float:
    """What a result is worth: itself, or the logistic of its margin."""
    if c.margin_scale == 0.0 or math.isnan(margin):
        return earned
    winner = 1.0 / (1.0 + math.exp(-abs(margin) / c.margin_scale))
    return 0.5 + math.copysign(winner - 0.5, margin)


def stake(weight: float, margin: float, c: Constants) -> float:
    """K of a match, before what is each side's or each player's own."""
    k = c.k * weight
    if c.margin_power != 0.0 and not math.isnan(margin):
        k *= (1.0 + abs(margin)) ** c.margin_power
    return k


def side_factor(earned: float, c: Constants) -> float:
    """What winners and losers gain and lose more than at a draw."""
    if c.win_factor == c.loss_factor == 1.0:
        return 1.0
    return c.win_factor if earned > 0.5 else c.loss_factor if earned < 0.5 else 1.0


def own_factor(rounds: int, c: Constants) -> float:
    """What a player moves more after so many rounds than one who has settled."""
    if c.newcomer == 0.0:
        return 1.0
    return 1.0 + c.newcomer * math.exp(-rounds / c.newcomer_rounds)


def nearest(change: float) -> float:
    """Whole points, halves away from 0: what one gains the other still loses."""
    return math.copysign(math.floor(abs(change) + 0.5), change)


def rate(p: Record, k: float, surprise: float, protected: bool, at: float, c: Constants) -> None:
    """One participant of one match at time `at`, NaN where unknown; `surprise` is score less expectation."""
    change = k * own_factor(p.rounds, c) * surprise
    if c.whole:
        change = nearest(change)
    if protected:
        change = max(change, 0.0)
    p.rating = within_limit(p.rating + change)
    p.rounds += 1
    if at > p.last_played:
        p.last_played = at


def strength(
    first: int,
    last: int,
    lineup_members: NDArray[np.int32],
    skill_at_start: Floats,
    records: NDArray[np.void],
    initial: float,
) -> float:
    """Mean rating at the doors; nobody is as good as a newcomer."""
    total = lineup_sum(first, last, lineup_members, skill_at_start, records, initial)
    return total / (last - first) if last > first else initial


def terms_at(match: int, earned: float, facts: Facts, c: Constants) -> Terms:
    """What a match is about; `earned` is the first team's result."""
    margin = facts.margin[match] if len(facts.margin) > 0 else math.nan
    score = facts.scores[2 * match] if len(facts.scores) > 0 else scored(earned, margin, c)
    return Terms(
        facts.lead[match] if len(facts.lead) > 0 else 0.0,
        facts.weight[match] if len(facts.weight) > 0 else 1.0,
        margin,
        score,
        facts.scores[2 * match + 1] if len(facts.scores) > 0 else 1.0 - score,
        len(facts.protected) > 0 and facts.protected[match],
    )


def nothing_special(facts: Facts) -> bool:
    """Whether every match is an ordinary one."""
    matches = len(facts.lead) + len(facts.weight) + len(facts.margin)
    return matches + len(facts.scores) + len(facts.protected) + len(facts.fraction_played) == 0


def replay_duels(
    rounds: Rounds, facts: Facts, records: NDArray[np.void], wins: Floats, after: Floats, c: Constants
) -> None:
    """`replay` of one against one, as they stood at the doors: in half the time."""
    ordinary = nothing_special(facts)
    for match in range(len(rounds.started_at)):
        a, b, at = 2 * match, 2 * match + 1, rounds.started_at[match]
        p, q = records[rounds.members[a]], records[rounds.members[b]]
        earned = result(rounds.ranks[a], rounds.ranks[b])
        # Looked up only where something is: asking six empty arrays takes as long as all the rest.
        score = scored(earned, math.nan, c)
        terms = Terms(0.0, 1.0, math.nan, score, 1.0 - score, False) if ordinary else terms_at(match, earned, facts, c)
        expected = win_probability(p.rating - q.rating + terms.lead, c)
        wins[a], wins[b] = expected, 1.0 - expected
        k = stake(terms.weight, terms.margin, c)
        own, other = (
            (1.0, 1.0)
            if ordinary
            else (fraction_played_at(a, facts.fraction_played), fraction_played_at(b, facts.fraction_played))
        )
        rate(p, k * side_factor(earned, c) * own, terms.score - wins[a], terms.protected, at, c)
        rate(q, k * side_factor(1.0 - earned, c) * other, terms.other_score - wins[b], terms.protected, at, c)
        after[a], after[b] = p.rating, q.rating


def replay_teams(
    rounds: Rounds, facts: Facts, records: NDArray[np.void], wins: Floats, after: Floats, c: Constants
) -> None:
    """`replay` of any two teams."""
    teams, members, ranks, started_at, lineup, lineup_members, skill_at_start = rounds
    for match in range(len(started_at)):
        a, b = 2 * match, 2 * match + 1
        terms = terms_at(match, result(ranks[a], ranks[b]), facts, c)
        difference = strength(lineup[a], lineup[b], lineup_members, skill_at_start, records, c.initial)
        difference -= strength(lineup[b], lineup[b + 1], lineup_members, skill_at_start, records, c.initial)
        expected = win_probability(difference + terms.lead, c)
        wins[a], wins[b] = expected, 1.0 - expected
        k = stake(terms.weight, terms.margin, c)
        for team in range(a, b + 1):
            stakes = k * side_factor(result(ranks[team], ranks[a + b - team]), c)
            surprise = (terms.score if team == a else terms.other_score) - wins[team]
            for place in range(teams[team], teams[team + 1]):
                p = records[members[place]]
                rate(
                    p,
                    stakes * fraction_played_at(place, facts.fraction_played),
                    surprise,
                    terms.protected,
                    started_at[match],
                    c,
                )
                after[place] = p.rating


def replay(
    rounds: Rounds, facts: Facts, duels: bool, records: NDArray[np.void], wins: Floats, after: Floats, c: Constants
) -> None:
    """Rate match after match; `records`, `wins` (per team) and `after` (per participant) are modified in place."""
    if duels:
        replay_duels(rounds, facts, records, wins, after, c)
    else:
        replay_teams(rounds, facts, records, wins, after, c)


Replay: TypeAlias = Callable[[Rounds, Facts, bool, "NDArray[np.void]", "Floats", "Floats", Constants], None]


def build(*, compiled: bool) -> Replay:
    """`replay` as it stands here, or compiled with its callees (the machine code is cached on disk)."""
    return machine_code(replay, inline="all") if compiled else replay
