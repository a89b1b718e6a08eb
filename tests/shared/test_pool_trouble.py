"""A shared pool while its database is away, killed or slow: no round is lost, doubled or overtaken."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import sqlite3
import time
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from aiohttp import ClientError, ClientSession

from equipoise import app, config
from equipoise.core.events import Hello, Phase, RosterSeen, RoundEnded, RoundLive
from equipoise.core.model import Mode, RoundId, ServerId, Side
from equipoise.errors import LogError, LogRefused, StoreError
from equipoise.service import diagnosis
from equipoise.service.shared_pool import SharedPool
from equipoise.shared.log import SharedLog
from equipoise.store.notes import NOTES_SECONDS, SessionMemory
from equipoise.store.past import VoidStrike
from tests.chaos.machines import ratings_apart
from tests.cli.house import House, post, run, serving
from tests.hosts import BOOT, GivenClock, Rig, roster, round_of
from tests.opened_pool import Sharing
from tests.postgres import PASSWORD, Between, Postgres, cluster, small_disk, standby
from tests.postgres import postgres as postgres
from tests.shared.machines import POOL, house, machine, play, rows_of, until_equal
from tests.shared.test_shared_pool import some_round
from tests.store.samples import a_round, player, until
from tests.web.test_batches import ROSTER, ended
from tests.wire.samples import HELLO, posted

pytestmark = pytest.mark.world


def stored(pool: SharedPool) -> list[tuple[str, str]]:
    """Server and id of each round in a machine's store, in the order of its numbers."""
    with closing(sqlite3.connect(pool.store.path)) as db:
        return db.execute("SELECT server, id FROM rounds ORDER BY number").fetchall()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["stopped", "killed"])
def test_rounds_wait_while_the_database_is_away_and_are_stored_once_in_order(how: signal.Signals) -> None:
    with cluster() as server:

        async def scenario(one: SharedPool, two: SharedPool) -> None:
            of = random.Random(1)
            sent: dict[str, list[str]] = {"server-one": [], "server-two": []}

            async def send(pool: SharedPool, number: int) -> str:
                record = some_round(number, f"server-{pool.sharing.machine}", of)
                sent[record.round.server].append(record.round.id)
                return (await pool.record(record, b"{}")).status

            assert [await send(pool, number) for number in range(1, 5) for pool in (one, two)] == ["stored"] * 8
            await asyncio.to_thread(server.stop, how)
            assert [await send(pool, number) for number in range(5, 17) for pool in (one, two)] == ["kept"] * 24
            for pool in (one, two):
                await until(lambda pool=pool: not pool.sharing.connected)
                assert pool.ring_depth == 12
                assert (await pool.summaries([player(1)]))[0].rating
                with pytest.raises(StoreError):
                    await pool.edit(player(1), 1500, "admin")
            await asyncio.to_thread(server.start)
            await until(lambda: one.sharing.connected and two.sharing.connected)
            assert [await send(pool, number) for number in range(17, 19) for pool in (one, two)]
            await until_equal(one, two)
            for name, ids in sent.items():
                for pool in (one, two):
                    assert [round_id for server_id, round_id in stored(pool) if server_id == name] == ids

        play(scenario, server.url(server.database()), "one", "two")


