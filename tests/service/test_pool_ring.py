"""Rounds are applied once and in order while the store and the ring fail and recover."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.errors import ScriptError, SpillError
from equipoise.service.pool import Pool, Recorded
from equipoise.service.ring import RESERVE, SLOTS, UnstoredRound, framed
from tests.opened_pool import NOW, Followed, opened, stored_rounds
from tests.store.disk import filled, no_file_above, small_disk, without_root
from tests.store.failing import Failing, Fault, locked
from tests.store.samples import a_round, player, until

pytestmark = pytest.mark.also_shared


@pytest.fixture(autouse=True)
def short_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shared pool answers as soon as in a daemon: here rounds are kept on purpose."""
    monkeypatch.setattr(Followed, "answer_seconds", 0.5)


async def test_a_round_that_a_locked_store_does_not_take_is_kept_and_applied_later(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            kept = await pool.record(a_round(), b"memory")
            assert kept == Recorded("kept", None)
            assert (pool.ring_depth, pool.summary(player(1)).rounds) == (1, 0)
        await pool.drain()
        await until(lambda: not pool.ring_depth)

        assert pool.applied == 1
        assert (await pool.summaries([player(1)]))[0].rounds == 1
        assert await pool.store.memory(a_round().round.server) == b"memory"


async def test_a_kept_round_that_is_sent_again_waits_once_and_is_then_answered(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            await pool.record(a_round(), None)
            assert await pool.record(a_round(), None) == Recorded("kept", None)
            assert pool.ring_depth == 1
        answer = await pool.record(a_round(), None)
        assert pool.applied == 1

    assert answer.status == "stored"
    assert [change.rounds for change in answer.rated.changes] == [1, 1, 1, 1]


async def test_older_rounds_are_applied_before_a_newer_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            for number in (3, 1):
                await pool.record(a_round(number), None)
        done = await pool.record(a_round(2), None)

    assert done.status == "stored"
    assert stored_rounds(tmp_path) == [a_round(n).round.id for n in (3, 1, 2)]


@pytest.mark.also_shared(False)  # there it waits for no more than half a second, whatever is before it
async def test_a_script_does_not_wait_for_more_older_rounds_than_there_are_slots(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=Failing) as pool:
        pool.store.faults = [Fault.BEFORE] * (SLOTS + 2)
        for number in range(SLOTS + 2):
            await pool.record(a_round(number), None)

        assert (await pool.record(a_round(90), None)).status == "kept"
        assert (pool.ring_depth, pool.applied) == (3, SLOTS)
        assert (await pool.record(a_round(91), None)).status == "stored"
    assert stored_rounds(tmp_path) == [a_round(n).round.id for n in (*range(SLOTS + 2), 90, 91)]


@pytest.mark.parametrize(
    "numbers", [[*range(3 * SLOTS)], [1, 2, 1]], ids=["more than slots", "one was applied and sent again"]
)
async def test_what_waits_in_the_file_after_a_crash_is_applied_once_and_in_order(
    tmp_path: Path, numbers: list[int]
) -> None:
    waiting = b"".join(framed(UnstoredRound(a_round(number), None, NOW)) for number in numbers)
    await asyncio.to_thread((tmp_path / "main.ring").write_bytes, waiting)
    once = list(dict.fromkeys(numbers))
    async with opened(tmp_path) as pool:
        await until(lambda: not pool.ring_depth)
        assert (pool.applied, (tmp_path / "main.ring").stat().st_size) == (len(once), 0)
    assert stored_rounds(tmp_path) == [a_round(number).round.id for number in once]


async def test_a_round_that_neither_store_nor_ring_takes_is_refused_and_forgotten(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"), no_file_above(0), pytest.raises(SpillError):
            await pool.record(a_round(), None)

        assert pool.ring_depth == 0
        assert (await pool.record(a_round(), None)).status == "stored"


async def test_a_kept_round_that_no_store_could_take_does_not_stop_those_behind_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            await pool.record(a_round(1, captures_a=2**64), None)
            await pool.record(a_round(2), None)
        assert (await pool.record(a_round(4), None)).status == "stored"

        await until(lambda: not pool.ring_depth)
        assert (pool.refused, pool.applied) == (1, 2)
        with pytest.raises(ScriptError, match="cannot be stored"):
            await pool.record(a_round(3, captures_a=2**64), None)
        assert stored_rounds(tmp_path) == [a_round(2).round.id, a_round(4).round.id]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up a right and take it back")
async def test_a_directory_that_may_not_be_looked_into_costs_no_round_while_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chmod(tmp_path, 0o700)
    monkeypatch.setenv("HOME", "/")  # of the user it becomes, where a way to the database looks for certificates
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            await pool.record(a_round(1), None)
        with without_root():
            assert (await pool.record(a_round(2), None)).status == "stored"
        assert (await pool.record(a_round(3), None)).status == "stored"
        await until(lambda: not pool.ring_depth)
    assert stored_rounds(tmp_path) == [a_round(number).round.id for number in (1, 2, 3)]


def faulty(name: str) -> Any:
    """Return a system that fails at each round while its class says so."""

    class Faulty(type(ratings.create(name))):  # type: ignore[misc]
        fails = False

        def rate(self, match: Any) -> Any:
            if Faulty.fails:
                raise ZeroDivisionError("a fault of ours")
            return super().rate(match)

    return Faulty(ratings.create(name).params)


@pytest.mark.also_shared(False)  # there the third round waits behind the second, and nobody is told
async def test_a_fault_while_waiting_rounds_are_applied_costs_no_round_that_comes_later(tmp_path: Path) -> None:
    """The waiting round is asked of a system that fails as a whole, and not at that round alone."""
    system = faulty("joint")
    async with opened(tmp_path, system) as pool:
        await pool.record(a_round(1), None)
        with locked(tmp_path / "s.db"):
            await pool.record(a_round(2), None)
        type(system).fails = True
        with pytest.raises(ZeroDivisionError):
            await pool.record(a_round(3), None)
        type(system).fails = False
        assert (await pool.record(a_round(4), None)).status == "stored"
    assert stored_rounds(tmp_path) == [a_round(number).round.id for number in (1, 2, 4)]


async def test_a_fault_at_a_round_that_waits_is_said_once_however_often_it_is_tried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    system = faulty("synelo")
    type(system).fails = True
    async with opened(tmp_path, system) as pool:
        with locked(tmp_path / "s.db"):
            await pool.record(a_round(0), None)
        for number in range(1, 4):  # each time those before it are tried
            assert (await pool.record(a_round(number), None)).status == "kept"
        await until(lambda: any("round 1763622000123-0 of arena-1 fails" in line for line in caplog.messages))
        type(system).fails = False
        assert (await pool.record(a_round(4), None)).status == "stored"
    assert stored_rounds(tmp_path) == [a_round(number).round.id for number in range(5)]
    assert sum("fails" in line for line in caplog.messages) == 1


@pytest.mark.slow
async def test_a_full_disk_leaves_the_reserve_to_the_rounds_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Followed, "answer_seconds", 0.01)  # hundreds of rounds
    caplog.set_level(logging.WARNING)
    with small_disk(tmp_path / "disk") as disk:
        async with opened(disk) as pool:
            with filled(disk):
                taken: list[str] = []
                while "refused" not in taken or len(taken) < taken.index("refused") + 9:
                    taken.append(await tried(pool, a_round(len(taken))))
                    await pool.drain()
                kept = taken.index("refused")
                assert set(taken[:kept]) == {"kept"}
                assert set(taken[kept:]) == {"refused"}
                assert kept * len(framed(UnstoredRound(a_round(kept), None, NOW))) > RESERVE / 2
            await pool.drain()
            # A round of a shared pool is counted before the ring lets go of it.
            await until(lambda: pool.applied > 0 and pool.ring_depth + pool.applied == kept)
    lines = [record.levelname for record in caplog.records if record.name == "equipoise.service.pool"]
    assert lines == ["WARNING", "ERROR"]  # they wait; further ones are not kept here


async def tried(pool: Pool, one: RecordRound) -> str:
    try:
        return (await pool.record(one, None)).status
    except SpillError:
        return "refused"
