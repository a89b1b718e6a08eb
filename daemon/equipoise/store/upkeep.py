"""What the daemon's jobs put into the store, or take from it."""

from __future__ import annotations

from dataclasses import dataclass


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
