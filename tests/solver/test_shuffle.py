"""The shuffle: what counts and in which order, compared with trying everything."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.pools import hard_pools
from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import Assignment, Budget, Pin, fewest_moves, shuffle

Places = tuple[int, ...]
Score = tuple[float, ...]

A, B = 1, -1
SIDES: Mapping[Side | None, int] = {Side.A: A, Side.B: B, None: 0}


@dataclass(frozen=True)
class Evening:
    """Everything that `shuffle` can be asked, as it is asked."""

    values: Sequence[float]
    current: Sequence[Side | None]
    sizes: tuple[int, int]
    values_b: Sequence[float] | None = None
    target: float = 0
    band: tuple[float, float] | None = None
    tolerance: float = 0
    pins: Mapping[int, Pin] = field(default_factory=dict)
    groups: Sequence[Sequence[int]] = ()
    wishes: Sequence[tuple[int, int]] | None = None
    spread_evenly: Sequence[int] = ()
    max_moves: int | None = None
    moves_count: bool = True
    friend_cost: int | None = None

    def solved(self, budget: Budget | None = None) -> Assignment:
        return shuffle(**asdict(self), budget=budget)

    def allowed(self) -> list[Places]:
        """All places that pins and sizes allow."""
        fixed = {Pin.A: (A,), Pin.B: (B,), Pin.PLAY: (A, B)}
        choices = (fixed[self.pins.get(i, Pin.PLAY)] for i in range(len(self.values)))
        return [places for places in product(*choices) if places.count(A) in self.sizes]

    def difference(self, places: Places) -> float:
        pairs = zip(places, self.values, self.values_b or self.values, strict=True)
        return sum(a if place == A else -b for place, a, b in pairs)

    def moves(self, places: Places) -> int:
        return sum(place == -SIDES[side] for place, side in zip(places, self.current, strict=True))

    def score(self, places: Places) -> Score:
        """What is kept least inside the band, in this order."""
        spread = sum(places[i] for i in self.spread_evenly)
        groups = [[places[i] for i in group] for group in self.groups]
        wishes = self.wishes or [(0, 0)] * len(places)
        parted = sum(min(group.count(A), group.count(B)) for group in groups)
        return (
            max(0, abs(spread) - 1),
            parted if self.friend_cost is None else 0,
            self.moves(places) if self.moves_count else 0,
            sum(wish[place == B] for place, wish in zip(places, wishes, strict=True))
            + parted * (self.friend_cost or 0),
            abs(self.difference(places) - self.target),
        )

    def wanted(self) -> list[Places]:
        """All places inside the band; if there are none, those within the tolerance of the nearest."""
        allowed = self.allowed()
        fewest = min(map(self.moves, allowed), default=0)
        if self.max_moves is not None:
            allowed = [places for places in allowed if self.moves(places) <= max(self.max_moves, fewest)]
        low, high = self.band or (1, 0)
        inside = [places for places in allowed if low <= self.difference(places) <= high]
        distances = {places: abs(self.difference(places) - self.target) for places in allowed}
        least = min(distances.values(), default=0)
        return inside or [places for places in allowed if distances[places] <= least + self.tolerance]

    def places(self, found: Assignment) -> Places:
        assert sorted((*found.a, *found.b)) == list(range(len(self.values)))
        return tuple(A if i in found.a else B for i in range(len(self.values)))


def random_evening(rng: random.Random, most: int) -> Evening:
    """Few players and any of the terms at once, often in conflict."""
    n = rng.randint(2, most)
    widest = rng.choice((3, 50, 2000))
    values = [rng.randint(-widest // 3, widest) for _ in range(n)]
    a = n // 2 if rng.random() < 0.8 else rng.randint(1, n - 1)
    target, width = rng.choice((0, rng.randint(-widest, widest))), rng.choice((0, widest // 20, widest // 2))
    order = rng.sample(range(n), n)
    groups = [order[start : start + 4][: rng.randint(2, 4)] for start in range(0, rng.randint(0, n), 4)]
    return Evening(
        values,
        rng.choices((Side.A, Side.B, None), rng.choice(((1, 1, 0), (1, 1, 1), (4, 1, 0))), k=n),
        (a, n - a),
        values_b=rng.choice((None, [value + rng.randint(-20, 20) for value in values])),
        target=target,
        band=rng.choice((None, (target - width, target + width), (target - width, target + 3 * width))),
        tolerance=rng.choice((0, widest // 10)),
        pins={i: rng.choice((Pin.A, Pin.B, Pin.PLAY)) for i in rng.sample(range(n), rng.choice((0, 0, 1, 2)))},
        groups=groups,
        wishes=[rng.choice(((0, 0), (0, weight), (weight, 0))) for weight in rng.choices((1, 2, 4, 8), k=n)],
        spread_evenly=rng.sample(range(n), rng.choice((0, rng.randint(0, n)))),
        max_moves=rng.choice((None, None, rng.randint(0, 4))),
        moves_count=rng.random() < 0.7,
        friend_cost=rng.choice((None, None, 0, 3)),
    )


def check_exact(evening: Evening) -> None:
    wanted = evening.wanted()
    if not wanted:
        with pytest.raises(SplitError, match="pinned"):
            evening.solved()
        return

    found = evening.solved()
    places = evening.places(found)

    assert found.optimal
    assert places in wanted
    assert evening.score(places) == min(map(evening.score, wanted))
    assert found.difference == evening.difference(places)
    assert found.moves == evening.moves(places)


@settings(max_examples=3 * settings.default.max_examples)
@given(seed=st.integers(0, 10**6), most=st.sampled_from([12, *[8] * 11]))
@example(seed=387, most=8)
def test_small_shuffles_agree_with_trying_everything(seed: int, most: int) -> None:
    check_exact(random_evening(random.Random(seed), most))


@settings(max_examples=2 * settings.default.max_examples)
@given(seed=st.integers(0, 10**6), power=st.integers(0, 26))
@example(seed=0, power=0)
def test_an_answer_beyond_the_budget_is_allowed_and_says_what_may_be_missing(seed: int, power: int) -> None:
    evening = random_evening(random.Random(seed), most=8)
    wanted = evening.wanted()
    if not wanted:
        return

    found = evening.solved(Budget(work=1 << power))
    places = evening.places(found)

    assert places in evening.allowed()
    if found.optimal:
        assert evening.score(places) == min(map(evening.score, wanted))
    else:
        best = min(wanted, key=evening.score)
        assert found.moves - evening.moves(best) <= found.gap.moves
        assert evening.score(places)[-1] - evening.score(best)[-1] <= found.gap.points


@pytest.mark.slow
def test_the_fewest_moves_of_many_players_are_those_of_another_method() -> None:
    stacked = [Side.A] * 12 + [Side.B] * 12
    for _, ratings in hard_pools(24, seed=3, each=1):
        values = sorted(ratings, reverse=True)
        by_side = [value + 7 * (value % 11) for value in values]
        frontier = fewest_moves(values, stacked, values_b=by_side, target=50)
        for points in (3000, 300, 30, 0):
            found = shuffle(
                values, stacked, sizes=(12, 12), values_b=by_side, target=50, band=(50 - points, 50 + points)
            )
            expected = frontier.within(points)

            assert found.optimal
            assert found.moves == expected.moves
            assert abs(found.difference - 50) <= abs(expected.difference - 50)


@pytest.mark.slow
def test_a_hundred_players_beyond_the_budget_are_brought_inside_the_band() -> None:
    stacked = [Side.A if rank < 50 else Side.B for rank in range(100)]
    for _, ratings in hard_pools(100, seed=1):
        found = shuffle(sorted(ratings), stacked, sizes=(50, 50), band=(-2000, 2000), budget=Budget(work=1 << 30))

        assert abs(found.difference) <= 2000


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ({"sizes": (2, 1)}, "4 players cannot all play 2 against 1"),
        ({"pins": {0: Pin.A, 1: Pin.A, 2: Pin.A}}, "3 players are pinned to side A and 0 to side B"),
        ({"pins": {0: Pin.BENCH}}, "player 0 is pinned to the bench, but a shuffle has none"),
        ({"pins": {4: Pin.A}}, "a pin names player 4, but the players are 0 to 3"),
        ({"groups": [(0, 1), (1, 2)]}, "player 1 is in two groups of friends"),
        ({"groups": [(0, 7)]}, "a group names player 7"),
        (
            {"values": [1] * 6, "current": [None] * 6, "sizes": (3, 3), "groups": [range(5)]},
            "a group of friends has 5 players",
        ),
        ({"wishes": [(0, 1)]}, "1 wishes for 4 players"),
        ({"wishes": [(0, -1)] * 4}, "wishes weigh whole numbers from 0 up"),
        ({"spread_evenly": [4]}, "player 4 is to be spread evenly"),
        ({"tolerance": -1}, "a tolerance is not negative"),
        ({"current": [None]}, "1 present sides for 4 players"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(asked: dict[str, object], refusal: str) -> None:
    question = {"values": [4, 3, 2, 1], "current": [Side.A, Side.A, Side.B, Side.B], "sizes": (2, 2), **asked}

    with pytest.raises(SplitError, match=refusal):
        shuffle(**question)  # type: ignore[arg-type]


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("count", [24, 23])
@pytest.mark.parametrize("apart", [0.0, 1e-6, 1e-3], ids=str)
@pytest.mark.parametrize("band", [(-2000.5, 1500.2), (-300.5, -300.1), (-math.inf, math.inf)], ids=str)
def test_players_of_equal_skill_on_an_uneven_map_need_no_finer_grid_than_others(
    count: int, apart: float, band: tuple[float, float]
) -> None:
    found = shuffle(
        [1000.0 + apart * index for index in range(count)],
        [(Side.A, Side.B)[index % 2] for index in range(count)],
        sizes=(count // 2, count - count // 2),
        target=-300.3,
        band=band,
        groups=[(0, 1, 2, 3), (4, 5)],
        wishes=[(index % 3, index % 2) for index in range(count)],
    )
    assert found.optimal
