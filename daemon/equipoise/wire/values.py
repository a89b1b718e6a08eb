"""A decoded batch and a reply to be encoded: all that the host knows of the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from equipoise.core.effects import Order
from equipoise.core.events import ScriptEvent
from equipoise.core.model import DueIf, PlayerId, PlayerSummary, RoundId, ServerId, SplitCache
from equipoise.core.phrases import Text
from equipoise.core.rules import Level

RoundStatus = Literal["stored", "kept"]
"""In the database, or in the ring's file and waiting for the database."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Events of one script in order; batches are numbered within a boot."""

    server: ServerId
    boot: int
    seq: int
    at: float
    """The script's monotonic clock, seconds."""
    events: tuple[ScriptEvent, ...]
    dropped: int = 0
    names: Mapping[PlayerId, str] = field(default_factory=dict)
    """Names of joining players, where the script sent them."""
    plugin: str | None = None
    """The script's version, when the batch holds a hello."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a batch, before it is encoded in the words of the script's game."""

    orders: tuple[Order, ...] = ()
    rounds: Mapping[RoundId, RoundStatus] = field(default_factory=dict)
    summaries: tuple[PlayerSummary, ...] = ()
    pending: bool = False
    reason: Text | None = None
    due_if: tuple[DueIf, ...] = ()
    """Outcomes that would make a scramble due. Every outcome is written as the three without `shutout`."""
    cache: SplitCache | None = None
    want: tuple[Literal["hello", "roster"], ...] = ()
    enabled: bool = True
    level: Level = "balance"
    level_reason: str = ""
    """The key of the configuration that set the level; empty where none matched the map."""
    next: float = 5.0
    stale: str = ""
    """Why only the rounds of the batch were taken; empty: all of it was."""
