"""A system at a place of a pool's sequence: brought there from the newest snapshot before it; and followers.

A pool's own system, where it is sequential, is held at the end of the sequence (`HeldSequence`).

The balance system follows the sequence, and teams are made by it (`Follower`). It takes rounds and edits after they
were committed, in order, as the store has them, so a replay of the store does exactly what it did. Nothing waits for
it: a round is stored whatever happens here, and while it is not ready (it is being built, or it failed) the pool's own
system makes the teams.

Of a sequential system a snapshot is stored now and then, and a start goes on from the newest; other systems begin with
the first event. What changes the past, a void or an undone edit, deletes the snapshots made from it, and the follower
begins anew with what is left.
"""
# ruff: noqa: D102 (`Held` documents what is overridden)

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError, StoreError
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.system import Match, System
from equipoise.service.held import Before, Held, RatingAttempt, fingerprint_of, made_by
from equipoise.service.log_lines import Repeats
from equipoise.service.replayed import Replayed, begin, snapshot_of
from equipoise.store.notes import BalancePrediction, BalancePredictions
from equipoise.store.past import AT_ONCE
from equipoise.store.player_rows import Fingerprint, PlayerRow, SharedParts
from equipoise.store.round_rows import RatedRound
from equipoise.store.sequence import Edit, Event, MatchEvent, Purpose
from equipoise.store.store import Store

SNAPSHOT_EVERY = 100
"""Events: a start rates at most so many again, in a fifth of a second."""

log = logging.getLogger(__name__)


class NewRound(NamedTuple):
    """A rated round that was stored just now, and the match that was made of it: what is stored makes the same one."""

    event: MatchEvent
    match: Match


class Place:
    """`replayed` has seen every event of the pool up to `number`."""

    def __init__(self, store: Store, pool: str, replayed: Replayed, seen: int) -> None:
        self.replayed = replayed
        self.number = 0
        self.since = 0
        """Events since the snapshot that it began from, or that was kept last."""
        self.at_end = False
        """There were no more events when it asked last."""
        self.based = False
        """It began from a base, and has not gone on."""
        self.left = False
        """The next event is another spread of skill, which the pool's rounds have taught it: this goes no further."""
        self.struck = False
        """An event was struck since this began: it may have seen it."""
        self._store = store
        self._pool = pool
        self._seen = seen
        """The last event that was stored when it began."""

    async def go_on(self, most: int = sys.maxsize, new: Sequence[NewRound] = ()) -> dict[int, BalancePrediction]:
        """Take the next events up to event `most`, in a thread; sets `at_end`. StoreError: it can be called again.

        `new`: rounds that were stored just now. The store numbers all that it takes, so nothing lies before them if
        they have the next numbers, and they need not be read. Returns what was predicted, by the rounds' numbers.
        """
        if new and (new[0].event.number, new[-1].event.number) == (self.number + 1, self.number + len(new)):
            events: Sequence[Event] = [entry.event for entry in new]
            matches = {entry.event.number: entry.match for entry in new}
        else:
            events, matches = await self._store.events_after(self._pool, self.number, most), {}
        predictions = await asyncio.to_thread(self._take, events, matches) if events else {}
        self.at_end = len(events) < AT_ONCE or self.left
        return predictions

    async def go_to_end(self, most: int = sys.maxsize) -> None:
        """Take all events up to event `most`."""
        while not self.at_end:
            await self.go_on(most)

    async def keep(self, purpose: Purpose, *, base: bool = False) -> None:
        """Store a snapshot of a sequential system, unless an event was struck since this began."""
        self.since = 0
        snapshot = await asyncio.to_thread(self.replayed.snapshot, self.number, purpose, base=base)
        if snapshot is not None:
            await self._store.keep_snapshot(self._pool, snapshot, self._seen)

    def _take(self, events: Sequence[Event], matches: Mapping[int, Match]) -> dict[int, BalancePrediction]:
        predictions = {}
        for event in events:
            if isinstance(event, Edit):
                new = event.number > self._seen
                # A spread from before it began is in `before_first`; one
                # that came since makes all of this another system's.
                self.left = new and event.action == "spread" and self._is_other(event)
                if self.left:
                    break
                # An old strike is in the rounds that are read: they come without what was struck.
                self.struck |= new and event.action in ("undo", "void")
                self.replayed.edit(event)
            else:
                try:
                    predictions[event.number] = self.replayed.follow(event.record, matches.get(event.number))
                except RatingError as error:  # by every replay: the system has not learnt from it
                    log.info("%s cannot rate it: %s", self.replayed.system.name, error, extra={"pool": self._pool})
            self.number, self.based = event.number, False
            self.since += 1
        return predictions

    def _is_other(self, event: Edit) -> bool:
        """Tell whether the spread that was learnt is not the one that this began with."""
        system, learnt = self.replayed.system, event.detail
        return system.spread not in (None, learnt["spread"]) and learnt["configured"] == system.params.spread


