"""Histories on their way to the arrays of TrueSkill 2's kernels and back; needs numpy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.ratings import trueskill2_kernel as kernel
from equipoise.ratings.history import ALONE, UNKNOWN, Floats, History, Replayed
from equipoise.ratings.scene import COMPLETED, LEFT, Scene
from equipoise.ratings.teams import Teams
from equipoise.ratings.trueskill2_players import Skill

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2 import TrueSkill2

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
    take_back(system, history, cast, players)
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
    doors, seated, standing = history.lineup
    rounds = kernel.Rounds(
        row=np.array([system.rows.get(name, 0) for name in modes], np.int64)[mode],
        started_at=history.started_at,
        minutes=minutes,
        matches=history.matches,
        teams=history.teams,
        ranks=history.ranks.astype(np.int64),
        chain=chain,
        person=history.members.astype(np.int64),
        share=_known(history.share, len(chain), 1.0),
        kills=_known(history.kills, len(chain), np.nan),
        deaths=_known(history.deaths, len(chain), np.nan),
        left=_left(history),
        squad=squad,
        doors=doors,
        seat_chain=seat_chain,
        seat_person=seated.astype(np.int64),
        seat_squad=_seat_squads(history, squad),
        standing=standing if len(standing) else np.full(len(seated), np.nan),
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


def take_back(system: TrueSkill2, history: History, cast: Cast, players: kernel.Players) -> None:
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
    doors, _, _ = history.lineup
    seats = np.diff(history.teams[history.matches]) + np.diff(doors[history.matches])
    teams = int(np.diff(history.matches).max(initial=2))
    scene, sides = Scene.of(int(seats.max(initial=2)), teams), Teams.of(teams)
    return Scene(*(np.array(room) for room in scene)), Teams(*(np.array(room) for room in sides))


def _chains(history: History, mode: Whole, modes: int) -> tuple[Whole, Whole, Whole]:
    """Who played or sat in which mode, as person * modes + mode; the place there of participants and seats."""
    matches = np.arange(len(history))
    of_team = np.repeat(matches, np.diff(history.matches))
    doors, seated, _ = history.lineup
    played = history.members * modes + mode[np.repeat(of_team, np.diff(history.teams))]
    sat = seated * modes + mode[np.repeat(of_team, np.diff(doors))]
    known = np.unique(np.concatenate((played, sat[seated >= 0])))
    seat_chain = np.where(seated >= 0, np.searchsorted(known, sat), kernel.BOT_SEAT)
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
    if history.seated is None:
        return squad
    if history.squad is None:
        return np.ones(len(history.seated), np.int64)
    many = len(history.players)
    match_of_team = np.repeat(np.arange(len(history)), np.diff(history.matches))
    played = np.repeat(match_of_team, np.diff(history.teams)) * many + history.members
    doors, seated, _ = history.lineup
    sat = np.repeat(match_of_team, np.diff(doors)) * many + seated
    order = np.argsort(played)
    place = np.minimum(np.searchsorted(played, sat, sorter=order), len(played) - 1)
    found = order[place]
    return np.where((played[found] == sat) & (seated >= 0), squad[found], 1)


def _left(history: History) -> Whole:
    quits = np.zeros(len(history.members), np.bool_) if history.quit is None else history.quit
    return np.where(quits, LEFT, COMPLETED).astype(np.int64)


def _known(values: Floats | None, count: int, unknown: float) -> Floats:
    return np.full(count, unknown) if values is None else np.where(np.isnan(values), unknown, values)
