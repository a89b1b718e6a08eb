"""One HTTP transfer over a real socket, with the results that libcurl gives sm-ripext.

A transfer that fails leaves behind the last status line it received (0 if none came), whatever of the body came, and a
text. The texts are those of libcurl 7.75.0, which sm-ripext 1.3.2 links; the options are those its InitCurl sets
(httprequestcontext.cpp): redirects are followed, bodies decompressed, HTTP/0.9 is not accepted. Each transfer opens a
connection of its own, where curl pools them.
"""

import gzip
import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

AGENT = "sm-ripext/1.3.2"
BLOCK = 65536
BECOMES_GET = (301, 302, 303)
RESENDS = (307, 308)
BODILESS = (204, 304)


class TransferError(Exception):
    """Why a transfer failed, in curl's words."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to transfer. Times are whole seconds; no `timeout` (0) waits for ever, `max_redirects` -1 has no end."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    connect_timeout: int
    timeout: int
    max_redirects: int


@dataclass(eq=False, slots=True)
class Result:
    """What came of it; `error` is empty if the transfer was whole. `ended` is the order of completion."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str = ""
    ended: float = 0.0


@dataclass(eq=False, slots=True)
class Wire:
    """A connection with what was read from it and not yet used."""

    connection: socket.socket
    began: float
    deadline: float | None
    rest: bytes = b""
    expected: int = -1
    received: int = 0

    def read(self) -> bytes:
        """More bytes, or none at the end."""
        if self.rest:
            data, self.rest = self.rest, b""
            return data
        try:
            left = None if self.deadline is None else self.deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            self.connection.settimeout(left)
            return self.connection.recv(BLOCK)
        except TimeoutError:
            raise TransferError(self._late()) from None
        except ConnectionError:
            raise TransferError("Recv failure: Connection reset by peer") from None

    def line(self) -> bytes:
        """The next line, without its end."""
        data = b""
        while b"\n" not in data:
            more = self.read()
            if not more:
                raise EOFError
            data += more
        found, _, self.rest = data.partition(b"\n")
        return found.rstrip(b"\r")

    def _late(self) -> str:
        waited = round((time.monotonic() - self.began) * 1000)
        size = f"{self.received} out of {self.expected}" if self.expected >= 0 else f"{self.received}"
        return f"Operation timed out after {waited} milliseconds with {size} bytes received"


def transfer(order: Order) -> Result:
    """Do it, redirects included."""
    result = Result()
    began = time.monotonic()
    try:
        _follow(order, result, began, began + order.timeout if order.timeout else None)
    except TransferError as error:
        result.error = str(error)
    result.ended = time.monotonic()
    return result


def _follow(order: Order, result: Result, began: float, deadline: float | None) -> None:
    method, url, body = order.method, order.url, order.body
    followed = 0
    while True:
        result.body = b""
        with _connected(order, url, began, deadline) as wire:
            _send(wire, method, url, order.headers, body)
            location = _receive(wire, result)
        if location is None:
            return
        if followed == order.max_redirects:
            raise TransferError(f"Maximum ({order.max_redirects}) redirects followed")
        if result.status in RESENDS and body:
            # sm-ripext reads bodies through a function and gives curl none to go back to their start.
            raise TransferError("necessary data rewind wasn't possible")
        if result.status in BECOMES_GET:
            # A custom verb (PATCH, DELETE) stays, without the body.
            method, body = "GET" if method in ("POST", "PUT") else method, b""
        url, followed = urljoin(url, location), followed + 1


