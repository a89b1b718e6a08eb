"""The part of a pool in memory: its system's players and the versions of their rows; the fingerprint of what made them.

A daemon that is configured otherwise than the fingerprint says refuses to start, because numbers of two systems would
mix in one table.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.balancing.chances import deviation_of, uncertain
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, Side, is_bot
from equipoise.errors import ConfigError, RatingError, StoreError, StoreRefused
from equipoise.ratings.calibration import NONE, Calibration, calibrated
from equipoise.ratings.system import Match, Parts, Rated, System
from equipoise.service.clock import Clock
from equipoise.service.ring import UnstoredRound
from equipoise.store.notes import BalancePrediction
from equipoise.store.player_rows import Change, Fingerprint, PlayerRow, SharedParts
from equipoise.store.round_rows import HeldVersions, RatedRound
from equipoise.store.sequence import Edit
from equipoise.store.store import Store

FREE = frozenset({"stale_days"})
"""Parameters that no stored number depends on: a new value is accepted and recorded."""
YOUNG = frozenset({"bots", "hive_rounds"})
"""Parameters about what no round was stored with before there were these: a record without them fits any value."""


def fingerprint_of(system: System[Any]) -> Fingerprint:
    """The system and all of its parameters, as JSON gives them back."""
    return Fingerprint(system.name, json.loads(json.dumps(asdict(system.params))))


def made_by(recorded: Fingerprint, system: System[Any]) -> bool:
    """Whether ratings with this fingerprint were made by the system, as far as numbers depend on its parameters."""
    return recorded.system == system.name and not _differences(recorded, fingerprint_of(system))


def described(fingerprint: Fingerprint) -> str:
    """The system and its parameters that differ from their defaults, for people.

    >>> described(Fingerprint("elo", {"k": 24.0}))
    'elo, k = 24.0'
    """
    defaults = fingerprint_of(ratings.create(fingerprint.system)).params
    special = [name for name, value in fingerprint.params.items() if value != defaults.get(name)]
    return f"{fingerprint.system}, {_listed(special, fingerprint.params)}" if special else fingerprint.system


def check(pool: str, recorded: Fingerprint, system: System[Any]) -> None:
    """Raise ConfigError, which names the difference, unless the configured system made the recorded ratings too."""
    present = fingerprint_of(system)
    if recorded.system != present.system:
        then, now = recorded.system, present.system
    else:
        different = _differences(recorded, present)
        then, now = _listed(different, _completed(recorded, present)), _listed(different, present.params)
    if then != now:
        raise ConfigError(
            f"the stored ratings were made with {then}, not with {now}: set that back, "
            f"or have them made anew by `equipoise pool recompute --pool {pool}`",
            path=f"$.pool.{pool}",
        )


def _differences(recorded: Fingerprint, configured: Fingerprint) -> list[str]:
    """Parameters of one system that differ."""
    old, new = _completed(recorded, configured), configured.params
    return [name for name in sorted({*old, *new} - FREE) if old.get(name) != new.get(name)]


def _completed(recorded: Fingerprint, configured: Fingerprint) -> dict[str, object]:
    """All parameters of the recorded ratings: one that is newer than the record had its default then."""
    defaults = fingerprint_of(ratings.create(configured.system)).params
    young = {name: value for name, value in configured.params.items() if name in YOUNG}
    return {**defaults, **young, **recorded.params}


def _listed(names: list[str], values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {_written(values.get(name))}" for name in names)


def _written(value: object) -> str:
    return "its default" if value is None else json.dumps(value, ensure_ascii=False)


# Players in memory.

log = logging.getLogger(__name__)


MOST_HELD = 4_000
"""Players in memory: a hundred full servers have 3,200, and with SynElo's full windows each takes 8 KB."""


@dataclass(frozen=True, slots=True)
class Before:
    """Players and parts as they were before a round, or as rounds have made them."""

    players: dict[PlayerId, object] = field(default_factory=dict)
    """Copies for the system's `put`."""
    shared: Parts = field(default_factory=dict)
    versions: HeldVersions = field(default_factory=lambda: HeldVersions({}))
    """Those that memory held."""
    place: int = 0
    """The round's place in its group; for sequential systems."""


