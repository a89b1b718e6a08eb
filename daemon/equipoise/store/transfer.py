"""A pool on its way from one store to another: read beside the connection that writes, and written whole.

The connection that reads never writes, so it never checkpoints. While it is open, the write-ahead log keeps what is
written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
from sqlite_utils import Database

from equipoise.core.model import LineupPlayer, Mode, PlayerId, Side
from equipoise.errors import FileError, StoreRefused
from equipoise.store import notes, past, player_rows, pool_file, round_rows, sequence
from equipoise.store.connection import reading, store_errors
from equipoise.store.migrations import MIGRATIONS
from equipoise.store.notes import Audit
from equipoise.store.past import SeeRound
from equipoise.store.player_rows import Fingerprint, PlayerRow, encoded
from equipoise.store.round_rows import ADD_PARTICIPANT, PARTICIPANT, ParticipantRow, Record, next_number
from equipoise.store.seasons import STANDING
from equipoise.store.sequence import ADD_EDITED, EDITED, Snapshot

_HEAD = "SELECT system, params, changed_at, pruned_rounds FROM pools WHERE pool = ?"
_COUNTS = {
    "parts": ("shared", "pool = :pool"),
    "bases": ("snapshots", "pool = :pool AND base"),
    "seasons": ("seasons", "pool = :pool AND place = 1"),
    **{table: (table, "pool = :pool") for table in ("players", "names", "rounds", "edits", "edited")},
    "voids": ("voids", "round IN (SELECT number FROM rounds WHERE pool = :pool)"),
}
"""Tables and conditions of the lines that the head counts."""
_FIRST = """
SELECT min(number) FROM (
    SELECT min(number) AS number FROM rounds WHERE pool = :pool
    UNION ALL SELECT min(number) FROM edits WHERE pool = :pool
)
"""
# A line says what it is about in words: a pool by name, one of its players, a server whose rounds it has, or a round.
AUDIT_OF_POOL = """
FROM audit WHERE target = 'pool ' || :pool
OR EXISTS (SELECT 1 FROM players WHERE pool = :pool AND id = audit.target)
OR target IN (SELECT DISTINCT server FROM rounds WHERE pool = :pool)
OR target IN (
    SELECT 'round ' || json_extract(detail, '$.round') || ' of ' || json_extract(detail, '$.server')
    FROM edits WHERE pool = :pool AND action = 'void'
)
"""
_PARTS = "SELECT key, part FROM shared WHERE pool = ? ORDER BY key"
_BASES = "SELECT purpose, number, system, params, data FROM snapshots WHERE pool = ? AND base ORDER BY purpose"
_PLAYERS = """
SELECT id, wins, draws, losses, leaves, rating, rounds, visible, last_played, state
FROM players WHERE pool = ? ORDER BY id
"""
_NAMES = "SELECT player, name FROM names WHERE pool = ? ORDER BY player"
_SEASONS = f"SELECT season, at, {STANDING} FROM seasons WHERE pool = ? ORDER BY at, season, place"
_ROUNDS = """
SELECT number, server, id, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, waiting,
    lineup, skill_at_start, unrated, prediction, recorded_at, pruned, voided, squads,
    balance_prediction, said, unevenness, bots
