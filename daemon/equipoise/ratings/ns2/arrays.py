"""What NS2's kernel reads and writes: players, rounds, what they played, and what they leave behind.

Numba's cache does not notice when fields change their order here: then change `ns2_kernel` too, be it by a touch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts.players import bounded
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = "list[float] | NDArray[np.float64]"
    Ints: TypeAlias = "list[int] | NDArray[np.int64] | NDArray[np.int32]"
    Flags: TypeAlias = "list[bool] | NDArray[np.bool_]"
    Records: TypeAlias = "list[Player] | NDArray[np.void]"


@dataclass(slots=True)
class Player:
    """What NS2 knows of a player; skills in log-odds."""

    skill: float
    """s, the average of his sides."""
    commander: float
    """χ."""
    offset: float = 0.0
    """o: s + o on the plus side, s - o on the other."""
    squares: float = bounded(0.0, math.inf, 0.0)
    """g: squared gradients of s so far."""
    commander_squares: float = bounded(0.0, math.inf, 0.0)
    """g of χ."""
    rounds: int = 0
    last_played: float = NEVER


RECORD = ("skill", "commander", "offset", "squares", "commander_squares", "rounds", "last_played")
"""The fields of a player in a replay's record."""


class Constants(NamedTuple):
    """The parameters as the formulas read them."""

    constant: float
    adagrad: float
    epsilon: float
    field_share: float
    prior_rounds: float
    large_above: float
    usual_seconds: float


class Rounds(NamedTuple):
    """Two-team matches as they are rated; shapes and unknown values as in `History`."""

    teams: Ints
    members: Ints
    ranks: Ints
    started_at: Floats
    """`NEVER` where unknown."""
    seconds: Floats
    weight: Floats
    fraction_played: Floats
    """Empty where nothing is known of anybody."""
    sign: Floats
    """Per match: 1 if its first team is on the plus side, -1 if its second is, 0 where sides are alike."""
    maps: Ints
    """Per match: number of its map in `Shared.wins`, negative where unknown."""
    spans: Ints
    span_team: Ints
    span_start: Floats
    span_end: Floats
    span_commander: Flags


class Play(NamedTuple):
    """Room for one match: what its participants did, as coefficients of their skills in its log-odds, and who they are.

    Side by side in arrays of their own, so that loops over participants run in vector units.
    """

    average: Floats
    """Of s; this and the next four `weigh` fills."""
    side: Floats
    """Of o."""
    commander: Floats
    """Of χ."""
    time: Floats
    """Not a coefficient: his time weight in any role; 0 if he did not play.

    Until all is added up it is his time in the second team's chair, and `commander` that in the first's.
    """
    spans: Floats
    """Time weights of the match's spans, negative for the second team; only `weigh` reads them."""
    skill: Floats
    """As in `Player`; this and the next two `look_up` fills."""
    offset: Floats
    squares: Floats


class Coefficients(NamedTuple):
    """As in `Play`, of all participants of all matches."""

    average: Floats
    side: Floats
    commander: Floats
    time: Floats


class Shared(NamedTuple):
    """What belongs to no player; modified in place."""

    wins: Floats
    """Won by the plus side, a draw being half: of all rounds, then `TALLIES` of each map."""
    rounds: Floats
    """Played, likewise."""
    lengths: Floats
    """The last rounds' lengths in seconds; as many as the median looks back, infinite where there are none yet."""
    ordered: Floats
    """The same, shortest first."""
    cursor: Ints
    """How many lengths are known, and where the next one's place is: that of the oldest in a full window."""
