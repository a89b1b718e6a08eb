"""What holds the event loop is named while it holds it, a process that was stopped blames no code, and game servers are
answered before long work."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from itertools import count, pairwise
from pathlib import Path

import pytest

from equipoise.service import event_loop
from equipoise.service.event_loop import AT_ONCE, PATIENCE, Loop, LoopWatch, Precedence
from equipoise.service.metrics import Metrics

LAG = "equipoise_loop_lag_seconds"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "equipoise.service.event_loop"]


def later_than_100_ms(metrics: Metrics) -> float:
    """How often the loop was."""
    sample = metrics.registry.get_sample_value
    return (sample(f"{LAG}_count") or 0.0) - (sample(f"{LAG}_bucket", {"le": "0.1"}) or 0.0)


def watched(doing: Callable[[Metrics], Awaitable[None]], stuck_seconds: float = 60.0) -> Metrics:
    metrics = Metrics()

    async def main() -> None:
        watch = LoopWatch(metrics, stuck_seconds)
        watch.start()
        with closing(watch):
            await doing(metrics)

    asyncio.run(main())
    return metrics


def sleeps_without_await() -> None:
    time.sleep(0.3)


def computes_in_one_call() -> None:
    pow(3, 1_500_000)


async def awaited() -> None:
    sleeps_without_await()


@pytest.mark.parametrize("held", [sleeps_without_await, awaited], ids=lambda held: held.__name__)
def test_the_function_that_held_the_loop_is_in_a_line_and_the_lag_in_the_metric(
    held: Callable[[], Awaitable[None] | None], caplog: pytest.LogCaptureFixture
) -> None:
    async def hold(metrics: Metrics) -> None:
        while not lines(caplog):  # on a busy machine the watching thread may come too late once
            waits = held()
            if waits is not None:
                await waits
            await asyncio.sleep(0.05)

    metrics = watched(hold)
    (line, *_) = lines(caplog)
    assert line.startswith("the event loop was held: ")
    assert f" > {__name__}.{held.__name__}:" in line
    assert caplog.records[0].seconds >= 0.1  # type: ignore[attr-defined]
    assert later_than_100_ms(metrics) >= 1


@pytest.mark.slow
def test_a_call_that_lets_no_other_thread_run_is_said_to_be_one(caplog: pytest.LogCaptureFixture) -> None:
    async def hold(_metrics: Metrics) -> None:
        while not any("by one call that let no other thread run" in line for line in lines(caplog)):
            computes_in_one_call()
            await asyncio.sleep(0.05)

    assert later_than_100_ms(watched(hold)) >= 1


def test_a_loop_that_stays_held_is_named_before_it_is_free(caplog: pytest.LogCaptureFixture) -> None:
    named: list[str] = []

    async def hold(_metrics: Metrics) -> None:
        def until_it_is_named() -> None:
            while not (said := lines(caplog)):
                time.sleep(0.01)
            named.extend(said)

        await asyncio.sleep(0.2)
        until_it_is_named()

    watched(hold, stuck_seconds=0.3)
    (line,) = named
    assert line.startswith("the event loop is held: ")
    assert "until_it_is_named" in line


@pytest.mark.slow
def test_equal_lines_are_written_once(caplog: pytest.LogCaptureFixture) -> None:
    async def hold(metrics: Metrics) -> None:
        while later_than_100_ms(metrics) < 3:
            sleeps_without_await()
            await asyncio.sleep(0.05)

    watched(hold)
    first, *rest = lines(caplog)
    assert "was held" in first
    assert [line for line in rest if not line.endswith(", again")] == []


@pytest.mark.slow
def test_a_loop_that_is_free_is_measured_and_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async def rest(metrics: Metrics) -> None:
        for _ in range(1000):
            await asyncio.sleep(0.001)
        assert metrics.registry.get_sample_value(f"{LAG}_count")

    watched(rest)
    assert lines(caplog) == []


def test_the_thread_ends_with_the_watch() -> None:
    async def rest(_metrics: Metrics) -> None:
        assert "loop watch" in {thread.name for thread in threading.enumerate()}

    watched(rest)
    assert "loop watch" not in {thread.name for thread in threading.enumerate()}


class HeldUp(threading.Event):
    """An event whose thread has no turn while it clears it, until another one has set it."""

    def __init__(self) -> None:
        super().__init__()
        self.clearing = threading.Event()

    def clear(self) -> None:
        self.clearing.set()
        self.wait()
        super().clear()


ENDED_EARLY = f"""
import asyncio, faulthandler
from equipoise.service.event_loop import LoopWatch
from equipoise.service.metrics import Metrics
from {__name__} import HeldUp

async def main():
    watch = LoopWatch(Metrics())
    watch._answered = answered = HeldUp()
    watch.start()
    await asyncio.to_thread(answered.clearing.wait)
    watch.close()

