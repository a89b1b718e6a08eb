"""Replays a history by the kernel of Glicko and Glicko-2; needs numpy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from equipoise.ratings.glicko import formulas as kernel
from equipoise.ratings.glicko.formulas import IN_VECTORS, Block, GlickoPlayer
from equipoise.ratings.glicko.system import GlickoFamily
from equipoise.ratings.history import History, Replayed
from equipoise.ratings.parts.compiling import compiled
from equipoise.ratings.parts.record_arrays import dtype_of, only_duels, refuse_other_than_pairs, to_records, write_back

RECORD = dtype_of(GlickoPlayer)


def replay(system: GlickoFamily[Any], history: History) -> Replayed:
    """Rate a history by Glicko or Glicko-2; duels many at a time."""
    refuse_other_than_pairs(system.name, history)
    # Unsigned indexes spare the compiled loops the handling of negative ones.
    matches = history.arrays()._replace(members=history.members.view(np.uint32))
    block = Block(np.full(len(history.players), -1), *np.empty((len(Block._fields) - 1, kernel.BLOCK)))
    records = to_records(system, history.players, RECORD)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    _compiled()(matches, only_duels(history), records, wins, after, block, system.constants)
    write_back(system, history.players, records)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def _compiled() -> Any:
    return compiled(kernel.replay, inline="all", called=kernel.CALLED, instead=IN_VECTORS, fastmath={"contract"})
