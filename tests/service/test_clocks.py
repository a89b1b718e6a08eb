"""Clocks that were wrong by years and then set right: what a server goes on with, and what its players see."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.model import Mode, Side
from tests.hosts import GivenClock, Rig, player, roster

FOUR = roster([1, 2], [3, 4])
RIGHT = 1_790_000_000.0
TEN_YEARS = 10 * 365.25 * 86400


@pytest.mark.parametrize("wrong", [TEN_YEARS, -TEN_YEARS, 60.0], ids=["ahead", "behind", "by a minute"])
def test_a_lock_holds_no_longer_than_its_minutes_after_a_restart_with_another_clock(
    tmp_path: Path, wrong: float
) -> None:
    async def main() -> None:
        async with Rig(tmp_path, clock=GivenClock(RIGHT + wrong)) as rig:
            await rig.hello(FOUR, Mode.KOTH, e.Phase.RUNNING)
            placed = await rig.post(e.SideWanted(0.0, player(5), Side.A))
            assert [order.seconds for order in placed.orders if isinstance(order, f.Lock)] == [180.0]
        async with Rig(tmp_path, clock=GivenClock(RIGHT), seq=rig.seq) as rig:
            reply = await rig.hello(FOUR, Mode.KOTH, e.Phase.RUNNING)
            locks = [order.seconds for order in reply.orders if isinstance(order, f.Lock)]
            assert locks == ([180.0] if wrong > 0 else [])

    asyncio.run(main())
