"""Daemons' pools on several machines that share one log, in one process: each has a store and a ring of its own."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from equipoise import ratings
from equipoise.app import SystemClock
from equipoise.install.configuration import with_database
from equipoise.service.ring import Ring
from equipoise.service.shared_pool import SharedPool
from equipoise.shared.log import SharedLog
from equipoise.store.changes import TABLES
from equipoise.store.store import Store
from tests.cli.house import House
from tests.postgres import PASSWORD
from tests.store.samples import until

POOL = "main"
BY_BALANCE = ("balance_prediction", "said", "unevenness")
"""Written behind rounds by each machine's own balance system."""
SharedPool.answer_seconds = 20.0  # as in `tests/conftest.py`
ANEW: dict[str, Any] = {"system": "synelo", "params": {}, "balance": None}


@asynccontextmanager
async def machine(folder: Path, name: str, url: str, **how: Any) -> AsyncIterator[SharedPool]:
    """A machine's pool; the first one begins the log, the others join it."""
    how = {**ANEW, **how}
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    system = ratings.create(how["system"], **how["params"])
    balance = ratings.create(how["balance"]) if how["balance"] else None
    store, log = Store(folder / "equipoise.db"), SharedLog(url, PASSWORD, name)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        await store.open()
        stack.push_async_callback(log.close)
        pool = SharedPool(POOL, system, store, Ring(folder / "main.ring"), SystemClock(), log, balance=balance)
        stack.push_async_callback(pool.close)
        await pool.open()
        await until(lambda: POOL in store.followed)
        yield pool


async def until_equal(*pools: SharedPool) -> None:
    """Wait until every store has all events, and no round waits."""
    for _ in range(2000):
        positions = [pool.store.followed.get(POOL) for pool in pools]  # None: a newer base is being read
        numbers = {position and position.number for position in positions}
        if len(numbers) == 1 and not any(pool.ring_depth for pool in pools):
            state = await pools[0]._log.state(POOL)
            if state is not None and numbers == {state.last}:
                for pool in pools:
                    async with pool._writing:  # what came last is noted in memory, too
                        pass
                return
        await asyncio.sleep(0.01)
    raise AssertionError([pool.sharing for pool in pools])


def rows_of(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the shared pool, with the log's numbers in place of the store's."""
    with closing(sqlite3.connect(store)) as db:
        numbers = dict(db.execute("SELECT local, number FROM logged WHERE pool = ?", (POOL,)))
        tables = {}
        for name, table in TABLES.items():
            if name in ("snapshots", "audit", "sessions"):
                continue
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
            rows = [
                tuple(
                    numbers.get(value, value) if column in table.numbers else value
                    for column, value in zip(columns, row, strict=True)
                    if column not in (*table.local, *BY_BALANCE)
                )
                for row in db.execute(f"SELECT * FROM {name}")
            ]
            tables[name] = sorted(rows, key=repr)
        tables["audit"] = db.execute(
            "SELECT at, who, action, target, before, after FROM audit ORDER BY number"
        ).fetchall()
        tables["sessions"] = sorted(db.execute("SELECT * FROM sessions"))
        return tables


def play(scenario: Callable[..., Awaitable[None]], url: str, *names: str, **how: Any) -> None:
    """Run a scenario with a pool for each machine, and compare their stores at the end."""

    async def run(folder: Path) -> None:
        async with AsyncExitStack() as stack:
            pools = [await stack.enter_async_context(machine(folder / name, name, url, **how)) for name in names]
            await scenario(*pools)
            await until_equal(*pools)

    with TemporaryDirectory() as text:
        folder = Path(text)
        asyncio.run(run(folder))
        first, *others = [rows_of(folder / name / "equipoise.db") for name in names]
        for name, other in zip(names[1:], others, strict=True):
            for table in first:
                assert other[table] == first[table], f"{table} of {name} beside {names[0]}"


def house(folder: Path, name: str, url: str) -> House:
    """A machine with a configuration that shares the pool; its daemon does not run."""
    made = House.made(folder / name)
    (made.folder / "secrets").mkdir(exist_ok=True)
    password = made.folder / "secrets" / "database"
    password.write_text(PASSWORD + "\n")
    password.chmod(0o600)
    made.edit("k_max = 12\n", "")
    text = with_database(made.config.read_text(), POOL, url, "secrets/database")
    assert text is not None
    made.config.write_text(f'{text}\n[shared]\nmachine = "{name}"\n')
    return made
