"""Bayesian approximation ranking (Weng & Lin, JMLR 12, 2011): skills N(mu, variance), moved by one step of a gradient.

A team's skill is the sum over its players, and its performance has the noise β² however many they are.  Of two teams,
c² is the sum of both variances and of 2β².  The models differ in what the chance of an order is:

    Bradley-Terry        the first beats the second with 1/(1 + exp(-d/c)), d the difference of the means
    Thurstone-Mosteller  it beats it with Φ((d - ε)/c), and they draw within ε
    Plackett-Luce        place after place one of those that are left is chosen, in proportion to exp(mean/c); here c²
                         is the sum of all variances and of β² per team

A player with fraction a and variance s then moves as in TrueSkill (`trueskill.formulas`), by the first derivative of
the log chance by the team's mean, and by the second times γ = √(variance of the team)/c, which damps it.  With pairs of
teams both are sums over the pairs, or, if teams are only paired with `neighbours` in the ranking, their means.

For two teams Plackett-Luce is Bradley-Terry.  These are plain functions, compiled for a replay as those of TrueSkill.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from equipoise.ratings.parts.match_arrays import Lineup, MatchArrays, fraction_played_at, result
from equipoise.ratings.parts.team_order import Teams, expect, expect_of_two, learn_of_two, sort_by_rank
from equipoise.ratings.trueskill.formulas import (
    GaussianAnswers,
    GaussianConstants,
    GaussianSkill,
    shown,
    sum_lineup,
    sum_participants,
    sum_whole,
)

if TYPE_CHECKING:
    from equipoise.ratings.parts.team_order import Ranks
    from equipoise.ratings.trueskill.formulas import Records

PLACKETT_LUCE, BRADLEY_TERRY, THURSTONE_MOSTELLER = range(3)

KAPPA = 1e-4
"""The least fraction of a variance that a match leaves (κ)."""


class WengLinConstants(NamedTuple):
    """The parameters as the formulas read them."""

    skills: GaussianConstants
    """Without noise of single players; `unit` is the margin ε of a draw."""
    noise: float
    """β²: variance of a team's performance about its skill."""
    model: int
    neighbours: int
    """Teams above and below in the ranking that a team is paired with; 0: it is paired with all."""
    scale: float
    """Factor of c²: 4 for Thurstone-Mosteller by neighbours, else 1."""
    limited: bool
    """Whether no match makes a variance larger than it was."""


FARTHEST = 700.0
"""Deviations beyond which a chance is as good as 0: the exponential would overflow."""


def expect_pair(difference: float, c2: float, c: WengLinConstants) -> tuple[float, float, float]:
    """The probabilities that the first of two teams wins, that the second does, and that they draw."""
    if c.model == THURSTONE_MOSTELLER:
        return expect_of_two(difference, c2, c.skills.unit)
    first = 1.0 / (1.0 + math.exp(min(-difference / math.sqrt(c2), FARTHEST)))
    return first, 1.0 - first, 0.0


def learn_pair(
    difference: float, c2: float, first: float, second: float, ahead: int, c: WengLinConstants
) -> tuple[float, float]:
    """Slope of the first team, and curvature of both without the deviation in γ.

    `first` and `second` are the chances of `expect_pair`; `ahead` is above 0 if the first team won, below if it lost.
    """
    deviation = math.sqrt(c2)
    if c.model == THURSTONE_MOSTELLER:
        slope, curvature = learn_of_two(difference, c2, c.skills.unit, ahead, first, second)
        return slope, curvature / deviation
    return (result(0, ahead) - first) / deviation, first * (first - 1.0) / (c2 * deviation)


def expect_teams(sides: Teams, count: int, c: WengLinConstants) -> float:
    """Fill `sides.wins`; returns the probability of a draw, or of a shared first place."""
    if count == 2:
        c2 = c.scale * (sides.variance[0] + sides.variance[1] + 2.0 * c.noise)
        sides.wins[0], sides.wins[1], draw = expect_pair(sides.mean[0] - sides.mean[1], c2, c)
        return draw
    total, top = 0.0, sides.mean[0]
    for team in range(count):
        total += sides.variance[team] + c.noise
        top = max(top, sides.mean[team])
        if c.model == THURSTONE_MOSTELLER:
            # So that any two teams have the margin √(½ + ½)·ε.
            sides.variance[team], sides.size[team] = c.scale * (sides.variance[team] + c.noise), 0.5
    if c.model == THURSTONE_MOSTELLER:
        return expect(sides, count, c.skills.unit)
    # Bradley-Terry says nothing of first places: Plackett-Luce with the c of an average pair.
    deviation = math.sqrt(total if c.model == PLACKETT_LUCE else 2.0 * total / count)
    total = 0.0
    for team in range(count):
        sides.wins[team] = math.exp((sides.mean[team] - top) / deviation)
        total += sides.wins[team]
    for team in range(count):
        sides.wins[team] /= total
    return 0.0


def learn_teams(sides: Teams, ranks: Ranks, first: int, count: int, c: WengLinConstants) -> None:
    """Fill `slope` and `curvature` from the ranks at `first`."""
    for team in range(count):
        sides.slope[team] = sides.curvature[team] = 0.0
    if c.model == PLACKETT_LUCE:
        learn_choices(sides, ranks, first, count, c)
    else:
        sort_by_rank(sides, ranks, first, count)
        learn_pairs(sides, ranks, first, count, c)
    for team in range(count):
        sides.curvature[team] *= math.sqrt(sides.variance[team])


