"""Five control points end to end: rounds that no side wins in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.sourcemod.audit import Session
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, FIVE_POINTS, SIDES, State
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

SHORT = replace(FIVE_POINTS, length=15)
MIDDLE = 2


def test_sudden_death_is_the_end_of_the_same_round(new_evening: NewEvening) -> None:
    """Everybody returns once; the dead stay dead, and the side that is wiped out without a capture gets new teams."""
    session = Session(new_evening, "cp_badlands", mode=SHORT)
    game = session.game
    game.sm.convars["mp_stalemate_enable"].set("1")
    session.live()
    sides = session.sides
    session.capture(BLU, MIDDLE)
    red, blu = (game.teams.members(side) for side in SIDES)
    play.kill(game, red[0], blu[0])
    game.until(lambda: game.rounds.state is State.STALEMATE)
    session.evening.wait(1.0)
    assert all(player.alive for player in game.humans())
    assert session.evening.status()["round"] == 1
    for player in red:
        play.kill(game, blu[0], player)
    session.until_over()
    assert session.pending == "the losing side captured nothing"
    session.stack()
    session.live()

    assert session.sides != sides
    (stored,) = session.check()
    assert (stored.winner, stored.captures, stored.unrated, stored.played) == (BLU, (0, 1), None, sides)
