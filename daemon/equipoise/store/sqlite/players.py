"""Players and their names in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.store.port import Change, EditRow, PlayerRow
from equipoise.store.sqlite import journal

_SELECT = """
SELECT id, version, rating, rounds, visible, last_played, state, name
FROM players LEFT JOIN names ON names.pool = players.pool AND names.player = players.id
"""

_SINCE = "visible AND (:since IS NULL OR last_played >= :since)"


def load(db: sqlite3.Connection, pool: str, player: PlayerId, window: int) -> PlayerRow | None:
    """A player with his last `window` rated rounds."""
    found = db.execute(f"{_SELECT} WHERE players.pool = ? AND id = ?", (pool, player)).fetchone()
    return found and _row(found, _history(db, pool, player, window))


def changed(db: sqlite3.Connection, pool: str, known: Mapping[PlayerId, int], window: int) -> Iterator[PlayerRow]:
    """Those who are stored in another version than the known one."""
    for player, version in known.items():
        stored = db.execute("SELECT 1 FROM players WHERE pool = ? AND id = ? AND version != ?", (pool, player, version))
        if stored.fetchone() and (row := load(db, pool, player, window)):
            yield row


def update(db: sqlite3.Connection, pool: str, changes: Sequence[Change], played: float) -> None:
    """What a round made of its participants."""
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


def edit(db: sqlite3.Connection, pool: str, player: PlayerId, window: int, change: EditRow) -> PlayerRow:
    """An admin's change of a player, with its line in the audit."""
    before = load(db, pool, player, window)
    row, entry = change(before)
    db.execute(
        """
        INSERT INTO players (pool, id, version, rating, rounds, visible, last_played, state)
        VALUES (?, ?, 1, ?, ?, ?, ?, ?)
        ON CONFLICT (pool, id) DO UPDATE SET
            version = version + 1, rating = excluded.rating, rounds = excluded.rounds,
            visible = excluded.visible, state = excluded.state, last_played = excluded.last_played
        """,
        (pool, player, row.rating, row.rounds, row.visible, row.last_played, encoded(row.state)),
    )
    journal.audit(db, entry)
    after = load(db, pool, player, window)
    assert after is not None  # written above
    return after


def name(db: sqlite3.Connection, pool: str, player: PlayerId, text: str) -> None:
    """Remember what a player called himself last."""
    db.execute(
        "INSERT INTO names (pool, player, name) VALUES (?, ?, ?) "
        "ON CONFLICT (pool, player) DO UPDATE SET name = excluded.name",
        (pool, player, text),
    )


def summaries(db: sqlite3.Connection, pool: str) -> list[PlayerSummary]:
    """Everybody in a pool."""
    found = db.execute("SELECT id, rating, rounds, visible, last_played FROM players WHERE pool = ?", (pool,))
    return [
        PlayerSummary(PlayerId(id), rating, rounds, bool(visible), played)
        for id, rating, rounds, visible, played in found
    ]


def top(db: sqlite3.Connection, pool: str, limit: int | None, since: float | None) -> list[PlayerRow]:
    """The leaderboard; equal ratings by id."""
    found = db.execute(
        f"{_SELECT} WHERE players.pool = :pool AND {_SINCE} ORDER BY rating DESC, id LIMIT coalesce(:limit, -1)",
        {"pool": pool, "limit": limit, "since": since},
    )
    return [_row(each) for each in found]


def rank(db: sqlite3.Connection, pool: str, player: PlayerId, since: float | None) -> tuple[int, int] | None:
    """A player's place on the leaderboard, 1 for the best, and its length."""
    here = {"pool": pool, "player": player, "since": since}
    own = db.execute(f"SELECT rating FROM players WHERE pool = :pool AND id = :player AND {_SINCE}", here).fetchone()
    if own is None:
        return None
    better, everybody = db.execute(
        "SELECT sum(rating > :rating OR (rating = :rating AND id < :player)), count(*) "
        f"FROM players WHERE pool = :pool AND {_SINCE}",
        {**here, "rating": own[0]},
    ).fetchone()
    return better + 1, everybody


def search(db: sqlite3.Connection, pool: str, text: str, limit: int) -> list[PlayerRow]:
    """Players whose id or name contains the text, in any case; the highest rating first."""
    found = db.execute(
        f"{_SELECT} WHERE players.pool = :pool AND (id LIKE :like ESCAPE '!' OR name LIKE :like ESCAPE '!') "
        "ORDER BY rating DESC, id LIMIT :limit",
        {"pool": pool, "like": f"%{_literally(text)}%", "limit": limit},
    )
    return [_row(each) for each in found]


def encoded(value: object) -> str:
    """Plain data as JSON text."""
    return msgspec.json.encode(value).decode()


def _literally(text: str) -> str:
    return "".join(f"!{letter}" if letter in "!%_" else letter for letter in text)


def _history(
    db: sqlite3.Connection, pool: str, player: PlayerId, window: int
) -> tuple[tuple[float, float, float], ...]:
    found = db.execute(
        "SELECT after, prediction, score FROM participants WHERE pool = ? AND player = ? ORDER BY round DESC LIMIT ?",
        (pool, player, window),
    ).fetchall()
    return tuple(reversed(found))


_Found = tuple[str, int, float, int, int, float | None, str, str | None]


def _row(found: _Found, history: tuple[tuple[float, float, float], ...] = ()) -> PlayerRow:
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
