"""A game script's batches over a real socket: rounds are stored once, repeats are answered alike, late ones in part."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.web.daemon import CONFIG, Daemon, running
from tests.wire.samples import BLU, HELLO, RED, ROUND, posted

PLAYERS = [{"id": RED, "side": "red"}, {"id": BLU, "side": "blu"}]
ROSTER = {"kind": "roster", "players": PLAYERS}


def batch(seq: int, *happened: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return posted(*happened, **({"seq": seq} | fields))


def ended(number: int, winner: str = "red") -> dict[str, Any]:
    """A round that has just ended: its players are not stale."""
    return {**ROUND, "round": f"1-{number}", "winner": winner, "started_at": time.time() - 60}


def rating(daemon: Daemon, steam_id: str) -> tuple[float, int]:
    player = daemon.call("GET", f"/v1/admin/players/{steam_id}").body["player"]
    return player["rating"], player["rounds"]


def test_a_finished_round_is_stored_and_answered_with_the_new_ratings(daemon: Daemon) -> None:
    reply = daemon.post(batch(1, HELLO, ROSTER, ended(1))).body
    assert reply["rounds"] == {"1-1": "stored"}
    rated = {summary["id"]: summary for summary in reply["players"]}
    assert rated[RED]["rating"] > 1000.0 > rated[BLU]["rating"]
    assert rated[RED]["rounds"] == 1


def test_a_refused_batch_leaves_the_server_as_it_was(daemon: Daemon) -> None:
    daemon.post(batch(1, HELLO, ROSTER))
    before = daemon.call("GET", "/v1/admin/servers/arena-1").body["server"]
    bad = {"kind": "roster", "players": [PLAYERS[0], PLAYERS[0]]}
    assert daemon.post(batch(2, {"kind": "player_left", "id": RED}, bad)).code == "twice"
    after = daemon.call("GET", "/v1/admin/servers/arena-1").body["server"]
    assert [each["code"] for each in after["refused_batches"]] == ["twice"]
    passing = {"silent_seconds": 0, "served_seconds": 0}
    assert {**after, **passing, "refused_batches": []} == {**before, **passing}
    assert daemon.post(batch(2)).code == "ok"


def test_ns2_posts_forms_and_is_answered_in_its_words(daemon: Daemon) -> None:
    hello = {**HELLO, "game": "ns2", "map": "ns2_veil"}
    roster = {"kind": "roster", "players": [{"id": 22202, "side": "marines"}, {"id": 22203, "side": "aliens"}]}
    assert daemon.form(batch(1, hello, roster, server="ns2-1")).body["ok"] is True
    server = daemon.call("GET", "/v1/admin/servers/ns2-1").body["server"]
    assert (server["mode"], server["players_a"], server["players_b"]) == ("ns2", 1, 1)


def test_a_locked_store_keeps_the_round_and_the_script_keeps_its_copy(daemon: Daemon) -> None:
    daemon.post(batch(1, HELLO, ROSTER))
    with closing(sqlite3.connect(daemon.state / "equipoise.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert daemon.post(batch(2, ended(1))).body["rounds"] == {"1-1": "kept"}
        assert daemon.call("GET", "/healthz").body["waiting_rounds"] == 1
        answer = daemon.call("PUT", f"/v1/admin/players/{RED}", {"rating": 1500, "new": True})
        assert (answer.status, answer.code) == (503, "unavailable")
        other.execute("ROLLBACK")
    assert daemon.post(batch(3, ended(1))).body["rounds"] == {"1-1": "stored"}
    assert rating(daemon, RED)[1] == 1
    assert daemon.call("GET", "/healthz").body["waiting_rounds"] == 0


def test_a_reply_says_how_often_to_call(tmp_path: Path) -> None:
    with running(tmp_path, "poll_seconds = 2\n" + CONFIG) as daemon:
        assert daemon.post(batch(1)).body["next"] == 2.0
