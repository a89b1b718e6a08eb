"""A shared pool as a whole: rated or filled anew by one machine while the others serve, and the base of its log."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from equipoise import ratings
from equipoise.app import SystemClock
from equipoise.core.model import RoundId, ServerId
from equipoise.errors import ConfigError, LogMissing, LogRefused
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.service.shared_pool import SharedPool
from equipoise.shared.log import SharedLog
from equipoise.store.past import VoidStrike
from equipoise.store.store import Store
from tests.cli.house import House, run
from tests.postgres import PASSWORD, Between, Postgres
from tests.postgres import postgres as postgres
from tests.shared.machines import POOL, house, machine, rows_of, until_equal
from tests.shared.test_shared_pool import evening, some_round
from tests.store.samples import opened, player, until

pytestmark = pytest.mark.world


async def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(run, *words)


def players_of(store: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(store)) as db:
        return db.execute(
            "SELECT id, rating, rounds, visible FROM players WHERE pool = ? ORDER BY id", (POOL,)
        ).fetchall()


def recomputed_alone(store: Path, folder: Path) -> list[tuple[Any, ...]]:
    """The ratings of the players after a recompute of a copy that is shared with nobody."""
    folder.mkdir()
    alone = House.made(folder)
    alone.edit("k_max = 12\n", "")
    alone.state.mkdir(exist_ok=True)
    with closing(sqlite3.connect(store)) as db, closing(sqlite3.connect(alone.state / "equipoise.db")) as copy:
        db.backup(copy)
        copy.execute("DELETE FROM followed")
        copy.commit()
    done = run("pool", "recompute", "--yes", "--config", alone.config)
    assert done.returncode == 0, done.stderr
    return players_of(alone.state / "equipoise.db")


def test_a_recompute_on_one_machine_is_taken_in_by_another_while_it_serves(postgres: Postgres, tmp_path: Path) -> None:
    url, of = postgres.url(postgres.database()), random.Random(1)
    one_house = house(tmp_path, "one", url)

    async def run_all() -> None:
        async with machine(tmp_path / "two", "two", url) as two:
            async with machine(one_house.state, "one", url) as one:
                await evening((one, two), range(1, 30), of)
                await one.void(VoidStrike(ServerId("server"), RoundId("1763622000123-4")), "owner", "a cheater")
                await until_equal(one, two)
                store = one.store.path
            # As after an older version that rated otherwise: every machine has these numbers.
            for path in (store, two.store.path):
                with closing(sqlite3.connect(path)) as db:
                    db.execute("UPDATE players SET rating = rating + 100, version = version + 1")
                    db.commit()
            expected = await asyncio.to_thread(recomputed_alone, store, tmp_path / "alone")
            before = players_of(store)
            assert before != expected
            refused = await command("pool", "recompute", "--config", one_house.config, "--json")
            assert refused.returncode == 0, refused.stderr
            trial = json.loads(refused.stdout)
            assert (trial["written"], trial["comparison"]["before"]["quality"]["rounds"] > 0) == (False, True)
            assert players_of(store) == players_of(two.store.path) == before

            sent = 30
            recompute = asyncio.create_task(command("pool", "recompute", "--config", one_house.config, "--yes"))
            while not recompute.done():  # games on the other machine go on
                answer = await two.record(some_round(sent, "server", of), None)
                assert answer.status in ("stored", "kept")
                sent += 1
                await asyncio.sleep(0.05)
            done = recompute.result()
            assert done.returncode == 0, done.stderr
            async with machine(one_house.state, "one", url) as one:
                await until_equal(one, two)
                assert rows_of(one.store.path) == rows_of(two.store.path)
                assert len(rows_of(two.store.path)["rounds"]) == sent - 1
                # The rounds that came meanwhile are rated on top of what was rated anew.
                now = await asyncio.to_thread(recomputed_alone, two.store.path, tmp_path / "alone again")
                assert players_of(two.store.path) == now
                async with machine(tmp_path / "late", "late", url) as late:
                    await until_equal(one, two, late)
                    assert rows_of(late.store.path) == rows_of(one.store.path)

    asyncio.run(run_all())


@pytest.mark.parametrize("when", ["from the start", "while it is written", "at its commit"])
def test_a_recompute_while_the_log_is_away_changes_nothing_and_says_so(
    postgres: Postgres, tmp_path: Path, when: str
) -> None:
    database, of = postgres.database(), random.Random(4)

    async def run_all() -> None:
        async with Between(postgres.port) as network:
            one_house = house(tmp_path, "one", postgres.url(database, port=network.port))
            async with machine(one_house.state, "one", postgres.url(database)) as one:
                await evening((one,), range(1, 20), of)
                path = one.store.path
            with closing(sqlite3.connect(path)) as db:
                db.execute("UPDATE players SET rating = rating + 100, version = version + 1")
                db.commit()
            before, old = rows_of(path), players_of(path)
            if when == "from the start":
                network.to_server = False
            else:
                network.lose_answer_to = b"COMMIT\0" if when == "at its commit" else b"INTO equipoise.base_pieces"
            done = await command("pool", "recompute", "--config", one_house.config, "--yes")
            assert done.returncode == 2
            error = done.stderr.splitlines()[-1]
            assert rows_of(path) == before
            network.heal()
            if when == "at its commit":  # it may be in the log
                assert "not known: the connection was cut; start the daemon" in error
            else:
                assert error.startswith("equipoise: database postgresql://equipoise@127.0.0.1:")
                assert error.endswith("; nothing was changed")
            expected = await asyncio.to_thread(recomputed_alone, path, tmp_path / "alone")
            async with machine(one_house.state, "one", postgres.url(database)) as one:
                await until(lambda: one.sharing.trouble is None)
                await one.settle()
                assert players_of(path) == (expected if when == "at its commit" else old)

    asyncio.run(run_all())


def test_a_recompute_by_another_system_has_the_others_wait_until_they_are_configured_so(
    postgres: Postgres, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url, of = postgres.url(postgres.database()), random.Random(2)
    one_house = house(tmp_path, "one", url)

    async def run_all() -> None:
        async with machine(tmp_path / "two", "two", url) as two:
            async with machine(one_house.state, "one", url) as one:
                await evening((one, two), range(1, 20), of)
                await until_equal(one, two)
            done = await command(
                "pool", "recompute", "--config", one_house.config, "--system", "elo", "--set", "k=20", "--yes"
            )
            assert done.returncode == 0, done.stderr
            assert '[pool.main]\nsystem = "elo"\n' in done.stdout
            await until(
                lambda: (
                    "is rated by elo, k = 20.0 on the other machines, by synelo in the configuration here"
                    in (two.sharing.trouble or "")
                )
            )
            assert (await two.record(some_round(20, "server", of), None)).status == "kept"
            assert (await two.summaries([player(5)]))[0].rounds > 0, "what is here is shown"
        with pytest.raises(ConfigError, match="made with synelo"):
            async with machine(tmp_path / "two", "two", url, system="trueskill"):
                pass
        elo = {"system": "elo", "params": {"k": 20.0}}
        async with (
            machine(one_house.state, "one", url, **elo) as one,
            machine(tmp_path / "two", "two", url, **elo) as two,
        ):
            await until_equal(one, two)  # the round that waited is stored
            assert len(rows_of(one.store.path)["rounds"]) == 20
            assert rows_of(one.store.path) == rows_of(two.store.path)

    asyncio.run(run_all())


def test_an_export_is_imported_into_a_shared_pool_and_is_there_on_all_machines(
    postgres: Postgres, tmp_path: Path
) -> None:
    url, elsewhere, of = postgres.url(postgres.database()), postgres.url(postgres.database()), random.Random(3)
    one_house = house(tmp_path, "one", url)

    async def run_all() -> None:
        async with machine(tmp_path / "origin", "origin", elsewhere) as origin:
            await evening((origin,), range(1, 25), of)
            await origin.edit(player(3), 1500, "admin")
            old = players_of(origin.store.path)
        old_house = House.made(tmp_path / "old")
        shutil.copytree(tmp_path / "origin", old_house.state, dirs_exist_ok=True)
        file = tmp_path / "main.jsonl"
        assert (await command("pool", "export", "main", file, "--config", old_house.config)).returncode == 0
        async with machine(tmp_path / "two", "two", url) as two:
            async with machine(one_house.state, "one", url):
                pass
            done = await command("pool", "import", file, "--config", one_house.config)
            assert done.returncode == 0, done.stderr
            again = await command("pool", "import", file, "--config", one_house.config)
            assert "nothing was changed" in again.stdout
            await evening((two,), range(30, 34), of)
            first = tmp_path / "first.csv"
            first.write_text("id,rating\n76561197960269999,1234\n")
            done = await command("pool", "import", "--ratings", first, "--config", one_house.config, "--yes")
            assert done.returncode == 0, done.stderr
            async with machine(one_house.state, "one", url) as one:
                await until_equal(one, two)
                assert rows_of(one.store.path) == rows_of(two.store.path)
            there = {row[0]: row[1] for row in players_of(two.store.path)}
            assert there.keys() == {row[0] for row in old} | {"76561197960269999"}
            assert there["76561197960269999"] == 1234
            assert len(rows_of(two.store.path)["rounds"]) == 24 + 4

    asyncio.run(run_all())


# The base of a log: a machine that joins reads it, and what follows it.


def test_a_base_is_renewed_by_one_machine_and_read_by_those_who_join_or_were_long_away(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, of = postgres.url(postgres.database()), random.Random(4)
    monkeypatch.setattr("equipoise.service.shared_pool.REFERENCE_EVERY", 10)
    monkeypatch.setattr("equipoise.service.shared_pool.REBASE_EVERY", 20)
    monkeypatch.setattr("equipoise.service.shared_pool.EVENTS_SECONDS", -10.0)

    async def run_all() -> None:
        async with machine(tmp_path / "one", "one", url) as one, machine(tmp_path / "two", "two", url) as two:
            async with machine(tmp_path / "away", "away", url) as away:
                await evening((one, two), range(1, 6), of)
                await until_equal(one, two, away)
            for pool in (one, two):
                await pool.renew_base()
            assert (await one._log.base(POOL)).number == 0, "it is not due"
            await evening((one, two), range(6, 30), of)
            await until_equal(one, two)
            for pool in (one, two):
                await pool.renew_base()
            state = await one._log.state(POOL)
            assert state is not None
            assert state.base == state.last == 29
            with pytest.raises(LogMissing):
                await one._log.read(POOL, 20)
            await evening((one, two), range(30, 35), of)
            async with (
                machine(tmp_path / "late", "late", url) as late,
                machine(tmp_path / "away", "away", url) as away,
            ):
                await until_equal(one, two, late, away)
                for pool in (two, late, away):
                    assert rows_of(pool.store.path) == rows_of(one.store.path)

    asyncio.run(run_all())


def test_a_machine_that_was_killed_while_it_read_the_base_begins_with_it_again(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, of = postgres.url(postgres.database()), random.Random(5)
    monkeypatch.setattr("equipoise.store.changes.PIECE", 1000)

    async def run_all() -> None:
        async with machine(tmp_path / "zero", "zero", url) as zero:
            await evening((zero,), range(1, 80), of)
            await zero.rebase()
        folder = tmp_path / "one"
        folder.mkdir()
        async with Between(postgres.port) as network:
            cut = postgres.url(url.rpartition("/")[2], port=network.port)
            store, log = Store(folder / "equipoise.db"), SharedLog(cut, PASSWORD, "one")
            await store.open()
            pool = SharedPool(POOL, ratings.create("synelo"), store, Ring(folder / "main.ring"), SystemClock(), log)
            await pool.open()
            await until(lambda: POOL in store.being_read)
            network.to_client = False
            await pool.close()
            assert POOL not in store.followed
            assert any(await store.holds(POOL))
            await store.close()
            await log.close()
        async with machine(tmp_path / "zero", "zero", url) as zero, machine(folder, "one", url) as one:
            await until_equal(zero, one)
            assert rows_of(zero.store.path) == rows_of(one.store.path)

    asyncio.run(run_all())


def test_a_machine_that_began_the_log_and_does_not_know_it_follows_it(postgres: Postgres, tmp_path: Path) -> None:
    database, of, folder = postgres.database(), random.Random(7), tmp_path / "one"
    folder.mkdir()

    async def run_all() -> None:
        async with opened(folder / "equipoise.db") as store:
            pool = Pool(POOL, ratings.create("synelo"), store, Ring(folder / "main.ring"), SystemClock())
            await pool.open()
            await evening((pool,), range(1, 30), of)
            await pool.close()
        before = rows_of(folder / "equipoise.db")
        async with Between(postgres.port) as network:
            network.lose_answer_to = b"COMMIT\0"
            async with machine(folder, "one", postgres.url(database, port=network.port)):
                assert network.lose_answer_to is None
        with closing(sqlite3.connect(folder / "equipoise.db")) as db:  # as after a kill between the two commits
            db.execute("DELETE FROM followed")
            db.commit()
        async with machine(folder, "one", postgres.url(database)) as one:
            assert rows_of(one.store.path)["participants"] == before["participants"]
            await evening((one,), range(30, 32), of)
            async with machine(tmp_path / "two", "two", postgres.url(database)) as two:
                await until_equal(one, two)
                assert rows_of(two.store.path) == rows_of(one.store.path)

    asyncio.run(run_all())


def test_a_log_that_another_machine_began_anew_does_not_replace_what_only_this_store_has(
    postgres: Postgres, tmp_path: Path
) -> None:
    database, of = postgres.database(), random.Random(6)
    url = postgres.url(database)

    async def run_all() -> None:
        async with machine(tmp_path / "one", "one", url) as one:
            await evening((one,), range(1, 10), of)
        await asyncio.to_thread(
            postgres.sql, "DROP SCHEMA equipoise CASCADE; DROP SCHEMA equipoise_public CASCADE; SELECT 1", database
        )
        (tmp_path / "other").mkdir()
        async with opened(tmp_path / "other" / "equipoise.db") as store:
            pool = Pool(POOL, ratings.create("synelo"), store, Ring(tmp_path / "other" / "main.ring"), SystemClock())
            await pool.open()
            for number in range(100, 130):
                await pool.record(some_round(number, "elsewhere", of), None)
            await pool.close()
        async with machine(tmp_path / "other", "other", url):
            before = rows_of(tmp_path / "one" / "equipoise.db")
            with pytest.raises(LogRefused, match="has not the last round of this store, 1763622000123-9 of server"):
                async with machine(tmp_path / "one", "one", url):
                    pass
            assert rows_of(tmp_path / "one" / "equipoise.db") == before

    asyncio.run(run_all())