faulthandler.dump_traceback_later(30, exit=True)
asyncio.run(main())
"""


@pytest.mark.slow
def test_a_watch_that_is_ended_just_before_it_asks_ends() -> None:
    assert subprocess.run([sys.executable, "-c", ENDED_EARLY], check=False).returncode == 0


STOPPED = """
import asyncio, logging, sys
from equipoise.service.event_loop import LoopWatch
from equipoise.service.metrics import Metrics

async def main():
    metrics = Metrics()
    watch = LoopWatch(metrics)
    watch.start()
    print("ready", flush=True)
    sample = metrics.registry.get_sample_value
    while sample("equipoise_not_run_seconds_total") < 2:
        await asyncio.sleep(0.01)
    count = sample("equipoise_loop_lag_seconds_count")
    while sample("equipoise_loop_lag_seconds_count") < count + 3:
        await asyncio.sleep(0.01)
    watch.close()
    print(sample("equipoise_loop_lag_seconds_sum"), flush=True)

logging.basicConfig(stream=sys.stdout, format="%(message)s")
asyncio.run(main())
"""


@pytest.mark.slow
def test_a_process_that_was_stopped_has_no_lag_and_blames_no_code() -> None:
    process = subprocess.Popen([sys.executable, "-c", STOPPED], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGSTOP)
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        time.sleep(2.5)
        os.kill(process.pid, signal.SIGCONT)
        said = process.stdout.read().splitlines()
    assert len(said) == 1, said
    assert float(said[0]) < 2.0, "the sum of all lags"


# Precedence: long work goes on between the answers.


def busy(seconds: float) -> None:
    """Use the processor, as a page does."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


async def drawn(first: Precedence, parts: int = 20) -> float:
    """Do long work in parts that are each worth a turn; the time of its end."""
    for _ in range(parts):
        await first.give_way()
        busy(AT_ONCE)
    return time.perf_counter()


def test_long_work_begins_no_part_while_a_game_server_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "PATIENCE", 30.0)

    async def evening() -> None:
        first = Precedence()
        pages = [asyncio.create_task(drawn(first)) for _ in range(3)]
        await asyncio.sleep(0.01)
        with first.answering(), first.answering():
            for _ in range(100):  # a part that has begun is ended
                await asyncio.sleep(0)
            before = time.process_time()
            await asyncio.sleep(0.1)
            assert time.process_time() - before < 0.02
            assert not any(page.done() for page in pages)
            answered = time.perf_counter()
        assert min(await asyncio.gather(*pages)) > answered

    asyncio.run(evening())


def test_an_answer_that_takes_long_itself_does_not_stop_long_work() -> None:
    async def evening() -> float:
        first, began = Precedence(), time.perf_counter()
        with first.answering():
            return await drawn(first) - began

    assert PATIENCE < asyncio.run(evening()) < 5.0


@pytest.mark.parametrize("works", [1, 20])
def test_others_have_a_turn_after_each_part_however_many_work(works: int) -> None:
    async def longest() -> float:
        first = Precedence()
        pages = [asyncio.create_task(drawn(first)) for _ in range(works)]
        turns = [time.process_time()]
        while not all(page.done() for page in pages):
            await asyncio.sleep(0)
            turns.append(time.process_time())
        held = sorted(later - sooner for sooner, later in pairwise(turns))
        return held[len(held) * 9 // 10]

    assert asyncio.run(longest()) < 4 * AT_ONCE


def test_one_at_a_time_has_a_turn_for_what_is_long_in_another_thread() -> None:
    async def most() -> int:
        first, inside = Precedence(), [0]

        async def read(work: Callable[[], Awaitable[None]]) -> int:
            async with first.turn():
                inside[0] += 1
                await work()
                inside[0] -= 1
                return inside[0]

        return max(await asyncio.gather(*(read(lambda: asyncio.sleep(0.001)) for _ in range(10))))

    assert asyncio.run(most()) == 0


def test_names_that_a_silent_resolver_does_not_find_hold_up_neither_other_work_nor_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered = threading.Event()

    def silent(*_: object, **_hints: object) -> None:
        answered.wait(120)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", silent)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        names = [asyncio.create_task(loop.getaddrinfo(f"{number}.example.org", 5432)) for number in range(40)]
        assert await asyncio.wait_for(asyncio.to_thread(os.getpid), 60) == os.getpid()
        assert not any(name.done() for name in names)

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main())
    assert not answered.is_set()
    answered.set()


def test_the_answer_to_who_no_longer_waited_for_it_is_for_who_asks_next(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, asked = threading.Event(), count(1)

    def slow(*_: object, **_hints: object) -> int:
        number = next(asked)
        answered.wait(120)
        return number

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(loop.getaddrinfo("db.example.org", 5432), 0.05)
        answered.set()
        assert [await loop.getaddrinfo("db.example.org", 5432) for _ in range(2)] == [1, 2]

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main())


def test_what_can_be_no_name_is_a_name_that_is_not_known() -> None:
    async def main() -> None:
        with pytest.raises(socket.gaierror) as caught:
            await asyncio.get_running_loop().getaddrinfo("db..example.org", 5432)
        assert caught.value.errno == socket.EAI_NONAME

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main())
