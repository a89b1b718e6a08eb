"""What changes on servers, for those who watch: each change is made once and handed to every reader.

With no reader nothing is done: pieces of work know nothing of this file. While somebody reads, all servers are glanced
at twice a second, those whose signs differ are looked at, and what says something else than before gets the next
number. A reader is one number: that of the last change it was sent. So it holds nothing while its socket is slow, and
of two changes of a server it gets the later one.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Protocol

import msgspec

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError, StoreError
from equipoise.service.clock import Clock
from equipoise.service.event_loop import Precedence
from equipoise.service.host import Host
from equipoise.service.metrics import Reading
from equipoise.service.status import ServerStatus
from equipoise.store.notes import Decision
from equipoise.store.store import Store

LAST = 10
"""Decisions shown beside a server."""
LOOK_SECONDS = 0.5
"""Between two looks at the servers: so a server has at most two messages a second."""
ALIVE_SECONDS = 2.0
"""Between two signs of life to every reader."""
STALLED_SECONDS = 10.0
"""How long a reader may leave what it was sent unread."""
MOST_READERS = 100
PIECE = 64 * 1024
"""Bytes that are written at a time, and one message more."""
RETRY = b"retry: 2000\n\n"
"""The first bytes of a stream: after how many milliseconds a browser that lost it connects again."""

log = logging.getLogger(__name__)


class Shown(Protocol):
    """The struct of a server's route, which the stream shows."""

    @property
    def server(self) -> ServerStatus:
        """Its status."""

    @property
    def decisions(self) -> Sequence[Decision]:
        """Its last decisions, newest first."""


Show = Callable[[ServerId, Sequence[Decision]], Shown]


