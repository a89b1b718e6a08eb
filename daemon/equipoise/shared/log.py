"""The log of shared pools in PostgreSQL: append, read on, wait, and what lies beside the events.

An event is what one transaction changed in a pool. Events have numbers without gaps: who appends holds the pool's row
until its commit, so no number is seen before a smaller one. A digest of number, key and predecessor shows a log that
went back. This module knows neither what bodies say nor the store that they are written into.

Statements are those that PostgreSQL, Citus, CockroachDB and YugabyteDB share, and they pass through PgBouncer in its
transaction mode: behind a pooler nothing is prepared by name, and nobody listens: who waits asks every second.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import struct
import time
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from equipoise.errors import LogConflict, LogDamaged, LogError, LogHeld, LogMissing, LogRefused
from equipoise.shared.bodies import FORMAT
from equipoise.shared.connections import IF_FIRST, Link, committing, execute_if, is_direct, tried
from equipoise.shared.schema import KEPT, Changes, prepare

if TYPE_CHECKING:
    from equipoise.shared.connections import Connection

CALL_SECONDS = 5.0
"""The bound of a statement, and how long the database lets one, a lock and a silent holder of it live."""
PAGE_BYTES = 1 << 20
"""Of bodies as they lie in the log, compressed, that one `read` returns."""
HOLD_SECONDS = 15.0
"""After which an editor that has vanished no longer keeps others from appending."""
SILENT_SECONDS = 15.0
"""After which a machine that does not publish is taken for one that is down."""
LEAVE_SECONDS = 1.0
"""For which a daemon that stops tries to tell the others."""
LARGEST = 2**31 - 1
CHANNEL = "equipoise"


@dataclass(frozen=True, slots=True)
class Agreement:
    """The system, parameters and formats that all daemons of a pool must agree on."""

    system: str
    params: Mapping[str, object]
    rating_version: int
    format: int = FORMAT
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
    """The state of a database, for operators."""

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
    """Those that are silent too."""


def chained(previous: bytes, number: int, event: NewEvent | LogEvent, machine: str) -> bytes:
    """Return the digest of an event: of its place and its key, not of its body, which forgetting a person changes."""
    key = json.dumps([event.kind, event.server, event.round, machine]).encode()
    return hashlib.sha256(previous + struct.pack(">qd", number, event.at) + key).digest()


_BEGIN_LONG = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 60000; SET LOCAL synchronous_commit = on"
_STATE = """SELECT system, params, rating_version, format, last, digest, base,
    CASE WHEN held_until > now() THEN held_by END AS held_by
