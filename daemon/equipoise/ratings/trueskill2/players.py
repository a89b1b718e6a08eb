"""What TrueSkill 2 holds of players, on its way to its kernel, to the store, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.system import Match, State
from equipoise.ratings.trueskill2.factor_graph import COMPLETED, LEFT
from equipoise.ratings.trueskill2.formulas import BOT_SEAT, PER_MINUTE, Players, Rounds
from equipoise.ratings.validation import NEVER, count_of, known_time, number_of


@dataclass(slots=True)
class Skill:
    """A player's own part in one mode."""

    mean: float
    variance: float
    rounds: int = 0
    """Matches played in the mode."""
    last: float = NEVER
    """Seconds since the epoch."""


@dataclass(slots=True)
class Player:
    """His base skill, and what he has in each mode he played."""

    base_mean: float
    base_variance: float
    base_last: float = NEVER
    rounds: int = 0
    """Matches rated in all modes."""
    start_mean: float | None = None
    """What a mode begins with if that was set, else what its parameters say; so is the variance."""
    start_variance: float | None = None
    modes: dict[str, Skill] = field(default_factory=dict)

    @property
    def usual_mode(self) -> str:
        """The one he has played most; of equals the first."""
        return max(self.modes, key=lambda mode: self.modes[mode].rounds, default="")


NUMBERS = ("base_mean", "base_variance", "base_last", "rounds", "start_mean", "start_variance")
MODE_NUMBERS = ("mean", "variance", "rounds", "last")
OPTIONAL = ("base_last", "last", "start_mean", "start_variance")
WHOLE = ("rounds",)


def stored(player: Player) -> State:
    """As plain data; a time that never was is null."""
    modes = {mode: _plain(own, MODE_NUMBERS) for mode, own in player.modes.items()}
    return _plain(player, NUMBERS) | {"modes": modes}


def restored(player: PlayerId, state: State) -> Player:
    """From what `stored` made."""
    modes = state.get("modes")
    if set(state) != {*NUMBERS, "modes"} or not isinstance(modes, Mapping):
        raise RatingError(f"{player}: not a trueskill2 state: {sorted(state)}")
    held = Player(0.0, 0.0)
    _set_all(player, held, state, NUMBERS)
    for mode, numbers in modes.items():
        if not isinstance(numbers, Mapping) or set(numbers) != set(MODE_NUMBERS):
            raise RatingError(f"{player}: not a trueskill2 state of mode {mode}: {numbers!r}")
        held.modes[mode] = Skill(0.0, 0.0)
        _set_all(player, held.modes[mode], numbers, MODE_NUMBERS)
    return held


def gathered(held: Iterable[tuple[Player, Skill]]) -> Players:
    """Copies of these, as lists: chain and person of each are his place."""
    everybody = list(held)
    return Players(
        mean=[own.mean for _, own in everybody],
        variance=[own.variance for _, own in everybody],
        rounds=[own.rounds for _, own in everybody],
        last=[own.last for _, own in everybody],
        base_mean=[player.base_mean for player, _ in everybody],
        base_variance=[player.base_variance for player, _ in everybody],
        base_last=[player.base_last for player, _ in everybody],
    )


def laid_out(match: Match, numbers: Mapping[PlayerId, int]) -> Rounds:
    """A match as a history of one, as lists; everybody's chain and person is his number, bots have none."""
    playing = [player for side in match.teams for player in side]
    seats = [player for side in match.predicted_lineup for player in side]
    number = [numbers.get(player, BOT_SEAT) for player in playing]
    lineup_members = [numbers.get(player, BOT_SEAT) for player in seats]
    counts = [match.counts.get(player) for player in playing]
    squad = squad_sizes(match)
    return Rounds(
        row=[0],
        started_at=[math.nan if match.started_at is None else match.started_at],
        minutes=[math.nan if match.seconds is None else match.seconds / PER_MINUTE],
        matches=[0, len(match.teams)],
        teams=_offsets(match.teams),
        ranks=list(match.ranks),
        chain=number,
        person=number,
        fraction_played=[match.fraction_played.get(player, 1.0) for player in playing],
        kills=[math.nan if one is None else float(one.kills) for one in counts],
        deaths=[math.nan if one is None else float(one.deaths) for one in counts],
        left=[LEFT if player in match.quits else COMPLETED for player in playing],
        squad=[squad.get(player, 1) for player in playing],
        lineup=_offsets(match.predicted_lineup),
        seat_chain=lineup_members,
        seat_person=lineup_members,
        seat_squad=[squad.get(player, 1) for player in seats],
        skill_at_start=[match.skill_at_start.get(player, math.nan) for player in seats],
    )


def squad_sizes(match: Match) -> dict[PlayerId, int]:
    """Of participants who came with others of their team."""
    sizes: dict[PlayerId, int] = {}
    for squad in match.squads:
        for side in match.teams:
            together = set(squad) & set(side)
            sizes |= dict.fromkeys(together, len(together))
    return sizes


def _set_all(player: PlayerId, held: Player | Skill, state: Mapping[str, object], names: Iterable[str]) -> None:
    for name in names:
        value = state[name]
        if value is None and name in OPTIONAL:
            continue
        low = 0.0 if name.endswith("variance") else -math.inf
        number = count_of(player, name, value) if name in WHOLE else number_of(player, name, value, low)
        setattr(held, name, number)


def _plain(held: Player | Skill, names: Iterable[str]) -> dict[str, object]:
    return {name: known_time(getattr(held, name)) for name in names}


def _offsets(sides: tuple[tuple[PlayerId, ...], ...]) -> list[int]:
    offsets = [0]
    for side in sides:
        offsets.append(offsets[-1] + len(side))
    return offsets
