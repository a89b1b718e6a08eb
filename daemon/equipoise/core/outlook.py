"""The outlook of two sides: who is likely to win, and how sure that is. Intervals are those of 80 %."""

from __future__ import annotations

from dataclasses import dataclass

EVEN_CHANCES = (0.45, 0.55)
"""Win probabilities at which players read that teams are even."""

WITHIN = 1.2815515655446004
"""Standard deviations on each side of the mean that 80 % of a normal variable lie within."""


def interval(mean: float, deviation: float) -> tuple[float, float]:
    """The ends of the 80 % interval of a normal variable.

    >>> [round(end) for end in interval(1200.0, 100.0)]
    [1072, 1328]
    """
    return mean - WITHIN * deviation, mean + WITHIN * deviation


def is_even(chance: float) -> bool:
    """Whether players read of teams with this win probability that they are even.

    >>> is_even(0.55), is_even(0.56)
    (True, False)
    """
    low, high = EVEN_CHANCES
    return low <= chance <= high


@dataclass(frozen=True, slots=True)
class Outlook:
    """A win probability, with what is known of how far the true one may be from it.

    >>> Outlook.alone(0.47).evenness
    0.94
    """

    chance: float
    """Win probability of side A, from 0 to 1, as the rating system predicts it."""
    low: float | None
    """The lower end of the 80 % interval of the true win probability; None where no uncertainty is known."""
    high: float | None
    """Its upper end."""
    unevenness: float
    """How far the true win probability is expected to be from a half, E|p - 1/2|; without an interval that of
    `chance`."""
    of_teams: float | None = None
    """`chance` without what the map and its sides are worth, which splits do not make up for; None: they are worth
    nothing."""
    unevenness_of_teams: float | None = None
    """The same of `unevenness`."""

    @property
    def teams(self) -> float:
        """The win probability by the players alone, by which teams are called even."""
        return self.chance if self.of_teams is None else self.of_teams

    @classmethod
    def alone(cls, chance: float) -> Outlook:
        """A chance without an interval."""
        return cls(chance, None, None, abs(chance - 0.5))

    @property
    def evenness(self) -> float:
        """1 - 2 · unevenness: 1 for sides that are known to be even, 0 for a decided match."""
        return 1.0 - 2.0 * self.unevenness

    def is_even(self, band: tuple[float, float]) -> bool:
        """The teams are known to be even: their chance is in the band, and the unevenness at most half its width.

        The second counts where an interval is known: the mean prediction of strangers is always near a half.

        >>> Outlook.alone(0.51).is_even((0.42, 0.58)), Outlook(0.51, 0.1, 0.9, 0.3).is_even((0.42, 0.58))
        (True, False)
        """
        least, most = band
        if not least <= self.teams <= most:
            return False
        known = self.unevenness if self.unevenness_of_teams is None else self.unevenness_of_teams
        return self.low is None or known <= (most - least) / 2
