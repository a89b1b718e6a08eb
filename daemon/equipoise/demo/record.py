"""The evening's statistics: how close ratings are to true skill, how even the teams are, what was done."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Played:
    """One round: side A's win probability as predicted from the ratings and by true skill, and how it ended."""

    predicted: float
    true: float
    random: float
    """What `stronger` would be with random teams of the same people."""
    score: float
    """Of side A: 1, 0 or, drawn, 0.5."""

    @property
    def favourite(self) -> float:
        """Predicted win probability of the side that was predicted to win."""
        return max(self.predicted, 1 - self.predicted)

    @property
    def favourite_score(self) -> float:
        """What the side scored that was predicted to win."""
        return self.score if self.predicted >= 0.5 else 1 - self.score

    @property
    def stronger(self) -> float:
        """True win probability of the side that was truly stronger; 0.5 is an even round."""
        return max(self.true, 1 - self.true)


@dataclass(slots=True)
class Record:
    """Counts, and series with one entry per round."""

    rounds: list[Played] = field(default_factory=list)
    fidelity: list[float] = field(default_factory=list)
    """Rank correlation of ratings and true skill after each round."""
    by_ratings: list[float] = field(default_factory=list)
    """What `stronger` would be in each round with the sides whose sums of shown ratings are closest; TF2 only."""
    scrambles: int = 0
    moved: int = 0
    """Players who changed sides in scrambles."""
    benched: int = 0
    gaps: int = 0
    """Players moved in the middle of a round."""
    refused: int = 0
    restarts: int = 0
    delivered: int = 0
    """Rounds that the ring held while the daemon was dead, and that were stored later."""

    def expected(self) -> tuple[float, float]:
        """How many rounds the favourites were predicted to win, and how many they won; a draw is half a win.

        >>> Record([Played(0.75, 0.5, 0.5, score=1.0), Played(0.25, 0.5, 0.5, score=1.0)]).expected()
        (1.5, 1.0)
        """
        return sum(one.favourite for one in self.rounds), sum(one.favourite_score for one in self.rounds)

    def evenness(self, last: int) -> tuple[float, float]:
        """Mean of `stronger` and of `random` over the last rounds; 0.5 before the first round."""
        rounds = self.rounds[-last:]
        if not rounds:
            return 0.5, 0.5
        return fmean(one.stronger for one in rounds), fmean(one.random for one in rounds)
