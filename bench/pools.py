"""Pools to solve: published ones with known optima, and seeded families that are hard for a solver."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

POOLS = Path(__file__).parent.parent / "tests" / "data" / "pools.json"


@dataclass(frozen=True)
class KnownPool:
    """A pool of `tests/data/pools.json`: its optimum for every k, on which several solvers agree."""

    name: str
    ratings: list[int]
    optimal: dict[int, int]


def known_pools() -> list[KnownPool]:
    return [
        KnownPool(pool["name"], pool["ratings"], {int(k): value for k, value in pool["optimal"].items()})
        for pool in json.loads(POOLS.read_text())
    ]


class HardPool(NamedTuple):
    family: str
    ratings: list[int]


Family = Callable[[random.Random, int], list[int]]


def uniform(rng: random.Random, n: int) -> list[int]:
    return [rng.randint(100, 4000) for _ in range(n)]


def normal(rng: random.Random, n: int) -> list[int]:
    return [round(rng.gauss(1500, 350)) for _ in range(n)]


def all_equal(rng: random.Random, n: int) -> list[int]:
    return [1000] * n


def one_odd(rng: random.Random, n: int) -> list[int]:
    """One rating's parity differs: it is worth benching."""
    return [1001, *(2 * rng.randint(50, 2000) for _ in range(n - 1))]


def star(rng: random.Random, n: int) -> list[int]:
    """One player outweighs any balance of the others."""
    return [4000, *(rng.randint(950, 1050) for _ in range(n - 1))]


def three_stars(rng: random.Random, n: int) -> list[int]:
    return [4000, 3990, 3970, *(rng.randint(950, 1050) for _ in range(n - 3))]


def geometric(rng: random.Random, n: int) -> list[int]:
    ratio = 40 ** (1 / (n - 1))
    return [round(100 * ratio**i) + rng.randint(0, 1) for i in range(n)]


def superincreasing(rng: random.Random, n: int) -> list[int]:
    """Each larger than the sum of all smaller ones, as far as the range allows."""
    return [100 + (3900 >> i) for i in range(n)]


def powers_below(rng: random.Random, n: int) -> list[int]:
    """Powers of two above a crowd of equals."""
    return [100 + 2**i for i in range(min(n, 12))] + [100] * (n - min(n, 12))


def powers_above(rng: random.Random, n: int) -> list[int]:
    """Powers of two below a crowd of equals."""
    return [100 + 2**i for i in range(min(n, 12))] + [4000] * (n - min(n, 12))


def bimodal(rng: random.Random, n: int) -> list[int]:
    """An odd number of strong players among weak ones: one strong player has no counterpart."""
    strong = n // 2 | 1
    return [rng.randint(3900, 4000) for _ in range(strong)] + [rng.randint(100, 200) for _ in range(n - strong)]


def trimodal(rng: random.Random, n: int) -> list[int]:
    return [rng.choice((100, 2000, 3900)) + rng.randint(0, 60) for _ in range(n)]


def multiples_but_one(rng: random.Random, n: int) -> list[int]:
    """Multiples of 64 but one: no common factor, and yet few differences exist."""
    return [100 + 64 * rng.randint(0, 60) + (i == 0) for i in range(n)]


def multiples_but_two(rng: random.Random, n: int) -> list[int]:
    return [100 + 97 * rng.randint(0, 40) + (i < 2) * (i + 1) for i in range(n)]


def residues(rng: random.Random, n: int) -> list[int]:
    """Two residues of a large modulus."""
    return [100 + 1300 * rng.randint(0, 3) + 7 * (i % 2) for i in range(n)]


def blocks(rng: random.Random, n: int) -> list[int]:
    """Crowds of equals of odd size."""
    return [(400, 1410, 2433, 3478)[min(3, i * 4 // n)] for i in range(n)]


def newcomers(rng: random.Random, n: int) -> list[int]:
    """Most at the first rating, a few rated."""
    return [1000] * (n - 5) + [rng.randint(800, 2200) for _ in range(5)]


def fibonacci(rng: random.Random, n: int) -> list[int]:
    numbers = [1, 2]
    while numbers[-1] < 3000:
        numbers.append(numbers[-1] + numbers[-2])
    return [100 + numbers[i % len(numbers)] for i in range(n)]


def squares(rng: random.Random, n: int) -> list[int]:
    return [100 + i * i * 3900 // (n * n) for i in range(n)]


def ends(rng: random.Random, n: int) -> list[int]:
    """Values almost as far apart as they can be: wide bitsets and little between."""
    return [rng.choice((100, 3997)) + rng.randint(0, 3) for _ in range(n)]


FAMILIES: tuple[Family, ...] = (
    uniform,
    normal,
    all_equal,
    one_odd,
    star,
    three_stars,
    geometric,
    superincreasing,
    powers_below,
    powers_above,
    bimodal,
    trimodal,
    multiples_but_one,
    multiples_but_two,
    residues,
    blocks,
    newcomers,
    fibonacci,
    squares,
    ends,
)


def hard_pools(n: int, seed: int = 1, each: int = 1) -> Iterator[HardPool]:
    """Seeded pools of n players, `each` of every family, in no order of value."""
    rng = random.Random(seed * 1000 + n)
    for family in FAMILIES:
        for _ in range(each):
            ratings = family(rng, n)
            rng.shuffle(ratings)
            yield HardPool(family.__name__, ratings)