@contextmanager
def _connected(order: Order, url: str, began: float, deadline: float | None) -> Iterator[Wire]:
    parts = urlsplit(url)
    if parts.scheme != "http":
        raise TransferError(f'Protocol "{parts.scheme}" not supported or disabled in libcurl')
    host, port = parts.hostname or "", parts.port or 80
    left = [limit for limit in (order.connect_timeout, deadline and deadline - time.monotonic()) if limit]
    try:
        connection = socket.create_connection((host, port), timeout=max(min(left), 0.001) if left else None)
    except TimeoutError:
        waited = round((time.monotonic() - began) * 1000)
        raise TransferError(f"Connection timed out after {waited} milliseconds") from None
    except socket.gaierror:
        raise TransferError(f"Could not resolve host: {host}") from None
    except OSError as error:
        raise TransferError(f"Failed to connect to {host} port {port}: {error.strerror}") from None
    with connection:
        yield Wire(connection, began, deadline)


def _send(wire: Wire, method: str, url: str, headers: dict[str, str], body: bytes) -> None:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", f"User-Agent: {AGENT}"]
    # HTTPRequest::BuildHeaders prints each into 8192 bytes.
    lines += ["Accept-Encoding: deflate, gzip", *(f"{name}: {value}"[:8191] for name, value in headers.items())]
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}")
    try:
        wire.connection.sendall("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body)
    except ConnectionError:
        # What the other side said before it closed is still read.
        return


def _receive(wire: Wire, result: Result) -> str | None:
    """Read one answer; where it redirects to, if it does."""
    fields = _receive_head(wire, result)
    while 100 <= result.status < 200:
        fields = _receive_head(wire, result)
    location = fields.get("location") if 300 <= result.status < 400 else None
    coded = bytearray()
    try:
        for part in _parts(wire, result.status, fields):
            coded += part
            wire.received = len(coded)
    finally:
        if location is None:
            result.body = bytes(coded)
    if location is None:
        result.body = _decoded(result.body, fields.get("content-encoding", "").lower())
    return location


def _receive_head(wire: Wire, result: Result) -> dict[str, str]:
    """A status line and its headers, which join those of earlier answers: the last of a name wins."""
    try:
        status = wire.line()
    except EOFError:
        raise TransferError("Empty reply from server") from None
    if not status.startswith(b"HTTP/"):
        raise TransferError("Received HTTP/0.9 when not allowed")
    result.status = int(status.split()[1])
    fields = {}
    try:
        while line := wire.line():
            name, found, value = line.decode("utf-8", "surrogateescape").partition(": ")
            if found:
                fields[name.lower()] = value
    except EOFError:
        raise TransferError("Recv failure: Connection reset by peer") from None
    finally:
        result.headers |= fields
    return fields


def _parts(wire: Wire, status: int, fields: dict[str, str]) -> Iterator[bytes]:
    """The body as it comes: in chunks, of a known length, or up to the end of the connection."""
    if status in BODILESS:
        return
    if fields.get("transfer-encoding", "").lower() == "chunked":
        yield from _chunks(wire)
    elif "content-length" in fields:
        wire.expected = int(fields["content-length"])
        yield from _exactly(wire, wire.expected)
    else:
        # A body that ends with the connection looks whole wherever it is cut.
        while part := wire.read():
            yield part


def _chunks(wire: Wire) -> Iterator[bytes]:
    try:
        while size := int(wire.line().split(b";")[0], 16):
            yield from _exactly(wire, size)
            wire.line()
        while wire.line():
            pass
    except EOFError:
        raise TransferError("transfer closed with outstanding read data remaining") from None


def _exactly(wire: Wire, size: int) -> Iterator[bytes]:
    left = size
    while left:
        data = wire.read()
        if not data and wire.expected < 0:
            raise EOFError
        if not data:
            raise TransferError(f"transfer closed with {left} bytes remaining to read")
        part, wire.rest = data[:left], data[left:]
        left -= len(part)
        yield part


def _decoded(body: bytes, coding: str) -> bytes:
    if not body or coding not in ("gzip", "deflate"):
        return body
    try:
        return gzip.decompress(body) if coding == "gzip" else zlib.decompress(body)
    except (OSError, EOFError, zlib.error) as error:
        raise TransferError(f"Error while processing content unencoding: {error}") from None
