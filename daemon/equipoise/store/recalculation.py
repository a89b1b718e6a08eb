"""Replays and fits of a pool: what is asked of a process beside the daemon, its answer, and the new numbers taken over.

The process writes the new numbers one by one into a file of its own. The store's thread takes them over in a few
statements of SQLite within one transaction, which leave the event loop free.
"""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId
from equipoise.errors import PoolMoved
from equipoise.files import open_private
from equipoise.store import notes, past, player_rows, round_rows, sequence
from equipoise.store.notes import Audit
from equipoise.store.past import Strike, Undone, UndoStrike, VoidStrike
from equipoise.store.player_rows import Fingerprint, PlayerRow, encoded, plain
from equipoise.store.round_rows import RatedRound, replayed_columns
from equipoise.store.sequence import EDITED, Edit, MatchEvent, Snapshot, columns
from equipoise.workers import Job
from equipoise.workers.process import Process, started


@dataclass(frozen=True, slots=True)
class Shift:
    """A player whose stored numbers change."""

    id: PlayerId
    before: float
    """The rating before it."""
    after: float
    """The rating after it."""
    rounds_before: int
    """Rated rounds before it."""
    rounds_after: int
    """Rated rounds after it."""


@dataclass(frozen=True, slots=True)
class Revised:
    """The outcome of a strike: what follows it, replayed, and what changes or would change."""

    number: int
    """Number of the event that is struck, or put back."""
    back: bool
    """It is put back."""
    last: int
    """The pool's last event that was replayed."""
    rounds: int
    """Replayed rounds."""
    edits: int
    """Replayed edits."""
    lost: int
    """Ratings that admins changed before edits were stored: a replay cannot keep them."""
    refitted: bool
    """A later refit made the ratings: they stay until the next one."""
    shifts: tuple[Shift, ...]
    """The largest first."""
    undone: Undone | None = None
    """None: it is about a round."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The end of the fit of a whole history."""

    rounds: int
    """Rounds that were fitted."""
    players: int
    """With new ratings."""
    iterations: int
    """Passes that it took."""
    converged: bool
    """The ratings stood still at the end."""


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The new ratings after a fit, and after the rounds that came while it ran."""

    last: int
    """The pool's last event that was seen."""
    rounds: int
    """That came meanwhile."""
    players: int
    """With new ratings."""
    shared: Mapping[str, object]
    """All parts of the system's shared state."""
    shifts: tuple[Shift, ...]
    """The largest changes of players, the largest first."""


@dataclass(frozen=True, slots=True)
class SpreadFound:
    """The spread of skill that a pool's rounds fit best, beside the one of its parameters."""

    rounds: int
    """Rounds that it was fitted to."""
    present: float
    """The spread in the parameters; log-odds, as `spread` and `error`."""
    spread: float
    """The most likely one."""
    error: float
    """Its standard error."""
    missing: int
    """About how many more rounds until it could be told from the present one; 0: these suffice."""


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """The rounds that a calibration is fitted to, and the one that it is compared with."""

    followed: bool
    """The predictions are those of the system that makes the teams, which is not the one that is shown."""
    since: int
    """Rounds after this event alone: before it the system predicted otherwise."""
    temperature: float
    """The present calibration; a factor of log-odds."""
    sides: Mapping[str, float]
    """Log-odds by the side's name."""
    maps: Mapping[str, float]
    """Log-odds by the map's name, of the side whose name comes first in the alphabet."""


@dataclass(frozen=True, slots=True)
class CalibrationFound:
    """The calibration that a pool's last rounds fit best, and what it is worth."""

    rounds: int
    """Rounds that it was fitted to."""
    temperature: float
    """A factor of log-odds: above 1 favourites win more often than predicted."""
    sides: Mapping[str, float]
    """Log-odds by the side's name."""
    maps: Mapping[str, float]
    """Log-odds by the map's name, of the side whose name comes first in the alphabet."""
    gain: float
    """Log loss of the last 30 % without any, less that with one fitted to those before; nats per round."""
    error: float
    """Its standard error."""
    gain_on_present: float
    """The gain on the present one."""
    error_on_present: float
    """Its standard error."""
    better: bool
    """Both gains are more than two standard errors. Of no calibration (temperature 1, no sides, no maps), by which the
    present one ends: the gain on the present one is, and the other gain is 0."""


# What is asked of a process, with the name of the store's file. `outcome` is the file for the new numbers; without one
# it is a trial.


class StrikeRequest(msgspec.Struct, frozen=True):
    """Replay what follows a strike; answered by `Revised`."""

    store: str
    pool: str
    strike: Strike
    outcome: str | None = None


class RefitRequest(msgspec.Struct, frozen=True, tag=True):
    """Fit all rounds; answered by `Fitted`."""

    store: str
    pool: str


