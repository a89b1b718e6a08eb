"""Rounds that share a transaction: each whole or not at all, and in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.errors import ScriptError, StoreError
from equipoise.store.notes import SessionMemory
from equipoise.store.round_rows import RatedRound
from tests.store.disk import no_file_above
from tests.store.failing import locked
from tests.store.samples import POOL, SERVER, Faulty, Submitted, a_round, opened, player, sql, submit
from tests.store.traced import Traced


def stored(path: Path) -> list[str]:
    """Rounds as another connection sees them: what is committed, in the order of being applied."""
    return [id for (id,) in sql(path, "SELECT id FROM rounds ORDER BY number")]


def ids(*numbers: int) -> list[str]:
    return [a_round(number).round.id for number in numbers]


async def test_rounds_of_a_group_are_applied_in_order_each_on_what_the_one_before_left(tmp_path: Path) -> None:
    group = [Submitted(a_round(number, started_at=1000.0 - number)) for number in (3, 1, 2)]
    async with opened(tmp_path / "s.db") as store:
        outcomes = await submit(store, *group)
        rows = await store.players(POOL, [player(1)], 500)

    assert [outcome.round for outcome in outcomes if isinstance(outcome, RatedRound)] == ids(3, 1, 2)
    assert [[row.rating for row in one.asked if row.id == player(1)] for one in group] == [[], [1010], [1020]]
    assert [after for after, _, _ in rows[player(1)].history] == [1010, 1020, 1030]
    assert rows[player(1)].version == 3
    assert stored(tmp_path / "s.db") == ids(3, 1, 2)


async def test_a_group_is_one_transaction_in_which_each_round_behind_the_first_has_a_savepoint(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db", kind=Traced) as store:
        with store.watched() as statements:
            await submit(store, *(Submitted(a_round(number)) for number in range(5)))
    marks = [each for each in statements if each.split()[0] in ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")]

    assert marks == ["BEGIN IMMEDIATE", *["SAVEPOINT part", "RELEASE part"] * 4, "COMMIT"]


async def test_a_round_that_stands_in_its_group_twice_is_stored_once(tmp_path: Path) -> None:
    twice = Submitted(a_round(1))
    async with opened(tmp_path / "s.db") as store:
        first, _, again = await submit(store, Submitted(a_round(1)), Submitted(a_round(2)), twice)

    assert (first.again, again.again, again.changes) == (False, True, first.changes)
    assert twice.asked == []
    assert stored(tmp_path / "s.db") == ids(1, 2)


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (lambda: Submitted(a_round(2, captures_a=2**64), b"bad"), ScriptError),
        (lambda: Faulty(a_round(2), b"bad"), ZeroDivisionError),
    ],
    ids=["unstorable", "faulty"],
)
async def test_a_round_that_fails_is_undone_alone_and_ends_its_group(
    tmp_path: Path, made: Callable[[], Submitted], error: type[Exception]
) -> None:
    good, bad, behind = Submitted(a_round(1), b"good"), made(), Submitted(a_round(3))
    async with opened(tmp_path / "s.db") as store:
        outcomes = await submit(store, good, bad, behind)
        committed = stored(tmp_path / "s.db")
        rows = await store.players(POOL, [player(1)], 500)
        memory = await store.memory(SERVER)
        await submit(store, behind)

    assert [type(outcome) for outcome in outcomes] == [RatedRound, error]
    assert [one.undone for one in (good, bad, behind)] == [0, 1, 0]
    assert (rows[player(1)].rating, rows[player(1)].version, memory) == (1010, 1, b"good")
    assert committed == ids(1)
    assert stored(tmp_path / "s.db") == ids(1, 3)


class Unlucky(Submitted):
    """While it is rated, the file's size is limited: the commit will fail."""

    def rate(self, *given: object) -> RatedRound:
        self.limit = no_file_above(0)
        self.limit.__enter__()
        return super().rate(*given)


async def test_a_commit_that_fails_leaves_nothing_of_the_group(tmp_path: Path) -> None:
    last = Unlucky(a_round(3), b"memory")
    group = [Submitted(a_round(1), b"memory"), Submitted(a_round(2)), last]
    async with opened(tmp_path / "s.db") as store:
        await submit(store, Submitted(a_round(0)))
        with pytest.raises(StoreError):
            await submit(store, *group)
        last.limit.__exit__(None, None, None)

        assert (await store.players(POOL, [player(1)], 500))[player(1)].version == 1
        assert await store.memory(SERVER) is None
        assert stored(tmp_path / "s.db") == ids(0)
        assert [one.undone for one in group] == [0, 0, 0], "the caller undoes a whole group, the last round first"
        await submit(store, *group[:2])
        assert stored(tmp_path / "s.db") == ids(0, 1, 2)


async def test_a_locked_store_tries_no_round_of_a_group(tmp_path: Path) -> None:
    group = [Submitted(a_round(1)), Faulty(a_round(2))]
    async with opened(tmp_path / "s.db") as store:
        with locked(tmp_path / "s.db"), pytest.raises(StoreError, match="locked"):
            await submit(store, *group)

        assert stored(tmp_path / "s.db") == []


async def test_a_note_of_a_memory_that_a_round_has_overtaken_is_not_written_over_it(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        store.note([SessionMemory(SERVER, b"noted before", 5.0)])
        await submit(store, Submitted(a_round(1), b"with the round", at=5.0))
        assert await store.memory(SERVER) == b"with the round"

        store.note([SessionMemory(SERVER, b"noted after", 6.0)])
        await submit(store, Submitted(a_round(2), b"waited in the ring", at=4.0))
        await submit(store, Submitted(a_round(1), b"sent again", at=9.0))
        await submit(store, Submitted(a_round(3), None, at=9.0))
        assert await store.memory(SERVER) == b"noted after"


async def test_a_memory_noted_after_the_clock_was_set_back_is_written(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await submit(store, Submitted(a_round(1), b"by the fast clock", at=9000.0))
        store.note([SessionMemory(SERVER, b"by the right clock", 5.0)])

        assert await store.memory(SERVER) == b"by the right clock"
