"""The store, as everything above it calls it.

One thread owns the only connection that writes, and serves calls one after the other: the event loop never waits for
the disk, and a call sees all that the calls before it wrote. So no call may be long. Lists that people ask for end at a
limit or are read in pieces; notes are written behind rounds, many in one transaction; what takes seconds (replays,
fits, backups) runs in a process of its own on a connection that only reads, and its outcome is taken over in few
statements.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import partial
from itertools import takewhile
from pathlib import Path
from sqlite3 import Connection, ProgrammingError
from typing import Any, NamedTuple, TypeVar

from sqlite_utils import Database

from equipoise.core.model import PlayerId, RoundId, ServerId
from equipoise.errors import StoreError
from equipoise.store import (
    changes,
    listings,
    measurements,
    notes,
    past,
    player_rows,
    recalculation,
    round_rows,
    seasons,
    sequence,
    transfer,
)
from equipoise.store.backups import Backup, BackupRequest, remove_unfinished
from equipoise.store.changes import READING, Change, Position, Taken, TakenBack
from equipoise.store.connection import (
    Extent,
    Health,
    Lock,
    OpenFiles,
    QuickCheck,
    StoreHealth,
    extent,
    open_database,
    probe,
    refuse_missing,
    savepoint,
    store_errors,
    touch,
    transaction,
    unsynced,
)
from equipoise.store.listings import Company, EditOf, MapResult, Played, StoredMatch
from equipoise.store.measurements import Gained, Measurement, Prediction, QualityPoint, TeamSize
from equipoise.store.notes import (
    NOTES_RETRY_SECONDS,
    NOTES_SECONDS,
    Audit,
    Chance,
    Decision,
    Log,
    Note,
    Noting,
    SessionMemory,
)
from equipoise.store.past import SeeEvent, SeeRound, Strike
from equipoise.store.player_rows import Crowd, Fingerprint, InForgetting, PlayerRow, RenamedSnapshot, SharedParts
from equipoise.store.pool_file import AnyLine, Standing
from equipoise.store.recalculation import (
    CalibrationFit,
    CalibrationFound,
    Fitting,
    Replay,
    Revised,
    SpreadFound,
    StrikeRequest,
)
from equipoise.store.round_rows import RatedRound, Record, Submission
from equipoise.store.seasons import Earlier, Rule, Season
from equipoise.store.sequence import NOTHING, BulkEdit, Edit, EditRow, Event, LearntSpread, Purpose, Snapshot
from equipoise.workers import Job
from equipoise.workers.process import asked

LARGE = 1_000
"""Rounds that are rewritten at once: it holds the store's thread for a fifth of a second."""
LOG_TRIES = 60
"""Seconds for which programs that read the store may keep its log from being emptied."""
PIECES = 50
"""Pieces of the decision log that one call looks through: 100,000 lines, a tenth of a second."""

T = TypeVar("T")


class SoFar(NamedTuple):
    """Results and chances of a server in one time on a map, and its last decisions; each newest first."""

    results: Sequence[listings.Result]
    chances: Sequence[Chance]
    decisions: Sequence[Decision]


log = logging.getLogger(__name__)


