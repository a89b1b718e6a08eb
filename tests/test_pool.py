"""A pool on a real store and a real ring: every round once, in order, whatever fails in between."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise import ratings
from equipoise.answers import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import Card, PlayerId, Seat, Side
from equipoise.errors import ConfigError, RatingError, ScriptError, SpillError, StoreError, StoreRefused
from equipoise.pool import Pool, Recorded
from equipoise.ports import Recipe, Shared
from equipoise.ratings.base import System
from equipoise.recipe import recipe_of
from equipoise.retry import SLOTS, Ring, Waiting
from equipoise.store.sqlite import SqliteStore
from tests.store.disk import no_file_above
from tests.store.failing import Failing, Fault, locked
from tests.store.samples import a_round, in_loop, player

NOW = 1_763_700_000.0
SIXTY_DAYS = 60 * 86_400.0


class Stopped:
    """A clock that stands still."""

    def monotonic(self) -> float:
        return 0.0

    def epoch(self) -> float:
        return NOW


def a_pool(directory: Path, store: SqliteStore, system: str = "synelo", **params: object) -> Pool:
    return Pool("main", ratings.create(system, **params), store, Ring(directory / "main.ring"), Stopped())


@asynccontextmanager
async def opened(directory: Path, system: str = "synelo", **params: object) -> AsyncIterator[Pool]:
    store = SqliteStore(directory / "s.db")
    await store.open()
    try:
        pool = a_pool(directory, store, system, **params)
        await pool.open()
        try:
            yield pool
        finally:
            await pool.close()
    finally:
        await store.close()


def told(system: System[Any], one: PlayerId) -> Card:
    """A system's card as a pool tells it: with what splits balance on."""
    return replace(system.card(one), skill=system.skill(one))


def rated_alone(*records: RecordRound, system: str = "synelo", **params: object) -> System[Any]:
    """The same rounds, rated one after the other with nothing in between."""
    alone = ratings.create(system, **params)
    for record in records:
        match = match_of(record)
        assert match is not None
        alone.rate(match)
    return alone


def stored_rounds(directory: Path) -> list[str]:
    """Ids in the order of being applied."""
    database = sqlite3.connect(directory / "s.db")
    found = [id for (id,) in database.execute("SELECT id FROM rounds ORDER BY number")]
    database.close()
    return found


# Players.


@in_loop
async def test_a_stranger_has_a_newcomers_card_and_a_bot_too(tmp_path: Path) -> None:
    async with opened(tmp_path, initial=1200) as pool:
        cards = await pool.cards([player(1), PlayerId("bot:3")])

    assert [(card.id, card.rating, card.rounds, card.visible) for card in cards] == [
        (player(1), 1200, 0, False),
        (PlayerId("bot:3"), 1200, 0, False),
    ]


@in_loop
async def test_a_known_player_is_loaded_once_he_is_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        before = pool.card(player(1))
    async with opened(tmp_path) as pool:
        assert pool.card(player(1)).rounds == 0
        assert await pool.cards([player(1)]) == (before,)
        assert pool.card(player(1)) == before
        assert pool.skills([player(1), player(9)]) == {player(1): before.rating, player(9): 1000.0}


@in_loop
async def test_without_the_store_players_are_as_memory_has_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        await pool.store.close()
        known, stranger = await pool.cards([player(1), player(9)])

    assert (known.rounds, stranger.rounds) == (1, 0)


# Rounds.


