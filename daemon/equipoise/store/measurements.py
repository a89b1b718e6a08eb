"""Rounds as quality measures them: what was predicted, for whom, and what happened.

Many rounds are read, so each piece of them is chosen by its numbers, and each statement says by which index: left to
itself, SQLite goes through all rows of a pool.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from equipoise.core.model import LineupPlayer, PlayerId, ServerId, Side
from equipoise.store.connection import reading
from equipoise.store.player_rows import encoded
from equipoise.store.round_rows import SCORES


@dataclass(frozen=True, slots=True)
class QualityPoint:
    """The quality of a pool's predictions of its last rounds, at one moment."""

    at: float
    """Seconds since the epoch."""
    rounds: int
    """The number of rounds."""
    brier: float
    log_loss: float
    """Nats a round."""
    calibration_error: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """One stored, rated round: what was predicted for side A and what happened."""

    at: float
    predicted: float
    score: float
    unevenness: float | None = None
    """Expected by the system that made the teams; None where that knows no deviations."""


@dataclass(frozen=True, slots=True)
class MeasuredSeat:
    """A participant of a stored, rated round."""

    predicted: float
    """Win probability of their side."""
    score: float
    squad: int
    """Players of their squad on their side; 1: they came alone."""
    rounds: int
    """Rounds that they had been rated for before."""
    last: float | None
    """Their score in the round before; None: there is none, or it was deleted."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A stored, rated round: what was predicted for side A, what happened, and for whom."""

    predicted: float
    said: float | None
    """The chance by the system that makes the teams, calibrated; None where that is the same or has none."""
    unevenness: float | None
    """Expected by that system; None where it knows no deviations."""
    score: float
    seats: tuple[MeasuredSeat, ...]


@dataclass(frozen=True, slots=True)
class Gained:
    """Gains of the players at the top of a pool in their last thousand rounds, all together."""

    players: int
    points: float
    by_few: float
    """The part of that from rounds of few participants."""


@dataclass(frozen=True, slots=True)
class TeamSize:
    """The larger side of a round as it went live, bots counted."""

    server: ServerId
    size: int


def predictions(db: sqlite3.Connection, pool: str, limit: int | None) -> list[Prediction]:
    """The last rated rounds, without a limit all, oldest first."""
    rows = db.execute(
        "SELECT started_at, prediction, winner, unevenness FROM rounds "
        "WHERE pool = ? AND prediction IS NOT NULL ORDER BY number DESC LIMIT coalesce(?, -1)",
        (pool, limit),
    ).fetchall()
    # Read newest first, by the index, and turned round here.
    return [Prediction(at, chance, SCORES[winner], unevenness) for at, chance, winner, unevenness in reversed(rows)]


LATELY = 20
"""Rounds by which a pool is known to have a balance system or none: it may have failed at some of them."""


def plays_alone(db: sqlite3.Connection, pool: str) -> bool:
    """Return whether a pool has rated rounds, and no balance system predicted any of the last."""
    rows = db.execute(
        "SELECT balance_prediction IS NULL FROM rounds "
        "WHERE pool = ? AND prediction IS NOT NULL ORDER BY number DESC LIMIT ?",
        (pool, LATELY),
    ).fetchall()
    return bool(rows) and all(alone for (alone,) in rows)


def plays_alone_in(file: Path, pool: str) -> bool:
    """Return the same for a store's file, which a daemon may have open; False where it cannot be told."""
    try:
        with closing(reading(file)) as db:
            return plays_alone(db, pool)
    except sqlite3.Error:  # no store yet, or one that the daemon has to bring up to date or to complain of
        return False


# Rounds as `pool quality` measures them: what was predicted, for whom, and what happened.

PAGE = 100
"""Rounds read at once: others wait for the store's thread meanwhile."""

GAINED_ROUNDS = 1000
"""A player's last rounds that count."""

