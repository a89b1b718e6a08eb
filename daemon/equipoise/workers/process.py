"""The daemon's end of a process that works beside it: started, asked, and killed with its caller.

A process is used for one piece of work (`started`, `asked`), or kept warm between requests that come often (`Warm`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio import subprocess
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import UnionType
from typing import Generic, TypeVar, cast

import msgspec

from equipoise.errors import ScriptError
from equipoise.workers import LENGTH_BYTES, LONGEST, Answer, Job, ProcessLost, framed, length_of

COMMAND = (sys.executable, "-P", "-m", "equipoise.workers")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""numpy would start one for each processor: the game needs them, and each maps memory that the process may not have."""
WAIT_SECONDS = 5.0
"""The time for the requests of others that came before."""
IDLE_SECONDS = 60.0
GRACE_SECONDS = 3.0
"""Beyond a request's time, for the start of the process and for answers in their first form."""

A = TypeVar("A")

log = logging.getLogger(__name__)


class Process:
    """A process that does a job. `start` it first; `kill` it and wait for `ended` last."""

    def __init__(self, process: subprocess.Process, name: str) -> None:
        self._process, self._name = process, name

    @classmethod
    async def start(cls, job: Job, about: str = "") -> Process:
        """Start a process; errors begin with `about`. ProcessLost: it cannot be started."""
        try:
            # A session of its own: Ctrl-C at a terminal is for the daemon, which ends it.
            process = await asyncio.create_subprocess_exec(
                *COMMAND, job.name.lower(), stdin=PIPE, stdout=PIPE, start_new_session=True, env=os.environ | ONE_THREAD
            )
        except OSError as error:  # no memory, too many processes or open files
            raise ProcessLost(f"{about}no process can be started that {job.purpose}: {error.strerror}") from None
        return cls(process, f"{about}the process that {job.purpose}")

    @property
    def pid(self) -> int:
        """Its number among the system's processes."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """It is not known to have ended."""
        return self._process.returncode is None

    async def ask(self, request: msgspec.Struct, result: type[A] | UnionType) -> A:
        """Return the result of a request. ProcessLost: it died; SplitError, ScriptError, StoreError: its refusal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(framed(request))
            await self._process.stdin.drain()
            size = length_of(await self._process.stdout.readexactly(LENGTH_BYTES))
            # Not an answer of ours: what it wrote to its standard output came before it.
            if size > LONGEST:
                raise EOFError
            content = await self._process.stdout.readexactly(size)
            answer: Answer[A] = msgspec.msgpack.decode(content, type=Answer[result])  # type: ignore[valid-type]
        except (OSError, EOFError, msgspec.MsgspecError):
            raise ProcessLost(f"{self._name} has died") from None
        if answer.refusal is not None:
            raise answer.refusal.error()
        return cast("A", answer.result)

    def kill(self) -> None:
        """End it at once: it holds nothing that is worth an orderly end."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> None:
        """Wait until it is gone."""
        await self._process.wait()


@asynccontextmanager
async def started(job: Job, about: str = "") -> AsyncIterator[Process]:
    """Start a process that is killed at the end of this, if it has not ended by itself."""
    process = await Process.start(job, about)
    try:
        yield process
    finally:
        process.kill()
        await asyncio.shield(process.ended())


async def asked(job: Job, request: msgspec.Struct, result: type[A] | UnionType, about: str = "") -> A:
    """Return the answer of a process of its own, which ends when this is cancelled."""
    async with started(job, about) as process:
        return await process.ask(request, result)


class Warm(Generic[A]):
    """A process that is kept: one request at a time, in the order in which they come. Call `close` last.

    It is started for the first request and ended when no more come, so that its memory is given back. A caller who does
    not wait for the answer, an answer that does not come in time, and a process that dies: each costs that process, and
    the next request starts another.
    """

    def __init__(
        self,
        job: Job,
        result: type[A],
        seconds: float,
        wait_seconds: float = WAIT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.seconds = seconds
        """The time that a request may take: callers write it into theirs."""
        self.process: Process | None = None
        self._job, self._result = job, result
        self._wait_seconds, self._idle_seconds = wait_seconds, idle_seconds
        self._turn = asyncio.Lock()
        self._turns_of: dict[str, asyncio.Lock] = {}
        """One lock per caller: one request of theirs waits for the turn, the others for that one."""
        self._idle: asyncio.TimerHandle | None = None
        self._endings: set[asyncio.Task[None]] = set()

    async def ask(self, request: msgspec.Struct, caller: str = "") -> A:
        """Return the result of a request. Callers take turns, however many requests each of them makes.

        SplitError, StoreError: its refusal. ScriptError `busy` (503): ask again.
        """
        async with AsyncExitStack() as turn:
            try:
                async with asyncio.timeout(self._wait_seconds):
                    # First the caller's own lock: of many requests of theirs one at a time stands in the line of all.
                    await turn.enter_async_context(self._turns_of.setdefault(caller, asyncio.Lock()))
                    await turn.enter_async_context(self._turn)
            except TimeoutError:
                busy = f"the process that {self._job.purpose} is busy with earlier requests"
                raise ScriptError("busy", busy, status=503) from None
            if self._idle is not None:
                self._idle.cancel()
            try:
                return await self._result_of(request)
            finally:
                if self.process is not None:
                    self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._end)

    def use(self, seconds: float) -> None:
        """Let a request take so long from now on."""
        self.seconds = seconds

    async def close(self) -> None:
        """End the process, whatever it is doing."""
        self._end()
        await asyncio.gather(*self._endings)

    async def _result_of(self, request: msgspec.Struct) -> A:
        # A process that was started for this request and died of it would do so again.
        warm = self.process is not None
        try:
            async with asyncio.timeout(self.seconds + GRACE_SECONDS):
                if self.process is None or not self.process.alive:
                    self.process = await Process.start(self._job)
                return await self.process.ask(request, self._result)
        except TimeoutError:
            self._end()
            late = f"the process that {self._job.purpose} did not answer in time"
            raise ScriptError("busy", late, status=503) from None
        except ProcessLost as error:
            self._end()
            if warm:  # it may have died meanwhile
                return await self._result_of(request)
            log.warning("%s", error)
            raise ScriptError("busy", str(error), status=503) from None
        except asyncio.CancelledError:
            self._end()
            raise

    def _end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        task = asyncio.create_task(process.ended())
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