def learn_pairs(sides: Teams, ranks: Ranks, first: int, count: int, c: WengLinConstants) -> None:
    """Bradley-Terry or Thurstone-Mosteller, between all teams or neighbours in `order`."""
    reach = c.neighbours if c.neighbours > 0 else count
    for place in range(count):
        team, low, high = sides.order[place], max(0, place - reach), min(count, place + reach + 1)
        parts = 1.0 / (high - low - 1) if c.neighbours > 0 else 1.0
        for near in range(low, high):
            if near != place:
                other = sides.order[near]
                c2 = c.scale * (sides.variance[team] + sides.variance[other] + 2.0 * c.noise)
                ahead = ranks[first + other] - ranks[first + team]
                difference = sides.mean[team] - sides.mean[other]
                chance, other_chance, _ = expect_pair(difference, c2, c)
                slope, curvature = learn_pair(difference, c2, chance, other_chance, ahead, c)
                sides.slope[team] += parts * slope
                sides.curvature[team] += parts * curvature


def learn_choices(sides: Teams, ranks: Ranks, first: int, count: int, c: WengLinConstants) -> None:
    """Plackett-Luce: each team was chosen of those that are not ahead; who shares a place shares a choice."""
    c2 = 0.0
    for team in range(count):
        c2 += sides.variance[team] + c.noise
    deviation = math.sqrt(c2)
    for chosen in range(count):
        rank, top, total, ties = ranks[first + chosen], sides.mean[chosen], 0.0, 0.0
        for team in range(count):
            if ranks[first + team] >= rank:
                top = max(top, sides.mean[team])
        for team in range(count):
            ties += ranks[first + team] == rank
            if ranks[first + team] >= rank:
                total += math.exp((sides.mean[team] - top) / deviation)
        for team in range(count):
            if ranks[first + team] >= rank:
                chance = math.exp((sides.mean[team] - top) / deviation) / total
                sides.slope[team] += ((team == chosen) - chance) / (ties * deviation)
                sides.curvature[team] += chance * (chance - 1.0) / (ties * c2 * deviation)


def update(
    p: GaussianSkill, slope: float, curvature: float, fraction_played: float, at: float, c: WengLinConstants
) -> None:
    """Update one player, `p`, by the slope and curvature of their team; `at` is when the match went live."""
    before = p.variance
    variance = before + c.skills.tau2
    lever = fraction_played * variance
    p.mu += lever * slope
    variance *= max(KAPPA, 1.0 + fraction_played * lever * curvature)
    p.variance = min(before, variance) if c.limited else variance
    p.rounds += 1
    if at > p.last_played:
        p.last_played = at


def predict_match(
    first: int, count: int, at: float, lineup: Lineup, records: Records, sides: Teams, c: WengLinConstants
) -> float:
    """Fill `sides.wins` for `count` teams, the first of them `first`; returns the probability of a draw."""
    sum_lineup(first, count, at, lineup, records, sides, c.skills)
    return expect_teams(sides, count, c)


def rate_match(
    match: int, arrays: MatchArrays, records: Records, sides: Teams, answers: GaussianAnswers, c: WengLinConstants
) -> None:
    """Predict and rate one match of any kind; modifies the participants' records and fills its part of `answers`."""
    first, at, teams = arrays.matches[match], arrays.started_at[match], arrays.teams
    count = int(arrays.matches[match + 1] - first)
    answers.draws[match] = predict_match(first, count, at, arrays.lineup, records, sides, c)
    sum_participants(match, arrays, records, sides, c.skills)
    learn_teams(sides, arrays.ranks, first, count, c)
    for team in range(count):
        answers.wins[first + team] = sides.wins[team]
        for place in range(teams[first + team], teams[first + team + 1]):
            p, part = records[arrays.members[place]], fraction_played_at(place, arrays.fraction_played)
            update(p, sides.slope[team], sides.curvature[team], part, at, c)
            answers.after[place] = shown(p, c.skills)


def replay(
    arrays: MatchArrays, whole: bool, records: Records, sides: Teams, answers: GaussianAnswers, c: WengLinConstants
) -> None:
    """Rate match after match, as `trueskill.formulas.replay`: two teams that played to the end take a shorter way."""
    matches, teams, members, ranks, started_at = arrays[:5]
    wins, draws, after = answers
    for match in range(len(started_at)):
        a, at = matches[match], started_at[match]
        if not whole or matches[match + 1] != a + 2:
            rate_match(match, arrays, records, sides, answers, c)
            continue
        begin, middle, end = teams[a], teams[a + 1], teams[a + 2]
        mean, variance = sum_whole(begin, middle, members, records, at, c.skills)
        other_mean, other_variance = sum_whole(middle, end, members, records, at, c.skills)
        difference, c2 = mean - other_mean, c.scale * (variance + other_variance + 2.0 * c.noise)
        chance, other_chance, draws[match] = expect_pair(difference, c2, c)
        wins[a], wins[a + 1] = chance, other_chance
        slope, curvature = learn_pair(difference, c2, chance, other_chance, ranks[a + 1] - ranks[a], c)
        first, second = curvature * math.sqrt(variance), curvature * math.sqrt(other_variance)
        for place in range(begin, end):
            p = records[members[place]]
            own = place < middle
            update(p, slope if own else -slope, first if own else second, 1.0, at, c)
            after[place] = shown(p, c.skills)
