"""A rating system that is given a pool's rounds and edits in order: the store's `Replay`; strikes, and trials.

By the system that made the stored ratings, every event does what it did: the numbers are the same to the last bit. A
rating that was set means nothing to another system. It is carried over as an advantage: the player's skill is as far
from a newcomer's as shifts the win probability of an even round by as much as it did in the old system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeGuard

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, Side
from equipoise.errors import RatingError, ScriptError, StoreError
from equipoise.ratings.calibration import NONE
from equipoise.ratings.quality import Difference, Estimate, Pair, Quality, accuracy, assess, difference
from equipoise.ratings.system import Match, System
from equipoise.service.held import (
    FREE,
    calibration_at,
    calibration_of,
    fingerprint_of,
    made_by,
    predict_and_rate,
    rate_round,
)
from equipoise.store import past
from equipoise.store.notes import BalancePrediction
from equipoise.store.past import Past, Strike
from equipoise.store.player_rows import Fingerprint, PlayerRow
from equipoise.store.recalculation import Outcome, Revised, Shift, StrikeRequest, written
from equipoise.store.round_rows import RatedRound
from equipoise.store.sequence import RESULTS, Edit, Event, LearntSpread, MatchEvent, Purpose, Snapshot, Touched
from equipoise.workers import Watch

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


# Replays what follows an event that is struck, or put back.
#
# The numbers before it stay. Of a system whose whole state is in its players, only those rounds are rated anew in which
# somebody plays whose numbers have changed; the others are brought in as they are stored. A system that shares state
# between players has to rate all rounds, from the first on.


class Revision:
    """One replay. `advance` is called after each round."""

    def __init__(self, past: Past, strike: Strike, outcome: Outcome, advance: Callable[[], object]) -> None:
        self._past = past
        self._outcome = outcome
        self._struck = past.struck(strike)
        made_by = past.fingerprint()
        system = ratings.create(made_by.system, **made_by.params)
        begin(system, past.learnt_spread())
        self._replayed = Replayed(system, made_by, advance)
        self._system = system
        self._all = system.shares or system.sequential
        """All rounds are rated anew, and all who play after the struck one are affected."""
        self._from = 0
        """The event after which those rounds begin."""
        self._affected = set(self._struck.players)
        self._rounds = 0
        self._edits = 0

    def run(self) -> Revised:
        """Replay, and write the new numbers. ScriptError, RatingError: it cannot be done."""
        # A refit behind the struck event has made every rating from
        # all rounds: nothing of it follows from that event alone.
        is_refitted = self._past.refitted(self._struck.number)
        if not is_refitted:
            self._begin()
            for event in self._events():
                self._replay(event)
        else:
            self._affected.clear()
        return Revised(
            number=self._struck.number,
            back=self._struck.back,
            last=self._past.last,
            rounds=self._rounds,
            edits=self._edits,
            lost=self._past.lost(self._struck.number),
            refitted=is_refitted,
            shifts=self._end(),
            undone=self._struck.undone,
        )

    def _begin(self) -> None:
        if self._system.sequential and (snapshot := self._past.snapshot(self._struck.number - 1)) is not None:
            self._replayed.restore_snapshot(snapshot.data)
            self._from = snapshot.number
        elif self._all and self._past.pruned:
            raise ScriptError(
                "refused",
                f"{self._past.pruned:,} old rounds were deleted (retention.rounds_days), and {self._system.name} "
                "cannot rate again without them",
                status=409,
            )
        before = self._from if self._all else self._struck.number - 1
        self._replayed.calibrate(self._past.calibrations(), before)
        if not self._all:
            for player in self._struck.players:
                self._bring(player, self._struck.number)

    def _events(self) -> Iterator[Event]:
        """In order, with what stands in the place of the struck event."""
        number, substitute = self._struck.number, self._struck.event
        for event in self._past.events(self._from if self._all else number - 1):
            if substitute is not None and event.number >= number:
                yield substitute
                substitute = None
            if event.number != number:
                yield event
        if substitute is not None:
            yield substitute

    def _replay(self, event: Event) -> None:
        if event.number < self._struck.number:
            self._repeat(event)
        elif isinstance(event, MatchEvent):
            self._rate(event)
        else:
            self._edit(event)

    def _repeat(self, event: Event) -> None:
        """Before the struck event: as it was."""
        if isinstance(event, MatchEvent):
            self._replayed.rate(event.record)
        else:
            self._replayed.edit(event)

    def _rate(self, event: MatchEvent) -> None:
        record, skills = event.record, event.record.skill_at_start
        match = match_of(record)
        needs = self._system.needs(match) if match else frozenset()
        # Nobody in it has changed: the round did what is stored.
        if not self._all and not needs & self._affected:
            return
        strangers = frozenset() if self._all else needs - self._affected
        for player in sorted(strangers):
            self._bring(player, event.number)
        # The struck round itself keeps its skills at the start: what came before it has not changed.
        if event.number != self._struck.number:
            skills = self._unaffected(skills)
        answer = self._replayed.rate(replace(record, skill_at_start=skills))
        self._outcome.round(event.number, answer, skills)
        self._affected.update(change.id for change in answer.changes)
        # They are as stored again, and are brought anew for the next round: their rows change in between.
        for player in strangers - self._affected:
            self._system.forget(player)
        self._rounds += 1

    def _unaffected(self, skills: Mapping[PlayerId, float] | None) -> dict[PlayerId, float] | None:
        """Skills when the round went live, without those that the struck event has changed."""
        if skills is None or self._all:
            return None
        return {player: skill for player, skill in skills.items() if player not in self._affected}

    def _edit(self, event: Edit) -> None:
        if not self._all:
            event = replace(event, touched=tuple(entry for entry in event.touched if entry.id in self._affected))
        if not event.touched and event.shared is None and event.action not in RESULTS:
            return
        done = self._replayed.edit(event)
        if done.action in RESULTS:
            return
        self._outcome.edit(done)
        self._affected.update(entry.id for entry in done.touched)
        self._edits += 1

    def _bring(self, player: PlayerId, number: int) -> None:
        self._replayed.bring(player, self._past.as_of(player, number, self._system.window))

    def _end(self) -> tuple[Shift, ...]:
        shifts = []
        for player in sorted(self._affected):
            row, old = self._replayed.player(player), self._past.now(player)
            if old is None:
                raise StoreError(f"{player}: their rating is missing")
            self._outcome.player(row)
            if (row.rating, row.rounds) != (old.rating, old.rounds):
                shifts.append(Shift(player, old.rating, row.rating, old.rounds, row.rounds))
        if self._all and self._affected:
            self._outcome.shared(self._replayed.shared())
            if (snapshot := self._replayed.snapshot(self._past.last)) is not None:
                self._outcome.snapshot(snapshot)
        shifts.sort(key=lambda shift: (-abs(shift.after - shift.before), shift.id))
        return tuple(shifts)


def work(watch: Watch) -> tuple[type[StrikeRequest], Callable[[StrikeRequest], Revised]]:
    """Return the requests and the function of `Job.REVISION`."""
    return StrikeRequest, lambda request: revise(request, watch)


def revise(request: StrikeRequest, watch: Callable[[], object]) -> Revised:
    """Replay what follows a strike. ScriptError, RatingError, StoreError: it cannot be done."""
    file = None if request.outcome is None else Path(request.outcome)
    with past.opened(Path(request.store), request.pool) as reader, written(file) as outcome:
        return Revision(reader, request.strike, outcome, watch).run()


# Trials: a pool's stored ratings beside those of another system, before anything is written.

MOVERS = 10
"""Players shown whose place changes most."""


@dataclass(frozen=True, slots=True)
class Mover:
    """A player whose place on the leaderboard changes; places count from 1."""

    id: PlayerId
    name: str | None
    place_before: int
    place_after: int
    rating_before: float
    rating_after: float


@dataclass(frozen=True, slots=True)
class Predicted:
    """How well rounds were predicted."""

    quality: Quality
    accuracy: Estimate | None
    """Fraction of decided rounds that the favourite won, an even prediction counting half; None: all were drawn."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The stored predictions and the new system's, over all rated rounds."""

    before: Predicted
    after: Predicted
    difference: Difference
    """After minus before."""


