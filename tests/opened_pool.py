"""A pool on a real store and a real ring, for tests to open."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.ratings.system import System
from equipoise.service.held import MOST_HELD
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.store.store import Store

NOW = 1_763_700_000.0


class Stopped:
    """A clock that does not move."""

    def monotonic(self) -> float:
        return 0.0

    def epoch(self) -> float:
        return NOW


def a_pool(
    directory: Path,
    store: Store,
    system: str = "synelo",
    most_held: int = MOST_HELD,
    balance: System[Any] | None = None,
    **params: object,
) -> Pool:
    own = ratings.create(system, **params)
    return Pool("main", own, store, Ring(directory / "main.ring"), Stopped(), most_held, balance)


@asynccontextmanager
async def opened(
    directory: Path, system: str = "synelo", *, kind: type[Store] = Store, **params: Any
) -> AsyncIterator[Pool]:
    store = kind(directory / "s.db")
    await store.open()
    try:
        pool = a_pool(directory, store, system, **params)
        await pool.open()
        try:
            yield pool
        finally:
            await pool.close()
    finally:
        await store.close()


def summary_of(system: System[Any], one: PlayerId) -> PlayerSummary:
    """A system's summary as a pool gives it: with what splits balance on."""
    skill, deviation, skills = system.skill(one), system.deviation(one), system.skills(one)
    return replace(system.summary(one), skill=skill, deviation=deviation, skills=skills)


def rated_alone(*records: RecordRound, system: str = "synelo", **params: object) -> System[Any]:
    """The same rounds, rated one after the other with nothing in between."""
    alone = ratings.create(system, **params)
    for record in records:
        match = match_of(record)
        assert match is not None
        alone.rate(match)
    return alone


def stored_rounds(directory: Path) -> list[str]:
    """Ids in the order of being applied."""
    with closing(sqlite3.connect(directory / "s.db")) as database:
        return [id for (id,) in database.execute("SELECT id FROM rounds ORDER BY number")]
