"""Notes: written a moment later, many in one transaction, and seen by every read before that."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from equipoise.core.model import ServerId
from equipoise.store.notes import (
    MOST_LINES,
    MOST_NAMES,
    BalancePrediction,
    BalancePredictions,
    Decision,
    Name,
    Note,
    SessionMemory,
    Unwritten,
)
from equipoise.store.player_rows import Fingerprint
from equipoise.store.sequence import Snapshot
from equipoise.store.store import Store
from tests.store.failing import locked
from tests.store.samples import POOL, SERVER, Submitted, a_round, opened, player, sql, submit, until
from tests.store.traced import Traced

NOTES: list[Note] = [
    SessionMemory(SERVER, b"memory", 5.0),
    Decision(SERVER, 5.0, "scramble", "3 wins in a row"),
    Name(POOL, player(1), "Ann"),
]


def decided(number: int) -> Decision:
    return Decision(SERVER, float(number), "scramble", f"reason {number}")


def written(path: Path) -> list[int]:
    """Rows of the three kinds as another connection sees them."""
    return [sql(path, f"SELECT count(*) FROM {table}")[0][0] for table in ("sessions", "decisions", "names")]


async def test_notes_of_many_servers_are_one_transaction_behind_the_rounds_that_wait(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db", kind=Traced, notes_after=0.0) as store:
        with store.watched() as statements:
            for number in range(100):
                server = ServerId(f"arena-{number}")
                store.note([SessionMemory(server, b"memory", 5.0), Name(POOL, player(number), "a name")])
                store.note([decided(number)])
            await submit(store, Submitted(a_round()))
            await until(lambda: any(written(tmp_path / "s.db")))
    order = [each.split("INTO ")[1].split()[0] for each in statements if "INTO " in each]

    assert written(tmp_path / "s.db") == [100, 100, 100]
    assert statements.count("COMMIT") == 2
    assert order.index("rounds") < order.index("decisions")


class Chatty(Store):
    """Another note comes while the first ones are written."""

    late = decided(2)

    @contextmanager
    def _transaction(self, db: sqlite3.Connection) -> Iterator[None]:
        with super()._transaction(db):
            yield
        self._notes.unwritten.add([self.late] if self.late else [])
        self.late = None


async def test_notes_that_come_while_others_are_written_do_not_wait_for_a_retry(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db", kind=Chatty, notes_after=0.0, retry_after=3600.0) as store:
        store.note([decided(1)])
        await until(lambda: written(tmp_path / "s.db")[1] == 2)


async def test_notes_are_read_back_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await submit(store, Submitted(a_round(), None))
        store.note(NOTES)

        assert await store.memory(SERVER) == b"memory"
        store.note(NOTES[1:2])
        assert len(await store.decisions(SERVER, 10)) == 2
        for name in ("Ben", "Cem"):
            store.note([Name(POOL, player(1), name)])
            assert [row.id for row in await store.search(POOL, name, 10)] == [player(1)]
        store.note([Name(POOL, player(1), "Dot")])
        assert await store.names(POOL, [player(1)]) == {player(1): "Dot"}


async def test_who_reads_notes_waits_for_no_sync_and_the_disk_has_them_a_moment_later(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db", kind=Traced, notes_after=0.1) as store:
        with store.watched() as statements:
            store.note(NOTES)
            for _ in range(10):
                assert await store.decisions(SERVER, 1)
                store.note([decided(6)])
        syncing = "FULL"
        commits = []
        for statement in statements:
            syncing = statement.rpartition(" = ")[2] if statement.startswith("PRAGMA synchronous") else syncing
            commits += [syncing] * (statement == "COMMIT")
        assert (commits, syncing) == (["NORMAL"] * 10, "FULL")
        await store.decisions(SERVER, 1)  # nothing waits any more
        assert written(tmp_path / "s.db") == [1, 11, 1]
        with store.watched() as statements:
            await asyncio.sleep(0.3)
        assert statements.count("COMMIT") == 1, "the disk has been waited for"


async def test_closing_writes_what_was_noted(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        store.note(NOTES)
        assert written(tmp_path / "s.db") == [0, 0, 0]
    assert written(tmp_path / "s.db") == [1, 1, 1]


async def test_predictions_are_written_before_the_snapshot_after_which_no_start_makes_them_again(
    tmp_path: Path,
) -> None:
    """Killed at once behind it, the daemon reads no round before the snapshot again."""
    async with opened(tmp_path / "s.db", notes_after=3600.0) as store:
        await submit(store, Submitted(a_round()))
        store.note([BalancePredictions({1: BalancePrediction(0.625, None, 0.125)})])
        await store.keep_snapshot(POOL, Snapshot("balance", 1, Fingerprint("joint", {}), b"data"), 1)
        assert sql(tmp_path / "s.db", "SELECT balance_prediction, unevenness FROM rounds") == [(0.625, 0.125)]


async def test_a_note_that_can_never_be_stored_does_not_take_the_others_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path / "s.db") as store:
        store.note([Name(POOL, player(2), "\ud800"), *NOTES])
        await store.memory(SERVER)

        assert written(tmp_path / "s.db") == [1, 1, 1]
    assert [line.startswith("store: a note is dropped") for line in caplog.messages] == [True]


async def test_notes_that_a_locked_store_does_not_take_are_written_later_the_newest_of_each(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with opened(tmp_path / "s.db", notes_after=0.0, retry_after=0.01) as store:
        with locked(tmp_path / "s.db"):
            store.note([*NOTES, decided(1)])
            assert await store.decisions(None, 10) == []
            await until(lambda: "4 notes wait" in caplog.text)
            store.note([SessionMemory(SERVER, b"newer", 6.0), decided(2), Name(POOL, player(1), "Anne")])
        await until(lambda: any(written(tmp_path / "s.db")))
        assert sql(tmp_path / "s.db", "SELECT memory FROM sessions") == [(b"newer",)]
        assert sql(tmp_path / "s.db", "SELECT name FROM names") == [("Anne",)]
        found = sql(tmp_path / "s.db", "SELECT reason FROM decisions ORDER BY number")
    assert found == [("3 wins in a row",), ("reason 1",), ("reason 2",)]


async def test_notes_that_cannot_be_written_at_the_end_are_counted_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path / "s.db") as store:
        store.note(NOTES)
        with locked(tmp_path / "s.db"):
            await store.close()

    assert [line.partition(":")[0] for line in caplog.messages] == ["3 notes are lost"]


def test_notes_that_are_put_back_are_older_than_those_added_meanwhile() -> None:
    unwritten = Unwritten()
    unwritten.add([SessionMemory(SERVER, b"old", 5.0), decided(1), decided(2), Name(POOL, player(1), "old")])
    taken = unwritten.take()
    assert len(unwritten) == 0
    unwritten.add([SessionMemory(SERVER, b"new", 6.0), decided(3), Name(POOL, player(1), "new")])
    unwritten.put_back(taken)

    assert unwritten.take() == [
        SessionMemory(SERVER, b"new", 6.0),
        decided(1),
        decided(2),
        decided(3),
        Name(POOL, player(1), "new"),
    ]


def test_of_the_decisions_that_wait_the_oldest_are_forgotten() -> None:
    unwritten = Unwritten()
    unwritten.add(decided(number) for number in range(MOST_LINES))
    taken = unwritten.take()
    unwritten.add([decided(MOST_LINES)])
    unwritten.put_back(taken)
    kept = unwritten.take()

    assert (len(kept), kept[0], kept[-1]) == (MOST_LINES, decided(1), decided(MOST_LINES))


class Crossed(Unwritten):
    """The event loop notes a newer memory while the store's thread returns what it could not write."""

    def take(self) -> list[Note]:
        taken = super().take()
        self.loop = Thread(target=self.add, args=([SessionMemory(SERVER, b"newest", 7.0)],))
        self.loop.start()
        self.loop.join(0.1)
        return taken


