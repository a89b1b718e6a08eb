"""The log of shared pools in PostgreSQL: append, read on, wait, and what lies beside the events.

An event is what one transaction changed in a pool. Events have numbers without gaps: who appends holds the pool's row
until its commit, so no number is seen before a smaller one. A digest of number, key and predecessor shows a log that
went back. This module knows neither what bodies say nor the store that they are written into.

Every call is bounded. A connection that fails is dropped, and the next call makes another one, after a pause that
grows. Statements are those that PostgreSQL, Citus, CockroachDB and YugabyteDB share, and they pass through PgBouncer in
its transaction mode: behind a pooler nothing is prepared by name, and nobody listens: who waits asks every second.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import socket
import ssl
import struct
import time
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from equipoise.errors import CommitUnknown, LogConflict, LogDamaged, LogError, LogMissing, LogRefused
from equipoise.shared.public import Changes, Statement
from equipoise.shared.schema import BODIES, FORMAT, SCHEMA, TABLES

if TYPE_CHECKING:
    import asyncpg

CALL_SECONDS = 5.0
"""The bound of a call, and how long the database lets a statement, a lock and a silent holder of it live."""
LONG_SECONDS = 3600.0
"""The bound of what moves a whole pool; each of its statements has `CALL_SECONDS`."""
POLL_SECONDS = 1.0
"""How often is asked where nobody tells."""
LONGEST_PAUSE = 5.0
"""Between two attempts to connect."""
PAGE_BYTES = 1 << 20
"""Of bodies as they lie in the log, compressed, that one `read` returns."""
HOLD_SECONDS = 15.0
"""After which an editor that has vanished no longer keeps others from appending."""
SILENT_SECONDS = 15.0
"""After which a machine that does not publish is taken for one that is down."""
CHANNEL = "equipoise"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What all daemons of a pool must agree on."""

    system: str
    params: Mapping[str, object]
    rating_version: int
    format: int = BODIES
    """Of bodies."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append."""

    kind: str
    """For people who read the table: "round", "set", "undo", …"""
    server: str | None
    round: str | None
    """With `server` the key of a round, which is in a pool once."""
    at: float
    """By the appender's clock."""
    pieces: tuple[bytes, ...]
    """The body, at least one piece."""


@dataclass(frozen=True, slots=True)
class LogEvent:
    """An event of the log."""

    number: int
    kind: str
    server: str | None
    round: str | None
    at: float
    machine: str
    digest: bytes
    pieces: tuple[bytes, ...] = field(repr=False)

    def follows(self, previous: bytes) -> bool:
        """Return whether it was appended behind the event with this digest."""
        return self.digest == chained(previous, self.number, self, self.machine)


@dataclass(frozen=True, slots=True)
class State:
    """A pool of the log at one moment."""

    last: int
    """The number of its last event."""
    digest: bytes
    """That of its last event, or of the base before any."""
    base: int
    """The number of the event that the newest base is as of."""
    agreement: Agreement
    held_by: str | None = None
    """The machine that keeps the others from appending, while it edits."""