FROM equipoise.pools WHERE pool = $1"""
_SHARE = """INSERT INTO equipoise.pools (pool, system, params, rating_version, format, last, digest, base)
VALUES ($1, $2, $3, $4, $5, $6, $7, $6)"""
_AGREE = "UPDATE equipoise.pools SET system = $2, params = $3, rating_version = $4, format = $5 WHERE pool = $1"
_HOLD = """UPDATE equipoise.pools SET held_by = $2, held_until = now() + $3 * interval '1 second'
WHERE pool = $1 AND (held_by IS NULL OR held_by = $2 OR held_until < now()) RETURNING held_by"""
_DIGEST = """SELECT digest FROM equipoise.events WHERE pool = $1 AND number = $2 AND piece = 0
UNION ALL SELECT digest FROM equipoise.bases WHERE pool = $1 AND number = $2 LIMIT 1"""
# Pieces up to a number of bytes, of a thousand events at most, by their numbers: to reach a LIMIT, a database that has
# not looked at the table yet sorts all of it.
_READ = """SELECT number, piece, kind, server, round, at, machine, digest, pieces, body
FROM (
    SELECT *, count(*) OVER (PARTITION BY number) AS pieces,
        sum(octet_length(body)) OVER (ORDER BY number, piece) - octet_length(body) AS before
    FROM equipoise.events WHERE pool = $1 AND number > $2 AND number <= $2 + 1000
) AS page
WHERE before < $3 ORDER BY number, piece"""
_PIECE = "SELECT body FROM equipoise.{} WHERE pool = $1 AND number = $2 AND piece = $3"
_SPAN = """SELECT number, piece, body FROM equipoise.{}
WHERE pool = $1 AND number >= $2 AND number <= $3 AND piece >= $4 AND piece <= $5"""
_REWRITE = "UPDATE equipoise.{} SET body = $4 WHERE pool = $1 AND number = $2 AND piece = $3"
# What it is told of the time and of the disk is for this transaction alone, and before it waits for another one.
_MOVE = """UPDATE equipoise.pools SET last = $2, digest = $3
WHERE pool = $1 AND last = $4 AND digest = $5 AND rating_version = $6
    AND (held_by IS NULL OR held_by = $7 OR held_until < now())
    AND set_config('lock_timeout', $8, true) <> '' AND set_config('synchronous_commit', 'on', true) <> ''"""
_APPEND = f"""INSERT INTO equipoise.events (pool, number, piece, kind, server, round, at, machine, digest, body)
SELECT $1, * FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::double precision[],
    $8::text[], $9::bytea[], $10::bytea[]) {IF_FIRST}"""
_BASE = "SELECT base FROM equipoise.pools WHERE pool = $1"
# A thousand at a time: one statement for all would take longer than a statement may.
_TRIM = """WITH gone AS (
    DELETE FROM equipoise.events WHERE pool = $1 AND number IN (
        SELECT number FROM equipoise.events WHERE pool = $1 AND at < $2
            AND number < 1000 + (SELECT min(number) FROM equipoise.events WHERE pool = $1)
            AND number <= (SELECT base FROM equipoise.pools WHERE pool = $1)
    ) RETURNING 1
) SELECT count(*) FROM gone"""
# Somebody who was forgotten since the rows of a base were read would come back with it.
_FORGOTTEN = "SELECT 1 FROM equipoise.events WHERE pool = $1 AND number > $2 AND kind = 'forget' LIMIT 1"
_PUBLISH = """INSERT INTO equipoise.machines AS m (machine, instance, at, clock, status)
VALUES ($1, $2, clock_timestamp(), $3, $4) ON CONFLICT (machine) DO UPDATE
SET instance = excluded.instance, at = excluded.at, clock = excluded.clock, status = excluded.status
WHERE m.instance = excluded.instance OR m.at < excluded.at - $5 * interval '1 second'
    OR ($6 AND split_part(m.instance, ' ', 1) = split_part(excluded.instance, ' ', 1)) RETURNING machine"""
# Only those that have changed: ten thousand servers would be as many dead rows every few seconds.
_SERVERS_SET = """INSERT INTO equipoise.servers AS s (pool, server, machine, status)
SELECT pool, server, $1, status FROM unnest($2::text[], $3::text[], $4::text[]) AS new (pool, server, status)
ON CONFLICT (pool, server, machine) DO UPDATE SET status = excluded.status WHERE s.status <> excluded.status"""
_SERVERS_GONE = """DELETE FROM equipoise.servers
WHERE machine = $1 AND (pool, server) NOT IN (SELECT * FROM unnest($2::text[], $3::text[]))"""
_SERVERS = """SELECT pool, server, machine, s.status
FROM equipoise.servers AS s JOIN equipoise.machines AS m USING (machine)
WHERE m.at > clock_timestamp() - $1 * interval '1 second' ORDER BY pool, server, machine"""
_MACHINES = """SELECT machine, extract(epoch FROM clock_timestamp() - at)::double precision,
    clock - extract(epoch FROM at)::double precision, status
