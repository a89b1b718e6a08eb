"""Edits, undone edits and void rounds: memory, store and a replay from the first round on say the same, to the bit."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise import ratings
from equipoise.core.model import PlayerSummary, RoundId, Side
from equipoise.errors import ScriptError, StoreError
from equipoise.service.pool import Pool
from equipoise.service.replayed import revise
from equipoise.store.past import VoidStrike
from equipoise.store.recalculation import Revised, StrikeRequest
from equipoise.store.sequence import BulkEdit
from equipoise.store.store import Store
from tests.opened_pool import opened, played, rated_alone, summary_of
from tests.pools import an_import, recomputed, row_of, some_rounds
from tests.store.disk import fast_directory
from tests.store.samples import SERVER, a_round, player, sql, until, with_counts, with_spans

pytestmark = pytest.mark.also_shared

PLAYERS = range(1, 8)

SYSTEMS: dict[str, dict[str, Any]] = {
    "synelo": {"window": 4, "shadow_rounds": 2},
    "elo": {},
    "glicko": {},
    "glicko2": {},
    "ns2": {"plus_side": "red"},
    "teamskill_k": {"base": "glicko"},
    "teamskill_allk_ls": {},
    "trueskill": {},
    "trueskill2": {},
    "trueskill_through_time": {},
    "weng_lin": {},
}

TABLES = (
    "SELECT id, rating, rounds, visible, last_played, state FROM players ORDER BY id",
    "SELECT * FROM participants ORDER BY round, place",
    "SELECT number, id, prediction, voided, skill_at_start FROM rounds ORDER BY number",
    "SELECT key, part FROM shared ORDER BY key",
    "SELECT id, wins, draws, losses, leaves FROM players WHERE wins + draws + losses ORDER BY id",
    "SELECT edited.* FROM edited JOIN edits ON number = edit "
    "WHERE action IN ('set', 'reset', 'import') AND NOT struck ORDER BY edit",
)

RECORDS_TABLE = 4

RECORDED = (
    "SELECT player, sum(score = 1.0), sum(score = 0.5), sum(score = 0.0), sum(quit) FROM participants GROUP BY player"
)

Step = tuple[str, Any]


class InThisProcess(Store):
    """Replays here: a process for each would take most of the time."""

    async def replayed(self, request: StrikeRequest) -> Revised:
        return await asyncio.to_thread(revise, request, lambda: None)


def rows(directory: Path, query: str) -> list[tuple[object, ...]]:
    return sql(directory / "s.db", query)


def numbers(directory: Path) -> list[list[tuple[object, ...]]]:
    """Every number that a rating system made, and the players' records."""
    return [rows(directory, query) for query in TABLES]


async def taken(pool: Pool, number: int, step: Step) -> None:
    """One step of an evening; what cannot be done then is refused."""
    kind, what = step
    try:
        match kind:
            case "round":
                sides, winner, late = what
                record = a_round(number, a=sides[:2], b=sides[2:4], winner=winner)
                record = with_spans(record) if number % 2 else with_counts(record)
                skills = {player(each): 1000.0 + 10.0 * late for each in sides[:3]}
                record = replace(record, skill_at_start=skills) if late else record
                assert (await pool.record(record, None)).status == "stored"
            case "set":
                await pool.edit(player(what[0]), float(what[1]), "console")
            case "reset":
                await pool.edit(player(what), None, "console")
            case "import":
                await pool.adopt(an_import(pool.system, {each: 900.0 + 100 * each for each in what}))
            case "undo":
                await pool.undo(player(what), "console")
            case "void" | "put back":
                strike = VoidStrike(SERVER, RoundId(f"1763622000123-{what}"), kind == "put back")
                await pool.void(strike, "console", "")
    except ScriptError as error:
        assert error.status in (404, 409)  # noqa: PT017  # what was drawn may not be there


