"""A match as TrueSkill 2 looks at it: who played how much in which team, and the sites of all that is known.

A row `c` of parameters is as `trueskill2_params` makes it.  Plain functions that numba compiles as they stand
(`compiled_kernel`); `Scene` is of lists or of arrays.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.trueskill2.quits import QUIT_RELATED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = "MutableSequence[float] | NDArray[np.float64]"
    Ints: TypeAlias = "MutableSequence[int] | NDArray[np.int64]"
    Row: TypeAlias = "Sequence[float] | NDArray[np.float64]"

INITIAL, VARIANCE, GAMMA2, TAU2, BETA2, MARGIN = range(6)
"""Where a parameter stands in a row; those of counts follow, then those of `quits`."""
KILL_OWN, KILL_OPPONENT, KILL_VARIANCE, DEATH_OWN, DEATH_OPPONENT, DEATH_VARIANCE = range(6, 12)

KILLS, DEATHS, NO_KILLS, NO_DEATHS, QUIT, STAYED, WON, DRAWN = range(8)
"""Kinds of sites; up to `DEATHS` they are Gaussian, from `WON` on about teams."""

COMPLETED, LEFT, UNTOLD = range(3)
"""`Scene.left`."""

ABSENT = 1e-9
"""A team with no more presence performs 0, for certain: nobody played in it."""

RIGID = 1e-12
"""What a site leaves of a variance at least: a draw without a margin would leave nothing."""


class Scene(NamedTuple):
    """The seats and teams of one match and room for what is computed of them; all modified in place."""

    mean: Floats
    """By seat: the performance before the match, as is `variance`."""
    variance: Floats
    fraction_played: Floats
    minutes: Floats
    """Played; NaN where unknown."""
    kills: Floats
    """NaN where unknown, as is `deaths`."""
    deaths: Floats
    team: Ints
    left: Ints
    presence: Floats
    """By team: the sum of its shares."""
    facing: Floats
    """By team: 1/the presence of all others; 0 if there is none."""
    order: Ints
    """Teams, from best to worst."""
    heard: Ints
    """By place: 0 where what the order says of it and the place below is not to be heard."""
    posterior: Floats
    """By seat: the joint mean."""
    covariance: Floats
    """Joint, row after row."""
    form: Floats
    """By seat: d's weights."""
    pull: Floats
    """By seat: its covariance with d."""
    kind: Ints
    """By site, as are all that follow."""
    who: Ints
    """Seat; for teams the place of the better one in the order."""
    precision: Floats
    """What it says of d, as precision and as precision times mean."""
    shift: Floats
    most: Floats
    """Of two teams: the precision that it may say at most; 0 where it says nothing."""
    wanted: Floats
    """Of a quit: what d's mean should be, as `width` is what its variance should."""
    width: Floats

    @classmethod
    def of(cls, seats: int, teams: int) -> Scene:
        """Room for so many, as lists."""
        length = dict.fromkeys(cls._fields, seats)
        length |= dict.fromkeys(("presence", "facing", "order", "heard"), teams) | {"covariance": seats * seats}
        length |= dict.fromkeys(("kind", "who", "precision", "shift", "most", "wanted", "width"), 3 * seats + teams)
        whole = ("team", "left", "order", "heard", "kind", "who")
        return cls(**{name: [0 if name in whole else 0.0] * length[name] for name in cls._fields})  # type: ignore[arg-type]


def begin(scene: Scene, seats: int, ranks: Ints, first: int, teams: int) -> None:
    """The joint before anything is known; teams sorted by rank, equal ones as they stand."""
    total = 0.0
    for team in range(teams):
        scene.presence[team] = 0.0
    for seat in range(seats):
        scene.presence[scene.team[seat]] += scene.fraction_played[seat]
        total += scene.fraction_played[seat]
        scene.posterior[seat] = scene.mean[seat]
        for other in range(seats):
            scene.covariance[seat * seats + other] = 0.0
        scene.covariance[seat * seats + seat] = scene.variance[seat]
    for team in range(teams):
        others = total - scene.presence[team]
        scene.facing[team] = 1.0 / others if others > ABSENT else 0.0
        free = team
        while free > 0 and ranks[first + scene.order[free - 1]] > ranks[first + team]:
            scene.order[free] = scene.order[free - 1]
            free -= 1
        scene.order[free] = team


