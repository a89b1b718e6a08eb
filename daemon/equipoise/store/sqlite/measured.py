"""Rounds as `pool quality` measures them, in SQLite: what was predicted, for whom, and what happened."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from equipoise.core.model import LineupPlayer, PlayerId, ServerId, Side
from equipoise.store.sqlite.players import encoded
from equipoise.store.upkeep import Gained, MeasuredRound, MeasuredSeat, TeamSize

PAGE = 100
"""Rounds read at once: others wait for the store's thread meanwhile."""

GAINED_ROUNDS = 1000
"""Of a player, the last ones."""

_NUMBERS = """
SELECT number FROM rounds WHERE pool = ? AND prediction IS NOT NULL ORDER BY number DESC LIMIT ?
"""
# Round by round: in a range of numbers lie all rounds of the other pools.
_ROUNDS = """
SELECT number, prediction, coalesce(said, balance_prediction), unevenness, winner, squads
FROM json_each(?) AS wanted CROSS JOIN rounds ON number = wanted.value
WHERE prediction IS NOT NULL AND NOT pruned ORDER BY wanted.key
"""
# By the index of rounds, and the round before by the order of the table, which is that of players.
_SEATS = """
SELECT round, player, side, prediction, score, rounds, (
    SELECT score FROM participants AS earlier
    WHERE earlier.pool = participants.pool AND earlier.player = participants.player
    AND earlier.round < participants.round ORDER BY earlier.round DESC LIMIT 1
)
FROM json_each(?) AS wanted CROSS JOIN participants INDEXED BY participants_by_round ON round = wanted.value
ORDER BY wanted.key, place
"""
_LINEUPS = """
SELECT server, lineup FROM json_each(?) AS wanted CROSS JOIN rounds ON number = wanted.value
WHERE NOT pruned ORDER BY wanted.key
"""
# By the order of the table the rounds of one player, by the index of rounds who else played in each of them.
_BEST = "SELECT id FROM players WHERE pool = ? AND visible ORDER BY rating DESC, id LIMIT ?"
_GAINED = """
SELECT total(after - before), total((after - before) * (few < :few)) FROM (
    SELECT before, after, (
        SELECT count(*) FROM participants AS others INDEXED BY participants_by_round WHERE others.round = own.round
    ) AS few
    FROM participants AS own WHERE pool = :pool AND player = :player ORDER BY round DESC LIMIT :rounds
)
"""
_SCORE = {"a": 1.0, None: 0.5, "b": 0.0}

_squads = msgspec.json.Decoder(tuple[tuple[PlayerId, ...], ...])
_lineup = msgspec.json.Decoder(tuple[LineupPlayer, ...])

_Seat = tuple[int, PlayerId, str, float, float, int, float | None]


def numbers(db: sqlite3.Connection, pool: str, limit: int) -> list[int]:
    """The last rated rounds, oldest first."""
    return [number for (number,) in reversed(db.execute(_NUMBERS, (pool, limit)).fetchall())]


def gained(db: sqlite3.Connection, pool: str, most: int, few: int) -> Gained:
    """What the highest ratings owe to rounds of less than `few` participants."""
    best = [player for (player,) in db.execute(_BEST, (pool, most))]
    asked = [{"pool": pool, "player": player, "few": few, "rounds": GAINED_ROUNDS} for player in best]
    found = [db.execute(_GAINED, each).fetchone() for each in asked]
    return Gained(len(best), sum(whole for whole, _ in found), sum(by_few for _, by_few in found))


def measured(db: sqlite3.Connection, page: Sequence[int]) -> list[MeasuredRound]:
    """These rounds, without those that have lost participants or are not rated any more."""
    wanted = (encoded(page),)
    seats = {number: list(found) for number, found in groupby(db.execute(_SEATS, wanted), key=lambda row: row[0])}
    return [
        MeasuredRound(predicted, said, known, _SCORE[winner], _seats(seats.get(number, []), squads))
        for number, predicted, said, known, winner, squads in db.execute(_ROUNDS, wanted)
    ]


def team_sizes(db: sqlite3.Connection, pool: str, limit: int) -> list[TeamSize]:
    """The size of the larger side in each of the last rated rounds, bots counted, oldest first."""
    found = db.execute(_LINEUPS, (encoded(numbers(db, pool, limit)),))
    return [
        TeamSize(ServerId(server), max(sum(one.side is side for one in _lineup.decode(text)) for side in Side))
        for server, text in found
    ]


def _seats(found: Sequence[_Seat], text: str | None) -> tuple[MeasuredSeat, ...]:
    sides: dict[PlayerId, Any] = {player: side for _, player, side, *_ in found}
    sizes: dict[PlayerId, int] = {}
    for squad in () if text is None else _squads.decode(text):
        for player in squad:
            sizes[player] = sum(sides.get(other) == sides.get(player) for other in squad)
    return tuple(
        MeasuredSeat(predicted, score, sizes.get(player, 1), rounds - 1, last)
        for _, player, _, predicted, score, rounds, last in found
    )
