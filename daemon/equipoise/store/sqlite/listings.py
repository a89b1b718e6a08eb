"""Rounds, their participants and players' names, as people ask for them."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from equipoise.core.model import LineupPlayer, Mode, PlayerId, RoundId, ServerId, Side
from equipoise.store.listings import EditOf, Played, Record, StoredRound
from equipoise.store.notes import Decision
from equipoise.store.sqlite import notes
from equipoise.store.sqlite.rounds import counts_of, records_of, spans_of
from equipoise.store.sqlite.thread import StoreThread

_WHY_UNRATED = """
CASE WHEN voided IS NULL THEN unrated ELSE (
    SELECT 'taken out of the ratings by an admin' || coalesce(': ' || nullif(json_extract(detail, '$.reason'), ''), '')
    FROM edits WHERE number = voided
) END
"""
_EXPECTED = "iif(rounds.prediction IS NULL, NULL, coalesce(rounds.said, rounds.balance_prediction, rounds.prediction))"
_ROUND_COLUMNS = (
    *("rounds.number", "id", "server", "rounds.pool", "map", "mode", "recorded_at", "started_at", "rounds.seconds"),
    *("winner", "captures_a", "captures_b", "lineup", _EXPECTED, "rounds.prediction", _WHY_UNRATED, "pruned"),
)
_ROUND = ", ".join(_ROUND_COLUMNS)
_PLAYED = """
player, side, seconds_a, seconds_b, quit, before, after, participants.prediction, score, participants.rounds, visible,
    spans, counts
"""
_NAMES_AT_ONCE = 2000
"""Names that are read without letting a round pass: they take a few milliseconds."""


_PIECES = 50
"""Pieces of the decision log that one call looks through: 100,000 lines, a tenth of a second."""


class SqliteListings(StoreThread):
    """The reads of `Listings`."""

    # ruff: noqa: D102 (the port documents these methods)

    async def rounds(
        self, server: ServerId | None, before: int | None, limit: int, rated_in: str | None = None
    ) -> Sequence[StoredRound]:
        return await self._read_noted(lambda db: rounds(db, server, before, limit, rated_in))

    async def round(self, server: ServerId, id: RoundId) -> tuple[StoredRound, Sequence[Played]] | None:
        return await self._read_noted(lambda db: round_(db, server, id))

    async def played(
        self, pool: str, player: PlayerId, server: ServerId | None, before: int | None, limit: int
    ) -> Sequence[tuple[StoredRound, Played]]:
        return await self._read_noted(lambda db: played(db, pool, player, server, before, limit))

    async def records(self, pool: str, ids: Sequence[PlayerId]) -> Mapping[PlayerId, Record]:
        return await self._read(lambda db: records_of(db, pool, ids))

    async def edits_of(self, pool: str, player: PlayerId, before: int | None, limit: int) -> Sequence[EditOf]:
        return await self._read_noted(lambda db: edits_of(db, pool, player, before, limit))

    async def named(self, pool: str, text: str, limit: int) -> Sequence[tuple[PlayerId, str]]:
        exact: list[tuple[PlayerId, str]] = []
        others: list[tuple[PlayerId, str]] = []
        after, wanted = "", _plain(text)
        while True:
            piece = await self._read_noted(partial(names, pool=pool, after=after))
            for player, name in piece:
                if wanted == _plain(name):
                    exact.append((player, name))
                elif wanted in _plain(name):
                    others.append((player, name))
            if len(piece) < _NAMES_AT_ONCE:
                return (*exact, *others)[:limit]
            after = piece[-1][0]

    async def decisions_about(
        self,
        player: PlayerId,
        server: ServerId | None,
        limit: int,
        *,
        before: int | None = None,
        after: int = 0,
        since: float | None = None,
    ) -> tuple[Sequence[Decision], int | None]:
        found: list[Decision] = []
        if since is not None:
            after = max(after, await self._read_noted(lambda db: notes.last_before(db, since)))
        for _ in range(_PIECES):
            about = partial(notes.decisions_about, player=player, server=server, limit=limit - len(found))
            lines, oldest = await self._read_noted(partial(about, before=before, after=after))
            found += lines
            if len(found) == limit:
                return found, found[-1].number
            if oldest is None:
                return found, None
            before = oldest
        return found, before

    async def seen(self, pool: str, player: PlayerId) -> bool:
        return await self._read_noted(lambda db: seen(db, pool, player))


def rounds(
    db: sqlite3.Connection, server: ServerId | None, before: int | None, limit: int, rated_in: str | None
) -> list[StoredRound]:
    """The newest rounds of a server, or of all; or the rated ones alone of a pool."""
    wheres = ["server = :server"] * (server is not None) + ["number < :before"] * (before is not None)
    wheres += ["pool = :pool AND prediction IS NOT NULL"] * (rated_in is not None)
    found = db.execute(
        f"SELECT {_ROUND} FROM rounds {_where(wheres)} ORDER BY number DESC LIMIT :limit",
        {"server": server, "before": before, "limit": limit, "pool": rated_in},
    )
    return [_round(each) for each in found]


def round_(db: sqlite3.Connection, server: ServerId, id: RoundId) -> tuple[StoredRound, list[Played]] | None:
    """A round and its participants in the order of its answer; None when it is not stored."""
    row = db.execute(f"SELECT {_ROUND} FROM rounds WHERE server = ? AND id = ?", (server, id)).fetchone()
    if row is None:
        return None
    found = _round(row)
    participants = db.execute(f"SELECT {_PLAYED} FROM participants WHERE round = ? ORDER BY place", (found.number,))
    return found, [_played(each) for each in participants]


def played(
    db: sqlite3.Connection, pool: str, player: PlayerId, server: ServerId | None, before: int | None, limit: int
) -> list[tuple[StoredRound, Played]]:
    """The newest rated rounds of a player, on one server or on all."""
    wheres = ["participants.pool = :pool", "player = :player"]
    wheres += ["server = :server"] * (server is not None) + ["round < :before"] * (before is not None)
    # The participant's rows come in the order of the primary key, and each brings its round: nothing is sorted.
    found = db.execute(
        f"SELECT {_ROUND}, {_PLAYED} FROM participants CROSS JOIN rounds ON rounds.number = participants.round "
        f"{_where(wheres)} ORDER BY round DESC LIMIT :limit",
        {"pool": pool, "player": player, "server": server, "before": before, "limit": limit},
    )
    width = len(_ROUND_COLUMNS)
    return [(_round(each[:width]), _played(each[width:])) for each in found]


def edits_of(db: sqlite3.Connection, pool: str, player: PlayerId, before: int | None, limit: int) -> list[EditOf]:
    """The newest edits of a player."""
    older = "" if before is None else "AND edit < :before"
    found = db.execute(
        "SELECT edits.number, at, who, action, struck, before_rating, after_rating "
        "FROM edited CROSS JOIN edits ON edits.number = edited.edit "
        f"WHERE edited.pool = :pool AND player = :player {older} ORDER BY edit DESC LIMIT :limit",
        {"pool": pool, "player": player, "before": before, "limit": limit},
    )
    return [
        EditOf(number, at, who, action, bool(struck), *rating) for number, at, who, action, struck, *rating in found
    ]


def names(db: sqlite3.Connection, pool: str, after: str) -> list[tuple[PlayerId, str]]:
    """A piece of the players' last names, of those whose ids come after one."""
    found = db.execute(
        "SELECT player, name FROM names WHERE pool = ? AND player > ? ORDER BY player LIMIT ?",
        (pool, after, _NAMES_AT_ONCE),
    )
    return [(PlayerId(player), name) for player, name in found]


