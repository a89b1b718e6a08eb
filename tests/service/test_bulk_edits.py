"""New ratings of many players at once: imports and refits, at their place among the rounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise import ratings
from equipoise.core.model import RoundId
from equipoise.errors import PoolMoved, RatingError
from equipoise.store.past import VoidStrike
from equipoise.store.sequence import BulkEdit
from tests.opened_pool import NOW, opened, played
from tests.pools import an_import, recomputed, row_of, some_rounds
from tests.service.test_corrections import InThisProcess, numbers
from tests.store.samples import SERVER, player

pytestmark = pytest.mark.also_shared

RECORDS = [replace(record, skill_at_start=None) for record in some_rounds(30)]


@pytest.mark.also_shared(False)  # it recomputes in the store
@pytest.mark.parametrize("system", ["synelo", "ns2", "trueskill"])
async def test_an_import_counts_at_once_and_stays_at_its_place(tmp_path: Path, system: str) -> None:
    async with opened(tmp_path, system, kind=InThisProcess) as pool:
        await played(pool, RECORDS[0:10])
        edit = an_import(pool.system, {1: 1200.0, 2: 900.0, 50: 1500.0})
        number = await pool.adopt(edit)
        found = await pool.summaries([row.id for row in edit.rows])
        assert [each.rating for each in found] == [row.rating for row in edit.rows]
        assert await pool.store.last_number("main") == number
        assert (await pool.store.crowd("main", since=None)).count == 11
        await played(pool, RECORDS[10:20])
        before = numbers(tmp_path)
        replayed = await recomputed(pool.store, ratings.create(system))
        assert replayed.edits == {"kept": 3}
        (line, *_) = [each for each in await pool.store.audits(9) if each.action == "import"]

    assert numbers(tmp_path) == before
    assert (line.who, line.target, line.after) == ("owner", "pool main", "skills.csv")


async def test_an_import_is_undone_for_one_player(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=InThisProcess) as pool:
        await played(pool, RECORDS[0:10])
        first, second = await pool.summaries([player(1), player(2)])
        await pool.adopt(an_import(pool.system, {1: 1200.0, 2: 900.0}))
        await pool.undo(player(1), "owner")
        assert (await pool.summaries([player(1)]))[0] == first
        assert (await pool.summaries([player(2)]))[0].rating == 900.0 != second.rating


async def test_new_ratings_that_do_not_know_the_last_round_are_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await played(pool, RECORDS[0:5])
        last = await pool.store.last_number("main")
        await played(pool, RECORDS[5:6])
        before = numbers(tmp_path)
        with pytest.raises(PoolMoved):
            await pool.adopt(an_import(pool.system, {1: 1200.0}, last=last))
        assert numbers(tmp_path) == before
        seen: list[str] = []
        await pool.store.rated_rounds("main", lambda record, _: seen.append(record.round.id), after=last)
        assert seen == [RECORDS[5].round.id]
        await pool.adopt(an_import(pool.system, {1: 1200.0}, last=await pool.store.last_number("main")))


async def test_states_that_the_system_cannot_read_are_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await played(pool, RECORDS[0:5])
        before = numbers(tmp_path)
        with pytest.raises(RatingError, match="not a synelo state"):
            await pool.adopt(an_import(ratings.create("elo"), {1: 1200.0}))
        assert numbers(tmp_path) == before


@pytest.mark.also_shared(False)  # it recomputes in the store
async def test_a_refit_replaces_the_shared_state_and_what_came_before_it_matters_no_more(tmp_path: Path) -> None:
    strike = VoidStrike(SERVER, RoundId(RECORDS[3].round.id))
    async with opened(tmp_path, "ns2", kind=InThisProcess, plus_side="red") as pool:
        await played(pool, RECORDS[0:10])
        shared = pool.system.shared()
        rows = [row_of(ratings.create("ns2"), number, rating=1000.0 + number, rounds=9) for number in range(1, 11)]
        for _ in range(2):  # the second has nothing new to say
            await pool.adopt(BulkEdit("refit", NOW, "job", rows, "live", "refit", {"lengths": [61.5]}))
        assert pool.system.shared() == {"lengths": [61.5]} != shared
        await played(pool, RECORDS[10:20])
        ratings_after = numbers(tmp_path)[0]
        done = await pool.void(strike, "owner", "")
        assert (done.refitted, done.shifts) == (True, ())
        assert numbers(tmp_path)[0] == ratings_after
        await recomputed(pool.store, ratings.create("ns2", plus_side="red"))
        assert numbers(tmp_path)[0] == ratings_after
