"""The worker process as the daemon sees it: one question at a time, in the order in which they come.

It is started for the first question and ended when no more come, so that its memory is given back. A caller who does
not wait for the answer, an answer that does not come in time, and a process that dies: each costs that process, and the
next question starts another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import AsyncExitStack, suppress

import msgspec

from equipoise.errors import ScriptError, SplitError
from equipoise.solver import Assignment
from equipoise.solving.question import LENGTH_BYTES, Answer, Request, SplitQuestion, framed, length_of

COMMAND = (sys.executable, "-P", "-m", "equipoise.solving")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""numpy would start one for each processor, and each maps memory that the process may not have."""
WAIT_SECONDS = 5.0
"""The time for the questions of others that came before."""
IDLE_SECONDS = 60.0
GRACE_SECONDS = 3.0
"""Beyond a question's time, for the start of the process and for answers in their first form."""

log = logging.getLogger(__name__)


class Worker:
    """Call `close` last; `solve` may be called by any task at any time."""

    def __init__(self, seconds: float, wait_seconds: float = WAIT_SECONDS, idle_seconds: float = IDLE_SECONDS) -> None:
        self.seconds = seconds
        self.process: Process | None = None
        self._wait_seconds, self._idle_seconds = wait_seconds, idle_seconds
        self._turn = asyncio.Lock()
        self._turns_of: dict[str, asyncio.Lock] = {}
        """One lock per caller: one question of theirs waits for the turn, the others for that one."""
        self._idle: asyncio.TimerHandle | None = None
        self._ended: set[asyncio.Task[int]] = set()

    async def solve(self, question: SplitQuestion, caller: str = "") -> tuple[Assignment, ...]:
        """Return the splits, smallest size first. Callers take turns, however many questions each of them asks.

        SplitError: there are none. ScriptError `busy` (503): ask again.
        """
        async with AsyncExitStack() as turn:
            try:
                async with asyncio.timeout(self._wait_seconds):
                    await turn.enter_async_context(self._turns_of.setdefault(caller, asyncio.Lock()))
                    await turn.enter_async_context(self._turn)
            except TimeoutError:
                raise ScriptError("busy", "the splits of others are in work", status=503) from None
            answer = await self._answer(question)
        if answer.refusal is not None:
            raise SplitError(answer.refusal)
        return answer.splits

    def use(self, seconds: float) -> None:
        """Let a question take so long from now on."""
        self.seconds = seconds

    async def close(self) -> None:
        """End the process, whatever it is doing."""
        self._end()
        await asyncio.gather(*self._ended)

    async def _answer(self, question: SplitQuestion) -> Answer:
        if self._idle is not None:
            self._idle.cancel()
        idle = self.process is not None
        try:
            async with asyncio.timeout(self.seconds + GRACE_SECONDS):
                answer = await self._asked(await self._running(), question)
        except TimeoutError:
            self._end()
            raise ScriptError("busy", "the split was not solved in time", status=503) from None
        except (ConnectionError, EOFError, msgspec.MsgspecError):
            self._end()
            if idle:  # it may have died meanwhile
                return await self._answer(question)
            raise ScriptError("busy", "the process that solves splits has died", status=503) from None
        except asyncio.CancelledError:
            self._end()
            raise
        self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._end)
        return answer

    async def _running(self) -> Process:
        if self.process is None or self.process.returncode is not None:
            # A session of its own: Ctrl-C at a terminal is for the daemon, which ends it.
            try:
                self.process = await asyncio.create_subprocess_exec(
                    *COMMAND, stdin=PIPE, stdout=PIPE, start_new_session=True, env=os.environ | ONE_THREAD
                )
            except OSError as error:  # no memory, too many processes or open files
                log.warning("no process can be started that solves splits: %s", error.strerror)
                raise ScriptError("busy", f"no process can be started: {error.strerror}", status=503) from None
        return self.process

    async def _asked(self, process: Process, question: SplitQuestion) -> Answer:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(framed(Request(question, self.seconds)))
        await process.stdin.drain()
        size = length_of(await process.stdout.readexactly(LENGTH_BYTES))
        return msgspec.msgpack.decode(await process.stdout.readexactly(size), type=Answer)

    def _end(self) -> None:
        """Kill the process: it holds nothing that is worth an orderly end."""
        if self._idle is not None:
            self._idle.cancel()
        process, self.process = self.process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        task = asyncio.create_task(process.wait())
        self._ended.add(task)
        task.add_done_callback(self._ended.discard)
