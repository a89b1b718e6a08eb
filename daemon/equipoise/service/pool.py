"""One rating population: its system, its store and its ring. The hosts of several servers feed one pool.

Rounds are applied in the order in which they came, which is the order of the store's `number`. A commit costs a sync
of the disk, so rounds share commits. A round that comes while nothing is under way goes alone. Rounds that come during
a commit form a group, which goes as soon as that commit is done: no round waits for others to come, a quiet pool
answers after one sync, and a busy one stores as many rounds with each sync as came in during the last.

A group is one call to the store and one transaction there. Each round has a savepoint of its own and is rated inside
the transaction (`service/held.py`), on what the rounds before it left in memory and in the store.

- A round that fails alone is rolled back to its savepoint, undone in memory, and refused. The rounds before it are
  committed; those behind it go in a transaction of their own.
- When the store fails as a whole (locked, disk full, the commit itself), all rounds are undone in memory, the last
  one first, and go to the ring in order.
- An answer is given after the commit, or after the ring's file was synced; never before.
- While a round waits in the ring, every newer one waits behind it.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

from equipoise.balancing import summaries_on
from equipoise.core.effects import RecordRound
from equipoise.core.model import Context, Hive, PlayerId, PlayerSummary, is_bot
from equipoise.errors import EquipoiseError, RatingError, ScriptError, SpillError, StoreError
from equipoise.ratings.calibration import calibrated
from equipoise.ratings.system import System
from equipoise.service import held
from equipoise.service.boards import Boards
from equipoise.service.clock import Clock
from equipoise.service.held import MOST_HELD, Before, Held, RatingAttempt, Reading, fingerprint_of
from equipoise.service.place import Follower, HeldSequence, NewRound
from equipoise.service.ring import Key, Ring, UnstoredRound
from equipoise.store.notes import Audit
from equipoise.store.past import Strike, UndoStrike, VoidStrike
from equipoise.store.player_rows import InForgetting, PlayerRow
from equipoise.store.recalculation import CaughtUp, Fitting, Revised, Shift
from equipoise.store.round_rows import RatedRound
from equipoise.store.sequence import BulkEdit, MatchEvent
from equipoise.store.store import Store
from equipoise.wire import RoundStatus

GROUP = 32
"""Rounds in one transaction at most: it holds the store's thread for under a tenth of a second."""

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The outcome of a round that was sent."""

    status: RoundStatus
    rated: RatedRound | None
    """Its first answer; None while it is kept."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A player before and after an edit."""

    before: PlayerSummary
    after: PlayerSummary


@dataclass(frozen=True, slots=True)
class Sharing:
    """A shared pool, as this daemon sees it."""

    machine: str
    """This daemon's name in the log."""
    connected: bool
    """Whether the log answered last."""
    number: int
    """Number of the last event of the log that is in this store."""
    behind: int
    """Events of the log that are not here yet, when it was asked last."""
    trouble: str | None
    """Why events are not followed, or rounds not appended; None: they are."""


@dataclass(slots=True)
class Group:
    """Rounds that came while an earlier group was under way, in order."""

    rounds: list[UnstoredRound] = field(default_factory=list)
    results: asyncio.Task[list[Recorded | Exception]] | None = None
    """Ends with what became of each."""


