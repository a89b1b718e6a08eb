"""Timers on the game's clock: due ones run every tenth of a second, like SourceMod's."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, Callback, native
from ..machine import NativeError

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

REPEAT, NO_MAPCHANGE, CLOSE_DATA = 1 << 0, 1 << 1, 1 << 9
ACCURACY = 0.1
STOP = 4


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
    active: list[Timer] = field(default_factory=list)
    next_frame: list[tuple[Callback, int]] = field(default_factory=list)
    _looked: float = -1.0

    def run(self) -> None:
        """Fire what is due now, in the order it became due."""
        frame, self.next_frame = self.next_frame, []
        for callback, data in frame:
            callback(data)
        now = self.sm.world.now
        if now - self._looked < ACCURACY - 1e-9:
            return
        self._looked = now
        for timer in sorted((t for t in self.active if t.due <= now + 1e-9), key=lambda t: t.due):
            if not timer.killed:
                self.fire(timer)

    def fire(self, timer: Timer) -> None:
        """Call a timer; a single one, or one that returned Plugin_Stop, ends."""
        timer.running = True
        result = timer.callback(timer.handle, timer.data)
        timer.running = False
        if timer.killed or not timer.flags & REPEAT or result == STOP:
            self.end(timer)
        else:
            timer.due = self.sm.world.now + timer.interval

    def end(self, timer: Timer, *, close_data: bool = True) -> None:
        """Forget a timer and close its handle; a timer that is running ends after its callback."""
        timer.killed = True
        if timer.running or timer not in self.active:
            return
        self.active.remove(timer)
        self.sm.handles.drop(timer.handle)
        if close_data and timer.flags & CLOSE_DATA:
            self.sm.handles.drop(timer.data)

    def end_map(self) -> None:
        """Kill the timers that do not survive a map change."""
        for timer in [t for t in self.active if t.flags & NO_MAPCHANGE]:
            self.end(timer)

    def forget(self, plugin: object) -> None:
        """Kill an unloaded plugin's timers."""
        for timer in [t for t in self.active if t.callback.plugin is plugin]:
            self.end(timer)
        self.next_frame = [(callback, data) for callback, data in self.next_frame if callback.plugin is not plugin]


@native()
def CreateTimer(call: Call, interval: float, callback: Callback, data: int, flags: int) -> int:
    interval = max(interval, ACCURACY)
    timer = Timer(callback, interval, call.sm.world.now + interval, data, flags)
    timer.handle = call.open(timer)
    call.sm.timers.active.append(timer)
    return timer.handle


@native()
def KillTimer(call: Call, timer: Timer, close_data: bool) -> None:
    if close_data and timer.data:
        call.sm.handles.close(timer.data)
    call.sm.timers.end(timer)


@native()
def TriggerTimer(call: Call, timer: Timer, reset: bool) -> None:
    if timer.running:
        raise NativeError("Timer is already running")
    due = timer.due
    call.sm.timers.fire(timer)
    if not reset:
        timer.due = due


@native()
def RequestFrame(call: Call, callback: Callback, data: int) -> None:
    call.sm.timers.next_frame.append((callback, data))


@native()
def GetTickedTime(call: Call) -> float:
    return call.sm.world.now


@native()
def GetTickInterval(call: Call) -> float:
    return call.sm.world.tick
