"""SynElo's players on their way to the arrays of its kernel and back; needs numpy."""

from __future__ import annotations

from array import array
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from equipoise.errors import RatingError
from equipoise.ratings.history import History, Replayed
from equipoise.ratings.synelo import formulas as kernel
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    from equipoise.ratings.synelo.system import SynElo

WHOLE_FIELDS = ("rounds", "count", "head", "excess")
RECORD = np.dtype([(name, np.int64 if name in WHOLE_FIELDS else np.float64) for name in kernel.RECORD])


def replay(system: SynElo, history: History, run: kernel.Replay | None = None) -> Replayed:
    """Rate a history of two-team matches by `run`; by default the compiled kernel."""
    if not history.pairs:
        raise RatingError("synelo rates two teams, no other number")
    started_at = np.nan_to_num(history.started_at, nan=NEVER)
    rounds = kernel.Rounds(history.teams, history.members, history.ranks, started_at, *history.predicted_lineup)
    players = _players(system, history)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    (run or _compiled())(rounds, players, wins, after, system.constants)
    _write_back(system, history, players)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def _compiled() -> kernel.Replay:
    return kernel.build(compiled=True)


def _players(system: SynElo, history: History) -> kernel.Players:
    held = [system.players.get(player) or system.newcomer() for player in history.players]
    records = np.array([tuple(getattr(p, name) for name in kernel.RECORD) for p in held], RECORD)
    # No more rows than a player can fill: in a long history most never fill a window.
    most = records["count"] + np.bincount(history.members, minlength=len(held))
    bases = np.cumsum(np.concatenate(([0], np.minimum(most, system.window))), dtype=np.int64)
    ring = np.zeros(bases[-1], np.float32 if system.constants.whole else np.float64)
    errors = np.zeros(bases[-1], np.int64)
    for player, base in zip(held, bases, strict=False):
        ring[base : base + player.count] = player.ring
        errors[base : base + player.count] = player.errors
    return kernel.Players(records.view(np.recarray), bases, ring, errors)


def _write_back(system: SynElo, history: History, players: kernel.Players) -> None:
    """Who took part is held from now on; who only stood at the doors is not."""
    bases = players.bases.tolist()
    for number, record in enumerate(players.records.tolist()):
        fields = dict(zip(kernel.RECORD, record, strict=True))
        before = system.players.get(history.players[number]) or system.newcomer()
        if fields["rounds"] == before.rounds:
            continue
        rows = slice(bases[number], bases[number] + fields["count"])
        system.players[history.players[number]] = kernel.Player(
            **fields,
            ring=array("d", players.ring[rows].astype(np.float64).tobytes()),
            errors=array("q", players.errors[rows].tobytes()),
        )
