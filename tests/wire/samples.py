"""Batches as a script would write them: plain JSON, made by hand, so that they can judge the decoder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from equipoise.core import events
from equipoise.core.model import Entry, Immunity, LineupPlayer, Mode, Presence, Round, Side
from equipoise.wire import Batch
from equipoise.wire.batches import IMMUNITIES

WORDS = {Side.A: "red", Side.B: "blu", None: "none"}
FACTS: dict[Mode, dict[str, Any]] = {
    Mode.CTF: {"game_type": 1},
    Mode.KOTH: {"game_type": 2, "koth": True},
    Mode.ATTACK_DEFEND: {"game_type": 2, "attack_defend": True},
    Mode.SYMMETRIC_CP: {"game_type": 2},
    Mode.PAYLOAD: {"game_type": 3},
    Mode.PAYLOAD_RACE: {"game_type": 3, "multiple_trains": True},
    Mode.ARENA: {"game_type": 4},
    Mode.OTHER: {"game_type": 7},
    Mode.NS2: {},
}
RED, BLU, BOT = "76561197960287930", "76561197960287931", "bot:7"

HELLO = {"kind": "hello", "plugin": "1.0", "game": "tf2", "map": "arena_well", "session": "s-1", "phase": "idle"}
ROUND = {
    "kind": "round_ended",
    "round": "1-4",
    "session": "s-1",
    "map": "arena_well",
    "game": "tf2",
    "facts": {"game_type": 4},
    "started_at": 1763622000,
    "seconds": 61.5,
    "winner": "red",
    "captures": {"red": 1, "blu": 0},
    "lineup": [{"id": RED, "side": "red"}, {"id": BLU, "side": "blu"}, {"id": BOT, "side": "blu"}],
    "players": [
        {"id": RED, "side": "red", "seconds": {"red": 61.5, "blu": 0}, "fought": True},
        {"id": BLU, "side": "blu", "seconds": {"red": 0, "blu": 30}, "fought": True, "left": True},
    ],
}


KOTH = {**HELLO, "map": "koth_viaduct", "phase": "running", "facts": {"game_type": 2, "koth": True}}


def seats(ids: Sequence[str], sides: Sequence[str] = ("red", "blu")) -> list[dict[str, Any]]:
    """These players on the two sides in turns, as rosters and lineups have them."""
    return [{"id": id, "side": sides[place % 2]} for place, id in enumerate(ids)]


def finished(ids: Sequence[str], *, seconds: float = 61.5, **fields: Any) -> dict[str, Any]:
    """The end of a round of these players, on the two sides in turns from its start to its end."""
    parts = [{**seat, "seconds": {seat["side"]: seconds}, "fought": True} for seat in seats(ids)]
    return {**ROUND, "seconds": seconds, "lineup": seats(ids), "players": parts, **fields}


def posted(*happened: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A batch with these events, as JSON values."""
    batch = {"v": 1, "server": "arena-1", "boot": 1763622000123, "seq": 17, "at": 812.4}
    return {**batch, "events": list(happened), **fields}


def body(*happened: dict[str, Any], **fields: Any) -> bytes:
    """A batch with these events, as the bytes of a request's body."""
    return json.dumps(posted(*happened, **fields)).encode()


def written(batch: Batch) -> bytes:
    """A batch of values as a script would have written it."""
    return body(
        *(_event(event, batch) for event in batch.events),
        server=batch.server,
        boot=batch.boot,
        seq=batch.seq,
        at=batch.at,
        dropped=batch.dropped,
    )


def _event(event: events.ScriptEvent, batch: Batch) -> dict[str, Any]:
    return {"at": event.at, **_fields(event, batch)}


def _fields(event: events.ScriptEvent, batch: Batch) -> dict[str, Any]:
    match event:
        case events.Hello():
            return _hello(event, batch)
        case events.RosterSeen(_, roster, ends_in, no_moves, map_ends_in):
            moves = {"moves": "no", "moves_reason": no_moves} if no_moves else {}
            ends = {"ends_in": ends_in, "map_ends_in": map_ends_in}
            return {"kind": "roster", "players": [_line(e) for e in roster.entries], **ends, **moves}
        case events.PlayerJoined(_, id):
            return {"kind": "player_joined", "id": id, "name": batch.names.get(id, "")}
        case events.PlayerLeft(_, id):
            return {"kind": "player_left", "id": id}
        case events.SideChanged(_, id, side, waiting, ready, held):
            where = {"side": WORDS[side], "waiting": waiting, "ready": ready}
            return {"kind": "side_changed", "id": id, **where, **({"held": held} if held else {})}
        case events.SideWanted(_, id, side):
            return {"kind": "side_wanted", "id": id, "side": "any" if side is None else WORDS[side]}
        case events.RoundStarted(_, roster):
            return {"kind": "round_started", "players": [_line(e) for e in roster.entries]}
        case events.RoundLive(_, round, roster):
            return {"kind": "round_live", "round": round, "players": [_line(e) for e in roster.entries]}
        case events.RoundEnded(_, round):
            return _round(round)
        case _:
            return _small(event)


