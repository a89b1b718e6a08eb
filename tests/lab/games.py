"""A simulated game server with people on it, and orders for it."""

from __future__ import annotations

from collections.abc import Iterable

from equipoise.core.effects import Assign, Moment, Move, Place, Purpose
from equipoise.core.events import ScriptEvent
from equipoise.core.model import Mode, OrderId, PlayerId, ServerId, Side, Split
from equipoise.core.phrases import Phrase, Text
from equipoise.lab.simulation.game_server import GameServer, Map

BOOT = 1_763_622_000_123
ARENA, KOTH = Map("arena_lumberyard", Mode.ARENA), Map("koth_viaduct", Mode.KOTH)
REASON = Text(Phrase.REASON_STREAK, ("3",))
A, B, C, D, E, F = (PlayerId(str(76561197960265729 + number)) for number in range(6))


def server(*red: PlayerId, blu: tuple[PlayerId, ...] = (), map: Map = ARENA) -> GameServer:
    """A server with people on its sides, and no events to take."""
    made = GameServer(ServerId("arena-1"), BOOT, map)
    for id in (*red, *blu):
        made.connect(id)
    made.seat(Split(red, blu))
    made.take()
    return made


def assign(
    *red: PlayerId, blu: tuple[PlayerId, ...] = (), bench: tuple[PlayerId, ...] = (), moment: Moment = Moment.FREEZE
) -> Assign:
    """An assignment."""
    return Assign(OrderId("o1"), REASON, Split(red, blu, bench), moment, Purpose.SCRAMBLE)


def move(player: PlayerId, side: Side = Side.B, deadline: float = 10.0) -> Move:
    """A mid-round move."""
    return Move(OrderId("o2"), REASON, player, side, deadline)


def place(player: PlayerId, side: Side | None) -> Place:
    """The answer to a wish."""
    return Place(player, side, REASON)


def kinds(events: Iterable[ScriptEvent]) -> list[str]:
    """The names of the events' types, in order."""
    return [type(event).__name__ for event in events]


def sides(made: GameServer) -> tuple[set[PlayerId], set[PlayerId], set[PlayerId]]:
    """RED, BLU and bench."""
    return set(made.on(Side.A)), set(made.on(Side.B)), set(made.bench())
