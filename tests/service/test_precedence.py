"""Precedence: game servers are answered first, and long work beside them goes on between the answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from equipoise.service import event_loop
from equipoise.service.event_loop import AT_ONCE, PATIENCE, Precedence


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