class Held:
    """The system, and what of the store it agrees with."""

    def __init__(self, system: System[Any], most: int = MOST_HELD) -> None:
        self.system = system
        self.calibration = NONE
        """The calibration of what the system says, where it makes the teams."""
        self._calibrated = False
        """Whether that is what is stored."""
        self._most = most
        self.version = 0
        """Grows after every event that may have changed a summary."""
        self._players: dict[PlayerId, int] = {}
        """Versions of the rows that the system's players were made from; a player missing here is loaded again."""
        self._shared = 0
        """Version of the system's shared state; 0: it is loaded again."""
        self._absent: set[PlayerId] = set()
        """Players who had no row when they were asked for: they are not asked for at every poll.

        A player who is rated since then is in `_players` too, which counts.
        """
        self._used: dict[PlayerId, None] = {}
        """All players whom memory knows of, those who were asked for longest ago first.

        The event loop and the store's thread both write to it, a player at a time; it is walked through only while no
        transaction runs.
        """

    async def read(self, store: Store, pool: str) -> None:
        """See to it that what is held as a whole is what is stored. StoreError: nothing has changed."""
        if not self._calibrated:
            self.calibration = calibration_at(await store.calibrations(pool), self.system)
            self._calibrated = True

    def changed(self) -> None:
        """Note that skills have changed which memory does not hold."""
        self.version += 1

    @property
    def snapshot_due(self) -> bool:
        """Whether it is time for `keep_snapshot`."""
        return False

    async def keep_snapshot(self, store: Store, pool: str) -> None:
        """Store all that the system holds, if that is worth it; only while no transaction runs."""

    async def keep_base(self, store: Store, pool: str, before: float) -> None:
        """Prepare for the deletion of rounds that were stored before a time."""

    @property
    def lacks_shared(self) -> bool:
        """Whether the system's shared state must be loaded."""
        return not self._shared

    def unread(self, players: Collection[PlayerId]) -> list[PlayerId]:
        """Return those of whom memory does not know whether the store has them."""
        versions, absent = self._players, self._absent
        self._use(players)
        return [player for player in players if player not in versions and player not in absent and not is_bot(player)]

    def versions(self, players: Collection[PlayerId]) -> HeldVersions:
        """Return the versions that a round which needs these players tells the store."""
        self._use(players)
        # Sorted: `needs` is a set, and what a round reads must not depend on the process's hash seed.
        return HeldVersions({player: self._players.get(player, 0) for player in sorted(players)}, self._shared)

    def restore(self, rows: Sequence[PlayerRow], shared: SharedParts | None = None) -> None:
        """Take over what the store has; RatingError when the system cannot read it."""
        for row in rows:
            self.system.restore(row.id, row.state, row.history)
            self._players[row.id] = row.version
        if shared is not None:
            # The rounds that made these parts were undone, or an edit has replaced all of them.
            for key in self.system.shared().keys() - shared.parts.keys():
                self.system.restore_shared(key, None)
            for key, part in shared.parts.items():
                self.system.restore_shared(key, part)
            self._shared = shared.version

    def note_absent(self, players: Iterable[PlayerId]) -> None:
        """Note that the store has no row of these."""
        self._absent.update(players)

    @property
    def crowded(self) -> bool:
        """Whether memory knows of more players than it should."""
        return len(self._used) > self._most

    def forget_unused(self, needed: Collection[PlayerId]) -> None:
        """Forget players down to nine tenths of what memory should hold, but none of these.

        Only while no transaction runs, which may have asked for them already.
        """
        # A tenth at a time, so that a full memory does not look for one to forget with every player who comes.
        excess = len(self._used) - self._most * 9 // 10
        players = (player for player in self._used if player not in needed)
        for player in list(islice(players, max(0, excess))):
            del self._used[player]
            self._players.pop(player, None)
            self._absent.discard(player)
            self.system.forget(player)

    def note_rated(self, rated: RatedRound, match: Match) -> None:
        """Note that the system learnt from a round: the store will count one version more of each player it changed."""
        for change in rated.changes:
            # `players.update` counts the same way in the same transaction: memory need not read the row again.
            self._players[change.id] = self._players.get(change.id, 0) + 1
        self._shared += bool(rated.shared)

    def outdate(self, needed: Collection[PlayerId]) -> None:
        """Note that the store changed many players: all are loaded again before use, and only these stay until then.

        Only while no transaction runs.
        """
        for player in self._players.keys() - set(needed):
            self._used.pop(player, None)
            self.system.forget(player)
        self._players.clear()
        self._absent.clear()
        self._shared = 0
        self._calibrated = False
        self.version += 1

    def taken_in(self, players: Collection[PlayerId], *, parts: bool) -> list[PlayerId]:
        """Note that the store has new rows of these players, and perhaps new parts of the shared state.

        Returns those whom memory knows, and has to load again.
        """
        for player in players:
            self._players.pop(player, None)
            self._absent.discard(player)
        if parts:
            self._shared = 0
        self.version += bool(players or parts)
        return sorted(player for player in players if player in self._used)

    async def go_on_from(self, store: Store, pool: str, number: int) -> None:
        """Go on from the snapshot of another machine after event `number`, which has all that the system holds."""

    def stored(self, rated: Sequence[RatedRound]) -> None:
        """Note that these rounds were committed."""
        self.version += any(outcome.changes for outcome in rated)

    def undone(self) -> None:
        """Note that all changes since the last commit were put back; they may be stored all the same.

        Here `put_back` has seen to that; a sequential system is made anew.
        """

    def edited(self, row: PlayerRow) -> None:
        """Note that an admin changed a player, here and in the store."""
        self._players[row.id] = row.version
        self.version += 1

    def before(self, players: Iterable[PlayerId], match: Match | None = None) -> Before:
        """Return what `put_back` needs after a round that these players take part in."""
        players = list(players)
        self._use(players)
        return self._as_it_is(players, self.system.shared(match) if match else {})

    def _as_it_is(self, players: Collection[PlayerId], shared: Parts) -> Before:
        versions = {player: version for player in players if (version := self._players.get(player))}
        copies = {player: self.system.copy(player) for player in players}
        return Before(copies, shared, HeldVersions(versions, self._shared))

    def put_back(self, before: Before) -> None:
        """Make each skill what it was, but load it again before it is used: it may be stored all the same."""
        for player, copy in before.players.items():
            self._players.pop(player, None)  # of what version the row is, is not known
            self._absent.discard(player)  # they may have a row now
            self.system.put(player, copy)
        if before.shared:
            self._shared = 0
        for key, part in before.shared.items():
            self.system.restore_shared(key, part)
        self.version += 1

    def set_aside(self, attempts: Sequence[RatingAttempt]) -> Before:
        """Go back to before these attempts, whose transaction was taken back; returns what they made, for `adopt`."""
        pairs = [(attempt.before, attempt.match) for attempt in attempts if attempt.before is not None]
        players = {player: None for before, _ in pairs for player in before.players}
        parts = {key: part for _, match in pairs for key, part in self.system.shared(match).items()}
        after = self._as_it_is(players, parts)
        for before, _ in reversed(pairs):
            self._be(before)
        return after

    def adopt(self, made: Before) -> None:
        """Take over what attempts made that were set aside: now the store has them, and nothing behind them."""
        # Not those whom memory was told to forget meanwhile.
        players = {player: copy for player, copy in made.players.items() if player in self._used}
        self._be(replace(made, players=players))
        self.version += bool(made.players or made.shared)

    def _be(self, as_it_was: Before) -> None:
        versions = as_it_was.versions.players
        for player, copy in as_it_was.players.items():
            self.system.put(player, copy)
            if version := versions.get(player):
                self._players[player] = version
            else:
                self._players.pop(player, None)
        for key, part in as_it_was.shared.items():
            self.system.restore_shared(key, part)
        self._shared = as_it_was.versions.shared

    def _use(self, players: Iterable[PlayerId]) -> None:
        for player in players:
            if not is_bot(player):
                # Out and in again: a dict's order is that of insertion, which makes this the last one to be forgotten.
                self._used.pop(player, None)
                self._used[player] = None


