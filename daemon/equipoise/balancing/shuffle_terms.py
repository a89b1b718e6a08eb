"""Shuffles: the terms of the core, in win probabilities and players, become a question to the solver.

The solver takes a band of differences in points. For NS2 and SynElo its edges are exact (`System.difference_at`), for
other systems a straight line from the even match. In either case the prediction of the result is computed: where that
is outside of the band although the difference is inside, the band is narrowed and the shuffle is solved again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import accumulate, permutations, product
from typing import Any

from equipoise.balancing.chances import (
    FRIEND,
    MOVE,
    MOVE_WORTH,
    NO_PLAYERS,
    WISH,
    chance,
    match_to_come,
    of_one_more,
    on_field,
    skills,
)
from equipoise.balancing.means import pins_of_staying
from equipoise.core.asks import AskSplit, ShuffleTerms
from equipoise.core.bench import team_sizes
from equipoise.core.model import Entry, PlayerId, Role, Side, Split, is_even, logistic
from equipoise.ratings.system import SkillContext, System, log_odds
from equipoise.solver import Assignment, Budget, greedy_swaps, shuffle

TRIES = 4
"""The most solves of a shuffle, each time with a narrower band, until its prediction is inside the band."""

FARTHEST = 1e9
"""Points; more than any difference that sides have. A tolerance of a half is infinite in points."""

NEARER = 1e-9
"""The least difference of win probability that counts."""

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


def chairs_decide(ask: AskSplit, split: Split, commanders: frozenset[PlayerId], system: System[Any]) -> float:
    """Return the points between the commanders, if the sides are not even and would be with commanders alike; else 0.

    Even, or better for the other side: their fields have made up for a part of it.
    """
    if not system.commanders_apart:
        return 0.0
    a, b = ([player for player in side if player in commanders] for side in (split.a, split.b))
    after = chance(system, ask.context, split.a, split.b, commanders)
    if len(a) != 1 or len(b) != 1 or is_even(after):
        return 0.0
    sides = zip(ask.context.mode.sides, (a[0], b[0]), strict=True)
    first, second = (system.skill(player, SkillContext(side=side, role=Role.COMMANDER)) for side, player in sides)
    # What a match of the two alone adds to the log-odds: a quarter of the chance's scale.
    alike = logistic(log_odds(after) - 4.0 * (first - second) / system.gap(1.0, 1))
    decide = (first > second) is (after > 0.5) and (is_even(alike) or (alike > 0.5) is not (after > 0.5))
    return abs(first - second) if decide else 0.0


def seated(ask: AskSplit, system: System[Any]) -> AskSplit:
    """Return the question of a shuffle with its likely commanders in place, the two likeliest of them in the chairs.

    They are put on the sides on which any two who sit are most even: the least sum is taken of the win probability
    outside the fair band, over all pairs as likely as they are, and of what it costs to put everybody there.
    The others may make the moves that are left over.
    """
    terms, humans = ask.terms or EVEN, [entry for entry in ask.entries if not entry.bot]
    likely = [entry for entry in humans if entry.id in terms.likely]
    if not system.commanders_apart or len(likely) < 2:
        return ask
    low, high = terms.fair_band
    pairs = {}
    for a, b in permutations([entry.id for entry in likely], 2):
        even = chance(system, ask.context, (a,), (b,), frozenset((a, b)))
        pairs[a, b] = terms.likely[a][0] * terms.likely[b][1], max(0.0, low - even, even - high)
    tolls = Shuffle(ask, NO_PLAYERS, system).tolls
    others = [entry for entry in humans if entry not in likely]
    sizes, most = team_sizes(humans, bench=False), terms.max_moves
    if most is not None:
        most = max(most, min(_fewest_moves(humans, size) for size in sizes))
    # What the others cost, by how many of them are on A.
    stay = sum(entry.stays and entry.side is Side.A for entry in others)
    costs = sorted(on_a - on_b for entry in others if not entry.stays for on_a, on_b in (tolls(entry),))
    cost_of = dict(enumerate(accumulate(costs, initial=0), start=stay))
    best: tuple[float, int, dict[PlayerId, Side], tuple[PlayerId, PlayerId]] | None = None
    for sides in product(Side, repeat=len(likely)):
        places = {entry.id: side for entry, side in zip(likely, sides, strict=True)}
        on_a, on_b = ([player for player, side in places.items() if side is target] for target in Side)
        moves = sum(entry.side is places[entry.id].other for entry in likely)
        counts = {size - len(on_a) for size in sizes} & cost_of.keys()
        if most is not None:
            counts = {count for count in counts if moves + _fewest_moves(others, count) <= most}
        is_held = any(entry.stays and entry.side is not places[entry.id] for entry in likely)
        if not (on_a and on_b and counts) or is_held:
            continue
        toll = sum(tolls(entry)[places[entry.id] is Side.B] for entry in likely) + min(
            cost_of[count] for count in counts
        )
        apart = {pair: pairs[pair] for pair in product(on_a, on_b)}
        risk = sum(weight * beyond for weight, beyond in apart.values()) / sum(weight for weight, _ in apart.values())
        price = toll * MOVE_WORTH / MOVE + risk
        if best is None or price < best[0]:
            best = price, moves, places, max(apart, key=apart.__getitem__)
    if best is None:
        return ask
    _, moves, places, chairs = best
    entries = (
        replace(entry, side=places[entry.id], commander=entry.id in chairs, held=entry.held or "likely")
        if entry.id in places
        else entry
        for entry in ask.entries
    )
    # To the shuffle that follows they have always stood there: it would not count their moves.
    left = None if most is None else most - moves
    return replace(ask, entries=tuple(entries), terms=replace(terms, likely={}, max_moves=left))


def _fewest_moves(entries: Collection[Entry], count: int) -> int:
    """Return how many of these players have to change side so that `count` of them are on A, and the others on B."""
    on_a, on_b = (sum(entry.side is side for entry in entries) for side in Side)
    return max(0, on_a - count) + max(0, on_b - (len(entries) - count))


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
        self.more = more = of_one_more(system, [entry.id for entry in ask.entries])
        self.values = [value - more for value in on_a], [value - more for value in on_b]
        """The points that each human adds to the sum of A, and of B; commanders who count apart add nothing."""
        # Bots stay where they are: what they add is a constant of the question.
        self.lead = sum(value - more for value in skills(system, ask.context, Side.A, self.bots[0]))
        self.lead -= sum(value - more for value in skills(system, ask.context, Side.B, self.bots[1]))
        self.even = self._difference_at(0.5)
        self.budget = Budget()
        self.is_priced = False
        """No sides are fair, so that friends are worth a toll and come no longer before all others."""

    def _difference_at(self, probability: float) -> float:
        """Return the difference of the humans' sums at which A wins with this probability."""
        if not 0.0 < probability < 1.0:
            return FARTHEST if probability > 0.5 else -FARTHEST
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
        low, high = self.terms.fair_band
        split = self._within(low, high)
        return split if self._beyond(split) == 0.0 else self._worth_its_moves(split)

    def _within(self, low: float, high: float) -> Split:
        """Return the best sides whose chance is from `low` to `high`; where no sides' is, the nearest to a half."""
        least, most = self._difference_at(low), self._difference_at(high)
        if self._is_within_now(low, high):
            # The present sides are inside the band by their prediction, so they are by the difference, too.
            pairs = zip(self.humans, *self.values, strict=True)
            present = sum(on_a if entry.side is Side.A else -on_b for entry, on_a, on_b in pairs)
            # Where the line of `difference_at` is not exact, it could say otherwise, and so could the solver's rounding
            # if the band ended where they are; then players would move for nothing.
            if not least <= present <= most:
                slack = self._assignment(present, present).error_bound
                least, most = min(least, present - slack), max(most, present + slack)
        for _ in range(TRIES):
            solution = self._assignment(least, most)
            split = self._split(solution.a, solution.b)
            after = self._chance(split)
            # A difference outside of the band by more than rounding says that no sides are inside: nothing to narrow.
            slack = solution.error_bound
            if low <= after <= high or not least - slack <= solution.difference <= most + slack:
                break
            # The band ends where the prediction of this solution says that it does.
            if after > high:
                most = solution.difference - (self._difference_at(after) - self._difference_at(high))
            else:
                least = solution.difference + (self._difference_at(low) - self._difference_at(after))
        return split

    def _worth_its_moves(self, nearest: Split) -> Split:
        """Return the sides with the least price, where the nearest to a half are outside the fair band.

        The best in a band that becomes narrower and narrower. The next has a higher toll, by 1 at least, and so it has
        to be nearer to the fair band by what that is worth.
        """
        low, high = self.terms.fair_band
        self.is_priced, best, reach, least = True, nearest, 1.0, self._beyond(nearest)
        while reach >= least:
            split = self._within(low - reach, high + reach)
            excess, price = self._price(split)
            if excess > self._price(best)[0]:
                break
            best = min(best, split, key=self._price)
            toll = price - self._beyond(split) * MOVE / MOVE_WORTH
            reach = min(self._beyond(split) - NEARER, (self._price(best)[1] - toll - 1.0) * MOVE_WORTH / MOVE)
        return best

    def _chance(self, split: Split) -> float:
        return chance(self.system, self.ask.context, split.a, split.b, self.commanders)

    def _beyond(self, split: Split) -> float:
        """Return by how much win probability the sides are outside of the fair band; 0 inside."""
        (low, high), after = self.terms.fair_band, self._chance(split)
        return max(0.0, low - after, after - high)

    def _price(self, split: Split) -> tuple[int, float]:
        """Return how many winners are too many on a side, and what sides outside of the fair band cost, in toll."""
        terms, on_a = self.terms, frozenset(split.a)
        entries = [entry for entry in self.humans if entry.id in terms.spread_evenly]
        spread = sum(entry.id in on_a for entry in entries)
        excess = max(0, len(entries) // 2 - spread, spread - (len(entries) + 1) // 2)
        toll = sum(self.tolls(entry)[entry.id not in on_a] for entry in self.humans)
        for group in self._groups():
            count = sum(self.humans[index].id in on_a for index in group)
            toll += FRIEND * min(count, len(group) - count)
        return excess, toll + self._beyond(split) * MOVE / MOVE_WORTH

    def _by_pairs(self) -> Split:
        """Return the sides by the method of NS2's author, with one skill for a player, whatever their side.

        First players on no side are placed, as even as that can be, and others change side only where sizes need it.
        """
        # "Per Team Skills" of the NS2 source: one skill for both sides.
        # A commander counts against the other commander and adds nothing to the field's sum.
        apart = self.commanders if self.system.commanders_apart else NO_PLAYERS
        skills = [0.0 if entry.id in apart else self.system.skill(entry.id) - self.more for entry in self.humans]
        self.values, self.even = (skills, skills), -self.lead
        self.terms = replace(self.terms, groups=(), wishes={})
        # A band of all differences: sizes and pins hold, and of sides that fit them those nearest to the target.
        start = self._assignment(-FARTHEST, FARTHEST)
        sides = [Side.A if index in start.a else Side.B for index in range(len(skills))]
        stay = [index for index, entry in enumerate(self.humans) if entry.stays]
        moves = sum(entry.side is side.other for entry, side in zip(self.humans, sides, strict=True))
        # A swap is two moves.
        most = None if self.terms.max_moves is None else max(0, self.terms.max_moves - moves) // 2
        teams = greedy_swaps(skills, sides, target=self.even, stay=stay, most=most)
        return self._split(teams.a, teams.b)

    def _by_covariance(self) -> Split:
        # numpy is loaded where a system needs it.
        from equipoise.balancing.covariances import shuffled

        tolls = [self.tolls(entry) for entry in self.humans]
        sides = shuffled(self.ask, self.terms, self.values, tolls, self.lead, self.commanders, self.system)
        return self._split(*([index for index, side in enumerate(sides) if side == stand] for stand in (1, -1)))

    def _is_within_now(self, low: float, high: float) -> bool:
        """Return whether all are on a side, and the win probability is from `low` to `high`."""
        if any(entry.side is None for entry in self.humans):
            return False
        a, b = ([entry.id for entry in self.ask.entries if entry.side is side] for side in Side)
        return bool(a and b) and low <= chance(self.system, self.ask.context, a, b, self.commanders) <= high

    def _assignment(self, low: float, high: float) -> Assignment:
        terms = self.terms
        return shuffle(
            self.values[0],
            [entry.side for entry in self.humans],
            # In NS2 bots take no place of a human: only humans are counted.
            sizes=team_sizes(self.humans, bench=False),
            values_b=self.values[1],
            target=self.even,
            band=(low, high),
            pins=pins_of_staying(self.humans),
            groups=self._groups(),
            wishes=[self.tolls(entry) for entry in self.humans],
            spread_evenly=[self.index_of[member] for member in terms.spread_evenly if member in self.index_of],
            max_moves=terms.max_moves,
            moves_count=False,
            friend_cost=FRIEND if self.is_priced else None,
            budget=self.budget,
        )

    def _groups(self) -> list[list[int]]:
        # A friend who is not on the server any more, or plays no part in this question, has no index.
        return [[self.index_of[member] for member in group if member in self.index_of] for group in self.terms.groups]

    def tolls(self, entry: Entry) -> tuple[int, int]:
        """Return what it costs to put a player on A, and on B: a move, and a denied wish."""
        wish, moves = self.terms.wishes.get(entry.id), self.terms.moves_count
        # Where no sides are fair, a wish weighs what it weighed when it was new.
        denial = 0 if wish is None else WISH * (1 if self.is_priced else wish.weight)

        def on(side: Side) -> int:
            move = MOVE if moves and entry.side is side.other else 0
            return move + (denial if wish is not None and wish.side is side.other else 0)

        return on(Side.A), on(Side.B)

    def _split(self, *numbers: Collection[int]) -> Split:
        a, b = (
            {self.humans[index].id for index in side} | set(bots) for side, bots in zip(numbers, self.bots, strict=True)
        )
        return Split(*(tuple(entry.id for entry in self.ask.entries if entry.id in side) for side in (a, b)))
