"""Records on their way to the arrays of Elo's kernel and back; needs numpy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.history import Floats, History, Replayed
from equipoise.ratings.parts.points import Record
from equipoise.ratings.parts.points_replay import only_duels, record_of, refuse_unreadable, to_records, write_back

if TYPE_CHECKING:
    from equipoise.ratings.elo.family import EloFamily
    from equipoise.ratings.elo.system import Elo

RECORD = record_of(Record)
NOTHING: Floats = np.empty(0)


def facts(system: Elo, history: History) -> kernel.Facts:
    """What Elo reads of a history."""
    params = system.params
    points = history.points if params.margin_power or params.margin_scale else None
    return kernel.Facts(
        lead=leads(system, history),
        weight=NOTHING if history.weight is None else history.weight,
        margin=NOTHING if points is None else points[0::2] - points[1::2],
        scores=NOTHING,
        protected=np.empty(0, np.bool_),
        fraction_played=NOTHING if history.fraction_played is None else history.fraction_played,
    )


def leads(system: EloFamily[Any, Any], history: History) -> Floats:
    """Shape (m,): `EloFamily.lead` of each match; empty where no side has a name or an advantage."""
    if history.side is None or not system.advantage:
        return NOTHING
    # The last row is that of UNKNOWN, -1.
    points = np.array([system.advantage * (side == system.favoured) for side in (*history.sides, "")])
    each = points[history.side]
    lead: Floats = each[0::2] - each[1::2]
    return lead


def replay(system: Elo, history: History, run: kernel.Replay | None = None) -> Replayed:
    """Rate a history of two-team matches by `run`; by default the compiled kernel."""
    return replay_with(system, history, facts(system, history), run)


def replay_with(
    system: EloFamily[Any, Any], history: History, known: kernel.Facts, run: kernel.Replay | None = None
) -> Replayed:
    """`replay` of a history of which this is known besides who played and who won."""
    refuse_unreadable(system.name, history)
    rounds = kernel.Rounds(history.teams, history.members, history.ranks, history.started_at, *history.predicted_lineup)
    records = to_records(system, history.players, RECORD)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    (run or _compiled())(rounds, known, only_duels(history), records, wins, after, system.constants)
    write_back(system, history.players, records)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def _compiled() -> kernel.Replay:
    return kernel.build(compiled=True)
