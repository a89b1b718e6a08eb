"""The players of a history's matches, with what divides them into groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equipoise.ratings.groups import Seat
from equipoise.ratings.history import Floats, History, Offsets
from equipoise.ratings.parts.squads import squad_sizes


def seats(history: History, predicted: Floats, scores: Floats, first: int) -> Iterator[Seat]:
    """The players of all matches from `first` on, which have these predictions and scores of their first teams.

    Experience and the last outcome are counted from the start of the history.
    """
    team = np.repeat(np.arange(len(history.ranks)), np.diff(history.teams))
    match, second = team // 2, team % 2 == 1
    scored = np.concatenate((np.zeros(first), scores))[match]
    guessed = np.concatenate((np.zeros(first), predicted))[match]
    before, last = _past(history)
    start = int(history.teams[history.matches[first]])
    return map(
        Seat,
        match[start:].tolist(),
        np.where(second, 1 - guessed, guessed)[start:].tolist(),
        np.where(second, 1 - scored, scored)[start:].tolist(),
        squad_sizes(history)[start:].tolist(),
        before[start:].tolist(),
        (None if np.isnan(score) else score for score in last[start:].tolist()),
    )


def _past(history: History) -> tuple[Offsets, Floats]:
    """Shape (p,) each: how many matches the participant had before, and the score of the last; nan without one."""
    team = np.repeat(np.arange(len(history.ranks)), np.diff(history.teams))
    own, other = history.ranks[team], history.ranks[team ^ 1]
    scored = (1.0 + np.sign(other - own)) / 2
    order = np.argsort(history.members, kind="stable")
    sorted_members = history.members[order]
    starts = np.flatnonzero(np.diff(sorted_members, prepend=-1))
    counts = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    previous = np.where(counts > 0, np.roll(scored[order], 1), np.nan)
    before, last = np.empty(len(order), np.int64), np.empty(len(order))
    before[order], last[order] = counts, previous
    return before, last
