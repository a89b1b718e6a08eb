"""Published values of Glicko and Glicko-2."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from equipoise.core.model import PlayerId
from equipoise.ratings.glicko import formulas as kernel
from equipoise.ratings.glicko.system import Glicko, Glicko2, GlickoFamily
from tests.ratings.samples import duel
from tests.ratings.vectors.forms import Answer, Facts, Form, by_form, named

System: TypeAlias = GlickoFamily[Any]
Maker: TypeAlias = Callable[[Facts, bool], System]
"""A system of an entry's params, whose matches are each a period, or all of one."""

ANN, BOB = PlayerId("ann"), PlayerId("bob")


def make_glicko(params: Facts, apart: bool) -> System:
    """Without a c, deviations do not grow."""
    return Glicko.create(c=params.get("c", 0), periods="match" if apart else "calendar")


def make_glicko2(params: Facts, apart: bool) -> System:
    """Of τ only the square counts."""
    return Glicko2.create(tau=abs(params.get("tau", 0.5)), periods="match" if apart else "calendar")


def interval(create: Maker) -> Answer:
    """Where the rating is with a probability of 95 %."""

    def answer(params: Facts, given: Facts) -> dict[str, Any]:
        system = create(params, True)
        _seat(system, ANN, (given["r"], given["rd"]))
        reach = 1.96 * system.uncertainty(ANN)
        return {"lo": system.skill(ANN) - reach, "hi": system.skill(ANN) + reach}

    return answer


def duels(create: Maker) -> Answer:
    """Two players after a match.

    As in the other forms, an opponent's deviation is what it is given as: it does not grow before the match.
    """

    def answer(params: Facts, given: Facts) -> dict[str, Any]:
        own, other, score = tuple(given["p1"]), tuple(given["p2"]), given["score1"]
        both = ((own, other, score), (other, own, 1 - score))
        return {f"p{one}": _after(create(params, True), *facts) for one, facts in enumerate(both, start=1)}

    return answer


def expectation(create: Maker) -> Answer:
    """What to expect of two players."""

    def answer(params: Facts, given: Facts) -> dict[str, Any]:
        system = create(params, True)
        _seat(system, ANN, (given["r1"], given["rd1"]))
        _seat(system, BOB, (given["r2"], given["rd2"]))
        return {"E": system.predict(duel(ANN, BOB)).wins[0]}

    return answer


def games(create: Maker) -> Answer:
    """A period, its steps, games one after the other, or absence; the deviation is from before the period."""

    def answer(params: Facts, given: Facts) -> dict[str, Any]:
        system, periods = create(params, bool(params.get("sequential"))), given.get("periods", 1)
        before = (given.get("r", 1500), named(params, given, "rd", "rd_before_onset"), given.get("sigma", 0.06))
        if not given.get("games"):
            # Glicko-2's deviation grows in step 6 of a period, not before it: one more, and it has grown in all.
            missed = periods + 1 if isinstance(system, Glicko2) else periods
            return {"r_new": before[0], "rd_new": _grown(system, before, missed)}
        _seat(system, ANN, (before[0], _grown(system, before, periods), *before[2:]))
        return _period(system, given["games"])

    return answer


def _after(system: System, own: tuple[float, ...], other: tuple[float, ...], score: float) -> list[float]:
    _seat(system, ANN, (own[0], _grown(system, own, 1), *own[2:]))
    _seat(system, BOB, other)
    system.rate(duel(ANN, BOB, float(score)))
    return [system.skill(ANN), system.uncertainty(ANN)]


def _grown(system: System, player: tuple[float, ...], periods: float) -> float:
    """The deviation at the onset of a period."""
    _seat(system, ANN, player)
    return math.sqrt(kernel.grown(system.held(ANN), periods, system.constants))


def _seat(system: System, player: PlayerId, facts: tuple[float, ...]) -> None:
    """Seed a player with rating, deviation and, in Glicko-2, volatility."""
    rating, deviation, *volatility = facts
    known = {"volatility": volatility[0]} if volatility and isinstance(system, Glicko2) else {}
    system.seed(player, rating=rating, rd=deviation, **known)


def _period(system: System, played: list[list[float]]) -> dict[str, Any]:
    """After games against strangers, with the last step's figures; of one period, they are those of all its games."""
    before = system.skill(ANN)
    for number, (rating, deviation, score) in enumerate(played):
        opponent = PlayerId(f"opponent {number}")
        _seat(system, opponent, (rating, deviation))
        system.rate(replace(duel(ANN, opponent, float(score)), started_at=0.0))
    g = [kernel.attenuation(deviation**2) for _, deviation, _ in played]
    found = {"r_new": system.skill(ANN), "rd_new": system.uncertainty(ANN), "sigma_new": system.held(ANN).volatility}
    if not system.constants.pooled:
        return found
    return found | {
        "g": g,
        "E": [kernel.expectation(before - game[0], each) for game, each in zip(played, g, strict=True)],
        "d2_sqrt": 1.0 / math.sqrt(system.held(ANN).information),
        **_steps(system, played),
    }


def _steps(system: System, played: list[list[float]]) -> dict[str, Any]:
    """The intermediate numbers of Glicko-2's example, in its units."""
    q, held = kernel.Q, system.held(ANN)
    prior = held.onset_variance * q * q + held.volatility**2
    return {
        "mu_j": [(rating - 1500) * q for rating, _, _ in played],
        "phi_j": [deviation * q for _, deviation, _ in played],
        "v": q * q / held.information,
        "delta": q * held.surprise / held.information,
        "phi_star": math.sqrt(prior),
        "phi_new": math.sqrt(held.variance) * q,
        "mu_new": (held.rating - 1500) * q,
    }


def _forms(create: Maker) -> list[Form]:
    return [
        Form("p1 p2 score1", "", duels(create)),
        Form("r1 rd1 r2 rd2", "", expectation(create)),
        Form("r games", "rd rd_before_onset sigma periods", games(create)),
        Form("rd periods", "r sigma", games(create)),
        Form("r rd", "sigma", interval(create)),
    ]


ADAPTERS = {
    "glicko": by_form(*_forms(make_glicko)),
    "glicko2": by_form(*_forms(make_glicko2)),
}
"""By model name."""
