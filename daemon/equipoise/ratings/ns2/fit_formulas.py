"""Sweeps over a history for NS2's whole-history fit, as plain functions that numba compiles.

They multiply by a sparse matrix X without storing it.  A row of X is a match: its log-odds are the row times the
unknowns, which are s, o and χ of every player, and the steps of F.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


class Design(NamedTuple):
    """The rows of m matches with p participants out of n players."""

    players: int
    """n: among the unknowns, o of a player is n after their s, and χ 2n after it; F's steps are from 3n on."""
    teams: NDArray[np.int64]
    """Shape (2m + 1,): where each team's participants begin."""
    members: NDArray[np.int32]
    average: Floats
    """Shape (p,), as are `side` and `commander`: coefficients as in `arrays.Workspace`."""
    side: Floats
    commander: Floats
    sign: Floats
    """Shape (m,): the coefficient of F, and the sign of `side`."""
    steps: NDArray[np.int64]
    """Shape (m, 3): indexes of the steps that add up to a match's F; negative for none."""


def row_times(match: int, x: Design, unknowns: Floats) -> float:
    """The product of one row of X and the unknowns."""
    total: float = 0.0
    f: float = 0.0
    for step in range(3):
        if x.steps[match, step] >= 0:
            f += unknowns[3 * x.players + x.steps[match, step]]
    for place in range(x.teams[2 * match], x.teams[2 * match + 2]):
        player = x.members[place]
        total += x.average[place] * unknowns[player]
        f += x.side[place] * unknowns[x.players + player]
        if x.commander[place] != 0.0:
            total += x.commander[place] * unknowns[2 * x.players + player]
    total += x.sign[match] * f
    return total


def add_row(match: int, x: Design, amount: float, power: int, out: Floats) -> None:
    """Add to `out` the amount times a row's coefficients, to the first or second power."""
    signed = amount * x.sign[match] ** power
    for step in range(3):
        if x.steps[match, step] >= 0:
            out[3 * x.players + x.steps[match, step]] += signed
    for place in range(x.teams[2 * match], x.teams[2 * match + 2]):
        player = x.members[place]
        out[player] += amount * x.average[place] ** power
        out[x.players + player] += signed * x.side[place] ** power
        if x.commander[place] != 0.0:
            out[2 * x.players + player] += amount * x.commander[place] ** power


def multiply(x: Design, unknowns: Floats, rows: Floats) -> None:
    """X·unknowns into `rows`."""
    for match in range(len(rows)):
        rows[match] = row_times(match, x, unknowns)


def collect(x: Design, rows: Floats, power: int, out: Floats) -> None:
    """Xᵀ·rows onto `out`; with power 2, of the squared coefficients."""
    for match in range(len(rows)):
        add_row(match, x, rows[match], power, out)


def curve(x: Design, weights: Floats, direction: Floats, out: Floats) -> None:
    """Xᵀ·weights·X·direction onto `out`."""
    for match in range(len(weights)):
        add_row(match, x, weights[match] * row_times(match, x, direction), 1, out)
