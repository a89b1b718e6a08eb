"""Shuffles: the terms of the core, in win probabilities and players, become a question to the solver.

The solver takes a band of differences in points. For NS2 and SynElo its edges are exact (`System.difference_at`), for
other systems a straight line from the even match. In either case the prediction of the result is computed: where that
is outside of the band although the difference is inside, the band is narrowed and the shuffle is solved again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from equipoise.balancing.chances import NO_PLAYERS, chance, match_to_come, on_field, skills
from equipoise.balancing.means import pins_of_staying
from equipoise.core.asks import AskSplit, ShuffleTerms
from equipoise.core.model import Entry, PlayerId, Side, Split, is_even
from equipoise.ratings.system import System
from equipoise.solver import Assignment, Budget, greedy_swaps, shuffle

TRIES = 4
"""The most solves of a shuffle, each time with a narrower band, until its prediction is inside the band."""

FARTHEST = 1e9
"""Points; more than any difference that sides have. A tolerance of a half is infinite in points."""

EVEN = ShuffleTerms((0.5, 0.5))
"""The terms of a shuffle that names none: as near to a half as possible."""


def shuffled(ask: AskSplit, commanders: frozenset[PlayerId], system: System[Any]) -> Split:
    """Return the split that a shuffle's terms choose; `SplitError` when commanders and sizes allow none."""
    return Shuffle(ask, commanders, system).solved()


def friends_decide(ask: AskSplit, split: Split, commanders: frozenset[PlayerId], system: System[Any]) -> bool:
    """Return whether the sides of a shuffle are not called even, and those of the same one without friends would be."""
    terms = ask.terms or EVEN

    def even(split: Split) -> bool:
        return is_even(chance(system, ask.context, split.a, split.b, commanders))

    if not terms.groups or even(split):
        return False
    return even(shuffled(replace(ask, terms=replace(terms, groups=())), commanders, system))


