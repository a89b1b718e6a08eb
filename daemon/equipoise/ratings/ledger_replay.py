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
    from equipoise.ratings.ledger import Ledger, Record


ROUNDS = 1
"""Where a row has them."""


def record_of(kind: type[Record]) -> np.dtype[np.void]:
    """The row of an array that holds such a record."""
    return np.dtype([(field.name, np.int64 if field.name == "rounds" else np.float64) for field in fields(kind)])


def to_records(system: Ledger[Any, Any], players: Sequence[PlayerId], row: np.dtype[np.void]) -> NDArray[np.void]:
    """The players as they stand, one row each."""
    values = attrgetter(*(row.names or ()))
    records = np.full(len(players), np.array(values(system.newcomer()), row))
    for number, player in enumerate(players):
        if player in system.players:
            records[number] = values(system.players[player])
    return records.view(np.recarray)


def take_back(system: Ledger[Any, Any], players: Sequence[PlayerId], records: NDArray[np.void]) -> None:
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
    """What `Ledger.refuse_unreadable` says of one match."""
    if not history.pairs:
        raise RatingError(f"{name} rates two teams, no other number")


def only_duels(history: History) -> bool:
    """Whether it is always one against one, and those two were at the doors as they stand."""
    _, seated, standing = history.lineup
    if not history.singles:
        return False
    known = len(standing) > 0 and not np.isnan(standing).all()
    return not known and (seated is history.members or np.array_equal(seated, history.members))
