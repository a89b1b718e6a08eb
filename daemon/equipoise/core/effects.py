"""Effects that a session returns: frozen imperatives, and their union.

An *order* goes to the script, an *ask* (`core.asks`) is answered by the shell with an event, and the rest is work for
the host. The host carries effects out in the order in which the session returned them; rounds alone are stored before
(`service.work`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from equipoise.core.asks import Ask, Moment, Purpose
from equipoise.core.events import Commanded, Event, Phase
from equipoise.core.model import OrderId, Outlook, Participant, PlayerId, Round, Side, Split
from equipoise.core.phrases import Text

# Orders to the script.


class ScriptOrder(msgspec.Struct, frozen=True, tag_field="kind"):
    """Base of the orders that are the same in every game and in the protocol; `wire` writes them as they are."""


@dataclass(frozen=True, slots=True)
class Assign:
    """Put every player where the split says."""

    order: OrderId
    reason: Text
    split: Split
    moment: Moment
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Move:
    """Move one player when they are next dead, at the latest at the deadline."""

    order: OrderId
    reason: Text
    player: PlayerId
    side: Side
    deadline: float
    """Seconds from now."""
    quiet: float = 0.0
    """Seconds before the round's known end in which it is not carried out any more: the script may learn of an end
    before the daemon does."""


class Cancel(ScriptOrder, frozen=True, tag="cancel"):
    """Drop a move that was not carried out yet, or end a vote without a result."""

    order: OrderId


@dataclass(frozen=True, slots=True)
class Place:
    """Answer a player who asked for a side: they join this one; None: they wait."""

    player: PlayerId
    side: Side | None
    reason: Text


@dataclass(frozen=True, slots=True)
class Lock:
    """Keep the player on this side, also after a reconnect."""

    player: PlayerId
    side: Side
    seconds: float | None
    """None: until the next scramble."""


class Unlock(ScriptOrder, frozen=True, tag="unlock"):
    """Lift the locks of these players."""

    ids: tuple[PlayerId, ...]
    """The players."""


@dataclass(frozen=True, slots=True)
class OpenVote:
    """Have every human on a side, or waiting for one, vote on a scramble; answered by `VoteEnded`."""

    order: OrderId
    seconds: float
    """How long they may vote."""
    fraction: float
    """Part of the votes cast that has to be for it."""
    text: Text
    """What they are asked."""


@dataclass(frozen=True, slots=True)
class Say:
    """Show a text to every player."""

    text: Text


@dataclass(frozen=True, slots=True)
class Tell:
    """Show lines to one player; None: on the server's console."""

    player: PlayerId | None
    lines: tuple[Text, ...]


Order = Assign | Move | Cancel | Place | Lock | Unlock | OpenVote | Say | Tell


# Work for the host.


@dataclass(frozen=True, slots=True)
class RecordRound:
    """Rate and store a finished round; a round that comes again changes nothing."""

    round: Round
    participants: tuple[Participant, ...]
    """The players who are rated and their sides; empty when the round is not rated."""
    unrated: str | None = None
    """Why the round is not rated."""
    skill_at_start: Mapping[PlayerId, float] | None = None
    """The skills of the lineup when the round went live; None where the daemon did not know all of them."""


DecisionKind = Literal[
    "scramble",
    "duel",
    "equal_sides",
    "too_uneven",
    "shuffle",
    "alone",
    "pending",
    "cancel",
    "dropped",
    "move",
    "place",
    "kept",
    "switch",
    "vote",
    "choice",
    "failed",
    "refused",
    "unrated",
    "chair",
]


@dataclass(frozen=True, slots=True)
class LogDecision:
    """Add a line to the decision log: what was done, and why."""

    kind: DecisionKind
    reason: Text
    order: OrderId | None = None
    split: Split | None = None
    players: tuple[PlayerId, ...] = ()
    """Whom it is about; beside a split, who changes place by it."""
    before: Outlook | None = None
    """Of the sides before a split."""
    after: Outlook | None = None
    spread: tuple[float, float] | None = None
    """Standard deviations of the skills on A and on B after a split, in points."""
    side: Side | None = None
    """Where these players go, or have to stay."""
    cause: Text | None = None
    """Why a split is not called even, or moves nobody."""
    likely: tuple[PlayerId, ...] = ()
    """NS2: whom a split before the chairs are filled takes for the next commanders."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """Answer a command that needs the pool or the log: rating, rank, top, teams, status, why, set, reset."""

    command: Commanded


@dataclass(frozen=True, slots=True)
class Ignored:
    """The event does not fit the phase; the session did not change."""

    event: Event
    phase: Phase


Effect = Order | Ask | RecordRound | LogDecision | LookUp | Ignored