ROUNDS = st.tuples(
    st.just("round"),
    st.tuples(st.permutations(PLAYERS), st.sampled_from([Side.A, Side.B, None]), st.sampled_from([0, 0, 0, 1, 2])),
)

SOMEBODY = st.sampled_from(PLAYERS)

STEPS = st.lists(
    st.one_of(
        ROUNDS,
        ROUNDS,
        ROUNDS,
        st.tuples(st.just("set"), st.tuples(SOMEBODY, st.integers(800, 1500))),
        st.tuples(st.just("reset"), SOMEBODY),
        st.tuples(st.just("undo"), SOMEBODY),
        st.tuples(st.just("import"), st.sets(SOMEBODY, min_size=1)),
        st.tuples(st.just("void"), st.integers(0, 12)),
        st.tuples(st.just("put back"), st.integers(0, 12)),
    ),
    max_size=14,
)


@pytest.mark.also_shared(False)  # it has hundreds of examples
@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
@given(steps=STEPS)
@settings(max_examples=settings.default.max_examples // 5)
def test_memory_and_store_and_a_replay_from_the_first_round_say_the_same(system: str, steps: list[Step]) -> None:
    async def evening(directory: Path) -> None:
        params = SYSTEMS[system]
        async with opened(directory, system, kind=InThisProcess, **params) as pool:
            for number, step in enumerate(steps):
                await taken(pool, number, step)
            after = numbers(directory)
            assert after[RECORDS_TABLE] == rows(directory, RECORDED)
            everybody = [player(number) for number in PLAYERS]
            await pool.summaries(everybody)
            replayed = await recomputed(pool.store, ratings.create(system, **params))
            assert numbers(directory) == after
            alone = [summary_of(replayed.system, each) for each in everybody]
            assert list(await pool.summaries(everybody)) == alone
            assert pool.system.shared() == replayed.system.shared()

    with fast_directory() as directory:
        asyncio.run(evening(directory))


def a_strike(number: int, *, back: bool = False) -> VoidStrike:
    return VoidStrike(SERVER, RoundId(f"1763622000123-{number}"), back)


RECORDS = [replace(record, skill_at_start=None) for record in some_rounds(40)]

RATED = [number for number, record in enumerate(RECORDS) if record.participants]


EVERYBODY = [player(number) for number in range(1, 11)]


async def summaries(pool: Pool) -> list[PlayerSummary]:
    return list(await pool.summaries(EVERYBODY))


def rated_without(struck: int | None, count: int | None = None, system: str = "elo") -> list[PlayerSummary]:
    """Everybody after so many rounds as if one of them had not been played."""
    rounds = (each for number, each in enumerate(RECORDS[:count]) if each.participants and number != struck)
    alone = rated_alone(*rounds, system=system)
    return [summary_of(alone, each) for each in EVERYBODY]


class Slow(InThisProcess):
    """A replay that ends when it is told to."""

    async def replayed(self, request: StrikeRequest) -> Revised:
        self.begun.set()
        await self.go_on.wait()
        return await super().replayed(request)

    async def open(self) -> None:
        await super().open()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()


@pytest.mark.slow
@pytest.mark.parametrize("system", ["synelo", "ns2"])
async def test_a_process_of_its_own_replays_as_if_the_round_had_not_been_played(tmp_path: Path, system: str) -> None:
    struck = RATED[20]
    async with opened(tmp_path, system) as pool:
        await played(pool, RECORDS)
        trial = await pool.void(a_strike(struck), "owner", "", trial=True)
        before = numbers(tmp_path)
        done = await pool.void(a_strike(struck), "owner", "a cheater", trial=False)
        found = await summaries(pool)
        (line,) = await pool.store.audits(1)
        crowd = await pool.store.crowd("main", since=None)
    expected = rated_without(struck, system=system)

    assert numbers(tmp_path) != before
    assert trial == done
    assert found == expected
    moved = {shift.id: shift.after for shift in done.shifts}
    assert moved == {each.id: each.rating for each in expected if each.id in moved}
    assert (line.who, line.action, line.target, line.after) == (
        "owner",
        "void",
        f"round 1763622000123-{struck} of arena-1",
        "void: a cheater",
    )
    assert crowd.count == 10
    assert not any("outcome" in name for name in os.listdir(tmp_path))


async def test_a_void_round_that_is_sent_again_gets_its_first_answer_and_can_be_put_back(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=InThisProcess) as pool:
        await played(pool, RECORDS[:30])
        first = (await pool.record(RECORDS[RATED[5]], None)).rated
        before = numbers(tmp_path)
        await pool.void(a_strike(RATED[5]), "owner", "")
        assert (await pool.record(RECORDS[RATED[5]], None)).rated == first
        with pytest.raises(ScriptError, match="void already"):
            await pool.void(a_strike(RATED[5]), "owner", "")
        await pool.void(a_strike(RATED[5], back=True), "owner", "")
        with pytest.raises(ScriptError, match="not void"):
            await pool.void(a_strike(RATED[5], back=True), "owner", "")

    assert numbers(tmp_path) == before


async def test_rounds_that_come_during_a_replay_wait_in_the_ring_and_are_rated_after_it(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=Slow) as pool:
        await played(pool, RECORDS[:20])
        work = asyncio.create_task(pool.void(a_strike(RATED[3]), "owner", ""))
        await pool.store.begun.wait()
        kept = await asyncio.gather(*(pool.record(each, None) for each in RECORDS[20:24]))
        (_, stranger) = await pool.summaries([player(1), player(99)])
        with pytest.raises(StoreError, match="being replayed"):
            await pool.edit(player(1), 1500.0, "owner")
        await pool.drain()
        waiting = pool.ring_depth
        pool.store.go_on.set()
        await work
        await pool.drain()
        await until(lambda: not pool.ring_depth)  # rounds of a shared pool wait for its log
        everybody = await summaries(pool)
    (tmp_path / "other").mkdir()
    async with opened(tmp_path / "other", kind=InThisProcess) as other:
        await played(other, RECORDS[:20])
        await other.void(a_strike(RATED[3]), "owner", "")
        await played(other, RECORDS[20:24])
        assert await summaries(other) == everybody

    assert {each.status for each in kept} == {"kept"}
    assert waiting == 4
    assert stranger.rounds == 0


async def test_two_voids_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=InThisProcess) as pool:
        await played(pool, RECORDS)
        first, second, again = await asyncio.gather(
            *(pool.void(a_strike(RATED[number]), "owner", "") for number in (4, 9, 4)), return_exceptions=True
        )
        assert isinstance(first, Revised)
        assert isinstance(second, Revised)
        assert isinstance(again, ScriptError)
        rows = [row for row in numbers(tmp_path)[2] if row[3] is not None]
        assert len(rows) == 2


