"""Pools with a past: random rounds between a few players, rated by a real pool into a real store."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.core.model import Side
from equipoise.ratings.system import System
from equipoise.service.pool import Pool
from equipoise.service.replayed import Replayed
from equipoise.service.ring import Ring
from equipoise.store.notes import Audit
from equipoise.store.player_rows import PlayerRow
from equipoise.store.sequence import BulkEdit
from equipoise.store.store import Store
from tests.hosts import GivenClock
from tests.store.samples import a_round, opened, player, with_counts, with_spans

PLAYERS = 10

RECOMPUTE = Audit(9.0, "console", "recompute", "pool main", "as it was", "as it is")

_TABLES = {
    "players": "SELECT id, rating, rounds, visible, last_played, state FROM players ORDER BY id",
    "participants": "SELECT * FROM participants ORDER BY round, place",
    "rounds": "SELECT number, id, prediction, unrated FROM rounds ORDER BY number",
    "pools": "SELECT pool, system, params FROM pools",
    "shared": "SELECT pool, key, part FROM shared ORDER BY pool, key",
}


def some_rounds(count: int, seed: int = 1, *, spans: bool = True) -> Iterator[RecordRound]:
    """3 against 3; who has the lower number is better; some leave early, some are not rated.

    Unless they shall be such as older stores have, every third has spans, and every third counts and a squad.
    """
    draw = random.Random(seed)
    for number in range(count):
        sides = draw.sample(range(1, PLAYERS + 1), 6)
        edge = (sum(sides[3:]) - sum(sides[:3])) / 20
        winner = None if draw.random() < 0.05 else Side.A if draw.random() < 0.5 + edge else Side.B
        unrated = "not seen going live" if draw.random() < 0.05 else None
        record = a_round(number, a=sides[:3], b=sides[3:], winner=winner, unrated=unrated)
        record = with_spans(record) if spans and number % 3 == 2 else record
        record = with_counts(record) if spans and number % 3 == 1 else record
        quitter = replace(record.round.presences[-1], left=draw.random() < 0.3)
        played = replace(record.round, presences=(*record.round.presences[:-1], quitter))
        skill_at_start = {player(each): 1000.0 + each for each in sides} if draw.random() < 0.2 else None
        yield replace(record, round=played, skill_at_start=skill_at_start)


@asynccontextmanager
async def pool_in(
    directory: Path, system: str = "synelo", *, name: str = "main", balance: System[Any] | None = None, **params: object
) -> AsyncIterator[Pool]:
    """A pool in the place of a daemon that is down, opened by the clock of January 2027."""
    await asyncio.to_thread(directory.mkdir, mode=0o700, parents=True, exist_ok=True)
    async with opened(directory / "equipoise.db") as store:
        own, ring = ratings.create(system, **params), Ring(directory / f"{name}.ring")
        pool = Pool(name, own, store, ring, GivenClock(1_800_000_000.0), balance=balance)
        await pool.open()
        try:
            yield pool
        finally:
            await pool.close()


async def fill(directory: Path, records: Sequence[RecordRound], system: str = "synelo", **params: object) -> None:
    """Record them in the daemon's own place."""
    async with pool_in(directory, system, **params) as pool:
        for record in records:
            assert (await pool.record(record, None)).status == "stored"


def stored(directory: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every number that a rating system made, by table."""
    with closing(sqlite3.connect(directory / "equipoise.db")) as database:
        return {table: database.execute(query).fetchall() for table, query in _TABLES.items()}


async def recomputed(store: Store, system: System[Any], kind: type[Replayed] = Replayed) -> Replayed:
    """Rate the rounds of a pool anew, as `equipoise pool recompute` does."""
    replayed = kind(system, await store.fingerprint("main"))
    await store.recompute("main", replayed, RECOMPUTE)
    return replayed


def row_of(system: System[Any], number: int, **seeds: float) -> PlayerRow:
    """A player as an import makes them."""
    one = player(number)
    system.seed(one, **seeds)
    summary = system.summary(one)
    return PlayerRow(one, 0, summary.rating, summary.rounds, summary.visible, None, system.state(one), ())


def an_import(system: System[Any], ratings_of: dict[int, float], **fields: Any) -> BulkEdit:
    made = type(system)(system.params)
    rows = [row_of(made, number, rating=rating, rounds=60) for number, rating in ratings_of.items()]
    edit = BulkEdit("import", 1_800_000_000.0, "owner", rows, "no ratings", "skills.csv")
    return replace(edit, **fields)
