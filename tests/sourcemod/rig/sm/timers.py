"""Timers on SourceMod's clock, and what `RequestFrame` puts off (core/TimerSys.cpp, core/frame_hooks.cpp).

The clock is looked at every 0.1 s. Single timers come first, sorted by when they are due, then repeating ones in the
order of their creation. A timer is never early and up to 0.1 s late; the next turn of a repeating one is counted from
when it was due unless it is more than 0.1 s late.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, Callback, native

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

REPEAT, NO_MAPCHANGE, CLOSE_DATA = 1 << 0, 1 << 1, 1 << 9
ACCURACY = 0.1
STOP = 4
SLACK = 1e-9
"""Sums of ticks may fall short of what they stand for by rounding."""


@dataclass(eq=False, slots=True)
class Timer:
    """A timer of a plugin. `due` is engine time in seconds."""

    callback: Callback
    interval: float
    due: float
    data: int
    flags: int
    handle: int = 0
    running: bool = False
    killed: bool = False


@dataclass(slots=True)
class Timers:
    """All timers of a server, and what waits for the next frame."""

    sm: "SourceMod"
    single: list[Timer] = field(default_factory=list)
    repeating: list[Timer] = field(default_factory=list)
    requested: list[tuple[Callback, int]] = field(default_factory=list)
    _think: float = 0.0

    def add(self, timer: Timer) -> None:
        """Queue a timer where TimerSystem::CreateTimer does.

        Of single timers due at the same time the newest comes *first* while any timer is due later still, and last if
        none is: the search from the front stops at the first that is not earlier.
        """
        if timer.flags & REPEAT:
            self.repeating.append(timer)
        elif not self.single or self.single[-1].due <= timer.due:
            self.single.append(timer)
        else:
            place = next(i for i, other in enumerate(self.single) if other.due >= timer.due)
            self.single.insert(place, timer)

    def run(self) -> None:
        """One frame: fire what is due, if 0.1 s have passed since the last look (TimerSystem::GameFrame)."""
        now = self.sm.world.now
        if now + SLACK < self._think:
            return
        self._run_due(now)
        self._think = self._next(self._think, ACCURACY)

    def run_requested(self) -> None:
        """Call what `RequestFrame` put off; what is requested meanwhile waits for the next frame."""
        requested, self.requested = self.requested, []
        for callback, data in requested:
            if callback.plugin in self.sm.plugins:
                callback(data)

    def fire(self, timer: Timer) -> bool:
        """Call a timer; whether it goes on."""
        timer.running = True
        result = timer.callback(timer.handle, timer.data)
        timer.running = False
        if timer.flags & REPEAT and not timer.killed and result != STOP:
            return True
        self._end(timer)
        return False

    def kill(self, timer: Timer) -> None:
        """End a timer; one that is running ends after its callback."""
        timer.killed = True
        if not timer.running:
            self._end(timer)

    def end_map(self) -> None:
        """Kill the timers that do not survive a map change."""
        for timer in [t for t in (*self.single, *self.repeating) if t.flags & NO_MAPCHANGE]:
            self.kill(timer)

    def forget(self, plugin: object) -> None:
        """Kill an unloaded plugin's timers."""
        for timer in [t for t in (*self.single, *self.repeating) if t.callback.plugin is plugin]:
            self.kill(timer)
        self.requested = [(callback, data) for callback, data in self.requested if callback.plugin is not plugin]

    def _run_due(self, now: float) -> None:
        while self.single and self.single[0].due <= now + SLACK:
            self.fire(self.single[0])
        for timer in list(self.repeating):
            if timer in self.repeating and timer.due <= now + SLACK and self.fire(timer):
                timer.due = self._next(timer.due, timer.interval)

    def _next(self, last: float, interval: float) -> float:
        """`CalcNextThink`: a timer that is late by more than the accuracy skips what it missed."""
        late = self.sm.world.now - last - interval
        return (last if late <= ACCURACY + SLACK else self.sm.world.now) + interval

    def _end(self, timer: Timer) -> None:
        timers = self.repeating if timer.flags & REPEAT else self.single
        if timer not in timers:
            return
        timers.remove(timer)
        if timer.flags & CLOSE_DATA and not self.sm.handles.drop(timer.data):
            text = f"Invalid data handle {timer.data:x} (error 1) passed during timer end with TIMER_DATA_HNDL_CLOSE"
            self.sm.log.fault(timer.callback.plugin.name, text, "")
        self.sm.handles.drop(timer.handle)


@native()
def CreateTimer(call: Call, interval: float, callback: Callback, data: int, flags: int) -> int:
    timer = Timer(callback, interval, call.sm.world.now + interval, data, flags)
    timer.handle = call.open(timer)
    call.sm.timers.add(timer)
    return timer.handle


@native()
def KillTimer(call: Call, timer: Timer, close_data: bool) -> None:
    call.sm.timers.kill(timer)
    if close_data and not timer.flags & CLOSE_DATA:
        call.sm.handles.close(timer.data)


@native()
def TriggerTimer(call: Call, timer: Timer, reset: bool) -> None:
    """A timer that is running is left alone (TimerSystem::FireTimerOnce)."""
    if not timer.running and call.sm.timers.fire(timer) and reset:
        timer.due = call.sm.world.now + timer.interval


@native()
def RequestFrame(call: Call, callback: Callback, data: int) -> None:
    call.sm.timers.requested.append((callback, data))


@native()
def GetTickedTime(call: Call) -> float:
    return call.sm.world.now


@native()
def GetTickInterval(call: Call) -> float:
    return call.sm.world.tick