async def test_what_cannot_be_void_is_refused_with_the_reason(tmp_path: Path) -> None:
    unrated = next(number for number, record in enumerate(RECORDS) if not record.participants)
    async with opened(tmp_path, "elo", kind=InThisProcess) as pool:
        await played(pool, RECORDS)
        await pool.store.prune_rounds("main", 0, 1e12, 8)
        before = numbers(tmp_path)
        for number, why in (
            (99, "is not stored"),
            (unrated, "is not rated: not seen going live"),
            (RATED[0], "is not"),
        ):
            with pytest.raises(ScriptError, match=why):
                await pool.void(a_strike(number), "owner", "")
        with pytest.raises(ScriptError, match="there is no edit"):
            await pool.undo(player(3), "owner")
        assert numbers(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize(("system", "params"), [("elo", {}), ("synelo", {"window": 4})])
async def test_a_round_is_void_without_older_rounds_that_were_deleted_where_no_rating_needs_them(
    tmp_path: Path, system: str, params: dict[str, Any]
) -> None:
    (tmp_path / "whole").mkdir()
    whole_store = opened(tmp_path / "whole", system, kind=InThisProcess, **params)
    async with opened(tmp_path, system, kind=InThisProcess, **params) as pool, whole_store as whole:
        await played(pool, RECORDS)
        await played(whole, RECORDS)
        await pool.store.prune_rounds("main", pool.system.window, 1e12, 10)
        refused = 0
        for number in reversed(RATED[12:]):
            try:
                await pool.void(a_strike(number), "owner", "")
            except StoreError as error:
                assert "older rounds were deleted" in str(error)  # noqa: PT017
                refused += 1
            else:
                await whole.void(a_strike(number), "owner", "")
                assert numbers(tmp_path)[0] == numbers(tmp_path / "whole")[0]
        assert 0 < refused < len(RATED[12:])


async def test_an_edit_is_taken_back_after_a_restart_and_applied_again(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=InThisProcess) as pool:
        await played(pool, RECORDS[:10])
        await pool.edit(player(1), 2000.0, "owner")
        await played(pool, RECORDS[10:])
        edited = numbers(tmp_path)
    async with opened(tmp_path, kind=InThisProcess) as pool:
        taken_back = await pool.undo(player(1), "owner")
        plain = await summaries(pool)
        again = await pool.undo(player(1), "owner")
        assert again.back
        assert not taken_back.back
        assert (taken_back.undone.action, taken_back.undone.who, taken_back.undone.after) == ("set", "owner", 2000.0)
        assert numbers(tmp_path) == edited
    (tmp_path / "other").mkdir()
    async with opened(tmp_path / "other", kind=InThisProcess) as other:
        await played(other, RECORDS)
        assert await summaries(other) == plain


async def test_a_replay_that_dies_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.workers.process.COMMAND", ("/bin/sh", "-c", "kill -9 $$"))
    async with opened(tmp_path) as pool:
        await played(pool, RECORDS[:20])
        before = numbers(tmp_path)
        with pytest.raises(StoreError, match="has died"):
            await pool.void(a_strike(RATED[3]), "owner", "")
        assert numbers(tmp_path) == before
        assert (await pool.record(RECORDS[20], None)).status == "stored"


@pytest.mark.parametrize("trial", [False, True])
async def test_a_daemon_that_ends_does_not_wait_for_a_replay(tmp_path: Path, trial: bool) -> None:
    async with opened(tmp_path, kind=Slow) as pool:
        await played(pool, RECORDS[:20])
        before = numbers(tmp_path)
        work = asyncio.create_task(pool.void(a_strike(RATED[3]), "owner", "", trial=trial))
        await pool.store.begun.wait()
    with pytest.raises(StoreError, match="the daemon ends"):
        await work
    assert numbers(tmp_path) == before


async def prune(pool: Pool, rounds: int) -> None:
    await pool.store.prune_rounds("main", pool.system.window, 1e12, rounds)


async def test_an_edit_is_taken_back_although_the_rounds_before_it_were_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path, "elo", kind=InThisProcess) as pool:
        await played(pool, RECORDS[:20])
        await pool.edit(player(1), 2000.0, "owner")
        await prune(pool, 20)
        await pool.undo(player(1), "owner")
        found = await summaries(pool)
    assert found == rated_without(None, 20)