class Shuffle:
    """A shuffle as the solver reads it: humans by number, differences in points.

    Commanders, bots and players who are held stay on their side. Bots do not count towards the sizes. What they add to
    the sides' sums moves target and band; so does what the system knows besides the skills of those on the field.
    """

    def __init__(self, ask: AskSplit, commanders: frozenset[PlayerId], system: System[Any]) -> None:
        self.ask, self.system, self.commanders = ask, system, commanders
        self.terms = ask.terms or EVEN
        self.humans = [entry for entry in ask.entries if not entry.bot]
        self.index_of = {entry.id: index for index, entry in enumerate(self.humans)}
        self.bots = [tuple(entry.id for entry in ask.entries if entry.bot and entry.side is side) for side in Side]
        players = [entry.id for entry in self.humans]
        on_a, on_b = (on_field(system, ask.context, side, players, commanders) for side in Side)
        self.values = on_a, on_b
        """The points that each human adds to the sum of A, and of B; commanders who count apart add nothing."""
        # Bots stay where they are: what they add is a constant of the question.
        self.lead = sum(skills(system, ask.context, Side.A, self.bots[0]))
        self.lead -= sum(skills(system, ask.context, Side.B, self.bots[1]))
        self.even = self._difference_at(0.5)
        self.budget = Budget()

    def _difference_at(self, probability: float) -> float:
        """Return the difference of the humans' sums at which A wins with this probability."""
        on_a = [entry.id for entry in self.ask.entries if entry.side is Side.A]
        on_b = [entry.id for entry in self.ask.entries if entry.side is not Side.A]
        match = match_to_come(self.ask.context, on_a, on_b, self.commanders)
        return self.system.difference_at(probability, match) - self.lead

    def solved(self) -> Split:
        """Return the sides of the shuffle."""
        if self.terms.greedy:
            return self._by_pairs()
        if self.system.correlated:
            return self._by_covariance()
        fair = self.terms.fair_band
        low, high = (self._difference_at(probability) for probability in fair)
        if self._is_fair_now():
            # The present sides are inside the band by their prediction, so they are by the difference, too.
            pairs = zip(self.humans, *self.values, strict=True)
            present = sum(on_a if entry.side is Side.A else -on_b for entry, on_a, on_b in pairs)
            # Where the line of `difference_at` is not exact, it could say otherwise; then everyone would move for
            # nothing.
            low, high = min(low, present), max(high, present)
        for _ in range(TRIES):
            solution = self._assignment(low, high)
            split = self._split(solution.a, solution.b)
            after = chance(self.system, self.ask.context, split.a, split.b, self.commanders)
            # A difference outside of the band by more than rounding says that no sides are inside: nothing to narrow.
            slack = solution.error_bound
            if fair[0] <= after <= fair[1] or not low - slack <= solution.difference <= high + slack:
                break
            # The band ends where the prediction of this solution says that it does.
            if after > fair[1]:
                high = solution.difference - (self._difference_at(after) - self._difference_at(fair[1]))
            else:
                low = solution.difference + (self._difference_at(fair[0]) - self._difference_at(after))
        return split

    def _by_pairs(self) -> Split:
        """Return the sides by the method of NS2's author, with one skill for a player, whatever their side.

        First players on no side are placed, as even as that can be, and others change side only where sizes need it.
        """
        # "Per Team Skills" of the NS2 source: one skill for both sides.
        # A commander counts against the other commander and adds nothing to the field's sum.
        apart = self.commanders if self.system.commanders_apart else NO_PLAYERS
        skills = [0.0 if entry.id in apart else self.system.skill(entry.id) for entry in self.humans]
        self.values, self.even = (skills, skills), -self.lead
        self.terms = replace(self.terms, groups=(), wishes={})
        # A band of all differences: sizes and pins hold, and of sides that fit them those nearest to the target.
        start = self._assignment(-FARTHEST, FARTHEST)
        sides = [Side.A if index in start.a else Side.B for index in range(len(skills))]
        stay = [index for index, entry in enumerate(self.humans) if entry.stays]
        # A swap is two moves.
        most = None if self.terms.max_moves is None else self.terms.max_moves // 2
        teams = greedy_swaps(skills, sides, target=self.even, stay=stay, most=most)
        return self._split(teams.a, teams.b)

    def _by_covariance(self) -> Split:
        # numpy is loaded where a system needs it.
        from equipoise.balancing.covariances import shuffled

        wishes = [self._wish(entry) for entry in self.humans]
        sides = shuffled(self.ask, self.terms, self.values, wishes, self.lead, self.commanders, self.system)
        return self._split(*([index for index, side in enumerate(sides) if side == stand] for stand in (1, -1)))

    def _is_fair_now(self) -> bool:
        """Return whether all are on a side, and the win probability is inside the band."""
        if any(entry.side is None for entry in self.humans):
            return False
        a, b = ([entry.id for entry in self.ask.entries if entry.side is side] for side in Side)
        low, high = self.terms.fair_band
        return bool(a and b) and low <= chance(self.system, self.ask.context, a, b, self.commanders) <= high

    def _assignment(self, low: float, high: float) -> Assignment:
        count, terms = len(self.humans), self.terms
        return shuffle(
            self.values[0],
            [entry.side for entry in self.humans],
            # In NS2 bots take no place of a human: only humans are counted.
            sizes=(count // 2, count - count // 2),
            values_b=self.values[1],
            target=self.even,
            band=(low, high),
            # By the field's size: `System.gap` would count commanders.
            tolerance=min(FARTHEST, self._difference_at(0.5 + self.ask.tolerance) - self.even),
            pins=pins_of_staying(self.humans),
            # A friend who is not on the server any more, or plays no part in this question, has no index.
            groups=[[self.index_of[member] for member in group if member in self.index_of] for group in terms.groups],
            wishes=[self._wish(entry) for entry in self.humans] if terms.wishes else None,
            spread_evenly=[self.index_of[member] for member in terms.spread_evenly if member in self.index_of],
            max_moves=terms.max_moves,
            moves_count=terms.moves_count,
            budget=self.budget,
        )

    def _wish(self, entry: Entry) -> tuple[int, int]:
        """Return what it costs to put a player on A, and on B."""
        wish = self.terms.wishes.get(entry.id)
        if wish is None:
            return 0, 0
        return (0, wish.weight) if wish.side is Side.A else (wish.weight, 0)

    def _split(self, *numbers: Collection[int]) -> Split:
        a, b = (
            {self.humans[index].id for index in side} | set(bots) for side, bots in zip(numbers, self.bots, strict=True)
        )
        return Split(*(tuple(entry.id for entry in self.ask.entries if entry.id in side) for side in (a, b)))
