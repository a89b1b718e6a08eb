"""The files of the state directory: no other user reads them, and root leaves none that their owner cannot open."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.service.ring import Ring, UnstoredRound
from tests.store.disk import NOBODY
from tests.store.samples import a_round, opened, record


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    """Modes must not depend on it."""
    before = os.umask(0)
    yield
    os.umask(before)


async def _used(directory: Path) -> dict[str, os.stat_result]:
    """What a store and a ring in use have in their directory."""
    async with opened(directory / "s.db") as store:
        await record(store, a_round())
        with closing(Ring(directory / "main.ring")) as ring:
            ring.open()
            ring.push(UnstoredRound(a_round(2), None, 1.0))
            return {name: (directory / name).stat() for name in os.listdir(directory)}


FILES = {"s.db", "s.db-wal", "s.db-shm", "s.db.lock", "main.ring", "main.ring.reserve"}


async def test_no_other_user_can_read_a_file_whatever_the_umask(tmp_path: Path) -> None:
    assert {name: stat.S_IMODE(found.st_mode) for name, found in (await _used(tmp_path)).items()} == dict.fromkeys(
        FILES, 0o600
    )


async def test_files_that_others_could_read_are_closed_to_them_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path / "s.db"):
        open_files = {name: (tmp_path / name).read_bytes() for name in ("s.db", "s.db-wal", "s.db-shm")}
    for name, data in open_files.items():  # as a killed daemon of an older version leaves them
        (tmp_path / name).write_bytes(data)
        (tmp_path / name).chmod(0o644)
    caplog.clear()
    async with opened(tmp_path / "s.db"):
        modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in open_files}
    assert modes == {0o600}
    assert caplog.messages == [
        f"{tmp_path / name}: other users could read it: mode 644 is now 600" for name in open_files
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
async def test_what_root_makes_belongs_to_the_owner_of_the_directory(tmp_path: Path) -> None:
    os.chown(tmp_path, NOBODY, NOBODY)
    found = await _used(tmp_path)
    assert {name: (each.st_uid, each.st_gid) for name, each in found.items()} == dict.fromkeys(FILES, (NOBODY, NOBODY))
