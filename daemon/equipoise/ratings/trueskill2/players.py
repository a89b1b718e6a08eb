"""TrueSkill 2's record of a player: a base skill, and a part of its own for each mode."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from equipoise.ratings.parts.players import bounded
from equipoise.ratings.trueskill2.formulas import Skills
from equipoise.ratings.validation import NEVER


@dataclass(slots=True)
class Skill:
    """A player's own part in one mode; mean in β, variance in β²."""

    mean: float
    variance: float = bounded(0.0, math.inf)
    rounds: int = 0
    """Matches played in the mode."""
    last: float = NEVER
    """Time of the last match in the mode, seconds since the epoch."""


@dataclass(slots=True)
class BaseSkill:
    """A player's base skill, mean in β and variance in β², and what is common to all modes."""

    base_mean: float
    base_variance: float = bounded(0.0, math.inf)
    base_last: float = NEVER
    rounds: int = 0
    """Matches rated in all modes."""
    start_mean: float | None = None
    """Seeded mean of an own part in a new mode; None: the mode's prior.  `start_variance` likewise."""
    start_variance: float | None = bounded(0.0, math.inf, None)


@dataclass(slots=True)
class Player(BaseSkill):
    """A player's base skill, and their own part in each mode that they played."""

    modes: dict[str, Skill] = field(default_factory=dict)

    @property
    def usual_mode(self) -> str:
        """The mode played most; the first one among equals."""
        return max(self.modes, key=lambda mode: self.modes[mode].rounds, default="")

    def learn(self, mode: str, skills: Skills, chain: int, number: int) -> None:
        """Copy the own part in a mode and the base from a kernel's arrays."""
        before = self.modes[mode].rounds if mode in self.modes else 0
        own = Skill(
            mean=float(skills.mean[chain]),
            variance=float(skills.variance[chain]),
            rounds=int(skills.rounds[chain]),
            last=float(skills.last[chain]),
        )
        self.modes[mode] = own
        self.rounds += own.rounds - before
        self.base_mean, self.base_variance = float(skills.base_mean[number]), float(skills.base_variance[number])
        self.base_last = float(skills.base_last[number])
