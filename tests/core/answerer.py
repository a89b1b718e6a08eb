"""Answers the asks of a session by trying everything: slow, plain, and independent of the solver."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, permutations, product

from equipoise.core.asks import (
    Ask,
    AskChance,
    AskMoves,
    AskSide,
    AskSplit,
    AskSwitch,
    CacheSplits,
    LoadSummaries,
    Purpose,
    SwapTerms,
)
from equipoise.core.events import (
    Answer,
    ChanceFound,
    MovesSolved,
    SideFound,
    SolveFailed,
    SplitsCached,
    SplitSolved,
    SummariesLoaded,
    SwitchJudged,
)
from equipoise.core.model import Entry, Outlook, PlayerId, PlayerSummary, Side, Split

NEWCOMER = 2000.0
"""The rating of a player of whom nothing is known."""
GIVEN_UP = 0.02
"""Unevenness that a scramble may give up to move people."""
POINTS_PER_CHANCE = 4 * 2400
"""Slope of the logistic at even sides, for Θ = 2400: 0.01 of win probability is 96 points."""

Ratings = Mapping[PlayerId, float]
SideSkills = tuple[Ratings, Ratings]
"""On side A, and on side B."""


def answer(
    ask: Ask, ratings: Ratings, on_b: Ratings | None = None, points_per_chance: float = POINTS_PER_CHANCE
) -> Answer:
    """The event that answers an ask; `on_b` is what players are worth on side B, where that differs."""
    match ask:
        case LoadSummaries():
            return SummariesLoaded(tuple(PlayerSummary(player, ratings[player]) for player in ask.players))
        case AskSplit():
            return _solved(ask, (ratings, on_b or ratings), points_per_chance)
        case AskMoves():
            return MovesSolved(ask, _transfer(ask, (ratings, on_b or ratings)))
        case AskSide():
            return SideFound(ask, _side(ask, (ratings, on_b or ratings), points_per_chance))
        case CacheSplits():
            return SplitsCached(ask, tuple(_every_size(ask, (ratings, on_b or ratings))))
        case AskChance():
            return ChanceFound(ask, Outlook.alone(_chance(Split(ask.a, ask.b), ratings, on_b, points_per_chance)))
        case AskSwitch():
            crossing = {ask.player} | ({ask.partner} if ask.partner else set())
            crossed = (tuple(set(side) ^ crossing) for side in (ask.a, ask.b))
            splits = Split(ask.a, ask.b), Split(*crossed)
            return SwitchJudged(ask, *(_chance(each, ratings, on_b, points_per_chance) for each in splits))


def difference(split: Split, ratings: Ratings, on_b: Ratings | None = None) -> float:
    """Sum of A less sum of B."""
    there = on_b or ratings
    return sum(ratings[player] for player in split.a) - sum(there[player] for player in split.b)


def _chance(split: Split, ratings: Ratings, on_b: Ratings | None, points_per_chance: float) -> float:
    return min(1.0, max(0.0, 0.5 + difference(split, ratings, on_b) / points_per_chance))


def _solved(ask: AskSplit, side_skills: SideSkills, points_per_chance: float) -> SplitSolved | SolveFailed:
    if ask.purpose is Purpose.SHUFFLE:
        return _shuffled(ask, side_skills, points_per_chance)
    if ask.swaps is not None:
        return _swapped(ask, ask.swaps, side_skills, points_per_chance)
    duels = ask.purpose is Purpose.DUEL
    best = _duel(ask.entries, side_skills) if duels else _preferred(ask, side_skills, points_per_chance)
    if best is None:
        return SolveFailed(ask, "no split keeps to the constraints")
    return SplitSolved(ask, best, difference(best, *side_skills), Outlook.alone(0.5), Outlook.alone(0.5))


def _shuffled(ask: AskSplit, side_skills: SideSkills, points_per_chance: float) -> SplitSolved:
    """By band, moves and wishes alone, in this order, and without a price outside the band; commanders stay."""
    terms = ask.terms
    assert terms is not None
    low, high = terms.fair_band
    most = len(ask.entries) if terms.max_moves is None else terms.max_moves

    def chance(split: Split) -> float:
        return min(1.0, max(0.0, 0.5 + difference(split, *side_skills) / points_per_chance))

    def order(split: Split) -> tuple[float, int, int, float]:
        p = chance(split)
        return (
            0.0 if low <= p <= high else abs(p - 0.5),
            _moved(ask, split) if terms.moves_count else 0,
            sum(wish.weight for player, wish in terms.wishes.items() if split.side_of(player) is not wish.side),
            abs(p - 0.5),
        )

    pinned = {entry.id: entry.side for entry in ask.entries if entry.commander and entry.side is not None}
    possible = [
        split
        for split in _splits(ask.entries, {ask.sizes, ask.sizes[::-1]})
        if all(split.side_of(player) is side for player, side in pinned.items())
    ]
    # Uneven sides may need more moves than are allowed.
    allowed = [split for split in possible if _moved(ask, split) <= most]
    best = min(allowed or possible, key=order)
    now = Split(*(tuple(entry.id for entry in ask.entries if entry.side is side) for side in Side))
    return SplitSolved(ask, best, difference(best, *side_skills), *map(Outlook.alone, (chance(now), chance(best))))


def _swapped(ask: AskSplit, terms: SwapTerms, side_skills: SideSkills, points_per_chance: float) -> SplitSolved:
    """One or two pairs change places: the cheapest that reach the even chances, else each with three points."""
    here = tuple(tuple(entry.id for entry in ask.entries if entry.side is side) for side in Side)
    rest = tuple(entry.id for entry in ask.entries if entry.side is None)

    def chance(split: Split) -> float:
        return 1 / (1 + math.exp(-4 * difference(split, *side_skills) / points_per_chance))

    def swaps(pairs: int) -> Iterator[tuple[int, Split]]:
        free = [[player for player in side if player not in terms.stay] for side in here]
        for one, other in product(*(combinations(side, pairs) for side in free)):
            a = tuple(player for player in here[0] if player not in one) + other
            b = tuple(player for player in here[1] if player not in other) + one
            yield sum(terms.cost.get(player, 1) for player in one + other), Split(a, b, rest)

    def off(split: Split) -> float:
        return abs(chance(split) - 0.5)

    def solved(split: Split) -> SplitSolved:
        outlooks = map(Outlook.alone, (chance(now), chance(split)))
        return SplitSolved(ask, split, difference(split, *side_skills), *outlooks)

    now, best, moving = Split(*here, rest), Split(*here, rest), 0
    if terms.fair_band[0] <= chance(now) <= terms.fair_band[1]:
        return solved(now)
    for pairs in (1, 2):
        found = [*swaps(pairs)]
        if reaching := [each for each in found if terms.even[0] <= chance(each[1]) <= terms.even[1]]:
            return solved(min(reaching, key=lambda each: (each[0], off(each[1])))[1])
        nearest = min((split for _, split in found), key=off, default=now)
        if off(best) - off(nearest) >= 0.03 * (pairs - moving):
            best, moving = nearest, pairs
    return solved(best)


def _duel(entries: Sequence[Entry], side_skills: SideSkills) -> Split:
    on_a, on_b = side_skills
    pairs = permutations([entry for entry in entries if not entry.bot], 2)
    one, two = min(pairs, key=lambda pair: (abs(on_a[pair[0].id] - on_b[pair[1].id]), -sum(e.connected for e in pair)))
    return Split((one.id,), (two.id,), tuple(entry.id for entry in entries if entry not in (one, two)))


def _preferred(ask: AskSplit, side_skills: SideSkills, points_per_chance: float) -> Split | None:
    """Within the tolerance of the optimum: the cheapest bench, then the fewest moves, then the least difference.

    Equal sides choose the bench first, without a tolerance, and are then as balanced as that bench allows. A scramble
    has the least difference with its bench, or of those with more moves one that is about as even.
    """
    allowed = [split for split in _splits(ask.entries, {ask.sizes, ask.sizes[::-1]}) if _meets(ask, split)]
    if not allowed:
        return None

    def order(split: Split) -> tuple[int, int, float]:
        return _bench_cost(ask, split), _moved(ask, split), abs(difference(split, *side_skills))

    if ask.purpose is Purpose.EQUAL_SIDES:
        bench = set(min(allowed, key=order).bench)
        allowed = [split for split in allowed if set(split.bench) == bench]
    least = min(abs(difference(split, *side_skills)) for split in allowed)
    limit = least + ask.tolerance * points_per_chance
    within = [split for split in allowed if abs(difference(split, *side_skills)) <= limit]
    if ask.purpose is not Purpose.SCRAMBLE:
        return min(within, key=order)

    def off(split: Split) -> tuple[float, int]:
        return abs(difference(split, *side_skills)), _moved(ask, split)

    def uneven(split: Split) -> float:
        return abs(math.tanh(difference(split, *side_skills) / points_per_chance * 2) / 2)

    best = min(within, key=lambda split: (_bench_cost(ask, split), *off(split)))
    same = [split for split in allowed if set(split.bench) == set(best.bench)]
    for each_way in range(ask.each_way, 0, -1):
        moving = [split for split in same if least_leaving(ask, split) >= each_way]
        if moving and uneven(other := min(moving, key=off)) <= uneven(best) + GIVEN_UP + 1e-9:
            return other
    return best


def least_leaving(ask: AskSplit, split: Split) -> int:
    """Of those who stand on a side now and play: how many leave or do not leave it, where these are fewest."""
    counts = Counter(
        (entry.side, there is entry.side) for entry in ask.entries if entry.side and (there := split.side_of(entry.id))
    )
    return min(counts[side, stays] for side in Side for stays in (True, False))


def _splits(entries: Sequence[Entry], sizes: set[tuple[int, int]]) -> Iterator[Split]:
    players = tuple(entry.id for entry in entries)
    return chain.from_iterable(_of_sizes(players, *pair) for pair in sorted(sizes))


@lru_cache(maxsize=64)
def _of_sizes(players: tuple[PlayerId, ...], on_a: int, on_b: int) -> tuple[Split, ...]:
    return tuple(
        Split(a, b, tuple(player for player in rest if player not in b))
        for a in combinations(players, on_a)
        for rest in [[player for player in players if player not in a]]
        for b in combinations(rest, on_b)
    )


def _meets(ask: AskSplit, split: Split) -> bool:
    all_stay = all(split.side_of(entry.id) is entry.side for entry in ask.entries if entry.stays)
    return all_stay and not ask.must_play.intersection(split.bench)


def _bench_cost(ask: AskSplit, split: Split) -> int:
    return sum(ask.bench_cost[player] for player in split.bench)


def _moved(ask: AskSplit, split: Split) -> int:
    return sum(entry.side is not None and split.side_of(entry.id) is entry.side.other for entry in ask.entries)


def _transfer(ask: AskMoves, side_skills: SideSkills) -> tuple[PlayerId, ...]:
    here, there = side_skills if ask.larger_side is Side.A else side_skills[::-1]

    def order(chosen: tuple[PlayerId, ...]) -> tuple[float, int]:
        left = sum(here[player] for player in ask.larger if player not in chosen)
        faced = sum(there[player] for player in (*ask.smaller, *chosen))
        return abs(left - faced), sum(ask.cost[player] for player in chosen)

    return min(combinations(ask.movable, ask.count), key=order)


def _side(ask: AskSide, side_skills: SideSkills, points_per_chance: float) -> Side:
    def joined(side: Side) -> Split:
        sides = zip(Side, (ask.a, ask.b), strict=True)
        return Split(*((*there, ask.player) if each is side else there for each, there in sides))

    def order(side: Side) -> tuple[float, bool]:
        return abs(difference(joined(side), *side_skills)), side is not ask.wanted

    if ask.friends is not None:
        # The next to join is a newcomer, and goes to the other side.
        split = joined(ask.friends)
        lead = difference(split, *side_skills) + (NEWCOMER if ask.friends is Side.B else -NEWCOMER)
        if abs(lead) <= 0.05 * points_per_chance:
            return ask.friends
    return min(Side, key=order)


def _every_size(ask: CacheSplits, side_skills: SideSkills) -> Iterator[Split]:
    count = len(ask.entries)
    sizes = [{(k, k)} for k in range(2, count // 2 + 1)]
    if count % 2 and not ask.bench:
        sizes.append({(count // 2 + 1, count // 2), (count // 2, count // 2 + 1)})
    for pair in sizes:
        allowed = (split for split in _splits(ask.entries, pair) if ask.must_play <= {*split.a, *split.b})
        yield min(allowed, key=lambda split: abs(difference(split, *side_skills)))
