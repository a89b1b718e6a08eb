"""Rating systems behind one interface (`base.System`); each is a module, made by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from equipoise.errors import RatingError
from equipoise.ratings.base import System, among

SYSTEMS: Final[Mapping[str, tuple[str, str]]] = {
    "elo": ("elo", "Elo"),
    "fifa_men": ("fifa_men", "FifaMen"),
    "fifa_women": ("fifa_women", "FifaWomen"),
    "glicko": ("glicko", "Glicko"),
    "glicko2": ("glicko2", "Glicko2"),
    "ns2": ("ns2", "NS2"),
    "synelo": ("synelo", "SynElo"),
    "teamskill_allk_ev": ("teamskill", "TeamSkillAllKEV"),
    "teamskill_allk_ls": ("teamskill", "TeamSkillAllKLS"),
    "teamskill_k": ("teamskill", "TeamSkillK"),
    "trueskill": ("trueskill", "TrueSkill"),
    "trueskill2": ("trueskill2", "TrueSkill2"),
    "trueskill_through_time": ("trueskill_through_time", "TrueSkillThroughTime"),
    "world_football_elo": ("world_football_elo", "WorldFootballElo"),
}
"""Module and class of each system, by its name in configuration: the serving process imports the ones it uses."""


def create(name: str, /, **params: object) -> System[Any]:
    """A system without players; `RatingError` names an unknown system or a parameter that is refused."""
    if name not in SYSTEMS:
        raise RatingError(f"{name}: no such rating system; {among(name, SYSTEMS)}")
    module, kind = SYSTEMS[name]
    system: System[Any] = getattr(import_module(f"equipoise.ratings.{module}"), kind).create(**params)
    return system
