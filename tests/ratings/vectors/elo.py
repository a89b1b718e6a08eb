"""Published values of Elo in both forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from equipoise.core.model import PlayerId
from equipoise.ratings.elo.system import Elo
from tests.ratings.samples import duel
from tests.ratings.vectors.forms import Facts, Form, by_form, each, named

ANN, BOB = PlayerId("ann"), PlayerId("bob")


def pair(params: Facts, given: Facts) -> dict[str, Any]:
    """Both expectations and, with a score, both ratings afterwards."""
    expected, after = _one(_logistic(params, given), given["ra"], given["rb"], given.get("score_a"))
    changed = {"ra_new": after[0], "rb_new": after[1]} if "score_a" in given else {}
    return {"E_a": expected, "E_b": 1.0 - expected, **changed}


def difference(params: Facts, given: Facts) -> dict[str, Any]:
    """The expected score by the difference in points."""
    system = _logistic(params, given)
    return {"E": each(lambda points: _one(system, points, 0, None)[0], given["diff"])}


def several(params: Facts, given: Facts) -> dict[str, Any]:
    """Ratings after several opponents: one after the other, or all at once as in a tournament."""
    system, start = _logistic(params, given), named(params, given, "r0", "r")
    at_once = not (params.get("sequential") or given.get("sequential"))
    system.seed(ANN, rating=start)
    expected = []
    for rating, score in zip(given["opponents"], given["scores"], strict=True):
        system.seed(BOB, rating=rating)
        match = replace(duel(ANN, BOB, float(score)), skill_at_start={ANN: start} if at_once else {})
        expected.append(system.rate(match).prediction.wins[0])
    return {"r_new": system.skill(ANN), "E": expected}


def gaussian_pair(params: Facts, given: Facts) -> dict[str, Any]:
    """As `pair`, by the normal distribution; a result y is 1, 0 or -1."""
    score = (given["y"] + 1) / 2 if "y" in given else None
    expected, after = _one(_gaussian(params), given["s1"], given["s2"], score)
    changed = {"s1_new": after[0], "s2_new": after[1]} if "y" in given else {}
    return {"P": expected, **changed}


def _logistic(params: Facts, given: Facts) -> Elo:
    k = named(params, given, "K") if given.keys() & {"score_a", "scores"} else 32
    return Elo.create(base=params.get("base", 10), scale=params.get("scale", 400), k=k)


def _gaussian(params: Facts) -> Elo:
    return Elo.create(form="gaussian", beta=params["beta"], k=params.get("K", 24))


def _one(system: Elo, rating: float, other: float, score: float | None) -> tuple[float, tuple[float, float]]:
    """The expected score of the first player, and both ratings afterwards."""
    system.seed(ANN, rating=rating)
    system.seed(BOB, rating=other)
    expected = system.predict(duel(ANN, BOB)).wins[0]
    if score is not None:
        system.rate(duel(ANN, BOB, float(score)))
    return expected, (system.skill(ANN), system.skill(BOB))


ADAPTERS = {
    "elo": by_form(
        Form("ra rb", "score_a K", pair),
        Form("diff", "", difference),
        Form("opponents scores", "r0 r sequential K", several),
    ),
    "gaussian_elo": by_form(
        Form("s1 s2", "y", gaussian_pair),
    ),
}
"""By model name."""
