"""Squads of a history: players who joined together; needs numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.history import ALONE, History


def squad_sizes(history: History) -> NDArray[np.int64]:
    """Shape (p,): size of each participant's squad in their team; 1 for those who came alone."""
    if history.squad is None:
        return np.ones(len(history.members), np.int64)
    team = np.repeat(np.arange(len(history.ranks)), np.diff(history.teams))
    squad = history.squad.astype(np.int64) - ALONE  # From 0 on, so that numbers of different teams stay apart.
    numbers = team * (int(squad.max(initial=0)) + 1) + squad
    _, number, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.where(history.squad == ALONE, 1, sizes[number])
