"""A batch that is refused leaves no trace, and rounds are stored in the order in which they were played."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlite_utils.migrations import Migrations

from equipoise.core import events as e
from equipoise.core.memory import Memory
from equipoise.core.model import Mode, OrderId, RoundId, Side
from equipoise.core.rules import Rules
from equipoise.core.state import State
from equipoise.errors import ScriptError, SpillError
from equipoise.ratings.system import Match, Rated
from equipoise.service.diagnosis import SCRIPTS, of_refused
from equipoise.service.ring import Ring, UnstoredRound
from equipoise.store.round_rows import RatedRound
from equipoise.wire import Batch, Reply
from tests.hosts import SESSION, Rig, played, player, roster, round_of
from tests.store.failing import Failing, Fault
from tests.store.samples import sql

SIX = roster([1, 2, 3], [4, 5, 6])


class FullRing(Ring):
    """A real ring that refuses its next pushes as `full` says, one by one; then it is as any other."""

    full: Sequence[bool] = ()

    def push(self, entry: UnstoredRound, *, synced: bool = True) -> None:
        now, *self.full = self.full or [False]
        if now:
            raise SpillError(f"{self.path}: no space left: round {entry.key[1]} cannot be kept")
        super().push(entry, synced=synced)


class Slow(Failing):
    """A real store that takes no round until the gate is open."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gate = asyncio.Event()

    async def record(self, *asked: Any) -> Sequence[RatedRound | Exception]:
        await self.gate.wait()
        return await super().record(*asked)


class Broken(Failing):
    """A store with a bug that shows once."""

    broken = True

    async def record(self, *asked: Any) -> Sequence[RatedRound | Exception]:
        if self.broken:
            self.broken = False
            raise ZeroDivisionError
        return await super().record(*asked)


FAILING: Mapping[str, Any] = {"store_type": Failing, "ring_type": FullRing}
failing = played(**FAILING)


def refuse(rig: Rig, *faults: Fault) -> None:
    """Let the store meet these faults, and the ring have no room meanwhile."""
    rig.store.faults = faults
    rig.ring.full = [True] * sum(fault is not Fault.NOWHERE for fault in faults)


def ended(name: str, winner: Side | None = Side.A, mode: Mode = Mode.KOTH) -> e.RoundEnded:
    return e.RoundEnded(0.0, round_of(name, SIX, winner, mode))


