"""The script's side of the protocol: what is still to be told, the ring of finished rounds, the split for emergencies.

Pure: `batch` is to be posted, then `answered` or `unanswered` to be called, before the next `batch`.
"""

from __future__ import annotations

from msgspec import UNSET

from equipoise.core.model import Side
from equipoise.demo.server import GameServer, Json
from equipoise.wire import TF2
from equipoise.wire import orders as wire

SLOTS = 8
"""Finished rounds that the ring holds."""
DURABLE = frozenset(("scrambled_alone", "order_done", "order_failed"))
"""What a later roster does not say."""

SEATING = frozenset(("player_left", "side_changed"))
"""While the sides are uneven they are followed by a roster: who is dead or builds must be known now."""


class Script:
    """What the plugin keeps between two answers of the daemon."""

    def __init__(self, server: GameServer, name: str) -> None:
        self.ring: dict[str, Json] = {}
        """Finished rounds without `stored`, oldest first, by id."""
        self.stored = 0
        """Rounds that the daemon has stored."""
        self.dropped = 0
        """Rounds that fell out of the full ring and were not told yet."""
        self.pending = False
        """A scramble is due, by the daemon's word or, while it is silent, by our own."""
        self.due_if: tuple[str, ...] = ()
        """Outcomes of the running round that would make one due."""
        self._server = server
        self._name = name
        self._seq = 0
        self._want = {"hello", "roster"}
        self._events: list[Json] = []
        self._sent: list[Json] = []
        self._cache: wire.Cache | None = None

    @property
    def silent(self) -> bool:
        """Nothing to say but that we are there."""
        return self._server.quiet and not (self._want or self._events or self.ring)

    def introduce(self) -> None:
        """A new map: what was to be told of the last one is out of date."""
        self._events.clear()
        self._server.take()
        self._want = {"hello", "roster"}

    def keep(self, round: Json, winner: Side | None, loser_captures: int = 0) -> None:
        """Put a finished round into the ring, and note what its outcome makes due."""
        while len(self.ring) >= SLOTS:
            del self.ring[next(iter(self.ring))]
            self.dropped += 1
        self.ring[str(round["round"])] = round
        word = TF2.word(winner)
        self.pending |= bool({"any", word, f"{word}:{loser_captures}"} & set(self.due_if))
        self.due_if = ()

    def batch(self) -> Json:
        """Everything there is to say: who we are, what ended, what happened, and last the whole truth."""
        self._sent, self._events = self._events + self._server.take(), []
        hello = [self._server.hello()] if "hello" in self._want else []
        changed = any(event["kind"] in SEATING for event in self._sent)
        tell_all = "roster" in self._want or (changed and self._server.uneven)
        roster = [self._server.roster()] if tell_all else []
        self._seq += 1
        return {
            "v": 1,
            "server": self._name,
            "boot": self._server.boot,
            "seq": self._seq,
            "at": self._server.clock,
            "dropped": self.dropped,
            "events": [*hello, *self.ring.values(), *self._sent, *roster],
        }

    def answered(self, reply: wire.Reply) -> None:
        """The batch was taken; its orders are the caller's to carry out."""
        for round, kept in reply.rounds.items():
            if kept == "stored" and round in self.ring:
                del self.ring[round]
                self.stored += 1
        self._sent, self.dropped = [], 0
        self._want = set(reply.want)
        self.pending, self.due_if = reply.pending, reply.due_if
        if reply.cache is not UNSET:
            self._cache = reply.cache

    def unanswered(self) -> None:
        """Nobody is there: what a later hello and roster say need not wait."""
        self._events = [event for event in self._sent if event["kind"] in DURABLE]
        self._sent = []
        self._want = {"hello", "roster"}

    def scramble_alone(self) -> bool:
        """Carry out a due scramble from the cache; False when nothing is due or the cache does not fit who is here."""
        split = self._fallback() if self.pending else None
        if split is None:
            return False
        self._server.seat(*split)
        red, blu, bench = split
        self._events.append(
            {"kind": "scrambled_alone", "at": self._server.clock, "red": red, "blu": blu, "bench": bench}
        )
        self.pending = False
        return True

    def _fallback(self) -> tuple[list[str], list[str], list[str]] | None:
        """The largest cached split, if everybody in it is here; the plugin also replaces absentees."""
        here = {*self._server.on(Side.A), *self._server.on(Side.B), *self._server.bench()}
        if self._cache is None or not self._cache.splits or set(self._cache.ids) != here:
            return None
        letters = self._cache.splits[-1]
        red, blu, bench = (
            [id for id, letter in zip(self._cache.ids, letters, strict=True) if letter == wanted] for wanted in "AB-"
        )
        return red, blu, bench
