"""Leaderboards of some time ago, by what the first round or edit since then found; seasons: those that are kept.

Where old rounds were deleted, a time before the oldest that is left counts as that one's. Players whom an admin made
newcomers since then are on no earlier leaderboard.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from equipoise.core.model import PlayerId
from equipoise.store.connection import reading, store_errors
from equipoise.store.notes import Audit, audit
from equipoise.store.player_rows import encoded, on_board
from equipoise.store.pool_file import Standing


@dataclass(frozen=True, slots=True)
class Rule:
    """Who is on a leaderboard."""

    shadow_rounds: int
    """Rated rounds from which on a rating is shown."""
    stale_after: float | None
    """Seconds without a rated round after which a player is not on it; None: never."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A player at an earlier moment."""

    rating: float | None
    """None: they had none."""
    listed: bool
    """They were on the leaderboard."""


# The last round before the moment; numbers grow with time. Pruned rounds are in no index by time.
_LAST_BEFORE = """
SELECT coalesce(
    (SELECT number FROM rounds WHERE pool = :pool AND NOT pruned AND recorded_at < :at
        ORDER BY recorded_at DESC LIMIT 1),
    (SELECT number - 1 FROM rounds WHERE pool = :pool AND NOT pruned AND recorded_at >= :at
        ORDER BY recorded_at LIMIT 1),
    0)
"""
# One look into each player's own range of an index; CROSS JOIN keeps the order.
_THEN = """
SELECT players.id AS id,
    CASE
        WHEN edited.edit < coalesce(next.round, edited.edit + 1) THEN edited.before_rating
        WHEN next.round IS NOT NULL THEN iif(next.rounds = 1, NULL, next.before)
        ELSE players.rating
    END AS rating,
    CASE
        WHEN edited.edit < coalesce(next.round, edited.edit + 1) THEN edited.before_visible
        WHEN next.round IS NOT NULL THEN next.rounds > :shadow
        ELSE players.visible
    END AS visible,
    CASE WHEN :stale IS NULL THEN 0 WHEN next.round IS NULL THEN players.last_played ELSE (
        SELECT started_at FROM participants JOIN rounds ON number = round
        WHERE participants.pool = :pool AND player = players.id AND round <= :number ORDER BY round DESC LIMIT 1
    ) END AS played
FROM {players}
LEFT JOIN participants AS next ON next.pool = :pool AND next.player = players.id AND next.round = (
    SELECT min(round) FROM participants WHERE pool = :pool AND player = players.id AND round > :number
)
LEFT JOIN edited ON edited.pool = :pool AND edited.player = players.id AND edited.edit = (
    SELECT min(edit) FROM edited JOIN edits ON edits.number = edit
    WHERE edited.pool = :pool AND player = players.id AND edit > :number AND NOT struck AND at >= :at
)
"""
_LISTED = "(visible AND rating IS NOT NULL AND played >= coalesce(:at - :stale, 0))"
_SOME = "json_each(:players) AS wanted CROSS JOIN players ON players.pool = :pool AND players.id = wanted.value"
# Who was active then played later than that since, if they are shown now.
_ALL = (
    "(SELECT * FROM players WHERE pool = :pool AND visible = 1 AND last_played >= coalesce(:at - :stale, 0) "
    "AND id NOT IN (SELECT player FROM hidden)) AS players"
)


def players_at(
    db: sqlite3.Connection, pool: str, players: Sequence[PlayerId], at: float, rule: Rule
) -> dict[PlayerId, Earlier]:
    """Return these players as they were at a moment; those without a row are missing."""
    query = f"SELECT id, rating, {_LISTED} FROM ({_THEN.format(players=_SOME)})"
    rows = db.execute(query, {**_values(db, pool, at, rule), "players": encoded(players)})
    return {PlayerId(player): Earlier(rating, bool(on_list)) for player, rating, on_list in rows}


def board_at(path: Path, pool: str, at: float, rule: Rule) -> array[float]:
    """Return the ratings of a leaderboard at a moment, lowest first.

    It reads beside the store's connection, in whatever thread calls it: for 100,000 players it takes a second.
    """
    with store_errors(), closing(reading(path)) as db:
        query = f"SELECT rating FROM ({_THEN.format(players=_ALL)}) WHERE {_LISTED} ORDER BY rating"
        return array("d", (rating for (rating,) in db.execute(query, _values(db, pool, at, rule))))


def _values(db: sqlite3.Connection, pool: str, at: float, rule: Rule) -> dict[str, object]:
    (number,) = db.execute(_LAST_BEFORE, {"pool": pool, "at": at}).fetchone()
    return {"pool": pool, "at": at, "number": number, "shadow": rule.shadow_rounds, "stale": rule.stale_after}


# Seasons of a pool: the leaderboard as it stood when each began. Ratings go on.


@dataclass(frozen=True, slots=True)
class Season:
    """A season, by its name and the moment when it began."""

    name: str
    """As an admin called it."""
    at: float
    """When it began, and its leaderboard was kept; seconds since the epoch."""
    players: int
    """How many were on the leaderboard."""


STANDING = ", ".join(Standing.__struct_fields__)
_KEEP = f"""
INSERT INTO seasons (pool, season, at, {STANDING})
SELECT :pool, :season, :at, wins, draws, losses, leaves, row_number() OVER (ORDER BY rating DESC, id) AS place,
    id, name, rating, rounds
FROM players
LEFT JOIN names ON names.pool = players.pool AND names.player = id
WHERE players.pool = :pool AND id IN (SELECT id {{board}})
"""
# From one season to the next through the index: between two are all their players.
_SEASONS = """
WITH RECURSIVE begun (season) AS (
    SELECT min(season) FROM seasons WHERE pool = :pool
    UNION ALL
    SELECT (SELECT min(season) FROM seasons WHERE pool = :pool AND season > begun.season) FROM begun
    WHERE begun.season IS NOT NULL
)
SELECT season, at, (SELECT max(place) FROM seasons AS its WHERE its.pool = :pool AND its.season = begun.season)
FROM begun JOIN seasons USING (season) WHERE pool = :pool AND place = 1 ORDER BY at DESC
"""


def begin(db: sqlite3.Connection, pool: str, season: str, since: float | None, entry: Audit) -> bool:
    """Keep the leaderboard, as in `top`, under a name, with the line of the audit; False: the name is taken."""
    values = {"pool": pool, "season": season, "at": entry.at, "since": since}
    if db.execute("SELECT 1 FROM seasons WHERE pool = :pool AND season = :season", values).fetchone():
        return False
    db.execute(_KEEP.format(board=on_board(since)), values)
    audit(db, entry)
    return True


def listed(db: sqlite3.Connection, pool: str) -> list[Season]:
    """Return a pool's seasons, the newest first."""
    return [Season(*row) for row in db.execute(_SEASONS, {"pool": pool})]


def board(db: sqlite3.Connection, pool: str, season: str, after: int, limit: int) -> list[Standing]:
    """Return so many places of a season's leaderboard behind one, without those of players who are hidden now."""
    rows = db.execute(
        f"SELECT {STANDING} FROM seasons WHERE pool = ? AND season = ? AND place > ? AND place <= ? "
        "AND player NOT IN (SELECT player FROM hidden) ORDER BY place",
        (pool, season, after, after + limit),
    )
    return [Standing(*row) for row in rows]