@dataclass(frozen=True, slots=True)
class Base:
    """All rows of a pool as of event `number`, in pieces."""

    number: int
    digest: bytes
    count: int
    """Of pieces."""
    pieces: AsyncIterator[bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Server:
    """A game server, as its machine published it."""

    pool: str
    server: str
    machine: str
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Machine:
    """A daemon that publishes, this one too."""

    machine: str
    seconds: float
    """Since it was heard last, by the database's clock."""
    clock_seconds: float
    """How far its clock was ahead of the database's then."""
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Survey:
    """What the database is and has, for operators."""

    version: str
    durable: bool
    """A commit that it has confirmed survives a crash: `fsync` and `full_page_writes` are on."""
    read_only: bool
    """It is a standby, or takes no writes."""
    standbys: bool
    """A commit waits for standbys too."""
    encrypted: bool
    pooled: bool
    """A pooler such as PgBouncer is between: others are asked every second."""
    notifies: bool
    round_trip_seconds: float
    clock_seconds: float
    """How far our clock is ahead of the database's."""
    machines: Sequence[Machine]


def chained(previous: bytes, number: int, event: NewEvent | LogEvent, machine: str) -> bytes:
    """Return the digest of an event: of its place and its key, not of its body, which forgetting a person changes."""
    key = json.dumps([event.kind, event.server, event.round, machine]).encode()
    return hashlib.sha256(previous + struct.pack(">qd", number, event.at) + key).digest()


class SharedLog:
    """The pools of one database. `url` has no password; `machine` is the name that others see."""

    def __init__(self, url: str, password: str | None, machine: str, *, seconds: float = CALL_SECONDS) -> None:
        self.machine = machine
        self._url = url
        self._password = password
        self._seconds = seconds
        self._pooled = True  # until a connection shows that there is none between
        self._notifies = False
        self._instance = os.urandom(8).hex()
        self._published = False
        self._news: dict[str, asyncio.Event] = {}
        self._appender = _Link(self._connect, seconds)
        self._reader = _Link(self._connect_listener, seconds)

    async def open(self) -> None:
        """Connect, and make or check the tables."""
        async with self._reader.use() as connection:
            await connection.run(_prepare(connection.raw))

    async def close(self) -> None:
        """End both connections; others see at once that this machine is gone."""
        if self._published and self._reader.connected:
            with suppress(LogError, LogRefused):
                async with self._reader.use(1.0) as connection:
                    await connection.execute(
                        "UPDATE equipoise.machines SET at = at - $3 * interval '1 second' "
                        "WHERE machine = $1 AND instance = $2",
                        self.machine,
                        self._instance,
                        SILENT_SECONDS,
                    )
        await self._appender.close()
        await self._reader.close()

    # Connections.

    async def _connect(self) -> asyncpg.Connection[Any]:
        import asyncpg

        while True:
            connection = await asyncpg.connect(
                self._url,
                password=self._password,
                timeout=self._seconds,
                statement_cache_size=0 if self._pooled else 100,
                server_settings={"application_name": f"equipoise {self.machine}"[:63]},
            )
            try:
                # A pooler hands out keys of its own, and the process behind it may be another one each time.
                direct = await connection.fetchval("SELECT pg_backend_pid()") == connection.get_server_pid()
                if direct is not self._pooled:
                    if direct:
                        # A holder of the lock that vanished while it was being answered.
                        await _tried(connection, f"SET tcp_user_timeout = {round(self._seconds * 1000)}")
                    return connection
            except BaseException:
                connection.terminate()
                raise
            self._pooled = not direct
            connection.terminate()

    async def _connect_listener(self) -> asyncpg.Connection[Any]:
        connection = await self._connect()
        try:
            self._notifies = await _tried(connection, f"NOTIFY {CHANNEL}, ''")
            if self._notifies and not self._pooled:
                await connection.add_listener(CHANNEL, self._hear)
                connection.add_termination_listener(self._deaf)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _hear(self, *message: Any) -> None:
        if event := self._news.get(message[-1]):
            event.set()

    def _deaf(self, _: object) -> None:
        for event in self._news.values():
            event.set()

    @property
    def _listens(self) -> bool:
        return self._notifies and not self._pooled and self._reader.connected

    async def wait(self, pool: str, seconds: float) -> None:
        """Return when somebody appended to the pool since the last call, or after `seconds`.

        Where nobody tells, and while there is no connection, after a second at most. A notice may be lost: `seconds`
        are short. `read` makes the connection that listens.
        """
        event = self._news.setdefault(pool, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds if self._listens else min(seconds, POLL_SECONDS)):
                await event.wait()
        event.clear()

    # Pools.

    async def state(self, pool: str) -> State | None:
        """Return the pool as it is, None if there is none."""
        async with self._reader.use() as connection:
            return _state(await connection.fetchrow(f"SELECT {STATE} FROM equipoise.pools WHERE pool = $1", pool))

    async def share(self, pool: str, agreement: Agreement, number: int, pieces: AsyncIterable[bytes]) -> None:
        """Begin a pool with a base; the next event is `number` + 1. LogRefused if the pool is there already."""
        async with self._long() as connection:
            if await connection.fetchval("SELECT 1 FROM equipoise.pools WHERE pool = $1", pool):
                raise LogRefused(f"pool {pool} is in this database already: join it, or name another database")
            digest = os.urandom(32)  # another log of this name is another log from its first event on
            await connection.execute("BEGIN")
            await self._write_base(connection, pool, number, digest, pieces, Changes())
            await connection.execute(
                "INSERT INTO equipoise.pools (pool, system, params, rating_version, format, last, digest, base) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $6)",
                pool,
                *_columns(agreement),
                number,
                digest,
            )
            await connection.execute("COMMIT")

    async def _write_base(
        self,
        connection: _Used,
        pool: str,
        number: int,
        digest: bytes,
        pieces: AsyncIterable[bytes],
        changes: Changes | None,
    ) -> None:
        count = 0
        async for piece in pieces:
            if changes:
                changes.add(number, piece)
                await connection.execute_all(changes.statements(pool))
            await connection.execute(
                "INSERT INTO equipoise.base_pieces (pool, number, piece, body) VALUES ($1, $2, $3, $4)",
                pool,
                number,
                count,
                zlib.compress(piece, 1),
            )
            count += 1
        await connection.execute(
            "INSERT INTO equipoise.bases (pool, number, digest, pieces) VALUES ($1, $2, $3, $4)",
            pool,
            number,
            digest,
            count,
        )

    async def base(self, pool: str) -> Base:
        """Return the newest base. Its pieces are read one by one, on a connection of their own."""
        async with self._reader.use() as connection:
            row = await connection.fetchrow(
                "SELECT number, digest, pieces FROM equipoise.bases WHERE pool = $1 ORDER BY number DESC LIMIT 1", pool
            )
        if row is None:
            raise LogMissing(f"pool {pool} is not in this database")
        return Base(row["number"], row["digest"], row["pieces"], self._base_pieces(pool, row["number"], row["pieces"]))

    async def _base_pieces(self, pool: str, number: int, count: int) -> AsyncIterator[bytes]:
        for piece in range(count):
            async with self._reader.use() as connection:
                body = await connection.fetchval(
                    "SELECT body FROM equipoise.base_pieces WHERE pool = $1 AND number = $2 AND piece = $3",
                    pool,
                    number,
                    piece,
                )
            if body is None:
                raise LogError(f"the base of pool {pool} was replaced by a newer one: begin with that")
            yield _plain(body, f"piece {piece} of the base of pool {pool}")

    async def rebase(self, pool: str, number: int, pieces: AsyncIterable[bytes]) -> None:
        """Write a newer base, all rows as of event `number`, in the place of the older ones."""
        digest = await self.digest(pool, number)
        if digest is None:
            raise LogMissing(f"pool {pool} has no event {number} in the log")
        async with self._long() as connection:
            await connection.execute("BEGIN")
            await self._write_base(connection, pool, number, digest, pieces, None)
            for table in ("bases", "base_pieces"):
                await connection.execute(f"DELETE FROM equipoise.{table} WHERE pool = $1 AND number < $2", pool, number)
            await connection.execute("UPDATE equipoise.pools SET base = $2 WHERE pool = $1", pool, number)
            await connection.execute("COMMIT")

    async def trim(self, pool: str, number: int) -> int:
        """Delete the events up to `number`, or up to the base before that; returns how many rows they were.

        Who is behind them begins with the base.
        """
        deleted = 0
        async with self._long() as connection:
            while True:
                # In pieces: one statement for all would take longer than a statement may.
                count = await connection.fetchval(
                    "WITH gone AS (DELETE FROM equipoise.events WHERE pool = $1 AND number IN (SELECT number FROM "
                    "equipoise.events WHERE pool = $1 AND number <= $2 AND number <= (SELECT base FROM equipoise.pools "
                    "WHERE pool = $1) ORDER BY number LIMIT 1000) RETURNING 1) SELECT count(*) FROM gone",
                    pool,
                    number,
                )
                if not count:
                    return deleted
                deleted += count

    async def rewrite(self, pool: str, change: Callable[[bytes], bytes | None]) -> int:
        """Put what `change` returns in the place of a piece of an event or a base; None: it stays as it is.

        For forgetting a person. Returns how many pieces were changed. Digests stay: they are not of bodies.
        """
        count = 0
        async with self._long() as connection:
            for table in ("events", "base_pieces"):
                place = (-1, -1)
                while rows := await connection.fetch(
                    f"SELECT number, piece, body FROM equipoise.{table} WHERE pool = $1 AND (number, piece) > ($2, $3) "
                    "ORDER BY number, piece LIMIT 50",
                    pool,
                    *place,
                ):
                    for number, piece, body in rows:
                        place = number, piece
                        if (changed := change(_plain(body, f"event {number} of pool {pool}"))) is not None:
                            await connection.execute(
                                f"UPDATE equipoise.{table} SET body = $4 "
                                "WHERE pool = $1 AND number = $2 AND piece = $3",
                                pool,
                                *place,
                                zlib.compress(changed, 1),
                            )
                            count += 1
        return count

    # Events.

    async def read(self, pool: str, after: int, *, most_bytes: int = PAGE_BYTES) -> Sequence[LogEvent]:
        """Return events behind `after` in their order, none at the end of the log.

        An event that is larger than `most_bytes` comes alone. LogMissing if the log does not reach back so far.
        """
        async with self._reader.use() as connection:
            return await _read(connection, pool, after, most_bytes)

    async def digest(self, pool: str, number: int) -> bytes | None:
        """Return the digest of an event or of a base, None where the log has neither of this number."""
        async with self._reader.use() as connection:
            digest: bytes | None = await connection.fetchval(
                "SELECT digest FROM equipoise.events WHERE pool = $1 AND number = $2 AND piece = 0 "
                "UNION ALL SELECT digest FROM equipoise.bases WHERE pool = $1 AND number = $2 LIMIT 1",
                pool,
                number,
            )
        return digest

    @asynccontextmanager
    async def appending(self, pool: str) -> AsyncIterator[Appending]:
        """Hold the pool: nobody else appends until the context ends, which commits what was added.

        LogConflict: it is to be tried again. CommitUnknown: it may be stored, and its round is found by `read` then.
        """
        async with self._appender.use() as connection:
            await connection.execute(_begin(self._seconds))
            row = await connection.fetchrow(f"SELECT {STATE} FROM equipoise.pools WHERE pool = $1 FOR UPDATE", pool)
            if (state := _state(row)) is None:
                raise LogMissing(f"pool {pool} is not in this database")
            if state.held_by not in (None, self.machine):
                raise LogError(_held(pool, state.held_by))
            appending = Appending(connection, pool, self.machine, state)
            yield appending
            if appending.changed:
                told = f"; NOTIFY {CHANNEL}, {_quoted(pool)}" if self._notifies else ""
                await connection.commit(told)
            else:
                await connection.execute("ROLLBACK")

    @asynccontextmanager
    async def held(self, pool: str) -> AsyncIterator[None]:
        """Keep the other machines from appending until the context ends, however long that takes.

        LogError: another one does so now. Who vanishes lets go after `HOLD_SECONDS`.
        """
        await self._hold(pool)
        renewing = asyncio.create_task(self._keep_holding(pool))
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(LogError):  # it ends by itself
                async with self._reader.use() as connection:
                    await connection.execute(
                        "UPDATE equipoise.pools SET held_by = NULL WHERE pool = $1 AND held_by = $2", pool, self.machine
                    )

    async def _hold(self, pool: str) -> None:
        async with self._reader.use() as connection:
            holder = await connection.fetchrow(
                "UPDATE equipoise.pools SET held_by = $2, held_until = now() + $3 * interval '1 second' "
                "WHERE pool = $1 AND (held_by IS NULL OR held_by = $2 OR held_until < now()) RETURNING held_by",
                pool,
                self.machine,
                HOLD_SECONDS,
            )
            if holder is None:
                name = await connection.fetchval("SELECT held_by FROM equipoise.pools WHERE pool = $1", pool)
                raise LogError(_held(pool, name)) if name else LogMissing(f"pool {pool} is not in this database")

    async def _keep_holding(self, pool: str) -> None:
        while True:
            await asyncio.sleep(HOLD_SECONDS / 3)
            with suppress(LogError):
                await self._hold(pool)

    # Machines and game servers.

    async def publish(self, status: Mapping[str, Any], servers: Sequence[Server]) -> None:
        """Show the others that this machine is there, and its game servers; every few seconds.

        LogRefused: another machine that is there has this one's name.
        """
        async with self._reader.use() as connection:
            # Who loses it publishes again: no commit that waits for a disk.
            await connection.execute("BEGIN; SET LOCAL synchronous_commit = off")
            row = await connection.fetchval(
                "INSERT INTO equipoise.machines AS m (machine, instance, at, clock, status) "
                "VALUES ($1, $2, clock_timestamp(), $3, $4) ON CONFLICT (machine) DO UPDATE SET "
                "instance = excluded.instance, at = excluded.at, clock = excluded.clock, status = excluded.status "
                "WHERE m.instance = excluded.instance OR m.at < excluded.at - $5 * interval '1 second' "
                "RETURNING machine",
                self.machine,
                self._instance,
                time.time(),
                json.dumps(dict(status)),
                SILENT_SECONDS,
            )
            if row is None:
                raise LogRefused(
                    f"another daemon of this database calls itself {self.machine} too: give one of them another name, "
                    "machine in the table [shared], and restart it"
                )
            keys = [server.pool for server in servers], [server.server for server in servers]
            # Only what has changed: ten thousand servers would be as many dead rows every few seconds.
            await connection.execute(
                "INSERT INTO equipoise.servers AS s (pool, server, machine, status) SELECT pool, server, $1, status "
                "FROM unnest($2::text[], $3::text[], $4::text[]) AS new (pool, server, status) "
                "ON CONFLICT (pool, server, machine) DO UPDATE SET status = excluded.status "
                "WHERE s.status <> excluded.status",
                self.machine,
                *keys,
                [json.dumps(dict(server.status)) for server in servers],
            )
            await connection.execute(
                "DELETE FROM equipoise.servers WHERE machine = $1 AND (pool, server) NOT IN "
                "(SELECT * FROM unnest($2::text[], $3::text[]))",
                self.machine,
                *keys,
            )
            await connection.execute("COMMIT")
            self._published = True

    async def servers(self) -> Sequence[Server]:
        """Return the game servers of all machines that are there. Two machines may have one of the same name."""
        async with self._reader.use() as connection:
            rows = await connection.fetch(
                "SELECT pool, server, machine, s.status FROM equipoise.servers AS s JOIN equipoise.machines AS m "
                "USING (machine) WHERE m.at > clock_timestamp() - $1 * interval '1 second' ORDER BY 1, 2, 3",
                SILENT_SECONDS,
            )
        return [Server(pool, server, machine, json.loads(status)) for pool, server, machine, status in rows]

    async def machines(self) -> Sequence[Machine]:
        """Return the machines that have published, those that are silent too."""
        async with self._reader.use() as connection:
            return await _machines(connection)

    async def survey(self) -> Survey:
        """Return what operators should know of the database."""
        async with self._reader.use() as connection:
            started, clock = time.monotonic(), time.time()
            at = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::double precision")
            seconds = time.monotonic() - started
            names = (
                "server_version",
                "fsync",
                "full_page_writes",
                "transaction_read_only",
                "synchronous_standby_names",
            )
            settings = await connection.fetchrow(
                f"SELECT {', '.join(f'current_setting({_quoted(name)}, true)' for name in names)}"
            )
            version, fsync, full_pages, read_only, standbys = settings
            encrypted = await connection.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            return Survey(
                version=version,
                durable="off" not in (fsync, full_pages),
                read_only=read_only == "on",
                standbys=standbys is not None and standbys != "",
                encrypted=bool(encrypted),
                pooled=self._pooled,
                notifies=self._notifies,
                round_trip_seconds=seconds,
                clock_seconds=clock + seconds / 2 - at,
                machines=await _machines(connection),
            )

    @asynccontextmanager
    async def _long(self) -> AsyncIterator[_Used]:
        """A connection of its own for what takes its time."""
        link = _Link(self._connect, self._seconds)
        try:
            async with link.use(LONG_SECONDS) as connection:
                yield connection
        finally:
            await link.close()


class Appending:
    """A pool that is held, in one transaction."""

    def __init__(self, connection: _Used, pool: str, machine: str, state: State) -> None:
        self._connection = connection
        self._pool = pool
        self._machine = machine
        self.last = state.last
        self.digest = state.digest
        self.agreement = state.agreement
        self.changed = False

    async def read(self, after: int, *, most_bytes: int = PAGE_BYTES) -> Sequence[LogEvent]:
        """Return events behind `after` as `SharedLog.read` does; what is read here stays the end until the commit."""
        return await _read(self._connection, self._pool, after, most_bytes)

    async def add(self, events: Sequence[NewEvent]) -> Sequence[LogEvent]:
        """Append events, and return them as they are in the log if the commit succeeds."""
        numbered = []
        for event in events:
            self.last += 1
            self.digest = chained(self.digest, self.last, event, self._machine)
            head = (self.last, event.kind, event.server, event.round, event.at, self._machine, self.digest)
            numbered.append(LogEvent(*head, event.pieces))
        changes, batch, size = Changes(), list[tuple[object, ...]](), 0
        for one in numbered:
            for place, piece in enumerate(one.pieces):
                changes.add(one.number, piece)
                body = zlib.compress(piece, 1)
                batch.append((one.number, place, *(_head(one) if place == 0 else _NO_HEAD), body))
                if (size := size + len(body)) > PAGE_BYTES:
                    await self._insert(batch)
                    await self._connection.execute_all(changes.statements(self._pool))
                    batch, size = [], 0
        if batch:
            await self._insert(batch)
        await self._connection.execute_all(changes.statements(self._pool))
        await self._connection.execute(
            "UPDATE equipoise.pools SET last = $2, digest = $3 WHERE pool = $1", self._pool, self.last, self.digest
        )
        self.changed = True
        return numbered

    async def _insert(self, rows: Sequence[tuple[object, ...]]) -> None:
        await self._connection.execute(
            "INSERT INTO equipoise.events (pool, number, piece, kind, server, round, at, machine, digest, body) "
            "SELECT $1, * FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::text[], $6::text[], "
            "$7::double precision[], $8::text[], $9::bytea[], $10::bytea[])",
            self._pool,
            *(list(column) for column in zip(*rows, strict=True)),
        )

    async def agree(self, agreement: Agreement) -> None:
        """Change what all daemons of the pool agree on, with the commit."""
        await self._connection.execute(
            "UPDATE equipoise.pools SET system = $2, params = $3, rating_version = $4, format = $5 WHERE pool = $1",
            self._pool,
            *_columns(agreement),
        )
        self.agreement = agreement
        self.changed = True


_NO_HEAD = (None,) * 6
STATE = (
    "system, params, rating_version, format, last, digest, base, "
    "CASE WHEN held_until > now() THEN held_by END AS held_by"
)


def _head(event: LogEvent) -> tuple[object, ...]:
    return event.kind, event.server, event.round, event.at, event.machine, event.digest


def _columns(agreement: Agreement) -> tuple[object, ...]:
    params = json.dumps(dict(agreement.params), sort_keys=True)
    return agreement.system, params, agreement.rating_version, agreement.format


def _state(row: Mapping[str, Any] | None) -> State | None:
    if row is None:
        return None
    agreement = Agreement(row["system"], json.loads(row["params"]), row["rating_version"], row["format"])
    return State(row["last"], row["digest"], row["base"], agreement, row["held_by"])


def _held(pool: str, machine: str | None) -> str:
    return f"machine {machine} is editing pool {pool}: rounds wait meanwhile, and other edits are tried again later"


def _begin(seconds: float) -> str:
    """Begin to append: said explicitly, because a repeatable read after the lock would be older than the lock."""
    limits = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    settings = "".join(f"; SET LOCAL {limit} = {round(seconds * 1000)}" for limit in limits)
    return f"BEGIN ISOLATION LEVEL READ COMMITTED{settings}; SET LOCAL synchronous_commit = on"


async def _machines(connection: _Used) -> Sequence[Machine]:
    rows = await connection.fetch(
        "SELECT machine, extract(epoch FROM clock_timestamp() - at)::double precision, "
        "clock - extract(epoch FROM at)::double precision, status FROM equipoise.machines ORDER BY machine"
    )
    return [Machine(name, seconds, clock, json.loads(status)) for name, seconds, clock, status in rows]


async def _read(connection: _Used, pool: str, after: int, most_bytes: int) -> Sequence[LogEvent]:
    rows = await connection.fetch(
        """SELECT number, kind, server, round, at, machine, digest, pieces, CASE WHEN bytes <= $3 THEN body END AS body
        FROM equipoise.events AS e JOIN (
            SELECT number, pieces, bytes, row_number() OVER (ORDER BY number) AS place,
                sum(bytes) OVER (ORDER BY number) AS total
            FROM (
                SELECT number, count(*) AS pieces, sum(octet_length(body)) AS bytes FROM equipoise.events
                WHERE pool = $1 AND number > $2 GROUP BY number ORDER BY number LIMIT 1000
            ) AS sizes
        ) AS totals USING (number)
        WHERE pool = $1 AND number > $2 AND (total <= $3 OR place = 1) AND (bytes <= $3 OR piece = 0)
        ORDER BY number, piece""",
        pool,
        after,
        most_bytes,
    )
    if rows and rows[0]["number"] != after + 1:
        raise LogMissing(f"pool {pool}: the log begins with event {rows[0]['number']}: begin with the base")
    events: list[LogEvent] = []
    for number, kind, server, round_, at, machine, digest, count, body in rows:
        if kind is not None:
            if number != after + 1 + len(events):
                raise LogDamaged(f"event {after + 1 + len(events)} of pool {pool} is missing in the log")
            events.append(LogEvent(number, kind, server, round_, at, machine, digest, ()))
        if body is None:
            pieces = [piece async for piece in _pieces(connection, pool, number, count)]
        elif not events or events[-1].number != number:
            raise LogDamaged(f"event {number} of pool {pool} has no first piece")
        else:
            pieces = [_plain(body, f"event {number} of pool {pool}")]
        events[-1] = replace(events[-1], pieces=(*events[-1].pieces, *pieces))
    return events


async def _pieces(connection: _Used, pool: str, number: int, count: int) -> AsyncIterator[bytes]:
    """Yield the pieces of an event that is too large to be read at once."""
    for place in range(count):
        body = await connection.fetchval(
            "SELECT body FROM equipoise.events WHERE pool = $1 AND number = $2 AND piece = $3", pool, number, place
        )
        connection.extend()
        yield _plain(body, f"event {number} of pool {pool}")


def _plain(body: bytes, what: str) -> bytes:
    try:
        return zlib.decompress(body)
    except zlib.error as error:
        raise LogDamaged(f"{what} is damaged: {error}") from None


# Connections.


class _Used:
    """A connection for the length of one use; each statement is bounded by what is left of it."""

    def __init__(self, raw: asyncpg.Connection[Any], seconds: float, deadline: float) -> None:
        self.raw = raw
        self._seconds = seconds
        self._deadline = deadline

    async def run(self, statement: Any) -> Any:
        """Await a statement of `raw`."""
        now = asyncio.get_running_loop().time()
        async with asyncio.timeout_at(min(self._deadline, now + self._seconds)):
            return await statement

    async def execute(self, statement: str, *values: object) -> None:
        """Run a statement; without values it may be several, in one round trip."""
        await self.run(self.raw.execute(statement, *values))

    async def execute_all(self, statements: Iterable[Statement]) -> None:
        """Run statements with values; however many, each of them has the time of a call."""
        for statement, values in statements:
            self.extend()
            await self.execute(statement, *values)

    def extend(self) -> None:
        """Begin to count anew: what is under way is large, and goes on."""
        self._deadline = max(self._deadline, asyncio.get_running_loop().time() + self._seconds)

    async def fetch(self, query: str, *values: object) -> Any:
        return await self.run(self.raw.fetch(query, *values))

    async def fetchrow(self, query: str, *values: object) -> Any:
        return await self.run(self.raw.fetchrow(query, *values))

    async def fetchval(self, query: str, *values: object) -> Any:
        return await self.run(self.raw.fetchval(query, *values))

    async def commit(self, told: str) -> None:
        """Commit, and tell others in the same round trip but behind the commit: a notice inside has a lock of all."""
        import asyncpg

        try:
            await self.execute(f"COMMIT{told}")
        except (asyncpg.SerializationError, asyncpg.DeadlockDetectedError):
            raise
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError):
                raise
            raise CommitUnknown(f"whether it is stored is not known: {_text(error)}") from error


