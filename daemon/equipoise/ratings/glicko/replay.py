"""Players of Glicko and Glicko-2 on their way to the arrays of the kernel and back; needs numpy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.ratings.glicko import formulas as kernel
from equipoise.ratings.glicko.arrays import Block, Player, Rounds
from equipoise.ratings.history import History, Replayed
from equipoise.ratings.parts.points_replay import only_duels, record_of, refuse_unreadable, to_records, write_back

if TYPE_CHECKING:
    from equipoise.ratings.glicko.system import GlickoFamily

RECORD = record_of(Player)


def replay(system: GlickoFamily[Any], history: History, run: kernel.Replay | None = None) -> Replayed:
    """Rate a history of two-team matches by `run`; by default the compiled kernel."""
    refuse_unreadable(system.name, history)
    facts = (np.empty(0) if fact is None else fact for fact in (history.weight, history.fraction_played))
    members = history.members.view(np.uint32)  # no number counts from the end
    rounds = Rounds(history.teams, members, history.ranks, history.started_at, *history.predicted_lineup, *facts)
    block = Block(np.full(len(history.players), -1), *np.empty((len(Block._fields) - 1, kernel.BLOCK)))
    records = to_records(system, history.players, RECORD)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    (run or _compiled())(rounds, only_duels(history), records, wins, after, block, system.constants)
    write_back(system, history.players, records)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def _compiled() -> kernel.Replay:
    return kernel.build(compiled=True)
