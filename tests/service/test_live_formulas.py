"""Live pools against the printed formulas of their systems, written here from the papers; started again in between."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from equipoise.core.model import Side
from equipoise.ratings import create
from equipoise.ratings.glicko.system import Glicko2
from equipoise.service.pool import Pool
from equipoise.store.player_rows import PlayerRow
from equipoise.store.sequence import BulkEdit
from tests.opened_pool import opened
from tests.store.samples import a_round, player

DAY = 86_400.0
FIRST_DAY = 20_400 * DAY
"""Midnight, UTC."""
GLICKO = 400.0 / math.log(10.0)


async def duel(pool: Pool, number: int, one: int, other: int, winner: Side | None, at: float) -> None:
    await pool.record(a_round(number, a=(one,), b=(other,), winner=winner, started_at=at), None)


async def test_elo_of_gaussian_performances_moves_as_its_equation_says(tmp_path: Path) -> None:
    """TrueSkill (Herbrich et al. 2006), equation 1 and the update below it, with α = 0.07."""
    beta, alpha = 200.0, 0.07
    k = alpha * beta * math.sqrt(math.pi)
    expected, draw = dict.fromkeys(range(1, 6), 1500.0), random.Random(3)
    settings = {"form": "gaussian", "beta": beta, "k": k}
    for start in (0, 20):  # a restart between
        async with opened(tmp_path, "elo", **settings) as pool:
            for number in range(start, start + 20):
                one, other = draw.sample(sorted(expected), 2)
                winner = draw.choice([Side.A, Side.B, None])
                score = {Side.A: 1.0, Side.B: 0.0, None: 0.5}[winner]
                lead = expected[one] - expected[other]
                chance = 0.5 * (1.0 + math.erf(lead / (math.sqrt(2.0) * beta) / math.sqrt(2.0)))
                expected[one] += k * (score - chance)
                expected[other] -= k * (score - chance)
                await duel(pool, number, one, other, winner, FIRST_DAY + number)
            shown = {number: pool.system.summary(player(number)).rating for number in expected}
            assert shown == pytest.approx(expected, abs=1e-9)


@dataclass(frozen=True)
class Glicko2Player:
    """Of "Example of the Glicko-2 system" (Glickman 2013), on its own scale."""

    mu: float
    phi: float
    sigma: float

    @classmethod
    def of(cls, rating: float, deviation: float) -> Glicko2Player:
        return cls((rating - 1500.0) / GLICKO, deviation / GLICKO, 0.06)


def after_period(one: Glicko2Player, met: list[tuple[Glicko2Player, float]], tau: float = 0.5) -> Glicko2Player:
    """Steps 3 to 7 of the paper for one player; the iteration of step 5 is a bisection here."""
    if not met:
        return replace(one, phi=math.hypot(one.phi, one.sigma))
    g = [1.0 / math.sqrt(1.0 + 3.0 * other.phi**2 / math.pi**2) for other, _ in met]
    chance = [1.0 / (1.0 + math.exp(-each * (one.mu - other.mu))) for each, (other, _) in zip(g, met, strict=True)]
    v = 1.0 / sum(each**2 * p * (1.0 - p) for each, p in zip(g, chance, strict=True))
    surprise = sum(each * (score - p) for each, p, (_, score) in zip(g, chance, met, strict=True))
    delta, a = v * surprise, math.log(one.sigma**2)

    def f(x: float) -> float:
        e = math.exp(x)
        return e * (delta**2 - one.phi**2 - v - e) / (2.0 * (one.phi**2 + v + e) ** 2) - (x - a) / tau**2

    low, high = a - 10.0, a + 10.0
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if f(middle) > 0.0 else (low, middle)
    sigma = math.exp(low / 2.0)
    phi = 1.0 / math.sqrt(1.0 / (one.phi**2 + sigma**2) + 1.0 / v)
    return Glicko2Player(one.mu + phi**2 * surprise, phi, sigma)


async def test_glicko2_is_its_papers_example_and_the_whole_chain_of_periods_after_it(tmp_path: Path) -> None:
    people = {
        1: Glicko2Player.of(1500.0, 200.0),
        2: Glicko2Player.of(1400.0, 30.0),
        3: Glicko2Player.of(1550.0, 100.0),
        4: Glicko2Player.of(1700.0, 300.0),
    }
    days: list[list[tuple[int, int, Side]]] = [
        [(1, 2, Side.A), (1, 3, Side.B), (4, 1, Side.A)],  # the paper's example
        [],
        [(2, 3, Side.B)],
        [(1, 4, Side.A), (3, 1, Side.B), (2, 4, Side.B), (1, 4, Side.A)],
        [(4, 3, Side.A), (2, 1, Side.A)],
    ]
    number = 0
    async with opened(tmp_path, "glicko2") as pool:
        await pool.adopt(BulkEdit("import", FIRST_DAY, "owner", [_row(n, one) for n, one in people.items()], "", ""))
    for day, duels in enumerate(days):
        async with opened(tmp_path, "glicko2") as pool:  # started anew every day
            for one, other, winner in duels:
                number += 1
                await duel(pool, number, one, other, winner, FIRST_DAY + day * DAY + 60.0 * number)
            met: dict[int, list[tuple[Glicko2Player, float]]] = {each: [] for each in people}
            for one, other, winner in duels:
                met[one].append((people[other], float(winner is Side.A)))
                met[other].append((people[one], float(winner is Side.B)))
            people = {each: after_period(found, met[each]) for each, found in people.items()}
            if not day:
                assert 1500.0 + GLICKO * people[1].mu == pytest.approx(1464.06, abs=0.01)
                assert GLICKO * people[1].phi == pytest.approx(151.52, abs=0.01)
                assert people[1].sigma == pytest.approx(0.05999, abs=1e-5)
            for each in {name for pair in duels for name in pair[:2]}:
                state, found = pool.system.state(player(each)), people[each]
                rating, variance, volatility = (state[key] for key in ("rating", "variance", "volatility"))
                assert rating == pytest.approx(1500.0 + GLICKO * found.mu, abs=1e-6)
                assert math.sqrt(float(str(variance))) == pytest.approx(GLICKO * found.phi, abs=1e-6)
                assert volatility == pytest.approx(found.sigma, abs=1e-9)


def _row(number: int, one: Glicko2Player) -> PlayerRow:
    system = create("glicko2")
    assert isinstance(system, Glicko2)
    steam_id = player(number)
    system.seed(steam_id, rating=1500.0 + GLICKO * one.mu, rd=GLICKO * one.phi)
    found = system.summary(steam_id)
    return PlayerRow(steam_id, 0, found.rating, 0, found.visible, None, system.state(steam_id), ())
