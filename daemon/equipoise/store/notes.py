"""What the store writes beside ratings: the logs, session memory and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from equipoise.core.model import PlayerId, ServerId


@dataclass(frozen=True, slots=True)
class Decision:
    """A line of the decision log, as stored."""

    server: ServerId
    at: float
    """Seconds since the epoch."""
    kind: str
    """The kind of decision: a word of docs/protocol.md."""
    reason: str
    """English text."""
    order: str | None = None
    """The id of the order that came of it; null: there was none."""
    detail: Mapping[str, object] | None = None
    """Split, players, win probability before and after: plain data."""
    number: int = field(default=0, compare=False)
    """Its place in the log; 0 before it is stored."""


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """A server's session memory as of a moment, encoded."""

    server: ServerId
    memory: bytes
    at: float
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Name:
    """What a player called themselves last."""

    pool: str
    player: PlayerId
    name: str


class BalancePrediction(NamedTuple):
    """What a pool's balance system said before a round."""

    chance: float
    """Win probability of side A, as predicted."""
    said: float | None
    """Calibrated; None where that is the same."""
    unevenness: float | None
    """None where it knows no deviations."""


@dataclass(frozen=True, slots=True)
class BalancePredictions:
    """What a pool's balance system said before rounds."""

    rounds: Mapping[int, BalancePrediction]
    """By the round's number."""


Log = Literal["decisions", "audit"]
"""The logs of the store, whose lines only become more."""


@dataclass(frozen=True, slots=True)
class Audit:
    """A line of the audit: an admin's change, with the values before and after."""

    at: float
    """Seconds since the epoch."""
    who: str
    """Token or player."""
    action: str
    """The name of the action."""
    target: str
    """The player, server or pool that it concerned."""
    before: str
    """The state before it."""
    after: str
    """The state after it."""
    number: int = field(default=0, compare=False)
    """Its place in the audit; 0 before it is stored."""


Note = Decision | Audit | SessionMemory | Name | BalancePredictions
"""What may be written a moment later than it happened; rounds and changes of ratings may not."""
