"""A simulated game server as its script sees it: who is where, what happened, and orders carried out exactly.

Pure: time passes when it is told to, what happened is collected as events of the protocol until the script takes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from equipoise.core.model import PlayerId, Side
from equipoise.demo.attendance import Attendance
from equipoise.wire import TF2
from equipoise.wire import orders as wire
from equipoise.wire.games import SIDES

Json: TypeAlias = dict[str, object]
PhaseWord = Literal["idle", "freeze", "running", "over"]
Where: TypeAlias = tuple[Side | None, bool]
"""A side, or none; and whether he waits for one."""

HELD_SECONDS = 2.0
"""A player who wants a side waits this long for the daemon's answer."""
UNTIL_SCRAMBLE = math.inf


class Map(NamedTuple):
    """A map: its name, and the facts of its game."""

    name: str
    facts: Json


ARENA = Map("arena_lumberyard", {"game_type": 4})
KOTH = Map("koth_viaduct", {"game_type": 2, "koth": True})


@dataclass(slots=True)
class Client:
    """Somebody connected."""

    id: PlayerId
    name: str
    since: float
    side: Side | None = None
    waiting: bool = False
    alive: bool = True

    @property
    def where(self) -> Where:
        """What `side_changed` would tell."""
        return self.side, self.waiting


@dataclass(frozen=True, slots=True)
class Wish:
    """Somebody who asked for a side and is held until the daemon says which."""

    side: Side | None
    until: float


@dataclass(frozen=True, slots=True)
class Ordered:
    """A move that waits for its player's death."""

    move: wire.Move
    until: float


@dataclass(slots=True)
class Lineup:
    """A running round, from its doors."""

    id: str
    at: float
    seats: list[Json]
    attendance: Attendance = field(default_factory=Attendance)