FROM rounds WHERE pool = ? ORDER BY number
"""
_PARTICIPANTS = f"SELECT {PARTICIPANT} FROM participants WHERE round = ? ORDER BY place"
_EDITS = "SELECT number, at, who, action, detail, shared FROM edits WHERE pool = ? ORDER BY number"
_EDITED = f"SELECT player, struck, {EDITED} FROM edited WHERE edit = ? ORDER BY player"
_VOIDS = """
SELECT round, edit, voids.prediction, participants FROM voids JOIN rounds ON rounds.number = round
WHERE pool = ? ORDER BY round
"""

_EDIT_COLUMNS = 6

_plain = msgspec.json.Decoder(dict[str, object])
_anything = msgspec.json.Decoder()
_void = msgspec.json.Decoder(tuple[ParticipantRow, ...])
_lineup = msgspec.json.Decoder(tuple[LineupPlayer, ...])
_spans = msgspec.json.Decoder(tuple[pool_file.Span, ...])
_counts = msgspec.json.Decoder(pool_file.Counts)
_squads = msgspec.json.Decoder(tuple[tuple[str, ...], ...])
_skills = msgspec.json.Decoder(dict[str, float])


class Beside:
    """A store that another process has open, only to be read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fingerprint(self, pool: str) -> Fingerprint | None:
        """The system and parameters that made a pool's ratings; None: it has none yet."""
        with store_errors(), closing(reading(self._path, any_thread=True)) as db:
            return player_rows.fingerprint(db, pool)

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        """Rows of these players; those who were never rated are missing."""
        with store_errors(), closing(reading(self._path, any_thread=True)) as db:
            return player_rows.stored(db, pool, ids, window)

    async def rated_rounds(self, pool: str, see: SeeRound) -> None:
        """Every rated round of a pool as it is now. StoreRefused: the other process has an older or newer version."""
        with store_errors(), closing(reading(self._path, any_thread=True)) as db:
            db.execute("BEGIN")
            (steps,) = db.execute("PRAGMA user_version").fetchone()
            if steps != len(MIGRATIONS):
                raise StoreRefused(f"{self._path}: the daemon that has it open is of another version: restart it")
            past.see(db, pool, see)


@contextmanager
def exported(path: Path, pool: str) -> Iterator[Iterator[pool_file.AnyLine]]:
    """Every line of a pool as it is now, the pool's own first; for one thread at a time.

    StoreRefused: the store has no such pool. StoreError: it cannot be read.
    """
    with store_errors():
        connection = reading(path, any_thread=True)
    with closing(connection), closing(_lines(connection, pool)) as lines:  # it ends before what it reads from
        yield lines


def _lines(db: sqlite3.Connection, pool: str) -> Generator[pool_file.AnyLine, None, None]:
    with store_errors():
        db.execute("BEGIN")
        yield from _read(db, pool)


def _read(db: sqlite3.Connection, pool: str) -> Iterator[pool_file.AnyLine]:
    yield _head(db, pool)
    for key, part in db.execute(_PARTS, (pool,)):
        yield pool_file.Part(key=key, part=_anything.decode(part))
    before = _before(db, pool)
    for purpose, number, system, params, data in db.execute(_BASES, (pool,)):
        at = max(0, number - before)  # less than 0: the events up to the first one here are deleted
        yield pool_file.Base(purpose=purpose, number=at, system=system, params=_plain.decode(params), data=data)
    hidden = player_rows.hidden(db)
    for player, wins, draws, losses, leaves, *skill in db.execute(_PLAYERS, (pool,)):
        record = Record(wins, draws, losses, leaves)
        yield pool_file.Player(id=player, skill=_skill(skill), record=record, hidden=player in hidden)
    for player, name in db.execute(_NAMES, (pool,)):
        yield pool_file.Name(player=player, name=name, hidden=player in hidden)
    for (season, at), rows in groupby(db.execute(_SEASONS, (pool,)), key=itemgetter(0, 1)):
        board = tuple(pool_file.Standing(*columns) for _, _, *columns in rows)
        yield pool_file.Season(season=season, at=at, players=board)
    yield from _sequence(db, pool, before)
    for at, who, action, target, before, after in db.execute(
        f"SELECT at, who, action, target, before, after {AUDIT_OF_POOL} ORDER BY number", {"pool": pool}
    ):
        yield pool_file.Entry(at=at, who=who, action=action, target=target, before=before, after=after)


def _before(db: sqlite3.Connection, pool: str) -> int:
    """The number before the pool's first event, from which those of a file count."""
    first = db.execute(_FIRST, {"pool": pool}).fetchone()[0]
    return 0 if first is None else int(first) - 1


