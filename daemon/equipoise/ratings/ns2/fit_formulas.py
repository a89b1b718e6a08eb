"""The sweeps over a history that NS2's whole-history fit is made of, as plain functions that numba can compile.

A row is a match: its log-odds are the row times the unknowns, which are s, o and χ of every player, and F's steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.ns2.formulas import UNCOUNTED
from equipoise.ratings.parts.compiling import compiled as machine_code

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


class Design(NamedTuple):
    """The rows of m matches with p participants out of n players."""

    players: int
    """n: o of a player stands n after his s among the unknowns, χ 2n after it, F's steps from 3n on."""
    teams: NDArray[np.int64]
    """Shape (2m + 1,): where each team's participants begin."""
    members: NDArray[np.int32]
    average: Floats
    """Shape (p,), as are `side` and `commander`: coefficients as in `ns2_kernel.Play`."""
    side: Floats
    commander: Floats
    sign: Floats
    """Shape (m,): the coefficient of F, and the sign of `side`."""
    steps: NDArray[np.int64]
    """Shape (m, 3): which steps make its F, negative for none."""


def times(match: int, x: Design, unknowns: Floats) -> float:
    """A row times the unknowns."""
    total: float = 0.0
    f: float = 0.0
    for step in range(3):
        if x.steps[match, step] >= 0:
            f += unknowns[3 * x.players + x.steps[match, step]]
    for seat in range(x.teams[2 * match], x.teams[2 * match + 2]):
        player = x.members[seat]
        total += x.average[seat] * unknowns[player]
        f += x.side[seat] * unknowns[x.players + player]
        if x.commander[seat] != 0.0:
            total += x.commander[seat] * unknowns[2 * x.players + player]
    total += x.sign[match] * f
    return total


def spread(match: int, x: Design, amount: float, power: int, out: Floats) -> None:
    """Add a row's coefficients, to the first or second power, times the amount."""
    signed = amount * x.sign[match] ** power
    for step in range(3):
        if x.steps[match, step] >= 0:
            out[3 * x.players + x.steps[match, step]] += signed
    for seat in range(x.teams[2 * match], x.teams[2 * match + 2]):
        player = x.members[seat]
        out[player] += amount * x.average[seat] ** power
        out[x.players + player] += signed * x.side[seat] ** power
        if x.commander[seat] != 0.0:
            out[2 * x.players + player] += amount * x.commander[seat] ** power


def multiply(x: Design, unknowns: Floats, rows: Floats) -> None:
    """X·unknowns into `rows`."""
    for match in range(len(rows)):
        rows[match] = times(match, x, unknowns)


def collect(x: Design, rows: Floats, power: int, out: Floats) -> None:
    """Xᵀ·rows onto `out`; with power 2, of the squared coefficients."""
    for match in range(len(rows)):
        spread(match, x, rows[match], power, out)


def curve(x: Design, weights: Floats, direction: Floats, out: Floats) -> None:
    """Xᵀ·weights·X·direction onto `out`."""
    for match in range(len(weights)):
        spread(match, x, weights[match] * times(match, x, direction), 1, out)


class Sweeps(NamedTuple):
    """The loops over a history."""

    multiply: Callable[[Design, Floats, Floats], None]
    collect: Callable[[Design, Floats, int, Floats], None]
    curve: Callable[[Design, Floats, Floats, Floats], None]


def build(*, compiled: bool) -> Sweeps:
    """The loops as they stand here, or compiled with their callees (the machine code is cached on disk)."""
    if not compiled:
        return Sweeps(multiply, collect, curve)
    return Sweeps(
        machine_code(multiply, inline="all", **UNCOUNTED),
        machine_code(collect, inline="all", **UNCOUNTED),
        machine_code(curve, inline="all", **UNCOUNTED),
    )
