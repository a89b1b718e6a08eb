"""Restarts by server commands and variables (teamplayroundbased_gamerules.cpp)."""

from typing import TYPE_CHECKING

from .facts import State

if TYPE_CHECKING:
    from .game import Game

LONGEST, LONGEST_MVM = 60, 180


class Restarts:
    """A restart that was asked for, and what it will reset. Only a running round carries it out."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self._at: float | None = None
        self.reset_everything()

    @property
    def pending(self) -> bool:
        """Whether a restart has a time (m_flRestartRoundTime)."""
        return self._at is not None

    def plan(self, seconds: float) -> None:
        """Restart in `seconds`, at the next chance."""
        self._at = self.game.now + seconds
        self.game.rules.props["m_flRestartRoundTime"] = self.game.map_time + seconds

    def forget(self) -> None:
        """Nothing is pending."""
        self._at = None
        self.game.rules.props["m_flRestartRoundTime"] = -1.0

    def check(self) -> None:
        """`CheckRestartRound`, once a second."""
        game = self.game
        seconds = int(game.number("mp_restartround"))
        at_once = bool(game.number("mp_restartgame_immediate"))
        if not seconds and not at_once:
            seconds = int(game.number("mp_restartgame"))
        if seconds <= 0 and not at_once:
            return
        seconds = 0 if at_once else min(seconds, LONGEST_MVM if game.mode.mvm else LONGEST)
        game.rounds.full_reset = game.number("mp_restartgame") > 0 or at_once
        game.rules.props["m_bStopWatch"] = 0
        self.plan(seconds)
        game.fire("teamplay_round_restart_seconds", seconds=seconds)
        if game.number("mp_restartgame") > 0 and game.sides.scramble_pending and not game.sides.switch_pending:
            game.sides.alert()
        for convar in ("mp_restartround", "mp_restartgame", "mp_restartgame_immediate"):
            game.sm.convars[convar].set("0")
        game.rules.props["m_bAwaitingReadyRestart"] = 0

    def check_ready(self) -> None:
        """`CheckReadyRestart`: called by the think of a running round."""
        if self._at is not None and self.game.now >= self._at:
            self.forget()
            if self.game.mode.mvm:
                self.game.mvm.start_wave()
                return
            if self.game.tournament.on:
                self.game.tournament.start_match()
                return
            self.game.rounds.enter(State.RESTART)
        self.game.tournament.check()

    def reset_scores(self) -> None:
        """`ResetScores`: what the command that asked for the restart left to be reset."""
        game = self.game
        if self._teams:
            game.teams.scores[:] = [0, 0, 0, 0]
        if self._players:
            game.teams.scoreboard.reset_players()
            game.fire("scorestats_accumulated_reset")
        if self._rounds:
            game.rounds.played = 0
        self.reset_everything()

    # Server commands.

    def switch(self) -> None:
        """`mp_switchteams` (cc_SwitchTeams): nothing is reset."""
        self.game.sides.switch_pending = True
        self.game.sm.convars["mp_restartgame"].set("5")
        self._teams = self._players = self._rounds = False

    def scramble(self, *, keep_rounds: bool = False) -> None:
        """`mp_scrambleteams [2]` (cc_ScrambleTeams): the players keep their scores."""
        self.game.sides.scramble_pending = True
        self.game.sm.convars["mp_restartgame"].set("5")
        self._teams, self._players = True, False
        if keep_rounds:
            self._rounds = False

    def reset_everything(self) -> None:
        """What the next restart resets, unless a command says otherwise."""
        self._teams = self._players = self._rounds = True
