"""Wins, draws, losses and leaves: each rated round once, whatever becomes of its rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from sqlite_utils import Database

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, Side
from equipoise.store.connection import migrate, open_database
from equipoise.store.migrations import MIGRATIONS
from equipoise.store.round_rows import Record
from tests.opened_pool import NOW, played
from tests.opened_pool import opened as opened_pool
from tests.pools import some_rounds
from tests.store.samples import POOL, Submitted, a_round, opened, player

EVERYBODY = [player(number) for number in range(1, 11)]


def left_by(record: RecordRound, *quitters: PlayerId) -> RecordRound:
    presences = tuple(replace(each, left=each.id in quitters) for each in record.round.presences)
    return replace(record, round=replace(record.round, presences=presences))


async def test_each_rated_round_counts_once_for_each_participant(tmp_path: Path) -> None:
    won = left_by(a_round(1), player(3))
    rounds = [won, a_round(2, winner=None), a_round(3, winner=Side.B), a_round(4, unrated="too short"), won]
    async with opened(tmp_path / "s.db") as store:
        await store.record(POOL, [Submitted(each) for each in rounds], 0)
        found = await store.records(POOL, [player(1), player(3), player(9)])
        elsewhere = await store.records("other", [player(1)])
    assert found == {player(1): Record(1, 1, 1, 0), player(3): Record(1, 1, 1, 1), player(9): Record(0, 0, 0, 0)}
    assert elsewhere == {player(1): Record(0, 0, 0, 0)}


async def test_records_outlive_the_rounds_that_retention_deletes(tmp_path: Path) -> None:
    rounds = list(some_rounds(40))
    async with opened_pool(tmp_path, "elo") as pool:
        await played(pool, rounds)
        before = await pool.store.records(POOL, EVERYBODY)
        assert await pool.store.prune_rounds(POOL, 0, NOW + 1, 30) == 30
        assert await pool.store.records(POOL, EVERYBODY) == before
        assert sum(each.wins for each in before.values()) > 100


def test_a_store_of_the_ninth_step_gets_the_records_of_its_rounds(tmp_path: Path) -> None:
    older = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    migrate(Database(older), MIGRATIONS[:9])
    older.execute("INSERT INTO players VALUES ('main', 'p', 1, 1010, 3, 0, 7, '{}')")
    for number, (score, quit) in enumerate([(1.0, 0), (0.5, 1), (0.0, 0), (1.0, 0)], 5):
        older.execute(
            "INSERT INTO rounds (number, server, id, pool, session, map, mode, started_at, seconds, captures_a, "
            "captures_b, partial, waiting, lineup, recorded_at) "
            "VALUES (?, 's', ?, 'main', 'x', 'm', 'arena', 7, 90, 0, 0, 0, 0, '[]', 8)",
            (number, str(number)),
        )
        older.execute(
            "INSERT INTO participants (pool, player, round, place, side, seconds_a, seconds_b, before, after, "
            "prediction, score, rounds, visible, state, quit) "
            "VALUES ('main', 'p', ?, 0, 'a', 90, 0, 1000, 1010, 0.5, ?, 1, 0, '{}', ?)",
            (number, score, quit),
        )
    older.close()
    with closing(open_database(tmp_path / "s.db")) as database:
        assert database.execute("SELECT wins, draws, losses, leaves FROM players").fetchall() == [(2, 1, 1, 1)]
