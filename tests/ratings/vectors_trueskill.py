"""Adapters of `vectors` to TrueSkill, TrueSkill Through Time and the normal distribution under them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from equipoise.core.model import PlayerId
from equipoise.ratings.base import Match
from equipoise.ratings.belief import BeliefSystem
from equipoise.ratings.gaussian import above, pdf, within
from equipoise.ratings.history import History
from equipoise.ratings.teams import Teams, combined, log_evidence, margin_of
from equipoise.ratings.timeline import Timeline
from equipoise.ratings.trueskill import DAY, TrueSkill, draw_unit
from equipoise.ratings.trueskill_through_time import ThroughTimeParams, TrueSkillThroughTime

Facts: TypeAlias = Mapping[str, Any]


def trueskill(params: Facts, given: Facts) -> dict[str, Any]:
    """Ratings, quality and chances of one match, or a draw margin."""
    if "players" in given:
        beta, draws = params["beta"], given["draw_probability"]
        return {"epsilon": margin_of(given["players"], draw_unit(draws, beta))}
    system = TrueSkill.create(**known(params, "mu", "sigma", "beta", "tau", "draw_probability"))
    match = seated(system, given, given.get("ranks", ()))
    quality, chances = system.quality(match), system.predict(match)
    answers = {"quality": quality, "wins": list(chances.wins), "draw": chances.draw}
    if match.ranks:
        system.rate(match)
    return answers | {"ratings": ratings(system, match)}


def ttt_game(params: Facts, given: Facts) -> dict[str, Any]:
    """One match; a higher result is better."""
    draws = params.get("p_draw", 0.0)
    if "sd" in params:
        return {"margin": draw_unit(given["p_draw"], params["sd"])}
    system = TrueSkillThroughTime.create(beta=params["beta"], draw_probability=draws)
    if given.get("all_permutations"):
        orders = itertools.permutations(range(len(given["teams"])))
        return {"sum_evidence": sum(evidence(system, seated(system, given, order)) for order in orders)}
    better = given.get("result") or range(len(given["teams"]), 0, -1)
    match = seated(system, given, [-result for result in better])
    probability = evidence(system, match)
    system.rate(match)
    return {"posteriors": ratings(system, match), "evidence": probability}


def ttt_history(params: Facts, given: Facts) -> dict[str, Any]:
    """Skills after the forward pass and at the end; a point in time is a match, or all matches of one time."""
    chosen = known(params, "mu", "sigma", "beta", "gamma") | {"draw_probability": params.get("p_draw", 0.0)}
    settings = ThroughTimeParams(**chosen)
    matches = list(history_of(given))
    timeline = Timeline(settings.constants(), 1e-9)
    timeline.append(History.of(matches))
    timeline.settle(1)
    first = points(timeline, matches)
    timeline.settle(100_000)
    log_evidence = timeline.log_evidence()
    return {"first_pass": first, "after_convergence": points(timeline, matches), "log_evidence": log_evidence}


def gaussian(params: Facts, given: Facts) -> dict[str, Any]:
    """The product of two, the logarithm of what it integrates to, or their quotient."""
    (mean, deviation), (other, spread) = given["a"], given["b"]
    if given["op"] == "logproductnorm":
        both = math.hypot(deviation, spread)
        return {"value": math.log(pdf((mean - other) / both) / both)}
    precision = (-1.0 if given["op"] == "div" else 1.0) / spread**2
    product, variance = combined(mean, deviation**2, precision, other * precision)
    return {"mu": product, "sigma": math.sqrt(variance)}


def truncated_gaussian(params: Facts, given: Facts) -> dict[str, Any]:
    """Mean and deviation of what is left of N(mu, sigma²) above the margin, or within it."""
    mean, deviation = given["mu"], given["sigma"]
    v, w = (within if given["tie"] else above)(mean / deviation, given["margin"] / deviation)
    return {"mu": mean + deviation * v, "sigma": deviation * math.sqrt(1.0 - w)}


def known(params: Facts, *names: str) -> dict[str, Any]:
    """Those of the named parameters that an entry gives."""
    return {name: params[name] for name in names if name in params}


def seated(system: BeliefSystem[Any], given: Facts, ranks: Sequence[int]) -> Match:
    """The match of an entry, its players seeded."""
    teams = tuple(
        tuple(PlayerId(f"{team}.{place}") for place in range(len(side))) for team, side in enumerate(given["teams"])
    )
    everybody = [player for side in teams for player in side]
    for player, (mu, sigma) in zip(everybody, itertools.chain(*given["teams"]), strict=True):
        system.seed(player, mu=mu, sigma=sigma)
    weights = itertools.chain(*given["weights"]) if "weights" in given else ()
    return Match(teams, tuple(ranks), share=dict(zip(everybody, weights, strict=False)))


def ratings(system: BeliefSystem[Any], match: Match) -> list[list[list[float]]]:
    """Mean and deviation of each player of each team."""
    return [[[system.skill(player), system.uncertainty(player)] for player in side] for side in match.teams]


def evidence(system: BeliefSystem[Any], match: Match) -> float:
    """Probability of the ranks."""
    teams: Teams = system.performances(match)
    return math.exp(log_evidence(teams, match.ranks, 0, len(match.teams), system.constants.unit))


def history_of(given: Facts) -> Iterator[Match]:
    """The matches of an entry; its unit of time is a day."""
    weights = given.get("weights") or [[]] * len(given["composition"])
    for number, (teams, results) in enumerate(zip(given["composition"], given["results"], strict=True)):
        shares = zip(itertools.chain(*teams), itertools.chain(*weights[number]), strict=False)
        yield Match(
            teams=tuple(tuple(PlayerId(player) for player in side) for side in teams),
            ranks=tuple(-result for result in results),
            share={PlayerId(player): weight for player, weight in shares},
            started_at=given["times"][number] * DAY if given.get("times") else None,
        )


def points(timeline: Timeline, matches: Sequence[Match]) -> dict[str, list[float]]:
    """Mean and deviation by point in time and player, as `t0.a`; the last where a player has several."""
    times = [number if match.started_at is None else match.started_at for number, match in enumerate(matches)]
    places = {time: place for place, time in enumerate(sorted(set(times)))}
    found = {}
    for player in timeline.numbers:
        curve = timeline.curve(player)
        played = [time for time, match in zip(times, matches, strict=True) if player in itertools.chain(*match.teams)]
        for time, mean, deviation in zip(played, curve.means, curve.deviations, strict=True):
            found[f"t{places[time]}.{player}"] = [mean, deviation]
    return found


ADAPTERS: Mapping[str, Callable[[Facts, Facts], dict[str, Any]]] = {
    "trueskill": trueskill,
    "ttt_game": ttt_game,
    "ttt_history": ttt_history,
    "gaussian": gaussian,
    "truncated_gaussian": truncated_gaussian,
}
"""By model name, as the vectors spell it."""
