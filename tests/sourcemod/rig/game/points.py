"""Control points and their master (team_control_point.cpp, team_control_point_master.cpp, trigger_area_capture.cpp)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .facts import RED, SIDES, Reason, State
from .players import Player

if TYPE_CHECKING:
    from .game import Game

THINK = 0.2
CAPPERS = 8


class Points:
    """The map's points. What plugins read of them is on tf_objective_resource."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.stage = -1
        self.last_cappers = ""
        """What the win panel shows of a win by capture (m_szMostRecentCappers)."""
        self._next_stage: int | None = None
        self._taken_at: dict[int, float] = {}
        self._unlock_at: dict[int, float] = {}
        self._due = 0.0

    @property
    def owners(self) -> list[int]:
        """The owner of each point."""
        return self._list("m_iOwner")

    @property
    def contested(self) -> bool:
        """Whether any point is being captured."""
        return self.game.objective is not None and any(self._list("m_iCappingTeam"))

    @property
    def may_be_captured(self) -> bool:
        """`PointsMayBeCaptured` (tf_gamerules.cpp and its parent): in a running round after setup, not in waiting."""
        rounds = self.game.rounds
        if rounds.waiting or self.game.clocks.in_setup:
            return False
        return rounds.state in (State.RUNNING, State.STALEMATE)

    def may_capture(self, point: int) -> bool:
        """`TeamMayCapturePoint` (tf_gamerules.cpp): neither a locked point nor arena's before its time."""
        if not self.may_be_captured or self._list("m_bCPLocked")[point]:
            return False
        opens = float(self.game.rules.props["m_flCapturePointEnableTime"])  # type: ignore[arg-type]
        return not self.game.mode.arena or opens <= self.game.map_time

    @property
    def stages_left(self) -> int:
        """Stages that may still be played in this full round (NumPlayableControlPointRounds)."""
        return sum(self._owner_of(stage) is None for stage in self.game.mode.stages)

    # What players do.

    def start_capture(self, point: int, side: int, cappers: Sequence[Player]) -> None:
        """A side stands on a point: no timer may run out until it leaves or has it."""
        self._list("m_iCappingTeam")[point] = side
        self.game.fire(
            "teamplay_point_startcapture", cp=point, cpname=self._name(point), team=self.owners[point], capteam=side,
            captime=self.game.now - self._taken_at.get(point, self.game.rounds.round_start_at),
            cappers=_bytes(cappers), priority=0,
        )  # fmt: skip

    def stop_capture(self, point: int, seconds_left: float = 1.0) -> None:
        """They left it."""
        self._list("m_iCappingTeam")[point] = 0
        self.game.fire("teamplay_capture_broken", cp=point, cpname=self._name(point), time_remaining=seconds_left)

    def capture(self, point: int, side: int, cappers: Sequence[Player]) -> None:
        """An area is captured: m_iOwner is new when the event comes, and a win is nested in the same call."""
        assert self.may_be_captured, f"nothing can be captured in {self.game.rounds.state.name}"
        assert self.may_capture(point), f"{self._name(point)} is locked"
        self._own(point, side)
        if cappers:
            self.game.fire(
                "teamplay_point_captured", cp=point, cpname=self._name(point), team=side, cappers=_bytes(cappers),
                priority=0,
            )  # fmt: skip
        if self.game.mode.koth:
            self.game.clocks.taken(side)
        self.check_win()

    def give(self, point: int, side: int) -> None:
        """The map's logic sets an owner without a player (SetOwner): no event, no count."""
        self._own(point, side)
        self.check_win()

    def lock(self, point: int, *, locked: bool = True) -> None:
        """Input SetLocked: nothing while the game waits."""
        if not self.game.rounds.waiting:
            self._set_locked(point, locked=locked)

    def unlock_in(self, point: int, seconds: int) -> None:
        """Input SetUnlockTime: a running round unlocks the point when its time has come."""
        if self.game.rounds.waiting:
            return
        self._unlock_at[point] = self.game.now + seconds
        self.game.objective.props["m_flUnlockTimes"][point] = self.game.map_time + seconds  # type: ignore[union-attr, index]

    def _set_locked(self, point: int, *, locked: bool) -> None:
        """`InternalSetLocked`: an event for a change only."""
        if bool(self._list("m_bCPLocked")[point]) != locked:
            event = "teamplay_point_locked" if locked else "teamplay_point_unlocked"
            self.game.fire(event, cp=point, cpname=self._name(point), team=self.owners[point])
        self._list("m_bCPLocked")[point] = int(locked)
        self.game.objective.props["m_flUnlockTimes"][point] = 0.0  # type: ignore[union-attr, index]
        if not locked:
            self._unlock_at.pop(point, None)

    # The rules.

    def round_spawn(self, *, full: bool) -> None:
        """RoundSpawn and RoundActivate: all points are the map's again after a full reset; a stage is chosen."""
        if self.game.objective is None:
            return
        owners = self.game.mode.owners
        if full:
            self._list("m_iOwner")[: len(owners)] = owners
            self.stage = -1
        self._list("m_iCappingTeam")[:] = [0] * 8
        self._taken_at.clear()
        self.last_cappers = ""
        if full:
            self._unlock_at.clear()
            self._list("m_bCPLocked")[:] = [0] * 8
        if self.game.mode.stages:
            self._choose_stage()
        if self.game.mode.koth:
            self._lock_hill()

    def _lock_hill(self) -> None:
        """`CKothLogic::InputRoundActivate` (tf_gamerules.cpp): from here, the start of the freeze, its time counts."""
        seconds = self.game.mode.unlock
        for point in range(len(self.game.mode.owners)):
            self.lock(point, locked=seconds > 0)
            if seconds > 0:
                self.unlock_in(point, seconds)

    def start_arena(self) -> None:
        """`SetupOnStalemateStart` (tf_gamerules.cpp): when arena's point may be captured."""
        override = self.game.number("tf_arena_override_cap_enable_time")
        delay = override if override > 0 else self.game.mode.unlock
        self.game.rules.props["m_flCapturePointEnableTime"] = self.game.map_time + delay

    def repeat_stage(self) -> None:
        """After waiting, the stage that people run around in is played first (CheckWaitingForPlayers)."""
        if self.stage >= 0:
            self._next_stage = self.stage

    def think(self) -> None:
        """`UnlockThink` of the points, and `CPMThink` of their master every 0.2 s."""
        if self._unlock_at and self.game.rounds.state == State.RUNNING:
            for point, when in list(self._unlock_at.items()):
                if when < self.game.now:
                    self._set_locked(point, locked=False)
        if self.game.objective is None or self.game.now < self._due:
            return
        self._due = self.game.now + THINK
        if self.may_be_captured:
            self.check_win()

    def check_win(self) -> None:
        """`CheckWinConditions`."""
        game, stages = self.game, self.game.mode.stages
        if not self.may_be_captured or (stages and self.stage < 0):
            return
        winner = self._owner_of(stages[self.stage] if stages else range(len(game.mode.owners)))
        if winner is not None and self._clock_is_down(winner):
            self._declare(winner)

    def award_stage(self, side: int) -> None:
        """A stage that was won without its points brings them along, so that the next one is played."""
        if self.stage >= 0 and self._owner_of(self.game.mode.stages[self.stage]) is None:
            for point in self.game.mode.stages[self.stage]:
                self._own(point, side)

    def force(self, side: int) -> None:
        """Input SetWinnerAndForceCaps: the points go to the side that won otherwise, whatever the clocks say."""
        stages = self.game.mode.stages
        for point in stages[self.stage] if stages else range(len(self.game.mode.owners)):
            self._own(point, side)
        self._declare(side)

    def _declare(self, winner: int) -> None:
        full = not self.stages_left
        switch = full and self.game.mode.switch_sides
        self.game.rounds.win(winner, Reason.POINTS_CAPTURED, full_round=full, switch=switch)

    def _clock_is_down(self, side: int) -> bool:
        clock = self.game.clocks.hill.get(side)
        return clock is None or (clock.remaining <= 0 and self.game.clocks.may_expire())

    def _owner_of(self, points: Sequence[int]) -> int | None:
        """Who has won by owning all of `points`; attack/defence masters forbid RED to win so (m_iInvalidCapWinner)."""
        owners = {self.owners[point] for point in points}
        if len(owners) != 1 or not owners <= set(SIDES):
            return None
        owner = owners.pop()
        return None if owner == RED and self.game.mode.attack_defend else owner

    def _choose_stage(self) -> None:
        """`GetControlPointRoundToPlay`: the first that may be played; stock maps order them by priority."""
        stages = self.game.mode.stages
        playable = [i for i, stage in enumerate(stages) if self._owner_of(stage) is None]
        chosen, self._next_stage = self._next_stage, None
        if chosen is None:
            chosen = playable[0] if playable else -1
        self.stage = chosen
        if chosen >= 0:
            self._list("m_bInMiniRound")[:] = [int(point in stages[chosen]) for point in range(8)]
            self.game.fire("teamplay_round_selected", round=f"round_{chosen + 1}")

    def _own(self, point: int, side: int) -> None:
        self._list("m_iCappingTeam")[point] = 0
        self._list("m_iOwner")[point] = side
        self._taken_at[point] = self.game.now

    def _list(self, prop: str) -> list[int]:
        assert self.game.objective is not None, f"{self.game.map} has no control points"
        return self.game.objective.props[prop]  # type: ignore[return-value]

    def _name(self, point: int) -> str:
        return f"point {point}"


def _bytes(players: Sequence[Player]) -> str:
    """Entity indexes as the bytes of a text, eight at most."""
    return "".join(chr(player.index) for player in players[:CAPPERS])
