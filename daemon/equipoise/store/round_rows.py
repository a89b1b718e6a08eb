"""Rounds as they are stored: with their participants, as records count them, taken out of the ratings, and pruned.

A round is rated inside the transaction that stores it (`apply`), from the rows that it finds there: rounds that end at
one moment on two servers are rated one after the other, and a round that is sent again finds its answer. A round that
an admin takes out of the ratings stays, with its participants put apart, so that it can be put back.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from equipoise.core.effects import RecordRound
from equipoise.core.events import Count
from equipoise.core.memory import replaces
from equipoise.core.model import Counts, Participant, PlayerId, RoundId, ServerId, Side, Span
from equipoise.store import player_rows
from equipoise.store.player_rows import Change, PlayerRow, SharedParts, encoded


@dataclass(frozen=True, slots=True)
class RatedRound:
    """A round's answer: the first one, however often it is sent."""

    round: RoundId
    prediction: float | None
    """Win probability of side A; None when the round was not rated."""
    changes: tuple[Change, ...]
    again: bool = False
    """The round was stored before: this is its first answer."""
    shared: Mapping[str, object] = field(default_factory=dict)
    """Parts of the system's shared state that the round changed, by key; not in the answer."""
    unrated: str | None = None
    """Why it was not rated, by the rules or by the rating system."""
    number: int = field(default=0, compare=False)
    """Its place in the store's sequence; 0 where it was stored before. Not in the answer."""
    said: float | None = field(default=None, compare=False)
    """The win probability of side A that was said, if this system made the teams and is calibrated; None: the
    prediction. Not in the answer."""
    unevenness: float | None = field(default=None, compare=False)
    """Distance of the true chance of side A from a half, as expected before it; None: the system knows no deviations.
    Not in the answer."""


@dataclass(frozen=True, slots=True)
class HeldVersions:
    """The versions that memory holds of what a round needs; 0 where it holds nothing."""

    players: Mapping[PlayerId, int]
    """All players whose ratings the round needs."""
    shared: int = 0


class Submission(Protocol):
    """A round on its way into the store, which calls this inside its transaction. Nothing here does I/O."""

    @property
    def record(self) -> RecordRound:
        """The round as its server sent it."""

    @property
    def memory(self) -> bytes | None:
        """The server's session memory after the round; None: no session has seen it, as one that a program submits."""

    @property
    def at(self) -> float:
        """The time when the round first came in, seconds since the epoch."""

    def held(self) -> HeldVersions:
        """The versions in memory now, which rounds of the same transaction may have changed. Called before `rate`."""

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        """Rate the round, given the rows that are stored in another version than the one held. Called once."""

    def undo(self) -> None:
        """Undo in memory what `rate` did; does nothing if it was not called, or was undone already."""


SCORES = {"a": 1.0, None: 0.5, "b": 0.0}
"""The score of side A by the winner of a round."""

Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
Duration = Annotated[float, Meta(ge=0.0)]
SteamId = Annotated[str, Meta(pattern=r"^76561(19|20)\d{10}$")]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A player's rated rounds by their result, those that were deleted for their age included."""

    wins: Count
    """Rated rounds that they won."""
    draws: Count
    """Rated rounds that no side won."""
    losses: Count
    """Rated rounds that they lost."""
    leaves: Count
    """Rounds among these that they left before the end."""


class ParticipantRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A row of `participants`, beside its pool and round; `voids` keeps it as a list, in older stores a shorter one."""

    player: SteamId
    side: Side
    seconds_a: Duration
    seconds_b: Duration
    quit: Count
    place: Count
    before: float
    after: float
    prediction: Probability
    score: Probability
    rounds: Count
    visible: Count
    state: str
    spans: str | None = None
    counts: str | None = None


PARTICIPANT = ", ".join(f"participants.{name}" for name in ParticipantRow.__struct_fields__)
"""The columns of a row, for a SELECT."""
ADD_PARTICIPANT = (
    f"INSERT INTO participants (pool, round, {', '.join(ParticipantRow.__struct_fields__)}) "
    f"VALUES (?, ?{', ?' * len(ParticipantRow.__struct_fields__)})"
)


def first_answer(db: sqlite3.Connection, server: ServerId, round_id: RoundId) -> RatedRound | None:
    """The answer that a round got when it was stored; None if it is not stored."""
    row = db.execute(
        "SELECT number, prediction, unrated, voided FROM rounds WHERE server = ? AND id = ?", (server, round_id)
    ).fetchone()
    if row is None:
        return None
    number, prediction, reason, void = row
    changes = _changes(db, number)
    # What the round did is kept apart then: its script still gets the answer that it got first.
    if void is not None:
        prediction, changes = voided_answer(db, number)
    return RatedRound(round_id, prediction, changes, again=True, unrated=reason)


def pool_of(db: sqlite3.Connection, server: ServerId, round_id: RoundId) -> str | None:
    """The pool of a round; None: it is not stored."""
    row = db.execute("SELECT pool FROM rounds WHERE server = ? AND id = ?", (server, round_id)).fetchone()
    return row and str(row[0])


def apply(
    db: sqlite3.Connection, pool: str, submission: Submission, window: int, *, shared: bool = False
) -> RatedRound:
    """Rate a round by what is stored now, and write what it does; a round that is stored already changes nothing.

    Of a `shared` pool the session's memory is written though a newer one is here: other machines have an older one.
    """
    record, server = submission.record, submission.record.round.server
    if first := first_answer(db, server, record.round.id):
        return first
    # Most players are in memory in the version that is stored: the rows of the others alone are read.
    versions = submission.held()
    answer = submission.rate(
        player_rows.load(db, pool, versions.players, window), player_rows.shared(db, pool, versions.shared)
    )
    # Players before participants, which refer to them.
    player_rows.update(db, pool, answer.changes, record.round.started_at)
    number = insert(db, pool, record, answer, submission.at)
    player_rows.keep_shared(db, pool, answer.shared)
    if submission.memory is not None:
        remember_if_newer(db, server, submission.memory, submission.at, older_too=shared)
    return replace(answer, number=number)


def next_number(db: sqlite3.Connection) -> int:
    """The number of the round or the edit that is written next."""
    # Not SQLite's own numbering, which counts each table by itself: rounds and edits share one sequence. A snapshot
    # that was moved here may be newer than every event that moved with it, and leads to higher numbers alone.
    tables = ("rounds", "edits", "snapshots")
    last = [db.execute(f"SELECT max(number) FROM {table}").fetchone()[0] or 0 for table in tables]
    return int(max(last)) + 1


def insert(db: sqlite3.Connection, pool: str, record: RecordRound, answer: RatedRound, at: float) -> int:
    """Write a round and what it did to its participants, whose players are stored already; return its number."""
    game_round = record.round
    row = {
        "number": next_number(db),
        "server": game_round.server,
        "id": game_round.id,
        "pool": pool,
        "session": game_round.session,
        "map": game_round.map,
        "mode": game_round.mode.value,
        "started_at": game_round.started_at,
        "seconds": game_round.seconds,
        "winner": game_round.winner and game_round.winner.value,
        "captures_a": game_round.captures_a,
        "captures_b": game_round.captures_b,
        "partial": game_round.partial,
        "waiting": game_round.waiting,
        "lineup": encoded(game_round.lineup),
        "squads": encoded(game_round.squads) if game_round.squads else None,
        "bots": written_spans(game_round.bots),
        "skill_at_start": None if record.skill_at_start is None else encoded(record.skill_at_start),
        "unrated": answer.unrated,
        "prediction": answer.prediction,
        "said": answer.said,
        "unevenness": answer.unevenness,
        "recorded_at": at,
    }
    statement = f"INSERT INTO rounds ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    number = db.execute(statement, tuple(row.values())).lastrowid
    assert number is not None
    participants_by_id = {participant.id: participant for participant in record.participants}
    quits = {presence.id for presence in game_round.presences if presence.left}
    rows = (
        _row(place, change, participants_by_id[change.id], change.id in quits)
        for place, change in enumerate(answer.changes)
    )
    db.executemany(ADD_PARTICIPANT, [(pool, number, *row) for row in rows])
    count_records(db, number)
    return number


def remember_if_newer(
    db: sqlite3.Connection, server: ServerId, memory: bytes, at: float, *, older_too: bool = False
) -> None:
    """Store a session's memory unless a newer one is there, or also then."""
    if older_too or is_newer(db, server, memory, at):
        db.execute("INSERT OR REPLACE INTO sessions (server, memory, at) VALUES (?, ?, ?)", (server, memory, at))


def is_newer(db: sqlite3.Connection, server: ServerId, memory: bytes, at: float) -> bool:
    """Return whether a session's memory goes in the place of the one that is stored."""
    row = db.execute("SELECT memory, at FROM sessions WHERE server = ?", (server,)).fetchone()
    return row is None or replaces(memory, at, bytes(row[0]), row[1])


def memory(db: sqlite3.Connection, server: ServerId) -> bytes | None:
    """The stored memory of a server's session; None before the first."""
    row = db.execute("SELECT memory FROM sessions WHERE server = ?", (server,)).fetchone()
    return row and bytes(row[0])


def memory_at(db: sqlite3.Connection, server: ServerId) -> float:
    """Return when a server's session had the memory that is stored; infinity before the first."""
    row = db.execute("SELECT at FROM sessions WHERE server = ?", (server,)).fetchone()
    return math.inf if row is None else float(row[0])