def stored(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything in the store but the times."""
    store = folder / "equipoise.db"
    tables = [name for (name,) in sql(store, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    tables.remove(Migrations.migrations_table)  # times alone
    return {name: sql(store, f'SELECT * FROM "{name}" ORDER BY 1') for name in tables}


def stored_rounds(rig: Rig) -> list[str]:
    """Ids in the order of being stored."""
    return [name for (name,) in sql(rig.store.path, "SELECT id FROM rounds ORDER BY number")]


async def evening(
    rig: Rig, mode: Mode, batches: Sequence[Sequence[e.ScriptEvent]], refusals: Sequence[Sequence[Fault]] = ()
) -> tuple[list[Reply], object, object]:
    """Post the batches, each again until it is taken; the replies, and what the session knows at the end."""
    replies = [await rig.hello(SIX, mode, e.Phase.RUNNING)]
    for number, events in enumerate(batches):
        if refusals and refusals[number]:
            refuse(rig, *refusals[number])
        replies.append(await until_taken(rig, rig.batch(*events)))
    return replies, rig.host.session.state.copy(), rig.host.session.memory


async def until_taken(rig: Rig, batch: Batch) -> Reply:
    for _ in range(10):
        with suppress(ScriptError):
            return await rig.host.handle(batch)
    raise AssertionError("the faults should have been used up")


async def twins(
    folder: Path, mode: Mode, batches: Sequence[Sequence[e.ScriptEvent]], refusals: Sequence[Sequence[Fault]]
) -> None:
    """The same evening, once undisturbed and once with refusals, ends in the same state, replies and store.

    Rounds follow each other: a round that ended before another went live is not sent after that. Otherwise the second
    would be rated with the skills at its start as they were when its batch came again.
    """
    async with Rig(folder / "undisturbed", **FAILING) as rig:
        expected = await evening(rig, mode, batches)
    async with Rig(folder / "disturbed", **FAILING) as rig:
        found = await evening(rig, mode, batches, refusals)
    assert found == expected
    assert stored(folder / "disturbed") == stored(folder / "undisturbed")


def test_a_copy_of_a_session_shares_nothing_that_can_change() -> None:
    state = State(Rules(), Memory())
    twin = state.copy()

    assert twin == state
    mutable = [name for name in State.__slots__ if type(getattr(state, name)).__hash__ is None]
    assert "summaries" in mutable
    assert [name for name in mutable if getattr(twin, name) is getattr(state, name)] == [
        "lineup",
        "cancelled",
        "admins_moves",
        "objective_at",
        "watching_since",
        "swap_invitations",
        "swaps_shown",
        "swap_questions",
        "volunteers",
        "invitations",
        "invitations_shown",
    ], "they are replaced, never changed"


@pytest.mark.parametrize(
    "command", [("scramble", "next"), ("set", player(1), "1500")], ids=["of the session", "of the pool"]
)
def test_a_batch_that_was_refused_once_ends_as_if_it_had_come_once(tmp_path: Path, command: tuple[str, ...]) -> None:
    batch = (ended("r1"), e.SidesSwitched(0.0), e.Commanded(0.0, command, player(1), admin=True), ended("r2"))
    asyncio.run(twins(tmp_path, Mode.KOTH, [batch], [[Fault.BEFORE]]))


@failing
async def test_a_refused_batch_is_a_sign_of_life_and_still_a_gap_when_it_comes_again(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
    rig.clock.now += 100
    batch = rig.batch(ended("r1"), seq=7)
    refuse(rig, Fault.BEFORE)

    with pytest.raises(ScriptError):
        await rig.host.handle(batch)
    assert not rig.host.status().lost
    reply = await rig.host.handle(batch)

    assert reply.want == ("roster",)
    assert rig.host.skipped == 1


async def test_a_daemon_that_was_restarted_in_the_middle_of_a_batch_goes_on_behind_the_last_stored_round(
    tmp_path: Path,
) -> None:
    """So does another machine, which has the round and the memory that is stored with it from the log of the pool."""
    switched = e.SidesSwitched(0.0)
    events = (ended("r1"), switched, ended("r2", Side.B), ended("r3", Side.B), switched, ended("r4"))
    async with Rig(tmp_path, **FAILING) as rig:
        await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
        refuse(rig, Fault.NOWHERE, Fault.NOWHERE, Fault.BEFORE)
        with pytest.raises(ScriptError, match="r3"):
            await rig.host.handle(rig.batch(*events))
        seq = rig.seq
    async with Rig(tmp_path, seq=seq, **FAILING) as rig:
        await rig.host.command(("off",), "test")
        refuse(rig, *[Fault.NOWHERE] * 3, Fault.BEFORE)
        with pytest.raises(ScriptError, match="r4"):
            await rig.host.handle(rig.batch(*events, seq=seq))
    async with Rig(tmp_path, seq=seq, **FAILING) as rig:
        reply = await rig.host.handle(rig.batch(*events, seq=seq))
        again = await rig.host.handle(rig.batch(*events, seq=seq))

        assert reply.rounds == again.rounds == dict.fromkeys(("r1", "r2", "r3", "r4"), "stored")
        assert not reply.enabled
        assert rig.host.session.memory.counted == ("r1", "r2", "r3", "r4")
        assert (rig.host.session.memory.tally.streak_side, rig.host.session.memory.tally.streak) == (Side.A, 4)
        assert stored_rounds(rig) == ["r1", "r2", "r3", "r4"]


@failing
async def test_a_round_that_no_store_takes_is_named_by_its_path(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
    endless = ended("r1")
    endless = replace(endless, round=replace(endless.round, map="\ud800"))
    batch = rig.batch(e.SidesSwitched(0.0), endless, e.Heartbeat(0.0))

    with pytest.raises(ScriptError) as refusal:
        await rig.host.handle(batch)

    assert (refusal.value.code, refusal.value.path) == ("unstorable", "$.events[1]")


@failing
async def test_two_copies_that_wait_behind_other_work_are_applied_once(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
    batch = rig.batch(ended("r1"))

    _, first, again = await asyncio.gather(
        rig.host.command(("set", player(1), "1500"), "test"), rig.host.handle(batch), rig.host.handle(batch)
    )

    assert again is first
    assert rig.host.skipped == 0
    assert rig.host.session.memory.tally.completed == 1


@played(answer_seconds=0.1, store_type=Slow, ring_type=FullRing)
async def test_a_batch_that_was_answered_before_its_round_failed_is_applied_and_its_rounds_come_again(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
    refuse(rig, Fault.BEFORE)

    early = await rig.post(ended("r1"), e.Commanded(0.0, ("off",), None, admin=True), ended("r2"))
    rig.store.gate.set()
    rig.host.answer_seconds = 60.0
    later = await rig.post(ended("r1"), ended("r2"))

    assert early.rounds == {}
    assert not later.enabled
    assert stored_rounds(rig) == ["r1", "r2"]
    assert rig.host.session.memory.tally.completed == 2


@played(store_type=Slow)
async def test_a_batch_whose_caller_has_gone_is_applied_once(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
    batch = rig.batch(ended("r1"), e.SidesSwitched(0.0))

    caller = asyncio.create_task(rig.host.handle(batch))
    await asyncio.sleep(0.05)
    caller.cancel()
    await asyncio.sleep(0)
    rig.store.gate.set()
    again = await rig.host.handle(batch)

    assert again.rounds == {"r1": "stored"}
    assert rig.host.session.memory.tally.completed == 1
    switched = [entry.id for entry in rig.host.session.state.roster.on(Side.A)]
    assert switched == [player(4), player(5), player(6)]


@played(store_type=Broken)
async def test_a_fault_of_the_daemon_leaves_no_trace_of_the_batch_either(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
    before = rig.host.session.state.copy()
    batch = rig.batch(e.SidesSwitched(0.0), ended("r1"))

    with pytest.raises(ScriptError) as refusal:
        await rig.host.handle(batch)
    assert (refusal.value.code, refusal.value.status) == ("internal", 500)
    assert rig.host.session.state == before
    rig.host.refuse(refusal.value)
    (finding,) = of_refused(rig.host.status(), SCRIPTS["tf2"], "1.0", rig.clock.epoch() + 10_000.0)
    assert "refused: 1, the last one 3 h ago: internal: " in finding.what
    assert finding.advice.startswith("the daemon's log says what failed; ")
    taken = await rig.host.handle(batch)

    assert taken.rounds == {"r1": "stored"}


@failing
async def test_of_a_batch_that_the_daemon_fails_on_the_rounds_are_stored(rig: Rig) -> None:
    """The script drops it, because it would fail again."""
    await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
    nothing_known: Any = object()

    with pytest.raises(ScriptError) as refusal:
        await rig.post(nothing_known, ended("r1"), ended("r2"))
    await rig.post(e.Heartbeat(0.0))

    assert refusal.value.code == "internal"
    assert stored_rounds(rig) == ["r1", "r2"]
    assert rig.host.session.memory.tally.completed == 0


@failing
async def test_a_round_that_the_daemon_fails_to_rate_costs_those_behind_it_nothing(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH, e.Phase.RUNNING)
    system, whole = rig.pool.system, rig.pool.system.rate

    def rate(match: Match) -> Rated:
        if player(7) in match.teams[0]:
            raise ZeroDivisionError
        return whole(match)

    system.rate = rate  # type: ignore[method-assign]
    faulty = e.RoundEnded(0.0, round_of("r2", roster([1, 2, 7], [4, 5, 6]), Side.A, Mode.KOTH))

    with pytest.raises(ScriptError) as refusal:
        await rig.post(ended("r1"), faulty, ended("r3"))
    await rig.post(e.Heartbeat(0.0))

    assert refusal.value.code == "internal"
    assert stored_rounds(rig) == ["r1", "r3"]


FAULTS = st.lists(st.sampled_from(Fault), max_size=4)
WINNERS = st.sampled_from([Side.A, Side.B, None])


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[e.ScriptEvent, ...]]:
    """Some batches of an evening: rounds among everything else that a script may post."""
    made, rounds = [], 0
    for _ in range(draw(st.integers(1, 4))):
        events: list[e.ScriptEvent] = []
        for kind in draw(st.lists(st.sampled_from(KINDS), max_size=5)):
            rounds += 1
            events += kind(f"r{rounds}", draw(WINNERS))
        made.append(tuple(events))
    return made


KINDS = (
    lambda name, winner: [ended(name, winner)],
    lambda name, winner: [e.RoundLive(0.0, RoundId(name), SIX), ended(name, winner)],
    lambda name, winner: [e.RoundStarted(0.0, SIX)],
    lambda name, winner: [e.SidesSwitched(0.0)],
    lambda name, winner: [e.Hello(0.0, SESSION, "arena_lumberyard", Mode.KOTH, e.Phase.FREEZE, waiting=winner is None)],
    lambda name, winner: [e.RosterSeen(0.0, SIX), e.OrderDone(0.0, OrderId("o1"))],
    lambda name, winner: [e.PlayerLeft(0.0, player(6)), e.PlayerJoined(0.0, player(7))],
    lambda name, winner: [e.SideWanted(0.0, player(7), winner)],
    lambda name, winner: [e.Commanded(0.0, ("scramble", "now"), None, admin=True)],
    lambda name, winner: [e.Commanded(0.0, ("set", player(2), "1300"), player(1), admin=True)],
    lambda name, winner: [e.Commanded(0.0, ("off" if winner is None else "on",), None, admin=True)],
)


@pytest.mark.slow
@settings(
    max_examples=settings.default.max_examples * 2 // 5, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.sampled_from([Mode.KOTH, Mode.ARENA]), batches(), st.lists(FAULTS, min_size=4, max_size=4))
def test_whatever_is_refused_the_evening_ends_like_an_undisturbed_one(
    mode: Mode, posted: list[tuple[e.ScriptEvent, ...]], refusals: list[list[Fault]]
) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(twins(Path(folder), mode, posted, refusals))