async def test_a_round_is_put_back_although_those_before_it_were_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path, "elo", kind=InThisProcess) as pool:
        await played(pool, RECORDS[: RATED[20] + 1])
        before = await summaries(pool)
        await pool.void(a_strike(RATED[20]), "owner", "")
        between = await summaries(pool)
        await prune(pool, RATED[20])
        await pool.void(a_strike(RATED[20], back=True), "owner", "")
        assert await summaries(pool) == before != between


async def test_a_round_is_not_void_when_rounds_were_deleted_between_it_and_an_edit(tmp_path: Path) -> None:
    async with opened(tmp_path, "elo", kind=InThisProcess) as pool:
        last = RATED[20]
        for each in EVERYBODY:
            await pool.edit(each, 1500.0, "owner")
        await played(pool, RECORDS[: last + 1])
        await prune(pool, last)
        before = numbers(tmp_path)
        with pytest.raises(StoreError, match="older rounds were deleted"):
            await pool.void(a_strike(last), "owner", "")
        assert numbers(tmp_path) == before


class Pruned(InThisProcess):
    """Deletes the oldest round after a replay has read it."""

    armed = False

    async def replayed(self, request: StrikeRequest) -> Revised:
        found = await super().replayed(request)
        if self.armed:
            await self.prune_rounds("main", 0, 1e12, 1 + RATED[0])
        return found