class Store:
    """Call `open` first and `close` last; every method but `note` may raise StoreError.

    Notes wait for `notes_after` seconds, and for `retry_after` when they could not be written. Without `create`, a
    store that is missing is refused, and nothing is made.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        notes_after: float = NOTES_SECONDS,
        retry_after: float = NOTES_RETRY_SECONDS,
    ) -> None:
        if os.path.islink(path):  # to a store elsewhere: its log and its lock are beside the file itself
            path = Path(os.path.realpath(path))
        self.path = path
        self._create = create
        self._lock = Lock(path.with_name(f"{path.name}.lock"))
        self._thread: ThreadPoolExecutor | None = None
        self._database: Database | None = None
        self._files: OpenFiles | None = None
        self._health = Health()
        self._check = QuickCheck(path)
        self._checking: asyncio.Task[None] | None = None
        self._notes = Noting(self._read, self._transaction, notes_after, retry_after)
        self._hidden: frozenset[PlayerId] | None = None
        """As far as it was read."""
        self.followed: Mapping[str, Position] = {}
        """How far the logs of shared pools are followed, by pool."""
        self.being_read: frozenset[str] = frozenset()
        """Shared pools of which the store has a part only: the base of their log is being read, or was."""
        self._rewritten: str | None = None
        """A shared pool that is rated or filled anew, in a transaction that is taken back."""
        self._caught: dict[str, list[Change]] = {}
        """The changes of shared pools on their way to the log, while they are caught."""
        self._writing = threading.RLock()
        """Held by the store's thread while it writes, which nobody interrupts."""
        self._rewriting = 0
        """Pools of which so much is rewritten that other calls fail meanwhile, as when the store is locked."""

    async def open(self) -> None:
        """Connect and migrate. StoreRefused when the store is not ours, newer than we are, or read-only."""
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="store")
        await self._run(self._connect)

    def tell(self, address: str) -> None:
        """Write into the lock file where its holder listens; `address` is `host:port`."""
        self._lock.tell(address)

    async def close(self) -> None:
        """Finish what is being written and disconnect; reads fail, as nobody should wait for one any more."""
        if self._thread is None:
            return
        ending = asyncio.create_task(self._end())
        while not ending.done():
            # Again and again: between two statements of SQLite they stop nothing.
            if self._checking is not None:
                self._check.stop()
            self.interrupt()
            await asyncio.wait([ending], timeout=0.1)
        await ending
        self._thread.shutdown()
        self._thread = None

    async def _end(self) -> None:
        if self._checking is not None:
            await self._checking
            self._checking = None
        await self._notes.stop()
        await self._run(self._disconnect)

    def interrupt(self) -> None:
        """Have the read that is under way fail, if there is one; a write goes on."""
        if (database := self._database) is not None and self._writing.acquire(blocking=False):
            with suppress(ProgrammingError):  # it is closed by now
                database.conn.interrupt()
            self._writing.release()

    def start_check(self) -> None:
        """Look through the whole file for damage, beside the calls; what is found becomes the store's health."""
        self._checking = asyncio.create_task(self._checked())

    async def ping(self) -> None:
        """Fail if the store cannot be written; ends a trouble that is over."""

        def ping(db: Connection) -> None:
            self._refuse_writing()
            if self._health.now.state == "ok":
                probe(db)
                return
            with self._transaction(db):  # only a write that reaches the disk shows that a full one has room again
                touch(db)

        await self._read(ping)

    def health(self) -> StoreHealth:
        """Return whether it takes what is written. Does no I/O."""
        return self._health.now

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        """Rows of these players without names; those who were never rated are missing."""
        rows = await self._read(lambda db: player_rows.load(db, pool, dict.fromkeys(ids, 0), window))
        return {row.id: row for row in rows}

    async def redate(self, pool: str, latest: float, now: float) -> int:
        """Let players who played last after `latest` have played last `now`; returns how many they were."""
        return await self._write(lambda db: player_rows.redate(db, pool, latest, now))

    async def names(self, pool: str, ids: Sequence[PlayerId]) -> Mapping[PlayerId, str]:
        """The last known names of these players; unnamed players are missing."""
        return await self._read_noted(lambda db: player_rows.names(db, pool, ids))

    async def record(self, pool: str, group: Sequence[Submission], window: int) -> Sequence[RatedRound | Exception]:
        """Store rounds in order, in one transaction: each with its participants, their ratings, the shared state and
        the session memory.

        The first round that fails is rolled back and undone, its error is its outcome, and the rounds behind it are
        not tried: the outcomes are then fewer than the rounds. Rounds with an outcome of another kind are durable when
        this returns.

        A round id that is stored already changes nothing, and the outcome is the first answer. The memory of a round
        that waited does not replace a newer one. After a StoreError nothing of the group was written, and the
        caller has to undo it in memory.
        """

        def apply(db: Connection) -> list[RatedRound | Exception]:
            outcomes: list[RatedRound | Exception] = []
            with suppress(_NothingStored), self._change(db, pool) as event_ends:
                for submission in group:
                    # The first one has the transaction: for a savepoint every page is first written to a file aside.
                    apart = savepoint(db) if outcomes else nullcontext()
                    outcomes.append(_tried(db, pool, submission, window, apart, shared=pool in self._caught))
                    if isinstance(outcomes[-1], Exception):
                        if len(outcomes) == 1:
                            raise _NothingStored
                        break
                    event_ends()
            if pool in self._caught:
                return outcomes
            # Behind the commit: until then the memories of these rounds might still be rolled back.
            for submission, answer in zip(group, outcomes, strict=False):
                if isinstance(answer, RatedRound) and not answer.again and submission.memory is not None:
                    server = submission.record.round.server
                    self._notes.unwritten.supersede(SessionMemory(server, submission.memory, submission.at))
            return outcomes

        # Not `_write`: the transaction is opened inside, so that something can follow its commit on the same thread.
        return await self._read(apply)

    async def edit(
        self, pool: str, player: PlayerId, window: int, edit: EditRow, detail: Mapping[str, object] = NOTHING
    ) -> PlayerRow:
        """Write, in one transaction, an admin's change of a player and its line in the audit; returns the new row.

        `detail` is what was asked for: a replay asks for it again.
        """
        return await self._write_pool(pool, lambda db: sequence.edit(db, pool, player, window, edit, detail))

    def note(self, notes: Iterable[Note]) -> None:
        """Write these within a second or two, many in one transaction, behind rounds; never fails.

        Until then they survive neither kill -9 nor a power loss, but every read below already sees them. Of a
        server's memory and a player's name only the newest is written.
        """
        self._notes.add(notes, due=self._thread is not None)

    async def memory(self, server: ServerId) -> bytes | None:
        """A server's session memory, None before the first."""
        return await self._read_noted(lambda db: round_rows.memory(db, server))

    async def memory_at(self, server: ServerId) -> float:
        """When a server's session had the memory that is stored; never before the first."""
        return await self._read_noted(lambda db: round_rows.memory_at(db, server))

    async def decisions(
        self, server: ServerId | None, limit: int, *, before: int | None = None, after: int = 0
    ) -> Sequence[Decision]:
        """The newest decisions of a server, or of all, whose numbers lie between the two; newest first."""
        return await self._read_noted(lambda db: notes.decisions(db, server, limit, before, after))

    async def chances(
        self, server: ServerId, session: str | None, limit: int, *, before: int | None = None
    ) -> Sequence[Chance]:
        """The newest lines of the course of a server's maps, or of one of them; newest first."""
        return await self._read_noted(lambda db: notes.chances(db, server, session, limit, before))

    async def audit(self, entry: Audit) -> None:
        """Append a line to the audit; durable when this returns."""
        await self._write(lambda db: notes.audit(db, entry))

    async def audits(self, limit: int, *, before: int | None = None) -> Sequence[Audit]:
        """The newest audit lines, newest first."""
        return await self._read_noted(lambda db: notes.audits(db, limit, before))

    async def fingerprint(self, pool: str) -> Fingerprint | None:
        """The system and parameters that made a pool's ratings; None before its first start."""
        return await self._read(lambda db: player_rows.fingerprint(db, pool))

    async def adopt(self, pool: str, fingerprint: Fingerprint, at: float) -> None:
        """Replace the recorded fingerprint; the ratings stay as they are."""
        await self._write(lambda db: player_rows.adopt_fingerprint(db, pool, fingerprint, at))

    async def shared(self, pool: str) -> SharedParts | None:
        """The shared state of the pool's system; None before the first start."""
        return await self._read(lambda db: player_rows.shared(db, pool))

    async def rated_rounds(self, pool: str, see: SeeRound, *, after: int = 0) -> None:
        """Call `see` with every rated round of a pool after a number, in the order in which they were applied."""
        await self._read(lambda db: past.see(db, pool, see, after))

    async def events_after(self, pool: str, number: int, most: int = sys.maxsize) -> Sequence[Event]:
        """The next `sequence.AT_ONCE` of a pool's rated rounds and edits after a number; none above `most`."""
        return await self._read(lambda db: past.page(db, pool, number, most))

    async def snapshot(self, pool: str, purpose: Purpose, most: int = sys.maxsize) -> Snapshot | None:
        """The newest whole snapshot of those after at most event `most`; None: none. Damaged ones are logged."""
        return await self._read(lambda db: sequence.newest(db, pool, purpose, most))

    async def keep_snapshot(self, pool: str, snapshot: Snapshot, seen: int) -> None:
        """Add a snapshot in place of older ones, unless an event was struck since event `seen`."""
        await self._read(self._notes.write)  # predictions of rounds behind a snapshot are not made again
        await self._write(lambda db: sequence.keep(db, pool, snapshot, seen))

    async def leave_snapshots(self, pool: str, purpose: Purpose, number: int) -> None:
        """Delete the snapshots of a state that was left: those behind event `number`."""
        await self._write(lambda db: sequence.leave(db, pool, purpose, number))

    async def pool_of(self, server: ServerId, round_id: RoundId) -> str | None:
        """The pool that a stored round belongs to; None: it is not stored."""
        return await self._read(lambda db: round_rows.pool_of(db, server, round_id))

    async def last_number(self, pool: str) -> int:
        """The number of the pool's last round or edit; 0 before the first."""
        return await self._read(lambda db: sequence.last_number(db, pool))

    async def last_edit_number(self, pool: str) -> int:
        """The number of the pool's last edit; 0 before the first."""
        return await self._read(lambda db: sequence.last_edit_number(db, pool))

    async def lost_edits(self, pool: str) -> int:
        """Ratings that admins changed before edits were stored, as far as the audit knows."""
        return await self._read(lambda db: sequence.lost(db, pool))

    async def events(self, pool: str, see: SeeEvent) -> None:
        """Call `see` with every rated round and every edit of a pool, in the order in which they were applied."""

        def seen(db: Connection) -> None:
            for event in past.events(db, pool):
                see(event)

        await self._read(seen)

    async def struck(self, pool: str, strike: Strike) -> Revised:
        """Return what a strike would change: what follows is replayed in a process of its own, nothing is written.

        ScriptError: there is no such event, or it cannot be struck. StoreError: the replay failed.
        """
        return await self.replayed(StrikeRequest(str(self.path), pool, strike))

    async def strike(
        self, pool: str, strike: Strike, entry: Callable[[Revised], Audit], detail: Mapping[str, object]
    ) -> Revised:
        """Take an event out of the ratings, or put it back, with the line that `entry` makes for the audit.

        What follows is replayed in a process of its own, and the new numbers are written in one transaction. The
        caller sees to it that nothing else changes the pool meanwhile; PoolMoved: something did, nothing was written.
        """
        with recalculation.new_file(self.path, pool) as file:
            revision = await self.replayed(StrikeRequest(str(self.path), pool, strike, str(file)))

            def take_over(db: Connection) -> None:
                with recalculation.attached(db, file), self._change(db, pool):
                    recalculation.apply_strike(db, pool, strike, revision, entry(revision), detail)

            await self._taken_over(take_over, large=revision.rounds > LARGE)
        return revision

    async def replayed(self, request: StrikeRequest) -> Revised:
        """Replay in a process of its own."""
        return await asked(Job.REVISION, request, Revised)

    async def adopt_edit(self, pool: str, edit: BulkEdit) -> int:
        """Write new ratings of many players as one edit, with its line in the audit; returns the edit's number.

        PoolMoved: a round or edit came that they do not take into account.
        """
        return await self._write_pool(pool, lambda db: sequence.adopt(db, pool, edit))

    def fitting(self, pool: str) -> AbstractAsyncContextManager[Fitting]:
        """Return a fit of a pool, whose process ends with the context."""
        return recalculation.fitting(self.path, pool, self._taken_over, partial(self._change, pool=pool))

    async def spread(self, pool: str, params: Mapping[str, object]) -> SpreadFound | None:
        """The spread of skill that a pool's rounds fit best by `joint` with these parameters, fitted in a process.

        None where there are too few rounds, or none fits.
        """
        request = recalculation.SpreadRequest(str(self.path), pool, params)
        fit: SpreadFound | None = await asked(Job.LEARNING, request, SpreadFound | None, f"pool {pool}: ")
        return fit

    async def calibration(self, pool: str, wanted: CalibrationFit) -> CalibrationFound | None:
        """The calibration that a pool's last rounds fit best, fitted in a process; None: too few, or none fits."""
        request = recalculation.CalibrationRequest(str(self.path), pool, wanted)
        fit: CalibrationFound | None = await asked(Job.LEARNING, request, CalibrationFound | None, f"pool {pool}: ")
        return fit

    async def refitted_at(self, pool: str) -> float | None:
        """Return when a pool's last refit was adopted, seconds since the epoch; None: never."""
        return await self._read(lambda db: sequence.refitted_at(db, pool))

    async def calibrations(self, pool: str) -> Sequence[Edit]:
        """The edits that change what is said of a pool's predictions, or end it, in order."""
        return await self._read(lambda db: sequence.calibrations(db, pool))

    async def learnt_spread(self, pool: str) -> LearntSpread | None:
        """The spread of skill that a pool's rounds have taught it, by its last such event; None: none did."""
        return await self._read(lambda db: sequence.learnt_spread(db, pool))

    async def recompute(self, pool: str, replay: Replay, entry: Audit) -> None:
        """Replace every number that a rating system made by those of `replay`, in one transaction.

        These are the numbers of rated rounds, participants and players. The shared state and the fingerprint are
        replaced too, and a line of the audit is added. After any error nothing was written.
        """
        await self._write_pool(pool, lambda db: recalculation.recompute(db, pool, replay, entry))

    async def fill(self, pool: str, lines: Iterable[AnyLine]) -> None:
        """Write a whole pool into an empty one, in one transaction; an error of `lines` ends it, and nothing is left.

        FileError: a line contradicts the others.
        """
        await self._write_pool(pool, lambda db: transfer.write(db, pool, lines))

    async def holds(self, pool: str) -> tuple[int, int, int]:
        """Return how many players, rounds and edits a pool has."""
        return await self._read(lambda db: transfer.holds(db, pool))

    async def predictions(self, pool: str, limit: int | None) -> Sequence[Prediction]:
        """The last rated rounds of a pool, without a limit all, oldest first."""
        return await self._read(lambda db: measurements.predictions(db, pool, limit))

    async def measured(self, pool: str, limit: int) -> Sequence[Measurement]:
        """The last rated rounds of a pool that are whole, with their participants, oldest first."""
        numbers = await self._read(lambda db: measurements.numbers(db, pool, limit))
        results: list[Measurement] = []
        for start in range(0, len(numbers), measurements.PAGE):
            page = numbers[start : start + measurements.PAGE]
            results += await self._read(partial(measurements.measured, page=page))
        return results

    async def rounds_on_maps(self, pool: str, since: float, limit: int) -> Sequence[MapResult]:
        """The last rated rounds of a pool, newest first, up to the first that is older than a time."""
        rows: list[MapResult] = []
        before = sys.maxsize
        while len(rows) < limit:
            most = min(limit - len(rows), listings.ROUNDS_AT_ONCE)
            page = await self._read(partial(listings.rounds_on_maps, pool=pool, before=before, limit=most))
            recent = list(takewhile(lambda row: row.started_at >= since, page))
            rows += recent
            if len(recent) < most:
                break
            before = page[-1].number
        return rows

    async def results(self, server: ServerId, session: str) -> Sequence[listings.Result]:
        """Return how the last rounds of a time on a map ended, newest first."""
        return await self._read(lambda db: listings.results(db, server, session))

    async def so_far(self, sessions: Mapping[ServerId, str], lines: int, last: int) -> Mapping[ServerId, SoFar]:
        """Return what servers' times on a map brought, `lines` of their course, and the `last` decisions.

        One call for many servers, which takes a fraction of a millisecond for each.
        """

        def read(db: Connection) -> Mapping[ServerId, SoFar]:
            return {
                server: SoFar(
                    listings.results(db, server, session),
                    notes.chances(db, server, session, lines, None),
                    notes.decisions(db, server, last, None, 0),
                )
                for server, session in sessions.items()
            }

        return await self._read_noted(read)

    async def last_changes(self, pool: str, players: Sequence[PlayerId]) -> Mapping[PlayerId, float]:
        """Return what each player's last rated round changed; of those who have one."""
        return await self._read(lambda db: listings.last_changes(db, pool, players))

    async def changes_of_sides(self, since: float) -> Sequence[notes.Made]:
        """Return the decisions since a time that changed sides, oldest first."""
        rows: list[notes.Made] = []
        after = await self._read_noted(lambda db: notes.last_before(db, since))
        while page := await self._read(partial(notes.changes_of_sides, after=after)):
            rows += page
            after = page[-1].number
        return rows

    async def plays_alone(self, pool: str) -> bool:
        """Return whether a pool has rated rounds, and no balance system predicted any of the last."""
        return await self._read(lambda db: measurements.plays_alone(db, pool))

    async def team_sizes(self, pool: str, limit: int) -> Sequence[TeamSize]:
        """Return the larger side of each of the last rated rounds."""
        return await self._read(lambda db: measurements.team_sizes(db, pool, limit))

    async def gained(self, pool: str, most: int, few: int) -> Gained:
        """Return what the `most` highest visible ratings owe to rounds of less than `few` participants."""
        return await self._read(lambda db: measurements.gained(db, pool, most, few))

    async def keep_quality(self, pool: str, point: QualityPoint) -> None:
        """Add a point to the time series of how well a pool predicts."""
        await self._write(lambda db: measurements.keep_quality(db, pool, point))

    async def qualities(self, pool: str, *, since: float) -> Sequence[QualityPoint]:
        """That time series from a time on, oldest first."""
        return await self._read(lambda db: measurements.qualities(db, pool, since))

    async def crowd(self, pool: str, *, since: float | None) -> Crowd:
        """The players of a pool in numbers; `since` as in `top`."""
        return await self._read(lambda db: player_rows.crowd(db, pool, since))

    async def top(
        self,
        pool: str,
        limit: int | None,
        *,
        since: float | None,
        after: PlayerId | None = None,
        before: PlayerId | None = None,
    ) -> Sequence[PlayerRow]:
        """Visible players, highest rating first, without history; `since` omits players without a round since then.

        Only those behind a player, or the last of those before one.
        """
        return await self._read_noted(lambda db: player_rows.top(db, pool, limit, since, after, before))

    async def players_at(self, pool: str, ids: Sequence[PlayerId], at: float, rule: Rule) -> Mapping[PlayerId, Earlier]:
        """Return these players as they were at an earlier moment; those without a row are missing."""
        return await self._read(lambda db: seasons.players_at(db, pool, ids, at, rule))

    async def rank(self, pool: str, player: PlayerId, *, since: float | None) -> tuple[int, int] | None:
        """A player's place in the whole of `top` and its length; None when they are not in it."""
        return await self._read(lambda db: player_rows.rank(db, pool, player, since))

    async def board_length(self, pool: str, *, since: float | None) -> int:
        """Return how many players are in the whole of `top`."""
        return await self._read(lambda db: player_rows.board_length(db, pool, since))

    async def search(self, pool: str, text: str, limit: int) -> Sequence[PlayerRow]:
        """Players whose id or last name contains the text, highest rating first.

        All players are looked through, in pieces that let rounds pass.
        """
        best: list[PlayerRow] = []
        after: str | None = ""
        while after is not None:
            piece = partial(player_rows.search, pool=pool, text=text, limit=limit, after=after)
            rows, after = await self._read_noted(piece)
            best = sorted((*best, *rows), key=lambda row: (-row.rating, row.id))[:limit]
        return best

    async def prune(self, log: Log, before: float, limit: int) -> int:
        """Delete up to `limit` lines of a log that are older than a time, the oldest first; returns how many."""
        return await self._write(lambda db: notes.prune(db, log, before, limit))

    async def prune_rounds(self, pool: str, window: int, before: float, limit: int) -> int:
        """Delete up to `limit` rounds that were stored before a time, the oldest first; returns how many.

        A participant's last `window` rows stay, and so does what little of their rounds these rows need.
        """
        return await self._write(lambda db: round_rows.prune_rounds(db, pool, window, before, limit))

    async def last_prunable(self, pool: str, before: float) -> int:
        """The highest number of a round that `prune_rounds` would delete without a limit; 0: none."""
        return await self._read(lambda db: round_rows.last_prunable(db, pool, before))

    async def pruned_rounds(self, pool: str) -> int:
        """The rated rounds that were ever deleted from a pool."""
        return await self._read(lambda db: round_rows.pruned_rounds(db, pool))

    async def extent(self) -> Extent:
        """Return the size of the store."""
        return await self._read(extent)

    async def back_up(self, target: Path) -> Backup:
        """Copy the store as it is at one moment to a file that does not exist, while it goes on to serve.

        The copy is checked and durable when this returns. Before that, and after a StoreError, there is none.
        """
        try:
            return await asked(Job.BACKUP, BackupRequest(str(self.path), str(target)), Backup)
        except asyncio.CancelledError:
            remove_unfinished(target.parent)
            raise

    async def rounds(
        self,
        server: ServerId | None,
        before: int | None,
        limit: int,
        rated_in: str | None = None,
        map_name: str | None = None,
    ) -> Sequence[StoredMatch]:
        """The newest rounds of a server, or of all; on one map, or on all; or the rated ones alone of a pool."""
        return await self._read_noted(lambda db: listings.rounds(db, server, before, limit, rated_in, map_name))

    async def round(self, server: ServerId, round_id: RoundId) -> tuple[StoredMatch, Sequence[Played]] | None:
        """A round and its participants in the order of its answer; None when it is not stored."""
        return await self._read_noted(lambda db: listings.find(db, server, round_id))

    async def played(
        self,
        pool: str,
        player: PlayerId,
        server: ServerId | None,
        before: int | None,
        limit: int,
        map_name: str | None = None,
    ) -> Sequence[tuple[StoredMatch, Played]]:
        """The newest rated rounds of a player, on one server or on all, on one map or on all."""
        return await self._read_noted(lambda db: listings.played(db, pool, player, server, before, limit, map_name))

    async def records(self, pool: str, ids: Sequence[PlayerId]) -> Mapping[PlayerId, Record]:
        """The record of each of these players; those who were never rated have an empty one."""
        return await self._read(lambda db: round_rows.records_of(db, pool, ids))

    async def edits_of(self, pool: str, player: PlayerId, before: int | None, limit: int) -> Sequence[EditOf]:
        """The newest edits of a player."""
        return await self._read_noted(lambda db: listings.edits_of(db, pool, player, before, limit))

    async def ratings_of(self, pool: str, player: PlayerId) -> Sequence[tuple[int, float, bool]]:
        """Numbers of a player's rated rounds and the rating after each, oldest first."""
        return await self._read_noted(lambda db: listings.ratings_of(db, pool, player))

    async def moments_of(
        self, pool: str, player: PlayerId, numbers: Sequence[int]
    ) -> Sequence[tuple[float, Mapping[str, object]]]:
        """When these rounds of a player went live, seconds since the epoch, and the player's state after each."""
        return await self._read(lambda db: listings.moments_of(db, pool, player, numbers))

    async def company(self, pool: str, player: PlayerId, rounds: int) -> Sequence[Company]:
        """Return with and against whom a player had the last `rounds` rated rounds, in no order."""
        return await self._read_noted(lambda db: listings.company(db, pool, player, rounds))

    async def named(self, pool: str, text: str, limit: int) -> Sequence[tuple[PlayerId, str]]:
        """Players whose last name contains the text, whatever its case and width; those with that very name first."""
        exact: list[tuple[PlayerId, str]] = []
        others: list[tuple[PlayerId, str]] = []
        after, plain_text = "", listings.plain(text)
        while True:
            piece = await self._read_noted(partial(listings.names, pool=pool, after=after))
            for player, name in piece:
                if plain_text == listings.plain(name):
                    exact.append((player, name))
                elif plain_text in listings.plain(name):
                    others.append((player, name))
            if len(piece) < listings.NAMES_AT_ONCE:
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
        """Return decisions that name a player, and the number to go on before: a long log is read in parts.

        None: the log has no more of them.
        """
        decisions: list[Decision] = []
        if since is not None:
            after = max(after, await self.last_decision(since))
        for _ in range(PIECES):
            about = partial(notes.decisions_about, player=player, server=server, limit=limit - len(decisions))
            lines, oldest = await self._read_noted(partial(about, before=before, after=after))
            decisions += lines
            if len(decisions) == limit:
                return decisions, decisions[-1].number
            if oldest is None:
                return decisions, None
            before = oldest
        return decisions, before

    async def last_decision(self, before: float) -> int:
        """Return the number of the last decision before a time; 0: there is none."""
        return await self._read_noted(lambda db: notes.last_before(db, before))

    async def seen(self, pool: str, player: PlayerId) -> bool:
        """Return whether the player has a rating or a name in this pool."""
        return await self._read_noted(lambda db: listings.seen(db, pool, player))

    # People.

    async def hidden(self) -> frozenset[PlayerId]:
        """Return the players who are shown nowhere."""
        if self._hidden is None:
            self._hidden = await self._read(player_rows.hidden)
        return self._hidden

    async def hide(self, pool: str, player: PlayerId, entry: Audit, *, hide: bool) -> None:
        """Show a player nowhere from now on, or everywhere again, with the line of the audit; in all pools."""

        def change(db: Connection) -> None:
            player_rows.hide(db, player, hide=hide)
            notes.audit(db, entry)

        await self._write_pool(pool, change)
        self._hidden = None

    async def exports_since(self, player: PlayerId) -> Sequence[Audit]:
        """Return the lines of the audit about exports of pools since a player's first rated round."""
        return await self._read_noted(lambda db: player_rows.exports_since(db, player))

    async def rows_about(self, player: PlayerId) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return every row that names a player, by table, without the ids of others; rounds do not wait for it."""
        await self._read_noted(lambda _: None)
        return await asyncio.to_thread(player_rows.rows_about, self.path, player)

    async def begin_forgetting(self, someone: InForgetting, entry: Audit) -> PlayerId:
        """Write into the journal who is to be forgotten, and by whom; returns the stand-in, which was there before if
        an earlier attempt failed.
        """

        def begin(db: Connection) -> PlayerId:
            db.execute("INSERT OR IGNORE INTO forgetting (player, stand_in) VALUES (?, ?)", someone)
            notes.audit(db, entry)
            return next(row.stand_in for row in player_rows.forgetting(db) if row.player == someone.player)

        return await self._write(begin)

    async def note_untold(self, pools: Iterable[str], someone: InForgetting, entry: Audit) -> None:
        """Note that the logs of these shared pools are to be told of somebody who is forgotten."""
        await self._write(lambda db: player_rows.note_untold(db, pools, someone, entry))

    async def untold(self, pool: str) -> Sequence[tuple[InForgetting, Audit]]:
        """Return of whom the log of a shared pool is still to be told, with the line of the audit."""
        return await self._read(lambda db: player_rows.untold(db, pool))

    async def told(self, pool: str, player: PlayerId) -> None:
        """Note that the log of a shared pool was told of somebody."""
        query = "DELETE FROM untold WHERE pool = ? AND player = ?"
        await self._write(lambda db: db.execute(query, (pool, int(player))) and None)

    async def forgetting(self) -> Sequence[InForgetting]:
        """Return who stands in the journal of forgetting."""
        return await self._read(player_rows.forgetting)

    async def forget(self, renamed: RenamedSnapshot) -> None:
        """Forget who stands in the journal, and write the whole file anew; other calls fail meanwhile.

        StoreError: the journal has them still, and another call, or the next start, goes on.
        """

        def rewrite(db: Connection) -> None:
            self._notes.write(db)
            with self._transaction(db):
                for someone in player_rows.forgetting(db):
                    if someone.player != someone.stand_in:
                        player_rows.rename(db, *someone, renamed)
            player_rows.clean(db)

        await self._taken_over(rewrite)
        self._hidden = None
        for _ in range(LOG_TRIES):
            if await self._read(player_rows.empty_log):
                await self._write(lambda db: db.execute("DELETE FROM forgetting"))
                return
            await asyncio.sleep(1.0)
        raise StoreError("store: another program reads it, so that what was deleted is still in its log")

    # Seasons.

    async def begin_season(self, pool: str, season: str, at: float, since: float | None, entry: Audit) -> bool:
        """Keep the leaderboard under a name, with the line of the audit; False: the name is taken."""

        def begin(db: Connection) -> bool:
            begun = seasons.begin(db, pool, season, at, since)
            if begun:
                notes.audit(db, entry)
            return begun

        await self._read_noted(lambda _: None)  # names that wait belong to it
        return await self._write_pool(pool, begin)

    async def seasons(self, pool: str) -> Sequence[Season]:
        """Return a pool's seasons, the newest first."""
        return await self._read(lambda db: seasons.listed(db, pool))

    async def season_board(self, pool: str, season: str, after: int, limit: int) -> Sequence[Standing]:
        """Return so many places of a season's leaderboard behind one, without those of players who are hidden now."""
        return await self._read(lambda db: seasons.board(db, pool, season, after, limit))

    # Shared pools: changed by the events of their log alone.

    @contextmanager
    def catching(self, pool: str) -> Iterator[list[Change]]:
        """Take back what calls in here change of a shared pool, and return it in the list: one event or more."""
        assert pool not in self._caught, "one change at a time"
        self._caught[pool] = []
        try:
            yield self._caught[pool]
        finally:
            del self._caught[pool]

    async def take_in(
        self,
        pool: str,
        events: Sequence[tuple[Position, Sequence[bytes]]],
        renamed: RenamedSnapshot,
    ) -> Sequence[Taken]:
        """Write what events of the log have changed, in order: the position and pieces of each.

        Those before one that is damaged are kept; DamagedEvent: it is the first. This does not wait for the disk: after
        a power loss the store may be as it was before, and the log has them still.
        """

        def write(db: Connection) -> list[Taken]:
            taken: list[Taken] = []
            with unsynced(db), self._transaction(db):
                for position, pieces in events:
                    try:
                        with store_errors(), savepoint(db) if taken else nullcontext():
                            taken.append(changes.take_in(db, pool, position, pieces, renamed))
                    except changes.DamagedEvent:
                        if not taken:
                            raise
                        break
            for memory in (line for result in taken for line in result.memories):
                self._notes.unwritten.supersede(memory)
            self._note_followed(db)
            return taken

        taken = await self._read(write)
        if any(result.rewritten or result.forgotten for result in taken):
            self._hidden = None
        return taken

    async def reference(self, pool: str) -> Change | None:
        """The newest states of a pool's sequential systems, as an event for its log; None: there are none."""
        return await self._read(lambda db: changes.reference(db, pool))

    async def number_all(self, pool: str) -> int:
        """Give a pool's rounds and edits the first numbers of a log, which goes on behind them; how many they are."""
        await self._read_noted(lambda _: None)  # names that wait belong to it
        return await self._write(lambda db: changes.number_all(db, pool, 0))

    def whole(self, pool: str) -> AbstractContextManager[tuple[Position | None, Iterator[bytes]]]:
        """Return all rows of a pool as pieces for a log, and what event they are as of; for one thread at a time.

        They are read beside the other calls.
        """
        return changes.read_whole(self.path, pool)

    @asynccontextmanager
    async def rewriting(self, pool: str) -> AsyncIterator[Callable[[int], Awaitable[tuple[int, AsyncIterator[bytes]]]]]:
        """Let calls inside rate or fill a shared pool anew; what they did is taken back at the end.

        Before that, what this yields numbers new rounds and edits behind an event of the log, and returns the last
        number and all rows, as pieces. The caller has the store for itself.
        """
        await self._read_noted(lambda _: None)
        await self._read(lambda db: db.execute("BEGIN IMMEDIATE"))
        self._rewritten = pool

        async def whole(last: int) -> tuple[int, AsyncIterator[bytes]]:
            number = await self._read(lambda db: changes.number_all(db, pool, last))
            rows = await self._read(lambda db: changes.whole(db, pool))

            async def pieces() -> AsyncIterator[bytes]:
                while (piece := await self._read(lambda _: next(rows, None))) is not None:
                    yield piece

            return number, pieces()

        try:
            yield whole
        finally:
            self._rewritten = None
            await self._read(lambda db: db.in_transaction and db.execute("ROLLBACK"))

    async def begin(self, pool: str, piece: bytes, *, first: bool = False) -> None:
        """Write the next piece of the whole pool with which a log is followed; the first one replaces what is there."""

        def write(db: Connection) -> None:
            with self._transaction(db):
                changes.begin(db, pool, piece)
            if first:
                self._note_followed(db)

        # What is there may be millions of rows, whose end nobody is to wait for. A daemon that starts cannot do without
        # its own calls meanwhile.
        large = first and (await self.holds(pool))[1] > LARGE
        await self._taken_over(write, large=large)
        self._hidden = None

    async def drop(self, pool: str, position: Position | None = None) -> None:
        """Delete all of a pool, and follow no log of it; READING: one whose base is to be read."""

        def write(db: Connection) -> None:
            with self._transaction(db):
                changes.drop(db, pool)
                changes.move(db, pool, position)
            self._note_followed(db)

        await self._read(write)

    async def last_players(self, pool: str, limit: int) -> Sequence[PlayerId]:
        """Return those who played last."""
        query = "SELECT id FROM players WHERE pool = ? ORDER BY last_played DESC LIMIT ?"
        return await self._read(lambda db: [PlayerId(row[0]) for row in db.execute(query, (pool, limit))])

    async def last_logged(self, pool: str) -> tuple[int, str, str] | None:
        """Return the number in the log, the server and the id of a shared pool's last round; None: it has none."""
        return await self._read(lambda db: changes.last_round(db, pool))

    async def follow(self, pool: str, position: Position | None) -> None:
        """Follow a log from there on; None: no more, the pool is this store's own from now on."""

        def write(db: Connection) -> None:
            with self._transaction(db):
                changes.move(db, pool, position)
            self._note_followed(db)

        await self._read(write)

    def _note_followed(self, db: Connection) -> None:
        positions = changes.positions(db)
        self.being_read = frozenset(pool for pool, position in positions.items() if position == READING)
        self.followed = {pool: position for pool, position in positions.items() if position != READING}
        if positions:
            changes.watch(db)

    @contextmanager
    def _change(self, db: Connection, pool: str) -> Iterator[Callable[[], None]]:
        """A transaction that changes a pool; of a shared pool it is caught, as one event or one at each call."""
        caught = self._caught.get(pool)
        if pool == self._rewritten:
            yield lambda: None
            return
        if caught is None:
            if pool in self.followed or pool in self.being_read:
                raise StoreError(f"store: pool {pool} is shared, its log alone changes it")
            with self._transaction(db):
                yield lambda: None
            return
        with suppress(TakenBack), self._transaction(db), changes.caught(db, pool, caught) as event_ends:
            yield event_ends
            raise TakenBack

    async def _write_pool(self, pool: str, work: Callable[[Connection], T]) -> T:
        def atomically(db: Connection) -> T:
            with self._change(db, pool):
                return work(db)

        return await self._read(atomically)

    # The thread.

    async def _write(self, work: Callable[[Connection], T]) -> T:
        def atomically(db: Connection) -> T:
            with self._transaction(db):
                return work(db)

        return await self._read(atomically)

    async def _read_noted(self, work: Callable[[Connection], T]) -> T:
        """Write the notes that wait, then read, so that readers see them."""

        def after_notes(db: Connection) -> T:
            with suppress(StoreError), self._errors():  # when notes cannot be written, the rest can still be read
                self._notes.show(db)
            return work(db)

        return await self._read(after_notes)

    async def _read(self, work: Callable[[Connection], T], *, alone: bool = False) -> T:
        # Refused at once: a call that waited for the thread would take
        # longer than a script waits, and a round would not go to the ring.
        if self._rewriting and not alone:
            raise StoreError("store: the ratings of a pool are being replaced")

        def served() -> T:
            with self._errors():
                return work(self._connection)

        return await self._run(served)

    async def _taken_over(self, work: Callable[[Connection], None], large: bool = True) -> None:
        """Rewrite much at once; what is large refuses other calls meanwhile."""
        self._rewriting += large
        try:
            await self._read(work, alone=True)
        finally:
            self._rewriting -= large

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """SQLite's errors as ours, each noted in the store's health."""
        try:
            with store_errors():
                yield
        except StoreError as error:
            self._health.failed(error)
            raise

    @contextmanager
    def _transaction(self, db: Connection) -> Iterator[None]:
        """A transaction of a store that may be written; its commit ends a trouble."""
        self._refuse_writing()
        with self._writing, transaction(db):
            yield
        self._health.wrote()

    def _refuse_writing(self) -> None:
        self._health.refuse_writing()
        if self._files is not None:
            self._files.check()

    async def _checked(self) -> None:
        # On the store's thread, which alone writes the health.
        if (damage := await self._check.run()) is not None:
            await self._run(lambda: self._health.failed(damage))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            raise StoreError("store: it is not open")
        # A cancelled caller stops waiting; what is on the thread already is carried out to its end.
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    @property
    def _connection(self) -> Connection:
        if self._database is None:
            raise StoreError("store: it is not open")
        return self._database.conn

    def _connect(self) -> None:
        if not self._create:
            refuse_missing(self.path)  # before the lock's file is made
        # Before the file is opened: two connections that write may damage it (`store.connection`).
        self._lock.take()
        recalculation.remove_left(self.path)
        try:
            self._database = open_database(self.path, create=self._create)
            self._files = OpenFiles(self.path)
            self._note_followed(self._database.conn)
        except BaseException:
            self._lock.drop()
            raise

    def _disconnect(self) -> None:
        if self._database is not None:
            try:
                with store_errors():
                    self._notes.write(self._connection)
            except StoreError as error:
                # There is nothing to try again with: the process ends. Rounds are never notes.
                log.error("%d notes are lost: %s", len(self._notes.unwritten), error)
            with self._writing:  # the last connection empties the write-ahead log
                # An interruption that met no statement would hold until the next one.
                self._connection.execute("SELECT 1").fetchone()
                self._database.close()
            self._database = None
        self._lock.drop()


class _NothingStored(Exception):
    """Ends the transaction of a group whose first round failed."""


def _tried(
    db: Connection,
    pool: str,
    submission: Submission,
    window: int,
    apart: AbstractContextManager[None],
    *,
    shared: bool,
) -> RatedRound | Exception:
    """The outcome of one round of a group: its answer, or the error for which it alone failed."""
    try:
        with store_errors(), apart:
            return round_rows.apply(db, pool, submission, window, shared=shared)
    except StoreError:  # the store's trouble is every round's
        raise
    except Exception as error:  # a fault in rating one round must not cost the other servers theirs
        submission.undo()
        return error