FROM equipoise.machines ORDER BY machine"""
_LEAVE = """UPDATE equipoise.machines SET at = at - $3 * interval '1 second' WHERE machine = $1 AND instance = $2"""
_SETTINGS = ("server_version", "fsync", "full_page_writes", "transaction_read_only", "synchronous_standby_names")


class SharedLog:
    """The pools of one database. `url` has no password; `machine` is the name that others see.

    A daemon has its `identity` from start to start: after a crash it knows its name to be its own. One that has said a
    sign of life and finds another with its identity is no longer alone with it, which is what a copied machine is.
    """

    def __init__(
        self, url: str, password: str | None, machine: str, *, identity: str = "", seconds: float = CALL_SECONDS
    ) -> None:
        self.machine = machine
        self._url = url
        self._password = password
        self._seconds = seconds
        self._place = f"database {url.partition('?')[0]}"
        self._pooled = False  # until a connection shows that something is between
        self._notifies = False
        self._prepared = False
        self._instance = f"{identity.replace(' ', '-') or os.urandom(8).hex()} {os.urandom(8).hex()}"
        self._published = False
        self._news: dict[str, asyncio.Event] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._appender = Link(self._connect, seconds, self._place)
        self._reader = Link(self._connect_listener, seconds, self._place)
        self._links = {self._appender, self._reader}
        """All that there are now."""
        self.is_cut = False

    async def open(self) -> None:
        """Connect, and make or check the tables."""
        try:
            import_module("asyncpg")  # what that takes is none of the database's time
        except ModuleNotFoundError:
            advice = "the package asyncpg is missing: pipx inject equipoise asyncpg"
            raise LogRefused(f"{self._place}: {advice}") from None
        async with self._reader.use():
            pass

    def cut(self) -> None:
        """Have every call that waits for the database fail, and those that come; call it again for what was begun.

        What is not known to be in the log by then waits in the ring, and is found there or appended at the next start.
        """
        self.is_cut = True
        for link in self._links:
            link.cut()

    async def close(self) -> None:
        """End both connections; others see at once that this machine is gone."""
        await asyncio.gather(*self._telling)
        if self._published:
            # A stop that takes long cuts those that there are: perhaps it is not the database that it waits for.
            link = Link(self._connect, self._seconds, self._place) if self.is_cut else self._reader
            with suppress(LogError, LogRefused, TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS), link.use() as connection:
                    await connection.execute(_LEAVE, self.machine, self._instance, SILENT_SECONDS)
            await link.close()
        await self._appender.close()
        await self._reader.close()

    async def _connect(self) -> Connection:
        import asyncpg

        while True:
            raw = await asyncpg.connect(
                self._url,
                password=self._password,
                timeout=self._seconds,
                command_timeout=self._seconds,
                statement_cache_size=0 if self._pooled else 100,
                server_settings={"application_name": f"equipoise {self.machine}"[:63]},
            )
            try:
                direct = await is_direct(raw)
                if direct:  # for a holder of the lock that vanishes while it is being answered
                    await tried(raw, f"SET tcp_user_timeout = {round(self._seconds * 1000)}")
                if direct is not self._pooled:
                    return raw
            except BaseException:
                raw.terminate()
                raise
            self._pooled = not direct
            raw.terminate()

    async def _connect_listener(self) -> Connection:
        raw = await self._connect()
        try:
            if not self._prepared:  # it may have been away when this was opened
                await prepare(raw, self._place)
                self._prepared = True
            self._notifies = await tried(raw, f"NOTIFY {CHANNEL}, ''")
            if self._notifies and not self._pooled:
                await raw.add_listener(CHANNEL, partial(self._hear, raw.get_server_pid()))
        except BaseException:
            raw.terminate()
            raise
        return raw

    def _hear(self, own: int, _connection: object, process: int, _channel: str, pool: object) -> None:
        # Own notices go through the same connection, which may have ended by now.
        if process != own and (event := self._news.get(str(pool))):
            event.set()

    def _tell(self, pool: str) -> None:
        """Tell the others, behind the commit: a notice inside of it takes a lock that all pools share."""
        if self._notifies:
            task = asyncio.create_task(self._notify(pool))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _notify(self, pool: str) -> None:
        with suppress(LogError, LogRefused):  # they look every second
            async with self._reader.use() as connection:
                await connection.execute(f"NOTIFY {CHANNEL}, {_quoted(pool)}")

    async def wait(self, pool: str, seconds: float) -> bool:
        """Return True when another machine appended since the last call, or let go of the pool; False after `seconds`.

        They are few: a notice may be lost, and nobody tells behind a pooler, where the database cannot, and while there
        is no connection. `read` makes the one that listens.
        """
        event = self._news.setdefault(pool, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
        news = event.is_set()
        event.clear()
        return news

    @asynccontextmanager
    async def _long(self) -> AsyncIterator[Connection]:
        """A connection of its own for what takes its time."""
        link = Link(self._connect, self._seconds, self._place)
        self._links.add(link)
        try:
            async with link.use() as connection:
                yield connection
        finally:
            self._links.discard(link)
            await link.close()

    # Pools and their bases.

    async def state(self, pool: str) -> State | None:
        """Return the pool as it is, None if there is none."""
        async with self._reader.use() as connection:
            return _state(await connection.fetchrow(_STATE, pool))

    async def share(self, pool: str, agreement: Agreement, number: int, pieces: AsyncIterable[bytes]) -> bytes:
        """Begin a pool with a base, and return its digest; the next event is `number` + 1.

        LogConflict: the pool is there already.
        """
        async with self._long() as connection:
            if await connection.fetchrow(_STATE, pool):
                raise LogConflict(f"{self._place}: another machine has begun pool {pool} at this moment: it is joined")
            digest = os.urandom(32)  # another log of this name is another log from its first event on
            await connection.execute(_BEGIN_LONG)
            await _clear(connection, pool)
            await connection.execute(_SHARE, pool, *_columns(agreement), number, digest)
            await _write_base(connection, pool, number, digest, pieces, changes=Changes())
            await committing(connection.execute("COMMIT"))
        return digest

    async def base(self, pool: str) -> Base:
        """Return the newest base. Its pieces are read one by one."""
        query = "SELECT number, digest, pieces FROM equipoise.bases WHERE pool = $1 ORDER BY number DESC LIMIT 1"
        async with self._reader.use() as connection:
            row = await connection.fetchrow(query, pool)
        if row is None:
            raise LogMissing(f"{self._place}: there is no pool {pool}")
        number, digest, count = row
        return Base(number, digest, count, self._base_pieces(pool, number, count))

    async def _base_pieces(self, pool: str, number: int, count: int) -> AsyncIterator[bytes]:
        for place in range(count):
            async with self._reader.use() as connection:
                body = await connection.fetchval(_PIECE.format("base_pieces"), pool, number, place)
            if body is None:
                raise LogError(f"the base of pool {pool} was replaced by a newer one: begin with that")
            yield _plain(body, f"piece {place} of the base of pool {pool}")

    async def rebase(self, pool: str, number: int, digest: bytes, pieces: AsyncIterable[bytes]) -> None:
        """Write a newer base, all rows as of event `number`, in the place of the older ones.

        LogConflict: somebody was forgotten meanwhile, or there is a newer one already.
        """
        async with self._long() as connection:
            if await connection.fetchval(_DIGEST, pool, number) != digest:
                raise LogMissing(f"{self._place}: pool {pool} has no such event {number}")
            before = await connection.fetchval(_BASE, pool)
            await connection.execute(_BEGIN_LONG)
            if before < number:
                await _write_base(connection, pool, number, digest, pieces)
            now = await connection.fetchval(f"{_BASE} FOR UPDATE", pool)
            if now != before or now >= number or await connection.fetchval(_FORGOTTEN, pool, number):
                raise LogConflict(f"{self._place}: a base of pool {pool} was overtaken: the next one comes")
            await _lead(connection, pool, number)
            await committing(connection.execute("COMMIT"))

    async def replace(
        self, pool: str, state: State, agreement: Agreement, number: int, event: NewEvent, pieces: AsyncIterable[bytes]
    ) -> None:
        """Put a base of event `number` in the place of all that led to `state`; within `held`.

        All daemons take it in. LogError: somebody appended meanwhile, and nothing was done.
        """
        digest = chained(state.digest, number, event, self.machine)
        async with self._long() as connection:
            await connection.execute(_BEGIN_LONG)
            await _clear(connection, pool)
            await _write_base(connection, pool, number, digest, pieces, changes=Changes())
            now = _state(await connection.fetchrow(f"{_STATE} FOR UPDATE", pool))
            if now is None or (now.last, now.digest, now.held_by) != (state.last, state.digest, self.machine):
                raise LogError(f"{self._place}: another machine has changed pool {pool} meanwhile: try again")
            await connection.execute(_AGREE, pool, *_columns(agreement))
            update = "UPDATE equipoise.pools SET last = $2, digest = $3 WHERE pool = $1"
            await connection.execute(update, pool, number, digest)
            await _lead(connection, pool, number)
            await committing(connection.execute("COMMIT"))

    async def trim(self, pool: str, before: float) -> None:
        """Delete events that the base has and that are older than a time: who lacks them begins with the base."""
        async with self._long() as connection:
            while await connection.fetchval(_TRIM, pool, before):
                pass

    async def has_round(self, pool: str, number: int | None, server: str, round_id: str) -> bool:
        """Return whether this round has this number in the log, however long ago that was."""
        query = "SELECT 1 FROM equipoise.rounds WHERE pool = $1 AND number = $2 AND server = $3 AND id = $4"
        async with self._reader.use() as connection:
            return await connection.fetchval(query, pool, number, server, round_id) is not None

    async def forget(self, pool: str, player: str, change: Callable[[bytes], bytes | None]) -> None:
        """Put what `change` returns in the place of pieces of events and of the base; None: one stays as it is.

        Digests stay: they are not of bodies. From what people's own pages read the player goes: the stand-in in the
        events has no row there.
        """
        async with self._long() as connection:
            bases = await connection.fetch("SELECT number, pieces FROM equipoise.bases WHERE pool = $1", pool)
            query = "SELECT coalesce(min(number), 1), coalesce(max(number), 0) FROM equipoise.events WHERE pool = $1"
            first, last = await connection.fetchrow(query, pool)
            spans = [("events", number, number + 49, 0, LARGEST) for number in range(first, last + 1, 50)]
            spans += [("base_pieces", base, base, piece, piece) for base, pieces in bases for piece in range(pieces)]
            for table, *span in spans:
                for number, piece, body in await connection.fetch(_SPAN.format(table), pool, *span):
                    text = change(_plain(body, f"event {number} of pool {pool}"))
                    if text is not None:
                        await connection.execute(_REWRITE.format(table), pool, number, piece, zlib.compress(text, 1))
            for name, kept in KEPT.items():
                for column in {"id", "player"} & kept.columns.keys() if name != "rounds" else ():
                    await connection.execute(
                        f"DELETE FROM equipoise.{name} WHERE pool = $1 AND {column} = $2", pool, player
                    )

    # Events.

    async def read(self, pool: str, after: int, *, most_bytes: int = PAGE_BYTES) -> Sequence[LogEvent]:
        """Return events behind `after` in their order, none at the end of the log.

        An event that is larger than `most_bytes` comes alone. LogMissing if the log does not reach back so far.
        """
        async with self._reader.use() as connection:
            return await _read(connection, pool, after, most_bytes)

    @asynccontextmanager
    async def appending(self, pool: str) -> AsyncIterator[Appending]:
        """Hold the pool: nobody else appends until the context ends, which commits what was added.

        LogConflict: it is to be tried again. CommitUnknown: it may be stored, and its round is found by `read` then.
        """
        async with self._appender.use() as connection:
            await connection.execute(_begin(self._seconds))
            if (state := _state(await connection.fetchrow(f"{_STATE} FOR UPDATE", pool))) is None:
                raise LogMissing(f"{self._place}: there is no pool {pool}")
            if state.held_by not in (None, self.machine):
                raise LogHeld(held_by(pool, state.held_by))
            writer = Appending(connection, pool, self.machine, self._seconds, state)
            yield writer
            if writer.changed:
                await committing(connection.execute("COMMIT"))
            else:
                await connection.execute("ROLLBACK")
        if writer.changed:
            self._tell(pool)

    async def append(
        self, pool: str, last: int, digest: bytes, rating_version: int, events: Sequence[NewEvent]
    ) -> Sequence[LogEvent] | None:
        """Append behind the last event in one round trip; None: it is another one by now, and nothing was done.

        None also where another machine keeps others from appending, the pool has another rating version, or the events
        are too large: `appending` does it or says why not. LogConflict and CommitUnknown as there.
        """
        batch = _Batch(pool, self.machine, self._seconds, last, digest)
        numbers = batch.numbered(events)
        for event, place in _in_pieces(numbers):
            batch.add_piece(event, place)
        if batch.size > PAGE_BYTES:
            return None
        async with self._appender.use() as connection:
            if not await committing(batch.write(connection, rating_version)):
                return None
        self._tell(pool)
        return numbers

    @asynccontextmanager
    async def held(self, pool: str) -> AsyncIterator[None]:
        """Keep the other machines from appending until the context ends, however long that takes.

        LogError: another one does so now. Who vanishes lets go after `HOLD_SECONDS`.
        """
        await self._hold(pool)
        keeper = asyncio.create_task(self._keep_holding(pool))
        try:
            yield
        finally:
            keeper.cancel()
            release = "UPDATE equipoise.pools SET held_by = NULL WHERE pool = $1 AND held_by = $2"
            with suppress(LogError):  # it ends by itself
                async with self._reader.use() as connection:
                    await connection.execute(release, pool, self.machine)
                self._tell(pool)

    async def _hold(self, pool: str) -> None:
        async with self._reader.use() as connection:
            if await connection.fetchrow(_HOLD, pool, self.machine, HOLD_SECONDS) is None:
                name = await connection.fetchval("SELECT held_by FROM equipoise.pools WHERE pool = $1", pool)
                raise LogHeld(held_by(pool, name)) if name else LogMissing(f"{self._place}: there is no pool {pool}")

    async def _keep_holding(self, pool: str) -> None:
        while True:
            await asyncio.sleep(HOLD_SECONDS / 3)
            with suppress(LogError):
                await self._hold(pool)

    # Machines and their game servers.

    async def publish(self, status: Mapping[str, Any], servers: Sequence[Server]) -> None:
        """Show the others that this machine is there, and its game servers; every few seconds.

        LogRefused: another machine that is there has this one's name.
        """
        status_text, first = json.dumps(dict(status)), not self._published
        mine = (self.machine, self._instance, time.time(), status_text, SILENT_SECONDS, first)
        keys = [server.pool for server in servers], [server.server for server in servers]
        texts = [json.dumps(dict(server.status)) for server in servers]
        async with self._reader.use() as connection:
            # Who loses it publishes again: no commit that waits for a disk.
            await connection.execute("BEGIN; SET LOCAL synchronous_commit = off")
            if await connection.fetchval(_PUBLISH, *mine) is None:
                advice = "give one of them another name, machine in the table [shared], and restart it"
                raise LogRefused(f"{self._place}: another daemon calls itself {self.machine} too: {advice}")
            await connection.execute(_SERVERS_SET, self.machine, *keys, texts)
            await connection.execute(_SERVERS_GONE, self.machine, *keys)
            await connection.execute("COMMIT")
        self._published = True

    async def servers(self) -> Sequence[Server]:
        """Return the game servers of all machines that are there. Two machines may have one of the same name."""
        async with self._reader.use() as connection:
            rows = await connection.fetch(_SERVERS, SILENT_SECONDS)
        return [Server(pool, server, machine, json.loads(status)) for pool, server, machine, status in rows]

    async def survey(self) -> Survey:
        """Return what operators should know of the database."""
        settings = ", ".join(f"current_setting({_quoted(name)}, true)" for name in _SETTINGS)
        async with self._reader.use() as connection:
            start, clock = time.monotonic(), time.time()
            at = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::double precision")
            seconds = time.monotonic() - start
            version, fsync, full_pages, read_only, standbys = await connection.fetchrow(f"SELECT {settings}")
            tls = await connection.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            return Survey(
                version=version,
                durable="off" not in (fsync, full_pages),
                read_only=read_only == "on",
                standbys=bool(standbys),
                encrypted=bool(tls),
                pooled=self._pooled,
                notifies=self._notifies,
                round_trip_seconds=seconds,
                clock_seconds=clock + seconds / 2 - at,
                machines=[
                    Machine(name, silent, ahead, json.loads(status))
                    for name, silent, ahead, status in await connection.fetch(_MACHINES)
                ],
            )


class _Batch:
    """Events of a pool on their way into the log, behind its last one."""

    def __init__(self, pool: str, machine: str, seconds: float, last: int, digest: bytes) -> None:
        self._pool, self._machine, self._seconds = pool, machine, seconds
        self.last, self.digest = self._behind = last, digest
        """Of the last event, with those that were added."""
        self._rows: list[tuple[object, ...]] = []
        self.size = 0
        self.changes = Changes()

    def numbered(self, events: Sequence[NewEvent]) -> Sequence[LogEvent]:
        """Return events as they are in the log, behind those before."""
        pairs = []
        for new in events:
            self.last += 1
            self.digest = chained(self.digest, self.last, new, self._machine)
            head = (new.kind, new.server, new.round, new.at, self._machine, self.digest)
            pairs.append(LogEvent(self.last, *head, new.pieces))
        return pairs

    def add_piece(self, event: LogEvent, place: int) -> None:
        """Add a piece of one."""
        self.changes.add(event.number, event.pieces[place])
        body = zlib.compress(event.pieces[place], 1)
        head = (event.kind, event.server, event.round, event.at, event.machine, event.digest)
        self._rows.append((event.number, place, *(head if place == 0 else (None,) * len(head)), body))
        self.size += len(body)

    async def write(self, connection: Connection, rating_version: int) -> bool:
        """Write what was added; False: nothing, as the last event is another one, or others are kept from appending."""
        limit = str(round(self._seconds * 1000))
        values = (self.last, self.digest, *self._behind, rating_version, self._machine, limit)
        events = [(_APPEND, (self._pool, *map(list, zip(*self._rows, strict=True))))] if self._rows else []
        others = [*events, *self.changes.statements(self._pool, IF_FIRST)]
        self._behind, self._rows, self.size = (self.last, self.digest), [], 0
        return await execute_if(connection, (_MOVE, (self._pool, *values)), others)


def _in_pieces(events: Sequence[LogEvent]) -> Iterator[tuple[LogEvent, int]]:
    return ((event, place) for event in events for place in range(len(event.pieces)))


class Appending(_Batch):
    """A pool that is held, in one transaction."""

    def __init__(self, connection: Connection, pool: str, machine: str, seconds: float, state: State) -> None:
        super().__init__(pool, machine, seconds, state.last, state.digest)
        self._connection = connection
        self.agreement = state.agreement
        self.changed = False

    async def read(self, after: int, *, most_bytes: int = PAGE_BYTES) -> Sequence[LogEvent]:
        """Return events behind `after` as `SharedLog.read` does; what is read here stays the end until the commit."""
        return await _read(self._connection, self._pool, after, most_bytes)

    async def add(self, events: Sequence[NewEvent]) -> Sequence[LogEvent]:
        """Append events, and return them as they are in the log if the commit succeeds."""
        pairs = self.numbered(events)
        for event, place in _in_pieces(pairs):
            self.add_piece(event, place)
            if self.size > PAGE_BYTES:
                await self._write()
        await self._write()
        self.changed = True
        return pairs

    async def _write(self) -> None:
        if not await self.write(self._connection, self.agreement.rating_version):
            raise LogConflict(f"pool {self._pool} was changed while it was held")

    async def agree(self, agreement: Agreement) -> None:
        """Change what all daemons of the pool agree on, with the commit."""
        await self._connection.execute(_AGREE, self._pool, *_columns(agreement))
        self.changed = True


def _columns(agreement: Agreement) -> tuple[object, ...]:
    params = json.dumps(dict(agreement.params), sort_keys=True)
    return agreement.system, params, agreement.rating_version, agreement.format


def _state(row: Mapping[str, Any] | None) -> State | None:
    if row is None:
        return None
    agreement = Agreement(row["system"], json.loads(row["params"]), row["rating_version"], row["format"])
    return State(row["last"], row["digest"], row["base"], agreement, row["held_by"])


def held_by(pool: str, machine: str | None) -> str:
    """Return what to say while another machine keeps this one from appending."""
    return f"machine {machine} is editing pool {pool}: rounds wait meanwhile, and other edits are tried again later"


def _begin(seconds: float) -> str:
    """Begin to append: said explicitly, because a repeatable read after the lock would be older than the lock."""
    limits = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    settings = "".join(f"; SET LOCAL {limit} = {round(seconds * 1000)}" for limit in limits)
    return f"BEGIN ISOLATION LEVEL READ COMMITTED{settings}; SET LOCAL synchronous_commit = on"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


async def _lead(connection: Connection, pool: str, number: int) -> None:
    """Have a base be the newest, and the only one."""
    for table in ("bases", "base_pieces"):
        await connection.execute(f"DELETE FROM equipoise.{table} WHERE pool = $1 AND number <> $2", pool, number)
    await connection.execute("UPDATE equipoise.pools SET base = $2 WHERE pool = $1", pool, number)


async def _clear(connection: Connection, pool: str) -> None:
    """Delete what people's own pages read of a pool; all rounds at once would take longer than a statement may."""
    last = await connection.fetchval("SELECT max(number) FROM equipoise.rounds WHERE pool = $1", pool) or 0
    for first in range(0, last + 1, 1000):
        for table, column in (("participants", "round"), ("rounds", "number")):
            where = f"pool = $1 AND {column} >= $2 AND {column} < $3"
            await connection.execute(f"DELETE FROM equipoise.{table} WHERE {where}", pool, first, first + 1000)
    for table in KEPT:
        await connection.execute(f"DELETE FROM equipoise.{table} WHERE pool = $1", pool)


