"""Histories on their way to the arrays of TrueSkill 2's kernels and back; needs numpy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings.history import ALONE, UNKNOWN, Floats, History, Replayed
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.trueskill2 import formulas as kernel
from equipoise.ratings.trueskill2.factor_graph import COMPLETED, LEFT, Scene
from equipoise.ratings.trueskill2.players import Skill

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.system import TrueSkill2

Whole: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """A history as the kernels read it, and whom its numbers mean."""

    rounds: kernel.Rounds
    chains: tuple[tuple[int, str], ...]
    """Person and mode of each chain."""


def replay(system: TrueSkill2, history: History, run: kernel.Replay | None = None) -> Replayed:
    """Rate a history by `run`; by default the compiled kernel."""
    cast = cast_of(system, history)
    players, rows = players_of(system, history, cast), np.array(system.table)
    wins, draws = np.empty(len(history.ranks)), np.empty(len(history))
    after = np.empty(len(history.members))
    scene, sides = room_for(history)
    system.stuck += (run or _compiled())(cast.rounds, players, scene, sides, rows, wins, draws, after)
    write_back(system, history, cast, players)
    return Replayed(wins, draws, after)


@cache
def _compiled() -> kernel.Replay:
    return kernel.build(compiled=True)


def cast_of(system: TrueSkill2, history: History) -> Cast:
    """The arrays that kernels read."""
    modes = (*history.modes, "")
    mode = np.full(len(history), UNKNOWN) if history.mode is None else history.mode.astype(np.int64)
    chains, chain, seat_chain = _chains(history, mode % len(modes), len(modes))
    squad = _squads(history)
    minutes = np.full(len(history), np.nan) if history.seconds is None else history.seconds / kernel.PER_MINUTE
    lineup, lineup_members, skill_at_start = history.predicted_lineup
    rounds = kernel.Rounds(
        row=np.array([system.rows.get(name, 0) for name in modes], np.int64)[mode],
        started_at=history.started_at,
        minutes=minutes,
        matches=history.matches,
        teams=history.teams,
        ranks=history.ranks.astype(np.int64),
        chain=chain,
        person=history.members.astype(np.int64),
        fraction_played=_known(history.fraction_played, len(chain), 1.0),
        kills=_known(history.kills, len(chain), np.nan),
        deaths=_known(history.deaths, len(chain), np.nan),
        left=_left(history),
        squad=squad,
        lineup=lineup,
        seat_chain=seat_chain,
        seat_person=lineup_members.astype(np.int64),
        seat_squad=_seat_squads(history, squad),
        skill_at_start=skill_at_start if len(skill_at_start) else np.full(len(lineup_members), np.nan),
    )
    return Cast(rounds, tuple((int(number) // len(modes), modes[int(number) % len(modes)]) for number in chains))


def players_of(system: TrueSkill2, history: History, cast: Cast) -> kernel.Players:
    """Everybody in the history as the system holds him."""
    people = [system.held(player) for player in history.players]
    own = [system.own(people[person], mode) for person, mode in cast.chains]
    return kernel.Players(
        mean=np.array([skill.mean for skill in own]),
        variance=np.array([skill.variance for skill in own]),
        rounds=np.array([skill.rounds for skill in own], np.int64),
        last=np.array([skill.last for skill in own]),
        base_mean=np.array([player.base_mean for player in people]),
        base_variance=np.array([player.base_variance for player in people]),
        base_last=np.array([player.base_last for player in people]),
    )


def write_back(system: TrueSkill2, history: History, cast: Cast, players: kernel.Players) -> None:
    """Who took part is held from now on; who only stood at the doors is not."""
    for number in np.unique(cast.rounds.chain).tolist():
        person, mode = cast.chains[number]
        player = history.players[person]
        held = system.players.setdefault(player, system.held(player))
        before = system.own(held, mode).rounds
        own = Skill(
            float(players.mean[number]),
            float(players.variance[number]),
            int(players.rounds[number]),
            float(players.last[number]),
        )
        held.base_mean, held.base_variance = float(players.base_mean[person]), float(players.base_variance[person])
        held.base_last = float(players.base_last[person])
        held.modes[mode] = own
        held.rounds += own.rounds - before


def room_for(history: History) -> tuple[Scene, Teams]:
    """For the match with most participants and seats, and that with most teams."""
    lineup, _, _ = history.predicted_lineup
    seats = np.diff(history.teams[history.matches]) + np.diff(lineup[history.matches])
    teams = int(np.diff(history.matches).max(initial=2))
    scene, sides = Scene.of(int(seats.max(initial=2)), teams), Teams.of(teams)
    return Scene(*(np.array(room) for room in scene)), Teams(*(np.array(room) for room in sides))


def _chains(history: History, mode: Whole, modes: int) -> tuple[Whole, Whole, Whole]:
    """Who played or sat in which mode, as person * modes + mode; the place there of participants and seats."""
    matches = np.arange(len(history))
    of_team = np.repeat(matches, np.diff(history.matches))
    lineup, lineup_members, _ = history.predicted_lineup
    played = history.members * modes + mode[np.repeat(of_team, np.diff(history.teams))]
    sat = lineup_members * modes + mode[np.repeat(of_team, np.diff(lineup))]
    known = np.unique(np.concatenate((played, sat[lineup_members >= 0])))
    seat_chain = np.where(lineup_members >= 0, np.searchsorted(known, sat), kernel.BOT_SEAT)
    return known, np.searchsorted(known, played), seat_chain


def _squads(history: History) -> Whole:
    """Shape (p,): size of his squad in his team."""
    if history.squad is None:
        return np.ones(len(history.members), np.int64)
    team = np.repeat(np.arange(len(history.ranks)), np.diff(history.teams))
    squad = history.squad.astype(np.int64) - ALONE  # from 0 on: no number of one team may be another's
    numbers = team * (int(squad.max(initial=0)) + 1) + squad
    _, number, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.where(history.squad == ALONE, 1, sizes[number])


def _seat_squads(history: History, squad: Whole) -> Whole:
    """Shape (s,): as of the participant who sits there; who does not take part is alone."""
    if history.lineup_members is None:
        return squad
    if history.squad is None:
        return np.ones(len(history.lineup_members), np.int64)
    many = len(history.players)
    match_of_team = np.repeat(np.arange(len(history)), np.diff(history.matches))
    played = np.repeat(match_of_team, np.diff(history.teams)) * many + history.members
    lineup, lineup_members, _ = history.predicted_lineup
    sat = np.repeat(match_of_team, np.diff(lineup)) * many + lineup_members
    order = np.argsort(played)
    place = np.minimum(np.searchsorted(played, sat, sorter=order), len(played) - 1)
    found = order[place]
    return np.where((played[found] == sat) & (lineup_members >= 0), squad[found], 1)


def _left(history: History) -> Whole:
    quits = np.zeros(len(history.members), np.bool_) if history.quit is None else history.quit
    return np.where(quits, LEFT, COMPLETED).astype(np.int64)


def _known(values: Floats | None, count: int, unknown: float) -> Floats:
    return np.full(count, unknown) if values is None else np.where(np.isnan(values), unknown, values)