class CatchUpRequest(msgspec.Struct, frozen=True, tag=True):
    """After a fit, rate what came meanwhile; answered by `CaughtUp`."""

    outcome: str | None = None


class SpreadRequest(msgspec.Struct, frozen=True, tag=True):
    """Fit the spread of skill; answered by `SpreadFound`, or None where there are too few rounds, or none fits."""

    store: str
    pool: str
    params: Mapping[str, object]
    """The parameters of `joint`: all else than the spread is taken as it is."""


class CalibrationRequest(msgspec.Struct, frozen=True, tag=True):
    """Fit the calibration; answered by `CalibrationFound` or None."""

    store: str
    pool: str
    wanted: CalibrationFit


NAMED = ".outcome-"
"""In the name of the file, between those of the store and the pool."""

_SCHEMA = f"""
CREATE TABLE rounds (number, prediction, said, unevenness, skill_at_start);
CREATE TABLE participants (round, player, before, after, prediction, rounds, visible, state);
CREATE TABLE edited (edit, player, {EDITED});
CREATE TABLE players (id, rating, rounds, visible, last_played, state);
CREATE TABLE shared (key PRIMARY KEY, part);
CREATE TABLE replaced (what);
CREATE TABLE snapshots (system, params, data);
"""

# Without keys in the file, SQLite goes through its rows and finds each row of the store by key; CROSS JOIN keeps that
# order, and `likely`: else a pool passes for ten rows of the index, and the whole file is read for each of its rows.
# What another system said that made the teams (`balance_prediction`) was said all the same, and stays. The edit's
# players come before `players` is changed, which has the numbers of before. IS NOT compares nulls, too.
_TAKE_OVER = (
    """
    UPDATE rounds SET prediction = new.prediction, skill_at_start = new.skill_at_start,
        said = iif(balance_prediction IS NULL, new.said, rounds.said),
        unevenness = iif(balance_prediction IS NULL, new.unevenness, rounds.unevenness)
    FROM outcome.rounds AS new WHERE rounds.number = new.number
    """,
    """
    UPDATE participants SET before = new.before, after = new.after, prediction = new.prediction,
        rounds = new.rounds, visible = new.visible, state = new.state
    FROM outcome.participants AS new
    WHERE likely(participants.pool = :pool) AND participants.player = new.player AND participants.round = new.round
    """,
    f"""
    UPDATE edited SET {", ".join(f"{column} = new.{column}" for column in EDITED.split(", "))}
    FROM outcome.edited AS new
    WHERE edited.pool = :pool AND edited.player = new.player AND edited.edit = new.edit
    """,
    """
    INSERT INTO edited SELECT :pool, new.id, :edit, 0, old.rating, old.rounds, old.visible, old.last_played, old.state,
        new.rating, new.rounds, new.visible, new.last_played, new.state
    FROM outcome.players AS new CROSS JOIN players AS old ON old.pool = :pool AND old.id = new.id
    WHERE :whole OR (old.rating, old.rounds, old.state) IS NOT (new.rating, new.rounds, new.state)
    """,
    """
    UPDATE players SET version = version + 1, rating = new.rating, rounds = new.rounds, visible = new.visible,
        last_played = new.last_played, state = new.state
    FROM outcome.players AS new WHERE players.pool = :pool AND players.id = new.id
    """,
)


