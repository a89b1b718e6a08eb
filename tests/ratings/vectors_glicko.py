"""Published values of Glicko and Glicko-2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from equipoise.core.model import PlayerId
from equipoise.ratings import glicko_kernel as kernel
from equipoise.ratings.glicko import Glicko, GlickoFamily
from equipoise.ratings.glicko2 import Glicko2
from equipoise.ratings.ledger import DAY
from tests.ratings.samples import duel

Facts: TypeAlias = Mapping[str, Any]

ANN, BOB = PlayerId("ann"), PlayerId("bob")


def glicko(params: Facts, given: Facts) -> dict[str, Any]:
    """A period, its intermediate values, absence, a prediction, c, or an interval."""
    if "rd_typ" in given:
        return {"c": math.sqrt((given["rd_max"] ** 2 - given["rd_typ"] ** 2) / given["periods"])}
    system = Glicko.create(c=params.get("c", 0))
    if "games" in given:
        system.seed(ANN, rating=given["r"], rd=given.get("rd", given.get("rd_before_onset")))
        if "rd_before_onset" in given:
            system.seed(ANN, last_played=-DAY)
        return _period(system, given)
    if "r1" in given:
        system.seed(ANN, rating=given["r1"], rd=given["rd1"])
        system.seed(BOB, rating=given["r2"], rd=given["rd2"])
        return {"E": system.predict(duel(ANN, BOB)).wins[0]}
    system.seed(ANN, rating=given.get("r", 1500), rd=given["rd"])
    interval = 1.96 * system.uncertainty(ANN)
    variance = kernel.grown(system.held(ANN), given.get("periods", 0), system.constants)
    rating = system.skill(ANN)
    return {"rd_new": math.sqrt(variance), "lo": rating - interval, "hi": rating + interval}


def glicko2(params: Facts, given: Facts) -> dict[str, Any]:
    """A period, games one after the other, a duel, or absence."""
    periods = "match" if params.get("sequential") else "calendar"
    system = Glicko2.create(tau=params["tau"], periods=periods)
    if "p1" in given:
        for player, (rating, rd, volatility) in ((ANN, given["p1"]), (BOB, given["p2"])):
            system.seed(player, rating=rating, rd=rd, volatility=volatility)
        system.rate(duel(ANN, BOB, float(given["score1"])))
        return {name: [system.skill(one), system.uncertainty(one)] for name, one in (("p1", ANN), ("p2", BOB))}
    system.seed(ANN, rating=given["r"], rd=given["rd"], volatility=given["sigma"])
    if given["games"]:
        return _period(system, given) | _steps(system, given)
    # Of two periods since the last match, the second is the one he plays in.
    missed = math.sqrt(kernel.grown(system.held(ANN), 2.0, system.constants))
    return {"r_new": system.skill(ANN), "rd_new": missed}


def _period(system: GlickoFamily[Any], given: Facts) -> dict[str, Any]:
    found = kernel.onset(system.held(ANN), 0.0, system.constants)
    before = found.rating
    for number, (rating, rd, score) in enumerate(given["games"]):
        opponent = PlayerId(f"opponent {number}")
        system.seed(opponent, rating=rating, rd=rd)
        system.rate(replace(duel(ANN, opponent, float(score)), started_at=0.0))
    g = [kernel.attenuation(rd**2) for _, rd, _ in given["games"]]
    return {
        "r_new": system.skill(ANN),
        "rd_new": system.uncertainty(ANN),
        "sigma_new": system.held(ANN).volatility,
        "g": g,
        "E": [kernel.expectation(before - game[0], each) for game, each in zip(given["games"], g, strict=True)],
        "d2_sqrt": 1.0 / math.sqrt(system.held(ANN).information),
    }


def _steps(system: Glicko2, given: Facts) -> dict[str, Any]:
    """What the example prints between, in Glicko-2's units."""
    q, held = kernel.Q, system.held(ANN)
    prior = held.onset_variance * q * q + held.volatility**2
    return {
        "mu_j": [(rating - 1500) * q for rating, _, _ in given["games"]],
        "phi_j": [rd * q for _, rd, _ in given["games"]],
        "v": q * q / held.information,
        "delta": q * held.surprise / held.information,
        "phi_star": math.sqrt(prior),
        "phi_new": math.sqrt(held.variance) * q,
        "mu_new": (held.rating - 1500) * q,
    }


ADAPTERS = {"glicko": glicko, "glicko2": glicko2}
"""By model name."""
