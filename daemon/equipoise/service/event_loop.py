"""The event loop: game servers are answered first on it, and a thread watches how late it is and which code holds it.

Names are looked up in threads of their own. A resolver that is silent holds one for up to a minute: the loop has a few
for all that daemons do beside it, and the daemon's end would wait for them.

While code holds the loop, nothing on the loop can measure that, and afterwards the stack of that code is gone. So a
thread asks the loop for an answer ten times a second. When none comes for `LATE_SECONDS`, it looks at the stack of the
loop's thread, and when the loop is free again one line names the functions. A loop that is never free again would write
none: after `STUCK_SECONDS` the thread writes one itself, before systemd's watchdog ends the process.

The thread may be late itself. If the process has used the processor meanwhile, code held the interpreter, in one long
call of C, and the loop with it: the line then has the stack of the moment after. If it has not, the machine did not let
it run: the process was stopped, or no processor was free. That is no lag, and no code is to blame; it is counted apart.
(While a machine is suspended, its monotonic clock stands still.) Nor is code to blame when the loop waits for something
to do: then the answer is on its way.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

from equipoise.service.log_lines import Repeats
from equipoise.service.metrics import Metrics

AT_ONCE = 0.0005
"""Seconds of long work without a turn for others, all of it together."""
PATIENCE = 0.05
"""Seconds that it waits for the answers that are being made: one may itself wait, for a split to be solved."""


class Loop(asyncio.SelectorEventLoop):
    """A daemon's event loop: a resolver that is silent takes none of the threads that its other work needs."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[tuple[object, ...], Future[Any]] = {}
        """Names that are looked up. An answer that came when nobody waited any more is for who asks next: where a
        resolver's first server is silent the second one answers after five seconds, and a database is given no more."""

    async def getaddrinfo(self, host: bytes | str | None, port: bytes | str | int | None, **hints: int) -> Any:
        """Return the addresses of a name; OSError: it has none."""
        key = (host, port, *sorted(hints.items()))
        if (found := self._names.get(key)) is None:
            found = Future[Any]()
            found.set_running_or_notify_cancel()  # from here on nobody's end can do more than leave it alone
            look_up = partial(socket.getaddrinfo, host, port, **hints)
            threading.Thread(target=_answer, args=(found, look_up), name="name", daemon=True).start()
            self._names[key] = found
        try:
            return await asyncio.wrap_future(found)
        finally:
            if found.done() and self._names.get(key) is found:
                del self._names[key]


def _answer(found: Future[Any], look_up: Callable[[], Any]) -> None:
    try:
        found.set_result(look_up())
    except OSError as error:
        found.set_exception(error)
    except UnicodeError:
        found.set_exception(socket.gaierror(socket.EAI_NONAME, "it is no name"))


class Precedence:
    """Long work of the event loop, such as pages, calls `give_way` between its parts."""

    def __init__(self) -> None:
        self._answering = 0
        self._idle = asyncio.Event()
        self._waits_until = 0.0
        """As long as game servers' answers have precedence."""
        self._turn = asyncio.Lock()
        """Of several who would go on, one does in each round of the loop."""
        self._resumed = 0.0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Mark the time in which a game server waits for its answer."""
        if not self._answering:
            self._idle.clear()
            self._waits_until = time.perf_counter() + PATIENCE
        self._answering += 1
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                self._idle.set()

    async def give_way(self) -> None:
        """Wait for a game server that is being answered; let others have a turn when this has had its own."""
        now = time.perf_counter()
        if now - self._resumed < AT_ONCE and not (self._answering and now < self._waits_until):
            return
        async with self.turn():
            pass

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Give way, then keep others who would go on waiting until the end: for what is long in another thread."""
        async with self._turn:
            await asyncio.sleep(0)
            if self._answering and (patience := self._waits_until - time.perf_counter()) > 0.0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(patience):
                        await self._idle.wait()
            yield
            self._resumed = time.perf_counter()


# The watch.

EVERY_SECONDS = 0.1
LATE_SECONDS = 0.1
"""A loop that is held for the two together is always seen. All this takes a quarter of a per cent of a processor."""
STUCK_SECONDS = 5.0
LEAST_USED = 0.1
"""Of the time, on the processor: what runs beside many other programs gets so much at least."""
MOST_FRAMES = 16
"""Of a stack in a log line, the innermost ones."""

