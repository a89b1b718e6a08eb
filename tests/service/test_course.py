"""The course of a map: a line for each state of the sides that lasted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from equipoise.core import events as e
from equipoise.core.effects import Assign
from equipoise.core.model import Mode, Roster
from equipoise.store.notes import Chance
from tests.hosts import Rig, played, player, roster

HERE = roster([1, 2, 3], [4, 5, 6])


async def settled(rig: Rig, *events: e.ScriptEvent) -> Sequence[Chance]:
    """Post events, wait until their sides have settled, and return all lines, oldest first."""
    if events:
        await rig.post(*events)
    await asyncio.sleep(0.05)
    return list(reversed(await rig.store.chances(rig.host.server, None, 50)))


def at_once(rig: Rig) -> None:
    rig.host._course.settle_seconds = 0.01


def seen(here: Roster) -> e.RosterSeen:
    return e.RosterSeen(0.0, here)


@played
async def test_each_change_of_sides_that_lasts_is_a_line_with_its_cause(rig: Rig) -> None:
    at_once(rig)
    await rig.pool.edit(player(1), 6000.0, "test")
    await rig.hello(HERE, Mode.KOTH)
    (first,) = await settled(rig)
    assert (first.cause, first.players_a, first.players_b, first.round) == ("map", 3, 3, 1)
    status = rig.host.status()
    assert (first.chance, first.map, first.session) == (
        status.win_probability,
        status.map,
        rig.host.session.memory.session,
    )
    assert first.chance > 0.5
    states = [
        ("joined", roster([1, 2, 3, 7], [4, 5, 6])),
        ("left", roster([1, 2, 3], [4, 5, 6])),
        ("sides", roster([1, 2], [3, 4, 5, 6])),
        ("switched", roster([3, 4, 5, 6], [1, 2])),
    ]
    for here in (here for _, here in states):
        lines = await settled(rig, seen(here))
    assert [line.cause for line in lines[1:]] == [cause for cause, _ in states]
    assert lines[-1].chance < 0.5


@played
async def test_sides_that_are_as_they_were_and_those_that_pass_leave_no_line(rig: Rig) -> None:
    at_once(rig)
    await rig.hello(HERE, Mode.KOTH)
    assert len(await settled(rig)) == 1
    assert len(await settled(rig, seen(roster([1, 2], [4, 5, 6])), seen(HERE))) == 1
    assert len(await settled(rig, seen(roster([], [4, 5, 6])))) == 1, "nobody is on RED: there is no chance"
    assert len(await settled(rig, seen(HERE), e.Heartbeat(0.0))) == 1


@played
async def test_a_scramble_is_the_cause_of_the_sides_that_it_makes(rig: Rig) -> None:
    at_once(rig)
    for number in (1, 2, 3):
        await rig.pool.edit(player(number), 3000.0, "test")
    await rig.hello(HERE, Mode.KOTH, e.Phase.RUNNING)
    before = (await settled(rig))[-1]
    await rig.host.command(("scramble", "now"), "token:owner")
    (order,) = (order for order in (await rig.post()).orders if isinstance(order, Assign))
    here = roster(*([int(one) - 76561197960265728 for one in side] for side in (order.split.a, order.split.b)))
    after = (await settled(rig, e.OrderDone(0.0, order.order), seen(here)))[-1]
    assert after.cause == "scramble"
    assert abs(after.chance - 0.5) < abs(before.chance - 0.5)


@played
async def test_one_time_on_a_map_can_be_read_alone_and_a_new_one_begins_with_its_own_line(rig: Rig) -> None:
    at_once(rig)
    await rig.hello(HERE, Mode.KOTH)
    await settled(rig)
    later = e.Hello(0.0, "another", "koth_viaduct", Mode.KOTH, e.Phase.IDLE)
    first, second = await settled(rig, later, seen(HERE))
    assert (second.cause, second.map) == ("map", "koth_viaduct")
    assert await rig.store.chances(rig.host.server, "another", 50) == [second]
    assert await rig.store.chances(rig.host.server, None, 1, before=second.number) == [first]
    assert await rig.store.prune("chances", first.at, 10) == 0, "lines go with the decisions of their age"
    assert await rig.store.prune("chances", second.at + 1, 10) == 2
