"""The store's upkeep: what jobs put into it or take from it, how large it is, and whether it takes what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from equipoise.core.model import Mode, ServerId
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
    """How many rounds were fitted."""
    players: int
    """With new ratings."""
    iterations: int
    """How many passes it took."""
    converged: bool
    """Whether the ratings stood still at the end."""


@dataclass(frozen=True, slots=True)
class SpreadFound:
    """The spread of skill that a pool's rounds fit best, beside the one of its parameters."""

    rounds: int
    """How many rounds it was fitted to."""
    present: float
    """Of the parameters; log-odds, as `spread` and `error`."""
    spread: float
    """The most likely one."""
    error: float
    """Its standard error."""
    missing: int
    """About how many more rounds until it could be told from the present one; 0: these suffice."""


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """What a calibration is fitted to, and compared with."""

    followed: bool
    """The predictions are those of the system that makes the teams, which is not the one that is shown."""
    since: int
    """Rounds after this event alone: before it the system predicted otherwise."""
    temperature: float
    """The present calibration; a factor of log-odds."""
    sides: Mapping[str, float]
    """Log-odds by the side's name."""
    maps: Mapping[str, float]
    """Log-odds by the map's name, of the side whose name comes first in the alphabet."""


@dataclass(frozen=True, slots=True)
class CalibrationFound:
    """The calibration that a pool's last rounds fit best, and what it is worth."""

    rounds: int
    """How many rounds it was fitted to."""
    temperature: float
    """A factor of log-odds: above 1 favourites win more often than predicted."""
    sides: Mapping[str, float]
    """Log-odds by the side's name."""
    maps: Mapping[str, float]
    """Log-odds by the map's name, of the side whose name comes first in the alphabet."""
    gain: float
    """How much less the log loss of the last 30 % is than without any, fitted to those before; nats per round."""
    error: float
    """Its standard error."""
    gain_on_present: float
    """The same against the present one."""
    error_on_present: float
    """Its standard error."""
    better: bool
    """Both gains are more than two standard errors. Of no calibration (temperature 1, no sides, no maps), by which the
    present one ends: the gain on the present one is, and the other gain is 0."""


@dataclass(frozen=True, slots=True)
class PredictedRound:
    """A stored, rated round as it was predicted by itself, for a calibration."""

    mode: Mode
    map: str
    predicted: float
    """Win probability of side A."""
    score: float
    """1, 0.5 or 0."""


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


@dataclass(frozen=True, slots=True)
class Prediction:
    """One stored, rated round: what was predicted for side A and what happened."""

    at: float
    predicted: float
    score: float
    unevenness: float | None = None
    """As the system that made the teams expected it; None where that knows no deviations."""


@dataclass(frozen=True, slots=True)
class MeasuredSeat:
    """A participant of a stored, rated round."""

    predicted: float
    """Of their side."""
    score: float
    squad: int
    """Players of their squad on their side; 1: they came alone."""
    rounds: int
    """Rounds that they had been rated for before."""
    last: float | None
    """Their score in the round before; None: there is none, or it was deleted."""


@dataclass(frozen=True, slots=True)
class MeasuredRound:
    """A stored, rated round: what was predicted for side A, what happened, and for whom."""

    predicted: float
    said: float | None
    """By the system that makes the teams, calibrated; None where that is the same, or has not predicted it."""
    unevenness: float | None
    """As that system expected it; None where it knows no deviations."""
    score: float
    seats: tuple[MeasuredSeat, ...]


@dataclass(frozen=True, slots=True)
class Gained:
    """What the players at the top of a pool gained in their last thousand rounds, all together."""

    players: int
    points: float
    by_few: float
    """Of that in rounds of few participants."""


@dataclass(frozen=True, slots=True)
class TeamSize:
    """How many stood on the larger side as a round went live, bots counted."""

    server: ServerId
    size: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """The players of a pool in numbers."""

    count: int
    visible: int
    stale: int
    """Players whose last rated round is too long ago."""
    mean: float | None
    """Of the ratings; None without players."""
    spread: float | None
    """Standard deviation of the ratings."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How large a store is."""

    bytes: int
    """Of the file, without its write-ahead log."""
    free_bytes: int
    """Of pages that rows were deleted from; what is written next goes there."""
    oldest_decision: float | None
    """Seconds since the epoch; None without decisions."""
    newest: float | None
    """When the newest decision or round was written."""


StoreState = Literal["ok", "locked", "full", "failing", "damaged"]


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """Whether the store takes what is written, as of the last attempt."""

    state: StoreState = "ok"
    """All but `damaged` may end by itself; a damaged store takes nothing until the daemon starts on another one."""
    since: float | None = None
    """When it was first not `ok`, seconds since the epoch."""
    began: float | None = None
    """The same by `time.monotonic`, for how long it lasts: the system's clock may be set meanwhile."""
    failures: int = 0
    """Calls that failed since the daemon started."""
    advice: str = ""
    """What the operator can do, without a path: everybody may read it."""
