"""Players of a pool in SQLite, their names, the sums over all of them, and what their ratings were made by."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from equipoise.core.model import PlayerId
from equipoise.store.rated import Change, Fingerprint, PlayerRow, SharedParts
from equipoise.store.upkeep import Crowd, QualityPoint

_SELECT = """
SELECT id, version, rating, rounds, visible, last_played, state, name
FROM players LEFT JOIN names ON names.pool = players.pool AND names.player = players.id
"""

_LOAD = """
SELECT players.id, version, rating, rounds, visible, last_played, state, NULL
FROM json_each(:held) AS held CROSS JOIN players
WHERE players.pool = :pool AND players.id = held.key AND version != held.value
"""

# The join is nested loops in this order: CROSS JOIN forbids another. Each player's rows are one range of the primary
# key (pool, player, round), so they come oldest first. ORDER BY would sort all 12,000 of a full roster once more.
_WINDOWS = """
SELECT after, prediction, score, wanted.key
FROM json_each(:players) AS wanted CROSS JOIN participants
WHERE pool = :pool AND player = wanted.value AND round >= coalesce((
    SELECT round FROM participants WHERE pool = :pool AND player = wanted.value
    ORDER BY round DESC LIMIT 1 OFFSET :window - 1
), 0)
"""

_SEARCHED_AT_ONCE = 2_000
"""Players that one call of `search` looks through: it holds the store's thread for a few milliseconds."""

History = tuple[tuple[float, float, float], ...]


def load(db: sqlite3.Connection, pool: str, held: Mapping[PlayerId, int], window: int) -> list[PlayerRow]:
    """Those of the players who are stored in another version than the one held, 0 being none.

    Each comes with their last `window` rated rounds. Two statements, however many players there are.
    """
    found = db.execute(_LOAD, {"pool": pool, "held": encoded(held)}).fetchall()
    histories = _histories(db, pool, [row[0] for row in found], window)
    return [_row(row, history) for row, history in zip(found, histories, strict=True)]


def _histories(db: sqlite3.Connection, pool: str, players: Sequence[str], window: int) -> list[History]:
    found: list[list[tuple[float, float, float]]] = [[] for _ in players]
    if players and window:
        values = {"pool": pool, "players": encoded(players), "window": window}
        for after, prediction, score, place in db.execute(_WINDOWS, values):
            found[place].append((after, prediction, score))
    return [tuple(each) for each in found]


def update(db: sqlite3.Connection, pool: str, changes: Sequence[Change], played: float) -> None:
    """What a round made of its participants."""
    count_crowd(db, pool, {each.id: (each.visible, each.after) for each in changes})
    db.executemany(
        """
        INSERT INTO players (pool, id, version, rating, rounds, visible, last_played, state)
        VALUES (?, ?, 1, ?, ?, ?, ?, ?)
        ON CONFLICT (pool, id) DO UPDATE SET
            version = version + 1, rating = excluded.rating, rounds = excluded.rounds,
            visible = excluded.visible, state = excluded.state,
            last_played = max(coalesce(last_played, excluded.last_played), excluded.last_played)
        """,
        [(pool, each.id, each.after, each.rounds, each.visible, played, encoded(each.state)) for each in changes],
    )


def write(db: sqlite3.Connection, pool: str, rows: Sequence[PlayerRow]) -> None:
    """Replace players, or add them, whole but for their version and their name."""
    db.executemany(
        """
        INSERT INTO players (pool, id, version, rating, rounds, visible, last_played, state)
        VALUES (?, ?, 1, ?, ?, ?, ?, ?)
        ON CONFLICT (pool, id) DO UPDATE SET
            version = version + 1, rating = excluded.rating, rounds = excluded.rounds,
            visible = excluded.visible, state = excluded.state, last_played = excluded.last_played
        """,
        [(pool, row.id, row.rating, row.rounds, row.visible, row.last_played, encoded(row.state)) for row in rows],
    )


