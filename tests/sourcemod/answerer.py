"""A scripted daemon: real HTTP on loopback, answers set by the test, all batches kept for assertions."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import RED, Mode, Reason, State
from tests.sourcemod.rig.game.players import Player

SECRET = "hunter2"
WAITING = "8"
"""Seconds that a server waits for players: a test plays them all."""
TRANSLATIONS = Path(__file__).parents[2] / "sourcemod" / "translations"

Json = dict[str, Any]
Answer = Callable[[Json], list[Json]]
Sides = tuple[list[Player], list[Player]]

BASECOMMANDS = """
public void OnPluginStart()
{
	RegAdminCmd("sm_cvar", Command_Cvar, ADMFLAG_CONVARS);
}

Action Command_Cvar(int client, int args)
{
	char name[64], value[64];
	GetCmdArg(1, name, sizeof(name));
	GetCmdArg(2, value, sizeof(value));
	FindConVar(name).SetString(value);
	return Plugin_Handled;
}
"""
"""What basecommands' `sm_cvar` does: an admin sets a variable."""


@dataclass
class Daemon:
    """Answers every batch with `{"ok": true}` and the fields that the test has set.

    `fate` is what becomes of rounds; `sticky` holds fields of every reply; `once` fields of the next one; `raw` whole
    answers (status, body) that go first. `answers` are orders by the kind of event they answer. `cut` answers break off
    in the middle of their body.
    """

    batches: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    fate: str | None = "stored"
    sticky: Json = field(default_factory=dict)
    once: Json = field(default_factory=dict)
    orders: list[Json] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    raw: list[tuple[int, bytes]] = field(default_factory=list)
    always: tuple[int, bytes] | None = None
    cut: int = 0
    port: int = 0

    def order(self, kind: str, **fields: object) -> None:
        """Give an order with the next reply."""
        self.orders.append({"kind": kind, **fields})

    def events(self, kind: str) -> list[Json]:
        """All events of one kind that it received, in order."""
        return [event for batch in self.batches for event in batch["events"] if event["kind"] == kind]

    def kinds(self) -> list[str]:
        """The kinds of all events that it received, in order."""
        return [event["kind"] for batch in self.batches for event in batch["events"]]

    def results(self) -> dict[str, str]:
        """The result of each order by its id: "" for one that was carried out, else the reason."""
        done = {event["order"]: "" for event in self.events("order_done")}
        return done | {event["order"]: event["reason"] for event in self.events("order_failed")}

    def forget(self) -> None:
        """Forget the batches and headers received so far."""
        self.batches.clear()
        self.headers.clear()

    def refuse(self, status: int, code: str, path: str = "") -> tuple[int, bytes]:
        """An answer that refuses, for `raw` and `always`."""
        error = {"code": code, "message": f"because of {code}"} | ({"path": path} if path else {})
        return status, json.dumps({"ok": False, "error": error}).encode()

    def reply(self, batch: Json) -> tuple[int, bytes]:
        """The answer to a batch, as a JSON value."""
        if self.raw:
            return self.raw.pop(0)
        if self.always is not None:
            return self.always
        for event in batch["events"]:
            self.orders += self.answers.get(event["kind"], _nothing)(event)
        ended = [event["round"] for event in batch["events"] if event["kind"] == "round_ended"]
        fields: Json = {
            "ok": True, "orders": self.orders, "rounds": dict.fromkeys(ended, self.fate) if self.fate else {},
            "players": [], "pending": False, "reason": None, "due_if": [], "want": [], "enabled": True, "next": 5.0,
        }  # fmt: skip
        body = json.dumps(fields | self.sticky | self.once).encode()
        self.orders, self.once = [], {}
        return 200, body


def _nothing(event: Json) -> list[Json]:
    return []


def _handler(daemon: Daemon) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            batch = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            daemon.batches.append(batch)
            daemon.headers.append(dict(self.headers) | {"path": self.path})
            status, body = daemon.reply(batch)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if daemon.cut:
                daemon.cut -= 1
                self.close_connection = True
                body = body[: len(body) // 2]
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the log of requests off standard error."""

    return Handler


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A daemon that listens and, until a test has other plans, lets all players join where they want to."""
    daemon = Daemon(answers={"side_wanted": obliging})
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(daemon))
    daemon.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield daemon
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def plugin(game: Game, daemon: Daemon, equipoise_smx: Path) -> Plugin:
    """Our plugin, loaded and configured on a server that has no map yet."""
    return install(game, daemon, equipoise_smx)


@pytest.fixture
def koth(game: Game, plugin: Plugin) -> Plugin:
    """Our plugin on a King of the Hill map, which the daemon knows of."""
    game.start_map("koth_harvest_final")
    settle(game)
    return plugin


@pytest.fixture
def live(game: Game, daemon: Daemon, plugin: Plugin) -> Sides:
    """Two against two in a running round; from now on the daemon answers only as the test says."""
    sides = begin(game, "koth_harvest_final", 2, 2)
    daemon.answers.clear()
    daemon.forget()
    return sides


def install(game: Game, daemon: Daemon, smx: Path, *, secret: str = SECRET) -> Plugin:
    """Load the plugin on a server whose operator has filled in its config."""
    fill_in(game, f"http://127.0.0.1:{daemon.port}", "test-1", secret)
    return game.load(smx, translations=TRANSLATIONS)


