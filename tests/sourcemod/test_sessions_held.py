"""Players whom nobody may move, end to end: the plugin's bytecode, the game, and the real daemon."""

from __future__ import annotations

from tests.sourcemod.answerer import settle
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, RED
from tests.sourcemod.sessions import NewEvening


def test_who_is_held_stays_in_a_scramble_and_while_a_gap_is_closed(new_evening: NewEvening) -> None:
    """By the ball, here."""
    evening = new_evening("pass_brickyard")
    game = evening.game
    for number in range(6):
        evening.seat(f"P{number}")
    evening.freeze()
    evening.live()
    player = game.teams.members(RED)[0]
    evening.rate(**{one.name: 2400.0 if one.team == RED else 900.0 for one in game.humans()})
    play.pick_up_ball(game, player)
    evening.wait(2.0)
    game.rcon("sm_eq_scramble now")
    settle(game)
    evening.wait(2.0)
    assert evening.sizes() == [3, 3]
    assert player.team == RED
    assert all(any(f": {player.name}" in line for line in other.chat) for other in game.humans())

    # Two of the other side leave, and the gap can be closed by this player alone, or by one of two others.
    for leaver in game.teams.members(BLU)[:2]:
        game.leave(leaver)
    evening.wait(13.0)
    assert evening.sizes() == [2, 2]
    assert (player.team, player.alive) == (RED, True)
    assert [one["kind"] for one in evening.decisions("move", "failed")] == ["move"]
