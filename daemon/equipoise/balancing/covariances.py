"""Questions to a system that knows how its errors depend on each other: they become problems of mean and variance.

The exact solver, by the means alone, says who plays; its sides are a start of the search (`mean_variance`), as the
present ones are. Every question of the core has its function here: a scramble or equal sides (`playing`), players who
cross to the smaller side (`crossing`), the cached splits (`every_size`), and a shuffle (`shuffled`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations
from math import inf
from typing import Any

from equipoise.balancing.chances import (
    FRIEND,
    MEAN_WEIGHT,
    MOVE,
    MOVE_WORTH,
    NO_PLAYERS,
    Values,
    even_difference,
    match_to_even,
    on_field,
    unevenness,
)
from equipoise.balancing.mean_variance import SIGNS, QuadraticProblem, Sides, SwapSearch, Toll, all_evened
from equipoise.balancing.means import EQUAL, can_leave, leave, pins_of_staying, renewed
from equipoise.core.asks import AskMoves, AskSplit, CacheSplits, Purpose, ShuffleTerms
from equipoise.core.bench import team_sizes
from equipoise.core.model import Context, Entry, Mode, PlayerId, Side, Split
from equipoise.ratings.system import Covariance, SkillContext, System
from equipoise.solver import Assignment, Pin

OF_TOLERANCE = 0.25
"""The part of a question's tolerance by which sides may be more uneven than the best.

A tolerance of the predicted chance costs little in truth while ratings are unsure. One of unevenness is what is truly
given up, and a hundredth is half of what the choice of a split can gain at all.
"""

TwoTeams = tuple[tuple[PlayerId, ...], tuple[PlayerId, ...]]
"""The players of both sides."""


class Knowledge:
    """The covariances and targets that a system knows of a context's players, as the search reads them."""

    def __init__(self, system: System[Any], context: Context, commanders: Collection[PlayerId] = NO_PLAYERS) -> None:
        self.system, self.context, self.commanders = system, context, commanders

    def covariance(self, players: Sequence[PlayerId]) -> Covariance:
        """Return the covariance, points squared, of what players add to a side."""
        covariance = self.system.covariance(players, SkillContext(self.context.mode.value, self.context.map))
        assert covariance is not None, f"{self.system.name} is correlated"
        return covariance

    def target(self, a: Sequence[PlayerId], b: Sequence[PlayerId]) -> float:
        """Return the difference of the sums at which sides as large as these are even."""
        return even_difference(self.system, self.context, a, b, self.commanders)

    def targets(self, players: Sequence[PlayerId], on_a: int) -> tuple[float, float | None]:
        """Return the target with so many players on A, and with as many on B; None where that is the same."""
        on_b = len(players) - on_a
        target = self.target(players[:on_a], players[on_a:])
        # Only head counts matter for it (`System.difference_at`), so which players stand where is of no account.
        return target, None if on_a == on_b else self.target(players[:on_b], players[on_b:])

    def limit(
        self,
        search: SwapSearch,
        best: tuple[Sequence[PlayerId], Sequence[PlayerId]],
        tolerance: float,
        fair: float | None = None,
    ) -> float:
        """Return the cost up to which sides are even enough: the tolerance above the least unevenness, or a fair one.

        The search has the players' variance alone. What head count, side and map add hardly depends on who plays where:
        it is taken from the best sides.
        """
        log_odds = self.system.gap(1.0, max(map(len, best))) / 4
        whole = self.system.variance(match_to_even(self.context, *best, self.commanders))
        # In points squared: all variance that the system knows of, less that of the players, which the search has.
        beyond = 0.0 if whole is None else whole * log_odds**2 - search.variance(search.least)
        return search.limit(OF_TOLERANCE * tolerance, log_odds, fair, beyond)


def playing(
    ask: AskSplit,
    exact: Assignment,
    values: Values,
    system: System[Any],
    together: Sequence[Collection[int]] = (),
    fits: Callable[[TwoTeams], bool] = lambda teams: True,
) -> Split:
    """Return the sides of the players whom the exact assignment lets play.

    A due scramble has the least cost, and moves whom people expect it to; else the fewest move within the tolerance.
    `together`: players by their place among those who play, who share a side. `fits`: which sides may be new ones.
    """
    # From here on players are numbers within those who play, and no longer within the question's entries.
    order = sorted((*exact.a, *exact.b))
    entries = [ask.entries[index] for index in order]
    players, knowledge = [entry.id for entry in entries], Knowledge(system, ask.context)
    target, mirror = knowledge.targets(players, exact.sizes[0])
    problem = QuadraticProblem(
        _of(values, order),
        knowledge.covariance(players),
        exact.sizes,
        target,
        mirror,
        pins=pins_of_staying(entries),
        groups=together,
        current=[SIGNS[entry.side] for entry in entries],
    )
    search = SwapSearch(problem, [[1 if index in exact.a else -1 for index in order]])
    best = _teams(players, search.sides(search.least))
    if ask.purpose is Purpose.SCRAMBLE:
        # `limit` takes a part of a tolerance; here the whole of `EQUAL` is meant.
        a, b = _scrambled(ask, search, knowledge.limit(search, best, EQUAL / OF_TOLERANCE), entries, system, fits)
    else:
        limit = knowledge.limit(search, best, ask.tolerance)
        a, b = _teams(players, search.sides(search.cheapest(limit, problem.moves)))
    return Split(a, b, tuple(ask.entries[index].id for index in sorted(exact.bench)))


