"""Five control points end to end: rounds that no side wins in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sourcemod.audit import Session
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, FIVE_POINTS, RED, SIDES, Reason, State
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

SHORT = replace(FIVE_POINTS, length=15)
MIDDLE = 2


def test_a_round_that_the_timer_ends_is_drawn_and_keeps_its_teams(new_evening: NewEvening) -> None:
    session = Session(new_evening, "cp_badlands", mode=SHORT)
    session.live()
    sides = session.sides
    session.capture(RED, MIDDLE)
    session.until_over()
    assert session.game.rounds.reason == Reason.STALEMATE
    assert session.pending is None
    session.live()

    assert session.sides == sides
    (stored,) = session.check()
    assert (stored.mode, stored.winner, stored.captures) == ("symmetric_cp", 0, (1, 0))
    assert (stored.partial, stored.unrated, stored.played) == (False, None, sides)
    # A draw between equals: no rating changes.
    assert {session.evening.rating(player) for player in session.game.humans()} == {1000.0}


@pytest.mark.slow
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
