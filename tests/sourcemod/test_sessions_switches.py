"""The game switches the sides, but not those who duel: end to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.sourcemod.audit import Session
from tests.sourcemod.rig.game.facts import BLU, PAYLOAD, RED, Reason, opponent
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]


def test_a_duellist_stays_when_the_sides_switch(new_evening: NewEvening) -> None:
    """HandleSwitchTeams leaves duellists where they are, so the sides are 4 against 2: somebody else evens them."""
    session = Session(new_evening, "pl_upward", mode=replace(PAYLOAD, setup=6, length=90))
    game = session.game
    session.live()
    first = session.sides
    duellist = game.teams.members(RED)[0]
    session.capture(BLU, 0, 1, 2)
    duellist.duel = True  # the win has ended those before it
    # The duellist alone would even the skill too: 800 = (800 + 3 * 1000 - 2 * 1100) / 2.
    ratings = {name: 1100.0 if side == RED else 1000.0 for name, side in first.items()}
    session.evening.rate(**ratings | {duellist.name: 800.0})
    session.live()
    assert session.sides == {name: opponent(side) for name, side in first.items()} | {duellist.name: RED}
    switched = session.sides
    session.evening.wait(12.0)
    assert session.evening.sizes() == [3, 3]
    assert (duellist.team, duellist.duel) == (RED, True)
    assert [one["kind"] for one in session.evening.decisions("move", "failed")] == ["move"]
    session.win(RED, Reason.DEFENDED)

    assert session.pending == "the losing side captured nothing"
    first_round, second_round = session.check()
    assert first_round.played == first
    assert second_round.played == second_round.lineup == switched
