"""Rating systems behind one interface, `system.System`; each is a class, made by name.

The serving process makes systems and rates live matches.  `replay` and `fit` work on whole histories; they load numba,
which the serving process does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from equipoise.errors import RatingError
from equipoise.ratings.parameters import among
from equipoise.ratings.system import Convergence, Match, System

if TYPE_CHECKING:
    from equipoise.ratings.history import History, Replayed


class Place(NamedTuple):
    """Where a system is implemented; module names are relative to this package."""

    module: str
    kind: str
    """Name of its class in `module`."""
    replay: str
    """Module with `replay(system, history)`."""
    fit: str | None = None
    """Module with `fit(system, history)`; None if the system has no whole-history fit."""


SYSTEMS: Final[Mapping[str, Place]] = {
    "elo": Place("elo.system", "Elo", "elo.replay"),
    "fifa_men": Place("football.fifa_men", "FifaMen", "football.replay"),
    "fifa_women": Place("football.fifa_women", "FifaWomen", "football.replay"),
    "glicko": Place("glicko.system", "Glicko", "glicko.replay"),
    "glicko2": Place("glicko.system", "Glicko2", "glicko.replay"),
    "joint": Place("joint.system", "Joint", "joint.replay"),
    "ns2": Place("ns2.system", "NS2", "ns2.replay", "ns2.fit"),
    "synelo": Place("synelo.system", "SynElo", "synelo.replay"),
    "teamskill_allk_ev": Place("teamskill.system", "TeamSkillAllKEV", "teamskill.replay"),
    "teamskill_allk_ls": Place("teamskill.system", "TeamSkillAllKLS", "teamskill.replay"),
    "teamskill_k": Place("teamskill.system", "TeamSkillK", "teamskill.replay"),
    "trueskill": Place("trueskill.system", "TrueSkill", "trueskill.replay"),
    "trueskill2": Place("trueskill2.system", "TrueSkill2", "trueskill2.replay", "trueskill2.fit"),
    "trueskill_through_time": Place("trueskill.system", "TrueSkillThroughTime", "trueskill.replay", "trueskill.fit"),
    "world_football_elo": Place("football.world_football_elo", "WorldFootballElo", "football.replay"),
}
"""By the name in configuration.  A process imports only the systems that it uses."""

BALANCED_BY: Final[Mapping[str, str]] = {"synelo": "joint"}
"""The system that makes the teams of a new pool whose configuration does not say, by the system that rates it.

SynElo's source reads wins alone, and players follow its points.  Others are chosen for the teams they make.
"""


def create(name: str, /, **params: object) -> System[Any]:
    """Make a system without players; raises `RatingError` for an unknown system or a refused parameter.

    >>> round(create("elo", scale=400.0).gap(0.1, size=1), 1)  # points that shift an even match by 10 %
    69.5
    """
    if name not in SYSTEMS:
        raise RatingError(f"{name}: no such rating system; {among(name, SYSTEMS)}")
    system: System[Any] = getattr(_module(SYSTEMS[name].module), SYSTEMS[name].kind).create(**params)
    return system


def replay(system: System[Any], history: History) -> Replayed:
    """Rate a whole history with a compiled kernel; same numbers and end state as `rate` on match after match."""
    replayed: Replayed = _module(SYSTEMS[system.name].replay).replay(system, history)
    return replayed


def fit(system: System[Any], matches: Iterable[Match] | History) -> Convergence:
    """Estimate every skill from a whole history at once; raises `RatingError` if the system has no such fit."""
    where = SYSTEMS[system.name].fit
    if where is None:
        raise RatingError(f"{system.name} has no whole-history fit")
    convergence: Convergence = _module(where).fit(system, _module("history").History.of(matches))
    return convergence


def _module(name: str) -> Any:
    return import_module(f"equipoise.ratings.{name}")
