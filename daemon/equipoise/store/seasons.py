"""Seasons of a pool: the leaderboard as it stood when each began. Ratings go on."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from equipoise.store.players import on_board
from equipoise.store.pool_file import Standing


@dataclass(frozen=True, slots=True)
class Season:
    """A season, by its name and the moment when it began."""

    name: str
    """As an admin called it."""
    at: float
    """When it began, and its leaderboard was kept; seconds since the epoch."""
    players: int
    """How many were on the leaderboard."""


STANDING = "place, player, name, rating, rounds, wins, draws, losses, leaves"
_KEEP = f"""
INSERT INTO seasons (pool, season, at, {STANDING})
SELECT :pool, :season, :at, row_number() OVER (ORDER BY rating DESC, id), id, name, rating, rounds,
    wins, draws, losses, leaves
FROM players
LEFT JOIN names ON names.pool = players.pool AND names.player = id
WHERE players.pool = :pool AND id IN (SELECT id {{board}})
"""
# From one season to the next through the index: between two are all their players.
_LISTED = """
WITH RECURSIVE begun (season) AS (
    SELECT min(season) FROM seasons WHERE pool = :pool
    UNION ALL
    SELECT (SELECT min(season) FROM seasons WHERE pool = :pool AND season > begun.season) FROM begun
    WHERE begun.season IS NOT NULL
)
SELECT season, at, (SELECT max(place) FROM seasons AS its WHERE its.pool = :pool AND its.season = begun.season)
FROM begun JOIN seasons USING (season) WHERE pool = :pool AND place = 1 ORDER BY at DESC
"""


def begin(db: sqlite3.Connection, pool: str, season: str, at: float, since: float | None) -> bool:
    """Keep the leaderboard under a name; False: the name is taken. `since`: as in `players.top`."""
    values = {"pool": pool, "season": season, "at": at, "since": since}
    if db.execute("SELECT 1 FROM seasons WHERE pool = :pool AND season = :season", values).fetchone():
        return False
    db.execute(_KEEP.format(board=on_board(since)), values)
    return True


def listed(db: sqlite3.Connection, pool: str) -> list[Season]:
    """Return a pool's seasons, the newest first."""
    return [Season(*row) for row in db.execute(_LISTED, {"pool": pool})]


def board(db: sqlite3.Connection, pool: str, season: str, after: int, limit: int) -> list[Standing]:
    """Return so many places of a season's leaderboard behind one, without those of players who are hidden now."""
    rows = db.execute(
        f"SELECT {STANDING} FROM seasons WHERE pool = ? AND season = ? AND place > ? AND place <= ? "
        "AND player NOT IN (SELECT player FROM hidden) ORDER BY place",
        (pool, season, after, after + limit),
    )
    return [Standing(*row) for row in rows]
