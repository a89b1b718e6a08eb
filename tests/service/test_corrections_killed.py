"""A replay survives kill -9 as a whole, or not at all."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.opened_pool import opened
from tests.service.test_corrections import RATED, InThisProcess, a_strike, numbers, played

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

DYING = """
import asyncio, os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from tests.opened_pool import opened
from tests.service.test_corrections import InThisProcess, RATED, RECORDS, a_strike, played

class Dying(InThisProcess):
    armed = False

    @contextmanager
    def _transaction(self, db):
        with super()._transaction(db):
            yield
            if self.armed:
                os.kill(os.getpid(), signal.SIGKILL)

async def play():
    async with opened(Path(sys.argv[1]), kind=Dying) as pool:
        await played(pool)
        print("played", flush=True)
        pool.store.armed = True
        await pool.void(a_strike(RATED[3]), "owner", "")

asyncio.run(play())
"""


def test_a_daemon_killed_before_its_commit_has_the_old_ratings(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DYING, str(tmp_path)]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, "played\n"), died.stderr
    assert [each.name for each in tmp_path.glob("*outcome*")] == ["s.db.outcome-main"]

    async def gone_on() -> list[list[list[tuple[object, ...]]]]:
        (tmp_path / "other").mkdir()
        async with (
            opened(tmp_path / "other", kind=InThisProcess) as other,
            opened(tmp_path, kind=InThisProcess) as pool,
        ):
            await played(other)
            assert not any("outcome" in name for name in os.listdir(tmp_path))
            found = [numbers(each) for each in (tmp_path, tmp_path / "other")]
            for each in (pool, other):
                await each.void(a_strike(RATED[3]), "owner", "")
            return [*found, *(numbers(each) for each in (tmp_path, tmp_path / "other"))]

    killed, whole, killed_then_void, whole_then_void = asyncio.run(gone_on())
    assert killed == whole
    assert killed_then_void == whole_then_void != whole
