"""TrueSkill 2's online loop: skills drift, a match is predicted, and its result updates them.

A player's skill in a mode is w·base + own part: two Gaussians that are kept apart, equation (20) of Minka, Cleven &
Zaykov 2018 (their dependence is dropped, as the paper does).  A match goes through four steps: both parts gain
variance for the time since they last played (3); the performances of all players enter a factor graph; EP computes the
derivatives of the match's log evidence by each performance; and each part is updated by them, then gains experience
and variance for having played (8).

`rate_match` rates a live match, in lists, and every match of a replay, in arrays that numba compiles it for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parameters import NEVER
from equipoise.ratings.parts.match_arrays import MatchArrays, fraction_played_at
from equipoise.ratings.parts.team_order import Teams, expect
from equipoise.ratings.trueskill2.expectation_propagation import infer, performance_derivatives
from equipoise.ratings.trueskill2.factor_graph import UNKNOWN, FactorGraph
from equipoise.ratings.trueskill2.params import (
    BASE_GAMMA2,
    BASE_TAU2,
    BASE_WEIGHT,
    BETA2,
    BOT,
    EXPERIENCE,
    GAMMA2,
    MARGIN,
    MATCHES,
    SQUAD,
    SQUADS,
    TAU2,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.match_arrays import Floats, Ints
    from equipoise.ratings.trueskill2.params import Row

    Table: TypeAlias = "Sequence[Row] | NDArray[np.float64]"

NO_CHAIN = -1
"""The chain of a bot."""

PER_MINUTE = 60.0

HALF_PAIR = 0.5
"""`Teams.size` of every team: two of them add up to 1, so that the draw margin is ε for all team sizes."""


class TrueSkill2Arrays(NamedTuple):
    """Arrays that TrueSkill 2 reads besides `MatchArrays`: m matches, p participants, s players in lineups."""

    row: Ints
    """Shape (m,): the row of the table with the match's parameters."""
    minutes: Floats
    """Shape (m,): length of the match, NaN if unknown."""
    chain: Ints
    """Shape (p,): index of the participant's own part in the match's mode."""
    lineup_chain: Ints
    """Shape (s,): `chain` of each lineup member; `NO_CHAIN` for a bot."""
    kills: Floats
    """Shape (p,): kills, NaN if unknown; `deaths` likewise."""
    deaths: Floats
    ending: Ints
    """Shape (p,): as `FactorGraph.ending`."""
    squad: Ints
    """Shape (p,): size of the participant's squad in their team, 1 alone."""
    lineup_squad: Ints
    """Shape (s,): `squad` of each lineup member."""


class Skills(NamedTuple):
    """The skills of a history's players: n own parts (chains) and k bases (one a player); modified in place."""

    mean: Floats
    """Shape (n,), β, as are `variance` (β²), `rounds` and `last`."""
    variance: Floats
    rounds: Ints
    last: Floats
    """Time of the player's last match in the mode, seconds since the epoch; `NEVER` if none."""
    base_mean: Floats
    """Shape (k,), β; the fields that follow have the same shape."""
    base_variance: Floats
    base_last: Floats


def minutes_between(last: float, now: float) -> float:
    """Minutes from one time to another, both in seconds; 0 where a time is unknown.

    >>> minutes_between(0.0, 90.0), minutes_between(NEVER, 90.0), minutes_between(0.0, math.nan)
    (1.5, 0.0, 0.0)
    """
    # Every comparison with NaN is false, so an unknown time needs no test of its own.
    return (now - last) / PER_MINUTE if now > last > NEVER else 0.0


def skill_at(skills: Skills, chain: int, player: int, now: float, c: Row) -> tuple[float, float]:
    """Mean and variance of a skill, β and β², at a time."""
    weight = c[BASE_WEIGHT]
    own = skills.variance[chain] + c[TAU2] * minutes_between(skills.last[chain], now)
    base = skills.base_variance[player] + c[BASE_TAU2] * minutes_between(skills.base_last[player], now)
    return skills.mean[chain] + weight * skills.base_mean[player], own + weight * weight * base


def squad_offset_of(size: int, c: Row) -> float:
    """(7): what a squad of this size adds to a member's performance, β."""
    return c[SQUAD + min(size, SQUADS) - 1]


def experience_gain(rounds: int, c: Row) -> float:
    """(8): what a skill gains by a match after `rounds` earlier ones, β."""
    return c[EXPERIENCE + min(rounds, MATCHES)]


def predict_match(
    match: int, matches: MatchArrays, facts: TrueSkill2Arrays, skills: Skills, sides: Teams, c: Row
) -> float:
    """Fill `sides.wins` for the lineups, all of whom play to the end; returns the probability of a draw."""
    first, end = matches.matches[match], matches.matches[match + 1]
    for team in range(first, end):
        total = spread = 0.0
        for place in range(matches.lineup.starts[team], matches.lineup.starts[team + 1]):
            mean, variance = c[BOT], 0.0
            if facts.lineup_chain[place] != NO_CHAIN:
                chain, player = facts.lineup_chain[place], matches.lineup.members[place]
                mean, variance = skill_at(skills, chain, player, matches.started_at[match], c)
                if len(matches.lineup.skill_at_start) > 0 and not math.isnan(matches.lineup.skill_at_start[place]):
                    mean = matches.lineup.skill_at_start[place]
            total += mean + squad_offset_of(facts.lineup_squad[place], c)
            spread += variance + c[BETA2]
        sides.mean[team - first], sides.variance[team - first], sides.size[team - first] = total, spread, HALF_PAIR
    return expect(sides, end - first, c[MARGIN])