# A round, rated inside the store's transaction.


class RatingAttempt:
    """One attempt to rate and store a round; the port's `Submission`.

    The store asks `held` which rows memory has, reads what is newer, and has the round rated before it writes; `undo`
    follows a rollback. A round that the system refuses is stored unrated, with the reason.
    """

    def __init__(self, unstored: UnstoredRound, held: Held) -> None:
        self.record = unstored.record
        self.memory = unstored.memory
        self.at = unstored.at
        self._held = held
        self.before: Before | None = None
        """What it has changed, as that was."""
        self.match: Match | None = None
        """The round as systems read it; None: it is not to be rated."""
        self._refusal = unstored.record.unrated

    def held(self) -> HeldVersions:
        """Return the versions that memory holds of the players whom the round needs."""
        try:
            self.match = match_of(self.record)
        except RatingError as error:
            self._refusal = str(error)
        return self._held.versions(self._held.system.needs(self.match) if self.match else ())

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        """Learn from the round, in memory."""
        system, match = self._held.system, self.match
        refusal = RatedRound(self.record.round.id, None, (), unrated=self._refusal)
        try:
            self._held.restore(rows, shared)  # what the store found newer than what memory holds
            if match is None:
                return refusal
            # After `restore`, so that an undo leads back to what is stored, and before the system learns.
            self.before = self._held.before((participant.id for participant in self.record.participants), match)
            outcome = rate_round(system, self.record, match, self._held.calibration)
            after = system.shared(match)
        except RatingError as error:
            return replace(refusal, unrated=str(error))
        before = self.before.shared  # only parts that the round has changed are written
        outcome = replace(outcome, shared={key: part for key, part in after.items() if part != before[key]})
        self._held.note_rated(outcome, match)
        return outcome

    def undo(self) -> None:
        """Put back what `rate` changed."""
        if self.before is not None:
            self._held.put_back(self.before)
            self.before = None


