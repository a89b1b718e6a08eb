"""The schema's steps: each whole or not at all, each once."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.store.connection import APPLICATION_ID, migrate, open_database
from equipoise.store.migrations import (
    MIGRATIONS,
    PARTICIPANTS,
    PARTICIPANTS_BY_ROUND,
    PLAYERS,
    PLAYERS_BY_RATING,
    PLAYERS_BY_TIME,
    RECORDS,
    ROUNDS_RATED,
    ROUNDS_RATED_AGAIN,
    Migration,
)
from tests.hosts import GivenClock
from tests.pools import fill, recomputed, some_rounds, stored
from tests.store.samples import SERVER, opened, player, sql

BY_PLAYER = (
    "ALTER TABLE participants RENAME TO in_order",
    "ALTER TABLE players RENAME TO in_one_row",
    *(f"DROP INDEX {name}" for name in ("participants_by_round", "participants_by_player", "players_by_time")),
    PLAYERS,
    PARTICIPANTS,
    "ALTER TABLE participants ADD COLUMN quit INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE participants ADD COLUMN spans TEXT",
    "ALTER TABLE participants ADD COLUMN counts TEXT",
    "INSERT INTO players SELECT pool, id, version, rating, rounds, visible, last_played, state FROM in_one_row",
    "INSERT INTO participants SELECT * FROM in_order",
    RECORDS,
    "INSERT INTO records SELECT pool, id, wins, draws, losses, leaves FROM in_one_row",
    "DROP TABLE in_order",
    "DROP TABLE in_one_row",
    PARTICIPANTS_BY_ROUND,
    PLAYERS_BY_TIME[1],
    f"DELETE FROM {Migrations.migrations_table} WHERE name > '0019'",
    "PRAGMA user_version = 18",
)
"""Takes a store back to its eighteenth step."""

WITHOUT_EDITS = (
    *BY_PLAYER,
    "DROP TABLE records",
    "DROP TABLE snapshots",
    "DROP INDEX rounds_rated",
    "ALTER TABLE rounds DROP COLUMN bots",
    "ALTER TABLE rounds DROP COLUMN said",
    "ALTER TABLE rounds DROP COLUMN unevenness",
    ROUNDS_RATED_AGAIN[1],
    "ALTER TABLE rounds DROP COLUMN balance_prediction",
    "ALTER TABLE rounds DROP COLUMN squads",
    "ALTER TABLE participants DROP COLUMN counts",
    "ALTER TABLE participants DROP COLUMN spans",
    "DROP INDEX rounds_by_server",
    "DROP INDEX rounds_by_map",
    "DROP TABLE untold",
    "DROP TABLE followed",
    "DROP TABLE logged",
    "DROP TABLE chances",
    "DROP TABLE hidden",
    "DROP TABLE seasons",
    "DROP TABLE forgetting",
    "DROP TABLE qualities",
    "DROP TABLE voids",
    "DROP TABLE edited",
    "DROP TABLE edits",
    "ALTER TABLE rounds DROP COLUMN voided",
    f"DROP TABLE {Migrations.migrations_table}",
    "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT)",
    *(f"INSERT INTO migrations VALUES ({number}, '{step.name}')" for number, step in enumerate(MIGRATIONS[:5], 1)),
    "PRAGMA user_version = 5",
)
"""Takes a store back to its fifth step, with the records that programs made before the thirteenth."""

WITHOUT_GROWTH = (
    *WITHOUT_EDITS,
    "DROP TABLE crowds",
    "DROP INDEX decisions_by_time",
    "DROP INDEX audit_by_time",
    "DROP INDEX rounds_by_time",
    "DROP INDEX rounds_rated",
    "DROP INDEX players_by_time",
    "ALTER TABLE rounds DROP COLUMN pruned",
    "ALTER TABLE pools DROP COLUMN pruned_rounds",
    ROUNDS_RATED,
    PLAYERS_BY_RATING,
    "DELETE FROM migrations WHERE number > 4",
    "PRAGMA user_version = 4",
)
"""Takes a store back to its fourth step."""

TABLES = """
SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT LIKE '%migrations' ORDER BY name
"""


def taken_back(path: Path, steps: int, *statements: str) -> sqlite3.Connection:
    """A store that these statements take back to what its first steps made."""
    older = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        older.execute(statement)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        migrate(Database(fresh), MIGRATIONS[:steps])
        assert older.execute(TABLES).fetchall() == fresh.execute(TABLES).fetchall()
    return older


LATER = Migration("9999-later", statements=("CREATE TABLE later (id)", "INSERT INTO later VALUES (1)"))


def _pragmas(database: Database) -> tuple[int, int]:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (steps,) = database.execute("PRAGMA user_version").fetchone()
    return application, steps


def has_taken_every_step(path: Path) -> bool:
    """Open a store, and tell whether it knows all steps by their names and says so in its header."""
    with closing(open_database(path)) as database:
        names = [row["name"] for row in database.table(Migrations.migrations_table).rows]
        return names == [step.name for step in MIGRATIONS] and _pragmas(database) == (APPLICATION_ID, len(MIGRATIONS))


def test_a_fresh_store_has_taken_every_step_and_says_so_in_its_header(tmp_path: Path) -> None:
    assert has_taken_every_step(tmp_path / "s.db")
    tables, one_by_one = sql(tmp_path / "s.db", TABLES), sqlite3.connect(":memory:")
    for statement in (statement for step in MIGRATIONS for statement in step.statements):
        one_by_one.execute(statement)

    assert [step.name for step in MIGRATIONS] == sorted({step.name for step in MIGRATIONS})
    assert tables == one_by_one.execute(TABLES).fetchall()
    for name, made in tables:  # a step that fills one would have to fill a new store's, too
        assert not made.startswith("CREATE TABLE") or not one_by_one.execute(f"SELECT 1 FROM {name}").fetchall()


def test_a_store_of_the_twelfth_step_keeps_its_records_of_steps(tmp_path: Path) -> None:
    older = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    for step in MIGRATIONS[:12]:
        for statement in step.statements:
            older.execute(statement)
    older.execute("CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT)")
    older.executemany("INSERT INTO migrations VALUES (?, ?)", enumerate((step.name for step in MIGRATIONS[:12]), 1))
    older.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    older.execute("PRAGMA user_version = 12")
    older.close()
    assert has_taken_every_step(tmp_path / "s.db")
    assert ("migrations",) not in sql(tmp_path / "s.db", "SELECT name FROM sqlite_master")


@pytest.mark.slow
@pytest.mark.parametrize("count", range(len(MIGRATIONS) + 1))
def test_a_store_whose_steps_were_interrupted_takes_the_others_at_the_next_start(tmp_path: Path, count: int) -> None:
    broken = Migration("9999-broken", statements=("CREATE TABEL typo (id)",))
    older = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    with closing(older), pytest.raises(sqlite3.OperationalError, match="TABEL"):
        migrate(Database(older), (*MIGRATIONS[:count], broken))
    assert has_taken_every_step(tmp_path / "s.db")


def test_a_step_that_fails_leaves_nothing_and_is_taken_later_once(tmp_path: Path) -> None:
    broken = Migration("9999-later", statements=(*LATER.statements, "CREATE TABEL typo (id)"))
    with closing(open_database(tmp_path / "s.db")) as database:
        with pytest.raises(sqlite3.OperationalError, match="TABEL"):
            migrate(database, (*MIGRATIONS, broken))
        assert not database.table("later").exists()
        assert _pragmas(database)[1] == len(MIGRATIONS)
        for _ in range(2):
            migrate(database, (*MIGRATIONS, LATER))
        assert database.table("later").count == 1
        assert _pragmas(database)[1] == len(MIGRATIONS) + 1


def test_a_store_of_the_first_step_keeps_its_rounds_in_which_no_player_is_known_to_have_quit(tmp_path: Path) -> None:
    older = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    migrate(Database(older), MIGRATIONS[:1])
    older.execute("INSERT INTO players VALUES ('main', 'p', 1, 1010, 1, 0, 7, '{}')")
    older.execute(
        "INSERT INTO rounds VALUES "
        "(5, 's', 'r', 'main', 'x', 'm', 'arena', 7, 90, 'a', 0, 0, 0, 0, '[]', NULL, NULL, 0.5, 8)"
    )
    older.execute("INSERT INTO participants VALUES ('main', 'p', 5, 0, 'a', 90, 0, 1000, 1010, 0.5, 1, 1, 0, '{}')")
    older.close()
    open_database(tmp_path / "s.db").close()
    assert sql(tmp_path / "s.db", "SELECT player, after, quit FROM participants") == [("p", 1010.0, 0)]
    assert sql(tmp_path / "s.db", "SELECT * FROM pools") == []


def test_a_store_of_the_second_step_keeps_what_its_systems_share_in_parts(tmp_path: Path) -> None:
    older = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    migrate(Database(older), MIGRATIONS[:2])
    wholes = {
        "ns2": """{"all":[1.5,2],"maps":{"ns2_veil":[[1,2],[1,1],[0,1]]},"lengths":[600.5]}""",
        "teamskill_k": """{"2":{"a+b":{"mu":25.1}},"3":{"a+b+c":{"mu":24.9}}}""",
        "synelo": "{}",
    }
    for system, whole in wholes.items():
        older.execute("INSERT INTO pools VALUES (?, ?, '{}', ?, 4, 7)", (f"a {system}", system, whole))
    older.close()
    open_database(tmp_path / "s.db").close()
    assert sql(tmp_path / "s.db", "SELECT pool, key, part FROM shared ORDER BY pool, key") == [
        ("a ns2", "all", "[1.5,2]"),
        ("a ns2", "lengths", "[600.5]"),
        ("a ns2", "map:ns2_veil", "[[1,2],[1,1],[0,1]]"),
        ("a teamskill_k", "a+b", '{"mu":25.1}'),
        ("a teamskill_k", "a+b+c", '{"mu":24.9}'),
    ]
    assert sql(tmp_path / "s.db", "SELECT version, changed_at FROM pools") == [(4, 7.0)] * 3


async def test_a_store_of_the_third_step_is_read_back_and_recomputed_as_before(tmp_path: Path) -> None:
    async def seen() -> list[tuple[RecordRound, float]]:
        found: list[tuple[RecordRound, float]] = []
        async with opened(path) as store:
            await store.rated_rounds("main", lambda record, predicted: found.append((record, predicted)))
        return found

    path = tmp_path / "equipoise.db"
    await fill(tmp_path, list(some_rounds(20, spans=False)))
    before, numbers = await seen(), stored(tmp_path)
    taken_back(
        path,
        3,
        *WITHOUT_GROWTH,
        "ALTER TABLE rounds RENAME COLUMN lineup TO doors",
        "ALTER TABLE rounds RENAME COLUMN skill_at_start TO standing",
        "DELETE FROM migrations WHERE number > 3",
        "PRAGMA user_version = 3",
    ).close()

    assert await seen() == before
    assert any(record.skill_at_start for record, _ in before)
    async with opened(path) as store:
        await recomputed(store, ratings.create("synelo"))
    assert stored(tmp_path) == numbers


async def test_a_store_of_the_fifth_step_knows_how_many_edits_it_has_lost(tmp_path: Path) -> None:
    path = tmp_path / "equipoise.db"
    await fill(tmp_path, list(some_rounds(20)))
    with closing(taken_back(path, 5, *WITHOUT_EDITS)) as older:
        for action, target in (("set", player(1)), ("reset", player(2)), ("set", player(99)), ("scramble", SERVER)):
            older.execute("INSERT INTO audit VALUES (NULL, 7, 'owner', ?, ?, '1000', '1500')", (action, target))
    async with opened(path) as store:
        assert await store.lost_edits("main") == 2
        pool = Pool("main", ratings.create("synelo"), store, Ring(tmp_path / "main.ring"), GivenClock(1_800_000_000.0))
        await pool.open()
        await pool.edit(player(1), 1500.0, "owner")
        await pool.close()
        assert await store.lost_edits("main") == 2


async def test_a_store_of_the_fourth_step_gets_the_sums_over_its_players(tmp_path: Path) -> None:
    await fill(tmp_path, list(some_rounds(20)), shadow_rounds=12)
    kept = sql(tmp_path / "equipoise.db", "SELECT * FROM crowds ORDER BY visible")
    taken_back(tmp_path / "equipoise.db", 4, *WITHOUT_GROWTH).close()
    open_database(tmp_path / "equipoise.db").close()

    assert [row[1] for row in kept] == [0, 1]
    assert sql(tmp_path / "equipoise.db", "SELECT * FROM crowds ORDER BY visible") == kept
    assert sql(tmp_path / "equipoise.db", "SELECT count(*) FROM rounds WHERE NOT pruned") == [(20,)]


ROUNDS_OF_MANY = 3_000
EVERYTHING = (
    "SELECT * FROM participants ORDER BY round, place",
    "SELECT pool, id, rating, state, wins, draws, losses, leaves FROM players ORDER BY id",
)


async def test_a_store_of_the_eighteenth_step_killed_anywhere_in_its_migration_keeps_every_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.store.connection.PROGRESS_SECONDS", 0.0)
    caplog.set_level(logging.INFO)
    await fill(tmp_path, list(some_rounds(20)))
    path = tmp_path / "equipoise.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        columns = [row[1] for row in older.execute("PRAGMA table_info(participants)") if row[1] != "round"]
        everybody = "SELECT min(number) FROM rounds"
        older.executescript(
            # Rounds enough for several pieces: copies of one of those that were played.
            f"CREATE TEMP TABLE many AS WITH RECURSIVE n (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM n "
            f"LIMIT {ROUNDS_OF_MANY}) SELECT n FROM n;"
            "INSERT INTO rounds (number, server, id, pool, session, map, mode, started_at, seconds, captures_a, "
            "captures_b, partial, waiting, lineup, recorded_at, prediction) SELECT n, server, 'copy ' || n, pool, "
            "session, map, mode, started_at, seconds, captures_a, captures_b, partial, waiting, lineup, recorded_at, "
            f"prediction FROM many CROSS JOIN rounds WHERE number = ({everybody});"
            f"INSERT INTO participants ({', '.join(columns)}, round) SELECT {', '.join(columns)}, n "
            f"FROM many CROSS JOIN participants WHERE round = ({everybody});"
        )
        kept = [older.execute(query).fetchall() for query in EVERYTHING]
        for statement in BY_PLAYER:
            older.execute(statement)

    kills, done = 0, False
    while not done:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            left = iter(range(40 + 37 * kills))
            connection.set_progress_handler(lambda left=left: next(left, None) is None, 5_000)
            with suppress(sqlite3.OperationalError):  # interrupted
                migrate(Database(connection))
                done = True
        kills += not done
    with closing(open_database(path)) as database:
        assert [database.execute(query).fetchall() for query in EVERYTHING] == kept
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    assert kills > 3
    assert "rows" in caplog.text


def test_a_store_is_durable_and_checks_its_references(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "s.db")) as database:
        for name, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
            assert database.execute(f"PRAGMA {name}").fetchone() == (value,), name
