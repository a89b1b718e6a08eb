"""Clocks that were wrong by years and then set right: what a server goes on with, and what its players see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.memory import decode_memory
from equipoise.core.model import Mode, Round, RoundId, Side
from equipoise.core.participation import recorded
from equipoise.core.rules import Rules
from equipoise.store.notes import Decision
from equipoise.store.past import VoidStrike
from tests.hosts import SERVER, GivenClock, Rig, player, roster, round_of
from tests.store.samples import sql

FOUR = roster([1, 2], [3, 4])
RIGHT = 1_790_000_000.0
DAY = 86_400.0
TEN_YEARS = 10 * 365.25 * DAY


@pytest.mark.parametrize("wrong", [TEN_YEARS, -TEN_YEARS, 60.0], ids=["ahead", "behind", "by a minute"])
async def test_a_lock_holds_no_longer_than_its_minutes_after_a_restart_with_another_clock(
    tmp_path: Path, wrong: float
) -> None:
    async with Rig(tmp_path, clock=GivenClock(RIGHT + wrong)) as rig:
        await rig.hello(FOUR, Mode.KOTH, e.Phase.RUNNING)
        placed = await rig.post(e.SideWanted(0.0, player(5), Side.A))
        assert [order.seconds for order in placed.orders if isinstance(order, f.Lock)] == [180.0]
    async with Rig(tmp_path, clock=GivenClock(RIGHT), seq=rig.seq) as rig:
        reply = await rig.hello(FOUR, Mode.KOTH, e.Phase.RUNNING)
        locks = [order.seconds for order in reply.orders if isinstance(order, f.Lock)]
        assert locks == ([180.0] if wrong > 0 else [])


async def test_the_status_shows_no_scramble_in_the_future(tmp_path: Path) -> None:
    async with rig_at(tmp_path, RIGHT) as rig:
        await rig.hello(FOUR)
        rig.store.note([Decision(SERVER, RIGHT + TEN_YEARS, "scramble", "3 wins in a row")])
        (line,) = (await rig.host.command(("status",), "owner")).lines
        assert line.args[-1] == "0 min"


async def test_the_memory_stored_with_a_round_replaces_one_that_is_dated_years_ahead(tmp_path: Path) -> None:
    async with Rig(tmp_path, clock=GivenClock(RIGHT + TEN_YEARS)) as rig:
        await rig.hello(FOUR)
    async with Rig(tmp_path, clock=GivenClock(RIGHT), seq=rig.seq) as rig:
        await rig.store.decisions(None, 1)  # a read: what waits is written now, and nothing after it
        await rig.play("r1", FOUR, Side.A)
        ((memory,),) = sql(tmp_path / "equipoise.db", "SELECT memory FROM sessions")
        stored = decode_memory(memory)
        assert stored.memory.counted == ("r1",)


def dated(started_at: float, name: str = "r1") -> Round:
    return replace(round_of(name, FOUR, Side.A), started_at=started_at)


async def shown(rig: Rig) -> tuple[float | None, bool, int]:
    """When player 1 played last, whether they are stale, and the length of the leaderboard."""
    (summary,) = await rig.pool.summaries((player(1),))
    stale = rig.pool.system.stale(summary.last_played, rig.clock.epoch())
    return summary.last_played, stale, len(await rig.pool.top(None))


def rig_at(folder: Path, now: float) -> Rig:
    return Rig(folder, clock=GivenClock(now), params={"shadow_rounds": 1, "stale_days": 30})


@pytest.mark.parametrize("system", ["synelo", "glicko2", "trueskill", "ns2"])
async def test_players_who_played_while_the_clock_was_years_ahead_become_stale_all_the_same(
    tmp_path: Path, system: str
) -> None:
    ahead = replace(rig_at(tmp_path, RIGHT + TEN_YEARS), system=system)
    async with ahead as rig:
        await rig.pool.record(recorded(dated(RIGHT + TEN_YEARS - 200), Rules()), None)
    async with replace(rig_at(tmp_path, RIGHT), system=system) as rig:
        assert await shown(rig) == (RIGHT, False, 4)
        rig.clock.now += 31 * DAY
        assert (await shown(rig))[1:] == (True, 0)
        await rig.pool.record(recorded(dated(rig.clock.now - 200, "r2"), Rules()), None)
        assert await shown(rig) == (rig.clock.now - 200, False, 4)


@pytest.mark.slow
async def test_a_round_cannot_have_begun_after_it_came_in_also_when_rounds_are_rated_again(tmp_path: Path) -> None:
    async with rig_at(tmp_path, RIGHT + TEN_YEARS) as rig:
        for round_id in ("r1", "r2", "r3"):
            await rig.pool.record(recorded(dated(RIGHT + TEN_YEARS - 200, round_id), Rules()), None)
    async with rig_at(tmp_path, RIGHT) as rig:
        await rig.pool.void(VoidStrike(SERVER, RoundId("r2")), "owner", "")
        assert await shown(rig) == (RIGHT, False, 4)
        await rig.pool.record(recorded(dated(RIGHT + TEN_YEARS, "r4"), Rules()), None)
        assert await shown(rig) == (RIGHT, False, 4)
        rig.clock.now += 31 * DAY
        assert (await shown(rig))[1:] == (True, 0)


@pytest.mark.parametrize("now", [0.0, RIGHT - 30 * DAY], ids=["1970", "a month behind"])
async def test_a_clock_that_is_behind_changes_no_player(tmp_path: Path, now: float) -> None:
    async with rig_at(tmp_path, RIGHT) as rig:
        await rig.pool.record(recorded(dated(RIGHT - 200), Rules()), None)
    async with rig_at(tmp_path, now) as rig:
        assert (await shown(rig))[0] == RIGHT - 200
    async with rig_at(tmp_path, RIGHT) as rig:
        assert await shown(rig) == (RIGHT - 200, False, 4)
