"""Converts the records of players to the arrays of a replay and back; needs numpy."""

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
    from equipoise.ratings.parts.player_table import PlayerTable


def dtype_of(kind: type[Any]) -> np.dtype[np.void]:
    """The array dtype for a kind of record: its int and float fields, by name; other fields are left out."""
    types = {"int": np.int64, "float": np.float64}
    return np.dtype([(field.name, types[field.type]) for field in fields(kind) if field.type in types])


def to_records(table: PlayerTable[Any, Any], players: Sequence[PlayerId], row: np.dtype[np.void]) -> NDArray[np.void]:
    """Shape (players,): a copy of each player's record, a newcomer's for a stranger; fields are attributes of a row."""
    values = attrgetter(*(row.names or ()))
    records = np.full(len(players), np.array(values(table.newcomer()), row))
    for number, player in enumerate(players):
        if player in table.players:
            records[number] = values(table.players[player])
    return records.view(np.recarray)


def write_back(table: PlayerTable[Any, Any], players: Sequence[PlayerId], records: NDArray[np.void]) -> None:
    """Store the replayed records of all participants; players who were only in lineups stay unchanged."""
    names, newcomer = records.dtype.names or (), table.newcomer()
    rounds, strangers, kind = names.index("rounds"), newcomer.rounds, type(newcomer)
    whole = names == tuple(field.name for field in fields(newcomer))
    for player, row in zip(players, records.tolist(), strict=True):
        record = table.players.get(player)
        # Players who took part have a round more; others were only predicted from.
        if row[rounds] <= (record.rounds if record else strangers):
            continue
        if record is None and whole:  # The usual case for millions of groups; twice as fast as setting each field.
            table.players[player] = kind(*row)
        else:
            record = table.players.setdefault(player, record or table.newcomer())
            for name, value in zip(names, row, strict=True):
                setattr(record, name, value)


def refuse_other_than_pairs(name: str, history: History) -> None:
    """Raise `RatingError` unless every match is between two teams."""
    if not history.pairs:
        raise RatingError(f"{name} rates two teams, no other number")


def only_duels(history: History) -> bool:
    """Whether every match is one against one, with the participants as lineup and no skill at start known."""
    _, lineup_members, skill_at_start = history.predicted_lineup
    if not history.singles:
        return False
    has_skills = len(skill_at_start) > 0 and not np.isnan(skill_at_start).all()
    # The same array where the history has no lineups of its own: no need to compare.
    return not has_skills and (lineup_members is history.members or np.array_equal(lineup_members, history.members))