def test_a_night_without_the_database_costs_no_round_of_many_servers_also_where_a_daemon_is_restarted(
    tmp_path: Path,
) -> None:
    """Ten hours: hundreds of rounds for which the slots have no room, and attempts to connect that are far apart."""
    names, of, sent = ("one", "two", "three"), random.Random(11), dict[str, list[str]]()

    async def play(pool: SharedPool, hours: range, status: str) -> None:
        for number in hours:
            for place in range(3):
                record = some_round(number, f"{pool.sharing.machine}-{place}", of)
                sent.setdefault(record.round.server, []).append(record.round.id)
                assert (await pool.record(record, b"{}")).status == status, pool.sharing

    async def run(server: Postgres, url: str) -> None:
        async with AsyncExitStack() as stack:
            one, three = [await stack.enter_async_context(machine(tmp_path / name, name, url)) for name in names[::2]]
            async with machine(tmp_path / "two", "two", url) as two:
                for pool in (one, two, three):
                    await play(pool, range(1, 3), "stored")
                await asyncio.to_thread(server.stop)
                await play(two, range(3, 18), "kept")
            two = await stack.enter_async_context(machine(tmp_path / "two", "two", url))
            assert two.ring_depth == 45
            for pool, first in ((one, 3), (two, 18), (three, 3)):
                await play(pool, range(first, 33), "kept")
            assert [pool.ring_depth for pool in (one, two, three)] == [90] * 3
            assert one.summary(player(1)).rating, "games go on with the ratings of the evening"
            await asyncio.to_thread(server.start)
            await until_equal(one, two, three)
            for pool in (one, two, three):
                assert pool.ring.path.stat().st_size == 0
                await play(pool, range(33, 35), "stored")
            await until_equal(one, two, three)

    with cluster() as server:
        asyncio.run(run(server, server.url(server.database())))
    stores = [tmp_path / name / "equipoise.db" for name in names]
    for store in stores:
        assert rows_of(store) == rows_of(stores[0])
        with closing(sqlite3.connect(store)) as db:
            rounds = db.execute("SELECT server, id FROM rounds ORDER BY number").fetchall()
            assert [*ratings_apart(db)] == []
        for name, ids in sent.items():
            assert [id for server_id, id in rounds if server_id == name] == ids


@dataclass
class Place:
    """A database, and the network by which the first of two machines reaches it."""

    server: Postgres
    database: str
    network: Between
    second: Postgres | None = None
    """A standby."""

    def urls(self) -> tuple[str, str]:
        """Return the first machine's and the other's."""
        if self.second is None:
            return self.server.url(self.database, port=self.network.port), self.server.url(self.database)
        return (self.server.url_of_both(self.second, self.database),) * 2


# Each begins a trouble, yields the machines whose rounds wait for its end, and ends it.


@asynccontextmanager
async def slow_network(place: Place) -> AsyncIterator[set[str]]:
    place.network.seconds = 0.1  # one way
    yield set()
    place.network.seconds = 0.0


@asynccontextmanager
async def lost_answer(place: Place) -> AsyncIterator[set[str]]:
    """A round is stored, and who sent it never hears of it."""
    # A part of the round: the text of a statement that is prepared is not sent again.
    place.network.lose_answer_to = b"server-one"
    yield set()
    assert place.network.lose_answer_to is None, "no answer was lost"


@asynccontextmanager
async def half_open_network(place: Place) -> AsyncIterator[set[str]]:
    place.network.to_client = False
    yield {"one"}
    place.network.heal()


@asynccontextmanager
async def vanished_holder(place: Place) -> AsyncIterator[set[str]]:
    """Nothing is heard any more of a third machine that was about to append."""
    async with Between(place.server.port) as network:
        shared_log = SharedLog(place.server.url(place.database, port=network.port), PASSWORD, "three")
        await shared_log.open()

        async def hold() -> None:
            async with shared_log.appending(POOL):
                network.to_server = network.to_client = False
                await asyncio.Event().wait()

        holding = asyncio.create_task(hold())
        await until(lambda: not network.to_server)
        yield set()
        holding.cancel()
        await asyncio.wait([holding])
        shared_log.cut()
        await shared_log.close()


@asynccontextmanager
async def full_disk(place: Place) -> AsyncIterator[set[str]]:
    with ExitStack() as stack:
        folder = await asyncio.to_thread(stack.enter_context, small_disk(place.server, place.database))
        with suppress(OSError):  # when there is no room for more
            (folder / "ballast").write_bytes(bytes(4 << 20))
        yield {"one", "two"}
        (folder / "ballast").unlink()
        await asyncio.to_thread(stack.close)


@asynccontextmanager
async def failover(place: Place) -> AsyncIterator[set[str]]:
    assert place.second is not None
    await asyncio.to_thread(place.server.stop, signal.SIGKILL)
    yield {"one", "two"}
    await asyncio.to_thread(place.second.sql, "SELECT pg_promote()")


