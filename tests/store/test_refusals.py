"""Stores that cannot be used, are not there or not whole: one line says what to do, and the files stay as they were."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.errors import StoreMissing, StoreRefused
from equipoise.store.connection import open_database
from equipoise.store.store import Store
from tests.store.disk import without_root
from tests.store.samples import a_round, opened, record, sql


async def _refusal(path: Path) -> str:
    store = Store(path)
    with pytest.raises(StoreRefused) as refused:
        await store.open()
    await store.close()
    text = str(refused.value)
    assert "\n" not in text
    return text


def _refusal_without_root(path: Path) -> str:
    with without_root():
        return asyncio.run(_refusal(path))


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory that every user can reach and write: pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o777)
        yield directory


def newer(path: Path) -> None:
    with closing(open_database(path)) as database:
        database.execute("PRAGMA user_version = 99")


def foreign(path: Path) -> None:
    sql(path, "CREATE TABLE players (id)")


def damaged(path: Path) -> None:
    open_database(path).close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xee" * 4000)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (newer, "newer Equipoise (schema 99"),
        (foreign, "not an Equipoise store"),
        (lambda path: path.write_bytes(b"a photograph of a cat" * 100), "not an Equipoise store"),
        (damaged, "damaged: restore a backup"),
        (Path.mkdir, "cannot be opened"),
    ],
    ids=["newer", "of another program", "no database", "damaged", "a directory"],
)
async def test_what_is_no_store_of_ours_is_refused_and_left_as_it_was(
    tmp_path: Path, made: Callable[[Path], object], why: str
) -> None:
    path = tmp_path / "s.db"
    made(path)
    before = path.read_bytes() if path.is_file() else None

    assert why in await _refusal(path)
    assert (path.read_bytes() if path.is_file() else None) == before


async def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    assert f"{tmp_path / 'missing'}: No such file or directory" in await _refusal(tmp_path / "missing" / "s.db")


def test_a_read_only_directory_is_refused(everybodys: Path) -> None:
    everybodys.chmod(0o555)
    refusal = _refusal_without_root(everybodys / "s.db")

    assert refusal.startswith(f"{everybodys}: Permission denied")
    assert "this user can write" in refusal


def test_a_read_only_file_is_refused(everybodys: Path) -> None:
    path = everybodys / "s.db"
    open_database(path).close()
    path.chmod(0o444)
    refusal = _refusal_without_root(path)

    assert refusal.startswith(f"{path}: it cannot be written: give this user write access")


HOLDER = """
import asyncio, sys
from pathlib import Path
from equipoise.store.store import Store

async def hold():
    await Store(Path(sys.argv[1])).open()
    print("open", flush=True)
    sys.stdin.read()

asyncio.run(hold())
"""


@pytest.mark.slow
def test_a_store_that_another_process_has_open_is_refused_until_that_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"open\n"
        refusal = asyncio.run(_refusal(path))
        holder.kill()

    assert f"process {holder.pid} has the store open" in refusal
    open_database(path).close()


# A store that is not there, or not whole.


def contents(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in directory.iterdir() if not each.name.endswith(".lock")}


def refusal(path: Path) -> str:
    """Of a caller who wants the store that is there, and no new one; all files stay as they were."""
    before = contents(path.parent)
    with pytest.raises(StoreMissing if not path.exists() else StoreRefused) as refused:
        asyncio.run(Store(path, create=False).open())
    assert contents(path.parent) == before
    return str(refused.value)


def crashed(directory: Path) -> Path:
    """The files of a daemon that was killed after it stored a round: the round is in the log alone."""
    directory.mkdir(exist_ok=True)

    async def copied() -> None:
        async with opened(directory / "live.db") as store:
            await record(store, a_round())
            for each in contents(directory):
                shutil.copy(directory / each, directory / each.replace("live", "s"))

    asyncio.run(copied())
    for name in contents(directory):
        if name.startswith("live"):
            (directory / name).unlink()
    return directory / "s.db"


def test_no_file_is_made_where_there_is_no_store(tmp_path: Path) -> None:
    assert refusal(tmp_path / "s.db") == f"{tmp_path / 's.db'}: No such file or directory: there is no store"
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_tables_is_no_store(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "s.db")) as database:
        database.execute("PRAGMA user_version = 1")
        database.execute("PRAGMA user_version = 0")
    assert "there is no store" in refusal(tmp_path / "s.db")


def test_an_empty_file_is_no_store_and_the_log_beside_it_is_kept(tmp_path: Path) -> None:
    path = crashed(tmp_path)
    path.write_bytes(b"")
    assert refusal(path) == f"{path}: the file is empty: there is no store"


@pytest.mark.parametrize("create", [True, False])
def test_a_store_whose_log_was_removed_is_refused_until_the_index_is_removed_too(tmp_path: Path, create: bool) -> None:
    path = crashed(tmp_path)
    log = path.with_name("s.db-wal").rename(tmp_path / "aside")
    with pytest.raises(StoreRefused, match=r"s\.db-wal: No such file .* remove .*s\.db-shm$"):
        open_database(path, create=create)
    log.rename(path.with_name("s.db-wal"))
    with closing(open_database(path)) as database:
        assert database.table("rounds").count == 1

    path = crashed(tmp_path / "again")
    for end in ("wal", "shm"):
        path.with_name(f"s.db-{end}").unlink()
    open_database(path).close()


@pytest.mark.parametrize("lost", ["TABLE participants", "INDEX participants_by_round", "TABLE _sqlite_migrations"])
def test_a_store_without_one_of_its_tables_or_indexes_is_refused_by_name(tmp_path: Path, lost: str) -> None:
    path = tmp_path / "s.db"
    open_database(path).close()
    sql(path, f"DROP {lost}")
    assert (
        refusal(path) == f"{path}: it is damaged, its {lost[:5].lower()} {lost.split()[1]} is missing: restore a backup"
    )


def test_a_new_store_is_announced_with_its_path_and_an_old_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    open_database(tmp_path / "s.db").close()
    open_database(tmp_path / "s.db").close()
    assert caplog.messages == [f"{tmp_path / 's.db'}: there was no store, a new one is made"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up a right and take it back")
def test_a_store_that_this_user_may_not_look_for_is_not_called_missing(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o700)
    open_database(tmp_path / "s.db").close()
    with without_root(), pytest.raises(StoreRefused, match="Permission denied: run this as the owner") as refused:
        asyncio.run(Store(tmp_path / "s.db", create=False).open())
    assert not isinstance(refused.value, StoreMissing)


# A link to a store on another disk.


async def test_a_link_to_a_store_is_that_store_with_its_log_and_its_lock(tmp_path: Path) -> None:
    for name in ("real", "one", "other"):
        (tmp_path / name).mkdir()
    for name in ("one", "other"):
        (tmp_path / name / "s.db").symlink_to(tmp_path / "real" / "s.db")
    async with opened(tmp_path / "one" / "s.db") as store:
        await record(store, a_round())
        with pytest.raises(StoreRefused, match="has the store open"):
            await Store(tmp_path / "other" / "s.db").open()
    async with opened(tmp_path / "real" / "s.db") as store:
        assert len(await store.predictions("main", 10)) == 1