class _Link:
    """A connection that is made when it is needed, used by one at a time, and dropped when it fails."""

    def __init__(self, connect: Any, seconds: float) -> None:
        self._connect = connect
        self._seconds = seconds
        self._connection: asyncpg.Connection[Any] | None = None
        self._turn = asyncio.Lock()
        self._failures = 0
        self._not_before = 0.0
        self._failure: LogError | LogRefused | None = None

    @property
    def connected(self) -> bool:
        return self._connection is not None and not self._connection.is_closed()

    @asynccontextmanager
    async def use(self, seconds: float | None = None) -> AsyncIterator[_Used]:
        """Lend the connection. What fails inside becomes a LogError or LogRefused, and takes the connection along."""
        now = asyncio.get_running_loop().time()
        deadline = now + (seconds or self._seconds)
        try:
            async with asyncio.timeout_at(now + self._seconds):
                await self._turn.acquire()
        except TimeoutError:
            raise LogError("the connection is in use by a call that takes long") from None
        try:
            connection = await self._connected(now + self._seconds)
            try:
                yield _Used(connection, self._seconds, deadline)
            except BaseException as error:
                await self._recover(connection, error)
                if isinstance(error, LogError | LogRefused) or not (known := translated(error)):
                    raise
                raise known from error
        finally:
            self._turn.release()

    async def _connected(self, deadline: float) -> asyncpg.Connection[Any]:
        loop = asyncio.get_running_loop()
        if self._connection is not None:
            if not self._connection.is_closed():
                return self._connection
            self._drop()
        if self._failure is not None and loop.time() < self._not_before:
            raise self._failure
        try:
            async with asyncio.timeout_at(deadline):
                self._connection = await self._connect()
        except Exception as error:
            self._failure = translated(error) or LogError(_text(error))
            self._not_before = loop.time() + min(LONGEST_PAUSE, 0.125 * 2**self._failures)
            self._failures = min(self._failures + 1, 10)
            raise self._failure from error
        self._failure, self._failures = None, 0
        return self._connection

    async def _recover(self, connection: asyncpg.Connection[Any], error: BaseException) -> None:
        """Go back to no transaction, or drop the connection."""
        if not connection.is_closed() and (isinstance(error, Exception) and not _ends_connection(error)):
            if not connection.is_in_transaction():
                return
            with suppress(Exception):
                async with asyncio.timeout(self._seconds):
                    await connection.execute("ROLLBACK")
                return
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        """End the connection; what is under way on it fails."""
        if self._connection is not None:
            with suppress(Exception):
                await self._connection.close(timeout=1)
            self._drop()


