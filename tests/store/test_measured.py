"""What is read of stored rounds to measure their predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.core.model import Side
from equipoise.service.diagnosis import of_gained
from equipoise.store import measurements
from equipoise.store.measurements import Gained, TeamSize
from tests.opened_pool import opened, played
from tests.store.samples import SERVER, a_round, player, sql


async def test_a_round_has_its_players_with_their_rounds_and_outcome_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(1, a=(1, 2), b=(3, 4), winner=Side.A), None)
        await pool.record(a_round(2, a=(1, 3), b=(2, 5), winner=None), None)
        await pool.record(a_round(3, a=(1,), b=(2,), winner=Side.B), None)
        first, second, third = await pool.store.measured("main", 500)
        predictions = await pool.store.predictions("main", None)
        assert await pool.store.measured("main", 1) == [third]
    rounds = (first, second, third)
    assert [(each.predicted, each.score) for each in rounds] == [(one.predicted, one.score) for one in predictions]
    assert [(seat.rounds, seat.last) for seat in first.seats] == [(0, None)] * 4
    assert [(seat.rounds, seat.last) for seat in second.seats] == [(1, 1.0), (1, 0.0), (1, 1.0), (0, None)]
    assert [(seat.rounds, seat.last) for seat in third.seats] == [(2, 0.5), (2, 0.5)]
    assert [seat.score for seat in third.seats] == [0.0, 1.0]
    one, other = third.seats
    assert (one.predicted, other.predicted) == (third.predicted, pytest.approx(1 - third.predicted))


async def test_what_the_best_owe_to_rounds_of_a_few_is_theirs_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, shadow_rounds=1) as pool:
        await played(pool, (a_round(number, a=(1,), b=(2,), winner=Side.A) for number in range(3)))
        alone = pool.system.summary(player(1)).rating
        await pool.record(a_round(3, a=(1, 2, 3), b=(4, 5, 6), winner=Side.A), None)
        after = pool.system.summary(player(1)).rating
        found = await pool.store.gained("main", 1, 6)
        assert (found.players, found.by_few, found.points) == (1, alone - 1000, after - 1000)
        assert (await pool.store.gained("main", 10, 2)).by_few == 0
        (finding,) = of_gained("main", found)
    share = round(100 * found.by_few / found.points)
    assert finding.what == f"pool main: the 1 best won {share} % of their points in rounds of less than 6 players"
    assert list(of_gained("main", replace(found, by_few=found.points / 3 - 1))) == []
    assert list(of_gained("main", Gained(0, 0.0, 0.0))) == []


async def test_a_squad_counts_its_players_on_the_same_side(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        record = a_round(1, a=(1, 2, 3), b=(4, 5))
        squads = (tuple(player(number) for number in (1, 3, 4, 9)),)
        await pool.record(replace(record, round=replace(record.round, squads=squads)), None)
        (found,) = await pool.store.measured("main", 500)
    assert [seat.squad for seat in found.seats] == [2, 1, 2, 1, 1]


async def test_the_prediction_of_the_balance_system_comes_with_the_rounds_that_have_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await played(pool, map(a_round, (1, 2)))
        sql(tmp_path / "s.db", "UPDATE rounds SET balance_prediction = 0.25 WHERE id LIKE '%-2'")
        assert [each.said for each in await pool.store.measured("main", 500)] == [None, 0.25]


async def test_pages_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path) as pool:
        await played(pool, (a_round(number, a=(number,), b=(number + 1,)) for number in range(1, 8)))
        whole = await pool.store.measured("main", 500)
        monkeypatch.setattr(measurements, "PAGE", 3)
        assert await pool.store.measured("main", 500) == whole
        assert await pool.store.measured("main", 5) == whole[2:]


async def test_a_teams_size_is_that_of_the_larger_side_as_the_round_went_live(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(1, a=(1, 2, 3), b=(4,)), None)
        await pool.record(a_round(2, a=(1,), b=(4, 5)), None)
        await pool.record(a_round(3, unrated="short"), None)
        assert await pool.store.team_sizes("main", 500) == [TeamSize(SERVER, 3), TeamSize(SERVER, 2)]


async def test_a_round_that_lost_participants_or_is_void_is_left_out(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await played(pool, map(a_round, (1, 2, 3)))
        sql(tmp_path / "s.db", "UPDATE rounds SET pruned = 1 WHERE id LIKE '%-1'")
        sql(tmp_path / "s.db", "UPDATE rounds SET prediction = NULL WHERE id LIKE '%-2'")
        assert len(await pool.store.measured("main", 500)) == 1
        assert len(await pool.store.team_sizes("main", 500)) == 1
