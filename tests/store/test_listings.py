"""Pages of the past: rounds, what they did to a player, decisions about them, players by name."""

from __future__ import annotations

from pathlib import Path

from equipoise.core.model import RoundId, ServerId, Side
from equipoise.store.notes import Decision, Name
from tests.store.samples import POOL, Submitted, a_round, opened, player

HERE, THERE = ServerId("arena-1"), ServerId("arena-2")


async def test_rounds_come_newest_first_in_pages_of_a_server_and_of_a_player(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        for number in range(1, 6):
            server = HERE if number % 2 else THERE
            await store.record(POOL, [Submitted(a_round(number, a=(1, number + 1), b=(9,), server=server))], 10)
        newest = await store.rounds(None, None, 2)
        older = await store.rounds(None, newest[-1].number, 10)
        assert [each.number for each in (*newest, *older)] == [5, 4, 3, 2, 1]
        assert [each.number for each in await store.rounds(THERE, None, 10)] == [4, 2]
        assert [each.number for each in await store.rounds(None, None, 2, POOL)] == [5, 4]
        assert await store.rounds(None, None, 2, "another") == []
        mine = await store.played(POOL, player(1), HERE, 5, 10)
        assert [(round.number, one.id) for round, one in mine] == [(3, player(1)), (1, player(1))]
        assert [round.number for round, _ in await store.played(POOL, player(3), None, None, 10)] == [2]
        found = await store.round(THERE, newest[1].id)
        assert found[0] == newest[1]
        assert {(one.id, one.side) for one in found[1]} == {
            (player(1), Side.A),
            (player(5), Side.A),
            (player(9), Side.B),
        }
        assert await store.round(THERE, RoundId("gone")) is None


async def test_names_are_found_whatever_their_case_and_width_and_the_very_name_comes_first(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        names = {1: "Bobby", 2: "BOB", 3: "ÄNNE", 4: "\uff21\uff4e\uff4e"}
        store.note([Name(POOL, player(number), name) for number, name in names.items()])
        assert [name for _, name in await store.named(POOL, "bob", 10)] == ["BOB", "Bobby"]
        assert await store.named(POOL, "änne", 10) == ((player(3), "ÄNNE"),)
        assert await store.named(POOL, "ann", 10) == ((player(4), "\uff21\uff4e\uff4e"),)
        assert await store.named("other", "bob", 10) == ()
        assert await store.seen(POOL, player(1))
        assert not await store.seen(POOL, player(5))


async def test_decisions_about_a_player_are_found_behind_many_about_others(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        about = {1: player(1), 2500: player(1), 5000: player(12)}
        lines = (
            Decision(HERE, float(n), "move", "2 against 4", None, {"players": [about.get(n, player(7))]})
            for n in range(1, 5001)
        )
        store.note(lines)
        found, more = await store.decisions_about(player(1), None, 10)
        assert ([each.number for each in found], more) == ([2500, 1], None)
        found, more = await store.decisions_about(player(1), HERE, 1)
        assert ([each.number for each in found], more) == ([2500], 2500)
        found, _ = await store.decisions_about(player(1), HERE, 10, before=more)
        assert [each.number for each in found] == [1]
        assert [each.number for each in await store.decisions(None, 10, after=4998)] == [5000, 4999]
        found, more = await store.decisions_about(player(1), None, 10, since=2500.0)
        assert ([each.number for each in found], more) == ([2500], None)
