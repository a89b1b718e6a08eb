"""What scripts of an older commit send is taken: all batches that were recorded then, over a real socket, in order."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from equipoise.core.model import Mode, Round
from equipoise.wire import decode_batch
from equipoise.wire.batches import AnyEvent
from tests.web.daemon import Daemon, running
from tests.web.recorded import SCRIPTS, sessions

SECRET = "s3cret"
NEVER = {"tf2": {"round_aborted", "heartbeat"}, "ns2": {"sides_switched", "waiting_ended", "vote_ended", "heartbeat"}}
"""Kinds of events that a script of ours does not send: an empty batch is its heartbeat."""


def config_of(game: str) -> str:
    """A server for each session; their clocks were alike, so several have one `boot`."""
    digests = ((name, hashlib.sha256((name + SECRET).encode()).hexdigest()) for name in sessions(game))
    servers = (f"[server.{name}]\ngame = '{game}'\nsecret_sha256 = '{digest}'\n" for name, digest in digests)
    return "[web]\nport = 0\n[store]\ndirectory = '{state}'\n[pool.main]\n" + "".join(servers)


def post(daemon: Daemon, game: str, server: str, body: str) -> tuple[int, str]:
    """Post as the game does, in the name of this server."""
    assert body.count('"test-1"') == 1
    body = body.replace('"test-1"', f'"{server}"')
    if game == "ns2":
        form = urlencode({"secret": server + SECRET, "data": body}).encode()
        answer = daemon.request("POST", "/v1/events", form, content_type="application/x-www-form-urlencoded")
    else:
        answer = daemon.request("POST", "/v1/events", body.encode(), authorization=f"Bearer {server}{SECRET}")
    return answer.status, answer.code


@pytest.mark.slow
@pytest.mark.parametrize("game", SCRIPTS)
def test_every_recorded_batch_is_taken_and_every_round_is_stored(game: str, tmp_path: Path) -> None:
    refused, played = [], Counter[str]()
    with running(tmp_path, config_of(game)) as daemon:
        for server, bodies in sessions(game).items():
            for number, body in enumerate(bodies):
                if (answer := post(daemon, game, server, body)) != (200, "ok"):
                    refused.append((server, number, *answer))
            rounds = {event["round"] for body in bodies for event in json.loads(body)["events"] if "winner" in event}
            played[server] = len(rounds)
    with closing(sqlite3.connect(tmp_path / "state" / "equipoise.db")) as store:
        stored = Counter[str](dict(store.execute("SELECT server, count(*) FROM rounds GROUP BY server")))
    assert (refused, stored) == ([], +played)


@pytest.mark.parametrize("game", SCRIPTS)
def test_all_kinds_of_events_and_all_modes_are_among_them(game: str) -> None:
    bodies = [body for bodies in sessions(game).values() for body in bodies]
    batches = [json.loads(body) for body in bodies]
    sent = {event["kind"] for batch in batches for event in batch["events"]}
    known = {kind.__struct_config__.tag for kind in AnyEvent.__args__}
    assert sent == known - NEVER[game]
    assert any(batch["dropped"] for batch in batches)
    assert any(not batch["events"] for batch in batches)

    rounds = (event.round for body in bodies for event in decode_batch(body.encode()).events if hasattr(event, "round"))
    modes = {result.mode for result in rounds if isinstance(result, Round)}
    assert modes == ({Mode.NS2} if game == "ns2" else {*Mode} - {Mode.NS2})
