"""Maximum-likelihood estimates of TrueSkill 2's parameters from a history; needs numpy.

The log evidence of a history has no closed form, but sweeps of EP give its gradient (`fit_formulas`), and after a step
of the parameters the messages are nearly right already.  So one sweep each way and one step alternate, instead of a
whole fit for each step.  The steps are Rprop's, which reads only the signs of the gradient: its components differ by
many orders of magnitude, and are not exact before the messages have settled.  Minka, Cleven & Zaykov 2018, section 4.

What is off, as everything that was not published, would stay off: so it starts from a guess by the history (`guess`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from equipoise.core.model import logistic
from equipoise.errors import RatingError
from equipoise.ratings.history import Floats, History
from equipoise.ratings.trueskill2.fit import prepared
from equipoise.ratings.trueskill2.formulas import PER_MINUTE
from equipoise.ratings.trueskill2.params import COMMON, SQUADS, TrueSkill2Params, bounds_of, columns_of

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.fit_formulas import Sweep
    from equipoise.ratings.trueskill2.system import TrueSkill2


LEAST = 1e-6
"""A variance of 0 is off; this is where it starts."""
OWN, OPPONENT = 1.5, -0.5
"""Parts of the mean rate of kills that a player's own performance and the opponents' start with; of deaths reversed."""


def guess(params: TrueSkill2Params, history: History) -> tuple[TrueSkill2Params, tuple[str, ...]]:
    """The parameters to start from, and the names of those that the history says something about.

    Parameters that are on already start where they are. Experience offsets are left alone: single ones are estimated
    badly.
    """
    start = replace(params, initial_variance=params.initial_variance or 1.0, gamma2=params.gamma2 or LEAST)
    names = ["initial", "initial_variance", "gamma2"]
    if np.diff(np.nan_to_num(history.started_at)).any():
        # Per minute, and there are many of them between two matches.
        start, names = replace(start, tau2=start.tau2 or LEAST * LEAST), [*names, "tau2"]
    if (history.ranks[0::2] == history.ranks[1::2]).any():
        start, names = replace(start, margin=start.margin or 1e-3), [*names, "margin"]
    for kind, counts, parts in (
        ("kill", history.kills, (OWN, OPPONENT)),
        ("death", history.deaths, (OPPONENT, OWN)),
    ):
        if (rate := _rate(history, counts)) is not None:
            start = _with_counts(start, kind, *rate, parts)
            names += [f"{kind}_own", f"{kind}_opponent", f"{kind}_variance"]
    if history.quit is not None and history.quit.any():
        start = _with_quits(start, float(history.quit.mean()))
        names += ["quit_margin", "quit_unrelated", "quit_related"]
    if (largest := int(history.squad_sizes.max(initial=1))) > 1:
        offsets, place = params.squad_offset, min(largest, SQUADS) - 1
        last = offsets[-1] if offsets else 0.0
        start = replace(start, squad_offset=(*offsets, *[last] * (place - len(offsets))))
        names.append("squad_offset")
    return start, tuple(names)


def _rate(history: History, counts: Floats | None) -> tuple[float, float] | None:
    """Mean per minute played, and the variance around it per minute; None where nothing was counted."""
    if counts is None or history.seconds is None:
        return None
    match = np.repeat(np.arange(len(history)), np.diff(history.teams[::2]))
    minutes = history.seconds[match] / PER_MINUTE
    if history.fraction_played is not None:
        minutes = minutes * np.nan_to_num(history.fraction_played, nan=1.0)
    usable = (minutes > 0) & np.isfinite(counts)
    if not (counts[usable] > 0).any():
        return None
    mean = float(counts[usable].sum() / minutes[usable].sum())
    variance = float(np.mean((counts[usable] - mean * minutes[usable]) ** 2 / minutes[usable]))
    return mean, max(variance, LEAST)


def _with_counts(
    params: TrueSkill2Params, kind: str, mean: float, variance: float, parts: tuple[float, float]
) -> TrueSkill2Params:
    if getattr(params, f"{kind}_own") or getattr(params, f"{kind}_opponent"):
        return params
    # Rates are proportional to skill (9), so the weights are guessed for a skill of the usual size; near 0 they would
    # explode.
    skill = max(params.initial, 1.0)
    own, opponent = (part * mean / skill for part in parts)
    values: dict[str, Any] = {f"{kind}_own": own, f"{kind}_opponent": opponent, f"{kind}_variance": variance}
    return replace(params, **values)


def _with_quits(params: TrueSkill2Params, share: float) -> TrueSkill2Params:
    if params.quit_related:
        return params
    # Half of those who leave have other reasons, and of those who are behind twice as many leave as on average.
    unrelated_share, related_share = min(max(share / 2, 1e-3), 0.5), min(max(2 * share, 1e-2), 0.5)
    return replace(params, quit_margin=-0.5, quit_unrelated=unrelated_share, quit_related=related_share)


POSITIVE: Final = (
    "initial_variance",
    "gamma2",
    "tau2",
    "beta2",
    "margin",
    "kill_variance",
    "death_variance",
    "quit_variance",
    "base_weight",
    "base_variance",
    "base_gamma2",
    "base_tau2",
)
"""Parameters estimated on a logarithmic scale."""

PROBABILITIES: Final = ("quit_unrelated", "quit_related")
"""Parameters estimated on a logit scale."""

SWEEPS = 100
"""Each way, as often as the parameters step: after these they stand still, unless the guess was very far off."""

FIRST, LARGEST = 0.05, 0.5
"""Rprop's first and largest step sizes, on the scale on which a parameter is estimated."""

