"""Dominations and revenge (tf_gamerules.cpp, tf_player.cpp, tf_gamestats.cpp), which a change of teams takes away."""

from typing import TYPE_CHECKING

from .facts import SPECTATOR
from .players import Player

if TYPE_CHECKING:
    from .game import Game

KILLS = 4
DOMINATION, REVENGE = 1, 4
DOMINATED, DOMINATING_ME = "m_bPlayerDominated", "m_bPlayerDominatingMe"


class Dominations:
    """Who dominates whom is in the players' properties, by slot."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self._unanswered: dict[tuple[Player, Player], int] = {}

    def kill(self, attacker: Player, victim: Player) -> int:
        """`CalcDominationAndRevenge`, `TrackKillStats`: this death's flags. The fourth unanswered kill dominates."""
        count = self._unanswered.get((attacker, victim), 0) + 1
        self._unanswered[attacker, victim] = count
        self._unanswered.pop((victim, attacker), None)
        if self.game.mode.training or self.game.mode.powerup or self.game.mode.mvm:
            return 0
        if count == KILLS:
            self._set(attacker, victim, dominated=True)
            self.game.teams.scoreboard.count(attacker, "m_iDominations")
            self.game.fire(
                "player_domination", dominator=attacker.userid, dominated=victim.userid, dominations=self._by(attacker)
            )
            return DOMINATION
        if self.dominates(victim, attacker):
            self._set(victim, attacker, dominated=False)
            self.game.teams.scoreboard.count(attacker, "m_iRevenge")
            return REVENGE
        return 0

    def dominates(self, player: Player, other: Player) -> bool:
        """Whether `player` dominates `other`."""
        return bool(player.props[DOMINATED][other.index])  # type: ignore[index]

    def forget(self, player: Player) -> None:
        """`RemoveNemesisRelationships`, both ways; in arena only towards the player's own team, until they leave."""
        for other in list(self.game.in_game()):
            if other is not player and self._ends(player, other):
                self._set(player, other, dominated=False)
                self._set(other, player, dominated=False)
        if not self.game.mode.arena or player.disconnecting:
            self.forget_kills(player)
        self.game.fire("remove_nemesis_relationships", player=player.index)

    def forget_kills(self, player: Player) -> None:
        """`ResetKillHistory`: the player's own kills; those of others over the player stay."""
        self._unanswered = {pair: kills for pair, kills in self._unanswered.items() if pair[0] is not player}

    def _ends(self, player: Player, other: Player) -> bool:
        if not self.game.mode.arena or player.disconnecting:
            return True
        return player.team == other.team != SPECTATOR

    def _by(self, player: Player) -> int:
        return sum(self.dominates(player, other) for other in self.game.in_game())

    def _set(self, player: Player, other: Player, *, dominated: bool) -> None:
        player.props[DOMINATED][other.index] = int(dominated)  # type: ignore[index]
        other.props[DOMINATING_ME][player.index] = int(dominated)  # type: ignore[index]
