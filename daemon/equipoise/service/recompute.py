"""Rate a pool's stored rounds again by another system, and compare the two before anything is written.

`Replayed` rates the rounds from the first on, beginning with no players. `Trial` only looks: it collects what was
predicted then and what the new system predicts, over the same rounds.
"""

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
"""Players shown whose place changes most."""


class Replayed:
    """A rating system that starts without players and is given rounds in order: the store's `Replay`."""

    def __init__(self, system: System[Any], advance: Callable[[], None] = lambda: None) -> None:
        self.system = system
        self._advance = advance
        """Called after each round, for a progress bar; an exception from it ends the replay."""
        self._last_played: dict[PlayerId, float] = {}

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the new system and its parameters."""
        return fingerprint_of(self.system)

    def rate(self, record: RecordRound) -> RatedRound:
        """Rate the next round. The stored skills at its start are ignored: they are the old system's.

        RatingError, which names the round, when the system refuses it.
        """
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
        """The player after the rounds so far; a newcomer when they were in none."""
        summary, state = self.system.summary(player), self.system.state(player)
        return PlayerRow(
            player, 0, summary.rating, summary.rounds, summary.visible, self._last_played.get(player), state, ()
        )

    def shared(self) -> Mapping[str, object]:
        """The shared state of the new system, in parts by key."""
        return self.system.shared()


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

    def see(self, record: RecordRound, predicted: float) -> None:
        """Take the next stored round; `predicted` is the stored win probability of side A."""
        score = record.round.score(Side.A)
        rated = self.replayed.rate(record)
        assert rated.prediction is not None, "it has participants"
        self.before.append((predicted, score))
        self.after.append((rated.prediction, score))

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
