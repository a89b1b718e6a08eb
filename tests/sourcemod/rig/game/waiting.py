"""Waiting For Players (teamplayroundbased_gamerules.cpp)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .game import Game


class Waiting:
    """`on` is the property m_bInWaitingForPlayers: what counts. SourceMod's forwards are only calls of `set`."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.on = False
        self._ends = -1.0

    def set(self, waiting: bool) -> None:
        """`SetInWaitingForPlayers`. The forwards come after every call, whatever came of it."""
        # SourceMod detours the function and calls the forward after it: extensions/tf2/gameplayrules.cpp. Whether a
        # compiler inlined some of its calls, so that the detour misses them, is not to be known from the source.
        self._set(waiting)
        if self.game.forwards_seen:
            self.game.sm.forward("TF2_OnWaitingForPlayersStart" if waiting else "TF2_OnWaitingForPlayersEnd")

    def _set(self, waiting: bool) -> None:
        if waiting == self.on:
            return
        # The end of an arena's waiting time is -1 from the constructor on, and only an accepted call changes it.
        if self.game.mode.arena and self._ends < 0 and not self.game.number("mp_tournament"):
            return
        self.on = waiting
        self.game.rules.props["m_bInWaitingForPlayers"] = int(waiting)
        if waiting:
            self._ends = self.game.now + self.game.number("mp_waitingforplayers_time")
        else:
            self._ends = -1.0
            self.game.clocks.hide_waiting()

    def check(self) -> None:
        """`CheckWaitingForPlayers`, once a second."""
        game = self.game
        if game.number("mp_waitingforplayers_restart"):
            self._begin_again()
            game.sm.convars["mp_waitingforplayers_restart"].set("0")
        if game.number("mp_waitingforplayers_cancel") and not game.number("mp_tournament"):
            # Nothing restarts: the round that runs becomes a real one.
            game.clocks.resume_hidden()
            self.set(False)
            game.sm.convars["mp_waitingforplayers_cancel"].set("0")
        if not self.on or game.number("mp_tournament"):
            return
        if game.now <= self._ends:
            if not game.clocks.waiting_shown:
                game.clocks.show_waiting(self._ends - game.now)
        elif not game.restarts.pending and not game.rules.props["m_bAwaitingReadyRestart"]:
            game.restarts.plan(0)
            game.points.repeat_stage()

    def _begin_again(self) -> None:
        if not self.on:
            self.set(True)
            return
        self._ends = self.game.now + self.game.number("mp_waitingforplayers_time")
        if self.game.clocks.waiting_shown:
            self.game.clocks.show_waiting(self._ends - self.game.now)
