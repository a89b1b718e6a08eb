"""Beliefs about players, each a Gaussian, and the replay that updates them match by match (`belief`).

A player is anything with the fields of `GaussianSkill`: that object itself in the live path, a record of an array in a
replay.  All are plain functions that numba can compile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts.compiling import compiled as compiled_with
from equipoise.ratings.parts.players import bounded
from equipoise.ratings.parts.team_order import LEAST, Teams, expect, expect_of_two, learn, learn_of_two, margin_of
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Records: TypeAlias = NDArray[np.void]
    Floats: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = NDArray[np.int32]
    Offsets: TypeAlias = NDArray[np.int64]


@dataclass(slots=True)
class GaussianSkill:
    """What is known of a player: skill N(mu, variance)."""

    mu: float
    variance: float = bounded(0.0, math.inf)
    rounds: int = 0
    last_played: float = NEVER


RECORD = ("mu", "variance", "rounds", "last_played")


class Constants(NamedTuple):
    """The parameters as the formulas read them; variances in squared units of skill."""

    mean: float
    """Of a newcomer."""
    variance: float
    noise: float
    """β²: variance of one performance about the skill."""
    unit: float
    """Draw margin of one player (`teams.margin_of`)."""
    confidence: float
    """k of the shown rating, mean less k deviations."""
    tau2: float
    """Variance gained with every match, the first too."""
    gamma2: float
    """Variance gained with every second since the last match."""
    unknown: float
    """The same where either time is unknown."""


def drift(p: GaussianSkill, at: float, c: Constants) -> float:
    """Variance gained since his last match, at the doors of one at `at`, or `NEVER`."""
    if p.rounds == 0 or c.unknown == 0.0:
        return c.tau2
    if p.last_played == NEVER or at == NEVER:
        return c.tau2 + c.unknown
    return c.tau2 + c.gamma2 * max(0.0, at - p.last_played)


def steady(p: GaussianSkill, at: float, c: Constants) -> float:
    """`drift` where no time counts; the replay is a tenth faster if it need not ask."""
    return c.tau2


def shown(p: GaussianSkill, c: Constants) -> float:
    """The rating on a card."""
    return p.mu - c.confidence * math.sqrt(p.variance)


def update(p: GaussianSkill, slope: float, curvature: float, fraction_played: float, at: float, c: Constants) -> None:
    """After a match of which he played this share, and whose order said this of his team (`teams`)."""
    variance = p.variance + drift(p, at, c)
    lever = fraction_played * variance
    p.mu += lever * slope
    p.variance = variance * max(LEAST, 1.0 + fraction_played * lever * curvature)
    p.rounds += 1
    p.last_played = max(p.last_played, at)


class Rounds(NamedTuple):
    """A `History` as the replay reads it."""

    matches: Offsets
    teams: Offsets
    members: Numbers
    ranks: Numbers
    started_at: Floats
    fraction_played: Floats
    """Empty where all played all the time."""
    lineup: Offsets
    lineup_members: Numbers
    skill_at_start: Floats
    """Empty where nothing is known of any seat."""
    apart: bool
    """The participants, or their shares, are not what was predicted about."""


class Answers(NamedTuple):
    """A `Replayed` to be filled."""

    wins: Floats
    draws: Floats
    after: Floats


def played_of(
    begin: int, end: int, members: Numbers, fraction_played: Floats, records: Records, at: float, c: Constants
) -> tuple[float, float]:
    """Mean and variance of a team as it played."""
    mean = variance = 0.0
    for place in range(begin, end):
        p = records[members[place]]
        part = fraction_played[place] if len(fraction_played) > 0 else 1.0
        mean += part * p.mu
        variance += part * part * (p.variance + drift(p, at, c) + c.noise)
    return mean, variance


def expected_of(
    begin: int, end: int, lineup_members: Numbers, skill_at_start: Floats, records: Records, at: float, c: Constants
) -> tuple[float, float]:
    """Mean and variance of a team as it stood at the doors; negative numbers are bots."""
    mean = variance = 0.0
    for seat in range(begin, end):
        number = lineup_members[seat]
        own, spread = c.mean, c.variance + c.tau2
        if number >= 0:
            own, spread = records[number].mu, records[number].variance + drift(records[number], at, c)
        if len(skill_at_start) > 0 and not math.isnan(skill_at_start[seat]):
            own = skill_at_start[seat]
        mean += own
        variance += spread + c.noise
    return mean, variance


def whole_of(begin: int, end: int, members: Numbers, records: Records, at: float, c: Constants) -> tuple[float, float]:
    """`played_of` where all played all the time."""
    mean = variance = 0.0
    for place in range(begin, end):
        p = records[members[place]]
        mean += p.mu
        variance += p.variance + drift(p, at, c) + c.noise
    return mean, variance


def replay_any(match: int, rounds: Rounds, records: Records, room: Teams, answers: Answers, c: Constants) -> None:
    """One match of any kind."""
    matches, teams, members, ranks, started_at, fraction_played, lineup, lineup_members, skill_at_start, _ = rounds
    first, at = matches[match], started_at[match]
    count = matches[match + 1] - first
    for team in range(count):
        begin, end = lineup[first + team], lineup[first + team + 1]
        room.mean[team], room.variance[team] = expected_of(begin, end, lineup_members, skill_at_start, records, at, c)
        room.size[team] = end - begin
    answers.draws[match] = expect(room, count, c.unit)
    for team in range(count):
        begin, end = teams[first + team], teams[first + team + 1]
        answers.wins[first + team] = room.wins[team]
        room.mean[team], room.variance[team] = played_of(begin, end, members, fraction_played, records, at, c)
        room.size[team] = end - begin
    learn(room, ranks, first, count, c.unit)
    for team in range(count):
        for place in range(teams[first + team], teams[first + team + 1]):
            p = records[members[place]]
            part = fraction_played[place] if len(fraction_played) > 0 else 1.0
            update(p, room.slope[team], room.curvature[team], part, at, c)
            answers.after[place] = shown(p, c)


def replay(rounds: Rounds, records: Records, room: Teams, answers: Answers, c: Constants) -> None:
    """Rate match after match; modifies `records` and fills `answers`.  Two whole teams have no need of the room."""
    matches, teams, members, ranks, started_at, _, _, _, _, apart = rounds
    wins, draws, after = answers
    for match in range(len(started_at)):
        a, at = matches[match], started_at[match]
        if apart or matches[match + 1] != a + 2:
            replay_any(match, rounds, records, room, answers, c)
            continue
        begin, middle, end = teams[a], teams[a + 1], teams[a + 2]
        mean, variance = whole_of(begin, middle, members, records, at, c)
        other_mean, other_variance = whole_of(middle, end, members, records, at, c)
        difference, both, margin = mean - other_mean, variance + other_variance, margin_of(end - begin, c.unit)
        wins[a], wins[a + 1], draws[match] = expect_of_two(difference, both, margin)
        slope, curvature = learn_of_two(difference, both, margin, ranks[a + 1] - ranks[a])
        for place in range(begin, end):
            p = records[members[place]]
            update(p, slope if place < middle else -slope, curvature, 1.0, at, c)
            after[place] = shown(p, c)


Replay: TypeAlias = Callable[[Rounds, "Records", Teams, Answers, Constants], None]

INLINE = (drift, shown, update, played_of, expected_of, whole_of)


def build(*, compiled: bool, timed: bool = True) -> Replay:
    """`replay` as it stands here, or compiled with its callees; not `timed`: only where `Constants.unknown` is 0."""
    if not compiled:
        return replay
    return compiled_with(replay, inline=INLINE, instead={} if timed else {"drift": steady})
