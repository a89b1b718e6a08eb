"""Modes without a trigger of their own, end to end: their rounds are rated, and teams are made after waiting only."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.audit import Session
from tests.sourcemod.rig.game.facts import BLU, RED, Reason
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

WAITING = "Waiting For Players is over"


def rounds_without_scrambles(session: Session, mode: str, end: Callable[[int], None]) -> None:
    """RED wins two rounds, in which BLU captures nothing, and BLU one."""
    session.stack()
    before = session.sides
    session.live()
    assert session.read(WAITING)
    sides = session.sides
    assert sides != before
    for winner in (RED, RED, BLU):
        end(winner)
        session.until_over()
        assert session.pending is None
        session.live()
        assert session.sides == sides

    assert session.scrambles == [WAITING]
    stored = session.check()
    assert [(one.mode, one.winner, one.partial, one.unrated) for one in stored] == [
        (mode, winner, False, None) for winner in (RED, RED, BLU)
    ]
    assert [one.played for one in stored] == [sides] * 3


def test_a_payload_race(new_evening: NewEvening) -> None:
    session = Session(new_evening, "plr_hightower")
    rounds_without_scrambles(session, "payload_race", lambda winner: session.win(winner, Reason.DEFENDED))


def test_player_destruction(new_evening: NewEvening) -> None:
    session = Session(new_evening, "pd_watergate")
    reason = Reason.PLAYER_DESTRUCTION_POINTS
    rounds_without_scrambles(session, "other", lambda winner: session.win(winner, reason))


def test_passtime(new_evening: NewEvening) -> None:
    session = Session(new_evening, "pass_brickyard")

    def goals(winner: int) -> None:
        for _ in range(5):
            session.game.flags.score(winner)

    rounds_without_scrambles(session, "other", goals)
    assert session.game.rounds.reason == Reason.SCORED
