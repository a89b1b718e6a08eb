"""Pools of several machines on one log: on whichever machine a round is rated, all stores have the same rows."""

from __future__ import annotations

import random

import pytest

from equipoise.core.effects import RecordRound
from equipoise.core.model import ServerId, Side
from equipoise.service.shared_pool import SharedPool
from tests.postgres import Postgres
from tests.postgres import postgres as postgres
from tests.shared.machines import play, until_equal
from tests.store.samples import a_round, player

pytestmark = pytest.mark.world


def some_round(number: int, server: str, of: random.Random) -> RecordRound:
    people = of.sample(range(1, 40), 8)
    winner = of.choice([Side.A, Side.B, None])
    return a_round(number, a=people[:4], b=people[4:], winner=winner, server=ServerId(server))


@pytest.mark.parametrize("system", ["synelo", "ns2", "trueskill2", "joint", "teamskill_allk_ev"])
def test_rounds_and_edits_of_any_machine_are_rows_of_all(postgres: Postgres, system: str) -> None:
    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(system)
        for number in range(1, 25):
            pool = of.choice([one, two])
            answer = await pool.record(some_round(number, f"server-{pool.sharing.machine}", of), b"{}")
            assert answer.status == "stored", pool.sharing
            if number % 8 == 0:
                await until_equal(one, two)
                await pool.edit(player(of.randrange(1, 40)), None if number == 16 else 1700, "admin")
        await until_equal(one, two)
        for number in range(1, 40):
            a, b = await one.summaries([player(number)]), await two.summaries([player(number)])
            assert (a[0].rating, a[0].rounds) == (pytest.approx(b[0].rating, abs=1e-9), b[0].rounds)

    play(scenario, postgres.url(postgres.database()), "one", "two", system=system)
