"""A pool that daemons on several machines rate together: what changes it goes into a log, and comes back from it.

A round waits in the ring first, which keeps it whatever happens to the network; a task appends what waits there. To
append is to try the rounds on top of what is here, and to add what they changed (`store.changes`) behind the log's last
event. Where that is another one by now, the log is held: what others appended is taken in, and the rounds are tried
again. What is in the log is then written into the store, by everybody in the same way. The sync for which an answer
waits is the database's: a store that lost its last events to a power loss reads them again, and only a round that has
to wait needs the ring's file to be synced.

Questions of game servers are answered from memory and the store as ever: no answer waits for the network, but the one
about a round, for less than a second. Edits hold the log for as long as they take, and rounds wait in the rings of all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from equipoise.core.model import PlayerId
from equipoise.errors import (
    ConfigError,
    EquipoiseError,
    LogConflict,
    LogDamaged,
    LogError,
    LogHeld,
    LogMissing,
    LogRefused,
    SpillError,
    StoreError,
)
from equipoise.ratings.system import System
from equipoise.service import held, people
from equipoise.service.clock import Clock
from equipoise.service.held import Before, RatingAttempt, described, fingerprint_of, made_by
from equipoise.service.place import NewRound
from equipoise.service.pool import Group, Pool, Recorded, Sharing, new_rounds, stored_now
from equipoise.service.ring import Key, Ring, UnstoredRound
from equipoise.shared.bodies import FORMAT
from equipoise.shared.log import Agreement, LogEvent, NewEvent, SharedLog, State, held_by
from equipoise.store import changes
from equipoise.store.changes import READING, Change, DamagedEvent, Position, Taken
from equipoise.store.notes import Audit
from equipoise.store.player_rows import Fingerprint, InForgetting
from equipoise.store.round_rows import RatedRound
from equipoise.store.sequence import Purpose
from equipoise.store.store import Store

RATING_VERSION = 1
"""Raised when the same events give other numbers than before: then a pool's daemons change over together."""
WAIT_SECONDS = 1.0
"""Between two looks at the log, where nobody tells of news, and between two attempts of rounds that wait."""
FAULT_SECONDS = 10.0
"""Between two attempts after a fault of ours, which may come again."""
GATHER_SECONDS = 0.05
"""From a notice to a look at the log: what comes meanwhile is read and written at once."""
REFERENCE_EVERY = 1_000
"""Events after which the appender writes the state of sequential systems into the log."""
REBASE_EVERY = 10_000
"""Events after which the log begins with a newer base: a machine that joins reads so many at most behind it."""
EVENTS_SECONDS = 30 * 86_400.0
"""How long events stay that a base has: a machine that was away for less reads on, and keeps its own longer past."""
START_SECONDS = 2.0
"""How long a start reads what came while it was away: game servers wait no longer."""
AT_ONCE = 32
"""Events that are written in one transaction of the store."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class Tried(NamedTuple):
    """Rounds whose transaction was taken back."""

    made: Before
    news: list[tuple[RatingAttempt, RatedRound]]


class SharedPool(Pool):
    """A `Pool` that is changed by a log alone: `open` follows it from where the store is."""

    answer_seconds = 0.5
    """How long a script waits for a round's ratings: it gives up after a second, and has its answer later then."""

    def __init__(
        self,
        name: str,
        system: System[Any],
        store: Store,
        ring: Ring,
        clock: Clock,
        shared_log: SharedLog,
        *,
        balance: System[Any] | None = None,
    ) -> None:
        super().__init__(name, system, store, ring, clock, balance=balance)
        self._log = shared_log
        self._writing = asyncio.Lock()
        """Held by who changes the pool, for as long as the network takes; `_lock` is for memory and store alone."""
        self._due = asyncio.Event()
        """Rounds wait to be appended."""
        self._answers: dict[Key, asyncio.Future[RatedRound | Exception]] = {}
        """For callers who wait for a round's ratings."""
        self._connected = False
        self._told = False
        """Others have appended, or let go, as far as is known here."""
        self._last = 0
        self._trouble: str | None = None
        self._agreed: Agreement | None = None
        """The last one in the log that was found to fit."""
        self._running: list[asyncio.Task[None]] = []
        self._has_untold = True
        """Somebody was forgotten here, perhaps before the start, of whom the log may not know."""
        self.forgetting: Callable[[Sequence[InForgetting]], Coroutine[Any, Any, None]] | None = None
        """Ends the forgetting of people whom another machine was told to forget: outside of the store's rows."""
        self._said = ""
        """What the daemon's log says is wrong with the pool's."""
        self._faulty = False
        """A fault of ours has ended what was under way: memory may not be what the store is."""

    @property
    def sharing(self) -> Sharing:
        """The state of the pool's log, as far as it is known here."""
        number = self._position.number if self._follows else 0
        return Sharing(self._log.machine, self._connected, number, max(0, self._last - number), self._trouble)

    @property
    def _position(self) -> Position:
        return self.store.followed[self.name]

    # From start to end.

    async def open(self) -> None:
        """Serve what the store has, and follow the log from there; it may be away.

        The first machine begins the log with all that its store has, the next ones join it with an empty pool.
        ConfigError: another system made the ratings. LogRefused: the log can never be followed from here.
        """
        try:
            await held.agree(self.name, self.store, self._held, self._clock.epoch())
        except ConfigError:
            if not await self._is_rated_anew():
                raise
            log.info("the pool was rated anew by another machine, and is read anew", extra={"pool": self.name})
            await self.store.follow(self.name, READING, drop=True)
            await held.agree(self.name, self.store, self._held, self._clock.epoch())
        await self._held.read(self.store, self.name)
        await asyncio.to_thread(self.ring.open)
        try:
            await self._log.open()
            await self._check_way_in()
            self._connected = True
            if self._follows:
                reader = asyncio.create_task(self._caught_up())
                self._running.append(reader)
                if (await asyncio.wait([reader], timeout=START_SECONDS))[0]:
                    reader.result()
        except LogRefused:
            raise
        except Exception as error:
            self._fails(error)
        self._running += [asyncio.create_task(self._follow()), asyncio.create_task(self._append_rounds())]
        self._due.set()
        if self.follower is not None:
            await self.follower.start(fingerprint_of(self.system))

    async def close(self) -> None:
        """Stop following; what is not in the log waits in the ring."""
        self._closed = True
        async with self._lock:  # a transaction of the store that has begun is ended
            for task in self._running:
                task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await super().close()

    @property
    def _follows(self) -> bool:
        return self.name in self.store.followed

    async def _check_way_in(self) -> State | None:
        """Return the pool in the log, None where this machine is to begin it. LogRefused: it cannot be followed."""
        state = await self._log.state(self.name)
        if state is None:
            if self._follows:
                raise LogRefused(
                    f"pool {self.name} is not in its database: was that restored, or is it another one? `equipoise "
                    f"pool leave {self.name}` goes on without it"
                )
            return None
        agreement = state.agreement
        if agreement.format != FORMAT:
            where = "this machine" if agreement.format > FORMAT else "the others, and share the pool anew"
            raise LogRefused(
                f"pool {self.name}: events of its log have format {agreement.format}, this Equipoise knows {FORMAT}: "
                f"upgrade Equipoise on {where}"
            )
        self._check_system(agreement)
        if self._follows or self.name in self.store.being_read or not any(await self.store.holds(self.name)):
            return state
        last = await self.store.last_logged(self.name)
        # Where its last round is in the log, this machine began that, and ended or was cut off before it knew.
        if last is None or not await self._log.has_round(self.name, *last):
            raise LogRefused(
                f"pool {self.name} is shared already, and this store has rounds of its own that its log has not: "
                f"`equipoise pool join {self.name} --replace` keeps them in a backup, and follows the log"
            )
        return state

    async def _enter(self) -> None:
        """Begin the log, or take what it begins with; game servers are served meanwhile."""
        state = await self._check_way_in()
        self._trouble = "the log is begun with all that is here" if state is None else "the pool is being read"
        if state is None:  # nothing changes the pool meanwhile: rounds wait in the ring, and edits are refused
            await self._begin()
        else:
            await self._join()
        log.info(
            "the log of a shared pool is followed", extra={"pool": self.name, "event_number": self._position.number}
        )

    async def _begin(self) -> None:
        number = await self.store.number_all(self.name)

        async def pieces() -> AsyncIterator[bytes]:
            with self.store.whole(self.name) as (_, whole):
                async for piece in in_thread(whole):
                    yield piece

        digest = await self._log.share(self.name, agreement_of(self.system), number, pieces())
        await self.store.follow(self.name, Position(number, digest))

    async def _join(self) -> None:
        if self.follower is not None:  # it would go on in rows that are not all there
            await self.follower.caught_up()
        await self._read_base()
        async with self._lock:
            await self._reading.anew()
        if self.follower is not None:
            self.follower.rebuild()

    async def _read_base(self) -> None:
        base = await self._log.base(self.name)
        done = 0
        async for piece in base.pieces:
            await self.store.begin(self.name, piece, first=not done)
            done += 1
            self._trouble = f"the pool is being read: {done / base.count:.0%}"
        await self.store.follow(self.name, Position(base.number, base.digest))

    async def _is_rated_anew(self) -> bool:
        """Tell whether another machine has had the pool rated by the system that is configured here, not by the one
        that made what is in the store.
        """
        if not self._follows and self.name not in self.store.being_read:
            return False
        with suppress(LogError):
            await self._log.open()
            state = await self._log.state(self.name)
            return state is not None and made_by(_fingerprint(state.agreement), self.system)
        return False

    # Following: events of the log, written into the store one after the other.

    async def _follow(self) -> None:
        while True:
            async with self._in_spite_of_errors():
                async with self._writing:
                    if not self._follows:
                        await self._enter()
                    await self._catch_up()
                    await self._tell_untold()
                self._connected = True
                if self._said:
                    log.info("the log of a shared pool is followed again", extra={"pool": self.name})
                    self._said = ""
            if self._faulty:
                await asyncio.sleep(FAULT_SECONDS)
            self._told |= await self._log.wait(self.name, WAIT_SECONDS)
            if self._told:
                if self.ring.depth:  # perhaps for an edit that has ended
                    self._due.set()
                await asyncio.sleep(GATHER_SECONDS)

    @asynccontextmanager
    async def _in_spite_of_errors(self) -> AsyncIterator[None]:
        """Say what ends the work inside: it is tried again."""
        try:
            yield
        except Exception as error:
            self._fails(error)

    def _fails(self, error: Exception) -> None:
        fault = None if isinstance(error, EquipoiseError) else error
        self._trouble = str(error)
        if fault is not None:
            self._faulty = True
            self._trouble = (
                f"a fault of Equipoise, {type(error).__name__}: {error}: it goes on by itself if it can; report it "
                "with the daemon's log"
            )
        elif isinstance(error, LogDamaged | DamagedEvent):
            self._trouble += (
                f"; `equipoise pool recompute {self.name}` on a machine that is past it writes all anew for the others"
            )
        elif isinstance(error, LogConflict | LogHeld | LogMissing) or not isinstance(error, LogRefused | LogError):
            return  # it answers: it is tried again, an edit ends, a newer base is read. Or the store's own log says it.
        self._connected = False
        away = isinstance(error, LogError) and not isinstance(error, LogDamaged)
        trouble = "is away" if away else self._trouble
        if trouble == self._said:  # once, and once when it is over
            return
        self._said = trouble
        log.log(
            logging.ERROR if fault else logging.WARNING,
            "the log of a shared pool %s, rounds wait in the ring: %s",
            "is away" if away else "cannot be followed",
            self._trouble,
            extra={"pool": self.name},
            exc_info=fault,
        )

    async def _caught_up(self) -> None:
        async with self._writing:
            await self._catch_up()

    async def _catch_up(self) -> None:
        """Take in all that is in the log. LogRefused: it is not the one that was followed."""
        self._told = False
        if self._faulty:
            async with self._lock:
                await self._reading.anew()
            if self.follower is not None:
                self.follower.rebuild()
            self._faulty = False
        if (state := await self._log.state(self.name)) is None:
            raise LogRefused(f"pool {self.name} is no longer in its database")
        self._check_digest(state.last, state.digest)
        self._check_system(state.agreement)
        self._last = state.last
        while self._position.number < self._last:
            try:
                events = await self._log.read(self.name, self._position.number)
                if not events:
                    break
                self._last = max(self._last, events[-1].number)
                await self._take_in(events)
            except (LogMissing, LogDamaged, DamagedEvent):
                if state.base <= self._position.number:  # no newer one leads past it
                    raise
                await self._check_descent()
                log.info("the pool was rated or filled anew, and is read anew", extra={"pool": self.name})
                await self._join()
        holder_elsewhere = state.held_by not in (None, self._log.machine)
        self._trouble = held_by(self.name, state.held_by) if holder_elsewhere else self._version_apart

    def _check_digest(self, last: int, digest: bytes) -> None:
        own = self._position
        if last < own.number or (last == own.number and digest != own.digest):
            raise LogRefused(
                f"pool {self.name}: its log went back to event {last}, this store has seen event {own.number} of it: a "
                f"restored database? `equipoise pool join {self.name} --replace` follows it anew, without the rounds "
                "that it lost; to keep them run `equipoise pool leave` here, and share the pool under another name"
            )

    def _check_system(self, agreement: Agreement) -> None:
        if agreement == self._agreed:
            return
        if not made_by(fingerprint := _fingerprint(agreement), self.system):
            raise LogRefused(
                f"pool {self.name} is rated by {described(fingerprint)} on the other machines, by "
                f"{described(fingerprint_of(self.system))} in the configuration here: write the former into "
                f"[pool.{self.name}], and restart the daemon"
            )
        self._agreed = agreement

    async def _check_descent(self) -> None:
        """LogRefused: what the log has in the place of the next event is not made of what this store has."""
        last = await self.store.last_logged(self.name)
        if last is not None and not await self._log.has_round(self.name, *last):
            raise LogRefused(
                f"pool {self.name}: its log has not the last round of this store, {last[2]} of {last[1]}: another "
                f"database, or shared anew? `equipoise pool join {self.name} --replace` follows it, and keeps what is "
                "here in a backup"
            )

    async def _take_in(self, events: Sequence[LogEvent], tried: Tried | None = None) -> None:
        """Write events into the store, and note in memory what they changed; `tried`: rounds that were tried here."""
        for start in range(0, len(events), AT_ONCE):
            group, previous = events[start : start + AT_ONCE], self._position.digest
            for event in group:
                if not event.follows(previous):
                    raise LogRefused(
                        f"pool {self.name}: event {event.number} of its log does not follow what this store has seen: "
                        f"a restored database? `equipoise pool join {self.name}` follows it anew"
                    )
                previous = event.digest
            async with self._lock:
                rows = [(Position(event.number, event.digest), event.pieces) for event in group]
                taken = await self.store.take_in(self.name, rows, people.renamed)
                await self._note(taken, tried)
                for result, event in zip(taken, group, strict=False):
                    if event.machine != self._log.machine:
                        await self._go_on_from(result.references)
            if (
                forgotten := [someone for result in taken for someone in result.forgotten]
            ) and self.forgetting is not None:
                self._start(self.forgetting(forgotten))

    async def _note(self, taken: Sequence[Taken], tried: Tried | None) -> None:
        if any(result.rewritten or result.forgotten for result in taken):
            await self._reading.anew()
            if self.follower is not None:
                self.follower.rebuild()
            return
        rounds: Sequence[NewRound] = ()
        behind: Sequence[PlayerId] = ()
        if tried is None:
            players: set[PlayerId] = set().union(*(result.players for result in taken))
            behind = self._held.taken_in(players, parts=any(result.parts for result in taken))
        else:
            self._held.adopt(tried.made)
            # Another pool of the store may have had a round in between: then they have other numbers than when tried.
            if [result.number for result in taken] == [outcome.number for _, outcome in tried.news]:
                rounds = new_rounds(tried.news)
        await self._reading.players(behind)
        if self.follower is not None:
            self.follower.wake(rounds)

    async def _go_on_from(self, references: Mapping[Purpose, int]) -> None:
        """Go on from what another machine knew after these events, as all do."""
        if (number := references.get("system")) is not None:
            await self._held.go_on_from(self.store, self.name, number)
        if (number := references.get("balance")) is not None and self.follower is not None:
            self.follower.go_on_from(number)

    # Appending: rounds from the ring, and edits.

    async def _store_or_keep(self, group: Group) -> list[Recorded | Exception]:
        """Keep a group's rounds in the ring, and wait a moment for their ratings."""
        async with self._lock:
            if self._group is group:
                self._group = None
            kept = await asyncio.to_thread(self._keep, group.rounds, synced=False)
        loop = asyncio.get_running_loop()
        futures = [self._answers.setdefault(entry.key, loop.create_future()) for entry in group.rounds]
        self._due.set()
        if self._connected and self._version_apart is None and not self._log.is_cut:
            await asyncio.wait(futures, timeout=self.answer_seconds)
        why = self._trouble or ""
        if not all(future.done() for future in futures):
            if await asyncio.to_thread(self.ring.full):  # the store was not asked, which would say so
                why = "the disk is full: make room there"
            try:  # what is in the log needs no ring any more
                await asyncio.to_thread(self.ring.sync)
            except SpillError as error:
                kept = [item if future.done() else error for item, future in zip(kept, futures, strict=True)]
        outcomes: list[Recorded | Exception] = []
        for entry, future, in_ring in zip(group.rounds, futures, kept, strict=True):
            self._answers.pop(entry.key, None)
            if isinstance(in_ring, SpillError) or not future.done():
                outcomes.append(in_ring)
            else:
                answer = future.result()
                outcomes.append(answer if isinstance(answer, Exception) else Recorded("stored", answer))
        self._whereabouts.say(outcomes, self.applied, why)
        return outcomes

    async def _append_rounds(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_SECONDS if self.ring.depth else None):
                    await self._due.wait()
            self._due.clear()
            async with self._in_spite_of_errors():
                await self._append_waiting()
            if self._faulty:
                await asyncio.sleep(FAULT_SECONDS)

    async def _append_waiting(self) -> None:
        depth = self.ring.depth + 1
        while self._follows and 0 < self.ring.depth < depth:
            depth = self.ring.depth
            async with self._writing:
                await self._apply_waiting()
        async with self._lock:
            self._reading.make_room()
        if self._held.snapshot_due:
            async with self._writing:  # no base is being read
                await self._keep_snapshot()

    async def _drain(self) -> None:
        self._due.set()

    def _concluded(self, entry: UnstoredRound, outcome: RatedRound | Exception) -> None:
        future = self._answers.get(entry.key)
        if future is not None and not future.done():
            future.set_result(outcome)

    def _told_of_fault(self, entry: UnstoredRound) -> bool:
        # In the ring it would stop those behind it, of all servers, and its script still waits for an answer.
        return entry.key in self._answers

    async def _rate_and_store(self, rounds: Sequence[UnstoredRound]) -> Sequence[RatedRound | Exception]:
        """Append rounds, up to the first that fails; memory knows them when they come back from the log."""

        trials: list[Tried] = []

        async def attempt() -> tuple[Sequence[RatedRound | Exception], list[Change]]:
            async with self._lock:
                await self._held.read(self.store, self.name)
                attempts = [RatingAttempt(game_round, self._held) for game_round in rounds]
                with self.store.catching(self.name) as caught:
                    try:
                        outcomes = await self.store.record(self.name, attempts, self.system.window)
                    finally:
                        before = self._held.set_aside(attempts)
            trials[:] = [Tried(before, stored_now(attempts, outcomes))]
            return outcomes, caught

        try:
            outcomes = await self._append(attempt, trials)
        except (LogRefused, LogError) as error:
            self._held.changed()  # who asked while it was tried has seen what it made
            self._fails(error)
            raise
        self.applied += sum(isinstance(outcome, RatedRound) and not outcome.again for outcome in outcomes)
        return outcomes

    async def _append(
        self, attempt: Callable[[], Awaitable[tuple[T, Sequence[Change]]]], tried: Sequence[Tried] = ()
    ) -> T:
        """Try a change on top of all that is in the log, append what it did, and take it in like anybody's.

        `tried`: what `attempt` did in memory, where it did, which is then as it was before.
        """
        if self._told or self._faulty:
            await self._catch_up()
        outcome, done = await attempt()
        events: Sequence[LogEvent] | None = ()
        if done:
            new, (last, digest) = self._new(done), self._position
            events = await self._log.append(self.name, last, digest, RATING_VERSION, new)
        if events is None:  # others have appended: now they wait
            outcome, events = await self._append_alone(attempt)
        if events:
            self._last = max(self._last, events[-1].number)
            await self._take_in(events, *tried)
            if events[-1].number % REFERENCE_EVERY < len(events) and events[0].kind == "round":
                self._start(self._append_reference())
        return outcome

    async def _append_alone(
        self, attempt: Callable[[], Awaitable[tuple[T, Sequence[Change]]]]
    ) -> tuple[T, Sequence[LogEvent]]:
        async with self._log.appending(self.name) as writer:
            self._check_agreement(writer.agreement)
            while writer.last > self._position.number and (tail := await writer.read(self._position.number)):
                await self._take_in(tail)
            self._check_digest(writer.last, writer.digest)
            outcome, done = await attempt()
            return outcome, await writer.add(self._new(done)) if done else ()

    def _new(self, done: Sequence[Change]) -> Sequence[NewEvent]:
        now = self._clock.epoch()
        keys = ((None, None) if change.key is None else change.key for change in done)
        return [
            NewEvent(change.kind, server, round_id, now, change.pieces)
            for change, (server, round_id) in zip(done, keys, strict=True)
        ]

    async def _append_reference(self) -> None:
        async def attempt() -> tuple[None, Sequence[Change]]:
            change = await self.store.reference(self.name)
            return None, [] if change is None else [change]

        async with self._in_spite_of_errors(), self._writing:  # the next one comes
            await self._append(attempt)

    async def tell_forgotten(self, someone: InForgetting, entry: Audit) -> None:
        """Have all machines put a stand-in in a player's place, and the log too; within `at_rest`."""
        self._has_untold = True
        callback, self.forgetting = self.forgetting, None  # here the caller does the rest

        async def attempt() -> tuple[None, Sequence[Change]]:
            return None, [changes.forgetting(*someone, entry)]

        try:
            await self._append(attempt)
        finally:
            self.forgetting = callback
        await self._log.forget(
            self.name, someone.player, lambda piece: changes.without(piece, *someone, people.renamed)
        )
        await self.store.told(self.name, someone.player)

    async def _tell_untold(self) -> None:
        """Go on where a forgetting ended before this pool's log was told."""
        if self._has_untold:
            for someone, entry in await self.store.untold(self.name):
                await self.tell_forgotten(someone, entry)
                if self.forgetting is not None:
                    self._start(self.forgetting([someone]))
            self._has_untold = False

    async def upgrade(self) -> tuple[int, int]:
        """Raise the pool's rating version to that of this program. LogRefused: it is higher."""
        async with self._writing, self._log.appending(self.name) as writer:
            before = writer.agreement.rating_version
            if before > RATING_VERSION:
                raise LogRefused(
                    f"pool {self.name} is rated by version {before} already, this Equipoise has version "
                    f"{RATING_VERSION}: upgrade this machine"
                )
            await writer.agree(replace(writer.agreement, rating_version=RATING_VERSION))
        self._due.set()
        return before, RATING_VERSION

    async def settle(self) -> None:
        """Wait until the store is at the end of the log, and no round waits here. LogError: the log is away."""
        while not self._follows or self._position.number < self._last or self.ring.depth:
            if not self._connected:
                raise LogError(self._trouble or f"the log of pool {self.name} is away")
            await asyncio.sleep(0.05)

    async def rewrite(self, kind: str, system: System[Any], write: Callable[[], Awaitable[None]]) -> None:
        """Have the store rate or fill the pool anew, by a system, and put what comes of it into the log for all.

        Nobody else may use the store meanwhile, and the pool is to be closed then. What is in the log is read like
        anybody's. StoreError: nothing was changed, on any machine.
        """
        async with self._settled():
            if self.ring.depth:
                raise StoreError(f"rounds of pool {self.name} wait for the log: try again when it takes them")
            if (state := await self._log.state(self.name)) is None:
                raise LogMissing(f"there is no pool {self.name} in its database")
            self._check_digest(state.last, state.digest)
            if state.agreement.rating_version > RATING_VERSION:
                self._check_agreement(state.agreement)
            async with self.store.rewriting(self.name) as whole:
                await write()
                number, pieces = await whole(state.last)
                # A number that no event has: who has come to the last one finds the base in the place of the next.
                number = max(number, state.last + 1)
                event = NewEvent(kind, None, None, self._clock.epoch(), ())
                await self._log.replace(self.name, state, agreement_of(system), number, event, pieces)
            for task in self._running:
                task.cancel()
            with suppress(LogError):  # the daemon goes on with it
                await self._read_base()

    async def renew_base(self) -> None:
        """Have the log begin with what is here, if much has come since its base, and let go of what is older.

        One machine does it, each night another one perhaps: that which made the last event of a round number. Those
        that keep all rounds come first: where there are such, the base does not get as old as the others wait for.
        """
        if not self._follows or (state := await self._log.state(self.name)) is None or state.held_by is not None:
            return
        number = state.last - state.last % REFERENCE_EVERY
        if number <= state.base or (await self._log.read(self.name, number - 1, most_bytes=1))[0].machine != (
            self._log.machine
        ):
            return
        if state.last - state.base >= REBASE_EVERY * (2 if await self.store.pruned_rounds(self.name) else 1):
            await self.rebase()
        await self._log.trim(self.name, self._clock.epoch() - EVENTS_SECONDS)

    async def rebase(self) -> None:
        """Have the log begin with all that is here, instead of what it began with."""
        with suppress(LogConflict), self.store.whole(self.name) as (position, whole):
            if position is not None and position != READING:
                await self._log.rebase(self.name, *position, in_thread(whole))

    def _check_agreement(self, agreement: Agreement) -> None:
        self._check_system(agreement)
        if (apart := self._version_apart) is not None:
            raise LogHeld(apart)

    @property
    def _version_apart(self) -> str | None:
        """What to say while the pool has another rating version."""
        if self._agreed is None or self._agreed.rating_version == RATING_VERSION:
            return None
        return (
            f"pool {self.name}: its rating version is {self._agreed.rating_version}, that of this Equipoise "
            f"{RATING_VERSION}: rounds wait until all machines have one; then run `equipoise pool upgrade {self.name}`"
        )

    @asynccontextmanager
    async def _settled(self) -> AsyncIterator[None]:
        if self._rounds_wait_for_replay:
            raise StoreError(f"the ratings of pool {self.name} are being replayed: try again in a moment")
        if not self._follows:
            raise StoreError(f"pool {self.name} is not followed yet: {self._trouble}")
        async with self._writing, self._log.held(self.name):
            await self._catch_up()
            await self._apply_waiting()
            try:
                yield
            finally:
                async with self._lock:
                    with suppress(StoreError):
                        await self._held.read(self.store, self.name)
                if self.follower is not None:
                    self.follower.wake()

    @asynccontextmanager
    async def _held_back(self) -> AsyncIterator[None]:
        async with self._settled():
            self._rounds_wait_for_replay = True
            try:
                yield
            finally:
                self._rounds_wait_for_replay = False
        self._due.set()

    async def _written(
        self,
        write: Callable[[], Awaitable[T]],
        put_back: Callable[[], None] | None = None,
        done: Callable[[T], None] = lambda _: None,
    ) -> T:
        # The log is held by `_settled`, also where a replay takes minutes. But a hold can run out: the network was away
        # for longer, or this process stood still.
        before = self._position
        with self.store.catching(self.name) as caught:
            if put_back is None:
                outcome = await write()
            else:
                async with self._lock:
                    try:
                        outcome = await write()
                    finally:
                        put_back()

        async def attempt() -> tuple[T, Sequence[Change]]:
            if self._position != before:
                raise StoreError(f"pool {self.name}: another machine has changed it meanwhile: try again")
            return outcome, caught

        return await self._append(attempt)


async def in_thread(pieces: Iterator[T]) -> AsyncIterator[T]:
    """Yield what an iterator takes its time for, without holding up the event loop."""
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


def _fingerprint(agreement: Agreement) -> Fingerprint:
    return Fingerprint(agreement.system, agreement.params)


# Into a log, and out of it.


def agreement_of(system: System[Any]) -> Agreement:
    """Return what all daemons of a pool with this system agree on."""
    fingerprint = fingerprint_of(system)
    return Agreement(fingerprint.system, fingerprint.params, RATING_VERSION, FORMAT)
