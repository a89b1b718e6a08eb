"""The plugin's side of the protocol: the game's events as JSON, and the daemon's orders as the core's effects.

`wire` is the daemon's side; a test sends everything through both and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, assert_never

from equipoise.core import effects
from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.model import Mode, OrderId, PlayerId, Roster, Round, Split
from equipoise.core.phrases import Phrase, Text
from equipoise.wire import TF2
from equipoise.wire import orders as wire
from equipoise.wire.games import SIDES

Json: TypeAlias = dict[str, object]

PLUGIN = "demo"
SLOTS = 32
FACTS: Mapping[Mode, Json] = {Mode.ARENA: {"game_type": 4}, Mode.KOTH: {"game_type": 2, "koth": True}}
"""The facts of a map in each mode that the demo plays."""
_PHRASES = {phrase.key: phrase for phrase in Phrase}


def encoded(event: e.ScriptEvent, names: Mapping[PlayerId, str]) -> Json:
    """An event of the game as a batch holds it."""
    kind, fields = _EVENTS[type(event)]
    named = {"name": names[event.id]} if isinstance(event, e.PlayerJoined) else {}
    return {"kind": kind, "at": event.at, **fields(event), **named}


def _hello(event: e.Hello) -> Json:
    return {
        "plugin": PLUGIN,
        "slots": SLOTS,
        "phase": event.phase.value,
        "waiting": event.waiting,
        **_played(event.session, event.map, event.mode),
    }


def _played(session: str, map: str, mode: Mode) -> Json:
    return {"game": TF2.name, "map": map, "session": session, "facts": FACTS[mode]}


def _players(roster: Roster) -> list[Json]:
    return [
        {
            "id": entry.id,
            "side": TF2.word(entry.side),
            "waiting": entry.waiting,
            "alive": entry.alive,
            "connected": entry.connected,
        }
        for entry in roster.entries
    ]


def _finished(round: Round) -> Json:
    presences = [
        {
            "id": presence.id,
            "side": TF2.word(presence.side),
            "seconds": {"red": presence.seconds_a, "blu": presence.seconds_b},
            "fought": presence.fought,
            "left": presence.left,
        }
        for presence in round.presences
    ]
    return {
        **_played(round.session, round.map, round.mode),
        "round": round.id,
        "started_at": round.started_at,
        "seconds": round.seconds,
        "winner": TF2.word(round.winner),
        "captures": {"red": round.captures_a, "blu": round.captures_b},
        "lineup": [{"id": seat.id, "side": TF2.word(seat.side)} for seat in round.lineup],
        "players": presences,
    }


_EVENTS: Mapping[type, tuple[str, Callable[[Any], Json]]] = {
    e.Hello: ("hello", _hello),
    e.RosterSeen: ("roster", lambda event: {"players": _players(event.roster)}),
    e.PlayerJoined: ("player_joined", lambda event: {"id": event.id}),
    e.PlayerLeft: ("player_left", lambda event: {"id": event.id}),
    e.SideChanged: (
        "side_changed",
        lambda event: {"id": event.id, "side": TF2.word(event.side), "waiting": event.waiting},
    ),
    e.SideWanted: (
        "side_wanted",
        lambda event: {"id": event.id, "side": "any" if event.side is None else TF2.word(event.side)},
    ),
    e.WaitingEnded: ("waiting_ended", lambda event: {}),
    e.RoundStarted: ("round_started", lambda event: {"players": _players(event.roster)}),
    e.RoundLive: ("round_live", lambda event: {"round": event.round, "players": _players(event.roster)}),
    e.RoundEnded: ("round_ended", lambda event: _finished(event.round)),
    e.ScrambledAlone: (
        "scrambled_alone",
        lambda event: {"red": event.split.a, "blu": event.split.b, "bench": event.split.bench},
    ),
    e.OrderDone: ("order_done", lambda event: {"order": event.order}),
    e.OrderFailed: ("order_failed", lambda event: {"order": event.order, "reason": event.reason}),
}
"""The `kind` of each event that the demo's game makes, and its fields beside `at`."""


def decoded(order: wire.AnyOrder) -> effects.Order:
    """An order of a reply; the inverse of `wire.encode.order`."""
    match order:
        case wire.Assign():
            split = Split(*(tuple(map(PlayerId, ids)) for ids in (order.red, order.blu, order.bench)))
            return effects.Assign(OrderId(order.order), phrase(order.reason), split, Moment(order.moment))
        case wire.Move():
            side = SIDES[order.side]
            return effects.Move(OrderId(order.order), phrase(order.reason), PlayerId(order.id), side, order.deadline)
        case wire.Cancel():
            return effects.Cancel(OrderId(order.order))
        case wire.Place():
            return effects.Place(PlayerId(order.id), SIDES.get(order.side), phrase(order.reason))
        case wire.Lock():
            return effects.Lock(PlayerId(order.id), SIDES[order.side], order.seconds or None)
        case wire.Unlock():
            return effects.Unlock(tuple(map(PlayerId, order.ids)))
        case wire.Vote():
            return effects.OpenVote(OrderId(order.order), order.seconds)
        case wire.Say():
            return effects.Say(phrase(order.text))
        case wire.Tell():
            return effects.Tell(PlayerId(order.id) or None, tuple(map(phrase, order.lines)))
        case _:
            assert_never(order)


def phrase(text: wire.Text) -> Text:
    """A phrase by its key."""
    return Text(_PHRASES[text.phrase], text.args)
