"""An NS2 server's shuffles, with the solver and NS2's rating system behind the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.model import DueIf, Mode, Roster, RoundId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.wire import Reply
from tests.hosts import Rig, played, player, roster

STRONG, WEAK = (1, 2, 3, 4), (5, 6, 7, 8)
HERE = roster(STRONG, WEAK)
CHAIRS = frozenset((player(1), player(5)))
EVERY_OUTCOME = (DueIf(Side.A), DueIf(Side.B), DueIf(None))


def seated() -> Roster:
    return Roster(tuple(replace(entry, commander=entry.id in CHAIRS) for entry in HERE.entries))


async def begun(rig: Rig) -> Reply:
    """Four strong marines against four weak aliens, with a commander on each side."""
    for number in (*STRONG, *WEAK):
        await rig.pool.edit(player(number), 2000.0 if number in STRONG else 1000.0, "a test")
    return await rig.hello(seated(), Mode.NS2)


def the(kind: type[f.Assign], reply: Reply) -> f.Assign:
    (order,) = (order for order in reply.orders if isinstance(order, kind))
    return order


def said(reply: Reply) -> list[Phrase]:
    return [order.text.phrase for order in reply.orders if isinstance(order, f.Say)]


@played(system="ns2")
async def test_uneven_teams_are_shuffled_before_the_round(rig: Rig) -> None:
    assert (await begun(rig)).due_if == EVERY_OUTCOME
    order = the(f.Assign, await rig.post(e.RoundStarted(0.0, seated())))
    assert (order.moment, len(order.split.a), len(order.split.b)) == (Moment.FREEZE, 4, 4)
    # With the commanders in their chairs three strong and three weak players are left: one swap is the best.
    strong_marines = [number for number in STRONG if player(number) in order.split.a]
    assert len(strong_marines) == 3
    assert CHAIRS & set(order.split.a) == {player(1)}
    assert said(await rig.post(e.OrderDone(0.0, order.order))) == [Phrase.SHUFFLED_UNEVEN]


async def test_a_shuffle_that_was_ordered_outlives_a_restart_of_the_daemon(tmp_path: Path) -> None:
    async with Rig(tmp_path, system="ns2") as rig:
        await begun(rig)
        await rig.post(e.RoundLive(0.0, RoundId("r1"), seated()))
        answer = await rig.host.command(("shuffle", "next"), "token:owner")
        assert answer.lines == (Text(Phrase.SCRAMBLE_PENDING, (Text(Phrase.REASON_ADMIN),)),)
    async with Rig(tmp_path, system="ns2", seq=rig.seq) as again:
        await again.hello(seated(), Mode.NS2)
        order = the(f.Assign, await again.post(e.RoundStarted(0.0, seated())))
        assert order.reason.phrase is Phrase.REASON_ADMIN
