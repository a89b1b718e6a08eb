"""Replays a history by the compiled filter of `joint`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.history import UNKNOWN, Floats, History, Offsets, Replayed
from equipoise.ratings.joint import formulas as kernel
from equipoise.ratings.joint.active import Place
from equipoise.ratings.joint.fixtures import LEAST_COUNT
from equipoise.ratings.joint.formulas import (
    MORE_TERMS,
    NOWHERE,
    PLACES,
    Answers,
    Constants,
    Fixtures,
    Sides,
    State,
    Terms,
)
from equipoise.ratings.joint.observing import rate_observed
from equipoise.ratings.joint.outcome import expected
from equipoise.ratings.joint.scores import played_of
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.parts.compiling import compiled
from equipoise.ratings.parts.match_arrays import BOT
from equipoise.ratings.parts.record_arrays import refuse_other_than_pairs

Replay: TypeAlias = Callable[[Fixtures, Terms, Answers, State, Constants], None]


def replay(system: Joint, history: History) -> Replayed:
    """Rate a history; raises `RatingError` for a match of more than two teams."""
    answers = answered(system, history)
    wins = np.column_stack((answers.wins, 1.0 - answers.wins)).ravel()
    after = system.params.initial + system.params.scale * answers.after
    return Replayed(wins, np.zeros(len(history)), after)


def answered(system: Joint, history: History) -> Answers:
    """Rate a history; what the filter found of each match."""
    # Own scores are read by numpy, match by match.
    scores = system.params.scores and (history.kills is not None or system.active.own.modes)
    return _replayed(system, history, _observe(system, history) if scores else _compiled())


def _replayed(system: Joint, history: History, replay: Replay) -> Answers:
    refuse_other_than_pairs(system.name, history)
    fixtures = _fixtures(system, history)
    most = int(max(np.diff(sides.starts).max(initial=0) for sides in (fixtures.lineup, fixtures.played)))
    answers = Answers(np.empty(len(history)), np.empty(len(history)), np.empty(len(history.members)))
    terms = Terms(np.empty(most + MORE_TERMS, np.int64), np.empty(most + MORE_TERMS))
    # For the whole replay at once, as compiled code cannot grow the matrix: the dense players, a match in which all are
    # new, the places, head count and newcomers.
    system.active.make_room(min(len(system.active.numbers), system.params.active) + most + PLACES + 2)
    replay(fixtures, terms, answers, system.active.state, system.active.constants)
    return answers


def _observe(system: Joint, history: History) -> Replay:
    """A replay that reads what players did."""

    def replay(fixtures: Fixtures, terms: Terms, answers: Answers, state: State, constants: Constants) -> None:
        for match in range(len(history)):
            lineup, record = fixtures.lineup, played_of(history, match)
            answers.wins[match] = expected(*kernel.foresee(match, fixtures, lineup, terms, state, constants))
            rate_observed(system.active.own, record, match, fixtures, terms, answers, state, constants)
            kernel.note_rounds(match, fixtures, answers, state)

    return replay


@cache
def _compiled() -> Any:
    return compiled(kernel.replay, instead={"shrink": kernel.shrink_by_rows})


def _fixtures(system: Joint, history: History) -> Fixtures:
    """The history in coefficients; admits its players and places."""
    active = system.active
    players = sorted(set(history.members.tolist()))
    active.admit(history.players[player] for player in players)
    # One more at the end for bots, whose number -1 indexes the last.
    numbers = np.array([*(active.number(player) for player in history.players), BOT], np.int64)
    side, on_map, sign = _places(system, history)
    ranks = history.ranks.reshape(-1, 2)
    return Fixtures(
        lineup=_lineup(history, numbers),
        played=_played(history, numbers),
        side=side,
        map=on_map,
        sign=sign,
        score=0.5 + 0.5 * (ranks[:, 0] < ranks[:, 1]) - 0.5 * (ranks[:, 0] > ranks[:, 1]),
        weight=np.ones(len(history)) if history.weight is None else history.weight.astype(np.float64),
        started_at=history.started_at,
    )


def _lineup(history: History, numbers: NDArray[np.int64]) -> Sides:
    starts, members, _ = history.predicted_lineup
    return Sides(starts[::2].copy(), numbers[members], _signs(starts), _heads(np.diff(starts)))


def _played(history: History, numbers: NDArray[np.int64]) -> Sides:
    starts, members, _ = history.predicted_lineup
    team = np.repeat(np.arange(len(history.ranks)), np.diff(history.teams))
    own = np.ones(len(team)) if history.fraction_played is None else np.nan_to_num(history.fraction_played, nan=1.0)
    times = np.zeros((len(team), 2))
    # Teams come in pairs: an even number is the first side of its match.
    times[np.arange(len(team)), team % 2] = own
    if history.spans is not None:
        _put_spans(history, team // 2, times)
    # One more row for a last match without participants; of an empty range `reduceat` returns the next row, hence the
    # line below.
    heads = np.add.reduceat(np.vstack((times, np.zeros(2))), history.teams[:-1:2], axis=0)
    heads[np.diff(history.teams[::2]) == 0] = 0.0
    heads_by_team: Floats = heads.ravel() + _per_team(members == BOT, starts)
    return Sides(history.teams[::2].copy(), numbers[history.members], times[:, 0] - times[:, 1], _heads(heads_by_team))


def _put_spans(history: History, match: NDArray[np.int64], times: Floats) -> None:
    """Put the parts of the match on A and on B in place, for the participants who have spans."""
    spans = history.spans
    assert spans is not None
    owner = np.repeat(np.arange(len(times)), np.diff(spans.starts))
    length = np.zeros(len(history))
    np.maximum.at(length, match[owner], spans.end)
    if history.seconds is not None:
        length = np.where(history.seconds > 0.0, history.seconds, length)
    seats = np.flatnonzero((np.diff(spans.starts) > 0) & (length[match] > 0.0))
    times[seats] = 0.0
    whole = length[match[owner]]
    columns = whole > 0.0
    within = np.clip(np.minimum(spans.end, whole) - np.maximum(spans.start, 0.0), 0.0, None)
    np.add.at(times, (owner[columns], spans.team[columns]), within[columns] / whole[columns])


def _per_team(flags: NDArray[np.bool_], starts: Offsets) -> NDArray[np.int64]:
    """How many of each team's players have the flag."""
    sums = np.concatenate(([0], np.cumsum(flags)))
    counts: NDArray[np.int64] = sums[starts[1:]] - sums[starts[:-1]]
    return counts


