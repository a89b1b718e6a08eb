"""Predictions: how well a pool predicts its rounds, the Θ that fits them best, and how its chances are calibrated.

GET /v1/admin/pools/{pool}/quality, GET …/theta, POST …/calibrate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from random import Random
from statistics import fmean
from typing import Any

import msgspec

from equipoise.balancing import chance
from equipoise.core.model import Context, is_even
from equipoise.ratings.quality import (
    Difference,
    Group,
    Pair,
    Quality,
    Seats,
    assess,
    difference,
    fit_scale,
    groups,
    rounds_missing,
)
from equipoise.service.diagnosis import TeamSizes, team_sizes
from equipoise.service.pool import Pool
from equipoise.store.measurements import Measurement
from equipoise.store.recalculation import CalibrationFound, SpreadFound
from equipoise.store.sequence import Edit, LearntSpread
from equipoise.web.routes import ADMINS, READERS, Ask, Ok, Request, Routes, Services, refused

LEAST = 500
"""Rounds, the last ones, whose predictions are measured, and that are needed before a scale is proposed."""
MOST = 20_000
"""Rounds, the last ones, that a scale is fitted to."""
RANDOM = 100
"""Rounds whose players are put on random sides."""

routes = Routes()


class TypicalEvenness(msgspec.Struct, frozen=True):
    """How even the last rounds were, by the system that makes the teams."""

    favourite: float
    """Mean win probability of the side that was likely to win."""
    even: float
    """Fraction of the rounds in which that was at most 55 %."""
    random: float | None
    """The favourite's with the players of the last 100 of these rounds on random sides, by what is known of them now;
    null where none of those is known any more."""


class Crowd(msgspec.Struct, frozen=True):
    """The players of a pool."""

    count: int
    """How many players there are."""
    visible: int
    """Players whose rating may be shown."""
    shadow: int
    """In their shadow period: ratings that are not shown."""
    stale: int
    """Players without a rated round for too long."""
    mean: float | None
    """Mean of the ratings; null without players."""
    spread: float | None
    """Standard deviation of the ratings."""


class BalanceQuality(msgspec.Struct, frozen=True):
    """How well the system predicts that makes the teams, over those of these rounds that it predicted."""

    quality: Quality
    """Its measures."""
    difference: Difference
    """Its measures minus those of the system that is shown, on the same rounds; below 0 it predicts better."""


class ScoreWeight(msgspec.Struct, frozen=True):
    """The weight of one rate of a player's own score."""

    feature: str
    """The rate: `kills`, `deaths`, `assists` or `points`, per minute and beside others of the same class."""
    weight: float
    """Log-odds of skill per standard deviation of the rate, of a player who is known for long."""
    deviation: float
    """Standard deviation of the weight: how far it is expected to be from the truth."""


class ScoreMap(msgspec.Struct, frozen=True):
    """The evidence of own scores on skill, in one mode."""

    mode: str
    """The kind of map: what decides when a scramble is due."""
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
    """Correlation of the own score in one full round with skill."""


class Calibrated(msgspec.Struct, frozen=True):
    """The calibration of the system that makes the teams: log-odds' = temperature · log-odds + what side and map are
    worth."""

    at: float
    """When it was adopted, in seconds since the epoch."""
    temperature: float
    """The factor of log-odds."""
    sides: Mapping[str, float]
    """The worth of a side, in log-odds, by its name."""
    maps: Mapping[str, float]
    """The worth of a map to the side whose name comes first in the alphabet, in log-odds."""
    rounds: int
    """That it was fitted to."""
    gain: float
    """How much less the log loss of rounds was that it had not seen, in nats."""
    error: float
    """Its standard error."""


class QualityFound(Ok, frozen=True):
    """How well a pool predicts, over its last 500 rounds."""

    pool: str
    typical: TypicalEvenness | None
    """Null before the first rated round."""
    quality: Quality | None
    """Measures of the system that is shown; `balance` has those of the one that makes the teams. Null before the first
    rated round."""
    players: Crowd
    """The players of the pool, in numbers."""
    suggested_theta: float | None
    """The Θ with which these rounds would have been predicted best. Null below 500 rounds, for a system without Θ, and
    within two standard errors of the configured Θ."""
    groups: tuple[Group, ...]
    """Predictions and scores of these rounds' players, by the size of their squad, the rounds that they had been rated
    for before, and their last outcome. A division of which all are in one group is left out."""
    balance: BalanceQuality | None
    """Measures of what was said of these rounds, where that is not what the shown system predicted: by another system
    that makes the teams, or calibrated. Null: there was none."""
    team_sizes: TeamSizes | None
    """Null before the first rated round."""
    scores: tuple[ScoreMap, ...]
    """The evidence of players' own scores on their skill, by mode; empty without counts, and for systems that read
    none."""
    spread: SpreadFound | None
    """The spread of skill by the nightly fit. Null before it, for pools that `joint` neither rates nor makes
    the teams of, with too few rounds, and where no spread fits."""
    learnt_spread: LearntSpread | None
    """The spread that the pool's rounds have taught it: the last fit that was adopted. Null while the configuration's
    is in use."""
    calibration: Calibrated | None
    """The calibration of its predictions. Null: there is none."""


