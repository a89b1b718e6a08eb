"""Mannpower's own balancing: `CTFGameRules::PowerupTeamImbalance` (tf_gamerules.cpp).

The rig has no powers, so it does not count the kills made with them: a test says when a side has fallen behind.
"""

from typing import TYPE_CHECKING

from .facts import SIDES, UNASSIGNED, opponent
from .players import Player

if TYPE_CHECKING:
    from .game import Game

MEASURES = 120.0


class Mannpower:
    """A side that falls behind gets help; the second time in a row two players change places."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self._helped = UNASSIGNED
        self._help_ends = 0.0

    def fall_behind(self, side: int) -> None:
        """The other side leads by 24 kills made with powers; nothing is counted while the help for a side lasts."""
        number, now = self.game.number, self.game.now
        if now < self._help_ends:
            return
        again = self._helped == side and now - self._help_ends < number("tf_powerup_mode_imbalance_consecutive_time")
        self._help_ends = now + MEASURES
        people = sum(player.team in SIDES for player in self.game.in_game())
        if people < number("tf_powerup_mode_imbalance_consecutive_min_players"):
            self._helped = UNASSIGNED
            return
        self._helped = side
        if again:
            self._swap(side)

    def _swap(self, side: int) -> None:
        """`PowerupTeamImbalance_SwapPlayers`: the leaders' best killer and the lowest score of the others."""
        leaders, others = self.game.teams.members(opponent(side)), self.game.teams.members(side)
        if not leaders or not others:
            return
        # m_nMannpowerKills starts again every few minutes; here they are the map's kills.
        best = max(leaders, key=lambda player: player.map_stats.get("m_iKills", 0))
        last = min(others, key=self.game.teams.scoreboard.total)
        self._move(best, side)
        self._move(last, opponent(side))

    def _move(self, player: Player, side: int) -> None:
        self.game.teams.change(player, side)
        self.game.teams.force_respawn(player)
        self.game.fire("teamplay_teambalanced_player", player=player.index, team=side)
