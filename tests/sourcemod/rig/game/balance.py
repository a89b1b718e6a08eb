"""The engine's own balancing, `BalanceTeams` (teamplayroundbased_gamerules.cpp), for `mp_autoteambalance` 1."""

from typing import TYPE_CHECKING

from .facts import ENGINEER
from .players import Player

if TYPE_CHECKING:
    from .game import Game

PATIENCE = 3.0
RECENTLY = 300.0
LAST_SECONDS = 60.0


class Balance:
    """Moves the newest players of a heavy side. `starts_at`: not before (m_flStartBalancingTeamsAt)."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.starts_at = 0.0
        self._put_off: tuple[Player, float] | None = None

    def apply(self, *, dead_only: bool) -> None:
        """`BalanceTeams`: the dead of a running round, or anybody before a round, who is then killed by the move."""
        uneven = self._uneven(dead_only)
        if uneven is None:
            return
        heavy, light = uneven
        members = self.game.teams.members
        needed = (len(members(heavy)) - len(members(light))) // 2
        candidates = sorted((p for p in members(heavy) if self.may_be_moved(p)), key=self._score, reverse=True)
        for player in candidates[: needed + 2]:
            if needed > 0 and (not dead_only or (not player.alive and not self._delayed(player))):
                self._move(player, light)
                needed -= 1

    def _uneven(self, dead_only: bool) -> tuple[int, int] | None:
        if self.game.number("mp_autoteambalance") != 1 or self.game.arena.uses_queue:
            return None
        if self.game.now < self.starts_at or (dead_only and self.game.teams.clock_left() < LAST_SECONDS):
            return None
        return self.game.teams.unbalanced()

    def _move(self, player: Player, side: int) -> None:
        # ChangeTeam neither spares the living nor respawns; SetLastForcedChangeTeamTimeToNow.
        self.game.teams.change(player, side)
        player.force_switched_at = self.game.now
        self._put_off = None
        self.game.fire("teamplay_teambalanced_player", player=player.index, team=side)

    def may_be_moved(self, player: Player) -> bool:
        """`CTFPlayer::CanBeAutobalanced` (tf_player.cpp)."""
        coached = player.props["m_hCoach"] != -1
        return not (player.duel or player.bot or player.coaching or coached or player.transformed)

    def _score(self, player: Player) -> int:
        # CalculateTeamBalanceScore (basemultiplayerplayer.cpp, tf_player.cpp).
        score = -int(self.game.now - player.connected_at)
        if self._switched_recently(player):
            score -= 10000
        return score - 120 if player.current_class == ENGINEER else score

    def _switched_recently(self, player: Player) -> bool:
        return player.force_switched_at is not None and self.game.now - player.force_switched_at < RECENTLY

    def _delayed(self, player: Player) -> bool:
        """Whether somebody else had better go: the recently switched are put off for 3 s."""
        if self._put_off is None and self._score(player) < -10000:
            self._put_off = player, self.game.now + PATIENCE
            return True
        return self._put_off is not None and self._put_off[0] is player and self._put_off[1] > self.game.now