GROWTH, SHRINKAGE = 1.2, 0.5
"""Rprop's factors on a step size: while the slope keeps its sign, and after the sign has changed."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """One number that is estimated: an entry of the parameter table, or several that are always equal."""

    name: str
    """Name of the parameter that it belongs to."""
    rows: tuple[int, ...]
    """Rows of the parameter table that contain it."""
    columns: tuple[int, ...]

    def scaled(self, value: float) -> float:
        """Convert a value to the scale on which it is estimated."""
        if self.name in POSITIVE:
            return math.log(value)
        return math.log(value / (1.0 - value)) if self.name in PROBABILITIES else value

    def plain(self, scaled: float) -> float:
        """Convert a value back from that scale, clipped to the parameter's range."""
        value = scaled
        if self.name in POSITIVE:
            # e⁷⁰⁹ overflows.
            value = math.exp(min(scaled, 700.0))
        elif self.name in PROBABILITIES:
            value = logistic(scaled)
        low, high = bounds_of(self.name)
        return min(max(value, low), high)


class Rprop:
    """Resilient propagation (Riedmiller & Braun 1993): climbs by the signs of a gradient, a step size for each number.

    A number whose slope has changed its sign waits a turn, then goes on in smaller steps.

    >>> climb = Rprop(np.array([0.1]), largest=1.0)
    >>> [round(float(climb.step(np.array([slope]))[0]), 3) for slope in (5.0, 1.0, -2.0, -2.0)]
    [0.1, 0.12, 0.0, -0.06]
    """

    def __init__(self, first: Floats, largest: float, smallest: float = 1e-6) -> None:
        self.size = first.copy()
        """Size of the next step of each number."""
        self._largest = largest
        self._smallest = smallest
        self._sign = np.zeros_like(first)

    def step(self, gradient: Floats) -> Floats:
        """Return the addends to the numbers."""
        sign = np.sign(gradient)
        # The step went over a maximum; its sign is forgotten, so the next turn is neither grown nor shrunk.
        turn = sign * self._sign < 0
        factor = np.where(turn, SHRINKAGE, np.where(sign * self._sign > 0, GROWTH, 1.0))
        self.size = np.clip(self.size * factor, self._smallest, self._largest)
        self._sign = np.where(turn, 0.0, sign)
        steps: Floats = self._sign * self.size
        return steps


def estimate(
    system: TrueSkill2,
    history: History,
    names: Sequence[str],
    sweeps: int = SWEEPS,
    run: Sweep | None = None,
    advance: Callable[[], None] = lambda: None,
) -> TrueSkill2Params:
    """Climb from the parameters of the system; only those in `names` move, in each mode that has its own.

    Raises `RatingError` for a variance or a probability of 0, which is off and would stay off: start from a guess.
    `run` is `sweep_history`, by default compiled. `advance` is called after each sweep, for a progress bar.
    """
    unknowns = [unknown for name in names for unknown in _unknowns(system, name)]
    table = np.array(system.table)
    values = np.array([unknown.scaled(table[unknown.rows[0], unknown.columns[0]]) for unknown in unknowns])
    ready, climb = prepared(system, history, run), Rprop(np.full(len(unknowns), FIRST), LARGEST)
    for _ in range(sweeps):
        gradient = np.zeros_like(table)
        ready.back_and_forth(table, gradient)
        values += climb.step(
            np.array([gradient[np.ix_(parameter.rows, parameter.columns)].sum() for parameter in unknowns])
        )
        for number, unknown in enumerate(unknowns):
            value = unknown.plain(float(values[number]))
            table[np.ix_(unknown.rows, unknown.columns)] = value
            # From where the bounds have put it: otherwise steps beyond a bound would have to be undone first.
            values[number] = unknown.scaled(value)
        advance()
    return _estimated(system.params, unknowns, table)


def _unknowns(system: TrueSkill2, name: str) -> list[Unknown]:
    """One unknown per entry of the parameter and row with its own value; a parameter in `COMMON` is in all rows."""
    everywhere = tuple(range(len(system.table)))
    sets = [everywhere] if name in COMMON else [(row,) for row in everywhere]
    modes = list(system.rows)
    unknowns = list[Unknown]()
    for rows in sets:
        params = system.params.of_mode(modes[rows[0] - 1]) if rows[0] else system.params
        unknowns += [Unknown(name, rows, tuple(columns)) for columns in columns_of(params, name)]
    for unknown in unknowns:
        _check(unknown, system.table[unknown.rows[0]][unknown.columns[0]])
    return unknowns


def _check(unknown: Unknown, value: float) -> None:
    if unknown.name in POSITIVE and value <= 0.0:
        raise RatingError(f"{unknown.name}: is 0, which is off; start from a guess")
    if unknown.name in PROBABILITIES and not 0.0 < value < 1.0:
        raise RatingError(f"{unknown.name}: is {value:g}, which is certain; start from a guess")


def _estimated(params: TrueSkill2Params, unknowns: Sequence[Unknown], table: Floats) -> TrueSkill2Params:
    """The parameters with the estimates filled in, including those of modes."""
    rows: list[dict[str, object]] = [{} for _ in table]
    for unknown in unknowns:
        row, value = unknown.rows[0], float(table[unknown.rows[0], unknown.columns[0]])
        offsets = unknown.name.endswith("_offset")
        before = rows[row].get(unknown.name, ())
        rows[row][unknown.name] = (*before, value) if offsets else value  # type: ignore[misc]
    modes: Mapping[str, Mapping[str, object]] = {
        mode: {**own, **estimate_of_mode}
        for (mode, own), estimate_of_mode in zip(params.modes.items(), rows[1:], strict=True)
    }
    return replace(params, modes=modes, **rows[0])  # type: ignore[arg-type]
