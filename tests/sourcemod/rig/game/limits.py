"""What ends a map: time, wins, rounds, `nextlevel` (teamplayroundbased_gamerules.cpp, tf_gamerules.cpp)."""

from typing import TYPE_CHECKING

from .facts import BLU, MAPS, RED, Reason, State

if TYPE_CHECKING:
    from .game import Game

LAST_MINUTES = 5


class Limits:
    """A check returns whether its limit is met; unless it only looks, the map is then over."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.after_stalemate = False
        """m_bChangelevelAfterStalemate: the map's time ran out while the round was drawn."""
        self._reset_at = game.now
        self._leaves_at: float | None = None

    @property
    def time_left(self) -> int:
        """GetTimeLeft: whole seconds of the map's time, 0 without a limit."""
        return max(int(self._reset_at + self.game.number("mp_timelimit") * 60 - self.game.now), 0)

    @property
    def time_is_up(self) -> bool:
        """Whether there is a time limit and it is used up."""
        return self.game.number("mp_timelimit") > 0 and self.time_left <= 0

    @property
    def end_rounds(self) -> bool:
        """Whether the map's time ends a running round: the map said so, or a variable on a map that is not Valve's."""
        by_variable = self.game.number("mp_match_end_at_timelimit") and self.game.map not in MAPS
        return self.game.mode.timed_stalemate or bool(by_variable)

    def show_time(self) -> None:
        """`RoundRespawn` and `CreateTimeLimitTimer`: on maps without a timer, where time ends rounds."""
        mode, clocks = self.game.mode, self.game.clocks
        if self.end_rounds and self.time_left > 0 and clocks.active is None and not (mode.arena or mode.koth):
            clocks.show_limit(self.time_left)

    def reset_time(self) -> None:
        """`ResetMapTime`: every restart gives the map its whole time again."""
        self._reset_at = self.game.now
        self.game.rules.props["m_flMapResetTime"] = self.game.map_time
        self.game.fire("teamplay_map_time_remaining", seconds=self.time_left)

    def check_running(self) -> bool:
        """The checks once a second."""
        return self.check_wins() or self.check_rounds()

    def check_after_bonus(self, *, look: bool = False) -> bool:
        """All of them, when a won round's bonus time is over; the time limit is in no other."""
        checks = (self.check_time, self.check_wins, self.check_rounds, self.check_nextlevel)
        return any(check(look=look) for check in checks)

    def check_time(self, *, look: bool = False) -> bool:
        """`CheckTimeLimit`: also when the next round would begin in the map's last five minutes."""
        minutes = self.game.number("mp_timelimit")
        if self.game.tournament.before_match:
            return False
        if not (minutes > 0 and self._may_change()) and not self.after_stalemate:
            return False
        late = minutes > LAST_MINUTES and self.time_left < LAST_MINUTES * 60
        late = late and not self.game.mode.arena and not self.game.tournament.on
        if not (self.time_left <= 0 or self.after_stalemate or late):
            return False
        return self._end("teamplay_game_over", "Reached Time Limit", look)

    def check_wins(self, *, look: bool = False) -> bool:
        """`CTFGameRules::CheckWinLimit`, which hides its parent's: another event, and BLU is looked at first."""
        winner, reason, text = self._won()
        if not winner or self.game.tournament.before_match:
            return False
        if self.game.tournament.on and not look:
            self.game.fire("tf_game_over", reason=text)
            self.game.rounds.win(winner, reason, score=False)
            return True
        return self._end("tf_game_over", text, look)

    def check_rounds(self, *, look: bool = False) -> bool:
        """`CheckMaxRounds`."""
        limit = self.game.number("mp_maxrounds")
        if limit <= 0 or self.game.rounds.played < limit or self.game.tournament.before_match:
            return False
        return self._end("teamplay_game_over", "Reached Round Limit", look)

    def check_nextlevel(self, *, look: bool = False) -> bool:
        """`CheckNextLevelCvar`: after a full round."""
        if not self.game.rounds.full_reset or not self.game.text("nextlevel"):
            return False
        return self._end("teamplay_game_over", "NextLevel CVAR", look)

    def think(self) -> None:
        """GAME_OVER: the rules think of nothing but the level change."""
        if self._leaves_at is not None and self.game.now > self._leaves_at:
            self._leaves_at = None
            self.game.change_level()

    def _end(self, event: str, reason: str, look: bool) -> bool:
        """The event comes in the old state; then `GoToIntermission`, which does nothing in a tournament."""
        if not look:
            self.game.fire(event, reason=reason)
        if not look and not self.game.tournament.on:
            self._leaves_at = self.game.now + self.game.number("mp_chattime")
            self.game.rounds.enter(State.GAME_OVER)
        return True

    def _may_change(self) -> bool:
        """`CanChangelevelBecauseOfTimeLimit`: not between the stages of one round."""
        return self.game.rounds.full_reset or not self.game.points.stages_left

    def _won(self) -> tuple[int, int, str]:
        scores, number = self.game.teams.scores, self.game.number
        if limit := int(number("mp_winlimit")):
            for side in (BLU, RED):
                if scores[side] >= limit:
                    return side, Reason.WIN_LIMIT, "Reached Win Limit"
        if (limit := int(number("mp_windifference"))) > 0:
            leader = BLU if scores[BLU] > scores[RED] else RED
            ahead = abs(scores[BLU] - scores[RED]) >= limit
            if ahead and scores[leader] >= number("mp_windifference_min"):
                return leader, Reason.WIN_DIFFERENCE, "Reached Win Difference Limit"
        return 0, 0, ""
