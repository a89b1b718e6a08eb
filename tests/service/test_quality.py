"""How well a pool predicts is kept for every hour with rounds; a `k_max` that is far from its teams is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.core.model import ServerId
from equipoise.errors import StoreError
from equipoise.ratings.quality import assess
from equipoise.service.diagnosis import of_weights, team_sizes
from equipoise.service.jobs import QualitySnapshots
from equipoise.store.measurements import TeamSize
from equipoise.store.store import Store
from tests.hosts import GivenClock
from tests.opened_pool import a_pool, opened
from tests.store.failing import locked
from tests.store.samples import a_round


async def test_an_hour_with_rounds_has_a_point_and_one_without_has_none(tmp_path: Path) -> None:
    clock = GivenClock()
    async with opened(tmp_path) as pool:
        snapshots = QualitySnapshots({"main": pool}, clock)
        await snapshots.run()
        assert await pool.store.qualities("main", since=0.0) == []
        for hour in range(1, 3):
            await pool.record(a_round(hour), None)
            await snapshots.run()
            clock.now += 3600
            await snapshots.run()
        first, second = await pool.store.qualities("main", since=0.0)
        assert await pool.store.qualities("main", since=second.at) == [second]
        found = assess([(each.predicted, each.score) for each in await pool.store.predictions("main", None)])
    assert (first.rounds, second.rounds, second.at - first.at) == (1, 2, 3600.0)
    assert (second.brier, second.log_loss) == (found.brier.value, found.log_loss.value)


async def test_a_point_that_could_not_be_stored_comes_with_the_next_run(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        snapshots = QualitySnapshots({"main": pool}, GivenClock())
        await pool.record(a_round(1), None)
        with locked(tmp_path / "s.db"), pytest.raises(StoreError):
            await snapshots.run()
        await snapshots.run()
        assert len(await pool.store.qualities("main", since=0.0)) == 1


def sizes(*counts: tuple[int, int], server: str = "arena-1") -> list[TeamSize]:
    """So many rounds of each size."""
    return [TeamSize(ServerId(server), size) for size, count in counts for _ in range(count)]


def suggested(directory: Path, found: list[TeamSize], system: str = "synelo", **params: object) -> int | None:
    return team_sizes(a_pool(directory, Store(directory / "s.db"), system, **params), found).suggested_k_max


def test_the_usual_size_is_the_largest_without_exceptions_and_over_several_servers_the_median(tmp_path: Path) -> None:
    pool = a_pool(tmp_path, Store(tmp_path / "s.db"))
    found = team_sizes(pool, sizes((5, 30), (6, 65), (9, 5)))
    assert (found.rounds, found.usual, found.k_max) == (100, 6, 12)
    three = [*sizes((4, 60)), *sizes((9, 20), server="b"), *sizes((12, 20), server="c")]
    assert team_sizes(pool, three).usual == 9, "as the source says"
    assert team_sizes(pool, []) is None


@pytest.mark.parametrize(("size", "k_max", "proposed"), [(6, 12, 6), (12, 6, 12), (9, 12, None), (12, 12, None)])
def test_another_k_max_is_proposed_where_its_scale_is_far_from_the_present_one(
    size: int, k_max: int, proposed: int | None, tmp_path: Path
) -> None:
    assert suggested(tmp_path, sizes((size, 50)), k_max=k_max) == proposed
    assert suggested(tmp_path, sizes((size, 49)), k_max=k_max) is None


def test_a_scale_that_is_configured_itself_and_a_system_without_k_max_get_no_proposal(tmp_path: Path) -> None:
    assert suggested(tmp_path, sizes((3, 100)), theta=2400.0) is None
    assert suggested(tmp_path, sizes((3, 100)), "elo") is None


def test_a_pool_of_trueskill2_that_reads_no_counts_is_told_so_until_it_has_weights(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.db")
    (finding,) = of_weights(a_pool(tmp_path, store, "trueskill2"))
    assert finding.what == "pool main: its trueskill2 reads neither kills nor deaths, as TrueSkill does"
    assert finding.advice.startswith("equipoise pool estimate main")
    for weights in ({"death_own": -0.1}, {"modes": {"koth": {"kill_own": 0.2}}}):
        assert list(of_weights(a_pool(tmp_path, store, "trueskill2", **weights))) == []
    assert list(of_weights(a_pool(tmp_path, store, "trueskill"))) == []
