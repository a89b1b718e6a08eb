"""Asks of a system that knows how its errors depend on each other: they become questions to the search.

The exact solver, by what is known alone, says who plays; its sides are a start of the search, as the present ones are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Any

from equipoise.balancing.chances import MEAN_WEIGHT, NO_PLAYERS, Values, match_to_even, on_field
from equipoise.balancing.expected import Problem, Search, Sides, Toll, all_evened, limit_of
from equipoise.balancing.means import EQUAL, can_leave, even_difference, leave, renewed, unevenness
from equipoise.core.asks import AskMoves, AskSplit, CacheSplits, Purpose, ShuffleTerms
from equipoise.core.model import Context, Entry, Mode, PlayerId, Side, Split
from equipoise.ratings.system import Covariance, SkillContext, System
from equipoise.solver import Assignment, Pin

OF_TOLERANCE = 0.25
"""The part of an ask's tolerance by which sides may be more uneven than the best.

A tolerance of the predicted chance costs little in truth while ratings are unsure. One of unevenness is what is truly
given up, and a hundredth is half of what the choice of a split can gain at all.
"""

Named = tuple[tuple[PlayerId, ...], tuple[PlayerId, ...]]
"""The players of both sides."""
STANDS: dict[Side | None, int] = {Side.A: 1, Side.B: -1, None: 0}
PINS = {Side.A: Pin.A, Side.B: Pin.B}


class Known:
    """What a system knows of a context's players, as the search reads it."""

    def __init__(self, system: System[Any], context: Context, commanders: Collection[PlayerId] = NO_PLAYERS) -> None:
        self.system, self.context, self.commanders = system, context, commanders
        self.apart = frozenset(commanders) if system.commanders_apart else NO_PLAYERS

    def covariance(self, players: Sequence[PlayerId]) -> Covariance:
        """The covariance of what players add to their side: nothing, for commanders who count apart."""
        known = self.system.covariance(players, SkillContext(self.context.mode.value, self.context.map))
        assert known is not None, f"{self.system.name} is correlated"
        if not self.apart:
            return known
        named = [(player in self.apart, row) for player, row in zip(players, known, strict=True)]
        return [
            [0.0 if away or other else value for value, (other, _) in zip(row, named, strict=True)]
            for away, row in named
        ]

    def target(self, a: Sequence[PlayerId], b: Sequence[PlayerId]) -> float:
        """The difference of the sums at which sides as large as these are even."""
        return even_difference(self.system, self.context, a, b, self.commanders)

    def targets(self, players: Sequence[PlayerId], on_a: int) -> tuple[float, float | None]:
        """The target with so many players on A, and with as many on B; None where that is the same."""
        other = len(players) - on_a
        target = self.target(players[:on_a], players[on_a:])
        return target, None if on_a == other else self.target(players[:other], players[other:])

    def limit(
        self,
        search: Search,
        best: tuple[Sequence[PlayerId], Sequence[PlayerId]],
        tolerance: float,
        fair: float | None = None,
    ) -> float:
        """The cost up to which sides are even enough: the tolerance above the least unevenness, or a fair one.

        The search has the players' variance alone. What head count, side and map add hardly depends on who plays where:
        it is taken from the best sides.
        """
        log_odds = self.system.gap(1.0, max(map(len, best))) / 4
        whole = self.system.variance(match_to_even(self.context, *best, self.commanders))
        beyond = 0.0 if whole is None else whole * log_odds**2 - search.variance(search.least)
        return limit_of(search, OF_TOLERANCE * tolerance, log_odds, fair, beyond)


