"""Rates a whole history by the compiled kernel of the Gaussian systems; needs numpy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.model import PlayerId
from equipoise.ratings.history import History, Offsets, Replayed
from equipoise.ratings.parts import gaussian_formulas as kernel
from equipoise.ratings.parts.gaussian_formulas import GaussianAnswers, GaussianSkill
from equipoise.ratings.parts.gaussian_system import GaussianSystem
from equipoise.ratings.parts.team_order import Teams

RECORD = tuple(GaussianSkill.__slots__)
DTYPE = np.dtype([(name, np.int64 if name == "rounds" else np.float64) for name in RECORD])


def replay(system: GaussianSystem[Any], history: History, run: kernel.Replay | None = None) -> Replayed:
    """Rate a history by `run`; by default the compiled kernel."""
    records = records_of(system, history.players)
    replayed = Replayed(*(np.empty(len(each)) for each in (history.ranks, history, history.members)))
    answers = GaussianAnswers(replayed.wins, replayed.draws, replayed.after)
    whole = history.lineup is None and history.skill_at_start is None and history.fraction_played is None
    sides = allocate_sides(history.matches)
    (run or _compiled())(history.arrays(), whole, records, sides, answers, system.constants)
    write_back(system, history.players, records)
    return replayed


@cache
def _compiled() -> kernel.Replay:
    return kernel.build(compiled=True)


def allocate_sides(matches: Offsets) -> Teams:
    """Working arrays for the match with most teams; `matches` is of shape (m + 1,), as in `History`."""
    most = int(np.diff(matches).max(initial=2))
    return Teams(*(np.array(column) for column in Teams.of(most)))


def records_of(system: GaussianSystem[Any], players: Sequence[PlayerId]) -> NDArray[np.void]:
    """A record for each player, a newcomer's for one whom the system does not hold."""
    known = [system.players.get(player) or system.newcomer() for player in players]
    return np.array([tuple(getattr(p, name) for name in RECORD) for p in known], DTYPE).view(np.recarray)


def write_back(system: GaussianSystem[Any], players: Iterable[PlayerId], records: NDArray[np.void]) -> None:
    """Hold the participants as the replay left them; whoever was in lineups only is left alone."""
    for player, record in zip(players, records.tolist(), strict=True):
        skill = GaussianSkill(*record)
        before = system.players.get(player)
        if skill.rounds != (before.rounds if before else 0):
            system.players[player] = skill
