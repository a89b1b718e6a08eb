"""Batches and forms of any content, one after the other: the daemon takes or refuses them and never fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any
from urllib.parse import quote, quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.model import ServerId
from equipoise.wire import Batch
from tests.web.daemon import SECRETS, Answer, Daemon
from tests.web.made_up import MADE_UP, SOME
from tests.wire.any_batch import batches
from tests.wire.samples import BLU, RED, posted, written

FORM = "application/x-www-form-urlencoded"
BOOT, SEQ = 1, count(1)
"""One boot in which batches follow each other: late ones would not reach the session."""
LOOKS = [
    ("GET", "/v1/admin/servers/arena-1", None),
    ("GET", "/v1/admin/decisions", None),
    ("GET", "/v1/admin/pools/main/quality", None),
    ("GET", "/v1/admin/pools/main/top", None),
    ("GET", "/metrics", None),
    ("POST", "/v1/admin/servers/arena-1/scramble", {"dry_run": True}),
    ("POST", "/v1/admin/servers/arena-1/balance", {"dry_run": True}),
]
"""What an operator may ask at any time."""


@pytest.fixture(autouse=True)
def _nothing_failed(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.ERROR):
        yield
    assert [record.getMessage() for record in caplog.records] == []


def assert_answered(answer: Answer) -> None:
    """It is JSON with `ok`, and no fault of the daemon; a daemon that is busy says so."""
    assert answer.status < 500 or answer.code == "busy", answer.raw
    assert isinstance(answer.body["ok"], bool)


@pytest.mark.slow
@SOME
@given(st.lists(batches, min_size=1, max_size=4), st.booleans())
def test_any_batches_are_answered_and_so_is_an_operator_after_them(
    attacked: Daemon, several: list[Batch], form: bool
) -> None:
    for each in several:
        batch = replace(each, server=ServerId("ns2-1" if form else "arena-1"), boot=BOOT, seq=next(SEQ))
        if form:
            sent = f"secret={quote(SECRETS['ns2-1'])}&data={quote(written(batch))}"
            assert_answered(attacked.request("POST", "/v1/events", sent.encode(), content_type=FORM))
        else:
            secret = f"Bearer {SECRETS['arena-1']}"
            assert_answered(attacked.request("POST", "/v1/events", written(batch), authorization=secret))
    for method, path, body in LOOKS:
        answer = attacked.call(method, path, body)
        assert answer.status in (200, 409), answer.raw


NAMES = st.sampled_from(["secret", "data", "Secret", "x", "", "secret[]"])
VALUES = st.one_of(
    st.just(quote(SECRETS["ns2-1"])),
    st.just(quote(json.dumps(posted(server="ns2-1")))),
    st.binary(max_size=24).map(quote_from_bytes),
    st.sampled_from(["%", "%zz", "%ff", "%00", "%ed%a0%80", "+", "a=b", "\x00", "[" * 3000, "1e999"]),
)


@MADE_UP
@given(
    st.lists(st.tuples(NAMES, VALUES).map("=".join), max_size=10),
    st.sampled_from(["&", ";", "&&"]),
    st.sampled_from(["", "; charset=utf-8", "; charset=utf-16", "; charset=klingon", '; charset="', "; x=y"]),
)
def test_any_form_is_answered(attacked: Daemon, fields: list[str], between: str, parameter: str) -> None:
    form = between.join(fields).encode()
    assert_answered(attacked.request("POST", "/v1/events", form, content_type=FORM + parameter))


WORDS = st.one_of(
    st.sampled_from(["rating", "rank", "top", "teams", "status", "why", "set", "reset", "scramble", "balance"]),
    st.sampled_from(["on", "off", "vote", "now", "next", "dry", "cancel", "", " ", "-1", "999999", "1000000", "1e9"]),
    st.sampled_from([RED, f"0{RED}", str(2**63), "9" * 128, "٣", "²", "@", f"@{RED}", "bot:7", "{1}", "%s", "\u202e"]),
    st.text(max_size=128),
)


@MADE_UP
@given(st.lists(WORDS, min_size=1, max_size=16), st.sampled_from(["", RED, BLU]), st.booleans())
def test_any_command_is_answered(attacked: Daemon, words: list[str], by: str, admin: bool) -> None:
    event: dict[str, Any] = {"kind": "command", "words": words, "by": by, "admin": admin}
    assert_answered(attacked.post(posted(event, boot=BOOT, seq=next(SEQ))))