async def _tried(connection: asyncpg.Connection[Any], statement: str) -> bool:
    """Run what not every database has."""
    import asyncpg

    try:
        await connection.execute(statement)
    except asyncpg.PostgresError:
        return False
    return True


async def _prepare(connection: asyncpg.Connection[Any]) -> None:
    """Make the tables where there are none, and refuse those of another program or format."""
    import asyncpg

    if await connection.fetchval("SHOW server_encoding") not in ("UTF8", "UTF-8"):
        raise LogRefused("the database is not in UTF-8: make one with ENCODING 'UTF8' TEMPLATE template0")
    if not await _tables(connection):
        with suppress(asyncpg.DuplicateSchemaError, asyncpg.DuplicateTableError, asyncpg.UniqueViolationError):
            async with connection.transaction():  # another daemon may do the same at this moment
                for statement in SCHEMA:
                    await connection.execute(statement)
    tables = await _tables(connection)
    if "format" not in tables:
        raise LogRefused(
            "its schema `equipoise` is another program's: give Equipoise a database of its own, "
            "as by CREATE DATABASE equipoise"
        )
    number = await connection.fetchval("SELECT format FROM equipoise.format")
    if number != FORMAT:
        newer = isinstance(number, int) and number > FORMAT
        advice = (
            "upgrade Equipoise on this machine" if newer else "upgrade the other machines, and share the pool again"
        )
        raise LogRefused(f"its tables have format {number}, this Equipoise knows {FORMAT}: {advice}")
    if missing := TABLES - tables:
        raise LogRefused(f"its table equipoise.{min(missing)} is missing: restore the database from a backup")


