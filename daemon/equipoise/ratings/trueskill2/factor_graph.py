"""The factor graph of one match in TrueSkill 2: the performances of its players, and a site for every observation.

    performance_i ~ N(skill_i + squad offset, β²)       one variable for each player; independent before the match
    d = Σ coefficient_i · performance_i                 every observation is about one linear form d of them:
        kills, deaths   w_p · own + w_o · opponents     equations (9) to (11) of Minka, Cleven & Zaykov 2018
        a quit          own - opponents                 (12), (13)
        an order        one team - the next best        (5); d > ε is a win, |d| <= ε a draw

where teams are sums of performances weighted by the fraction of the match that each player played.  A site is what an
observation says of its d, as a Gaussian: a precision and a shift (precision times mean).  This file lists the sites;
`expectation_propagation` computes them.

Plain functions, also compiled by numba.  `FactorGraph` is of lists (one live match) or of arrays (a replay).
A row `c` of parameters is as `params` makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from equipoise.ratings.trueskill2.params import (
    DEATH_OWN,
    DEATH_VARIANCE,
    KILL_OWN,
    KILL_VARIANCE,
    MARGIN,
    QUIT_RELATED,
)

if TYPE_CHECKING:
    from equipoise.ratings.parts.match_arrays import Floats, Ints
    from equipoise.ratings.trueskill2.params import Row


KILLS, DEATHS, NO_KILLS, NO_DEATHS, QUIT, STAYED, WON, DRAWN = range(8)
"""Kinds of sites, in this order: up to `DEATHS` Gaussian, up to `STAYED` about a player, then about two teams."""

COMPLETED, LEFT, UNKNOWN = range(3)
"""Values of `FactorGraph.ending`; bots and players without observations are `UNKNOWN`."""

ABSENT = 1e-9
"""A team with at most this presence counts as absent: its performance is exactly 0."""

LEAST_REMAINDER = 1e-12
"""The least fraction of a variance that a site leaves: a draw without a margin would leave nothing."""


class FactorGraph(NamedTuple):
    """The n performances and t teams of one match, and room for its sites; everything is modified in place."""

    mean: Floats
    """Shape (n,), as are all up to `ending`: a performance before the match, β."""
    variance: Floats
    """Variance of the performance before the match, β²."""
    fraction_played: Floats
    minutes: Floats
    """Minutes played; NaN where unknown."""
    kills: Floats
    """Kills in the match, NaN where unknown; `deaths` likewise."""
    deaths: Floats
    team: Ints
    ending: Ints
    presence: Floats
    """Shape (t,): the sum of the team's fractions played."""
    opponent_scale: Floats
    """Shape (t,): 1 / the presence of all other teams; 0 if there is none."""
    order: Ints
    """Shape (t,): teams from best to worst."""
    order_observed: Ints
    """Shape (t,), by place in `order`: 0 if the place is not compared with the next one."""
    joint_mean: Floats
    """Shape (n,): mean of the joint posterior."""
    covariance: Floats
    """Shape (n * n,): covariance of the joint posterior, row after row."""
    coefficient: Floats
    """Shape (n,): coefficients of the performances in the d of the current site."""
    cross_covariance: Floats
    """Shape (n,): covariance of each performance with that d."""
    kind: Ints
    """Kind of each site; all that follow are by site too."""
    subject: Ints
    """Index of the player that the site is about; for an order, the place of the better team."""
    precision: Floats
    """Precision of the site's Gaussian factor of d."""
    shift: Floats
    """Its precision times its mean."""
    most_precision: Floats
    """For an order, the largest precision it may take; 0 if it is not observed."""
    target_mean: Floats
    """For a quit between two teams, the exact mean of d; `target_variance` is 0 if there is none."""
    target_variance: Floats

    @classmethod
    def allocate(cls, variables: int, teams: int) -> FactorGraph:
        """Allocate lists for so many performances and teams.

        >>> graph = FactorGraph.allocate(variables=2, teams=2)
        >>> len(graph.mean), len(graph.covariance), len(graph.kind)
        (2, 4, 8)
        """
        length = dict.fromkeys(cls._fields, variables)
        length |= dict.fromkeys(("presence", "opponent_scale", "order", "order_observed"), teams)
        length["covariance"] = variables * variables
        # A player has at most kills, deaths and an ending; teams are compared in pairs.
        first_of_sites = cls._fields.index("kind")
        length |= dict.fromkeys(cls._fields[first_of_sites:], 3 * variables + teams)
        whole = ("team", "ending", "order", "order_observed", "kind", "subject")
        return cls(**{name: [0 if name in whole else 0.0] * length[name] for name in cls._fields})  # type: ignore[arg-type]


