"""The log in trouble: what is refused, and what fails now and goes on later, on real servers and a real bad network."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from equipoise.errors import CommitUnknown, LogConflict, LogError, LogRefused, StoreError
from equipoise.shared.connections import Link
from equipoise.shared.log import LogEvent, SharedLog
from tests.machines.network import Machine, two_machines
from tests.postgres import OWNER, PASSWORD, USER, Between, Postgres, cluster, pgbouncer, small_disk
from tests.postgres import postgres as postgres
from tests.programs import installed
from tests.shared.test_log import AGREEMENT, append, everything, pieces, round_event

pytestmark = pytest.mark.world

WRONG = "hunter2"


@asynccontextmanager
async def opened(
    url: str, machine: str = "one", *, seconds: float = 5.0, share: bool = False
) -> AsyncIterator[SharedLog]:
    log = SharedLog(url, PASSWORD, machine, seconds=seconds)
    try:
        await log.open()
        if share:
            await log.share("main", AGREEMENT, 0, pieces([b"{}"]))
        yield log
    finally:
        await log.close()


async def said(url: str, password: str = PASSWORD, error: type[StoreError] = LogError) -> str:
    """The message of the error with which a log cannot be opened."""
    log = SharedLog(url, password, "one")
    try:
        with pytest.raises(error) as caught:
            await log.open()
    finally:
        await log.close()
    return str(caught.value)


def refused(url: str, password: str = PASSWORD) -> str:
    """What is said of a database that will never serve."""
    message = asyncio.run(said(url, password, LogRefused))
    assert password not in message
    assert "\n" not in message
    return message


# What is refused.


def test_a_wrong_password_role_host_or_database_is_refused_with_what_to_correct(postgres: Postgres) -> None:
    database = postgres.database()
    url = postgres.url(database)
    assert refused(url, WRONG) == (
        f'database {url}: password authentication failed for user "equipoise": '
        "correct the role in the URL or its password"
    )
    assert "password authentication failed" in refused(postgres.url(database, role="nobody"))
    assert "create the database, or correct its name" in refused(postgres.url("nowhere"))
    assert "its host is not known: correct the host in the URL" in refused(postgres.url(database, host="db.invalid"))


def test_a_server_that_does_not_listen_or_lets_nobody_in_is_said_in_plain_words(postgres: Postgres) -> None:
    database = postgres.database()
    for url in (postgres.url(database, port=1), f"postgresql:///{database}?host=/nowhere&user={OWNER}"):
        assert "nothing listens there: is PostgreSQL started" in asyncio.run(said(url))
    with cluster() as server:
        (server.data / "pg_hba.conf").write_text("local all all scram-sha-256\n")
        server.restart()
        assert "pg_hba.conf" in (line := refused(server.url("postgres")))
        assert line.endswith("add a line for this machine, as docs/shared.md has it, and reload PostgreSQL")
        (server.data / "pg_hba.conf").write_text("local all all scram-sha-256\nhost all all all scram-sha-256\n")
        server.settings["max_connections"] = "4"
        server.settings["superuser_reserved_connections"] = "3"
        server.restart()

        async def crowd() -> None:
            async with opened(server.url(server_database)):
                assert "raise max_connections there" in await said(server.url(server_database))

        server_database = server.database()
        asyncio.run(crowd())


def test_what_pgbouncer_refuses_is_refused_with_what_to_correct(postgres: Postgres) -> None:
    database = postgres.database()
    with pgbouncer(postgres) as port:
        assert "correct the role in the URL or its password" in refused(postgres.url(database, port=port), WRONG)
        assert "create the database, or correct its name" in refused(postgres.url("nowhere", port=port))


def test_a_database_of_another_program_format_or_encoding_is_refused_and_stays_as_it_is(postgres: Postgres) -> None:
    def fresh(*statements: str, options: str = "") -> str:
        database = postgres.database(options=options)
        for statement in statements:
            postgres.sql(f"SET ROLE {OWNER}; {statement}; SELECT 1", database)
        return postgres.url(database)

    assert "schema equipoise is another program's: give Equipoise a database of its own" in refused(
        fresh("CREATE SCHEMA equipoise; CREATE TABLE equipoise.horses (name text)")
    )
    newer = fresh("CREATE SCHEMA equipoise; CREATE TABLE equipoise.format AS SELECT 99 AS format")
    assert "format 99, this Equipoise knows 2: upgrade Equipoise on this machine" in refused(newer)
    assert "not in UTF-8" in refused(fresh(options="ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"))
    lacking = fresh()

    async def make() -> None:
        async with opened(lacking, share=True):
            pass

    asyncio.run(make())
    postgres.sql("DROP TABLE equipoise.events CASCADE; SELECT 1", lacking.rpartition("/")[2])
    assert "its table equipoise.events is missing: restore the database from a backup" in refused(lacking)


def test_a_role_that_may_make_no_tables_is_refused_and_an_empty_schema_that_was_made_for_it_is_taken(
    postgres: Postgres,
) -> None:
    database = postgres.database()
    postgres.sql(f"ALTER DATABASE {database} OWNER TO {USER}; SELECT 1")
    assert "make it the owner of the database" in refused(postgres.url(database))
    statements = [f"CREATE SCHEMA {name} AUTHORIZATION {OWNER}" for name in ("equipoise", "equipoise_public")]
    postgres.sql(f"{'; '.join(statements)}; SELECT 1", database)

    async def make() -> None:
        async with opened(postgres.url(database), share=True) as log:
            assert await log.state("main") is not None

    asyncio.run(make())


@contextmanager
def with_tls() -> Iterator[tuple[Postgres, Path]]:
    """A server with a certificate for localhost, and the file of who signed it: itself."""
    with cluster() as server:
        certificate, key = server.data / "server.crt", server.data / "server.key"
        words = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        files = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
        command = [installed("openssl"), *words, *files, "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True)
        if os.geteuid() == 0:
            for file in (certificate, key):
                subprocess.run(["chown", USER, str(file)], check=True)
        server.settings["ssl"] = "on"
        server.restart()
        yield server, certificate


def test_tls_is_as_the_url_says_and_what_cannot_be_so_is_refused(postgres: Postgres) -> None:
    plain = postgres.url(postgres.database(), host="localhost")
    assert "rejected SSL upgrade: set sslmode and sslrootcert in the URL" in refused(f"{plain}?sslmode=require")

    async def encrypted(url: str) -> bool:
        async with opened(url) as log:
            return (await log.survey()).encrypted

    with with_tls() as (server, certificate):
        database = server.database()
        verified = f"?sslmode=verify-full&sslrootcert={certificate}"
        url = server.url(database, host="localhost")
        assert asyncio.run(encrypted(f"{url}?sslmode=require"))
        assert asyncio.run(encrypted(url + verified))
        assert not asyncio.run(encrypted(f"{url}?sslmode=disable"))
        assert "certificate verify failed" in refused(f"{server.url(database)}{verified}"), "127.0.0.1 is not its name"
        other = Path("/etc/ssl/certs/ca-certificates.crt")
        assert "certificate verify failed" in refused(f"{url}?sslmode=verify-full&sslrootcert={other}")


# What fails now and goes on later.


async def play(log: SharedLog, server: str, count: int) -> None:
    """Append rounds as a daemon does: one after the other, again after each failure, looked up after an unknown end."""
    position, digest, number = 0, b"", 1
    while number <= count:
        with suppress(LogError):
            while page := await log.read("main", position):
                position, digest = page[-1].number, page[-1].digest
                number += sum(event.server == server for event in page)
            if number <= count:
                event = round_event(number, server)
                if await log.append("main", position, digest, AGREEMENT.rating_version, [event]) is None:
                    await append(log, event)
        await asyncio.sleep(0.005)


async def check_whole(log: SharedLog, servers: list[str], count: int) -> list[LogEvent]:
    """Every round is there once, in the order of its server, and the numbers have no gaps."""
    events = await everything(log)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    for server in servers:
        assert [event.round for event in events if event.server == server] == [f"r{n}" for n in range(1, count + 1)]
    return events


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_server_that_is_restarted_or_killed_again_and_again_loses_and_doubles_no_round(how: signal.Signals) -> None:
    async def scenario(server: Postgres, url: str) -> None:
        rng = random.Random(how)
        names = ["a", "b", "c"]
        async with opened(url, share=True) as one, opened(url, "two") as two, opened(url, "three") as three:
            playing = asyncio.gather(*(play(log, name, 60) for log, name in zip((one, two, three), names, strict=True)))
            for _ in range(4):
                await asyncio.sleep(rng.uniform(0.2, 0.6))
                await asyncio.to_thread(server.restart, how)
            await playing
            await check_whole(one, names, 60)

    with cluster() as server:
        asyncio.run(scenario(server, server.url(server.database())))


def test_an_answer_that_is_lost_behind_the_commit_is_said_to_be_unknown_and_found_by_reading(
    postgres: Postgres,
) -> None:
    async def scenario(database: str) -> None:
        async with (
            Between(postgres.port) as network,
            opened(postgres.url(database, port=network.port), share=True) as log,
        ):
            for number in range(1, 4):
                network.lose_answer_to = b"COMMIT\0"
                with pytest.raises(CommitUnknown, match="whether it is stored is not known"):
                    await append(log, round_event(number))
                assert [event.round for event in await log.read("main", number - 1)] == [f"r{number}"]
            network.lose_answer_to = b"INSERT INTO equipoise.events"
            with pytest.raises(LogError) as caught:
                await append(log, round_event(4))
            assert not isinstance(caught.value, CommitUnknown)
            assert await log.read("main", 3) == []
            await check_whole(log, ["one"], 3)
            # In one round trip there is only the answer behind the commit.
            last = (await log.read("main", 2))[0]
            network.lose_answer_to = b"lost"
            with pytest.raises(CommitUnknown, match="whether it is stored is not known"):
                await log.append("main", 3, last.digest, AGREEMENT.rating_version, [round_event(1, "lost")])
            assert [event.server for event in await log.read("main", 3)] == ["lost"]

    asyncio.run(scenario(postgres.database()))


def test_a_server_that_takes_no_writes_is_read_and_takes_them_later(postgres: Postgres) -> None:
    database = postgres.database()

    async def scenario(url: str) -> None:
        async with opened(url, share=True) as log:
            await append(log, round_event(1))
            alter = f"ALTER DATABASE {database} SET default_transaction_read_only"
            await asyncio.to_thread(postgres.sql, f"{alter} = on; SELECT 1")
            async with opened(url, "two") as other:
                with pytest.raises(LogError, match="read-only"):
                    await append(other, round_event(2))
                assert len(await other.read("main", 0)) == 1
                assert (await other.survey()).read_only
                await asyncio.to_thread(postgres.sql, f"{alter} = off; SELECT 1")
                # The connection that was refused is dropped: after a failover another server has the name.
                assert [event.number for event in await append(other, round_event(2))] == [2]

    asyncio.run(scenario(postgres.url(database)))


def test_a_full_disk_takes_no_round_and_with_room_takes_them_again(postgres: Postgres) -> None:
    database = postgres.database()

    async def begin_with_a_round(url: str) -> None:
        async with opened(url, share=True) as log:
            await append(log, round_event(1))

    async def fill(url: str, folder: Path) -> None:
        async with opened(url) as log:
            free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
            ballast = folder / "ballast"
            await asyncio.to_thread(ballast.write_bytes, b"x" * (free - 40_000))
            noise = random.Random(1)
            number = 1
            said = ""
            while not said:
                try:
                    await append(log, round_event(number + 1, text=noise.randbytes(4000).hex()))
                    number += 1
                except LogError as error:
                    said = str(error)
            assert said.endswith("the disk of the database is full: make room there")
            assert len(await everything(log)) == number
            ballast.unlink()
            await append(log, round_event(number + 1))
            await check_whole(log, ["one"], number + 1)

    url = postgres.url(database)
    asyncio.run(begin_with_a_round(url))
    with small_disk(postgres, database) as folder:
        asyncio.run(fill(url, folder))


BOUND = 30.0
"""Seconds: calls end after two, the database lets go of who vanished after five; a connection without a bound waits for
a quarter of an hour."""


@pytest.mark.parametrize("direction", ["to_server", "to_client", "both"])
def test_a_network_that_is_cut_stops_no_call_for_longer_than_its_time_and_no_other_machine_at_all(
    postgres: Postgres, direction: str
) -> None:
    async def bounded(call: Callable[[], object]) -> None:
        async with asyncio.timeout(BOUND):
            with pytest.raises(StoreError):
                await call()  # type: ignore[misc]

    async def scenario(database: str) -> None:
        async with (
            Between(postgres.port) as network,
            opened(postgres.url(database), "two", share=True) as two,
            opened(postgres.url(database, port=network.port), seconds=2.0) as one,
        ):
            await append(one, round_event(1))
            await one.read("main", 0)
            network.to_server = direction == "to_client"
            network.to_client = direction == "to_server"
            await bounded(lambda: append(one, round_event(2)))
            await bounded(lambda: one.read("main", 1))
            await bounded(lambda: one.state("main"))
            async with asyncio.timeout(BOUND):
                await append(two, round_event(1, "two"))
            network.heal()
            await play(one, "one", 3)
            await check_whole(one, ["one"], 3)

    asyncio.run(scenario(postgres.database()))


HOUR = 3600.0


def test_what_was_refused_stands_while_nothing_answers() -> None:
    tries = count(1)

    async def connect() -> asyncpg.Connection[Any]:
        if next(tries) > 1:
            await asyncio.sleep(HOUR)
        raise asyncpg.InvalidPasswordError("password authentication failed")

    async def scenario() -> None:
        link = Link(connect, 0.05, "database x")
        ends_at = time.monotonic() + 1.0  # attempts fail at once until a pause is over
        while time.monotonic() < ends_at:
            with pytest.raises(LogRefused, match="correct the role in the URL or its password"):
                async with link.use():
                    pass
            await asyncio.sleep(0.01)
        assert 3 < next(tries) < 8, "it is asked again, and seldom"

    asyncio.run(scenario())


def test_a_call_that_stands_in_line_for_long_says_so_and_the_one_before_it_goes_on(postgres: Postgres) -> None:
    url = postgres.url(postgres.database())

    async def scenario() -> None:
        link = Link(lambda: asyncpg.connect(url, password=PASSWORD), 1.0, "database x")
        async with link.use() as connection:
            with pytest.raises(LogError, match="database x: another call takes long"):
                async with link.use():
                    pass
            assert await connection.fetchval("SELECT 1") == 1
        async with link.use() as again:
            assert again is connection
        await link.close()

    asyncio.run(scenario())


def test_a_log_that_is_cut_keeps_nobody_waiting_not_who_connects_has_asked_or_stands_in_line(
    postgres: Postgres,
) -> None:
    async def scenario(database: str) -> None:
        async with Between(postgres.port) as network:
            url = postgres.url(database, port=network.port)
            async with opened(url, share=True, seconds=HOUR) as log:
                network.to_server = False
                other = SharedLog(url, PASSWORD, "two", seconds=HOUR)
                calls = [log.state("main"), log.read("main", 0), append(log, round_event(1)), other.open()]
                tasks = [asyncio.create_task(call) for call in calls]
                tasks.append(asyncio.create_task(log.forget("main", "1", lambda _: None)))
                await asyncio.sleep(0.5)
                assert not any(task.done() for task in tasks)
                for each in (log, other):
                    each.cut()
                async with asyncio.timeout(60):
                    assert {type(error) for error in await asyncio.gather(*tasks, return_exceptions=True)} == {LogError}
                network.heal()
                with pytest.raises(LogError, match="the daemon is being stopped"):
                    await log.state("main")

    asyncio.run(scenario(postgres.database()))


PLAY = """
import asyncio, sys, time
from tests.shared.test_trouble import opened, play
async def run():
    async with opened(sys.argv[1], sys.argv[2]) as log:
        longest = 0.0
        for count in range(1, int(sys.argv[3]) + 1):
            started = time.monotonic()
            await play(log, sys.argv[2], count)
            longest = max(longest, time.monotonic() - started)
            print(count, longest, flush=True)
