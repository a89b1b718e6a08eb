"""What a store says about itself: damage at once and for good, other trouble until a write succeeds."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from pathlib import Path
from threading import local

import pytest

from equipoise.errors import StoreDamaged, StoreError
from equipoise.store.connection import QuickCheck
from tests.store.damage import wreck
from tests.store.disk import filled, small_disk, without_root
from tests.store.failing import locked
from tests.store.samples import SERVER, Submitted, a_round, opened, player, record, submit, until


async def _filled(path: Path) -> None:
    async with opened(path) as store:
        await submit(store, *(Submitted(a_round(number)) for number in range(20)))


async def test_a_damaged_page_is_an_error_with_advice_and_nothing_is_written_from_then_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "s.db"
    await _filled(path)
    wreck(path, "rounds")
    async with opened(path) as store:
        for number in range(30, 35):
            with pytest.raises(StoreDamaged):
                await record(store, a_round(number))
        before = path.with_name("s.db-wal").stat().st_size
        with pytest.raises(StoreDamaged):
            await store.edit("main", player(1), 500, lambda row: pytest.fail("it is not even read"))
        with pytest.raises(StoreDamaged):
            await store.ping()

        health = store.health()
        assert (health.state, health.failures) == ("damaged", 7)
        assert health.since is not None
        assert "restore a backup" in health.advice
        assert path.with_name("s.db-wal").stat().st_size == before
        assert set(await store.players("main", [player(1)], 500)) == {player(1)}  # what can be read, can be read

    errors = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert [each.message.count("malformed") for each in errors] == [1]
    assert "stop the daemon, restore a backup" in errors[0].message


@pytest.mark.slow
async def test_a_locked_store_says_so_until_a_write_succeeds(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with opened(tmp_path / "s.db") as store:
        assert store.health().state == "ok"
        with locked(tmp_path / "s.db"):
            for _ in range(3):
                with pytest.raises(StoreError):
                    await record(store, a_round())
            first = store.health()
            assert (first.state, first.failures) == ("locked", 3)
            await store.players("main", [player(1)], 500)  # a read says nothing about writing
            assert store.health() == first
        await store.ping()
        assert (store.health().state, store.health().since) == ("ok", None)

    lines = [each.message for each in caplog.records if each.message.startswith("the store ")]
    assert [line.split(" (")[0].split(", after")[0] for line in lines] == [
        "the store is locked",
        "the store takes rounds again",
    ]


async def test_a_full_disk_takes_nothing_and_is_over_only_when_something_was_written(tmp_path: Path) -> None:
    group = [Submitted(a_round(number), b"memory") for number in range(20)]
    with small_disk(tmp_path / "disk") as disk:
        async with opened(disk / "s.db") as store:
            with filled(disk):
                for work in (submit(store, *group), store.ping()):
                    with pytest.raises(StoreError):
                        await work
                    assert store.health().state == "full"
                assert await store.players("main", [player(1)], 500) == {}
                assert await store.memory(SERVER) is None
            await store.ping()
            assert store.health().state == "ok"
            assert len(await submit(store, *group)) == 20
        assert await QuickCheck(disk / "s.db").run() is None


async def test_a_check_beside_the_calls_finds_damage_where_no_call_reads(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await _filled(path)
    wreck(path, "audit")
    async with opened(path) as store:
        assert not (await record(store, a_round(30))).again
        store.start_check()
        await until(lambda: store.health().state != "ok")
        assert store.health().state == "damaged"
        with pytest.raises(StoreDamaged):
            await record(store, a_round(31))


async def test_a_check_finds_nothing_wrong_with_a_store_that_is_whole_and_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a store? #1.db"
    await _filled(path)
    assert await QuickCheck(path).run() is None
    wreck(path, "rounds")
    assert isinstance(await QuickCheck(path).run(), StoreDamaged)
    stopped = QuickCheck(path)
    stopped.stop()
    assert await stopped.run() is None


async def test_nobody_waits_for_the_thread_of_a_check_to_end(tmp_path: Path) -> None:
    """It has the least priority: on a busy machine it may be long until it is gone."""

    class EndsLate:
        def __del__(self) -> None:
            time.sleep(1.0)

    class Check(QuickCheck):
        def _look(self) -> StoreDamaged | None:
            threads_own.one = EndsLate()
            return super()._look()

    threads_own = local()
    await _filled(tmp_path / "s.db")
    began = time.monotonic()
    assert await Check(tmp_path / "s.db").run() is None
    assert time.monotonic() - began < 1.0


async def test_a_store_can_be_closed_while_it_is_checked(tmp_path: Path) -> None:
    await _filled(tmp_path / "s.db")
    for turns in range(20):
        async with opened(tmp_path / "s.db") as store:
            store.start_check()
            for _ in range(turns):
                await asyncio.sleep(0)
        assert store.health().state == "ok"


@pytest.mark.parametrize("gone", ["s.db", "s.db-wal"])
async def test_no_round_goes_into_a_file_that_was_removed_or_replaced(tmp_path: Path, gone: str) -> None:
    await _filled(tmp_path / "s.db")
    for replace in (False, True):
        async with opened(tmp_path / "s.db") as store:
            file = tmp_path / gone
            aside = file.rename(tmp_path / "aside")
            if replace:
                shutil.copy(aside, file)
            with pytest.raises(StoreDamaged, match=f"{gone} was removed or replaced"):
                await record(store, a_round(30))
            with pytest.raises(StoreDamaged):
                await store.ping()
            assert store.health().state == "damaged"
            aside.replace(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up a right and take it back")
async def test_a_directory_that_may_not_be_looked_into_is_no_damage(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o700)
    async with opened(tmp_path / "s.db") as store:
        with without_root():
            assert not (await record(store, a_round())).again
        assert store.health().state == "ok"
