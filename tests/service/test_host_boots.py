"""Which start of a script is served: boots are names, and the last one to appear supersedes the one before."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import events as e
from equipoise.core.memory import MOST_SUPERSEDED, Remembered, decode_memory
from equipoise.core.model import Mode, Side
from equipoise.core.rules import Rules
from equipoise.wire import Batch, Reply
from tests.hosts import BOOT, SERVER, Rig, played, roster, round_of

FOUR = roster([1, 2], [3, 4])
AHEAD = BOOT + 10 * 365 * 86_400_000
"""Of a script whose clock is ten years ahead."""


async def call(rig: Rig, boot: int, seq: int = 1, *events: e.ScriptEvent) -> Reply:
    """A batch of one start of the script, with a hello if it is the first."""
    hello = e.Hello(0.0, f"{boot}-1", f"koth_{boot}", Mode.KOTH, e.Phase.IDLE)
    return await rig.host.handle(Batch(SERVER, boot, seq, 0.0, (*((hello,) if seq == 1 else ()), *events)))


def served(rig: Rig) -> int:
    """The boot whose map the session is on."""
    return int(rig.host.session.memory.map.removeprefix("koth_") or "0")


@played
async def test_a_boot_that_was_never_seen_is_served_however_low_its_number_is(rig: Rig) -> None:
    await call(rig, AHEAD)
    for boot in (BOOT, 0):
        assert not (await call(rig, boot)).stale
        assert served(rig) == boot


@played
async def test_of_a_superseded_boot_only_the_finished_rounds_are_taken(rig: Rig) -> None:
    await call(rig, BOOT)
    await call(rig, BOOT + 1)

    late = await call(rig, BOOT, 2, e.RoundEnded(0.0, round_of("r0", FOUR, Side.B)), e.SidesSwitched(0.0))

    assert late.stale
    assert late.rounds == {"r0": "stored"}
    assert served(rig) == BOOT + 1
    assert not (await call(rig, BOOT + 1, 2)).stale


async def test_superseded_boots_are_known_after_a_restart_also_before_a_session_has_changed(tmp_path: Path) -> None:
    async with Rig(tmp_path) as rig:
        await call(rig, AHEAD)
        await call(rig, BOOT)
        await rig.host.handle(Batch(SERVER, BOOT + 1, 1, 0.0, ()))
    async with Rig(tmp_path) as rig:
        assert [bool((await call(rig, boot, 2)).stale) for boot in (AHEAD, BOOT, BOOT + 1)] == [True, True, False]


@played
async def test_sixteen_superseded_boots_are_remembered_and_an_older_one_is_new(rig: Rig) -> None:
    for boot in range(MOST_SUPERSEDED + 2):
        await call(rig, boot)

    assert all([(await call(rig, boot, 2)).stale for boot in range(1, MOST_SUPERSEDED + 1)])
    assert not (await call(rig, 0, 2)).stale


@given(st.lists(st.integers(0, 20), min_size=1))
def test_whichever_boots_call_the_last_one_is_served_and_those_before_it_are_remembered(boots: list[int]) -> None:
    remembered = Remembered()
    for seq, boot in enumerate(boots, 1):
        remembered = remembered.after(boot, seq)
    assert (remembered.boot, remembered.seq) == (boots[-1], len(boots))
    newest_first = dict.fromkeys(boot for boot in reversed(boots) if boot != boots[-1])
    assert remembered.superseded == tuple(reversed(list(newest_first)[:MOST_SUPERSEDED]))


@played(rules=Rules(silence_seconds=10))
async def test_of_two_servers_with_one_name_the_last_started_is_served_and_the_status_names_both(rig: Rig) -> None:
    """The stale one calls more seldom than makes a script silent."""
    await call(rig, BOOT)
    rig.clock.now += 60
    since = rig.clock.epoch()
    for poll in range(1, 40):
        assert not (await call(rig, BOOT + 1, poll)).stale
        if poll % 6 == 1:
            assert (await call(rig, BOOT, poll + 1)).stale
        rig.clock.now += 5
    status = rig.host.status()
    assert (status.boot, status.lost) == (BOOT + 1, False)
    assert [(script.boot, script.since) for script in status.stale_scripts] == [(BOOT, since)]


@played
async def test_a_superseded_script_is_served_when_the_one_after_it_has_fallen_silent(rig: Rig) -> None:
    """The other server was given its own name: the first one must not be stale for ever."""
    await call(rig, BOOT)
    await call(rig, BOOT + 1)
    rig.clock.now += rig.rules.silence_seconds - 1
    assert (await call(rig, BOOT, 2)).stale
    rig.clock.now += 1

    assert not (await call(rig, BOOT, 3)).stale
    assert (rig.host.status().boot, rig.host.status().stale_scripts) == (BOOT, ())
    assert (await call(rig, BOOT + 1, 2)).stale


@played
async def test_a_stale_script_does_not_make_the_served_one_heard_and_is_forgotten_when_it_stops(rig: Rig) -> None:
    await call(rig, BOOT)
    await call(rig, BOOT + 1)
    rig.clock.now += rig.rules.silence_seconds - 1
    await call(rig, BOOT, 2)
    rig.clock.now += 1
    assert rig.host.status().lost
    assert [script.boot for script in rig.host.status().stale_scripts] == [BOOT]
    rig.clock.now += rig.rules.silence_seconds
    assert rig.host.status().stale_scripts == ()


def test_a_memory_that_was_stored_before_boots_were_listed_is_read() -> None:
    stored = b'{"memory":{"session":"1-1","map":"koth_king","mode":"koth","pending":null},"boot":7,"seq":3}'
    remembered = decode_memory(stored)
    assert (remembered.memory.map, remembered.boot, remembered.seq) == ("koth_king", 7, 3)
    assert remembered.superseded == ()
