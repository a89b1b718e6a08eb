"""`CTFPlayer::CheckForIdle` (tf_player.cpp): who does nothing is sent to the spectators, then kicked.

The clock (m_flLastAction) restarts at any button, at a client command that reaches the player's ClientCommand, at a
respawn, when observing begins, and with some changes of the watched player (observers.py).
"""

from typing import TYPE_CHECKING

from .facts import SIDES, SPECTATOR, State
from .players import Player

if TYPE_CHECKING:
    from .game import Game

LOOK = 0.1
SHORTEST = 30.0
SPECTATORS_THEN_KICK = 1
REASON = "#TF_Idle_kicked"


class Idle:
    """The clocks of those whose player is `idle`; of everybody else they restart all the time."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self._next = 0.0

    def disable_autokick(self, userid: int) -> None:
        """`mp_disable_autokick`: for the rest of the connection; nothing takes it back (player.cpp)."""
        for player in self.game.players.values():
            player.autokick_disabled |= player.userid == userid

    def think(self) -> None:
        """Look at everybody; the game does it with each of a player's commands, here ten times a second."""
        now = self.game.now
        if now < self._next:
            return
        self._next = now + LOOK
        for player in list(self.game.in_game()):
            if player.idle:
                self._look(player)
            else:
                player.last_action, player.in_spawn_room_since = now, None

    def _look(self, player: Player) -> None:
        method = int(self.game.number("mp_idledealmethod"))
        if not method or self._exempt(player):
            return
        if not player.alive:
            player.in_spawn_room_since = None
        elif player.in_spawn_room_since is None:
            player.in_spawn_room_since = self.game.now
        if self.game.mode.arena and self.game.number("tf_arena_use_queue"):
            return
        limit, now = self.limit(), self.game.now
        in_spawn_room = player.in_spawn_room_since
        if now - player.last_action > limit or (in_spawn_room is not None and now - in_spawn_room > limit):
            self._deal(player, method)

    def limit(self) -> float:
        """Seconds until the game acts. In arena's live round (STALEMATE) it is half of `mp_stalemate_timelimit`."""
        if self.game.rounds.state == State.STALEMATE:
            return int(self.game.number("mp_stalemate_timelimit")) * 0.5
        return max(self.game.number("mp_idlemaxtime") * 60, SHORTEST)

    def _exempt(self, player: Player) -> bool:
        between = self.game.rounds.state == State.BETWEEN_ROUNDS
        return player.bot or player.source_tv or player.autokick_disabled or player.coaching or between

    def _deal(self, player: Player, method: int) -> None:
        player.last_action, player.in_spawn_room_since = self.game.now, None
        spectating_helps = method == SPECTATORS_THEN_KICK and self.game.number("mp_allowspectators")
        if spectating_helps and player.team in SIDES:
            self.game.teams.force_change(player, SPECTATOR)
        else:
            self.game.teams.kick(player, REASON)
