"""Win probabilities of two sides, and the skills that the solver makes even."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from operator import mul
from statistics import NormalDist, fmean
from typing import Any

from equipoise.core.model import Context, Mode, Outlook, PlayerId, Role, Side, interval
from equipoise.ratings.calibration import Calibrated
from equipoise.ratings.system import Covariance, Match, SkillContext, Span, System

QUANTILES = [NormalDist().inv_cdf((number + 0.5) / 200) for number in range(200)]
"""Equally probable values of a standard normal variable: a mean over them is an expectation, to 10⁻³ of unevenness."""

CERTAIN = 1e-9
"""Predictions nearer to 0 or 1 are cut to this: their log-odds would be infinite."""

MEAN_WEIGHT = 10.0
"""Even first, then surest: the square of the mean difference weighs this much more than its variance.

At 1 the cost of sides is the expected square of their true difference. That prefers sides that are known to be 60 : 40
to unknown ones that are 50 : 50, and the present sides are always the best known (docs/findings.md).
"""

MOVE, WISH, FRIEND = 1, 2, 5
"""The toll of a shuffle: of a move, of a denied wish that weighs 1, and of a parted friend where no sides are fair."""

MOVE_WORTH = 0.01
"""The win probability that a move has to buy where no sides are fair."""

NO_PLAYERS: frozenset[PlayerId] = frozenset()

Values = tuple[list[float], list[float]]
"""Each player's skill on A, and on B, in rating points: two lists in the players' order."""


def chance(
    system: System[Any],
    context: Context,
    a: Iterable[PlayerId],
    b: Iterable[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
) -> float:
    """The win probability of side A against side B (with draws: the expected score), from 0 to 1.

    NS2: those of them who are `commanders` sit in the chair, all others are on the field.

    >>> from equipoise.core.model import Mode
    >>> from equipoise.ratings import create
    >>> system, ann, bob = create("synelo"), PlayerId("ann"), PlayerId("bob")
    >>> system.seed(ann, rating=1400.0)
    >>> system.seed(bob, rating=1000.0)
    >>> round(chance(system, Context(Mode.KOTH, "koth_viaduct"), [ann], [bob]), 3)
    0.542
    """
    return system.predict(match_to_come(context, a, b, commanders)).expected(0)


def match_to_come(
    context: Context, a: Iterable[PlayerId], b: Iterable[PlayerId], commanders: Collection[PlayerId] = NO_PLAYERS
) -> Match:
    """The match of these sides as it is predicted: all play to its end in the role that they have."""
    teams = (tuple(a), tuple(b))
    spans = {
        player: (Span(team, 0.0, 1.0, Role.COMMANDER),)
        for team, players in enumerate(teams)
        for player in players
        if player in commanders
    }
    lineup = teams if all(teams) else ()
    return Match(teams, lineup=lineup, spans=spans, map=context.map, mode=context.mode.value, sides=context.mode.sides)


def match_to_even(
    context: Context, a: Iterable[PlayerId], b: Iterable[PlayerId], commanders: Collection[PlayerId] = NO_PLAYERS
) -> Match:
    """The match that sides are made even for.

    In TF2 the sides change places in the course of a map, so what a side is worth is not made up for.
    """
    match = match_to_come(context, a, b, commanders)
    return match if context.mode is Mode.NS2 else replace(match, sides=(), map="")


def outlook(
    system: System[Any],
    context: Context,
    a: Sequence[PlayerId],
    b: Sequence[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
) -> Outlook:
    """The chance of side A with its 80 % interval and its unevenness; the chance alone without known deviations.

    >>> from equipoise.core.model import Mode
    >>> from equipoise.ratings import create
    >>> players, context = [PlayerId(name) for name in "abcd"], Context(Mode.KOTH, "koth_viaduct")
    >>> strangers = outlook(create("trueskill"), context, players[:2], players[2:])
    >>> round(strangers.chance, 2), round(strangers.unevenness, 2), round(strangers.low, 2), round(strangers.high, 2)
    (0.5, 0.34, 0.02, 0.98)
    >>> outlook(create("synelo"), context, players[:2], players[2:]).low is None
    True
    """
    whole = outlook_of(system, match_to_come(context, a, b, commanders))
    # In NS2 sides and map are made up for, so both outlooks are the same; of the other systems only these two kinds
    # know what a side or a map is worth.
    if context.mode is Mode.NS2 or not (system.correlated or isinstance(system, Calibrated)):
        return whole
    teams = outlook_of(system, match_to_even(context, a, b, commanders))
    return replace(whole, of_teams=teams.chance, unevenness_of_teams=teams.unevenness)


def outlook_of(system: System[Any], match: Match) -> Outlook:
    """The outlook of a match of two sides."""
    chance, deviation = system.predict(match).expected(0), deviation_of(system, match)
    return Outlook.alone(chance) if deviation is None else uncertain(chance, deviation)


def deviation_of(system: System[Any], match: Match) -> float | None:
    """The standard deviation of the difference of a match's two sides in log-odds; None where it is not known."""
    whole = system.variance(match)
    if whole is not None:
        return math.sqrt(whole)
    a, b = match.predicted_lineup
    covariance = system.covariance((*a, *b), SkillContext(match.mode, match.map))
    if covariance is None:
        return None
    # At an even match a log-odd is a quarter of win probability: `gap(1) / 4` points are one log-odd.
    return 4.0 / system.gap(1.0, max(len(a), len(b))) * math.sqrt(variance(covariance, len(a)))


