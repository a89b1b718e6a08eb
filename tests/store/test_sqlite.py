"""What the store promises while nothing goes wrong."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.model import PlayerId, ServerId, Side
from equipoise.errors import RatingError, StoreError
from equipoise.store import player_rows, recalculation, sequence
from equipoise.store.connection import LOG_BYTES, open_database, transaction
from equipoise.store.measurements import Prediction
from equipoise.store.notes import Audit, Decision, Name
from equipoise.store.player_rows import Crowd, PlayerRow
from equipoise.store.round_rows import RatedRound
from equipoise.store.store import Store
from tests.store.disk import fast_directory
from tests.store.samples import POOL, SERVER, Submitted, a_round, opened, player, record, submit
from tests.store.traced import Traced

_pools = count()


@pytest.fixture(scope="module")
def fast() -> Iterator[Path]:
    """One directory for all examples of a test: each has a pool of its own, which costs less than a store."""
    with fast_directory() as directory:
        yield directory


def fresh_pool() -> str:
    return f"pool {next(_pools)}"


NOTE = Audit(0.0, "console", "set", "a player", "", "")


async def test_a_stored_round_is_there_after_the_store_was_closed(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await record(store, a_round(), memory=b"streak 1")
    async with opened(tmp_path / "s.db") as store:
        rows = await store.players(POOL, [player(1), player(4), player(9)], 500)
        elsewhere = await store.players("other", [player(1)], 500)
        memory = await store.memory(SERVER)

    assert (list(rows), elsewhere) == ([player(1), player(4)], {}), "strangers are missing, and pools are apart"
    assert (rows[player(1)].rating, rows[player(4)].rating) == (1010, 990)
    assert rows[player(1)].history == ((1010.0, 0.625, 1.0),)
    assert rows[player(1)].last_played == a_round().round.started_at
    assert memory == b"streak 1"


async def test_a_round_sent_again_changes_nothing_and_returns_its_first_answer(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        first = await record(store, a_round(), memory=b"new", at=2.0)
        await record(store, a_round(2))
    async with opened(tmp_path / "s.db") as store:
        before = await store.players(POOL, [player(1), player(3)], 500)
        late = Submitted(a_round(), b"old", at=9.0)
        (again,) = await submit(store, late)
        after = await store.players(POOL, [player(1), player(3)], 500)
        memory = await store.memory(SERVER)

    assert again == replace(first, again=True)
    assert late.asked == []
    assert (after, memory) == (before, b"new")


async def test_an_unrated_round_sent_again_is_still_unrated_and_the_same_id_from_another_server_is_another(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "s.db") as store:
        await record(store, a_round(unrated="partial"))
        again = await record(store, a_round(unrated="partial"))
        other = await record(store, a_round(server=ServerId("arena-2")))

    assert again == RatedRound(a_round().round.id, None, (), again=True, unrated="partial")
    assert not other.again
    assert other.changes[0].before == 1000


async def test_only_rows_that_memory_lacks_or_has_in_another_version_are_handed_to_rating(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "s.db") as store:
        await record(store, a_round())
        await record(store, a_round(2, a=[1], b=[5]))
        held = {player(1): 1, player(2): 1, player(3): 0, player(4): 7, player(6): 0}
        third = Submitted(a_round(3), versions=held)
        await submit(store, third)

    assert [(row.id, row.version) for row in third.asked] == [(player(1), 2), (player(3), 1), (player(4), 1)]


async def test_a_late_round_does_not_make_a_player_look_absent(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await record(store, a_round(1, started_at=5000.0))
        await record(store, a_round(2, started_at=4000.0))
        rows = await store.players(POOL, [player(1)], 0)

    assert rows[player(1)].last_played == 5000


def test_a_rosters_last_rounds_are_one_range_of_one_index_for_each_player(tmp_path: Path) -> None:
    database = open_database(tmp_path / "s.db")
    for number in (1, 2):
        sequence.edit(database.conn, POOL, player(number), 0, lambda _, number=number: (_row(number), NOTE))
    statements: list[str] = []
    database.conn.set_trace_callback(statements.append)
    player_rows.load(database.conn, POOL, {player(1): 0, player(2): 0}, 500)
    database.conn.set_trace_callback(None)
    plan = database.execute(f"EXPLAIN QUERY PLAN {statements[-1]}").fetchall()
    database.close()

    assert [step[-1] for step in plan] == [
        "SCAN wanted VIRTUAL TABLE INDEX 1:",
        "SEARCH participants USING COVERING INDEX participants_by_player (pool=? AND player=? AND round>?)",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH participants USING COVERING INDEX participants_by_player (pool=? AND player=?)",
    ]


def test_new_numbers_find_each_row_of_the_store_by_its_key(tmp_path: Path) -> None:
    file, plans = tmp_path / "outcome", list[list[str]]()
    with recalculation.written(file):
        pass
    with closing(open_database(tmp_path / "s.db").conn) as db, recalculation.attached(db, file):
        statements: list[str] = []
        db.set_trace_callback(statements.append)
        with transaction(db):
            recalculation.take_over(db, POOL, 1)
        db.set_trace_callback(None)
        for statement in statements:
            if "outcome." in statement and " new" in statement:
                plans.append([step[-1] for step in db.execute(f"EXPLAIN QUERY PLAN {statement}")])
    assert len(plans) == 5
    for scan, search in plans:
        assert scan == "SCAN new"
        assert search.startswith("SEARCH")
        assert "(pool=?)" not in search


@pytest.mark.parametrize("count", [1, 24])
async def test_a_roster_is_read_by_two_statements_however_long_it_is(tmp_path: Path, count: int) -> None:
    async with opened(tmp_path / "s.db", kind=Traced) as store:
        for number in range(count):
            await record(store, a_round(number, a=[2 * number], b=[2 * number + 1]))
        with store.watched() as loaded:
            rows = await store.players(POOL, [player(2 * number) for number in range(count)], 500)

    assert [len(row.history) for row in rows.values()] == [1] * count
    assert len(loaded) == 2


@pytest.mark.slow
@settings(deadline=None)
@given(
    played=st.lists(st.tuples(st.integers(0, 3), st.integers(4, 7)), max_size=12),
    asked=st.lists(st.integers(0, 8), unique=True),
    window=st.integers(0, 4),
)
def test_each_players_window_is_their_own_last_rounds_in_the_order_of_being_applied(
    fast: Path, played: list[tuple[int, int]], asked: list[int], window: int
) -> None:
    pool = fresh_pool()

    async def stored() -> Mapping[PlayerId, PlayerRow]:
        async with opened(fast / "s.db") as store:
            for number, (one, other) in enumerate(played):
                servers = (ServerId(f"{pool} {n}") for n in (1, 2))
                rounds = [a_round(number, a=[one], b=[other], server=each, started_at=9e8 - number) for each in servers]
                await store.record(pool, [Submitted(each) for each in rounds], 0)
            return await store.players(pool, [player(number) for number in asked], window)

    rows = asyncio.run(stored())
    expected: dict[PlayerId, list[float]] = {}
    for one, other in played:
        for number, points in ((one, 10), (other, -10)):
            after = expected.setdefault(player(number), [])
            after += [(after[-1] if after else 1000.0) + points, (after[-1] if after else 1000.0) + 2 * points]
    assert {id: [after for after, _, _ in row.history] for id, row in rows.items()} == {
        player(number): expected[player(number)][-window:] if window else []
        for number in asked
        if player(number) in expected
    }


async def test_the_memory_of_a_round_that_waited_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    memories = []
    async with opened(tmp_path / "s.db") as store:
        for number, at in enumerate([20.0, 10.0, 20.0, 19.9, 30.0]):
            await record(store, a_round(number), memory=f"{number} at {at:g}".encode(), at=at)
            memories.append(await store.memory(SERVER))

        assert memories == [b"0 at 20", b"0 at 20", b"2 at 20", b"2 at 20", b"4 at 30"]
        assert await store.memory(ServerId("new")) is None


async def test_an_edit_that_is_refused_changes_neither_player_nor_audit(tmp_path: Path) -> None:
    def refuse(row: PlayerRow | None) -> tuple[PlayerRow, Audit]:
        raise RatingError("no")

    async with opened(tmp_path / "s.db") as store:
        await record(store, a_round())
        before = await store.players(POOL, [player(1)], 500)
        with pytest.raises(RatingError):
            await store.edit(POOL, player(1), 500, refuse)

        assert await store.players(POOL, [player(1)], 500) == before
        assert await store.audits(10) == []


async def test_a_name_is_remembered_as_it_was_written_also_before_the_first_round(tmp_path: Path) -> None:
    name = "наĭ \u202e 🦊 '; DROP TABLE players; --"
    async with opened(tmp_path / "s.db") as store:
        store.note([Name(POOL, player(1), "old")])
        store.note([Name(POOL, player(1), name), Name("other", player(2), "elsewhere")])
        assert await store.names(POOL, [player(1), player(2)]) == {player(1): name}
    async with opened(tmp_path / "s.db") as store:
        assert await store.names(POOL, [player(1), player(2)]) == {player(1): name}


async def test_search_takes_the_text_literally_and_in_any_case(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await record(store, a_round())
        store.note([Name(POOL, player(1), "100%_Fox!"), Name(POOL, player(2), "fox")])

        async def found(text: str) -> list[str]:
            return [row.id for row in await store.search(POOL, text, 10)]

        assert await found("FOX") == [player(1), player(2)]
        assert await found("%_") == [player(1)]
        assert await found("x!") == [player(1)]
        assert await found(player(3)[-5:]) == [player(3)]
        assert len(await store.search(POOL, "7656", 3)) == 3


async def test_decisions_come_newest_first_for_one_server_or_for_all(tmp_path: Path) -> None:
    one = Decision(SERVER, 1.0, "scramble", "3 wins in a row", "o1", {"before": 0.7, "split": ["a", "b"]})
    two = Decision(ServerId("arena-2"), 2.0, "pending", "waiting ended")
    three = Decision(SERVER, 3.0, "cancel", "gap closed")
    async with opened(tmp_path / "s.db") as store:
        for decision in (one, two, three):
            store.note([decision])

        assert await store.decisions(SERVER, 10) == [three, one]
        assert await store.decisions(None, 2) == [three, two]


async def test_predictions_are_the_rated_rounds_that_were_applied_last_oldest_first(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        for number, winner in enumerate((Side.A, None, Side.B)):
            await record(store, a_round(number, winner=winner, started_at=9.0 - number))
        await record(store, a_round(3, unrated="partial"))

        last = [Prediction(8.0, 0.625, 0.5), Prediction(7.0, 0.625, 0.0)]
        assert await store.predictions(POOL, 2) == last
        assert await store.predictions(POOL, None) == [Prediction(9.0, 0.625, 1.0), *last]
        assert await store.predictions("other", None) == []


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([900.0, 1000.0, 1100.0]), st.booleans(), st.sampled_from([None, 1.0, 2.0])),
        max_size=12,
    ),
    st.sampled_from([None, 1.5]),
)
def test_the_leaderboard_is_all_visible_and_active_players_by_rating(
    fast: Path,
    drawn: list[tuple[float, bool, float | None]],
    since: float | None,
) -> None:
    pool = fresh_pool()
    with closing(open_database(fast / "s.db").conn) as db:
        with transaction(db):
            for number, (points, visible, played) in enumerate(drawn):
                first = replace(_row(number), rating=points + 7, visible=number % 2 == 0)
                row = replace(first, rating=points, visible=visible, last_played=played)
                for each in (first, row):
                    sequence.edit(db, pool, row.id, 0, lambda _, row=each: (row, NOTE))
        expected = sorted(
            (-points, player(number))
            for number, (points, visible, played) in enumerate(drawn)
            if visible and (since is None or (played or 0) >= since)
        )

        assert [(-row.rating, row.id) for row in player_rows.top(db, pool, None, since)] == expected
        assert [player_rows.rank(db, pool, id, since) for _, id in expected] == [
            (place, len(expected)) for place in range(1, len(expected) + 1)
        ]
        edited = [points for points, _, _ in drawn]
        assert player_rows.crowd(db, pool, since) == Crowd(
            count=len(drawn),
            visible=sum(visible for _, visible, _ in drawn),
            stale=sum(played is not None and since is not None and played < since for _, _, played in drawn),
            mean=statistics.fmean(edited) if drawn else None,
            spread=pytest.approx(statistics.pstdev(edited)) if drawn else None,
        )


async def test_what_the_log_kept_for_a_long_reader_is_given_back_when_that_has_ended(tmp_path: Path) -> None:
    log_file = tmp_path / "s.db-wal"
    async with opened(tmp_path / "s.db") as store:
        with closing(sqlite3.connect(tmp_path / "s.db")) as backup:
            backup.execute("BEGIN")
            backup.execute("SELECT * FROM rounds").fetchall()
            for number in range(1, 21):
                await record(store, a_round(number), memory=os.urandom(1 << 20))
        assert log_file.stat().st_size > LOG_BYTES
        for number in (21, 22):
            await record(store, a_round(number))
        assert log_file.stat().st_size == LOG_BYTES


async def test_a_store_that_is_not_open_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.db")
    with pytest.raises(StoreError, match="not open"):
        await store.ping()
    await store.open()
    await store.ping()
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="not open"):
        await store.ping()


def _row(number: int) -> PlayerRow:
    return PlayerRow(player(number), 0, 1000.0, 60, True, None, {}, ())