async def _write_base(
    connection: Connection,
    pool: str,
    number: int,
    digest: bytes,
    pieces: AsyncIterable[bytes],
    *,
    changes: Changes | None = None,
) -> None:
    """Write a base, and what it changes for the readers of `public`, if it begins the pool."""
    insert = "INSERT INTO equipoise.base_pieces (pool, number, piece, body) VALUES ($1, $2, $3, $4)"
    count = 0
    async for piece in pieces:
        await connection.execute(insert, pool, number, count, zlib.compress(piece, 1))
        count += 1
        if changes:
            changes.add(number, piece)
            for statement, values in changes.statements(pool):
                await connection.execute(statement, *values)
    insert = "INSERT INTO equipoise.bases (pool, number, digest, pieces) VALUES ($1, $2, $3, $4)"
    await connection.execute(insert, pool, number, digest, count)


async def _read(connection: Connection, pool: str, after: int, most_bytes: int) -> Sequence[LogEvent]:
    events: list[LogEvent] = []
    rows = await connection.fetch(_READ, pool, after, most_bytes)
    if not rows or rows[0]["number"] != after + 1:
        if await connection.fetchval("SELECT base > $2 FROM equipoise.pools WHERE pool = $1", pool, after):
            raise LogMissing(f"pool {pool}: the log no longer has event {after + 1}: begin with the base")
        if rows:
            raise LogDamaged(f"event {after + 1} of pool {pool} is missing in the log")
    try:
        for number, piece, kind, server, round_, at, machine, digest, _, body in await _whole(connection, pool, rows):
            what = f"event {number} of pool {pool}"
            if kind is not None and None not in (at, machine, digest):
                events.append(LogEvent(number, kind, server, round_, at, machine, digest, ()))
            if not events or number != after + len(events) or piece != len(events[-1].pieces):
                raise LogDamaged(f"{what} is not whole in the log")
            events[-1] = replace(events[-1], pieces=(*events[-1].pieces, _plain(body, what)))
    except LogDamaged:  # what comes before it is good
        events = [event for event in events if event.number < number]
        if not events:
            raise
    return events


async def _whole(connection: Connection, pool: str, rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows of whole events: a page without the last one, of which it has a part, or that one alone."""
    if not rows:
        return rows
    number, pieces = rows[-1]["number"], rows[-1]["pieces"]
    here = sum(row["number"] == number for row in rows)
    if here == pieces or here < len(rows):
        return rows if here == pieces else rows[:-here]
    query, no_head = _PIECE.format("events"), (None,) * 6
    rest = [await connection.fetchval(query, pool, number, piece) for piece in range(here, pieces)]
    return [*rows, *((number, piece, *no_head, pieces, body) for piece, body in enumerate(rest, here))]


def _plain(body: bytes, what: str) -> bytes:
    try:
        return zlib.decompress(body)
    except (zlib.error, TypeError) as error:
        raise LogDamaged(f"{what} in the log is damaged: {error}") from None
