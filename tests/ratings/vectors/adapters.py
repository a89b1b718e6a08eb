"""The one adapter from published vectors to our systems: an entry's params and input become a dict like its expected.

A new system adds a function here, in its entries' own words, and its name to `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.ratings.synelo.system import SynEloParams
from tests.ratings.vectors import elo, football, gaussian, glicko, ns2, teamplay, trueskill, weng_lin
from tests.ratings.vectors.forms import Answer, Facts, Form, by_form, each


def compute(model: str, params: Facts, input: Facts) -> dict[str, Any]:
    """What our system of that model computes; raises `ValueError` for an entry of an unknown form."""
    return ADAPTERS[model](params, input)


def _synelo(params: Facts, given: Facts) -> dict[str, Any]:
    return {"theta": each(lambda k_max: SynEloParams(k_max=k_max).scale, given["k_max"])}


ADAPTERS: Mapping[str, Answer] = {
    "synelo": by_form(Form("k_max", "", _synelo)),
    **trueskill.ADAPTERS,
    **gaussian.ADAPTERS,
    **elo.ADAPTERS,
    **football.ADAPTERS,
    **glicko.ADAPTERS,
    **teamplay.ADAPTERS,
    **ns2.ADAPTERS,
    **weng_lin.ADAPTERS,
}
"""By model name, as the vectors spell it."""
