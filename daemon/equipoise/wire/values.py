"""A decoded batch and a reply to be encoded: what the host sees of the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from equipoise.core.effects import Order
from equipoise.core.events import ScriptEvent
from equipoise.core.model import DueIf, PlayerId, PlayerSummary, RoundId, ServerId, SplitCache
from equipoise.core.phrases import Text

Kept = Literal["stored", "kept"]


@dataclass(frozen=True, slots=True)
class Batch:
    """What a script posts: events in order, numbered within its boot."""

    server: ServerId
    boot: int
    seq: int
    at: float
    """The script's monotonic clock, seconds."""
    events: tuple[ScriptEvent, ...]
    dropped: int = 0
    names: Mapping[PlayerId, str] = field(default_factory=dict)
    """What joining players call themselves, where the script said it."""
    plugin: str | None = None
    """Version of the script, from its hello."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a batch is answered with."""

    orders: tuple[Order, ...] = ()
    rounds: Mapping[RoundId, Kept] = field(default_factory=dict)
    summaries: tuple[PlayerSummary, ...] = ()
    pending: bool = False
    reason: Text | None = None
    due_if: tuple[DueIf, ...] = ()
    """Empty: nothing would. A scramble due whatever happens is three outcomes without `shutout`."""
    cache: SplitCache | None = None
    want: tuple[Literal["hello", "roster"], ...] = ()
    enabled: bool = True
    next: float = 5.0
    stale: bool = False
    """The batch was late: only its rounds were taken."""
