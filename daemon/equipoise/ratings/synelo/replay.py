"""Replays a history by SynElo's kernel; needs numpy."""

from __future__ import annotations

from array import array
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.history import History, Replayed
from equipoise.ratings.parts.compiling import compiled
from equipoise.ratings.parts.record_arrays import dtype_of, refuse_other_than_pairs, to_records, write_back
from equipoise.ratings.synelo import formulas as kernel
from equipoise.ratings.synelo.system import SynElo

RECORD = dtype_of(kernel.SynEloPlayer)


def replay(system: SynElo, history: History) -> Replayed:
    """Rate a history and write the windows back; raises `RatingError` for a match of more than two teams."""
    refuse_other_than_pairs(system.name, history)
    records = to_records(system, history.players, RECORD)
    before = records["rounds"].copy()
    players = _players(system, history, records)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    _compiled()(history.arrays(), players, wins, after, system.constants)
    write_back(system, history.players, records)
    for number in np.flatnonzero(records["rounds"] > before).tolist():
        record = system.players[history.players[number]]
        rows = slice(players.bases[number], players.bases[number] + record.count)
        record.ring = array("d", players.rings[rows].astype(np.float64).tobytes())
        record.errors = array("q", players.errors[rows].tobytes())
    return Replayed(wins, np.zeros(len(history)), after)


def _players(system: SynElo, history: History, records: NDArray[np.void]) -> kernel.Players:
    """The records, with copies of all windows one behind another in one array."""
    # No more rows than a player can fill: in a long history most players never fill a window.
    most = records["count"] + np.bincount(history.members, minlength=len(records))
    bases = np.cumsum(np.concatenate(([0], np.minimum(most, system.window))), dtype=np.int64)
    rings = np.zeros(bases[-1], np.float32 if system.constants.whole else np.float64)
    errors = np.zeros(bases[-1], np.int64)
    for player, base in zip(history.players, bases.tolist(), strict=False):
        if held := system.players.get(player):
            rings[base : base + held.count] = held.ring
            errors[base : base + held.count] = held.errors
    return kernel.Players(records, rings, errors, bases)


@cache
def _compiled() -> Any:
    return compiled(kernel.replay, inline="all", instead=kernel.IN_ARRAYS)
