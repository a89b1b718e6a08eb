"""One rating population: its system, its lock, its ring and its store; several hosts feed one.

The system holds players in memory, the store the truth about them. A round is rated inside the store's transaction;
when that fails, the system is put back. Rounds are applied in the order they came: behind one that waits in the ring,
all wait.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, PlayerSummary, Side, is_bot
from equipoise.errors import RatingError, ScriptError, SpillError, StoreError, StoreRefused
from equipoise.ratings.system import Match, Parts, State, System
from equipoise.service.fingerprint import check, fingerprint_of
from equipoise.service.ring import SLOTS, Ring, Waiting
from equipoise.store.port import Audit, Change, Clock, Known, PlayerRow, RatedRound, Shared, Store
from equipoise.wire.values import Kept

ABSENT = 10_000
"""Players remembered to be in no store, so that they are not asked for again: 100 full servers have a third of it."""

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a round."""

    status: Kept
    rated: RatedRound | None
    """Its first answer; None while it is kept."""
    summaries: tuple[PlayerSummary, ...] = ()
    """Everybody whose card changed, also by older rounds that were applied first."""


@dataclass(slots=True)
class _Before:
    """What a transaction that fails is put back to; nothing of what it did not reach."""

    players: dict[PlayerId, State | None] = field(default_factory=dict)
    """None: he was not held."""
    shared: Parts = field(default_factory=dict)