@pytest.mark.parametrize("back", [False, True])
async def test_a_round_that_is_deleted_while_it_is_made_void_is_left_alone(tmp_path: Path, back: bool) -> None:
    async with opened(tmp_path, "elo", kind=Pruned) as pool:
        await played(pool, RECORDS)
        if back:
            await pool.void(a_strike(RATED[0]), "owner", "")
        before = await summaries(pool)
        pool.store.armed = True
        with pytest.raises(StoreError, match="deleted meanwhile"):
            await pool.void(a_strike(RATED[0], back=back), "owner", "")
        assert await summaries(pool) == before
        assert [line.action for line in await pool.store.audits(9)] == ["void"] * back


@pytest.mark.also_shared(False)  # it writes into the store
async def test_a_refit_that_another_system_dropped_does_not_keep_a_round_in_the_ratings(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2", kind=InThisProcess) as pool:
        await played(pool, RECORDS[:20])
        made = ratings.create("ns2")
        rows = [row_of(made, number, rating=1500.0) for number in range(1, 11)]
        await pool.adopt(BulkEdit("refit", 1.0, "owner", rows, "", "", shared=made.shared()))
        await recomputed(pool.store, ratings.create("elo"))
    async with opened(tmp_path, "elo", kind=InThisProcess) as pool:
        done = await pool.void(a_strike(RATED[3]), "owner", "")
        found = await summaries(pool)
    assert not done.refitted
    assert found == rated_without(RATED[3], 20)


ROOT = Path(__file__).parents[2]

DYING = """
import asyncio, os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from tests.opened_pool import opened
from tests.service.test_corrections import InThisProcess, RATED, RECORDS, a_strike, played

class Dying(InThisProcess):
    armed = False

    @contextmanager
    def _transaction(self, db):
        with super()._transaction(db):
            yield
            if self.armed:
                os.kill(os.getpid(), signal.SIGKILL)

async def play():
    async with opened(Path(sys.argv[1]), kind=Dying) as pool:
        await played(pool, RECORDS)
        print("played", flush=True)
        pool.store.armed = True
        await pool.void(a_strike(RATED[3]), "owner", "")

asyncio.run(play())
"""


@pytest.mark.slow
def test_a_daemon_killed_before_its_commit_has_the_old_ratings(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DYING, str(tmp_path)]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, "played\n"), died.stderr
    assert [each.name for each in tmp_path.glob("*outcome*")] == ["s.db.outcome-main"]

    async def gone_on() -> list[list[list[tuple[object, ...]]]]:
        (tmp_path / "other").mkdir()
        async with (
            opened(tmp_path / "other", kind=InThisProcess) as other,
            opened(tmp_path, kind=InThisProcess) as pool,
        ):
            await played(other, RECORDS)
            assert not any("outcome" in name for name in os.listdir(tmp_path))
            found = [numbers(each) for each in (tmp_path, tmp_path / "other")]
            for each in (pool, other):
                await each.void(a_strike(RATED[3]), "owner", "")
            return [*found, *(numbers(each) for each in (tmp_path, tmp_path / "other"))]

    killed, whole, killed_then_void, whole_then_void = asyncio.run(gone_on())
    assert killed == whole
    assert killed_then_void == whole_then_void != whole