def variance(known: Covariance, on_a: int) -> float:
    """The variance of the difference of two sides, of whose players the first `on_a` are on A.

    >>> variance([[4.0, 1.0], [1.0, 9.0]], on_a=1)
    11.0
    """
    signs = (1.0,) * on_a + (-1.0,) * (len(known) - on_a)
    total = sum(sign * sum(map(mul, signs, row)) for sign, row in zip(signs, known, strict=True))
    # Rounding may leave a variance of nothing below 0.
    return float(max(0.0, total))


def uncertain(predicted: float, deviation: float) -> Outlook:
    """The outlook of a prediction, by the standard deviation of the difference of the sides in log-odds.

    The log-odds of the true win probability p are taken as normal. Their mean is the one with which p is on average
    what was predicted, by MacKay's approximation E[logistic(x)] = logistic(mean / √(1 + π·variance / 8)) ("The evidence
    framework applied to classification networks", 1992): predictions of uncertain players lean towards a half already.

    >>> sides = uncertain(0.52, 0.7)
    >>> round(sides.low, 2), round(sides.high, 2), round(sides.evenness, 2)
    (0.31, 0.73, 0.74)
    """
    cut = min(max(predicted, CERTAIN), 1.0 - CERTAIN)
    mean = math.log(cut / (1.0 - cut)) * math.sqrt(1.0 + math.pi * deviation**2 / 8.0)
    # logistic(x) - 1/2 = tanh(x/2) / 2, which does not overflow.
    low, high = (0.5 + math.tanh(end / 2.0) / 2.0 for end in interval(mean, deviation))
    return Outlook(predicted, low, high, expected_distance(mean, deviation**2))


def expected_distance(mean: float, variance: float) -> float:
    """Return E|p - 1/2| of sides whose difference in log-odds has this mean and variance.

    >>> [round(expected_distance(*moments), 3) for moments in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))]
    [0.0, 0.231, 0.175]
    """
    # E|logistic(x) − ½| over x ~ N(mean, variance), and |logistic(x) − ½| = |tanh(x/2)|/2.
    deviation = math.sqrt(max(variance, 0.0))
    return fmean([abs(math.tanh((mean + deviation * z) / 2.0)) / 2.0 for z in QUANTILES])


def skills(
    system: System[Any], context: Context, side: Side, players: Iterable[PlayerId], role: Role = Role.FIELD
) -> list[float]:
    """The skill of each player on a side, in their order, in rating points: splits balance the sums.

    >>> from equipoise.core.model import Mode
    >>> from equipoise.ratings import create
    >>> skills(create("synelo"), Context(Mode.KOTH, "koth_viaduct"), Side.A, [PlayerId("ann")])
    [1000.0]
    """
    # `mode.sides` has the names of A and of B: False is 0, A.
    question = SkillContext(context.mode.value, context.map, context.mode.sides[side is Side.B], role)
    return system.skill_values(tuple(players), question)


