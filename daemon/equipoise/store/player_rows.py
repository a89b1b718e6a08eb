"""Players of a pool in the store: their names, sums over them, what their ratings were made by; and one person."""

from __future__ import annotations

import math
import mmap
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from sqlite_utils import Database

from equipoise.core.model import STEAM_ID_BASE, PlayerId, Side
from equipoise.errors import RatingError
from equipoise.store.connection import reading, store_errors
from equipoise.store.notes import Audit, audit


@dataclass(frozen=True, slots=True)
class PlayerRow:
    """A player as stored: what a rating system needs to go on from."""

    id: PlayerId
    version: int
    """Grows with every write; a copy in memory with another version is out of date."""
    rating: float
    rounds: int
    visible: bool
    last_played: float | None
    """Seconds since the epoch, when their last rated round went live."""
    state: Mapping[str, object]
    """The rating system's own small state, plain data."""
    history: tuple[tuple[float, float, float], ...]
    """(rating after, prediction, score) of their last rated rounds, oldest first, as many as were asked for."""
    name: str | None = None
    """The name that they used last; only `top` and `search` fill it in."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one participant by a round."""

    id: PlayerId
    side: Side
    before: float
    after: float
    prediction: float
    """Win probability of their side."""
    score: float
    """1, 0.5 or 0."""
    rounds: int
    """Rated rounds after this one."""
    visible: bool
    state: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SharedParts:
    """The shared state of a pool's rating system, as stored: what it keeps apart from players, as a map's win rate."""

    version: int
    """Grows with every round that changes one of the parts."""
    parts: Mapping[str, object]
    """Each part by its key."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The rating system and the parameters that made a pool's stored ratings."""

    system: str
    params: Mapping[str, object]
    """All of the system's parameters: what JSON can say."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """The players of a pool in numbers."""

    count: int
    visible: int
    stale: int
    """Players whose last rated round is too long ago."""
    mean: float | None
    """Mean of the ratings; None without players."""
    spread: float | None
    """Standard deviation of the ratings."""


_SELECT = """
SELECT id, version, rating, rounds, visible, last_played, state, name
FROM players LEFT JOIN names ON names.pool = players.pool AND names.player = players.id
"""

_LOAD = """
SELECT players.id, version, rating, rounds, visible, last_played, state, NULL
FROM json_each(:held) AS held CROSS JOIN players
WHERE players.pool = :pool AND players.id = held.key AND version != held.value
"""

# The join is nested loops in this order: CROSS JOIN forbids another. Each player's rows are one range of the index by
# player (pool, player, round), so they come oldest first. ORDER BY would sort all 12,000 of a full roster once more.
_WINDOWS = """
SELECT after, prediction, score, wanted.key
FROM json_each(:players) AS wanted CROSS JOIN participants
WHERE pool = :pool AND player = wanted.value AND round >= coalesce((
    SELECT round FROM participants WHERE pool = :pool AND player = wanted.value
    ORDER BY round DESC LIMIT 1 OFFSET :window - 1
), 0)
"""

BREAK_SECONDS = 2 * 3600.0
"""A player who did not play for so long is back."""

_GATHER = """
WITH back AS (
    SELECT players.rowid AS row, row_number() OVER () AS place
    FROM json_each(:players) AS present CROSS JOIN players ON players.pool = :pool AND players.id = present.value
    WHERE last_played < :since
)
UPDATE players SET rowid = (SELECT max(rowid) FROM players) + place FROM back WHERE players.rowid = back.row
"""

_WRITE = """
INSERT INTO players (pool, id, version, rating, rounds, visible, last_played, state) VALUES (?, ?, 1, ?, ?, ?, ?, ?)
ON CONFLICT (pool, id) DO UPDATE SET version = version + 1, rating = excluded.rating, rounds = excluded.rounds,
    visible = excluded.visible, state = excluded.state,
"""

_SEARCHED_AT_ONCE = 2_000
"""Players that one call of `search` looks through: it holds the store's thread for a few milliseconds."""