def reset_joint(graph: FactorGraph, variables: int, ranks: Ints, first: int, teams: int) -> None:
    """Fill the joint prior, the presences, and `order` by a stable sort of `ranks[first:]`; there are no sites yet."""
    total = 0.0
    for team in range(teams):
        graph.presence[team] = 0.0
    for variable in range(variables):
        graph.presence[graph.team[variable]] += graph.fraction_played[variable]
        total += graph.fraction_played[variable]
        graph.joint_mean[variable] = graph.mean[variable]
        for second in range(variables):
            graph.covariance[variable * variables + second] = 0.0
        graph.covariance[variable * variables + variable] = graph.variance[variable]
    for team in range(teams):
        others = total - graph.presence[team]
        # Without opponents their performance is 0, as the paper leaves it open.
        graph.opponent_scale[team] = 1.0 / others if others > ABSENT else 0.0
        free = team
        while free > 0 and ranks[first + graph.order[free - 1]] > ranks[first + team]:
            graph.order[free] = graph.order[free - 1]
            free -= 1
        graph.order[free] = team


def add_exact_sites(graph: FactorGraph, variables: int, c: Row) -> int:
    """Add sites for counts above zero; returns the number of sites.

    By (9) count/minutes is N(d, v/minutes): a precision of minutes/v and a shift of count/v.
    """
    sites = 0
    for variable in range(variables):
        if graph.minutes[variable] > 0.0:
            if graph.kills[variable] > 0.0 and is_counted(c, KILL_OWN):
                sites = add_site(graph, sites, KILLS, variable)
                graph.precision[sites - 1] = graph.minutes[variable] / c[KILL_VARIANCE]
                graph.shift[sites - 1] = graph.kills[variable] / c[KILL_VARIANCE]
            if graph.deaths[variable] > 0.0 and is_counted(c, DEATH_OWN):
                sites = add_site(graph, sites, DEATHS, variable)
                graph.precision[sites - 1] = graph.minutes[variable] / c[DEATH_VARIANCE]
                graph.shift[sites - 1] = graph.deaths[variable] / c[DEATH_VARIANCE]
    return sites


def add_player_sites(graph: FactorGraph, variables: int, sites: int, completed: bool, c: Row) -> int:
    """Add sites for counts of zero, for quits and, if `completed`, for staying; returns the number of sites."""
    for variable in range(variables):
        if graph.minutes[variable] > 0.0:
            if graph.kills[variable] == 0.0 and is_counted(c, KILL_OWN):
                sites = add_site(graph, sites, NO_KILLS, variable)
            if graph.deaths[variable] == 0.0 and is_counted(c, DEATH_OWN):
                sites = add_site(graph, sites, NO_DEATHS, variable)
        # At 0 the model's quits depend on nothing that is unknown, and say nothing.
        if c[QUIT_RELATED] > 0.0 and graph.ending[variable] == LEFT:
            sites = add_site(graph, sites, QUIT, variable)
        if c[QUIT_RELATED] > 0.0 and graph.ending[variable] == COMPLETED and completed:
            sites = add_site(graph, sites, STAYED, variable)
    return sites


def add_order_sites(graph: FactorGraph, variables: int, sites: int, ranks: Ints, first: int, teams: int, c: Row) -> int:
    """Add a site for each adjacent pair in `order`; returns the number of sites."""
    find_observed_order(graph, ranks, first, teams, c)
    for place in range(teams - 1):
        better, worse = graph.order[place], graph.order[place + 1]
        drawn = ranks[first + better] == ranks[first + worse]
        sites = add_site(graph, sites, DRAWN if drawn else WON, place)
        variance = 0.0
        for variable in range(variables):
            # The variance of the difference before the match, of which a site leaves `LEAST_REMAINDER`.
            if graph.team[variable] == better or graph.team[variable] == worse:
                variance += graph.fraction_played[variable] * graph.fraction_played[variable] * graph.variance[variable]
        graph.most_precision[sites - 1] = (
            1.0 / (LEAST_REMAINDER * variance) if graph.order_observed[place] == 1 else 0.0
        )
    return sites


def find_observed_order(graph: FactorGraph, ranks: Ints, first: int, teams: int, c: Row) -> None:
    """Fill `order_observed`: 0 where a comparison carries no information or is impossible.

    The performance of an absent team is known to be 0.  So comparing two adjacent absent teams carries no information.
    Teams between two absent ones have room if all of those pairs draw, or if more of them draw within ε than win by it;
    else the order is impossible, and the comparisons at both ends are ignored.
    """
    count, wins, draws = -1, 0, 0
    for place in range(teams):
        graph.order_observed[place] = 1
        if place > 0 and ranks[first + graph.order[place]] == ranks[first + graph.order[place - 1]]:
            draws += 1
        elif place > 0:
            wins += 1
        if graph.presence[graph.order[place]] <= ABSENT:
            room = wins == 0 or (draws > wins and c[MARGIN] > 0.0)
            if count >= 0 and (place == count + 1 or not room):
                graph.order_observed[count] = graph.order_observed[place - 1] = 0
            count, wins, draws = place, 0, 0


def add_site(graph: FactorGraph, sites: int, kind: int, subject: int) -> int:
    """Add a site with precision 0; returns the number of sites."""
    graph.kind[sites], graph.subject[sites] = kind, subject
    graph.precision[sites] = graph.shift[sites] = 0.0
    return sites + 1


def is_counted(c: Row, own: int) -> bool:
    """Whether a count depends on any performance; the column after a weight `own` is that of the opponents."""
    return c[own] != 0.0 or c[own + 1] != 0.0
