"""Pools of several machines on one log: on whichever machine a round is rated, all stores have the same rows."""

from __future__ import annotations

import asyncio
import logging
import random
import sqlite3
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from equipoise import ratings
from equipoise.app import SystemClock
from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import RoundId, ServerId, Side
from equipoise.errors import StoreError
from equipoise.service import people
from equipoise.service.diagnosis import of_survey
from equipoise.service.refits import Calibrations, Refits, Spreads
from equipoise.service.ring import Ring
from equipoise.service.shared_pool import SharedPool
from equipoise.shared.log import SharedLog
from equipoise.store.notes import Audit, Name
from equipoise.store.past import VoidStrike
from equipoise.store.recalculation import CalibrationFound, SpreadFound
from equipoise.store.store import Store
from tests.chaos.machines import ratings_apart
from tests.postgres import PASSWORD, Between, Postgres, cluster
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


def test_machines_that_start_at_once_on_an_empty_database_begin_one_log_and_say_no_trouble(
    postgres: Postgres, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def start(url: str) -> None:
        async with AsyncExitStack() as stack:
            machines = [machine(tmp_path / name, name, url) for name in ("one", "two", "three")]
            pools = await asyncio.gather(*map(stack.enter_async_context, machines))
            await pools[0].record(some_round(1, "server-one", random.Random(1)), b"{}")
            await until_equal(*pools)

    asyncio.run(start(postgres.url(postgres.database())))
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


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


@pytest.mark.parametrize("system", ["synelo", "ns2", "trueskill2"])
def test_a_machine_keeps_what_its_rounds_made_of_players_and_nothing_of_one_that_has_to_wait(
    postgres: Postgres, system: str
) -> None:
    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of, everybody = random.Random(system), [player(number) for number in range(1, 40)]

        def known(system: Any) -> tuple[list[object], object]:
            return [system.copy(who) for who in everybody], system.shared()

        async def as_stored() -> tuple[list[object], object]:
            rows = await one.store.players(POOL, everybody, one.system.window)
            parts = await one.store.shared(POOL)
            anew = type(one.system)(one.system.params)
            for who, row in rows.items():
                anew.restore(who, row.state, row.history)
            for key, part in (parts.parts if parts else {}).items():
                anew.restore_shared(key, part)
            return known(anew)

        for number in range(1, 25):
            await one.record(some_round(number, "server", of), None)
        assert not one._held.unread([who for who in everybody if who in one.system])
        assert known(one.system) == await as_stored()
        async with two._log.held(POOL):
            waiting = asyncio.create_task(one.record(some_round(25, "server", of), None))
            await until(lambda: one.sharing.trouble is not None)
            assert known(one.system) == await as_stored()
        assert (await waiting).status == "stored"
        assert known(one.system) == await as_stored()

    play(scenario, postgres.url(postgres.database()), "one", "two", system=system)


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
            with suppress(StoreError):  # it is being rewritten
                if not await two.store.forgetting():
                    break
            await asyncio.sleep(0.01)
        assert await two.store.forgetting() == []
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
        for table in ("players", "names", "participants"):  # of people's own pages
            shown = repr(await asyncio.to_thread(postgres.sql, f"SELECT * FROM equipoise.{table}", database))
            assert player(7) not in shown
            assert player(5) in shown

    play(scenario, postgres.url(database), "one", "two")


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
    monkeypatch.setattr("equipoise.service.place.SNAPSHOT_EVERY", 5)

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


def test_a_refit_on_one_machine_is_that_of_all_and_takes_the_rounds_with_it_that_came_meanwhile(
    postgres: Postgres,
) -> None:
    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(13)
        await evening((one, two), range(1, 30), of)
        await until_equal(one, two)
        before = await one.summaries([player(number) for number in range(1, 40)])
        refits = Refits({POOL: one}, SystemClock())
        refits.start(one, "owner", dry_run=False)
        sent = 30
        while refits.status(one).running_since is not None:  # the other machine plays on
            assert (await two.record(some_round(sent, "server", of), None)).status in ("stored", "kept")
            sent += 1
            await asyncio.sleep(0.1)
        assert refits.status(one).error is None
        await until_equal(one, two)
        assert len(rows_of(two.store.path)["rounds"]) == sent - 1
        after = await two.summaries([player(number) for number in range(1, 40)])
        assert [a.rating for a in after] != [b.rating for b in before]
        assert [a.rating for a in after] == [a.rating for a in await one.summaries([a.id for a in after])]
        # The other machine's night finds it done.
        assert not await Refits({POOL: two}, SystemClock())._due(two)

    play(scenario, postgres.url(postgres.database()), "one", "two", system="ns2")


@pytest.mark.parametrize(
    "how", [{"system": "joint", **SHOWN}, {"system": "synelo", "balance": "joint", **SHOWN}], ids=["own", "balance"]
)
def test_another_spread_of_skill_and_a_calibration_are_adopted_once_and_all_predict_by_them(
    postgres: Postgres, how: dict[str, Any], tmp_path: Path
) -> None:
    url = postgres.url(postgres.database())

    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(17)
        await evening((one, two), range(1, 25), of)
        await until_equal(one, two)
        spreads = Spreads({POOL: one}, SystemClock())
        status = await spreads.status(one)
        assert status is not None
        await spreads.adopt(one, SpreadFound(24, status.configured, 2 * status.configured, 0.1, 0))
        calibrations = Calibrations({POOL: two}, SystemClock())
        await until_equal(one, two)
        before = await calibrations.status(two)
        found = CalibrationFound(24, 1.5, {"blu": 0.1, "red": -0.1}, {}, 0.1, 0.01, 0.1, 0.01, better=True)
        await two.adopt(calibrations._event(before, found, "job"))
        await evening((one, two), range(25, 32), of)
        await until_equal(one, two)
        for pool in (one, two):
            if pool.follower is not None:
                await pool.follower.caught_up()
            now = await Spreads({POOL: pool}, SystemClock()).status(pool)
            assert now is not None
            assert now.present == 2 * status.configured
            assert pool.balancing.spread == 2 * status.configured
            assert (await Calibrations({POOL: pool}, SystemClock()).status(pool)).present.temperature == 1.5
        async with machine(tmp_path / "late", "late", url, **how) as late:
            await until_equal(one, two, late)
            if late.follower is not None:
                await late.follower.caught_up()
            for who in map(player, range(1, 40)):
                assert one.skill(who) == pytest.approx(two.skill(who), abs=1e-9)
                assert one.skill(who) == pytest.approx(late.skill(who), abs=1e-9)

    play(scenario, url, "one", "two", **how)


def test_a_void_an_undo_and_a_reset_on_one_machine_while_another_plays_lose_no_round(postgres: Postgres) -> None:
    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(19)
        await evening((one, two), range(1, 20), of)
        await until_equal(one, two)
        done = asyncio.Event()
        sent = 20

        async def games() -> None:
            nonlocal sent
            while not done.is_set():
                assert (await two.record(some_round(sent, "server-two", of), b"{}")).status in ("stored", "kept")
                sent += 1
                await asyncio.sleep(0.02)

        playing = asyncio.create_task(games())
        for number in (3, 5, 9):
            strike = VoidStrike(ServerId("server"), RoundId(f"1763622000123-{number}"))
            trial = await one.void(strike, "owner", "", trial=True)
            revised = await one.void(strike, "owner", "a cheater")
            assert revised.number == trial.number
            await one.edit(player(number), None, "owner")
            await one.undo(player(number), "owner")
        done.set()
        await playing
        await until_equal(one, two)
        order = [row for row in rows_of(one.store.path)["rounds"] if "server-two" in row]
        assert len(order) == sent - 20
        for pool in (one, two):
            with closing(sqlite3.connect(pool.store.path)) as db:
                assert [*ratings_apart(db)] == []

    play(scenario, postgres.url(postgres.database()), "one", "two")


def test_a_person_of_two_shared_pools_is_forgotten_in_the_second_when_its_log_answers_again(
    postgres: Postgres, tmp_path: Path
) -> None:
    first, second = (postgres.database() for _ in range(2))

    def pool_of(name: str, store: Store, log: SharedLog) -> SharedPool:
        ring = Ring(store.path.with_name(f"{name}.ring"))
        pool = SharedPool(name, ratings.create("synelo"), store, ring, SystemClock(), log)
        pool.forgetting = lambda forgotten: people.forget_here(forgotten, store, ())
        return pool

    async def run() -> None:
        async with AsyncExitStack() as stack:
            network = await stack.enter_async_context(Between(postgres.port))
            other = await stack.enter_async_context(machine(tmp_path / "other", "other", postgres.url(second)))
            other.forgetting = lambda forgotten: people.forget_here(forgotten, other.store, ())
            store = Store(tmp_path / "equipoise.db")
            await store.open()
            stack.push_async_callback(store.close)
            logs = [
                SharedLog(postgres.url(first), PASSWORD, "one"),
                SharedLog(postgres.url(second, port=network.port), PASSWORD, "one", seconds=1.0),
            ]
            pools = [pool_of(name, store, log) for name, log in zip(("alpha", POOL), logs, strict=True)]
            for log, pool in zip(logs, pools, strict=True):
                stack.push_async_callback(log.close)
                stack.push_async_callback(pool.close)
                await pool.open()
            await until(lambda: {"alpha", POOL} <= store.followed.keys())
            for number in range(1, 8):
                await pools[0].record(a_round(number, a=[7, 2], b=[3, 4], server=ServerId("a")), None)
                await pools[1].record(a_round(number, a=[7, 2], b=[3, 4], server=ServerId("b")), None)

            async def checked() -> None:
                network.to_server = network.to_client = False

            with pytest.raises(StoreError, match="goes on when the log of pool main answers"):
                await people.forget(player(7), store, pools, [], SystemClock(), "owner", checked)
            # Who does not know it yet plays on.
            await other.record(a_round(20, a=[7, 2], b=[3, 4], server=ServerId("c")), None)
            network.heal()
            await until(lambda: not _untold(store.path))
            await until_equal(pools[1], other)
            for path in (store.path, other.store.path):
                for _ in range(1000):
                    if player(7) not in _text(path):
                        break
                    await asyncio.sleep(0.01)
                assert player(7) not in _text(path)
            numbers = [sum(row[2] == "forget" for row in table) for table in (rows_of(store.path)["audit"],)]
            assert numbers == [2], "a line for each pool"

    asyncio.run(run())


def _untold(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM untold").fetchall()


def _text(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        return "\n".join(db.iterdump())


def test_doctor_says_of_a_database_what_may_cost_rounds() -> None:
    async def said(url: str) -> list[tuple[bool, str]]:
        log = SharedLog(url, PASSWORD, "one")
        await log.open()
        findings = [*of_survey("main", await log.survey(), [], [])]
        await log.close()
        return [(finding.bad, finding.what) for finding in findings[:-1]]

    for setting in ("fsync", "full_page_writes"):
        with cluster(**{setting: "off"}) as server:
            database = server.database()
            lost = (True, "a crash may lose rounds that it has confirmed")
            assert asyncio.run(said(server.url(database))) == [lost]
            server.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on; SELECT 1")
            assert asyncio.run(said(server.url(database))) == [lost, (True, "it is a standby, or only read")]
