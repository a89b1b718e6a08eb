"""The round state machine (teamplayroundbased_gamerules.cpp, CTeamplayRoundBasedRules; tf_gamerules.cpp, CTFGameRules).

PREGAME → STARTGAME → PREROUND → RUNNING → TEAM_WIN → PREROUND … GAME_OVER. RESTART falls through to PREROUND in one
call. Arena calls its live round STALEMATE, like sudden death. Times are `game.now`.
"""

from typing import TYPE_CHECKING

from . import buildings, panels
from .facts import BLU, GHOST, RED, SIDES, UNASSIGNED, Reason, State, opponent

if TYPE_CHECKING:
    from ..sm.events import Event
    from .game import Game

FREEZE = 5.0
MIN_BONUS = MVM_BONUS = 5.0
PERIOD = 1.0
BALANCE_AFTER = 60.0
BY_TIMER, BY_TIME_LIMIT = 1, 2
GHOSTLY = ("player_team", "player_disconnect", "player_turned_to_ghost")


class Rounds:
    """The rounds of one map.

    `full_reset` is m_bForceMapReset, `winner` who won last (it stays until the next win; 0 is a stalemate), `played`
    counts full rounds, `caps` this round's control points by side, `wave_times` the map's respawn waves by side.
    """

    def __init__(self, game: "Game") -> None:
        self.game = game
        # The constructor passes from INIT to PREGAME at once.
        self.state = State.PREGAME
        self.full_reset = True
        self.winner = UNASSIGNED
        self.reason = 0
        self.scored = False
        self._played = 0
        self.caps = {RED: 0, BLU: 0}
        self.wave_times: dict[int, float] = {}
        self.round_start_at = game.now
        self._after_waiting = False
        self._until = 0.0
        self._periodic_at = game.now + 0.1
        self._balance_at = 0.0

    @property
    def waiting(self) -> bool:
        """Whether the game waits for players (m_bInWaitingForPlayers)."""
        return self.game.waiting.on

    def set_waiting(self, waiting: bool) -> None:
        """`SetInWaitingForPlayers`."""
        self.game.waiting.set(waiting)

    @property
    def played(self) -> int:
        """Full rounds so far."""
        return self._played

    @played.setter
    def played(self, played: int) -> None:
        """Plugins read the lowest byte: the property has 4 bits (GameRules_GetProp, sdktools/gamerulesnatives.cpp)."""
        self._played = played
        self.game.rules.props["m_nRoundsPlayed"] = played & 0xFF

    @property
    def live(self) -> bool:
        """Whether a round is being played, setup included."""
        return self.state == State.RUNNING or self.state == State.STALEMATE

    @property
    def won(self) -> bool:
        """`RoundHasBeenWon`."""
        return self.state == State.TEAM_WIN

    @property
    def anybody_ready(self) -> bool:
        """Whether anybody on a side has chosen a class."""
        return any(player.ready for player in self.game.players.values())

    def have_players(self) -> bool:
        """`BHavePlayers`."""
        return self.game.arena.may_play() if self.game.mode.arena else self.anybody_ready

    def wave_length(self, side: int) -> float:
        """A side's respawn waves before they are scaled: the map's, else `mp_respawnwavetime`."""
        return self.wave_times.get(side, self.game.number("mp_respawnwavetime"))

    # Thinking.

    def think(self) -> None:
        """`Think`: the state's own, then once a second what commands, limits and waiting ask for."""
        if self.state == State.GAME_OVER:
            self.game.limits.think()
            return
        if self.game.now > self._periodic_at:
            self.game.flags.check_limit()
        self._think_state()
        # Entering PREGAME puts the next look off, so this is no `else` of the look above.
        if self.game.now <= self._periodic_at or self._limit_reached():
            return
        self.game.restarts.check()
        self.game.waiting.check()
        self._periodic_at = self.game.now + PERIOD

    def _limit_reached(self) -> bool:
        if self.state in (State.TEAM_WIN, State.STALEMATE, State.GAME_OVER):
            return False
        return self.game.limits.check_running()

    def _think_state(self) -> None:
        over = self.game.now > self._until
        match self.state:
            case State.PREGAME:
                self.game.teams.check_waves()
                if self.have_players():
                    self.enter(State.STARTGAME)
            case State.STARTGAME if over:
                self._start_game()
            case State.PREROUND:
                if over:
                    self._end_freeze()
                self.game.teams.check_waves()
            case State.RUNNING:
                self._think_running()
            case State.TEAM_WIN if over:
                self._end_bonus()
            case State.STALEMATE:
                self._think_stalemate()
            case State.BETWEEN_ROUNDS:
                self.game.tournament.think()
                self.game.teams.check_waves()

    def _start_game(self) -> None:
        number = self.game.number
        wait = number("mp_waitingforplayers_time") > 0 and not number("tf_bot_offline_practice")
        if wait and not self.game.mode.training:
            self.game.waiting.set(True)
        self.enter(State.PREROUND)

    def _end_freeze(self) -> None:
        """`State_Think_PREROUND`: arena waits in a tournament alone, and looks whether the sides are ready."""
        if self.game.mode.arena and self.game.tournament.before_match:
            self.game.restarts.check_ready()
        self.enter(State.STALEMATE if self.game.mode.arena else State.RUNNING)

    def _end_bonus(self) -> None:
        if not self.game.limits.check_after_bonus():
            self.enter(State.PREROUND)
        elif self.game.tournament.on:
            self.game.tournament.end_match()

    def _think_running(self) -> None:
        game = self.game
        if not self.have_players():
            self.enter(State.PREGAME)
            return
        if game.now > self._balance_at:
            game.teams.balance(dead_only=True)
            self._balance_at = game.now + PERIOD
        game.teams.check_waves()
        game.restarts.check_ready()
        if self.state == State.RUNNING and game.limits.time_is_up:
            self._time_is_up()

    def _time_is_up(self) -> None:
        """The map's time ran out within a round: most maps play it to its end."""
        game, scores = self.game, self.game.teams.scores
        if not game.limits.end_rounds:
            return
        if scores[RED] != scores[BLU]:
            winner = RED if scores[RED] > scores[BLU] else BLU
            self.win(winner, Reason.TIME_LIMIT, switch=False, score=False)
        elif game.flags.may_be_drawn():
            game.limits.after_stalemate = True
            self.stalemate(BY_TIME_LIMIT, full_round=self.full_reset)
        else:
            game.clocks.set_overtime(True)

    def _think_stalemate(self) -> None:
        """`State_Think_STALEMATE`: a side without a living member is dead; a living spectator helps nobody."""
        if not self.game.mode.arena and not self.have_players():
            self.enter(State.PREGAME)
            return
        if self.game.tournament.before_match:
            self.game.restarts.check_ready()
            self.game.teams.check_waves()
            return
        alive = {player.team for player in self.game.players.values() if player.alive and player.team in SIDES}
        timer = self.game.clocks.stalemate
        if len(alive) == 1:
            winner = alive.pop()
            if self.full_reset or not self.game.mode.owners:
                self.win(winner, Reason.OPPONENTS_DEAD, full_round=self.full_reset, switch=False)
            else:
                self.game.points.force(winner)
        elif not alive or (timer is not None and timer.remaining <= 0 and self.game.clocks.may_expire()):
            self.win(UNASSIGNED, Reason.STALEMATE, full_round=not self.game.mode.stages, switch=False)

    def hear(self, event: "Event") -> None:
        """What the game's own listeners do: after plugins' pre hooks, before their post hooks, never when blocked."""
        if event.name == "teamplay_point_captured" and not self.game.mode.mvm:
            team = int(event.fields.get("team", 0))
            self.caps[team] = self.caps.get(team, 0) + 1
            self.game.points.last_cappers = str(event.fields.get("cappers", ""))
        elif event.name in GHOSTLY and self._only_ghosts_in_hell():
            # CTFHolidayEntity::FireGameEvent: the round is drawn inside the event.
            self.win(UNASSIGNED, Reason.STALEMATE, switch=False)

    def _only_ghosts_in_hell(self) -> bool:
        if not self.game.rules.props.get("m_bHelltowerPlayersInHell"):
            return False
        return all(player.has_condition(GHOST) for player in self.game.in_game() if player.team in SIDES)

    # Wins.

    def win(
        self, team: int, reason: int, *, full_round: bool = True, switch: bool | None = None, score: bool = True
    ) -> None:
        """`SetWinningTeam`: team 0 is a stalemate. A round that is won is not won again.

        `switch` None: as the mode's own winning entity has it. A stage that a test awards brings its points along.
        """
        self._settle()
        if self.state == State.TEAM_WIN:
            return
        if not full_round and team in SIDES:
            self.game.points.award_stage(team)
        self.full_reset = full_round
        self.game.sides.switch_pending = (full_round and self.game.mode.switch_sides) if switch is None else switch
        self.set_winner(team)
        self.reason = int(reason)
        self.scored = self._counts(team, full_round=full_round) and score
        if self.scored:
            self.game.teams.scores[team] += 1
        # True of every arena win: arena's live round is this state.
        sudden_death = self.state == State.STALEMATE and team in SIDES
        self.enter(State.TEAM_WIN)
        self.game.fire(
            "teamplay_round_win", team=team, winreason=self.reason, full_round=full_round,
            round_time=self.game.now - self.round_start_at, was_sudden_death=sudden_death,
            flagcaplimit=panels.flag_limit(self.game),
            losing_team_num_caps=self.caps[opponent(team)] if team in SIDES else 0,
        )  # fmt: skip
        if full_round:
            self.game.sides.count_win(team)

    def stalemate(self, reason: int = BY_TIMER, *, full_round: bool = True) -> None:
        """`SetStalemate`: sudden death where `mp_stalemate_enable` allows it, else nobody wins."""
        if self.game.tournament.before_match:
            return
        self._settle()
        if not self.game.number("mp_stalemate_enable"):
            self.win(UNASSIGNED, Reason.STALEMATE, full_round=full_round, switch=False)
        elif self.state != State.STALEMATE:
            self.full_reset = full_round
            self.set_winner(UNASSIGNED)
            self.enter(State.STALEMATE)
            self.game.fire("teamplay_round_stalemate", reason=reason)

    def _settle(self) -> None:
        """`DuelMiniGame_AssignWinners` (tf_duel.cpp): CTFGameRules' SetWinningTeam and SetStalemate end all duels.

        Stages and draws too. The former also takes PASS Time's ball out of play.
        """
        for player in self.game.players.values():
            player.duel = False
        self.game.flags.take_ball_away()

    def set_winner(self, team: int) -> None:
        """m_iWinningTeam."""
        self.winner = team
        self.game.rules.props["m_iWinningTeam"] = team

    def _counts(self, team: int, *, full_round: bool) -> bool:
        if team not in SIDES or (self.game.mode.flags and not self.game.number("tf_flag_caps_per_round")):
            return False
        return full_round or self.game.limits.time_is_up

    # States.

    def enter(self, state: State) -> None:
        """`State_Transition`."""
        self._leave()
        self.state = state
        self.game.rules.props["m_iRoundState"] = int(state)
        match state:
            case State.PREGAME:
                self._periodic_at = self.game.now + 0.1
            case State.STARTGAME:
                self._stay(0)
            case State.PREROUND:
                self._enter_preround()
            case State.RUNNING:
                self._enter_running()
            case State.TEAM_WIN:
                self._enter_win()
            case State.RESTART:
                self._enter_restart()
            case State.STALEMATE:
                self._enter_stalemate()
            case State.BETWEEN_ROUNDS:
                self.game.tournament.enter_between_rounds()

    def _leave(self) -> None:
        if self.state == State.STALEMATE:
            self.game.clocks.leave_stalemate()
        elif self.state == State.BETWEEN_ROUNDS:
            self.game.tournament.leave_between_rounds()

    def _enter_preround(self) -> None:
        game = self.game
        game.teams.balance(dead_only=False)
        game.teams.balance_starts_at(game.now + BALANCE_AFTER)
        self.respawn_map()
        # In arena the team logic may have left for PREGAME: the event comes all the same, in that state.
        game.fire("teamplay_round_start", full_reset=self.full_reset)
        if game.mode.arena:
            freeze = game.number("tf_arena_preround_time")
            if self.have_players():
                game.clocks.show_stalemate(freeze)
            self._stay(freeze)
        elif game.tournament.between_rounds():
            self.enter(State.BETWEEN_ROUNDS)
        else:
            self._stay(FREEZE * game.number("mp_enableroundwaittime"))

    def respawn_map(self) -> None:
        """`RoundRespawn`, first CTFGameRules', then its parent's. Also before the restart that begins a match."""
        game = self.game
        buildings.remove_every(game)
        game.arena.run()
        game.teams.lives.first_blood = False
        game.flags.start_round()
        if not game.mode.mvm:
            game.fire("scorestats_accumulated_update")
        game.teams.scoreboard.start_round()
        game.fire("stats_resetround")
        self.round_start_at = game.now
        if self.full_reset or self._after_waiting:
            game.clean_up_map()
            game.limits.show_time()
        self.wave_times.clear()
        self.caps = {RED: 0, BLU: 0}
        game.clocks.round_spawn()
        game.points.round_spawn(full=self.full_reset or self._after_waiting)
        game.fire("recalculate_holidays")
        game.rules.props["m_bHelltowerPlayersInHell"] = 0
        game.rules.props["m_bSwitchedTeamsThisRound"] = 0
        game.sides.start_round()
        game.teams.respawn_players(True)

    def _enter_running(self) -> None:
        if self.game.mode.mvm:
            self.game.mvm.announce()
        self.game.fire("teamplay_round_active")
        self._after_waiting = False
        self._balance_at = self.game.now + PERIOD

    def _enter_win(self) -> None:
        game = self.game
        if self.full_reset:
            self.played += 1
        over = game.limits.check_after_bonus(look=True)
        self._stay(MVM_BONUS if game.mode.mvm else max(MIN_BONUS, int(game.number("mp_bonusroundtime"))))
        # InternalHandleTeamWin: in slot order, the losers' hands open.
        for player in list(game.in_game()):
            if player.team in SIDES and player.team != self.winner:
                game.flags.drop(player)
        panels.show(game, over=over)

    def _enter_restart(self) -> None:
        self.game.fire("teamplay_restart_round")
        self._after_waiting = self.waiting
        self.game.waiting.set(False)
        self.game.restarts.reset_scores()
        self.game.limits.reset_time()
        self.enter(State.PREROUND)

    def _enter_stalemate(self) -> None:
        """`State_Enter_STALEMATE`, `SetupOnStalemateStart`."""
        game, arena = self.game, self.game.mode.arena
        buildings.remove_every(game)
        if arena:
            game.points.start_arena()
            game.fire("arena_round_start")
        else:
            game.teams.respawn_players(True)
        game.clocks.enter_stalemate(game.number("tf_arena_round_time" if arena else "mp_stalemate_timelimit"))

    def _stay(self, seconds: float) -> None:
        self._until = self.game.now + seconds
        self.game.rules.props["m_flStateTransitionTime"] = self.game.map_time + seconds