class Pool:
    """Call `open` first, when the store is open, and `close` last, before the store.

    Reading `system` needs no lock: each player is seen as before a round that is being rated, or as after it, which is
    undone when the round is not stored after all. `summaries` has only what is stored.
    """

    def __init__(
        self,
        name: str,
        system: System[Any],
        store: Store,
        ring: Ring,
        clock: Clock,
        most_held: int = MOST_HELD,
        balance: System[Any] | None = None,
    ) -> None:
        self.name = name
        self.system = system
        self.store = store
        self.ring = ring
        self.applied = 0
        """Rounds stored, since the start."""
        self.refused = 0
        """Waiting rounds that the store can never take, since the start."""
        self._clock = clock
        self._lock = asyncio.Lock()
        # A sequential system is a function of the whole sequence:
        # it cannot be loaded player by player, nor be forgotten so.
        self._held = HeldSequence(system) if system.sequential else Held(system, most_held)
        self.follower = Follower(name, balance, store, self._held.changed) if balance else None
        """It holds the balance system, where there is one."""
        self._reading = Reading(name, self._held, store, clock)
        self._turn = asyncio.Lock()
        """Held by one replay at a time."""
        self._replay_task: asyncio.Task[Revised] | None = None
        self._rounds_wait_for_replay = False
        """Rounds wait in the ring until a replay is written."""
        self._failing: Key | None = None
        """The round of the ring at which a fault of ours stops those behind it."""
        self._group: Group | None = None
        """Takes the rounds that come now."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._whereabouts = Whereabouts(name)
        self.boards = Boards(name, system, store, clock)

    async def open(self) -> None:
        """Read the ring's file and apply what waits.

        ConfigError: the stored ratings were made by another system. SpillError: the file cannot be used.
        """
        if (part := self.name in self.store.being_read) or self.name in self.store.followed:
            what = "with a part of its rounds: it left while it was being read" if part else "the log without it"
            log.warning("the pool is shared no more: it goes on by itself, %s", what, extra={"pool": self.name})
            await self.store.follow(self.name, None)
        await held.agree(self.name, self.store, self._held, self._clock.epoch())
        with suppress(StoreError):  # the store says what is wrong: a daemon that serves keeps rounds
            await held.redate(self.name, self.store, self._clock.epoch())
        await self._held.read(self.store, self.name)
        await asyncio.to_thread(self.ring.open)
        # Before the follower starts: what waited comes first in the sequence that it reads.
        await self.drain()
        if self.follower is not None:
            await self.follower.start(fingerprint_of(self.system))

    async def close(self) -> None:
        """Finish what is under way, and take no more rounds."""
        self._closed = True
        if self._replay_task is not None:
            self._replay_task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.follower is not None:
            await self.follower.stop()
        self.ring.close()

    @property
    def balancing(self) -> System[Any]:
        """The system that teams are made and chances are predicted by, calibrated; `system` makes the ratings shown."""
        follower = self.follower
        if follower is not None and follower.ready:
            return calibrated(follower.system, follower.calibration)
        return calibrated(self.system, self._held.calibration)

    @property
    def version(self) -> int:
        """Grows after every event that may have changed a summary, and when players could not be loaded.

        A host that reads it before it asks for summaries need not ask again while it stays the same.
        """
        return self._held.version

    @property
    def ring_depth(self) -> int:
        """Rounds that wait for the store."""
        return self.ring.depth

    @property
    def sharing(self) -> Sharing | None:
        """The pool's log, where several machines share it."""
        return None

    # Rounds, in the order of their way: a group, its transaction, the ring.

    async def record(self, record: RecordRound, memory: bytes | None) -> Recorded:
        """Store and rate a round once, after every older one; a round sent again returns its first answer.

        SpillError: neither the store nor the ring took it. ScriptError: the store can never take it.
        """
        if self._closed:  # a ring that is closed would keep a round that nothing applies
            raise ScriptError("busy", "the pool's configuration has just changed: send it again", status=503)
        group = self._group
        # While a group is under way the next one is filled: its rounds share one sync of the disk.
        if group is None or len(group.rounds) == GROUP:
            group = self._group = Group()
            # The task begins only when this gives way to the event
            # loop, so that the round below is in the group by then.
            group.results = self._start(self._store_or_keep(group))
        place, now = len(group.rounds), self._clock.epoch()
        if (ahead := record.round.started_at - now) > 0.0:  # its players would not be stale for years
            message = "a script's clock is ahead: its round begins in the future, and is dated now"
            log.warning(message, extra={"pool": self.name, "seconds": round(ahead)})
            record = replace(record, round=replace(record.round, started_at=now))
        group.rounds.append(UnstoredRound(record, memory, now))
        assert group.results is not None
        # A caller that goes away must not end the group, which has others' rounds too.
        outcome = (await asyncio.shield(group.results))[place]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _store_or_keep(self, group: Group) -> list[Recorded | Exception]:
        """Store a group, and put into the ring what the store does not take; returns an outcome for each round."""
        async with self._lock:
            try:
                # The older ones: ratings depend on the order. Rounds that come meanwhile still join this group.
                await self._apply_waiting()
            finally:
                # Rounds that come from now on are in time for the next group, also after a fault: this one's outcome is
                # an exception then, and must not be that of all who come later. A full group has been replaced already.
                if self._group is group:
                    self._group = None
            results: list[Recorded | Exception] = []
            why = ""  # older rounds wait: their turn comes without a word
            try:
                # One transaction, unless a round fails alone: those behind it go in another.
                while not self.ring.depth and not self._rounds_wait_for_replay and len(results) < len(group.rounds):
                    outcomes = await self._rate_and_store(group.rounds[len(results) :])
                    results += (
                        outcome if isinstance(outcome, Exception) else Recorded("stored", outcome)
                        for outcome in outcomes
                    )
            except StoreError as error:
                why = str(error)
            # The rest: the store failed, or older rounds wait, or a replay runs.
            # After a StoreError no round of the last transaction is in `results`.
            if len(results) < len(group.rounds):
                results += await asyncio.to_thread(self._keep, group.rounds[len(results) :])
            self._whereabouts.say(results, self.applied, why)
            self._reading.make_room()  # now that no transaction may have asked for a player
            if self._held.snapshot_due:
                self._start(self._keep_snapshot())
            return results

    async def _rate_and_store(self, rounds: Sequence[UnstoredRound]) -> Sequence[RatedRound | Exception]:
        """Rate and store rounds in one transaction, up to the first that fails; after an error memory is as before."""
        # Only a sequential system, or one whose calibration was outdated, has something to read here.
        await self._held.read(self.store, self.name)
        attempts = [RatingAttempt(game_round, self._held) for game_round in rounds]
        try:
            outcomes = await self.store.record(self.name, attempts, self.system.window)
        except BaseException:
            undo(attempts)
            self._held.undone()
            raise
        news = stored_now(attempts, outcomes)
        self.applied += len(news)
        self._held.stored([outcome for _, outcome in news])
        if self.follower is not None:
            self.follower.wake(new_rounds(news))
        return outcomes

    def _keep(self, rounds: Sequence[UnstoredRound], *, synced: bool = True) -> list[Recorded | Exception]:
        """Put rounds into the ring, in order: behind one that cannot be kept none is, or it would overtake that one."""
        kept: list[Recorded | Exception] = []
        try:
            for entry in rounds:
                self.ring.push(entry, synced=synced)
                kept.append(Recorded("kept", None))
        except SpillError as error:
            kept += [error] * (len(rounds) - len(kept))
        return kept

    async def drain(self) -> None:
        """Apply what waits, oldest first, until the store refuses."""
        await self._uninterrupted(self._drain())

    async def _drain(self) -> None:
        progress = True
        while progress:
            async with self._lock:  # let go in between: a round may have ended meanwhile
                depth = self.ring.depth
                await self._apply_waiting()
                progress = self.ring.depth < depth

    async def _apply_waiting(self) -> None:
        """Store as many waiting rounds as there are slots: more would keep a script waiting for its answer."""
        # A replay writes ratings by the rounds that were stored when it began.
        if self._closed or self._rounds_wait_for_replay or not self.ring.depth:
            return
        try:
            entries = await asyncio.to_thread(self.ring.slots)
            while entries:
                outcomes = await self._rate_and_store(entries)
                # Fewer outcomes than entries where one failed: those
                # behind it are tried in the next turn of the outer loop.
                for entry, outcome in zip(entries, outcomes, strict=False):
                    if isinstance(outcome, ScriptError):  # it must not stop those behind it
                        self.refused += 1
                        log.error("pool %s: round %s of %s dropped: %s", self.name, *reversed(entry.key), outcome)
                    elif isinstance(outcome, Exception):  # a fault of ours: it waits for the version that mends it
                        if entry.key != self._failing:  # it is tried again and again
                            log.error(
                                "pool %s: round %s of %s fails", self.name, *reversed(entry.key), exc_info=outcome
                            )
                        self._failing = entry.key
                        if not self._told_of_fault(entry):
                            return
                    self._concluded(entry, outcome)
                    await asyncio.to_thread(self.ring.pop)  # after a crash before this, the store knows it by its id
                entries = entries[len(outcomes) :]
        except StoreError:  # it says why itself; they are tried again with the next round, or by the job
            return
        except SpillError as error:
            log.warning("pool %s: %d rounds wait: %s", self.name, self.ring.depth, error)

    def _concluded(self, entry: UnstoredRound, outcome: RatedRound | Exception) -> None:
        """A round waits no longer: it is stored, or can never be, or its script keeps it."""

    def _told_of_fault(self, entry: UnstoredRound) -> bool:
        """Return whether the script of a round that we fail to rate is told, and sends it again."""
        return False

    async def keep_base(self, before: float) -> None:
        """Prepare for the deletion of rounds that were stored before a time."""
        await self._held.keep_base(self.store, self.name, before)
        if self.follower is not None:
            await self.follower.keep_base(before)

    async def _keep_snapshot(self) -> None:
        async with self._lock:
            await self._held.keep_snapshot(self.store, self.name)

    # Players.

    def summary(self, player: PlayerId) -> PlayerSummary:
        """Return a player's summary from memory; an unknown player's is a newcomer's."""
        return self._summaries((player,))[0]

    def _summaries(self, players: Sequence[PlayerId]) -> tuple[PlayerSummary, ...]:
        system, balancer = self.system, self.balancing
        return tuple(
            replace(
                system.summary(player),
                skill=skill,
                deviation=balancer.deviation(player),
                skills=system.skills(player),
            )
            for player, skill in zip(players, balancer.skill_values(players), strict=True)
        )

    def hold(self, present: Callable[[], Iterable[PlayerId]]) -> Callable[[], None]:
        """Keep in memory whom `present` returns, whose skills are read at any time. What this returns ends it."""
        return self._reading.hold(present)

    def introduce(self, hives: Mapping[PlayerId, Hive]) -> None:
        """Say what the game itself thinks of players, for those of whom nothing else is known."""
        changes = self.system.introduce(hives)
        if self.follower is not None and self.follower.ready:
            changes |= self.follower.system.introduce(hives)
        if changes:
            self._held.changed()

    def skill(self, player: PlayerId) -> float:
        """Return a player's skill in points, which splits sum up; unknown players and bots have a newcomer's."""
        return self.balancing.skill(player)

    async def summaries(self, players: Sequence[PlayerId], context: Context | None = None) -> tuple[PlayerSummary, ...]:
        """Return summaries in the players' order, loaded where memory has none; from memory alone if the store fails.

        With a context: also their skills on both sides in it, which are stored ones like the rest. What is asked of
        `balancing` behind this is answered by one that knows all rounds before, and perhaps one that is being rated.
        """
        if self.follower is not None:
            await self.follower.keep_up()
        if self._held.unread(players) or self._held.lacks_shared:
            return await self._uninterrupted(self._load(players, context))
        async with self._lock:  # memory is ahead of the store while rounds are rated, and goes back when they fail
            return summaries_on(self.balancing, context, self._summaries(players), shown=self.system)

    async def _load(self, players: Sequence[PlayerId], context: Context | None) -> tuple[PlayerSummary, ...]:
        async with self._lock:
            await self._reading.players(players)
            self._reading.make_room(players)
            return summaries_on(self.balancing, context, self._summaries(players), shown=self.system)

    async def looked_up(self, player: PlayerId) -> PlayerSummary:
        """Return a player's summary, to be read by people. StoreError where `summaries` would make them a newcomer."""
        (summary,) = await self.summaries((player,))
        if player not in self.system and self._held.unread((player,)):
            raise StoreError(f"store: it does not answer, and {player} is not in memory")
        return summary

    async def known(self, player: PlayerId) -> bool:
        """Tell whether a player is on a server, or was ever seen in the pool."""
        return player in self._reading.present() or await self.store.seen(self.name, player)

    async def top(
        self, limit: int | None, *, after: PlayerId | None = None, before: PlayerId | None = None
    ) -> tuple[PlayerSummary, ...]:
        """Return the leaderboard with names, all of it without a limit: without shadow ratings and stale players.

        Only those behind a player, or the last of those before one.
        """
        rows = await self.store.top(self.name, limit, since=self.active_since(), after=after, before=before)
        return tuple(
            PlayerSummary(row.id, row.rating, row.rounds, row.visible, row.last_played, name=row.name) for row in rows
        )

    async def rank(self, player: PlayerId) -> tuple[int, int] | None:
        """Return the place on the leaderboard and its length; None for a player who is not on it."""
        return await self.store.rank(self.name, player, since=self.active_since())

    def active_since(self) -> float | None:
        """Return the second of the epoch before which a last rated round makes a player stale; None: no player is."""
        longest = self.system.stale_after
        return None if math.isinf(longest) else self._clock.epoch() - longest

    # Edits: they wait for rounds under way, and a replay holds back those that come.

    async def stored_version(self, player: PlayerId) -> int:
        """Return a number that grows with every change of a player; 0 for one who was never rated."""
        row = (await self.store.players(self.name, (player,), 0)).get(player)
        return 0 if row is None else row.version

    async def edit(
        self, player: PlayerId, rating: float | None, who: str, *, version: int | None = None, trial: bool = False
    ) -> Edited:
        """Set a player's rating, or with None make them a newcomer; audited as done by `who`.

        With a `version` only while the player has it; a trial only says what would change. Nothing was changed after
        RatingError (the system refuses it), ScriptError (the player has changed) and StoreError.
        """
        if is_bot(player):
            raise RatingError(f"{player}: bots are not rated")
        if self.follower is not None:
            # Before the edit: the numbers shown as `before` are those of all rounds so far.
            await self.follower.keep_up()
        edit = await self._uninterrupted(self._edit(player, rating, who, version, trial))
        if self.follower is not None and not trial:  # it reads the edit from the store
            await self.follower.keep_up()
            skill, deviation = self.balancing.skill(player), self.balancing.deviation(player)
            edit = replace(edit, after=replace(edit.after, skill=skill, deviation=deviation))
        return edit

    async def _edit(self, player: PlayerId, rating: float | None, who: str, version: int | None, trial: bool) -> Edited:
        async with self._settled():
            before = Before()
            old = new = self.summary(player)

            # Runs on the store's thread, inside its transaction: what it reads there is true until the commit.
            def change(row: PlayerRow | None) -> tuple[PlayerRow, Audit]:
                nonlocal before, old, new
                if version is not None and version != (row.version if row else 0):
                    raise _changed(f"{player} has changed")
                # Memory may hold an older version of the player, or none.
                self._held.restore([row] if row else [])
                before = self._held.before([player])
                old = self.summary(player)
                if rating is None:
                    self.system.forget(player)
                    self.system.seed(player)
                else:
                    self.system.seed(player, rating=rating)
                new = self.summary(player)
                if trial:
                    raise _Tried
                action = "reset" if rating is None else "set"
                entry = Audit(self._clock.epoch(), who, action, player, described(old), described(new))
                state = self.system.state(player)
                return PlayerRow(player, 0, new.rating, new.rounds, new.visible, new.last_played, state, ()), entry

            def put_back() -> None:
                self._held.put_back(before)
                self._held.undone()

            detail = {} if rating is None else {"rating": rating}
            write = partial(self.store.edit, self.name, player, self.system.window, change, detail)
            with suppress(_Tried):
                await self._written(write, put_back, self._held.edited)
            return Edited(old, new)

    async def undo(self, player: PlayerId, who: str, *, version: int | None = None, trial: bool = False) -> Revised:
        """Take back a player's last edit, or apply it again; a trial only says what would change.

        With a `version` only while the player has it. ScriptError: they have not, or there is no edit. StoreError:
        nothing was changed.
        """

        def entry(revision: Revised) -> Audit:
            own = next((shift for shift in revision.shifts if shift.id == player), None)
            before, after = ("same", "same") if own is None else _numbers(own)
            return Audit(self._clock.epoch(), who, "undo", player, before, after)

        async def check() -> None:
            if version is not None and version != await self.stored_version(player):
                raise _changed(f"{player} has changed")

        strike = UndoStrike(player)
        return await self._uninterrupted(self._try(strike) if trial else self._strike(strike, entry, {}, check))

    async def void(
        self, strike: VoidStrike, who: str, reason: str, *, last_edit: int | None = None, trial: bool = False
    ) -> Revised:
        """Take a round out of the ratings, or put it back; a trial only says what would change.

        With a `last_edit` only while that is the pool's last one. ScriptError: it is not, or the round is not there, or
        not rated. StoreError: nothing was changed.
        """
        words = "rated", f"void: {reason}" if reason else "void"
        before, after = reversed(words) if strike.back else words
        target = f"round {strike.round} of {strike.server}"
        detail = {"server": strike.server, "round": strike.round, "back": strike.back, "reason": reason}

        def entry(_: Revised) -> Audit:
            return Audit(self._clock.epoch(), who, "void", target, before, after)

        async def check() -> None:
            if last_edit is not None and last_edit != await self.store.last_edit_number(self.name):
                raise _changed(f"ratings of pool {self.name} were edited")

        return await self._uninterrupted(self._try(strike) if trial else self._strike(strike, entry, detail, check))

    async def _try(self, strike: Strike) -> Revised:
        async with self._turn:
            return await self._wait_for_replay(self.store.struck(self.name, strike))

    async def _strike(
        self,
        strike: Strike,
        entry: Callable[[Revised], Audit],
        detail: Mapping[str, object],
        check: Callable[[], Awaitable[None]],
    ) -> Revised:
        async with self._turn, self._held_back():
            await check()  # nothing changes the pool between this and the replay
            strike_now = partial(self.store.strike, self.name, strike, entry, detail)
            return await self._written(lambda: self._wait_for_replay(strike_now()))

    async def _wait_for_replay(self, work: Coroutine[Any, Any, Revised]) -> Revised:
        """Wait for a replay, which ends with the pool: nothing of it is written then."""
        # A task of its own, so that `close` can cancel it alone: the code around it has still to let go of the rounds.
        self._replay_task = asyncio.create_task(work)
        if self._closed:
            self._replay_task.cancel()
        try:
            return await self._replay_task
        except asyncio.CancelledError:
            raise StoreError("the daemon ends: the audit says whether it was done") from None
        finally:
            self._replay_task = None

    async def adopt(self, edit: BulkEdit) -> int:
        """Write new ratings of many players as one edit; returns its number.

        PoolMoved: rounds came that it does not take into account. RatingError: the system cannot read a state.
        StoreError: nothing was changed.
        """
        return await self._uninterrupted(self._adopt(edit))

    async def _adopt(self, edit: BulkEdit) -> int:
        # Before the lock and in a thread: to read thousands of states takes seconds, in which rounds go on.
        await asyncio.to_thread(self._refuse_unreadable, edit)
        async with self._settled():
            try:
                return await self._written(partial(self.store.adopt_edit, self.name, edit))
            finally:  # after an error, too: it may be stored all the same
                await self._reading.anew()

    def _refuse_unreadable(self, edit: BulkEdit) -> None:
        """RatingError: the system could not read these states back."""
        # A trial in an empty system: one bad state must not leave the pool's own half changed.
        system = type(self.system)(self.system.params)
        for row in edit.rows:
            system.restore(row.id, row.state)
            system.forget(row.id)
        for key, part in (edit.shared or {}).items():
            system.restore_shared(key, part)

    async def refit(self, fitting: Fitting, entry: Audit) -> CaughtUp:
        """Adopt a fit of all rounds; rounds that come meanwhile wait in the ring. StoreError: nothing was changed."""
        return await self._uninterrupted(self._refit(fitting, entry))

    async def _refit(self, fitting: Fitting, entry: Audit) -> CaughtUp:
        async with self._turn, self._held_back():
            return await self._written(partial(fitting.adopt, entry))

    async def begin_season(self, season: str, entry: Audit) -> bool:
        """Keep the leaderboard under a name; False: the name is taken."""
        since = self.active_since()
        return await self._uninterrupted(self._change(self.store.begin_season, season, since, entry))

    async def hide(self, player: PlayerId, entry: Audit, *, hide: bool) -> None:
        """Show a player nowhere from now on, or everywhere again."""
        await self._uninterrupted(self._change(partial(self.store.hide, hide=hide), player, entry))

    async def upgrade(self) -> tuple[int, int]:
        """Raise the rating version of a shared pool to that of this program; return it as it was, and as it is.

        Machines with an older one append no more. ScriptError: the pool is not shared.
        """
        raise ScriptError("refused", f"pool {self.name} is not shared", status=409)

    async def renew_base(self) -> None:
        """Have the log of a shared pool begin with a newer base, if it is due and this machine's turn."""

    async def tell_forgotten(self, someone: InForgetting, entry: Audit) -> None:
        """Have the other machines of a shared pool put a stand-in in a player's place."""

    async def _change(self, write: Callable[..., Awaitable[T]], *values: object) -> T:
        async with self._settled():
            return await self._written(partial(write, self.name, *values))

    async def _written(
        self,
        write: Callable[[], Awaitable[T]],
        put_back: Callable[[], None] | None = None,
        done: Callable[[T], None] = lambda _: None,
    ) -> T:
        """Have the store change the pool; `put_back` undoes what `write` did in memory, `done` notes that it is so."""
        try:
            outcome = await write()
        except BaseException:
            if put_back is not None:
                put_back()
            raise
        done(outcome)
        return outcome

    @asynccontextmanager
    async def _settled(self) -> AsyncIterator[None]:
        """Hold the lock, with waiting rounds applied before. StoreError while a replay is under way."""
        async with self._lock:
            if self._rounds_wait_for_replay:
                raise StoreError(f"the ratings of pool {self.name} are being replayed: try again in a moment")
            await self._apply_waiting()
            try:
                yield
            finally:
                # What was done inside may have made a sequential system's state outdated.
                with suppress(StoreError):  # before the next round, then
                    await self._held.read(self.store, self.name)
                if self.follower is not None:
                    self.follower.wake()

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Have rounds that come wait in the ring while the store is rewritten, and read it anew when this ends.

        ScriptError 409: the store does not take rounds now.
        """
        async with self._turn, self._held_back():
            if self.ring.depth:
                message = f"rounds of pool {self.name} wait for the store: try again when it takes them"
                raise ScriptError("waits", message, status=409)
            yield

    @asynccontextmanager
    async def _held_back(self) -> AsyncIterator[None]:
        """Have rounds that come wait in the ring, and apply them when this ends. The lock is free."""
        async with self._settled():
            # Set under the lock, when the group under way is stored: the replay begins with a pool at rest. Then the
            # lock is free again, because a replay takes minutes and summaries must go on.
            self._rounds_wait_for_replay = True
        try:
            yield
        finally:
            async with self._lock:
                # Also after an error, which may have come behind the commit.
                self._rounds_wait_for_replay = False
                await self._reading.anew()
                if self.follower is not None:
                    self.follower.rebuild()
                await self._apply_waiting()
            # The first slots were applied above; the rest goes behind the caller's back, who need not wait for it.
            self._start(self._drain())

    # Work that no caller ends.

    async def _uninterrupted(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work that a cancelled caller leaves running: it must not let go of the lock halfway."""
        task = self._start(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_say_fault)
            raise

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work that outlives a cancelled caller; `close` waits for it before it closes the ring."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _say_fault(task: asyncio.Task[Any]) -> None:
    """Log a fault of ours in work whose caller has gone; a refusal was for the caller alone."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, EquipoiseError):
        log.error("work that nobody waited for any more failed", exc_info=error)


def stored_now(
    attempts: Sequence[RatingAttempt], outcomes: Sequence[RatedRound | Exception]
) -> list[tuple[RatingAttempt, RatedRound]]:
    """Return the rounds that a transaction stored. One that came again has its first answer: it has changed nothing."""
    return [
        (attempt, outcome)
        for attempt, outcome in zip(attempts, outcomes, strict=False)
        if isinstance(outcome, RatedRound) and not outcome.again
    ]


def new_rounds(news: Iterable[tuple[RatingAttempt, RatedRound]]) -> list[NewRound]:
    """Return those of the rounds that were rated, as a follower takes them."""
    return [
        NewRound(MatchEvent(outcome.number, attempt.record, outcome.prediction), attempt.match)
        for attempt, outcome in news
        if outcome.prediction is not None and attempt.match is not None
    ]


def undo(attempts: Sequence[RatingAttempt]) -> None:
    """Make memory what it was before these attempts, in order."""
    for attempt in reversed(attempts):  # each puts back what it found
        attempt.undo()


class _Tried(Exception):
    """Ends the transaction of an edit that is only tried."""


def _changed(what: str) -> ScriptError:
    return ScriptError("changed", f"{what} since you looked: nothing was done; look again", status=409)


def described(summary: PlayerSummary) -> str:
    """A rating as the audit has it."""
    return f"{summary.rating:g} after {summary.rounds} rounds"


def _numbers(shift: Shift) -> tuple[str, str]:
    return f"{shift.before:g} after {shift.rounds_before} rounds", f"{shift.after:g} after {shift.rounds_after} rounds"


# Where a pool's rounds are: stored, in the ring, or still with their scripts; logged when it changes.


class Whereabouts:
    """The log of one pool: the store's own log says how its trouble goes on."""

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._waits_in: Literal["ring", "script"] | None = None
        """Where the last rounds wait, by the log."""
        self._waits_since = 0
        """Rounds stored by then."""

    def say(self, outcomes: Sequence[Recorded | Exception], applied: int, why: str) -> None:
        """Log where rounds wait, if that has changed; `applied`: rounds stored so far, `why`: the store's refusal."""
        # A round that was stored in between ends the trouble: what comes now is a new one, and worth a line again.
        before = self._waits_in if self._waits_since == applied else None
        self._waits_in, self._waits_since = None, applied
        for outcome in outcomes:
            if isinstance(outcome, SpillError):
                self._waits_in, why = "script", str(outcome)
            elif isinstance(outcome, Recorded) and outcome.status == "kept":
                self._waits_in = "ring"
        if self._waits_in == "ring" and before != "ring" and why:
            log.warning("pool %s: rounds wait in the ring: %s", self._pool, why)
        elif self._waits_in == "script" and before != "script":
            log.error("pool %s: neither store nor ring takes rounds; scripts keep their last 8: %s", self._pool, why)
