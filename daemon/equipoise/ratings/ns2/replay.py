"""NS2's players and rounds on their way to the arrays of its kernel and back; needs numpy."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import RatingError
from equipoise.ratings.history import UNKNOWN, Flags, Floats, History, Numbers, Replayed, Spans
from equipoise.ratings.ns2 import formulas as kernel
from equipoise.ratings.ns2.arrays import RECORD as FIELDS
from equipoise.ratings.ns2.arrays import Play, Player, Rounds, Shared
from equipoise.ratings.ns2.environment import Environment
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    from equipoise.ratings.ns2.system import NS2

RECORD = np.dtype([(name, np.int64 if name == "rounds" else np.float64) for name in FIELDS])


def replay(system: NS2, history: History, kernels: kernel.Kernels | None = None) -> Replayed:
    """Rate a history of two-team matches; by default with the compiled kernels."""
    rounds = rounds_of(system, history)
    records, shared = records_of(system, history), shared_of(system.environment)
    before = records["rounds"].copy()
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    (kernels or compiled()).replay(rounds, records, play_of(rounds), shared, wins, after, system.constants)
    write_back(system, history, records, records["rounds"] > before)
    take_shared_back(system.environment, shared)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def compiled() -> kernel.Kernels:
    """The compiled kernels."""
    return kernel.build(compiled=True)


def rounds_of(system: NS2, history: History) -> Rounds:
    """The history as the kernel reads it; its maps are in the system's ledger from now on."""
    matches, members = len(history), len(history.members)
    if not history.pairs:
        raise RatingError("ns2 rates two teams, no other number")
    spans = history.spans or Spans(np.zeros(members + 1, np.int64), *_NO_SPANS)
    _check_span_teams(spans)
    return Rounds(
        teams=history.teams,
        members=history.members,
        ranks=history.ranks,
        started_at=np.where(np.isnan(history.started_at), NEVER, history.started_at),
        seconds=_or(history.seconds, matches, np.nan),
        weight=_or(history.weight, matches, 1.0),
        fraction_played=np.empty(0) if history.fraction_played is None else history.fraction_played,
        sign=_signs(history, system.params.plus_side),
        maps=_map_numbers(history, system.environment),
        spans=spans.starts,
        span_team=spans.team,
        span_start=spans.start,
        span_end=spans.end,
        span_commander=spans.commander,
    )


def records_of(system: NS2, history: History) -> NDArray[np.void]:
    """Everybody in the history as the system holds him."""
    held = map(system.held, history.players)
    return np.array(list(map(attrgetter(*FIELDS), held)), RECORD).view(np.recarray)


def write_back(system: NS2, history: History, records: NDArray[np.void], took_part: Flags) -> None:
    """Who took part is held from now on, others only if they were."""
    for number, record in zip(np.flatnonzero(took_part).tolist(), records[took_part].tolist(), strict=True):
        system.players[history.players[number]] = Player(*record)


def shared_of(environment: Environment) -> Shared:
    """A copy in arrays."""
    wins, rounds, lengths, ordered = (np.array(each, np.float64) for each in environment.shared[:4])
    return Shared(wins, rounds, lengths, ordered, np.array(environment.shared.cursor, np.int64))


def take_shared_back(environment: Environment, shared: Shared) -> None:
    """The arrays as the ledger's lists."""
    environment.shared = Shared(*(np.asarray(each).tolist() for each in shared))


def play_of(rounds: Rounds) -> Play:
    """Room for any of the matches: for the most participants or spans that one has."""
    begins = np.asarray(rounds.teams)[::2]
    most = np.diff(begins), np.diff(np.asarray(rounds.spans)[begins])
    size = max(int(each.max(initial=0)) for each in most)
    return Play(*(np.empty(size) for _ in Play._fields))


_NO_SPANS = (np.empty(0, np.int32), np.empty(0), np.empty(0), np.empty(0, np.bool_))


def _or(values: Floats | None, rows: int, unknown: float) -> Floats:
    return np.full(rows, unknown) if values is None else values


def _check_span_teams(spans: Spans) -> None:
    if spans.team.min(initial=0) < 0 or spans.team.max(initial=0) > 1:
        raise RatingError("history: spans of a third team")


def _signs(history: History, plus_side: str) -> Floats:
    if history.side is None or plus_side not in history.sides:
        return np.zeros(len(history))
    plus: Floats = (history.side == history.sides.index(plus_side)).astype(np.float64)
    return plus[::2] - plus[1::2]


def _map_numbers(history: History, environment: Environment) -> Numbers:
    if history.map is None:
        return np.full(len(history), UNKNOWN, np.int32)
    played = np.flatnonzero(np.bincount(history.map + 1)[1:])
    numbers = np.full(len(history.maps) + 1, UNKNOWN, np.int32)
    for each in played.tolist():
        numbers[each] = environment.enter(history.maps[each])
    return numbers[history.map]
