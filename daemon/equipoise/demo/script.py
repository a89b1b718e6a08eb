"""The script's side of the connection: events as JSON, orders as the core's effects, and what waits for the daemon.

`wire` is the daemon's side of the protocol; a test sends everything through both and compares. Pure: the caller posts
`batch`, then calls `answered` or `unanswered` before the next `batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, assert_never

from msgspec import UNSET

from equipoise.core import effects
from equipoise.core import events as e
from equipoise.core.asks import Moment, Purpose
from equipoise.core.model import (
    MOST_PLAYERS,
    STEAM_ID_BASE,
    Counts,
    Mode,
    OrderId,
    PlayerId,
    Roster,
    Round,
    RoundId,
    Side,
    Span,
    Split,
    is_bot,
)
from equipoise.core.phrases import Phrase, Text
from equipoise.lab.simulation.game_server import GameServer
from equipoise.wire import NS2, TF2, Game
from equipoise.wire import orders as wire
from equipoise.wire.scalars import PROTOCOL, SIDES

Json: TypeAlias = dict[str, object]

PLUGIN = "demo"
PLAYER_SLOTS = 32
FACTS: Mapping[Mode, Json] = {
    Mode.ARENA: {"game_type": 4},
    Mode.KOTH: {"game_type": 2, "koth": True},
    Mode.PAYLOAD: {"game_type": 3},
    Mode.SYMMETRIC_CP: {"game_type": 2},
    Mode.NS2: {},
}
"""The facts of a map in each mode that the demos play."""
_PHRASES = {phrase.key: phrase for phrase in Phrase}


def encoded(event: e.ScriptEvent, names: Mapping[PlayerId, str], game: Game = TF2) -> Json:
    """An event of the game as a batch holds it."""
    kind, fields = _EVENTS[type(event)]
    name = {"name": names[event.id]} if isinstance(event, e.PlayerJoined) else {}
    return {"kind": kind, "at": event.at, **fields(event, game), **name}


def _id(player: PlayerId, game: Game) -> str:
    """A player as the game knows them: NS2 by the account."""
    return str(int(player) - STEAM_ID_BASE) if game is NS2 and not is_bot(player) else player


def _hello(event: e.Hello, game: Game) -> Json:
    return {
        "plugin": PLUGIN,
        "slots": PLAYER_SLOTS,
        "phase": event.phase.value,
        "waiting": event.waiting,
        **_played(event.session, event.map, event.mode, game),
    }


def _played(session: str, map_name: str, mode: Mode, game: Game) -> Json:
    return {"game": game.name, "map": map_name, "session": session, "facts": FACTS[mode]}


def _players(roster: Roster, game: Game) -> list[Json]:
    return [
        {
            "id": _id(entry.id, game),
            "side": game.word(entry.side),
            "waiting": entry.waiting,
            "alive": entry.alive,
            "connected": entry.connected,
            **({"commander": entry.commander} if game is NS2 else {}),
        }
        for entry in roster.entries
    ]


def _finished(game_round: Round, game: Game) -> Json:
    by_seconds = sorted(game_round.presences, key=lambda presence: -presence.seconds_a - presence.seconds_b)
    longest = {presence.id for presence in by_seconds[:MOST_PLAYERS]}  # no more fit into a round
    presences = [
        {
            "id": _id(presence.id, game),
            "side": game.word(presence.side),
            "seconds": {"red": presence.seconds_a, "blu": presence.seconds_b},
            "fought": presence.fought,
            "left": presence.left,
            **({"spans": [_span(span, game) for span in presence.spans]} if presence.spans else {}),
            **({"counts": _counts(presence.counts)} if presence.counts else {}),
        }
        for presence in game_round.presences
        if presence.id in longest
    ]
    return {
        **_played(game_round.session, game_round.map, game_round.mode, game),
        "round": game_round.id,
        "started_at": game_round.started_at,
        "seconds": game_round.seconds,
        "winner": game.word(game_round.winner),
        "captures": {"red": game_round.captures_a, "blu": game_round.captures_b},
        "partial": game_round.partial,
        "lineup": [{"id": _id(seat.id, game), "side": game.word(seat.side)} for seat in game_round.lineup],
        "players": presences,
    }


def _span(span: Span, game: Game) -> Json:
    return {"side": game.word(span.side), "from": span.start, "to": span.end, "role": span.role.value}


def _counts(counts: Counts) -> Json:
    done = {"kills": counts.kills, "deaths": counts.deaths, "assists": counts.assists, "points": counts.points}
    return {**done, "classes": dict(counts.classes)}


def _ids(ids: Iterable[PlayerId], game: Game) -> tuple[str, ...]:
    return tuple(_id(player, game) for player in ids)


_EVENTS: Mapping[type, tuple[str, Callable[[Any, Game], Json]]] = {
    e.Hello: ("hello", _hello),
    e.RosterSeen: ("roster", lambda event, game: {"players": _players(event.roster, game)}),
    e.PlayerJoined: ("player_joined", lambda event, game: {"id": _id(event.id, game)}),
    e.PlayerLeft: ("player_left", lambda event, game: {"id": _id(event.id, game)}),
    e.SideChanged: (
        "side_changed",
        lambda event, game: {
            "id": _id(event.id, game),
            "side": game.word(event.side),
            "waiting": event.waiting,
        },
    ),
    e.SideWanted: (
        "side_wanted",
        lambda event, game: {
            "id": _id(event.id, game),
            "side": "any" if event.side is None else game.word(event.side),
        },
    ),
    e.WaitingEnded: ("waiting_ended", lambda event, game: {}),
    e.RoundStarted: ("round_started", lambda event, game: {"players": _players(event.roster, game)}),
    e.RoundLive: (
        "round_live",
        lambda event, game: {"round": event.round, "players": _players(event.roster, game)},
    ),
    e.RoundAborted: ("round_aborted", lambda event, game: {}),
    e.RoundEnded: ("round_ended", lambda event, game: _finished(event.round, game)),
    e.ScrambledAlone: (
        "scrambled_alone",
        lambda event, game: {
            "red": _ids(event.split.a, game),
            "blu": _ids(event.split.b, game),
            "bench": _ids(event.split.bench, game),
        },
    ),
    e.OrderDone: ("order_done", lambda event, game: {"order": event.order}),
    e.OrderFailed: ("order_failed", lambda event, game: {"order": event.order, "reason": event.reason}),
    e.Commanded: (
        "command",
        lambda event, game: {
            "words": event.words,
            "by": "" if event.by is None else _id(event.by, game),
            "admin": event.admin,
        },
    ),
}
"""The `kind` of each event that the demo's games make, and its fields beside `at`."""