asyncio.run(run())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces are root's")
@pytest.mark.parametrize("arrives", ["nothing", "what the server sends", "what the machine sends"])
def test_a_line_that_loses_packets_and_is_cut_while_a_machine_appends_costs_no_round_and_others_go_on(
    arrives: str,
) -> None:
    def playing(machine: Machine, name: str, count: int) -> subprocess.Popen[str]:
        command = machine.command(sys.executable, "-c", PLAY, url, name, str(count))
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])

    with (
        two_machines() as (near, far, line),
        cluster(*near.command(), listen_addresses="*") as server,
    ):
        database = server.database()
        url = server.url(database, host=near.address)
        there = f"postgresql://{OWNER}@/{database}?host={server.folder}&port={server.port}"
        asyncio.run(begin(there))
        with playing(far, "far", 8) as slow, playing(near, "near", 200) as quick:
            assert slow.stdout is not None
            assert quick.stdout is not None
            while slow.stdout.readline().split()[:1] != ["3"]:
                pass
            line.cut = arrives == "nothing"
            line.deaf = {"what the server sends": 0, "what the machine sends": 1}.get(arrives)
            time.sleep(9)
            line.cut, line.deaf = False, None
            assert slow.wait(100) == quick.wait(100) == 0
            longest = float(quick.stdout.read().split()[-1])
        assert longest < 7, "a vanished holder is ended after five seconds"

        async def check() -> None:
            async with opened(there) as log:
                await check_whole(log, ["far"], 8)
                await check_whole(log, ["near"], 200)

        asyncio.run(check())


