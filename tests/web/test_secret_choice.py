"""A secret team choice in a real daemon: until it closes, what was chosen is in no answer, no log and no file."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.model import STEAM_ID_BASE
from tests.web.daemon import CONFIG, Daemon, running
from tests.wire.samples import HELLO, posted

pytestmark = pytest.mark.slow

ADMIN = 22201
LONG = CONFIG + "[shuffle]\nchoice_seconds = 300\n"
READ = ("servers", "servers/ns2-1", "decisions", "audit", "players/22202", "doctor")


def post(daemon: Daemon, seq: int, *events: dict[str, Any]) -> list[dict[str, Any]]:
    """A batch of the NS2 script; returns the orders of the reply."""
    answer = daemon.form(posted(*events, seq=seq, server="ns2-1"))
    assert answer.code == "ok"
    orders: list[dict[str, Any]] = answer.body["orders"]
    return orders


def said(account: int, *words: str) -> dict[str, Any]:
    return {"kind": "command", "words": list(words), "by": str(account), "admin": account == ADMIN}


def held(folder: Path, chosen: dict[int, str], caplog: pytest.LogCaptureFixture) -> tuple[list[Any], str]:
    """A choice that is still open when the daemon ends: the answers to the players, and all else that can be read."""
    caplog.clear()
    folder.mkdir()
    sides = {ADMIN: "marines", 22202: "aliens", 22203: "marines", 22204: "aliens", 22205: "none"}
    players = [{"id": str(steam_id), "side": side, "waiting": side == "none"} for steam_id, side in sides.items()]
    hello = {**HELLO, "game": "ns2", "map": "ns2_veil", "phase": "idle"}
    seen: list[Any] = []
    with running(folder, LONG) as daemon:
        seen.append(post(daemon, 1, hello, {"kind": "roster", "players": players}))
        seen.append(post(daemon, 2, said(ADMIN, "choice")))
        told = [
            post(daemon, 3 + n, said(steam_id, "choose", word)) for n, (steam_id, word) in enumerate(chosen.items())
        ]
        seen.append(post(daemon, 10, said(22205, "status"), said(ADMIN, "why"), said(ADMIN, "status")))
        seen += [daemon.call("GET", f"/v1/admin/{what}").body for what in READ]
        *exported, _checksum = daemon.call("GET", "/v1/admin/pools/main/export").raw.decode().splitlines()
        seen += [exported, daemon.call("GET", "/metrics").raw.decode()]
    with closing(sqlite3.connect(folder / "state" / "equipoise.db")) as store:
        seen.append(list(store.iterdump()))
    # What a busy machine holds up is no part of the choice.
    ours = (each for each in caplog.records if each.name.startswith("equipoise") and "event_loop" not in each.name)
    seen.append([each.getMessage() for each in ours])
    # Times, and the folder's number, differ from one daemon to the next.
    return told, re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "#", json.dumps(seen))


def test_what_was_chosen_is_in_no_answer_to_others_and_in_no_log_or_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    first = {ADMIN: "aliens", 22202: "aliens", 22203: "marines", 22205: "random"}
    told, read = held(tmp_path / "1", first, caplog)
    _, read_of_others = held(tmp_path / "2", dict.fromkeys(first, "marines"), caplog)
    for (account, word), orders in zip(first.items(), told, strict=True):
        (order,) = orders
        assert order["kind"] == "tell"
        assert order["id"] == str(STEAM_ID_BASE + account), order
        assert order["lines"][0]["args"] == [word]
    assert '"choice"' in read, "that there is a choice may be read"
    assert read == read_of_others