def fill_graph(
    match: int, matches: MatchArrays, facts: TrueSkill2Arrays, skills: Skills, graph: FactorGraph, c: Row
) -> int:
    """Enter the performances of each team's participants, then of the bots in its lineup; returns how many.

    A separate function: inside `rate_match`, numba would first infer the count as the constant 0, and compile all
    functions that take it twice.
    """
    variables, now = 0, matches.started_at[match]
    for team in range(matches.matches[match], matches.matches[match + 1]):
        number = team - matches.matches[match]
        for place in range(matches.teams[team], matches.teams[team + 1]):
            mean, variance = skill_at(skills, facts.chain[place], matches.members[place], now, c)
            mean += squad_offset_of(facts.squad[place], c)
            add_performance(variables, number, mean, variance + c[BETA2], graph)
            add_observations(variables, match, place, matches, facts, graph)
            variables += 1
        for _ in range(bots_of(team, matches, facts)):
            add_performance(variables, number, c[BOT], c[BETA2], graph)
            variables += 1
    return variables


def add_performance(variable: int, team: int, mean: float, variance: float, graph: FactorGraph) -> None:
    """Enter the performance of a player who plays to the end, without observations."""
    graph.mean[variable], graph.variance[variable], graph.team[variable] = mean, variance, team
    graph.fraction_played[variable], graph.ending[variable] = 1.0, UNKNOWN
    graph.minutes[variable] = graph.kills[variable] = graph.deaths[variable] = math.nan


def add_observations(
    variable: int, match: int, place: int, matches: MatchArrays, facts: TrueSkill2Arrays, graph: FactorGraph
) -> None:
    """Enter the counts and the ending of a participant."""
    fraction_played = fraction_played_at(place, matches.fraction_played)
    graph.fraction_played[variable], graph.ending[variable] = fraction_played, facts.ending[place]
    graph.minutes[variable] = fraction_played * facts.minutes[match]
    graph.kills[variable], graph.deaths[variable] = facts.kills[place], facts.deaths[place]


def bots_of(team: int, matches: MatchArrays, facts: TrueSkill2Arrays) -> int:
    """The number of bots in a team's lineup."""
    bots = 0
    for place in range(matches.lineup.starts[team], matches.lineup.starts[team + 1]):
        if facts.lineup_chain[place] == NO_CHAIN:
            bots += 1
    return bots


def update_skill(chain: int, player: int, slope: float, curvature: float, now: float, skills: Skills, c: Row) -> None:
    """Update a skill by derivatives of the match's log evidence by its mean; then add experience and variance."""
    weight = c[BASE_WEIGHT]
    own = skills.variance[chain] + c[TAU2] * minutes_between(skills.last[chain], now)
    base = skills.base_variance[player] + c[BASE_TAU2] * minutes_between(skills.base_last[player], now)
    # Of the skill with its base. The base moves by it, the own part by its own variance: each takes its part of the
    # news.
    covariance = weight * base
    skills.mean[chain] += own * slope + experience_gain(skills.rounds[chain], c)
    skills.variance[chain] = own + own * own * curvature + c[GAMMA2]
    skills.base_mean[player] += covariance * slope
    skills.base_variance[player] = base + covariance * covariance * curvature + c[BASE_GAMMA2]
    skills.rounds[chain] += 1
    if now > skills.last[chain]:
        skills.last[chain] = now
    if now > skills.base_last[player]:
        skills.base_last[player] = now


def rate_match(
    match: int,
    matches: MatchArrays,
    facts: TrueSkill2Arrays,
    skills: Skills,
    graph: FactorGraph,
    sides: Teams,
    after: Floats,
    c: Row,
) -> tuple[float, bool]:
    """Fill `sides.wins` and `after` (per participant, β); the probability of a draw, and whether EP converged."""
    first, end = matches.matches[match], matches.matches[match + 1]
    drawn = predict_match(match, matches, facts, skills, sides, c)
    variables = fill_graph(match, matches, facts, skills, graph, c)
    _, convergence = infer(graph, variables, matches.ranks, first, end - first, False, c)
    variable = 0
    for team in range(first, end):
        for place in range(matches.teams[team], matches.teams[team + 1]):
            chain, player = facts.chain[place], matches.members[place]
            slope, curvature = performance_derivatives(graph, variables, variable)
            update_skill(chain, player, slope, curvature, matches.started_at[match], skills, c)
            after[place] = skills.mean[chain] + c[BASE_WEIGHT] * skills.base_mean[player]
            variable += 1
        variable += bots_of(team, matches, facts)
    return drawn, convergence


def rate_matches(
    matches: MatchArrays,
    facts: TrueSkill2Arrays,
    skills: Skills,
    graph: FactorGraph,
    sides: Teams,
    table: Table,
    wins: Floats,
    draws: Floats,
    after: Floats,
) -> int:
    """Rate match after match; fills `wins` (per team), `draws` and `after`; returns in how many EP did not converge."""
    stuck = 0
    for match in range(len(facts.row)):
        c = table[facts.row[match]]
        draws[match], convergence = rate_match(match, matches, facts, skills, graph, sides, after, c)
        stuck += not convergence
        for team in range(matches.matches[match], matches.matches[match + 1]):
            wins[team] = sides.wins[team - matches.matches[match]]
    return stuck


RateMatches: TypeAlias = Callable[
    [MatchArrays, TrueSkill2Arrays, Skills, FactorGraph, Teams, "Table", "Floats", "Floats", "Floats"],
    int,
]
