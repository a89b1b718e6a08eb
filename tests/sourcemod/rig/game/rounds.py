"""The round state machine, in the engine's order of states, forwards and events.

INIT → PREGAME → STARTGAME → (waiting for players) PREROUND → RUNNING → … RESTART → PREROUND → RUNNING → TEAM_WIN →
PREROUND … GAME_OVER. Arena stays in PREGAME until both sides have a player, never waits, and calls its live round
STALEMATE.
"""

import math
from typing import TYPE_CHECKING

from .clocks import Clocks
from .facts import BLU, RED, SIDES, UNASSIGNED, Reason, State, Value

if TYPE_CHECKING:
    from .game import Game

FREEZE = 5.0
MIN_BONUS = 5.0


class Rounds:
    """The rounds of one map. `caps` are this round's control points by side; `count` counts full rounds."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.clocks = Clocks(game)
        self.state = State.INIT
        self.waiting = False
        self.until = math.inf
        self.waiting_until = math.inf
        self.restart_at = math.inf
        self.started_at = 0.0
        self.caps = {RED: 0, BLU: 0}
        self.count = 0
        self._full_reset = True
        self._switch = False

    @property
    def live(self) -> bool:
        """Whether a round is being played, setup included."""
        return self.state == (State.STALEMATE if self.game.mode.arena else State.RUNNING)

    def think(self) -> None:
        """One frame."""
        if self.waiting and self.game.now >= self.waiting_until:
            self._restart()
        if self.game.now >= self.restart_at:
            self.restart_at = math.inf
            self._restart()
        self._think_state()

    def win(self, team: int, reason: int, *, full_round: bool = True) -> None:
        """`SetWinningTeam`: team 0 is a stalemate. The win panel comes first, in the same frame."""
        assert self.live, f"nobody can win in {self.state.name}"
        before = dict(zip(SIDES, (self.game.teams.scores[side] for side in SIDES), strict=True))
        if full_round and team in SIDES:
            self.game.teams.scores[team] += 1
        self.count += full_round
        self._enter(State.TEAM_WIN, max(MIN_BONUS, self._number("mp_bonusroundtime")))
        self.game.rules.props["m_iWinningTeam"] = team
        self._full_reset = full_round
        self._switch = full_round and self.game.mode.switch_sides
        self._panel(team, reason, full_round, before)
        self.game.fire(
            "teamplay_round_win",
            team=team,
            winreason=int(reason),
            full_round=full_round,
            round_time=self.game.now - self.started_at,
            was_sudden_death=False,
            flagcaplimit=0,
            losing_team_num_caps=self.caps[BLU if team == RED else RED],
        )

    def stalemate(self) -> None:
        """Nobody wins."""
        self.win(UNASSIGNED, Reason.STALEMATE)

    def set_waiting(self, waiting: bool) -> None:
        """`SetInWaitingForPlayers`: SourceMod's forwards fire after every call, whether the game accepted it or not."""
        # Arena outside a tournament leaves the flag off: CTeamplayRoundBasedRules::SetInWaitingForPlayers, Valve's
        # teamplayroundbased_gamerules.cpp. The forwards hook that call: SourceMod's extensions/tf2/gameplayrules.cpp.
        self.waiting = waiting and not (self.game.mode.arena and not self._number("mp_tournament"))
        self.game.rules.props["m_bInWaitingForPlayers"] = int(self.waiting)
        if self.waiting:
            self.waiting_until = self.game.now + self._number("mp_waitingforplayers_time")
        self.game.sm.forward("TF2_OnWaitingForPlayersStart" if waiting else "TF2_OnWaitingForPlayersEnd")

    def game_over(self, reason: str) -> None:
        """The map is over; the next one is up to the test."""
        self._enter(State.GAME_OVER)
        self.game.fire("teamplay_game_over", reason=reason)

    def _think_state(self) -> None:
        over = self.game.now >= self.until
        match self.state:
            case State.INIT:
                self._enter(State.PREGAME)
            case State.PREGAME:
                self._think_pregame()
            case State.STARTGAME:
                self._enter_preround(full_reset=True)
            case State.PREROUND if self._side_empty():
                self._enter(State.PREGAME)
            case State.PREROUND if over:
                self._go_live()
            case State.RUNNING if not self.waiting:
                self.clocks.think()
            case State.STALEMATE:
                self._think_arena()
            case State.TEAM_WIN if over:
                self._after_win()

    def _number(self, convar: str) -> float:
        return self.game.sm.convars[convar].number

    def _enter(self, state: State, seconds: float = math.inf) -> None:
        self.state, self.until = state, self.game.now + seconds
        self.game.rules.props["m_iRoundState"] = int(state)

    def _side_empty(self) -> bool:
        return self.game.mode.arena and not all(self.game.teams.members(side) for side in SIDES)

    def _think_pregame(self) -> None:
        game = self.game
        if game.mode.mvm:
            self._enter(State.BETWEEN_ROUNDS)
        elif not self._side_empty() and any(game.teams.members(side) for side in SIDES):
            game.teams.check_queue()
            tournament = self._number("mp_tournament")
            game.rules.props["m_bAwaitingReadyRestart"] = int(bool(tournament))
            self._enter(State.STARTGAME)
            if self._number("mp_waitingforplayers_time") and not tournament:
                self.set_waiting(True)

    def _restart(self) -> None:
        """`State_Enter_RESTART`, and the new round in the same frame."""
        self._enter(State.RESTART)
        self.game.fire("teamplay_restart_round")
        self.set_waiting(False)
        self.game.teams.scores[:] = [0, 0, 0, 0]
        self._switch = False
        self._enter_preround(full_reset=True)

    def _enter_preround(self, *, full_reset: bool) -> None:
        """Everybody is alive, frozen and on his new side when `teamplay_round_start` comes."""
        game = self.game
        game.teams.check_queue()
        freeze = self._number("tf_arena_preround_time") if game.mode.arena else FREEZE
        self._enter(State.PREROUND, freeze * self._number("mp_enableroundwaittime"))
        game.teams.balance()
        self.caps = {RED: 0, BLU: 0}
        game.rules.props["m_bSwitchedTeamsThisRound"] = int(self._switch)
        game.rules.props["m_iWinningTeam"] = UNASSIGNED
        if self._switch:
            game.teams.switch_sides()
        self._switch = False
        self.clocks.reset(full=full_reset)
        game.teams.respawn_all()
        game.fire("teamplay_round_start", full_reset=full_reset)

    def _go_live(self) -> None:
        game = self.game
        self.started_at = game.now
        if game.mode.arena:
            self._enter(State.STALEMATE)
            game.fire("arena_round_start")
        else:
            self._enter(State.RUNNING)
            if not self.waiting:
                self.clocks.start()
            game.fire("teamplay_round_active")

    def _think_arena(self) -> None:
        alive = {side: sum(p.alive for p in self.game.teams.members(side)) for side in SIDES}
        if not any(alive.values()):
            self.stalemate()
        elif not all(alive.values()):
            self.win(RED if alive[RED] else BLU, Reason.OPPONENTS_DEAD)

    def _after_win(self) -> None:
        limits = (
            ("mp_timelimit", self.game.map_time / 60, "Reached Time Limit"),
            ("mp_winlimit", max(self.game.teams.scores), "Reached Win Limit"),
            ("mp_maxrounds", self.count, "Reached Round Limit"),
        )
        for convar, value, reason in limits:
            if (limit := self._number(convar)) and value >= limit:
                self.game_over(reason)
                return
        if self._side_empty():
            self._enter(State.PREGAME)
        else:
            self._enter_preround(full_reset=self._full_reset)

    def _panel(self, team: int, reason: int, full_round: bool, before: dict[int, int]) -> None:
        scores = self.game.teams.scores
        fields: dict[str, Value] = {
            "winning_team": team, "winreason": int(reason), "cappers": "", "red_score": scores[RED],
            "blue_score": scores[BLU], "red_score_prev": before[RED], "blue_score_prev": before[BLU],
        }  # fmt: skip
        if self.game.mode.arena:
            self.game.fire("arena_win_panel", panel_style=0, **fields)
        else:
            self.game.fire("teamplay_win_panel", panel_style=1, flagcaplimit=3, round_complete=full_round, **fields)
