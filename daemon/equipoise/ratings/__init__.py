"""Rating systems behind one interface (`base.System`); each is a module, made by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from equipoise.errors import RatingError
from equipoise.ratings.system import System, among

SYSTEMS: Final[Mapping[str, tuple[str, str]]] = {
    "elo": ("elo.system", "Elo"),
    "fifa_men": ("football.fifa_men", "FifaMen"),
    "fifa_women": ("football.fifa_women", "FifaWomen"),
    "glicko": ("glicko.system", "Glicko"),
    "glicko2": ("glicko.glicko2", "Glicko2"),
    "ns2": ("ns2.system", "NS2"),
    "synelo": ("synelo.system", "SynElo"),
    "teamskill_allk_ev": ("teamskill.system", "TeamSkillAllKEV"),
    "teamskill_allk_ls": ("teamskill.system", "TeamSkillAllKLS"),
    "teamskill_k": ("teamskill.system", "TeamSkillK"),
    "trueskill": ("trueskill.system", "TrueSkill"),
    "trueskill2": ("trueskill2.system", "TrueSkill2"),
    "trueskill_through_time": ("trueskill.through_time", "TrueSkillThroughTime"),
    "world_football_elo": ("football.world_football_elo", "WorldFootballElo"),
}
"""Module and class of each system, by its name in configuration: the serving process imports the ones it uses."""


def create(name: str, /, **params: object) -> System[Any]:
    """A system without players; `RatingError` names an unknown system or a parameter that is refused."""
    if name not in SYSTEMS:
        raise RatingError(f"{name}: no such rating system; {among(name, SYSTEMS)}")
    module, kind = SYSTEMS[name]
    system: System[Any] = getattr(import_module(f"equipoise.ratings.{module}"), kind).create(**params)
    return system


def replay(system, history):
    """Temporary."""
    return system.replay(history)


def fit(system, matches):
    """Temporary."""
    from equipoise.ratings.history import History

    if system.name == "trueskill_through_time":
        return import_module("equipoise.ratings.trueskill.fit").fit(system, History.of(matches))
    return system.fit(matches)