async def before_first(
    store: Store, pool: str, system: System[Any], recorded: Fingerprint, spread: float | None = None
) -> Place:
    """A system like this one before the pool's first event, of the spread of skill that its rounds taught it last.

    `recorded` made the pool's ratings. With a `spread`: of that one.
    """
    seen, learnt, anew = await store.last_number(pool), await store.learnt_spread(pool), type(system)(system.params)
    if spread is None:
        begin(anew, learnt)
    else:
        anew.begin(spread)
    return Place(store, pool, Replayed(anew, recorded), seen)


async def begun(
    store: Store, pool: str, purpose: Purpose, system: System[Any], recorded: Fingerprint, most: int = sys.maxsize
) -> Place:
    """A system like this one at the newest snapshot after at most event `most`; else before the first event.

    `recorded` made the pool's ratings.
    """
    if (place := await at_snapshot(store, pool, purpose, system, recorded, most)) is not None:
        return place
    if count := await store.pruned_rounds(pool):
        message = "%s begins with the rounds that are left: %d older ones were deleted (retention.rounds_days)"
        log.warning(message, system.name, count, extra={"pool": pool})
    return await before_first(store, pool, system, recorded)


async def at_snapshot(
    store: Store, pool: str, purpose: Purpose, system: System[Any], recorded: Fingerprint, most: int = sys.maxsize
) -> Place | None:
    """A system like this one at the newest snapshot after at most event `most`; None: there is none that leads on.

    One that is damaged, or of another system, is passed over.
    """
    place = await before_first(store, pool, system, recorded)
    while system.sequential and (snapshot := await store.snapshot(pool, purpose, most)) is not None:
        if made_by(snapshot.fingerprint, system):
            try:
                await asyncio.to_thread(place.replayed.restore_snapshot, snapshot.data)
            except RatingError as error:
                log.warning("the snapshot after event %d is not read: %s", snapshot.number, error, extra={"pool": pool})
            else:
                place.number, place.based = snapshot.number, snapshot.base
                place.replayed.calibrate(await store.calibrations(pool), snapshot.number)
                return place
        # Damaged ones are passed over by the store; this one is of another system, or this version cannot read it.
        most = snapshot.number - 1
    return None


SAME = 1e-9
"""Points by which skills on two machines may differ: their processors differ in last digits."""
COMPARED = 1_000
"""Players whose skills are compared: those who played last."""


async def at_reference(
    store: Store, pool: str, purpose: Purpose, system: System[Any], recorded: Fingerprint, number: int
) -> Place | None:
    """A system like this one, as another machine knew it after event `number`; None: that is damaged, or was pruned."""
    place = await at_snapshot(store, pool, purpose, system, recorded, number)
    return None if place is None or place.number != number else place


async def say_apart(store: Store, pool: str, old: System[Any], new: System[Any]) -> None:
    """Say how far a system was from the reference that it gives way to."""
    players = await store.last_players(pool, COMPARED)
    pairs = zip(old.skill_values(players), new.skill_values(players), strict=True)
    if (apart := max((abs(before - after) for before, after in pairs), default=0.0)) > SAME:
        log.warning("skills were %.3g points from the log's reference: it counts", apart, extra={"pool": pool})


async def keep_base(
    store: Store, pool: str, purpose: Purpose, system: System[Any], recorded: Fingerprint, before: float
) -> None:
    """Have a snapshot from which the rest follows when the rounds are deleted that were stored before a time."""
    last = await store.last_prunable(pool, before) if system.sequential else 0
    if not last:
        return
    place = await begun(store, pool, purpose, system, recorded, last)
    await place.go_to_end(last)
    if place.left:
        raise StoreError(f"pool {pool}: another spread of skill was learnt meanwhile")
    if place.number and not place.based:
        await place.keep(purpose, base=True)


