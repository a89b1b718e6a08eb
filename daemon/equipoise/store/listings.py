"""The past as a store shows it to people: rounds, and what they did to players. Newest first, and in pages.

A page ends at a number, from which the next one goes on: `before` is the number of the last row that was read.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import msgspec

from equipoise.core.model import Counts, LineupPlayer, Mode, PlayerId, RoundId, ServerId, Side, Span
from equipoise.store.player_rows import encoded
from equipoise.store.round_rows import counts_of, spans_of


@dataclass(frozen=True, slots=True)
class StoredMatch:
    """A round as it was stored."""

    number: int
    """The place of the round among all rounds, in the order in which they were applied."""
    id: RoundId
    server: ServerId
    pool: str
    map: str
    mode: Mode
    at: float
    """The time when it first came in, seconds since the epoch."""
    started_at: float
    seconds: float
    winner: Side | None
    captures_a: int
    captures_b: int
    lineup_a: tuple[PlayerId, ...]
    """Who was on a side when it went live; empty when it is pruned."""
    lineup_b: tuple[PlayerId, ...]
    prediction: float | None
    """Win probability of side A as it was said: calibrated, by the system that made the teams, where it predicted the
    round, else by the one that rated it; None when it was not rated."""
    rating_prediction: float | None
    """Win probability of side A by the system that rated it."""
    unrated: str | None
    """Why it was not rated."""
    pruned: bool
    """Rows of its participants were deleted for their age."""
    void: bool
    """An admin took it out of the ratings."""
    balanced: bool
    """Another system than the one that rated it predicted it, too."""


@dataclass(frozen=True, slots=True)
class Played:
    """A participant of a rated round, and what it did to them."""

    id: PlayerId
    side: Side
    """The side that they played for."""
    seconds_a: float
    """Seconds on side A."""
    seconds_b: float
    """Seconds on side B."""
    quit: bool
    """They left before the end."""
    before: float
    """Their rating before the round."""
    after: float
    """Their rating after it."""
    prediction: float
    """Win probability of their side."""
    score: float
    """The score of their side: 1 for a win, 0.5 for a draw, 0 for a loss."""
    rounds: int
    """Rated rounds after this one."""
    visible: bool
    """The rating may be shown."""
    spans: tuple[Span, ...] = ()
    """Stretches on a side in a role; empty where only the seconds are known."""
    counts: Counts | None = None
    """Their kills, deaths and the like; None where they are not known."""


class MapResult(NamedTuple):
    """A rated round as the figures of its map take it; a hundred thousand are made at once, so it is no dataclass."""

    number: int
    """The place of the round among all rounds."""
    server: ServerId
    map: str
    mode: Mode
    started_at: float
    """When it went live, seconds since the epoch."""
    seconds: float
    """How long it was live."""
    winner: Side | None
    """None: a stalemate."""
    prediction: float
    """Win probability of side A as it was said."""
    session: str
    """The script's name of a time on a map."""
    players: int
    """How many were rated in it; 0 where participants were deleted for their age."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a round of a map ended."""

    id: RoundId
    at: float
    """When it first came in, by the daemon's clock, seconds since the epoch."""
    winner: Side | None
    """None: a stalemate."""


@dataclass(frozen=True, slots=True)
class EditOf:
    """A change of one player's rating beside rounds, by an admin, a job or a replay."""

    number: int
    """Its place among rounds and edits."""
    at: float
    """Seconds since the epoch."""
    who: str
    """The token, player or job that made it."""
    action: str
    """`set`, `reset`, `undo`, `import`, `refit`, `void`, `spread`."""
    undone: bool
    """The edit was taken back later."""
    before: float | None
    """The rating; None: they had none."""
    after: float
    """The rating after it."""


@dataclass(frozen=True, slots=True)
class Company:
    """The rated rounds that a player had beside another one, or against them."""

    id: PlayerId
    """The other one."""
    beside: bool
    """They were on one side; else on two."""
    rounds: int
    """How many."""
    score: float
    """What the player scored in them: 1 for a win, 0.5 for a draw."""


