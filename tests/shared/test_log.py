"""The log of shared pools on a real PostgreSQL: order, following, waiting, bases, and behind PgBouncer."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import replace

import pytest

from equipoise.errors import LogConflict, LogDamaged, LogError, LogHeld, LogMissing, LogRefused
from equipoise.shared.bodies import OWN
from equipoise.shared.log import PAGE_BYTES, Agreement, LogEvent, NewEvent, Server, SharedLog, State
from tests.postgres import PASSWORD, Postgres, cluster, pgbouncer
from tests.postgres import postgres as postgres

pytestmark = pytest.mark.world

AGREEMENT = Agreement("synelo", {"k": 20.0}, 3)
Scenario = Callable[..., Awaitable[None]]


def body(text: str) -> bytes:
    return b'{"rows":{"texts":{"columns":["text"],"rows":[["%b"]]}}}' % text.encode()


def round_event(number: int, server: str = "one", text: str = "") -> NewEvent:
    return NewEvent("round", server, f"r{number}", 1000.0 + number, (body(f"{number} {text}"),))


async def pieces(bodies: Iterable[bytes]) -> AsyncIterator[bytes]:
    for body in bodies:
        yield body


async def append(log: SharedLog, *events: NewEvent) -> list[LogEvent]:
    async with log.appending("main") as appending:
        return list(await appending.add(events))


async def everything(log: SharedLog, after: int = 0) -> list[LogEvent]:
    """All events behind a number, page by page."""
    events: list[LogEvent] = []
    while page := await log.read("main", events[-1].number if events else after):
        events += page
    return events


def with_logs(scenario: Scenario, *addresses: str, pool: bool = True) -> None:
    """Run a scenario with a log for each address, opened, and the pool `main` shared."""

    async def run() -> None:
        async with AsyncExitStack() as stack:
            logs = []
            for number, address in enumerate(addresses, 1):
                logs.append(SharedLog(address, PASSWORD, f"machine{number}"))
                stack.push_async_callback(logs[-1].close)
                await logs[-1].open()
            if pool:
                await logs[0].share("main", AGREEMENT, 0, pieces([b"{}"]))
            await scenario(*logs)

    asyncio.run(run())


def test_a_notice_that_came_before_its_connection_ended_is_heard_and_no_fault(postgres: Postgres) -> None:
    async def scenario(one: SharedLog) -> None:
        faults: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        await one.wait("main", 0)
        raw = one._reader._connection
        assert raw is not None
        raw._process_notification(1, "equipoise", "main")  # as asyncpg does when it has read one: heard in a moment
        raw.terminate()
        assert await one.wait("main", 30)
        assert not faults

    with_logs(scenario, postgres.url(postgres.database()))


def test_who_begins_and_who_joins_see_the_same_pool_and_base(postgres: Postgres) -> None:
    bodies = [body(str(number) * 1000) for number in range(5)]

    async def scenario(one: SharedLog, two: SharedLog) -> None:
        assert await two.state("main") is None
        await one.share("main", AGREEMENT, 42, pieces(bodies))
        state = await two.state("main")
        assert state is not None
        assert (state.last, state.base, state.agreement) == (42, 42, AGREEMENT)
        base = await two.base("main")
        assert (base.number, base.digest, base.count) == (42, state.digest, 5)
        assert [piece async for piece in base.pieces] == bodies
        with pytest.raises(LogConflict, match="another machine has begun pool main"):
            await two.share("main", AGREEMENT, 0, pieces([]))
        [event] = await append(two, round_event(1))
        assert (event.number, event.follows(state.digest)) == (43, True)

    url = postgres.url(postgres.database())
    with_logs(scenario, url, url, pool=False)


def test_daemons_that_append_at_once_get_numbers_without_gaps_and_all_read_the_same(postgres: Postgres) -> None:
    rng = random.Random(1)

    async def appender(log: SharedLog, server: str) -> list[LogEvent]:
        own: list[LogEvent] = []
        known = 0
        for turn in range(30):
            async with log.appending("main") as appending:
                # What came before is read in the same transaction, and ends where the own events begin.
                tail = await appending.read(known)
                assert [event.number for event in tail] == list(range(known + 1, appending.last + 1))
                count = rng.randint(1, 3)
                own += await appending.add([round_event(turn * 10 + place, server) for place in range(count)])
                known = appending.last
        return own

    async def scenario(*logs: SharedLog) -> None:
        served = await asyncio.gather(*(appender(log, f"server{place}") for place, log in enumerate(logs)))
        replicas = [await everything(log) for log in logs]
        assert replicas[0] == replicas[1] == replicas[2]
        assert sorted((event for own in served for event in own), key=lambda event: event.number) == replicas[0]
        digest = (await logs[0].base("main")).digest
        for number, event in enumerate(replicas[0], 1):
            assert (event.number, event.follows(digest)) == (number, True)
            digest = event.digest
        state = await logs[1].state("main")
        assert state is not None
        assert (state.last, state.digest) == (len(replicas[0]), digest)

    url = postgres.url(postgres.database())
    with_logs(scenario, url, url, url)


@pytest.mark.parametrize("pooled", [False, True])
def test_one_round_trip_appends_behind_the_last_event_or_does_nothing(postgres: Postgres, pooled: bool) -> None:
    async def scenario(one: SharedLog, two: SharedLog) -> None:
        async def tried(log: SharedLog, place: State, version: int, *events: NewEvent) -> Sequence[LogEvent] | None:
            return await log.append("main", place.last, place.digest, version, events)

        begun = await one.state("main")
        assert begun is not None
        own = await tried(one, begun, 3, round_event(1), round_event(2))
        assert own is not None
        assert list(own) == await everything(two)
        assert [event.number for event in own] == [1, 2]
        assert own[0].follows(begun.digest)
        now = await two.state("main")
        assert now is not None
        assert (now.last, now.digest) == (2, own[-1].digest)
        assert await tried(two, begun, 3, round_event(3)) is None, "somebody came before"
        assert await tried(two, replace(now, digest=b"another log"), 3, round_event(3)) is None
        assert await tried(two, now, 4, round_event(3)) is None, "another rating version"
        assert await tried(two, now, 3, round_event(3, text=os.urandom(PAGE_BYTES).hex())) is None, "too large"
        async with one.held("main"):
            assert await tried(two, now, 3, round_event(3)) is None, "another machine edits"
            assert await tried(one, now, 3, round_event(3)) is not None
        assert len(await everything(two)) == 3
        with pytest.raises(LogError, match="events_by_round"):
            await tried(two, replace(now, last=3, digest=(await everything(two))[-1].digest), 3, round_event(3))

    database = postgres.database()
    with pgbouncer(postgres) if pooled else nullcontext(postgres.port) as port:
        url = postgres.url(database, port=port)
        with_logs(scenario, url, url)


def test_nothing_is_appended_when_rating_fails_and_the_next_append_has_the_number(postgres: Postgres) -> None:
    async def scenario(log: SharedLog) -> None:
        async def fail() -> None:
            async with log.appending("main") as appending:
                await appending.add([round_event(1)])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        assert await log.read("main", 0) == []
        assert [event.number for event in await append(log, round_event(2))] == [1]

    with_logs(scenario, postgres.url(postgres.database()))


def test_pages_hold_whole_events_and_one_that_is_larger_comes_alone(postgres: Postgres) -> None:
    noise = (random.Random(place).randbytes(300_000).hex() for place in range(9))
    large = NewEvent("import", None, None, 1.0, tuple(map(body, noise)))

    async def scenario(log: SharedLog) -> None:
        await append(log, *(round_event(number) for number in range(5)), large, large, round_event(9))
        sizes = []
        after = 0
        while page := await log.read("main", after):
            sizes.append(len(page))
            after = page[-1].number
        assert sizes == [5, 1, 1, 1]
        assert (await log.read("main", 5))[0].pieces == large.pieces

    with_logs(scenario, postgres.url(postgres.database()))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE equipoise.events SET body = 'x' WHERE number = 3 AND piece = 1",
        "UPDATE equipoise.events SET digest = NULL WHERE number = 3 AND piece = 0",
        "DELETE FROM equipoise.events WHERE number = 3 AND piece = 0",
        "DELETE FROM equipoise.events WHERE number = 3 AND piece = 1",
        "DELETE FROM equipoise.events WHERE number = 3",
    ],
)
def test_what_comes_before_a_damaged_event_is_read_and_then_where_the_damage_is_said(
    postgres: Postgres, damage: str
) -> None:
    database = postgres.database()

    async def scenario(log: SharedLog) -> None:
        await append(log, *(replace(round_event(number), pieces=(b"{}",) * 3) for number in range(1, 6)))
        await asyncio.to_thread(postgres.sql, f"{damage}; SELECT 1", database)
        assert [event.number for event in await log.read("main", 0)] == [1, 2]
        with pytest.raises(LogDamaged, match="event 3 of pool main"):
            await log.read("main", 2)
        assert (await log.state("main")).last == 5  # type: ignore[union-attr]

    with_logs(scenario, postgres.url(database))


def test_who_holds_a_pool_keeps_the_others_out_for_as_long_as_it_lives_and_not_much_longer(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.shared.log.HOLD_SECONDS", 1.0)

    async def scenario(one: SharedLog, two: SharedLog) -> None:
        async with one.held("main"):
            await asyncio.sleep(2.5)
            with pytest.raises(LogHeld, match="machine machine1 is editing pool main"):
                await append(two, round_event(1))
            with pytest.raises(LogHeld, match="machine machine1 is editing pool main"):
                async with two.held("main"):
                    pass
        async with two.held("main"):
            pass
        await one._hold("main")  # and is killed
        await asyncio.sleep(1.1)
        begun = await two.state("main")
        assert begun is not None
        assert await two.append("main", 0, begun.digest, 3, [round_event(1)]) is not None
        assert len(await append(two, round_event(2))) == 1
        async with two.held("main"):
            pass

    url = postgres.url(postgres.database())
    with_logs(scenario, url, url)


def test_who_lost_its_hold_to_another_machine_does_not_end_that_ones(postgres: Postgres) -> None:
    database = postgres.database()
    taken = "UPDATE equipoise.pools SET held_by = 'machine2', held_until = now() + interval '1 minute'; SELECT 1"

    async def scenario(one: SharedLog) -> None:
        async with one.held("main"):
            await asyncio.to_thread(postgres.sql, taken, database)  # as when this one had not been heard for long
        state = await one.state("main")
        assert state is not None
        assert state.held_by == "machine2"

    with_logs(scenario, postgres.url(database))


def test_an_append_is_done_also_where_nobody_can_be_told_of_it(postgres: Postgres) -> None:
    database = postgres.database()

    async def scenario(one: SharedLog) -> None:
        faults: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        await append(one, round_event(1))
        assert one._reader._connection is not None
        listener = one._reader._connection.get_server_pid()
        lost = f"ALTER DATABASE {database} CONNECTION LIMIT 1; SELECT pg_terminate_backend({listener})"
        await asyncio.to_thread(postgres.sql, lost)
        assert [event.number for event in await append(one, round_event(2))] == [2]
        await one.close()
        gc.collect()
        assert not faults

    with_logs(scenario, postgres.url(database))


def test_without_the_package_asyncpg_a_log_is_refused_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    log = SharedLog("postgresql://equipoise@db/equipoise", PASSWORD, "one")
    with pytest.raises(LogRefused, match="the package asyncpg is missing: pipx inject equipoise asyncpg"):
        asyncio.run(log.open())


@pytest.mark.parametrize("pooled", [False, True])
def test_who_waits_is_told_of_an_append_but_behind_pgbouncer(postgres: Postgres, pooled: bool) -> None:
    async def scenario(one: SharedLog, two: SharedLog) -> None:
        assert await two.read("main", 0) == []
        seconds = 1.0 if pooled else 30.0
        for turn in range(3):
            waiting = asyncio.create_task(two.wait("main", seconds))
            await asyncio.sleep(0.1)
            await append(one, round_event(turn))
            assert await waiting is not pooled
            assert not await two.wait("main", 0.1), "it is told once"
            assert [event.round for event in await two.read("main", turn)] == [f"r{turn}"]
        # What came while nobody waited is not lost.
        await append(one, round_event(8))
        await asyncio.sleep(0.2)
        assert await two.wait("main", seconds) is not pooled

    database = postgres.database()
    if pooled:
        with pgbouncer(postgres) as port:
            url = postgres.url(database, port=port)
            with_logs(scenario, url, url)
    else:
        with_logs(scenario, postgres.url(database), postgres.url(database))


def test_eight_daemons_share_three_connections_of_pgbouncer(postgres: Postgres) -> None:
    async def scenario(*logs: SharedLog) -> None:
        async def play(log: SharedLog, server: str) -> None:
            for turn in range(10):
                await append(log, round_event(turn, server))
                await log.read("main", 0)
                await log.state("main")

        await asyncio.gather(*(play(log, f"server{place}") for place, log in enumerate(logs)))
        events = await everything(logs[0])
        assert [event.number for event in events] == list(range(1, 81))

    with pgbouncer(postgres) as port:
        with_logs(scenario, *[postgres.url(postgres.database(), port=port)] * 8)


def test_a_pool_that_is_not_there_is_said(postgres: Postgres) -> None:
    async def scenario(log: SharedLog) -> None:
        for call in (append(log, round_event(1)), log.base("main")):
            with pytest.raises(LogMissing, match="there is no pool main"):
                await call

    with_logs(scenario, postgres.url(postgres.database()), pool=False)


def many_events(count: int, base: int = 0) -> str:
    """Statements that fill a log with empty events, each at the second of its number."""
    return (
        "INSERT INTO equipoise.events (pool, number, piece, kind, at, machine, digest, body) SELECT 'main', n, 0, "
        f"'round', n, 'x', '', decode('789c030000000001', 'hex') FROM generate_series(1, {count}) AS n; "
        f"UPDATE equipoise.pools SET last = {count}, base = {base}; SELECT 1"
    )


def test_a_page_of_a_long_log_that_the_database_has_never_analyzed_costs_no_more_than_a_page(
    postgres: Postgres,
) -> None:
    database = postgres.database()

    async def scenario(log: SharedLog) -> None:
        await asyncio.to_thread(postgres.sql, many_events(100_000), database)
        after = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'events'"
        assert len(await log.read("main", 20_000)) == 1000
        assert await log.read("main", 100_000) == []
        await log.close()  # it tells its counts then
        await asyncio.sleep(0.5)
        [(entries,)] = await asyncio.to_thread(postgres.sql, after, database)
        assert entries < 10_000, "not those of the whole log"

    with_logs(scenario, postgres.url(database))


def test_a_newer_base_lets_old_events_go_and_who_is_behind_begins_with_it(postgres: Postgres) -> None:
    async def scenario(one: SharedLog, two: SharedLog) -> None:
        events = await append(one, *(round_event(number) for number in range(1, 11)))
        await one.trim("main", 2000.0)
        assert list(await two.read("main", 0)) == events, "the base is of before all events"
        await one.rebase("main", 7, events[6].digest, pieces([b'{"base": 7}']))
        state = await two.state("main")
        assert state is not None
        assert (state.last, state.base) == (10, 7)
        await one.trim("main", 1005.0)
        assert list(await two.read("main", 4)) == events[4:], "the others are not so old"
        with pytest.raises(LogMissing, match="no longer has event 4"):
            await two.read("main", 3)
        await one.trim("main", 2000.0)
        with pytest.raises(LogMissing, match="no longer has event 7"):
            await two.read("main", 6)
        base = await two.base("main")
        assert (base.number, base.digest) == (7, events[6].digest)
        assert [piece async for piece in base.pieces] == [b'{"base": 7}']
        assert list(await two.read("main", 7)) == events[7:]
        with pytest.raises(LogMissing, match="no such event 11"):
            await one.rebase("main", 11, b"", pieces([]))
        with pytest.raises(LogMissing, match="no such event 8"):
            await one.rebase("main", 8, events[6].digest, pieces([]))
        with pytest.raises(LogConflict, match="overtaken"):
            await one.rebase("main", 7, events[6].digest, pieces([]))

    url = postgres.url(postgres.database())
    with_logs(scenario, url, url)


def test_a_night_deletes_all_old_events_however_many_they_are(postgres: Postgres) -> None:
    database = postgres.database()

    async def scenario(log: SharedLog) -> None:
        await asyncio.to_thread(postgres.sql, many_events(2500, base=2400), database)
        await log.trim("main", 2200.0)
        left = "SELECT min(number), max(number) FROM equipoise.events"
        assert await asyncio.to_thread(postgres.sql, left, database) == [(2200, 2500)]
        await log.trim("main", 9999.0)
        assert await asyncio.to_thread(postgres.sql, left, database) == [(2401, 2500)]

    with_logs(scenario, postgres.url(database))


def test_a_log_has_a_round_where_pool_number_server_and_id_are_its_own(postgres: Postgres) -> None:
    columns = ["number", "server", "id", "map", "mode", "started_at", "seconds", "winner", "prediction", "unrated"]
    row = [OWN, "arena", "r1", "arena_well", "arena", 1.0, 60.0, "a", 0.5, None, None]
    written = json.dumps({"rows": {"rounds": {"columns": [*columns, "voided"], "rows": [row]}}}).encode()

    async def scenario(log: SharedLog) -> None:
        await append(log, round_event(0), NewEvent("round", "arena", "r1", 1.0, (written,)))
        assert await log.has_round("main", 2, "arena", "r1")
        for other in (
            ("else", 2, "arena", "r1"),
            ("main", 1, "arena", "r1"),
            ("main", None, "arena", "r1"),
            ("main", 2, "koth", "r1"),
            ("main", 2, "arena", "r2"),
        ):
            assert not await log.has_round(*other), other

    with_logs(scenario, postgres.url(postgres.database()))


@pytest.mark.parametrize("what", ["begun", "appended at once", "appended while it is held", "agreed", "replaced"])
def test_what_is_confirmed_survives_a_crash_of_a_database_that_was_told_not_to_wait_for_its_disk(what: str) -> None:
    confirmed: list[tuple[object, ...]] = []

    async def known(log: SharedLog) -> tuple[object, ...]:
        state = await log.state("main")
        assert state is not None
        return state.last, state.digest, state.base, state.agreement

    async def change(log: SharedLog) -> None:
        begun = await log.state("main")
        assert begun is not None
        if what == "appended at once":
            assert await log.append("main", 0, begun.digest, 3, [round_event(1)]) is not None
        elif what == "appended while it is held":
            await append(log, round_event(1))
        elif what == "agreed":
            async with log.appending("main") as appending:
                await appending.agree(replace(AGREEMENT, rating_version=4))
        elif what == "replaced":
            async with log.held("main"):
                state = await log.state("main")
                assert state is not None
                event = NewEvent("recompute", None, None, 9.0, ())
                await log.replace("main", state, AGREEMENT, 1, event, pieces([b"{}"]))
        confirmed.append(await known(log))
        await asyncio.to_thread(server.stop, signal.SIGKILL)

    async def check(log: SharedLog) -> None:
        assert [await known(log)] == confirmed

    with cluster(synchronous_commit="off", wal_writer_delay="10s") as server:
        url = server.url(server.database())
        with_logs(change, url)
        server.start()
        with_logs(check, url, pool=False)


def test_a_base_does_not_bring_back_who_was_forgotten_while_its_rows_were_read(postgres: Postgres) -> None:
    async def scenario(one: SharedLog, two: SharedLog) -> None:
        [event] = await append(one, round_event(1))

        async def slow() -> AsyncIterator[bytes]:
            yield b'{"base": "ann"}'
            await append(two, NewEvent("forget", None, None, 1.0, (b"{}",)))

        with pytest.raises(LogConflict, match="overtaken"):
            await one.rebase("main", 1, event.digest, slow())
        assert (await two.base("main")).number == 0

    url = postgres.url(postgres.database())
    with_logs(scenario, url, url)


def test_a_base_in_the_place_of_all_is_found_by_who_was_at_the_end_and_not_put_over_what_came_meanwhile(
    postgres: Postgres,
) -> None:
    newer = replace(AGREEMENT, system="elo")

    async def scenario(one: SharedLog, two: SharedLog) -> None:
        await append(one, *(round_event(number) for number in range(1, 4)))
        state = await one.state("main")
        assert state is not None
        event = NewEvent("recompute", None, None, 9.0, ())
        with pytest.raises(LogError, match="another machine has changed pool main"):  # it is not held
            await one.replace("main", state, newer, 4, event, pieces([b'{"anew": true}']))
        async with one.held("main"):
            await one.replace("main", state, newer, 4, event, pieces([b'{"anew": true}']))
        assert (await two.base("main")).number == 4
        with pytest.raises(LogMissing, match="begin with the base"):
            await two.read("main", 3)
        now = await two.state("main")
        assert now is not None
        assert (now.last, now.base, now.agreement.system, now.held_by) == (4, 4, "elo", None)
        [after] = await append(two, round_event(9))
        assert (after.number, after.follows(now.digest)) == (5, True)
        async with one.held("main"):
            with pytest.raises(LogError, match="another machine has changed pool main"):
                await one.replace("main", now, newer, 6, event, pieces([b'{"anew": true}']))
        assert (await two.base("main")).number == 4

    url = postgres.url(postgres.database())
    with_logs(scenario, url, url)


def test_somebody_is_forgotten_in_older_events_and_in_the_base_and_the_digests_stay(postgres: Postgres) -> None:
    def change(piece: bytes) -> bytes | None:
        return piece.replace(b"ann", b"stand-in") if b"ann" in piece else None

    names = ["ann", "bob"] * 60

    async def scenario(log: SharedLog) -> None:
        await log.share("main", AGREEMENT, 0, pieces([body("ann"), body("bob")]))
        about = [NewEvent("round", "one", str(n), 1.0, (b"{}", body(who))) for n, who in enumerate(names)]
        before = await append(log, *about)
        await log.forget("main", "ann", change)
        after = await everything(log)
        assert [event.digest for event in after] == [event.digest for event in before]
        assert {event.pieces[1] for event in after} == {body("stand-in"), body("bob")}
        base = [piece async for piece in (await log.base("main")).pieces]
        assert base[0] == body("stand-in")

    with_logs(scenario, postgres.url(postgres.database()), pool=False)


@pytest.mark.parametrize("cut", [False, True], ids=["ends", "is cut"])
def test_all_see_the_servers_of_all_and_a_machine_that_ended_is_gone(postgres: Postgres, cut: bool) -> None:
    async def scenario(one: SharedLog, two: SharedLog) -> None:
        arena, koth = Server("main", "arena", "machine1", {"players": 3}), Server("main", "koth", "machine1", {})
        await one.publish({"version": "1"}, [koth, arena])
        await two.publish({}, [Server("main", "arena", "machine2", {"players": 0})])
        assert await two.servers() == [arena, Server("main", "arena", "machine2", {"players": 0}), koth]
        await one.publish({"version": "1"}, [replace(arena, status={"players": 4})])
        assert await two.servers() == [
            replace(arena, status={"players": 4}),
            Server("main", "arena", "machine2", {"players": 0}),
        ]
        machines = (await two.survey()).machines
        assert [(machine.machine, machine.status) for machine in machines] == [
            ("machine1", {"version": "1"}),
            ("machine2", {}),
        ]
        assert max(machine.seconds for machine in machines) < 10
        assert max(abs(machine.clock_seconds) for machine in machines) < 1
        if cut:
            two.cut()
        await two.close()
        assert {server.machine for server in await one.servers()} == {"machine1"}
        await one.publish({}, [])
        assert await one.servers() == []

    url = postgres.url(postgres.database())
    with_logs(scenario, url, url)


def test_a_daemon_that_was_killed_and_is_back_has_its_name_at_once_and_a_copy_of_it_is_refused(
    postgres: Postgres,
) -> None:
    async def scenario(killed: SharedLog) -> None:
        def again() -> SharedLog:
            return SharedLog(url, PASSWORD, "machine1", identity="of its state folder")

        first, back, other = again(), again(), SharedLog(url, PASSWORD, "machine1", identity="another")
        await first.publish({}, [])
        await back.publish({}, [])  # `first` said no goodbye
        await back.publish({}, [])
        with pytest.raises(LogRefused, match="calls itself machine1 too"):
            await other.publish({}, [])
        # As of a virtual machine that was copied: both run, with one state folder.
        with pytest.raises(LogRefused, match="calls itself machine1 too"):
            await first.publish({}, [])
        arena = Server("main", "arena", "machine1", {})
        await back.publish({}, [arena])
        await first.close()
        await other.close()
        assert await back.servers() == [arena], "who was refused takes the name with it when it ends"
        await back.close()

    url = postgres.url(postgres.database())
    with_logs(scenario, url)


def test_a_machines_name_that_another_daemon_has_is_refused_while_that_is_there(postgres: Postgres) -> None:
    async def scenario(one: SharedLog) -> None:
        other = SharedLog(url, PASSWORD, "machine1")
        await one.publish({}, [])
        with pytest.raises(LogRefused, match=r"calls itself machine1 too: .* machine in the table \[shared\]"):
            await other.publish({}, [])
        await one.close()
        await other.publish({}, [])
        await other.close()

    url = postgres.url(postgres.database())
    with_logs(scenario, url)


@pytest.mark.parametrize("pooled", [False, True])
def test_a_survey_says_what_the_database_is(postgres: Postgres, pooled: bool) -> None:
    async def scenario(log: SharedLog) -> None:
        await log.publish({}, [])
        survey = await log.survey()
        assert survey.version.partition(".")[0].isdecimal()
        assert (survey.durable, survey.read_only, survey.standbys) == (True, False, False)
        assert (survey.pooled, survey.notifies, survey.encrypted) == (pooled, True, False)
        assert 0 < survey.round_trip_seconds < 1
        assert abs(survey.clock_seconds) < 0.5
        assert [machine.machine for machine in survey.machines] == ["machine1"]

    database = postgres.database()
    with pgbouncer(postgres) if pooled else nullcontext(postgres.port) as port:
        with_logs(scenario, postgres.url(database, port=port))
