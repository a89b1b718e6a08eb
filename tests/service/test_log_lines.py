"""A line for the journal has its priority and only fields that may be written down."""

from __future__ import annotations

import ast
import json
import logging
import sys
from pathlib import Path

import pytest

import equipoise
from equipoise.service.log_lines import FIELDS, JournalFormatter, JsonFormatter

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


def test_a_field_with_a_line_break_cannot_forge_a_second_line() -> None:
    assert line(logging.INFO, "map %s", "x\n<2>kernel: panic") == "<6>equipoise.web: map x\\n<2>kernel: panic"


@pytest.mark.parametrize("control", ["\n", "\r", "\x1b", "\x7f", "\x9b", "\u2028"])
def test_no_text_has_control_characters(control: str) -> None:
    written = line(logging.INFO, "map %s", f"x{control}y", server=f"a{control}b")
    assert written == f"<6>equipoise.web: map x{ascii(control)[1:-1]}y server='a{ascii(control)[1:-1]}b'"


def test_no_line_of_a_traceback_has_control_characters() -> None:
    try:
        raise ValueError("map x\x1b[2J\r\u2028y\n<2>kernel: panic")
    except ValueError:
        record = logging.LogRecord("equipoise.web", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    *_, last, forged = JournalFormatter().format(record).split("\n")
    assert (last, forged) == (r"<3>ValueError: map x\x1b[2J\r\u2028y", "<3><2>kernel: panic")


def test_a_field_is_one_word_or_quoted() -> None:
    written = line(logging.INFO, "refused", server="a caller=b", agent="it's", path="/é", count=3)
    assert written == r"""<6>equipoise.web: refused server='a caller=b' agent="it's" path='/\xe9' count=3"""


def test_each_line_of_a_traceback_has_its_priority() -> None:
    try:
        raise RuntimeError("no")
    except RuntimeError as error:
        record = logging.LogRecord("equipoise", logging.ERROR, __file__, 1, "failed", (), (type(error), error, None))
    lines = JournalFormatter().format(record).splitlines()
    assert len(lines) > 1
    assert all(each.startswith("<3>") for each in lines)


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
