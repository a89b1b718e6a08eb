"""Shuffles, choices and votes through a host, with store, solver and rating system: one of each, and its restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.model import DueIf, Mode, OrderId, Roster, RoundId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules, ShuffleRules
from equipoise.wire import Reply
from tests.hosts import Rig, played, player, roster

STRONG, WEAK = (1, 2, 3, 4), (5, 6, 7, 8)
HERE, SIX = roster(STRONG, WEAK), roster([1, 2, 3], [4, 5, 6])
CHAIRS = frozenset((player(1), player(5)))
MARINES, ALIENS = "marines", "aliens"


def typed(number: int, *words: str, admin: bool = False) -> e.Commanded:
    return e.Commanded(0.0, words, player(number), admin)


def assigned(reply: Reply) -> f.Assign:
    (order,) = (order for order in reply.orders if isinstance(order, f.Assign))
    return order


def said(reply: Reply) -> list[Text]:
    return [order.text for order in reply.orders if isinstance(order, f.Say)]


# Shuffles.


def seated() -> Roster:
    return Roster(tuple(replace(entry, commander=entry.id in CHAIRS) for entry in HERE.entries))


async def begun(rig: Rig) -> Reply:
    """Four strong marines against four weak aliens, with a commander on each side."""
    for number in (*STRONG, *WEAK):
        await rig.pool.edit(player(number), 2000.0 if number in STRONG else 1000.0, "a test")
    return await rig.hello(seated(), Mode.NS2)


@played(system="ns2")
async def test_uneven_teams_are_shuffled_before_the_round(rig: Rig) -> None:
    assert (await begun(rig)).due_if == (DueIf(Side.A), DueIf(Side.B), DueIf(None))
    order = assigned(await rig.post(e.RoundStarted(0.0, seated())))
    assert (order.moment, len(order.split.a), len(order.split.b)) == (Moment.FREEZE, 4, 4)
    # With the commanders in their chairs three strong and three weak players are left: one swap is the best.
    strong_marines = [number for number in STRONG if player(number) in order.split.a]
    assert len(strong_marines) == 3
    assert CHAIRS & set(order.split.a) == {player(1)}
    (text,) = said(await rig.post(e.OrderDone(0.0, order.order)))
    assert text.phrase is Phrase.SHUFFLED_UNEVEN


async def test_a_shuffle_that_was_ordered_outlives_a_restart_of_the_daemon(tmp_path: Path) -> None:
    async with Rig(tmp_path, system="ns2") as rig:
        await begun(rig)
        await rig.post(e.RoundLive(0.0, RoundId("r1"), seated()))
        answer = await rig.host.command(("shuffle", "next"), "token:owner")
        assert answer.lines == (Text(Phrase.SCRAMBLE_PENDING, (Text(Phrase.REASON_ADMIN),)),)
    async with Rig(tmp_path, system="ns2", seq=rig.seq) as again:
        await again.hello(seated(), Mode.NS2)
        order = assigned(await again.post(e.RoundStarted(0.0, seated())))
        assert order.reason.phrase is Phrase.REASON_ADMIN


# Choices.


async def made(rig: Rig, reply: Reply) -> tuple[set[int], Text]:
    """The script makes the teams; the marines by number, and the last text that all players read."""
    order = assigned(reply)
    *_, last = said(await rig.post(e.OrderDone(0.0, order.order)))
    return {number for number in (*STRONG, *WEAK) if player(number) in order.split.a}, last


@played(system="ns2")
async def test_choices_are_granted_where_the_teams_stay_even(rig: Rig) -> None:
    await rig.hello(HERE, Mode.NS2)
    choices: Mapping[int, str] = dict.fromkeys((1, 2, 7), ALIENS) | dict.fromkeys((3, 5, 6), MARINES)
    await rig.post(typed(1, "choice", admin=True))
    for number in (*STRONG, *WEAK):
        reply = await rig.post(typed(number, "choose", choices.get(number, "random")))
    assert assigned(reply).moment is Moment.NOW, "the last of them closes it"
    marines, last = await made(rig, reply)
    assert {3, 5, 6} <= marines
    assert not marines & {1, 2, 7}
    assert last == Text(Phrase.CHOICE_RESULT, ("6", "6"))


@played(rules=Rules(shuffle=ShuffleRules(choice_seconds=0.05)), system="ns2")
async def test_a_choice_ends_by_the_hosts_own_timer(rig: Rig) -> None:
    await rig.hello(HERE, Mode.NS2)
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


# Votes: the pool's own chance decides whether teams are even.


@played
async def test_uneven_teams_are_voted_on_and_scrambled_and_the_status_shows_who_asks(rig: Rig) -> None:
    def shown() -> tuple[int, bool]:
        return rig.host.status().voices, rig.host.status().vote_running

    await rig.pool.edit(player(1), 4000.0, "test")
    await rig.hello(SIX, Mode.KOTH)
    await rig.post(e.RoundLive(0.0, RoundId("r0"), SIX))
    first = await rig.post(typed(2, "vote"))
    assert shown() == (1, False)
    second = await rig.post(typed(5, "vote"))
    assert [type(order) for order in (*first.orders, *second.orders)] == [f.Say, f.Say, f.OpenVote]
    assert shown() == (2, True)
    rig.clock.now += 31.0  # early in a round they would be scrambled at once
    ended = await rig.post(e.VoteEnded(0.0, order=OrderId("o1"), yes=4, no=2))
    assert (ended.pending, ended.reason) == (True, Text(Phrase.REASON_VOTE))
    assert shown() == (0, False)
    decisions = (await rig.host.command(("why",), "token:owner")).lines
    assert decisions[0].args == ("pending", "the players voted for it")
    assert decisions[1].args == ("vote", "The vote passed: 4 of 6 for balanced teams.")
