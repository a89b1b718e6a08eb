"""A scripted daemon, which says yes to everything and orders what a test wants, and a server with people before it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from equipoise.errors import ScriptError
from equipoise.wire.codec import decode_batch
from tests.ns2mod.rig import Client, Game

BASE = 76561197960265728


def steam(account: int) -> str:
    return str(BASE + account)


def assign(order: str, red: list[int], blu: list[int], moment: str) -> dict[str, Any]:
    """An order for these account ids."""
    return {
        "kind": "assign",
        "order": order,
        "reason": {"phrase": "Equipoise_ReasonAdmin", "args": []},
        "red": [steam(each) for each in red],
        "blu": [steam(each) for each in blu],
        "bench": [],
        "moment": moment,
    }


class ScriptedDaemon:
    """Answers on a port of its own; `orders` go out with the next reply."""

    def __init__(self) -> None:
        self.batches: list[dict[str, Any]] = []
        self.faults: list[str] = []
        """Batches that the daemon would not take."""
        self.orders: list[dict[str, Any]] = []
        self.fields: dict[str, Any] = {}
        """Of every reply, beside the usual ones."""
        self.answers: Callable[[dict[str, Any]], list[dict[str, Any]]] | None = None
        """Orders that answer an event."""
        self.stores = "stored"
        self._answered: tuple[int, int] | None = None
        self._reply: dict[str, Any] = {}
        """A batch that comes again gets the same reply."""
        self.seconds = 0.0
        """How long an answer takes, in real time."""
        daemon = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                body = json.dumps(daemon.reply(form)).encode()
                time.sleep(daemon.seconds)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, form: dict[str, list[str]]) -> dict[str, Any]:
        assert form["secret"] == ["s3cret"]
        batch = json.loads(form["data"][0])
        self._read(form["data"][0])
        repeated = self._answered == (batch["boot"], batch["seq"])
        self._answered = batch["boot"], batch["seq"]
        self.batches.append(batch)
        if not repeated:
            self._reply = self._new_reply(batch)
        return {**self._reply, **self.fields}

    def _new_reply(self, batch: dict[str, Any]) -> dict[str, Any]:
        orders, self.orders = self.orders, []
        for event in batch["events"]:
            orders += self.answers(event) if self.answers else []
        rounds = {event["round"]: self.stores for event in batch["events"] if event["kind"] == "round_ended"}
        return {
            "ok": True,
            "orders": orders,
            "rounds": rounds,
            "players": [],
            "pending": False,
            "reason": None,
            "due_if": [],
            "want": [],
            "enabled": True,
            "level": "balance",
            "level_reason": "",
            "next": 1.0,
        }

    def _read(self, data: str) -> None:
        """As the daemon does, which would refuse it."""
        try:
            decode_batch(data.encode())
        except ScriptError as error:
            self.faults.append(f"{error}: {data}")

    def events(self, kind: str) -> list[dict[str, Any]]:
        """All of this kind, in the order of their arrival."""
        return [event for batch in self.batches for event in batch["events"] if event["kind"] == kind]

    def last(self, kind: str) -> dict[str, Any]:
        return self.events(kind)[-1]

    def sides(self) -> dict[str, str]:
        """Who is here and where, as the daemon knows it."""
        sides: dict[str, str] = {}
        for event in (event for batch in self.batches for event in batch["events"]):
            if event["kind"] == "roster":
                sides = {line["id"]: line["side"] for line in event["players"]}
            elif event["kind"] == "side_changed":
                sides[event["id"]] = event["side"]
            elif event["kind"] == "player_left":
                sides.pop(event["id"], None)
        return sides

    def outcome(self, order: str) -> str | None:
        """ "done", or why it failed; None before that."""
        for event in [*self.events("order_done"), *self.events("order_failed")]:
            if event["order"] == order:
                return str(event.get("reason", "done"))
        return None


class Scene:
    """A server with people: marines have account ids from 101, aliens from 201; the first of each side commands."""

    def __init__(self, game: Game, daemon: ScriptedDaemon) -> None:
        self.game = game
        self.daemon = daemon

    def people(self, marines: int = 3, aliens: int = 3) -> tuple[list[Client], list[Client]]:
        """Everybody on a side, as if they had been there before."""
        sides = []
        for team, count in ((1, marines), (2, aliens)):
            side = [
                self.game.connect(100 * team + number, f"{'MA'[team - 1]}{number}") for number in range(1, count + 1)
            ]
            for client in side:
                client.moves()
                assert self.game.seat(client, team)
            sides.append(side)
        self.game.run(2)
        return sides[0], sides[1]

    def commanded(self, *sides: list[Client]) -> None:
        for side in sides:
            assert side[0].commands()

    def round(self, marines: int = 3, aliens: int = 3) -> tuple[list[Client], list[Client]]:
        """A round that runs, with commanders."""
        sides = self.people(marines, aliens)
        self.commanded(*sides)
        self.game.start_round()
        self.game.run(0.5)
        return sides


Start = Callable[..., Scene]
"""What the fixture `scene` is."""
SHINES = pytest.mark.parametrize("shine", ["none", "outside", "inside"])
"""Without Shine, and Shine's wrap of JoinTeam outside or inside of the mod's."""
