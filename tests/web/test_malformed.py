"""What is no HTTP, or only half of it, is answered in JSON or not at all; it is never the daemon's own failure."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.daemon import SECRETS, Daemon
from tests.web.made_up import MADE_UP

AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: `close` resets the connection."""


@pytest.fixture(autouse=True)
def _nothing_failed(untouched: Daemon, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever a test sends, the daemon answers the next request and has logged no failure of its own."""
    with caplog.at_level(logging.WARNING):
        yield
    assert untouched.request("GET", "/healthz").body["ok"] is True
    # The loop's watch tells of time: this process has a loop, a client and 1,000 tests' garbage.
    told = (record for record in caplog.records if "event_loop" not in record.name)
    assert [record.getMessage() for record in told] == []


def request(daemon: Daemon, *headers: bytes, line: bytes = b"GET /healthz HTTP/1.1", body: bytes = b"") -> bytes:
    """A request as bytes, with the Host header that is served."""
    host = f"Host: {daemon.host}:{daemon.port}".encode()
    return b"\r\n".join([line, host, *headers, b"", body])


def sent(daemon: Daemon, raw: bytes, seconds: float = 20.0) -> tuple[int, bytes]:
    """Status and body of the first answer; 0 when the daemon sent none in time, as to a request without an end."""
    with socket.create_connection((daemon.host, daemon.port), timeout=seconds) as connection:
        with contextlib.suppress(ConnectionError):  # it may close before it has read everything
            connection.sendall(raw)
        with connection.makefile("rb") as answer, contextlib.suppress(ConnectionError, TimeoutError):
            while (line := answer.readline()).startswith(b"HTTP/1.1 100 "):
                answer.readline()
            headers = dict(header.split(b": ", 1) for header in iter(answer.readline, b"\r\n") if header)
            return int(line.split(b" ")[1]), answer.read(int(headers[b"Content-Length"]))
    return 0, b""


def refused(daemon: Daemon, raw: bytes) -> tuple[int, str]:
    """Status and code of the refusal that answers these bytes."""
    status, body = sent(daemon, raw)
    answer = json.loads(body)
    assert answer["ok"] is False
    return status, answer["error"]["code"]


NO_HTTP = {
    "no line at all": b"\r\n\r\nGET\r\n\r\n",
    "HTTP/2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100,
    "an unknown version": b"GET / HTTP/9.9\r\n\r\n",
    "an unknown method": b"FOO / HTTP/1.1\r\n\r\n",
    "a method in small letters": b"get / HTTP/1.1\r\n\r\n",
    "NUL in the method": b"G\x00T / HTTP/1.1\r\n\r\n",
    "NUL in the path": b"GET /\x00 HTTP/1.1\r\n\r\n",
    "a path of a megabyte": b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
    "an address that is none": b"GET http://[::1 HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("raw", NO_HTTP.values(), ids=NO_HTTP)
def test_bytes_that_are_no_http_are_refused_in_json(untouched: Daemon, raw: bytes) -> None:
    assert refused(untouched, raw) == (400, "http")


BAD_HEADERS = {
    "no colon": b"No colon",
    "no name": b": x",
    "NUL": b"X: \x00",
    "a line that goes on": b" folded: x",
    "a megabyte": b"X: " + b"a" * 1_000_000,
    "a name too long": b"X" * 9000 + b": y",
    "too many": b"\r\n".join([b"X: y"] * 20_000),
    "no length": b"Content-Length: x",
    "a negative length": b"Content-Length: -1",
    "a length of 5000 digits": b"Content-Length: " + b"9" * 5000,
    "two lengths": b"Content-Length: 1\r\nContent-Length: 2",
    "a length and chunks": b"Content-Length: 1\r\nTransfer-Encoding: chunked",
    "an unknown coding": b"Transfer-Encoding: x",
    "two hosts": b"Host: other",
    "an expectation that is not Unicode": b"Expect: \x80",
}


@pytest.mark.parametrize("header", BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_headers_that_cannot_be_read_are_refused_in_json(untouched: Daemon, header: bytes) -> None:
    assert refused(untouched, request(untouched, header)) == (400, "http")


@pytest.mark.parametrize("path", [b"/healthz", b"/nowhere"])
def test_an_expectation_that_is_not_met_is_refused_in_json(untouched: Daemon, path: bytes) -> None:
    line = b"GET " + path + b" HTTP/1.1"
    assert refused(untouched, request(untouched, b"Expect: miracles", line=line)) == (417, "http")
    assert sent(untouched, request(untouched, b"Expect: 100-continue"))[0] == 200


CHUNKS = [b"zz\r\n", b"-1\r\n", b"F" * 40 + b"\r\n", b"1\r\nab\r\n0\r\n\r\n"]


@pytest.mark.parametrize("chunks", CHUNKS)
def test_chunks_that_cannot_be_read_are_refused_in_json(untouched: Daemon, chunks: bytes) -> None:
    line = b"POST /v1/splits HTTP/1.1"
    headers = (b"Content-Type: application/json", b"Authorization: Bearer " + SECRETS["guest"].encode())
    raw = request(untouched, *headers, b"Transfer-Encoding: chunked", line=line, body=chunks)
    assert refused(untouched, raw)[0] == 400


PATHS = [b"%ff", b"%zz", b"%00", b"\xff", "é".encode(), b"%ed%a0%80", b"%2e%2e%2f", b"x?%ff=%fe", b"x" * 8000]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:12])
def test_a_path_of_any_bytes_is_answered_in_json(untouched: Daemon, path: bytes) -> None:
    owner = b"Authorization: Bearer " + SECRETS["owner"].encode()
    for folder in (b"/", b"/v1/admin/players/", b"/v1/admin/servers/", b"/v1/admin/pools/main/players?text="):
        status, body = sent(untouched, request(untouched, owner, line=b"GET " + folder + path + b" HTTP/1.1"))
        assert isinstance(json.loads(body)["ok"], bool)
        assert status < 500


def test_http_0_9_is_refused_in_json(untouched: Daemon) -> None:
    assert refused(untouched, b"GET /\r\n\r\n") == (421, "host")


HALVES = (b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\nab")


@pytest.mark.parametrize("kind", [b"application/json", b"application/x-www-form-urlencoded"])
def test_a_caller_who_goes_in_the_middle_of_a_body_is_no_failure_of_the_daemon(untouched: Daemon, kind: bytes) -> None:
    line = b"POST /v1/events HTTP/1.1"
    before = untouched.refused().get("payload", 0)
    for half in HALVES:
        for option in (AT_ONCE, None):
            head = request(untouched, b"Authorization: Bearer arena secret", b"Content-Type: " + kind, line=line)
            with socket.create_connection((untouched.host, untouched.port), timeout=20) as connection:
                connection.sendall(head.removesuffix(b"\r\n") + half)
                untouched.request("GET", "/healthz")  # answered after the daemon has begun with the half
                if option:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
            untouched.request("GET", "/healthz")
    # The daemon hears of the last one when its loop comes to it.
    assert any(untouched.refused().get("payload") == before + 4 for _ in range(100))


LINES = st.sampled_from([b"GET /healthz HTTP/1.1", b"POST /v1/events HTTP/1.1", b"PUT /v1/admin/players/1 HTTP/1.1"])
NAMES = st.sampled_from(
    [b"Content-Length", b"Transfer-Encoding", b"Expect", b"Content-Type", b"Authorization", b"Origin"]
)


@MADE_UP
@given(st.data())
def test_any_bytes_are_answered_in_json_or_not_at_all(untouched: Daemon, data: st.DataObject) -> None:
    headers = data.draw(st.lists(st.tuples(NAMES, st.binary(max_size=12)).map(b": ".join), max_size=4))
    raw = bytearray(request(untouched, *headers, line=data.draw(LINES), body=data.draw(st.binary(max_size=64))))
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=3)):
        raw[place] = byte
    status, body = sent(untouched, bytes(raw), seconds=0.2)
    assert status < 500
    assert status == 0 or isinstance(json.loads(body)["ok"], bool)
