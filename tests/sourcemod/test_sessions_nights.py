"""A server that is empty over night: end to end."""

from __future__ import annotations

import pytest

from tests.sourcemod.audit import Session
from tests.sourcemod.rig.game.facts import BLU, RED, Reason
from tests.sourcemod.sessions import NewEvening

WAITING = "Waiting For Players is over"
HOURS = 9


@pytest.mark.parametrize("hibernates", [True, False])
def test_an_empty_server_waits_again_in_the_morning_and_has_lost_nothing(
    new_evening: NewEvening, hibernates: bool
) -> None:
    """All leave a running round, which is void. The next day's first round is one of new teams."""
    session = Session(new_evening, "koth_harvest_final")
    game, evening = session.game, session.evening
    game.hibernates = hibernates
    session.live()
    session.capture(BLU, 0)
    session.win(RED, Reason.POINTS_CAPTURED)
    session.live()
    people, before = game.humans(), session.sides
    for player in people:
        game.leave(player)
        evening.wait(1.0)
    evening.wait(30.0)
    # A night in frames would be millions of the same: the clocks go on, and what is due then is due at once.
    game.now += HOURS * 3600
    evening.wait(20.0)
    status = evening.status()
    assert (status["lost"], status["players_a"], status["players_b"]) == (False, 0, 0)
    # A game that hibernates stands still in the middle of its round.
    assert status["phase"] == ("running" if hibernates else "idle")
    assert len(session.check()) == 1

    for player in people:
        evening.seat(player.name, steamid=player.steamid)
    assert game.rounds.waiting
    session.stack()
    stacked = session.sides
    session.live()
    assert session.sides != stacked
    assert session.read(WAITING)
    assert session.scrambles == [WAITING, WAITING]
    sides = session.sides
    session.capture(RED, 0)
    session.win(BLU, Reason.POINTS_CAPTURED)

    first, second = session.check()
    assert (first.winner, second.winner, second.captures) == (RED, BLU, (1, 0))
    assert first.played == before
    assert second.played == second.lineup == sides
    assert [evening.rounds(player) for player in game.humans()] == [2] * 6
