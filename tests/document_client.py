"""A game server with a script that is written from docs/protocol.md alone.

It shares no code with the daemon, with the plugin, with the mod or with the games of other tests: what the document
says wrongly, or not at all, it does wrongly.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import re
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

DOCUMENT = (Path(__file__).parents[1] / "docs" / "protocol.md").read_text()
PHRASES = dict(re.findall(r"^\| `(Equipoise_\w+)` \| (.*) \|$", DOCUMENT, re.MULTILINE))
COLOURS = {"tf2": ("red", "blu"), "ns2": ("marines", "aliens")}
Json = dict[str, Any]

MAPS: dict[str, tuple[str, Json]] = {
    "koth": ("koth_harvest", {"game_type": 2, "koth": True}),
    "payload": ("pl_upward", {"game_type": 3}),
    "arena": ("arena_lumberyard", {"game_type": 4}),
    "ns2": ("ns2_veil", {}),
}
"""A map of each mode that is played, and its facts."""
POLL = 0.5
"""Seconds of the game between two batches, however long these take by the machine's clock: they are counted."""
PATIENCE = 10.0
"""Seconds of the game within which a gap of two has its moves, or a reason why there are none."""


class Address(Protocol):
    """A daemon: where it listens, and a token of the role admin."""

    @property
    def port(self) -> int: ...
    @property
    def token(self) -> str: ...


@dataclass(kw_only=True)
class Player:
    """One client of the game server."""

    id: str
    strength: float
    joined: float
    side: str = "none"
    waiting: bool = False
    flags: Json = field(default_factory=dict)
    spans: list[tuple[str, float, float]] = field(default_factory=list)
    """Side, begin and end of the times on a side in the running round."""
    since: float | None = None
    """When the last of them began."""
    left: bool = False

    def goes(self, side: str, now: float, live: bool) -> None:
        """Change side, or leave with `none`."""
        if self.since is not None and self.side != "none":
            self.spans.append((self.side, self.since, now))
        self.side, self.since = side, now if live and side != "none" else None


