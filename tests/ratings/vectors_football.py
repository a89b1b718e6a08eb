"""Published values of the three football systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from equipoise.core.model import PlayerId
from equipoise.ratings import elo_kernel as kernel
from equipoise.ratings import fifa_men as men
from equipoise.ratings import fifa_women as women
from equipoise.ratings.base import Match
from equipoise.ratings.fifa_men import FifaMen
from equipoise.ratings.fifa_women import FifaWomen
from equipoise.ratings.football import Football, Kind
from equipoise.ratings.world_football_elo import IMPORTANCE, WorldFootballElo, goal_factor

Facts: TypeAlias = Mapping[str, Any]

ANN, BOB = PlayerId("ann"), PlayerId("bob")

GOALS = {1.0: ((1, 0), (0, 1)), 0.75: ((0, 0), (0, 1)), 0.5: ((0, 0), (0, 0)), 0.0: ((0, 1), (1, 0))}
"""A score line and ranks for each result of the men's ranking."""


def world_football_elo(params: Facts, given: Facts) -> dict[str, Any]:
    """G of goal differences, expectations, and points exchanged."""
    if "goal_diff" in given:
        return {"G": [goal_factor(difference) for difference in given["goal_diff"]]}
    system = WorldFootballElo.create(rounding="none", home=params.get("home", 0))
    if "dr" in given:
        return {"We": _expected(system, given["dr"], 0)}
    kind = next(kind for kind in Kind if IMPORTANCE[kind] == params["K"])
    margin, score = given["goal_diff_abs"], given["W_a"]
    points = (margin, 0) if score == 1 else (0, margin)
    ranks = {1: (0, 1), 0.5: (0, 0), 0: (1, 0)}[score]
    after = _rated(system, given["ra"], given["rb"], points, ranks, kind)
    changes = after[0] - given["ra"], after[1] - given["rb"]
    return {"P_a": changes[0], "P_b": changes[1], "ra_new": after[0], "rb_new": after[1]}


def fifa_men(params: Facts, given: Facts) -> dict[str, Any]:
    """Points after one match or several."""
    if "games" not in given:
        after = _men(given["pa"], given["pb"], {**params, "W": given["W_a"]})
        return {"pa_new": after[0], "pb_new": after[1]}
    points = params["start"]
    for game in given["games"]:
        points, _ = _men(points, game["opp"], game)
    return {"p_new": points}


def _men(points: float, other: float, facts: Facts) -> tuple[float, float]:
    """By a kind of such importance, or by the formula where no kind of match is so."""
    system, protected = FifaMen.create(), bool(facts.get("knockout"))
    goals, ranks = GOALS[float(facts["W"])]
    kinds = (kind for kind in Kind if men.IMPORTANCE[kind] == facts["I"] and (kind in men.KNOCK_OUT) == protected)
    if kind := next(kinds, None):
        return _rated(system, points, other, goals, ranks, kind)
    expected, held = _expected(system, points, other), system.newcomer()
    held.rating = points
    kernel.rate(held, facts["I"], facts["W"] - expected, protected, 0.0, system.constants)
    return held.rating, float("nan")


def fifa_women(params: Facts, given: Facts) -> dict[str, Any]:
    """The table, the score of a score line, expectations, importance."""
    system = FifaWomen.create(scale=params.get("c", 200))
    if "rows" in given:
        parts = [[100 * system.outcome(low, low + more, -1).score for more in range(7)] for low in range(6)]
        return {"percent_nonwinner": parts}
    if "goals" in given:
        goals, other = given["goals"], given["opp_goals"]
        said = system.outcome(goals, other, (goals > other) - (goals < other))
        return {"S_act": said.score, "S_act_opp": said.other_score}
    if "M" in given:
        known = sorted({women.IMPORTANCE[kind] for kind in Kind}, reverse=True)
        steps = {round(k / women.PER_IMPORTANCE): k for k in known}
        return {"K": [steps[m] for m in given["M"]]}
    return {"S_exp": _expected(system, given["dr_incl_home"], 0)}


def _expected(system: Football[Any, Any], rating: float, other: float) -> float:
    system.seed(ANN, rating=rating)
    system.seed(BOB, rating=other)
    return system.predict(Match(teams=((ANN,), (BOB,)))).wins[0]


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
    sides = ("home", "away") if system.advantage else ()
    match = Match(teams=((ANN,), (BOB,)), ranks=ranks, points=points, mode=kind.value, sides=sides)
    first, second = system.rate(match).changes
    return first.after, second.after


ADAPTERS = {"fifa_men": fifa_men, "fifa_women": fifa_women, "world_football_elo": world_football_elo}
"""By model name."""
