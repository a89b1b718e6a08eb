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
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import partial, wraps
from itertools import takewhile
from pathlib import Path
from sqlite3 import Connection, ProgrammingError
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlite_utils import Database

from equipoise.core.model import PlayerId, ServerId
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
from equipoise.store.listings import MapResult
from equipoise.store.measurements import Measurement
from equipoise.store.notes import (
    NOTES_RETRY_SECONDS,
    NOTES_SECONDS,
    Audit,
    Chance,
    Decision,
    Note,
    Noting,
    SessionMemory,
)
from equipoise.store.past import Strike
from equipoise.store.player_rows import PlayerRow, RenamedSnapshot
from equipoise.store.recalculation import (
    CalibrationFit,
    CalibrationFound,
    Fitting,
    Revised,
    SpreadFound,
    StrikeRequest,
)
from equipoise.store.round_rows import RatedRound, Submission
from equipoise.store.sequence import Snapshot
from equipoise.workers import Job
from equipoise.workers.process import asked

LARGE = 1_000
"""Rounds that are rewritten at once: it holds the store's thread for a fifth of a second."""
LOG_TRIES = 60
"""Seconds for which programs that read the store may keep its log from being emptied."""
PIECES = 50
"""Pieces of the decision log that one call looks through: 100,000 lines, a tenth of a second."""

P = ParamSpec("P")
T = TypeVar("T")


class SoFar(NamedTuple):
    """Results and chances of a server in one time on a map, and its last decisions; each newest first."""

    results: Sequence[listings.Result]
    chances: Sequence[Chance]
    decisions: Sequence[Decision]


log = logging.getLogger(__name__)


