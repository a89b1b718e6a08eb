"""Players and their names in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from equipoise.core.model import PlayerId
from equipoise.store.rated import Change, PlayerRow
from equipoise.store.sqlite import crowds

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
    crowds.count(db, pool, {each.id: (each.visible, each.after) for each in changes})
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
