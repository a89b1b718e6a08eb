"""`team_round_timer`: the map's timers, the hill's clocks, and those the rules make for themselves.

The class is CTeamRoundTimer (teamplay_round_timer.cpp). Times in properties are map time, in seconds.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from .entities import Entity
from .facts import BLU, RED, Reason

if TYPE_CHECKING:
    from .game import Game

SETUP, NORMAL = 0, 1
THINK = 0.05

Output = Callable[[], object]


class Timer(Entity):
    """One timer. `on_finished` is what the map does when it runs out: an output, so it acts at the frame's end."""

    def __init__(
        self, index: int, game: "Game", name: str, length: float, *, setup: int = 0, start_paused: bool = False,
        carries_time: bool = False, on_finished: Output | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            index, "team_round_timer", "CTeamRoundTimer", m_iName=name, m_flTimerEndTime=0.0, m_flTimeRemaining=0.0,
            m_bTimerPaused=1, m_bIsDisabled=0, m_bShowInHUD=1, m_nState=NORMAL, m_nSetupTimeLength=setup,
            m_nTimerLength=0, m_nTimerInitialLength=int(length), m_nTimerMaxLength=0, m_bStartPaused=int(start_paused),
        )  # fmt: skip
        self.game, self.initial, self.setup, self.start_paused = game, length, setup, start_paused
        self.carries_time = carries_time
        self.on_finished = on_finished
        self._armed = False
        self._after_setup = length
        self._last = 0.0
        # Spawn sets the state, so even a clock that a script makes rewrites the rules' m_bInSetup.
        self._set_state(SETUP if setup else NORMAL)
        self.set_time(setup or length)

    @property
    def remaining(self) -> float:
        """Seconds left (GetTimeRemaining)."""
        if self.props["m_bTimerPaused"]:
            return float(self.props["m_flTimeRemaining"])  # type: ignore[arg-type]
        return max(float(self.props["m_flTimerEndTime"]) - self.game.map_time, 0.0)  # type: ignore[arg-type]

    @property
    def shown(self) -> bool:
        """Whether players see it."""
        return bool(self.props["m_bShowInHUD"])

    def set_time(self, seconds: float) -> None:
        """SetTimeRemaining: arms the output again."""
        whole = int(seconds)
        self.props |= {"m_flTimeRemaining": float(whole), "m_flTimerEndTime": self.game.map_time + whole}
        self.props["m_nTimerLength"] = whole
        self._armed = whole > 0

    def add_time(self, seconds: int) -> None:
        """What a map does when a point was captured; only the timer on the screen says so (SendTimeAddedEvent)."""
        self.set_time(self.remaining + seconds)
        if self.shown:
            self.game.fire("teamplay_timer_time_added", timer=self.index, seconds_added=seconds)

    def pause(self) -> None:
        """PauseTimer."""
        if not self.props["m_bTimerPaused"]:
            self.props |= {"m_flTimeRemaining": self.remaining, "m_bTimerPaused": 1}

    def resume(self) -> None:
        """ResumeTimer."""
        if self.props["m_bTimerPaused"]:
            end = self.game.map_time + float(self.props["m_flTimeRemaining"])  # type: ignore[arg-type]
            self.props |= {"m_bTimerPaused": 0, "m_flTimerEndTime": end}

    def show(self) -> None:
        """Input ShowInHUD 1: the state is set again, and with it the rules' m_bInSetup."""
        self.props["m_bShowInHUD"] = 1
        self._set_state(int(self.props["m_nState"]))  # type: ignore[arg-type]

    def round_spawn(self) -> None:
        """InputRoundSpawn: it runs from here, the start of the freeze, unless the game waits."""
        carries = self.carries_time and self.props["m_nState"] == NORMAL
        self._after_setup = self.remaining if carries else self.initial
        self._set_state(SETUP if self.setup else NORMAL)
        self.set_time(self.setup or self._after_setup)
        if not self.start_paused and not self.game.rounds.waiting:
            self.resume()

    def think(self) -> None:
        """RoundTimerSetupThink or RoundTimerThink."""
        if self.props["m_nState"] == SETUP:
            self._think_setup()
        else:
            self._think_normal()

    def _think_setup(self) -> None:
        last, self._last = self._last, self.remaining
        if self.props["m_bTimerPaused"]:
            return
        self.game.clocks.set_overtime(False)
        if self._last > 0 and math.floor(last) != math.floor(self._last):
            self.game.fire("teamplay_pre_round_time_left", time=math.floor(self._last))
        if self._last <= 0 and self._armed:
            # The event comes before the state: m_bInSetup is still 1 in its handlers.
            self.game.fire("teamplay_setup_finished")
            self._set_state(NORMAL)
            self.set_time(self._after_setup)

    def _think_normal(self) -> None:
        if self.props["m_bTimerPaused"]:
            return
        if self.game.rounds.won:
            self.pause()  # only the next round's RoundSpawn resumes it
        else:
            self._count_down()

    def _count_down(self) -> None:
        clocks, left = self.game.clocks, self.remaining
        if left > 0:
            if self.shown:
                clocks.set_overtime(False)
        elif self._armed and not clocks.may_expire():
            self.props["m_flTimerEndTime"] = self.game.map_time
            if self.shown:
                clocks.set_overtime(True)
        elif self._armed:
            self._armed = False
            if self.on_finished is not None:
                self.game.outputs.append(self.on_finished)

    def _set_state(self, state: int) -> None:
        self.props["m_nState"] = state
        self.game.rules.props["m_bInSetup"] = int(state == SETUP)