def enter_counts(scene: Scene, seats: int, c: Row) -> int:
    """(9) above zero: count/minutes is N(d, v/minutes), a precision minutes/v and a shift count/v."""
    sites = 0
    for seat in range(seats):
        if scene.minutes[seat] > 0.0:
            if scene.kills[seat] > 0.0 and counted(c, KILL_OWN):
                sites = enter(scene, sites, KILLS, seat)
                scene.precision[sites - 1] = scene.minutes[seat] / c[KILL_VARIANCE]
                scene.shift[sites - 1] = scene.kills[seat] / c[KILL_VARIANCE]
            if scene.deaths[seat] > 0.0 and counted(c, DEATH_OWN):
                sites = enter(scene, sites, DEATHS, seat)
                scene.precision[sites - 1] = scene.minutes[seat] / c[DEATH_VARIANCE]
                scene.shift[sites - 1] = scene.deaths[seat] / c[DEATH_VARIANCE]
    return sites


def enter_rest(scene: Scene, seats: int, sites: int, completed: bool, c: Row) -> int:
    """Counts of zero, and who left; returns how many sites there are now."""
    for seat in range(seats):
        if scene.minutes[seat] > 0.0:
            if scene.kills[seat] == 0.0 and counted(c, KILL_OWN):
                sites = enter(scene, sites, NO_KILLS, seat)
            if scene.deaths[seat] == 0.0 and counted(c, DEATH_OWN):
                sites = enter(scene, sites, NO_DEATHS, seat)
        if c[QUIT_RELATED] > 0.0 and scene.left[seat] == LEFT:
            sites = enter(scene, sites, QUIT, seat)
        if c[QUIT_RELATED] > 0.0 and scene.left[seat] == COMPLETED and completed:
            sites = enter(scene, sites, STAYED, seat)
    return sites


def enter_teams(scene: Scene, seats: int, sites: int, ranks: Ints, first: int, teams: int, c: Row) -> int:
    """The chain of adjacent pairs; returns how many sites there are now."""
    silence_order(scene, ranks, first, teams, c)
    for place in range(teams - 1):
        drawn = ranks[first + scene.order[place]] == ranks[first + scene.order[place + 1]]
        sites = enter(scene, sites, DRAWN if drawn else WON, place)
        variance = 0.0
        for seat in range(seats):
            if scene.team[seat] == scene.order[place] or scene.team[seat] == scene.order[place + 1]:
                variance += scene.fraction_played[seat] * scene.fraction_played[seat] * scene.variance[seat]
        scene.most[sites - 1] = 1.0 / (RIGID * variance) if scene.heard[place] == 1 else 0.0
    return sites


def silence_order(scene: Scene, ranks: Ints, first: int, teams: int, c: Row) -> None:
    """Let places say nothing that have nothing to say, or nothing that can be (`teams.silence`).

    All known performances are 0: they leave room between them if all others draw, or more draw within ε than win by it.
    """
    known, wins, draws = -1, 0, 0
    for place in range(teams):
        scene.heard[place] = 1
        if place > 0 and ranks[first + scene.order[place]] == ranks[first + scene.order[place - 1]]:
            draws += 1
        elif place > 0:
            wins += 1
        if scene.presence[scene.order[place]] <= ABSENT:
            room = wins == 0 or (draws > wins and c[MARGIN] > 0.0)
            if known >= 0 and (place == known + 1 or not room):
                scene.heard[known] = scene.heard[place - 1] = 0
            known, wins, draws = place, 0, 0


def enter(scene: Scene, sites: int, kind: int, who: int) -> int:
    """One more site, that says nothing yet."""
    scene.kind[sites], scene.who[sites] = kind, who
    scene.precision[sites] = scene.shift[sites] = 0.0
    return sites + 1


def counted(c: Row, own: int) -> bool:
    """Whether a count depends on anything: its two weights are next to each other."""
    return c[own] != 0.0 or c[own + 1] != 0.0