def _small(event: events.ScriptEvent) -> dict[str, Any]:
    match event:
        case events.SidesSwitched():
            return {"kind": "sides_switched"}
        case events.WaitingEnded():
            return {"kind": "waiting_ended"}
        case events.ScrambledAlone(_, split):
            return {"kind": "scrambled_alone", "red": split.a, "blu": split.b, "bench": split.bench}
        case events.OrderDone(_, order, stayed):
            return {"kind": "order_done", "order": order, "stayed": _stayed(stayed)}
        case events.OrderFailed(_, order, reason, stayed):
            return {"kind": "order_failed", "order": order, "reason": reason, "stayed": _stayed(stayed)}
        case events.VoteEnded():
            return {"kind": "vote_ended", "order": event.order, "yes": event.yes, "no": event.no}
        case events.Commanded(_, words, by, admin):
            return {"kind": "command", "words": words, "by": by or "", "admin": admin}
        case _:
            return {"kind": "heartbeat"}


def _hello(hello: events.Hello, batch: Batch) -> dict[str, Any]:
    return {
        "kind": "hello",
        "plugin": batch.plugin,
        "game": "ns2" if hello.mode is Mode.NS2 else "tf2",
        "map": hello.map,
        "session": hello.session,
        "phase": hello.phase.value,
        "waiting": hello.waiting,
        "late": hello.late,
        "due": hello.due,
        "inactive_reason": hello.inactive_reason,
        "facts": FACTS[hello.mode],
    }


def _line(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "side": WORDS[entry.side],
        "waiting": entry.waiting,
        "alive": entry.alive,
        "connected": entry.connected,
        "immune": bool(entry.immune & Immunity.AUTOBALANCE),
        **({"immune_from": [word for word, one in IMMUNITIES.items() if one & entry.immune]} if entry.immune else {}),
        "carrier": entry.carrier,
        "commander": entry.commander,
        "forced": entry.forced,
        "building": entry.building,
        "charge": entry.charge,
        "ready": entry.ready,
        **({"held": entry.held} if entry.held else {}),
        **({} if entry.objective is None else {"objective": entry.objective}),
    }


def _stayed(stayed: events.Stayed) -> list[dict[str, str]]:
    return [{"id": player, "held": why} for player, why in stayed.items()]


def _seat(seat: LineupPlayer) -> dict[str, Any]:
    return {"id": seat.id, "side": WORDS[seat.side]}


def _presence(seen: Presence) -> dict[str, Any]:
    seconds = {"red": seen.seconds_a, "blu": seen.seconds_b}
    return {
        "id": seen.id,
        "side": WORDS[seen.side],
        "seconds": seconds,
        "fought": seen.fought,
        "left": seen.left,
        "spans": [
            {"side": WORDS[span.side], "from": span.start, "to": span.end, "role": span.role.value}
            for span in seen.spans
        ],
        "counts": None if seen.counts is None else dataclasses.asdict(seen.counts),
    }


def _round(game_round: Round) -> dict[str, Any]:
    return {
        "kind": "round_ended",
        "round": game_round.id,
        "session": game_round.session,
        "map": game_round.map,
        "game": "ns2" if game_round.mode is Mode.NS2 else "tf2",
        "facts": FACTS[game_round.mode],
        "started_at": game_round.started_at,
        "seconds": game_round.seconds,
        "winner": WORDS[game_round.winner],
        "captures": {"red": game_round.captures_a, "blu": game_round.captures_b},
        "partial": game_round.partial,
        "waiting": game_round.waiting,
        "cheats": game_round.cheats,
        "lineup": [_seat(seat) for seat in game_round.lineup],
        "players": [_presence(seen) for seen in game_round.presences],
        "squads": game_round.squads,
    }
