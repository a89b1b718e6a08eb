"""Rates a whole history by the compiled kernel of the Gaussian systems; needs numpy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from equipoise.ratings.history import History, Offsets, Replayed
from equipoise.ratings.parts import gaussian_formulas as kernel
from equipoise.ratings.parts.compiling import compiled
from equipoise.ratings.parts.gaussian_formulas import GaussianAnswers, GaussianSkill
from equipoise.ratings.parts.gaussian_system import GaussianSystem
from equipoise.ratings.parts.record_arrays import dtype_of, to_records, write_back
from equipoise.ratings.parts.team_order import Teams

RECORD = dtype_of(GaussianSkill)


def replay(system: GaussianSystem[Any], history: History) -> Replayed:
    """Rate a history of matches between any number of teams."""
    records = to_records(system, history.players, RECORD)
    replayed = Replayed(*(np.empty(len(each)) for each in (history.ranks, history, history.members)))
    answers = GaussianAnswers(replayed.wins, replayed.draws, replayed.after)
    whole = history.lineup is None and history.skill_at_start is None and history.fraction_played is None
    _compiled()(history.arrays(), whole, records, allocate_sides(history.matches), answers, system.constants)
    write_back(system, history.players, records)
    return replayed


@cache
def _compiled() -> Any:
    # The kernel allocates nothing, so numba need not count references to arrays: the option is private to it.
    return compiled(kernel.replay, _nrt=False)


def allocate_sides(matches: Offsets) -> Teams:
    """Working arrays for the match with most teams; `matches` is of shape (m + 1,), as in `History`."""
    most = int(np.diff(matches).max(initial=2))
    return Teams(*(np.array(column) for column in Teams.of(most)))
