"""Setup and round timers: the `team_round_timer` entities and what happens when they run out."""

import math
from typing import TYPE_CHECKING

from .entities import Entity
from .facts import BLU, RED, SIDES, Reason

if TYPE_CHECKING:
    from .game import Game

SETUP, NORMAL = 0, 1


class Clocks:
    """A map's timers: one for the round, or one per side in King of the Hill. Times are map time, in seconds."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.timers: dict[int, Entity] = {}
        self.setup_until = math.inf

    @property
    def in_setup(self) -> bool:
        """Whether the doors are still closed."""
        return self.setup_until < math.inf

    def create(self) -> None:
        """The timers of a new map: by side, or under 0 one for all."""
        mode = self.game.mode
        sides = SIDES if mode.koth else (0,) if mode.length else ()
        self.timers = {side: self._timer() for side in sides}
        if mode.koth:
            self.game.rules.props["m_hRedKothTimer"] = self.timers[RED].index
            self.game.rules.props["m_hBlueKothTimer"] = self.timers[BLU].index

    def reset(self, *, full: bool) -> None:
        """A round is about to start: all timers stand, full."""
        self._set_setup(math.inf)
        for timer in self.timers.values():
            timer.props |= {"m_bTimerPaused": 1, "m_flTimeRemaining": self.game.mode.length, "m_nState": NORMAL}
        if full and (resource := self.game.objective):
            resource.props["m_iOwner"] = self._owners()

    def start(self) -> None:
        """The round is live: setup first, where there is one."""
        if self.game.mode.setup:
            self._set_setup(self.game.map_time + self.game.mode.setup)
            self._run(0, self.game.mode.setup, SETUP)
        elif not self.game.mode.koth and self.timers:
            self._run(0, self.game.mode.length, NORMAL)

    def taken(self, side: int) -> None:
        """A hill changed hands: its new owner's clock runs, the other's stands."""
        for owner, timer in self.timers.items():
            if owner == side:
                self._run(owner, float(timer.props["m_flTimeRemaining"]), NORMAL)  # type: ignore[arg-type]
            elif not timer.props["m_bTimerPaused"]:
                left = float(timer.props["m_flTimerEndTime"]) - self.game.map_time  # type: ignore[arg-type]
                timer.props |= {"m_bTimerPaused": 1, "m_flTimeRemaining": left}

    def think(self) -> None:
        """One frame of a live round."""
        if self.in_setup:
            if self.game.map_time >= self.setup_until:
                self._finish_setup()
            return
        for side, timer in self.timers.items():
            ended = self.game.map_time >= float(timer.props["m_flTimerEndTime"])  # type: ignore[arg-type]
            if not timer.props["m_bTimerPaused"] and ended:
                self._run_out(side)
                return

    def _finish_setup(self) -> None:
        self._set_setup(math.inf)
        self._run(0, self.game.mode.length, NORMAL)
        self.game.fire("teamplay_setup_finished")

    def _run_out(self, side: int) -> None:
        if side:
            self.game.rounds.win(side, Reason.POINTS_CAPTURED)
        elif self.game.mode.attack_defend:
            self.game.rounds.win(RED, Reason.DEFENDED)
        else:
            self.game.rounds.stalemate()

    def _timer(self) -> Entity:
        return self.game.entities.add(
            "team_round_timer", "CTeamRoundTimer", m_flTimerEndTime=0.0, m_flTimeRemaining=self.game.mode.length,
            m_bTimerPaused=1, m_bIsDisabled=0, m_bShowInHUD=1, m_nState=NORMAL,
            m_nSetupTimeLength=int(self.game.mode.setup), m_nTimerLength=int(self.game.mode.length),
        )  # fmt: skip

    def _run(self, side: int, seconds: float, state: int) -> None:
        end = self.game.map_time + seconds
        self.timers[side].props |= {"m_bTimerPaused": 0, "m_flTimerEndTime": end, "m_nState": state}

    def _set_setup(self, until: float) -> None:
        self.setup_until = until
        self.game.rules.props["m_bInSetup"] = int(self.in_setup)

    def _owners(self) -> list[int]:
        owners = list(self.game.mode.owners)
        return owners + [0] * (8 - len(owners))
