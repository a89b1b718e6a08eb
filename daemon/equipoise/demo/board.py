"""What is shown: everything a screen draws of one moment, and the lines of the ticker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from equipoise.core.model import Side
from equipoise.demo.record import Record

Kind = Literal["round", "scramble", "people", "trouble", "move", "map"]


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

    map: str
    number: int
    """Of the running round, 1 first."""
    rounds: int
    """How many there will be."""
    red: tuple[Row, ...]
    blu: tuple[Row, ...]
    bench: tuple[Row, ...]
    predicted: float
    """RED's win probability by the ratings."""
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


def total(rows: Sequence[Row]) -> float:
    """Sum of the ratings, points."""
    return sum(row.rating for row in rows)