_NUMBERS = """
SELECT number FROM rounds WHERE pool = ? AND prediction IS NOT NULL ORDER BY number DESC LIMIT ?
"""
# Round by round: in a range of numbers lie all rounds of the other pools.
_ROUNDS = """
SELECT number, prediction, coalesce(said, balance_prediction), unevenness, winner, squads
FROM json_each(?) AS wanted CROSS JOIN rounds ON number = wanted.value
WHERE prediction IS NOT NULL AND NOT pruned ORDER BY wanted.key
"""
# By the index of rounds, and the round before by that of players.
_SEATS = """
SELECT round, player, side, prediction, score, rounds, (
    SELECT score FROM participants AS earlier
    WHERE earlier.pool = participants.pool AND earlier.player = participants.player
    AND earlier.round < participants.round ORDER BY earlier.round DESC LIMIT 1
)
FROM json_each(?) AS wanted CROSS JOIN participants INDEXED BY participants_by_round ON round = wanted.value
ORDER BY wanted.key, place
"""
_LINEUPS = """
SELECT server, lineup FROM json_each(?) AS wanted CROSS JOIN rounds ON number = wanted.value
WHERE NOT pruned ORDER BY wanted.key
"""
# By the index of players the rounds of one, by that of rounds whether there are so many places in each of them.
_BEST = "SELECT id FROM players WHERE pool = ? AND visible ORDER BY rating DESC, id LIMIT ?"
_GAINED = """
SELECT total(after - before), total((after - before) * few) FROM (
    SELECT before, after, NOT EXISTS (
        SELECT 1 FROM participants AS others INDEXED BY participants_by_round
        WHERE others.round = own.round AND others.place >= :few - 1
    ) AS few
    FROM participants AS own WHERE pool = :pool AND player = :player ORDER BY round DESC LIMIT :rounds
)
"""

_squads = msgspec.json.Decoder(tuple[tuple[PlayerId, ...], ...])
_lineup = msgspec.json.Decoder(tuple[LineupPlayer, ...])

_Seat = tuple[int, PlayerId, str, float, float, int, float | None]


def numbers(db: sqlite3.Connection, pool: str, limit: int) -> list[int]:
    """The last rated rounds, oldest first."""
    return [number for (number,) in reversed(db.execute(_NUMBERS, (pool, limit)).fetchall())]


def gained(db: sqlite3.Connection, pool: str, most: int, few: int) -> Gained:
    """Return the part of the highest ratings that comes from rounds of less than `few` participants."""
    best = [player for (player,) in db.execute(_BEST, (pool, most))]
    values = [{"pool": pool, "player": player, "few": few, "rounds": GAINED_ROUNDS} for player in best]
    sums = [db.execute(_GAINED, value).fetchone() for value in values]
    return Gained(len(best), sum(whole for whole, _ in sums), sum(by_few for _, by_few in sums))


def measured(db: sqlite3.Connection, page: Sequence[int]) -> list[Measurement]:
    """Return these rounds, without those that have lost participants or are not rated any more."""
    numbers_json = (encoded(page),)
    seats = {
        number: list(participants)
        for number, participants in groupby(db.execute(_SEATS, numbers_json), key=lambda row: row[0])
    }
    return [
        Measurement(chance, spoken, unevenness, SCORES[winner], _seats(seats.get(number, []), squads))
        for number, chance, spoken, unevenness, winner, squads in db.execute(_ROUNDS, numbers_json)
    ]


def team_sizes(db: sqlite3.Connection, pool: str, limit: int) -> list[TeamSize]:
    """The size of the larger side in each of the last rated rounds, bots counted, oldest first."""
    rows = db.execute(_LINEUPS, (encoded(numbers(db, pool, limit)),))
    return [
        TeamSize(ServerId(server), max(sum(player.side is side for player in _lineup.decode(text)) for side in Side))
        for server, text in rows
    ]


def _seats(rows: Sequence[_Seat], text: str | None) -> tuple[MeasuredSeat, ...]:
    sides: dict[PlayerId, Any] = {player: side for _, player, side, *_ in rows}
    sizes: dict[PlayerId, int] = {}
    for squad in () if text is None else _squads.decode(text):
        for player in squad:
            sizes[player] = sum(sides.get(mate) == sides.get(player) for mate in squad)
    return tuple(
        MeasuredSeat(chance, score, sizes.get(player, 1), rounds - 1, last)
        for _, player, _, chance, score, rounds, last in rows
    )


def keep_quality(db: sqlite3.Connection, pool: str, point: QualityPoint) -> None:
    """Add a point to the time series of a pool's quality; one of the same moment is replaced."""
    # Not by sqlite-utils, whose upsert would make a table that is missing, and so hide that the store has lost it.
    db.execute(
        "INSERT OR REPLACE INTO qualities (pool, at, rounds, brier, log_loss, calibration_error) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (pool, *astuple(point)),
    )


def qualities(db: sqlite3.Connection, pool: str, since: float) -> Sequence[QualityPoint]:
    """The time series of a pool's quality, oldest first."""
    columns = "SELECT at, rounds, brier, log_loss, calibration_error FROM qualities"
    rows = db.execute(f"{columns} WHERE pool = ? AND at >= ? ORDER BY at", (pool, since))
    return [QualityPoint(*row) for row in rows]
