"""Connections to a database: made when they are needed, used by one at a time, and dropped when they fail.

Every statement is bounded. After a failure the next attempt waits, longer each time; meanwhile calls fail at once.
"""

from __future__ import annotations

import asyncio
import errno
import math
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from equipoise.errors import CommitUnknown, LogConflict, LogError, LogRefused

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[Any]

LONGEST_PAUSE = 5.0
"""Between two attempts to connect."""

T = TypeVar("T")

Statement = tuple[str, tuple[object, ...]]
"""A statement and its values."""
IF_FIRST = "WHERE EXISTS (SELECT 1 FROM part0)"
"""The condition of statements behind the first one (`execute_if`)."""
_PARAMETER = re.compile(r"\$([2-9]\b|\d\d+)")

_ADVICE = {
    "28": "correct the role in the URL or its password",
    "3D000": "create the database, or correct its name in the URL",
    "42501": "give the role what it needs: make it the owner of the database, as by ALTER DATABASE … OWNER TO …",
    "3F000": "restore the database from a backup",
    "42P01": "restore the database from a backup",
    "42703": "it is another version's: upgrade Equipoise on all machines, or share the pool into an empty database",
}
"""By the beginning of the SQLSTATE: errors that stay until somebody does this."""
_ADVICE_MEANWHILE = {
    "53100": "the disk of the database is full: make room there",
    "53300": "raise max_connections there, or put PgBouncer between",
    "25006": "it takes no writes: a standby that was not promoted, or default_transaction_read_only",
}
"""By SQLSTATE: errors that may end by themselves."""


async def execute_if(connection: Connection, first: Statement, others: Iterable[Statement]) -> bool:
    """Run statements that write other rows each in one round trip; `$1` is the same value in all of them.

    Returns whether the first one changed a row; the others are to ask so too (`IF_FIRST`).
    """
    parts, values = _together([first, *others])
    head = ", ".join(f"part{place} AS ({part} RETURNING 1)" for place, part in enumerate(parts))
    return bool(await connection.fetchval(f"WITH {head} SELECT count(*) FROM part0", *values))


async def committing(statement: Awaitable[T]) -> T:
    """Run a statement that commits what it does; CommitUnknown if no answer comes."""
    import asyncpg

    try:
        return await statement
    except Exception as error:
        # An error of the statement takes it back; one of a server that goes down may come behind the commit.
        if isinstance(error, asyncpg.PostgresError) and (error.sqlstate or "08")[:2] not in ("08", "57"):
            raise
        raise CommitUnknown(f"whether it is stored is not known: {described(error)}") from error


def _together(statements: Iterable[Statement]) -> tuple[list[str], list[object]]:
    parts, values = list[str](), list[object]()
    for statement, (first, *others) in statements:
        parts.append(_renumbered(statement, len(values or [first]) - 1))
        values = [*(values or [first]), *others]
    return parts, values


@lru_cache
def _renumbered(statement: str, offset: int) -> str:
    return _PARAMETER.sub(lambda match: f"${int(match[1]) + offset}", statement)


