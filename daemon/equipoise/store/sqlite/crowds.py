"""The sums over all players of a pool, kept in the transaction that changes a player, in SQLite.

Reading all players for their mean would hold the store's thread for a second in a pool of 100,000.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping

import msgspec

from equipoise.core.model import PlayerId
from equipoise.store.upkeep import Crowd

_OLD = """
SELECT visible, rating FROM json_each(:players) AS changed CROSS JOIN players
WHERE pool = :pool AND players.id = changed.value
"""
_ADD = """
INSERT INTO crowds (pool, visible, players, ratings, squares) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (pool, visible) DO UPDATE SET
    players = players + excluded.players, ratings = ratings + excluded.ratings, squares = squares + excluded.squares
"""
# One range of the index for the visible players and one for the others.
_ACTIVE = "SELECT count(*) FROM players WHERE pool = :pool AND visible IN (0, 1) AND last_played >= :since"
_NEVER_PLAYED = "SELECT count(*) FROM players WHERE pool = :pool AND visible IN (0, 1) AND last_played IS NULL"


def count(db: sqlite3.Connection, pool: str, players: Mapping[PlayerId, tuple[bool, float]]) -> None:
    """Take players into the sums, with whether they are visible and their rating; called before they are written."""
    sums = {visible: [0, 0.0, 0.0] for visible in (False, True)}
    found = db.execute(_OLD, {"pool": pool, "players": msgspec.json.encode(list(players)).decode()})
    for sign, rows in ((-1, found), (1, players.values())):
        for visible, rating in rows:
            row = sums[bool(visible)]
            row[0] += sign
            row[1] += sign * rating
            row[2] += sign * rating * rating
    db.executemany(_ADD, [(pool, visible, *row) for visible, row in sums.items() if any(row)])


def count_again(db: sqlite3.Connection, pool: str) -> None:
    """Replace the sums by those over the rows that are there."""
    db.execute("DELETE FROM crowds WHERE pool = ?", (pool,))
    db.execute(
        "INSERT INTO crowds SELECT pool, visible, count(*), sum(rating), sum(rating * rating) "
        "FROM players WHERE pool = ? GROUP BY visible",
        (pool,),
    )


def crowd(db: sqlite3.Connection, pool: str, since: float | None) -> Crowd:
    """The sums as a mean and a standard deviation, and who is stale: the players without a round since `since`."""
    rows = db.execute("SELECT visible, players, ratings, squares FROM crowds WHERE pool = ?", (pool,)).fetchall()
    players, ratings, squares = (sum(row[column] for row in rows) for column in (1, 2, 3))
    stale = 0
    if since is not None:  # counted by what it is not: most players of an old pool are stale
        here = {"pool": pool, "since": since}
        stale = players - sum(db.execute(query, here).fetchone()[0] for query in (_ACTIVE, _NEVER_PLAYED))
    mean = ratings / players if players else None
    return Crowd(
        count=players,
        visible=sum(row[1] for row in rows if row[0]),
        stale=stale,
        mean=mean,
        # The difference of two large numbers: rounding may leave it below 0 when all ratings are equal.
        spread=None if mean is None else math.sqrt(max(0.0, squares / players - mean * mean)),
    )
