"""Edits undone and rounds void in a pool whose old rounds were deleted, or whose ratings a refit made."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import ratings
from equipoise.core.model import PlayerSummary
from equipoise.errors import StoreError
from equipoise.service.pool import Pool
from equipoise.service.replayed import Replayed
from equipoise.store.replays import Revised, StrikeRequest
from equipoise.store.sequence import BulkEdit
from tests.opened_pool import opened, rated_alone, summary_of
from tests.pools import row_of
from tests.service.test_corrections import ENTRY, RATED, RECORDS, InThisProcess, a_strike, numbers, played
from tests.store.samples import player

EVERYBODY = [player(number) for number in range(1, 11)]


async def summaries(pool: Pool) -> list[PlayerSummary]:
    return list(await pool.summaries(EVERYBODY))


async def prune(pool: Pool, rounds: int) -> None:
    await pool.store.prune_rounds("main", pool.system.window, 1e12, rounds)


async def test_an_edit_is_taken_back_although_the_rounds_before_it_were_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path, "elo", kind=InThisProcess) as pool:
        await played(pool, RECORDS[:20])
        await pool.edit(player(1), 2000.0, "owner")
        await prune(pool, 20)
        await pool.undo(player(1), "owner")
        found = await summaries(pool)
    alone = rated_alone(*(each for each in RECORDS[:20] if each.participants), system="elo")
    assert found == [summary_of(alone, each) for each in EVERYBODY]


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
        assert isinstance(pool.store, Pruned)
        await played(pool)
        if back:
            await pool.void(a_strike(RATED[0]), "owner", "")
        before = await summaries(pool)
        pool.store.armed = True
        with pytest.raises(StoreError, match="deleted meanwhile"):
            await pool.void(a_strike(RATED[0], back=back), "owner", "")
        assert await summaries(pool) == before
        assert [line.action for line in await pool.store.audits(9)] == ["void"] * back


async def test_a_refit_that_another_system_dropped_does_not_keep_a_round_in_the_ratings(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2", kind=InThisProcess) as pool:
        await played(pool, RECORDS[:20])
        made = ratings.create("ns2")
        rows = [row_of(made, number, rating=1500.0) for number in range(1, 11)]
        await pool.adopt(BulkEdit("refit", 1.0, "owner", rows, "", "", shared=made.shared()))
        fingerprint = await pool.store.fingerprint("main")
        assert fingerprint is not None
        await pool.store.recompute("main", Replayed(ratings.create("elo"), fingerprint), ENTRY)
    async with opened(tmp_path, "elo", kind=InThisProcess) as pool:
        done = await pool.void(a_strike(RATED[3]), "owner", "")
        found = await summaries(pool)
    alone = rated_alone(
        *(each for number, each in enumerate(RECORDS[:20]) if each.participants and number != RATED[3]), system="elo"
    )
    assert not done.refitted
    assert found == [summary_of(alone, each) for each in EVERYBODY]