def _signs(starts: Offsets) -> Floats:
    return np.repeat(np.tile([1.0, -1.0], len(starts) // 2), np.diff(starts))


def _heads(counts: Floats | Offsets) -> Floats:
    """ln(n_A / n_B) of each match, from the counts of its teams."""
    pairs = np.log(np.maximum(counts, LEAST_COUNT)).reshape(-1, 2)
    difference: Floats = pairs[:, 0] - pairs[:, 1]
    return difference


def _places(system: Joint, history: History) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """The numbers of each match's places, and their sign on A."""
    count = len(history)
    side, on_map, sign = np.full(count, NOWHERE, np.int64), np.full(count, NOWHERE, np.int64), np.zeros(count)
    if history.side is None:
        return side, on_map, sign
    maps = np.full(count, UNKNOWN, np.int32) if history.map is None else history.map
    triples = np.column_stack((history.side.reshape(-1, 2), maps))
    kinds, kind_of = np.unique(triples, axis=0, return_inverse=True)
    for number, (a, b, where) in enumerate(kinds.tolist()):
        if UNKNOWN in (a, b) or history.sides[a] == history.sides[b]:
            continue
        pair = min(history.sides[a], history.sides[b]), max(history.sides[a], history.sides[b])
        of_kind = kind_of.ravel() == number
        sign[of_kind] = 1.0 if history.sides[a] == pair[0] else -1.0
        side[of_kind] = system.active.admit_place(Place(pair))
        if where != UNKNOWN:
            on_map[of_kind] = system.active.admit_place(Place(pair, history.maps[where]))
    return side, on_map, sign
