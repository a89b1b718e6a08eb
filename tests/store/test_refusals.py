"""Stores that cannot be used: the refusal is one line that says what to do, and the files stay as they were."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.errors import StoreRefused
from equipoise.store.connection import open_database
from equipoise.store.store import Store
from tests.store.disk import without_root
from tests.store.samples import opened


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


async def test_a_newer_store_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    database = open_database(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    before = path.read_bytes()

    assert "newer Equipoise (schema 99" in await _refusal(path)
    assert path.read_bytes() == before


async def test_a_database_of_another_program_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE players (id)")
    other.close()
    before = path.read_bytes()

    assert "not an Equipoise store" in await _refusal(path)
    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(b"a photograph of a cat" * 100)

    assert "not an Equipoise store" in await _refusal(path)


async def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    open_database(path).close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xee" * 4000)

    assert "damaged: restore a backup" in await _refusal(path)


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


async def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.db").mkdir()

    assert "cannot be opened" in await _refusal(tmp_path / "s.db")


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
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        refusal = asyncio.run(_refusal(path))
        holder.kill()

    assert f"process {holder.pid} has the store open" in refusal
    asyncio.run(_open_and_close(path))


async def _open_and_close(path: Path) -> None:
    async with opened(path) as store:
        await store.ping()