@pytest.mark.parametrize(
    "trouble", [slow_network, lost_answer, half_open_network, vanished_holder, full_disk, failover]
)
def test_scripts_are_answered_whatever_becomes_of_the_database_and_no_round_is_lost_or_doubled(
    trouble: Callable[[Place], AbstractAsyncContextManager[set[str]]], tmp_path: Path
) -> None:
    """The trouble ends when all have their answers, so that none of them can have waited for its end."""
    names, of, sent = ("one", "two"), random.Random(12), dict[str, list[str]]()

    async def play(pool: SharedPool, count: int) -> None:
        server = f"server-{pool.sharing.machine}"
        for _ in range(count):
            ids = sent.setdefault(server, [])
            record = some_round(len(ids) + 1, server, of)
            ids.append(record.round.id)
            assert (await pool.record(record, b"{}")).status in ("stored", "kept")

    async def run(place: Place) -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(place.network)
            pools = [
                await stack.enter_async_context(machine(tmp_path / name, name, url))
                for name, url in zip(names, place.urls(), strict=True)
            ]
            for pool in pools:
                pool.answer_seconds = 0.5  # as on a server
                await play(pool, 3)
            await until_equal(*pools)
            async with trouble(place) as waiting:
                await asyncio.gather(*(play(pool, 16) for pool in pools))
                await until(lambda: {pool.sharing.machine for pool in pools if pool.ring_depth} == waiting)
            await asyncio.gather(*(play(pool, 3) for pool in pools))
            await until_equal(*pools)

    with ExitStack() as stack:
        server = stack.enter_context(cluster())
        second = stack.enter_context(standby(server)) if trouble is failover else None
        asyncio.run(run(Place(server, server.database(), Between(server.port), second)))
    stores = [tmp_path / name / "equipoise.db" for name in names]
    assert rows_of(stores[0]) == rows_of(stores[1])
    with closing(sqlite3.connect(stores[0])) as db:
        rounds = db.execute("SELECT server, id FROM rounds ORDER BY number").fetchall()
    for server_id, ids in sent.items():
        assert [id for name, id in rounds if name == server_id] == ids