def fill_in(game: Game, url: str, server: str, secret: str) -> None:
    """What an operator does to `cfg/sourcemod/equipoise.cfg`; players are waited for no longer than a test needs."""
    game.sm.convars["mp_waitingforplayers_time"].set(WAITING)
    config = game.sm.root.parent.parent / "cfg" / "sourcemod" / "equipoise.cfg"
    config.parent.mkdir(parents=True, exist_ok=True)
    settings = {"url": url, "server": server, "secret": secret}
    config.write_text("".join(f'equipoise_{name} "{value}"\n' for name, value in settings.items()), encoding="utf-8")


REPORTED = 0.35
"""Seconds after its end by which the plugin has handed over a round's report: it waits for the scoreboard."""


def settle(game: Game) -> None:
    """Run frames until all events are posted and answered: those that come during a post follow in the next frame.

    A round that was won is reported then.
    """
    if game.rounds.won:
        game.advance(REPORTED)
    for _ in range(3):
        game.settle()


def poll(game: Game) -> None:
    """Let the plugin poll, so that it gets and carries out its orders."""
    game.rcon("equipoise_poll")
    settle(game)


def roster(game: Game, daemon: Daemon) -> dict[str, Json]:
    """The daemon asks for a roster: its lines by player id."""
    daemon.once["want"] = ["roster"]
    for _ in range(2):
        poll(game)
    players = daemon.events("roster")[-1]["players"]
    lines = {line["id"]: line for line in players}
    assert len(lines) == len(players)
    return lines


def seconds_of_play(game: Game, seconds: float) -> None:
    """Run the game in steps short enough for every poll to be answered in between."""
    end = game.now + seconds
    while game.now < end:
        game.advance(min(0.5, end - game.now))
        settle(game)


def obliging(event: Json) -> list[Json]:
    """Places all players where they want to be; RED for those who do not care."""
    side = "red" if event["side"] == "any" else event["side"]
    reason = {"phrase": "Equipoise_ReasonAllowed", "args": []}
    return [{"kind": "place", "id": event["id"], "side": side, "reason": reason}]


def placing(side: str, phrase: str = "Equipoise_ReasonJoinSmaller") -> Answer:
    """Answer every player with this side."""
    return lambda event: [
        {"kind": "place", "id": event["id"], "side": side, "reason": {"phrase": phrase, "args": ["4", "2"]}}
    ]


def seat(game: Game, name: str, side: str, cls: str = "soldier") -> Player:
    """A player connects, asks for a side, gets it, and chooses a class."""
    player = game.connect(name)
    settle(game)
    game.join(player, side)
    settle(game)
    game.command(player, f"joinclass {cls}")
    return player


def crowd(game: Game, red: int, blu: int) -> Sides:
    """Fill both sides, alternating by slot. The players join in one frame: arena starts with the first two."""
    settle(game)  # the map's level is known
    sides: dict[str, list[Player]] = {"red": [], "blue": []}
    for n in range(max(red, blu)):
        for side, size in (("red", red), ("blue", blu)):
            if n < size:
                sides[side].append(game.connect(f"{side}{n}"))
                game.join(sides[side][-1], side)
    settle(game)
    for player in sides["red"] + sides["blue"]:
        game.command(player, "joinclass soldier")
    return sides["red"], sides["blue"]


def ids(players: list[Player]) -> list[str]:
    """The players' ids on the wire."""
    return [str(player.steamid) for player in players]


def in_freeze(game: Game) -> None:
    """Go on until the next round's freeze time has begun and was reported."""
    game.until(lambda: game.rounds.state is State.PREROUND and not game.rounds.waiting, within=200)
    settle(game)


def go_live(game: Game) -> None:
    """Go on until a round is live, and let it be reported."""
    play.go_live(game)
    settle(game)


def begin(game: Game, map_name: str, red: int, blu: int, mode: Mode | None = None) -> Sides:
    """A map's first round is live, with so many on each side, and reported."""
    game.start_map(map_name, mode)
    sides = crowd(game, red, blu)
    go_live(game)
    return sides


def frozen(game: Game, map_name: str, red: int, blu: int) -> Sides:
    """The freeze time of a map's first round has begun, with so many on each side, and was reported."""
    game.start_map(map_name)
    sides = crowd(game, red, blu)
    in_freeze(game)
    return sides


def win(game: Game, side: int = RED) -> None:
    """A side wins the round, and it is reported."""
    game.rounds.win(side, Reason.POINTS_CAPTURED)
    settle(game)


def play_round(game: Game) -> None:
    """One round from where the game stands to its end."""
    play.go_live(game)
    game.advance(1)
    win(game)


def rounds_of(batch: Json) -> list[str]:
    """Ids of the rounds in a batch, in order."""
    return [event["round"] for event in batch["events"] if event["kind"] == "round_ended"]


def complaints(game: Game) -> list[str]:
    """The texts that plugins logged as errors."""
    return [text for _, text in game.sm.log.errors]


def rounds_of_all(daemon: Daemon) -> list[str]:
    """Ids of all rounds that were reported, in order."""
    return [event["round"] for event in daemon.events("round_ended")]


def ended(daemon: Daemon) -> Json:
    """The `round_ended` event; there must be exactly one."""
    (game_round,) = daemon.events("round_ended")
    return game_round
