"""The Store port on one file of SQLite: every call runs on the one thread that owns the connection."""
# ruff: noqa: D102 (the port documents its methods)

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from equipoise.core.model import PlayerId, RoundId, ServerId
from equipoise.errors import StoreError
from equipoise.store.moved import AnyLine
from equipoise.store.notes import Audit, Decision, Log, Note
from equipoise.store.port import EditRow, Fitting, Replay, SeeEvent, SeeRound, Submission
from equipoise.store.rated import Fingerprint, PlayerRow, Purpose, RatedRound, SharedParts, Snapshot
from equipoise.store.sequence import BulkEdit, Edit, Event, LearntSpread, Revised, Strike
from equipoise.store.sqlite import (
    backups,
    fits,
    importing,
    notes,
    outcome,
    players,
    refits,
    replaying,
    replays,
    retention,
    rounds,
    sequence,
    snapshots,
    strikes,
)
from equipoise.store.sqlite.connection import (
    savepoint,
    store_errors,
)
from equipoise.store.sqlite.listings import SqliteListings
from equipoise.store.sqlite.sequence import NOTHING
from equipoise.store.upkeep import (
    Backup,
    CalibrationFit,
    CalibrationFound,
    Crowd,
    Extent,
    Gained,
    MeasuredRound,
    Prediction,
    QualityPoint,
    SpreadFound,
    TeamSize,
)

LARGE = 1_000
"""Rounds that are rewritten at once: it holds the store's thread for a fifth of a second."""


