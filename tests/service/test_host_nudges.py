"""Orders that cannot go out with a reply make the script call."""

from __future__ import annotations

from equipoise.core import effects
from equipoise.core.events import Phase
from equipoise.core.model import Mode, Side
from tests.hosts import Rig, played, roster

FULL = roster(range(1, 7), range(7, 13))


@played
async def test_what_a_script_reports_is_answered_in_the_reply_and_nudges_nobody(rig: Rig) -> None:
    await rig.hello(FULL)
    for name in "abcd":
        await rig.play(name, FULL, Side.A)

    assert rig.nudges == 0


@played
async def test_an_order_by_an_admin_from_outside_nudges_the_script_which_gets_it_with_its_next_call(rig: Rig) -> None:
    await rig.hello(roster([1, 2, 3], [4]), Mode.KOTH, Phase.FREEZE)

    await rig.host.command(("scramble", "now"), "token:ann")

    assert rig.nudges == 1
    reply = await rig.post()
    assert any(isinstance(order, effects.Assign) for order in reply.orders)


@played
async def test_a_dry_run_orders_nothing(rig: Rig) -> None:
    await rig.hello(FULL, Mode.KOTH, Phase.RUNNING)

    await rig.host.command(("scramble",), "token:ann", dry=True)
    await rig.host.command(("balance",), "token:ann", dry=True)

    assert rig.nudges == 0


@played
async def test_what_is_switched_or_pending_reaches_the_script_at_once(rig: Rig) -> None:
    await rig.hello(FULL)

    for words in (("off",), ("on",), ("scramble", "next"), ("scramble", "cancel")):
        before = rig.nudges
        await rig.host.command(words, "token:ann")
        assert rig.nudges > before, words
        await rig.post()
