"""A pool on a real store: summaries, rounds, edits, the leaderboard."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from equipoise.core.model import LineupPlayer, PlayerId, Side
from equipoise.errors import RatingError, StoreError
from equipoise.service.pool import Recorded
from equipoise.store.notes import Name
from equipoise.store.round_rows import RatedRound, Submission
from equipoise.store.store import Store
from tests.opened_pool import NOW, Followed, opened, rated_alone, summary_of
from tests.store.failing import Failing, Fault, Then, locked
from tests.store.samples import a_round, player, until
from tests.store.traced import Traced

pytestmark = pytest.mark.also_shared

SIXTY_DAYS = 60 * 86_400.0

# Players.


async def test_a_stranger_has_a_newcomers_summary_and_a_bot_too(tmp_path: Path) -> None:
    async with opened(tmp_path, initial=1200) as pool:
        summaries = await pool.summaries([player(1), PlayerId("bot:3")])

    assert [(summary.id, summary.rating, summary.rounds, summary.visible) for summary in summaries] == [
        (player(1), 1200, 0, False),
        (PlayerId("bot:3"), 1200, 0, False),
    ]


async def test_a_known_player_is_loaded_when_they_are_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        (before,) = await pool.summaries([player(1)])
    async with opened(tmp_path) as pool:
        assert pool.summary(player(1)).rounds == 0
        assert await pool.summaries([player(1)]) == (before,)
        assert pool.summary(player(1)) == before
        assert (pool.skill(player(1)), pool.skill(player(9))) == (before.rating, 1000.0)


async def test_a_rating_whose_round_is_not_stored_after_all_was_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Followed, "answer_seconds", 0.5)  # it is kept on purpose
    rated, go_on = Event(), Event()

    class Slow(Store):
        """The disk turns out to be full a while after a round was rated."""

        async def record(self, pool: str, group: Sequence[Submission], window: int) -> Sequence[RatedRound | Exception]:
            return await super().record(pool, [*group[:-1], Then(group[-1], self.fill)], window)

        def fill(self) -> None:
            rated.set()
            go_on.wait()
            raise sqlite3.OperationalError("database or disk is full")

    async with opened(tmp_path, kind=Slow) as pool:
        (before,) = await pool.summaries([player(1)])
        recording = asyncio.create_task(pool.record(a_round(), None))
        await until(rated.is_set)
        asking = asyncio.create_task(pool.summaries([player(1)]))
        await asyncio.sleep(0)
        go_on.set()
        assert (await recording).status == "kept"
        assert await asking == (before,)


async def test_while_the_store_is_closed_players_are_answered_from_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        await pool.summaries([player(1)])
        await pool.store.close()
        known, stranger = await pool.summaries([player(1), player(9)])

        assert await pool.looked_up(player(1)) == known
        with pytest.raises(StoreError, match="it does not answer"):  # nobody is shown as a newcomer who may be none
            await pool.looked_up(player(9))

    assert (known.rounds, stranger.rounds) == (1, 0)


async def test_players_that_the_store_does_not_know_are_asked_for_once(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=Traced) as pool:
        strangers = [player(number) for number in range(1, 25)]
        with pool.store.watched() as first:
            await pool.summaries(strangers)
        with pool.store.watched() as later:
            await pool.summaries(strangers)
            await pool.summaries([*strangers[:3], PlayerId("bot:1")])

    assert first
    assert later == []


async def test_a_stranger_is_known_as_soon_as_a_round_or_an_admin_rated_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.summaries([player(number) for number in (1, 2, 3, 4, 9)])
        await pool.record(a_round(), None)
        await pool.edit(player(9), 1500.0, "console")
        summaries = await pool.summaries([player(1), player(9)])

    assert [(summary.rounds, summary.rating) for summary in summaries] == [(1, pytest.approx(1036)), (0, 1500)]


async def test_a_stranger_whose_first_round_was_stored_without_an_answer_is_asked_for_again(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=Failing) as pool:
        await pool.summaries([player(1)])
        pool.store.faults = [Fault.AFTER]
        await pool.record(a_round(), None)

        assert [summary.rounds for summary in await pool.summaries([player(1)])] == [1]


@pytest.mark.also_shared(False)  # it has one measure of memory
async def test_the_number_of_remembered_strangers_is_bounded(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=Traced, most_held=100) as pool:
        await pool.summaries([player(1)])
        await pool.summaries([player(number) for number in range(2, 102)])
        with pool.store.watched() as forgotten:
            await pool.summaries([player(1)])
        with pool.store.watched() as remembered:
            await pool.summaries([player(number) for number in range(13, 102)])

    assert forgotten
    assert remembered == []


async def test_the_version_grows_with_whatever_may_change_a_summary_and_with_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
    async with opened(tmp_path, kind=Failing) as pool:
        versions = [pool.version]

        async def grows(work: Awaitable[object]) -> bool:
            await work
            versions.append(pool.version)
            return versions[-1] > versions[-2]

        assert await grows(pool.summaries([player(1)]))
        assert not await grows(pool.summaries([player(1), player(9)]))
        assert not await grows(pool.summaries([player(9)]))
        assert await grows(pool.record(a_round(2), None))
        assert not await grows(pool.record(a_round(2), None))
        assert not await grows(pool.record(a_round(3, unrated="partial"), None))
        assert await grows(pool.edit(player(9), 1500.0, "console"))
        await pool.store.close()
        assert await grows(pool.summaries([player(50)])), "they could not be loaded and are asked for again"


@pytest.mark.also_shared(False)  # the round is stored at the second attempt
async def test_the_version_grows_when_what_was_rated_in_vain_is_taken_back_and_when_it_is_stored(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, kind=Failing) as pool:
        pool.store.faults = [Fault.WITHIN]
        versions = [pool.version]
        await pool.record(a_round(4), None)
        versions.append(pool.version)
        await pool.drain()
        versions.append(pool.version)
        await pool.drain()
        assert versions[0] < versions[1] < versions[2] == pool.version


# Rounds.


async def test_a_round_is_rated_as_its_system_rates_it(tmp_path: Path) -> None:
    players = [player(n) for n in (1, 2, 3, 4)]
    async with opened(tmp_path) as pool:
        done = await pool.record(a_round(), b"memory")
        summaries = await pool.summaries(players)
    alone = rated_alone(a_round())

    assert done.status == "stored"
    assert done.rated.prediction == 0.5
    assert [(change.id, change.side) for change in done.rated.changes] == [
        (player(1), Side.A),
        (player(2), Side.A),
        (player(3), Side.B),
        (player(4), Side.B),
    ]
    assert summaries == tuple(summary_of(alone, one) for one in players)


@pytest.mark.also_shared(False)  # it reads what came back from the log
@pytest.mark.parametrize("system", ["synelo", "ns2"])
async def test_a_round_of_players_in_memory_loads_no_player(tmp_path: Path, system: str) -> None:
    async with opened(tmp_path, system, kind=Traced) as pool:
        await pool.record(a_round(1), None)
        await pool.edit(player(1), 1500.0, "console")
        await pool.record(a_round(2), None)
        with pool.store.watched() as statements:
            await pool.record(a_round(3), None)

    assert any("INSERT INTO rounds" in each for each in statements)
    assert not any("AS wanted" in each or "FROM shared" in each for each in statements)


async def test_a_round_sent_again_returns_its_first_answer(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        first = await pool.record(a_round(), None)
        again = await pool.record(a_round(), None)

    assert again == Recorded("stored", replace(first.rated, again=True))
    assert pool.applied == 1


async def test_an_unrated_round_is_stored_and_changes_no_rating(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        done = await pool.record(a_round(unrated="partial"), None)

        assert (done.status, done.rated) == ("stored", RatedRound(a_round().round.id, None, (), unrated="partial"))
        assert pool.summary(player(1)).rounds == 0


async def test_everybody_in_the_lineup_counts_in_the_prediction_also_after_a_restart(
    tmp_path: Path,
) -> None:
    left_early = LineupPlayer(player(5), Side.B)
    later = a_round(2)
    later = replace(later, round=replace(later.round, lineup=(*later.round.lineup, left_early)))
    async with opened(tmp_path) as pool:
        await pool.edit(player(5), 3000.0, "console")
    async with opened(tmp_path) as pool:
        done = await pool.record(later, None)

    assert done.rated.prediction < 0.3


# Admins.


async def test_a_rating_that_is_set_stays_and_is_audited(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        await pool.edit(player(1), 1800.0, "token:ops")
        (entry,) = await pool.store.audits(10)
    async with opened(tmp_path) as pool:
        (summary,) = await pool.summaries([player(1)])

    assert (summary.rating, summary.rounds) == (1800, 1)
    assert (entry.who, entry.action, entry.target, entry.at) == ("token:ops", "set", player(1), NOW)
    assert (entry.before, entry.after) == ("1036 after 1 rounds", "1800 after 1 rounds")


async def test_a_reset_player_is_a_newcomer_also_after_a_restart(tmp_path: Path) -> None:
    alone = rated_alone(a_round(2))
    async with opened(tmp_path) as pool:
        await pool.record(a_round(1), None)
        for number in (1, 2, 3, 4):
            await pool.edit(player(number), None, "console")
    async with opened(tmp_path) as pool:
        await pool.record(a_round(2), None)

        assert await pool.summaries([player(1)]) == (summary_of(alone, player(1)),)
        assert pool.system.uncertainty(player(1)) == alone.uncertainty(player(1))


async def test_a_rating_that_the_system_or_the_store_refuses_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        (before,) = await pool.summaries([player(1)])
        with pytest.raises(RatingError, match=player(1)):
            await pool.edit(player(1), 1.0, "console")
        with pytest.raises(RatingError, match="bots"):
            await pool.edit(PlayerId("bot:1"), 1500.0, "console")
        with locked(tmp_path / "s.db"), pytest.raises(StoreError, match="locked"):
            await pool.edit(player(1), 1500.0, "console")

        assert pool.summary(player(1)) == before
        assert await pool.summaries([player(1)]) == (before,)
        assert await pool.store.audits(10) == []


async def test_an_edit_that_is_refused_when_its_caller_has_gone_is_no_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        with locked(tmp_path / "s.db"):
            edit = asyncio.create_task(pool.edit(player(1), 1500.0, "console"))
            await until(lambda: bool(pool._tasks))
            edit.cancel()
            await until(lambda: not pool._tasks)
        gc.collect()  # where asyncio tells of errors that nobody has looked at
    assert "locked" in caplog.text
    assert "Traceback" not in caplog.text
    assert "never retrieved" not in caplog.text


# What is shown.


async def test_the_leaderboard_has_no_shadow_ratings_and_no_stale_players(tmp_path: Path) -> None:
    async with opened(tmp_path, shadow_rounds=2) as pool:
        long_ago = NOW - SIXTY_DAYS
        for number, seats, at in [(1, (1, 2), NOW), (2, (1, 2), NOW), (3, (3, 4), long_ago), (4, (3, 4), long_ago)]:
            await pool.record(a_round(number, a=seats[:1], b=seats[1:], started_at=at), None)
        await pool.record(a_round(5, a=[5], b=[6], started_at=NOW), None)
        pool.store.note([Name("main", player(1), "Ann")])
        board = await pool.top(None)

        assert [(summary.id, summary.name) for summary in board] == [(player(1), "Ann"), (player(2), None)]
        assert await pool.top(1) == board[:1]
        assert await pool.rank(player(2)) == (2, 2)
        assert [await pool.rank(player(n)) for n in (3, 5, 9)] == [None, None, None]
