"""Compare a pool's stored ratings with those of another system, before anything is written.

`Trial` only looks: it collects what was predicted then and what the new system predicts, over the same rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from equipoise.core.model import PlayerId, Side
from equipoise.ratings.quality import Difference, Estimate, Pair, Quality, accuracy, assess, difference
from equipoise.service.replayed import Replayed
from equipoise.store.player_rows import PlayerRow
from equipoise.store.sequence import Edit, Event

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
