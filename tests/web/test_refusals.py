"""What operators see of refused requests, and what callers who try secrets get."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
import tracemalloc
from pathlib import Path

import pytest

from equipoise.errors import ScriptError
from equipoise.service import repeats
from equipoise.service.log import JournalFormatter
from equipoise.service.metrics import Metrics
from equipoise.web import Refusals, refusals
from tests.web.daemon import SECRETS, Daemon, running
from tests.wire.samples import body

HOSTILE = ["x\n<0>kernel: panic", "\x1b[2J\x1b[31m", "n" * 10_000, "\r\x00\x7f\x9b\u202e", 'a" caller=token:owner']


@pytest.fixture(autouse=True)
def _log_and_no_delay(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.INFO, logger="equipoise.web.refusals")
    monkeypatch.setattr(refusals, "DELAY_SECONDS", 0.0)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What journald would get."""
    records = (each for each in caplog.records if each.name == "equipoise.web.refusals")
    return [JournalFormatter().format(record) for record in records]


def guess(daemon: Daemon, secret: str = "wrong", source: str = "127.0.0.1", **said: str) -> bytes:
    """The answer to a batch with this secret."""
    sent = json.dumps(json.loads(body(**said)), ensure_ascii=False).encode()
    with socket.create_connection((daemon.host, daemon.port), timeout=60, source_address=(source, 0)) as connection:
        head = (
            "POST /v1/events HTTP/1.1",
            f"Host: {daemon.host}:{daemon.port}",
            "Content-Type: application/json",
            f"Content-Length: {len(sent)}",
            f"Authorization: Bearer {secret}",
            "User-Agent: sm-ripext/1.3",
        )
        connection.sendall("\r\n".join([*head, "", ""]).encode() + sent)
        return connection.recv(65536)


def test_a_line_names_what_an_operator_has_to_look_for(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    guess(daemon, server="dustbowl")
    guess(daemon, SECRETS["ns2-1"], server="arena-1")
    assert lines(caplog) == [
        "<6>equipoise.web.refusals: refused code=credentials status=401 server=dustbowl agent=sm-ripext/1.3 "
        "path=/v1/events peer=127.0.0.1",
        "<6>equipoise.web.refusals: refused code=server status=403 server=arena-1 caller=script:ns2-1 "
        "agent=sm-ripext/1.3 path=/v1/events peer=127.0.0.1",
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_claimed_name_cannot_forge_a_line(daemon: Daemon, caplog: pytest.LogCaptureFixture, name: str) -> None:
    guess(daemon, server=name)
    daemon.request("GET", "/nowhere/%0A%1b[31m" + "x" * 5000, user_agent="\t" + "y" * 5000)
    assert len(lines(caplog)) == 2
    for line in lines(caplog):
        assert line.isascii()
        assert line.isprintable()
        assert len(line) < 600
        assert " caller=" not in line


def test_repeats_are_one_number_a_minute(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running(tmp_path) as daemon:
        for _ in range(20):
            guess(daemon, server="dustbowl")
        assert len(lines(caplog)) == 1
        assert daemon.refused()["credentials"] == 20
    assert len(lines(caplog)) == 2
    assert "refused, again code=credentials status=401 server=dustbowl" in lines(caplog)[1]
    assert lines(caplog)[1].endswith(" count=19")


def test_a_minute_ends_by_itself(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MINUTE", 0.0)

    async def twice() -> None:
        counted = repeats.Repeats(refusals.log, logging.INFO)
        for _ in range(2):
            counted.log("key", "one")
            counted.log("key", "one")
            await asyncio.sleep(0.01)

    asyncio.run(twice())
    assert [line.split(": ")[1] for line in lines(caplog)] == ["one", "one, again count=1"] * 2


def test_different_lines_are_bounded_too(caplog: pytest.LogCaptureFixture) -> None:
    async def many() -> None:
        counted = repeats.Repeats(refusals.log, logging.INFO)
        for number in range(1000):
            counted.log(number, "one")
        counted.close()

    asyncio.run(many())
    assert len(lines(caplog)) == 101
    assert lines(caplog)[-1].endswith("more lines were left out count=900")


def test_an_address_that_tries_secrets_is_throttled_and_the_right_secret_is_not(daemon: Daemon) -> None:
    for _ in range(refusals.TRIES):
        assert b" 401 " in guess(daemon)
    throttled = guess(daemon)
    head, _, sent = throttled.partition(b"\r\n\r\n")
    assert b" 429 " in head
    assert b"Retry-After: 60" in head
    assert json.loads(sent)["error"]["code"] == "throttled"
    assert b" 200 " in guess(daemon, SECRETS["arena-1"])
    assert b" 401 " in guess(daemon, source="127.0.0.2")
    assert daemon.refused()["throttled"] == 1


def test_addresses_that_are_told_apart_are_bounded() -> None:
    async def many() -> list[int]:
        refused = Refusals(Metrics())
        error = ScriptError("credentials", "", status=401)
        peers = [f"2001:db8::{number:x}" for number in range(refusals.ADDRESSES + refusals.TRIES + 1)]
        return [(await refused.throttled(peer, error)).status for peer in peers]

    assert asyncio.run(many()) == [401] * (refusals.ADDRESSES + refusals.TRIES) + [429]


@pytest.mark.slow
def test_wrong_secrets_that_are_answered_late_hold_no_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = b"secret=wrong&data=" + b"x" * 250_000
    with running(tmp_path) as daemon:
        for _ in range(refusals.TRIES):
            guess(daemon)
        monkeypatch.setattr(refusals, "DELAY_SECONDS", 20.0)
        tracemalloc.start()
        try:
            for _ in range(40):
                with socket.create_connection((daemon.host, daemon.port), timeout=60) as connection:
                    head = f"Host: {daemon.host}:{daemon.port}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                    head = f"POST /v1/events HTTP/1.1\r\n{head}Content-Length: {len(form)}\r\n\r\n"
                    connection.sendall(head.encode() + form)
            while b'equipoise_connections{proven="no"} 0.0' not in daemon.call("GET", "/metrics").raw:
                time.sleep(0.01)  # until all were read to their ends
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert held < 10 * len(form)
