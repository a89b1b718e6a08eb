"""King of the Hill end to end."""

from __future__ import annotations

from dataclasses import replace

from tests.sourcemod.audit import NOTHING, WAITING, Session
from tests.sourcemod.rig.game.facts import BLU, KOTH, RED
from tests.sourcemod.sessions import NewEvening

SHORT = replace(KOTH, length=15)


def test_a_hill_that_is_held_through_overtime(new_evening: NewEvening) -> None:
    """RED stands on the point when BLU's clock is down, and BLU wins as soon as RED steps off; then RED takes it."""
    session = Session(new_evening, "koth_harvest_final", mode=SHORT)
    game = session.game
    session.stack()
    before = session.sides
    session.live()
    assert session.read(WAITING)
    assert session.sides != before
    sides = session.sides

    session.capture(BLU, 0)
    session.evening.wait(14.0)
    game.points.start_capture(0, RED, game.teams.members(RED)[:1])
    session.evening.wait(8.0)
    assert game.rounds.live
    assert game.rules.props["m_bInOvertime"]
    game.points.stop_capture(0)
    session.until_over()
    assert session.pending == NOTHING

    session.stack()
    session.live()
    assert session.sides != sides
    sides = session.sides
    session.capture(BLU, 0)
    session.evening.wait(3.0)
    session.capture(RED, 0)
    session.until_over()
    assert session.pending is None
    session.live()

    assert session.sides == sides
    assert session.scrambles == [WAITING, NOTHING]
    stored = session.check()
    assert [(one.winner, one.captures, one.partial, one.unrated) for one in stored] == [
        (BLU, (0, 1), False, None),
        (RED, (1, 1), False, None),
    ]
    assert [len(one.played) for one in stored] == [6, 6]
    assert stored[0].seconds > 20
    assert stored[1].played == stored[1].lineup == sides