log = logging.getLogger(__name__)


class _Wait(NamedTuple):
    happened: bool
    seized: float = 0.0
    """Seconds by which this thread was late because another one held the interpreter."""
    not_run: float = 0.0
    """The same because the process did not run."""


class LoopWatch:
    """Call `start` and `close` in the thread of the running loop."""

    def __init__(self, metrics: Metrics, stuck_seconds: float = STUCK_SECONDS) -> None:
        self._lag, self._not_run = metrics.loop_lag, metrics.not_run
        self._stuck_seconds = stuck_seconds
        self._repeats = Repeats(log, logging.WARNING)
        self._ended, self._answered = threading.Event(), threading.Event()
        self._answered_at = 0.0
        self._thread = threading.Thread(target=self._watch, name="loop watch", daemon=True)

    def start(self) -> None:
        """Watch the running loop."""
        self._loop, self._watched = asyncio.get_running_loop(), threading.get_ident()
        self._thread.start()

    def close(self) -> None:
        """Stop watching, and wait until the thread has ended."""
        self._ended.set()
        self._answered.set()
        self._thread.join()
        self._repeats.close()

    def _watch(self) -> None:
        while not (pause := self._wait(self._ended, EVERY_SECONDS)).happened:
            self._ask(pause.seized)

    def _ask(self, seized: float) -> None:
        """Have the loop answer, and note how long that takes; it was held for `seized` seconds before."""
        start, not_run = time.monotonic() - seized, 0.0
        answer, stuck, stack = False, False, self._stack() if seized else ""
        self._answered.clear()
        self._loop.call_soon_threadsafe(self._answer)
        # `close` may come before the clearing above, and then waits for this thread: no answer comes.
        while not answer and not self._ended.is_set():
            wait = self._wait(self._answered, LATE_SECONDS)
            answer, seized, not_run = wait.happened, seized + wait.seized, not_run + wait.not_run
            # The first stack is the one to blame: later ones may be of what ran next.
            if wait.seized or not answer:
                stack = stack or self._stack()
            if stack and not answer and not stuck and time.monotonic() - start - not_run >= self._stuck_seconds:
                stuck = True
                log.error("the event loop is held: %s", stack, extra={"seconds": self._stuck_seconds})
        if self._ended.is_set():
            return
        # Also the call that came just behind the answer, and kept this thread from reading it.
        lag = max(0.0, seized, self._answered_at - start - not_run)
        self._lag.observe(lag)
        if lag >= LATE_SECONDS and (stack or seized):
            self._loop.call_soon_threadsafe(self._report, stack, lag, seized)

    def _answer(self) -> None:
        self._answered_at = time.monotonic()
        self._answered.set()

    def _report(self, stack: str, lag: float, seized: float) -> None:
        functions = tuple(frame.partition(":")[0] for frame in stack.split(" > "))
        how = (
            f"by one call that let no other thread run, in or before {stack or 'the wait for work'}"
            if seized
            else stack
        )
        self._repeats.log(functions, f"the event loop was held: {how}", seconds=round(lag, 2))

    def _wait(self, event: threading.Event, seconds: float) -> _Wait:
        began, before = time.monotonic(), time.process_time()
        done = event.wait(seconds)
        late = time.monotonic() - began - seconds
        if late < LATE_SECONDS:
            return _Wait(done)
        if time.process_time() - before >= late * LEAST_USED:
            return _Wait(done, seized=late)
        self._not_run.inc(late)
        return _Wait(done, not_run=late)

    def _stack(self) -> str:
        """The functions that the loop's thread is in, outermost first; empty while the loop waits for work."""
        # The one way to another thread's stack. The loop goes on meanwhile: the frames are of one moment, or nearly.
        frame = sys._current_frames().get(self._watched)
        if frame is None or _name(frame) in (
            "selectors.EpollSelector.select",
            "asyncio.base_events.BaseEventLoop._run_once",
        ):
            return ""
        frames: list[str] = []
        while frame is not None and len(frames) < MOST_FRAMES and _name(frame) != "asyncio.events.Handle._run":
            frames.append(f"{_name(frame)}:{frame.f_lineno}")
            frame = frame.f_back
        return " > ".join(reversed(frames))


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"