History = tuple[tuple[float, float, float], ...]


def load(db: sqlite3.Connection, pool: str, held: Mapping[PlayerId, int], window: int) -> list[PlayerRow]:
    """Return those of the players who are stored in another version than the one held, 0 being none.

    Each comes with their last `window` rated rounds. Two statements, however many players there are.
    """
    rows = db.execute(_LOAD, {"pool": pool, "held": encoded(held)}).fetchall()
    histories = _histories(db, pool, [row[0] for row in rows], window)
    return [_row(row, history) for row, history in zip(rows, histories, strict=True)]


def stored(db: sqlite3.Connection, pool: str, ids: Sequence[PlayerId], window: int) -> dict[PlayerId, PlayerRow]:
    """Rows of these players without names; those who were never rated are missing."""
    return {row.id: row for row in load(db, pool, dict.fromkeys(ids, 0), window)}


def last_players(db: sqlite3.Connection, pool: str, limit: int) -> list[PlayerId]:
    """Return those who played last."""
    query = "SELECT id FROM players WHERE pool = ? ORDER BY last_played DESC LIMIT ?"
    return [PlayerId(player) for (player,) in db.execute(query, (pool, limit))]


def _histories(db: sqlite3.Connection, pool: str, players: Sequence[str], window: int) -> list[History]:
    histories: list[list[tuple[float, float, float]]] = [[] for _ in players]
    if players and window:
        values = {"pool": pool, "players": encoded(players), "window": window}
        for after, prediction, score, place in db.execute(_WINDOWS, values):
            histories[place].append((after, prediction, score))
    return [tuple(history) for history in histories]


def update(db: sqlite3.Connection, pool: str, changes: Sequence[Change], played: float) -> None:
    """Write what a round made of its participants."""
    # Before the rows change: it subtracts what they were.
    count_crowd(db, pool, {change.id: (change.visible, change.after) for change in changes})
    gather(db, pool, [change.id for change in changes], played)
    # `max`: a round that arrives late must not make a player look as if they had not come since.
    db.executemany(
        f"{_WRITE} last_played = max(coalesce(last_played, excluded.last_played), excluded.last_played)",
        [
            (pool, change.id, change.after, change.rounds, change.visible, played, encoded(change.state))
            for change in changes
        ],
    )


def gather(db: sqlite3.Connection, pool: str, ids: Sequence[PlayerId], played: float) -> None:
    """Move the rows of players who are back after a break to the end of the table.

    Who plays together then lies on a few pages side by side, and these alone are written in each of their rounds.
    """
    values = {"pool": pool, "players": encoded(ids), "since": played - BREAK_SECONDS}
    db.execute(_GATHER, values)


