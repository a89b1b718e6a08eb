"""Adapters of `vectors` to TrueSkill and TrueSkill Through Time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any, TypeAlias

from equipoise.core.model import PlayerId
from equipoise.ratings.history import History
from equipoise.ratings.parameters import DAY
from equipoise.ratings.parts.match_arrays import one_match
from equipoise.ratings.parts.team_order import Teams, draw_unit, log_evidence, margin_of
from equipoise.ratings.system import Match
from equipoise.ratings.trueskill.fit import Smoother
from equipoise.ratings.trueskill.formulas import sum_participants
from equipoise.ratings.trueskill.system import GaussianSystem, TrueSkill, TrueSkillThroughTime
from tests.ratings.vectors.forms import Facts, Form, by_form, named

Weights: TypeAlias = Sequence[Sequence[float]] | None

NORMAL = NormalDist()

SETTINGS = ("mu", "sigma", "beta", "tau", "draw_probability")


def trueskill_match(params: Facts, given: Facts) -> dict[str, Any]:
    """Quality, and ratings after the match; without ranks the teams are in order, the best first."""
    settings = known({"draw_probability": 0.1} | params, *SETTINGS)
    settings["draw_probability"] = narrowed(settings["draw_probability"], given.get("weights"))
    system = TrueSkill.create(**settings)
    match = match_of(system, given, given.get("ranks") or range(len(given["teams"])))
    quality = system.trueskill_quality(match)
    system.rate(match)
    return {"quality": quality, "ratings": ratings(system, match)}


def trueskill_margin(params: Facts, given: Facts) -> dict[str, Any]:
    """The draw margin of so many players."""
    unit = draw_unit(named(params, given, "draw_probability"), params["beta"])
    return {"epsilon": margin_of(given["players"], unit)}


def ttt_match(params: Facts, given: Facts) -> dict[str, Any]:
    """One match; a higher result is better."""
    system = through_time(params, given)
    match = match_of(system, given, [-result for result in given["result"]])
    system.rate(match)
    return {"posteriors": ratings(system, match)}


def ttt_orders(params: Facts, given: Facts) -> dict[str, Any]:
    """The probabilities of all orders of the same teams, added up."""
    system, orders = through_time(params, given), itertools.permutations(range(len(given["teams"])))
    return {"sum_evidence": sum(evidence(system, match_of(system, given, each)) for each in orders)}


def ttt_margin(params: Facts, given: Facts) -> dict[str, Any]:
    """The draw margin of teams whose performances differ by a deviation of `sd`."""
    return {"margin": draw_unit(named(params, given, "p_draw"), named(params, given, "sd"))}


def ttt_history(params: Facts, given: Facts) -> dict[str, Any]:
    """Skills after the forward pass and at the end; a point in time is a match, or all matches of one time."""
    system = TrueSkillThroughTime.create(**known(params, "mu", "sigma", "beta", "gamma"), draw_probability=0.0)
    matches = list(history_of(given))
    first = forward(system, matches)
    smoother = Smoother(system.constants, 1e-9)
    smoother.append(History.of(matches))
    smoother.run(100_000)
    return {"first_pass": first, "after_convergence": points(smoother, matches)}


def known(params: Facts, *names: str) -> dict[str, Any]:
    """The named parameters that an entry has."""
    return {name: params[name] for name in names if name in params}


def through_time(params: Facts, given: Facts) -> TrueSkillThroughTime:
    """The system of one match: no draws unless an entry says so."""
    draws = named({"p_draw": 0.0} | params, given, "p_draw")
    return TrueSkillThroughTime.create(beta=params["beta"], draw_probability=narrowed(draws, given.get("weights")))


def match_of(system: GaussianSystem[Any], given: Facts, order: Sequence[float]) -> Match:
    """The match of an entry, with its players restored into the system."""
    teams = tuple(
        tuple(PlayerId(f"{team}.{seat}") for seat in range(len(side))) for team, side in enumerate(given["teams"])
    )
    for side, skills in zip(teams, given["teams"], strict=True):
        for player, (mean, deviation) in zip(side, skills, strict=True):
            place(system, player, mean, deviation)
    return Match(teams, tuple(order), fraction_played=fractions(teams, given.get("weights")))


def place(system: GaussianSystem[Any], player: PlayerId, mean: float, deviation: float) -> None:
    """Restore a player at this skill; `seed` would refuse numbers that some entries have."""
    system.restore(player, {"mu": mean, "variance": deviation**2, "rounds": 0, "last_played": None})


def fractions(teams: Sequence[Sequence[PlayerId]], weights: Weights) -> dict[PlayerId, float]:
    """Each player's fraction of the match by an entry's weights; empty without weights.

    A weight may be above 1, a fraction may not.  So all are divided by the largest, which does not change who wins, nor
    a draw if its margin is divided too (`narrowed`).
    """
    if not weights:
        return {}
    whole, sides = largest(weights), zip(teams, weights, strict=True)
    return {player: weight / whole for side, own in sides for player, weight in zip(side, own, strict=True)}


def largest(weights: Weights) -> float:
    """The largest weight; at least 1."""
    return max([1.0, *itertools.chain(*weights or ())])


def narrowed(draws: float, weights: Weights) -> float:
    """The draw probability whose margin is divided as `fractions` divides the weights."""
    whole = largest(weights)
    return 2.0 * NORMAL.cdf(NORMAL.inv_cdf((draws + 1.0) / 2.0) / whole) - 1.0 if whole > 1.0 and draws else draws


def ratings(system: GaussianSystem[Any], match: Match) -> list[list[list[float]]]:
    """Mean and deviation of each player of each team."""
    return [[[system.skill(player), system.uncertainty(player)] for player in side] for side in match.teams]


def evidence(system: GaussianSystem[Any], match: Match) -> float:
    """Probability of the ranks."""
    teams, (arrays, players) = Teams.of(len(match.teams)), one_match(match)
    sum_participants(0, arrays, [system.held(player) for player in players], teams, system.constants)
    return math.exp(log_evidence(teams, match.ranks, 0, len(match.teams), system.constants.unit))


def history_of(given: Facts) -> Iterator[Match]:
    """The matches of an entry; its unit of time is a day."""
    times = given["times"] or [None] * len(given["composition"])
    for composition, results, time in zip(given["composition"], given["results"], times, strict=True):
        teams = tuple(tuple(PlayerId(player) for player in side) for side in composition)
        ranks = tuple(-result for result in results)
        yield Match(teams, ranks, started_at=None if time is None else time * DAY)


def places(matches: Sequence[Match]) -> list[int]:
    """The point in time of each match."""
    times = [number if match.started_at is None else match.started_at for number, match in enumerate(matches)]
    return [sorted(set(times)).index(time) for time in times]


def forward(system: TrueSkillThroughTime, matches: Sequence[Match]) -> dict[str, list[float]]:
    """Mean and deviation as `t0.a`, by point in time and player, after its last match there; the past stays."""
    found = {}
    for point, match in zip(places(matches), matches, strict=True):
        system.rate(match)
        for player in itertools.chain(*match.teams):
            found[f"t{point}.{player}"] = [system.skill(player), system.uncertainty(player)]
    return found


def points(smoother: Smoother, matches: Sequence[Match]) -> dict[str, list[float]]:
    """As `forward`, by the whole history."""
    found = {}
    for player in smoother.numbers:
        curve = smoother.curve(player)
        played = zip(places(matches), matches, strict=True)
        own = [point for point, match in played if player in itertools.chain(*match.teams)]
        for point, mean, deviation in zip(own, curve.means, curve.deviations, strict=True):
            found[f"t{point}.{player}"] = [float(mean), float(deviation)]
    return found


ADAPTERS = {
    "trueskill": by_form(
        Form("teams", "ranks weights", trueskill_match),
        Form("players", "draw_probability", trueskill_margin),
    ),
    "ttt_game": by_form(
        Form("teams", "result weights p_draw", ttt_match),
        Form("teams all_permutations", "p_draw", ttt_orders),
        Form("", "p_draw sd", ttt_margin),
    ),
    "ttt_history": by_form(Form("composition results times", "", ttt_history)),
}
"""By model name, as the vectors spell it."""
