"""A rating system that is given a pool's rounds and edits in order: the store's `Replay`.

By the system that made the stored ratings, every event does what it did: the numbers are the same to the last bit. A
rating that was set means nothing to another system. It is carried over as an advantage: the player's skill is as far
from a newcomer's as shifts the win probability of an even round by as much as it did in the old system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeGuard

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.calibration import NONE
from equipoise.ratings.system import Match, System
from equipoise.service.fingerprint import FREE, fingerprint_of, made_by
from equipoise.service.held import calibration_at, calibration_of, predict_and_rate, rate_round
from equipoise.store.notes import BalancePrediction
from equipoise.store.player_rows import Fingerprint, PlayerRow
from equipoise.store.round_rows import RatedRound
from equipoise.store.sequence import Edit, LearntSpread, Purpose, Snapshot, Touched

NEWCOMER = PlayerId("")
"""A player whom no system holds."""
SHIFT = 0.1
"""The win probability that skills of two systems are compared by; their gaps are linear in it."""
FIRST_SIDE = 6.0
"""Players on a side, before the first round shows how many there are."""


class Replayed:
    """`system` has no players at the start; the stored ratings were made by `recorded`."""

    def __init__(
        self, system: System[Any], recorded: Fingerprint, advance: Callable[[], object] = lambda: None
    ) -> None:
        self.system = system
        self.same = made_by(recorded, system)
        self.calibration = NONE
        """Of what it says, at this place of the sequence."""
        self.edits: Counter[str] = Counter()
        """What became of the players in edits: `kept`, `carried` over to another system, `dropped`."""
        # Only to read what a stored rating meant: of two of its skills the gap in win probability.
        self._old = None if self.same else ratings.create(recorded.system, **recorded.params)
        self._advance = advance
        """Called after each round, for a progress bar; an exception from it ends the replay."""
        self._last_played: dict[PlayerId, float | None] = {}
        self._rounds = 0
        self._players = 0
        """In those rounds."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the new system and its parameters."""
        return fingerprint_of(self.system)

    def calibrate(self, edits: Iterable[Edit], number: int) -> None:
        """Say from now on what holds after event `number`, by all edits that are about calibrations."""
        self.calibration = calibration_at(edits, self.system, number)

    def rate(self, record: RecordRound) -> RatedRound:
        """Rate the next round. Stored skills at its start are read if they are in the system's own units.

        RatingError, which names the round, when the system refuses it.
        """
        with self._named(record):
            outcome = rate_round(self.system, record, match_of(self._read(record)), self.calibration)
        self._count(record, [change.id for change in outcome.changes])
        return outcome

    def follow(self, record: RecordRound, match: Match | None = None) -> BalancePrediction:
        """Rate the next round like `rate`, and return only what was said before it; `match`: if it was made already."""
        with self._named(record):
            if match is None:
                match = match_of(self._read(record))
                assert match is not None, "rounds that are not rated are in no sequence"
            elif not self.same:
                match = match.without_skills()
            result, prediction = predict_and_rate(self.system, match, self.calibration)
        self._count(record, [change.player for change in result.changes])
        return prediction

    def _read(self, record: RecordRound) -> RecordRound:
        return record if self.same else replace(record, skill_at_start=None)

    @contextmanager
    def _named(self, record: RecordRound) -> Iterator[None]:
        """An error names the round."""
        try:
            yield
        except RatingError as error:
            raise RatingError(f"round {record.round.id} of {record.round.server}: {error}") from None

    def _count(self, record: RecordRound, players: Sequence[PlayerId]) -> None:
        started_at = record.round.started_at
        for player in players:
            self._last_played[player] = max(self._last_played.get(player) or started_at, started_at)
        self._rounds += 1
        self._players += len(players)
        self._advance()

    def edit(self, edit: Edit) -> Edit:
        """Change ratings as the next edit did; players whom it cannot change are left out."""
        match edit.action:
            case "set":
                return self._set(edit)
            case "reset":
                return self._each(edit, self._reset)
            case "import":
                return self._each(edit, self._adopt if self.same else self._import)
            case "refit":
                return self._refit(edit)
            case "calibration" | "spread":
                if (calibration := calibration_of(edit, self.system)) is not None:
                    self.calibration = calibration
                return edit
            case "undo" | "void":
                return edit

    def player(self, player: PlayerId) -> PlayerRow:
        """The player after the events so far; a newcomer when they were in none."""
        summary, state = self.system.summary(player), self.system.state(player)
        last = self._last_played.get(player)
        if last is None and self.system.sequential:  # they played before the snapshot that it went on from
            last = summary.last_played
        return PlayerRow(player, 0, summary.rating, summary.rounds, summary.visible, last, state, ())

    def players(self) -> Iterable[PlayerId]:
        """Return the players of the events so far."""
        return self._last_played.keys()

    def bring(self, player: PlayerId, row: PlayerRow | None) -> None:
        """Begin with a player as they were at this place of the sequence; None: a newcomer."""
        if row is None:
            self.system.forget(player)
            self._last_played.pop(player, None)
        else:
            self.system.restore(player, row.state, row.history)
            self._last_played[player] = row.last_played

    def shared(self) -> Mapping[str, object]:
        """The shared state of the new system, in parts by key."""
        return self.system.shared()

    def snapshot(self, number: int, purpose: Purpose = "system", *, base: bool = False) -> Snapshot | None:
        """Return what a replay needs to go on from here, after event `number`; None: the system is not sequential."""
        if not self.system.sequential:
            return None
        data = self.system.snapshot(b"%d %d\n" % (self._rounds, self._players))
        return snapshot_of(self.system, data, number, purpose, base=base)

    def restore_snapshot(self, data: bytes) -> None:
        """Go on from there. RatingError: it cannot be read, and nothing has changed."""
        try:
            counts, system = data.split(b"\n", 1)
            rounds, players = map(int, counts.split())
        except ValueError:
            raise RatingError("a snapshot without its counts") from None
        self.system.restore_snapshot(system)
        self._rounds, self._players = rounds, players

    def _each(self, edit: Edit, change: Callable[[Touched], bool]) -> Edit:
        entries = []
        for entry in edit.touched:
            before = None if entry.before is None else self.player(entry.id)
            if change(entry):
                entries.append(Touched(entry.id, before, self.player(entry.id)))
        return replace(edit, touched=tuple(entries))

    def _set(self, edit: Edit) -> Edit:
        """One player, at most: none when it was undone."""
        rating = edit.detail["rating"]

        def change(entry: Touched) -> bool:
            nonlocal rating
            if not self.same:
                rating = self._carried(entry)
                return rating is not None
            self.system.seed(entry.id, rating=float(rating))  # type: ignore[arg-type]  # as it was asked for
            self._edited(entry.id, "kept")
            return True

        done = self._each(edit, change)
        return replace(done, detail={**edit.detail, "rating": rating}) if done.touched else done

    def _reset(self, entry: Touched) -> bool:
        self.system.forget(entry.id)
        self.system.seed(entry.id)
        self._edited(entry.id, "kept")
        return True

    def _adopt(self, entry: Touched) -> bool:
        self.system.restore(entry.id, entry.after.state)
        self._last_played[entry.id] = entry.after.last_played
        self.edits["kept"] += 1
        return True

    def _import(self, entry: Touched) -> bool:
        self.system.forget(entry.id)
        self.system.seed(entry.id, rounds=entry.after.rounds)
        if self._carried(entry) is None:
            self.system.forget(entry.id)
            return False
        self._last_played[entry.id] = entry.after.last_played
        return True

    def _refit(self, edit: Edit) -> Edit:
        """A refit by another system is dropped: it is made anew."""
        if not self.same:
            self.edits["dropped"] += len(edit.touched)
            return replace(edit, touched=(), shared=None)
        if edit.shared is not None:
            for key in self.system.shared().keys() - edit.shared.keys():
                self.system.restore_shared(key, None)
            for key, part in edit.shared.items():
                self.system.restore_shared(key, part)
        return self._each(edit, self._adopt)

    def _carried(self, entry: Touched) -> float | None:
        """Give a player the same advantage as in the old system; returns the rating, None if it is refused."""
        assert self._old is not None
        self._old.restore(entry.id, entry.after.state)
        size = round(self._players / self._rounds / 2) if self._rounds else FIRST_SIDE
        unit = self.system.gap(SHIFT, max(1, int(size))) / self._old.gap(SHIFT, max(1, int(size)))
        advantage = (self._old.skill(entry.id) - self._old.skill(NEWCOMER)) * unit
        # One player at a time: it never holds more than the one that is carried over.
        self._old.forget(entry.id)
        # Skill and rating may differ by an offset, so that the
        # difference of skill is added to the rating that stands now.
        goal = self.system.skill(NEWCOMER) + advantage
        rating = self.system.summary(entry.id).rating + goal - self.system.skill(entry.id)
        for close in (rating, float(round(rating))):  # some systems know whole points only
            try:
                self.system.seed(entry.id, rating=close)
            except RatingError:
                continue
            self._edited(entry.id, "carried")
            return close
        self.edits["dropped"] += 1
        return None

    def _edited(self, player: PlayerId, how: str) -> None:
        self._last_played[player] = self.system.summary(player).last_played
        self.edits[how] += 1


def begin(system: System[Any], learnt: LearntSpread | None) -> None:
    """Let a system that holds nobody begin with the spread of skill that the pool's rounds have taught it."""
    if is_of(learnt, system):
        system.begin(learnt.spread)


def is_of(learnt: LearntSpread | None, system: System[Any]) -> TypeGuard[LearntSpread]:
    """Whether this is of a system with these parameters: what was learnt from another beginning counts no more."""
    return learnt is not None and system.spread is not None and learnt.configured == system.params.spread


def snapshot_of(
    system: System[Any], data: bytes, number: int, purpose: Purpose = "system", *, base: bool = False
) -> Snapshot:
    """A snapshot by the parameters that its numbers depend on."""
    made_by = fingerprint_of(system)
    params = {name: value for name, value in made_by.params.items() if name not in FREE}
    return Snapshot(purpose, number, replace(made_by, params=params), data, base)
