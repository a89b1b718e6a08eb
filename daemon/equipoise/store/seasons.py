"""Seasons of a pool: the leaderboard as it stood when each began. Ratings go on."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from equipoise.core.model import PlayerId
from equipoise.store.players import on_board


@dataclass(frozen=True, slots=True)
class Season:
    """A season, by its name and the moment when it began."""

    name: str
    """As an admin called it."""
    at: float
    """When it began, and its leaderboard was kept; seconds since the epoch."""
    players: int
    """How many were on the leaderboard."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A player on the leaderboard of a season."""

    place: int
    """1 for the best. Places of players who are hidden now are left out."""
    player: PlayerId
    """Their id."""
    name: str | None
    """The name that they had then."""
    rating: float
    """The rating, in points."""
    rounds: int
    """Rated rounds until then."""
    wins: int
    """Rounds among these that they won."""
    draws: int
    """Rounds that no side won."""
    losses: int
    """Rounds that they lost."""
    leaves: int
    """Rounds that they left before the end."""


STANDING = "place, player, name, rating, rounds, wins, draws, losses, leaves"
_KEEP = f"""
INSERT INTO seasons (pool, season, at, {STANDING})
SELECT :pool, :season, :at, row_number() OVER (ORDER BY rating DESC, id), id, name, rating, rounds,
    coalesce(wins, 0), coalesce(draws, 0), coalesce(losses, 0), coalesce(leaves, 0)
FROM players
LEFT JOIN names ON names.pool = players.pool AND names.player = id
LEFT JOIN records ON records.pool = players.pool AND records.player = id
WHERE players.pool = :pool AND id IN (SELECT id {{board}})
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
    rows = db.execute(
        "SELECT season, at, count(*) FROM seasons WHERE pool = ? GROUP BY season, at ORDER BY at DESC", (pool,)
    )
    return [Season(*row) for row in rows]


def board(db: sqlite3.Connection, pool: str, season: str, limit: int) -> list[Standing]:
    """Return the first places of a season's leaderboard, without players who are hidden now."""
    rows = db.execute(
        f"SELECT {STANDING} FROM seasons WHERE pool = ? AND season = ? "
        "AND player NOT IN (SELECT player FROM hidden) ORDER BY place LIMIT ?",
        (pool, season, limit),
    )
    return [Standing(*row) for row in rows]