def write(db: sqlite3.Connection, pool: str, rows: Iterable[PlayerRow]) -> None:
    """Replace players, or add them, whole but for their version and their name."""
    db.executemany(
        f"{_WRITE} last_played = excluded.last_played",
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
    rows = db.execute(
        "SELECT player, name FROM names WHERE pool = ? AND player IN (SELECT value FROM json_each(?))",
        (pool, encoded(players)),
    )
    return {PlayerId(player): name for player, name in rows}


def top(
    db: sqlite3.Connection,
    pool: str,
    limit: int | None,
    since: float | None,
    after: PlayerId | None = None,
    before: PlayerId | None = None,
) -> list[PlayerRow]:
    """The leaderboard; equal ratings by id. Only those behind a player, or the last of those before one."""
    values = {"pool": pool, "limit": limit, "since": since, "edge": after or before}
    part, order = "", "rating DESC, id"
    if values["edge"] is not None:
        edge = db.execute("SELECT rating FROM players WHERE pool = :pool AND id = :edge", values).fetchone()
        if edge is None:
            return []
        values["rating"] = edge[0]
        below, order = ("<", order) if before is None else (">", "rating, id DESC")
        beside = ">" if before is None else "<"
        part = f"AND (rating {below} :rating OR rating = :rating AND id {beside} :edge)"
    # The best are found in the index alone: only their rows are read.
    best = f"SELECT id AS best {on_board(since)} {part} ORDER BY {order} LIMIT coalesce(:limit, -1)"
    rows = db.execute(f"{_SELECT} WHERE players.pool = :pool AND id IN ({best}) ORDER BY rating DESC, id", values)
    return [_row(row) for row in rows]


def rank(db: sqlite3.Connection, pool: str, player: PlayerId, since: float | None) -> tuple[int, int] | None:
    """A player's place on the leaderboard, 1 for the best, and its length; None: they are not on it."""
    values = {"pool": pool, "player": player, "since": since}
    own = db.execute(f"SELECT rating {on_board(since)} AND id = :player", values).fetchone()
    if own is None:
        return None
    better, length = db.execute(
        f"SELECT sum(rating > :rating OR (rating = :rating AND id < :player)), count(*) {on_board(since)}",
        {**values, "rating": own[0]},
    ).fetchone()
    return better + 1, length


def board_length(db: sqlite3.Connection, pool: str, since: float | None) -> int:
    """Return how many players are on the leaderboard."""
    (length,) = db.execute(f"SELECT count(*) {on_board(since)}", {"pool": pool, "since": since}).fetchone()
    return int(length)


def on_board(since: float | None) -> str:
    """The part of a statement that chooses the players of the leaderboard: one range of an index."""
    shown = "visible = 1 AND id NOT IN (SELECT player FROM hidden)"
    return f"FROM players WHERE pool = :pool AND {shown}" + ("" if since is None else " AND last_played >= :since")


def search(db: sqlite3.Connection, pool: str, text: str, limit: int, after: str) -> tuple[list[PlayerRow], str | None]:
    """Players whose id or name contains the text, in any case, of those whose ids come after one; and the last id.

    The last id is None when no more players follow. The highest rating comes first.
    """
    values = {"pool": pool, "after": after, "offset": _SEARCHED_AT_ONCE - 1}
    last = db.execute(
        "SELECT id FROM players WHERE pool = :pool AND id > :after ORDER BY id LIMIT 1 OFFSET :offset", values
    ).fetchone()
    until = "" if last is None else "AND id <= :last"
    rows = db.execute(
        f"{_SELECT} WHERE players.pool = :pool AND id > :after {until} "
        "AND (id LIKE :like ESCAPE '!' OR name LIKE :like ESCAPE '!') ORDER BY rating DESC, id LIMIT :limit",
        {**values, "last": last and last[0], "like": f"%{_literally(text)}%", "limit": limit},
    )
    return [_row(row) for row in rows], last and last[0]


def encoded(value: object) -> str:
    """Plain data as JSON text."""
    return msgspec.json.encode(value).decode()


plain = msgspec.json.Decoder(dict[str, object]).decode
"""Plain data of JSON text."""


def _literally(text: str) -> str:
    return "".join(f"!{letter}" if letter in "!%_" else letter for letter in text)


_Columns = tuple[str, int, float, int, int, float | None, str, str | None]


def _row(columns: _Columns, history: History = ()) -> PlayerRow:
    player, version, points, rounds, visible, last_played, state, name = columns
    return PlayerRow(PlayerId(player), version, points, rounds, bool(visible), last_played, plain(state), history, name)


def then(
    player: PlayerId, rating: float, rounds: int, visible: int, last_played: float | None, state: str
) -> PlayerRow:
    """A player at another place of the sequence, by the columns of an edit or a round: without version and history."""
    return _row((player, 0, rating, rounds, visible, last_played, state, None))


# Fingerprints of pools, and the shared state of their systems.


def fingerprint(db: sqlite3.Connection, pool: str) -> Fingerprint | None:
    """The recorded fingerprint of a pool; None before its first start."""
    row = db.execute("SELECT system, params FROM pools WHERE pool = ?", (pool,)).fetchone()
    return row and Fingerprint(row[0], plain(row[1]))


def adopt_fingerprint(db: sqlite3.Connection, pool: str, fingerprint: Fingerprint, at: float) -> None:
    """Record a pool's fingerprint in place of the one before; the ratings stay as they are."""
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
    row = db.execute("SELECT version FROM pools WHERE pool = ? AND version != ?", (pool, held)).fetchone()
    if row is None:
        return None
    parts = db.execute("SELECT key, part FROM shared WHERE pool = ?", (pool,))
    return SharedParts(row[0], {key: msgspec.json.decode(part) for key, part in parts})


def keep_shared(db: sqlite3.Connection, pool: str, parts: Mapping[str, object]) -> None:
    """Write these parts of the shared state and raise its version; without parts nothing is written."""
    if parts:
        rows = [(pool, key, encoded(part)) for key, part in parts.items()]
        db.executemany("INSERT OR REPLACE INTO shared (pool, key, part) VALUES (?, ?, ?)", rows)
        # Memory compares this one number instead of all parts.
        update_of_pool = db.execute("UPDATE pools SET version = version + 1 WHERE pool = ?", (pool,))
        assert update_of_pool.rowcount == 1, "a pool is adopted before its rounds come"


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
    old = db.execute(_OLD, {"pool": pool, "players": encoded(list(players))})
    for sign, rows in ((-1, old), (1, players.values())):
        for visible, points in rows:
            row = sums[bool(visible)]
            row[0] += sign
            row[1] += sign * points
            row[2] += sign * points * points
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
        values = {"pool": pool, "since": since}
        stale = players - sum(db.execute(query, values).fetchone()[0] for query in (_ACTIVE, _NEVER_PLAYED))
    mean = ratings / players if players else None
    return Crowd(
        count=players,
        visible=sum(row[1] for row in rows if row[0]),
        stale=stale,
        mean=mean,
        # The difference of two large numbers: rounding may leave it below 0 when all ratings are equal.
        spread=None if mean is None else math.sqrt(max(0.0, squares / players - mean * mean)),
    )


# One person in a store: whether they are hidden, every row about them, and another id in all of these rows.

FORGOTTEN = "(forgotten)"
"""In place of the name of somebody who was forgotten."""
ANOTHER = "(another player)"
"""In place of others' ids in what is stored about one person."""

WORDS = ("audit", "decisions", "edits")
"""Tables with words of people, who write ids in any form."""
SHORTEST_NAME = 3
"""A shorter name is left in what admins wrote: it is a part of other words."""

_ID = re.compile(r"\b7656\d{13}\b")


class InForgetting(NamedTuple):
    """Somebody who is being forgotten; both are the same when every row has the stand-in."""

    player: PlayerId
    stand_in: PlayerId


RenamedSnapshot = Callable[[str, bytes, str, str], bytes]
"""Returns the snapshot of a system, by name, with another id in a player's place. RatingError: it is unreadable."""


def hidden(db: sqlite3.Connection) -> frozenset[PlayerId]:
    """Return the players who are shown nowhere."""
    return frozenset(PlayerId(player) for (player,) in db.execute("SELECT player FROM hidden"))


def hide(db: sqlite3.Connection, player: PlayerId, *, hide: bool) -> None:
    """Show a player nowhere from now on, or everywhere again."""
    statement = "INSERT OR IGNORE INTO hidden VALUES (?)" if hide else "DELETE FROM hidden WHERE player = ?"
    db.execute(statement, (player,))


def forgetting(db: sqlite3.Connection) -> list[InForgetting]:
    """Return who is being forgotten."""
    rows = db.execute("SELECT player, stand_in FROM forgetting ORDER BY stand_in")
    return [InForgetting(PlayerId(player), PlayerId(stand_in)) for player, stand_in in rows]


def begin_forgetting(db: sqlite3.Connection, someone: InForgetting, entry: Audit) -> PlayerId:
    """Write into the journal who is to be forgotten, and by whom; returns the stand-in, which was there before if an
    earlier attempt failed.
    """
    db.execute("INSERT OR IGNORE INTO forgetting (player, stand_in) VALUES (?, ?)", someone)
    audit(db, entry)
    return next(row.stand_in for row in forgetting(db) if row.player == someone.player)


def note_untold(db: sqlite3.Connection, pools: Iterable[str], someone: InForgetting, entry: Audit) -> None:
    """Note that the logs of these shared pools are to be told of somebody, with the line of the audit."""
    what = int(someone.player), someone.stand_in, entry.at, entry.who
    insert = "INSERT OR REPLACE INTO untold (pool, player, stand_in, at, who) VALUES (?, ?, ?, ?, ?)"
    db.executemany(insert, [(pool, *what) for pool in pools])


def untold(db: sqlite3.Connection, pool: str) -> list[tuple[InForgetting, Audit]]:
    """Return of whom the log of a shared pool is still to be told, with the line of the audit."""
    rows = db.execute("SELECT player, stand_in, at, who FROM untold WHERE pool = ? ORDER BY at", (pool,)).fetchall()
    return [
        (InForgetting(PlayerId(str(player)), PlayerId(stand_in)), Audit(at, who, "forget", str(player), "", ""))
        for player, stand_in, at, who in rows
    ]


def told(db: sqlite3.Connection, pool: str, player: PlayerId) -> None:
    """Note that the log of a shared pool was told of somebody."""
    db.execute("DELETE FROM untold WHERE pool = ? AND player = ?", (pool, int(player)))


def exports_since(db: sqlite3.Connection, player: PlayerId) -> list[Audit]:
    """Return the lines of the audit about exports of pools since a player's first rated round."""
    rows = db.execute(
        "SELECT at, who, action, target, before, after, number FROM audit WHERE action = 'export' AND at >= coalesce(("
        "SELECT min(recorded_at) FROM participants JOIN rounds ON rounds.number = round WHERE player = ?), 0) "
        "AND target LIKE 'export of pool %' ORDER BY number",
        (player,),
    )
    return [Audit(*row) for row in rows]


def rows_about(path: Path, player: PlayerId) -> dict[str, list[dict[str, Any]]]:
    """Return every row of a store that names a player, by table, without the ids of others; beside its connection."""
    with store_errors(), closing(reading(path)) as db:
        tables = {}
        for table, columns in _texts(db):
            where = " OR ".join(f"instr(CAST([{column}] AS TEXT), :player)" for column in columns)
            rows = db.execute(f"SELECT * FROM [{table}] WHERE {where}", {"player": player})
            names = [name for name, *_ in rows.description]
            if lines := [dict(zip(names, map(_told(player), row), strict=True)) for row in rows]:
                tables[table] = lines
        return tables


def _told(player: PlayerId) -> Callable[[Any], Any]:
    """Return what makes a column readable: JSON as values, and nobody's id but the player's."""

    def told(value: Any) -> Any:
        if not isinstance(value, str | bytes):
            return value
        text = value if isinstance(value, str) else value.decode()
        text = _ID.sub(lambda match: match[0] if match[0] == player else ANOTHER, text)
        try:
            return msgspec.json.decode(text) if text[:1] in ("{", "[") else text
        except msgspec.DecodeError:
            return text

    return told


def rename(db: sqlite3.Connection, player: PlayerId, stand_in: PlayerId, renamed: RenamedSnapshot) -> None:
    """Put a stand-in, who has no name and is hidden, in a player's place in every row; the caller commits.

    All ids have one length, so that a text with another id is of the same form.
    """
    forms = _forms(player)
    written = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, forms))})(?!\d)")
    db.create_function("renamed", 1, lambda text: text and written.sub(stand_in, text), deterministic=True)
    # Participants refer to players: both have the stand-in at the end.
    db.execute("PRAGMA defer_foreign_keys = ON")
    _rename_in_words(db, player)
    db.execute("UPDATE names SET name = ? WHERE player = ?", (FORGOTTEN, player))
    db.execute("UPDATE seasons SET name = NULL WHERE player = ?", (player,))
    hide(db, player, hide=True)
    for table, columns in _texts(db):
        # Only what people write has other forms than the first: to look for all would take four times as long.
        spellings = forms if table in WORDS else forms[:1]
        where = " OR ".join(f"instr(CAST([{column}] AS TEXT), '{form}')" for column in columns for form in spellings)
        sets = ", ".join(
            "memory = CAST(renamed(CAST(memory AS TEXT)) AS BLOB)"
            if column == "memory"
            else f"[{column}] = renamed([{column}])"
            for column in columns
        )
        # The stand-in may have rows of a shared pool whose log was not told yet: those that came since have it all.
        db.execute(f"UPDATE OR REPLACE [{table}] SET {sets} WHERE {where}")
    # A group of players is called by their ids in order.
    groups = db.execute("SELECT pool, key FROM shared WHERE instr(key, ?) AND instr(key, '+')", (stand_in,)).fetchall()
    for pool, key in groups:
        in_order = "+".join(sorted(key.split("+")))
        db.execute("UPDATE shared SET key = ? WHERE pool = ? AND key = ?", (in_order, pool, key))
    _rename_in_snapshots(db, player, stand_in, renamed)