def test_notes_that_are_returned_replace_none_that_come_meanwhile() -> None:
    unwritten = Crossed()
    unwritten.add([SessionMemory(SERVER, b"newer", 6.0)])
    unwritten.put_back([SessionMemory(SERVER, b"old", 5.0)])
    unwritten.loop.join()
    assert Unwritten.take(unwritten) == [SessionMemory(SERVER, b"newest", 7.0)]


def test_of_the_names_that_wait_those_used_longest_ago_are_forgotten() -> None:
    unwritten = Unwritten()
    unwritten.add(Name(POOL, player(number), "old") for number in range(MOST_NAMES))
    unwritten.add([Name(POOL, player(0), "new"), Name(POOL, player(MOST_NAMES), "new")])

    kept = unwritten.take()
    assert len(kept) == MOST_NAMES
    assert kept[0] == Name(POOL, player(2), "old")
    assert kept[-2:] == [Name(POOL, player(0), "new"), Name(POOL, player(MOST_NAMES), "new")]


@pytest.mark.parametrize(("at", "waits"), [(4.9, True), (5.0, False), (5.1, False)])
def test_a_memory_waits_unless_a_round_has_stored_one_as_new(at: float, waits: bool) -> None:
    unwritten = Unwritten()
    unwritten.add([SessionMemory(SERVER, b"noted", 5.0)])
    unwritten.supersede(SessionMemory(ServerId("another"), b"of a round", 9.0))
    unwritten.supersede(SessionMemory(SERVER, b"of a round", at))

    assert len(unwritten) == waits
