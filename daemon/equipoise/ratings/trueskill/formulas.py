"""Players as Gaussians, N(mu, variance) in units of skill: predicting a match, and updating skills from its result.

A player performs N(skill, β²) in one match; a team performs the sum of its players' performances, each times the
fraction of the match that they played.  So a team's performance is Gaussian too, and `team_order` says what the order
of the teams is expected to be (`expect`) and, once it is known, what it says of each team: the first two derivatives
of its log probability by the team's mean, `slope` and `curvature`.  By the chain rule a player with fraction a and
variance s then has

    mu' = mu + a·s·slope,    variance' = s·(1 + a²·s·curvature).

That is the whole update (`update`), in closed form for two teams (Herbrich, Minka & Graepel 2006, section 3).  Before
a match the variance of every skill grows (`drift`): by τ² a match in TrueSkill, with time in TrueSkill Through Time.

The prediction is about the lineup, that is all players on the sides when the match went live, as if they all stayed to
the end; the update is about the participants and the fractions they played.  In nearly every match of most histories
both are the same and there are two teams: then one sum serves both, which makes a replay a third faster.

These are plain functions.  The live system calls `predict_match` and `replay` with a history of one match in lists,
whose records are the players that it holds; a bulk replay calls the same functions compiled, with arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parameters import NEVER
from equipoise.ratings.parts.match_arrays import Lineup, MatchArrays
from equipoise.ratings.parts.player_table import bounded
from equipoise.ratings.parts.team_order import LEAST, Teams, expect, expect_of_two, learn, learn_of_two, margin_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Records: TypeAlias = "list[GaussianSkill] | NDArray[np.void]"
    from equipoise.ratings.parts.match_arrays import Ints

    Filled: TypeAlias = "list[float] | NDArray[np.float64]"


@dataclass(slots=True)
class GaussianSkill:
    """The skill of a player after their last match, N(mu, variance).  A row of the record array has the same fields."""

    mu: float
    variance: float = bounded(0.0, math.inf)
    rounds: int = 0
    last_played: float = NEVER
    """Seconds since the epoch."""


class GaussianConstants(NamedTuple):
    """The parameters as the formulas read them; variances in squared units of skill."""

    mean: float
    """Mean of a newcomer's skill; `variance` is its variance."""
    variance: float
    noise: float
    """β²: variance of one performance about the skill."""
    unit: float
    """Draw margin of one player (`team_order.margin_of`)."""
    confidence: float
    """k of the shown rating, mean less k deviations."""
    tau2: float
    """Variance gained with every match, the first too."""
    gamma2: float
    """Variance gained with every second since the last match."""
    unknown: float
    """Variance gained since the last match where either time is unknown; 0 where time does not count."""


class GaussianAnswers(NamedTuple):
    """The arrays of `history.Replayed`, filled by the kernel; shapes as in `MatchArrays`."""

    wins: Filled
    """Shape (t,): win probabilities."""
    draws: Filled
    """Shape (m,): probabilities of a draw."""
    after: Filled
    """Shape (p,): shown ratings after the match."""


def drift(p: GaussianSkill, at: float, c: GaussianConstants) -> float:
    """Variance that a skill gains between a player's last match and one at time `at` (NaN if unknown).

    >>> c = GaussianConstants(25.0, 64.0, 16.0, 0.7, 3.0, tau2=0.0, gamma2=0.01, unknown=4.0)
    >>> drift(GaussianSkill(25.0, 9.0, rounds=1, last_played=1000.0), 1500.0, c)
    5.0
    """
    # TrueSkill's τ² alone: time does not count, or there is none before the first match.
    if c.unknown == 0.0 or p.rounds == 0:
        return c.tau2
    if p.last_played == NEVER or math.isnan(at):
        return c.tau2 + c.unknown
    return c.tau2 + c.gamma2 * max(0.0, at - p.last_played)


def shown(p: GaussianSkill, c: GaussianConstants) -> float:
    """The rating that players see: mean less k deviations."""
    return p.mu - c.confidence * math.sqrt(p.variance)


def update(
    p: GaussianSkill, slope: float, curvature: float, fraction_played: float, at: float, c: GaussianConstants
) -> None:
    """Update one player, `p`, by the slope and curvature of their team; `at` is when the match went live."""
    variance = p.variance + drift(p, at, c)
    lever = fraction_played * variance
    p.mu += lever * slope
    # `lever` has the fraction already: a²·s²·curvature as a factor on s.
    p.variance = variance * max(LEAST, 1.0 + fraction_played * lever * curvature)
    p.rounds += 1
    if at > p.last_played:
        p.last_played = at


def sum_lineup(
    first: int, count: int, at: float, lineup: Lineup, records: Records, sides: Teams, c: GaussianConstants
) -> None:
    """Fill mean, variance and size of `count` teams, the first of them `first`, whose lineups play to the end."""
    starts, members, skills = lineup
    has_skills = len(skills) > 0
    for team in range(count):
        begin, end = starts[first + team], starts[first + team + 1]
        mean = variance = 0.0
        for place in range(begin, end):
            # A bot is a newcomer, who would gain τ² as well.
            if members[place] >= 0:
                p = records[members[place]]
                own, spread = p.mu, p.variance + drift(p, at, c)
            else:
                own, spread = c.mean, c.variance + c.tau2
            # A known skill at start replaces the mean alone: how sure it was then is not known.
            mean += skills[place] if has_skills and not math.isnan(skills[place]) else own
            variance += spread + c.noise
        sides.mean[team], sides.variance[team], sides.size[team] = mean, variance, 1.0 * (end - begin)


