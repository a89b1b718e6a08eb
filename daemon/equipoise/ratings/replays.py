"""Replays of a history by the kernels of Elo, Glicko, SynElo, TrueSkill and Weng-Lin; needs numpy.

A replay converts the players' records to arrays, runs the compiled kernel over all matches, and writes the records
back.  Families whose replay does more have a `replay.py` of their own.
"""

from __future__ import annotations

from array import array
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.elo import formulas as elo
from equipoise.ratings.elo.system import Elo, EloFamily
from equipoise.ratings.glicko import formulas as glicko
from equipoise.ratings.glicko.formulas import IN_VECTORS, Block, GlickoPlayer
from equipoise.ratings.glicko.system import GlickoFamily
from equipoise.ratings.history import Floats, History, Offsets, Replayed
from equipoise.ratings.parts.compiling import compiled
from equipoise.ratings.parts.match_arrays import MatchArrays
from equipoise.ratings.parts.points import Record
from equipoise.ratings.parts.record_arrays import dtype_of, only_duels, refuse_other_than_pairs, to_records, write_back
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.synelo import formulas as synelo
from equipoise.ratings.synelo.system import SynElo
from equipoise.ratings.trueskill import formulas as gaussian
from equipoise.ratings.trueskill.formulas import GaussianAnswers, GaussianSkill
from equipoise.ratings.trueskill.system import GaussianSystem
from equipoise.ratings.weng_lin import formulas as weng_lin
from equipoise.ratings.weng_lin.system import WengLin

ELO_RECORD = dtype_of(Record)
GLICKO_RECORD = dtype_of(GlickoPlayer)
SYNELO_RECORD = dtype_of(synelo.SynEloPlayer)
GAUSSIAN_RECORD = dtype_of(GaussianSkill)

NOTHING: Floats = np.empty(0)


def replay_elo(system: Elo, history: History) -> Replayed:
    """Rate a history by Elo; raises `RatingError` for a match of more than two teams."""
    refuse_other_than_pairs(system.name, history)
    return run_elo(system, history, history.arrays(), elo_terms(system, history))


def elo_terms(system: Elo, history: History) -> elo.MatchTerms:
    """`Elo.terms` for every match of a history."""
    points = history.points if system.params.reads_margin else None
    return elo.MatchTerms(
        lead=elo_leads(system, history),
        margin=NOTHING if points is None else points[0::2] - points[1::2],
        scores=NOTHING,
        protected=np.empty(0, np.bool_),
    )


def elo_leads(system: EloFamily[Any, Any], history: History) -> Floats:
    """`EloFamily.lead` for every match, shape (m,); empty if no side has a name or an advantage."""
    if history.side is None or not system.advantage:
        return NOTHING
    # UNKNOWN is -1, so it indexes the last row.
    points = np.array([system.advantage * (side == system.favoured) for side in (*history.sides, "")])
    # One points per side's name and, last, 0 for a team without one.
    points_of_side = points[history.side]
    lead: Floats = points_of_side[0::2] - points_of_side[1::2]
    return lead


def run_elo(system: EloFamily[Any, Any], history: History, matches: MatchArrays, terms: elo.MatchTerms) -> Replayed:
    """Rate the matches of a history by the compiled elo."""
    records = to_records(system, history.players, ELO_RECORD)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    _elo_kernel()(matches, terms, only_duels(history), records, wins, after, system.constants)
    write_back(system, history.players, records)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def _elo_kernel() -> Any:
    return compiled(elo.replay, inline="all")


def replay_glicko(system: GlickoFamily[Any], history: History) -> Replayed:
    """Rate a history by Glicko or Glicko-2; duels many at a time."""
    refuse_other_than_pairs(system.name, history)
    # Unsigned indexes spare the compiled loops the handling of negative ones.
    matches = history.arrays()._replace(members=history.members.view(np.uint32))
    block = Block(np.full(len(history.players), -1), *np.empty((len(Block._fields) - 1, glicko.BLOCK)))
    records = to_records(system, history.players, GLICKO_RECORD)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    _glicko_kernel()(matches, only_duels(history), records, wins, after, block, system.constants)
    write_back(system, history.players, records)
    return Replayed(wins, np.zeros(len(history)), after)


