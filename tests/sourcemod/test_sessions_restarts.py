"""The game restarts, switches sides or scrambles, a map ends, a night passes: end to end."""

from __future__ import annotations

import pytest

from tests.sourcemod.audit import NOTHING, WAITING, Session
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State
from tests.sourcemod.sessions import NewEvening


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


@pytest.mark.parametrize("command", ["mp_scrambleteams", "mp_scrambleteams 2"])
def test_an_admin_scrambles_by_the_games_own_command(new_evening: NewEvening, command: str) -> None:
    """The second is what a native vote does. The running round is void, and the next is rated on the game's teams."""
    session = Session(new_evening, "koth_harvest_final")
    game, evening = session.game, session.evening
    session.live()
    before = session.sides
    for killer, victim in zip(game.teams.members(RED), game.teams.members(BLU), strict=True):
        play.kill(game, killer, victim)
    session.capture(BLU, 0)
    restarted(session, command)
    session.live()
    scrambled = session.sides
    assert scrambled != before
    assert evening.status()["round"] == 1

    moved = next(player for player in game.humans() if player.team != before[player.name])
    game.join(moved, before[moved.name])
    evening.wait(1.0)
    assert moved.team == scrambled[moved.name]
    assert "stay there" in moved.chat[-1]
    session.capture(RED, 0)
    session.win(BLU, Reason.POINTS_CAPTURED)
    session.live()

    assert session.sides == scrambled
    assert session.scrambles == [WAITING]
    assert evening.decisions("move") == []
    (stored,) = session.check()
    assert (stored.winner, stored.captures, stored.partial, stored.unrated) == (BLU, (1, 0), False, None)
    assert stored.played == stored.lineup == scrambled


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
