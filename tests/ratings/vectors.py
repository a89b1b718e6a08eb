"""The one adapter from published vectors to our systems: an entry's params and input become a dict like its expected.

A new system adds a function here, in its entries' own words, and its name to `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.ratings.synelo import SynEloParams
from tests.ratings import (
    vectors_elo,
    vectors_football,
    vectors_gaussian,
    vectors_glicko,
    vectors_ns2,
    vectors_teamplay,
    vectors_trueskill,
)
from tests.ratings.vectors_forms import Answer, Facts, Form, by_form, each


def compute(model: str, params: Facts, input: Facts) -> dict[str, Any]:
    """What our system of that model says; `ValueError` of an entry in a form that is not known."""
    return ADAPTERS[model](params, input)


def _synelo(params: Facts, given: Facts) -> dict[str, Any]:
    return {"theta": each(lambda k_max: SynEloParams(k_max=k_max).scale, given["k_max"])}


ADAPTERS: Mapping[str, Answer] = {
    "synelo": by_form(Form("k_max", "", _synelo)),
    **vectors_trueskill.ADAPTERS,
    **vectors_gaussian.ADAPTERS,
    **vectors_elo.ADAPTERS,
    **vectors_football.ADAPTERS,
    **vectors_glicko.ADAPTERS,
    **vectors_teamplay.ADAPTERS,
    **vectors_ns2.ADAPTERS,
}
"""By model name, as the vectors spell it."""
