"""A backup in the store's place: checked first, the old store kept, and never half of it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.errors import StoreError, StoreRefused
from equipoise.store.backups import Restorable, Restoring, back_up
from equipoise.store.notes import Audit
from tests.store.damage import wreck
from tests.store.disk import NOBODY, no_file_above, small_disk
from tests.store.samples import Submitted, a_round, opened, record, sql, submit

ENTRY = Audit(5.0, "console", "restore", "store", "", "backup.db")


async def played(path: Path, *numbers: int) -> None:
    """A store with these rounds too."""
    async with opened(path) as store:
        await submit(store, *(Submitted(a_round(number), b"memory") for number in numbers))


def rounds(path: Path) -> list[str]:
    return [id.rpartition("-")[2] for (id,) in sql(path, "SELECT id FROM rounds ORDER BY number")]


def restored(store: Path, backup: Path) -> Restorable:
    restoring = Restoring(store, backup)
    with restoring.prepared() as found:
        restoring.put_in_place(ENTRY)
    return found


def contents(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in directory.iterdir() if each.is_file()}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A closed store `s.db` of rounds 1 to 3, and a `backup.db` beside its directory from after round 2."""
    directory = tmp_path / "state"
    directory.mkdir(mode=0o700)
    asyncio.run(played(directory / "s.db", 1, 2))
    back_up(directory / "s.db", tmp_path / "backup.db")
    asyncio.run(played(directory / "s.db", 3))
    return directory


def test_the_backup_is_the_store_and_what_it_replaces_is_kept(state: Path) -> None:
    found = restored(state / "s.db", state.parent / "backup.db")
    (kept,) = state.glob("s.db.before-restore-*")
    assert (rounds(state / "s.db"), rounds(kept)) == (["1", "2"], ["1", "2", "3"])
    assert (found.rounds, found.lost_rounds, found.replaces) == (2, 1, True)
    assert stat.S_IMODE((state / "s.db").stat().st_mode) == 0o600
    assert rounds(state.parent / "backup.db") == ["1", "2"]
    audit = sql(state / "s.db", "SELECT who, action, after FROM audit")
    assert audit == [("console", "restore", "backup.db")]


def test_what_a_restore_of_the_same_second_has_kept_stays(state: Path) -> None:
    now = time.time()
    taken = [time.strftime("s.db.before-restore-%Y%m%dT%H%M%SZ", time.gmtime(now + seconds)) for seconds in range(120)]
    for name in taken:
        (state / name).touch()
    restored(state / "s.db", state.parent / "backup.db")
    (kept,) = (each for each in state.glob("s.db.before-restore-*") if each.name not in taken)
    assert rounds(kept) == ["1", "2", "3"]


def killed(state: Path) -> None:
    """The store as a daemon leaves it that is killed after round 4: the round is in the write-ahead log alone."""

    async def main() -> dict[str, bytes]:
        async with opened(state / "s.db") as store:
            await record(store, a_round(4))
            return contents(state)

    files = asyncio.run(main())
    for name, data in files.items():
        (state / name).write_bytes(data)


def test_rounds_that_only_the_log_of_a_killed_daemon_has_are_counted_and_kept(state: Path) -> None:
    killed(state)
    found = restored(state / "s.db", state.parent / "backup.db")
    (kept,) = state.glob("s.db.before-restore-*")
    assert (found.lost_rounds, rounds(kept), rounds(state / "s.db")) == (2, ["1", "2", "3", "4"], ["1", "2"])


@pytest.mark.parametrize("was_killed", [False, True])
def test_a_store_that_is_gone_is_replaced_loses_nothing_and_leaves_its_log_aside(state: Path, was_killed: bool) -> None:
    if was_killed:
        killed(state)
    (state / "s.db").unlink()
    found = restored(state / "s.db", state.parent / "backup.db")
    assert (rounds(state / "s.db"), found.lost_rounds, found.replaces) == (["1", "2"], 0, False)
    assert not list(state.glob("s.db-*"))
    assert len(list(state.glob("s.db.before-restore-*-wal"))) == was_killed


def test_a_backup_that_was_copied_with_its_log_has_the_rounds_in_it(state: Path) -> None:
    killed(state)
    copy = state.parent / "copied.db"
    for end in ("", "-wal"):
        copy.with_name(f"copied.db{end}").write_bytes((state / f"s.db{end}").read_bytes())
    before = contents(state.parent)
    assert restored(state / "s.db", copy).rounds == 4
    assert (rounds(state / "s.db"), contents(state.parent)) == (["1", "2", "3", "4"], before)


@pytest.mark.slow
@pytest.mark.parametrize("whole", [0, 24, 100, 4096])
def test_a_damaged_store_is_replaced_with_its_log_and_nobody_can_say_what_is_lost(state: Path, whole: int) -> None:
    killed(state)
    data = (state / "s.db").read_bytes()
    (state / "s.db").write_bytes(data[:whole] + b"\xee" * (len(data) - whole))
    found = restored(state / "s.db", state.parent / "backup.db")
    assert (found.lost_rounds, rounds(state / "s.db")) == (None, ["1", "2"])
    assert {each.name.rpartition("Z")[2] for each in state.glob("s.db.before-restore-*")} == {"", "-wal"}
    assert not list(state.glob("s.db-*"))