def rate_round(
    system: System[Any], record: RecordRound, match: Match | None, calibration: Calibration = NONE
) -> RatedRound:
    """Have a system learn from a round; returns what is stored of it. The calibration is of what was said before it."""
    if match is None:
        return RatedRound(record.round.id, None, ())
    result, prediction = predict_and_rate(system, match, calibration)
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
        for change in result.changes
    )
    return RatedRound(
        record.round.id, prediction.chance, changes, said=prediction.said, unevenness=prediction.unevenness
    )


def predict_and_rate(
    system: System[Any], match: Match, calibration: Calibration = NONE
) -> tuple[Rated, BalancePrediction]:
    """Have a system learn from a match; returns what it learnt, and what was said before it."""
    # Before `rate`: how sure the system was before it knew the result.
    deviation = None if system.rates_with_variance else deviation_of(calibrated(system, calibration), match)
    result = system.rate(match)
    if result.variance is not None:
        deviation = math.sqrt(calibration.temperature**2 * result.variance)
    chance = result.prediction.expected(0)
    calibrated_chance = calibration.said(chance, match.sides, match.map)
    unevenness = None if deviation is None else uncertain(calibrated_chance, deviation).unevenness
    return result, BalancePrediction(chance, None if calibration == NONE else calibrated_chance, unevenness)


# What a pool checks and mends before its first round: whose numbers the store has, and times that cannot be.

AHEAD = 365 * 86_400.0
"""Seconds. A player who played last this long after now, did so by a clock that was wrong."""
CLOCK_NOT_SET = 1_735_689_600.0
"""The year 2025: a clock that shows less was not set since the machine was started."""


