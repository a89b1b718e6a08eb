"""Beliefs on their way to the arrays of their kernel and back; needs numpy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.model import PlayerId
from equipoise.ratings.history import Floats, History, Offsets, Replayed
from equipoise.ratings.parts import gaussian_formulas as kernel
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    from equipoise.ratings.parts.gaussian_system import GaussianSystem

DTYPE = np.dtype([(name, np.int64 if name == "rounds" else np.float64) for name in kernel.RECORD])


def replay(system: GaussianSystem[Any], history: History, run: kernel.Replay | None = None) -> Replayed:
    """Rate a history by `run`; by default the compiled kernel."""
    records = records_of(system, history.players)
    answers = kernel.Answers(*(np.empty(len(each)) for each in (history.ranks, history, history.members)))
    run = run or _compiled(timed=system.constants.unknown > 0.0)
    run(rounds_of(history), records, room_for(history.matches), answers, system.constants)
    write_back(system, history.players, records)
    return Replayed(*answers)


@cache
def _compiled(*, timed: bool) -> kernel.Replay:
    return kernel.build(compiled=True, timed=timed)


def rounds_of(history: History) -> kernel.Rounds:
    """The arrays that the kernel reads."""
    return kernel.Rounds(
        matches=history.matches,
        teams=history.teams,
        members=history.members,
        ranks=history.ranks,
        started_at=times_of(history),
        fraction_played=np.empty(0) if history.fraction_played is None else fractions_played(history),
        lineup=history.predicted_lineup[0],
        lineup_members=history.predicted_lineup[1],
        skill_at_start=history.predicted_lineup[2],
        apart=history.lineup is not None or history.skill_at_start is not None or history.fraction_played is not None,
    )


def times_of(history: History) -> Floats:
    """`started_at`, `NEVER` where unknown."""
    return np.nan_to_num(history.started_at, nan=NEVER)


def fractions_played(history: History) -> Floats:
    """Of each participant, 1 where unknown."""
    return (
        np.ones(len(history.members))
        if history.fraction_played is None
        else np.nan_to_num(history.fraction_played, nan=1.0)
    )


def room_for(matches: Offsets) -> Teams:
    """For the match with most teams."""
    most = int(np.diff(matches).max(initial=2))
    return Teams(*(np.array(room) for room in Teams.of(most)))


def records_of(system: GaussianSystem[Any], players: Sequence[PlayerId]) -> NDArray[np.void]:
    """A record for each, a newcomer's for whom the system does not hold."""
    held = [system.players.get(player) or system.newcomer() for player in players]
    return np.array([tuple(getattr(p, name) for name in kernel.RECORD) for p in held], DTYPE).view(np.recarray)


def write_back(system: GaussianSystem[Any], players: Iterable[PlayerId], records: NDArray[np.void]) -> None:
    """Who took part is held from now on; who only stood at the doors is not."""
    for player, record in zip(players, records.tolist(), strict=True):
        belief = kernel.GaussianSkill(*record)
        before = system.players.get(player)
        if belief.rounds != (before.rounds if before else 0):
            system.players[player] = belief