# The player's last rounds by their index, who else played in each by the index of rounds.
_COMPANY = """
SELECT others.player, others.side = own.side AS beside, count(*), sum(own.score) FROM (
    SELECT round, side, score FROM participants WHERE pool = :pool AND player = :player
    ORDER BY round DESC LIMIT :rounds
) AS own CROSS JOIN participants AS others INDEXED BY participants_by_round ON others.round = own.round
WHERE others.player != :player GROUP BY others.player, beside
"""
_WHY_UNRATED = """
CASE WHEN voided IS NULL THEN unrated ELSE (
    SELECT 'taken out of the ratings by an admin' || coalesce(': ' || nullif(json_extract(detail, '$.reason'), ''), '')
    FROM edits WHERE number = voided
) END
"""
_EXPECTED = "iif(rounds.prediction IS NULL, NULL, coalesce(rounds.said, rounds.balance_prediction, rounds.prediction))"
_ROUND_COLUMNS = {
    **{name: name for name in ("id", "server", "map", "mode", "started_at", "winner", "captures_a", "captures_b")},
    **{name: f"rounds.{name}" for name in ("number", "pool", "seconds")},
    "at": "recorded_at",
    "lineup": "lineup",
    "prediction": _EXPECTED,
    "rating_prediction": "rounds.prediction",
    "unrated": _WHY_UNRATED,
    "pruned": "pruned",
    "void": "voided IS NOT NULL",
    "balanced": "balance_prediction IS NOT NULL",
}
_ROUND = ", ".join(_ROUND_COLUMNS.values())
_PLAYED = ", ".join(f"participants.{name}" for name in ("player", *(column.name for column in fields(Played)[1:])))
MODES = {mode.value: mode for mode in Mode}
WINNERS: Mapping[str | None, Side | None] = {None: None, **{side.value: side for side in Side}}
ROUNDS_AT_ONCE = 1000
"""Rated rounds that are read for figures of maps without letting a round pass: a few milliseconds."""
NAMES_AT_ONCE = 2000
"""Names that are read without letting a round pass: they take a few milliseconds."""


def rounds(
    db: sqlite3.Connection,
    server: ServerId | None,
    before: int | None,
    limit: int,
    rated_in: str | None = None,
    map_name: str | None = None,
) -> Sequence[StoredMatch]:
    """The newest rounds of a server, or of all; on one map, or on all; or the rated ones alone of a pool."""
    wheres = ["server = :server"] * (server is not None) + ["number < :before"] * (before is not None)
    wheres += ["map = :map"] * (map_name is not None)
    wheres += ["pool = :pool AND prediction IS NOT NULL"] * (rated_in is not None)
    rows = db.execute(
        f"SELECT {_ROUND} FROM rounds {_where(wheres)} ORDER BY number DESC LIMIT :limit",
        {"server": server, "before": before, "limit": limit, "pool": rated_in, "map": map_name},
    )
    return [_round(row) for row in rows]


def rounds_on_maps(db: sqlite3.Connection, pool: str, before: int, limit: int) -> list[MapResult]:
    """Return rated rounds of a pool from before a number, newest first."""
    # The last place by the index: to count the lineup's players would read its JSON.
    rows = db.execute(
        f"SELECT number, server, map, mode, started_at, seconds, winner, {_EXPECTED}, session, "
        "iif(pruned, 0, (SELECT max(place) + 1 FROM participants WHERE round = rounds.number)) FROM rounds "
        "WHERE pool = ? AND prediction IS NOT NULL AND number < ? ORDER BY number DESC LIMIT ?",
        (pool, before, limit),
    )
    return [
        MapResult(number, server, map_name, MODES[mode], at, seconds, WINNERS[winner], *rest)
        for number, server, map_name, mode, at, seconds, winner, *rest in rows
    ]


LATEST = 200
"""Rounds of a server among which those of its map are looked for."""


def results(db: sqlite3.Connection, server: ServerId, session: str) -> list[Result]:
    """Return how the last rounds of a time on a map ended, newest first."""
    rows = db.execute(
        "SELECT id, recorded_at, winner FROM "
        "(SELECT * FROM rounds WHERE server = ? ORDER BY number DESC LIMIT ?) WHERE session = ?",
        (server, LATEST, session),
    )
    return [Result(RoundId(number), at, winner and Side(winner)) for number, at, winner in rows]


def last_changes(db: sqlite3.Connection, pool: str, players: Sequence[PlayerId]) -> dict[PlayerId, float]:
    """Return what each player's last rated round changed; of those who have one."""
    statement = "SELECT after - before FROM participants WHERE pool = ? AND player = ? ORDER BY round DESC LIMIT 1"
    rows = ((player, db.execute(statement, (pool, player)).fetchone()) for player in players)
    return {player: row[0] for player, row in rows if row is not None}


def find(db: sqlite3.Connection, server: ServerId, round_id: RoundId) -> tuple[StoredMatch, list[Played]] | None:
    """A round and its participants in the order of its answer; None when it is not stored."""
    row = db.execute(f"SELECT {_ROUND} FROM rounds WHERE server = ? AND id = ?", (server, round_id)).fetchone()
    if row is None:
        return None
    result = _round(row)
    participants = db.execute(f"SELECT {_PLAYED} FROM participants WHERE round = ? ORDER BY place", (result.number,))
    return result, [_played(columns) for columns in participants]