def _scrambled(
    ask: AskSplit,
    search: SwapSearch,
    limit: float,
    entries: Sequence[Entry],
    system: System[Any],
    fits: Callable[[TwoTeams], bool],
) -> TwoTeams:
    """Return the sides of a due scramble: the fewest moves among the sides whose cost is at most the limit."""
    players = [entry.id for entry in entries]
    best = _teams(players, search.sides(search.cheapest(limit, search.problem.moves)))

    def attempts(each_way: int) -> Iterator[TwoTeams]:
        if leave(entries, best[0], each_way):
            yield best
            return
        # Those with the least cost may be too uneven where others, whose means differ more, are not.
        for weight in (MEAN_WEIGHT, 1.0):
            if (row := search.moving(each_way, weight)) is None:
                return
            if fits(teams := _teams(players, search.sides(row))):
                yield teams

    return renewed(
        best, can_leave(entries, ask.each_way), attempts, lambda teams: unevenness(system, ask.context, *teams)
    )


def crossing(ask: AskMoves, moved: Sequence[int], system: System[Any]) -> tuple[PlayerId, ...]:
    """Return the players who cross to the smaller side; `moved` are those whom the exact solver chose."""
    players, knowledge = (*ask.larger, *ask.smaller), Knowledge(system, ask.context, ask.commanders)
    sign = SIGNS[ask.larger_side]
    current = [sign] * len(ask.larger) + [-sign] * len(ask.smaller)
    # The larger side comes first among the players, so the indices of `moved` are theirs here, too.
    start = [-side if index in moved else side for index, side in enumerate(current)]
    a, b = _teams(players, start)
    problem = QuadraticProblem(
        (
            on_field(system, ask.context, Side.A, players, ask.commanders),
            on_field(system, ask.context, Side.B, players, ask.commanders),
        ),
        knowledge.covariance(players),
        (len(a), len(b)),
        knowledge.target(a, b),
        pins={
            index: Pin.A if side > 0 else Pin.B
            for index, (player, side) in enumerate(zip(players, current, strict=True))
            if player not in ask.movable
        },
        current=current,
    )
    prices = [ask.cost.get(player, 0) for player in players]
    # The price is due on the side where the player does not stand now. Players of the smaller side are pinned: theirs
    # is never due.
    toll = Toll([(0, price) if sign > 0 else (price, 0) for price in prices])
    search = SwapSearch(problem, [start])
    # A limit of 0 is below all costs: the least cost, and of sides that cost the same the least toll.
    sides = search.sides(search.cheapest(0.0, toll))
    return tuple(player for player, side in zip(ask.larger, sides, strict=False) if side != sign)


def every_size(ask: CacheSplits, exact: Sequence[Assignment], values: Values, system: System[Any]) -> tuple[Split, ...]:
    """Return for every assignment the best sides of those who play in it.

    In haste, as there are many and few are ever used. Equally large sides whose players are worth the same on both are
    improved all at once.
    """
    players, knowledge = [entry.id for entry in ask.entries], Knowledge(system, ask.context)
    covariance = knowledge.covariance(players)
    equal = [split for split in exact if len(split.a) == len(split.b)]
    if ask.context.mode is Mode.NS2 or values[0] != values[1]:
        equal = []  # a target, or values by side: one descent cannot have all sizes
    # 1 on A, -1 on B, 0 on the bench.
    starts = [[0] * len(players) for _ in equal]
    for start, split in zip(starts, equal, strict=True):
        for index in split.a:
            start[index] = 1
        for index in split.b:
            start[index] = -1
    at_once = dict(zip([split.sizes for split in equal], all_evened(values[0], covariance, starts), strict=True))

    def of_size(split: Assignment) -> Split:
        if split.sizes in at_once:
            places: dict[int, list[PlayerId]] = {1: [], -1: [], 0: []}
            for player, side in zip(players, at_once[split.sizes], strict=True):
                places[side].append(player)
            return Split(*map(tuple, places.values()))
        order = sorted((*split.a, *split.b))
        lineup = [players[index] for index in order]
        problem = QuadraticProblem(
            _of(values, order),
            [[covariance[first][second] for second in order] for first in order],
            split.sizes,
            *knowledge.targets(lineup, split.sizes[0]),
        )
        search = SwapSearch(problem, [[1 if index in split.a else -1 for index in order]], hasty=True)
        a, b = _teams(lineup, search.sides(search.least))
        return Split(a, b, tuple(players[index] for index in sorted(split.bench)))

    return tuple(map(of_size, exact))


