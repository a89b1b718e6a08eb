"""A host: batches in, orders out, nothing applied twice, nothing lost."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from equipoise import ratings
from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.model import Immunity, Mode, OrderId, PlayerId, Roster, RoundId, Side
from equipoise.core.participation import recorded
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules, ShuffleRules
from equipoise.errors import ScriptError
from equipoise.service.host import Host
from equipoise.store.player_rows import PlayerRow
from equipoise.store.round_rows import RatedRound, Submission
from equipoise.store.store import Store
from tests.hosts import BOOT, SERVER, Rig, played, player, roster, round_of
from tests.opened_pool import Followed
from tests.store.failing import Then
from tests.store.samples import until
from tests.store.traced import Traced

pytestmark = pytest.mark.also_shared

FOUR = roster([1, 2], [3, 4])


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def called() -> Iterator[set[str]]:
    """The files whose functions are called in this thread."""
    files: set[str] = set()
    sys.setprofile(lambda frame, event, argument: files.add(frame.f_code.co_filename))
    try:
        yield files
    finally:
        sys.setprofile(None)


@played
async def test_a_batch_without_events_is_a_heartbeat(rig: Rig) -> None:
    """What time alone brings comes with it: here a move that nobody answered, once more."""
    replies = [await rig.hello(roster([1, 2, 3], [4]), Mode.KOTH, e.Phase.RUNNING)]
    for _ in range(4):
        rig.clock.now += 12
        replies.append(await rig.post())

    assert [type(order) for reply in replies for order in reply.orders] == [f.Move, f.Cancel, f.Move]


@played
async def test_a_joining_player_is_answered_with_their_summary(rig: Rig) -> None:
    await rig.hello(FOUR)

    reply = await rig.post(e.PlayerJoined(0.0, player(9)))

    assert [(summary.id, summary.rating, summary.rounds, summary.visible) for summary in reply.summaries] == [
        (player(9), 1000.0, 0, False)
    ]


@played
async def test_a_finished_round_is_stored_and_answered_with_the_new_ratings(rig: Rig) -> None:
    await rig.hello(FOUR)

    reply = await rig.play("r1", FOUR, Side.A)

    assert reply.rounds == {"r1": "stored"}
    assert {summary.id: summary.rating for summary in reply.summaries} == {
        player(1): 1036.0,
        player(2): 1036.0,
        player(3): 964.0,
        player(4): 964.0,
    }
    assert reply.pending
    assert reply.reason.phrase is Phrase.REASON_ROUND_TWO


@played
async def test_a_batch_sent_again_at_once_or_later_gets_its_first_answer_and_changes_nothing(rig: Rig) -> None:
    await rig.hello(FOUR)
    await rig.post(e.RoundLive(0.0, RoundId("r1"), FOUR))
    batch = rig.batch(e.RoundEnded(0.0, round_of("r1", FOUR, Side.A)))

    first, again = await asyncio.gather(rig.host.handle(batch), rig.host.handle(batch))

    assert again is first
    assert await rig.host.handle(batch) is first
    assert rig.host.repeated == 2
    assert rig.host.session.memory.tally.completed == 1


@played
async def test_of_a_late_batch_only_the_rounds_are_taken(rig: Rig) -> None:
    await rig.hello(FOUR)
    await rig.post(e.Heartbeat(0.0))
    late = rig.batch(
        e.Commanded(0.0, ("off",), None, admin=True), e.RoundEnded(0.0, round_of("r0", FOUR, Side.B)), seq=1
    )

    reply = await rig.host.handle(late)

    assert reply.stale
    assert reply.rounds == {"r0": "stored"}
    assert rig.host.session.memory.enabled
    assert rig.host.session.memory.tally.completed == 0


@played
async def test_the_cache_is_sent_once_and_again_to_a_script_that_started_anew(rig: Rig) -> None:
    first = await rig.hello(FOUR)
    second = await rig.post(e.Heartbeat(0.0))
    rig.seq = 0
    anew = await rig.host.handle(rig.batch(e.Heartbeat(0.0), boot=BOOT + 1))

    assert [split.size for split in first.cache.splits] == [2]
    assert second.cache is None
    assert anew.cache == first.cache


class LateStore(Store):
    """It answers who the players are when the test wants it; a round is rated at once, and its disk is then full."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked, self.answer = asyncio.Event(), asyncio.Event()
        self.rated, self.full = Event(), Event()

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        self.asked.set()
        await self.answer.wait()
        return await super().players(pool, ids, window)

    async def record(self, pool: str, group: Sequence[Submission], window: int) -> Sequence[RatedRound | Exception]:
        recording = super().record(pool, [*group[:-1], Then(group[-1], self._fail)], window)
        asyncio.get_running_loop().call_soon(self.rated.wait)  # nothing else happens before the round is rated
        return await recording

    def _fail(self) -> None:
        self.rated.set()
        self.full.wait()
        raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.also_shared(False)  # the round is stored at the second attempt
