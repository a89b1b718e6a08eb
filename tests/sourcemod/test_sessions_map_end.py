"""A map ends by each of the game's limits, and the next one begins: end to end."""

from __future__ import annotations

import pytest

from tests.sourcemod.audit import Session
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State
from tests.sourcemod.sessions import NewEvening

WAITING = "Waiting For Players is over"
NOTHING = "the losing side captured nothing"


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("mp_winlimit", "1", "Reached Win Limit"),
        ("mp_timelimit", "1", "Reached Time Limit"),
        ("nextlevel", "cp_badlands", "NextLevel CVAR"),
    ],
)
def test_a_map_that_ends_by_a_limit_ends_its_session_and_no_round(
    new_evening: NewEvening, limit: str, value: str, said: str
) -> None:
    """Its last round is stored once; what was due ends with it; the players wait again on the next map."""
    session = Session(new_evening, "koth_harvest_final", players=4)
    game, evening = session.game, session.evening
    game.map_cycle = ["koth_harvest_final", "cp_badlands"]
    game.sm.convars["mp_chattime"].set("3")
    session.live()
    game.rcon(f"{limit} {value}")
    if limit == "mp_timelimit":
        evening.wait(56.0)
    session.win(RED, Reason.POINTS_CAPTURED)
    assert session.pending == NOTHING
    game.until(lambda: game.rounds.state is State.GAME_OVER, within=10)
    assert [fields["reason"] for _, name, fields in game.history if name.endswith("game_over")] == [said]
    game.until(lambda: game.map == "cp_badlands", within=10)
    game.settle()
    status = evening.status()
    assert (status["map"], status["round"], status["pending"]) == ("cp_badlands", 1, None)
    assert [one["reason"] for one in evening.decisions("dropped")] == [NOTHING]

    for player in game.humans():
        game.join(player, "auto")
        game.settle()
        game.command(player, "joinclass soldier")
    session.live()
    session.capture(BLU, 2)
    session.win(BLU, Reason.POINTS_CAPTURED)
    assert session.scrambles == [WAITING, WAITING]
    stored = session.check()
    assert [(one.map, one.winner, one.unrated, len(one.played)) for one in stored] == [
        ("koth_harvest_final", RED, None, 4),
        ("cp_badlands", BLU, None, 4),
    ]


def test_a_round_that_a_change_of_map_cuts_off_is_stored_nowhere(new_evening: NewEvening) -> None:
    session = Session(new_evening, "koth_harvest_final", players=4)
    session.live()
    session.capture(BLU, 0)
    session.win(RED, Reason.POINTS_CAPTURED)
    session.live()
    session.capture(BLU, 0)
    session.game.rcon("changelevel cp_badlands")
    session.evening.wait(1.0)

    assert session.evening.status()["map"] == "cp_badlands"
    assert [one.winner for one in session.check()] == [RED]
