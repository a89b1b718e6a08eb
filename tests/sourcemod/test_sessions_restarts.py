"""Admins restart the game at moments of their own choice: end to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sourcemod.audit import Session
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, RED, STAGED_ATTACK_DEFEND, Reason, State, opponent
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

pytestmark = pytest.mark.slow

WAITING = "Waiting For Players is over"
NOTHING = "the losing side captured nothing"


def restarted(session: Session, command: str) -> None:
    """A command that restarts the game has done so; waiting's own restart came first."""
    session.game.rcon(command)
    session.game.until(lambda: session.game.events("teamplay_restart_round")[1:], within=60)


def test_a_restart_in_the_bonus_time_of_a_stage_voids_the_stage(new_evening: NewEvening) -> None:
    session = Session(new_evening, "cp_dustbowl", mode=replace(STAGED_ATTACK_DEFEND, setup=6, length=15))
    session.live()
    session.capture(BLU, 0, 1)
    restarted(session, "mp_restartgame 1")
    session.live()
    assert session.game.points.stage == 0
    session.until_over()

    assert session.pending == NOTHING
    (stored,) = session.check()
    assert (stored.winner, stored.captures, stored.partial, stored.unrated) == (RED, (0, 0), False, None)


def test_a_restart_in_the_freeze_of_a_scramble_keeps_the_new_teams(new_evening: NewEvening) -> None:
    session = Session(new_evening, "koth_harvest_final")
    session.live()
    session.win(RED, Reason.POINTS_CAPTURED)
    session.stack()
    before = session.sides
    session.evening.freeze()
    scrambled = session.sides
    assert scrambled != before
    restarted(session, "mp_restartgame 1")
    session.live()

    assert session.sides == scrambled
    assert session.scrambles == [WAITING, NOTHING]
    session.capture(RED, 0)
    session.win(BLU, Reason.POINTS_CAPTURED)
    assert [one.winner for one in session.check()] == [RED, BLU]


def test_a_switch_that_an_admin_orders_takes_the_locks_along(new_evening: NewEvening) -> None:
    session = Session(new_evening, "cp_badlands")
    session.stack()
    session.live()
    first = session.sides
    session.capture(RED, 2)
    restarted(session, "mp_switchteams")
    session.live()

    assert session.sides == {name: opponent(side) for name, side in first.items()}
    game, evening = session.game, session.evening
    player, opposite = game.teams.members(RED)[0], game.teams.members(BLU)[0]
    game.join(player, "blue")
    evening.wait(2.5)  # one jointeam in two seconds
    assert player.team == RED
    assert "stay there" in player.chat[-1]

    # Who watches for a while returns to the side of their group, although either would fit now.
    play.kill(game, opposite, player)
    game.join(player, "spectate")
    game.leave(opposite)
    evening.wait(2.5)
    game.join(player, "blue")
    evening.wait(1.0)
    assert player.team == RED
    assert "you were placed on that side" in player.chat[-1]
    session.capture(BLU, 2)
    session.win(BLU, Reason.POINTS_CAPTURED)
    (stored,) = session.check()
    assert (stored.captures, stored.played) == ((0, 1), session.sides | {opposite.name: BLU})


def test_a_wait_that_an_admin_cancels_is_rated_and_its_scramble_comes_with_the_next_round(
    new_evening: NewEvening,
) -> None:
    session = Session(new_evening, "koth_harvest_final")
    session.stack()
    stacked = session.sides
    session.game.until(lambda: session.game.rounds.state is State.RUNNING)
    session.game.rcon("mp_waitingforplayers_cancel 1")
    session.evening.wait(2.0)
    assert session.sides == stacked
    assert session.pending == WAITING
    play.fight(session.game)
    session.capture(BLU, 0)
    session.win(RED, Reason.POINTS_CAPTURED)
    session.live()

    assert session.sides != stacked
    assert session.scrambles == [WAITING]
    (stored,) = session.stored()
    assert (stored.winner, stored.captures, stored.partial, stored.unrated) == (RED, (0, 1), False, None)
    assert stored.played == stacked
