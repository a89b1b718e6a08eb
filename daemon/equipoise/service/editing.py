"""Changes of a pool's ratings that are not rounds: an admin's edits, and new ratings of many players."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from equipoise.core.model import PlayerId, PlayerSummary, is_bot
from equipoise.errors import RatingError
from equipoise.service.held import Held, Snapshot
from equipoise.store.port import Audit, Clock, PlayerRow, Store
from equipoise.store.sequence import BulkEdit


@dataclass(frozen=True, slots=True)
class Edited:
    """A player before and after an edit."""

    before: PlayerSummary
    after: PlayerSummary


class Editing:
    """The edits of one pool. `settled` takes its lock; `read_in` loads players while the lock is held."""

    def __init__(
        self,
        name: str,
        held: Held,
        store: Store,
        clock: Clock,
        settled: Callable[[], AbstractAsyncContextManager[None]],
        read_in: Callable[[Sequence[PlayerId]], Awaitable[None]],
    ) -> None:
        self._name = name
        self._held = held
        self._system = held.system
        self._store = store
        self._clock = clock
        self._settled = settled
        self._read_in = read_in

    async def edit(self, player: PlayerId, rating: float | None, who: str) -> Edited:
        """Set a player's rating, or with None make them a newcomer."""
        if is_bot(player):
            raise RatingError(f"{player}: bots are not rated")
        async with self._settled():
            before = Snapshot()
            old = new = self._system.summary(player)

            def change(row: PlayerRow | None) -> tuple[PlayerRow, Audit]:
                nonlocal before, old, new
                self._held.restore([row] if row else [])
                before = self._held.snapshot([player])
                old, new = self._seeded(player, rating)
                return self._row(new), self._entry(old, new, rating, who)

            detail = {} if rating is None else {"rating": rating}
            try:
                row = await self._store.edit(self._name, player, self._system.window, change, detail)
            except BaseException:
                self._held.put_back(before)
                raise
            self._held.edited(row)
            return Edited(old, new)

    async def adopt(self, edit: BulkEdit) -> int:
        """New ratings of many players; returns the edit's number."""
        async with self._settled():
            try:
                return await self._store.adopt_edit(self._name, edit)
            finally:  # after an error, too: it may be stored all the same
                await self._reload()

    async def _reload(self) -> None:
        """Read again whom memory holds: skills of players on servers are read from it at any time."""
        await self._read_in(self._held.outdate())

    def _seeded(self, player: PlayerId, rating: float | None) -> tuple[PlayerSummary, PlayerSummary]:
        """Change the player in memory; their summaries before and after."""
        old = self._system.summary(player)
        if rating is None:
            self._system.forget(player)
            self._system.seed(player)
        else:
            self._system.seed(player, rating=rating)
        return old, self._system.summary(player)

    def _row(self, new: PlayerSummary) -> PlayerRow:
        state = self._system.state(new.id)
        return PlayerRow(new.id, 0, new.rating, new.rounds, new.visible, new.last_played, state, ())

    def _entry(self, old: PlayerSummary, new: PlayerSummary, rating: float | None, who: str) -> Audit:
        action = "reset" if rating is None else "set"
        return Audit(self._clock.epoch(), who, action, new.id, described(old), described(new))


def described(summary: PlayerSummary) -> str:
    """A rating as the audit has it."""
    return f"{summary.rating:g} after {summary.rounds} rounds"
