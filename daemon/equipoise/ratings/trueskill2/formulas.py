"""TrueSkill 2's online loop: skills drift, a match is predicted, what it says is taken in.

One function rates one match for the live path and for replays: `Rounds` and `Players` are of lists or of arrays.  A
player's skill in a mode is w·base + own part, two Gaussians that are kept apart (equation (20) of Minka, Cleven &
Zaykov 2018; their dependence is dropped, as the paper does).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts import compiling as compiled_kernel
from equipoise.ratings.parts.team_order import Teams, expect
from equipoise.ratings.trueskill2.expectation_propagation import infer, told
from equipoise.ratings.trueskill2.factor_graph import BETA2, GAMMA2, MARGIN, TAU2, UNTOLD, Scene
from equipoise.ratings.trueskill2.params import (
    BASE_GAMMA2,
    BASE_TAU2,
    BASE_WEIGHT,
    BOT,
    EXPERIENCE,
    MATCHES,
    SQUAD,
    SQUADS,
)
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.trueskill2.factor_graph import Floats, Ints, Row

    Table: TypeAlias = "Sequence[Row] | NDArray[np.float64]"

BOT_SEAT = -1

PER_MINUTE = 60.0

PAIRED = 0.5
"""`Teams.size`: two of them make 1, so that the draw margin is ε whatever the sizes are."""


class Rounds(NamedTuple):
    """A history as the loop reads it: m matches of t teams with p participants, s seats at the doors."""

    row: Ints
    """Shape (m,): the match's parameters in the table."""
    started_at: Floats
    """Shape (m,): seconds since the epoch; NaN unknown."""
    minutes: Floats
    """Shape (m,): NaN unknown."""
    matches: Ints
    """Shape (m + 1,): where each match's teams begin."""
    teams: Ints
    """Shape (t + 1,): where each team's participants begin."""
    ranks: Ints
    chain: Ints
    """Shape (p,): a participant's skill in the match's mode."""
    person: Ints
    """Shape (p,): himself."""
    fraction_played: Floats
    kills: Floats
    deaths: Floats
    left: Ints
    """Shape (p,): as `Scene.left`."""
    squad: Ints
    """Shape (p,): size of his squad, 1 alone."""
    lineup: Ints
    """Shape (t + 1,): where each team's seats begin."""
    seat_chain: Ints
    """Shape (s,): or `BOT_SEAT`."""
    seat_person: Ints
    seat_squad: Ints
    skill_at_start: Floats
    """Shape (s,): NaN where unknown; skill as it was at the doors."""


class Players(NamedTuple):
    """Skills of a history's players: n modes' own parts, and k people's base; modified in place."""

    mean: Floats
    variance: Floats
    rounds: Ints
    last: Floats
    """When it last played; `NEVER`."""
    base_mean: Floats
    base_variance: Floats
    base_last: Floats


def elapsed(last: float, now: float) -> float:
    """Minutes; 0 where a time is unknown."""
    return (now - last) / PER_MINUTE if now > last > NEVER else 0.0


def skill_of(players: Players, chain: int, person: int, now: float, c: Row) -> tuple[float, float]:
    """Mean and variance of a skill at a time."""
    weight = c[BASE_WEIGHT]
    own = players.variance[chain] + c[TAU2] * elapsed(players.last[chain], now)
    base = players.base_variance[person] + c[BASE_TAU2] * elapsed(players.base_last[person], now)
    return players.mean[chain] + weight * players.base_mean[person], own + weight * weight * base


def predict_match(match: int, rounds: Rounds, players: Players, sides: Teams, c: Row) -> float:
    """Fill `sides.wins` for those at the doors, all of whom play to the end; returns the chance of a draw."""
    first, end = rounds.matches[match], rounds.matches[match + 1]
    for team in range(first, end):
        total = spread = 0.0
        for seat in range(rounds.lineup[team], rounds.lineup[team + 1]):
            mean, variance = c[BOT], 0.0
            if rounds.seat_chain[seat] != BOT_SEAT:
                chain, person = rounds.seat_chain[seat], rounds.seat_person[seat]
                mean, variance = skill_of(players, chain, person, rounds.started_at[match], c)
                if not math.isnan(rounds.skill_at_start[seat]):
                    mean = rounds.skill_at_start[seat]
            total += mean + c[SQUAD + min(rounds.seat_squad[seat], SQUADS) - 1]
            spread += variance + c[BETA2]
        sides.mean[team - first], sides.variance[team - first], sides.size[team - first] = total, spread, PAIRED
    return expect(sides, end - first, c[MARGIN])


