"""A simulated server with people on it, and orders as the daemon writes them."""

from __future__ import annotations

from equipoise.core.model import PlayerId, Side
from equipoise.demo.server import ARENA, GameServer, Json, Map
from equipoise.wire import orders as wire

BOOT = 1_763_622_000_123
REASON = wire.Text("Equipoise_ReasonStreak", ("3",))
A, B, C, D, E, F = (PlayerId(str(76561197960265729 + number)) for number in range(6))


def server(*red: PlayerId, blu: tuple[PlayerId, ...] = (), map: Map = ARENA) -> GameServer:
    """A server with people on its sides, nothing of which is still to be told."""
    made = GameServer(BOOT)
    made.map = map
    for id in (*red, *blu):
        made.connect(id, id[-1])
    made.seat(red, blu, ())
    made.take()
    return made


def assign(*red: str, blu: tuple[str, ...] = (), bench: tuple[str, ...] = (), moment: str = "freeze") -> wire.Assign:
    """An assignment."""
    return wire.Assign("o1", REASON, red, blu, bench, "now" if moment == "now" else "freeze")


def move(id: PlayerId, side: str = "blu", deadline: float = 10.0) -> wire.Move:
    """A mid-round move."""
    return wire.Move("o2", REASON, id, side, deadline)


def place(id: PlayerId, side: str) -> wire.Place:
    """The answer to a wish."""
    return wire.Place(id, side, REASON)


def kinds(events: list[Json]) -> list[object]:
    """What happened, in order."""
    return [event["kind"] for event in events]


def sides(made: GameServer) -> tuple[set[PlayerId], set[PlayerId], set[PlayerId]]:
    """RED, BLU and bench."""
    return set(made.on(Side.A)), set(made.on(Side.B)), set(made.bench())
