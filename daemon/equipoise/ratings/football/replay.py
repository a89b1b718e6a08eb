"""Replays a history of international football by Elo's kernel; needs numpy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import RatingError
from equipoise.ratings import replays
from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.football.rankings import FifaWomen
from equipoise.ratings.football.system import MOST_GOALS, Football, kind_of
from equipoise.ratings.history import UNKNOWN, Floats, History, Replayed
from equipoise.ratings.parts.record_arrays import refuse_other_than_pairs


def replay(system: Football[Any, Any], history: History) -> Replayed:
    """Rate a history of matches between two teams, each a single player."""
    refuse_other_than_pairs(system.name, history)
    if not history.singles:
        raise RatingError(f"{system.name} rates teams as a whole: one player a side")
    bare = _bare(history)
    factor, scores = _outcomes(system, history)
    shields = _by_mode(history, [kind_of(mode) in system.protected for mode in (*history.modes, "")])
    terms = kernel.MatchTerms(
        lead=replays.elo_leads(system, history),
        margin=replays.NOTHING,
        scores=scores,
        protected=shields.astype(np.bool_) if system.protected else np.empty(0, np.bool_),
    )
    if isinstance(system, FifaWomen):
        importance = _counted(system, history)
    else:
        importance = _by_mode(history, [system.importance[kind_of(mode)] for mode in (*history.modes, "")])
    return replays.run_elo(system, bare, bare.arrays()._replace(weight=importance * factor), terms)


def _bare(history: History) -> History:
    """The history without arrays that football ignores; unchanged if it has none, because a copy is checked again."""
    extra = (history.lineup, history.lineup_members, history.skill_at_start, history.fraction_played)
    if all(column is None for column in extra):
        return history
    return replace(history, lineup=None, lineup_members=None, skill_at_start=None, fraction_played=None)


def _counted(system: FifaWomen, history: History) -> Floats:
    """Shape (m,): importance of each match at its time; afterwards the system has counted all matches."""
    modes = [UNKNOWN] * len(history) if history.mode is None else history.mode.tolist()
    names = (*history.modes, "")
    teams = [history.players[number] for number in history.members.tolist()]
    weights = np.empty(len(history))
    for match, (mode, at) in enumerate(zip(modes, history.started_at.tolist(), strict=True)):
        kind, pair = kind_of(names[mode]), (teams[2 * match], teams[2 * match + 1])
        weights[match] = system.importance_of(kind, *pair)
        # Kept at once: the kernel reads the records after all matches are counted.
        records = [system.players.setdefault(team, system.held(team)) for team in pair]
        system.count(kind, pair, records, None if math.isnan(at) else at)
    return weights


def _by_mode(history: History, values: list[float]) -> Floats:
    """Shape (m,): by each match's mode; `UNKNOWN` is -1, so it takes the last value."""
    table = np.array(values, np.float64)
    return np.full(len(history), table[-1]) if history.mode is None else table[history.mode]


def _outcomes(system: Football[Any, Any], history: History) -> tuple[Floats, Floats]:
    """Shapes (m,) and (t,): factor and scores of each match; `outcome` is called once per distinct score line."""
    goals = _goals(system, history)
    width = int(goals.max(initial=0)) + 1
    # A number for each score line and winner: goals of both, and 0, 1 or 2 for the second, nobody, the first.
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
        # NaN becomes some integer, which is then not equal to it.
        whole = goals.astype(np.int32)
    wrong = (whole != goals) | (whole < 0) | (whole > MOST_GOALS)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        match = row // 2
        raise RatingError(f"goals: {goals[row]:g} of match {match + 1} is not a count up to {MOST_GOALS}", match=match)
    return whole
