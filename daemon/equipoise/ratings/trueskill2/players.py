"""What TrueSkill 2 holds of a player, and how that is stored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.system import State
from equipoise.ratings.trueskill2.formulas import Skills
from equipoise.ratings.validation import NEVER, count_of, known_time, number_of


@dataclass(slots=True)
class Skill:
    """A player's own part in one mode, β and β²."""

    mean: float
    variance: float
    rounds: int = 0
    """Matches played in the mode."""
    last: float = NEVER
    """When the last one was, seconds since the epoch."""


@dataclass(slots=True)
class Player:
    """A player's base skill, β and β², and their own part in each mode that they played."""

    base_mean: float
    base_variance: float
    base_last: float = NEVER
    rounds: int = 0
    """Matches rated in all modes."""
    start_mean: float | None = None
    """What a mode begins with if it was seeded; None: what its parameters say.  So is `start_variance`."""
    start_variance: float | None = None
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


NUMBERS = ("base_mean", "base_variance", "base_last", "rounds", "start_mean", "start_variance")
MODE_NUMBERS = ("mean", "variance", "rounds", "last")
OPTIONAL = ("base_last", "last", "start_mean", "start_variance")
WHOLE = ("rounds",)


def stored(player: Player) -> State:
    """As plain data; an unknown time is null."""
    modes = {mode: _stored_numbers(own, MODE_NUMBERS) for mode, own in player.modes.items()}
    return _stored_numbers(player, NUMBERS) | {"modes": modes}


def restored(player: PlayerId, state: State) -> Player:
    """From what `stored` made; a `RatingError` names the player and what cannot be."""
    modes = state.get("modes")
    if set(state) != {*NUMBERS, "modes"} or not isinstance(modes, Mapping):
        raise RatingError(f"{player}: not a trueskill2 state: {sorted(state)}")
    held = Player(0.0, 0.0)
    _set_numbers(player, held, state, NUMBERS)
    for mode, numbers in modes.items():
        if not isinstance(numbers, Mapping) or set(numbers) != set(MODE_NUMBERS):
            raise RatingError(f"{player}: not a trueskill2 state of mode {mode}: {numbers!r}")
        held.modes[mode] = Skill(0.0, 0.0)
        _set_numbers(player, held.modes[mode], numbers, MODE_NUMBERS)
    return held


def _set_numbers(player: PlayerId, held: Player | Skill, state: Mapping[str, object], names: Iterable[str]) -> None:
    for name in names:
        value = state[name]
        if value is None and name in OPTIONAL:
            continue
        low = 0.0 if name.endswith("variance") else -math.inf
        number = count_of(player, name, value) if name in WHOLE else number_of(player, name, value, low)
        setattr(held, name, number)


def _stored_numbers(held: Player | Skill, names: Iterable[str]) -> dict[str, object]:
    return {name: known_time(getattr(held, name)) for name in names}
