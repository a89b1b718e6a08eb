"""Rounds in SQLite: with their participants, as quality measures them, as records count them, and taken out again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from equipoise.core.effects import RecordRound
from equipoise.core.model import Counts, LineupPlayer, Participant, PlayerId, Round, RoundId, ServerId, Side, Span
from equipoise.store.listings import Record
from equipoise.store.moved import VoidRow
from equipoise.store.port import Submission
from equipoise.store.rated import Change, RatedRound
from equipoise.store.sqlite import players
from equipoise.store.sqlite.players import encoded
from equipoise.store.sqlite.sequence import next_number
from equipoise.store.upkeep import Gained, MeasuredRound, MeasuredSeat, Prediction, TeamSize


def first_answer(db: sqlite3.Connection, server: ServerId, id: RoundId) -> RatedRound | None:
    """The answer that a round got when it was stored; None if it is not stored."""
    found = db.execute(
        "SELECT number, prediction, unrated, voided FROM rounds WHERE server = ? AND id = ?", (server, id)
    ).fetchone()
    if found is None:
        return None
    number, prediction, unrated, voided = found
    changes = _changes(db, number)
    if voided is not None:
        prediction, changes = voided_answer(db, number)
    return RatedRound(id, prediction, changes, again=True, unrated=unrated)


def pool_of(db: sqlite3.Connection, server: ServerId, id: RoundId) -> str | None:
    """The pool of a stored round."""
    found = db.execute("SELECT pool FROM rounds WHERE server = ? AND id = ?", (server, id)).fetchone()
    return found and str(found[0])


def apply(db: sqlite3.Connection, pool: str, one: Submission, window: int) -> RatedRound:
    """Rate a round by what is stored now, and write what it does; a round that is stored already changes nothing."""
    record, server = one.record, one.record.round.server
    if first := first_answer(db, server, record.round.id):
        return first
    held = one.held()
    rated = one.rate(players.load(db, pool, held.players, window), players.shared(db, pool, held.shared))
    players.update(db, pool, rated.changes, record.round.started_at)
    number = insert(db, pool, record, rated, one.at)
    players.keep_shared(db, pool, rated.shared)
    if one.memory is not None:
        remember_if_newer(db, server, one.memory, one.at)
    return replace(rated, number=number)


def insert(db: sqlite3.Connection, pool: str, record: RecordRound, rated: RatedRound, at: float) -> int:
    """A round and what it did to its participants, whose players are stored already; returns its number."""
    round = record.round
    number = db.execute(
        """
        INSERT INTO rounds (
            number, server, id, pool, session, map, mode, started_at, seconds, winner, captures_a, captures_b,
            partial, waiting, lineup, squads, bots, skill_at_start, unrated, prediction, said, unevenness,
            recorded_at
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            *(next_number(db), *_facts(pool, round), _skill_at_start(record)),
            *(rated.unrated, rated.prediction, rated.said, rated.unevenness, at),
        ),
    ).lastrowid
    assert number is not None
    played = {each.id: _played(each) for each in record.participants}
    quits = {each.id for each in round.presences if each.left}
    db.executemany(
        """
        INSERT INTO participants (
            pool, round, place, player, seconds_a, seconds_b, spans, counts, quit,
            side, before, after, prediction, score, rounds, visible, state
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (pool, number, place, change.id, *played[change.id], change.id in quits, *_effect(change))
            for place, change in enumerate(rated.changes)
        ],
    )
    count_records(db, number)
    return number


def predictions(db: sqlite3.Connection, pool: str, limit: int | None) -> list[Prediction]:
    """The last rated rounds, without a limit all, oldest first."""
    found = db.execute(
        "SELECT started_at, prediction, winner, unevenness FROM rounds "
        "WHERE pool = ? AND prediction IS NOT NULL ORDER BY number DESC LIMIT coalesce(?, -1)",
        (pool, limit),
    ).fetchall()
    score = {"a": 1.0, None: 0.5, "b": 0.0}
    return [Prediction(at, predicted, score[winner], known) for at, predicted, winner, known in reversed(found)]


LATELY = 20
"""Rounds by which a pool is known to have a balance system or none: it may have failed at some of them."""


def plays_alone(db: sqlite3.Connection, pool: str) -> bool:
    """Whether a pool has rated rounds, and no balance system predicted any of the last."""
    found = db.execute(
        "SELECT balance_prediction IS NULL FROM rounds "
        "WHERE pool = ? AND prediction IS NOT NULL ORDER BY number DESC LIMIT ?",
        (pool, LATELY),
    ).fetchall()
    return bool(found) and all(alone for (alone,) in found)


def plays_alone_in(file: Path, pool: str) -> bool:
    """The same of a store's file, which a daemon may have open; False where it cannot be told."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as db:
            return plays_alone(db, pool)
    except sqlite3.Error:  # no store yet, or one that the daemon has to bring up to date or to complain of
        return False


def remember_if_newer(db: sqlite3.Connection, server: ServerId, memory: bytes, at: float) -> None:
    """Store a session's memory unless a newer one is there."""
    db.execute(
        "INSERT INTO sessions (server, memory, at) VALUES (?, ?, ?) ON CONFLICT (server) DO UPDATE SET "
        "memory = excluded.memory, at = excluded.at WHERE excluded.at >= at",
        (server, memory, at),
    )


def memory(db: sqlite3.Connection, server: ServerId) -> bytes | None:
    """The stored memory of a server's session; None before the first."""
    found = db.execute("SELECT memory FROM sessions WHERE server = ?", (server,)).fetchone()
    return found and bytes(found[0])


def _facts(pool: str, round: Round) -> tuple[object, ...]:
    return (
        round.server,
        round.id,
        pool,
        round.session,
        round.map,
        round.mode.value,
        round.started_at,
        round.seconds,
        round.winner and round.winner.value,
        round.captures_a,
        round.captures_b,
        round.partial,
        round.waiting,
        encoded(round.lineup),
        encoded(round.squads) if round.squads else None,
        written_spans(round.bots),
    )


def _played(each: Participant) -> tuple[object, ...]:
    return each.seconds_a, each.seconds_b, written_spans(each.spans), written_counts(each.counts)


def _skill_at_start(record: RecordRound) -> str | None:
    return None if record.skill_at_start is None else encoded(record.skill_at_start)


def _effect(change: Change) -> tuple[object, ...]:
    return (
        change.side.value,
        change.before,
        change.after,
        change.prediction,
        change.score,
        change.rounds,
        change.visible,
        encoded(change.state),
    )


def _changes(db: sqlite3.Connection, number: int) -> tuple[Change, ...]:
    found = db.execute(
        "SELECT player, side, before, after, prediction, score, rounds, visible, state "
        "FROM participants WHERE round = ? ORDER BY place",
        (number,),
    )
    return tuple(change_of(each) for each in found)


# What a round did to a participant, as a row has it.

_spans = msgspec.json.Decoder(tuple[Span, ...])
_counts = msgspec.json.Decoder(Counts)

Found = tuple[str, str, float, float, float, float, int, int, str]
"""Player, side, ratings before and after, prediction, score, rounds, visible, state."""


def change_of(found: Found) -> Change:
    """The change that these columns say."""
    player, side, before, after, prediction, score, rounds, visible, state = found
    return Change(
        id=PlayerId(player),
        side=Side(side),
        before=before,
        after=after,
        prediction=prediction,
        score=score,
        rounds=rounds,
        visible=bool(visible),
        state=msgspec.json.decode(state, type=dict[str, object]),
    )


def effect(change: Change) -> tuple[object, ...]:
    """What a replay changes in the row."""
    return change.before, change.after, change.prediction, change.rounds, change.visible, encoded(change.state)


def written_spans(spans: tuple[Span, ...]) -> str | None:
    """Spans as their column has them."""
    return encoded(spans) if spans else None


def spans_of(column: str | None) -> tuple[Span, ...]:
    """The spans that a column says."""
    return () if column is None else _spans.decode(column)


def written_counts(counts: Counts | None) -> str | None:
    """What they did as its column has it."""
    return None if counts is None else encoded(counts)


def counts_of(column: str | None) -> Counts | None:
    """What a column says that they did."""
    return None if column is None else _counts.decode(column)


# Rounds as `pool quality` measures them,: what was predicted, for whom, and what happened.

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


# Players' wins, draws, losses and leaves.

_COUNT = """
INSERT INTO records (pool, player, wins, draws, losses, leaves)
SELECT pool, player, :by * (score = 1.0), :by * (score = 0.5), :by * (score = 0.0), :by * quit
FROM participants WHERE round = :round
ON CONFLICT (pool, player) DO UPDATE SET
    wins = wins + excluded.wins, draws = draws + excluded.draws, losses = losses + excluded.losses,
    leaves = leaves + excluded.leaves
"""
_COUNT_ALL = """
INSERT INTO records
SELECT pool, player, sum(score = 1.0), sum(score = 0.5), sum(score = 0.0), sum(quit) FROM participants
WHERE pool = ? GROUP BY player
"""


def count_records(db: sqlite3.Connection, round: int, *, by: int = 1) -> None:
    """Take the participants of a stored round into their records; by -1, take them out again."""
    db.execute(_COUNT, {"round": round, "by": by})


def recount_records(db: sqlite3.Connection, pool: str) -> None:
    """Replace a pool's records by what its stored rounds say."""
    db.execute("DELETE FROM records WHERE pool = ?", (pool,))
    db.execute(_COUNT_ALL, (pool,))


def replace_records(db: sqlite3.Connection, pool: str, records: Iterable[tuple[PlayerId, Record]]) -> None:
    """Replace records, which may count rounds that are stored no more."""
    db.executemany(
        "INSERT OR REPLACE INTO records (pool, player, wins, draws, losses, leaves) VALUES (?, ?, ?, ?, ?, ?)",
        ((pool, player, each.wins, each.draws, each.losses, each.leaves) for player, each in records),
    )


def records_of(db: sqlite3.Connection, pool: str, players: Sequence[PlayerId]) -> dict[PlayerId, Record]:
    """Records by id, empty ones of players who were never rated."""
    found = db.execute(
        "SELECT player, wins, draws, losses, leaves FROM records "
        "WHERE pool = ? AND player IN (SELECT value FROM json_each(?))",
        (pool, encoded(players)),
    )
    return dict.fromkeys(players, Record()) | {PlayerId(player): Record(*counts) for player, *counts in found}


# Rounds that were taken out of the ratings.

_COLUMNS = (
    "player, side, seconds_a, seconds_b, quit, place, before, after, prediction, score, rounds, visible, state, spans, "
    "counts"
)

ParticipantRow = tuple[
    str, str, float, float, int, int, float, float, float, float, int, int, str, str | None, str | None
]
"""A row of `participants` in the order of `_COLUMNS`."""

_decoder = msgspec.json.Decoder(list[VoidRow])


def take_out(db: sqlite3.Connection, number: int, edit: int) -> None:
    """Keep apart what a rated round did."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM participants WHERE round = ? ORDER BY place", (number,)).fetchall()
    db.execute(
        "INSERT INTO voids (round, edit, prediction, participants) SELECT number, ?, prediction, ? "
        "FROM rounds WHERE number = ?",
        (edit, encoded(rows), number),
    )
    count_records(db, number, by=-1)
    db.execute("DELETE FROM participants WHERE round = ?", (number,))
    db.execute("UPDATE rounds SET voided = ?, prediction = NULL WHERE number = ?", (edit, number))


def put_back(db: sqlite3.Connection, pool: str, number: int) -> None:
    """Undo `take_out`; the numbers are those of then."""
    db.execute(
        "UPDATE rounds SET voided = NULL, prediction = (SELECT prediction FROM voids WHERE round = number) "
        "WHERE number = ?",
        (number,),
    )
    places = ", ".join("?" * 15)
    db.executemany(
        f"INSERT INTO participants (pool, round, {_COLUMNS}) VALUES (?, ?, {places})",
        [(pool, number, *row) for row in participants(db, number)],
    )
    count_records(db, number)
    db.execute("DELETE FROM voids WHERE round = ?", (number,))


def participants(db: sqlite3.Connection, number: int) -> list[ParticipantRow]:
    """The rows of a voided round's participants, in the order of their places."""
    (text,) = db.execute("SELECT participants FROM voids WHERE round = ?", (number,)).fetchone()
    rows = _decoder.decode(text)
    return [(row.player, row.side.value, *msgspec.structs.astuple(row)[2:]) for row in rows]


def voided_answer(db: sqlite3.Connection, number: int) -> tuple[float, tuple[Change, ...]]:
    """The prediction and the changes that a voided round had."""
    (prediction,) = db.execute("SELECT prediction FROM voids WHERE round = ?", (number,)).fetchone()
    return prediction, tuple(change_of((*row[:2], *row[6:13])) for row in participants(db, number))