@routes.add(
    "GET",
    "/v1/admin/pools/{pool}/quality",
    "How well a pool predicts",
    READERS,
    reply_example={
        "ok": True,
        "pool": "main",
        "typical": {"favourite": 0.55, "even": 0.71, "random": 0.67},
        "quality": {
            "rounds": 500,
            "brier": {"value": 0.243, "error": 0.004},
            "log_loss": {"value": 0.679, "error": 0.008},
            "even": {"value": 0.44, "error": 0.022},
            "calibration": [
                {"low": 0.5, "high": 0.6, "rounds": 500, "predicted": 0.53, "scored": {"value": 0.52, "error": 0.022}}
            ],
            "calibration_error": 0.01,
        },
        "players": {"count": 212, "visible": 150, "shadow": 62, "stale": 40, "mean": 1004.0, "spread": 130.0},
        "suggested_theta": None,
        "groups": [
            {
                "by": "squad",
                "name": "2",
                "rounds": 310,
                "players": 840,
                "predicted": 0.5,
                "scored": 0.53,
                "difference": {"value": 0.03, "error": 0.012},
            }
        ],
        "balance": None,
        "team_sizes": {"rounds": 500, "usual": 12, "k_max": 12, "suggested_k_max": None},
        "scores": [
            {
                "mode": "arena",
                "rounds": 640,
                "used": True,
                "gain": 21.3,
                "weights": [{"feature": "kills", "weight": 0.1, "deviation": 0.02}],
                "noise": 0.7,
                "offset": 0.11,
                "correlation": 0.33,
            }
        ],
        "spread": {"rounds": 1240, "present": 0.31, "spread": 0.33, "error": 0.03, "missing": 2100},
        "learnt_spread": {
            "number": 913,
            "at": 1763355000.0,
            "spread": 0.31,
            "error": 0.04,
            "rounds": 880,
            "before": 0.25,
            "configured": 0.25,
        },
        "calibration": None,
    },
)
async def show_quality(request: Request) -> QualityFound:
    """How well the pool predicted its last `LEAST` rounds, and the numbers of its players."""
    services, store = request.services, request.services.store
    pool = request.pool
    predictions = await store.predictions(pool.name, LEAST)
    rounds, sizes = await store.measured(pool.name, LEAST), await store.team_sizes(pool.name, LEAST)
    crowd = await store.crowd(pool.name, since=pool.active_since())
    typical, spread = await _typical(services, pool, rounds), await services.spreads.status(pool)
    edit = (await services.calibrations.status(pool)).adopted

    def measured() -> QualityFound:
        pairs = [(prediction.predicted, prediction.score) for prediction in predictions]
        return QualityFound(
            pool=pool.name,
            typical=typical,
            quality=assess(pairs, [prediction.unevenness for prediction in predictions]),
            players=Crowd(shadow=crowd.count - crowd.visible, **asdict(crowd)),
            suggested_theta=_suggested_theta(pool, pairs),
            groups=groups(_seats(rounds)),
            balance=_balance(rounds),
            team_sizes=team_sizes(pool, sizes),
            scores=_scores(pool),
            spread=spread.found if spread else None,
            learnt_spread=spread.learnt if spread else None,
            calibration=_calibrated(edit),
        )

    return await asyncio.to_thread(measured)


async def _typical(services: Services, pool: Pool, rounds: Sequence[Measurement]) -> TypicalEvenness | None:
    chances = [row.predicted if row.said is None else row.said for row in rounds]
    if not chances:
        return None
    even = fmean(is_even(value) for value in chances)
    rows = [row for row in await services.store.rounds(None, None, RANDOM, pool.name) if row.lineup_a]
    # Loads them: `chance` below reads memory alone.
    await pool.summaries(list({player for row in rows for player in (*row.lineup_a, *row.lineup_b)}))
    random_chances = []
    for row in rows:
        players = sorted((*row.lineup_a, *row.lineup_b))
        # Seeded by the round, so that the number does not change with every request.
        Random(row.number).shuffle(players)
        cut = len(row.lineup_a)
        random_chances.append(chance(pool.balancing, Context(row.mode, row.map), players[:cut], players[cut:]))
        await asyncio.sleep(0)  # others are let in
    return TypicalEvenness(_favourite(chances), even, _favourite(random_chances) if random_chances else None)


