"""Published values of Elo in both forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from equipoise.core.model import PlayerId
from equipoise.ratings.elo import Elo
from tests.ratings.samples import duel

Facts: TypeAlias = Mapping[str, Any]

ANN, BOB = PlayerId("ann"), PlayerId("bob")


def elo(params: Facts, given: Facts) -> dict[str, Any]:
    """Expectations, and ratings after one match or several."""
    system = Elo.create(base=params.get("base", 10), scale=params.get("scale", 400), k=params.get("K", 32))
    if "opponents" in given:
        system.seed(ANN, rating=given.get("r0", given.get("r")))
        for rating, score in zip(given["opponents"], given["scores"], strict=True):
            system.seed(BOB, rating=rating)
            system.rate(duel(ANN, BOB, float(score)))
        return {"r_new": system.skill(ANN)}
    after = _one(system, given.get("ra", given.get("diff", 0)), given.get("rb", 0), given.get("score_a"))
    return {"E": after["first"], "E_a": after["first"], "E_b": after["second"], **_named(after, "ra_new", "rb_new")}


def gaussian_elo(params: Facts, given: Facts) -> dict[str, Any]:
    """The same by the normal distribution; a result y is 1, 0 or -1."""
    system = Elo.create(form="gaussian", beta=params["beta"], k=params.get("K", 24))
    score = (given["y"] + 1) / 2 if "y" in given else None
    after = _one(system, given["s1"], given["s2"], score)
    return {"P": after["first"], **_named(after, "s1_new", "s2_new")}


def _one(system: Elo, rating: float, other: float, score: float | None) -> dict[str, float]:
    system.seed(ANN, rating=rating)
    system.seed(BOB, rating=other)
    first, second = system.predict(duel(ANN, BOB)).wins
    if score is not None:
        system.rate(duel(ANN, BOB, float(score)))
    return {"first": first, "second": second, "ann": system.skill(ANN), "bob": system.skill(BOB)}


def _named(after: Mapping[str, float], first: str, second: str) -> dict[str, float]:
    return {first: after["ann"], second: after["bob"]}


ADAPTERS = {"elo": elo, "gaussian_elo": gaussian_elo}
"""By model name."""