class Outcome:
    """The file as it is written; without one it is a trial, and what comes is forgotten."""

    def __init__(self, db: sqlite3.Connection | None) -> None:
        self._db = db

    def round(self, number: int, rated: RatedRound, skill_at_start: Mapping[PlayerId, float] | None) -> None:
        """A round that was rated anew."""
        skills = None if skill_at_start is None else encoded(skill_at_start)
        self._add("rounds", [(number, rated.prediction, rated.said, rated.unevenness, skills)])
        self._add("participants", [(number, change.id, *replayed_columns(change)) for change in rated.changes])

    def edit(self, edit: Edit) -> None:
        """An edit that was replayed."""
        rows = [(edit.number, entry.id, *columns(entry.before), *columns(entry.after)) for entry in edit.touched]
        self._add("edited", rows)

    def player(self, row: PlayerRow) -> None:
        """A player at the end."""
        self._add("players", [(row.id, *columns(row))])

    def shared(self, parts: Mapping[str, object]) -> None:
        """All parts of the system's shared state at the end."""
        self._add("replaced", [("shared",)])
        self._add("shared", [(key, encoded(part)) for key, part in parts.items()])

    def snapshot(self, snapshot: Snapshot) -> None:
        """Write what a sequential system holds at the end."""
        made_by = snapshot.fingerprint
        self._add("snapshots", [(made_by.system, encoded(made_by.params), snapshot.data)])

    def _add(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if self._db is not None and rows:
            self._db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


@contextmanager
def new_file(store: Path, pool: str) -> Iterator[Path]:
    """The name of a file for new numbers of a pool; however this ends, there is no such file then."""
    path = store.with_name(f"{store.name}{NAMED}{pool}")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def remove_left(store: Path) -> None:
    """Remove the files of a daemon that was killed: each may be as large as the store."""
    with suppress(OSError):  # the next replay says what is wrong with them
        for path in store.parent.glob(f"{glob.escape(store.name)}{NAMED}*"):
            path.unlink(missing_ok=True)


@contextmanager
def written(path: Path | None) -> Iterator[Outcome]:
    """A new file in place of one that was left behind, whole when this ends; None: a trial."""
    if path is None:
        yield Outcome(None)
        return
    path.unlink(missing_ok=True)
    os.close(open_private(path, os.O_RDWR))
    db = sqlite3.connect(path, isolation_level=None)
    try:
        # The file lives for one replay: if the process dies, it is removed, so that nothing has to survive.
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.executescript(_SCHEMA)
        db.execute("BEGIN")
        yield Outcome(db)
        db.execute("COMMIT")
    finally:
        db.close()


@contextmanager
def attached(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """The file beside the store, outside of a transaction."""
    # SQLite attaches no file inside a transaction.
    db.execute("ATTACH ? AS outcome", (str(path),))
    try:
        yield
    finally:
        db.execute("DETACH outcome")


def take_over(db: sqlite3.Connection, pool: str, edit: int, *, whole: bool = False) -> None:
    """Replace the stored numbers by those of the attached file, as the result of an edit.

    Players who do not change become part of the edit only if it is `whole`: if a replay is to begin with them there.
    """
    for statement in _TAKE_OVER:
        db.execute(statement, {"pool": pool, "edit": edit, "whole": whole})
    player_rows.recount_crowd(db, pool)
    _take_over_snapshot(db, pool, edit)
    player_rows.take_over_shared(db, pool)


def _take_over_snapshot(db: sqlite3.Connection, pool: str, edit: int) -> None:
    for system, params, data in db.execute("SELECT system, params, data FROM outcome.snapshots").fetchall():
        made_by = Fingerprint(system, plain(params))
        sequence.keep(db, pool, Snapshot("system", edit, made_by, data), edit)


def apply_strike(
    db: sqlite3.Connection, pool: str, strike: Strike, revised: Revised, entry: Audit, detail: Mapping[str, object]
) -> None:
    """Write the strike as an edit, and the numbers of the attached outcome.

    PoolMoved: something came meanwhile, or the round was deleted for its age.
    """
    if sequence.last_number(db, pool) != revised.last:
        raise PoolMoved(f"pool {pool}: rounds came meanwhile")
    match strike:
        case VoidStrike(server, round):
            if not db.execute("SELECT 1 FROM rounds WHERE number = ? AND NOT pruned", (revised.number,)).fetchone():
                raise PoolMoved(f"round {round} of {server} was deleted meanwhile (retention.rounds_days)")
            # First the edit: what is put apart refers to its number.
            edit = sequence.add(db, pool, "void", entry, detail)
            if revised.back:
                round_rows.put_back(db, pool, revised.number)
            else:
                round_rows.take_out(db, revised.number, edit)
        case UndoStrike(player):
            detail = {**detail, "edit": revised.number, "again": revised.back}
            edit = sequence.add(db, pool, "undo", entry, detail)
            db.execute(
                "UPDATE edited SET struck = ? WHERE pool = ? AND player = ? AND edit = ?",
                (not revised.back, pool, player, revised.number),
            )
            # Also where no number changes: who saw the player before this must not take it back unseen.
            db.execute("UPDATE players SET version = version + 1 WHERE pool = ? AND id = ?", (pool, player))
    # Before `take_over`, which brings the snapshot of the new past.
    sequence.outdate(db, pool, revised.number)
    take_over(db, pool, edit)


Run = Callable[[Callable[[sqlite3.Connection], None]], Awaitable[None]]
"""Calls something on the store's thread."""
Transaction = Callable[[sqlite3.Connection], AbstractContextManager[object]]


class Fitting:
    """All ratings of a pool estimated anew from all of its rounds, in a process of its own. StoreError: it failed."""

    def __init__(self, store: Path, pool: str, process: Process, run: Run, transaction: Transaction) -> None:
        self._store, self._pool = store, pool
        self._process = process
        self._run, self._transaction = run, transaction

    async def fitted(self) -> Fitted:
        """Wait until the rounds are fitted that were stored when this is called, first of all and once."""
        return await self._process.ask(RefitRequest(str(self._store), self._pool), Fitted)

    async def tried(self) -> CaughtUp:
        """Return what would change now; nothing is written."""
        return await self._process.ask(CatchUpRequest(), CaughtUp)

    async def adopt(self, entry: Audit) -> CaughtUp:
        """Rate what came meanwhile, and write the new ratings as an edit, with its line in the audit.

        The caller sees to it that nothing else changes the pool meanwhile; PoolMoved: something did.
        """
        with new_file(self._store, self._pool) as file:
            change = await self._process.ask(CatchUpRequest(str(file)), CaughtUp)
            await self._run(partial(self._take_over, file=file, change=change, entry=entry))
        return change

    def _take_over(self, db: sqlite3.Connection, file: Path, change: CaughtUp, entry: Audit) -> None:
        with attached(db, file), self._transaction(db):
            if sequence.last_number(db, self._pool) != change.last:
                raise PoolMoved(f"pool {self._pool}: rounds came meanwhile")
            # Its own edit comes behind: only that one is read from now on.
            sequence.forget_refits(db, self._pool)
            edit = sequence.add(db, self._pool, "refit", entry, {}, change.shared)
            take_over(db, self._pool, edit, whole=True)


@asynccontextmanager
async def fitting(store: Path, pool: str, run: Run, transaction: Transaction) -> AsyncIterator[Fitting]:
    """Start a process that fits a pool; it ends with this."""
    async with started(Job.REFIT, f"pool {pool}: ") as process:
        yield Fitting(store, pool, process, run, transaction)


# Every number rated anew by another system, within the daemon.


class Replay(Protocol):
    """A rating system without players that is given a pool's rounds and edits again. Does no I/O."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the new ratings."""

    @property
    def same(self) -> bool:
        """The stored ratings were made by the same system."""

    def rate(self, record: RecordRound) -> RatedRound:
        """Rate the next round and return its new answer; RatingError when the system refuses it."""

    def edit(self, edit: Edit) -> Edit:
        """Change ratings as the next edit did, and return what it did: without players whom it could not change."""

    def player(self, player: PlayerId) -> PlayerRow:
        """A player after the events so far; one without any is a newcomer."""

    def shared(self) -> Mapping[str, object]:
        """The system's shared state after the events so far, by key."""

    def snapshot(self, number: int) -> Snapshot | None:
        """After event `number`, the last one; None: the players and the shared state are all that it holds."""


def recompute(db: sqlite3.Connection, pool: str, replay: Replay, entry: Audit) -> None:
    """Replace every number that a rating system made, with a line in the audit.

    What is left of pruned rounds goes: it was made by the old system, and cannot be made again.
    """
    round_rows.forget_pruned(db, pool)
    if not replay.same:
        sequence.forget_units(db, pool)
    for event in past.events(db, pool):
        match event:
            case MatchEvent():
                rewrite(db, pool, event.number, replay.rate(event.record), same=replay.same)
            case Edit():
                sequence.rewrite(db, pool, replay.edit(event))
    _rewrite_players(db, pool, replay)
    player_rows.recount_crowd(db, pool)
    player_rows.adopt_fingerprint(db, pool, replay.fingerprint, entry.at)
    player_rows.replace_shared(db, pool, replay.shared())
    sequence.forget(db, pool)
    last = sequence.last_number(db, pool)
    if (snapshot := replay.snapshot(last)) is not None:
        sequence.keep(db, pool, snapshot, last)
    notes.audit(db, entry)


def rewrite(db: sqlite3.Connection, pool: str, number: int, rated: RatedRound, *, same: bool) -> None:
    """The new numbers of a round. Skills at its start in another system's units are dropped.

    What was said of it stays as it is by the system that made the teams, if that was another one.
    """
    skills = "" if same else ", skill_at_start = NULL"
    db.execute(
        f"UPDATE rounds SET prediction = ?, said = iif(balance_prediction IS NULL, ?, said), "
        f"unevenness = iif(balance_prediction IS NULL, ?, unevenness){skills} WHERE number = ?",
        (rated.prediction, rated.said, rated.unevenness, number),
    )
    db.executemany(
        "UPDATE participants SET before = ?, after = ?, prediction = ?, rounds = ?, visible = ?, state = ? "
        "WHERE pool = ? AND player = ? AND round = ?",
        [(*replayed_columns(change), pool, change.id, number) for change in rated.changes],
    )


def _rewrite_players(db: sqlite3.Connection, pool: str, replay: Replay) -> None:
    """All players with a row, also those whose rating an admin set and who never played."""
    ids = [PlayerId(player) for (player,) in db.execute("SELECT id FROM players WHERE pool = ?", (pool,))]
    player_rows.write(db, pool, map(replay.player, ids))