class GameServer:
    """The state of the game, and what the script has not yet taken of what happened."""

    def __init__(self, boot: int) -> None:
        self.boot = boot
        """The script's start, milliseconds since the epoch."""
        self.clock = 0.0
        """The script's monotonic clock, seconds."""
        self.map = ARENA
        self.phase: PhaseWord = "idle"
        self.waiting_for_players = False
        self.clients: dict[PlayerId, Client] = {}
        self.locks: dict[PlayerId, tuple[Side, float]] = {}
        """Where a player must stay, and until when."""
        self._events: list[Json] = []
        self._maps = 1
        self._rounds = 0
        self._lineup: Lineup | None = None
        self._wishes: dict[PlayerId, Wish] = {}
        self._moves: list[Ordered] = []
        self._told: dict[PlayerId, Where] = {}

    # What the script reads.

    def on(self, side: Side) -> tuple[PlayerId, ...]:
        """Everybody on a side, as they connected."""
        return tuple(client.id for client in self.clients.values() if client.side is side)

    def bench(self) -> tuple[PlayerId, ...]:
        """Everybody who waits for a side."""
        return tuple(client.id for client in self.clients.values() if client.side is None and client.waiting)

    def ordered(self) -> tuple[PlayerId, ...]:
        """Whose move waits for his death."""
        return tuple(PlayerId(one.move.id) for one in self._moves)

    @property
    def uneven(self) -> bool:
        """A round runs in which somebody may have to be moved."""
        gap = len(self.on(Side.A)) - len(self.on(Side.B))
        return self.phase == "running" and self.map is not ARENA and abs(gap) >= 2

    def locked(self, id: PlayerId) -> Side | None:
        """Where a player must stay now."""
        side, until = self.locks.get(id, (None, 0.0))
        return side if until > self.clock else None

    def hello(self) -> Json:
        """The script introduces itself."""
        facts = self._event("hello", plugin="demo", phase=self.phase, slots=32, waiting=self.waiting_for_players)
        return facts | self._described()

    def roster(self) -> Json:
        """The whole truth."""
        return self._event("roster", players=self._players())

    @property
    def quiet(self) -> bool:
        """There is nothing to take."""
        return not self._events and self._told == self._where()

    def take(self) -> list[Json]:
        """What happened since the last call, with every change of side that no roster has told."""
        changes = [
            self._event("side_changed", id=id, side=TF2.word(client.side), waiting=client.waiting)
            for id, client in self.clients.items()
            if self._told.get(id) != client.where
        ]
        self._told = self._where()
        taken, self._events = self._events + changes, []
        return taken

    def _where(self) -> dict[PlayerId, Where]:
        return {id: client.where for id, client in self.clients.items()}

    def _event(self, kind: str, **fields: object) -> Json:
        return {"kind": kind, "at": self.clock, **fields}

    def _described(self) -> Json:
        return {
            "game": TF2.name,
            "map": self.map.name,
            "session": f"{self.boot}-{self._maps}",
            "facts": self.map.facts,
        }

    def _players(self) -> list[Json]:
        self._told = self._where()
        return [
            {
                "id": client.id,
                "side": TF2.word(client.side),
                "waiting": client.waiting,
                "alive": client.alive,
                "connected": self.clock - client.since,
            }
            for client in self.clients.values()
        ]

    # What happens on the server.

    def pass_time(self, seconds: float) -> None:
        """The clock goes on; a move whose deadline has come is carried out on the living, nobody is held too long."""
        self.clock += seconds
        for ordered in [one for one in self._moves if one.until <= self.clock]:
            self._carry_out(ordered)
        for id, wish in list(self._wishes.items()):
            if wish.until <= self.clock:
                del self._wishes[id]
                self._put(id, self.locked(id) or wish.side or min(Side, key=lambda side: len(self.on(side))))

    def connect(self, id: PlayerId, name: str) -> None:
        """Somebody joins; in arena he waits for the next round."""
        self.clients[id] = Client(id, name, self.clock, waiting=self.map is ARENA)
        self._events.append(self._event("player_joined", id=id, name=name))

    def disconnect(self, id: PlayerId) -> None:
        """Somebody leaves; an order about him goes with him."""
        del self.clients[id]
        self._told.pop(id, None)
        self._wishes.pop(id, None)
        self._moves = [one for one in self._moves if one.move.id != id]
        if self._lineup:
            self._lineup.attendance.leave(id, self.clock)
        self._events.append(self._event("player_left", id=id))

    def want(self, id: PlayerId, side: Side | None) -> None:
        """Somebody asks for a side, None: any; he is held until he is placed."""
        self._wishes[id] = Wish(side, self.clock + HELD_SECONDS)
        word = "any" if side is None else TF2.word(side)
        self._events.append(self._event("side_wanted", id=id, side=word))

    def change_map(self, map: Map) -> None:
        """A new map: everybody is on no side again, and outside arena the game waits for players."""
        self.map, self.phase, self.waiting_for_players = map, "idle", map is not ARENA
        self._maps += 1
        self._lineup = None
        for forgotten in (self.locks, self._moves, self._wishes):
            forgotten.clear()
        for client in self.clients.values():
            client.side, client.waiting = None, map is ARENA

    def end_waiting(self) -> None:
        """Waiting For Players expires."""
        self.waiting_for_players = False
        self._events.append(self._event("waiting_ended"))

    def start_round(self) -> None:
        """Freeze time begins, everybody on a side lives."""
        self.phase = "freeze"
        for client in self.clients.values():
            client.alive = client.side is not None
        self._events.append(self._event("round_started", players=self._players()))

    def go_live(self) -> str:
        """The round really starts; returns its id."""
        self.phase = "running"
        self._rounds += 1
        seats: list[Json] = [{"id": id, "side": TF2.word(side)} for side in Side for id in self.on(side)]
        self._lineup = Lineup(f"{self.boot}-{self._rounds}", self.clock, seats)
        for side in Side:
            for id in self.on(side):
                self._lineup.attendance.play(id, side, self.clock)
        self._events.append(self._event("round_live", round=self._lineup.id, players=self._players()))
        return self._lineup.id

    def fight(self) -> None:
        """Everybody on a side deals some damage."""
        if self._lineup:
            self._lineup.attendance.fight(id for side in Side for id in self.on(side))

    def die(self, id: PlayerId) -> None:
        """Somebody dies; a move that waited for this is carried out."""
        self.clients[id].alive = False
        for ordered in [one for one in self._moves if one.move.id == id]:
            self._carry_out(ordered)

    def end_round(self, winner: Side | None, captures: dict[Side, int] | None = None) -> Json:
        """The round is over; returns its `round_ended`, which the script's ring keeps until it is stored."""
        lineup, self._lineup, self.phase = self._lineup, None, "over"
        assert lineup is not None
        counts = {TF2.word(side): (captures or {}).get(side, 0) for side in Side}
        return self._described() | self._event(
            "round_ended",
            round=lineup.id,
            started_at=self.boot / 1000 + lineup.at,
            seconds=self.clock - lineup.at,
            winner=TF2.word(winner),
            captures=counts,
            lineup=lineup.seats,
            players=lineup.attendance.lines(self.clock),
        )

    # Orders.

    def apply(self, order: wire.AnyOrder) -> bool:
        """Carry out an order; True when it changed where somebody is, at once."""
        match order:
            case wire.Assign():
                return self._assign(order)
            case wire.Move():
                self._moves.append(Ordered(order, self.clock + order.deadline))
            case wire.Cancel():
                self._moves = [one for one in self._moves if one.move.order != order.order]
            case wire.Place():
                return self._place(order)
            case wire.Lock():
                until = self.clock + order.seconds if order.seconds else UNTIL_SCRAMBLE
                self.locks[PlayerId(order.id)] = SIDES[order.side], until
            case wire.Unlock():
                self.locks = {id: lock for id, lock in self.locks.items() if id not in order.ids}
        return False

    def _assign(self, order: wire.Assign) -> bool:
        named = {*order.red, *order.blu, *order.bench}
        if order.moment == "freeze" and self.phase != "freeze":
            return self._fail(order.order, "live")
        if not named <= self.clients.keys():
            return self._fail(order.order, "left")
        self.seat(order.red, order.blu, order.bench)
        self._done(order.order)
        return True

    def seat(self, red: Iterable[str], blu: Iterable[str], bench: Iterable[str]) -> None:
        """Put people on the sides and the bench; whoever is not named stays where he is."""
        for ids, side in ((red, Side.A), (blu, Side.B), (bench, None)):
            for id in ids:
                self._put(PlayerId(id), side)
        self.locks = {id: lock for id, lock in self.locks.items() if lock[1] != UNTIL_SCRAMBLE}

    def _put(self, id: PlayerId, side: Side | None) -> None:
        client = self.clients[id]
        client.side, client.waiting, client.alive = side, side is None, side is not None
        if self._lineup and side is not None:
            self._lineup.attendance.play(id, side, self.clock)

    def _place(self, order: wire.Place) -> bool:
        id = PlayerId(order.id)
        if self._wishes.pop(id, None) is None:
            return False
        client, side = self.clients[id], SIDES.get(order.side)
        before = client.where
        if side is None or side is not client.side:
            self._put(id, side)
        return client.where != before

    def _carry_out(self, ordered: Ordered) -> None:
        self._moves.remove(ordered)
        self._put(PlayerId(ordered.move.id), SIDES[ordered.move.side])
        self._done(ordered.move.order)

    def _done(self, order: str) -> None:
        self._events.append(self._event("order_done", order=order))

    def _fail(self, order: str, reason: str) -> bool:
        self._events.append(self._event("order_failed", order=order, reason=reason))
        return False
