"""A pool's stored rounds, rated anew by another system; the difference, before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, Side
from equipoise.errors import RatingError
from equipoise.ratings.quality import Difference, Estimate, Pair, Quality, accuracy, assess, difference
from equipoise.ratings.system import System
from equipoise.service.fingerprint import fingerprint_of
from equipoise.service.rating import rated_round
from equipoise.store.port import Fingerprint, PlayerRow, RatedRound

MOVERS = 10


class Replayed:
    """A system that begins with nobody, and the rounds that it was given; the port's `Replay`."""

    def __init__(self, system: System[Any], advance: Callable[[], None] = lambda: None) -> None:
        self.system = system
        self._advance = advance
        """Called after each round, for a progress bar; what it raises ends the replay."""
        self._last_played: dict[PlayerId, float] = {}

    @property
    def fingerprint(self) -> Fingerprint:
        """The system and its parameters."""
        return fingerprint_of(self.system)

    def rate(self, record: RecordRound) -> RatedRound:
        """By ratings as they stand now: those at the doors were another system's."""
        try:
            rated = rated_round(self.system, record, match_of(replace(record, skill_at_start=None)))
        except RatingError as error:
            raise RatingError(f"round {record.round.id} of {record.round.server}: {error}") from None
        for change in rated.changes:
            played = self._last_played.get(change.id, record.round.started_at)
            self._last_played[change.id] = max(played, record.round.started_at)
        self._advance()
        return rated

    def player(self, player: PlayerId) -> PlayerRow:
        """Him as he stands."""
        summary, state = self.system.summary(player), self.system.state(player)
        return PlayerRow(
            player, 0, summary.rating, summary.rounds, summary.visible, self._last_played.get(player), state, ()
        )

    def shared(self) -> Mapping[str, object]:
        """What is kept of no single player, by key."""
        return self.system.shared()


@dataclass(frozen=True, slots=True)
class Mover:
    """A player who is shown before and after, at another place."""

    id: PlayerId
    name: str | None
    place_before: int
    place_after: int
    rating_before: float
    rating_after: float


@dataclass(frozen=True, slots=True)
class Predicted:
    """How well the rounds were predicted."""

    quality: Quality
    accuracy: Estimate | None
    """Share of the decisive rounds that the favourite won, an even prediction being half right; None: all drawn."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The new system against what is stored, over the rounds that both predicted: all that are rated."""

    before: Predicted
    after: Predicted
    difference: Difference
    """After less before."""


@dataclass(slots=True)
class Trial:
    """A replay that only looks on: what was predicted, and what would have been."""

    replayed: Replayed
    before: list[Pair] = field(default_factory=list)
    after: list[Pair] = field(default_factory=list)

    def see(self, record: RecordRound, predicted: float) -> None:
        """The next stored round."""
        score = record.round.score(Side.A)
        rated = self.replayed.rate(record)
        assert rated.prediction is not None, "it has participants"
        self.before.append((predicted, score))
        self.after.append((rated.prediction, score))

    def comparison(self) -> Comparison | None:
        """None before the first rated round."""
        before, after = _predicted(self.before), _predicted(self.after)
        if before is None or after is None:
            return None
        return Comparison(before, after, difference(self.after, self.before))

    def movers(self, board: Sequence[PlayerRow]) -> list[Mover]:
        """Those who move by most places, among who is shown before and after; `board` is the old leaderboard."""
        summaries = {row.id: self.replayed.system.summary(row.id) for row in board}
        both = [row for row in board if summaries[row.id].visible]
        order = sorted(both, key=lambda row: (-summaries[row.id].rating, row.id))
        places = {row.id: place for place, row in enumerate(order, 1)}
        found = [
            Mover(row.id, row.name, place, places[row.id], row.rating, summaries[row.id].rating)
            for place, row in enumerate(both, 1)
            if places[row.id] != place
        ]
        found.sort(key=lambda mover: (-abs(mover.place_after - mover.place_before), mover.place_after))
        return found[:MOVERS]


def _predicted(pairs: Sequence[Pair]) -> Predicted | None:
    quality = assess(pairs)
    if quality is None:
        return None
    return Predicted(quality, accuracy(pairs))
