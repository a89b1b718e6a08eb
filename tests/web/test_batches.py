"""A game script's batches over a real socket: rounds are stored once, repeats are answered alike, late ones in part."""

from __future__ import annotations

import time
from typing import Any

from tests.web.daemon import Daemon
from tests.wire.samples import BLU, HELLO, RED, ROUND, posted

PLAYERS = [{"id": RED, "side": "red"}, {"id": BLU, "side": "blu"}]
ROSTER = {"kind": "roster", "players": PLAYERS}


def batch(seq: int, *happened: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return posted(*happened, **({"seq": seq} | fields))


def ended(number: int, winner: str = "red") -> dict[str, Any]:
    """A round that has just ended: its players are not stale."""
    return {**ROUND, "round": f"1-{number}", "winner": winner, "started_at": time.time() - 60}


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