def redate(db: sqlite3.Connection, pool: str, latest: float, now: float) -> int:
    """Let players who played last after `latest` have played last `now`; returns how many they were."""
    # Most systems keep the time in their own state too.
    return db.execute(
        "UPDATE players SET version = version + 1, last_played = :now, "
        "state = iif(json_type(state, '$.last_played') IS NULL, state, json_set(state, '$.last_played', :now)) "
        "WHERE pool = :pool AND last_played > :latest",
        {"pool": pool, "latest": latest, "now": now},
    ).rowcount


def names(db: sqlite3.Connection, pool: str, players: Sequence[PlayerId]) -> dict[PlayerId, str]:
    """Last known names by id; players without one are missing."""
    found = db.execute(
        "SELECT player, name FROM names WHERE pool = ? AND player IN (SELECT value FROM json_each(?))",
        (pool, encoded(players)),
    )
    return {PlayerId(player): name for player, name in found}


def top(db: sqlite3.Connection, pool: str, limit: int | None, since: float | None) -> list[PlayerRow]:
    """The leaderboard; equal ratings by id."""
    # The best are found in the index alone: only their rows are read.
    best = f"SELECT id AS best {_on_board(since)} ORDER BY rating DESC, id LIMIT coalesce(:limit, -1)"
    found = db.execute(
        f"{_SELECT} WHERE players.pool = :pool AND id IN ({best}) ORDER BY rating DESC, id",
        {"pool": pool, "limit": limit, "since": since},
    )
    return [_row(each) for each in found]


def rank(db: sqlite3.Connection, pool: str, player: PlayerId, since: float | None) -> tuple[int, int] | None:
    """A player's place on the leaderboard, 1 for the best, and its length."""
    here = {"pool": pool, "player": player, "since": since}
    own = db.execute(f"SELECT rating {_on_board(since)} AND id = :player", here).fetchone()
    if own is None:
        return None
    better, length = db.execute(
        f"SELECT sum(rating > :rating OR (rating = :rating AND id < :player)), count(*) {_on_board(since)}",
        {**here, "rating": own[0]},
    ).fetchone()
    return better + 1, length


def _on_board(since: float | None) -> str:
    """The part of a statement that chooses the players of the leaderboard: one range of an index."""
    return "FROM players WHERE pool = :pool AND visible = 1" + ("" if since is None else " AND last_played >= :since")


def search(db: sqlite3.Connection, pool: str, text: str, limit: int, after: str) -> tuple[list[PlayerRow], str | None]:
    """Players whose id or name contains the text, in any case, of those whose ids come after one; and the last id.

    The last id is None when no more players follow. The highest rating comes first.
    """
    here = {"pool": pool, "after": after, "offset": _SEARCHED_AT_ONCE - 1}
    last = db.execute(
        "SELECT id FROM players WHERE pool = :pool AND id > :after ORDER BY id LIMIT 1 OFFSET :offset", here
    ).fetchone()
    until = "" if last is None else "AND id <= :last"
    found = db.execute(
        f"{_SELECT} WHERE players.pool = :pool AND id > :after {until} "
        "AND (id LIKE :like ESCAPE '!' OR name LIKE :like ESCAPE '!') ORDER BY rating DESC, id LIMIT :limit",
        {**here, "last": last and last[0], "like": f"%{_literally(text)}%", "limit": limit},
    )
    return [_row(each) for each in found], last and last[0]


def encoded(value: object) -> str:
    """Plain data as JSON text."""
    return msgspec.json.encode(value).decode()


def _literally(text: str) -> str:
    return "".join(f"!{letter}" if letter in "!%_" else letter for letter in text)


_Found = tuple[str, int, float, int, int, float | None, str, str | None]


def _row(found: _Found, history: History = ()) -> PlayerRow:
    id, version, rating, rounds, visible, played, state, name = found
    return PlayerRow(
        id=PlayerId(id),
        version=version,
        rating=rating,
        rounds=rounds,
        visible=bool(visible),
        last_played=played,
        state=msgspec.json.decode(state, type=dict[str, object]),
        history=history,
        name=name,
    )


