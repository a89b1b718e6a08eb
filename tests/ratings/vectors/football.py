"""Published values of the three football systems."""

from __future__ import annotations

from typing import Any

from equipoise.core.model import PlayerId
from equipoise.ratings.football.rankings import PER_IMPORTANCE, FifaMen, FifaWomen, WorldFootballElo, goal_factor
from equipoise.ratings.football.system import Football, Kind
from equipoise.ratings.system import Match
from tests.ratings.vectors.forms import Facts, Form, by_form, each

ANN, BOB = PlayerId("ann"), PlayerId("bob")

HOME_AWAY = ("home", "away")

RANKS = {1.0: (0, 1), 0.5: (0, 0), 0.0: (1, 0)}
"""Of a win, a draw and a defeat."""

SCORE_LINES = {1.0: ((1, 0), (0, 1)), 0.75: ((0, 0), (0, 1)), 0.5: ((0, 0), (0, 0)), 0.0: ((0, 1), (1, 0))}
"""Goals and ranks for each result of the men's ranking; 0.75 is a shoot-out that was won."""


def goal_factors(params: Facts, given: Facts) -> dict[str, Any]:
    """G of goal differences."""
    return {"G": each(goal_factor, given["goal_diff"])}


def football_importance(params: Facts, given: Facts) -> dict[str, Any]:
    """K of kinds of match."""
    return {"K": each(lambda kind: WorldFootballElo.importance[Kind(kind)], given["kinds"])}


def football_lead(params: Facts, given: Facts) -> dict[str, Any]:
    """The expected score in World Football Elo by a lead that includes the home advantage."""
    system = WorldFootballElo.create(home=0)
    return {"We": each(lambda lead: _expected(system, lead, 0), given["dr"])}


def football_match(params: Facts, given: Facts) -> dict[str, Any]:
    """The points exchanged."""
    system = WorldFootballElo.create(rounding="none", home=params.get("home", 0))
    margin, score = given["goal_diff_abs"], float(given["W_a"])
    kind = next(kind for kind in Kind if WorldFootballElo.importance[kind] == params["K"])
    points = (0, margin) if score == 0.0 else (margin, 0)
    after = _rated(system, given["ra"], given["rb"], points, RANKS[score], kind)
    return {"P_a": after[0] - given["ra"], "P_b": after[1] - given["rb"]}


def men_match(params: Facts, given: Facts) -> dict[str, Any]:
    """Both teams' points after the match."""
    after = _men(given["pa"], given["pb"], {**params, "W": given["W_a"]})
    return {"pa_new": after[0], "pb_new": after[1]}


def men_matches(params: Facts, given: Facts) -> dict[str, Any]:
    """A team's points after one match and another."""
    points = params["start"]
    for game in given["games"]:
        points, _ = _men(points, game["opp"], game)
    return {"p_new": points}


def _men(points: float, other: float, facts: Facts) -> tuple[float, float]:
    """Points after a match of a kind with this importance."""
    score, protected = float(facts["W"]), bool(facts.get("knockout"))
    kinds = (
        kind for kind in Kind if FifaMen.importance[kind] == facts["I"] and (kind in FifaMen.protected) == protected
    )
    return _rated(FifaMen.create(), points, other, *SCORE_LINES[score], next(kinds))


def women_table(params: Facts, given: Facts) -> dict[str, Any]:
    """The score of the team that did not win, by goals and difference."""
    system = FifaWomen.create()
    parts = [[100 * system.outcome(low, low + more, -1).score for more in range(7)] for low in range(6)]
    return {"percent_nonwinner": parts}


def women_score(params: Facts, given: Facts) -> dict[str, Any]:
    """The scores of both teams by a score line."""
    goals, other = given["goals"], given["opp_goals"]
    said = FifaWomen.create().outcome(goals, other, (goals > other) - (goals < other))
    return {"S_act": said.score, "S_act_opp": said.other_score}


def women_importance(params: Facts, given: Facts) -> dict[str, Any]:
    """K of the importance M."""
    steps = {round(k / PER_IMPORTANCE): k for k in FifaWomen.importance.values()}
    return {"K": each(lambda m: steps[m], given["M"])}


def women_lead(params: Facts, given: Facts) -> dict[str, Any]:
    """The expected score in the women's ranking by a difference that includes the home advantage."""
    system = FifaWomen.create(scale=params.get("c", 200), home=0)
    return {"S_exp": each(lambda lead: _expected(system, lead, 0), given["dr_incl_home"])}


def _expected(system: Football[Any, Any], rating: float, other: float) -> float:
    system.seed(ANN, rating=rating)
    system.seed(BOB, rating=other)
    return system.predict(Match(teams=((ANN,), (BOB,)), sides=HOME_AWAY)).wins[0]


def _rated(
    system: Football[Any, Any],
    rating: float,
    other: float,
    points: tuple[float, ...],
    ranks: tuple[int, ...],
    kind: Kind,
) -> tuple[float, float]:
    system.seed(ANN, rating=rating)
    system.seed(BOB, rating=other)
    match = Match(teams=((ANN,), (BOB,)), ranks=ranks, points=points, mode=kind.value, sides=HOME_AWAY)
    first, second = system.rate(match).changes
    return first.after, second.after


ADAPTERS = {
    "world_football_elo": by_form(
        Form("goal_diff", "", goal_factors),
        Form("kinds", "", football_importance),
        Form("dr", "", football_lead),
        Form("ra rb goal_diff_abs W_a", "", football_match),
    ),
    "fifa_men": by_form(
        Form("pa pb W_a", "", men_match),
        Form("games", "", men_matches),
    ),
    "fifa_women": by_form(
        Form("rows cols", "", women_table),
        Form("goals opp_goals", "", women_score),
        Form("M", "", women_importance),
        Form("dr_incl_home", "", women_lead),
    ),
}
"""By model name."""
