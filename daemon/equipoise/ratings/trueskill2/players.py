"""What TrueSkill 2 holds of a player."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from equipoise.ratings.parts.players import bounded
from equipoise.ratings.trueskill2.formulas import Skills
from equipoise.ratings.validation import NEVER


@dataclass(slots=True)
class Skill:
    """A player's own part in one mode, β and β²."""

    mean: float
    variance: float = bounded(0.0, math.inf)
    rounds: int = 0
    """Matches played in the mode."""
    last: float = NEVER
    """When the last one was, seconds since the epoch."""


@dataclass(slots=True)
class BaseSkill:
    """A player's base skill, β and β², and what is the same in all modes."""

    base_mean: float
    base_variance: float = bounded(0.0, math.inf)
    base_last: float = NEVER
    rounds: int = 0
    """Matches rated in all modes."""
    start_mean: float | None = None
    """What a mode begins with if it was seeded; None: what its parameters say.  So is `start_variance`."""
    start_variance: float | None = bounded(0.0, math.inf, None)


@dataclass(slots=True)
class Player(BaseSkill):
    """A player's base skill, and their own part in each mode that they played."""

    modes: dict[str, Skill] = field(default_factory=dict)

    @property
    def usual_mode(self) -> str:
        """The mode played most; of equals the first."""
        return max(self.modes, key=lambda mode: self.modes[mode].rounds, default="")

    def learn(self, mode: str, skills: Skills, chain: int, number: int) -> None:
        """Take over what a kernel has made of the own part in a mode and of the base."""
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
