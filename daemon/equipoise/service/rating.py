"""Rating one round inside the store's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from equipoise.balancing import match_of
from equipoise.balancing.chances import deviation_of, uncertain
from equipoise.core.effects import RecordRound
from equipoise.core.model import Side
from equipoise.errors import RatingError
from equipoise.ratings.calibration import NONE, Calibration, calibrated
from equipoise.ratings.system import Match, Rated, System
from equipoise.service.held import Before, Held
from equipoise.service.ring import UnstoredRound
from equipoise.store.notes import BalancePrediction
from equipoise.store.rated import Change, HeldVersions, PlayerRow, RatedRound, SharedParts


class RoundRating:
    """One attempt to rate and store a round; the port's `Submission`.

    A round that the system refuses is stored unrated, with the reason.
    """

    def __init__(self, unstored: UnstoredRound, held: Held) -> None:
        self.record = unstored.record
        self.memory = unstored.memory
        self.at = unstored.at
        self._held = held
        self._before: Before | None = None
        self._match: Match | None = None
        self._refusal = unstored.record.unrated

    def held(self) -> HeldVersions:
        """What memory holds of the players whom the round needs."""
        try:
            self._match = match_of(self.record)
        except RatingError as error:
            self._refusal = str(error)
        return self._held.versions(self._held.system.needs(self._match) if self._match else ())

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        """Learn from the round, in memory."""
        system, match = self._held.system, self._match
        unrated = RatedRound(self.record.round.id, None, (), unrated=self._refusal)
        try:
            self._held.restore(rows, shared)
            if match is None:
                return unrated
            self._before = self._held.before((each.id for each in self.record.participants), match)
            rated = rated_round(system, self.record, match, self._held.calibration)
            after = system.shared(match)
        except RatingError as error:
            return replace(unrated, unrated=str(error))
        before = self._before.shared
        rated = replace(rated, shared={key: part for key, part in after.items() if part != before[key]})
        self._held.learned(rated, match)
        return rated

    def undo(self) -> None:
        """Put back what `rate` changed."""
        if self._before is not None:
            self._held.put_back(self._before)
            self._before = None


def rated_round(
    system: System[Any], record: RecordRound, match: Match | None, calibration: Calibration = NONE
) -> RatedRound:
    """Have a system learn from a round, and what is stored of it; the calibration is of what was said before it."""
    if match is None:
        return RatedRound(record.round.id, None, ())
    rated, predicted = learn(system, match, calibration)
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
    return RatedRound(record.round.id, predicted.chance, changes, said=predicted.said, unevenness=predicted.unevenness)


def learn(system: System[Any], match: Match, calibration: Calibration = NONE) -> tuple[Rated, BalancePrediction]:
    """Have a system learn from a match, and what was said before it."""
    deviation = deviation_of(calibrated(system, calibration), match)
    rated = system.rate(match)
    predicted = rated.prediction.expected(0)
    said = calibration.said(predicted, match.sides, match.map)
    unevenness = None if deviation is None else uncertain(said, deviation).unevenness
    return rated, BalancePrediction(predicted, None if calibration == NONE else said, unevenness)
