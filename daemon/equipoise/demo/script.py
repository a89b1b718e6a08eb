"""The plugin's state between two answers of the daemon: unsent events, the ring of finished rounds, a cached split.

Pure: the caller posts `batch`, then calls `answered` or `unanswered` before the next `batch`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from equipoise.core import events as e
from equipoise.core.model import PlayerId, RoundId, Side, Split
from equipoise.demo.protocol import Json, encoded
from equipoise.lab.simulation.game_server import GameServer
from equipoise.wire import TF2, Game
from equipoise.wire import orders as wire

SLOTS = 8
"""Finished rounds that the ring holds."""
DURABLE = (e.ScrambledAlone, e.OrderDone, e.OrderFailed)
"""Events that no later roster makes up for."""
SEATING = (e.PlayerLeft, e.SideChanged)
"""While the sides are uneven these are followed by a roster: the daemon needs to know who is dead or builds."""


class Script:
    """The plugin's side of the connection, for one game."""

    def __init__(self, game: GameServer, names: Mapping[PlayerId, str], kind: Game = TF2) -> None:
        self.ring: dict[RoundId, e.RoundEnded] = {}
        """Finished rounds that the daemon has not stored yet, oldest first."""
        self.stored = 0
        """Rounds that the daemon has stored."""
        self.dropped = 0
        """Rounds that fell out of the full ring since the last answer."""
        self.pending = False
        """A scramble is due, by the daemon's word or, while it is silent, by the script's own judgement."""
        self.due_if: tuple[str, ...] = ()
        """Outcomes of the running round that would make one due, in the protocol's words."""
        self._game = game
        self._names = names
        self._kind = kind
        self._seq = 0
        self._want = {"hello", "roster"}
        self._events: list[e.ScriptEvent] = []
        self._sent: list[e.ScriptEvent] = []
        self._cache: wire.Cache | None = None

    @property
    def silent(self) -> bool:
        """Whether there is nothing to report."""
        return self._game.quiet and not (self._want or self._events or self.ring)

    def introduce(self) -> None:
        """A new map: events of the last one are out of date."""
        self._events.clear()
        self._game.take()
        self._want = {"hello", "roster"}

    def keep(self, ended: e.RoundEnded) -> None:
        """Put a finished round into the ring, and note whether its outcome makes a scramble due."""
        while len(self.ring) >= SLOTS:
            del self.ring[next(iter(self.ring))]
            self.dropped += 1
        round = ended.round
        self.ring[round.id] = ended
        word = self._kind.word(round.winner)
        captured = 0 if round.winner is None else round.captures(round.winner.other)
        self.pending |= not {"any", word, f"{word}:{captured}"}.isdisjoint(self.due_if)
        self.due_if = ()

    def batch(self) -> Json:
        """The next batch, complete: a hello if wanted, finished rounds, events, and a roster last."""
        self._sent, self._events = [*self._events, *self._game.take()], []
        uneven = self._game.uneven and any(isinstance(event, SEATING) for event in self._sent)
        due = "roster" in self._want or self._game.roster_due or uneven
        hello = [self._game.hello()] if "hello" in self._want else []
        roster = [self._game.roster()] if due else []
        self._seq += 1
        return {
            "v": 1,
            "server": self._game.name,
            "boot": self._game.boot,
            "seq": self._seq,
            "at": self._game.clock,
            "dropped": self.dropped,
            "events": [
                encoded(event, self._names, self._kind) for event in (*hello, *self.ring.values(), *self._sent, *roster)
            ],
        }

    def answered(self, reply: wire.Reply) -> None:
        """The daemon took the batch. Its orders are for the caller to carry out."""
        for id, kept in reply.rounds.items():
            if kept == "stored" and RoundId(id) in self.ring:
                del self.ring[RoundId(id)]
                self.stored += 1
        self._sent, self.dropped = [], 0
        self._want = set(reply.want)
        self.pending, self.due_if = reply.pending, reply.due_if
        if reply.cache is not UNSET:
            self._cache = reply.cache

    def unanswered(self) -> None:
        """No daemon answers: what a later hello and roster will say is dropped."""
        self._events = [event for event in self._sent if isinstance(event, DURABLE)]
        self._sent = []
        self._want = {"hello", "roster"}

    def scramble_alone(self) -> bool:
        """Carry out a due scramble from the cache; False when none is due or the cache does not fit the players."""
        split = self._cached_split() if self.pending else None
        if split is None:
            return False
        self._game.seat(split)
        self._events.append(e.ScrambledAlone(self._game.clock, split))
        self.pending = False
        return True

    def _cached_split(self) -> Split | None:
        """The largest cached split, if exactly its players are here; the plugin also replaces absentees."""
        here = {*self._game.on(Side.A), *self._game.on(Side.B), *self._game.bench()}
        if self._cache is None or not self._cache.splits or set(self._cache.ids) != here:
            return None
        players = [(PlayerId(id), letter) for id, letter in zip(self._cache.ids, self._cache.splits[-1], strict=True)]
        a, b, bench = (tuple(player for player, letter in players if letter == wanted) for wanted in "AB-")
        return Split(a, b, bench)
