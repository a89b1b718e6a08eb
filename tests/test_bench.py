"""What benches say of memory and of calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bench.filled_store import Past, fill, player
from bench.measuring import run_module
from tests.opened_pool import opened
from tests.store.samples import a_round

LARGE = 300
"""MB, far above what a small process needs."""


@pytest.mark.slow
def test_the_peak_of_a_process_is_its_own_and_not_that_of_the_one_that_started_it():
    held = bytearray(LARGE * 1024 * 1024)
    held[::4096] = b"1" * len(held[::4096])
    _, peak = run_module("timeit", ["-n", "1", "-r", "1", "pass"])
    assert 1 < peak < LARGE
    del held
    _, peak = run_module("timeit", ["-n", "1", "-r", "1", f"held = b'1' * {LARGE * 1024 * 1024}"])
    assert LARGE < peak < 2 * LARGE


def test_a_pool_goes_on_from_a_filled_store(tmp_path: Path):
    async def gone_on() -> tuple[int, int]:
        await fill(tmp_path / "s.db", Past(players=30, rounds=60, decisions=50, size=6))
        async with opened(tmp_path) as pool:
            (before,) = await pool.summaries([player(0)])
            assert (await pool.record(a_round(1, a=(1, 2), b=(3, 4)), None)).status == "stored"
            (after,) = await pool.summaries([player(0)])
            assert len(await pool.store.decisions(None, 100)) == 50
            return before.rounds, after.rounds

    before, after = asyncio.run(gone_on())
    assert before > 1
    assert after == before + 1