def seen(db: sqlite3.Connection, pool: str, player: PlayerId) -> bool:
    """Whether the player has a rating or a name in this pool."""
    found = db.execute(
        "SELECT 1 FROM players WHERE pool = :pool AND id = :player "
        "UNION ALL SELECT 1 FROM names WHERE pool = :pool AND player = :player",
        {"pool": pool, "player": player},
    ).fetchone()
    return found is not None


def _where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _plain(text: str) -> str:
    """The text without differences of case, and of forms that look alike."""
    return unicodedata.normalize("NFKC", text).casefold()


def _round(row: Sequence[Any]) -> StoredRound:
    number, id, server, pool, map, mode, at, started_at, seconds, winner, a, b, lineup, prediction, *rest = row
    rating_prediction, unrated, pruned = rest
    players = msgspec.json.decode(lineup, type=tuple[LineupPlayer, ...])
    on_a, on_b = (tuple(one.id for one in players if one.side is side) for side in Side)
    return StoredRound(
        number=number,
        id=RoundId(id),
        server=ServerId(server),
        pool=pool,
        map=map,
        mode=Mode(mode),
        at=at,
        started_at=started_at,
        seconds=seconds,
        winner=winner and Side(winner),
        captures_a=a,
        captures_b=b,
        lineup_a=on_a,
        lineup_b=on_b,
        prediction=prediction,
        rating_prediction=rating_prediction,
        unrated=unrated,
        pruned=bool(pruned),
    )


def _played(row: Sequence[Any]) -> Played:
    player, side, seconds_a, seconds_b, quit, before, after, prediction, score, rounds, visible, spans, counts = row
    return Played(
        id=PlayerId(player),
        side=Side(side),
        seconds_a=seconds_a,
        seconds_b=seconds_b,
        quit=bool(quit),
        before=before,
        after=after,
        prediction=prediction,
        score=score,
        rounds=rounds,
        visible=bool(visible),
        spans=spans_of(spans),
        counts=counts_of(counts),
    )
