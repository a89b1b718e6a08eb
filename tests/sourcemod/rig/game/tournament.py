"""Tournament mode: who is ready, the restart that follows, and what the end of a match leaves (`mp_tournament`)."""

from typing import TYPE_CHECKING

from .facts import SIDES, State
from .players import Player

if TYPE_CHECKING:
    from .game import Game

READY_UP_SECONDS = 5
COMMANDS = ("tournament_readystate", "tournament_player_readystate")


class Tournament:
    """`ready`: sides that are ready (m_bTeamReady). `mp_tournament_readymode 1` asks each player instead."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.ready: set[int] = set()
        self._ready_players: set[int] = set()
        self._between_allowed = True

    @property
    def on(self) -> bool:
        """`IsInTournamentMode`."""
        return bool(self.game.number("mp_tournament"))

    @property
    def before_match(self) -> bool:
        """`IsInPreMatch` (teamplayroundbased_gamerules.h)."""
        return self.on and self.game.waiting.on

    @property
    def asks_players(self) -> bool:
        """`UsePlayerReadyStatusMode`."""
        return self.game.mode.mvm or (self.on and bool(self.game.number("mp_tournament_readymode")))

    def obey(self, player: Player, name: str, ready: bool) -> None:
        """`CTFGameRules::ClientCommand` (tf_gamerules.cpp): only before a match."""
        if not self.before_match or player.team not in SIDES:
            return
        if name == "tournament_player_readystate":
            self._ready_player(player, ready)
        elif not self.asks_players and ready != (player.team in self.ready):
            self._set_side(player.team, ready)
            self.game.fire(
                "tournament_stateupdate", userid=player.index, readystate=int(ready), namechange=0, oldname=" ",
                newname=" ",
            )  # fmt: skip
            if not ready:
                self.game.restarts.forget()
                self._await(True)

    def restart(self) -> None:
        """`mp_tournament_restart` (RestartTournament): the round that runs is one of waiting from here on."""
        if not self.on or self.game.mode.mvm:
            return
        self.game.waiting.set(True)
        self._await(True)
        self.game.rules.props["m_bStopWatch"] = 0
        self.reset()

    def check(self) -> None:
        """The end of `CheckReadyRestart`: both sides are ready."""
        rules = self.game.rules.props
        if rules["m_bAwaitingReadyRestart"] and not self.asks_players and self.ready == set(SIDES):
            self.game.sm.convars["mp_restartgame"].set(str(READY_UP_SECONDS))
            self._await(False)
            self.game.restarts.reset_everything()

    def start_match(self) -> None:
        """`CTFGameRules::StartCompetitiveMatch`: everybody respawns twice, here and in the restart."""
        if self.game.number("mp_tournament_prevent_team_switch_on_readyup"):
            self.game.sides.switch_pending = False
        self.game.waiting.set(False)
        self.game.rounds.respawn_map()
        self.game.rounds.enter(State.RESTART)
        self.reset()

    def end_match(self) -> None:
        """`State_Think_TEAM_WIN` with a limit that was met: no map ends, and no round starts.

        `mp_tournament_readymode` stays in GAME_OVER for `mp_tournament_post_match_period` first, which is not here.
        """
        self.restart()
        self.game.rounds.enter(State.PREROUND if self.game.mode.arena else State.RUNNING)

    def reset(self) -> None:
        """`ResetPlayerAndTeamReadyState`."""
        self._ready_players.clear()
        for side in SIDES:
            self._set_side(side, False)

    # mp_tournament_readymode.

    def between_rounds(self) -> bool:
        """Whether this PREROUND leads to BETWEEN_RNDS (m_bAllowBetweenRounds): at the very beginning."""
        if self.game.mode.mvm:
            return self.game.mvm.between_waves()
        allowed = self.asks_players and self._between_allowed
        self._between_allowed &= not allowed
        return allowed

    def enter_between_rounds(self) -> None:
        """`BetweenRounds_Start`."""
        self.game.rules.props["m_bInSetup"] = 1
        if self.game.mode.mvm:
            self.game.mvm.enter_between_waves()

    def leave_between_rounds(self) -> None:
        """`BetweenRounds_End`."""
        self.game.waiting.set(False)
        self.game.rules.props["m_bInSetup"] = 0

    def think(self) -> None:
        """`BetweenRounds_Think`: the countdown when both sides are ready; in Mann vs Machine a test says when."""
        game = self.game
        if game.mode.mvm:
            game.restarts.check_ready()
            return
        if self.ready == set(SIDES) and not game.restarts.pending:
            game.restarts.plan(game.number("mp_tournament_readymode_countdown"))
            game.restarts.reset_everything()
        if self._enough_players():
            game.restarts.check_ready()

    def left(self) -> None:
        """`ClientDisconnected` (PlayerReadyStatus_ResetState): who leaves before the match undoes it all."""
        if self.asks_players and not self.game.mode.mvm and self.game.rounds.state != State.RUNNING:
            self.reset()
            self.game.restarts.forget()
            self._await(True)

    def _ready_player(self, player: Player, ready: bool) -> None:
        """`PlayerReadyStatus_UpdatePlayerState`: a side is ready with all its players, or as many as are asked for."""
        if self.game.rounds.state != State.BETWEEN_ROUNDS or not self.asks_players or not self._enough_players():
            return
        if ready == (player.index in self._ready_players):
            return
        self._ready_players ^= {player.index}
        if not ready:
            self._set_side(player.team, False)
            if not self._ready_players:
                self.game.restarts.forget()
                self.reset()
            return
        for side in SIDES:
            members = {member.index for member in self.game.teams.members(side)}
            wanted = int(self.game.number("mp_tournament_readymode_team_size")) or max(len(members), 1)
            self._set_side(side, len(members & self._ready_players) == wanted)

    def _enough_players(self) -> bool:
        return len(self.game.humans()) >= self.game.number("mp_tournament_readymode_min")

    def _set_side(self, side: int, ready: bool) -> None:
        (self.ready.add if ready else self.ready.discard)(side)
        self.game.rules.props["m_bTeamReady"] = [int(each in self.ready) for each in range(4)]

    def _await(self, awaited: bool) -> None:
        self.game.rules.props["m_bAwaitingReadyRestart"] = int(awaited)