def _forms(player: PlayerId) -> list[str]:
    """Return the forms in which an id is written, as the daemon stores it first."""
    account = int(player) - STEAM_ID_BASE
    if account < 0:  # a stand-in's
        return [player]
    return [player, *(f"STEAM_{universe}:{account % 2}:{account // 2}" for universe in (0, 1)), f"[U:1:{account}]"]


def _rename_in_words(db: sqlite3.Connection, player: PlayerId) -> None:
    """Take a player's names out of what admins wrote: commands of consoles, and reasons."""
    names = [name for (name,) in db.execute("SELECT name FROM names WHERE player = ?", (player,))]
    names = [re.escape(name) for name in names if len(name) >= SHORTEST_NAME and name != FORGOTTEN]
    if not names:
        return
    written = re.compile(rf"(?<!\w)({'|'.join(names)})(?!\w)")
    db.create_function("unnamed", 1, lambda text: text and written.sub(FORGOTTEN, text), deterministic=True)
    db.execute("UPDATE audit SET before = unnamed(before), after = unnamed(after)")
    reason = "json_extract(detail, '$.reason')"
    db.execute(
        f"UPDATE edits SET detail = json_set(detail, '$.reason', unnamed({reason})) WHERE {reason} != unnamed({reason})"
    )


def _texts(db: sqlite3.Connection) -> Iterator[tuple[str, list[str]]]:
    """Yield each table with those of its columns that may name a player."""
    for table in Database(db).tables:
        columns = [column.name for column in table.columns if column.type == "TEXT" or column.name == "memory"]
        if columns:
            yield table.name, columns


