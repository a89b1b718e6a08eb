"""Slow and obvious solutions, to compare the solver's with. They share no code with it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from math import inf

from equipoise.core.model import Side
from equipoise.solver import Assignment, Budget, Pin, best_split

A, B, BENCH = 1, -1, 0
PLACES = {Pin.A: (A,), Pin.B: (B,), Pin.BENCH: (BENCH,), Pin.PLAY: (A, B)}


@dataclass(frozen=True)
class Puzzle:
    """Everything that `best_split` can be asked, as it is asked."""

    values: Sequence[float]
    sizes: tuple[int, int]
    values_b: Sequence[float] | None = None
    target: float = 0
    groups: Sequence[Sequence[int]] = ()
    pins: Mapping[int, Pin] = field(default_factory=dict)
    roles: Sequence[Sequence[int]] = ()
    role_cap: int = 1
    bench_cost: Sequence[int] | None = None
    current: Sequence[Side | None] | None = None
    tolerance: float = 0.0

    def solved(self, budget: Budget | None = None) -> Assignment:
        return best_split(**asdict(self), budget=budget)

    def difference(self, places: Sequence[int]) -> float:
        other = self.values if self.values_b is None else self.values_b
        pairs = zip(places, self.values, other, strict=True)
        return sum(a if place == A else -b if place == B else 0 for place, a, b in pairs)

    def allows(self, places: Sequence[int]) -> bool:
        together = all(len({places[i] for i in group}) == 1 for group in self.groups)
        pinned = all(places[i] in PLACES[pin] for i, pin in self.pins.items())
        capped = all(abs(sum(places[i] for i in role)) <= self.role_cap for role in self.roles)
        return together and pinned and capped

    def score(self, places: Sequence[int]) -> tuple[int, int, float]:
        """Bench cost, moves and imbalance: what is kept least, in this order, within the tolerance."""
        costs = self.bench_cost or [0] * len(places)
        present = [0 if s is None else A if s is Side.A else B for s in self.current or [None] * len(places)]
        return (
            sum(cost for place, cost in zip(places, costs, strict=True) if place == BENCH),
            sum(place * side == -1 for place, side in zip(places, present, strict=True)),
            abs(self.difference(places) - self.target),
        )

    def assignments(self) -> Iterator[tuple[int, ...]]:
        """Every placing of the sizes asked for that meets the constraints."""
        indices = range(len(self.values))
        for a in combinations(indices, self.sizes[0]):
            rest = [i for i in indices if i not in a]
            for b in combinations(rest, self.sizes[1]):
                places = tuple(A if i in a else B if i in b else BENCH for i in indices)
                if self.allows(places):
                    yield places

    def best_score(self) -> tuple[int, int, float] | None:
        """The score that `best_split` must reach; None when no assignment meets the constraints."""
        scores = [self.score(places) for places in self.assignments()]
        if not scores:
            return None
        least = min(imbalance for _, _, imbalance in scores)
        return min(score for score in scores if score[2] <= least + self.tolerance)

    def places(self, assignment: Assignment) -> tuple[int, ...]:
        """One place per player; each must have exactly one, and the sizes must be those asked for."""
        placed = sorted((*assignment.a, *assignment.b, *assignment.bench))
        assert placed == list(range(len(self.values)))
        assert assignment.sizes == self.sizes
        return tuple(A if i in assignment.a else B if i in assignment.b else BENCH for i in placed)


def random_puzzle(rng: random.Random, most: int) -> Puzzle:
    """A small puzzle with any of the constraints at once, often a tight one, sometimes one without an answer."""
    n = rng.randint(2, most)
    values = rng.choice((_spread, _starred, _doubling))(rng, n)
    a = rng.randint(1, n - 1)
    b = min(rng.choice((a, rng.randint(1, n - 1))), n - a)

    def some(likely: float) -> bool:
        return rng.random() < likely

    def sample(most: int) -> list[int]:
        return rng.sample(range(n), rng.randint(1, min(most, n)))

    return Puzzle(
        values,
        (a, b),
        values_b=[value + rng.randint(-20, 20) for value in values] if some(0.3) else None,
        target=rng.randint(-50, 50) if some(0.3) else 0,
        groups=[sample(3) for _ in range(rng.randint(1, 2))] if some(0.4) else (),
        pins={i: rng.choice(list(Pin)) for i in sample(3)} if some(0.4) else {},
        roles=[sample(n) for _ in range(rng.randint(1, 3))] if some(0.4) else (),
        role_cap=rng.choice((0, 1, 1, 2)),
        bench_cost=[rng.choice((0, 1, 2, 3, 50)) for _ in range(n)] if some(0.5) else None,
        current=[rng.choice((Side.A, Side.B, None)) for _ in range(n)] if some(0.5) else None,
        tolerance=rng.choice((0, 0, 3, 10, 96, inf)),
    )


def _spread(rng: random.Random, n: int) -> list[int]:
    return [rng.randint(0, 60) for _ in range(n)]


def _starred(rng: random.Random, n: int) -> list[int]:
    return [4000, *(1000 + rng.randint(0, 9) for _ in range(n - 1))]


def _doubling(rng: random.Random, n: int) -> list[int]:
    return rng.sample([3**i for i in range(n)], n)


def gosper(mask: int) -> int:
    """The next larger number with as many bits set: SynElo's F8."""
    carry = mask + (mask & -mask)
    return ((carry ^ mask) // (mask & -mask)) >> 2 | carry


def masks(count: int, of: int) -> Iterator[int]:
    """Every set of `count` among `of`, as bits."""
    mask = (1 << count) - 1
    while mask < 1 << of:
        yield mask
        if not mask:
            return
        mask = gosper(mask)


def enumerated(ratings: Sequence[int], k: int, *, anchored: bool = False) -> int:
    """SynElo's F9, repaired: the least |Σ(A) − Σ(B)| over all who may play and all ways to part them.

    `anchored` puts the highest rated on A, as SynElo does: with a bench that loses optima.
    """
    ratings = sorted(ratings, reverse=True)
    best: float = inf
    for players in masks(2 * k, len(ratings)):
        if anchored and not players & 1:
            continue
        active = [rating for i, rating in enumerate(ratings) if players >> i & 1]
        for side in masks(k, 2 * k):
            on_b = sum(rating for i, rating in enumerate(active) if side >> i & 1)
            best = min(best, abs(sum(active) - 2 * on_b))
    return int(best)


def sequential(ratings: Sequence[int], a: int, b: int) -> int:
    """The least |Σ(A) − Σ(B)| by one dynamic programme over all players: sets of differences by sizes."""
    reach: dict[tuple[int, int], set[int]] = {(0, 0): {0}}
    for rating in ratings:
        more = {sizes: set(differences) for sizes, differences in reach.items()}
        for (x, y), differences in reach.items():
            if x < a:
                more.setdefault((x + 1, y), set()).update(d + rating for d in differences)
            if y < b:
                more.setdefault((x, y + 1), set()).update(d - rating for d in differences)
        reach = more
    return min(map(abs, reach[a, b]))


def without_bench(ratings: Sequence[int], a: int) -> int:
    """The least |Σ(A) − Σ(B)| with `a` players on A and all others on B: subset sums by count."""
    sums = [1] + [0] * a
    for rating in ratings:
        for count in range(a, 0, -1):
            sums[count] |= sums[count - 1] << rating
    whole = sum(ratings)
    return min(abs(whole - 2 * i) for i in range(sums[a].bit_length()) if sums[a] >> i & 1)