async def test_skill_at_start_is_never_that_of_a_round_that_is_not_stored_after_all(tmp_path: Path) -> None:
    """The players are being loaded when another server's round is rated, whose transaction then fails."""
    async with Rig(tmp_path) as rig:
        await rig.hello(FOUR)
        await rig.play("r1", FOUR, Side.A)
        stored = {player(n): rig.pool.skill(player(n)) for n in (1, 2, 3, 4)}
        seq = rig.seq
    async with Rig(tmp_path, seq=seq, store_type=LateStore) as rig:
        store = rig.store
        await rig.hello(roster([], []))
        live = asyncio.create_task(rig.post(e.RoundLive(0.0, RoundId("r3"), FOUR)))
        await store.asked.wait()
        elsewhere = recorded(round_of("r2", FOUR, Side.B), rig.rules)
        recording = asyncio.create_task(rig.pool.record(elsewhere, None))
        await asyncio.sleep(0.01)
        store.answer.set()
        await live
        assert store.rated.is_set()
        store.full.set()

        assert (await recording).status == "kept"
        assert rig.host.session.state.skill_at_start == stored


async def test_a_restarted_daemon_goes_on_where_it_was_and_takes_its_last_batch_once(tmp_path: Path) -> None:
    ended = e.RoundEnded(0.0, round_of("r1", FOUR, Side.A))
    async with Rig(tmp_path) as rig:
        await rig.hello(FOUR)
        first = await rig.post(ended)
        seq = rig.seq
    async with Rig(tmp_path, seq=seq) as rig:
        again = await rig.host.handle(rig.batch(ended, seq=seq))
        assert first.rounds == again.rounds == {"r1": "stored"}
        assert rig.host.session.memory.tally.completed == 1
        assert (await rig.pool.summaries((player(1),)))[0].rounds == 1

        reply = await rig.post(e.RoundEnded(0.0, round_of("r2", FOUR, Side.A)))
        assert reply.want == ("hello", "roster")
        assert reply.pending
        assert rig.host.session.memory.tally.streak == 2


@played
async def test_a_host_that_is_succeeded_in_the_moment_in_which_its_work_ends_goes_on(rig: Rig) -> None:
    """Since Python 3.12 `asyncio.gather` lets nobody else in when all that it waits for is done."""
    await rig.hello(FOUR)
    posted = asyncio.create_task(rig.play("r1", FOUR, Side.A))
    while not (rig.host._tasks and all(task.done() for task in rig.host._tasks)):  # noqa: ASYNC110 (one of the loop's steps)
        await asyncio.sleep(0)
    before, rig.host = rig.host, Host(SERVER, rig.pool, rig.store, rig.rules, rig.clock)
    await rig.host.succeed(before)
    assert (await posted).rounds == {"r1": "stored"}
    assert (await rig.play("r2", FOUR, Side.B)).rounds == {"r2": "stored"}


@played
async def test_a_round_that_nothing_takes_is_refused_so_that_the_script_keeps_it(rig: Rig) -> None:
    await rig.hello(FOUR)
    batch = rig.batch(e.RoundEnded(0.0, round_of("r1", FOUR, Side.A)))

    with full_disk(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Followed, "answer_seconds", 0.1)  # a shared pool waits in vain, however long
        with pytest.raises(ScriptError) as refusal:
            await rig.host.handle(batch)
    taken = await rig.host.handle(batch)

    assert (refusal.value.code, refusal.value.status) == ("busy", 503)
    assert "r1" in refusal.value.message
    assert taken.rounds == {"r1": "stored"}
    assert rig.host.session.memory.tally.completed == 1