def _row(place: int, change: Change, participant: Participant, left: bool) -> tuple[object, ...]:
    """The columns of `PARTICIPANT`."""
    return (
        change.id,
        change.side.value,
        participant.seconds_a,
        participant.seconds_b,
        left,
        place,
        change.before,
        change.after,
        change.prediction,
        change.score,
        change.rounds,
        change.visible,
        encoded(change.state),
        written_spans(participant.spans),
        written_counts(participant.counts),
    )


def _changes(db: sqlite3.Connection, number: int) -> tuple[Change, ...]:
    rows = db.execute(f"SELECT {PARTICIPANT} FROM participants WHERE round = ? ORDER BY place", (number,))
    return tuple(change_of(ParticipantRow(*row)) for row in rows)


# What a round did to a participant, as a row has it.

_spans = msgspec.json.Decoder(tuple[Span, ...])
_counts = msgspec.json.Decoder(Counts)


def change_of(row: ParticipantRow) -> Change:
    """Return the change that a row says."""
    return Change(
        id=PlayerId(row.player),
        side=Side(row.side),
        before=row.before,
        after=row.after,
        prediction=row.prediction,
        score=row.score,
        rounds=row.rounds,
        visible=bool(row.visible),
        state=msgspec.json.decode(row.state, type=dict[str, object]),
    )


def replayed_columns(change: Change) -> tuple[object, ...]:
    """Return the columns that a replay changes."""
    return change.before, change.after, change.prediction, change.rounds, change.visible, encoded(change.state)


def written_spans(spans: tuple[Span, ...]) -> str | None:
    """Spans as their column has them; None for none."""
    return encoded(spans) if spans else None


def spans_of(column: str | None) -> tuple[Span, ...]:
    """The spans that a column says."""
    return () if column is None else _spans.decode(column)


def written_counts(counts: Counts | None) -> str | None:
    """Return the counts as their column has them; None where they are not known."""
    if counts is None:
        return None
    columns = msgspec.to_builtins(counts)
    # As in all rows before there was this field, and in those of other games.
    if counts.hive is None:
        del columns["hive"]
    return encoded(columns)


def counts_of(column: str | None) -> Counts | None:
    """Return the counts that a column says; None where they are not known."""
    return None if column is None else _counts.decode(column)


# Players' wins, draws, losses and leaves.

_COUNT = """
UPDATE players SET
    wins = wins + :by * (score = 1.0), draws = draws + :by * (score = 0.5), losses = losses + :by * (score = 0.0),
    leaves = leaves + :by * quit
FROM participants WHERE round = :round AND players.pool = participants.pool AND players.id = player
"""


def count_records(db: sqlite3.Connection, number: int, *, by: int = 1) -> None:
    """Take the participants of a stored round into their records; by -1, take them out again."""
    db.execute(_COUNT, {"round": number, "by": by})


def replace_records(db: sqlite3.Connection, pool: str, records: Iterable[tuple[PlayerId, Record]]) -> None:
    """Replace records, which may count rounds that are stored no more."""
    db.executemany(
        "UPDATE players SET wins = ?, draws = ?, losses = ?, leaves = ? WHERE pool = ? AND id = ?",
        ((record.wins, record.draws, record.losses, record.leaves, pool, player) for player, record in records),
    )


def records_of(db: sqlite3.Connection, pool: str, ids: Sequence[PlayerId]) -> dict[PlayerId, Record]:
    """Records by id, empty ones of players who were never rated."""
    rows = db.execute(
        "SELECT id, wins, draws, losses, leaves FROM players WHERE pool = ? AND id IN (SELECT value FROM json_each(?))",
        (pool, encoded(ids)),
    )
    return dict.fromkeys(ids, Record(0, 0, 0, 0)) | {PlayerId(player): Record(*counts) for player, *counts in rows}


# Rounds that were taken out of the ratings.

_voided = msgspec.json.Decoder(list[ParticipantRow])