@in_loop
async def test_a_round_is_rated_as_its_system_rates_it_and_told_with_its_cards(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        done = await pool.record(a_round(), b"memory")
    alone = rated_alone(a_round())

    assert done.status == "stored"
    assert done.rated is not None
    assert done.rated.prediction == 0.5
    assert [(change.id, change.side) for change in done.rated.changes] == [
        (player(1), Side.A),
        (player(2), Side.A),
        (player(3), Side.B),
        (player(4), Side.B),
    ]
    assert done.cards == tuple(told(alone, player(n)) for n in (1, 2, 3, 4))


@in_loop
async def test_a_round_sent_again_returns_its_first_answer(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        first = await pool.record(a_round(), None)
        again = await pool.record(a_round(), None)

    assert first.rated is not None
    assert again == Recorded("stored", replace(first.rated, again=True))
    assert pool.applied == 1


@in_loop
async def test_an_unrated_round_is_stored_and_changes_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        done = await pool.record(a_round(unrated="partial"), None)

        assert done.status == "stored"
        assert done.cards == ()
        assert pool.card(player(1)).rounds == 0


@in_loop
async def test_a_round_that_the_system_refuses_is_stored_unrated_with_the_reason(tmp_path: Path) -> None:
    record = a_round()
    bot = replace(record.participants[0], id=PlayerId("bot:7"))
    async with opened(tmp_path) as pool:
        done = await pool.record(replace(record, participants=(bot, *record.participants)), None)

        assert done.status == "stored"
        assert done.rated is not None
        assert done.rated.changes == ()
        assert pool.card(player(1)).rounds == 0
    database = sqlite3.connect(tmp_path / "s.db")
    assert database.execute("SELECT unrated FROM rounds").fetchall() == [
        ("bot:7: bots stand at the doors, they are not rated",)
    ]
    database.close()


@in_loop
async def test_whoever_stood_at_the_doors_counts_in_the_prediction_also_after_a_restart(
    tmp_path: Path,
) -> None:
    left_early = Seat(player(5), Side.B)
    later = a_round(2)
    later = replace(later, round=replace(later.round, doors=(*later.round.doors, left_early)))
    async with opened(tmp_path) as pool:
        await pool.edit(player(5), 3000.0, "console")
    async with opened(tmp_path) as pool:
        done = await pool.record(later, None)

    assert done.rated is not None
    assert done.rated.prediction is not None
    assert done.rated.prediction < 0.3


@in_loop
async def test_ratings_that_stood_at_the_doors_decide_the_prediction(tmp_path: Path) -> None:
    standing = {player(1): 1600.0, player(2): 1600.0, player(3): 1000.0, player(4): 1000.0}
    async with opened(tmp_path, theta=400) as pool:
        done = await pool.record(replace(a_round(), standing=standing), None)

    assert done.rated is not None
    assert done.rated.prediction == pytest.approx(0.9525741268224334)  # 1 / (1 + exp(-3))


# Trouble.


@in_loop
async def test_a_round_that_a_locked_store_does_not_take_is_kept_and_applied_later(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            kept = await pool.record(a_round(), b"memory")
            assert kept == Recorded("kept", None)
            assert (pool.ring_depth, pool.card(player(1)).rounds) == (1, 0)
        cards = await pool.drain()

        assert (pool.ring_depth, pool.applied) == (0, 1)
        assert cards == tuple(pool.card(player(n)) for n in (1, 2, 3, 4))
        assert await pool.store.memory(a_round().round.server) == b"memory"


@in_loop
async def test_a_kept_round_that_is_sent_again_waits_once_and_is_then_answered(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            await pool.record(a_round(), None)
            assert await pool.record(a_round(), None) == Recorded("kept", None)
            assert pool.ring_depth == 1
        answer = await pool.record(a_round(), None)

    assert answer.status == "stored"
    assert answer.rated is not None
    assert answer.rated.again
    assert [card.rounds for card in answer.cards] == [1, 1, 1, 1]


@in_loop
async def test_older_rounds_are_applied_before_a_newer_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            for number in (3, 1):
                await pool.record(a_round(number), None)
        done = await pool.record(a_round(2), None)

    assert done.status == "stored"
    assert stored_rounds(tmp_path) == [a_round(n).round.id for n in (3, 1, 2)]


@in_loop
async def test_a_script_does_not_wait_for_more_older_rounds_than_there_are_slots(tmp_path: Path) -> None:
    store = Failing(tmp_path / "s.db")
    await store.open()
    pool = a_pool(tmp_path, store)
    await pool.open()
    store.faults = [Fault.BEFORE] * (SLOTS + 2)
    for number in range(SLOTS + 2):
        await pool.record(a_round(number), None)

    assert (await pool.record(a_round(90), None)).status == "kept"
    assert (pool.ring_depth, pool.applied) == (3, SLOTS)
    assert (await pool.record(a_round(91), None)).status == "stored"
    assert stored_rounds(tmp_path) == [a_round(n).round.id for n in (*range(SLOTS + 2), 90, 91)]
    await pool.close()
    await store.close()


@in_loop
async def test_the_timer_applies_everything_that_waits(tmp_path: Path) -> None:
    with closing(Ring(tmp_path / "main.ring")) as ring:
        ring.open()
        for number in range(3 * SLOTS):
            ring.push(Waiting(a_round(number), None, NOW))
    async with opened(tmp_path) as pool:
        assert (pool.ring_depth, pool.applied) == (0, 3 * SLOTS)


@in_loop
async def test_a_round_that_neither_store_nor_ring_takes_is_refused_and_forgotten(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"), no_file_above(0), pytest.raises(SpillError):
            await pool.record(a_round(), None)

        assert pool.ring_depth == 0
        assert (await pool.record(a_round(), None)).status == "stored"


@in_loop
async def test_a_kept_round_that_no_store_could_take_does_not_stop_those_behind_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            await pool.record(a_round(1, captures_a=2**64), None)
            await pool.record(a_round(2), None)
        await pool.drain()

        assert (pool.ring_depth, pool.refused, pool.applied) == (0, 1, 1)
        with pytest.raises(ScriptError, match="cannot be stored"):
            await pool.record(a_round(3, captures_a=2**64), None)
        assert stored_rounds(tmp_path) == [a_round(2).round.id]


@in_loop
async def test_a_caller_who_gives_up_does_not_leave_a_round_half_done(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        caller = asyncio.create_task(pool.record(a_round(), None))
        await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
    assert stored_rounds(tmp_path) == [a_round().round.id]


# Admins.


@in_loop
async def test_a_rating_that_is_set_stays_and_is_audited(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        await pool.edit(player(1), 1800.0, "token:ops")
        (entry,) = await pool.store.audits(10)
    async with opened(tmp_path) as pool:
        (card,) = await pool.cards([player(1)])

    assert (card.rating, card.rounds) == (1800, 1)
    assert (entry.who, entry.action, entry.target, entry.at) == ("token:ops", "set", player(1), NOW)
    assert (entry.before, entry.after) == ("1036 after 1 rounds", "1800 after 1 rounds")


@in_loop
async def test_a_reset_player_is_a_newcomer_also_after_a_restart(tmp_path: Path) -> None:
    alone = rated_alone(a_round(2))
    async with opened(tmp_path) as pool:
        await pool.record(a_round(1), None)
        for number in (1, 2, 3, 4):
            await pool.edit(player(number), None, "console")
    async with opened(tmp_path) as pool:
        await pool.record(a_round(2), None)

        assert pool.card(player(1)) == told(alone, player(1))
        assert pool.system.uncertainty(player(1)) == alone.uncertainty(player(1))


@in_loop
async def test_a_rating_that_the_system_or_the_store_refuses_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
        before = pool.card(player(1))
        with pytest.raises(RatingError, match=player(1)):
            await pool.edit(player(1), 1.0, "console")
        with pytest.raises(RatingError, match="bots"):
            await pool.edit(PlayerId("bot:1"), 1500.0, "console")
        with locked(tmp_path / "s.db"), pytest.raises(StoreError, match="locked"):
            await pool.edit(player(1), 1500.0, "console")

        assert pool.card(player(1)) == before
        assert await pool.cards([player(1)]) == (before,)
        assert await pool.store.audits(10) == []


# What is shown.


@in_loop
async def test_the_leaderboard_has_no_shadows_and_nobody_stale(tmp_path: Path) -> None:
    async with opened(tmp_path, shadow_rounds=2) as pool:
        long_ago = NOW - SIXTY_DAYS
        for number, seats, at in [(1, (1, 2), NOW), (2, (1, 2), NOW), (3, (3, 4), long_ago), (4, (3, 4), long_ago)]:
            await pool.record(a_round(number, a=seats[:1], b=seats[1:], started_at=at), None)
        await pool.record(a_round(5, a=[5], b=[6], started_at=NOW), None)
        await pool.store.name("main", player(1), "Ann")
        board = await pool.top(None)

        assert [(card.id, card.name) for card in board] == [(player(1), "Ann"), (player(2), None)]
        assert await pool.top(1) == board[:1]
        assert await pool.rank(player(2)) == (2, 2)
        assert [await pool.rank(player(n)) for n in (3, 5, 9)] == [None, None, None]


# What the ratings are made by.


@in_loop
async def test_what_a_system_keeps_of_no_single_player_is_there_after_a_restart(tmp_path: Path) -> None:
    records = [a_round(number, b=[3, 4 + number]) for number in range(3)]
    for record in records:
        async with opened(tmp_path, "ns2") as pool:
            await pool.record(record, None)
    async with opened(tmp_path, "ns2") as pool:
        assert pool.system.shared_state() == rated_alone(*records, system="ns2").shared_state()


@in_loop
async def test_after_a_failed_commit_what_is_shared_is_put_back_and_then_learned_once(tmp_path: Path) -> None:
    store = Failing(tmp_path / "s.db")
    await store.open()
    pool = a_pool(tmp_path, store, "teamskill_k")
    await pool.open()
    await pool.record(a_round(1), None)
    before = pool.system.shared_state()
    store.faults = [Fault.WITHIN]
    await pool.record(a_round(2), None)

    assert pool.system.shared_state() == before
    store.faults = [Fault.AFTER]
    await pool.drain()
    await pool.drain()
    await pool.record(a_round(3), None)
    alone = rated_alone(*(a_round(n) for n in (1, 2, 3)), system="teamskill_k")
    assert pool.system.shared_state() == alone.shared_state()
    await pool.close()
    await store.close()


@in_loop
async def test_a_system_that_shares_nothing_writes_nothing_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(1), None)
        await pool.record(a_round(2), None)

        assert await pool.store.shared("main") == Shared(1, {})


@in_loop
async def test_a_pool_that_another_system_rated_does_not_open(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
    with pytest.raises(
        ConfigError, match=r"^\$\.pool\.main: .*made with synelo, not with elo: .*pool recompute --pool main"
    ):
        async with opened(tmp_path, "elo"):
            pass
    async with opened(tmp_path) as pool:
        assert (await pool.cards([player(1)]))[0].rounds == 1


@in_loop
async def test_other_parameters_are_refused_by_name_and_those_no_number_depends_on_are_adopted(tmp_path: Path) -> None:
    async with opened(tmp_path, k_max=12):
        pass
    with pytest.raises(ConfigError, match="made with k_max = 12, theta = its default, not with k_max = 9, theta = 800"):
        async with opened(tmp_path, k_max=9, theta=800, stale_days=7):
            pass
    async with opened(tmp_path, stale_days=7) as pool:
        recorded = await pool.store.recipe("main")

    assert recorded is not None
    assert (recorded.system, recorded.params["stale_days"]) == ("synelo", 7)


@in_loop
async def test_a_parameter_that_is_younger_than_the_record_had_its_default(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.store.adopt("main", Recipe("synelo", {"k_max": 12}), NOW)
    async with opened(tmp_path) as pool:
        assert await pool.store.recipe("main") == recipe_of(pool.system)
    async with opened(tmp_path) as pool:
        await pool.store.adopt("main", Recipe("synelo", {"k_max": 12}), NOW)
    with pytest.raises(ConfigError, match=r"made with window = 500, not with window = 9:"):
        async with opened(tmp_path, window=9):
            pass


@in_loop
async def test_a_store_without_the_record_adopts_what_is_configured(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        database.execute("DELETE FROM pools")
    async with opened(tmp_path) as pool:
        assert await pool.store.recipe("main") == recipe_of(pool.system)


@in_loop
async def test_what_is_shared_but_cannot_be_read_ends_the_start_with_a_reason(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2") as pool:
        await pool.record(a_round(), None)
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        database.execute("""UPDATE pools SET shared = '{"all": 1}'""")
    with pytest.raises(StoreRefused, match="pool main: not an ns2 shared state"):
        async with opened(tmp_path, "ns2"):
            pass


# Kill -9.

RECORDER = """
import asyncio, sys
from itertools import count
from pathlib import Path
from tests.store.samples import a_round
from tests.test_pool import opened

async def play():
    async with opened(Path(sys.argv[1])) as pool:
        print("open", flush=True)
        sys.stdin.readline()
        for number in count():
            done = await pool.record(a_round(number), None)
            print(done.status, flush=True)

asyncio.run(play())
"""


@contextmanager
def recorder(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has a pool open and waits for a line before it records rounds without end."""
    command = [sys.executable, "-c", RECORDER, str(directory)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=Path(__file__).parent.parent, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process


def play_and_kill(process: subprocess.Popen[str], rounds: int) -> list[str]:
    """What the recorder's rounds were answered with before it was killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(file=process.stdin, flush=True)
    answers = [process.stdout.readline() for _ in range(rounds)]
    process.kill()
    return [answer.strip() for answer in (*answers, *process.stdout.readlines())]


async def _restart(directory: Path) -> Card:
    async with opened(directory) as pool:
        assert pool.ring_depth == 0
        return (await pool.cards([player(1)]))[0]


def _check_all_were_applied(directory: Path, answers: list[str]) -> None:
    card = asyncio.run(_restart(directory))
    applied = stored_rounds(directory)

    assert len(answers) <= len(applied) <= len(answers) + 1
    assert applied == [a_round(number).round.id for number in range(len(applied))]
    assert card == told(rated_alone(*map(a_round, range(len(applied)))), player(1))


def test_rounds_answered_stored_survive_kill_9(tmp_path: Path) -> None:
    with recorder(tmp_path) as process:
        answers = play_and_kill(process, 20)

    assert set(answers) == {"stored"}
    _check_all_were_applied(tmp_path, answers)


def test_rounds_answered_kept_survive_kill_9_and_are_applied_once_in_order(tmp_path: Path) -> None:
    with recorder(tmp_path) as process, locked(tmp_path / "s.db"):
        answers = play_and_kill(process, 3)

    assert set(answers) == {"kept"}
    _check_all_were_applied(tmp_path, answers)
