"""The fewest swaps of two players that bring a win probability back: sides that are too uneven, between two rounds.

One pair or two. Of the pairs that cost as little the nearest to even are tried by their prediction. What a swap does to
the difference of the sides is the same whatever else is swapped, so two pairs are found by the sum of their shifts: for
each first pair a bisection among the second ones, instead of all pairs of pairs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

from equipoise.balancing.chances import (
    MEAN_WEIGHT,
    at_equal_numbers,
    chance_at_equal_numbers,
    even_difference,
    on_both_sides,
    variance,
)
from equipoise.core.asks import AskSplit, SwapTerms
from equipoise.core.model import Outlook, PlayerId, Side, Split
from equipoise.ratings.system import SkillContext, System

LEAST_GAIN = 0.03
"""Win probability that every swap has to gain where an even one is out of reach."""
NEIGHBOURS = 8
"""Pairs that are tried beside the one that fits best: a player can be in one of two pairs alone."""
TRIED = 8
"""Swaps of one cost whose prediction is asked for."""


class Swap(NamedTuple):
    """Two players who change places, or several times two."""

    shift: float
    """The points that it adds to the difference Σ(A) − Σ(B)."""
    from_a: tuple[PlayerId, ...]
    from_b: tuple[PlayerId, ...]


def evened(ask: AskSplit, terms: SwapTerms, system: System[Any]) -> tuple[Split, Outlook, Outlook]:
    """Return the sides after the swaps, as they were where none is needed or helps; their chance before and after."""
    swaps = Swaps(ask, terms, system)
    before = swaps.chance()
    swap = None if _inside(before, terms.fair_band) else swaps.best(before)
    a, b = swaps.sides(swap)
    rest = tuple(entry.id for entry in ask.entries if entry.side is None)
    return Split(a, b, rest), Outlook.alone(before), Outlook.alone(swaps.chance(swap))


class Swaps:
    """The present sides, and the pairs of players that may change places, by what they cost."""

    def __init__(self, ask: AskSplit, terms: SwapTerms, system: System[Any]) -> None:
        self.ask, self.terms, self.system = ask, terms, system
        self.a, self.b = (tuple(entry.id for entry in ask.entries if entry.side is side) for side in Side)
        sides = at_equal_numbers(self.a, self.b)
        on_a, on_b = (on_both_sides(system, ask.context, side)[place] for place, side in enumerate(sides))
        self.off = sum(on_a) - sum(on_b) - even_difference(system, ask.context, *sides)
        """Σ(A) − Σ(B) less the difference at which the chance is even, at equal numbers, in points."""
        # At equal numbers as `chance`: with 13 against 12 a missing newcomer stands on the smaller side.
        self.pairs = self._pairs()

    def best(self, before: float) -> Swap | None:
        """Return the cheapest swap that makes the chance even; or one that gains enough; or None."""
        off, best, pairs_so_far = abs(before - 0.5), None, 0
        # Fewest people first: two pairs are looked at only if no single one makes the sides even.
        for swaps in (1, 2):
            candidates = [(cost, swap) for cost, near in self._by_cost(swaps) for swap in near]
            for cost in sorted({cost for cost, _ in candidates}):
                of_cost = [swap for price, swap in candidates if price == cost]
                even_swaps = [swap for swap in of_cost if _inside(self.chance(swap), self.terms.even)]
                if even_swaps:
                    return min(even_swaps, key=self._cost)
            if candidates:
                nearest = min((swap for _, swap in candidates), key=lambda swap: abs(self.off + swap.shift))
                rest = abs(self.chance(nearest) - 0.5)
                # An even chance is out of reach so far: a swap is worth it only where it gains enough.
                # Against the best so far, not against the start: a second pair has to earn its two moves by itself.
                if off - rest >= LEAST_GAIN * (swaps - pairs_so_far):
                    off, best, pairs_so_far = rest, nearest, swaps
        return best

    def _by_cost(self, swaps: int) -> Iterator[tuple[int, list[Swap]]]:
        """Yield the swaps of one pair, or of two, that leave the least difference, for each cost."""
        if swaps == 1:
            for cost, pairs in self.pairs.items():
                yield cost, self._nearest(pairs)
            return
        # By the costs of the two pairs: few different ones, so few lists to search.
        for first, second in combinations_with_replacement(sorted(self.pairs), 2):
            yield first + second, self._nearest(list(self._doubles(self.pairs[first], self.pairs[second])))

    def _doubles(self, first: Sequence[Swap], second: Sequence[Swap]) -> Iterator[Swap]:
        shifts = [swap.shift for swap in second]
        for swap in first:
            # The second pair should shift the difference by what the first one leaves of it.
            place = bisect_left(shifts, -self.off - swap.shift)
            for partner in second[max(0, place - NEIGHBOURS) : place + NEIGHBOURS]:
                # A player in both pairs would be moved twice.
                if partner.from_a != swap.from_a and partner.from_b != swap.from_b:
                    yield Swap(swap.shift + partner.shift, swap.from_a + partner.from_a, swap.from_b + partner.from_b)

    def _nearest(self, swaps: Sequence[Swap]) -> list[Swap]:
        return sorted(swaps, key=lambda swap: (abs(self.off + swap.shift), swap.from_a, swap.from_b))[:TRIED]

    def _pairs(self) -> dict[int, list[Swap]]:
        players = [*self.a, *self.b]
        on_a, on_b = on_both_sides(self.system, self.ask.context, players)
        # A player who changes side takes their value from one sum and adds to the other: the difference moves by both
        # values.
        worth = {player: first + second for player, first, second in zip(players, on_a, on_b, strict=True)}
        pairs = defaultdict(list)
        free = ([player for player in side if player not in self.terms.stay] for side in (self.a, self.b))
        for first, second in product(*free):
            cost = sum(self.terms.cost.get(player, 1) for player in (first, second))
            pairs[cost].append(Swap(worth[second] - worth[first], (first,), (second,)))
        # `_doubles` bisects by the shift, a swap's first field.
        return {cost: sorted(swaps) for cost, swaps in pairs.items()}

    def sides(self, swap: Swap | None) -> tuple[tuple[PlayerId, ...], tuple[PlayerId, ...]]:
        """Return the sides after a swap."""
        if swap is None:
            return self.a, self.b
        a = tuple(player for player in self.a if player not in swap.from_a) + swap.from_b
        return a, tuple(player for player in self.b if player not in swap.from_b) + swap.from_a

    def chance(self, swap: Swap | None = None) -> float:
        """Return the win probability of side A after a swap, at equal numbers."""
        return chance_at_equal_numbers(self.system, self.ask.context, *self.sides(swap))

    def _cost(self, swap: Swap) -> float:
        """Return the cost of the sides after a swap, in points squared: even first, then surest."""
        # As `side_of_joiner`: with independent errors every swap leaves the same variance.
        mean = MEAN_WEIGHT * (self.off + swap.shift) ** 2
        if not self.system.correlated:
            return mean
        a, b = self.sides(swap)
        context = SkillContext(self.ask.context.mode.value, self.ask.context.map)
        covariance = self.system.covariance((*a, *b), context)
        return mean if covariance is None else mean + variance(covariance, len(a))


def _inside(chance: float, band: tuple[float, float]) -> bool:
    return band[0] <= chance <= band[1]
