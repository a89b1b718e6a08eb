"""Histories from the rounds that the daemon has stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.errors import RatingError
from equipoise.ratings.history import History
from equipoise.ratings.system import Match


def history_of(records: Iterable[RecordRound]) -> History:
    """The rated rounds in their order; the first team is side A. RatingError if there is none.

    `skill_at_start` is left out, because its unit is that of the system in use when the round was played.
    """
    matches = matches_of(records)
    if not matches:
        raise RatingError("no rated rounds")
    return History.of(matches)


def matches_of(records: Iterable[RecordRound]) -> list[Match]:
    """The rated rounds as matches, as `history_of` has them."""
    bare = (replace(record, skill_at_start=None) for record in records)
    return [match for record in bare if (match := match_of(record)) is not None]
