"""What the shell offers the pool and the host: Protocols only. Nothing outside `store` knows a dialect."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, RoundId, ServerId
from equipoise.store.listings import Listings
from equipoise.store.notes import Audit, Decision, Log, Note
from equipoise.store.rated import Fingerprint, HeldVersions, PlayerRow, Purpose, RatedRound, SharedParts, Snapshot
from equipoise.store.sequence import BulkEdit, Edit, Event, LearntSpread, Revised, Strike
from equipoise.store.upkeep import (
    Backup,
    CalibrationFit,
    CalibrationFound,
    CaughtUp,
    Crowd,
    Extent,
    Fitted,
    Gained,
    MeasuredRound,
    Prediction,
    QualityPoint,
    SpreadFound,
    StoreHealth,
    TeamSize,
)

EditRow = Callable[[PlayerRow | None], tuple[PlayerRow, Audit]]
"""Changes one player's row (None: they are unknown) and returns the line of the audit with it. Does no I/O.

The store counts the version itself, and leaves the name as it is."""

SeeRound = Callable[[RecordRound, float], None]
"""Receives a stored, rated round as its system received it, and the predicted win probability of side A. Does no I/O.

Only presences of participants are stored, without the fields that only the rules read, and of bots their spans.
"""


SeeEvent = Callable[[Event], None]
"""Receives a stored, rated round as its system received it, or an edit. Does no I/O."""


class Submission(Protocol):
    """A round on its way into the store, which calls this inside its transaction. Nothing here does I/O."""

    @property
    def record(self) -> RecordRound:
        """The round as its server sent it."""

    @property
    def memory(self) -> bytes | None:
        """The server's session memory after the round."""

    @property
    def at(self) -> float:
        """When the round first came in, seconds since the epoch."""

    def held(self) -> HeldVersions:
        """The versions in memory now, which rounds of the same transaction may have changed. Called before `rate`."""

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        """Rate the round, given the rows that are stored in another version than the one held. Called once."""

    def undo(self) -> None:
        """Undo in memory what `rate` did; does nothing if it was not called, or was undone already."""


class Replay(Protocol):
    """A rating system without players that is given a pool's rounds and edits again. Does no I/O."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the new ratings."""

    @property
    def same(self) -> bool:
        """Whether the stored ratings were made by the same system."""

    def rate(self, record: RecordRound) -> RatedRound:
        """Rate the next round and return its new answer; RatingError when the system refuses it."""

    def edit(self, edit: Edit) -> Edit:
        """Change ratings as the next edit did, and return what it did: without players whom it could not change."""

    def player(self, player: PlayerId) -> PlayerRow:
        """A player after the events so far; one without any is a newcomer."""

    def shared(self) -> Mapping[str, object]:
        """The system's shared state after the events so far, by key."""

    def snapshot(self, number: int) -> Snapshot | None:
        """After event `number`, the last one; None: the players and the shared state are all that it holds."""


class Fitting(Protocol):
    """All ratings of a pool estimated anew from all of its rounds, in a process of its own. StoreError: it failed."""

    async def fitted(self) -> Fitted:
        """Wait until the rounds are fitted that were stored when this is called, first of all and once."""

    async def tried(self) -> CaughtUp:
        """What would change now; nothing is written."""

    async def adopt(self, entry: Audit) -> CaughtUp:
        """Rate what came meanwhile, and write the new ratings as an edit, with its line in the audit.

        The caller sees to it that nothing else changes the pool meanwhile; PoolMoved: something did.
        """