def sum_participants(match: int, arrays: MatchArrays, records: Records, sides: Teams, c: GaussianConstants) -> None:
    """Fill mean, variance and size of every team from its participants and the fractions they played."""
    first, at, teams, members = arrays.matches[match], arrays.started_at[match], arrays.teams, arrays.members
    fraction_played, count = arrays.fraction_played, int(arrays.matches[match + 1] - first)
    partly = len(fraction_played) > 0
    for team in range(count):
        begin, end = teams[first + team], teams[first + team + 1]
        mean = variance = 0.0
        for place in range(begin, end):
            p = records[members[place]]
            part = fraction_played[place] if partly and not math.isnan(fraction_played[place]) else 1.0
            mean += part * p.mu
            variance += part * part * (p.variance + drift(p, at, c) + c.noise)
        sides.mean[team], sides.variance[team], sides.size[team] = mean, variance, 1.0 * (end - begin)


def predict_match(
    first: int, count: int, at: float, lineup: Lineup, records: Records, sides: Teams, c: GaussianConstants
) -> float:
    """Fill `sides.wins` for `count` teams, the first of them `first`; returns the probability of a draw."""
    sum_lineup(first, count, at, lineup, records, sides, c)
    return expect(sides, count, c.unit)


def rate_match(
    match: int, arrays: MatchArrays, records: Records, sides: Teams, answers: GaussianAnswers, c: GaussianConstants
) -> None:
    """Predict and rate one match of any kind; modifies the participants' records and fills its part of `answers`."""
    first, at = arrays.matches[match], arrays.started_at[match]
    count = int(arrays.matches[match + 1] - first)
    answers.draws[match] = predict_match(first, count, at, arrays.lineup, records, sides, c)
    sum_participants(match, arrays, records, sides, c)
    update_participants(match, arrays, records, sides, answers, c)


def update_participants(
    match: int, arrays: MatchArrays, records: Records, sides: Teams, answers: GaussianAnswers, c: GaussianConstants
) -> None:
    """Update all participants by the ranks, given `sum_participants`; copies `sides.wins` into `answers`."""
    first, at, teams, members = arrays.matches[match], arrays.started_at[match], arrays.teams, arrays.members
    fraction_played, after, partly = arrays.fraction_played, answers.after, len(arrays.fraction_played) > 0
    count = int(arrays.matches[match + 1] - first)
    learn(sides, arrays.ranks, first, count, c.unit)
    for team in range(count):
        answers.wins[first + team] = sides.wins[team]
        slope, curvature = sides.slope[team], sides.curvature[team]
        for place in range(teams[first + team], teams[first + team + 1]):
            p = records[members[place]]
            part = fraction_played[place] if partly and not math.isnan(fraction_played[place]) else 1.0
            update(p, slope, curvature, part, at, c)
            after[place] = shown(p, c)


def sum_whole(
    begin: int, end: int, members: Ints, records: Records, at: float, c: GaussianConstants
) -> tuple[float, float]:
    """Mean and variance of a team whose participants are its lineup and all played to the end."""
    mean = variance = 0.0
    for place in range(begin, end):
        p = records[members[place]]
        mean += p.mu
        variance += p.variance + drift(p, at, c) + c.noise
    return mean, variance


def replay(
    arrays: MatchArrays, whole: bool, records: Records, sides: Teams, answers: GaussianAnswers, c: GaussianConstants
) -> None:
    """Rate match after match; modifies `records`, fills `answers`; `sides` has room for the match with most teams.

    `whole`: every lineup is the participants, all played to the end, and no skill at start is known.  Two such teams
    are rated in the loop itself, because a call would cost a tenth of the speed.
    """
    matches, teams, members, ranks, started_at = arrays[:5]
    wins, draws, after = answers
    for match in range(len(started_at)):
        a, at = matches[match], started_at[match]
        if not whole or matches[match + 1] != a + 2:
            rate_match(match, arrays, records, sides, answers, c)
            continue
        begin, middle, end = teams[a], teams[a + 1], teams[a + 2]
        mean, variance = sum_whole(begin, middle, members, records, at, c)
        other_mean, other_variance = sum_whole(middle, end, members, records, at, c)
        difference, both, margin = mean - other_mean, variance + other_variance, margin_of(end - begin, c.unit)
        chance, other_chance, draws[match] = expect_of_two(difference, both, margin)
        wins[a], wins[a + 1] = chance, other_chance
        slope, curvature = learn_of_two(difference, both, margin, ranks[a + 1] - ranks[a], chance, other_chance)
        for place in range(begin, end):
            p = records[members[place]]
            update(p, slope if place < middle else -slope, curvature, 1.0, at, c)
            after[place] = shown(p, c)
