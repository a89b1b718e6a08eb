"""What is shown: everything a screen draws of one moment, and the lines of the ticker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from equipoise.core.model import Side
from equipoise.demo.record import Record

Kind = Literal["round", "scramble", "people", "trouble", "move", "map"]


@dataclass(frozen=True, slots=True)
class Look:
    """What a game calls its sides, and how they are drawn."""

    sides: tuple[str, str]
    colours: tuple[str, str]
    """Of rich."""
    scrambles: str
    """What the game calls them."""
    ring: str
    """What it calls the finished rounds that wait."""
    legend: str
    """Signs that only this game has; may be empty."""
    outside: str
    """Where players are who are on no side."""


TF2_LOOK = Look(("RED", "BLU"), ("red", "bright_blue"), "scrambles", "ring", "", "bench")
NS2_LOOK = Look(("Marines", "Aliens"), ("bright_blue", "orange1"), "shuffles", "outbox", " · ★ commands", "ready room")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the ticker."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A player: the daemon's rating, and the truth."""

    name: str
    rating: float
    shadow: bool
    """The rating counts but players do not see it yet."""
    change: float
    """By the player's last rated round."""
    skill: float


@dataclass(frozen=True, slots=True)
class Board:
    """One moment of the evening."""

    look: Look
    map: str
    number: int
    """Of the running round, 1 first."""
    rounds: int
    """How many there will be."""
    a: tuple[Row, ...]
    b: tuple[Row, ...]
    bench: tuple[Row, ...]
    predicted: float
    """Side A's win probability as the daemon says it."""
    winner: Side | None
    due: str
    """What would make a scramble due, by the daemon's word; empty: nothing."""
    up: bool
    """The daemon answers."""
    ring: int
    """Finished rounds that it has not stored yet."""
    chat: str
    """The last message in the game's chat."""
    record: Record


class Stage(Protocol):
    """Where the evening is shown."""

    def add(self, line: Line) -> None:
        """Add a line to the ticker."""

    def show(self, board: Board) -> None:
        """Draw the present state of the evening."""

    async def rest(self, seconds: float) -> None:
        """Wait, so that people can read; `seconds` are those at speed 1."""
