"""Histories of the rounds that the daemon has stored; parts and outcomes of histories of two-team matches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.errors import RatingError
from equipoise.ratings.history import Floats, History, Spans
from equipoise.ratings.system import Match

_PER_MATCH = ("started_at", "seconds", "weight", "map", "mode", "lineup_known")
_PER_TEAM = ("ranks", "points", "side")
_COUNTS = ("kills", "deaths", "assists", "player_points", "class_seconds")
_PER_PARTICIPANT = ("members", "fraction_played", *_COUNTS, "quit", "squad")
_PER_SEAT = ("lineup_members", "skill_at_start")


def scores(history: History) -> Floats:
    """Shape (m,): 1, 0.5 or 0 for each match's first team. RatingError unless every match has two teams."""
    if not history.pairs:
        raise RatingError("the laboratory measures matches of two teams")
    first, second = history.ranks[0::2], history.ranks[1::2]
    outcomes: Floats = (1.0 + np.sign(second - first)) / 2
    return outcomes


def head(history: History, count: int) -> History:
    """The first `count` matches; players who appear only later keep their numbers."""
    teams = int(history.matches[count])
    people = int(history.teams[teams])
    lineup, _, _ = history.predicted_lineup
    ends = (
        (_PER_MATCH, count),
        (_PER_TEAM, teams),
        (_PER_PARTICIPANT, people),
        (_PER_SEAT, int(lineup[teams])),
    )
    arrays = {name: getattr(history, name) for names, _ in ends for name in names}
    cut = {name: arrays[name][:end] for names, end in ends for name in names if arrays[name] is not None}
    return replace(
        history,
        matches=history.matches[: count + 1],
        teams=history.teams[: teams + 1],
        lineup=None if history.lineup is None else history.lineup[: teams + 1],
        spans=None if history.spans is None else _spans_head(history.spans, people),
        bots=None if history.bots is None else _spans_head(history.bots, count),
        **cut,
    )


def _spans_head(spans: Spans, rows: int) -> Spans:
    end = int(spans.starts[rows])
    return Spans(spans.starts[: rows + 1], spans.team[:end], spans.start[:end], spans.end[:end], spans.commander[:end])


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