class SqliteStore(SqliteListings):
    """Call `open` first and `close` last; in between, calls are served one after the other.

    Notes wait for `notes_after` seconds, and for `retry_after` when they could not be written. Without `create`, a
    store that is missing is refused, and nothing is made.
    """

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        found = await self._read(lambda db: players.load(db, pool, dict.fromkeys(ids, 0), window))
        return {row.id: row for row in found}

    async def redate(self, pool: str, latest: float, now: float) -> int:
        return await self._write(lambda db: players.redate(db, pool, latest, now))

    async def names(self, pool: str, ids: Sequence[PlayerId]) -> Mapping[PlayerId, str]:
        return await self._read_noted(lambda db: players.names(db, pool, ids))

    async def record(self, pool: str, group: Sequence[Submission], window: int) -> Sequence[RatedRound | Exception]:
        def apply(db: Connection) -> list[RatedRound | Exception]:
            outcomes: list[RatedRound | Exception] = []
            with self._transaction(db):
                for one in group:
                    outcomes.append(_tried(db, pool, one, window))
                    if isinstance(outcomes[-1], Exception):
                        break
            for one, done in zip(group, outcomes, strict=False):
                if isinstance(done, RatedRound) and not done.again and one.memory is not None:
                    self._notes.unwritten.supersede(one.record.round.server, one.at)
            return outcomes

        return await self._read(apply)

    async def edit(
        self, pool: str, player: PlayerId, window: int, edit: EditRow, detail: Mapping[str, object] = NOTHING
    ) -> PlayerRow:
        return await self._write(lambda db: sequence.edit(db, pool, player, window, edit, detail))

    def note(self, notes: Iterable[Note]) -> None:
        self._notes.add(notes, due=self._thread is not None)

    async def memory(self, server: ServerId) -> bytes | None:
        return await self._read_noted(lambda db: rounds.memory(db, server))

    async def decisions(
        self, server: ServerId | None, limit: int, *, before: int | None = None, after: int = 0
    ) -> Sequence[Decision]:
        return await self._read_noted(lambda db: notes.decisions(db, server, limit, before, after))

    async def audit(self, entry: Audit) -> None:
        await self._write(lambda db: notes.audit(db, entry))

    async def audits(self, limit: int, *, before: int | None = None) -> Sequence[Audit]:
        return await self._read_noted(lambda db: notes.audits(db, limit, before))

    async def fingerprint(self, pool: str) -> Fingerprint | None:
        return await self._read(lambda db: players.fingerprint(db, pool))

    async def adopt(self, pool: str, fingerprint: Fingerprint, at: float) -> None:
        await self._write(lambda db: players.adopt_fingerprint(db, pool, fingerprint, at))

    async def shared(self, pool: str) -> SharedParts | None:
        return await self._read(lambda db: players.shared(db, pool))

    async def rated_rounds(self, pool: str, see: SeeRound, *, after: int = 0) -> None:
        await self._read(lambda db: replays.see(db, pool, see, after))

    async def events_after(self, pool: str, number: int, most: int = sys.maxsize) -> Sequence[Event]:
        return await self._read(lambda db: replays.page(db, pool, number, most))

    async def snapshot(self, pool: str, purpose: Purpose, most: int = sys.maxsize) -> Snapshot | None:
        return await self._read(lambda db: snapshots.newest(db, pool, purpose, most))

    async def keep_snapshot(self, pool: str, snapshot: Snapshot, seen: int) -> None:
        await self._read(self._notes.write)  # predictions of rounds behind a snapshot are not made again
        await self._write(lambda db: snapshots.keep(db, pool, snapshot, seen))

    async def pool_of(self, server: ServerId, round: RoundId) -> str | None:
        return await self._read(lambda db: rounds.pool_of(db, server, round))

    async def last_number(self, pool: str) -> int:
        return await self._read(lambda db: sequence.last_number(db, pool))

    async def lost_edits(self, pool: str) -> int:
        return await self._read(lambda db: sequence.lost(db, pool))

    async def events(self, pool: str, see: SeeEvent) -> None:
        def seen(db: Connection) -> None:
            for event in replays.events(db, pool):
                see(event)

        await self._read(seen)

    async def struck(self, pool: str, strike: Strike) -> Revised:
        return await self.replayed(replaying.question(self.path, pool, strike, None))

    async def strike(
        self, pool: str, strike: Strike, entry: Callable[[Revised], Audit], detail: Mapping[str, object]
    ) -> Revised:
        with outcome.new_file(self.path, pool) as file:
            revised = await self.replayed(replaying.question(self.path, pool, strike, file))

            def take_over(db: Connection) -> None:
                with outcome.attached(db, file), self._transaction(db):
                    strikes.apply(db, pool, strike, revised, entry(revised), detail)

            await self._taken_over(take_over, large=revised.rounds > LARGE)
        return revised

    async def replayed(self, question: replaying.Question) -> Revised:
        """Replay in a process of its own."""
        return replaying.revised(await replaying.asked(question))

    async def adopt_edit(self, pool: str, edit: BulkEdit) -> int:
        return await self._write(lambda db: sequence.adopt(db, pool, edit))

    def fitting(self, pool: str) -> AbstractAsyncContextManager[Fitting]:
        return refits.fitting(self.path, pool, self._taken_over, self._transaction)

    async def spread(self, pool: str, params: Mapping[str, object]) -> SpreadFound | None:
        return await fits.spread(self.path, pool, params)

    async def calibration(self, pool: str, wanted: CalibrationFit) -> CalibrationFound | None:
        return await fits.calibration(self.path, pool, wanted)

    async def refitted_at(self, pool: str) -> float | None:
        return await self._read(lambda db: sequence.refitted_at(db, pool))

    async def calibrations(self, pool: str) -> Sequence[Edit]:
        return await self._read(lambda db: sequence.calibrations(db, pool))

    async def learnt_spread(self, pool: str) -> LearntSpread | None:
        return await self._read(lambda db: sequence.learnt_spread(db, pool))

    async def recompute(self, pool: str, replay: Replay, entry: Audit) -> None:
        await self._write(lambda db: replays.recompute(db, pool, replay, entry))

    async def fill(self, pool: str, lines: Iterable[AnyLine]) -> None:
        """Write a whole pool into an empty one, in one transaction; an error of `lines` ends it, and nothing is left.

        FileError: a line contradicts the others.
        """
        await self._write(lambda db: importing.write(db, pool, lines))

    async def holds(self, pool: str) -> tuple[int, int, int]:
        """How many players, rounds and edits a pool has."""
        return await self._read(lambda db: importing.holds(db, pool))

    async def predictions(self, pool: str, limit: int | None) -> Sequence[Prediction]:
        return await self._read(lambda db: rounds.predictions(db, pool, limit))

    async def measured(self, pool: str, limit: int) -> Sequence[MeasuredRound]:
        numbers = await self._read(lambda db: rounds.numbers(db, pool, limit))
        found: list[MeasuredRound] = []
        for start in range(0, len(numbers), rounds.PAGE):
            page = numbers[start : start + rounds.PAGE]
            found += await self._read(partial(rounds.measured, page=page))
        return found

    async def plays_alone(self, pool: str) -> bool:
        return await self._read(lambda db: rounds.plays_alone(db, pool))

    async def team_sizes(self, pool: str, limit: int) -> Sequence[TeamSize]:
        return await self._read(lambda db: rounds.team_sizes(db, pool, limit))

    async def gained(self, pool: str, most: int, few: int) -> Gained:
        return await self._read(lambda db: rounds.gained(db, pool, most, few))

    async def keep_quality(self, pool: str, point: QualityPoint) -> None:
        await self._write(lambda db: players.keep_quality(db, pool, point))

    async def qualities(self, pool: str, *, since: float) -> Sequence[QualityPoint]:
        return await self._read(lambda db: players.qualities(db, pool, since))

    async def crowd(self, pool: str, *, since: float | None) -> Crowd:
        return await self._read(lambda db: players.crowd(db, pool, since))

    async def top(self, pool: str, limit: int | None, *, since: float | None) -> Sequence[PlayerRow]:
        return await self._read_noted(lambda db: players.top(db, pool, limit, since))

    async def rank(self, pool: str, player: PlayerId, *, since: float | None) -> tuple[int, int] | None:
        return await self._read(lambda db: players.rank(db, pool, player, since))

    async def search(self, pool: str, text: str, limit: int) -> Sequence[PlayerRow]:
        found: list[PlayerRow] = []
        after: str | None = ""
        while after is not None:
            piece = partial(players.search, pool=pool, text=text, limit=limit, after=after)
            rows, after = await self._read_noted(piece)
            found = sorted((*found, *rows), key=lambda row: (-row.rating, row.id))[:limit]
        return found

    async def prune(self, log: Log, before: float, limit: int) -> int:
        return await self._write(lambda db: retention.prune(db, log, before, limit))

    async def prune_rounds(self, pool: str, window: int, before: float, limit: int) -> int:
        return await self._write(lambda db: retention.prune_rounds(db, pool, window, before, limit))

    async def last_prunable(self, pool: str, before: float) -> int:
        return await self._read(lambda db: retention.last_prunable(db, pool, before))

    async def pruned_rounds(self, pool: str) -> int:
        return await self._read(lambda db: retention.pruned_rounds(db, pool))

    async def extent(self) -> Extent:
        return await self._read(retention.extent)

    async def back_up(self, target: Path) -> Backup:
        return await backups.in_process(self.path, target)


def _tried(db: Connection, pool: str, one: Submission, window: int) -> RatedRound | Exception:
    """The outcome of one round of a group: its answer, or the error for which it alone failed."""
    try:
        with store_errors(), savepoint(db):
            return rounds.apply(db, pool, one, window)
    except StoreError:  # the store's trouble is every round's
        raise
    except Exception as error:  # a fault in rating one round must not cost the other servers theirs
        one.undo()
        return error
