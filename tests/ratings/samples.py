"""Random matches, and an independent SynElo that recomputes every window from scratch."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, TypeVar

from equipoise.core.model import PlayerId
from equipoise.ratings import create
from equipoise.ratings.synelo.system import SynElo, SynEloParams
from equipoise.ratings.system import Match, System, ranks_of

AnySystem = TypeVar("AnySystem", bound=System[Any])
ANN, BOB, CID, DAN = (PlayerId(name) for name in ("ann", "bob", "cid", "dan"))


NUMBERS: dict[str, tuple[float, float]] = {
    "started_at": (-1e12, 1e12),
    "seconds": (0, 1e12),
    "weight": (0, 1e9),
    "points": (-1e9, 1e9),
    "fraction_played": (0, 1),
    "skill_at_start": (-1e9, 1e9),
    **dict.fromkeys(("kills", "deaths", "assists"), (0, 1e9)),
}
"""From where to where the optional numbers of a match go."""


def synelo(**params: object) -> SynElo:
    """A system without players."""
    return SynElo.create(**params)


def steady(k: float, **params: object) -> SynElo:
    """A system whose K is the same for all players."""
    return synelo(k_factor_min=k, k_factor_max=k, **params)


def seeded(system: AnySystem, **ratings: float) -> AnySystem:
    """The system, with these players at these ratings."""
    for name, rating in ratings.items():
        system.seed(PlayerId(name), rating=rating)
    return system


def people(count: int) -> list[PlayerId]:
    """The ids of `count` players."""
    return [PlayerId(str(76561198000000000 + number)) for number in range(count)]


def duel(a: str, b: str, outcome: float = 1.0) -> Match:
    """One against one; 1: the first wins."""
    return Match(teams=((PlayerId(a),), (PlayerId(b),)), ranks=ranks_of(outcome))


def whole_parameters(system: str) -> dict[str, int]:
    """Each float parameter of a system, as the whole number in its range that is nearest to its default."""
    found = {}
    for parameter in fields(create(system).params):
        if parameter.metadata.get("low") is not None and parameter.type in ("float", "float | None"):
            low, high, near = parameter.metadata["low"], parameter.metadata["high"], parameter.default or 0.0
            if (value := min(max(round(near), math.ceil(low)), math.floor(high))) >= low:
                found[parameter.name] = value
    return found


def random_matches(seed: int, count: int, players: int, size: int) -> Iterator[Match]:
    """Plain matches: `size` a side, one in ten drawn, an hour apart."""
    rng = random.Random(seed)
    everybody = people(players)
    for number in range(count):
        chosen = rng.sample(everybody, 2 * size)
        outcome = rng.choices((1.0, 0.5, 0.0), (5, 1, 4))[0]
        yield Match(
            teams=(tuple(chosen[:size]), tuple(chosen[size:])),
            ranks=ranks_of(outcome),
            started_at=3600.0 * number,
        )


def odd_matches(seed: int, count: int, players: int) -> Iterator[Match]:
    """Matches of servers: late joiners, leavers, bots, uneven sides, unknown times, some skills at start."""
    rng = random.Random(seed)
    everybody = people(players)
    for number in range(count):
        chosen = rng.sample(everybody, 9)
        bots = tuple(PlayerId(f"bot:{each}") for each in range(rng.randrange(3)))
        lineup = ((*chosen[:4], *bots), tuple(chosen[4:7])) if rng.random() < 0.7 else ()
        yield Match(
            teams=(tuple(chosen[1:4]), tuple(chosen[4:9])),
            ranks=ranks_of(rng.choice((1.0, 0.5, 0.0))),
            lineup=lineup,
            skill_at_start={chosen[1]: float(rng.randrange(500, 1500))} if rng.random() < 0.3 else {},
            started_at=None if rng.random() < 0.2 else 1e9 + rng.uniform(0, 100) + number,
        )


@dataclass
class Naive:
    """F1 to F5 for one player; the window is a list, and every sum is computed from it each time."""

    params: SynEloParams
    rating: float
    rounds: int = 0
    ratings: list[float] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    """score - expected, in multiples of 2⁻⁵⁰."""

    def convergence(self) -> float:
        """F3 over the last W rounds."""
        ratings, errors = self.ratings[-self.params.window :], self.errors[-self.params.window :]
        count, half, k = len(ratings), len(ratings) // 2, self.params.k_factor_max
        if count < 2:
            return 1.0
        drift = abs(math.fsum(ratings[-half:]) - math.fsum(ratings[:half]))
        return min(
            1.0,
            self.params.velocity_weight * (drift / half / k)
            + self.params.excess_weight * (abs(sum(errors)) / 2.0**50 / count / 0.10)
            + self.params.volatility_weight * (math.sqrt(_spread(ratings)) / count / k),
        )

    def play(self, expected: float, score: float) -> None:
        """F2, F4, F5, then rounding, floor and shadow cap."""
        params = self.params
        away = self.rating - params.initial
        compression = math.exp(-(away**2) / (2 * params.compression**2))
        low, high = params.k_factor_min, params.k_factor_max
        after = self.rating + (low + (high - low) * self.convergence() * compression) * (score - expected)
        if params.rounding == "bankers":
            after = _half_to_even(after)
        after = max(after, params.floor)
        self.rounds += 1
        if self.rounds == params.shadow_rounds:
            after = min(after, params.shadow_cap)
        self.rating = after
        self.ratings.append(after)
        self.errors.append(_multiple(score) - _multiple(expected))


def _spread(ratings: list[float]) -> float:
    """count² times the population variance, exactly where ratings are whole."""
    if all(rating.is_integer() for rating in ratings):
        whole = [int(rating) for rating in ratings]
        return len(whole) * sum(rating * rating for rating in whole) - sum(whole) ** 2
    mean = math.fsum(ratings) / len(ratings)
    return len(ratings) * math.fsum((rating - mean) ** 2 for rating in ratings)


def _multiple(probability: float) -> int:
    """Nearest multiple of 2⁻⁵⁰."""
    return math.floor(Fraction(probability) * 2**50 + Fraction(1, 2))


def _half_to_even(value: float) -> float:
    exact = Fraction(value)
    below = math.floor(exact)
    if exact - below == Fraction(1, 2):
        return float(below + below % 2)
    return float(math.floor(exact + Fraction(1, 2)))