@dataclass(slots=True)
class Trial:
    """A replay that writes nothing: pairs of prediction and score, stored and new."""

    replayed: Replayed
    before: list[Pair] = field(default_factory=list)
    after: list[Pair] = field(default_factory=list)

    def see(self, event: Event) -> None:
        """Take the next stored round or edit."""
        if isinstance(event, Edit):
            self.replayed.edit(event)
            return
        score = event.record.round.score(Side.A)
        result = self.replayed.rate(event.record)
        assert result.prediction is not None, "it has participants"
        self.before.append((event.prediction, score))
        self.after.append((result.prediction, score))

    def comparison(self) -> Comparison | None:
        """The comparison so far; None before the first rated round."""
        before, after = _predicted(self.before), _predicted(self.after)
        if before is None or after is None:
            return None
        return Comparison(before, after, difference(self.after, self.before))

    def movers(self, board: Sequence[PlayerRow]) -> list[Mover]:
        """The players who move by most places, of those visible in both; `board` is the old leaderboard, best first."""
        summaries = {row.id: self.replayed.system.summary(row.id) for row in board}
        both = [row for row in board if summaries[row.id].visible]
        order = sorted(both, key=lambda row: (-summaries[row.id].rating, row.id))
        places = {row.id: place for place, row in enumerate(order, 1)}
        result = [
            Mover(row.id, row.name, place, places[row.id], row.rating, summaries[row.id].rating)
            for place, row in enumerate(both, 1)
            if places[row.id] != place
        ]
        result.sort(key=lambda mover: (-abs(mover.place_after - mover.place_before), mover.place_after))
        return result[:MOVERS]


def _predicted(pairs: Sequence[Pair]) -> Predicted | None:
    quality = assess(pairs)
    if quality is None:
        return None
    return Predicted(quality, accuracy(pairs))
