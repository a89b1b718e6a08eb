"""Old lines of the logs go in pieces; old rounds go without any rating noticing."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.service.held import fingerprint_of
from equipoise.service.replayed import Replayed
from equipoise.store.notes import Audit, Decision
from tests.opened_pool import NOW, played
from tests.opened_pool import opened as opened_pool
from tests.pools import recomputed, some_rounds, stored
from tests.store.disk import fast_directory
from tests.store.samples import POOL, SERVER, opened, sql

WINDOW = 3
ROUNDS = list(some_rounds(60))
RATED = [each for each in ROUNDS if not each.unrated]
LONG_AGO = NOW + 1


def counts(path: Path) -> tuple[int, int]:
    """Rounds and participants that are stored."""
    rounds, participants = (sql(path, f"SELECT count(*) FROM {table}")[0][0] for table in ("rounds", "participants"))
    return rounds, participants


async def test_the_oldest_lines_of_a_log_go_first_and_no_more_than_asked_for(tmp_path: Path) -> None:
    times = [5.0, 3.0, 1.0, 2.0, 4.0]  # a clock was set back
    async with opened(tmp_path / "s.db") as store:
        store.note(Decision(SERVER, at, "move", "3 against 1") for at in times)
        for at in times:
            await store.audit(Audit(at, "owner", "set", "p", "1000", "1100"))
        assert [row.at for row in await store.decisions(None, 9)] == times[::-1]
        assert (await store.extent()).oldest_decision == 1.0
        assert [await store.prune("decisions", 4.0, 2) for _ in range(3)] == [2, 1, 0]
        assert [row.at for row in await store.decisions(None, 9)] == [4.0, 5.0]
        assert [row.at for row in await store.audits(9)] == times[::-1]
        assert await store.prune("audit", 2.5, 9) == 2
        assert [row.at for row in await store.audits(9)] == [4.0, 3.0, 5.0]
        assert (await store.extent()).oldest_decision == 4.0


async def test_the_pages_of_deleted_lines_are_written_again(tmp_path: Path) -> None:
    async def write() -> int:
        store.note(Decision(SERVER, 1.0, "move", "3 against 1" * 20) for _ in range(1_000))
        await store.decisions(None, 1)
        return (await store.extent()).bytes

    async with opened(tmp_path / "s.db") as store:
        first = await write()
        await store.prune("decisions", 2.0, 1_000)
        assert (await store.extent()).free_bytes > first / 2
        assert await write() == first


async def test_a_store_grows_no_further_once_rounds_are_pruned_as_fast_as_they_come(tmp_path: Path) -> None:
    async def play(records: list[RecordRound]) -> None:
        for record in records:
            await played(pool, [record])
            await pool.store.prune_rounds(POOL, WINDOW, LONG_AGO, 10)

    async with opened_pool(tmp_path, window=WINDOW) as pool:
        await play(ROUNDS[:30])
        half = counts(tmp_path / "s.db")
        await play(ROUNDS[30:])
        # The newest round is not pruned: of its players one row more may be there each.
        newest = len(ROUNDS[-1].participants)
        for _, rows in (half, counts(tmp_path / "s.db")):
            assert 10 * WINDOW <= rows <= 10 * WINDOW + newest
        assert await pool.store.pruned_rounds(POOL) == len(RATED) - (not ROUNDS[-1].unrated)


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(st.lists(st.integers(0, 12), min_size=6, max_size=6), st.sampled_from(["synelo", "elo"]))
def test_ratings_are_the_same_to_the_last_bit_whatever_was_pruned(pieces: list[int], system: str) -> None:
    async def main() -> None:
        params = {"window": WINDOW, "rounding": "none"} if system == "synelo" else {}
        found = []
        for prunes in (pieces, [0] * len(pieces)):
            with fast_directory() as folder:
                for number, piece in enumerate(prunes):
                    # A restart in between: windows are read from what is left.
                    async with opened_pool(folder, system, **params) as pool:
                        await pool.store.prune_rounds(POOL, pool.system.window, LONG_AGO, piece)
                        await played(pool, ROUNDS[10 * number : 10 * number + 10])
                        crowd = await pool.store.crowd(POOL, since=None)
                with closing(sqlite3.connect(folder / "s.db")) as database:
                    rows = "SELECT id, version, rating, rounds, visible, last_played, state FROM players ORDER BY id"
                    found.append((database.execute(rows).fetchall(), crowd))

        assert found[0] == found[1]

    asyncio.run(main())


async def test_a_round_that_was_stored_lately_stays_and_with_it_all_of_its_rows(tmp_path: Path) -> None:
    async with opened_pool(tmp_path, "elo") as pool:
        await played(pool, ROUNDS[:5])
        before = counts(tmp_path / "s.db")
        assert await pool.store.prune_rounds(POOL, 0, NOW, 10) == 0
        assert counts(tmp_path / "s.db") == before
        assert await pool.store.prune_rounds(POOL, 0, LONG_AGO, 10) == 4
        assert counts(tmp_path / "s.db") == (1, len(ROUNDS[4].participants)), "the newest stays, however old"


async def test_ratings_are_recomputed_from_the_rounds_that_are_left(tmp_path: Path) -> None:
    path = tmp_path / "equipoise.db"
    async with opened_pool(tmp_path, window=WINDOW) as pool:
        await played(pool, ROUNDS[:40])
        await pool.store.prune_rounds(POOL, WINDOW, LONG_AGO, 25)
        await played(pool, ROUNDS[40:])
        kept: list[RecordRound] = []
        await pool.store.rated_rounds(POOL, lambda record, _: kept.append(record))
        system = ratings.create("synelo", window=WINDOW)
        await recomputed(pool.store, system)
        crowd = await pool.store.crowd(POOL, since=None)
    (tmp_path / "s.db").rename(path)
    again = stored(tmp_path)
    alone = Replayed(ratings.create("synelo", window=WINDOW), fingerprint_of(system))
    for record in kept:
        alone.rate(record)

    assert [each.round.id for each in kept] == [each.round.id for each in ROUNDS[25:] if not each.unrated]
    assert len(again["rounds"]) == 35
    assert {id: rating for id, rating, *_ in again["players"]} == {
        id: alone.system.summary(id).rating for id, *_ in again["players"]
    }
    assert crowd.mean == sum(rating for _, rating, *_ in again["players"]) / len(again["players"])