def playing(ask: AskSplit, found: Assignment, values: Values, system: System[Any]) -> Split:
    """The sides of those whom an assignment lets play.

    A due scramble has the least cost, and moves whom people expect it to; else the fewest move within the tolerance.
    """
    order = sorted((*found.a, *found.b))
    entries = [ask.entries[index] for index in order]
    players, known = [entry.id for entry in entries], Known(system, ask.context)
    target, turned = known.targets(players, found.sizes[0])
    problem = Problem(
        _of(values, order),
        known.covariance(players),
        found.sizes,
        target,
        turned,
        pins={index: PINS[entry.side] for index, entry in enumerate(entries) if entry.stays and entry.side},
        current=[STANDS[entry.side] for entry in entries],
    )
    search = Search(problem, [[1 if index in found.a else -1 for index in order]])
    if ask.purpose is Purpose.SCRAMBLE:
        limit = known.limit(search, _named(players, search.sides(search.least)), EQUAL / OF_TOLERANCE)
        a, b = _scrambled(ask, search, limit, entries, system)
    else:
        limit = known.limit(search, _named(players, search.sides(search.least)), ask.tolerance)
        a, b = _named(players, search.sides(search.cheapest(limit, problem.moves)))
    return Split(a, b, tuple(ask.entries[index].id for index in sorted(found.bench)))


def _scrambled(ask: AskSplit, search: Search, limit: float, entries: Sequence[Entry], system: System[Any]) -> Named:
    """The sides of a due scramble, with the fewest moves of those that cost as little; `limit`: what that is."""
    players = [entry.id for entry in entries]
    found = _named(players, search.sides(search.cheapest(limit, search.problem.moves)))

    def attempts(each_way: int) -> Iterator[Named]:
        if leave(entries, found[0], each_way):
            yield found
            return
        # Those with the least cost may be too uneven where others, whose means differ more, are not.
        for weight in (MEAN_WEIGHT, 1.0):
            if (row := search.moving(each_way, weight)) is None:
                return
            yield _named(players, search.sides(row))

    return renewed(
        found, can_leave(entries, ask.each_way), attempts, lambda sides: unevenness(system, ask.context, *sides)
    )


def crossing(ask: AskMoves, moved: Sequence[int], system: System[Any]) -> tuple[PlayerId, ...]:
    """The players who cross to the smaller side; `moved` are those whom the exact solver chose."""
    players, known = (*ask.larger, *ask.smaller), Known(system, ask.context, ask.commanders)
    here = STANDS[ask.larger_side]
    current = [here] * len(ask.larger) + [-here] * len(ask.smaller)
    given = [-side if index in moved else side for index, side in enumerate(current)]
    a, b = _named(players, given)
    problem = Problem(
        (
            on_field(system, ask.context, Side.A, players, ask.commanders),
            on_field(system, ask.context, Side.B, players, ask.commanders),
        ),
        known.covariance(players),
        (len(a), len(b)),
        known.target(a, b),
        pins={
            index: Pin.A if side > 0 else Pin.B
            for index, (player, side) in enumerate(zip(players, current, strict=True))
            if player not in ask.movable
        },
        current=current,
    )
    prices = [ask.cost.get(player, 0) for player in players]
    toll = Toll([(0, price) if here > 0 else (price, 0) for price in prices])
    search = Search(problem, [given])
    sides = search.sides(search.cheapest(0.0, toll))
    return tuple(player for player, side in zip(ask.larger, sides, strict=False) if side != here)


def every_size(ask: CacheSplits, found: Sequence[Assignment], values: Values, system: System[Any]) -> tuple[Split, ...]:
    """For every assignment the best sides of those who play in it; in haste, as there are many and few are ever used.

    Equally large sides whose players are worth the same on both are improved all at once.
    """
    players, known = [entry.id for entry in ask.entries], Known(system, ask.context)
    covariance = known.covariance(players)
    equal = [each for each in found if len(each.a) == len(each.b)]
    if ask.context.mode is Mode.NS2 or values[0] != values[1]:
        equal = []
    given = [[(index in each.a) - (index in each.b) for index in range(len(players))] for each in equal]
    at_once = dict(zip([each.sizes for each in equal], all_evened(values[0], covariance, given), strict=True))
    return tuple(
        Split(
            *(
                tuple(one for one, side in zip(players, at_once[each.sizes], strict=True) if side == stand)
                for stand in (1, -1, 0)
            )
        )
        if each.sizes in at_once
        else _of_size(each, players, values, covariance, known)
        for each in found
    )


