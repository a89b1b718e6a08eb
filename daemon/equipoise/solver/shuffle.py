"""The shuffle: everyone plays, the sides become even enough, and as few wishes as possible are denied.

`shuffle` checks a question in points, has it searched exactly (`shuffle_search`), and where the budget does not suffice
for that, improves the best places that the search has left by trades: one or two players change side, for as long as
that is better by what the search minimises, in its order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver.bitsets import EXHAUSTED, TRADE_WORK, Budget, Spent
from equipoise.solver.problem import (
    COARSE,
    FINE,
    MAX_PLAYERS,
    A,
    Assignment,
    B,
    Gap,
    Pin,
    Ticks,
    check_tolerance,
    present_places,
    total,
)
from equipoise.solver.shuffle_search import MOVES, PARTED, WISHES, Band, Count, ShuffleSearch, Sides, parted
from equipoise.solver.splits import PROVING, SEARCHING, SHARE

HEAVIEST = 1 << 32
"""The most that all wishes may weigh together."""
# A group is placed as one, in each of its 2⁴ patterns; five friends would double that again.
LARGEST_GROUP = 4


def shuffle(
    values: Sequence[float],
    current: Sequence[Side | None],
    *,
    sizes: tuple[int, int],
    values_b: Sequence[float] | None = None,
    target: float = 0,
    band: tuple[float, float] | None = None,
    tolerance: float = 0,
    pins: Mapping[int, Pin] | None = None,
    groups: Iterable[Collection[int]] = (),
    wishes: Sequence[tuple[int, int]] | None = None,
    spread_evenly: Collection[int] = (),
    spread_on_a: tuple[int, int] | None = None,
    max_moves: int | None = None,
    moves_count: bool = True,
    friend_cost: int | None = None,
    either: bool = True,
    budget: Budget | None = None,
) -> Assignment:
    """Place all players on two sides; of uneven `sizes` either side may be the larger one, where `either` is true.

    What counts, in this order: no more than `max_moves` players change side (or as few as the sizes need); the
    difference Σ(A) − Σ(B) is inside `band`, or where none is, within `tolerance` of the one nearest to `target`; the
    players of `spread_evenly` are on both sides in equal numbers, give or take one, or so many of them are on A as
    `spread_on_a` says; the fewest of the `groups` of up to four friends are parted (of each group those on the side
    that has fewer of them); the fewest players change side, if `moves_count`; the least sum of `wishes`, what it costs
    to put each player on A and on B; the least distance from the target. Players without a present side may be placed
    on either, which is no move. With a `friend_cost` parted friends are no term of their own: each adds so much to the
    wishes.

    Values as in `splits`, on a coarser grid where they are not whole. `SplitError` when pins and sizes allow no
    assignment. An assignment that the budget does not suffice to prove is not `optimal`.

    >>> four = [Side.A, Side.A, Side.B, Side.B]
    >>> shuffle([9, 7, 2, 1], four, sizes=(2, 2), band=(-5, 5)).a
    (0, 3)
    >>> shuffle([9, 7, 2, 1], four, sizes=(2, 2), band=(-5, 5), wishes=[(1, 0), (0, 0), (0, 0), (0, 0)]).a
    (1, 2)
    """
    check_tolerance(tolerance)
    count = len(values)
    ticks = Ticks.of(values, values_b, target, widest=FINE)
    if not ticks.lossless:
        # Coarser than for splits: with 24 players of NS2 it moves a win probability by less than 0.001.
        ticks = Ticks.of(values, values_b, target, widest=COARSE)
    spread, on_a = _checked_players(spread_evenly, count), tuple(dict.fromkeys(sizes)) if either else sizes[:1]
    sides = Sides(
        ticks.a,
        ticks.b,
        sizes=on_a,
        current=present_places(current, count),
        pins=_checked_pins(pins or {}, sizes, count, on_a),
        groups=_checked_groups(groups, count),
        wishes=_checked_wishes(wishes, count),
        spread=spread,
        spread_on_a=spread_on_a or (len(spread) // 2, (len(spread) + 1) // 2),
        friend_cost=friend_cost or 0,
    )
    window = _window(sides, ticks, band)
    options = ((PARTED, sides.groups and friend_cost is None), (MOVES, moves_count), (WISHES, wishes or friend_cost))
    # In the order in which they count.
    counts = [count for count, is_cost in options if is_cost]
    budget = budget or Budget()
    least, greatest = sides.ends
    # A tolerance beyond all differences, infinity too, means any.
    # Windows are dilated by it, so it may be no wider than the differences there are.
    near = math.floor(min(tolerance * ticks.per_point, greatest - least + 2))
    search = ShuffleSearch(sides, window, near, max_moves, budget.share(SHARE))
    try:
        places, optimal = search.solve(counts), True
    except EXHAUSTED:
        # The last stage that came to an end has left places; without one the present sides are the start.
        start = search.best or _first_places(sides)
        trades = Trades(sides, list(start), search.window, search.cap, counts)
        trades.improve(budget)
        places, optimal = trades.places, False
    on_a, on_b = (tuple(i for i, place in enumerate(places) if place == side) for side in (A, B))
    difference = total([values[i] for i in on_a]) - total([(values_b or values)[i] for i in on_b])
    moves, hidden = MOVES.of(sides.state(places)), ticks.hidden(count)
    return Assignment(
        on_a,
        on_b,
        (),
        difference,
        optimal,
        method=PROVING if optimal else SEARCHING,
        error_bound=ticks.error_bound(count),
        moves=moves,
        gap=Gap(hidden) if optimal else Gap(hidden + abs(difference - target), moves=moves - search.fewest),
    )


def _window(sides: Sides, ticks: Ticks, band: tuple[float, float] | None) -> Band:
    """Return band and target in ticks; one that lies beyond all differences of the sides is brought next to them."""
    least, greatest = sides.ends
    # Without a band an empty one: nothing is inside, so the search goes by the target.
    low, high = band or (math.inf, -math.inf)

    def inside(ticks: float) -> float:
        return max(least - 1, min(greatest + 1, ticks))

    return Band(
        math.ceil(inside(low * ticks.per_point)), math.floor(inside(high * ticks.per_point)), int(inside(ticks.target))
    )


def _checked_pins(
    pins: Mapping[int, Pin], sizes: tuple[int, int], count: int, sizes_of_a: Sequence[int]
) -> dict[int, int]:
    """Return the places of pinned players; `SplitError` when they do not fit any of the sizes."""
    if count > MAX_PLAYERS:
        raise SplitError(f"{count} players are too many: at most {MAX_PLAYERS} can be split")
    if min(sizes) < 1 or sum(sizes) != count:
        raise SplitError(f"{count} players cannot all play {sizes[0]} against {sizes[1]}")
    places = {}
    for player, pin in pins.items():
        if not 0 <= player < count:
            raise SplitError(f"a pin names player {player}, but the players are 0 to {count - 1}")
        if pin is Pin.BENCH:
            raise SplitError(f"player {player} is pinned to the bench, but a shuffle has none")
        if pin is not Pin.PLAY:
            places[player] = A if pin is Pin.A else B
    on_a, on_b = (list(places.values()).count(side) for side in (A, B))
    if not any(on_a <= size and on_b <= count - size for size in sizes_of_a):
        counts = f"{on_a} players are pinned to side A and {on_b} to side B"
        raise SplitError(f"{counts}, but {max(sizes)} play against {min(sizes)}")
    return places


def _checked_groups(groups: Iterable[Collection[int]], count: int) -> list[list[int]]:
    """Return the groups of two or more; `SplitError` for one that is too large or shares a player with another."""
    friends = [sorted(set(group)) for group in groups]
    members = [member for group in friends for member in group]
    for member in members:
        if not 0 <= member < count:
            raise SplitError(f"a group names player {member}, but the players are 0 to {count - 1}")
        if members.count(member) > 1:
            raise SplitError(f"player {member} is in two groups of friends")
    for group in friends:
        if len(group) > LARGEST_GROUP:
            raise SplitError(f"a group of friends has {len(group)} players: at most {LARGEST_GROUP} are kept together")
    return [group for group in friends if len(group) > 1]


def _checked_wishes(wishes: Sequence[tuple[int, int]] | None, count: int) -> Sequence[tuple[int, int]]:
    if wishes is None:
        return [(0, 0)] * count
    if len(wishes) != count:
        raise SplitError(f"{len(wishes)} wishes for {count} players")
    costs = [cost for pair in wishes for cost in pair]
    if not all(isinstance(cost, int) and cost >= 0 for cost in costs) or sum(costs) > HEAVIEST:
        raise SplitError(f"wishes weigh whole numbers from 0 up, together at most {HEAVIEST}")
    return wishes


def _checked_players(players: Collection[int], count: int) -> frozenset[int]:
    for player in players:
        if not 0 <= player < count:
            raise SplitError(f"player {player} is to be spread evenly, but the players are 0 to {count - 1}")
    return frozenset(players)


def _first_places(sides: Sides) -> list[int]:
    """Return the present places, players without one on the smaller side, and as many moved as the sizes need."""
    players = range(len(sides.a))
    places = [sides.pins.get(i, sides.current[i]) for i in players]
    for i in players:
        if not places[i]:
            places[i] = A if places.count(A) < places.count(B) else B
    on_a, on_b = (list(sides.pins.values()).count(side) for side in (A, B))
    possible = [size for size in sides.sizes if on_a <= size <= len(places) - on_b]
    # Pins rule out some sizes; of the others the one that fewer have to move for.
    lack = min((size - places.count(A) for size in possible), key=abs)
    larger = B if lack > 0 else A
    movable = [i for i in players if places[i] == larger and i not in sides.pins]
    for i in movable[: abs(lack)]:
        places[i] = -larger
    return places


class Trades:
    """The places of all players, and how good they are; `improve` lets players change side."""

    def __init__(self, sides: Sides, places: list[int], window: Band, cap: int, counts: Sequence[Count]) -> None:
        self.sides, self.places, self.window, self.cap, self.counts = sides, places, window, cap, counts
        self.group_of = {player: number for number, group in enumerate(sides.groups) for player in group}
        self.steps = [sides.step(i, A) - sides.step(i, B) for i in range(len(places))]
        self.weights = [sides.weight([i]) for i in range(len(places))]
        self.difference, self.state = sides.difference(places), sides.state(places)
        self.score = self._score(self.difference, self.state)

    def improve(self, budget: Budget) -> None:
        """Let one player or two change side, until no change is better or the budget is used up."""
        with suppress(Spent):
            # `sum`, not `any`: one sweep tries every change, whether or not one before it helped.
            while sum(self._trade(players, budget) for players in self._changes()):
                pass

    def _changes(self) -> Iterator[tuple[int, ...]]:
        """Yield one or two players who may leave their sides, by the pins."""
        free = [i for i in range(len(self.places)) if i not in self.sides.pins]
        yield from ((i,) for i in free)
        yield from combinations(free, 2)

    def _trade(self, players: tuple[int, ...], budget: Budget) -> bool:
        """Let the players change side if that is better; return whether it is."""
        places = self.places
        on_a = places.count(A) - sum(places[i] for i in players)
        if on_a not in self.sides.sizes:
            return False
        budget.spend(TRADE_WORK)
        difference = self.difference - sum(places[i] * self.weights[i] for i in players)
        state = self.state - sum(places[i] * self.steps[i] for i in players)
        # Parted friends are no sum over players: their groups are counted anew.
        groups = {self.group_of[i] for i in players if i in self.group_of}
        if groups:
            before = self._apart(groups, ())
            state += self.sides.apart(self._apart(groups, players)) - self.sides.apart(before)
        score = self._score(difference, state)
        if score >= self.score:
            return False
        self.difference, self.state, self.score = difference, state, score
        for i in players:
            places[i] = -places[i]
        return True

    def _apart(self, groups: set[int], changed: tuple[int, ...]) -> int:
        """Return how many of these groups' friends are parted once some players have changed side."""
        return sum(
            parted([-self.places[i] if i in changed else self.places[i] for i in self.sides.groups[group]])
            for group in groups
        )

    def _score(self, difference: int, state: int) -> tuple[int, ...]:
        low, high, target = self.window
        outside = max(0, low - difference, difference - high) if low <= high else abs(difference - target)
        return (
            max(0, MOVES.of(state) - self.cap),
            outside,
            self.sides.excess(state),
            *(count.of(state) for count in self.counts),
            abs(difference - target),
        )
