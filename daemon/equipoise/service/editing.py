"""Changes of a pool's ratings that are not rounds: an admin's edits, and new ratings of many players."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from equipoise.core.model import PlayerId, PlayerSummary, is_bot
from equipoise.errors import RatingError, StoreError
from equipoise.service.held import Before, Held
from equipoise.store.notes import Audit
from equipoise.store.port import Clock, Fitting, Store
from equipoise.store.rated import PlayerRow
from equipoise.store.sequence import BulkEdit, EditStrike, Revised, RoundStrike, Shift, Strike
from equipoise.store.upkeep import CaughtUp


@dataclass(frozen=True, slots=True)
class Edited:
    """A player before and after an edit."""

    before: PlayerSummary
    after: PlayerSummary


class Editing:
    """The edits of one pool.

    `summary` is the pool's of a player; `settled` takes its lock; `read_anew` replaces what memory holds while the lock
    is held; `held_back` makes rounds wait, and reads anew when it ends.
    """

    def __init__(
        self,
        name: str,
        held: Held,
        store: Store,
        clock: Clock,
        summary: Callable[[PlayerId], PlayerSummary],
        settled: Callable[[], AbstractAsyncContextManager[None]],
        held_back: Callable[[], AbstractAsyncContextManager[None]],
        read_anew: Callable[[], Awaitable[None]],
    ) -> None:
        self._name = name
        self._held = held
        self._system = held.system
        self._store = store
        self._clock = clock
        self._summary = summary
        self._settled = settled
        self._held_back = held_back
        self._turn = asyncio.Lock()
        """One replay at a time."""
        self._replay: asyncio.Task[Revised] | None = None
        self._stopped = False
        self._read_anew = read_anew

    async def edit(self, player: PlayerId, rating: float | None, who: str) -> Edited:
        """Set a player's rating, or with None make them a newcomer."""
        if is_bot(player):
            raise RatingError(f"{player}: bots are not rated")
        async with self._settled():
            before = Before()
            old = new = self._summary(player)

            def change(row: PlayerRow | None) -> tuple[PlayerRow, Audit]:
                nonlocal before, old, new
                self._held.restore([row] if row else [])
                before = self._held.before([player])
                old, new = self._seeded(player, rating)
                return self._row(new), self._entry(old, new, rating, who)

            detail = {} if rating is None else {"rating": rating}
            try:
                row = await self._store.edit(self._name, player, self._system.window, change, detail)
            except BaseException:
                self._held.put_back(before)
                self._held.undone()
                raise
            self._held.edited(row)
            return Edited(old, new)

    async def adopt(self, edit: BulkEdit) -> int:
        """New ratings of many players; returns the edit's number."""
        await asyncio.to_thread(self._refuse_unreadable, edit)
        async with self._settled():
            try:
                return await self._store.adopt_edit(self._name, edit)
            finally:  # after an error, too: it may be stored all the same
                await self._read_anew()

    def _refuse_unreadable(self, edit: BulkEdit) -> None:
        """RatingError: the system could not read these states back."""
        system = type(self._system)(self._system.params)
        for row in edit.rows:
            system.restore(row.id, row.state)
            system.forget(row.id)
        for key, part in (edit.shared or {}).items():
            system.restore_shared(key, part)

    async def undo(self, player: PlayerId, who: str, *, trial: bool) -> Revised:
        """Take back the player's last edit, or apply it again."""
        strike = EditStrike(player)
        if trial:
            return await self._tried(strike)

        def entry(found: Revised) -> Audit:
            own = next((shift for shift in found.shifts if shift.id == player), None)
            before, after = ("same", "same") if own is None else _numbers(own)
            return Audit(self._clock.epoch(), who, "undo", player, before, after)

        return await self._strike(strike, entry, {})

    async def void(self, strike: RoundStrike, who: str, reason: str, *, trial: bool) -> Revised:
        """Take a round out of the ratings, or put it back."""
        if trial:
            return await self._tried(strike)
        present, void = "rated", f"void: {reason}" if reason else "void"
        before, after = (void, present) if strike.back else (present, void)
        target = f"round {strike.round} of {strike.server}"
        detail = {"server": strike.server, "round": strike.round, "back": strike.back, "reason": reason}

        def entry(_: Revised) -> Audit:
            return Audit(self._clock.epoch(), who, "void", target, before, after)

        return await self._strike(strike, entry, detail)

    async def refit(self, fitting: Fitting, entry: Audit) -> CaughtUp:
        """Store a whole-history fit and what was rated since it began, and hold the players anew."""
        async with self._turn, self._held_back():
            return await fitting.adopt(entry)

    def stop(self) -> None:
        """End the replay that is under way: nothing of it is written."""
        self._stopped = True
        if self._replay is not None:
            self._replay.cancel()

    async def _tried(self, strike: Strike) -> Revised:
        async with self._turn:
            return await self._replayed(self._store.struck(self._name, strike))

    async def _strike(self, strike: Strike, entry: Callable[[Revised], Audit], detail: Mapping[str, object]) -> Revised:
        async with self._turn, self._held_back():
            return await self._replayed(self._store.strike(self._name, strike, entry, detail))

    async def _replayed(self, work: Coroutine[Any, Any, Revised]) -> Revised:
        self._replay = asyncio.create_task(work)
        if self._stopped:
            self._replay.cancel()
        try:
            return await self._replay
        except asyncio.CancelledError:
            raise StoreError("the daemon ends: the audit says whether it was done") from None
        finally:
            self._replay = None

    def _seeded(self, player: PlayerId, rating: float | None) -> tuple[PlayerSummary, PlayerSummary]:
        """Change the player in memory; their summaries before and after."""
        old = self._summary(player)
        if rating is None:
            self._system.forget(player)
            self._system.seed(player)
        else:
            self._system.seed(player, rating=rating)
        return old, self._summary(player)

    def _row(self, new: PlayerSummary) -> PlayerRow:
        state = self._system.state(new.id)
        return PlayerRow(new.id, 0, new.rating, new.rounds, new.visible, new.last_played, state, ())

    def _entry(self, old: PlayerSummary, new: PlayerSummary, rating: float | None, who: str) -> Audit:
        action = "reset" if rating is None else "set"
        return Audit(self._clock.epoch(), who, action, new.id, described(old), described(new))


def described(summary: PlayerSummary) -> str:
    """A rating as the audit has it."""
    return f"{summary.rating:g} after {summary.rounds} rounds"


def _numbers(shift: Shift) -> tuple[str, str]:
    return f"{shift.before:g} after {shift.rounds_before} rounds", f"{shift.after:g} after {shift.rounds_after} rounds"