@played
async def test_a_dry_balance_names_who_would_move_or_says_why_a_gap_stays(rig: Rig) -> None:
    here = roster([1, 2, 3, 4], [5, 6])
    await rig.hello(here, mode=Mode.KOTH, phase=e.Phase.RUNNING)
    moves = await rig.host.command(("balance",), "test", dry=True)
    assert moves.ok
    assert [line.phrase for line in moves.lines] == [Phrase.DRY_RUN_LINE]

    immune = Roster(tuple(replace(entry, immune=Immunity.ALL) for entry in here.entries))
    await rig.post(e.RosterSeen(0.0, immune))
    stays = await rig.host.command(("balance",), "test", dry=True)
    assert (stays.ok, stays.lines) == (False, (Text(Phrase.GAP_STAYS, ("4", "2")),))


@played
async def test_an_order_for_another_roster_than_was_seen_does_nothing(rig: Rig) -> None:
    await rig.hello(FOUR)
    seen = await rig.host.command(("scramble", "now"), "test", dry=True)
    await rig.hello(roster([1, 2, 3], [4]))
    with pytest.raises(ScriptError, match="the teams have changed") as refused:
        await rig.host.command(("scramble", "now"), "test", version=seen.version)
    assert (refused.value.code, rig.host.session.memory.pending) == ("changed", None)


@played(store_type=Traced)
async def test_a_poll_that_changes_nothing_reads_no_rating_makes_no_query_and_writes_nothing(rig: Rig) -> None:
    with rig.store.watched() as asked:
        await rig.hello(roster(range(1, 13), range(13, 25)), Mode.KOTH, e.Phase.RUNNING)
    assert sum("FROM json_each" in statement for statement in asked) == 1
    await rig.post(e.Heartbeat(0.0))
    rig.host.write_down()

    with rig.store.watched() as statements, called() as files:
        await rig.post(e.Heartbeat(0.0))

    assert statements == []
    assert any("/core/" in file for file in files)
    assert not any("/ratings/" in file for file in files)

    await rig.store.decisions(None, 1)  # what was noted is written
    before = rig.store.path.with_name("equipoise.db-wal").stat().st_size
    for _ in range(5):
        await rig.post(e.Heartbeat(0.0))
    rig.host.write_down()
    await rig.store.decisions(None, 1)
    assert rig.store.path.with_name("equipoise.db-wal").stat().st_size == before


@played
async def test_a_rating_that_an_admin_set_elsewhere_counts_with_the_next_poll(rig: Rig) -> None:
    await rig.hello(FOUR)

    await rig.pool.edit(player(1), 1500, "test")
    await rig.post(e.Heartbeat(0.0))

    assert rig.host.session.state.summaries[player(1)].rating == 1500


@played
async def test_the_work_of_other_servers_has_its_turns_during_a_long_batch(rig: Rig) -> None:
    await rig.hello(FOUR)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await rig.post(*[e.OrderDone(0.0, OrderId("unknown"))] * 256)
    task.cancel()
    assert turns >= 256 // 16


@pytest.mark.slow
@pytest.mark.parametrize("gap", [2, 3, 5])
@pytest.mark.parametrize("system", [name for name in ratings.SYSTEMS if ratings.create(name).live])
async def test_a_gap_on_the_first_evening_of_a_pool_has_its_moves(tmp_path: Path, system: str, gap: int) -> None:
    """All have the rating that a pool gives at first, or the two that one round makes of it: most are equal."""
    async with Rig(tmp_path, system=system) as rig:
        full = roster(range(12), range(12, 24))
        await rig.hello(full, mode=Mode.KOTH)
        await rig.play("r1", full, Side.A, Mode.KOTH)
        left = roster(range(12), range(12, 24 - gap))

        reply = await rig.post(e.RosterSeen(0.0, left), e.RoundLive(0.0, RoundId("r2"), left))

        moves = [order for order in reply.orders if isinstance(order, f.Move)]
        assert len({order.player for order in moves}) == gap // 2
        assert {order.side for order in moves} == {Side.B}


FULL = roster(range(1, 7), range(7, 13))