class Store(Listings, Protocol):
    """Persistence of players, rounds, decisions and sessions. Every method but `note` may raise StoreError."""

    async def open(self) -> None:
        """Connect and migrate. StoreRefused when the store is not ours, newer than we are, or read-only."""

    async def close(self) -> None:
        """Finish what is under way and disconnect."""

    async def ping(self) -> None:
        """Fail if the store cannot be written; ends a trouble that is over."""

    def health(self) -> StoreHealth:
        """Whether it takes what is written. Does no I/O."""

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        """Rows of these players without names; those who were never rated are missing."""

    async def redate(self, pool: str, latest: float, now: float) -> int:
        """Let players who played last after `latest` have played last `now`; returns how many they were."""

    async def names(self, pool: str, ids: Sequence[PlayerId]) -> Mapping[PlayerId, str]:
        """The last known names of these players; unnamed players are missing."""

    async def record(self, pool: str, group: Sequence[Submission], window: int) -> Sequence[RatedRound | Exception]:
        """Store rounds in order, in one transaction: each with its participants, their ratings, the shared state and
        the session memory.

        A round has a savepoint of its own. The first one that fails is rolled back and undone, its error is its
        outcome, and the rounds behind it are not tried: the outcomes are then fewer than the rounds. Rounds
        with an outcome of another kind are durable when this returns.

        A round id that is stored already changes nothing, and the outcome is the first answer. The memory of a round
        that waited does not replace a newer one. After a StoreError nothing of the group was written, and the
        caller has to undo it in memory.
        """

    async def fingerprint(self, pool: str) -> Fingerprint | None:
        """The system and parameters that made a pool's ratings; None before its first start."""

    async def adopt(self, pool: str, fingerprint: Fingerprint, at: float) -> None:
        """Replace the recorded fingerprint; the ratings stay as they are."""

    async def shared(self, pool: str) -> SharedParts | None:
        """The shared state of the pool's system; None before the first start."""

    async def rated_rounds(self, pool: str, see: SeeRound, *, after: int = 0) -> None:
        """Call `see` with every rated round of a pool after a number, in the order in which they were applied."""

    async def events(self, pool: str, see: SeeEvent) -> None:
        """Call `see` with every rated round and every edit of a pool, in the order in which they were applied."""

    async def events_after(self, pool: str, number: int, most: int = sys.maxsize) -> Sequence[Event]:
        """The next `sequence.AT_ONCE` of a pool's rated rounds and edits after a number; none above `most`."""

    async def snapshot(self, pool: str, purpose: Purpose, most: int = sys.maxsize) -> Snapshot | None:
        """The newest snapshot that is whole, of those after at most event `most`; damaged ones are logged."""

    async def keep_snapshot(self, pool: str, snapshot: Snapshot, seen: int) -> None:
        """Add a snapshot in place of older ones, unless an event was struck since event `seen`."""

    async def pool_of(self, server: ServerId, round: RoundId) -> str | None:
        """The pool that a stored round belongs to; None: it is not stored."""

    async def last_number(self, pool: str) -> int:
        """The number of the pool's last round or edit; 0 before the first."""

    async def lost_edits(self, pool: str) -> int:
        """Ratings that admins changed before edits were stored, as far as the audit knows."""

    async def struck(self, pool: str, strike: Strike) -> Revised:
        """What a strike would change: what follows is replayed in a process of its own, and nothing is written.

        ScriptError: there is no such event, or it cannot be struck. StoreError: the replay failed.
        """

    async def strike(
        self, pool: str, strike: Strike, entry: Callable[[Revised], Audit], detail: Mapping[str, object]
    ) -> Revised:
        """Take an event out of the ratings, or put it back, with the line that `entry` makes for the audit.

        What follows is replayed in a process of its own, and the new numbers are written in one transaction. The
        caller sees to it that nothing else changes the pool meanwhile; PoolMoved: something did, nothing was written.
        """

    async def adopt_edit(self, pool: str, edit: BulkEdit) -> int:
        """Write new ratings of many players as one edit, with its line in the audit; returns the edit's number.

        PoolMoved: a round or edit came that they do not take into account.
        """

    def fitting(self, pool: str) -> AbstractAsyncContextManager[Fitting]:
        """A fit of a pool, whose process ends with the context."""

    async def spread(self, pool: str, params: Mapping[str, object]) -> SpreadFound | None:
        """The spread of skill that a pool's rounds fit best by `joint` with these parameters, fitted in a process.

        None where there are too few rounds, or none fits.
        """

    async def calibration(self, pool: str, wanted: CalibrationFit) -> CalibrationFound | None:
        """The calibration that a pool's last rounds fit best, fitted in a process; None: too few, or none fits."""

    async def refitted_at(self, pool: str) -> float | None:
        """When a pool's last refit was adopted, seconds since the epoch; None: never."""

    async def calibrations(self, pool: str) -> Sequence[Edit]:
        """The edits that change what is said of a pool's predictions, or end it, in order."""

    async def learnt_spread(self, pool: str) -> LearntSpread | None:
        """The spread of skill that a pool's rounds have taught it, by its last such event; None: none did."""

    async def recompute(self, pool: str, replay: Replay, entry: Audit) -> None:
        """Replace every number that a rating system made by those of `replay`, in one transaction.

        These are the numbers of rated rounds, participants and players. The shared state and the fingerprint are
        replaced too, and a line of the audit is added. After any error nothing was written.
        """

    async def edit(
        self, pool: str, player: PlayerId, window: int, edit: EditRow, detail: Mapping[str, object]
    ) -> PlayerRow:
        """Write, in one transaction, an admin's change of a player and its line in the audit; returns the new row.

        `detail` is what was asked for: a replay asks for it again.
        """

    def note(self, notes: Iterable[Note]) -> None:
        """Write these within a second or two, many in one transaction, behind rounds; never fails.

        Until then they survive neither kill -9 nor a power loss, but every read below already sees them. Of a
        server's memory and a player's name only the newest is written.
        """

    async def memory(self, server: ServerId) -> bytes | None:
        """A server's session memory, None before the first."""

    async def decisions(
        self, server: ServerId | None, limit: int, *, before: int | None = None, after: int = 0
    ) -> Sequence[Decision]:
        """The newest decisions of a server, or of all, whose numbers lie between the two; newest first."""

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
        """Those since a time that name a player, and the number to go on before: a long log is read in parts."""

    async def audit(self, entry: Audit) -> None:
        """Append a line to the audit; durable when this returns."""

    async def audits(self, limit: int, *, before: int | None = None) -> Sequence[Audit]:
        """The newest audit lines, newest first."""

    async def predictions(self, pool: str, limit: int | None) -> Sequence[Prediction]:
        """The last rated rounds of a pool, without a limit all, oldest first."""

    async def measured(self, pool: str, limit: int) -> Sequence[MeasuredRound]:
        """The last rated rounds of a pool that are whole, with their participants, oldest first."""

    async def plays_alone(self, pool: str) -> bool:
        """Whether a pool has rated rounds, and no balance system predicted any of the last."""

    async def team_sizes(self, pool: str, limit: int) -> Sequence[TeamSize]:
        """How large the sides of these rounds were."""

    async def gained(self, pool: str, most: int, few: int) -> Gained:
        """What the `most` highest visible ratings owe to rounds of less than `few` participants."""

    async def keep_quality(self, pool: str, point: QualityPoint) -> None:
        """Add a point to the time series of how well a pool predicts."""

    async def qualities(self, pool: str, *, since: float) -> Sequence[QualityPoint]:
        """That time series from a time on, oldest first."""

    async def crowd(self, pool: str, *, since: float | None) -> Crowd:
        """The players of a pool in numbers; `since` as in `top`."""

    async def top(self, pool: str, limit: int | None, *, since: float | None) -> Sequence[PlayerRow]:
        """Visible players, highest rating first, without history; `since` omits players without a round since then."""

    async def rank(self, pool: str, player: PlayerId, *, since: float | None) -> tuple[int, int] | None:
        """A player's place in the whole of `top` and its length; None when they are not in it."""

    async def search(self, pool: str, text: str, limit: int) -> Sequence[PlayerRow]:
        """Players whose id or last name contains the text, highest rating first.

        All players are looked through, in pieces that let rounds pass.
        """

    async def prune(self, log: Log, before: float, limit: int) -> int:
        """Delete up to `limit` lines of a log that are older than a time, the oldest first; returns how many."""

    async def prune_rounds(self, pool: str, window: int, before: float, limit: int) -> int:
        """Delete up to `limit` rounds that were stored before a time, the oldest first; returns how many.

        A participant's last `window` rows stay, and so does what little of their rounds these rows need.
        """

    async def last_prunable(self, pool: str, before: float) -> int:
        """The highest number of a round that `prune_rounds` would delete without a limit; 0: none."""

    async def pruned_rounds(self, pool: str) -> int:
        """The rated rounds that were ever deleted from a pool."""

    async def extent(self) -> Extent:
        """How large the store is."""

    async def back_up(self, target: Path) -> Backup:
        """Copy the store as it is at one moment to a file that does not exist, while it goes on to serve.

        The copy is checked and durable when this returns. Before that, and after a StoreError, there is none.
        """


class Clock(Protocol):
    """Time, given to the host so that its tests give it."""

    def monotonic(self) -> float:
        """Seconds that never go back; drives deadlines."""

    def epoch(self) -> float:
        """Seconds since the epoch; is stored."""
