"""The Store port on one file of SQLite: every call runs on the one thread that owns the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from sqlite_utils import Database

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, PlayerSummary, ServerId
from equipoise.errors import StoreError
from equipoise.store.port import (
    Audit,
    Decision,
    EditRow,
    Fingerprint,
    Known,
    PlayerRow,
    Prediction,
    RatedRound,
    RateRows,
    Replay,
    SeeRound,
    Shared,
)
from equipoise.store.sqlite import journal, players, pools, replays, rounds
from equipoise.store.sqlite.connection import Lock, open_database, probe, store_errors, transaction

T = TypeVar("T")


class SqliteStore:
    """Call `open` first and `close` last; in between, calls are served one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock(path.with_name(f"{path.name}.lock"))
        self._thread: ThreadPoolExecutor | None = None
        self._database: Database | None = None

    async def open(self) -> None:
        """Take the lock file, connect and migrate."""
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="store")
        await self._run(self._connect)

    async def close(self) -> None:
        """Finish what is under way, fold the write-ahead log into the file and let others in."""
        if self._thread is not None:
            await self._run(self._disconnect)
            self._thread.shutdown()
            self._thread = None

    async def ping(self) -> None:
        """Fail if the file cannot be written now."""
        await self._read(probe)

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        """Rows of known players; strangers are missing."""

        def load(db: Connection) -> Mapping[PlayerId, PlayerRow]:
            found = (players.load(db, pool, player, window) for player in ids)
            return {row.id: row for row in found if row}

        return await self._read(load)

    async def record(
        self,
        pool: str,
        record: RecordRound,
        known: Known,
        window: int,
        rate: RateRows,
        memory: bytes | None,
        at: float,
    ) -> RatedRound:
        """One transaction, once per round; see the port."""
        server = record.round.server

        def apply(db: Connection) -> RatedRound:
            if first := rounds.first_answer(db, server, record.round.id):
                return first
            stored = list(players.changed(db, pool, known.players, window))
            rated = rate(stored, pools.shared(db, pool, known.shared))
            players.update(db, pool, rated.changes, record.round.started_at)
            rounds.insert(db, pool, record, rated, at)
            pools.keep_shared(db, pool, rated.shared)
            if memory is not None:
                rounds.remember_if_newer(db, server, memory, at)
            return rated

        return await self._write(apply)

    async def edit(self, pool: str, player: PlayerId, window: int, edit: EditRow) -> PlayerRow:
        """One transaction: an admin's change of a player and its line in the audit."""
        return await self._write(lambda db: players.edit(db, pool, player, window, edit))

    async def name(self, pool: str, player: PlayerId, name: str) -> None:
        """Remember what a player called himself last."""
        await self._write(lambda db: players.name(db, pool, player, name))

    async def remember(self, server: ServerId, memory: bytes, at: float) -> None:
        """Store a server's session memory."""
        await self._write(lambda db: rounds.remember(db, server, memory, at))

    async def memory(self, server: ServerId) -> bytes | None:
        """A server's session memory, None before the first."""
        return await self._read(lambda db: rounds.memory(db, server))

    async def decide(self, decision: Decision) -> None:
        """Append to the decision log."""
        await self._write(lambda db: journal.decide(db, decision))

    async def decisions(self, server: ServerId | None, limit: int) -> Sequence[Decision]:
        """The newest decisions, newest first."""
        return await self._read(lambda db: journal.decisions(db, server, limit))

    async def audit(self, entry: Audit) -> None:
        """Append to the audit."""
        await self._write(lambda db: journal.audit(db, entry))

    async def audits(self, limit: int) -> Sequence[Audit]:
        """The newest audit lines, newest first."""
        return await self._read(lambda db: journal.audits(db, limit))

    async def fingerprint(self, pool: str) -> Fingerprint | None:
        """What a pool's ratings are made by."""
        return await self._read(lambda db: pools.fingerprint(db, pool))

    async def adopt(self, pool: str, fingerprint: Fingerprint, at: float) -> None:
        """Record what a pool's ratings are made by from now on."""
        await self._write(lambda db: pools.adopt(db, pool, fingerprint, at))

    async def shared(self, pool: str) -> Shared | None:
        """What the pool's system keeps of no single player."""
        return await self._read(lambda db: pools.shared(db, pool))

    async def rated_rounds(self, pool: str, see: SeeRound) -> None:
        """Show every rated round of a pool, in the order in which they were applied."""
        await self._read(lambda db: replays.see(db, pool, see))

    async def recompute(self, pool: str, replay: Replay, entry: Audit) -> None:
        """One transaction; see the port."""
        await self._write(lambda db: replays.recompute(db, pool, replay, entry))

    async def predictions(self, pool: str, limit: int | None) -> Sequence[Prediction]:
        """The last rated rounds of a pool, without a limit all, oldest first."""
        return await self._read(lambda db: rounds.predictions(db, pool, limit))

    async def summaries(self, pool: str) -> Sequence[PlayerSummary]:
        """Everybody in a pool."""
        return await self._read(lambda db: players.summaries(db, pool))

    async def top(self, pool: str, limit: int | None, *, since: float | None) -> Sequence[PlayerRow]:
        """The leaderboard."""
        return await self._read(lambda db: players.top(db, pool, limit, since))

    async def rank(self, pool: str, player: PlayerId, *, since: float | None) -> tuple[int, int] | None:
        """A player's place on the leaderboard and its length."""
        return await self._read(lambda db: players.rank(db, pool, player, since))

    async def search(self, pool: str, text: str, limit: int) -> Sequence[PlayerRow]:
        """Players whose id or last name contains the text."""
        return await self._read(lambda db: players.search(db, pool, text, limit))

    async def _write(self, work: Callable[[Connection], T]) -> T:
        def atomically(db: Connection) -> T:
            with transaction(db):
                return work(db)

        return await self._read(atomically)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        def served() -> T:
            with store_errors():
                return work(self._connection)

        return await self._run(served)

    async def _run(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            raise StoreError("store: it is not open")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    @property
    def _connection(self) -> Connection:
        if self._database is None:
            raise StoreError("store: it is not open")
        return self._database.conn

    def _connect(self) -> None:
        self._lock.take()
        try:
            self._database = open_database(self.path)
        except BaseException:
            self._lock.drop()
            raise

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
        self._lock.drop()
