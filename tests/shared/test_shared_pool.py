"""Pools of several machines on one log: on whichever machine a round is rated, all stores have the same rows."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from equipoise.app import SystemClock
from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import RoundId, ServerId, Side
from equipoise.service import people
from equipoise.service.shared_pool import SharedPool
from equipoise.shared.log import SharedLog
from equipoise.store.notes import Audit, Name
from equipoise.store.past import VoidStrike
from tests.postgres import PASSWORD, Postgres
from tests.postgres import postgres as postgres
from tests.shared.machines import POOL, machine, play, rows_of, until_equal
from tests.store.samples import a_round, player, until

SHOWN = {"params": {"shadow_rounds": 1}}
pytestmark = pytest.mark.world


def some_round(number: int, server: str, of: random.Random) -> RecordRound:
    people = of.sample(range(1, 40), 8)
    winner = of.choice([Side.A, Side.B, None])
    began = time.time() - 10_000.0 + 100 * number
    return a_round(number, a=people[:4], b=people[4:], winner=winner, server=ServerId(server), started_at=round(began))


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


async def evening(pools: Sequence[SharedPool], rounds: range, of: random.Random) -> None:
    """Rounds on any of the machines, each answered."""
    for number in rounds:
        pool = of.choice(pools)
        answer = await pool.record(some_round(number, "server", of), b'{"memory": %d}' % number)
        assert answer.status == "stored", pool.sharing


@pytest.mark.parametrize(
    "how", [{"system": "synelo", "balance": "joint", **SHOWN}, {"system": "joint", **SHOWN}], ids=["synelo", "joint"]
)
def test_what_rewrites_the_past_is_done_once_and_everywhere(postgres: Postgres, how: dict[str, Any]) -> None:
    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(7)
        await evening((one, two), range(1, 13), of)
        await until_equal(one, two)
        await two.edit(player(5), 1500, "admin")
        await evening((one, two), range(13, 19), of)
        await one.void(VoidStrike(ServerId("server"), RoundId("1763622000123-4")), "owner", "a cheater")
        await evening((one, two), range(19, 22), of)
        await two.undo(player(5), "owner")
        await two.void(VoidStrike(ServerId("server"), RoundId("1763622000123-4"), back=True), "owner", "there was none")
        await one.undo(player(5), "owner")
        assert await one.begin_season("winter", Audit(5.0, "owner", "season", "pool main", "", "winter"))
        await two.hide(player(6), Audit(6.0, "owner", "hide", player(6), "", ""), hide=True)
        await evening((one, two), range(22, 25), of)
        await until_equal(one, two)
        for pool in (one, two):
            assert await pool.store.hidden() == {player(6)}
            assert [season.name for season in await pool.store.seasons(POOL)] == ["winter"]
            if pool.follower is not None:
                await pool.follower.caught_up()
        for who in map(player, range(1, 40)):
            (a,), (b,) = await one.summaries([who]), await two.summaries([who])
            assert (a.rating, a.rounds) == (pytest.approx(b.rating, abs=1e-9), b.rounds)
            assert one.skill(who) == pytest.approx(two.skill(who), abs=1e-9)

    play(scenario, postgres.url(postgres.database()), "one", "two", **how)


def test_a_person_is_forgotten_by_all_machines_and_by_the_log(postgres: Postgres) -> None:
    database = postgres.database()

    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(3)
        one.store.note([Name(POOL, player(n), f"name of {n}") for n in range(1, 9)])
        assert len(await one.store.names(POOL, [player(1)])) == 1  # they are written
        await one.record(a_round(0, a=range(1, 5), b=range(5, 9)), None)
        await evening((one, two), range(1, 13), of)
        await until_equal(one, two)
        before = {n: (await two.summaries([player(n)]))[0].rating for n in range(1, 40)}
        for pool in (one, two):
            pool.forgetting = lambda forgotten, store=pool.store: people.forget_here(forgotten, store, ())

        async def checked() -> None:
            pass

        stand_in, _ = await people.forget(player(7), one.store, [one], [], SystemClock(), "owner", checked)
        await until_equal(one, two)
        for _ in range(1000):
            if not await two.store.forgetting():
                break
            await asyncio.sleep(0.01)
        for n in range(1, 40):
            who = stand_in if n == 7 else player(n)
            assert (await two.summaries([who]))[0].rating == before[n]
        for pool in (one, two):
            rows = rows_of(pool.store.path)
            assert player(7) not in repr(rows)
            assert "name of 7'" not in repr(rows)
        log = SharedLog(postgres.url(database), PASSWORD, "reader")
        base = await log.base(POOL)
        bodies = [piece async for piece in base.pieces]
        bodies += [piece for event in await log.read(POOL, base.number) for piece in event.pieces]
        await log.close()
        assert not any(player(7).encode() in body or b'"name of 7"' in body for body in bodies)

    play(scenario, postgres.url(database), "one", "two")


def test_a_machine_that_joins_late_has_what_the_others_have(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.url(postgres.database())

    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(9)
        await evening((one, two), range(1, 20), of)
        await one.void(VoidStrike(ServerId("server"), RoundId("1763622000123-4")), "owner", "")
        async with machine(tmp_path / "late", "late", url, balance="joint") as late:
            await evening((one, two, late), range(20, 26), of)
            await until_equal(one, two, late)
            assert rows_of(late.store.path) == rows_of(one.store.path)
            for pool in (one, late):
                assert pool.follower is not None
                await pool.follower.caught_up()
            for who in map(player, range(1, 40)):
                assert one.skill(who) == pytest.approx(late.skill(who), abs=1e-9)

    play(scenario, url, "one", "two", balance="joint")


async def extra_round(pool: SharedPool, number: int, of: random.Random) -> None:
    """Have a machine's memory learn from a round that is in no store: its skills move away from those of the others."""
    match = match_of(some_round(number, "nowhere", of))
    assert match is not None
    (pool.follower.system if pool.follower else pool.system).rate(match)


@pytest.mark.parametrize(
    "how", [{"system": "joint", **SHOWN}, {"system": "synelo", "balance": "joint", **SHOWN}], ids=["own", "balance"]
)
def test_who_has_moved_away_from_another_machines_reference_goes_on_from_it_and_says_so(
    postgres: Postgres, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("equipoise.service.shared_pool.REFERENCE_EVERY", 20)
    monkeypatch.setattr("equipoise.service.place.SNAPSHOT_EVERY", 5)
    monkeypatch.setattr("equipoise.service.following.SNAPSHOT_EVERY", 5)

    async def skills(pool: SharedPool) -> list[float]:
        if pool.follower is not None:
            await pool.follower.caught_up()
        return pool.balancing.skill_values([player(number) for number in range(1, 40)])

    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(11)
        await evening((one,), range(1, 22), of)  # a reference, from which nobody is away
        await until_equal(one, two)
        assert await skills(two) == pytest.approx(await skills(one), abs=1e-9)
        assert "from the log's reference" not in caplog.text
        await extra_round(two, 99, of)
        assert await skills(two) != pytest.approx(await skills(one), abs=1e-9)
        await evening((one,), range(22, 43), of)
        await until_equal(one, two)
        await until(lambda: "points from the log's reference: it counts" in caplog.text)
        for _ in range(500):  # it is built beside
            if await skills(two) == pytest.approx(await skills(one), abs=1e-9):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("it goes on from what it had")

    play(scenario, postgres.url(postgres.database()), "one", "two", **how)
