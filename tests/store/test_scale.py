"""What a read costs does not grow with the store."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.filled_store import POOL, Past, fill, player, server
from equipoise.core.model import RoundId, ServerId
from equipoise.store import past
from equipoise.store.notes import Decision
from equipoise.store.seasons import Rule
from equipoise.store.store import Store
from tests.store.samples import Submitted, a_round, opened, submit
from tests.store.traced import Traced

pytestmark = pytest.mark.slow

UNTIL = 1_763_700_000.0
MONTH_AGO = UNTIL - 30 * 86400
SMALL = Past(players=300, rounds=400, decisions=1_000, days=300.0, size=6, until=UNTIL)
LARGE = Past(players=3_000, rounds=4_000, decisions=10_000, days=3_000.0, size=6, until=UNTIL)
"""Ten times as many of everything, over ten times as many days: as many players are active."""
QUIET = server(0)
NEVER_HEARD_OF = ServerId("quiet")
SIX = [player(number) for number in range(6)]

Call = Callable[[Store], Awaitable[Any]]

READS: Mapping[str, Call] = {
    "decisions of a server": lambda store: store.decisions(QUIET, 10),
    "decisions of a server without any": lambda store: store.decisions(NEVER_HEARD_OF, 10),
    "decisions": lambda store: store.decisions(None, 10),
    "decisions before one": lambda store: store.decisions(QUIET, 10, before=900),
    "decisions since one": lambda store: store.decisions(None, 10, after=900),
    "audits": lambda store: store.audits(10),
    "audits before one": lambda store: store.audits(10, before=900),
    "rounds": lambda store: store.rounds(None, None, 10),
    "rounds of a server": lambda store: store.rounds(QUIET, 300, 10),
    "rounds of a server without any": lambda store: store.rounds(NEVER_HEARD_OF, None, 10),
    "rounds on a map": lambda store: store.rounds(None, 300, 10, map_name="koth_harvest_final"),
    "rounds on a map that nobody played": lambda store: store.rounds(None, None, 10, map_name="nowhere"),
    "rated rounds of a pool": lambda store: store.rounds(None, None, 10, POOL),
    "a round": lambda store: store.round(QUIET, RoundId("1")),
    "edits of a player": lambda store: store.edits_of(POOL, player(5), 300, 10),
    "rounds of a player": lambda store: store.played(POOL, player(5), None, 300, 10),
    "seen": lambda store: store.seen(POOL, player(5)),
    "memory": lambda store: store.memory(QUIET),
    "players": lambda store: store.players(POOL, SIX, 10),
    "names": lambda store: store.names(POOL, SIX),
    "predictions": lambda store: store.predictions(POOL, 100),
    "measured": lambda store: store.measured(POOL, 100),
    "team sizes": lambda store: store.team_sizes(POOL, 100),
    "crowd": lambda store: store.crowd(POOL, since=MONTH_AGO),
    "top": lambda store: store.top(POOL, 10, since=MONTH_AGO),
    "top below a player": lambda store: store.top(POOL, 10, since=MONTH_AGO, after=player(5)),
    "players a week ago": lambda store: store.players_at(POOL, SIX, UNTIL - 7 * 86400, Rule(50, 30 * 86400.0)),
    "rank": lambda store: store.rank(POOL, player(5), since=MONTH_AGO),
    "fingerprint": lambda store: store.fingerprint(POOL),
    "shared": lambda store: store.shared(POOL),
    "pruned rounds": lambda store: store.pruned_rounds(POOL),
    "extent": lambda store: store.extent(),
}
WRITES: Mapping[str, Call] = {
    "record": lambda store: store.record(POOL, [Submitted(a_round(9_999, a=(1, 2, 3), b=(4, 5, 6)))], 10),
    "prune decisions": lambda store: store.prune("decisions", UNTIL - 86400, 20),
    "prune audit": lambda store: store.prune("audit", UNTIL - 86400, 20),
    "prune rounds": lambda store: store.prune_rounds(POOL, 5, UNTIL - 86400, 2),
}
SEARCH: Mapping[str, Call] = {
    "search": lambda store: store.search(POOL, "player 29", 5),
    "named": lambda store: store.named(POOL, "player 29", 5),
    "decisions about a player": lambda store: store.decisions_about(player(2), None, 10),
    "decisions about a player since": lambda store: store.decisions_about(player(2), None, 10, since=UNTIL - 86400),
    "decisions about nobody": lambda store: store.decisions_about(player(999_999), QUIET, 5),
    "rounds of a player on a server": lambda store: store.played(POOL, player(5), QUIET, None, 10),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "s.db"
    asyncio.run(fill(path, SMALL))
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "s.db"
    asyncio.run(fill(path, LARGE))
    return path


class Counted(Store):
    """A real store that counts the steps of SQLite's virtual machine, by tens."""

    tens = 0

    def _connect(self) -> None:
        super()._connect()
        self._connection.set_progress_handler(self._step, 10)

    def _step(self) -> None:
        self.tens += 1