def on_both_sides(system: System[Any], context: Context, players: Sequence[PlayerId]) -> Values:
    """Return the skills of all players on A, and on B."""
    on_a = skills(system, context, Side.A, players)
    return on_a, skills(system, context, Side.B, players) if system.by_side else on_a


def on_field(
    system: System[Any], context: Context, side: Side, players: Sequence[PlayerId], commanders: Collection[PlayerId]
) -> list[float]:
    """Return each player's addend to the sum of a side: 0 for commanders where the system counts those apart."""
    apart = commanders if system.commanders_apart else NO_PLAYERS
    values = zip(players, skills(system, context, side, players), strict=True)
    return [0.0 if player in apart else skill for player, skill in values]


def field_skills(
    system: System[Any],
    context: Context,
    a: Iterable[PlayerId],
    b: Iterable[PlayerId],
    commanders: Collection[PlayerId],
) -> Values:
    """The skills of A's players and of B's, without commanders where the system counts those apart."""
    apart = commanders if system.commanders_apart else NO_PLAYERS
    on_a, on_b = ([player for player in side if player not in apart] for side in (a, b))
    return skills(system, context, Side.A, on_a), skills(system, context, Side.B, on_b)


def even_difference(
    system: System[Any],
    context: Context,
    a: Sequence[PlayerId],
    b: Sequence[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
    probability: float = 0.5,
) -> float:
    """Return the difference Σ(A) − Σ(B), in points, at which A of sides as large as these wins with a probability."""
    # At a half not 0 where A has an advantage that is made up for (NS2), or more players than B.
    more = (len(a) - len(b)) * of_one_more(system, (*a, *b))
    return system.difference_at(probability, match_to_even(context, a, b, commanders)) + more


def of_one_more(system: System[Any], players: Sequence[PlayerId]) -> float:
    """Return the points by which one player more on a side has it ahead where both are as good, of those who play.

    >>> from equipoise.ratings import create
    >>> [of_one_more(create(name), [PlayerId("ann"), PlayerId("bob")]) for name in ("elo", "trueskill")]
    [1500.0, 0.0]
    """
    return fmean(system.skill_values(players)) if system.compares_means and players else 0.0


NEXT_TO_JOIN = PlayerId("bot:next")
"""A player of whom nothing is known."""


def chance_at_equal_numbers(
    system: System[Any],
    context: Context,
    a: Sequence[PlayerId],
    b: Sequence[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
) -> float:
    """Return the win probability of side A by what splits make even: the players, not TF2's sides or a map.

    Nor does one player more count: the next to join goes to the smaller side, and is taken as if they were there
    already, with the skill of a newcomer. So 13 against 12 compares with 12 against 13.

    >>> from equipoise.core.model import Mode
    >>> from equipoise.ratings import create
    >>> system, ann, bob, cid = create("synelo"), PlayerId("ann"), PlayerId("bob"), PlayerId("cid")
    >>> context = Context(Mode.KOTH, "koth_viaduct")
    >>> chance_at_equal_numbers(system, context, [ann, bob], [cid])
    0.5
    >>> system.seed(ann, rating=1400.0)
    >>> round(chance_at_equal_numbers(system, context, [ann, bob], [cid]), 3)
    0.542
    """
    return system.predict(match_to_even(context, *at_equal_numbers(a, b), commanders)).expected(0)


def at_equal_numbers(a: Sequence[PlayerId], b: Sequence[PlayerId]) -> tuple[Sequence[PlayerId], Sequence[PlayerId]]:
    """Return the sides with the next to join on the smaller one, where one player is missing there."""
    if len(a) - len(b) == 1:
        return a, (*b, NEXT_TO_JOIN)
    if len(b) - len(a) == 1:
        return (*a, NEXT_TO_JOIN), b
    return a, b


def unevenness(
    system: System[Any],
    context: Context,
    a: Iterable[PlayerId],
    b: Iterable[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
) -> float:
    """Return the expected distance of these sides' win probability from a half, by what splits make even."""
    return outlook_of(system, match_to_even(context, a, b, commanders)).unevenness
