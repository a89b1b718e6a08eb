"""Replays a history by Elo's kernel, for Elo and for football; needs numpy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.elo.system import Elo, EloFamily
from equipoise.ratings.history import Floats, History, Replayed
from equipoise.ratings.parts.compiling import compiled
from equipoise.ratings.parts.match_arrays import MatchArrays
from equipoise.ratings.parts.points import Record
from equipoise.ratings.parts.record_arrays import dtype_of, only_duels, refuse_other_than_pairs, to_records, write_back

RECORD = dtype_of(Record)
NOTHING: Floats = np.empty(0)


def replay(system: Elo, history: History) -> Replayed:
    """Rate a history by Elo; raises `RatingError` for a match of more than two teams."""
    refuse_other_than_pairs(system.name, history)
    return run(system, history, history.arrays(), terms_of(system, history))


def terms_of(system: Elo, history: History) -> kernel.MatchTerms:
    """`Elo.terms` for every match of a history."""
    params = system.params
    points = history.points if params.margin_power or params.margin_scale else None
    return kernel.MatchTerms(
        lead=leads(system, history),
        margin=NOTHING if points is None else points[0::2] - points[1::2],
        scores=NOTHING,
        protected=np.empty(0, np.bool_),
    )


def leads(system: EloFamily[Any, Any], history: History) -> Floats:
    """`EloFamily.lead` for every match, shape (m,); empty if no side has a name or an advantage."""
    if history.side is None or not system.advantage:
        return NOTHING
    # UNKNOWN is -1, so it indexes the last row.
    points = np.array([system.advantage * (side == system.favoured) for side in (*history.sides, "")])
    each = points[history.side]
    lead: Floats = each[0::2] - each[1::2]
    return lead


def run(system: EloFamily[Any, Any], history: History, matches: MatchArrays, terms: kernel.MatchTerms) -> Replayed:
    """Rate the matches of a history by the compiled kernel."""
    records = to_records(system, history.players, RECORD)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    _compiled()(matches, terms, only_duels(history), records, wins, after, system.constants)
    write_back(system, history.players, records)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def _compiled() -> Any:
    return compiled(kernel.replay, inline="all")
