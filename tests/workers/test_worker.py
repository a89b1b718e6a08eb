"""The process that solves splits for other programs: kept while it is used, killed when it is not, never in the way."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.model import Side
from equipoise.errors import ScriptError, SplitError
from equipoise.workers import Job, framed
from equipoise.workers.process import COMMAND, Warm
from equipoise.workers.solving import SolvedSplits, SplitQuestion, SplitRequest
from tests.store.samples import until

SMALL = SplitQuestion(values=(1830, 1210, 1450, 990, 1120, 1700))


def endless() -> SplitQuestion:
    """More combinations than an hour suffices for."""
    rng = random.Random(5)
    return SplitQuestion(
        values=tuple(rng.gauss(1500, 400) for _ in range(128)),
        groups=tuple((2 * i, 2 * i + 1) for i in range(30)),
        bench_cost=tuple(rng.randint(0, 1000) for _ in range(128)),
        current=tuple(rng.choice((Side.A, Side.B)) for _ in range(128)),
        tolerances=dict.fromkeys(range(2, 65), inf),
    )


@asynccontextmanager
async def working(seconds: float = 60.0, **options: float) -> AsyncIterator[Warm[SolvedSplits]]:
    worker = Warm(Job.SPLITS, SolvedSplits, seconds, **options)
    try:
        yield worker
    finally:
        await worker.close()


async def solve(worker: Warm[SolvedSplits], question: SplitQuestion, caller: str = "") -> SolvedSplits:
    return await worker.ask(SplitRequest(question, worker.seconds), caller)


def run(doing: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(doing, timeout=120))


def pid(worker: Warm[SolvedSplits]) -> int:
    assert worker.process is not None
    return worker.process.pid


def alive(pid: int) -> bool:
    """There is such a process, and it is not one that has ended and only waits to be looked at."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second when it goes while its file is read
        return False


async def gone(pid: int) -> None:
    await until(lambda: not alive(pid))


async def busy(worker: Warm[SolvedSplits]) -> asyncio.Task[Any]:
    """A caller whose question is in work."""
    task = asyncio.create_task(solve(worker, endless()))
    await until(lambda: worker.process is not None)
    return task


def test_a_process_that_cannot_be_started_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with working() as worker:
            monkeypatch.setattr("equipoise.workers.process.COMMAND", ("/nonexistent",))
            with pytest.raises(ScriptError, match="No such file") as refused:
                await solve(worker, SMALL)
            assert (refused.value.code, refused.value.status) == ("busy", 503)
            monkeypatch.undo()
            assert await solve(worker, SMALL)

    run(story())


def test_one_process_answers_one_question_after_another() -> None:
    async def story() -> None:
        async with working() as worker:
            found = await solve(worker, SMALL)
            first = pid(worker)
            (again,) = await solve(worker, SplitQuestion(values=SMALL.values, size=3, groups=((0, 1),)))

            assert [split.sizes for split in found] == [(2, 2), (3, 3)]
            assert all(split.optimal for split in found)
            assert {0, 1} <= set(again.a) or {0, 1} <= set(again.b)
            assert pid(worker) == first

    run(story())


def test_what_cannot_be_split_is_refused_with_the_reason() -> None:
    async def story() -> None:
        async with working() as worker:
            with pytest.raises(SplitError, match="3 players cannot play 2 against as many"):
                await solve(worker, SplitQuestion(values=(1, 2, 3)))
            assert await solve(worker, SMALL)

    run(story())


def test_a_question_that_takes_too_long_is_answered_with_what_was_found_in_time() -> None:
    async def story() -> None:
        async with working(seconds=0.3) as worker:
            found = await solve(worker, endless())

            assert [split.sizes[0] for split in found] == list(range(2, 65))
            assert not found[-1].optimal

    run(story())


def test_a_caller_who_goes_ends_the_process_and_the_next_one_starts_another() -> None:
    async def story() -> None:
        async with working() as worker:
            caller = await busy(worker)
            first = pid(worker)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            await gone(first)

            assert await solve(worker, SMALL)
            assert pid(worker) != first

    run(story())


