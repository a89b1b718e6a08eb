"""Flags and the ball in players' hands. `m_hItem` of a player is the flag they carry.

The ball of PASS Time is no item: `m_bHasPasstimeBall` (DT_TFPlayerShared, tf_player_shared.cpp) is all there is of it.
"""

from typing import TYPE_CHECKING

from .entities import Entity
from .players import Player

if TYPE_CHECKING:
    from .game import Game

DROPPED_STATUS = 2
DROPPED = 4


def carried(game: "Game", player: Player) -> Entity | None:
    """The flag in a player's hands."""
    item = player.props["m_hItem"]
    assert isinstance(item, int)
    return game.entities.get(item) if item != -1 else None


def drop_flag(game: "Game", player: Player) -> None:
    """`CTFPlayer::DropFlag` (tf_player.cpp): nothing without a flag. `team` of the event is the flag's own."""
    flag = carried(game, player)
    player.props["m_hItem"] = -1
    if flag is None:
        return
    flag.props |= {"m_nFlagStatus": DROPPED_STATUS, "m_hPrevOwner": player.index, "m_hOwnerEntity": -1}
    team = flag.props["m_iTeamNum"]
    assert isinstance(team, int)
    game.fire("teamplay_flag_event", player=player.index, eventtype=DROPPED, priority=8, team=team)


def eject_ball(player: Player) -> None:
    """`CTFPlayer::RemoveAllItems` (tf_player.cpp) ejects the ball, from a death, a respawn and a disconnect.

    `ChangeTeam` does not: who is moved and then respawned loses it in the colours of the new side.
    """
    player.props["m_bHasPasstimeBall"] = 0