def _rename_in_snapshots(
    db: sqlite3.Connection, player: PlayerId, stand_in: PlayerId, renamed: RenamedSnapshot
) -> None:
    rows = db.execute("SELECT rowid, system, data FROM snapshots WHERE instr(data, ?)", (player.encode(),)).fetchall()
    for row, system, data in rows:
        try:
            new = renamed(system, data, player, stand_in)
        except RatingError:  # nobody could go on from it either
            db.execute("DELETE FROM snapshots WHERE rowid = ?", (row,))
        else:
            db.execute("UPDATE snapshots SET data = ?, sha256 = ? WHERE rowid = ?", (new, sha256(new).hexdigest(), row))


def empty_log(db: sqlite3.Connection) -> bool:
    """Empty the write-ahead log; False: another program is reading the store, and needs it."""
    (busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def names_in(file: Path, player: PlayerId) -> bool:
    """Return whether a file names a player: a store by its rows, any other by its bytes."""
    if not file.stat().st_size:
        return False
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[:15] == b"SQLite format 3":
            uri = f"file:{quote(str(file))}?mode=ro&immutable=1"
            with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as db:
                rows = "SELECT player FROM names UNION ALL SELECT id FROM players"
                return db.execute(f"SELECT 1 FROM ({rows}) WHERE player = ?", (player,)).fetchone() is not None
        return content.find(player.encode()) >= 0