class Pool:
    """Call `open` first, when the store is open, and `close` last, before the store.

    Reading `system` needs no lock: each player is seen as he was before a round that is being rated, or after it.
    """

    def __init__(self, name: str, system: System[Any], store: Store, ring: Ring, clock: Clock) -> None:
        self.name = name
        self.system = system
        self.store = store
        self.ring = ring
        self.applied = 0
        """Rounds stored, since the start."""
        self.refused = 0
        """Rounds that the store can never take, since the start."""
        self.version = 0
        """Grows after whatever may have changed a summary, and when players could not be loaded.

        A host that reads it before it asks for summaries need not ask again while it stays the same.
        """
        self._clock = clock
        self._lock = asyncio.Lock()
        self._versions: dict[PlayerId, int] = {}
        """Of the rows that the system's players were made from; who is missing here is loaded again."""
        self._absent: dict[PlayerId, None] = {}
        """Players without a row, oldest first: who has never been rated polls as often as everybody else."""
        self._shared_version = 0
        """Of what the system keeps of no single player; 0: it is loaded again."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        """Read the ring's file and apply what waits.

        ConfigError: the stored ratings were made by another system. SpillError: the file cannot be used.
        """
        await self._agree()
        await asyncio.to_thread(self.ring.open)
        await self.drain()

    async def close(self) -> None:
        """Finish what is under way."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.ring.close()

    @property
    def ring_depth(self) -> int:
        """Rounds that wait for the store."""
        return self.ring.depth

    # Players.

    def summary(self, player: PlayerId) -> PlayerSummary:
        """From memory; a stranger's is a newcomer's."""
        return replace(self.system.summary(player), skill=self.system.skill(player))

    def skill(self, player: PlayerId) -> float:
        """What the solver balances on, from memory; strangers and bots have a newcomer's."""
        return self.system.skill(player)

    async def summaries(self, players: Sequence[PlayerId]) -> tuple[PlayerSummary, ...]:
        """Cards of these players, loaded where memory has none; without the store, what memory has."""
        if self._unread(players) or not self._shared_version:
            await self._uninterrupted(self._load(players))
        return tuple(self.summary(player) for player in players)

    async def edit(self, player: PlayerId, rating: float | None, who: str) -> PlayerSummary:
        """Set a player's rating, or with None make him a newcomer; audited as done by `who`.

        RatingError when the system refuses it, StoreError when the store does: then nothing was changed.
        """
        return await self._uninterrupted(self._edit(player, rating, who))

    async def top(self, limit: int | None) -> tuple[PlayerSummary, ...]:
        """The leaderboard with names, all of it without a limit: no shadow ratings, nobody stale."""
        rows = await self.store.top(self.name, limit, since=self._active_since())
        return tuple(
            PlayerSummary(row.id, row.rating, row.rounds, row.visible, row.last_played, name=row.name) for row in rows
        )

    async def rank(self, player: PlayerId) -> tuple[int, int] | None:
        """Place on the leaderboard and its length; None for who is not on it."""
        return await self.store.rank(self.name, player, since=self._active_since())

    # Rounds.

    async def record(self, record: RecordRound, memory: bytes | None) -> Recorded:
        """Store and rate a round once, after every older one; a round sent again returns its first answer.

        SpillError: neither the store nor the ring took it. ScriptError: the store can never take it.
        """
        entry = Waiting(record, memory, self._clock.epoch())
        return await self._uninterrupted(self._record(entry))

    async def drain(self) -> tuple[PlayerSummary, ...]:
        """Apply what waits, oldest first, until the store refuses; everybody whose card changed."""
        return await self._uninterrupted(self._drain())

    async def _record(self, entry: Waiting) -> Recorded:
        async with self._lock:
            changed = await self._apply_waiting()
            if not self.ring.depth:
                try:
                    rated = await self._apply(entry)
                except StoreError as error:
                    log.warning("pool %s: %s", self.name, error)
                else:
                    return Recorded("stored", rated, self._sorted_summaries(changed | _changed(rated)))
            await asyncio.to_thread(self.ring.push, entry)
            return Recorded("kept", None, self._sorted_summaries(changed))

    async def _drain(self) -> tuple[PlayerSummary, ...]:
        changed: set[PlayerId] = set()
        progress = True
        while progress:
            async with self._lock:  # let go in between: somebody's round may have ended
                depth = self.ring.depth
                changed |= await self._apply_waiting()
                progress = self.ring.depth < depth
        return self._sorted_summaries(changed)

    async def _apply_waiting(self) -> set[PlayerId]:
        """As many waiting rounds as there are slots: more would keep a script waiting for its answer."""
        changed: set[PlayerId] = set()
        try:
            for _ in range(SLOTS):
                entry = await asyncio.to_thread(self.ring.oldest)
                if entry is None:
                    break
                changed |= await self._apply_or_drop(entry)
                await asyncio.to_thread(self.ring.pop)
        except (StoreError, SpillError) as error:
            log.warning("pool %s: %d rounds wait: %s", self.name, self.ring.depth, error)
        return changed

    async def _apply_or_drop(self, entry: Waiting) -> set[PlayerId]:
        """A round that can never be stored must not stop those behind it."""
        try:
            return _changed(await self._apply(entry))
        except ScriptError as error:
            self.refused += 1
            log.error("pool %s: round %s of %s dropped: %s", self.name, *reversed(entry.key), error)
            return set()

    async def _apply(self, entry: Waiting) -> RatedRound:
        """A round that the system refuses is stored unrated, with the reason."""
        try:
            rated = await self._store(entry, match_of(entry.record))
        except RatingError as error:
            unrated = replace(entry.record, participants=(), unrated=str(error))
            rated = await self._store(Waiting(unrated, entry.memory, entry.at), None)
        self.applied += not rated.again
        return rated

    async def _store(self, entry: Waiting, match: Match | None) -> RatedRound:
        """Rate and store in one transaction; after any error the system is as it was."""
        needed = self.system.needs(match) if match else ()
        versions = {player: self._versions.get(player, 0) for player in sorted(needed)}
        known = Known(versions, self._shared_version)
        before = _Before()

        def rate(rows: Sequence[PlayerRow], shared: Shared | None) -> RatedRound:
            self._restore(rows)
            self._restore_shared(shared)
            before.players = self._states(each.id for each in entry.record.participants)
            if match is None:
                return rated_round(self.system, entry.record, match)
            before.shared = self.system.shared(match)
            rated, after = rated_round(self.system, entry.record, match), self.system.shared(match)
            return replace(rated, shared={key: part for key, part in after.items() if part != before.shared[key]})

        window = self.system.window
        try:
            rated = await self.store.record(self.name, entry.record, known, window, rate, entry.memory, entry.at)
        except BaseException:
            self._put_back(before)
            raise
        if not rated.again:
            for change in rated.changes:
                self._versions[change.id] = self._versions.get(change.id, 0) + 1
                self._absent.pop(change.id, None)
            self.version += bool(rated.changes)
            self._shared_version += bool(rated.shared)
        return rated

    async def _edit(self, player: PlayerId, rating: float | None, who: str) -> PlayerSummary:
        if is_bot(player):
            raise RatingError(f"{player}: bots are not rated")
        async with self._lock:
            await self._apply_waiting()
            before = _Before()

            def change(row: PlayerRow | None) -> tuple[PlayerRow, Audit]:
                self._restore([row] if row else [])
                before.players = self._states([player])
                return self._edited(player, rating, who)

            try:
                row = await self.store.edit(self.name, player, self.system.window, change)
            except BaseException:
                self._put_back(before)
                raise
            self._versions[player] = row.version
            self._absent.pop(player, None)
            self.version += 1
            return self.summary(player)

    def _edited(self, player: PlayerId, rating: float | None, who: str) -> tuple[PlayerRow, Audit]:
        old = self.system.summary(player)
        if rating is None:
            self.system.forget(player)
            self.system.seed(player)
        else:
            self.system.seed(player, rating=rating)
        new = self.system.summary(player)
        state = self.system.state(player)
        row = PlayerRow(player, 0, new.rating, new.rounds, new.visible, new.last_played, state, ())
        action = "reset" if rating is None else "set"
        return row, Audit(self._clock.epoch(), who, action, player, _summary(old), _summary(new))

    # The system's players and the store's rows.

    async def _agree(self) -> None:
        """Ratings that another system made mean nothing to this one."""
        fingerprint, recorded = fingerprint_of(self.system), await self.store.fingerprint(self.name)
        if recorded is not None:
            check(self.name, recorded, self.system)
        if recorded != fingerprint:
            await self.store.adopt(self.name, fingerprint, self._clock.epoch())
        try:
            self._restore_shared(await self.store.shared(self.name))
        except RatingError as error:
            raise StoreRefused(f"pool {self.name}: {error}: restore a backup of the store") from None

    async def _load(self, players: Sequence[PlayerId]) -> None:
        async with self._lock:
            try:
                if not self._shared_version:
                    self._restore_shared(await self.store.shared(self.name))
                    self.version += 1
                missing = self._unread(players)  # another host may have asked for them meanwhile
                rows = await self.store.players(self.name, missing, self.system.window)
                await asyncio.to_thread(self._restore, list(rows.values()))
                self._note_absent(player for player in missing if player not in rows)
                self.version += bool(rows)
            except (StoreError, RatingError) as error:
                self.version += 1
                log.warning("pool %s: players not loaded: %s", self.name, error)

    def _unread(self, players: Iterable[PlayerId]) -> list[PlayerId]:
        """Those of whom memory does not know whether the store has them."""
        versions, absent = self._versions, self._absent
        return [one for one in players if one not in versions and one not in absent and not is_bot(one)]

    def _note_absent(self, players: Iterable[PlayerId]) -> None:
        self._absent.update(dict.fromkeys(players))
        for player in list(islice(self._absent, max(0, len(self._absent) - ABSENT))):
            del self._absent[player]

    def _restore(self, rows: Sequence[PlayerRow]) -> None:
        for row in rows:
            self.system.restore(row.id, row.state, row.history)
            self._versions[row.id] = row.version

    def _restore_shared(self, stored: Shared | None) -> None:
        if stored is not None:
            for key, part in stored.parts.items():
                self.system.restore_shared(key, part)
            self._shared_version = stored.version

    def _states(self, players: Iterable[PlayerId]) -> dict[PlayerId, State | None]:
        system = self.system
        return {player: system.state(player) if player in system else None for player in players}

    def _put_back(self, before: _Before) -> None:
        """Each skill as it was; what went before it is loaded again before the next round is rated."""
        self.version += bool(before.players)
        for player, state in before.players.items():
            self._versions.pop(player, None)
            self._absent.pop(player, None)  # the round may be stored all the same, and only its answer lost
            if state is None:
                self.system.forget(player)
            else:
                self.system.restore(player, state)
        if before.shared:
            self._shared_version = 0
        for key, part in before.shared.items():
            self.system.restore_shared(key, part)

    def _active_since(self) -> float | None:
        longest = self.system.stale_after
        return None if math.isinf(longest) else self._clock.epoch() - longest

    def _sorted_summaries(self, players: set[PlayerId]) -> tuple[PlayerSummary, ...]:
        return tuple(map(self.summary, sorted(players)))

    async def _uninterrupted(self, work: Coroutine[Any, Any, T]) -> T:
        """A caller that is cancelled leaves the work running: it must not let go of the lock halfway."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)


def rated_round(system: System[Any], record: RecordRound, match: Match | None) -> RatedRound:
    """Have a system learn from a round, and what is stored of it."""
    if match is None:
        return RatedRound(record.round.id, None, ())
    rated = system.rate(match)
    changes = tuple(
        Change(
            id=change.player,
            side=(Side.A, Side.B)[change.team],
            before=change.before,
            after=change.after,
            prediction=change.expected,
            score=change.score,
            rounds=change.rounds,
            visible=system.summary(change.player).visible,
            state=system.state(change.player),
        )
        for change in rated.changes
    )
    return RatedRound(record.round.id, rated.prediction.expected(0), changes)


def _changed(rated: RatedRound) -> set[PlayerId]:
    return set() if rated.again else {change.id for change in rated.changes}


def _summary(summary: PlayerSummary) -> str:
    return f"{summary.rating:g} after {summary.rounds} rounds"
