"""Admins restart the game at moments of their own choice: end to end."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.audit import Session
from tests.sourcemod.rig.game.facts import BLU, RED, Reason
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

WAITING = "Waiting For Players is over"
NOTHING = "the losing side captured nothing"


def restarted(session: Session, command: str) -> None:
    """A command that restarts the game has done so; waiting's own restart came first."""
    session.game.rcon(command)
    session.game.until(lambda: session.game.events("teamplay_restart_round")[1:], within=60)


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