@cache
def _glicko_kernel() -> Any:
    return compiled(glicko.replay, inline="all", called=glicko.CALLED, instead=IN_VECTORS, fastmath={"contract"})


def replay_synelo(system: SynElo, history: History) -> Replayed:
    """Rate a history and write the windows back; raises `RatingError` for a match of more than two teams."""
    refuse_other_than_pairs(system.name, history)
    records = to_records(system, history.players, SYNELO_RECORD)
    before = records["rounds"].copy()
    players = _players(system, history, records)
    wins, after = np.empty(len(history.ranks)), np.empty(len(history.members))
    _synelo_kernel()(history.arrays(), players, wins, after, system.constants)
    write_back(system, history.players, records)
    for number in np.flatnonzero(records["rounds"] > before).tolist():
        record = system.players[history.players[number]]
        rows = slice(players.bases[number], players.bases[number] + record.count)
        record.ring = array("d", players.rings[rows].astype(np.float64).tobytes())
        record.errors = array("q", players.errors[rows].tobytes())
    return Replayed(wins, np.zeros(len(history)), after)


def _players(system: SynElo, history: History, records: NDArray[np.void]) -> synelo.Players:
    """The records, with copies of all windows one behind another in one array."""
    # No more rows than a player can fill: in a long history most players never fill a window.
    most = records["count"] + np.bincount(history.members, minlength=len(records))
    bases = np.cumsum(np.concatenate(([0], np.minimum(most, system.window))), dtype=np.int64)
    # Whole points up to `synelo.system.LIMIT` fit a float's 24 bits exactly.
    rings = np.zeros(bases[-1], np.float32 if system.constants.whole else np.float64)
    errors = np.zeros(bases[-1], np.int64)
    for player, base in zip(history.players, bases.tolist(), strict=False):
        if record := system.players.get(player):
            rings[base : base + record.count] = record.ring
            errors[base : base + record.count] = record.errors
    return synelo.Players(records, rings, errors, bases)


@cache
def _synelo_kernel() -> Any:
    return compiled(synelo.replay, inline="all", instead=synelo.IN_ARRAYS)


def replay_gaussian(system: GaussianSystem[Any], history: History) -> Replayed:
    """Rate a history of matches between any number of teams by TrueSkill."""
    return run_gaussian(system, history, _gaussian_kernel(), system.constants)


def replay_weng_lin(system: WengLin, history: History) -> Replayed:
    """Rate a history of matches between any number of teams by Weng-Lin."""
    return run_gaussian(system, history, _weng_lin_kernel(), system.rules)


def run_gaussian(system: GaussianSystem[Any], history: History, kernel: Any, constants: NamedTuple) -> Replayed:
    """Rate a history by the kernel of a Gaussian system."""
    records = to_records(system, history.players, GAUSSIAN_RECORD)
    result = Replayed(*(np.empty(len(column)) for column in (history.ranks, history, history.members)))
    answers = GaussianAnswers(result.wins, result.draws, result.after)
    # Then one sum over a team serves for prediction and learning.
    whole = history.lineup is None and history.skill_at_start is None and history.fraction_played is None
    kernel(history.arrays(), whole, records, allocate_sides(history.matches), answers, constants)
    write_back(system, history.players, records)
    return result


@cache
def _gaussian_kernel() -> Any:
    # The kernel allocates nothing, so numba need not count references to arrays: the option is private to it.
    return compiled(gaussian.replay, _nrt=False)


@cache
def _weng_lin_kernel() -> Any:
    return compiled(weng_lin.replay, _nrt=False)


def allocate_sides(matches: Offsets) -> Teams:
    """Working arrays for the match with most teams; `matches` is of shape (m + 1,), as in `History`."""
    most = int(np.diff(matches).max(initial=2))
    return Teams(*(np.array(column) for column in Teams.of(most)))