async def begin(url: str) -> None:
    async with opened(url, share=True):
        pass


@pytest.mark.parametrize("moment", ["rating", "written"])
def test_who_vanishes_while_it_holds_the_pool_stops_the_others_for_five_seconds(
    postgres: Postgres, moment: str
) -> None:
    async def vanish(log: SharedLog, network: Between) -> None:
        async with log.appending("main") as appending:
            if moment == "written":
                await appending.add([round_event(1)])
            network.to_server = network.to_client = False
            await asyncio.sleep(60)

    async def scenario(database: str) -> None:
        async with (
            Between(postgres.port) as network,
            opened(postgres.url(database), "two", share=True) as two,
            opened(postgres.url(database, port=network.port)) as one,
        ):
            vanishing = asyncio.create_task(vanish(one, network))
            await asyncio.sleep(0.5)
            started = time.monotonic()
            await play(two, "two", 1)
            assert 3 < time.monotonic() - started < BOUND
            assert [event.server for event in await everything(two)] == ["two"]
            vanishing.cancel()
            with suppress(asyncio.CancelledError):
                await vanishing

    asyncio.run(scenario(postgres.database()))


def test_a_connection_that_nobody_answers_any_more_is_noticed_by_reading_and_replaced(postgres: Postgres) -> None:
    async def scenario(database: str) -> None:
        async with (
            Between(postgres.port) as network,
            opened(postgres.url(database), "two", share=True) as two,
            opened(postgres.url(database, port=network.port), seconds=2.0) as one,
        ):
            await one.read("main", 0)
            network.to_server = network.to_client = False  # as when a firewall forgets it
            await append(two, round_event(1, "two"))
            await one.wait("main", 1)
            with pytest.raises(LogError, match="did not answer in time"):
                await one.read("main", 0)
            network.heal()
            await asyncio.sleep(0.3)
            assert len(await one.read("main", 0)) == 1
            waiting = asyncio.create_task(one.wait("main", 30))
            await asyncio.sleep(0.1)
            await append(two, round_event(2, "two"))
            await asyncio.wait_for(waiting, 1)

    asyncio.run(scenario(postgres.database()))