async def agree(pool: str, store: Store, held: Held, now: float) -> None:
    """Load the shared state. ConfigError: another system made the ratings, which mean nothing to this one."""
    fingerprint, record = fingerprint_of(held.system), await store.fingerprint(pool)
    if record is not None:
        check(pool, record, held.system)
    # `check` let it pass: what differs changes no stored number, or the pool is new.
    if record != fingerprint:
        await store.adopt(pool, fingerprint, now)
    try:
        held.restore((), await store.shared(pool))
    except RatingError as error:
        raise StoreRefused(f"pool {pool}: {error}: restore a backup of the store") from None


async def redate(pool: str, store: Store, now: float) -> None:
    """Date back rounds of a clock that was years ahead: they would keep players on the leaderboard for years."""
    if now < CLOCK_NOT_SET:
        log.warning("the system's clock is not set: it shows a time before 2025")
    elif count := await store.redate(pool, now + AHEAD, now):
        log.warning(
            "%d players played last years from now, by a wrong clock: taken as now",
            count,
            extra={"pool": pool},
        )


# What a pool reads from its store into memory: players when they are asked for, and those on servers.


class Reading:
    """All but `hold` and `present` are called while the pool's lock is held: no transaction runs."""

    def __init__(self, name: str, held: Held, store: Store, clock: Clock) -> None:
        self._name = name
        self._held = held
        self._store = store
        self._clock = clock
        self._present: list[Callable[[], Iterable[PlayerId]]] = []
        """The players of each server that feeds the pool."""

    def hold(self, present: Callable[[], Iterable[PlayerId]]) -> Callable[[], None]:
        """Keep in memory whom `present` returns; what this returns ends it."""
        self._present.append(present)
        return lambda: self._present.remove(present)

    def present(self) -> list[PlayerId]:
        """Return the players on all servers."""
        return [player for players in self._present for player in players()]

    async def players(self, players: Sequence[PlayerId]) -> None:
        """Load whom memory has not, as far as the store answers."""
        try:
            await self._held.read(self._store, self._name)
            parts = await self._store.shared(self._name) if self._held.lacks_shared else None
            ids = self._held.unread(players)  # another host may have asked for them meanwhile
            rows = await self._store.players(self._name, ids, self._held.system.window) if ids else {}
            if rows or parts:
                await asyncio.to_thread(self._held.restore, list(rows.values()), parts)
            self._held.note_absent(player for player in ids if player not in rows)
            self._held.version += bool(rows or parts)
        except (StoreError, RatingError) as error:
            self._held.version += 1
            if isinstance(error, RatingError):
                log.warning("pool %s: players not loaded: %s", self._name, error)

    async def anew(self) -> None:
        """After the store changed many players: load those on servers, whose skills are read at any time."""
        if self._name not in self._store.followed:  # one clock that is wrong is no reason to change it for all
            with suppress(StoreError):  # rounds that were rated again may be from a time when the clock was wrong
                await redate(self._name, self._store, self._clock.epoch())
        present = self.present()
        self._held.outdate(present)
        await self.players(present)

    def make_room(self, asked: Iterable[PlayerId] = ()) -> None:
        """Forget players whom no server has and no caller waits for."""
        if self._held.crowded:
            self._held.forget_unused({*asked, *self.present()})


# What is said of predictions, by the pool's sequence: an event of it holds until the next one.


def calibration_of(edit: Edit, system: System[Any]) -> Calibration | None:
    """Return the calibration that an edit gives a system, `NONE` where it ends one; None: the edit is not about it.

    Another spread of skill ends it, because it was fitted to what the system predicted with the one before.
    """
    detail: Mapping[str, Any] = edit.detail
    if edit.action == "spread":
        # A system that has no spread of skill predicts as before.
        return None if system.spread is None else NONE
    if edit.action != "calibration" or not made_by(Fingerprint(detail["system"], detail["params"]), system):
        return None
    return Calibration(detail["temperature"], detail["sides"], detail["maps"])


def calibration_at(edits: Iterable[Edit], system: System[Any], number: float = math.inf) -> Calibration:
    """Return the calibration after event `number`, by all edits that are about calibrations, in order."""
    holds = NONE
    for edit in edits:
        if edit.number <= number and (calibration := calibration_of(edit, system)) is not None:
            holds = calibration
    return holds
