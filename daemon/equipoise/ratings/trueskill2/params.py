"""TrueSkill 2's parameters, by name for operators and as rows of numbers for its kernels.

Symbols and equation numbers are those of Minka, Cleven & Zaykov 2018 (MSR-TR-2018-8).  Skill is in units of β.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from equipoise.errors import RatingError
from equipoise.ratings.parameters import Params, is_number, ranged, table, typed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row: TypeAlias = "Sequence[float] | NDArray[np.float64]"
"""The parameters of one mode, as numbers."""

Offsets: TypeAlias = tuple[float, ...]

INITIAL, VARIANCE, GAMMA2, TAU2, BETA2, MARGIN = range(6)
"""Columns of a row of parameters, in the order of `COLUMNS`; kernels read no others."""
KILL_OWN, KILL_OPPONENT, KILL_VARIANCE, DEATH_OWN, DEATH_OPPONENT, DEATH_VARIANCE = range(6, 12)
QUIT_MARGIN, QUIT_VARIANCE, QUIT_UNRELATED, QUIT_RELATED = range(12, 16)
BASE_WEIGHT, BASE_VARIANCE, BASE_GAMMA2, BASE_TAU2, BOT = range(16, 21)

SQUAD: Final = BOT + 1
SQUADS: Final = 16
"""A row has an offset for squads of 1 to this many players; larger squads have the last."""

EXPERIENCE: Final = SQUAD + SQUADS
MATCHES: Final = 200
"""Experience is capped here, equation (8): a row has an offset for 0 to 200 matches."""

WIDTH: Final = EXPERIENCE + MATCHES + 1

WEIGHTS: Final = ("kill_own", "kill_opponent", "death_own", "death_opponent")
"""All 0: counts are ignored."""
COLUMNS: Final[tuple[str, ...]] = (
    "initial",
    "initial_variance",
    "gamma2",
    "tau2",
    "beta2",
    "margin",
    "kill_own",
    "kill_opponent",
    "kill_variance",
    "death_own",
    "death_opponent",
    "death_variance",
    "quit_margin",
    "quit_variance",
    "quit_unrelated",
    "quit_related",
    "base_weight",
    "base_variance",
    "base_gamma2",
    "base_tau2",
)
"""The parameters that are one number of a row each, in order; the bots' skill and the offsets follow."""

COMMON: Final = ("base_variance", "base_gamma2", "base_tau2", "shadow_rounds", "stale_days", "modes")
"""Parameters that cannot differ by mode."""

LIMIT = 1e6