def test_too_many_connections_are_a_failure_of_now(postgres: Postgres) -> None:
    database = postgres.database()
    postgres.sql(f"ALTER DATABASE {database} CONNECTION LIMIT 1; SELECT 1")

    async def scenario(url: str) -> None:
        async with opened(url) as one:
            other = SharedLog(url, PASSWORD, "two")
            with pytest.raises(LogError, match="too many connections"):
                await other.open()
            await one.close()
            await asyncio.sleep(0.3)
            await other.open()
            await other.close()

    asyncio.run(scenario(postgres.url(database)))


CLOCK = Path(__file__).parents[1] / "chaos" / "clock"
PUBLISH = """
import asyncio, sys
from equipoise.shared.log import SharedLog
async def run():
    log = SharedLog(sys.argv[1], sys.argv[2], "late")
    await log.open()
    await log.publish({}, [])
    print((await log.survey()).clock_seconds)
    log._published = False
    await log.close()
asyncio.run(run())
"""


def test_a_clock_that_is_an_hour_off_is_said_and_the_order_is_the_logs(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.url(postgres.database())
    (tmp_path / "ahead").write_text("-3600")
    environ = {**os.environ, "PYTHONPATH": str(CLOCK), "CHAOS_CLOCK": str(tmp_path / "ahead")}
    command = [sys.executable, "-c", PUBLISH, url, PASSWORD]
    said = subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout
    assert float(said) == pytest.approx(-3600, abs=1)

    async def scenario() -> None:
        async with opened(url, share=True) as log:
            [late] = (await log.survey()).machines
            assert late.machine == "late"
            assert late.clock_seconds == pytest.approx(-3600, abs=1)
            assert late.seconds < 60
            await append(log, round_event(5))
            await append(log, round_event(1))
            assert [event.at for event in await everything(log)] == [1005, 1001]

    asyncio.run(scenario())


def test_a_log_that_went_back_has_other_digests_from_there_on(postgres: Postgres) -> None:
    database = postgres.database()

    async def first(url: str) -> bytes:
        async with opened(url, share=True) as log:
            await append(log, round_event(1))
            return (await append(log, round_event(2)))[0].digest

    async def after(url: str, *events: int) -> list[bytes]:
        async with opened(url, "other") as log:
            for number in events:
                await append(log, round_event(number, "two"))
            return [(await log.base("main")).digest, *(event.digest for event in await log.read("main", 0))]

    first_digest = asyncio.run(first(postgres.url(database)))
    postgres.sql(f"CREATE DATABASE restored TEMPLATE {database} OWNER {OWNER}; SELECT 1")
    postgres.sql("DELETE FROM equipoise.events WHERE number = 2; SELECT 1", "restored")
    postgres.sql(
        "UPDATE equipoise.pools SET last = 1, digest = (SELECT digest FROM equipoise.events); SELECT 1", "restored"
    )
    original, restored = asyncio.run(after(postgres.url(database))), asyncio.run(after(postgres.url("restored"), 3))
    assert original[2] == first_digest
    assert (original[0], original[1]) == (restored[0], restored[1])
    assert original[2] != restored[2]


def test_transactions_that_the_database_takes_back_are_to_be_tried_again() -> None:
    import asyncpg

    from equipoise.shared.connections import translated

    for kind in (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.UniqueViolationError):
        assert isinstance(translated(kind("no"), "here"), LogConflict)


def test_a_commit_that_waits_for_a_standby_is_unknown_and_there_once_when_the_standby_is_given_up() -> None:
    async def scenario(server: Postgres, url: str) -> None:
        async with opened(url, share=True) as one, opened(url, "two", seconds=1.5) as two:
            await append(one, round_event(1))
            setting = "ALTER SYSTEM SET synchronous_standby_names = '{}'; SELECT pg_reload_conf()"
            await asyncio.to_thread(server.sql, setting.format("nobody"))
            await asyncio.sleep(0.5)
            assert (await one.survey()).standbys
            with pytest.raises(CommitUnknown):
                await append(two, round_event(2))
            with pytest.raises(LogError):
                await append(two, round_event(3))
            assert len(await one.read("main", 0)) == 1, "nobody sees what is not confirmed"
            await asyncio.to_thread(server.sql, setting.format(""))
            await play(two, "one", 3)
            await check_whole(one, ["one"], 3)

    with cluster() as server:
        asyncio.run(scenario(server, server.url(server.database())))