def shuffled(
    ask: AskSplit,
    terms: ShuffleTerms,
    values: Values,
    tolls: Sequence[tuple[int, int]],
    lead: float,
    commanders: frozenset[PlayerId],
    system: System[Any],
) -> Sides:
    """Return the sides of a shuffle's humans.

    `tolls`: what it costs to put each of them on A, and on B. The bots, who stay, put A ahead by the lead.
    """
    humans, knowledge = [entry for entry in ask.entries if not entry.bot], Knowledge(system, ask.context, commanders)
    players, (smaller, larger) = [entry.id for entry in humans], team_sizes(humans, bench=False)
    stay = {index: entry.side for index, entry in enumerate(humans) if entry.stays and entry.side}
    bots = [[entry.id for entry in ask.entries if entry.bot and entry.side is side] for side in Side]
    # Players who stay on A come first, those who stay on B last: a commander counts on their own side.
    by_place = sorted(players, key=lambda one: -SIGNS[stay.get(players.index(one))])

    def target(on_a: int) -> float:
        return knowledge.target((*by_place[:on_a], *bots[0]), (*by_place[on_a:], *bots[1])) - lead

    problem = QuadraticProblem(
        values,
        knowledge.covariance(players),
        (larger, smaller),
        target(larger),
        target(smaller) if larger > smaller else None,
        pins=pins_of_staying(humans),
        current=[SIGNS[entry.side] for entry in humans],
    )
    # Without an exact start: a shuffle starts from the present sides, as moves are what it counts.
    search = SwapSearch(problem, (), terms.max_moves)
    low, high = terms.fair_band
    a, b = _teams(players, search.sides(search.least))
    best = (*a, *bots[0]), (*b, *bots[1])
    # The fair band is around a half, so sides inside it are at most half its width uneven.
    fair = (high - low) / 2
    if unevenness(system, ask.context, *best, commanders) <= fair:
        enough = knowledge.limit(search, best, ask.tolerance, fair)
        return search.sides(search.cheapest(enough, _toll(terms, tolls, humans)))
    # No sides are fair: what a move is worth is given up, again and again, while that saves more toll than a move's.
    toll = _toll(terms, tolls, humans, FRIEND)
    form = search.toll(toll)

    def limit(moves: int) -> float:
        return knowledge.limit(search, best, moves * MOVE_WORTH / OF_TOLERANCE)

    def price(most: float) -> tuple[float, Sides]:
        row = search.cheapest(most, toll)
        return float(form.of(row[None])[0]) / WHOLE, search.sides(row)

    offers, least, given_up = [price(limit(0))], price(inf)[0], 0
    # The least toll of all is below what any further step could save.
    while least + MOVE * (given_up := given_up + 1) < min(offers)[0]:
        paid, sides = price(limit(given_up))
        offers.append((paid + MOVE * given_up, sides))
    return min(offers)[1]


WHOLE = 6
"""Everything counts six times in a toll, so that what a pair of parted friends costs stays whole: 6, 3 or 2."""


def _toll(
    terms: ShuffleTerms, tolls: Sequence[tuple[int, int]], humans: Sequence[Entry], friend: int | None = None
) -> Toll:
    """Return the toll of a shuffle's terms: winners who are not spread evenly, friends apart, moves and denied wishes.

    Each weighs more than all that follow, but moves and wishes add up; with a price of a parted `friend` so do they.
    """
    number = {entry.id: index for index, entry in enumerate(humans)}
    # Each term outweighs all that may be denied below it: a friend more than all moves and wishes, a winner more than
    # all friends, of whom there are at most as many as humans.
    whole = 1 + sum(map(max, tolls))
    winner = 2 * max(whole, friend or 0) * (len(humans) + 1) ** 2
    friend = whole * (len(humans) + 1) if friend is None else friend
    apart: dict[tuple[int, int], int] = {}
    for pair in combinations(sorted(number[player] for player in terms.spread_evenly if player in number), 2):
        # Of n winners, a on A and b on B, a · b pairs are apart: the more, the more evenly they are spread.
        apart[pair] = -4 * winner
    for group in terms.groups:
        # Of two, three and four friends, pairs apart are 1, 2 and 3 for each who is parted from the others. Of four
        # friends two and two are 4 pairs, which is less than two parted friends (6 pairs) and more than one: no form of
        # pairs can count them.
        friends = sorted(number[player] for player in group if player in number)
        for pair in combinations(friends, 2):
            apart[pair] = apart.get(pair, 0) + WHOLE * friend // (len(friends) - 1)
    return Toll([(WHOLE * on_a, WHOLE * on_b) for on_a, on_b in tolls], apart)


def _of(values: Values, order: Sequence[int]) -> Values:
    on_a, on_b = values
    return [on_a[index] for index in order], [on_b[index] for index in order]


def _teams(players: Sequence[PlayerId], sides: Sequence[int]) -> TwoTeams:
    a, b = (tuple(entry for entry, side in zip(players, sides, strict=True) if side == stand) for stand in (1, -1))
    return a, b
