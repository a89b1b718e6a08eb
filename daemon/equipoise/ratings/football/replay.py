"""Score lines and kinds of match on their way to the arrays of Elo's kernel; needs numpy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import RatingError
from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.elo import replay as elo_replay
from equipoise.ratings.football.system import MOST_GOALS, Football, kind_of
from equipoise.ratings.history import Floats, History, Replayed
from equipoise.ratings.parts.points_replay import refuse_unreadable


def replay(system: Football[Any, Any], history: History, run: kernel.Replay | None = None) -> Replayed:
    """Rate a history by `run`; by default Elo's compiled kernel."""
    return elo_replay.replay_with(system, as_they_stand(history), facts(system, history), run)


def as_they_stand(history: History) -> History:
    """Without what football does not read of its matches."""
    told = history.lineup is not None or history.lineup_members is not None or history.skill_at_start is not None
    return replace(history, lineup=None, lineup_members=None, skill_at_start=None) if told else history


def facts(system: Football[Any, Any], history: History) -> kernel.Facts:
    """What the football systems read of a history."""
    refuse_unreadable(system.name, history)
    if not history.singles:
        raise RatingError(f"{system.name} rates teams as a whole: one player a side")
    factor, scores = _outcomes(system, history)
    protected = _by_mode(history, [kind_of(mode) in system.protected for mode in (*history.modes, "")])
    importance = _by_mode(history, [system.importance[kind_of(mode)] for mode in (*history.modes, "")])
    return kernel.Facts(
        lead=elo_replay.leads(system, history),
        weight=importance * factor,
        margin=elo_replay.NOTHING,
        scores=scores,
        protected=protected.astype(np.bool_) if system.protected else np.empty(0, np.bool_),
        fraction_played=elo_replay.NOTHING,
    )


def _by_mode(history: History, values: list[float]) -> Floats:
    """Shape (m,); the last value is that of UNKNOWN, -1."""
    table = np.array(values, np.float64)
    return np.full(len(history), table[-1]) if history.mode is None else table[history.mode]


def _outcomes(system: Football[Any, Any], history: History) -> tuple[Floats, Floats]:
    """Shape (m,) and (t,): `Outcome` of each match, asked once of each score line that there is."""
    goals = _goals(system, history)
    width = int(goals.max(initial=0)) + 1
    lines = (goals[0::2] * width + goals[1::2]) * 3 + 1
    lines += history.ranks[1::2] > history.ranks[0::2]
    lines -= history.ranks[1::2] < history.ranks[0::2]
    factors, own, others = table = np.full((3, width * width * 3), math.nan)
    for line in np.flatnonzero(np.bincount(lines, minlength=table.shape[1])).tolist():
        both, won = divmod(line, 3)
        table[:, line] = system.outcome(*divmod(both, width), won - 1)
    scores = np.empty(len(history.ranks))
    scores[0::2], scores[1::2] = own[lines], others[lines]
    return factors[lines], scores


def _goals(system: Football[Any, Any], history: History) -> NDArray[np.int32]:
    points = history.points
    if points is None and len(history):
        raise RatingError(f"{system.name} needs the goals of every match")
    goals = np.empty(0) if points is None else points
    with np.errstate(invalid="ignore"):
        whole = goals.astype(np.int32)
    wrong = (whole != goals) | (whole < 0) | (whole > MOST_GOALS)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        match = row // 2
        raise RatingError(f"goals: {goals[row]:g} of match {match + 1} is not a count up to {MOST_GOALS}", match=match)
    return whole
