"""Records on their way to arrays and back, and what a replay of two teams asks of a history; needs numpy."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.errors import RatingError
from equipoise.ratings.history import History

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equipoise.core.model import PlayerId
    from equipoise.ratings.parts.points import PointsSystem, Record


ROUNDS = 1
"""Where a row has them."""


def record_of(kind: type[Record]) -> np.dtype[np.void]:
    """The row of an array that holds such a record."""
    return np.dtype([(field.name, np.int64 if field.name == "rounds" else np.float64) for field in fields(kind)])


def to_records(system: PointsSystem[Any, Any], players: Sequence[PlayerId], row: np.dtype[np.void]) -> NDArray[np.void]:
    """The players as they stand, one row each."""
    values = attrgetter(*(row.names or ()))
    records = np.full(len(players), np.array(values(system.newcomer()), row))
    for number, player in enumerate(players):
        if player in system.players:
            records[number] = values(system.players[player])
    return records.view(np.recarray)


def write_back(system: PointsSystem[Any, Any], players: Sequence[PlayerId], records: NDArray[np.void]) -> None:
    """Hold who took part as the replay left him; who only stood at the doors stays as he is."""
    names, kind = records.dtype.names or (), type(system.newcomer())
    for player, row in zip(players, records.tolist(), strict=True):
        held = system.players.get(player)
        if held is None and row[ROUNDS] > 0:
            system.players[player] = kind(*row)
        elif held is not None and row[ROUNDS] > held.rounds:
            for name, value in zip(names, row, strict=True):
                setattr(held, name, value)


def refuse_unreadable(name: str, history: History) -> None:
    """What `PointsSystem.refuse_unreadable` says of one match."""
    if not history.pairs:
        raise RatingError(f"{name} rates two teams, no other number")


def only_duels(history: History) -> bool:
    """Whether it is always one against one, and those two were at the doors as they stand."""
    _, lineup_members, skill_at_start = history.predicted_lineup
    if not history.singles:
        return False
    known = len(skill_at_start) > 0 and not np.isnan(skill_at_start).all()
    return not known and (lineup_members is history.members or np.array_equal(lineup_members, history.members))