@dataclass(eq=False, slots=True)
class Reader:
    """One who reads the stream."""

    who: str
    """As the audit names them."""
    cut: Callable[[], None]
    """Closes their connection at once."""
    allowed: Callable[[], bool]
    """Whether they may still read, asked every two seconds."""
    server: ServerId | None
    """The only server they want to know of; None: all."""
    last: int | None
    """The number of the last change that they were sent; None: they know of nothing."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    alive: bool = False
    """A sign of life is due."""
    ended: bool = False
    writing_since: float | None = None
    """Since when they leave something unread; None: they have read all."""

    def end(self) -> None:
        """End the stream, in the middle of a message if that cannot be written."""
        self.ended = True
        self.wake.set()
        if self.writing_since is not None:
            self.cut()


@dataclass(slots=True)
class _Change:
    """The last change of a server, as a message about it."""

    number: int
    """That of the change."""
    digest: bytes
    """Of all that is shown but `figures`; empty: the server is gone."""
    figures: tuple[float, ...]
    """What drifts, in steps that are worth a message."""
    message: bytes
    """Empty while nobody reads."""
    kept: dict[Hashable, Any] = field(default_factory=dict)
    """See `Live.kept`."""


@dataclass(slots=True)
class _Look:
    """The last look at a server."""

    signs: tuple[object, ...] | None
    """None: look again."""
    decided: tuple[Host, int]
    """The host, and how many decisions it had taken."""
    decisions: Sequence[Decision]


class Live:
    """The readers, and what they are told. Call `close` before requests are waited for."""

    def __init__(
        self, hosts: Mapping[ServerId, Host], show: Show, store: Store, clock: Clock, precedence: Precedence
    ) -> None:
        self._hosts, self._show, self._store, self._clock = hosts, show, store, clock
        self._precedence = precedence
        self._boot = secrets.token_hex(4)
        self._number = 0
        """That of the last change."""
        self._changes: dict[ServerId, _Change] = {}
        """In the order of their numbers. A server that is gone stays, for readers who come again."""
        self._looks: dict[ServerId, _Look] = {}
        """Empty while nobody reads."""
        self._current = False
        """All messages are those of now, but for changes of the last half second."""
        self._readers: set[Reader] = set()
        self._alive = b""
        self._looking: asyncio.Task[None] | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._closed = False
        self._dropped = 0
        self.making = asyncio.Lock()
        """For who makes something to keep: others who would make the same wait, and find it."""

    def readings(self) -> Iterator[Reading]:
        """Yield the metrics of readers."""
        yield Reading("equipoise_live_readers", "Readers of the live stream.", len(self._readers))
        yield Reading("equipoise_live_dropped_total", "Readers dropped: they did not read.", self._dropped)

    def last_event(self) -> str:
        """Return the id of the last change: who has seen all that is so now need only be sent what comes behind it."""
        return f"{self._boot}-{self._number}"

    def last_of(self, event: str) -> int | None:
        """Return the number in an id of an event; None: it is of no event of this daemon since its start."""
        boot, _, number = event.partition("-")
        is_ours = boot == self._boot and number.isascii() and number.isdigit() and len(number) < 16
        return min(int(number), self._number) if is_ours else None

    def kept(self, server: ServerId) -> dict[Hashable, Any]:
        """Return what readers share of a server, such as a panel, until it says something else."""
        change = self._changes.get(server)
        return change.kept if change is not None and self._current else {}

    async def read(self, reader: Reader) -> AsyncGenerator[bytes, None]:
        """Yield all that the reader is sent, until one of the two ends it. ScriptError 503: too many read."""
        self._join(reader)
        try:
            reader.writing_since = self._clock.monotonic()
            yield RETRY
            while not reader.ended:
                reader.wake.clear()
                for piece in self._pieces(reader):
                    reader.writing_since = self._clock.monotonic()
                    yield piece
                    if reader.ended:
                        return
                reader.writing_since = None
                await reader.wake.wait()
        finally:
            self._readers.discard(reader)

    def reload(self, callers: Container[str]) -> None:
        """Go by a new configuration: readers whose caller is none of these are known no longer."""
        for reader in [reader for reader in self._readers if reader.who not in callers]:
            reader.end()
        for look in self._looks.values():
            look.signs = None

    async def close(self) -> None:
        """End all streams, and begin no more."""
        self._closed = True
        for reader in tuple(self._readers):
            reader.end()
        if self._beat is not None:
            self._beat.cancel()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    # Readers.

    def _join(self, reader: Reader) -> None:
        if self._closed:
            raise ScriptError("busy", "the daemon is being stopped", status=503)
        if len(self._readers) >= MOST_READERS:
            advice = f"{MOST_READERS} readers are the most: close pages that nobody looks at, or ask for single servers"
            raise ScriptError("busy", f"too many read the live stream; {advice}", status=503)
        self._readers.add(reader)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())
        if self._beat is None:
            self._beat = asyncio.get_running_loop().call_later(ALIVE_SECONDS, self._give_signs)

    def _pieces(self, reader: Reader) -> Iterator[bytes]:
        piece = b""
        if reader.alive:
            reader.alive, piece = False, self._alive
        for message in self._news(reader):
            piece += message
            if len(piece) >= PIECE:
                yield piece
                piece = b""
        if piece:
            yield piece

    def _news(self, reader: Reader) -> list[bytes]:
        """Return what the reader does not know, in the order of the numbers: it may go on behind any of them."""
        if not self._current:
            return []
        last, reader.last = reader.last, self._number
        news: Iterable[_Change]
        if last is None:
            news = [change for change in reversed(self._changes.values()) if change.digest]
        else:
            news = takewhile(lambda change: change.number > last, reversed(self._changes.values()))
        if reader.server is not None:
            only = self._changes.get(reader.server)
            news = [change for change in news if change is only]
        return [change.message for change in news][::-1]

    def _give_signs(self) -> None:
        """Give every reader a sign of life, and end the streams of those who do not read or may not."""
        self._beat = None
        now = self._clock.monotonic()
        self._alive = b"event: alive\ndata: " + msgspec.json.encode({"at": self._clock.epoch()}) + b"\n\n"
        for reader in tuple(self._readers):
            if not reader.allowed():
                reader.end()
            elif reader.writing_since is not None and now - reader.writing_since >= STALLED_SECONDS:
                self._dropped += 1
                log.warning("a reader of the live stream does not read, and is dropped", extra={"caller": reader.who})
                reader.end()
            else:
                reader.alive = True
                reader.wake.set()
        if self._readers:
            self._beat = asyncio.get_running_loop().call_later(ALIVE_SECONDS, self._give_signs)

    # Servers.

    async def _look_on(self) -> None:
        """Look at all servers again and again, for as long as somebody reads."""
        try:
            while self._readers:
                before = self._number
                await self._look_at_all()
                if self._number > before or not self._current:
                    self._current = True
                    for reader in self._readers:
                        reader.wake.set()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._looking, self._current = None, False
            for reader in tuple(self._readers):  # after a fault: signs of life alone would pass for a quiet evening
                reader.end()
            self._looks.clear()
            for change in self._changes.values():
                change.message = b""
                change.kept.clear()

    async def _look_at_all(self) -> None:
        for server in [
            server for server, change in self._changes.items() if change.digest and server not in self._hosts
        ]:
            self._looks.pop(server, None)
            self._say(server, b"", (), b"gone", msgspec.json.encode({"server": server}))
        for server, host in tuple(self._hosts.items()):
            await self._precedence.give_way()
            signs, look = host.signs(), self._looks.get(server)
            if look is None or look.signs != signs:
                await self._look_at(server, host, signs, look)

    async def _look_at(self, server: ServerId, host: Host, signs: tuple[object, ...], look: _Look | None) -> None:
        version = host, host.decided.total() + host.renamed
        if look is None or look.decided != version:
            host.write_down()
            try:
                decisions = await self._store.decisions(server, LAST)
            except StoreError:  # it says so itself, and the status is worth as much as ever
                look = _Look(None, (host, -1), look.decisions if look else ())
            else:
                look = _Look(signs, version, decisions)
        else:
            look = replace(look, signs=signs)
        await self._precedence.give_way()
        if self._hosts.get(server) is not host:  # replaced by a reload meanwhile: the next look is at the new one
            return
        self._looks[server] = look
        shown = self._show(server, look.decisions)
        digest, figures = _digest(shown), _figures(shown.server)
        message = msgspec.json.encode(shown)
        change = self._changes.get(server)
        if change is None or change.digest != digest or _moved(change.figures, figures):
            self._say(server, digest, figures, b"server", message)
        elif not change.message:
            change.message = _message(b"server", self._boot, change.number, message)

    def _say(self, server: ServerId, digest: bytes, figures: tuple[float, ...], event: bytes, data: bytes) -> None:
        self._number += 1
        self._changes.pop(server, None)  # out and in again: the last of the dict has the highest number
        self._changes[server] = _Change(self._number, digest, figures, _message(event, self._boot, self._number, data))


def _message(event: bytes, boot: str, number: int, data: bytes) -> bytes:
    return b"event: %b\nid: %b-%d\ndata: %b\n\n" % (event, boot.encode(), number, data)


def _digest(shown: Shown) -> bytes:
    """Return the digest of all that people see but figures: not of seconds that pass."""
    status = shown.server
    seen = replace(
        status,
        silent_seconds=None if status.silent_seconds is None else 0.0,
        served_seconds=0.0,
        sum_a=0.0,
        sum_b=0.0,
        win_probability=None,
        outlook=None,
    )
    return hashlib.blake2b(msgspec.json.encode((seen, shown.decisions)), digest_size=16).digest()


def _figures(status: ServerStatus) -> tuple[float, ...]:
    """Return the chance and its interval in percent, and the sums of the sides in tens of points."""
    outlook = status.outlook
    chances = (outlook.chance, outlook.low, outlook.high) if outlook else ()
    return *(100 * chance for chance in chances if chance is not None), status.sum_a / 10, status.sum_b / 10


def _moved(before: Sequence[float], now: Sequence[float]) -> bool:
    """Whether a figure has gone a whole step since it was said.

    Each round of a pool moves the chances of all its servers a little: rounded figures would change all the time.
    """
    return len(before) != len(now) or any(abs(new - old) >= 1.0 for old, new in zip(before, now, strict=True))
