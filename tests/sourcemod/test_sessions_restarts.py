"""The game restarts, switches sides or scrambles, by itself or by an admin: end to end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sourcemod.audit import Session
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, PAYLOAD, RED, Reason, opponent
from tests.sourcemod.sessions import NewEvening

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


def test_a_duellist_stays_when_the_sides_switch(new_evening: NewEvening) -> None:
    """HandleSwitchTeams leaves duellists where they are, so the sides are 4 against 2: somebody else evens them."""
    session = Session(new_evening, "pl_upward", mode=replace(PAYLOAD, setup=6, length=90))
    game = session.game
    session.live()
    first = session.sides
    duellist = game.teams.members(RED)[0]
    session.capture(BLU, 0, 1, 2)
    duellist.duel = True  # the win has ended those before it
    # The duellist alone would even the skill too: 800 = (800 + 3 * 1000 - 2 * 1100) / 2.
    ratings = {name: 1100.0 if side == RED else 1000.0 for name, side in first.items()}
    session.evening.rate(**ratings | {duellist.name: 800.0})
    session.live()
    assert session.sides == {name: opponent(side) for name, side in first.items()} | {duellist.name: RED}
    switched = session.sides
    session.evening.wait(12.0)
    assert session.evening.sizes() == [3, 3]
    assert (duellist.team, duellist.duel) == (RED, True)
    assert [one["kind"] for one in session.evening.decisions("move", "failed")] == ["move"]
    session.win(RED, Reason.DEFENDED)

    assert session.pending == "the losing side captured nothing"
    first_round, second_round = session.check()
    assert first_round.played == first
    assert second_round.played == second_round.lineup == switched


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
    game.rcon(command)
    game.until(lambda: game.events("teamplay_restart_round")[1:])
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