def _of_size(
    found: Assignment, players: Sequence[PlayerId], values: Values, covariance: Covariance, known: Known
) -> Split:
    order = sorted((*found.a, *found.b))
    those = [players[index] for index in order]
    problem = Problem(
        _of(values, order),
        [[covariance[one][other] for other in order] for one in order],
        found.sizes,
        *known.targets(those, found.sizes[0]),
    )
    search = Search(problem, [[1 if index in found.a else -1 for index in order]], hasty=True)
    a, b = _named(those, search.sides(search.least))
    return Split(a, b, tuple(players[index] for index in sorted(found.bench)))


def shuffled(
    ask: AskSplit,
    terms: ShuffleTerms,
    values: Values,
    lead: float,
    commanders: frozenset[PlayerId],
    system: System[Any],
) -> Sides:
    """The sides of a shuffle's humans; by so much the bots, who stay, put A ahead."""
    humans, known = [entry for entry in ask.entries if not entry.bot], Known(system, ask.context, commanders)
    players, half = [entry.id for entry in humans], len(humans) // 2
    stay = {index: entry.side for index, entry in enumerate(humans) if entry.stays and entry.side}
    bots = [[entry.id for entry in ask.entries if entry.bot and entry.side is side] for side in Side]
    by_place = sorted(players, key=lambda one: -STANDS[stay.get(players.index(one))])

    def target(on_a: int) -> float:
        return known.target((*by_place[:on_a], *bots[0]), (*by_place[on_a:], *bots[1])) - lead

    problem = Problem(
        values,
        known.covariance(players),
        (len(players) - half, half),
        target(len(players) - half),
        target(half) if len(players) % 2 else None,
        pins={index: PINS[side] for index, side in stay.items()},
        current=[STANDS[entry.side] for entry in humans],
    )
    search = Search(problem, (), terms.max_moves)
    low, high = terms.fair_band
    a, b = _named(players, search.sides(search.least))
    best = (*a, *bots[0]), (*b, *bots[1])
    limit = known.limit(search, best, ask.tolerance, (high - low) / 2)
    return search.sides(search.cheapest(limit, _toll(terms, humans)))


def _toll(terms: ShuffleTerms, humans: Sequence[Entry]) -> Toll:
    """Winners who are not spread evenly, friends apart, moves, denied wishes: each weighs more than all that follow."""
    number = {entry.id: index for index, entry in enumerate(humans)}
    move = 1 + sum(wish.weight for wish in terms.wishes.values()) if terms.moves_count else 0
    friend = (move or 1 + sum(wish.weight for wish in terms.wishes.values())) * (len(humans) + 1)
    winner = 2 * friend * (len(humans) + 1)
    apart: dict[tuple[int, int], int] = {}
    for pair in combinations(sorted(number[one] for one in terms.spread_evenly if one in number), 2):
        apart[pair] = -4 * winner
    for group in terms.groups:
        # Of two, three and four friends, pairs apart are 1, 2 and 3 for each who is parted from the others.
        there = sorted(number[one] for one in group if one in number)
        for pair in combinations(there, 2):
            apart[pair] = apart.get(pair, 0) + 6 * friend // (len(there) - 1)
    wishes = [_denied(terms, entry) for entry in humans]
    moves = [(move * (entry.side is Side.B), move * (entry.side is Side.A)) for entry in humans]
    return Toll([(6 * (a + b), 6 * (c + d)) for (a, c), (b, d) in zip(wishes, moves, strict=True)], apart)


def _denied(terms: ShuffleTerms, entry: Entry) -> tuple[int, int]:
    """What it weighs to put a player on A, and on B."""
    wish = terms.wishes.get(entry.id)
    if wish is None:
        return 0, 0
    return (0, wish.weight) if wish.side is Side.A else (wish.weight, 0)


def _of(values: Values, order: Sequence[int]) -> Values:
    on_a, on_b = values
    return [on_a[index] for index in order], [on_b[index] for index in order]


def _named(players: Sequence[PlayerId], sides: Sequence[int]) -> Named:
    a, b = (tuple(one for one, side in zip(players, sides, strict=True) if side == stand) for stand in (1, -1))
    return a, b
