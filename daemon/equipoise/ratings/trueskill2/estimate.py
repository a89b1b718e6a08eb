"""Parameters of TrueSkill 2 under which a history is most likely: Rprop along the sweeps' gradient; needs numpy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from equipoise.errors import RatingError
from equipoise.ratings.history import Floats, History
from equipoise.ratings.trueskill2.fit import prepared
from equipoise.ratings.trueskill2.params import COMMON, TrueSkill2Params, bounds_of, columns_of
from equipoise.ratings.trueskill2.rprop import Rprop

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.fit_formulas import Sweep
    from equipoise.ratings.trueskill2.system import TrueSkill2

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
"""Estimated by their logarithm."""

PROBABILITIES: Final = ("quit_unrelated", "quit_related")
"""Estimated by their logit."""

FIRST, LARGEST = 0.05, 0.5
"""Rprop's steps, in the parameters' own, logarithmic or logit scale."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """One number that is estimated."""

    name: str
    entry: int
    """Of an offset's list."""
    rows: tuple[int, ...]
    """Where it holds."""
    columns: tuple[int, ...]

    def scaled(self, value: float) -> float:
        """On the scale on which it is estimated."""
        if self.name in POSITIVE:
            return math.log(value)
        return math.log(value / (1.0 - value)) if self.name in PROBABILITIES else value

    def plain(self, scaled: float) -> float:
        """Back from it, and within its range."""
        value = scaled
        if self.name in POSITIVE:
            value = math.exp(min(scaled, 700.0))
        elif self.name in PROBABILITIES:
            value = 1.0 / (1.0 + math.exp(-max(scaled, -700.0)))
        low, high = bounds_of(self.name)
        return min(max(value, low), high)


def estimate(
    system: TrueSkill2, history: History, names: Sequence[str], sweeps: int, run: Sweep | None = None
) -> TrueSkill2Params:
    """One step of Rprop after each sweep forward and backward, the messages going on from the last.

    By default with the compiled kernel.
    """
    unknowns = [unknown for name in names for unknown in _unknowns(system, name)]
    table = np.array(system.table)
    scaled = np.array([unknown.scaled(table[unknown.rows[0], unknown.columns[0]]) for unknown in unknowns])
    ready, climb = prepared(system, history, run), Rprop(np.full(len(unknowns), FIRST), LARGEST)
    for _ in range(sweeps):
        gradient = np.zeros_like(table)
        ready.back_and_forth(table, gradient)
        scaled += climb.step(np.array([gradient[np.ix_(each.rows, each.columns)].sum() for each in unknowns]))
        for number, unknown in enumerate(unknowns):
            value = unknown.plain(float(scaled[number]))
            table[np.ix_(unknown.rows, unknown.columns)] = value
            scaled[number] = unknown.scaled(value)
    return _estimated(system.params, unknowns, table)


def _unknowns(system: TrueSkill2, name: str) -> list[Unknown]:
    """One for each entry of each row that has its own; what modes cannot differ in is one for all rows."""
    everywhere = tuple(range(len(system.table)))
    sets = [everywhere] if name in COMMON else [(row,) for row in everywhere]
    modes = list(system.rows)
    found = []
    for rows in sets:
        params = system.params.of_mode(modes[rows[0] - 1]) if rows[0] else system.params
        for entry, columns in enumerate(columns_of(params, name)):
            found.append(Unknown(name, entry, rows, tuple(columns)))
    for unknown in found:
        _check(unknown, system.table[unknown.rows[0]][unknown.columns[0]])
    return found


def _check(unknown: Unknown, value: float) -> None:
    if unknown.name in POSITIVE and value <= 0.0:
        raise RatingError(f"{unknown.name}: is 0, which is off; start from a guess")
    if unknown.name in PROBABILITIES and not 0.0 < value < 1.0:
        raise RatingError(f"{unknown.name}: is {value:g}, which is certain; start from a guess")


def _estimated(params: TrueSkill2Params, unknowns: Sequence[Unknown], table: Floats) -> TrueSkill2Params:
    """The parameters with what was found: for all modes first, then for each that differs."""
    rows: list[dict[str, object]] = [{} for _ in table]
    for unknown in unknowns:
        row, value = unknown.rows[0], float(table[unknown.rows[0], unknown.columns[0]])
        offsets = unknown.name.endswith("_offset")
        before = rows[row].get(unknown.name, ())
        rows[row][unknown.name] = (*before, value) if offsets else value  # type: ignore[misc]
    modes: Mapping[str, Mapping[str, object]] = {
        mode: {**own, **found} for (mode, own), found in zip(params.modes.items(), rows[1:], strict=True)
    }
    return replace(params, modes=modes, **rows[0])  # type: ignore[arg-type]