# A pool's own system where it is sequential.

NO_COUNTS = b"0 0\n"
"""In place of those of `Replayed`, which only a system that carries over edits of another one needs."""


class HeldSequence(Held):
    """The system, and the number of the last event that it has seen: all of it is in memory.

    It is never read player by player, so nobody is forgotten and nothing is loaded for a round. A group of rounds that
    is undone in part goes back to the state before the group, and those of its rounds that stay are rated again: a copy
    of the state for each round would cost more than rating it. After an error that leaves open what was stored, the
    state is made anew from the store before it is used.
    """

    def __init__(self, system: System[Any]) -> None:
        super().__init__(system)
        self._current = False
        """Whether it has seen exactly what is stored."""
        self._behind = False
        """Whether the store has taken in events behind what was seen."""
        self._number = 0
        self._since = 0
        """Events since the last snapshot."""
        self._group: object = None
        """The state before the rounds that are rated now."""
        self._rated: list[Match] = []
        """Those of them that the system learnt from, in order."""

    async def read(self, store: Store, pool: str) -> None:
        if self._behind and self._current and await self._go_on(store, pool):
            return
        if self._current:
            return
        place = await begun(store, pool, "system", self.system, fingerprint_of(self.system))
        await place.go_to_end()
        self._be_at(place)

    def _be_at(self, place: Place) -> None:
        # Into the object that is there: the pool and its hosts hold it.
        self.system.go_back(place.replayed.system.checkpoint())
        self.calibration = place.replayed.calibration
        self._number, self._since, self._current, self._behind = place.number, place.since, True, False
        self._settle()
        self.version += 1

    async def _go_on(self, store: Store, pool: str) -> bool:
        """Take the events that came from the log of a shared pool; False: they change what was seen before."""
        place = Place(store, pool, Replayed(self.system, fingerprint_of(self.system)), self._number)
        place.number, place.replayed.calibration = self._number, self.calibration
        self._current = False  # until all are taken
        await place.go_to_end()
        if place.left or place.struck:
            return False
        self.calibration = place.replayed.calibration
        self._number, self._since, self._current, self._behind = place.number, self._since + place.since, True, False
        self.version += 1
        return True

    async def go_on_from(self, store: Store, pool: str, number: int) -> None:
        await self.read(store, pool)
        place = await at_reference(store, pool, "system", self.system, fingerprint_of(self.system), number)
        if place is not None:
            await place.go_to_end()
            await say_apart(store, pool, self.system, place.replayed.system)
            self._be_at(place)

    def taken_in(self, players: Collection[PlayerId], *, parts: bool) -> list[PlayerId]:
        self._behind = True
        return super().taken_in(players, parts=parts)

    def set_aside(self, attempts: Sequence[RatingAttempt]) -> Before:
        for attempt in reversed(attempts):
            attempt.undo()
        self._settle()
        return Before()

    def adopt(self, made: Before) -> None:
        self._behind = True  # to copy all that it knows would cost more than to rate the rounds again
        self.version += 1

    @property
    def snapshot_due(self) -> bool:
        return self._since >= SNAPSHOT_EVERY and self._current

    async def keep_snapshot(self, store: Store, pool: str) -> None:
        self._since = 0
        data = await asyncio.to_thread(self.system.snapshot, NO_COUNTS)
        snapshot = snapshot_of(self.system, data, self._number)
        with suppress(StoreError):  # the next one comes
            await store.keep_snapshot(pool, snapshot, self._number)

    async def keep_base(self, store: Store, pool: str, before: float) -> None:
        await keep_base(store, pool, "system", self.system, fingerprint_of(self.system), before)

    @property
    def lacks_shared(self) -> bool:
        return super().lacks_shared or not self._current

    def unread(self, players: Collection[PlayerId]) -> list[PlayerId]:
        return []

    def restore(self, rows: Sequence[PlayerRow], shared: SharedParts | None = None) -> None:
        super().restore((), shared)

    @property
    def crowded(self) -> bool:
        return False

    def note_rated(self, rated: RatedRound, match: Match) -> None:
        self._rated.append(match)

    def stored(self, rated: Sequence[RatedRound]) -> None:
        super().stored(rated)
        # One sequence numbers the events of all pools: a pool sees gaps.
        self._number = max((row.number for row in rated), default=self._number)
        self._since += len(self._rated)
        self._settle()

    def edited(self, row: PlayerRow) -> None:
        super().edited(row)
        self._current = False  # the edit's number is the store's

    def outdate(self, needed: Collection[PlayerId]) -> None:
        self._current = False

    def before(self, players: Iterable[PlayerId], match: Match | None = None) -> Before:
        if self._group is None:
            self._group = self.system.checkpoint()
        return Before(place=len(self._rated))

    def put_back(self, before: Before) -> None:
        if self._group is None:
            return
        self.system.go_back(self._group)
        del self._rated[before.place :]
        # The state of before the group, and those of its rounds that stay.
        for match in self._rated:
            self.system.rate(match)
        self.version += 1

    def undone(self) -> None:
        self._current = False
        self._settle()

    def _settle(self) -> None:
        self._group = None
        self._rated.clear()


