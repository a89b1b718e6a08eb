"""A copy of the store: of one moment, whole or not there at all, while rounds go on being stored."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from equipoise.errors import StoreError, StoreRefused
from equipoise.store import backups
from equipoise.store.backups import MARGIN_BYTES, BackupRequest, back_up
from equipoise.store.notes import Decision
from equipoise.workers import framed
from equipoise.workers.process import COMMAND
from tests.chaos.power import RECORDER, ROOT, read
from tests.chaos.tracer import calls
from tests.store.damage import wreck
from tests.store.disk import NOBODY, no_file_above, small_disk
from tests.store.samples import SERVER, Submitted, a_round, opened, record, sql, submit

TABLES = ("rounds", "participants", "players", "sessions")


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    return sql(path, f"SELECT * FROM {table} ORDER BY 1, 2, 3")


def files(directory: Path, pattern: str) -> set[str]:
    return {each.name for each in directory.glob(pattern)}


async def stored(path: Path, count: int = 1, first: int = 1) -> None:
    """Close a store with these rounds in it."""
    async with opened(path) as store:
        await submit(store, *(Submitted(a_round(number), b"memory") for number in range(first, first + count)))


@pytest.mark.slow
async def test_a_backup_made_while_rounds_are_stored_is_the_store_of_one_moment(tmp_path: Path) -> None:
    states: dict[int, list[list[tuple[object, ...]]]] = {}
    async with opened(tmp_path / "s.db") as store:

        async def play() -> None:
            number = 0
            while True:
                number += 1
                await record(store, a_round(number), memory=b"%d" % number, at=float(number))
                states[number] = [rows(tmp_path / "s.db", table) for table in TABLES]
                await asyncio.sleep(0.01)

        playing = asyncio.create_task(play())
        made = await store.back_up(tmp_path / "copy.db")
        seen = len(states)
        playing.cancel()
    assert 0 < made.rounds <= seen + 1
    assert [rows(tmp_path / "copy.db", table) for table in TABLES] == states[made.rounds]


async def test_a_backup_is_a_store_that_goes_on(tmp_path: Path) -> None:
    await stored(tmp_path / "s.db", 3)
    made = back_up(tmp_path / "s.db", tmp_path / "copy.db")
    async with opened(tmp_path / "copy.db") as copy:
        again, new = await record(copy, a_round(3)), await record(copy, a_round(4))
    assert (made.rounds, again.again, new.again) == (3, True, False)
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


async def test_a_daemon_that_was_killed_left_rounds_in_the_log_and_the_backup_has_them(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await record(store, a_round())
        for name in ("s.db", "s.db-wal"):
            (tmp_path / f"killed-{name}").write_bytes((tmp_path / name).read_bytes())
    for name in ("s.db", "s.db-wal"):
        (tmp_path / f"killed-{name}").rename(tmp_path / name)
    before = (tmp_path / "s.db").read_bytes(), (tmp_path / "s.db-wal").read_bytes()
    assert back_up(tmp_path / "s.db", tmp_path / "copy.db").rounds == 1
    assert before == ((tmp_path / "s.db").read_bytes(), (tmp_path / "s.db-wal").read_bytes())
    async with opened(tmp_path / "s.db") as store:
        assert (await record(store, a_round())).again


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
async def test_what_root_makes_belongs_to_the_owner_of_the_directory(tmp_path: Path) -> None:
    os.chown(tmp_path, NOBODY, NOBODY)
    await stored(tmp_path / "s.db")
    back_up(tmp_path / "s.db", tmp_path / "copy.db")
    found = [(tmp_path / name).stat() for name in files(tmp_path, "*")]
    assert {(each.st_uid, each.st_gid) for each in found} == {(NOBODY, NOBODY)}


async def test_a_disk_that_a_copy_would_fill_gets_none(tmp_path: Path) -> None:
    await stored(tmp_path / "s.db")
    with small_disk(tmp_path / "disk") as disk:
        with pytest.raises(StoreError, match=r"its disk is too full for a backup: \d+ MB are free, \d+ MB are needed"):
            back_up(tmp_path / "s.db", disk / "copy.db")
        assert MARGIN_BYTES > 2 << 20
        assert list(disk.iterdir()) == []


async def test_half_a_copy_does_not_stay(tmp_path: Path) -> None:
    await stored(tmp_path / "s.db", 20)
    with no_file_above(40_000), pytest.raises(StoreError, match=r"copy\.db: no backup was made: disk I/O error"):
        back_up(tmp_path / "s.db", tmp_path / "copy.db")
    assert files(tmp_path, "copy*") == set()


@pytest.mark.skipif(not calls(), reason="no table of this processor's system calls")
@pytest.mark.slow
def test_a_copy_is_synced_piece_by_piece_so_that_no_round_waits_on_a_slow_disk_for_all_of_it(
    tmp_path: Path,
) -> None:
    asyncio.run(stored(tmp_path / "s.db"))
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        evening = ((number, "x" * 900) for number in range(6_000))
        database.executemany("INSERT INTO decisions VALUES (?, 'server', 0.0, 'scramble', 'stale', NULL, ?)", evening)
    folder = tmp_path / "copies"
    folder.mkdir()
    recorded = [*RECORDER, "--folder", str(folder), "--log", str(tmp_path / "log"), "--", *COMMAND, "backup"]
    request = framed(BackupRequest(str(tmp_path / "s.db"), str(folder / "copy.db")))
    subprocess.run(recorded, input=request, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
    unsynced = 0
    sizes = []
    for change in read(tmp_path / "log.record"):
        unsynced = 0 if change.call == "sync" else unsynced + len(change.data)
        sizes.append(unsynced)
    assert max(sizes) < 3 << 20 < 6 << 20 < (folder / "copy.db").stat().st_size


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (Path.unlink, r"s\.db: No such file or directory: there is no store"),
        (lambda path: wreck(path, "participants"), r"s\.db: it is damaged"),
        (lambda path: path.with_name("copy.db").write_text("mine"), "it exists: name another file"),
    ],
    ids=["missing", "damaged", "the copy exists"],
)
async def test_a_backup_that_cannot_be_made_is_refused_and_changes_no_file(
    tmp_path: Path, spoil: Callable[[Path], object], why: str
) -> None:
    def contents() -> dict[str, bytes]:
        return {each: (tmp_path / each).read_bytes() for each in files(tmp_path, "*") - {"s.db-wal", "s.db-shm"}}

    await stored(tmp_path / "s.db", 40)
    spoil(tmp_path / "s.db")
    before = contents()
    with pytest.raises((StoreError, StoreRefused), match=why):
        back_up(tmp_path / "s.db", tmp_path / "copy.db")
    assert contents() == before


async def test_damage_that_no_page_shows_is_found_in_the_copy(tmp_path: Path) -> None:
    """An index with more rows than its table: `quick_check` does not see it."""
    path = tmp_path / "s.db"
    await stored(path)
    async with opened(path) as store:
        store.note([Decision(SERVER, float(number), "vote", "lost") for number in range(9)])
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema = ON")
        (sql,) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'decisions_by_time'").fetchone()
        hide = "UPDATE sqlite_master SET sql = ? WHERE name = 'decisions_by_time'"
        database.execute(hide, (f"{sql} WHERE at < 0",))
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DELETE FROM decisions WHERE number > 4")
        database.execute("PRAGMA writable_schema = ON")
        database.execute(hide, (sql,))
    with pytest.raises(StoreRefused, match=r"s\.db: it is damaged: wrong # of entries in index decisions_by_time"):
        back_up(path, tmp_path / "copy.db")
    assert files(tmp_path, "copy*") == set()


def _written(part: Path) -> bool:
    """It is there, and its process has held it since before it wrote into it."""
    with suppress(FileNotFoundError):
        return part.stat().st_size > 0
    return False


@contextmanager
def stopped_midway(store: Path, target: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands still in the middle of a copy; one that was done before it stood still is tried again."""
    part = target.with_name(f"{target.name}{backups.PART}")
    while True:
        process = subprocess.Popen([*COMMAND, "backup"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        with process.stdin as requests:
            requests.write(framed(BackupRequest(str(store), str(target))))
        try:
            while not _written(part) and process.poll() is None:
                time.sleep(0.001)  # it needs the processor, too
            process.send_signal(signal.SIGSTOP)
            stopped = process.returncode is None and os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
            if stopped and part.exists():
                yield process
                return
        finally:
            process.kill()
            process.wait()
        target.unlink()


@pytest.mark.slow
async def test_what_a_killed_process_left_is_removed_by_the_next_backup_and_that_of_another_is_not(
    tmp_path: Path,
) -> None:
    await stored(tmp_path / "s.db", 800)
    with stopped_midway(tmp_path / "s.db", tmp_path / "killed.db"):
        pass
    assert files(tmp_path, "*-part") == {"killed.db.equipoise-part"}
    (tmp_path / "killed.db.equipoise-part-journal").touch()  # SQLite has one at most moments
    with stopped_midway(tmp_path / "s.db", tmp_path / "other.db") as other:
        back_up(tmp_path / "s.db", tmp_path / "copy.db")
        assert files(tmp_path, "*-part*") - files(tmp_path, "*-journal") == {"other.db.equipoise-part"}
        other.send_signal(signal.SIGCONT)
        assert other.wait(60) == 0
    assert files(tmp_path, "*.db*") - files(tmp_path, "s.db*") == {"other.db", "copy.db"}


async def test_unfinished_files_of_other_programs_in_the_same_folder_stay(tmp_path: Path) -> None:
    await stored(tmp_path / "s.db", 1)
    (tmp_path / "debian.iso.part").write_text("a download")
    back_up(tmp_path / "s.db", tmp_path / "copy.db")
    assert files(tmp_path, "*.part") == {"debian.iso.part"}


@pytest.mark.slow
async def test_a_backup_that_is_cancelled_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await submit(store, *(Submitted(a_round(number)) for number in range(1_000)))
        cancelled = False
        while not cancelled:  # a process that was done sooner is tried again
            making = asyncio.create_task(store.back_up(tmp_path / "copy.db"))
            while not ((tmp_path / f"copy.db{backups.PART}").exists() or making.done()):  # noqa: ASYNC110 (another process makes it)
                await asyncio.sleep(0)
            making.cancel()
            with suppress(asyncio.CancelledError):
                await making
            if not (cancelled := making.cancelled()):
                (tmp_path / "copy.db").unlink()
        assert files(tmp_path, "copy*") == set()
