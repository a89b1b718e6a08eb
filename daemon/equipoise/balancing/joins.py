"""The side of a joiner, where the two are equally large; what a switch of a player does to the chance."""

from __future__ import annotations

from typing import Any

from equipoise.balancing.chances import MEAN_WEIGHT, deviation_of, field_skills, match_to_even
from equipoise.balancing.means import chance_at_equal_numbers, even_difference
from equipoise.core.asks import AskSide, AskSwitch
from equipoise.core.model import Side
from equipoise.ratings.system import Match, System

DIGITS = 3
"""Costs that are the same up to here, in points squared, differ by rounding alone."""


def side_of_joiner(ask: AskSide, system: System[Any]) -> Side:
    """The side on which they leave the least cost; of equal ones the one they want."""

    def order(side: Side) -> tuple[float, bool]:
        return round(_cost(ask, side, system), DIGITS), side is not ask.wanted

    return min(Side, key=order)


def judged_switch(ask: AskSwitch, system: System[Any]) -> tuple[float, float]:
    """The win probability of side A at equal numbers if the player stays, and if they change side."""
    a, b = (tuple(player for player in side if player != ask.player) for side in (ask.a, ask.b))
    crossed = ((*a, ask.player), b) if ask.player in ask.b else (a, (*b, ask.player))
    commanders = ask.commanders - {ask.player}
    return (
        chance_at_equal_numbers(system, ask.context, ask.a, ask.b, ask.commanders),
        chance_at_equal_numbers(system, ask.context, *crossed, commanders),
    )


def _cost(ask: AskSide, side: Side, system: System[Any]) -> float:
    a, b = ((*ask.a, ask.player), ask.b) if side is Side.A else (ask.a, (*ask.b, ask.player))
    on_a, on_b = field_skills(system, ask.context, a, b, ask.commanders)
    lead = sum(on_a) - sum(on_b) - even_difference(system, ask.context, a, b, ask.commanders)
    # Independent errors add as much on either side.
    return MEAN_WEIGHT * lead**2 + (
        _variance(match_to_even(ask.context, a, b, ask.commanders), system) if system.correlated else 0.0
    )


def _variance(match: Match, system: System[Any]) -> float:
    """Of the difference of the sides, in points squared."""
    deviation = deviation_of(system, match)
    return 0.0 if deviation is None else (deviation * system.gap(1.0, max(map(len, match.teams))) / 4) ** 2