def _favourite(chances: Sequence[float]) -> float:
    return fmean(max(value, 1.0 - value) for value in chances)


def _suggested_theta(pool: Pool, pairs: Sequence[Pair]) -> float | None:
    theta = _theta(pool)
    if theta is None or len(pairs) < LEAST:
        return None
    fit = fit_scale(pairs, theta)
    return fit.scale if fit and not rounds_missing(fit, theta, len(pairs)) else None


def _seats(rounds: Sequence[Measurement]) -> Seats:
    return Seats.of(
        (number, seat.predicted, seat.score, seat.squad, seat.rounds, seat.last)
        for number, row in enumerate(rounds)
        for seat in row.seats
    )


def _balance(rounds: Sequence[Measurement]) -> BalanceQuality | None:
    rows = [row for row in rounds if row.said is not None]
    pairs = [(row.said, row.score) for row in rows if row.said is not None]
    quality = assess(pairs, [row.unevenness for row in rows])
    rating_pairs = [(row.predicted, row.score) for row in rows]
    return None if quality is None else BalanceQuality(quality, difference(pairs, rating_pairs))


def _scores(pool: Pool) -> tuple[ScoreMap, ...]:
    maps: Sequence[Any] = getattr(pool.balancing, "score_map", tuple)()  # `joint` alone has one
    return tuple(msgspec.convert(scores, ScoreMap, from_attributes=True) for scores in maps)


class CalibrateAsked(Ask, frozen=True):
    """Options of a calibration."""

    dry_run: bool = False
    """Only say what would change."""


class CalibrateFound(Ok, frozen=True):
    """The calibration that a pool's results give its predictions."""

    pool: str
    present: Calibrated | None
    """Before; null: what is predicted is said."""
    found: CalibrationFound | None
    """Null with less than 300 rounds, and where predictions are the wrong way round."""
    adopted: bool
    """From now on this is said."""


@routes.add(
    "POST",
    "/v1/admin/pools/{pool}/calibrate",
    "Calibrate what is said of chances by a pool's results",
    ADMINS,
    body=CalibrateAsked,
    body_example={"dry_run": True},
)
async def calibrate(request: Request) -> CalibrateFound:
    """Fit a calibration to the pool's results; from now on it is in force, if it is better."""
    services, dry_run = request.services, request.body.dry_run
    pool = request.pool
    before = (await services.calibrations.status(pool)).adopted
    fit = await services.calibrations.calibrate(pool, request.caller.who, dry_run=dry_run)
    return CalibrateFound(
        pool=pool.name,
        present=_calibrated(before),
        found=fit,
        adopted=fit is not None and fit.better and not dry_run,
    )


def _calibrated(edit: Edit | None) -> Calibrated | None:
    return None if edit is None else msgspec.convert({**edit.detail, "at": edit.at}, Calibrated)


class ThetaFit(msgspec.Struct, frozen=True):
    """The Θ that stored rounds fit best."""

    theta: float
    """Scale of the logistic, in points."""
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


@routes.add("GET", "/v1/admin/pools/{pool}/theta", "The scale of the logistic that a pool's rounds fit best", READERS)
async def show_theta(request: Request) -> ThetaFound:
    """The Θ that fits the pool's last `MOST` rounds, for systems that have a Θ."""
    pool = request.pool
    theta = _theta(pool)
    if theta is None:
        raise refused("refused", f"{pool.system.name} has no theta to fit")
    predictions = await request.services.store.predictions(pool.name, MOST)
    pairs = [(prediction.predicted, prediction.score) for prediction in predictions]
    scale = await asyncio.to_thread(fit_scale, pairs, theta) if len(pairs) >= LEAST else None
    rest = rounds_missing(scale, theta, len(pairs)) if scale else max(0, LEAST - len(pairs))
    fit = ThetaFit(scale.scale, scale.error, scale.log_loss_before, scale.log_loss) if scale else None
    return ThetaFound(pool=pool.name, rounds=len(pairs), missing=rest, theta=theta, fit=fit)


def _theta(pool: Pool) -> float | None:
    """Return the configured Θ, in points; None for systems without one.

    The slope of the logistic at an even match is 1/(4·Θ).
    """
    return pool.system.gap(0.25, 1) if hasattr(pool.system.params, "theta") else None
