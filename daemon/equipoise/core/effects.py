"""What to do about it: frozen imperatives, and their union.

An *order* goes to the script; an *ask* is answered by the shell with an event; the rest is work for the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Literal

from equipoise.core.model import Context, Entry, OrderId, Participant, PlayerId, Round, Side, Split
from equipoise.core.phrases import Text

if TYPE_CHECKING:
    from equipoise.core.events import Commanded, Event, Phase


# Orders to the script.


class Moment(Enum):
    """When an assignment is applied."""

    FREEZE = "freeze"
    """In the running freeze time; too late once the doors are open."""
    NOW = "now"
    """At once, players are respawned."""


@dataclass(frozen=True, slots=True)
class Assign:
    """Put everybody where the split says."""

    order: OrderId
    reason: Text
    split: Split
    moment: Moment


@dataclass(frozen=True, slots=True)
class Move:
    """Move one player when he is next dead, at the latest at the deadline."""

    order: OrderId
    reason: Text
    player: PlayerId
    side: Side
    deadline: float
    """Seconds from now."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Forget an order that was not carried out yet."""

    order: OrderId


@dataclass(frozen=True, slots=True)
class Place:
    """Let a player who wants a side join this one; None: nowhere, he waits."""

    player: PlayerId
    side: Side | None
    reason: Text


@dataclass(frozen=True, slots=True)
class Lock:
    """Refuse the player any other side, also after a reconnect."""

    player: PlayerId
    side: Side
    seconds: float | None
    """None: until the next scramble."""


@dataclass(frozen=True, slots=True)
class Unlock:
    """Lift locks."""

    players: tuple[PlayerId, ...]


@dataclass(frozen=True, slots=True)
class Say:
    """Tell everybody."""

    text: Text


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell one; None: whoever sits at the console."""

    player: PlayerId | None
    lines: tuple[Text, ...]


Order = Assign | Move | Cancel | Place | Lock | Unlock | Say | Tell


# Asks, answered by events.


@dataclass(frozen=True, slots=True)
class LoadSummaries:
    """Answered by `SummariesLoaded`."""

    players: tuple[PlayerId, ...]


class Purpose(Enum):
    """What a split is wanted for."""

    DUEL = "duel"
    """The two closest ratings play, everybody else waits."""
    SCRAMBLE = "scramble"
    """The best split within the tolerance."""
    EQUAL_SIDES = "equal_sides"
    """Arena between scrambles: whoever waited plays, as few as possible move, then the least difference."""


@dataclass(frozen=True, slots=True)
class AskSplit:
    """Answered by `SplitSolved` or `SolveFailed`. Bots stand where they are; their ids are in `pool` too."""

    purpose: Purpose
    version: int
    """The roster version it is asked for."""
    reason: Text
    context: Context
    pool: tuple[Entry, ...]
    sizes: tuple[int, int]
    """Players on the two sides, bots counted; which side is the larger is open."""
    bench_cost: Mapping[PlayerId, int]
    """Small whole numbers: the cheapest bench first."""
    tolerance: float
    """Win probability by which the split may be off the optimum for a better bench and fewer moves; `inf`: those
    come first."""
    must_play: frozenset[PlayerId] = frozenset()
    moment: Moment = Moment.FREEZE
    by: PlayerId | None = None
    """Who asked for a dry run."""
    dry: bool = False
    """Only to be shown: no order follows."""


@dataclass(frozen=True, slots=True)
class AskMoves:
    """Answered by `MovesSolved` or `SolveFailed`: who crosses from the larger to the smaller side."""

    version: int
    context: Context
    larger: tuple[PlayerId, ...]
    smaller: tuple[PlayerId, ...]
    larger_side: Side
    movable: tuple[PlayerId, ...]
    count: int
    cost: Mapping[PlayerId, int] = field(default_factory=dict)
    """Ties among equal residuals: the cheapest set first."""


@dataclass(frozen=True, slots=True)
class CacheSplits:
    """Answered by `SplitsCached` or `SolveFailed`: every team size of a pool, for the script to fall back on."""

    context: Context
    pool: tuple[Entry, ...]
    bench: bool
    """Arena: a player may sit out; elsewhere an odd pool is split unevenly."""


# Work for the host.


@dataclass(frozen=True, slots=True)
class RecordRound:
    """Store a finished round and rate it, once."""

    round: Round
    participants: tuple[Participant, ...]
    """Who is rated, on which side; empty when the round is not rated."""
    unrated: str | None = None
    """Why the round is not rated."""
    skill_at_start: Mapping[PlayerId, float] | None = None
    """Ratings as they stood at the doors, where the daemon knows them."""


DecisionKind = Literal[
    "scramble",
    "duel",
    "equal_sides",
    "alone",
    "pending",
    "cancel",
    "dropped",
    "move",
    "place",
    "switch",
    "failed",
]


@dataclass(frozen=True, slots=True)
class LogDecision:
    """Write a line of the decision log: what was done, and why."""

    kind: DecisionKind
    reason: Text
    order: OrderId | None = None
    split: Split | None = None
    players: tuple[PlayerId, ...] = ()
    before: float | None = None
    after: float | None = None


@dataclass(frozen=True, slots=True)
class LookUp:
    """Answer a command that the rules have no part in: ratings, ranks, status, why, set, reset."""

    command: Commanded


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that does not fit the phase; nothing happened."""

    event: Event
    phase: Phase


Ask = LoadSummaries | AskSplit | AskMoves | CacheSplits
Effect = Order | Ask | RecordRound | LogDecision | LookUp | Ignored