def take_out(db: sqlite3.Connection, number: int, edit: int) -> None:
    """Keep apart what a rated round did."""
    rows = db.execute(f"SELECT {PARTICIPANT} FROM participants WHERE round = ? ORDER BY place", (number,)).fetchall()
    db.execute(
        # First the copy, then what is copied goes: `count_records` too reads the participants that are deleted below.
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
    rows = [msgspec.structs.astuple(row) for row in voided_participants(db, number)]
    db.executemany(ADD_PARTICIPANT, [(pool, number, player, side.value, *rest) for player, side, *rest in rows])
    count_records(db, number)
    db.execute("DELETE FROM voids WHERE round = ?", (number,))


def voided_participants(db: sqlite3.Connection, number: int) -> list[ParticipantRow]:
    """The rows of a voided round's participants, in the order of their places."""
    (text,) = db.execute("SELECT participants FROM voids WHERE round = ?", (number,)).fetchone()
    return _voided.decode(text)


def voided_answer(db: sqlite3.Connection, number: int) -> tuple[float, tuple[Change, ...]]:
    """The prediction and the changes that a voided round had."""
    (prediction,) = db.execute("SELECT prediction FROM voids WHERE round = ?", (number,)).fetchone()
    return prediction, tuple(change_of(row) for row in voided_participants(db, number))


# A round can be deleted only in parts. The last W rows of each of its participants are the window that their next
# rating is made from, and a player who comes once a year needs the rows of years ago. So the rows outside of every
# window are deleted, and the round itself with its last row; until then it is marked as pruned, and its lineup is
# emptied. It is never rated again: it would be another round without those who are missing. Each call deletes one small
# piece, so that a round which comes meanwhile waits for that piece alone. The file does not shrink: SQLite writes the
# next rows on the pages that became free.

# The newest round of the store stays, however old it is: the next one is numbered after it (`next_number`). Were all of
# them deleted, numbers would begin again below that of a snapshot, and what follows the snapshot would not be read.
_PRUNABLE = """
FROM rounds WHERE pool = :pool AND NOT pruned AND recorded_at < :before AND number < (SELECT max(number) FROM rounds)
"""
_OLDEST = f"SELECT number, prediction IS NOT NULL {_PRUNABLE} ORDER BY recorded_at LIMIT :limit"
_MARK = "UPDATE rounds SET pruned = 1, lineup = '[]', skill_at_start = NULL WHERE number = ?"
_PLAYERS = "SELECT player FROM participants WHERE round = ?"
# Rows above `:last` are looked at when their own round is pruned, so each row is looked at few times.
_OUTSIDE_WINDOW = """
DELETE FROM participants
WHERE pool = :pool AND player = :player AND round <= :last AND (:window = 0 OR round < (
    SELECT round FROM participants WHERE pool = :pool AND player = :player
    ORDER BY round DESC LIMIT 1 OFFSET :window - 1
)) AND (SELECT pruned FROM rounds WHERE number = participants.round)
RETURNING round
"""
_WITHOUT_ROWS = """
DELETE FROM rounds WHERE number = ? AND pruned AND NOT EXISTS (SELECT 1 FROM participants WHERE round = rounds.number)
"""


def prune_rounds(db: sqlite3.Connection, pool: str, window: int, before: float, limit: int) -> int:
    """Delete up to `limit` rounds that were stored before a time, except a player's window and the newest round.

    A participant's last `window` rows stay, and so does what little of their rounds these rows need. Returns how many
    rounds there were to delete: fewer than `limit` mean that none is left.
    """
    rows = db.execute(_OLDEST, {"pool": pool, "before": before, "limit": limit}).fetchall()
    rounds, last = {number for number, _ in rows}, max((number for number, _ in rows), default=0)
    # First the mark: rows are only deleted of rounds that have
    # it, so that none is rated again by a part of its players.
    db.executemany(_MARK, [(number,) for number in rounds])
    db.executemany("DELETE FROM voids WHERE round = ?", [(number,) for number in rounds])
    # Once for each player, however many of these rounds they played.
    player_rows = {row for number in rounds for row in db.execute(_PLAYERS, (number,))}
    for (player,) in player_rows:
        values = {"pool": pool, "player": player, "last": last, "window": window}
        rounds.update(number for (number,) in db.execute(_OUTSIDE_WINDOW, values).fetchall())
    db.executemany(_WITHOUT_ROWS, [(number,) for number in rounds])
    rated_rounds = sum(is_rated for _, is_rated in rows)
    db.execute("UPDATE pools SET pruned_rounds = pruned_rounds + ? WHERE pool = ?", (rated_rounds, pool))
    return len(rows)


def last_prunable(db: sqlite3.Connection, pool: str, before: float) -> int:
    """The highest number of a round that `prune_rounds` would delete without a limit; 0: there is none."""
    (last,) = db.execute(f"SELECT max(number) {_PRUNABLE}", {"pool": pool, "before": before}).fetchone()
    return last or 0


def forget_pruned(db: sqlite3.Connection, pool: str) -> None:
    """Delete what is left of a pool's pruned rounds."""
    values = {"pool": pool}
    numbers = "SELECT number FROM rounds WHERE pool = :pool AND pruned"
    db.execute(f"DELETE FROM participants WHERE pool = :pool AND round IN ({numbers})", values)
    db.execute("DELETE FROM rounds WHERE pool = :pool AND pruned", values)


def pruned_rounds(db: sqlite3.Connection, pool: str) -> int:
    """The rated rounds that were ever pruned from a pool."""
    row = db.execute("SELECT pruned_rounds FROM pools WHERE pool = ?", (pool,)).fetchone()
    return row[0] if row else 0
