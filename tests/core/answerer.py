"""Answers the asks of a session by trying everything: slow, plain, and independent of the solver."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from equipoise.core.effects import Ask, AskMoves, AskSplit, CacheSplits, LoadCards, Purpose
from equipoise.core.events import Answer, CardsLoaded, MovesSolved, SolveFailed, SplitsCached, SplitSolved
from equipoise.core.model import Card, Entry, PlayerId, Split

POINTS_PER_CHANCE = 4 * 2400
"""Slope of the logistic at even sides, for Θ = 2400: 0.01 of win probability is 96 points."""

Ratings = Mapping[PlayerId, float]


def answer(ask: Ask, ratings: Ratings) -> Answer:
    """The event that answers an ask."""
    match ask:
        case LoadCards():
            return CardsLoaded(tuple(Card(player, ratings[player]) for player in ask.players))
        case AskSplit():
            return _solved(ask, ratings)
        case AskMoves():
            return MovesSolved(ask, _transfer(ask, ratings))
        case CacheSplits():
            return SplitsCached(ask, tuple(_every_size(ask, ratings)))


def difference(split: Split, ratings: Ratings) -> float:
    """Sum of A less sum of B."""
    return sum(ratings[player] for player in split.a) - sum(ratings[player] for player in split.b)


def _solved(ask: AskSplit, ratings: Ratings) -> SplitSolved | SolveFailed:
    best = _duel(ask.pool, ratings) if ask.purpose is Purpose.DUEL else _preferred(ask, ratings)
    if best is None:
        return SolveFailed(ask, "no split keeps to the constraints")
    return SplitSolved(ask, best, difference(best, ratings), 0.5, 0.5)


def _duel(pool: Sequence[Entry], ratings: Ratings) -> Split:
    humans = [entry for entry in pool if not entry.bot]
    pairs = combinations(humans, 2)
    one, two = min(
        pairs, key=lambda pair: (abs(ratings[pair[0].id] - ratings[pair[1].id]), -sum(e.connected for e in pair))
    )
    return Split((one.id,), (two.id,), tuple(entry.id for entry in pool if entry not in (one, two)))


def _preferred(ask: AskSplit, ratings: Ratings) -> Split | None:
    """Within the tolerance of the optimum: the cheapest bench, then the fewest moves, then the least difference."""
    allowed = [split for split in _splits(ask.pool, {ask.sizes, ask.sizes[::-1]}) if _meets(ask, split)]
    if not allowed:
        return None
    least = min(abs(difference(split, ratings)) for split in allowed)
    slack = math.inf if math.isinf(ask.tolerance) else ask.tolerance * POINTS_PER_CHANCE
    close = [split for split in allowed if abs(difference(split, ratings)) <= least + slack]
    return min(close, key=lambda split: (_bench_cost(ask, split), _moved(ask, split), abs(difference(split, ratings))))


def _splits(pool: Sequence[Entry], sizes: set[tuple[int, int]]) -> Iterator[Split]:
    players = [entry.id for entry in pool]
    for on_a, on_b in sorted(sizes):
        for a in combinations(players, on_a):
            rest = [player for player in players if player not in a]
            for b in combinations(rest, on_b):
                yield Split(a, b, tuple(player for player in rest if player not in b))


def _meets(ask: AskSplit, split: Split) -> bool:
    bots_stand = all(split.side_of(entry.id) is entry.side for entry in ask.pool if entry.bot)
    return bots_stand and not ask.must_play.intersection(split.bench)


def _bench_cost(ask: AskSplit, split: Split) -> int:
    return sum(ask.bench_cost[player] for player in split.bench)


def _moved(ask: AskSplit, split: Split) -> int:
    return sum(entry.side is not None and split.side_of(entry.id) is entry.side.other for entry in ask.pool)


def _transfer(ask: AskMoves, ratings: Ratings) -> tuple[PlayerId, ...]:
    gap = sum(ratings[player] for player in ask.larger) - sum(ratings[player] for player in ask.smaller)

    def order(chosen: tuple[PlayerId, ...]) -> tuple[float, int]:
        left = gap - 2 * sum(ratings[player] for player in chosen)
        return abs(left), sum(ask.cost[player] for player in chosen)

    return min(combinations(ask.movable, ask.count), key=order)


def _every_size(ask: CacheSplits, ratings: Ratings) -> Iterator[Split]:
    count = len(ask.pool)
    sizes = [(k, k) for k in range(2, count // 2 + 1)]
    if count % 2 and not ask.bench:
        sizes.append((count // 2 + 1, count // 2))
    for pair in sizes:
        yield min(_splits(ask.pool, {pair}), key=lambda split: abs(difference(split, ratings)))
