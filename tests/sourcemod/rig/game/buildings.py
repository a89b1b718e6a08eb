"""Engineers' buildings, and how they leave the world (tf_player.cpp, tf_obj.cpp, tf_gamerules.cpp)."""

from typing import TYPE_CHECKING

from .entities import Entity
from .facts import BLU
from .players import Player

if TYPE_CHECKING:
    from .game import Game

OBJECTS = {"obj_dispenser": 0, "obj_teleporter": 1, "obj_sentrygun": 2}
NETCLASSES = {
    "obj_dispenser": "CObjectDispenser",
    "obj_teleporter": "CObjectTeleporter",
    "obj_sentrygun": "CObjectSentrygun",
}


def build(game: "Game", player: Player, classname: str, level: int = 1) -> Entity:
    """An engineer's finished building."""
    building = game.entities.add(
        classname, NETCLASSES[classname], m_hBuilder=player.index, m_iTeamNum=player.team, m_iUpgradeLevel=level,
        m_iObjectType=OBJECTS[classname], m_bBuilding=0, m_bPlacing=0, m_bCarried=0, m_bHasSapper=0,
        m_flPercentageConstructed=1.0,
    )  # fmt: skip
    player.buildings.append(building)
    game.teams.scoreboard.count(player, "m_iBuildingsBuilt")
    game.fire("player_builtobject", userid=player.userid, object=OBJECTS[classname], index=building.index)
    return building


def remove_owned(game: "Game", player: Player, *, explode: bool = False) -> None:
    """`CTFPlayer::RemoveAllOwnedEntitiesFromWorld`: object_removed for each building; exploding ones detonate too.

    The engineers among MvM's robots leave theirs behind.
    """
    if game.mode.mvm and player.team == BLU:
        return
    for building in reversed(list(player.buildings)):
        _removed(game, player, building)
        if explode:
            detonate(game, player, building)
        else:
            _forget(game, player, building)


def detonate(game: "Game", player: Player, building: Entity) -> None:
    """`CBaseObject::DetonateObject`: the building blows itself up."""
    game.fire("object_detonated", userid=player.userid, **_which(building))
    _forget(game, player, building)


def remove_every(game: "Game") -> None:
    """`CTFGameRules::RemoveAllBuildings`: the world is cleared for a new round, without explosions."""
    for player in list(game.in_game()):
        for building in list(player.buildings):
            _removed(game, player, building)
            _forget(game, player, building)


def _removed(game: "Game", player: Player, building: Entity) -> None:
    game.fire("object_removed", userid=player.userid, **_which(building))


def _which(building: Entity) -> dict[str, int]:
    return {"objecttype": OBJECTS[building.classname], "index": building.index}


def _forget(game: "Game", player: Player, building: Entity) -> None:
    game.entities.remove(building)
    if building in player.buildings:
        player.buildings.remove(building)