@played
async def test_the_script_is_nudged_for_what_comes_from_outside_and_not_for_what_it_reports_itself(rig: Rig) -> None:
    await rig.hello(FULL, Mode.KOTH, e.Phase.RUNNING)
    for name in "abcd":
        await rig.play(name, FULL, Side.A)
    await rig.post(e.RoundLive(0.0, RoundId("e"), FULL))
    for words in (("scramble",), ("balance",)):
        await rig.host.command(words, "token:ann", dry=True)
    assert rig.nudges == 0

    for words in (("off",), ("on",), ("scramble", "next"), ("scramble", "cancel"), ("scramble", "now")):
        before = rig.nudges
        await rig.host.command(words, "token:ann")
        assert rig.nudges > before, words
        reply = await rig.post()
    assert any(isinstance(order, f.Assign) for order in reply.orders)


@played
async def test_orders_of_the_map_before_reach_nobody_on_the_next_one(rig: Rig) -> None:
    uneven, later = roster([1, 2, 3], [4]), e.Hello(2.0, "later", "koth_viaduct", Mode.KOTH, e.Phase.IDLE)
    await rig.hello(uneven, Mode.KOTH, e.Phase.FREEZE)
    await rig.host.command(("scramble", "now"), "token:ann")

    # The script, whose calls did not get through, says all of it at once.
    ordered = [e.Commanded(1.0, ("scramble", when), player(1), admin=True) for when in ("now", "next")]
    reply = await rig.post(*ordered, later, e.RosterSeen(2.0, uneven))

    assert {type(order) for order in reply.orders} == {f.Tell}, "the admin is answered, and nobody is moved"


@pytest.mark.parametrize("late", [True, False], ids=["in the batch before", "in the same one"])
@played
async def test_places_and_locks_from_before_the_game_swapped_the_sides_name_the_new_colours(
    rig: Rig, late: bool
) -> None:
    await rig.hello(FULL, Mode.PAYLOAD, e.Phase.RUNNING)
    await rig.host.command(("scramble", "now"), "token:ann")
    ordered = next(order for order in (await rig.post()).orders if isinstance(order, f.Assign))
    events = (e.OrderDone(1.0, ordered.order), e.SideWanted(1.0, player(99), None))
    if late:  # its answer came too late for the script: the next one has it
        rig.host.answer_seconds = 0.0
        assert not (await rig.post(*events)).orders
        rig.host.answer_seconds = 60.0
        reply = await rig.post(e.SidesSwitched(2.0))
    else:
        reply = await rig.post(*events, e.SidesSwitched(2.0))

    told = {order.player: order.side for order in reply.orders if isinstance(order, f.Lock)}
    assert len(told) == len(FULL.entries) + 1
    assert told == {one: lock.side for one, lock in rig.host.session.memory.locks.items()}
    [place] = [order for order in reply.orders if isinstance(order, f.Place)]
    assert place.side is told[place.player]


# Shuffles and choices: what the host keeps and times of them.


async def test_a_shuffle_that_was_ordered_outlives_a_restart_of_the_daemon(tmp_path: Path) -> None:
    async with Rig(tmp_path, system="ns2") as rig:
        for number in range(1, 7):
            await rig.pool.edit(player(number), 2000.0, "a test")
        await rig.hello(FULL, Mode.NS2)
        await rig.post(e.RoundLive(0.0, RoundId("r1"), FULL))
        await rig.host.command(("shuffle", "next"), "token:owner")
    async with Rig(tmp_path, system="ns2", seq=rig.seq) as rig:
        await rig.hello(FULL, Mode.NS2)
        reply = await rig.post(e.RoundStarted(0.0, FULL))
        (order,) = [order for order in reply.orders if isinstance(order, f.Assign)]
        assert order.reason.phrase is Phrase.REASON_ADMIN


@played(rules=Rules(shuffle=ShuffleRules(choice_seconds=0.05)), system="ns2")
async def test_a_choice_ends_by_the_hosts_own_timer(rig: Rig) -> None:
    await rig.hello(FULL, Mode.NS2)
    opened = e.Commanded(0.0, ("choice",), player(1), admin=True)
    chosen = [(1, "aliens"), (7, "marines")]
    await rig.post(opened, *(e.Commanded(0.0, ("choose", side), player(one), admin=False) for one, side in chosen))
    rig.clock.now += 1.0
    await until(lambda: rig.nudges > 0)
    (order,) = [order for order in (await rig.post()).orders if isinstance(order, f.Assign)]
    assert (order.split.side_of(player(1)), order.split.side_of(player(7))) == (Side.B, Side.A)