def test_a_process_that_was_killed_while_idle_is_replaced_unnoticed() -> None:
    async def story() -> None:
        async with working() as worker:
            await solve(worker, SMALL)
            os.kill(pid(worker), signal.SIGKILL)

            assert await solve(worker, SMALL)

    run(story())


def test_a_process_that_dies_at_work_costs_its_caller_one_more_try() -> None:
    async def story() -> None:
        async with working() as worker:
            caller = await busy(worker)
            os.kill(pid(worker), signal.SIGKILL)
            with pytest.raises(ScriptError) as refused:
                await caller

            assert (refused.value.code, refused.value.status) == ("busy", 503)
            assert await solve(worker, SMALL)

    run(story())


def test_who_waits_longer_than_is_promised_is_told_to_ask_again() -> None:
    async def story() -> None:
        async with working(wait_seconds=0.05) as worker:
            caller = await busy(worker)
            with pytest.raises(ScriptError, match="the process that solves splits is busy with earlier requests"):
                await solve(worker, SMALL)
            caller.cancel()

    run(story())


def test_callers_are_answered_in_the_order_in_which_they_came() -> None:
    async def story() -> None:
        async with working() as worker:
            order = list[int]()

            async def ask(number: int) -> None:
                await solve(worker, SMALL)
                order.append(number)

            await asyncio.gather(*(ask(number) for number in range(6)))
            assert order == list(range(6))

    run(story())


def test_an_idle_process_gives_its_memory_back() -> None:
    async def story() -> None:
        async with working(idle_seconds=0.05) as worker:
            await solve(worker, SMALL)
            first = pid(worker)
            await gone(first)

            assert worker.process is None
            assert await solve(worker, SMALL)

    run(story())


def test_closing_does_not_wait_for_a_question_in_work() -> None:
    async def story() -> None:
        async with working() as worker:
            caller = await busy(worker)
            first = pid(worker)
            await worker.close()

            assert not alive(first)
            with pytest.raises(ScriptError):
                await caller

    run(story())


DAEMON = """
import os, subprocess, sys
from pathlib import Path
worker = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
worker.stdin.write(Path(sys.argv[1]).read_bytes())
worker.stdin.flush()
print(worker.pid, flush=True)
worker.wait()
"""


@pytest.mark.parametrize("question", [b"", framed(SplitRequest(endless(), 3600.0))], ids=["idle", "at work"])
def test_a_daemon_that_is_killed_leaves_no_process_behind(question: bytes, tmp_path: Path) -> None:
    (tmp_path / "question").write_bytes(question)
    command = [sys.executable, "-c", DAEMON, str(tmp_path / "question"), *COMMAND, "splits"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        worker = int(daemon.stdout.readline())
        assert alive(worker)
        daemon.kill()

    run(gone(worker))


def test_the_process_may_not_have_more_memory_than_the_unit_leaves_it() -> None:
    async def story() -> None:
        async with working() as worker:
            await solve(worker, SMALL)
            assert resource.prlimit(pid(worker), resource.RLIMIT_AS) == (400 << 20, 400 << 20)

    run(story())


def test_the_process_loads_nothing_of_the_web_and_no_numbers() -> None:
    code = "import sys, equipoise.workers.solving\nprint(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {"aiohttp", "numpy", "numba", "asyncio", "sqlite3"} & set(loaded)


def test_a_caller_who_asks_many_questions_keeps_no_other_waiting() -> None:
    async def story() -> None:
        answered: list[str] = []

        async def ask(caller: str) -> None:
            await solve(worker, SMALL, caller)
            answered.append(caller)

        async with working() as worker:
            many = [asyncio.create_task(ask("script:many")) for _ in range(20)]
            await asyncio.sleep(0)
            await asyncio.gather(*many, ask("script:one"))
            assert answered.index("script:one") <= 2

    run(story())