# The balance system of a pool.

BUILDING = 10
"""While it is built, a snapshot is kept after so many times as many events."""
BEHIND_SECONDS = 0.1
"""How long an answer waits for it: a round takes a few milliseconds."""
BEHIND_LONG_SECONDS = 5.0
"""After this the log says that answers do without it: a busy machine takes a moment more now and then."""
START_SECONDS = 0.3
"""How long a start waits for it: a young pool makes its first teams by it, too."""
RETRY_SECONDS = 5.0
"""Until the store is asked again that did not answer."""
AGAIN_SECONDS = 60.0
"""Until a system that failed is built anew: it may fail at the same round again."""


class Follower:
    """Call `start` once the pool is open, `wake` after every event, and `stop` before the store is closed."""

    def __init__(self, pool: str, system: System[Any], store: Store, changed: Callable[[], None]) -> None:
        self.pool = pool
        self.name = system.name
        self.ready = False
        """Whether `system` has seen every event but the latest."""
        self.failure: str | None = None
        """Why it cannot be used; None: it is ready, or being built."""
        self.failures = 0
        """Since the start."""
        self.like = system
        """As `system` was before the first event."""
        self._store = store
        self._changed = changed
        """Called on the event loop when skills have changed."""
        self._place: Place | None = None
        self._recorded: Fingerprint | None = None
        self._new: list[NewRound] = []
        """Rounds that were stored since it asked last."""
        self._due = asyncio.Event()
        self._idle = asyncio.Event()
        self._anew = False
        self._reference: int | None = None
        """The event of another machine's reference, from which it is to go on."""
        self._behind_since: float | None = None
        """When an answer first did without it, by the event loop's clock; None: the last one did not."""
        self._stopped = False
        self._task: asyncio.Task[None] | None = None
        self._repeats = Repeats(log, logging.WARNING)

    @property
    def system(self) -> System[Any]:
        """The system that makes the teams; to be asked while it is `ready`."""
        assert self._place is not None
        return self._place.replayed.system

    @property
    def calibration(self) -> Calibration:
        """The calibration of what `system` says."""
        assert self._place is not None
        return self._place.replayed.calibration

    @property
    def params(self) -> Any:
        """The parameters of `system`, also while that is being built."""
        return self.like.params

    async def start(self, recorded: Fingerprint) -> None:
        """Begin; the pool's ratings were made by `recorded`. Waits a moment, which is enough from a snapshot on."""
        self._recorded = recorded
        self.wake()
        self._task = asyncio.create_task(self._run())
        with suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                await self.caught_up()

    def wake(self, rounds: Sequence[NewRound] = ()) -> None:
        """Something was stored: `rounds` for one, which are read from the store while it is being built."""
        if self.ready:
            self._new += rounds
        # After a failure nobody waits for it: answers come from the pool's own system.
        if self.failure is None:
            self._idle.clear()
        self._due.set()

    def go_on_from(self, reference: int) -> None:
        """Go on from the snapshot of another machine after this event; it makes the teams until that is there."""
        self._reference = reference
        self.wake()

    def rebuild(self) -> None:
        """The past has changed."""
        self._anew, self.ready, self._reference = True, False, None
        self._new.clear()  # one of them may be struck
        self._changed()
        self.wake()

    async def keep_up(self) -> None:
        """Wait a moment, while it is ready, until it has taken what was stored: then answers do not depend on time."""
        if not self.ready or self._idle.is_set():
            self._behind_since = None
            return
        try:
            async with asyncio.timeout(BEHIND_SECONDS):
                await self._idle.wait()
            self._behind_since = None
        except TimeoutError:
            now = asyncio.get_running_loop().time()
            self._behind_since = since = now if self._behind_since is None else self._behind_since
            if now - since >= BEHIND_LONG_SECONDS:
                message = f"{self.name} is behind the rounds: teams are made by what it knew before"
                self._repeats.log("behind", message, pool=self.pool)

    async def caught_up(self) -> None:
        """Wait until every stored event was taken, or it failed."""
        await self._idle.wait()

    async def stop(self) -> None:
        """End after the events in hand."""
        self._stopped = True
        if self._task is not None:
            self.wake()
            await self._task
        self._repeats.close()

    async def keep_base(self, before: float) -> None:
        """Have a snapshot that leads on when the rounds are deleted that were stored before a time."""
        assert self._recorded is not None
        await keep_base(self._store, self.pool, "balance", self.like, self._recorded, before)

    async def _run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            if self._stopped:
                return
            wait = 0.0
            try:
                await self._follow()
            except StoreError:  # the store's own log says what it has
                wait = RETRY_SECONDS
            except Exception as error:  # a fault in the balance system must not cost the pool anything
                self._fail(error)
                wait = AGAIN_SECONDS
            # Also after a StoreError: while the store does not answer, nobody is to wait for what it would say.
            if self.failure is not None or not self._due.is_set():
                self._idle.set()
            if wait:
                await self._pause(wait)

    async def _follow(self) -> None:
        place = await self._to_go_on()
        while not place.at_end:
            new, self._new = self._new, []
            predictions = await place.go_on(new=new)
            # Checked after each page: a rebuild makes what was read here worthless.
            if self._anew or self._stopped:
                return
            if predictions:
                self._store.note([BalancePredictions(predictions)])
            # A place that is still being built answers nobody, so that no skill has changed.
            if place is self._place:
                self._changed()
            if place.left:  # the one that it leaves makes the teams until the other is there
                place = await self._begun()
            # Less often than later: a build of 100,000 rounds would write a thousand snapshots.
            if place.since >= SNAPSHOT_EVERY * BUILDING:
                await place.keep("balance")
        if place is not self._place:
            self._take_over(place)
        if not self._due.is_set():
            self._idle.set()  # before the snapshot, for which no answer has to wait
        if place.since >= SNAPSHOT_EVERY:
            await place.keep("balance")

    async def _to_go_on(self) -> Place:
        if self._anew:
            self._place, self._anew = None, False
        if self._place is not None and self._reference is not None:
            place, self._reference = await self._at_reference(self._place, self._reference), None
            if place is not None:
                return place
        place = self._place or await self._begun()
        # It was at the end when it stopped; now something was stored behind that.
        place.at_end = False
        return place

    async def _at_reference(self, old: Place, number: int) -> Place | None:
        assert self._recorded is not None
        place = await at_reference(self._store, self.pool, "balance", self.like, self._recorded, number)
        if place is None:
            return None
        # Both after the same event.
        old.at_end = False
        await old.go_to_end(number)
        await place.go_to_end(old.number)
        await say_apart(self._store, self.pool, old.replayed.system, place.replayed.system)
        # Behind the reference, those that were kept here are of what was known here.
        await self._store.leave_snapshots(self.pool, "balance", number)
        place.at_end = False
        return place

    def _take_over(self, place: Place) -> None:
        if not self.ready:
            log.info("%s makes the teams", self.name, extra={"pool": self.pool, "event_number": place.number})
        self._place, self.ready, self.failure = place, True, None
        self._changed()

    async def _begun(self) -> Place:
        assert self._recorded is not None
        return await begun(self._store, self.pool, "balance", self.like, self._recorded)

    def _fail(self, error: Exception) -> None:
        self.failures += 1
        reason = f"{type(error).__name__}: {error}"
        # A fault that stays is logged once, and not every minute.
        if reason != self.failure:
            log.error(
                "%s failed, the pool's own system makes the teams", self.name, extra={"pool": self.pool}, exc_info=error
            )
        self.failure, self.ready, self._place = reason, False, None
        self._changed()

    async def _pause(self, seconds: float) -> None:
        """Then try again, whatever has come; a stop ends it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._stopped:
                    await self._due.wait()
                    if not self._stopped:
                        self._due.clear()
        self._due.set()
