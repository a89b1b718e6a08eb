"""Adapters of `vectors` to Weng-Lin, whose entries are of openskill and skillratings."""

from __future__ import annotations

from functools import partial
from typing import Any

from equipoise.core.model import PlayerId
from equipoise.ratings.system import Match, ranks_of
from equipoise.ratings.weng_lin.system import WengLin
from tests.ratings.samples import ANN, BOB
from tests.ratings.vectors.forms import Facts, Form, by_form
from tests.ratings.vectors.trueskill import known, place, ratings

SETTINGS = ("mu", "sigma", "beta", "tau", "limit_sigma")


def newcomers(params: Facts, given: Facts, **settings: object) -> dict[str, Any]:
    """Teams of newcomers after their first match."""
    system = WengLin.create(**known(params, *SETTINGS), **settings)
    teams = tuple(tuple(PlayerId(f"{team}.{seat}") for seat in range(size)) for team, size in enumerate(given["sizes"]))
    match = Match(teams, tuple(given["ranks"]))
    system.rate(match)
    return {"ratings": ratings(system, match)}


def duel(params: Facts, given: Facts) -> dict[str, Any]:
    """Two players after a match without τ."""
    system = WengLin.create(**known(params, *SETTINGS), tau=0.0, model="bradley_terry")
    for player, skill in ((ANN, given["p1"]), (BOB, given["p2"])):
        place(system, player, *skill)
    match = Match(((ANN,), (BOB,)), ranks_of(float(given["score1"])))
    system.rate(match)
    (one,), (other,) = ratings(system, match)
    return {"p1": one, "p2": other}


MODELS = {
    "PlackettLuce": {"model": "plackett_luce"},
    "BradleyTerryFull": {"model": "bradley_terry"},
    "BradleyTerryPart": {"model": "bradley_terry", "neighbours": 4},
    "ThurstoneMostellerFull": {"model": "thurstone_mosteller"},
    "ThurstoneMostellerPart": {"model": "thurstone_mosteller", "neighbours": 4},
}

ADAPTERS = {
    **{
        f"openskill_{name}": by_form(Form("sizes ranks", "", partial(newcomers, **settings)))
        for name, settings in MODELS.items()
    },
    "openskill_BradleyTerryFull_noTau": by_form(Form("p1 p2 score1", "", duel)),
}
"""By model name, as the vectors spell it."""