# Fingerprints of pools, and the shared state of their systems.


def fingerprint(db: sqlite3.Connection, pool: str) -> Fingerprint | None:
    """The recorded fingerprint of a pool; None before its first start."""
    found = db.execute("SELECT system, params FROM pools WHERE pool = ?", (pool,)).fetchone()
    return found and Fingerprint(found[0], _plain(found[1]))


def adopt_fingerprint(db: sqlite3.Connection, pool: str, fingerprint: Fingerprint, at: float) -> None:
    """Record a pool's fingerprint in place of the one before."""
    db.execute(
        """
        INSERT INTO pools (pool, system, params, version, changed_at) VALUES (?, ?, ?, 1, ?)
        ON CONFLICT (pool) DO UPDATE SET
            system = excluded.system, params = excluded.params, changed_at = excluded.changed_at
        """,
        (pool, fingerprint.system, encoded(fingerprint.params), at),
    )


def shared(db: sqlite3.Connection, pool: str, held: int = 0) -> SharedParts | None:
    """The shared state of a pool's system; None if the stored version is `held`, or the pool is new."""
    found = db.execute("SELECT version FROM pools WHERE pool = ? AND version != ?", (pool, held)).fetchone()
    if found is None:
        return None
    parts = db.execute("SELECT key, part FROM shared WHERE pool = ?", (pool,))
    return SharedParts(found[0], {key: msgspec.json.decode(part) for key, part in parts})


def keep_shared(db: sqlite3.Connection, pool: str, parts: Mapping[str, object]) -> None:
    """Write these parts of the shared state and raise its version; without parts nothing is written."""
    if parts:
        rows = [(pool, key, encoded(part)) for key, part in parts.items()]
        db.executemany("INSERT OR REPLACE INTO shared (pool, key, part) VALUES (?, ?, ?)", rows)
        written = db.execute("UPDATE pools SET version = version + 1 WHERE pool = ?", (pool,))
        assert written.rowcount == 1, "a pool is adopted before its rounds come"


def replace_shared(db: sqlite3.Connection, pool: str, parts: Mapping[str, object]) -> None:
    """Replace the shared state: parts that are not among these are deleted."""
    db.execute("DELETE FROM shared WHERE pool = ?", (pool,))
    keep_shared(db, pool, parts)


def take_over_shared(db: sqlite3.Connection, pool: str) -> None:
    """Replace the shared state by that of an attached outcome, unless it has none."""
    if db.execute("SELECT 1 FROM outcome.replaced").fetchone():
        db.execute("DELETE FROM shared WHERE pool = ?", (pool,))
        db.execute("INSERT INTO shared SELECT ?, key, part FROM outcome.shared", (pool,))
        db.execute("UPDATE pools SET version = version + 1 WHERE pool = ?", (pool,))


def keep_quality(db: sqlite3.Connection, pool: str, point: QualityPoint) -> None:
    """Add a point to the time series of a pool's quality; one of the same moment is replaced."""
    db.execute(
        "INSERT OR REPLACE INTO qualities (pool, at, rounds, brier, log_loss, calibration_error) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (pool, point.at, point.rounds, point.brier, point.log_loss, point.calibration_error),
    )


def qualities(db: sqlite3.Connection, pool: str, since: float) -> Sequence[QualityPoint]:
    """The time series of a pool's quality, oldest first."""
    columns = "SELECT at, rounds, brier, log_loss, calibration_error FROM qualities"
    found = db.execute(f"{columns} WHERE pool = ? AND at >= ? ORDER BY at", (pool, since))
    return [QualityPoint(*row) for row in found]


def _plain(text: str) -> dict[str, object]:
    return msgspec.json.decode(text, type=dict[str, object])


# The sums over all players of a pool, kept in the transaction that changes a player.

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


def count_crowd(db: sqlite3.Connection, pool: str, players: Mapping[PlayerId, tuple[bool, float]]) -> None:
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


def recount_crowd(db: sqlite3.Connection, pool: str) -> None:
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
