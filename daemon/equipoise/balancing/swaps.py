"""The fewest swaps of two players that bring a win probability back: sides that are too uneven, between two rounds.

One pair or two. Of those that cost as little the nearest to even are tried by their prediction. What a swap does to the
difference of the sides is the same whatever else is swapped, so two pairs are found by their sum.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

from equipoise.balancing.chances import MEAN_WEIGHT, on_both_sides, variance
from equipoise.balancing.means import NEXT_TO_JOIN, chance_at_equal_numbers, even_difference
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
    """What it adds to the difference Σ(A) − Σ(B), in points."""
    from_a: tuple[PlayerId, ...]
    from_b: tuple[PlayerId, ...]


def evened(ask: AskSplit, terms: SwapTerms, system: System[Any]) -> tuple[Split, Outlook, Outlook]:
    """The sides after the swaps, as they were where none is needed or helps; their chance before and after."""
    return Swaps(ask, terms, system).evened()


class Swaps:
    """The present sides, and the pairs of players that may change places, by what they cost."""

    def __init__(self, ask: AskSplit, terms: SwapTerms, system: System[Any]) -> None:
        self.ask, self.terms, self.system = ask, terms, system
        self.a, self.b = (tuple(entry.id for entry in ask.entries if entry.side is side) for side in Side)
        self.off = self._difference()
        self.pairs = self._pairs()

    def evened(self) -> tuple[Split, Outlook, Outlook]:
        """See `evened`."""
        before = self._chance()
        chosen = None if _inside(before, self.terms.fair_band) else self._chosen(before)
        a, b = self._sides(chosen)
        rest = tuple(entry.id for entry in self.ask.entries if entry.side is None)
        return Split(a, b, rest), Outlook.alone(before), Outlook.alone(self._chance(chosen))

    def _chosen(self, before: float) -> Swap | None:
        off, chosen, paid = abs(before - 0.5), None, 0
        for swaps in (1, 2):
            found = [(cost, swap) for cost, near in self._by_cost(swaps) for swap in near]
            for cost in sorted({cost for cost, _ in found}):
                there = [swap for each, swap in found if each == cost]
                reaching = [swap for swap in there if _inside(self._chance(swap), self.terms.even)]
                if reaching:
                    return min(reaching, key=self._cost)
            if found:
                best = min((swap for _, swap in found), key=lambda swap: abs(self.off + swap.shift))
                left = abs(self._chance(best) - 0.5)
                if off - left >= LEAST_GAIN * (swaps - paid):
                    off, chosen, paid = left, best, swaps
        return chosen

    def _by_cost(self, swaps: int) -> Iterator[tuple[int, list[Swap]]]:
        """The swaps of one pair, or of two, that leave the least difference, for each cost."""
        if swaps == 1:
            for cost, pairs in self.pairs.items():
                yield cost, self._nearest(pairs)
            return
        for one, other in combinations_with_replacement(sorted(self.pairs), 2):
            yield one + other, self._nearest(list(self._doubles(self.pairs[one], self.pairs[other])))

    def _doubles(self, first: Sequence[Swap], second: Sequence[Swap]) -> Iterator[Swap]:
        shifts = [swap.shift for swap in second]
        for swap in first:
            place = bisect_left(shifts, -self.off - swap.shift)
            for other in second[max(0, place - NEIGHBOURS) : place + NEIGHBOURS]:
                if other.from_a != swap.from_a and other.from_b != swap.from_b:
                    yield Swap(swap.shift + other.shift, swap.from_a + other.from_a, swap.from_b + other.from_b)

    def _nearest(self, swaps: Sequence[Swap]) -> list[Swap]:
        return sorted(swaps, key=lambda swap: (abs(self.off + swap.shift), swap.from_a, swap.from_b))[:TRIED]

    def _pairs(self) -> dict[int, list[Swap]]:
        players = [*self.a, *self.b]
        on_a, on_b = on_both_sides(self.system, self.ask.context, players)
        worth = {player: one + other for player, one, other in zip(players, on_a, on_b, strict=True)}
        pairs = defaultdict(list)
        free = ([player for player in side if player not in self.terms.stay] for side in (self.a, self.b))
        for one, other in product(*free):
            cost = sum(self.terms.cost.get(player, 1) for player in (one, other))
            pairs[cost].append(Swap(worth[other] - worth[one], (one,), (other,)))
        return {cost: sorted(each) for cost, each in pairs.items()}

    def _sides(self, swap: Swap | None) -> tuple[tuple[PlayerId, ...], tuple[PlayerId, ...]]:
        if swap is None:
            return self.a, self.b
        a = tuple(player for player in self.a if player not in swap.from_a) + swap.from_b
        return a, tuple(player for player in self.b if player not in swap.from_b) + swap.from_a

    def _chance(self, swap: Swap | None = None) -> float:
        return chance_at_equal_numbers(self.system, self.ask.context, *self._sides(swap))

    def _difference(self) -> float:
        """How far Σ(A) − Σ(B) is from where the chance is even, at equal numbers."""
        a, b = self.a, self.b
        if len(a) - len(b) == 1:
            b += (NEXT_TO_JOIN,)
        elif len(b) - len(a) == 1:
            a += (NEXT_TO_JOIN,)
        on_a, on_b = (on_both_sides(self.system, self.ask.context, side)[place] for place, side in enumerate((a, b)))
        return sum(on_a) - sum(on_b) - even_difference(self.system, self.ask.context, a, b)

    def _cost(self, swap: Swap) -> float:
        """Even first, then surest."""
        mean = MEAN_WEIGHT * (self.off + swap.shift) ** 2
        if not self.system.correlated:
            return mean
        a, b = self._sides(swap)
        known = self.system.covariance((*a, *b), SkillContext(self.ask.context.mode.value, self.ask.context.map))
        return mean if known is None else mean + variance(known, len(a))


def _inside(chance: float, band: tuple[float, float]) -> bool:
    return band[0] <= chance <= band[1]