def test_rounds_that_wait_in_a_ring_stay(state: Path) -> None:
    (state / "main.ring").write_bytes(b"rounds")
    (state / "other.ring").touch()
    found = restored(state / "s.db", state.parent / "backup.db")
    assert (found.waiting_files, (state / "main.ring").read_bytes()) == (("main.ring",), b"rounds")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_what_root_restores_belongs_to_the_owner_of_the_directory(state: Path) -> None:
    os.chown(state, NOBODY, NOBODY)
    restored(state / "s.db", state.parent / "backup.db")
    assert ((state / "s.db").stat().st_uid, (state / "s.db").stat().st_gid) == (NOBODY, NOBODY)


async def test_beside_a_daemon_nothing_is_restored(tmp_path: Path) -> None:
    await played(tmp_path / "backup.db", 1)
    async with opened(tmp_path / "s.db") as store:
        with pytest.raises(StoreRefused, match="has the store open"):
            restored(tmp_path / "s.db", tmp_path / "backup.db")
        assert not (await record(store, a_round(2))).again
    assert rounds(tmp_path / "s.db") == ["2"]


@pytest.mark.slow
def test_a_store_that_another_program_reads_is_not_replaced(state: Path) -> None:
    killed(state)
    with closing(sqlite3.connect(state / "s.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM rounds").fetchone()
        with pytest.raises(StoreError, match="another program reads it"):
            restored(state / "s.db", state.parent / "backup.db")
    assert rounds(state / "s.db") == ["1", "2", "3", "4"]


def altered(backup: Path, *statements: str) -> None:
    with closing(sqlite3.connect(backup, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def without_a_table(backup: Path) -> None:
    altered(backup, "PRAGMA writable_schema = ON", "DELETE FROM sqlite_master WHERE name = 'names'")


def replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Something else in the backup's place."""

    def replace(backup: Path) -> None:
        backup.unlink()
        make(backup)

    return replace


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        pytest.param(lambda backup: os.truncate(backup, 30_000), "it is damaged", id="truncated"),
        pytest.param(
            lambda backup: os.truncate(backup, backup.stat().st_size - 1), "it is damaged", id="cut in the last page"
        ),
        pytest.param(lambda backup: wreck(backup, "rounds"), "it is damaged", id="damaged"),
        pytest.param(
            replaced(lambda path: altered(path, "CREATE TABLE rounds (number)")),
            "it is not an Equipoise store",
            id="foreign",
        ),
        pytest.param(
            lambda backup: altered(backup, "PRAGMA user_version = 1000"),
            "it was written by a newer Equipoise",
            id="newer",
        ),
        pytest.param(without_a_table, "its table names is missing", id="without a table"),
        pytest.param(lambda backup: os.truncate(backup, 0), "the file is empty", id="emptied"),
        pytest.param(
            lambda backup: backup.write_text("[web]\nport = 27500\n" * 100), "not an Equipoise store", id="no store"
        ),
        pytest.param(replaced(Path.mkdir), "this is no file", id="directory"),
        pytest.param(replaced(os.mkfifo), "this is no file", id="fifo"),
        pytest.param(Path.unlink, "No such file or directory", id="removed"),
    ],
)
def test_a_file_that_is_no_good_backup_changes_nothing(state: Path, spoil: Callable[[Path], object], why: str) -> None:
    backup = state.parent / "backup.db"
    spoil(backup)
    before = contents(state)
    with pytest.raises(StoreRefused, match=rf"backup\.db: .*{why}"):
        restored(state / "s.db", backup)
    assert {name: data for name, data in contents(state).items() if name != "s.db.lock"} == {
        name: data for name, data in before.items() if name != "s.db.lock"
    }


def test_the_store_is_no_backup_of_itself(state: Path) -> None:
    (state.parent / "link.db").symlink_to(state / "s.db")
    with pytest.raises(StoreRefused, match="this is the store itself"):
        restored(state / "s.db", state.parent / "link.db")


def test_a_disk_without_room_changes_nothing(state: Path) -> None:
    with small_disk(state.parent / "disk") as disk:
        asyncio.run(played(disk / "s.db", 7))
        with pytest.raises(StoreRefused, match="its disk is too full: 2 MB are free, 17 MB are needed"):
            restored(disk / "s.db", state.parent / "backup.db")
        assert rounds(disk / "s.db") == ["7"]


def test_a_copy_that_cannot_be_written_changes_nothing(state: Path) -> None:
    with no_file_above(40_000), pytest.raises(StoreError, match=r"it cannot be restored: .*File too large"):
        restored(state / "s.db", state.parent / "backup.db")
    assert {each.name for each in state.iterdir()} == {"s.db", "s.db.lock"}


def _die_at(step: int, store: Path, backup: Path) -> int:
    """Restore in a process that ends, as by kill -9, just before its n-th call that touches a file; its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = step

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in ("open", "os.rename", "os.link", "os.remove", "os.truncate", "sqlite3.connect"):
            left -= 1
            if left < 0:
                os._exit(9)

    sys.addaudithook(count)
    restored(store, backup)
    os._exit(0)


@pytest.mark.slow
@pytest.mark.parametrize("was_killed", [False, True])
def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(state: Path, was_killed: bool) -> None:
    store, old, new = state / "s.db", ["1", "2", "3"], ["1", "2"]
    if was_killed:
        killed(state)
        old = [*old, "4"]
    before, found, step = contents(state), [], 0
    while _die_at(step, store, state.parent / "backup.db"):
        asyncio.run(played(store))  # as a daemon opens it
        found.append(rounds(store))
        for each in state.iterdir():
            each.unlink()
        for name, data in before.items():
            (state / name).write_bytes(data)
        step += 1
    assert found[0] == old
    assert found[-1] == new
    assert all(each in (old, new) for each in found)
