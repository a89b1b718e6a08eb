"""What the evening adds up to: how near the ratings are to the truth, how fair the teams are, what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import StatisticsError, correlation, fmean


@dataclass(frozen=True, slots=True)
class Played:
    """One round: RED's win probability as predicted from the ratings and as it truly was, and how it ended."""

    predicted: float
    true: float
    random: float
    """What `stronger` would be with random teams of the same people."""
    red_won: bool

    @property
    def favourite(self) -> float:
        """Predicted win probability of the side that was to win."""
        return max(self.predicted, 1 - self.predicted)

    @property
    def favourite_won(self) -> bool:
        """Whether it did."""
        return self.red_won == (self.predicted >= 0.5)

    @property
    def stronger(self) -> float:
        """True win probability of the side that truly was the stronger one: 0.5 is a fair round."""
        return max(self.true, 1 - self.true)


@dataclass(slots=True)
class Record:
    """Counts and series, one entry per round."""

    rounds: list[Played] = field(default_factory=list)
    fidelity: list[float] = field(default_factory=list)
    """Rank correlation of ratings and true skill after each round."""
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

    def expected(self) -> tuple[float, int]:
        """How many rounds the favourites should have won by the predictions, and how many they did."""
        return sum(one.favourite for one in self.rounds), sum(one.favourite_won for one in self.rounds)

    def fairness(self, last: int) -> tuple[float, float]:
        """Mean `stronger` and mean `random` over the last rounds; a half before the first."""
        rounds = self.rounds[-last:]
        if not rounds:
            return 0.5, 0.5
        return fmean(one.stronger for one in rounds), fmean(one.random for one in rounds)


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Spearman's ρ, ties sharing their mean rank; 0 where one of the two does not vary."""
    try:
        return correlation(_ranks(xs), _ranks(ys))
    except StatisticsError:
        return 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]
