"""The data of NS2's kernels: players, matches, time weights, and the environment (win counts and lengths).

The fields are lists when a live match is rated, and numpy arrays in a replay; `Player` objects stand for the records of
a structured array.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parameters import NEVER
from equipoise.ratings.parts.player_table import bounded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.match_arrays import Floats, Ints

    Flags: TypeAlias = "list[bool] | NDArray[np.bool_]"
    Records: TypeAlias = "list[Player] | NDArray[np.void]"


@dataclass(slots=True)
class Player:
    """A player's skills, in log-odds, and what the learning rates depend on."""

    skill: float
    """s, the average of both sides."""
    commander: float
    """χ, skill as a commander."""
    offset: float = 0.0
    """o: skill is s + o on the plus side, s - o on the other."""
    squares: float = bounded(0.0, math.inf, 0.0)
    """g: sum of the squared gradients of s so far."""
    commander_squares: float = bounded(0.0, math.inf, 0.0)
    """Sum of the squared gradients of χ so far."""
    fitted: float = bounded(0.0, math.inf, 0.0)
    """g as the last fit left it, 0 before one: what came since was learnt by steps."""
    commander_fitted: float = bounded(0.0, math.inf, 0.0)
    rounds: int = 0
    last_played: float = NEVER
    """Seconds since the epoch."""


class NS2Constants(NamedTuple):
    """The parameters that the kernels read."""

    constant: float
    adagrad: float
    epsilon: float
    field_share: float
    chair_rate: float
    """Learning rates of χ, in those of s."""
    prior_rounds: float
    large_above: float
    usual_seconds: float
    newcomer: float
    """Log-odds: s of a bot."""
    hive_weight: float
    """Weight of the game's own skill in how a player begins, 0 to 1."""
    hive_sign: float
    """1 if the game's offset, which is a marine's, is that of the plus side, else -1."""


class NS2Arrays(NamedTuple):
    """Arrays that NS2 reads of m matches of two teams besides `MatchArrays`; p participants have r spans."""

    seconds: Floats
    """Shape (m,), NaN unknown."""
    sign: Floats
    """Shape (m,): 1 if the first team is on the plus side, -1 if the second is, 0 where sides are alike."""
    maps: Ints
    """Shape (m,): number of the map in `EnvironmentArrays.wins`, negative where unknown."""
    spans: Ints
    """Shape (p + 1,): where each participant's spans begin."""
    span_team: Ints
    """Shape (r,), as are all that follow: 0 for the match's first team."""
    span_start: Floats
    """Seconds since the match began, as is `span_end`."""
    span_end: Floats
    span_commander: Flags
    bots: Ints
    """Shape (m + 1,): where the spans of each match's bots begin, which are in the next four, as above."""
    bot_team: Ints
    bot_start: Floats
    bot_end: Floats
    bot_commander: Flags
    forecasts: Flags
    """Shape (m,): whether the match is predicted from its lineup, and not from the time that was played."""
    hive_skill: Floats
    """Shape (p,), as the next two, in points: the game's own skill of participants who are new; NaN of others and where
    it is unknown. Empty: of nobody."""
    hive_offset: Floats
    hive_commander: Floats


class Workspace(NamedTuple):
    """Working arrays for one match: time weights and skills of its participants.

    They are separate arrays, so that numba can vectorise loops over participants.
    """

    average: Floats
    """Coefficient of s in the match's log-odds; this and the next four are filled by `fill_time_weights`."""
    side: Floats
    """Coefficient of o."""
    commander: Floats
    """Coefficient of χ."""
    time: Floats
    """Time weight in any role; 0 of those who did not play.

    While weights are added up, `commander` holds the time commanding the first team, and this that of the second.
    """
    spans: Floats
    """Time weight of each stretch of the match, negative for the second team; read by `fill_time_weights` only."""
    skill: Floats
    """Skills of players, as in `Player`; this and the next two are filled by `gather_skills`."""
    offset: Floats
    squares: Floats


class Coefficients(NamedTuple):
    """The first four arrays of `Workspace` for all participants of a history; shape (p,)."""

    average: Floats
    side: Floats
    commander: Floats
    time: Floats


class EnvironmentArrays(NamedTuple):
    """Win counts and lengths of rounds; modified in place."""

    wins: Floats
    """Won by the plus side, a draw being half: of all rounds, then `SETS_PER_MAP` numbers for each map."""
    rounds: Floats
    """Rounds played, indexed like `wins`."""
    lengths: Floats
    """Lengths of the last rounds, seconds; as many as the median looks back, infinite where there are none yet."""
    ordered: Floats
    """`lengths`, sorted from the shortest."""
    cursor: Ints
    """Shape (2,): how many lengths are known, and the index of the next one (the oldest, if the window is full)."""