class Clocks:
    """All timers of a map. `hill` are the clocks of King of the Hill by side."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.timers: list[Timer] = []
        self.hill: dict[int, Timer] = {}
        self.limit: Timer | None = None
        self.stalemate: Timer | None = None
        self._waiting: Timer | None = None
        self._hidden: Timer | None = None
        self._capping_until = 0.0
        self._due = 0.0

    @property
    def in_setup(self) -> bool:
        """Whether it is setup time (m_bInSetup)."""
        return bool(self.game.rules.props["m_bInSetup"])

    @property
    def active(self) -> Timer | None:
        """The timer on the screen (GetActiveRoundTimer)."""
        return next((timer for timer in reversed(self.timers) if timer.shown), None)

    def place(self, index: int) -> Timer:
        """The map's own timer, at a map's start and whenever its entities are made anew."""
        mode = self.game.mode
        timer = Timer(
            index, self.game, "round_timer", mode.length, setup=mode.setup, carries_time=mode.carries_time,
            on_finished=self._out,
        )  # fmt: skip
        self.timers = [timer]
        return timer

    def clean_up(self) -> None:
        """The map's entities are gone (CleanUpMap), and so is what the rules created."""
        for timer in self.timers:
            self.game.entities.remove(timer)
        self.timers, self.hill = [], {}
        self.limit = self.stalemate = self._waiting = self._hidden = None

    def round_spawn(self) -> None:
        """RoundSpawn reaches every timer; the hill's logic makes two clocks (CKothLogic::InputRoundSpawn)."""
        self.set_overtime(False)
        for timer in self.timers:
            timer.round_spawn()
        if self.game.mode.koth:
            for side, color in ((BLU, "blue"), (RED, "red")):
                if (old := self.hill.get(side)) is not None:
                    self._remove(old)
                self.hill[side] = self.create(f"zz_{color}_koth_timer", self.game.mode.length)
            self.game.rules.props |= {"m_hRedKothTimer": self.hill[RED].index, "m_hBlueKothTimer": self.hill[BLU].index}
        self._on_screen()

    def taken(self, side: int) -> None:
        """A hill changed hands: the map resumes its new owner's clock and pauses the other."""
        for owner, timer in self.hill.items():
            (timer.resume if owner == side else timer.pause)()

    def create(self, name: str, length: float) -> Timer:
        """A timer made by the rules or a script: paused, and on the screen."""
        timer = Timer(self.game.entities.free(), self.game, name, length)
        self.game.entities.put(timer)
        self.timers.append(timer)
        self._on_screen()
        return timer

    # The rules' own timers (teamplayroundbased_gamerules.cpp).

    def show_waiting(self, seconds: float) -> None:
        """CheckWaitingForPlayers: hides the map's timer and shows one for waiting."""
        if self._waiting is None:
            self._hide()
            self._waiting = self.create("zz_teamplay_waiting_timer", seconds)
        self._waiting.set_time(seconds)
        self._waiting.resume()

    def hide_waiting(self) -> None:
        """SetInWaitingForPlayers(false): RestoreActiveTimer sets the map timer's state again."""
        if self._waiting is not None:
            self._remove(self._waiting)
            self._waiting = None
        self._restore()

    def resume_hidden(self) -> None:
        """CheckWaitingForPlayers, cancelled: the map's timer runs on unless it starts paused."""
        if self._hidden is not None and not self._hidden.start_paused:
            self._hidden.resume()

    @property
    def waiting_shown(self) -> bool:
        """Whether the timer for waiting exists yet."""
        return self._waiting is not None

    def show_stalemate(self, seconds: float) -> None:
        """The timer of arena's freeze, of sudden death, and of arena's round."""
        if self.stalemate is None:
            self.stalemate = self.create("", seconds)
        self.stalemate.set_time(seconds)
        self.stalemate.resume()
        self.game.fire("teamplay_update_timer")

    def enter_stalemate(self, seconds: float) -> None:
        """State_Enter_STALEMATE: the map's timer is hidden, a limit of 0 shows none."""
        self._hide()
        if self.stalemate is not None:
            self._remove(self.stalemate)
            self.stalemate = None
        if seconds > 0:
            self.show_stalemate(seconds)

    def leave_stalemate(self) -> None:
        """State_Leave_STALEMATE."""
        if self.stalemate is not None:
            self._remove(self.stalemate)
            self.stalemate = None
        if not self.game.mode.arena:
            self._restore()
            self.game.fire("teamplay_update_timer")

    def show_limit(self, seconds: float) -> None:
        """CreateTimeLimitTimer, on maps without a timer of their own."""
        self.limit = self.create("zz_teamplay_timelimit_timer", seconds)
        self.limit.resume()

    # Thinking.

    def think(self) -> None:
        """The timers' thinks: every 0.05 s."""
        if self.game.now < self._due:
            return
        self._due = self.game.now + THINK
        for timer in list(self.timers):
            timer.think()

    def may_expire(self) -> bool:
        """CTFGameRules::TimerMayExpire (tf_gamerules.cpp): not while a point is captured or a flag is away."""
        if self.game.points.contested:
            self._capping_until = self.game.now + 0.1
            return False
        if self._capping_until >= self.game.now:
            return False
        return not self.game.flags.away

    def set_overtime(self, overtime: bool) -> None:
        """SetOvertime: no event says so."""
        self.game.rules.props["m_bInOvertime"] = int(overtime)

    def _out(self) -> None:
        """What the stock maps do at the end of their timer: game_round_win for the defenders, or for nobody."""
        rounds = self.game.rounds
        if self.game.mode.attack_defend:
            rounds.win(RED, Reason.DEFENDED)
        elif self.game.mode.passtime and (winner := self.game.flags.leader):
            rounds.win(winner, Reason.TIME_LIMIT)
        else:
            rounds.stalemate()

    def _hide(self) -> None:
        self._hidden = None
        for timer in self.timers:
            if timer.shown:
                timer.props["m_bShowInHUD"] = 0
                self._hidden = timer

    def _restore(self) -> None:
        if self._hidden is not None:
            self._hidden.show()
            self._hidden = None
        self._on_screen()

    def _remove(self, timer: Timer) -> None:
        self.timers.remove(timer)
        self.game.entities.remove(timer)
        self._on_screen()

    def _on_screen(self) -> None:
        if self.game.objective is not None:
            active = self.active
            self.game.objective.props["m_iTimerToShowInHUD"] = active.index if active else 0