def _sequence(db: sqlite3.Connection, pool: str, before: int) -> Iterator[pool_file.AnyLine]:
    """Rounds and edits in their order; what an edit did to whom follows it."""
    rounds, edits = (db.execute(query, (pool,)) for query in (_ROUNDS, _EDITS))
    for row in merge(rounds, edits, key=lambda row: row[0]):
        number, *facts = row
        if len(row) > _EDIT_COLUMNS:
            participants = db.execute(_PARTICIPANTS, (number,))
            yield _round(number - before, facts, participants, before)
            continue
        yield pool_file.shifted(_edit(number, facts), -before)
        for player, struck, *skills in db.execute(_EDITED, (number,)):
            old = None if skills[4] is None else _skill(skills[:5])
            yield pool_file.Edited(
                edit=number - before, player=player, struck=bool(struck), before=old, after=_skill(skills[5:])
            )
    for round_number, edit, prediction, participants in db.execute(_VOIDS, (pool,)):
        yield pool_file.Void(
            round=round_number - before,
            edit=edit - before,
            prediction=prediction,
            participants=_void.decode(participants),
        )


def _head(db: sqlite3.Connection, pool: str) -> pool_file.Head:
    row = db.execute(_HEAD, (pool,)).fetchone()
    if row is None:
        pools = ", ".join(sorted(name for (name,) in db.execute("SELECT pool FROM pools")))
        raise StoreRefused(f"the store has no pool {pool}; it has: {pools or 'none'}")
    system, params, changed_at, pruned_count = row
    values = {"pool": pool}
    counts = {name: Database(db).table(table).count_where(where, values) for name, (table, where) in _COUNTS.items()}
    return pool_file.Head(
        pool=pool,
        system=system,
        params=_plain.decode(params),
        changed_at=changed_at,
        pruned_rounds=pruned_count,
        audit=db.execute(f"SELECT count(*) {AUDIT_OF_POOL}", values).fetchone()[0],
        **counts,
    )


def _skill(columns: Sequence[Any]) -> pool_file.Skill:
    points, rounds, visible, last_played, state = columns
    return pool_file.Skill(
        rating=points, rounds=rounds, visible=bool(visible), last_played=last_played, state=_plain.decode(state)
    )


def _edit(number: int, facts: list[Any]) -> pool_file.Edit:
    at, who, action, detail, parts = facts
    return pool_file.Edit(
        number=number,
        at=at,
        who=who,
        action=action,
        detail=_plain.decode(detail),
        shared=None if parts is None else _plain.decode(parts),
    )


def _round(number: int, facts: list[Any], participants: sqlite3.Cursor, before: int) -> pool_file.Round:
    (
        server,
        round_id,
        session,
        map_name,
        mode,
        started_at,
        seconds,
        winner,
        captures_a,
        captures_b,
        partial,
        waiting_room,
    ) = facts[:12]
    lineup, skill_at_start, reason, prediction, recorded_at, is_pruned, void_number, squads = facts[12:20]
    balance_prediction, spoken, unevenness, bots = facts[20:]
    return pool_file.Round(
        number=number,
        server=server,
        id=round_id,
        session=session,
        map=map_name,
        mode=Mode(mode),
        started_at=started_at,
        seconds=seconds,
        winner=winner and Side(winner),
        captures_a=captures_a,
        captures_b=captures_b,
        partial=bool(partial),
        waiting=bool(waiting_room),
        lineup=_lineup.decode(lineup),
        skill_at_start=None if skill_at_start is None else _skills.decode(skill_at_start),
        unrated=reason,
        prediction=prediction,
        recorded_at=recorded_at,
        pruned=bool(is_pruned),
        voided=None if void_number is None else void_number - before,
        squads=() if squads is None else _squads.decode(squads),
        bots=() if bots is None else _spans.decode(bots),
        balance_prediction=balance_prediction,
        said=spoken,
        unevenness=unevenness,
        participants=tuple(_participant(row) for row in participants),
    )