@dataclass(frozen=True, slots=True)
class TrueSkill2Params(Params):
    """Parameters of TrueSkill 2; the defaults are those published for Halo 5, and everything unpublished is off."""

    initial: float = ranged(3.0, -LIMIT, LIMIT)
    """m0 (m_d), β: mean skill of new players (1), (17)."""
    initial_variance: float = ranged(1.6, 0, LIMIT)
    """v0 (v_d), β²: variance of new players' skill."""
    gamma2: float = ranged(1e-3, 0, LIMIT)
    """γ² (γ_d²), β²: variance that skill gains by a match (8), (19)."""
    tau2: float = ranged(1e-8, 0, LIMIT)
    """τ² (τ_d²), β² per minute: variance that it gains by time (3), (18)."""
    beta2: float = ranged(1.0, 1e-6, LIMIT)
    """β²: variance of a performance around its skill (7); 1 fixes the scale."""
    margin: float = ranged(1e-3, 0, LIMIT)
    """ε, β: team performances that differ by no more are a draw."""
    kill_own: float = ranged(0.0, -LIMIT, LIMIT)
    """w_p of kills, per minute and β (9); both weights 0: kills are ignored."""
    kill_opponent: float = ranged(0.0, -LIMIT, LIMIT)
    """w_o of kills, per minute and β; below 0."""
    kill_variance: float = ranged(1.0, 1e-6, LIMIT)
    """v of kills, kills² per minute."""
    death_own: float = ranged(0.0, -LIMIT, LIMIT)
    """w_p of deaths, per minute and β; below 0.  Both weights 0: deaths are ignored."""
    death_opponent: float = ranged(0.0, -LIMIT, LIMIT)
    """w_o of deaths, per minute and β."""
    death_variance: float = ranged(1.0, 1e-6, LIMIT)
    """v of deaths, deaths² per minute."""
    quit_margin: float = ranged(0.0, -LIMIT, 0)
    """m_q, β: the lead over the opponents below which a player tends to leave; 0 or less (12)."""
    quit_variance: float = ranged(1.0, 1e-6, LIMIT)
    """v_q, β²: variance of that threshold (12)."""
    quit_unrelated: float = ranged(0.1, 0, 0.999)
    """p_u: probability to leave for other reasons (13)."""
    quit_related: float = ranged(0.0, 0, 1)
    """p_r: probability to leave when behind; 0: quits are ignored."""
    base_weight: float = ranged(1.0, 0, 1000)
    """w_d of (20): weight of the base skill in a mode."""
    base_variance: float = ranged(0.0, 0, LIMIT)
    """v_b, β²: prior variance of the base skill (14); 0: modes have nothing in common."""
    base_gamma2: float = ranged(0.0, 0, LIMIT)
    """γ_base², β²: variance that it gains by a match (15)."""
    base_tau2: float = ranged(0.0, 0, LIMIT)
    """τ_base², β² per minute: variance that it gains by time (16)."""
    bot: float | None = ranged(None, -LIMIT, LIMIT)
    """Skill of a bot, β; None: `initial`."""
    squad_offset: Offsets = ()
    """squadOffset, β, of squads of 2, 3, … (7); larger ones have the last."""
    experience_offset: Offsets = ()
    """experienceOffset, β per match, after the match that followed 0, 1, … up to 200 others (8); then the last."""
    shadow_rounds: int = ranged(10, 0, 100_000)
    """Rounds before a rating is shown."""
    stale_days: float = ranged(30.0, 0, 100_000)
    """Days without a rated round before a player is flagged."""
    modes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Parameters that differ in a mode, by mode.  Modes without an entry use the parameters above."""

    def __post_init__(self) -> None:
        """Raise `RatingError` for values out of range, naming the mode if it is one of `modes`."""
        Params.__post_init__(self)
        for name, most in (("squad_offset", SQUADS - 1), ("experience_offset", MATCHES + 1)):
            object.__setattr__(self, name, _offsets(name, getattr(self, name), most))
        object.__setattr__(self, "modes", {mode: _of_one_mode(mode, own) for mode, own in self.modes.items()})

    @property
    def reads_counts(self) -> bool:
        """Whether kills or deaths count for anything, in one mode at least."""
        return any(getattr(self.of_mode(mode), name) for mode in ("", *self.modes) for name in WEIGHTS)

    def of_mode(self, mode: str) -> TrueSkill2Params:
        """The parameters that apply in a mode."""
        return replace(self, modes={}, **self.modes.get(mode, {}))  # type: ignore[arg-type]

    def row(self) -> list[float]:
        """The parameters as the row of numbers that kernels read."""
        row = [float(getattr(self, name)) for name in COLUMNS]
        row.append(float(self.initial if self.bot is None else self.bot))
        # A squad of one has the offset 0: it fixes the level that `initial` is about.
        row += _filled((0.0, *self.squad_offset), SQUADS)
        return row + _filled(self.experience_offset or (0.0,), MATCHES + 1)


def columns_of(params: TrueSkill2Params, name: str) -> list[list[int]]:
    """The columns of a row that hold each number of a parameter; the last offset of a list fills many columns."""
    # Bots have the newcomers' skill then, so both columns are one unknown.
    if name == "initial" and params.bot is None:
        return [[COLUMNS.index(name), BOT]]
    if name in COLUMNS:
        return [[COLUMNS.index(name)]]
    first = SQUAD + 1 if name == "squad_offset" else EXPERIENCE
    end = EXPERIENCE if name == "squad_offset" else WIDTH
    if name not in ("squad_offset", "experience_offset"):
        raise RatingError(f"{name}: not a parameter that can be estimated")
    count = len(getattr(params, name))
    return [[first + offset] for offset in range(count - 1)] + ([[*range(first + count - 1, end)]] if count else [])


def bounds_of(name: str) -> tuple[float, float]:
    """The range of a parameter; for offsets, the widest range."""
    for parameter in fields(TrueSkill2Params):
        if parameter.name == name and parameter.metadata:
            return parameter.metadata["low"], parameter.metadata["high"]
    return -LIMIT, LIMIT


def _of_one_mode(mode: str, own: object) -> dict[str, object]:
    values = table(f"modes.{mode}", own)
    try:
        for name in COMMON:
            if name in values:
                raise RatingError(f"{name}: the same in all modes")
        return typed(TrueSkill2Params, values)
    except RatingError as error:
        raise RatingError(f"modes.{mode}: {error}") from None


def _filled(values: Offsets, length: int) -> list[float]:
    return [*values, *[values[-1]] * (length - len(values))]


def _offsets(name: str, values: object, most: int) -> Offsets:
    if not isinstance(values, tuple | list) or len(values) > most:
        raise RatingError(f"{name}: not a list of at most {most} numbers")
    for value in values:
        if not is_number(value):
            raise RatingError(f"{name}: {value!r} is not a number")
        if abs(value) > LIMIT:
            raise RatingError(f"{name}: {value!r} is not from {-LIMIT:g} to {LIMIT:g}")
    return tuple(float(value) for value in values)