def _reads(work: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Store, P], Coroutine[Any, Any, T]]:
    """Return the method of `Store` that does this with its connection, on its thread."""

    @wraps(work)
    async def method(store: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._read(lambda db: work(db, *args, **kwargs))

    return method


def _reads_noted(
    work: Callable[Concatenate[Connection, P], T],
) -> Callable[Concatenate[Store, P], Coroutine[Any, Any, T]]:
    """Return one that sees the notes that wait."""

    @wraps(work)
    async def method(store: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._read_noted(lambda db: work(db, *args, **kwargs))

    return method


def _writes(work: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Store, P], Coroutine[Any, Any, T]]:
    """Return one that is a transaction; durable when it returns."""

    @wraps(work)
    async def method(store: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._write(lambda db: work(db, *args, **kwargs))

    return method


def _changes(
    work: Callable[Concatenate[Connection, str, P], T],
) -> Callable[Concatenate[Store, str, P], Coroutine[Any, Any, T]]:
    """Return one that changes a pool: a transaction, and an event of a shared one."""

    @wraps(work)
    async def method(store: Store, pool: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store._write_pool(pool, lambda db: work(db, pool, *args, **kwargs))

    return method


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

    # What a module does with the connection, under one name for all callers.

    players = _reads(player_rows.stored)
    fingerprint = _reads(player_rows.fingerprint)
    adopt = _writes(player_rows.adopt_fingerprint)
    shared = _reads(player_rows.shared)
    redate = _writes(player_rows.redate)
    last_players = _reads(player_rows.last_players)
    names = _reads_noted(player_rows.names)
    crowd = _reads(player_rows.crowd)
    top = _reads_noted(player_rows.top)
    rank = _reads(player_rows.rank)
    board_length = _reads(player_rows.board_length)
    exports_since = _reads_noted(player_rows.exports_since)
    note_untold = _writes(player_rows.note_untold)
    untold = _reads(player_rows.untold)
    told = _writes(player_rows.told)
    forgetting = _reads(player_rows.forgetting)
    begin_forgetting = _writes(player_rows.begin_forgetting)

    memory = _reads_noted(round_rows.memory)
    memory_at = _reads_noted(round_rows.memory_at)
    pool_of = _reads(round_rows.pool_of)
    records = _reads(round_rows.records_of)
    prune_rounds = _writes(round_rows.prune_rounds)
    last_prunable = _reads(round_rows.last_prunable)
    pruned_rounds = _reads(round_rows.pruned_rounds)

    audit = _writes(notes.audit)
    audits = _reads_noted(notes.audits)
    decisions = _reads_noted(notes.decisions)
    last_decision = _reads_noted(notes.last_before)
    chances = _reads_noted(notes.chances)
    prune = _writes(notes.prune)

    rated_rounds = _reads(past.see)
    events = _reads(past.see_events)
    events_after = _reads(past.page)
    last_number = _reads(sequence.last_number)
    last_edit_number = _reads(sequence.last_edit_number)
    lost_edits = _reads(sequence.lost)
    snapshot = _reads(sequence.newest)
    leave_snapshots = _writes(sequence.leave)
    refitted_at = _reads(sequence.refitted_at)
    calibrations = _reads(sequence.calibrations)
    learnt_spread = _reads(sequence.learnt_spread)
    edit = _changes(sequence.edit)
    adopt_edit = _changes(sequence.adopt)
    recompute = _changes(recalculation.recompute)
    fill = _changes(transfer.write)
    holds = _reads(transfer.holds)

    predictions = _reads(measurements.predictions)
    plays_alone = _reads(measurements.plays_alone)
    team_sizes = _reads(measurements.team_sizes)
    gained = _reads(measurements.gained)
    keep_quality = _writes(measurements.keep_quality)
    qualities = _reads(measurements.qualities)
    extent = _reads(extent)

    rounds = _reads_noted(listings.rounds)
    round = _reads_noted(listings.find)
    results = _reads(listings.results)
    last_changes = _reads(listings.last_changes)
    played = _reads_noted(listings.played)
    edits_of = _reads_noted(listings.edits_of)
    ratings_of = _reads_noted(listings.ratings_of)
    moments_of = _reads(listings.moments_of)
    company = _reads_noted(listings.company)
    seen = _reads_noted(listings.seen)

    players_at = _reads(seasons.players_at)
    season_board = _reads(seasons.board)
    seasons = _reads(seasons.listed)

    reference = _reads(changes.reference)
    last_logged = _reads(changes.last_round)

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

    def note(self, notes: Iterable[Note]) -> None:
        """Write these within a second or two, many in one transaction, behind rounds; never fails.

        Until then they survive neither kill -9 nor a power loss, but every read below already sees them. Of a
        server's memory and a player's name only the newest is written.
        """
        self._notes.add(notes, due=self._thread is not None)

    async def keep_snapshot(self, pool: str, snapshot: Snapshot, seen: int) -> None:
        """Add a snapshot in place of older ones, unless an event was struck since event `seen`."""
        await self._read(self._notes.write)  # predictions of rounds behind a snapshot are not made again
        await self._write(lambda db: sequence.keep(db, pool, snapshot, seen))

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

    async def changes_of_sides(self, since: float) -> Sequence[notes.Made]:
        """Return the decisions since a time that changed sides, oldest first."""
        rows: list[notes.Made] = []
        after = await self._read_noted(lambda db: notes.last_before(db, since))
        while page := await self._read(partial(notes.changes_of_sides, after=after)):
            rows += page
            after = page[-1].number
        return rows

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

    async def back_up(self, target: Path) -> Backup:
        """Copy the store as it is at one moment to a file that does not exist, while it goes on to serve.

        The copy is checked and durable when this returns. Before that, and after a StoreError, there is none.
        """
        try:
            return await asked(Job.BACKUP, BackupRequest(str(self.path), str(target)), Backup)
        except asyncio.CancelledError:
            remove_unfinished(target.parent)
            raise

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

    async def rows_about(self, player: PlayerId) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return every row that names a player, by table, without the ids of others; rounds do not wait for it."""
        await self._read_noted(lambda _: None)
        return await asyncio.to_thread(player_rows.rows_about, self.path, player)

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
            db.execute("VACUUM")  # without what was deleted or replaced: as long as a backup takes

        await self._taken_over(rewrite)
        self._hidden = None
        for _ in range(LOG_TRIES):
            if await self._read(player_rows.empty_log):
                await self._write(lambda db: db.execute("DELETE FROM forgetting"))
                return
            await asyncio.sleep(1.0)
        raise StoreError("store: another program reads it, so that what was deleted is still in its log")

    # Seasons.

    async def begin_season(self, pool: str, season: str, since: float | None, entry: Audit) -> bool:
        """Keep the leaderboard under a name, with the line of the audit; False: the name is taken."""
        await self._read_noted(lambda _: None)  # names that wait belong to it
        return await self._write_pool(pool, lambda db: seasons.begin(db, pool, season, since, entry))

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

    async def follow(self, pool: str, position: Position | None, *, drop: bool = False) -> None:
        """Follow a log from there on; None: no more, the pool is this store's own. `drop`: all of it is deleted."""

        def write(db: Connection) -> None:
            with self._transaction(db):
                if drop:
                    changes.drop(db, pool)
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
