"""Replays a history by NS2's kernel; needs numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import RatingError
from equipoise.ratings.history import UNKNOWN, Flags, Floats, History, Numbers, Replayed, Spans
from equipoise.ratings.ns2.arrays import EnvironmentArrays, NS2Arrays, Player, Workspace
from equipoise.ratings.ns2.environment import Environment
from equipoise.ratings.ns2.formulas import rate_matches
from equipoise.ratings.ns2.time_weights import IN_VECTORS
from equipoise.ratings.parts.compiling import UNCOUNTED, compiled
from equipoise.ratings.parts.match_arrays import MatchArrays

if TYPE_CHECKING:
    from equipoise.ratings.ns2.system import NS2

Kernel: TypeAlias = Callable[..., Any]

FIELDS = tuple(each.name for each in fields(Player))
RECORD = np.dtype([(name, np.int64 if name == "rounds" else np.float64) for name in FIELDS])
"""Row of the kernels' record array, which has shape (n,) in the order of `History.players`."""


def replay(system: NS2, history: History) -> Replayed:
    """Rate a history of two-team matches by the compiled kernel."""
    matches, facts = index(system, history)
    records, environment = records_of(system, history), environment_arrays(system.environment)
    before, work = records["rounds"].copy(), allocate(matches, facts)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    in_machine_code(rate_matches)(matches, facts, records, work, environment, wins, after, system.constants)
    write_back(system, history, records, records["rounds"] > before)
    write_environment_back(system.environment, environment)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def in_machine_code(kernel: Kernel) -> Kernel:
    """Compile a kernel; numba may fuse multiplications with additions, which changes the last bits."""
    return compiled(kernel, inline="all", instead=IN_VECTORS, fastmath={"contract"}, **UNCOUNTED)


def index(system: NS2, history: History) -> tuple[MatchArrays, NS2Arrays]:
    """Convert a history to the kernels' arrays; also enters its maps into the system's environment."""
    if not history.pairs:
        raise RatingError("ns2 rates two teams, no other number")
    spans = history.spans or _no_spans(len(history.members))
    bots = history.bots if history.bots and system.params.bots else _no_spans(len(history))
    _check_span_teams(spans)
    _check_span_teams(bots)
    facts = NS2Arrays(
        seconds=np.full(len(history), np.nan) if history.seconds is None else history.seconds,
        sign=_signs(history, system.params.plus_side),
        maps=_map_numbers(history, system.environment),
        spans=spans.starts,
        span_team=spans.team,
        span_start=spans.start,
        span_end=spans.end,
        span_commander=spans.commander,
        bots=bots.starts,
        bot_team=bots.team,
        bot_start=bots.start,
        bot_end=bots.end,
        bot_commander=bots.commander,
        forecasts=_forecasts(history),
        **_hives(system, history),
    )
    return history.arrays(), facts


def _hives(system: NS2, history: History) -> dict[str, Floats]:
    """The game's own skills of participants who are new to the system; empty where they are not read."""
    columns = {name: getattr(history, name) for name in ("hive_skill", "hive_offset", "hive_commander")}
    if history.hive_skill is None or system.constants.hive_weight == 0.0:
        return dict.fromkeys(columns, np.empty(0))
    new = np.array([player not in system.players for player in history.players], np.bool_)[history.members]
    return {name: np.where(new, column, np.nan) for name, column in columns.items()}


def records_of(system: NS2, history: History) -> NDArray[np.void]:
    """Shape (n,): a copy of the record of each player in the history."""
    records = map(system.held, history.players)
    return np.array(list(map(attrgetter(*FIELDS), records)), RECORD).view(np.recarray)


def write_back(system: NS2, history: History, records: NDArray[np.void], took_part: Flags) -> None:
    """Store the records of players who took part, and of others only if they were held before."""
    for number, record in zip(np.flatnonzero(took_part).tolist(), records[took_part].tolist(), strict=True):
        system.players[history.players[number]] = Player(*record)


def environment_arrays(environment: Environment) -> EnvironmentArrays:
    """A copy of the environment's lists as numpy arrays."""
    wins, rounds, lengths, orders = (np.array(column, np.float64) for column in environment.arrays[:4])
    return EnvironmentArrays(wins, rounds, lengths, orders, np.array(environment.arrays.cursor, np.int64))


def write_environment_back(environment: Environment, arrays: EnvironmentArrays) -> None:
    """Store the replayed arrays in the environment, as lists."""
    environment.arrays = EnvironmentArrays(*(np.asarray(column).tolist() for column in arrays))


def allocate(matches: MatchArrays, facts: NS2Arrays) -> Workspace:
    """Allocate working arrays for the match with most participants and the one with most spans."""
    begins = np.asarray(matches.teams)[::2]
    # `begins` has where each match's participants begin, and `spans` at these where its spans do.
    most = np.diff(begins), np.diff(np.asarray(facts.spans)[begins])
    size = max(int(sizes.max(initial=0)) for sizes in most)
    return Workspace(*(np.empty(size) for _ in Workspace._fields))


def _no_spans(rows: int) -> Spans:
    return Spans(np.zeros(rows + 1, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0), np.empty(0, np.bool_))


def _check_span_teams(spans: Spans) -> None:
    if spans.team.min(initial=0) < 0 or spans.team.max(initial=0) > 1:
        raise RatingError("history: spans of a third team")


def _forecasts(history: History) -> Flags:
    if history.lineup is None:
        return np.zeros(len(history), np.bool_)
    return np.ones(len(history), np.bool_) if history.lineup_known is None else history.lineup_known


def _signs(history: History, plus_side: str) -> Floats:
    if history.side is None or plus_side not in history.sides:
        return np.zeros(len(history))
    plus: Floats = (history.side == history.sides.index(plus_side)).astype(np.float64)
    return plus[::2] - plus[1::2]


def _map_numbers(history: History, environment: Environment) -> Numbers:
    if history.map is None:
        return np.full(len(history), UNKNOWN, np.int32)
    # Maps in use only, in the order of their numbers: a history cut by `head` names others, too. Shifted by one for
    # UNKNOWN, -1.
    maps = np.flatnonzero(np.bincount(history.map + 1)[1:])
    numbers = np.full(len(history.maps) + 1, UNKNOWN, np.int32)
    for number in maps.tolist():
        numbers[number] = environment.enter(history.maps[number])
    return numbers[history.map]
