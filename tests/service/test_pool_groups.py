"""Rounds that end at the same time on many servers: one commit, and each round its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, ServerId, Side
from equipoise.errors import ScriptError, SpillError
from equipoise.ratings.system import Match, Rated
from equipoise.service.pool import GROUP, Pool, Recorded
from tests.opened_pool import opened, rated_alone, stored_rounds, summary_of
from tests.store.disk import no_file_above
from tests.store.failing import Failing, Fault
from tests.store.samples import a_round, player
from tests.store.traced import Traced

pytestmark = pytest.mark.also_shared


def of_servers(count: int) -> list[RecordRound]:
    """One round from each of so many servers, all with some players in common."""
    return [a_round(n, a=[1, 2 + n], b=[100 + n, 200], server=ServerId(f"arena-{n}")) for n in range(count)]


async def at_once(pool: Pool, records: Sequence[RecordRound]) -> list[Recorded | BaseException]:
    return await asyncio.gather(*(pool.record(each, None) for each in records), return_exceptions=True)


def statuses(answers: Sequence[Recorded | BaseException]) -> list[object]:
    return [answer.status if isinstance(answer, Recorded) else type(answer) for answer in answers]


def ids(records: Sequence[RecordRound]) -> list[str]:
    return [record.round.id for record in records]


async def agrees(pool: Pool, applied: Sequence[RecordRound], system: str = "synelo") -> None:
    """Memory is as if these rounds alone had been rated, one after the other."""
    alone = rated_alone(*applied, system=system)
    players: list[PlayerId] = sorted({each.id for record in applied for each in record.participants})
    assert await pool.summaries(players) == tuple(summary_of(alone, one) for one in players)
    assert pool.system.shared() == alone.shared()


@pytest.mark.also_shared(False)  # it counts commits of the store
@pytest.mark.parametrize(("count", "commits"), [(20, 1), (2 * GROUP + 1, 3)], ids=["few", "more than a group takes"])
async def test_rounds_that_end_at_once_are_stored_in_the_order_they_came_by_one_commit_a_group(
    tmp_path: Path, count: int, commits: int
) -> None:
    records = of_servers(count)
    async with opened(tmp_path, kind=Traced) as pool:
        with pool.store.watched() as statements:
            answers = await at_once(pool, records)

        assert statuses(answers) == ["stored"] * count
        assert [answer.rated.round for answer in answers] == ids(records)
        assert statements.count("COMMIT") == commits
        assert pool.applied == count
        await agrees(pool, records)
    assert stored_rounds(tmp_path) == ids(records)


async def test_a_round_that_comes_during_a_commit_waits_for_the_next_and_no_longer(tmp_path: Path) -> None:
    records = of_servers(5)
    async with opened(tmp_path, kind=Traced) as pool:
        with pool.store.watched() as statements:
            first = asyncio.create_task(pool.record(records[0], None))
            while "BEGIN IMMEDIATE" not in pool.store.statements and not first.done():  # noqa: ASYNC110
                await asyncio.sleep(0)
            await at_once(pool, records[1:])
            assert first.done()

        assert statements.count("COMMIT") == 2
    assert stored_rounds(tmp_path) == ids(records)


async def test_one_bad_round_among_good_ones_is_refused_alone_and_leaves_no_trace(tmp_path: Path) -> None:
    good = of_servers(5)
    bad = a_round(77, a=[1, 3], b=[100, 200], captures_a=2**64)
    async with opened(tmp_path, "ns2") as pool:
        answers = await at_once(pool, [*good[:3], bad, *good[3:]])

        assert statuses(answers) == ["stored"] * 3 + [ScriptError] + ["stored"] * 2
        await agrees(pool, good, "ns2")
    assert stored_rounds(tmp_path) == ids(good)


async def test_a_fault_in_rating_one_round_costs_the_others_nothing(tmp_path: Path) -> None:
    good = of_servers(5)
    faulty = a_round(77, a=[1, 66], b=[100, 200])
    async with opened(tmp_path) as pool:
        mend = break_for(pool, player(66))
        answers = await at_once(pool, [*good[:3], faulty, *good[3:]])

        assert statuses(answers) == ["stored"] * 3 + [ZeroDivisionError] + ["stored"] * 2
        await agrees(pool, good)
        mend()
        assert (await pool.record(faulty, None)).status == "stored"
        await agrees(pool, [*good, faulty])


def break_for(pool: Pool, victim: PlayerId) -> object:
    """Have the system fail after it learnt, whenever this player takes part; returns a function that mends it."""
    system, whole = pool.system, pool.system.rate

    def rate(match: Match) -> Rated:
        rated = whole(match)
        if any(change.player == victim for change in rated.changes):
            raise ZeroDivisionError
        return rated

    system.rate = rate

    def mend() -> None:
        del system.rate

    return mend


@pytest.mark.also_shared(False)  # the round is stored at the second attempt
@pytest.mark.slow
@pytest.mark.parametrize("system", ["synelo", "ns2", "teamskill_k"])
@pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.WITHIN, Fault.COMMIT, Fault.AFTER])
async def test_when_the_store_fails_the_whole_group_waits_in_order_and_memory_is_as_the_store_has_it(
    tmp_path: Path, fault: Fault, system: str
) -> None:
    earlier, *records = of_servers(6)
    async with opened(tmp_path, system, kind=Failing) as pool:
        await pool.record(earlier, None)
        version = pool.version
        pool.store.faults = [fault]
        answers = await at_once(pool, records)

        assert statuses(answers) == ["kept"] * 5
        assert [each.record for each in pool.ring.slots()] == records
        assert pool.version > version or fault is Fault.BEFORE
        in_memory = [pool.summary(each.id) for each in earlier.participants]
        alone = rated_alone(earlier, system=system)
        assert in_memory == [summary_of(alone, each.id) for each in earlier.participants]
        assert pool.system.shared() == alone.shared()
        await pool.drain()
        assert (pool.ring_depth, pool.refused) == (0, 0)
        await agrees(pool, [earlier, *records], system)
    assert stored_rounds(tmp_path) == ids([earlier, *records])


@pytest.mark.also_shared(False)  # the round is stored at the second attempt
async def test_a_group_whose_store_fails_after_a_bad_round_keeps_what_is_stored_and_the_rest_waits(
    tmp_path: Path,
) -> None:
    records = of_servers(5)
    bad = a_round(77, captures_a=2**64)
    async with opened(tmp_path, kind=Failing) as pool:
        pool.store.faults = [Fault.NOWHERE, Fault.COMMIT]
        answers = await at_once(pool, [*records[:2], bad, *records[2:]])

        assert statuses(answers) == ["stored"] * 2 + [ScriptError] + ["kept"] * 3
        await agrees(pool, records[:2])
        assert stored_rounds(tmp_path) == ids(records[:2])
        await pool.drain()
        await agrees(pool, records)
    assert stored_rounds(tmp_path) == ids(records)


@pytest.mark.also_shared(False)  # the round is stored at the second attempt
@pytest.mark.slow
async def test_behind_a_round_that_cannot_be_kept_none_is_though_it_had_room(tmp_path: Path) -> None:
    before, large, small = a_round(1), a_round(2, a=range(1, 13), b=range(13, 25)), a_round(3)
    async with opened(tmp_path, kind=Failing) as pool:
        pool.store.faults = [Fault.BEFORE]
        await pool.record(before, None)
        room = 2 * (tmp_path / "main.ring").stat().st_size + 100
        pool.store.faults = [Fault.BEFORE]
        with no_file_above(room):
            answers = await at_once(pool, [large, small])

        assert statuses(answers) == [SpillError] * 2
        assert pool.ring_depth == 1
        assert statuses(await at_once(pool, [large, small])) == ["stored"] * 2
    assert stored_rounds(tmp_path) == ids([before, large, small])


async def test_each_of_many_callers_may_give_up_without_the_others_noticing(tmp_path: Path) -> None:
    records = of_servers(4)
    async with opened(tmp_path) as pool:
        callers = [asyncio.create_task(pool.record(each, None)) for each in records]
        await asyncio.sleep(0)
        callers[0].cancel()
        callers[2].cancel()
        answers = await asyncio.gather(*callers, return_exceptions=True)

    assert statuses(answers) == [asyncio.CancelledError, "stored", asyncio.CancelledError, "stored"]
    assert stored_rounds(tmp_path) == ids(records)


async def test_a_round_that_the_system_refuses_is_stored_unrated_among_the_others(tmp_path: Path) -> None:
    records = of_servers(3)
    bot = records[1].participants[0].__class__(PlayerId("bot:7"), Side.A, 90.0, 0.0)
    refused = RecordRound(records[1].round, (bot, *records[1].participants))
    async with opened(tmp_path) as pool:
        answers = await at_once(pool, [records[0], refused, records[2]])

        assert statuses(answers) == ["stored"] * 3
        assert [answer.rated.unrated is None for answer in answers] == [True, False, True]
        await agrees(pool, [records[0], records[2]])
    assert stored_rounds(tmp_path) == ids(records)
