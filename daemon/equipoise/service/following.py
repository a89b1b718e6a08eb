"""The balance system of a pool: it follows the pool's sequence, and teams are made by it.

It takes rounds and edits after they were committed, in order, as the store has them, so a replay of the store does
exactly what it did. Nothing waits for it: a round is stored whatever happens here, and while it is not ready (it is
being built, or it failed) the pool's own system makes the teams.

Of a sequential system a snapshot is stored now and then, and a start goes on from the newest; other systems begin with
the first event. What changes the past, a void or an undone edit, deletes the snapshots made from it, and the follower
begins anew with what is left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from equipoise.errors import StoreError
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.system import System
from equipoise.service.log import Repeats
from equipoise.service.place import SNAPSHOT_EVERY, NewRound, Place, begun, keep_base
from equipoise.store.notes import BalancePredictions
from equipoise.store.player_rows import Fingerprint
from equipoise.store.store import Store

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

log = logging.getLogger(__name__)


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
        self._leave: int | None = None
        """The event behind which its own snapshots are of a state that was left."""
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
    def number(self) -> int:
        """The last event that `system` has seen."""
        assert self._place is not None
        return self._place.number

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

    def rebuild(self, leave: int | None = None) -> None:
        """The past has changed; `leave`: an event behind which the snapshots that were kept here lead nowhere."""
        self._anew, self.ready = True, False
        if leave is not None:
            self._leave = leave
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
            if self._leave is not None:  # here, behind the snapshot that it kept last
                await self._store.leave_snapshots(self.pool, "balance", self._leave)
                self._leave = None
        place = self._place or await self._begun()
        # It was at the end when it stopped; now something was stored behind that.
        place.at_end = False
        return place

    def _take_over(self, place: Place) -> None:
        self._place, self.ready, self.failure = place, True, None
        self._changed()
        log.info("%s makes the teams", self.name, extra={"pool": self.pool, "event_number": place.number})

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
