"""What a pool's ratings are made by, what its system shares among all players, and every fact of a stored round."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, Presence, Side
from equipoise.store import notes, player_rows, round_rows, sequence
from equipoise.store.connection import open_database, transaction
from equipoise.store.notes import Audit
from equipoise.store.player_rows import Fingerprint, PlayerRow, SharedParts
from equipoise.store.round_rows import RatedRound
from tests.store.samples import POOL, SERVER, Submitted, a_round, opened, player, record, sql, submit

MADE_BY = Fingerprint("synelo", {"k_max": 72.0, "window": [1, 2]})


async def test_a_pool_has_the_fingerprint_it_was_adopted_with_last_and_keeps_what_it_shares(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "s.db") as store:
        assert await store.fingerprint(POOL) is None
        await store.adopt(POOL, MADE_BY, 5.0)
        await store.adopt("other", Fingerprint("elo", {}), 5.5)
        assert await store.fingerprint(POOL) == MADE_BY
        await store.adopt(POOL, Fingerprint("ns2", {"window": 3}), 6.0)
        assert await store.fingerprint(POOL) == Fingerprint("ns2", {"window": 3})
        assert await store.fingerprint("other") == Fingerprint("elo", {})
        assert await store.shared(POOL) == SharedParts(1, {})
    assert sql(tmp_path / "s.db", "SELECT changed_at FROM pools ORDER BY pool") == [(6.0,), (5.5,)]


class Sharing(Submitted):
    """A round whose rating changes what all players share."""

    def rate(self, rows: Any, shared: SharedParts | None) -> RatedRound:
        parts = {"offset": self.record.round.seconds, f"map:{self.record.round.id}": [1, 2]}
        return replace(super().rate(rows, shared), shared=parts)


async def test_rounds_write_the_shared_parts_that_they_changed_and_count_versions(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await store.adopt(POOL, MADE_BY, 5.0)
        await store.adopt("other", MADE_BY, 5.0)
        await submit(store, Submitted(a_round(1)))
        assert await store.shared(POOL) == SharedParts(1, {})
        await submit(store, Sharing(a_round(2)))
        await submit(store, Sharing(a_round(3)))
        expected = {"offset": 90.0, f"map:{a_round(2).round.id}": [1, 2], f"map:{a_round(3).round.id}": [1, 2]}
        assert await store.shared(POOL) == SharedParts(3, expected)
        assert await store.shared("other") == SharedParts(1, {})
        assert await store.shared("unknown") is None


def test_of_an_outcome_that_has_shared_parts_a_pool_takes_them_over_and_another_keeps_its_own(tmp_path: Path) -> None:
    open_database(tmp_path / "s.db").close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as database:
        database.execute("ATTACH ':memory:' AS outcome")
        database.execute("CREATE TABLE outcome.shared (key PRIMARY KEY, part)")
        database.execute("CREATE TABLE outcome.replaced (what)")
        for pool in (POOL, "other"):
            player_rows.adopt_fingerprint(database, pool, MADE_BY, 5.0)
            player_rows.keep_shared(database, pool, {"b": 1.0})
        old = player_rows.shared(database, POOL)
        player_rows.take_over_shared(database, POOL)
        assert player_rows.shared(database, POOL) == old
        database.execute("INSERT INTO outcome.replaced VALUES ('shared')")
        database.execute("INSERT INTO outcome.shared VALUES ('a', '2.0')")
        player_rows.take_over_shared(database, POOL)
        assert player_rows.shared(database, POOL) == SharedParts(old.version + 1, {"a": 2.0})
        assert player_rows.shared(database, "other") == old


async def test_a_stored_round_has_its_pool_and_another_has_none(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await submit(store, Submitted(a_round(1)))
        assert await store.pool_of(SERVER, a_round(1).round.id) == POOL
        assert await store.pool_of(SERVER, a_round(2).round.id) is None


async def test_rating_is_handed_the_shared_parts_only_in_a_version_that_memory_lacks(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await store.adopt(POOL, MADE_BY, 5.0)
        await submit(store, Sharing(a_round(1)))
        for held, expected in ((2, None), (1, 2), (0, 2)):
            one = Submitted(a_round(10 + held))
            one.held = lambda held=held: replace(Submitted(a_round()).held(), shared=held)  # type: ignore[method-assign, misc]
            await submit(store, one)
            assert (one.shared and one.shared.version) == expected


def test_replaced_shared_parts_leave_nothing_of_the_old_ones(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "s.db")) as database, transaction(database.conn):
        for pool in (POOL, "other"):
            player_rows.adopt_fingerprint(database.conn, pool, MADE_BY, 1.0)
            player_rows.keep_shared(database.conn, pool, {"old": 1, "offset": 2})
        player_rows.replace_shared(database.conn, POOL, {"offset": 3})
        assert player_rows.shared(database.conn, POOL) == SharedParts(3, {"offset": 3})
        assert player_rows.shared(database.conn, "other") == SharedParts(2, {"old": 1, "offset": 2})
        player_rows.keep_shared(database.conn, POOL, {})
        assert player_rows.shared(database.conn, POOL, 3) is None


def every_fact() -> RecordRound:
    record = a_round(7, captures_a=2)
    presences = tuple(replace(one, left=one.id == player(4)) for one in record.round.presences)
    round = replace(record.round, captures_b=1, partial=True, waiting=True, winner=None, presences=presences)
    return replace(record, round=round, skill_at_start={player(1): 1010.5})


async def test_every_fact_of_a_round_is_in_the_database(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await record(store, every_fact(), at=42.0)
    with closing(open_database(tmp_path / "s.db")) as database:
        (row,) = database.query("SELECT * FROM rounds")
        participants = list(database.query("SELECT * FROM participants ORDER BY place"))
    lineup, skills = json.loads(row.pop("lineup")), json.loads(row.pop("skill_at_start"))
    round = every_fact().round

    assert lineup == [{"id": one.id, "side": one.side.value} for one in round.lineup]
    assert skills == {player(1): 1010.5}
    assert row == {
        "number": 1,
        "server": SERVER,
        "id": round.id,
        "pool": POOL,
        "session": round.session,
        "map": "arena_well",
        "mode": "arena",
        "started_at": round.started_at,
        "seconds": 90.0,
        "winner": None,
        "captures_a": 2,
        "captures_b": 1,
        "partial": 1,
        "waiting": 1,
        "unrated": None,
        "prediction": 0.625,
        "recorded_at": 42.0,
        "pruned": 0,
        "voided": None,
        "squads": None,
        "bots": None,
        "balance_prediction": None,
        "said": None,
        "unevenness": None,
    }
    assert [
        (one["player"], one["place"], one["side"], one["seconds_a"], one["seconds_b"], one["quit"], one["score"])
        for one in participants
    ] == [
        (player(1), 0, "a", 90.0, 0.0, 0, 0.5),
        (player(2), 1, "a", 90.0, 0.0, 0, 0.5),
        (player(3), 2, "b", 0.0, 90.0, 0, 0.5),
        (player(4), 3, "b", 0.0, 90.0, 1, 0.5),
    ]


def a_row(number: int, **fields: Any) -> PlayerRow:
    row = PlayerRow(player(number), 0, 1000.0 + number, 60 + number, True, 50.0 + number, {"n": number}, ())
    return replace(row, **fields)


AUDIT = Audit(7.0, "Ann", "set", "a player", "1000", "1001")


def test_an_edited_row_is_stored_whole_with_its_audit_and_its_rounds(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "s.db")) as database, transaction(database.conn):
        db = database.conn
        first = sequence.edit(db, POOL, player(1), 500, lambda row: (a_row(1) if row is None else row, AUDIT))
        assert first == a_row(1, version=1)
        round_rows.apply(db, POOL, Submitted(a_round()), 500)
        new = a_row(1, rating=5.0, visible=False, last_played=2.0)
        second = sequence.edit(db, POOL, player(1), 500, lambda row: (new, AUDIT))
        assert second == replace(new, version=3, history=((1011.0, 0.625, 1.0),))
        assert notes.audits(db, 10) == [AUDIT, AUDIT]
        assert notes.audits(db, 1) == [AUDIT]


async def test_ranks_through_the_store_are_of_the_asked_player_since_the_asked_time(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        for number in (1, 2, 3):
            await store.edit(POOL, player(number), 0, lambda _, n=number: (a_row(n), AUDIT))
        assert await store.rank(POOL, player(1), since=None) == (3, 3)
        assert await store.rank(POOL, player(2), since=52.0) == (2, 2)
        assert await store.rank(POOL, player(1), since=52.0) is None
        assert [row.id for row in await store.top(POOL, 2, since=None)] == [player(3), player(2)]
        assert [row.id for row in await store.search(POOL, player(1)[:-2], 2)] == [player(3), player(2)]
        assert (await store.crowd(POOL, since=None)).count == 3


def test_a_presence_that_left_marks_a_quit_only_for_a_participant(tmp_path: Path) -> None:
    stranger = Presence(PlayerId("stranger"), Side.A, 1.0, 0.0, fought=False, left=True)
    one = every_fact()
    one = replace(one, round=replace(one.round, presences=(*one.round.presences, stranger)))
    with closing(open_database(tmp_path / "s.db")) as database, transaction(database.conn):
        round_rows.apply(database.conn, POOL, Submitted(one), 500)
        assert database.execute("SELECT player FROM participants WHERE quit").fetchall() == [(player(4),)]