def _participant(columns: tuple[Any, ...]) -> pool_file.Participant:
    row = ParticipantRow(*columns)
    return pool_file.Participant(
        player=row.player,
        side=Side(row.side),
        seconds_a=row.seconds_a,
        seconds_b=row.seconds_b,
        quit=bool(row.quit),
        before=row.before,
        after=row.after,
        prediction=row.prediction,
        score=row.score,
        rounds=row.rounds,
        visible=bool(row.visible),
        state=_plain.decode(row.state),
        spans=() if row.spans is None else _spans.decode(row.spans),
        counts=None if row.counts is None else _counts.decode(row.counts),
    )


# Written, line by line, within one transaction of the caller's.

_WHY = {
    "UNIQUE": "it is there twice, or it is a round that another pool of this store has",
    "FOREIGN": "it names a player, a round or an edit that has no line above it",
}
_ADD_HEAD = """
INSERT INTO pools (pool, system, params, version, changed_at, pruned_rounds) VALUES (?, ?, ?, 1, ?, ?)
ON CONFLICT (pool) DO UPDATE SET
    system = excluded.system, params = excluded.params, version = version + 1, changed_at = excluded.changed_at,
    pruned_rounds = excluded.pruned_rounds
"""
_ADD_PLAYER = """
INSERT INTO players (pool, id, version, rating, rounds, visible, last_played, state) VALUES (?, ?, 1, ?, ?, ?, ?, ?)
"""
_ADD_EDIT = "INSERT INTO edits (number, pool, at, who, action, detail, shared) VALUES (?, ?, ?, ?, ?, ?, ?)"
_ADD_STANDING = f"INSERT INTO seasons (pool, season, at, {STANDING}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_ROUND = """
INSERT INTO rounds (
    number, server, id, pool, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, waiting,
    lineup, skill_at_start, unrated, prediction, recorded_at, pruned, voided, squads,
    balance_prediction, said, unevenness, bots
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def holds(db: sqlite3.Connection, pool: str) -> tuple[int, int, int]:
    """Return how many players, rounds and edits a pool has."""
    players, rounds, edits = (
        Database(db).table(table).count_where("pool = ?", [pool]) for table in ("players", "rounds", "edits")
    )
    return players, rounds, edits


def write(db: sqlite3.Connection, pool: str, lines: Iterable[pool_file.AnyLine]) -> None:
    """Fill an empty pool. FileError: a line contradicts those before it, or the store; it has no line number."""
    # Of the empty pool that was there before: what is written here is another past.
    sequence.forget(db, pool)
    into = _Into(db, pool, next_number(db) - 1, [])
    for line in lines:
        try:
            into.write(line)
        except sqlite3.IntegrityError as error:
            kind = str(error).partition(" ")[0]
            raise FileError(_WHY.get(kind, f"it cannot be stored: {error}")) from None
        # As in `store_errors`, but with the line's fault for the person who has the file.
        except (OverflowError, UnicodeEncodeError):
            raise FileError("it has a number or a text that no store can take") from None
    player_rows.recount_crowd(db, pool)
    # In the place of what its rounds say: the lines count deleted rounds too.
    round_rows.replace_records(db, pool, into.records)


@dataclass(frozen=True, slots=True)
class _Into:
    """The pool that is filled; `before`: the last number that other pools have taken."""

    db: sqlite3.Connection
    pool: str
    before: int
    records: list[tuple[PlayerId, Record]]
    """The records that the lines say. They count rounds whose lines are missing too."""

    def write(self, line: pool_file.AnyLine) -> None:
        match line:
            case pool_file.Base():
                made_by = Fingerprint(line.system, line.params)
                base = Snapshot(line.purpose, self.before + line.number, made_by, line.data, base=True)
                sequence.keep(self.db, self.pool, base, base.number)
            case pool_file.Season():
                rows = ((self.pool, line.season, line.at, *msgspec.structs.astuple(place)) for place in line.players)
                self.db.executemany(_ADD_STANDING, rows)
            case pool_file.Head() | pool_file.Part() | pool_file.Player() | pool_file.Name() | pool_file.Entry():
                self._write_once(line)
            case pool_file.Round():
                self._write_round(line)
            case pool_file.Edit():
                line = pool_file.shifted(line, self.before)
                parts = None if line.shared is None else encoded(line.shared)
                facts = line.at, line.who, line.action, encoded(line.detail), parts
                self.db.execute(_ADD_EDIT, (line.number, self.pool, *facts))
            case pool_file.Edited():
                before = (None,) * 5 if line.before is None else _skill_row(line.before)
                what = self.pool, line.player, self.before + line.edit, line.struck
                self.db.execute(ADD_EDITED, (*what, *before, *_skill_row(line.after)))
            case pool_file.Void():
                numbers = self.before + line.round, self.before + line.edit
                self.db.execute(
                    "INSERT INTO voids (round, edit, prediction, participants) VALUES (?, ?, ?, ?)",
                    (*numbers, line.prediction, encoded(line.participants)),
                )

    def _write_once(
        self, line: pool_file.Head | pool_file.Part | pool_file.Player | pool_file.Name | pool_file.Entry
    ) -> None:
        if isinstance(line, pool_file.Player | pool_file.Name) and line.hidden:
            player_rows.hide(
                self.db, PlayerId(line.id if isinstance(line, pool_file.Player) else line.player), hide=True
            )
        match line:
            case pool_file.Head():
                head = line.system, encoded(line.params), line.changed_at, line.pruned_rounds
                self.db.execute(_ADD_HEAD, (self.pool, *head))
            case pool_file.Part():
                part = self.pool, line.key, encoded(line.part)
                self.db.execute("INSERT INTO shared (pool, key, part) VALUES (?, ?, ?)", part)
            case pool_file.Player():
                self.db.execute(_ADD_PLAYER, (self.pool, line.id, *_skill_row(line.skill)))
                if line.record is not None:
                    self.records.append((PlayerId(line.id), line.record))
            case pool_file.Name():  # players who joined before the import have names
                name = self.pool, line.player, line.name
                self.db.execute("INSERT OR REPLACE INTO names (pool, player, name) VALUES (?, ?, ?)", name)
            case pool_file.Entry():
                notes.audit(self.db, Audit(line.at, line.who, line.action, line.target, line.before, line.after))

    def _write_round(self, line: pool_file.Round) -> None:
        number = self.before + line.number
        self.db.execute(
            _ADD_ROUND,
            (
                number,
                line.server,
                line.id,
                self.pool,
                line.session,
                line.map,
                line.mode.value,
                line.started_at,
                line.seconds,
                line.winner and line.winner.value,
                line.captures_a,
                line.captures_b,
                line.partial,
                line.waiting,
                encoded(line.lineup),
                None if line.skill_at_start is None else encoded(line.skill_at_start),
                line.unrated,
                line.prediction,
                line.recorded_at,
                line.pruned,
                None if line.voided is None else self.before + line.voided,
                encoded(line.squads) if line.squads else None,
                line.balance_prediction,
                line.said,
                line.unevenness,
                encoded(line.bots) if line.bots else None,
            ),
        )
        rows = (
            (self.pool, number, *_participant_row(place, participant))
            for place, participant in enumerate(line.participants)
        )
        self.db.executemany(ADD_PARTICIPANT, rows)
        round_rows.count_records(self.db, number)


def _skill_row(skill: pool_file.Skill) -> tuple[object, ...]:
    return skill.rating, skill.rounds, skill.visible, skill.last_played, encoded(skill.state)


def _participant_row(place: int, line: pool_file.Participant) -> tuple[object, ...]:
    """Return the columns of `ParticipantRow`."""
    return (
        line.player,
        line.side.value,
        line.seconds_a,
        line.seconds_b,
        line.quit,
        place,
        line.before,
        line.after,
        line.prediction,
        line.score,
        line.rounds,
        line.visible,
        encoded(line.state),
        encoded(line.spans) if line.spans else None,
        None if line.counts is None else encoded(line.counts),
    )
