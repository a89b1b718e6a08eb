"""Replays what follows an event that is struck, or put back.

The numbers before it stay. Of a system whose whole state is in its players, only those rounds are rated anew in which
somebody plays whose numbers have changed; the others are brought in as they are stored. A system that shares state
between players has to rate all rounds, from the first on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.model import PlayerId
from equipoise.errors import ScriptError, StoreError
from equipoise.service.replayed import Replayed, begin
from equipoise.store import past
from equipoise.store.past import Past, Strike
from equipoise.store.recalculation import Outcome, Revised, Shift, StrikeRequest, written
from equipoise.store.sequence import RESULTS, Edit, Event, MatchEvent
from equipoise.workers import Watch


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