async def steps(path: Path, calls: Mapping[str, Call]) -> dict[str, int]:
    """The steps of each call, with everything that is cached in memory by an earlier one."""
    found = {}
    async with opened(path, kind=Counted) as store:
        for name, call in calls.items():
            await call(store)
            before = store.tens
            await call(store)
            found[name] = 10 * (store.tens - before)
    return found


async def test_no_call_takes_more_steps_in_a_store_of_ten_times_the_size(small: Path, large: Path) -> None:
    few, many = await steps(small, READS | WRITES), await steps(large, READS | WRITES)

    grown = {name: (few[name], many[name]) for name in few if many[name] > 1.5 * few[name] + 100}
    assert grown == {}


async def test_a_search_of_the_decisions_takes_no_more_steps_for_a_piece_of_a_longer_log(large: Path) -> None:
    async with opened(large, kind=Counted) as store:
        taken = []
        for until in (None, 4_001):  # five pieces, and two
            before = store.tens
            assert await store.decisions_about(player(999_999), None, 5, before=until) == ([], None)
            taken.append(store.tens - before)
    assert taken[0] < 3 * taken[1]


async def test_a_search_holds_the_store_for_one_piece_of_the_players_at_a_time(large: Path) -> None:
    async with opened(large, kind=Traced) as store:
        with store.watched() as statements:
            searching = asyncio.create_task(store.search(POOL, "player 29", 500))
            while not store.statements:  # noqa: ASYNC110 (a tenth of a second later it would be over)
                await asyncio.sleep(0)
            await store.ping()  # as a round would, it comes between two pieces
            found = await searching
        ping = next(place for place, each in enumerate(statements) if each.startswith("BEGIN"))
        assert any("LIKE" in each for each in statements[ping:])

    assert sorted(row.name for row in found if row.name) == sorted(
        f"player {number}" for number in range(LARGE.players) if f"player {number}".startswith("player 29")
    )
    assert [row.id for row in found] == [row.id for row in sorted(found, key=lambda row: (-row.rating, row.id))]


async def test_no_statement_of_the_running_daemon_reads_a_whole_table(small: Path) -> None:
    async with opened(small, kind=Traced) as store:
        plans = []
        for call in (*READS.values(), *WRITES.values(), *SEARCH.values()):
            store.note([Decision(QUIET, UNTIL, "move", "3 against 1")])
            with store.watched() as statements:
                await call(store)
            plans += [(line, one) for one in statements for line in await plan(store, one)]

    assert any("SEARCH participants" in line for line, _ in plans)
    scans = [(line, one) for line, one in plans if re.match(r"SCAN (?!changed|wanted|held|json_each|CONSTANT)", line)]
    # These walk down from the newest row, and stop.
    walks = [
        one for _, one in scans if re.search(r"FROM (decisions|audit|rounds)\s+ORDER BY number DESC LIMIT \d+$", one)
    ]
    assert [(line, one) for line, one in scans if one not in walks] == []


async def plan(store: Traced, statement: str) -> list[str]:
    """The lines that say how SQLite carries out a statement."""
    if not re.match(r"\s*(SELECT|UPDATE|DELETE|INSERT)", statement):
        return []
    rows = await store._read(lambda db: db.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall())
    return [row[3] for row in rows]


async def test_a_round_of_24_writes_few_pages_though_its_players_are_strewn_over_a_pool(tmp_path: Path) -> None:
    path, log = tmp_path / "s.db", tmp_path / "s.db-wal"
    await fill(path, Past(players=2_000, rounds=1_500, days=30.0, until=UNTIL))
    strewn = range(7, 2_000, 83)[:24]
    async with opened(path) as store:
        for number in range(21):
            if number == 1:  # the first one brings the players' rows together
                await store._read(lambda db: db.execute("PRAGMA wal_checkpoint(RESTART)").fetchall())
                before = await store._read(_frames)
            one = a_round(9_000 + number, a=strewn[:12], b=strewn[12:], started_at=UNTIL + 86400 + 600 * number)
            await store.record(POOL, [Submitted(one)], 10)
        written = await store._read(_frames) - before
    assert not log.exists()
    assert written / 20 <= 55


def _frames(db: sqlite3.Connection) -> int:
    """Pages in the write-ahead log: the middle number of three."""
    return int(db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1])


PIECE = 100


def steps_of_the_past(path: Path) -> int:
    """Steps of SQLite, in hundreds, to read all rounds back."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    with closing(sqlite3.connect(path)) as database:
        database.set_progress_handler(count, 100)
        assert sum(1 for _ in past.rated(database, "main")) == int(path.stem)
    return counted


async def test_reading_four_times_as_many_rounds_takes_four_times_as_many_steps(tmp_path: Path) -> None:
    for total in (PIECE, 4 * PIECE):
        async with opened(tmp_path / f"{total}.db") as store:
            for first in range(0, total, PIECE):
                await submit(store, *(Submitted(a_round(number)) for number in range(first, first + PIECE)))
    few, many = (steps_of_the_past(tmp_path / f"{total}.db") for total in (PIECE, 4 * PIECE))
    assert many < 5 * few