def seat_everybody(match: int, rounds: Rounds, players: Players, scene: Scene, c: Row) -> int:
    """Take every team's participants to the scene, then the bots at its door; returns how many seats are taken.

    A function of its own, or numba would take the seats to be 0 at first, and compile all that they are given to twice.
    """
    seats, now = 0, rounds.started_at[match]
    for team in range(rounds.matches[match], rounds.matches[match + 1]):
        number = team - rounds.matches[match]
        for place in range(rounds.teams[team], rounds.teams[team + 1]):
            mean, variance = skill_of(players, rounds.chain[place], rounds.person[place], now, c)
            mean += c[SQUAD + min(rounds.squad[place], SQUADS) - 1]
            take_seat(seats, number, mean, variance + c[BETA2], scene)
            take_facts(seats, match, place, rounds, scene)
            seats += 1
        for _ in range(bots_at(team, rounds)):
            take_seat(seats, number, c[BOT], c[BETA2], scene)
            seats += 1
    return seats


def take_seat(seat: int, team: int, mean: float, variance: float, scene: Scene) -> None:
    """Somebody who plays to the end and of whom nothing is told."""
    scene.mean[seat], scene.variance[seat], scene.team[seat] = mean, variance, team
    scene.fraction_played[seat], scene.left[seat] = 1.0, UNTOLD
    scene.minutes[seat] = scene.kills[seat] = scene.deaths[seat] = math.nan


def take_facts(seat: int, match: int, place: int, rounds: Rounds, scene: Scene) -> None:
    """What is told of a participant."""
    scene.fraction_played[seat], scene.left[seat] = rounds.fraction_played[place], rounds.left[place]
    scene.minutes[seat] = rounds.fraction_played[place] * rounds.minutes[match]
    scene.kills[seat], scene.deaths[seat] = rounds.kills[place], rounds.deaths[place]


def experience_of(rounds: int, c: Row) -> float:
    """(8): what a skill gains by a match that followed so many."""
    return c[EXPERIENCE + min(rounds, MATCHES)]


def take_in(chain: int, person: int, slope: float, curvature: float, now: float, players: Players, c: Row) -> None:
    """What a match says of a skill, by derivatives by its mean; then what playing it does to the skill."""
    weight = c[BASE_WEIGHT]
    own = players.variance[chain] + c[TAU2] * elapsed(players.last[chain], now)
    base = players.base_variance[person] + c[BASE_TAU2] * elapsed(players.base_last[person], now)
    pull = weight * base
    players.mean[chain] += own * slope + experience_of(players.rounds[chain], c)
    players.variance[chain] = own + own * own * curvature + c[GAMMA2]
    players.base_mean[person] += pull * slope
    players.base_variance[person] = base + pull * pull * curvature + c[BASE_GAMMA2]
    players.rounds[chain] += 1
    if now > players.last[chain]:
        players.last[chain] = now
    if now > players.base_last[person]:
        players.base_last[person] = now


def rate_match(
    match: int, rounds: Rounds, players: Players, scene: Scene, sides: Teams, after: Floats, c: Row
) -> tuple[float, bool]:
    """Fill `sides.wins` and `after` (per participant); the chance of a draw, and whether the sites converged."""
    first, end = rounds.matches[match], rounds.matches[match + 1]
    drawn = predict_match(match, rounds, players, sides, c)
    seats = seat_everybody(match, rounds, players, scene, c)
    _, converged = infer(scene, seats, rounds.ranks, first, end - first, False, c)
    seat = 0
    for team in range(first, end):
        for place in range(rounds.teams[team], rounds.teams[team + 1]):
            chain, person = rounds.chain[place], rounds.person[place]
            slope, curvature = told(scene, seats, seat)
            take_in(chain, person, slope, curvature, rounds.started_at[match], players, c)
            after[place] = players.mean[chain] + c[BASE_WEIGHT] * players.base_mean[person]
            seat += 1
        seat += bots_at(team, rounds)
    return drawn, converged


def bots_at(team: int, rounds: Rounds) -> int:
    """How many bots stand at a team's door."""
    bots = 0
    for seat in range(rounds.lineup[team], rounds.lineup[team + 1]):
        if rounds.seat_chain[seat] == BOT_SEAT:
            bots += 1
    return bots


def rate_rounds(
    rounds: Rounds,
    players: Players,
    scene: Scene,
    sides: Teams,
    table: Table,
    wins: Floats,
    draws: Floats,
    after: Floats,
) -> int:
    """Rate match after match; fills `wins` (per team), `draws` and `after`; how many did not converge."""
    stuck = 0
    for match in range(len(rounds.row)):
        c = table[rounds.row[match]]
        draws[match], converged = rate_match(match, rounds, players, scene, sides, after, c)
        stuck += not converged
        for team in range(rounds.matches[match], rounds.matches[match + 1]):
            wins[team] = sides.wins[team - rounds.matches[match]]
    return stuck


Replay: TypeAlias = Callable[
    [Rounds, Players, Scene, Teams, "Table", "Floats", "Floats", "Floats"],
    int,
]


def build(*, compiled: bool) -> Replay:
    """`rate_rounds` as it stands here, or compiled."""
    return compiled_kernel.compiled(rate_rounds) if compiled else rate_rounds