def test_a_round_waits_for_the_sync_of_the_ring_only_where_it_is_kept_there(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, synced, sync, of = postgres.database(), list[str](), os.fsync, random.Random(10)

    def watched(file: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{file}"))
        sync(file)

    async def run() -> None:
        async with (
            Between(postgres.port) as network,
            machine(tmp_path / "one", "one", postgres.url(database, port=network.port)) as one,
        ):
            monkeypatch.setattr(os, "fsync", watched)
            for number in range(1, 6):
                assert (await one.record(some_round(number, "a", of), None)).status == "stored"
            assert synced == []
            one.answer_seconds, network.to_server = 0.1, False
            assert (await one.record(some_round(6, "a", of), None)).status == "kept"
            assert synced == [str(one.ring.path)]
            network.heal()
            await until(lambda: not one.ring_depth)

    asyncio.run(run())


def test_a_round_that_two_machines_are_sent_is_one(postgres: Postgres) -> None:
    async def scenario(one: SharedPool, two: SharedPool) -> None:
        record = some_round(1, "moved", random.Random(2))
        first, second = await asyncio.gather(one.record(record, b"1"), two.record(record, b"1"))
        again = await two.record(record, b"1")
        answers = [answer.rated for answer in (first, second, again)]
        assert all(answer is not None and answer.changes == answers[0].changes for answer in answers)
        await until_equal(one, two)
        assert stored(one) == stored(two) == [("moved", "1763622000123-1")]
        assert await two.store.memory(ServerId("moved")) == b"1"

    play(scenario, postgres.url(postgres.database()), "one", "two")


def test_a_memory_that_waits_to_be_written_replaces_none_of_a_later_round(postgres: Postgres) -> None:
    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(8)
        for number, pool in enumerate((one, two), start=1):
            one.store.note([SessionMemory(ServerId("moved"), b"before", time.time())])
            await pool.record(some_round(number, "moved", of), b"later")
            await until_equal(one, two)
            await asyncio.sleep(2 * NOTES_SECONDS)
            assert await one.store.memory(ServerId("moved")) == b"later"

    play(scenario, postgres.url(postgres.database()), "one", "two")


def test_a_start_that_cannot_read_the_log_makes_no_old_memory_newer_than_what_the_log_has(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, here, names = postgres.database(), roster([1, 2, 3], [4, 5, 6]), list[str]()
    urls = {"two": postgres.url(database)}
    monkeypatch.setattr(Sharing, "database_of", staticmethod(lambda store: urls[store.parent.name]))
    monkeypatch.setattr(Sharing, "password", PASSWORD)
    monkeypatch.setattr("equipoise.shared.log.CALL_SECONDS", 1.0)

    async def play(rig: Rig) -> None:
        hello = Hello(0.0, "m", "arena_lumberyard", Mode.ARENA, Phase.IDLE)
        await rig.host.handle(rig.batch(hello, RosterSeen(0.0, here), seq=4 * len(names) + 1))
        names.append(f"{BOOT}-{len(names)}")
        ended = RoundEnded(0.0, round_of(names[-1], here, Side.A, session="m"))
        assert (await rig.host.handle(rig.batch(ended, seq=4 * len(names)))).rounds == {names[-1]: "stored"}

    async def run() -> None:
        async with Between(postgres.port) as network:
            urls["one"] = postgres.url(database, port=network.port)
            async with Rig(tmp_path / "one") as one:
                await play(one)
            async with Rig(tmp_path / "two") as two:
                await until(lambda: two.store.followed[POOL].number == 1)
                two.clock.now += 10.0
                await play(two)
                network.to_server = network.to_client = False
                async with Rig(tmp_path / "one", clock=GivenClock(two.clock.now + 10.0)) as one:
                    await one.store.memory(one.host.server)  # what the start noted is written
                    network.heal()
                    await until(lambda: one.store.followed[POOL] == two.store.followed[POOL])
                    assert await one.store.memory(one.host.server) == await two.store.memory(two.host.server)
                    await play(one)
                    assert list(one.host.session.memory.counted) == names

    asyncio.run(run())


@pytest.mark.parametrize("ahead", [0.0, 3600.0, -3600.0], ids=["same time", "an hour ahead", "an hour behind"])
@pytest.mark.parametrize("restarts", [False, True], ids=["as it is", "restarted"])
def test_a_server_that_moves_goes_on_where_it_was_and_back_again(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: bool, ahead: float
) -> None:
    url = postgres.url(postgres.database())
    monkeypatch.setattr(Sharing, "database_of", staticmethod(lambda store: url))
    monkeypatch.setattr(Sharing, "password", PASSWORD)
    here, seqs = roster([1, 2, 3], [4, 5, 6]), count(1)
    names: list[str] = []

    async def play(rig: Rig, times: int, boot: int) -> None:
        hello = Hello(0.0, "m", "arena_lumberyard", Mode.ARENA, Phase.IDLE)
        await rig.host.handle(rig.batch(hello, RosterSeen(0.0, here), seq=next(seqs), boot=boot))
        for _ in range(times):
            names.append(f"{BOOT}-{len(names)}")
            live = RoundLive(0.0, RoundId(names[-1]), here)
            await rig.host.handle(rig.batch(live, seq=next(seqs), boot=boot))
            ended = RoundEnded(0.0, round_of(names[-1], here, Side.A, session="m"))
            reply = await rig.host.handle(rig.batch(ended, seq=next(seqs), boot=boot))
            assert reply.rounds == {names[-1]: "stored"}

    async def run() -> None:
        clock = GivenClock()
        clock.now += ahead
        async with Rig(tmp_path / "one", clock=clock) as one, Rig(tmp_path / "two") as two:
            for visit, rig in enumerate((one, two, one, two)):
                if visit:
                    await until_equal(one.pool, two.pool)
                await play(rig, 3, BOOT + visit * restarts)
                memory = rig.host.session.memory
                assert list(memory.counted) == names
                assert (memory.tally.completed, memory.tally.streak) == (len(names), len(names))

    asyncio.run(run())


def test_a_log_that_went_back_is_noticed_and_nothing_is_done(postgres: Postgres, tmp_path: Path) -> None:
    database, of = postgres.database(), random.Random(5)

    async def run() -> None:
        async with machine(tmp_path / "one", "one", postgres.url(database)) as one:
            for number in range(1, 4):
                await one.record(some_round(number, "a", of), None)
            await asyncio.to_thread(
                postgres.sql,
                "DELETE FROM equipoise.events WHERE number = 3; UPDATE equipoise.pools SET last = 2, digest = "
                "(SELECT digest FROM equipoise.events WHERE number = 2); SELECT 1",
                database,
            )
            assert (await one.record(some_round(4, "a", of), None)).status == "kept"
            await until(lambda: not one.sharing.connected)
            assert "went back to event 2" in (one.sharing.trouble or "")
            assert one.store.followed[POOL].number == 3

    asyncio.run(run())


def test_a_pool_that_is_gone_from_its_database_or_of_another_format_is_not_followed(
    postgres: Postgres, tmp_path: Path
) -> None:
    database, of = postgres.database(), random.Random(14)
    url = postgres.url(database)

    async def become(values: str) -> None:
        await asyncio.to_thread(postgres.sql, f"UPDATE equipoise.pools SET {values}; SELECT 1", database)

    async def refused(said: str) -> None:
        with pytest.raises(LogRefused, match=said):
            async with machine(tmp_path / "one", "one", url):
                pass

    async def run() -> None:
        async with machine(tmp_path / "one", "one", url) as one:
            one.answer_seconds = 0.5
            await one.record(some_round(1, "a", of), None)
            await become("pool = 'elsewhere'")
            assert (await one.record(some_round(2, "a", of), None)).status == "kept"
            await until(lambda: "pool main is no longer in its database" in (one.sharing.trouble or ""))
            assert one.sharing.number == 1
        await refused("pool main is not in its database: was that restored, or is it another one")
        await become(f"pool = '{POOL}', format = format + 1")
        await refused("upgrade Equipoise on this machine$")
        await become("format = format - 2")
        await refused("upgrade Equipoise on the others, and share the pool anew$")
        await become("format = format + 1")
        async with machine(tmp_path / "one", "one", url) as one:
            await until(lambda: not one.ring_depth)
            await until_equal(one)
            assert [number for _, number in stored(one)] == ["1763622000123-1", "1763622000123-2"]

    asyncio.run(run())


def test_an_event_that_no_daemon_has_appended_is_not_taken_in_and_rounds_wait_until_it_is_gone(
    postgres: Postgres,
) -> None:
    database, of = postgres.database(), random.Random(12)
    foreign = """INSERT INTO equipoise.events (pool, number, piece, kind, server, round, at, machine, digest, body)
        SELECT pool, 3, 0, kind, 'c', '9-9', at, machine, 'foreign', body FROM equipoise.events WHERE number = 2;
        UPDATE equipoise.pools SET last = 3, digest = 'foreign'; SELECT 1"""

    async def scenario(one: SharedPool, two: SharedPool) -> None:
        for pool in (one, two):
            pool.answer_seconds = 0.5
            await pool.record(some_round(1, pool.sharing.machine, of), None)
        await until_equal(one, two)
        rounds, state = stored(one), await one._log.state(POOL)
        assert state is not None
        await asyncio.to_thread(postgres.sql, foreign, database)
        for pool in (one, two):
            assert (await pool.record(some_round(2, pool.sharing.machine, of), None)).status == "kept"
            await until(lambda pool=pool: "event 3 of its log does not follow" in (pool.sharing.trouble or ""))
            assert (stored(pool), (await pool.summaries([player(1)]))[0].id) == (rounds, player(1))
        back = f"UPDATE equipoise.pools SET last = 2, digest = '\\x{state.digest.hex()}'"
        await asyncio.to_thread(
            postgres.sql, f"DELETE FROM equipoise.events WHERE number = 3; {back}; SELECT 1", database
        )
        await until(lambda: not one.ring_depth and not two.ring_depth)
        await until_equal(one, two)
        assert stored(one)[:2] == rounds
        assert sorted(stored(one)[2:]) == [(name, "1763622000123-2") for name in ("one", "two")]

    play(scenario, postgres.url(database), "one", "two")


def test_rounds_wait_while_the_database_takes_no_writes_and_what_others_know_is_read(postgres: Postgres) -> None:
    database, of = postgres.database(), random.Random(13)
    new_sessions = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"

    async def scenario(one: SharedPool, two: SharedPool) -> None:
        async def writes(allowed: bool) -> None:
            setting = f"ALTER DATABASE {database} SET default_transaction_read_only = {'off' if allowed else 'on'}"
            await asyncio.to_thread(postgres.sql, f"{setting}; {new_sessions}")

        assert (await one.record(some_round(1, "a", of), None)).status == "stored"
        await until_equal(one, two)
        await writes(False)
        for pool in (one, two):
            pool.answer_seconds = 0.5
            for number in (2, 3):
                record = some_round(number, f"server-{pool.sharing.machine}", of)
                assert (await pool.record(record, None)).status == "kept"
            await until(lambda pool=pool: "it takes no writes" in (pool.sharing.trouble or ""))
            assert (await pool.summaries([player(1)]))[0].rating
        await writes(True)
        await until(lambda: not one.ring_depth and not two.ring_depth)
        await until_equal(one, two)
        for name in ("server-one", "server-two"):
            assert [id for server, id in stored(one) if server == name] == ["1763622000123-2", "1763622000123-3"]

    play(scenario, postgres.url(database), "one", "two")


def test_an_edit_whose_hold_ran_out_undoes_no_round_of_another_machine(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.shared.log.HOLD_SECONDS", 1.0)
    database, of = postgres.database(), random.Random(6)

    async def run() -> None:
        async with (
            Between(postgres.port) as network,
            machine(tmp_path / "two", "two", postgres.url(database)) as two,
            machine(tmp_path / "one", "one", postgres.url(database, port=network.port)) as one,
        ):
            for number in range(1, 20):
                await two.record(some_round(number, "a", of), None)
            await until_equal(one, two)
            append = one._append

            async def late(attempt: Any) -> Any:
                network.to_server = network.to_client = False
                await asyncio.sleep(1.5)
                assert (await two.record(some_round(20, "a", of), None)).status == "stored"
                network.heal()
                await asyncio.sleep(0.3)
                monkeypatch.undo()
                return await append(attempt)

            monkeypatch.setattr(one, "_append", late)
            with suppress(StoreError):
                await one.void(VoidStrike(ServerId("a"), RoundId("1763622000123-4")), "owner", "")
            await until_equal(one, two)
            for pool in (one, two):
                with closing(sqlite3.connect(pool.store.path)) as store:
                    assert [*ratings_apart(store)] == []

    asyncio.run(run())


def test_a_daemon_that_was_killed_has_its_name_back_at_its_first_sign_of_life(
    postgres: Postgres, tmp_path: Path
) -> None:
    database = postgres.database()
    alone = house(tmp_path, "one", postgres.url(database))

    def signs() -> list[tuple[Any, ...]]:
        with suppress(asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            return postgres.sql("SELECT machine, instance FROM equipoise.machines", database)
        return []

    def next_sign(*before: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        for _ in range(2000):
            if (now := signs()) and now != list(before):
                return now
            time.sleep(0.05)
        raise AssertionError((alone.folder / "daemon.log").read_text())

    with serving(alone):
        first = next_sign()
    with serving(alone):
        second = next_sign(*first)
        assert (second[0][0], len(second)) == ("one", 1)
        assert "calls itself" not in (alone.folder / "daemon.log").read_text()


def test_a_stop_ends_while_an_edit_waits_for_a_database_that_answers_nobody(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would answer within an hour, as far as this daemon knows."""
    monkeypatch.setattr("equipoise.fleet.SharedLog", partial(SharedLog, seconds=3600.0))
    database = postgres.database()

    async def run(one: House, network: Between) -> None:
        async with AsyncExitStack() as stack, ClientSession() as session:
            address = await app.start(config.load(one.config, {}), stack, environ={})
            token = {"Authorization": f"Bearer {(one.folder / 'owner.token').read_text().strip()}"}

            async def edit(rating: int) -> int:
                url = f"http://{address}/v1/admin/players/{player(1)}"
                async with session.put(url, json={"rating": rating, "new": True}, headers=token) as answer:
                    return answer.status

            async with asyncio.timeout(60):
                while await edit(1500) != 200:  # the log is begun meanwhile
                    pass
            network.to_client = False
            asked = asyncio.create_task(edit(1600))
            await until(lambda: any("_edit()" in repr(task) for task in asyncio.all_tasks()))
            async with asyncio.timeout(60):
                await stack.aclose()
            with suppress(ClientError):
                assert await asked != 200

    async def begin() -> None:
        async with Between(postgres.port) as network:
            one = await asyncio.to_thread(house, tmp_path, "one", postgres.url(database, port=network.port))
            await run(one, network)

    asyncio.run(begin())


def test_a_database_that_is_away_is_said_once_and_once_when_it_is_back(tmp_path: Path) -> None:
    with cluster() as server:
        database = server.database()
        alone = house(tmp_path, "one", server.url(database))
        log = alone.folder / "daemon.log"

        def said(words: str) -> None:
            for _ in range(2000):
                if words in log.read_text():
                    return
                time.sleep(0.05)
            raise AssertionError(log.read_text())

        server.stop()
        with serving(alone):
            said("is away, rounds wait in the ring: database")
            time.sleep(7.0)  # two signs of life are not given
            server.start()
            said("the log of a shared pool is followed pool=main")
            lines = [
                line for line in log.read_text().splitlines() if re.match("<[34]>", line) and "event_loop" not in line
            ]
            assert len(lines) == 1
            assert "nothing listens there" in lines[0]
            server.restart()
            said("the log of a shared pool is followed again")


def test_who_leaves_a_pool_whose_database_never_comes_back_keeps_all_rounds_that_waited_for_it(tmp_path: Path) -> None:
    names = [f"1-{number}" for number in range(1, 21)]

    def sent(address: str, seq: int, number: int) -> str:
        batch = posted(HELLO, ROSTER, ended(number), seq=seq)
        return str(post(address, alone.secret, batch)["rounds"][f"1-{number}"])

    with cluster() as server:
        alone = house(tmp_path, "one", server.url(server.database()))
        with serving(alone) as (_, address):
            assert sent(address, 1, 1) in ("stored", "kept")
            server.stop()
            assert [sent(address, number, number) for number in range(2, 21)] == ["kept"] * 19
    left = run("pool", "leave", "main", "--config", alone.config)
    assert (left.returncode, left.stderr) == (0, ""), left
    with serving(alone) as (_, address):
        for _ in range(2000):
            with closing(sqlite3.connect(alone.state / "equipoise.db")) as db:
                rounds = [row[0] for row in db.execute("SELECT id FROM rounds ORDER BY number")]
            if len(rounds) == len(names):
                break
            time.sleep(0.05)
        assert rounds == names
        assert sent(address, 21, 21) == "stored"


def test_a_fault_of_ours_in_following_is_said_and_what_it_left_out_of_memory_is_read_when_it_is_over(
    postgres: Postgres, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.service.shared_pool.FAULT_SECONDS", 0.2)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    async def scenario(one: SharedPool, two: SharedPool) -> None:
        two.hold(lambda: [player(1)])
        await two.record(a_round(1, a=[1, 2], b=[3, 4]), None)
        await until_equal(one, two)
        with monkeypatch.context() as patch:
            patch.setattr(two.system, "restore", broken)
            await one.record(a_round(2, a=[1, 2], b=[3, 4]), None)
            await until(lambda: not two.sharing.connected)
            (finding,) = diagnosis.of_sharing(two)
            assert finding.bad
            assert "is not followed, no round waits: a fault of Equipoise, ZeroDivisionError: a fault" in finding.what
            assert (await two.record(a_round(3, a=[1, 2], b=[3, 4]), None)).status == "kept"
            await asyncio.sleep(0.5)  # it is tried again
        lines = [record for record in caplog.records if record.levelname == "ERROR"]
        assert len(lines) == 1
        assert lines[0].exc_info
        assert "rounds wait in the ring: a fault of Equipoise" in lines[0].getMessage()
        await until_equal(one, two)
        await until(lambda: two.sharing.connected)
        assert two.summary(player(1)) == (await one.summaries([player(1)]))[0]

    play(scenario, postgres.url(postgres.database()), "one", "two")


def test_following_stops_before_a_damaged_event_also_after_a_restart_and_goes_on_when_it_is_written_anew(
    postgres: Postgres, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database, of = postgres.database(), random.Random(9)
    url, numbers = postgres.url(database), count(9)
    damage = "UPDATE equipoise.events SET {} WHERE number = 5; SELECT 1".format

    def stopped(two: SharedPool) -> bool:
        assert two.sharing is not None
        return two.sharing.number == 4 and "event 5 of pool main" in (two.sharing.trouble or "")

    async def run() -> None:
        async with machine(tmp_path / "one", "one", url) as one:
            async with machine(tmp_path / "two", "two", url) as two:
                for number in range(1, 5):
                    await one.record(some_round(number, "a", of), None)
                await until_equal(one, two)
            for number in range(5, 8):
                await one.record(some_round(number, "a", of), None)
            for harm in (f"body = '\\x{zlib.compress(b'{').hex()}'", "body = '\\x00'", "at = NULL"):
                caplog.clear()
                await asyncio.to_thread(postgres.sql, damage(harm), database)
                async with machine(tmp_path / "two", "two", url) as two:
                    await until(lambda: stopped(two))
                    assert (await two.record(some_round(8, "b", of), None)).status == "kept"
                    assert (await one.record(some_round(next(numbers), "a", of), None)).status == "stored"
                    await asyncio.sleep(1.5)
                    said = [record.getMessage() for record in caplog.records]
                    (line,) = [each for each in said if "cannot be followed" in each]
                    assert "`equipoise pool recompute main` on a machine that is past it" in line
                    with pytest.raises(LogError, match="event 5 of pool main"):
                        await two.settle()
            async with machine(tmp_path / "two", "two", url) as two:
                await until(lambda: stopped(two))
                await one.rebase()  # as a recompute does
                await until_equal(one, two)
                assert rows_of(one.store.path) == rows_of(two.store.path)
                assert stored(two)[-1] == ("b", "1763622000123-8")

    asyncio.run(run())


def test_while_another_machine_edits_this_one_says_so_and_not_that_the_log_is_away(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(one: SharedPool, two: SharedPool) -> None:
        of = random.Random(8)
        two.answer_seconds = 0.2
        async with one._log.held(POOL):
            assert (await two.record(some_round(1, "server", of), None)).status == "kept"
            await until(lambda: "machine one is editing pool main" in (two.sharing.trouble or ""))
            with pytest.raises(StoreError, match="machine one is editing pool main"):
                await two.edit(player(1), 1500, "admin")
            assert two.sharing.connected
        await until(lambda: two.sharing.trouble is None)
        await until_equal(one, two)
        assert stored(one) == [("server", "1763622000123-1")]
        assert "away" not in caplog.text

    play(scenario, postgres.url(postgres.database()), "one", "two")


def test_a_pool_of_another_rating_version_is_said_as_long_as_it_has_it_and_answers_come_at_once(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    url = postgres.url(postgres.database())
    set_version = "UPDATE equipoise.pools SET rating_version = rating_version {} 1; SELECT 1"

    async def scenario(one: SharedPool) -> None:
        of = random.Random(9)
        await asyncio.to_thread(postgres.sql, set_version.format("-"), url.rpartition("/")[2])
        await until(lambda: "run `equipoise pool upgrade main`" in (one.sharing.trouble or ""))
        one.answer_seconds = 3600.0
        looks = []
        for number in range(1, 9):
            assert (await one.record(some_round(number, "server", of), None)).status == "kept"
            await one._caught_up()
            looks.append((one.sharing.connected, "rating version" in (one.sharing.trouble or "")))
        assert looks == [(True, True)] * 8
        await asyncio.to_thread(postgres.sql, set_version.format("+"), url.rpartition("/")[2])
        await until(lambda: one.sharing.trouble is None and not one.ring_depth)
        assert len(stored(one)) == 8
        assert "away" not in caplog.text

    play(scenario, url, "one")


def test_rounds_that_waited_for_another_machines_edit_are_stored_when_it_ends_and_not_at_the_next_look(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.service.shared_pool.WAIT_SECONDS", 3600.0)

    async def scenario(one: SharedPool, two: SharedPool) -> None:
        two.answer_seconds = 0.2
        async with one._log.held(POOL):
            assert (await two.record(some_round(1, "server", random.Random(8)), None)).status == "kept"
        await until_equal(one, two)
        assert stored(one) == [("server", "1763622000123-1")]

    play(scenario, postgres.url(postgres.database()), "one", "two")
