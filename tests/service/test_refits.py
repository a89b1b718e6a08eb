"""All rounds of a pool fitted at once, beside the daemon: what changes, what stays, and what failure leaves."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, Side
from equipoise.errors import RatingError, StoreError
from equipoise.ratings.system import Match, System
from equipoise.service.pool import Pool
from equipoise.service.refits import Refits, RefitStatus
from equipoise.store.notes import Audit
from equipoise.store.past import VoidStrike
from tests.hosts import GivenClock
from tests.opened_pool import opened, played, summary_of
from tests.pools import recomputed
from tests.store.samples import a_round, player, sql, with_spans

SYSTEMS = ("ns2", "trueskill2", "trueskill_through_time")
ENTRY = Audit(9.0, "owner", "refit", "pool main", "", "")

pytestmark = [pytest.mark.slow, pytest.mark.also_shared]  # numba compiles in a process of its own


def rounds(count: int, first: int = 1) -> list[RecordRound]:
    """Rounds of two against two among ten players."""
    chance = random.Random(first)
    found = []
    for number in range(first, first + count):
        who = chance.sample(range(1, 11), 4)
        record = a_round(number, a=who[:2], b=who[2:], winner=chance.choice([Side.A, Side.B, None]))
        found.append(with_spans(record) if number % 2 else record)
    return found


def files(directory: Path, pattern: str) -> list[str]:
    return [each.name for each in directory.glob(pattern)]


async def refitted(pool: Pool, *, dry_run: bool = False) -> RefitStatus:
    refits = Refits({"main": pool}, GivenClock())
    refits.start(pool, "owner", dry_run=dry_run)
    await asyncio.gather(*refits._tasks.values())
    return refits.status(pool)


def fitted(name: str, records: Sequence[RecordRound]) -> System[object]:
    """A system of its own that was fitted to the same rounds."""
    system = ratings.create(name)
    assert ratings.fit(system, list(map(matched, records))).converged
    return system


def matched(record: RecordRound) -> Match:
    return match_of(replace(record, skill_at_start=None))


def strike(record: RecordRound) -> VoidStrike:
    return VoidStrike(record.round.server, record.round.id, back=False)


def numbers(directory: Path) -> list[tuple[object, ...]]:
    """Every number of players, and what they share; with the rounds since the last refit."""
    return [
        *sql(directory / "s.db", "SELECT id, rating, rounds, visible, last_played, state FROM players ORDER BY id"),
        *sql(directory / "s.db", "SELECT key, part FROM shared ORDER BY key"),
        *sql(
            directory / "s.db",
            "SELECT rounds.prediction, participants.* FROM participants JOIN rounds ON number = round "
            "WHERE number > (SELECT max(number) FROM edits WHERE action = 'refit') ORDER BY number, place",
        ),
    ]


async def replayed_numbers(pool: Pool, directory: Path) -> list[tuple[object, ...]]:
    """The numbers after a replay from the first event, which memory had before it."""
    everybody = [player(number) for number in range(1, 13)]
    held = await pool.summaries(everybody)
    replayed = await recomputed(pool.store, ratings.create(pool.system.name))
    assert [summary_of(replayed.system, each) for each in everybody] == list(held)
    return numbers(directory)


async def seen(pool: Pool) -> dict[PlayerId, tuple[float, int]]:
    """Ratings and rounds, read from the store."""
    rows = await pool.store.players("main", [player(number) for number in range(1, 13)], 0)
    return {steam_id: (row.rating, row.rounds) for steam_id, row in rows.items()}


def fitted_as(system: System[object], people: Iterable[PlayerId]) -> dict[PlayerId, tuple[object, int]]:
    """What `seen` returns where a pool has the ratings of this system."""
    shown = {one: system.summary(one) for one in people}
    return {one: (pytest.approx(summary.rating, abs=1e-6), summary.rounds) for one, summary in shown.items()}


@pytest.mark.parametrize("name", SYSTEMS)
async def test_a_refit_gives_the_ratings_of_the_whole_history_and_memory_has_them_too(
    tmp_path: Path, name: str
) -> None:
    async with opened(tmp_path, name) as pool:
        await played(pool, rounds(60))
        before = await seen(pool)
        tried = await refitted(pool, dry_run=True)
        assert (tried.error, await seen(pool)) == (None, before)
        done = await refitted(pool)
        after, alone = await seen(pool), fitted(name, rounds(60))
        assert (done.error, done.fitted.rounds, done.result.players) == (None, 60, len(after))
        assert after != before
        assert after == fitted_as(alone, after)
        assert [(each.rating, each.rounds) for each in await pool.summaries(list(after))] == list(after.values())
        (entry,) = await pool.store.audits(1)
        assert (entry.who, entry.action, entry.after) == ("owner", "refit", "fit of 60 rounds")


async def test_a_rating_that_was_set_stays_and_a_player_who_was_reset_begins_there(tmp_path: Path) -> None:
    one, two = player(1), player(2)
    async with opened(tmp_path, "trueskill2") as pool:
        await played(pool, rounds(40))
        await pool.edit(one, 1500.0, "owner")
        await pool.edit(two, None, "owner")
        await played(pool, rounds(20, first=41))
        before = await seen(pool)
        assert (await refitted(pool)).error is None
        after = await seen(pool)
    assert after[one] == before[one]
    assert after[two][1] == before[two][1] < 20
    apart = ratings.create("trueskill2")
    ghost = PlayerId("another")
    matches = [matched(each) for each in rounds(40)]
    matches = [
        replace(
            each,
            teams=tuple(tuple(ghost if one == two else one for one in side) for side in each.teams),
            lineup=tuple(tuple(ghost if one == two else one for one in side) for side in each.lineup),
            spans={ghost if one == two else one: spans for one, spans in each.spans.items()},
            fraction_played={ghost if one == two else one: part for one, part in each.fraction_played.items()},
        )
        for each in matches
    ]
    assert ratings.fit(apart, [*matches, *map(matched, rounds(20, first=41))]).converged
    assert after[two][0] == pytest.approx(apart.summary(two).rating, abs=1e-6)


@pytest.mark.also_shared(False)  # it writes into the store
async def test_what_is_struck_before_a_refit_changes_nothing_until_the_next_and_a_replay_says_the_same(
    tmp_path: Path,
) -> None:
    one, unplayed, only = player(1), player(12), player(11)
    early, late = [*rounds(40), a_round(41, a=(11, 1), b=(2, 3))], rounds(10, first=42)
    void = next(each for each in early[20:] if one in {other.id for other in each.participants})
    async with opened(tmp_path, "ns2") as pool:
        await played(pool, early[:20])
        await pool.edit(one, 1500.0, "owner")
        await pool.edit(unplayed, 1500.0, "owner")
        await played(pool, early[20:])
        assert (await refitted(pool)).error is None
        await played(pool, late)
        before = numbers(tmp_path)
        struck = [await pool.undo(one, "owner"), await pool.undo(unplayed, "owner")]
        struck += [await pool.void(strike(each), "owner", "") for each in (void, early[-1])]
        assert [(each.refitted, each.shifts) for each in struck] == [(True, ())] * 4
        assert numbers(tmp_path) == before
        assert await replayed_numbers(pool, tmp_path) == numbers(tmp_path) == before
        assert (await pool.void(strike(late[0]), "owner", "")).shifts
        changed = numbers(tmp_path)
        assert await replayed_numbers(pool, tmp_path) == numbers(tmp_path) == changed
        assert (await refitted(pool)).error is None
        after = await seen(pool)
    assert {one, unplayed, only} <= after.keys()
    alone = fitted("ns2", [each for each in (*early[:-1], *late[1:]) if each is not void])
    assert after == fitted_as(alone, after)


async def test_rounds_that_come_while_it_fits_are_rated_by_the_new_ratings(tmp_path: Path) -> None:
    later = rounds(3, first=41)
    newcomer = a_round(44, a=(11, 1), b=(2, 3))
    async with opened(tmp_path, "trueskill_through_time") as pool:
        await played(pool, rounds(40))
        async with pool.store.fitting("main") as fitting:
            await fitting.fitted()
            await played(pool, [*later, newcomer])
            caught_up, last = await asyncio.gather(pool.refit(fitting, ENTRY), pool.record(a_round(45), None))
        await pool.drain()
        assert caught_up.rounds in (4, 5)  # the last one may be stored before
        assert last.status in ("kept", "stored")
        assert (pool.ring_depth, pool.applied) == (0, 45)
        after, alone = await seen(pool), fitted("trueskill_through_time", rounds(40))
    for each in (*later, newcomer, a_round(45)):
        alone.rate(matched(each))
    assert after == fitted_as(alone, after)


async def test_a_fit_that_is_killed_leaves_the_old_ratings(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2") as pool:
        await played(pool, rounds(20))
        before = await seen(pool)
        async with pool.store.fitting("main") as fitting:
            await fitting.fitted()
            os.kill(fitting._process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
            with pytest.raises(StoreError, match="the process that fits all rounds has died"):
                await pool.refit(fitting, ENTRY)
        assert (await seen(pool), (await pool.record(a_round(21), None)).status) == (before, "stored")


async def test_a_fit_that_does_not_converge_leaves_the_old_ratings_and_the_job_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path, "trueskill_through_time", sweeps=2) as pool:
        await played(pool, rounds(40))
        before = await seen(pool)
        with pytest.raises(StoreError, match="pool main: the fit did not converge in 2 iterations"):
            await Refits({"main": pool}, GivenClock()).run()
        assert await seen(pool) == before


async def test_a_past_that_is_changed_meanwhile_is_fitted_another_time(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2") as pool:
        await played(pool, rounds(20))
        await pool.edit(player(1), 1500.0, "owner")
        async with pool.store.fitting("main") as fitting:
            await fitting.fitted()
            await pool.undo(player(1), "owner")
            before = await seen(pool)
            with pytest.raises(StoreError, match=r"its past was changed meanwhile \(undo\)"):
                await pool.refit(fitting, ENTRY)
        assert await seen(pool) == before
        assert not files(tmp_path, "*refit*")


@pytest.mark.also_shared(False)  # of one community one machine fits, once a night
async def test_the_job_fits_pools_with_new_rounds_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2") as pool:
        refits = Refits({"main": pool}, GivenClock())
        await refits.run()
        assert (refits.status(pool), await refits.last_run()) == (RefitStatus(), None)
        await played(pool, rounds(20))
        await refits.run()
        first = await pool.store.last_number("main")
        await refits.run()
        assert (await pool.store.last_number("main"), await refits.last_run()) == (first, GivenClock().now)
        await played(pool, rounds(1, first=21))
        await refits.run()
        assert await pool.store.last_number("main") == first + 2


async def test_a_system_without_such_a_fit_is_refused_and_the_job_leaves_it_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await played(pool, rounds(20))
        refits = Refits({"main": pool}, GivenClock())
        with pytest.raises(RatingError, match="pool main: synelo has no whole-history fit"):
            refits.start(pool, "owner", dry_run=True)
        await refits.run()
        assert await refits.last_run() is None


async def test_a_refit_that_the_end_of_the_daemon_cuts_off_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2") as pool:
        await played(pool, rounds(20))
        before = await seen(pool)
        refits = Refits({"main": pool}, GivenClock())
        assert refits.start(pool, "owner", dry_run=False).running_since is not None
        await asyncio.sleep(0.1)
        await refits.close()
        assert (await seen(pool), refits.status(pool).error) == (before, "it was ended")


async def test_the_nightly_refit_waits_for_one_that_was_started_by_hand(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2") as pool:
        await played(pool, rounds(30))
        refits = Refits({"main": pool}, GivenClock())
        refits.start(pool, "owner", dry_run=False)
        await refits.run()
        assert [line.who for line in await pool.store.audits(9)] == ["owner"]
        assert refits.status(pool).result is not None
