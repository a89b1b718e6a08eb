"""What the daemon's jobs put into the store, or take from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.store.sequence import Shift


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the store."""

    file: str
    bytes: int
    rounds: int
    seconds: float
    """How long it took."""


@dataclass(frozen=True, slots=True)
class QualityPoint:
    """How well a pool predicted its last rounds, at one moment."""

    at: float
    """Seconds since the epoch."""
    rounds: int
    """As many were looked at."""
    brier: float
    log_loss: float
    """Nats a round."""
    calibration_error: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """How the fit of a whole history ended."""

    rounds: int
    players: int
    """With new ratings."""
    iterations: int
    converged: bool


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """What a fit, and the rounds that came while it ran, make of the ratings."""

    last: int
    """The pool's last event that was seen."""
    rounds: int
    """That came meanwhile."""
    players: int
    """With new ratings."""
    shared: Mapping[str, object]
    """All parts of the system's shared state."""
    shifts: tuple[Shift, ...]
    """Of the players whose ratings change most, the largest first."""