class Link:
    """The way to a database, with at most one connection."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], seconds: float, place: str) -> None:
        self._connect = connect
        self._seconds = seconds
        self._place = place
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._failures = 0
        self._not_before = 0.0
        self._failure: LogError | LogRefused | None = None
        self._connecting: asyncio.Timeout | None = None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """Lend the connection. What fails on it becomes a LogError or LogRefused; a transaction is taken back."""
        try:
            async with asyncio.timeout(self._seconds):
                await self._turn.acquire()
        except TimeoutError:
            raise LogError(f"{self._place}: another call takes long") from None
        try:
            raw = await self._connected()
            try:
                yield raw
            except BaseException as error:
                # What we found in its rows ourselves does it no harm.
                if not isinstance(error, LogError) or isinstance(error, CommitUnknown) or raw.is_in_transaction():
                    self._drop()
                if (refusal := translated(error, self._place)) is None:
                    raise
                raise refusal from error
        finally:
            self._turn.release()

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        self._drop()
        if self._failure is not None and loop.time() < self._not_before:
            raise type(self._failure)(str(self._failure))
        try:
            async with asyncio.timeout(self._seconds) as self._connecting:
                self._connection = await self._connect()
        except Exception as error:
            failure = translated(error, self._place) or LogError(f"{self._place}: {described(error)}")
            if isinstance(error, TimeoutError) and isinstance(self._failure, LogRefused):
                failure = self._failure  # who does not answer says nothing new
            self._failure = failure
            self._not_before = max(self._not_before, loop.time() + min(LONGEST_PAUSE, 0.125 * 2**self._failures))
            self._failures = min(self._failures + 1, 10)
            raise failure from error
        finally:
            self._connecting = None
        self._failure, self._failures = None, 0
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    def cut(self) -> None:
        """Have what is under way fail at once, and all that comes."""
        self._failure, self._not_before = LogError(f"{self._place}: the daemon is being stopped"), math.inf
        if self._connecting is not None and not self._connecting.expired():
            self._connecting.reschedule(asyncio.get_running_loop().time())
        self._drop()

    async def close(self) -> None:
        """End the connection; what is under way on it fails."""
        if self._connection is not None:
            with suppress(Exception):
                await self._connection.close(timeout=1.0)
            self._drop()


async def is_direct(raw: Connection) -> bool:
    """Return whether the server itself is at the other end: a pooler hands out keys of its own."""
    answer = bytearray()

    async def take(data: bytes) -> None:
        answer.extend(data)

    # Nothing is prepared by it, unlike by a query: it would stay at the server, for whom the pooler serves next.
    await raw.copy_from_query("SELECT pg_backend_pid()", output=take)
    return bool(int(answer) == raw.get_server_pid())


async def tried(raw: Connection, statement: str) -> bool:
    """Run what not every database has, and return whether this one does."""
    import asyncpg

    try:
        await raw.execute(statement)
    except asyncpg.PostgresError:
        return False
    return True


def described(error: BaseException) -> str:
    """Return what to say of an error, in one line."""
    text = str(error).partition("\n")[0]
    # asyncio puts those of several addresses into one error without a number.
    number = getattr(error, "errno", None) or (errno.ECONNREFUSED if "Connect call failed" in text else None)
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, socket.gaierror):
        return "its host is not known"
    if isinstance(error, FileNotFoundError) or number == errno.ECONNREFUSED:
        return "nothing listens there: is PostgreSQL started, and do its port and listen_addresses fit the URL?"
    if number in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return "no way leads there: is the machine or the network down?"
    if isinstance(error, ConnectionResetError | BrokenPipeError) or re.search(
        "connection was closed|connection_lost", text
    ):
        return "the connection was cut"
    return text or type(error).__name__


def translated(error: BaseException, place: str) -> LogError | LogRefused | None:
    """Return what an error means for a log at this place; itself if it says so already, None: it is of something else.

    A password is in none of them: PostgreSQL names roles, and asyncpg addresses.
    """
    import asyncpg

    if isinstance(error, LogError | LogRefused):
        return error
    text = f"{place}: {described(error)}"
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        if state in ("40001", "40P01", "23505"):  # the last: another machine has just written the same
            return LogConflict(text)
        if (advice := _ADVICE_MEANWHILE.get(state)) is not None:
            return LogError(f"{text}: {advice}")
        if "pg_hba.conf" in text:
            return LogRefused(f"{text}: add a line for this machine, as docs/shared.md has it, and reload PostgreSQL")
        if state == "08P01":  # PgBouncer's, of whatever it refuses
            state = "28" if "authentication failed" in text else "3D000" if text.endswith("does not exist") else state
        advice = next((advice for prefix, advice in _ADVICE.items() if state.startswith(prefix)), None)
        return LogError(text) if advice is None else LogRefused(f"{text}: {advice}")
    if isinstance(error, ssl.SSLError | asyncpg.ClientConfigurationError) or "SSL upgrade" in text:
        return LogRefused(f"{text}: set sslmode and sslrootcert in the URL to what the server has")
    if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
        return LogRefused(f"{text}: correct the host in the URL")
    if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError | OSError | TimeoutError):
        return LogError(text)
    return None
