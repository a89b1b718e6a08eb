"""The solver's constraints and answers. Players are indices into the caller's list of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from equipoise.core.model import Side


class Pin(Enum):
    """Where a player must be: on a side, on the bench, or on either side but playing."""

    A = "a"
    B = "b"
    BENCH = "bench"
    PLAY = "play"


class Gap(NamedTuple):
    """The most by which the best assignment can be better, in each of what is kept least."""

    points: float = 0.0
    """Of |Σ(A) − Σ(B) − target|."""
    bench_cost: int = 0
    moves: int = 0


NO_GAP = Gap()


@dataclass(frozen=True, slots=True)
class Assignment:
    """Players, by index, on two sides and a bench."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    bench: tuple[int, ...]
    difference: float
    """Signed: the sum of A's values less the sum of B's, in points, of the values as they were given."""
    optimal: bool
    """Proven: no assignment that meets the constraints is better by more than twice `error_bound`."""
    method: str
    """The method that found it."""
    error_bound: float = 0.0
    """The most by which rounding to ticks changed differences while solving, in points; 0 for values that are whole
    ticks."""
    bench_cost: int = 0
    moves: int = 0
    """Players who change to the other side; from or to the bench is no move."""
    gap: Gap = NO_GAP
    """What may be missing; where the assignment is optimal, only what rounding hides."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Players on A and on B."""
        return len(self.a), len(self.b)

    def side_of(self, index: int) -> Side | None:
        """A player's side; None for the bench."""
        if index in self.a:
            return Side.A
        return Side.B if index in self.b else None


@dataclass(frozen=True, slots=True)
class Splits(Mapping[int, Assignment]):
    """The best assignment for every team size k that the constraints allow."""

    by_size: Mapping[int, Assignment]
    uneven: Assignment | None = None
    """⌈N/2⌉ against ⌊N/2⌋ with an empty bench, if it was asked for and N is odd."""

    def __getitem__(self, k: int) -> Assignment:
        return self.by_size[k]

    def __iter__(self) -> Iterator[int]:
        return iter(self.by_size)

    def __len__(self) -> int:
        return len(self.by_size)

    @property
    def largest(self) -> Assignment:
        """The assignment with the fewest players on the bench."""
        return self.uneven or self.by_size[max(self.by_size)]


@dataclass(frozen=True, slots=True)
class Transfer:
    """The players who move from the larger side to the smaller, and the signed difference (larger − smaller) after."""

    moved: tuple[int, ...]
    """Indices into the larger side."""
    difference: float
    cost: int = 0
    error_bound: float = 0.0
    optimal: bool = True
    """Proven, as of an assignment."""
    gap: Gap = NO_GAP
    """What may be missing, of the cost as of a bench cost; where the transfer is optimal, only what rounding hides."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A change of the present teams: the teams after it, and the players who changed side."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    moved: tuple[int, ...]
    difference: float
    error_bound: float = 0.0

    @property
    def moves(self) -> int:
        """How many players change side."""
        return len(self.moved)

    @property
    def imbalance(self) -> float:
        """|Σ(A) − Σ(B)| after the change."""
        return abs(self.difference)
