"""Turns a match into the coefficients that `formulas` reads: who counts how much in the difference of the sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from equipoise.core.model import PlayerId, is_bot
from equipoise.ratings.joint.active import Active, Place
from equipoise.ratings.joint.formulas import BOT, NOWHERE, Fixtures, Sides
from equipoise.ratings.parts.match_arrays import time_of
from equipoise.ratings.system import Match

LEAST_COUNT = 0.5
"""Players: a side with fewer, by time, is taken for one of so many, because ln 0 is infinite."""


def head_term(count_a: float, count_b: float) -> float:
    """ln(n_A / n_B).

    >>> round(head_term(13.0, 12.0), 3), head_term(0.0, 0.0)
    (0.08, 0.0)
    """
    return math.log(max(count_a, LEAST_COUNT) / max(count_b, LEAST_COUNT))


def lineup_sides(match: Match, number: Callable[[PlayerId], int]) -> Sides:
    """The lineup, all of whom play to the end; bots count as players of no skill."""
    a, b = match.predicted_lineup
    members = [BOT if is_bot(player) else number(player) for player in (*a, *b)]
    return _sides(members, [1.0] * len(a) + [-1.0] * len(b), len(a), len(b))


def played_sides(match: Match, number: Callable[[PlayerId], int]) -> Sides:
    """The participants by the time that they played on each side; bots of the lineup count in the heads."""
    length = _length(match)
    times = [_times(match, team, player, length) for team in (0, 1) for player in match.teams[team]]
    # A bot's time is not known by side here; those of the lineup play to the end.
    bots = [sum(map(is_bot, side)) for side in match.lineup or ((), ())]
    heads = [bots[side] + sum(times_of_player[side] for times_of_player in times) for side in (0, 1)]
    members = [number(player) for side in match.teams for player in side]
    return _sides(members, [on_a - on_b for on_a, on_b in times], *heads)


def _sides(members: list[int], signs: list[float], count_a: float, count_b: float) -> Sides:
    columns: Any = ([0, len(members)], members, signs, [head_term(count_a, count_b)])
    return Sides(*columns)


def _length(match: Match) -> float:
    if match.seconds:
        return match.seconds
    return max((span.end for spans in match.spans.values() for span in spans), default=0.0)


def _times(match: Match, team: int, player: PlayerId, length: float) -> tuple[float, float]:
    """The parts of the match that a player played on A and on B."""
    spans = match.spans.get(player, ())
    if not spans or length <= 0.0:
        share = match.fraction_played.get(player, 1.0)
        return (share, 0.0) if team == 0 else (0.0, share)
    on = [0.0, 0.0]
    for span in spans:
        on[span.team] += max(0.0, min(span.end, length) - max(span.start, 0.0)) / length
    return on[0], on[1]


def places_of(match: Match) -> tuple[tuple[Place, ...], float]:
    """The places whose worth is in a match, and its sign on the first side; none where sides have no names."""
    if len(set(match.sides)) < 2 or not all(match.sides):
        return (), 0.0
    a, b = match.sides
    # One coordinate for a pair of sides, whichever is named first.
    pair = (a, b) if a < b else (b, a)
    return (Place(pair), Place(pair, match.map)) if match.map else (Place(pair),), 1.0 if a < b else -1.0


def one_fixture(match: Match, active: Active, lineup: Sides, played: Sides, score: float) -> Fixtures:
    """A match as the only one."""
    places, sign = places_of(match)
    side, on_map = [*(active.find_place(place) for place in places), NOWHERE, NOWHERE][:2]
    columns: Any = ([side], [on_map], [sign], [score], [match.weight], [time_of(match)])
    return Fixtures(lineup, played, *columns)
