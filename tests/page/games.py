"""A daemon of the test's own process as a browser's tests need it, and a game whose script obeys it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from equipoise.core.effects import Order
from equipoise.core.model import Mode, PlayerId, ServerId, Side
from equipoise.demo.script import Script, decoded
from equipoise.lab.simulation.game_server import GameServer, Map
from equipoise.wire import orders as wire
from tests.web.daemon import SECRETS, Daemon

KOTH = Map("koth_harvest_final", Mode.KOTH)


@dataclass(frozen=True)
class Home:
    """Where a browser finds a daemon that a test runs in its own process."""

    daemon: Daemon

    @property
    def url(self) -> str:
        return f"http://{self.daemon.host}:{self.daemon.port}"

    def ask(self, path: str, body: object | None = None, method: str | None = None) -> Any:
        """The admin interface's answer."""
        return self.daemon.call(method or ("GET" if body is None else "POST"), f"/v1/admin/{path}", body).body

    def audited(self) -> list[tuple[str, str, str]]:
        """Who did what to whom, the last first, without logins."""
        lines = self.ask("audit")["audit"]
        return [(line["who"], line["target"], line["after"]) for line in lines if line["action"] != "login"]


class Game:
    """A simulated TF2 server with these people, half of them on each side, in the middle of a round.

    The secret of a server that the configuration of tests does not have is its name.
    """

    def __init__(
        self, daemon: Daemon, names: Sequence[str], on: Map = KOTH, server: str = "arena-1", first: int = 0
    ) -> None:
        self.daemon, self.secret = daemon, SECRETS.get(server, server)
        self.names: Mapping[PlayerId, str] = {
            PlayerId(str(76561197960300000 + first + place)): name for place, name in enumerate(names)
        }
        self.game = GameServer(ServerId(server), round(1000 * (time.time() - 900)), on)
        self.script = Script(self.game, self.names)
        self.seats = {player: list(Side)[place % 2] for place, player in enumerate(self.names)}
        for player in self.names:
            self.game.connect(player)
        self.sync()
        if self.game.waiting_for_players:
            self.game.end_waiting()
        self.begin()

    def begin(self) -> None:
        """The next round is live, with everybody where they want to be."""
        for player, client in self.game.clients.items():
            if client.side is None:
                self.game.want(player, self.seats[player])
        self.sync()
        self.game.start_round()
        self.sync()
        self.game.go_live()
        self.sync()

    def end(self, winner: Side = Side.A) -> str:
        """The round ends after two minutes; its name."""
        self.game.pass_time(120.0)
        self.game.fight()
        ended = self.game.end_round(winner)
        self.script.keep(ended)
        self.sync()
        return ended.round.id

    def sync(self) -> list[Order]:
        """Report what has happened, and obey: the orders that came."""
        came: list[Order] = []
        again = True
        while again:
            answer = self.daemon.request(
                "POST", "/v1/events", json.dumps(self.script.batch()).encode(), authorization=f"Bearer {self.secret}"
            )
            assert answer.status == 200, answer.body
            reply = msgspec.json.decode(answer.raw, type=wire.Reply)
            self.script.answered(reply)
            for order in map(decoded, reply.orders):
                came.append(order)
                self.game.apply(order)
            again = not self.script.silent
        return came

    def sides(self) -> tuple[set[str], set[str]]:
        """Names of who plays on each side."""
        a, b = ({self.names[player] for player in self.game.on(side)} for side in Side)
        return a, b
