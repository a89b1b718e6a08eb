"""A line for the journal has its priority and only fields that may be written down; systemd gets the states."""

from __future__ import annotations

import ast
import json
import logging
import os
import socket
import sys
from pathlib import Path

import pytest

import equipoise
from equipoise.config.sections import Web
from equipoise.service.log_lines import FIELDS, JournalFormatter, JsonFormatter, notify, watchdog_seconds
from equipoise.web.requests import RESERVED_FILES

PACKAGE = Path(equipoise.__file__).parent


def line(level: int, text: str, *args: object, **extra: object) -> str:
    record = logging.LogRecord("equipoise.web", level, __file__, 1, text, args, None)
    record.__dict__.update(extra)
    return JournalFormatter().format(record)


def test_every_level_has_its_priority() -> None:
    levels = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
    assert [line(level, "x")[:3] for level in levels] == ["<7>", "<6>", "<4>", "<3>", "<2>"]


def test_only_known_fields_are_written() -> None:
    written = line(
        logging.INFO, "refused", code="host", status=421, secret="s3cret", name_of_player="Bob", ip="10.0.0.1"
    )
    assert written == "<6>equipoise.web: refused code=host status=421"


@pytest.mark.slow
def test_every_field_that_the_code_logs_is_written() -> None:
    calls = [
        keyword.value
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "extra"
    ]
    keys = [key for call in calls if isinstance(call, ast.Dict) for key in call.keys]
    fields = {key.value for key in keys if isinstance(key, ast.Constant)}
    assert {"pool", "job"} < fields <= set(FIELDS)


@pytest.mark.parametrize("control", ["\n", "\r", "\x1b", "\x7f", "\x9b", "\u2028"])
def test_no_text_has_control_characters(control: str) -> None:
    written = line(logging.INFO, "map %s", f"x{control}y", server=f"a{control}b")
    assert written == f"<6>equipoise.web: map x{ascii(control)[1:-1]}y server='a{ascii(control)[1:-1]}b'"


def test_a_field_is_one_word_or_quoted() -> None:
    written = line(logging.INFO, "refused", server="a caller=b", agent="it's", path="/é", count=3)
    assert written == r"""<6>equipoise.web: refused server='a caller=b' agent="it's" path='/\xe9' count=3"""


def test_each_line_of_a_traceback_has_its_priority_and_no_control_characters() -> None:
    try:
        raise ValueError("map x\x1b[2J\r\u2028y\n<2>kernel: panic")
    except ValueError:
        record = logging.LogRecord("equipoise.web", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    *lines, last, forged = JournalFormatter().format(record).split("\n")
    assert lines
    assert all(each.startswith("<3>") for each in lines)
    assert (last, forged) == (r"<3>ValueError: map x\x1b[2J\r\u2028y", "<3><2>kernel: panic")


NASTY = ["x\n<2>kernel: panic", "\x1b[2J\x9b\x7f\r\u2028", b"\xff\xfe".decode(errors="surrogateescape"), 'a"b\\', "☭"]


@pytest.mark.parametrize("text", NASTY)
def test_in_json_any_text_is_one_line_of_ascii_that_says_it_again(text: str) -> None:
    record = logging.LogRecord("equipoise.web", logging.WARNING, __file__, 1, "map %s", (text,), None)
    record.__dict__.update(server=text, status=421, seconds=float("inf"), secret="s3cret")
    line = JsonFormatter(prefixed=False).format(record)
    assert line.isascii()
    assert line.isprintable()
    entry = json.loads(line, parse_constant=pytest.fail)
    del entry["time"]
    fields = {"status": 421, "server": text, "seconds": "inf"}
    assert entry == {"level": "warning", "logger": "equipoise.web", "message": f"map {text}", **fields}


def test_in_json_a_traceback_is_in_the_line_of_its_fault() -> None:
    try:
        raise ValueError("first\nsecond\udcff")
    except ValueError:
        record = logging.LogRecord("equipoise", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    line = JsonFormatter(prefixed=True).format(record)
    assert line.startswith('<3>{"level": "error", ')
    assert "\n" not in line
    traceback = json.loads(line[3:])["traceback"].splitlines()
    assert (traceback[0], traceback[-2:]) == (
        "Traceback (most recent call last):",
        ["ValueError: first", "second\udcff"],
    )


# States for systemd, which accepts the unit file.

UNIT = Path(__file__).parents[2] / "systemd" / "equipoise.service"


def test_outside_systemd_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr(socket, "socket", lambda *arguments: opened.append(arguments))
    notify("READY=1", {})
    assert opened == []


@pytest.mark.parametrize("abstract", [True, False])
def test_the_socket_gets_the_state(tmp_path: Path, abstract: bool) -> None:
    name = f"equipoise-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("\0" + name if abstract else name)
        notify("READY=1", {"NOTIFY_SOCKET": "@" + name if abstract else name})
        assert systemd.recv(64) == b"READY=1"


def test_a_sign_of_life_is_given_twice_as_often_as_it_is_wanted() -> None:
    own = str(os.getpid())
    assert watchdog_seconds({"WATCHDOG_USEC": "20000000"}) == 10.0
    assert watchdog_seconds({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": own}) == 10.0
    assert watchdog_seconds({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": own + "1"}) is None
    assert watchdog_seconds({}) is None
    assert watchdog_seconds({"WATCHDOG_USEC": "soon"}) is None


def test_the_unit_leaves_numba_its_machine_code_and_has_an_open_file_for_each_connection() -> None:
    lines = UNIT.read_text().splitlines()
    assert {"MemoryDenyWriteExecute=no", "Type=notify"} <= set(lines)
    limits = dict(line.split("=", 1) for line in lines if line.startswith("LimitNOFILE="))
    assert int(limits["LimitNOFILE"]) >= Web().max_connections + RESERVED_FILES