def decoded(order: wire.AnyOrder) -> effects.Order:
    """An order of a reply; the inverse of `wire.codec.order`."""
    match order:
        case wire.Assign():
            split = Split(*(tuple(map(PlayerId, ids)) for ids in (order.red, order.blu, order.bench)))
            reason, moment, purpose = phrase(order.reason), Moment(order.moment), Purpose(order.purpose)
            return effects.Assign(OrderId(order.order), reason, split, moment, purpose)
        case wire.Move():
            side = SIDES[order.side]
            return effects.Move(OrderId(order.order), phrase(order.reason), PlayerId(order.id), side, order.deadline)
        case effects.Cancel() | effects.Unlock():
            return order
        case wire.Place():
            return effects.Place(PlayerId(order.id), SIDES.get(order.side), phrase(order.reason))
        case wire.Lock():
            return effects.Lock(PlayerId(order.id), SIDES[order.side], order.seconds or None)
        case wire.Vote():
            return effects.OpenVote(OrderId(order.order), order.seconds, order.fraction, phrase(order.text))
        case wire.Say():
            return effects.Say(phrase(order.text))
        case wire.Tell():
            return effects.Tell(PlayerId(order.id) or None, tuple(map(phrase, order.lines)))
        case _:
            assert_never(order)


def phrase(text: wire.Text) -> Text:
    """A phrase by its key."""
    args = (phrase(arg) if isinstance(arg, wire.Text) else arg for arg in text.args)
    return Text(_PHRASES[text.phrase], tuple(args))


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
        # The oldest goes: what is told to the daemon is how many did.
        while len(self.ring) >= SLOTS:
            del self.ring[next(iter(self.ring))]
            self.dropped += 1
        game_round = ended.round
        self.ring[game_round.id] = ended
        word = self._kind.word(game_round.winner)
        captures = 0 if game_round.winner is None else game_round.captures(game_round.winner.other)
        # As the plugin judges while the daemon is silent: by what the daemon said of this round's outcomes.
        self.pending |= not {"any", word, f"{word}:{captures}"}.isdisjoint(self.due_if)
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
            "v": PROTOCOL,
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
        for player, kept in reply.rounds.items():
            if kept == "stored" and RoundId(player) in self.ring:
                del self.ring[RoundId(player)]
                self.stored += 1
        self._sent, self.dropped = [], 0
        # Not added to: hello and roster that went with this batch are no longer due.
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
        players_here = {*self._game.on(Side.A), *self._game.on(Side.B), *self._game.bench()}
        if self._cache is None or not self._cache.splits or set(self._cache.ids) != players_here:
            return None
        players = [
            (PlayerId(player_id), letter)
            for player_id, letter in zip(self._cache.ids, self._cache.splits[-1], strict=True)
        ]
        a, b, bench = (tuple(player for player, letter in players if letter == mark) for mark in "AB-")
        return Split(a, b, bench)