class Script:
    """A game server with its script: people who come, play, die and go, and orders that are carried out."""

    def __init__(self, daemon: Address, server: str, secret: str, mode: str, size: int, seed: int = 0) -> None:
        self.server, self.mode, self.size, self._secret, self._token = server, mode, size, secret, daemon.token
        self.game = "ns2" if mode == "ns2" else "tf2"
        self._connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
        self._luck = random.Random(f"{server} {size} {seed}")
        self._numbers = itertools.count(76561197960265729 + self._luck.randrange(10**6) * 1000)
        self.boot, self.seq, self.now = self._luck.randrange(2**53), 0, 100.0
        self.map, self.facts = MAPS[mode]
        self.session = f"{self.boot}-1"
        self.sides = COLOURS[self.game]
        self.players: dict[str, Player] = {}
        self.events: list[Json] = []
        self.reply: Json = {}
        self.phase, self.number, self.live_at, self.lineup = "idle", 0, 0.0, []
        self.present: dict[str, Player] = {}
        """All who were on a side in the running round."""
        self.moves: dict[str, tuple[str, str, float]] = {}
        """Orders that are not carried out yet: player, side, and when the player dies or is moved alive."""
        self.votes: list[str] = []
        self.placed: set[str] = set()
        self.played: dict[str, str] = {}
        """Rounds that were reported, and who won, in the words of other programs."""
        self.heard: list[str] = []
        """Kinds of orders and keys of texts, in their order."""
        self.reasons: list[str] = []
        """Decisions that answered a gap without a move."""

    def close(self) -> None:
        self._connection.close()

    # What is sent.

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, body, named)
        with self._connection.getresponse() as response:
            status, answer = response.status, json.loads(response.read())
        assert (status, answer["ok"]) == (200, True), f"{method} {path} {body}: {status} {answer}"
        return answer

    def admin(self, path: str, body: Json | None = None, method: str = "POST") -> Any:
        """What the admin interface answers; with a body, to a question of this method."""
        token = f"Bearer {self._token}"
        if body is None:
            return self.ask("GET", f"/v1/admin/{path}", Authorization=token)
        path = f"/v1/admin/{path}"
        return self.ask(method, path, json.dumps(body), Content_Type="application/json", Authorization=token)

    def happens(self, kind: str, **fields: Any) -> None:
        """An event that the next batch takes along."""
        self.events.append({"kind": kind, "at": self.now, **fields})

    def post(self) -> None:
        """Send what has happened, or that nothing did, and carry out what the reply orders."""
        self.seq += 1
        batch = {
            "v": 1,
            "server": self.server,
            "boot": self.boot,
            "seq": self.seq,
            "at": self.now,
            "events": self.events,
        }
        sent, self.events = self.events, []
        if self.game == "ns2":
            form = urllib.parse.urlencode({"secret": self._secret, "data": json.dumps(batch)})
            reply = self.ask("POST", "/v1/events", form, Content_Type="application/x-www-form-urlencoded")
        else:
            secret = {"Content_Type": "application/json", "Authorization": f"Bearer {self._secret}"}
            reply = self.ask("POST", "/v1/events", json.dumps(batch), **secret)
        self.reply = reply
        for event in sent:
            if event["kind"] == "round_ended" and reply["rounds"].get(event["round"]) != "stored":
                self.events.append(event)
        for order in reply["orders"]:
            self.heard.append(order["kind"])
            for text in [order.get("text"), order.get("reason"), *order.get("lines", [])]:
                self.reads(text)
            getattr(self, f"do_{order['kind']}")(order)
        self.reads(reply["reason"])
        self.now += POLL
        for wanted in reply["want"]:
            getattr(self, wanted)()

    def reads(self, text: Json | None) -> None:
        """A player reads a text: its key is in the document, with as many arguments."""
        if text is not None:
            assert len(set(re.findall(r"{\d}", PHRASES[text["phrase"]]))) == len(text["args"]), text
            self.heard.append(text["phrase"])
            for arg in text["args"]:
                self.reads(arg if isinstance(arg, dict) else None)

    def hello(self, **more: Any) -> None:
        self.happens(
            "hello", plugin="written/1", game=self.game, map=self.map, session=self.session, phase=self.phase,
            slots=2 * self.size, facts=self.facts, **more,
        )  # fmt: skip

    def roster(self, **more: Any) -> None:
        self.happens("roster", players=self.lines(), **more)

    def lines(self) -> list[Json]:
        return [
            {
                "id": each.id,
                "side": each.side,
                "waiting": each.waiting,
                "connected": self.now - each.joined,
                **each.flags,
            }
            for each in self.players.values()
        ]

    # What is ordered.

    def goes(self, player: Player, side: str, *, waiting: bool = False) -> None:
        player.goes(side, self.now, self.phase == "running")
        player.waiting = waiting
        player.flags.pop("commander", None)
        if self.phase == "running" and side != "none":
            self.present[player.id] = player
        self.happens("side_changed", id=player.id, side=side, waiting=player.waiting)

    def do_assign(self, order: Json) -> None:
        places = (*self.sides, "none")
        named = (order["red"], order["blu"], order["bench"])
        where = {id: side for side, ids in zip(places, named, strict=True) for id in ids}
        if not where.keys() <= self.players.keys():
            self.happens("order_failed", order=order["order"], reason="left")
            return
        assert order["moment"] == "now" or self.phase == "freeze", order
        assert order["bench"] == [] or self.mode == "arena"
        for id, side in where.items():
            if self.players[id].side != side:
                self.goes(self.players[id], side, waiting=side == "none")
        self.happens("order_done", order=order["order"])

    def do_move(self, order: Json) -> None:
        dies = self.now + self._luck.uniform(0, 8)
        if self.game == "tf2":
            dies = min(dies, self.now + order["deadline"])
        self.moves[order["order"]] = (order["id"], order["side"], dies)

    def do_cancel(self, order: Json) -> None:
        self.moves.pop(order["order"], None)
        if order["order"] in self.votes:
            self.votes.remove(order["order"])

    def do_place(self, order: Json) -> None:
        self.placed.add(order["id"])
        player = self.players.get(order["id"])
        if player and (player.side != order["side"] or order["side"] == "none"):
            self.goes(player, order["side"], waiting=order["side"] == "none")

    def do_lock(self, order: Json) -> None:
        """Nobody here changes side by themselves."""

    def do_unlock(self, order: Json) -> None:
        """As above."""

    def do_vote(self, order: Json) -> None:
        self.votes.append(order["order"])

    def do_say(self, order: Json) -> None:
        """All its texts are read already."""

    def do_tell(self, order: Json) -> None:
        assert order["id"] == "" or order["id"] in self.players, order

    # What people do.

    def polls(self) -> Iterator[None]:
        """Batches of ten seconds of the game; meanwhile players die, and who was to be moved is."""
        for _ in range(int(PATIENCE / POLL)):
            self.post()
            yield
            for order, (id, side, dies) in list(self.moves.items()):
                if id not in self.players:
                    self.happens("order_failed", order=order, reason="left")
                elif self.now < dies:
                    continue
                else:
                    self.goes(self.players[id], side)
                    self.happens("order_done", order=order)
                del self.moves[order]

    def on(self, side: str) -> list[Player]:
        return [each for each in self.players.values() if each.side == side]

    def gap(self) -> int:
        """Players whom the first side has more than the second."""
        return len(self.on(self.sides[0])) - len(self.on(self.sides[1]))

    def join(self, side: str = "any") -> None:
        """Someone connects, asks for a side and is held until the answer comes."""
        player = Player(id=str(next(self._numbers)), strength=self._luck.gauss(0, 1), joined=self.now)
        self.players[player.id] = player
        self.happens("player_joined", id=player.id, name=f"player {player.id[-4:]}")
        self.happens("side_wanted", id=player.id, side=side)
        for _ in self.polls():
            if player.id in self.placed:
                break
        assert player.side in self.sides, f"no place for {player.id}: {self.reply}"

    def leave(self, player: Player) -> None:
        player.goes("none", self.now, live=False)
        player.left = True
        del self.players[player.id]
        self.happens("player_left", id=player.id)

    def closes(self, *, movable: bool = True) -> None:
        """The gap that there is now gets its moves or a reason, and the moves are carried out."""
        seen = self.newest()
        for _ in self.polls():
            if abs(self.gap()) - 2 * len(self.moves) < 2:
                break
            if not movable and (why := [line["reason"] for line in self.decisions(seen)]):
                self.reasons += why
                return
        else:
            raise AssertionError(
                f"{self.server}, round {self.number}: {self.gap()} and no move, no reason: {self.decisions(seen)}"
            )
        while abs(self.gap()) > 1:
            wait = [None for _ in self.polls() if abs(self.gap()) > 1]
            assert len(wait) < PATIENCE / POLL, f"{self.server}: moves are not carried out: {self.moves}"

    def newest(self) -> int:
        return max((line["number"] for line in self.decisions()), default=0)

    def decisions(self, after: int = 0) -> list[Json]:
        found: list[Json] = self.admin(f"decisions?server={self.server}&after={after}&limit=1000")["decisions"]
        return found

    # A round.

    def start_round(self) -> None:
        self.number, self.phase = self.number + 1, "freeze"
        if self.game == "ns2":
            for side in self.sides:
                self.on(side)[0].flags["commander"] = True
        self.happens("round_started", players=self.lines())
        for _ in self.polls():
            if not self.reply["pending"] and not self.events:
                break
        assert not self.reply["pending"], f"{self.server}: no new teams for round {self.number}: {self.reply}"
        self.goes_live()

    def goes_live(self) -> None:
        """The round begins with those who stand on a side."""
        self.phase, self.live_at, self.moves = "running", self.now, {}
        self.present = {}
        for each in self.players.values():
            each.spans, each.since = [], self.now
            if each.side in self.sides:
                self.present[each.id] = each
        self.lineup = [{"id": each.id, "side": each.side} for each in self.present.values()]
        self.happens("round_live", round=f"{self.boot}-{self.number}", players=self.lines())
        self.post()

    def end_round(self, winner: int | None, captures: tuple[int, int]) -> None:
        """The round ends after what was played of it and five minutes more; it is stored."""
        self.now += 300.0
        seconds, round_id = self.now - self.live_at, f"{self.boot}-{self.number}"
        for each in self.present.values():
            if each.side != "none":
                each.spans.append((each.side, each.since or self.now, self.now))
        if winner is None:
            strength = [sum(each.strength for each in self.on(side)) for side in self.sides]
            winner = 0 if strength[0] > strength[1] else 1
        self.played[round_id] = "ab"[winner]
        self.happens(
            "round_ended", round=round_id, session=self.session, map=self.map, game=self.game, facts=self.facts,
            started_at=time.time() - seconds, seconds=seconds, winner=self.sides[winner],
            captures=dict(zip(("red", "blu"), captures, strict=True)), lineup=self.lineup,
            players=[self.presence(each) for each in self.longest()],
        )  # fmt: skip
        self.phase = "over"
        self.moves = {}
        self.delivers(round_id)

    def delivers(self, round_id: str) -> None:
        """The round that has ended is stored."""
        for _ in self.polls():
            if self.reply["rounds"].get(round_id) == "stored":
                break
        assert self.reply["rounds"].get(round_id) == "stored", self.reply

    def longest(self) -> list[Player]:
        """Who was on a side in the round; of more than 128 those who played longest."""
        times = {id: sum(end - begin for _, begin, end in each.spans) for id, each in self.present.items()}
        return [self.present[id] for id in sorted(times, key=lambda id: -times[id])[:128]]

    def presence(self, player: Player) -> Json:
        """What a player did in the round."""
        gone = player.left or player.side == "none"  # who comes back in arena waits
        line = {"id": player.id, "side": player.spans[-1][0], "fought": True, "left": gone}
        if self.game == "ns2":
            return line | {
                "spans": [
                    {"side": side, "role": "field", "from": begin - self.live_at, "to": end - self.live_at}
                    for side, begin, end in player.spans
                ]
            }
        times = [sum(end - begin for on, begin, end in player.spans if on == side) for side in self.sides]
        counts = {
            "kills": self._luck.randrange(20),
            "deaths": self._luck.randrange(20),
            "classes": {"scout": sum(times)},
        }
        return line | {"seconds": dict(zip(("red", "blu"), times, strict=True)), "counts": counts}
