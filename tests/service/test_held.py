"""How many players memory holds changes no rating and no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.core import events as e
from equipoise.core.model import Mode, Side
from tests.hosts import BOOT, Rig, roster
from tests.hosts import player as seated
from tests.opened_pool import opened, played
from tests.pools import some_rounds
from tests.store.damage import wreck
from tests.store.samples import a_round, player, sql


async def test_memory_forgets_those_who_were_asked_for_longest_ago_but_never_a_player_on_a_server(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as pool:
        fours = [range(4 * number, 4 * number + 4) for number in range(10)]
        await played(pool, (a_round(number, a=four[:2], b=four[2:]) for number, four in enumerate(fours)))
    async with opened(tmp_path, most_held=10) as pool:
        present = [player(0), player(1)]
        pool.hold(lambda: present)
        first = await pool.summaries(present)
        for number in range(2, 40):
            (summary,) = await pool.summaries([player(number)])
            assert summary.rounds == 1
            await pool.summaries([player(2)])
            assert sum(player(each) in pool.system for each in range(40)) <= 10
        assert all(player(each) in pool.system for each in (0, 1, 2, 37, 38, 39))
        assert tuple(map(pool.summary, present)) == first
        present.clear()
        for number in range(3, 13):
            await pool.summaries([player(number)])
        assert player(0) not in pool.system


async def test_players_who_cannot_be_loaded_do_not_fill_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
    wreck(tmp_path / "s.db", "players")
    async with opened(tmp_path, most_held=10) as pool:
        for number in range(100):
            await pool.summaries([player(number)])
        assert pool.store.health().state == "damaged"
        assert not pool._held.crowded


@pytest.mark.slow
@pytest.mark.parametrize("system", ["synelo", "trueskill", "glicko2", "trueskill2", "ns2", "teamskill_k"])
async def test_ratings_are_the_same_to_the_last_bit_however_few_players_memory_holds(
    tmp_path: Path, system: str
) -> None:
    found = []
    for most in (2, 1_000):
        (tmp_path / str(most)).mkdir()
        async with opened(tmp_path / str(most), system, most_held=most) as pool:
            for number, one in enumerate(some_rounds(40)):
                await pool.record(one, None)
                if number % 9 == 0:
                    await pool.edit(player(number % 10 + 1), 1100.0, "console")
                await pool.summaries([player(number % 10 + 1)])
        store, tables = tmp_path / str(most) / "s.db", ("players", "participants", "shared")
        found.append([sql(store, f"SELECT * FROM {table}") for table in tables])

    assert found[0] == found[1]


async def test_the_players_on_a_server_stay_in_memory_until_they_leave(tmp_path: Path) -> None:
    four = roster([1, 2], [3, 4])
    async with Rig(tmp_path / "evening") as rig:
        await rig.hello(four)
        for number in range(3):
            await rig.play(f"r{number}", four, Side.A)
    async with Rig(tmp_path / "evening", most_held=4, seq=100) as rig:
        await rig.hello(four)
        before = rig.host.status()
        await rig.pool.summaries([seated(number) for number in range(5, 50)])
        assert rig.host.status() == before
        assert before.sum_a > 2000 > before.sum_b
        next_map = e.Hello(0.0, f"{BOOT}-2", "arena_well", Mode.ARENA, e.Phase.IDLE)
        await rig.post(next_map, e.RosterSeen(0.0, roster([3], [4])))
        await rig.pool.summaries([seated(number) for number in range(50, 90)])
        assert [number for number in range(90) if seated(number) in rig.pool.system] == [3, 4]
