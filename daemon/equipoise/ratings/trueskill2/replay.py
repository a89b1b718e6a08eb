"""Replays a history by TrueSkill 2's kernel; needs numpy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.history import UNKNOWN, History, Replayed
from equipoise.ratings.parts.compiling import UNCOUNTED, compiled
from equipoise.ratings.parts.match_arrays import MatchArrays
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.trueskill2.factor_graph import COMPLETED, LEFT, FactorGraph
from equipoise.ratings.trueskill2.formulas import (
    NO_CHAIN,
    PER_MINUTE,
    RateMatches,
    Skills,
    TrueSkill2Arrays,
    rate_matches,
)

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.system import TrueSkill2

Whole: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class IndexedHistory:
    """A history as the kernels read it, and the player and mode of each chain."""

    matches: MatchArrays
    facts: TrueSkill2Arrays
    chains: tuple[tuple[int, str], ...]
    """For each chain, the index of the player in `History.players`, and the mode."""


def replay(system: TrueSkill2, history: History, run: RateMatches | None = None) -> Replayed:
    """Rate a history by `run`, which is `rate_matches`; by default compiled."""
    columns = index(system, history)
    skills, table = skills_of(system, history, columns), np.array(system.table)
    wins, draws = np.empty(len(history.ranks)), np.empty(len(history))
    after = np.empty(len(history.members))
    graph, sides = allocate(history)
    system.stuck += (run or _compiled())(
        columns.matches, columns.facts, skills, graph, sides, table, wins, draws, after
    )
    write_back(system, history, columns, skills)
    return Replayed(wins, draws, after)


@cache
def _compiled() -> RateMatches:
    return compiled(rate_matches, **UNCOUNTED)


def index(system: TrueSkill2, history: History) -> IndexedHistory:
    """Convert a history to arrays; each player has a chain for each mode they played or were in a lineup of."""
    modes = (*history.modes, "")
    mode = np.full(len(history), UNKNOWN) if history.mode is None else history.mode.astype(np.int64)
    matches, squad = history.arrays(), history.squad_sizes
    # UNKNOWN is -1: modulo it is the last, the mode without a name.
    chains, chain, lineup_chain = _chains(matches, mode % len(modes), len(modes))
    facts = TrueSkill2Arrays(
        row=np.array([system.rows.get(name, 0) for name in modes], np.int64)[mode],
        minutes=np.full(len(history), np.nan) if history.seconds is None else history.seconds / PER_MINUTE,
        chain=chain,
        lineup_chain=lineup_chain,
        kills=np.full(len(chain), np.nan) if history.kills is None else history.kills,
        deaths=np.full(len(chain), np.nan) if history.deaths is None else history.deaths,
        ending=_endings(history),
        squad=squad,
        lineup_squad=_lineup_squads(history, squad),
    )
    owners = tuple((int(chain_number) // len(modes), modes[int(chain_number) % len(modes)]) for chain_number in chains)
    return IndexedHistory(matches, facts, owners)


def skills_of(system: TrueSkill2, history: History, indexed: IndexedHistory) -> Skills:
    """Copies of the skills of all players in the history, as arrays."""
    people = [system.held(player) for player in history.players]
    own = [system.own(people[person], mode) for person, mode in indexed.chains]
    return Skills(
        mean=np.array([skill.mean for skill in own]),
        variance=np.array([skill.variance for skill in own]),
        rounds=np.array([skill.rounds for skill in own], np.int64),
        last=np.array([skill.last for skill in own]),
        base_mean=np.array([player.base_mean for player in people]),
        base_variance=np.array([player.base_variance for player in people]),
        base_last=np.array([player.base_last for player in people]),
    )


def write_back(system: TrueSkill2, history: History, indexed: IndexedHistory, skills: Skills) -> None:
    """Store the skills of all participants; players who were only in a lineup are left out."""
    for chain in np.unique(indexed.facts.chain).tolist():
        person, mode = indexed.chains[chain]
        player = history.players[person]
        system.players.setdefault(player, system.held(player)).learn(mode, skills, chain, person)


def allocate(history: History) -> tuple[FactorGraph, Teams]:
    """Allocate arrays for the match with most participants and lineup members, and the one with most teams."""
    lineup, _, _ = history.predicted_lineup
    players = np.diff(history.teams[history.matches]) + np.diff(lineup[history.matches])
    teams = int(np.diff(history.matches).max(initial=2))
    graph, sides = FactorGraph.allocate(int(players.max(initial=2)), teams), Teams.of(teams)
    return FactorGraph(*(np.array(column) for column in graph)), Teams(*(np.array(column) for column in sides))


def _chains(matches: MatchArrays, mode: Whole, modes: int) -> tuple[Whole, Whole, Whole]:
    """All chains, as player * modes + mode; and the index of each participant's and each lineup member's among them."""
    match_of_team = np.repeat(np.arange(len(mode)), np.diff(matches.matches))
    members, lineup_members = np.asarray(matches.members, np.int64), np.asarray(matches.lineup.members, np.int64)
    chains = members * modes + mode[np.repeat(match_of_team, np.diff(matches.teams))]
    lineup_chains = lineup_members * modes + mode[np.repeat(match_of_team, np.diff(matches.lineup.starts))]
    distinct = np.unique(np.concatenate((chains, lineup_chains[lineup_members >= 0])))
    lineup_index = np.where(lineup_members >= 0, np.searchsorted(distinct, lineup_chains), NO_CHAIN)
    return distinct, np.searchsorted(distinct, chains), lineup_index


def _lineup_squads(history: History, squad: Whole) -> Whole:
    """Shape (s,): squad size of each lineup member, 1 for players who did not take part."""
    if history.lineup_members is None:
        return squad
    if history.squad is None:
        return np.ones(len(history.lineup_members), np.int64)
    count = len(history.players)
    match_of_team = np.repeat(np.arange(len(history)), np.diff(history.matches))
    places = np.repeat(match_of_team, np.diff(history.teams)) * count + history.members
    lineup, lineup_members, _ = history.predicted_lineup
    lineup_places = np.repeat(match_of_team, np.diff(lineup)) * count + lineup_members
    order = np.argsort(places)
    # Players of the lineup alone may sort behind all participants; the comparison below finds them out.
    place = np.minimum(np.searchsorted(places, lineup_places, sorter=order), len(places) - 1)
    match = order[place]
    return np.where((places[match] == lineup_places) & (lineup_members >= 0), squad[match], 1)


def _endings(history: History) -> Whole:
    quits = np.zeros(len(history.members), np.bool_) if history.quit is None else history.quit
    return np.where(quits, LEFT, COMPLETED).astype(np.int64)
