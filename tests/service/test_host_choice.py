"""A secret team choice, wishes and friends, with the solver and NS2's rating system behind the host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.model import Mode, Roster
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules, ShuffleRules
from equipoise.wire import Reply
from tests.hosts import Rig, played, player, roster

EIGHT = range(1, 9)
HERE = roster((1, 2, 3, 4), (5, 6, 7, 8))
MARINES, ALIENS = "marines", "aliens"


def typed(number: int, *words: str, admin: bool = False) -> e.Commanded:
    return e.Commanded(0.0, words, player(number), admin)


async def began(rig: Rig, skills: Mapping[int, float], here: Roster = HERE) -> None:
    for number, skill in skills.items():
        await rig.pool.edit(player(number), skill, "a test")
    await rig.hello(here, Mode.NS2)


async def chosen(rig: Rig, choices: Mapping[int, str]) -> Reply:
    """Opened by an admin; the reply to the last choice, which closes it."""
    await rig.post(typed(1, "choice", admin=True))
    *_, last = [await rig.post(typed(number, "choose", word)) for number, word in choices.items()]
    return last


def assigned(reply: Reply) -> f.Assign:
    (order,) = (order for order in reply.orders if isinstance(order, f.Assign))
    return order


async def made(rig: Rig, reply: Reply) -> tuple[set[int], Text]:
    """The script makes the teams; the marines by number, and the last text that all players read."""
    order = assigned(reply)
    done = await rig.post(e.OrderDone(0.0, order.order))
    *_, last = [told.text for told in done.orders if isinstance(told, f.Say)]
    return {number for number in EIGHT if player(number) in order.split.a}, last


@played(system="ns2")
async def test_choices_are_granted_where_the_teams_stay_even(rig: Rig) -> None:
    await began(rig, dict.fromkeys(EIGHT, 1500.0))
    choices = {1: ALIENS, 2: ALIENS, 3: MARINES, 4: "random", 5: MARINES, 6: MARINES, 7: ALIENS, 8: "random"}
    reply = await chosen(rig, choices)
    assert assigned(reply).moment is Moment.NOW
    marines, last = await made(rig, reply)
    assert {3, 5, 6} <= marines
    assert not marines & {1, 2, 7}
    assert last == Text(Phrase.CHOICE_RESULT, ("6", "6"))


@played(rules=Rules(shuffle=ShuffleRules(choice_seconds=0.05)), system="ns2")
async def test_a_choice_ends_by_the_hosts_own_timer(rig: Rig) -> None:
    await began(rig, dict.fromkeys(EIGHT, 1500.0))
    await rig.post(typed(1, "choice", admin=True), typed(1, "choose", ALIENS), typed(5, "choose", MARINES))
    rig.clock.now += 1.0
    for _ in range(2000):
        reply = await rig.post()
        if reply.orders:
            break
        await asyncio.sleep(0.01)
    marines, last = await made(rig, reply)
    assert (1 in marines, 5 in marines) == (False, True)
    assert last == Text(Phrase.CHOICE_RESULT, ("2", "2"))