def played(
    db: sqlite3.Connection,
    pool: str,
    player: PlayerId,
    server: ServerId | None,
    before: int | None,
    limit: int,
    map_name: str | None = None,
) -> list[tuple[StoredMatch, Played]]:
    """The newest rated rounds of a player, on one server or on all, on one map or on all."""
    wheres = ["participants.pool = :pool", "player = :player"]
    wheres += ["server = :server"] * (server is not None) + ["round < :before"] * (before is not None)
    wheres += ["map = :map"] * (map_name is not None)
    # The participant's rows come in the order of the index by player, and each brings its round: nothing is sorted.
    rows = db.execute(
        f"SELECT {_ROUND}, {_PLAYED} FROM participants CROSS JOIN rounds ON rounds.number = participants.round "
        f"{_where(wheres)} ORDER BY round DESC LIMIT :limit",
        {"pool": pool, "player": player, "server": server, "before": before, "limit": limit, "map": map_name},
    )
    width = len(_ROUND_COLUMNS)
    return [(_round(row[:width]), _played(row[width:])) for row in rows]


def edits_of(db: sqlite3.Connection, pool: str, player: PlayerId, before: int | None, limit: int) -> list[EditOf]:
    """The newest edits of a player."""
    older = "" if before is None else "AND edit < :before"
    rows = db.execute(
        "SELECT edits.number, at, who, action, struck, before_rating, after_rating "
        "FROM edited CROSS JOIN edits ON edits.number = edited.edit "
        f"WHERE edited.pool = :pool AND player = :player {older} ORDER BY edit DESC LIMIT :limit",
        {"pool": pool, "player": player, "before": before, "limit": limit},
    )
    return [
        EditOf(number, at, who, action, bool(struck), *ratings) for number, at, who, action, struck, *ratings in rows
    ]


def ratings_of(db: sqlite3.Connection, pool: str, player: PlayerId) -> list[tuple[int, float, bool]]:
    """Numbers of a player's rated rounds, the rating after each, and whether it may be shown, oldest first."""
    rows = db.execute(
        "SELECT round, after, visible FROM participants WHERE pool = ? AND player = ? ORDER BY round", (pool, player)
    )
    return [(number, rating, bool(visible)) for number, rating, visible in rows]


def moments_of(
    db: sqlite3.Connection, pool: str, player: PlayerId, numbers: Sequence[int]
) -> list[tuple[float, dict[str, object]]]:
    """When these rounds of a player went live, seconds since the epoch, and the player's state after each."""
    rows = db.execute(
        "SELECT started_at, state FROM json_each(?) AS wanted CROSS JOIN rounds ON number = wanted.value "
        "CROSS JOIN participants ON participants.pool = ? AND player = ? AND round = wanted.value ORDER BY wanted.key",
        (encoded(numbers), pool, player),
    )
    return [(at, msgspec.json.decode(state, type=dict[str, object])) for at, state in rows]


def company(db: sqlite3.Connection, pool: str, player: PlayerId, rounds: int) -> list[Company]:
    """Return with and against whom a player had the last `rounds` rated rounds, in no order."""
    rows = db.execute(_COMPANY, {"pool": pool, "player": player, "rounds": rounds})
    return [Company(PlayerId(mate), bool(beside), count, score) for mate, beside, count, score in rows]


def names(db: sqlite3.Connection, pool: str, after: str) -> list[tuple[PlayerId, str]]:
    """A piece of the players' last names, of those whose ids come after one."""
    rows = db.execute(
        "SELECT player, name FROM names WHERE pool = ? AND player > ? ORDER BY player LIMIT ?",
        (pool, after, NAMES_AT_ONCE),
    )
    return [(PlayerId(player), name) for player, name in rows]


def seen(db: sqlite3.Connection, pool: str, player: PlayerId) -> bool:
    """Return whether the player has a rating or a name in this pool."""
    row = db.execute(
        "SELECT 1 FROM players WHERE pool = :pool AND id = :player "
        "UNION ALL SELECT 1 FROM names WHERE pool = :pool AND player = :player",
        {"pool": pool, "player": player},
    ).fetchone()
    return row is not None


def _where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def plain(text: str) -> str:
    """The text without differences of case, and of forms that look alike."""
    return unicodedata.normalize("NFKC", text).casefold()


def _round(row: Sequence[Any]) -> StoredMatch:
    facts = dict(zip(_ROUND_COLUMNS, row, strict=True))
    players = msgspec.json.decode(facts.pop("lineup"), type=tuple[LineupPlayer, ...])
    on_a, on_b = (tuple(player.id for player in players if player.side is side) for side in Side)
    facts |= {name: bool(facts[name]) for name in ("pruned", "void", "balanced")}
    facts |= {"mode": Mode(facts["mode"]), "winner": facts["winner"] and Side(facts["winner"])}
    return StoredMatch(**facts, lineup_a=on_a, lineup_b=on_b)


def _played(row: Sequence[Any]) -> Played:
    player, side, seconds_a, seconds_b, has_left, before, after, prediction, score, rounds, visible, spans, counts = row
    return Played(
        *(PlayerId(player), Side(side), seconds_a, seconds_b, bool(has_left), before, after, prediction, score, rounds),
        *(bool(visible), spans_of(spans), counts_of(counts)),
    )
