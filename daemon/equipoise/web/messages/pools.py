"""What pools predict."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from equipoise.ratings.quality import Difference, Group, Quality
from equipoise.service.refits import RefitStatus
from equipoise.service.team_sizes import TeamSizes
from equipoise.store.sequence import LearntSpread
from equipoise.store.upkeep import CalibrationFound, SpreadFound
from equipoise.web.messages import Ask, Ok


class Crowd(msgspec.Struct, frozen=True):
    """The players of a pool."""

    count: int
    visible: int
    """Players whose rating may be shown."""
    shadow: int
    """In their shadow period: ratings that are not shown."""
    stale: int
    """Players without a rated round for too long."""
    mean: float | None
    spread: float | None
    """Standard deviation of the ratings."""


class BalanceQuality(msgspec.Struct, frozen=True):
    """How well the system predicts that makes the teams, over those of these rounds that it predicted."""

    quality: Quality
    """Its measures."""
    difference: Difference
    """Its measures minus those of the system that is shown, on the same rounds; below 0 it predicts better."""


class ScoreWeight(msgspec.Struct, frozen=True):
    """What one rate of a player's own score counts for."""

    feature: str
    """The rate: `kills`, `deaths`, `assists` or `points`, per minute and beside others of the same class."""
    weight: float
    """Log-odds of skill per standard deviation of the rate, of a player who is known for long."""
    deviation: float
    """Standard deviation of the weight: how far it is expected to be from the truth."""


class ScoreMap(msgspec.Struct, frozen=True):
    """What own scores say of skill in one mode."""

    mode: str
    rounds: int
    """Rounds with counts whose results it was learnt from."""
    used: bool
    """Whether it is used: only while it predicts rounds that it was not fitted on better than wins alone."""
    gain: float
    """Nats by which it did, over all of these rounds."""
    weights: tuple[ScoreWeight, ...]
    """One for each rate."""
    noise: float | None
    """Standard deviation of one round's own score around skill and lasting offset, log-odds; null: it says nothing."""
    offset: float | None
    """Standard deviation of the players' lasting offsets, log-odds; null: scores say nothing."""
    correlation: float
    """Of the own score in one full round with skill."""


class PoolSeen(msgspec.Struct, frozen=True):
    """A configured pool."""

    pool: str
    system: str
    """Its rating system."""


class PoolsFound(Ok, frozen=True):
    """The configured pools, by name."""

    pools: tuple[PoolSeen, ...]
    """One or more."""


class TypicalRound(msgspec.Struct, frozen=True):
    """How even the last rounds were, by the system that makes the teams."""

    favourite: float
    """Mean win probability of the side that was likely to win."""
    even: float
    """Fraction of the rounds in which that was at most 55 %."""
    random: float | None
    """The favourite's with the players of the last 100 of these rounds on random sides, by what is known of them now;
    null where none of those is known any more."""


class QualityFound(Ok, frozen=True):
    """How well a pool predicts, over its last 500 rounds."""

    pool: str
    typical: TypicalRound | None
    """Null before the first rated round."""
    quality: Quality | None
    """Of the system that is shown; `balance` has those of the one that makes the teams. Null before the first rated
    round."""
    players: Crowd
    """The players of the pool, in numbers."""
    suggested_theta: float | None
    """The Θ with which these rounds would have been predicted best. Null below 500 rounds, for a system without Θ, and
    within two standard errors of the configured Θ."""
    groups: tuple[Group, ...]
    """Predictions and scores of these rounds' players, by the size of their squad, the rounds that they had been rated
    for before, and their last outcome. A division of which all are in one group is left out."""
    balance: BalanceQuality | None
    """Of what was said of these rounds, where that is not what the shown system predicted: by another system that makes
    the teams, or calibrated. Null: there was none."""
    team_sizes: TeamSizes | None
    """Null before the first rated round."""
    scores: tuple[ScoreMap, ...]
    """By mode, what players' own scores say of their skill; empty without counts, and for systems that read none."""
    spread: SpreadFound | None
    """What the nightly fit says of the spread of skill. Null before it, for pools that `joint` neither rates nor makes
    the teams of, with too few rounds, and where no spread fits."""
    learnt_spread: LearntSpread | None
    """The spread that the pool's rounds have taught it: the last fit that was adopted. Null while the configuration's
    is in use."""
    calibration: Calibrated | None
    """What is said of its predictions. Null: they are said as they are."""


class Calibrated(msgspec.Struct, frozen=True):
    """What is said of the predictions of the system that makes the teams: log-odds' = temperature · log-odds + what
    side and map are worth."""

    at: float
    """When it was adopted, in seconds since the epoch."""
    temperature: float
    """The factor of log-odds."""
    sides: Mapping[str, float]
    """What a side is worth, in log-odds, by its name."""
    maps: Mapping[str, float]
    """What a map is worth to the side whose name comes first in the alphabet, in log-odds."""
    rounds: int
    """That it was fitted to."""
    gain: float
    """How much less the log loss of rounds was that it had not seen, in nats."""
    error: float
    """Its standard error."""


class CalibrateAsked(Ask, frozen=True):
    """Options of a calibration."""

    dry_run: bool = False
    """Only say what would change."""


class CalibrateFound(Ok, frozen=True):
    """What a pool's results say of its predictions."""

    pool: str
    present: Calibrated | None
    """Before; null: what is predicted is said."""
    found: CalibrationFound | None
    """Null with less than 300 rounds, and where predictions are the wrong way round."""
    adopted: bool
    """From now on this is said."""


class ThetaFit(msgspec.Struct, frozen=True):
    """The Θ that stored rounds fit best."""

    theta: float
    error: float
    """Its standard error."""
    log_loss_before: float
    """With the configured Θ."""
    log_loss: float
    """With this Θ."""


class ThetaFound(Ok, frozen=True):
    """Over a pool's last 20,000 rounds."""

    pool: str
    rounds: int
    """Rated rounds of the pool."""
    missing: int
    """Rounds, about, until a Θ can be proposed: first until there are enough to fit one, then until its standard error
    is half of its difference from the configured Θ."""
    theta: float
    """The configured Θ."""
    fit: ThetaFit | None
    """Null with too few rounds, or where no Θ fits: favourites won no more often than others, or always."""


class RefitAsked(Ask, frozen=True):
    """Options of a refit."""

    dry_run: bool = False
    """Only say what would change."""


class RefitSeen(Ok, frozen=True):
    """How a pool's refit goes, or went."""

    refit: RefitStatus
