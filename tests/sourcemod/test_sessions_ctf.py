"""Capture the flag end to end: what happens when the map's time runs out."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.audit import Session
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import RED, Reason
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

NOTHING = "the losing side captured nothing"


def last_minute(new_evening: NewEvening) -> Session:
    """The only round of a map of one minute."""
    session = Session(new_evening, "ctf_2fort")
    session.game.sm.convars["mp_timelimit"].set("1")
    session.game.map_cycle = ["ctf_2fort", "koth_harvest_final"]
    session.live()
    return session


def test_a_flag_that_is_away_when_time_is_up_may_still_win(new_evening: NewEvening) -> None:
    """BLU has brought home no flag; teams are due, but the map is over."""
    session = last_minute(new_evening)
    game = session.game
    sides = session.sides
    carrier = game.teams.members(RED)[0]
    for _ in range(2):
        play.capture_flag(game, carrier)
    play.pick_up_flag(game, carrier)
    session.evening.wait(62.0)
    assert game.rounds.live
    assert game.rules.props["m_bInOvertime"]
    play.capture_flag(game, carrier)
    session.until_over()
    assert game.rounds.reason == Reason.FLAG_CAPTURE_LIMIT
    assert session.pending == NOTHING
    (stored,) = session.check()
    assert (stored.mode, stored.winner, stored.captures, stored.unrated) == ("ctf", RED, (3, 0), None)
    assert stored.played == sides

    game.until(lambda: game.map == "koth_harvest_final")
    game.settle()
    assert session.pending is None
    assert [one["reason"] for one in session.evening.decisions("dropped")] == [NOTHING]
