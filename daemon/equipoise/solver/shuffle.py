"""The shuffle: everyone plays, the sides become even enough, and as few wishes as possible are denied."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver.budget import EXHAUSTED, Budget
from equipoise.solver.model import Assignment, Gap, Pin
from equipoise.solver.problem import A, B
from equipoise.solver.question import PROVING, SEARCHING, SHARE
from equipoise.solver.shuffle_search import Search
from equipoise.solver.sides import HEAVIEST, MOVES, PARTED, WISHES, Sides, Window, checked_groups, checked_pins
from equipoise.solver.splits import check_tolerance, present_places
from equipoise.solver.sums import total
from equipoise.solver.ticks import COARSE, FINE, Ticks
from equipoise.solver.trades import first_places, traded


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
    max_moves: int | None = None,
    moves_count: bool = True,
    budget: Budget | None = None,
) -> Assignment:
    """Place all players on two sides; of uneven `sizes` either side may be the larger one.

    What counts, in this order: no more than `max_moves` players change side (or as few as the sizes need); the
    difference Σ(A) − Σ(B) is inside `band`, or where none is, within `tolerance` of the one nearest to `target`; the
    players of `spread_evenly` are on both sides in equal numbers, give or take one; the fewest of the `groups` of up to
    four friends are parted (of each group those on the side that has fewer of them); the fewest players change side,
    if `moves_count`; the least sum of `wishes`, what it costs to put each player on A and on B; the least distance from
    the target. Players without a present side may be placed on either, which is no move.

    Values as in `splits`, on a coarser grid where they are not whole. `SplitError` when pins and sizes allow no
    assignment. What the budget does not suffice to prove is not `optimal`.

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
        ticks = Ticks.of(values, values_b, target, widest=COARSE)
    sides = Sides(
        ticks.a,
        ticks.b,
        sizes=tuple(dict.fromkeys(sizes)),
        current=present_places(current, count) or (),
        pins=checked_pins(pins or {}, sizes, count),
        groups=checked_groups(groups, count),
        wishes=_wishes(wishes, count),
        spread=_players(spread_evenly, count),
    )
    window = _window(sides, ticks, band)
    counts = [each for each, asked in ((PARTED, sides.groups), (MOVES, moves_count), (WISHES, wishes)) if asked]
    budget = budget or Budget()
    least, greatest = sides.ends
    near = math.floor(min(tolerance * ticks.per_point, greatest - least + 2))
    search = Search(sides, window, near, max_moves, budget.share(SHARE))
    try:
        places, optimal = search.solve(counts), True
    except EXHAUSTED:
        start = search.found or first_places(sides)
        places, optimal = traded(sides, start, search.window, search.cap, counts, budget), False
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


def _window(sides: Sides, ticks: Ticks, band: tuple[float, float] | None) -> Window:
    """The band and the target in ticks; where they lie beyond all differences of the sides, they are next to those."""
    least, greatest = sides.ends
    low, high = band or (math.inf, -math.inf)

    def inside(ticks: float) -> float:
        return max(least - 1, min(greatest + 1, ticks))

    return Window(
        math.ceil(inside(low * ticks.per_point)), math.floor(inside(high * ticks.per_point)), int(inside(ticks.target))
    )


def _wishes(wishes: Sequence[tuple[int, int]] | None, count: int) -> Sequence[tuple[int, int]]:
    if wishes is None:
        return [(0, 0)] * count
    if len(wishes) != count:
        raise SplitError(f"{len(wishes)} wishes for {count} players")
    costs = [cost for pair in wishes for cost in pair]
    if not all(isinstance(cost, int) and cost >= 0 for cost in costs) or sum(costs) > HEAVIEST:
        raise SplitError(f"wishes weigh whole numbers from 0 up, together at most {HEAVIEST}")
    return wishes


def _players(players: Collection[int], count: int) -> frozenset[int]:
    for player in players:
        if not 0 <= player < count:
            raise SplitError(f"player {player} is to be spread evenly, but the players are 0 to {count - 1}")
    return frozenset(players)