async def _tables(connection: asyncpg.Connection[Any]) -> set[str]:
    rows = await connection.fetch("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'equipoise'")
    return {row["tablename"] for row in rows}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# Errors.


def _ends_connection(error: Exception) -> bool:
    """Return whether a connection is of no use after an error: all but what a server that lives refuses."""
    import asyncpg

    if isinstance(error, CommitUnknown):
        return True
    if isinstance(error, asyncpg.PostgresError):
        # Read-only: after a failover another server has the name.
        return isinstance(error, asyncpg.ReadOnlySQLTransactionError) or (error.sqlstate or "08")[:2] in ("08", "57")
    return not isinstance(error, LogError | LogRefused)


def _text(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return str(error).partition("\n")[0] or type(error).__name__


def translated(error: BaseException) -> LogError | LogRefused | None:
    """Return what an error of the connection means for us, None for one that is not of it."""
    import asyncpg

    text = _text(error)
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        if state in ("40001", "40P01"):
            return LogConflict(text)
        for prefix, advice in _REFUSED.items():
            if state.startswith(prefix):
                return LogRefused(f"{text}: {advice}")
        return LogError(text)
    if isinstance(error, ssl.SSLError) or "SSL upgrade" in text:
        return LogRefused(f"{text}: set sslmode and sslrootcert in the URL as the server has it")
    if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
        return LogRefused(f"{text}: correct the host in the URL")
    if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError | OSError | TimeoutError):
        return LogError(text)
    return None


_REFUSED = {
    "28": "correct the role in the URL or its password",
    "3D000": "create the database, or correct its name in the URL",
    "42501": "give the role what it needs: GRANT CREATE ON DATABASE … TO …, or make it the owner",
    "42P01": "restore the database from a backup",
}
