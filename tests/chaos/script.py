"""A game server's script, as docs/protocol.md has it: it sends a round until the answer is `stored`."""

from __future__ import annotations

import itertools
import json
import time
from random import Random
from typing import Any

from tests.chaos.book import Book
from tests.chaos.calls import Answer, Request, ask, bearer
from tests.chaos.games import EPOCH, a_round, hello, roster

AGAIN = {"busy", "unavailable", "stale", "throttled"}
"""Refusals after which a round is sent again."""

MOST_WAITING = 12
"""With so many rounds that are not stored yet, no other is played."""

ROUNDS_IN_BATCH = 8


class Script:
    """One server. Every method but `post` is called by one thread at a time."""

    def __init__(self, server: str, secret: str, port: int, book: Book, rng: Random) -> None:
        self.server, self.port, self.waiting = server, port, list[dict[str, Any]]()
        self._headers = {**bearer(secret), "Host": f"127.0.0.1:{port}"}
        """The daemon's own address, also through a proxy: it refuses names that it does not know."""
        self._book, self._rng = book, rng
        self._numbers = itertools.count(1)
        self._boot = 1000 * EPOCH + rng.randrange(1000)
        self._seq = 0
        self._known = False
        """The daemon has answered since this script's start, and asked for nothing."""
        self.last: bytes = b""
        """The last batch, as it was sent."""

    @property
    def session(self) -> str:
        # Unlike every round's name: a ring is searched for those.
        return f"{self._boot}-map"

    def restart(self, boot: int | None = None, *, forget: bool = False) -> None:
        """Begin anew with another boot; with `forget` the rounds that the daemon has answered for are given up."""
        self._boot = self._boot + self._rng.randint(1, 100_000) if boot is None else boot
        self._seq, self._known = 0, False
        if forget:
            owed = self._book.owed()
            self.waiting = [each for each in self.waiting if (self.server, each["round"]) not in owed]

    def move(self, port: int) -> None:
        """Go to another daemon with what waits."""
        self.port, self._known = port, False
        self._headers["Host"] = f"127.0.0.1:{port}"

    def end_round(self) -> dict[str, Any]:
        """A round is over and waits to be sent."""
        number = next(self._numbers)
        event = a_round(self._rng, f"{self._boot}-{number}", self.session, number)
        self.waiting.append(event)
        return event

    def play(self) -> None:
        """Play a round and send what waits, once."""
        if len(self.waiting) < MOST_WAITING:
            event = self.end_round()
            if self._rng.random() < 0.3:
                self._send([{"kind": "round_live", "round": event["round"], "players": live(event)}])
        if self._rng.random() < 0.1:
            self.submit()
        self.send()

    def send(self) -> Answer | None:
        """Send the oldest rounds that wait, in order; a batch without an answer once more as it was."""
        return self._send(self.waiting[:ROUNDS_IN_BATCH])

    def deliver(self, until: float) -> bool:
        """Send until every round is stored; False at a time of the monotonic clock, or after a wrong answer."""
        while self.waiting:
            if time.monotonic() > until or self._book.wrong:
                return False
            if self.send() is None or self.waiting:
                time.sleep(0.02)
        return True

    def batch(self, events: list[dict[str, Any]]) -> bytes:
        """The next batch, with these events."""
        self._seq += 1
        if not self._known:
            events = [hello(self.session), roster(self._rng), *events]
        self._book.sending(self.server, (each for each in events if each["kind"] == "round_ended"))
        whole = {"v": 1, "server": self.server, "boot": self._boot, "seq": self._seq, "at": self._seq, "events": events}
        self.last = json.dumps(whole).encode()
        return self.last

    def post(self, batch: bytes) -> Answer | None:
        """Send a batch once and write down what is answered."""
        answer = ask(self.port, Request("POST", "/v1/events", self._headers, batch))
        if answer is None:
            return None
        if answer.fault or (not answer.ok and answer.code not in AGAIN):
            self._book.complain(f"{self.server}: {answer.fault or answer.json}")
        self._book.answered(self.server, answer.json.get("rounds") or {})
        return answer

    def take(self, answer: Answer | None) -> None:
        """Give up the rounds that are stored; `kept` ones are sent again."""
        if answer is not None:
            self._known = answer.ok and not answer.json.get("want")
            stored = {name for name, status in (answer.json.get("rounds") or {}).items() if status == "stored"}
            self.waiting = [each for each in self.waiting if each["round"] not in stored]

    def submit(self) -> Answer | None:
        """Send the oldest round that waits by `POST /v1/rounds`, as a program does that knows no sessions."""
        event = self.waiting[0]
        self._book.sending(self.server, [event])
        body = {"server": self.server, "round": {name: value for name, value in event.items() if name != "kind"}}
        answer = ask(self.port, Request("POST", "/v1/rounds", self._headers, json.dumps(body).encode()))
        if answer is not None and answer.ok:
            self._book.answered(self.server, {event["round"]: answer.json["status"]})
            if answer.json["status"] == "stored":
                self._book.rated(self.server, event["round"], answer.json)
                self.waiting.remove(event)
        elif answer is not None and (answer.fault or answer.code not in AGAIN):
            self._book.complain(f"{self.server}: {answer.fault or answer.json}")
        return answer

    def _send(self, events: list[dict[str, Any]]) -> Answer | None:
        batch = self.batch(events)
        answer = self.post(batch) or self.post(batch)
        if answer is None:
            self._known = False
        self.take(answer)
        return answer


def live(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The roster of a round that goes live."""
    return [{**seat, "connected": 60, "alive": True} for seat in event["lineup"]]
