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
    """Place of a system in this package; module names are relative to it."""

    module: str
    kind: str
    """Name of its class in `module`."""
    replay: str
    """Function `(system, history)`, after its module."""
    fit: str | None = None
    """Module with `fit(system, history)`; None if the system has no whole-history fit."""
    reads: tuple[str, ...] = ()
    """Optional fields of a `History` that the system reads, besides `weight` and `fraction_played`, which all may."""


FOOTBALL = ("mode", "points", "side")

SYSTEMS: Final[Mapping[str, Place]] = {
    "elo": Place("elo.system", "Elo", "replays.replay_elo", reads=("points", "side")),
    "fifa_men": Place("football.rankings", "FifaMen", "football.replay.replay", reads=FOOTBALL),
    "fifa_women": Place("football.rankings", "FifaWomen", "football.replay.replay", reads=FOOTBALL),
    "glicko": Place("glicko.system", "Glicko", "replays.replay_glicko"),
    "glicko2": Place("glicko.system", "Glicko2", "replays.replay_glicko"),
    "joint": Place(
        "joint.system",
        "Joint",
        "joint.replay.replay",
        reads=(
            "kills",
            "deaths",
            "assists",
            "player_points",
            "class_seconds",
            "mode",
            "map",
            "seconds",
            "side",
            "spans",
        ),
    ),
    "ns2": Place(
        "ns2.system",
        "NS2",
        "ns2.replay.replay",
        "ns2.fit",
        reads=("map", "seconds", "side", "spans", "hive_skill", "hive_offset", "hive_commander"),
    ),
    "synelo": Place("synelo.system", "SynElo", "replays.replay_synelo"),
    "teamskill_allk_ev": Place("teamskill.system", "TeamSkillAllKEV", "teamskill.replay.replay"),
    "teamskill_allk_ls": Place("teamskill.system", "TeamSkillAllKLS", "teamskill.replay.replay"),
    "teamskill_k": Place("teamskill.system", "TeamSkillK", "teamskill.replay.replay"),
    "trueskill": Place("trueskill.system", "TrueSkill", "replays.replay_gaussian"),
    "trueskill2": Place(
        "trueskill2.system",
        "TrueSkill2",
        "trueskill2.replay.replay",
        "trueskill2.fit",
        reads=("kills", "deaths", "mode", "quit", "seconds", "squad"),
    ),
    "trueskill_through_time": Place(
        "trueskill.system", "TrueSkillThroughTime", "replays.replay_gaussian", "trueskill.fit"
    ),
    "weng_lin": Place("weng_lin.system", "WengLin", "replays.replay_weng_lin"),
    "world_football_elo": Place("football.rankings", "WorldFootballElo", "football.replay.replay", reads=FOOTBALL),
}
"""The systems by their names in configuration.  A process imports only the systems that it uses."""

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
    module, _, function = SYSTEMS[system.name].replay.rpartition(".")
    result: Replayed = getattr(_module(module), function)(system, history)
    return result


def fit(system: System[Any], matches: Iterable[Match] | History) -> Convergence:
    """Estimate every skill from a whole history at once; raises `RatingError` if the system has no such fit."""
    where = SYSTEMS[system.name].fit
    if where is None:
        raise RatingError(f"{system.name} has no whole-history fit")
    convergence: Convergence = _module(where).fit(system, _module("history").History.of(matches))
    return convergence


def _module(name: str) -> Any:
    return import_module(f"equipoise.ratings.{name}")
