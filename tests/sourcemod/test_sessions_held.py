"""Players whom nobody may move, end to end: the plugin's bytecode, the game, and the real daemon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sourcemod.answerer import settle
from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, KOTH, RED, Reason
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

NAMES = [f"P{number}" for number in range(12)]


def running(new_evening: NewEvening, players: int, *, map_name: str = "pass_brickyard") -> Evening:
    """A running round of players of all strengths."""
    evening = new_evening(map_name)
    for name in NAMES[:players]:
        evening.seat(name)
    evening.rate(**{name: 1000.0 + 90 * number for number, name in enumerate(NAMES[:players])})
    evening.freeze()
    evening.live()
    evening.wait(1.0)
    return evening


def told(game: Game, text: str) -> bool:
    """Whether every player has read it."""
    return all(any(text in line for line in player.chat) for player in game.humans())


def test_six_against_six_with_duellists_stays_six_against_six(new_evening: NewEvening) -> None:
    """Before, none of the three duellists of one side who were to change it did, and the sides became 9 against 3."""
    evening = running(new_evening, 12, map_name="koth_harvest_final")
    game = evening.game
    duellists = game.teams.members(RED)[:3] + game.teams.members(BLU)[:1]
    # All that can be made even is made so by the others.
    strong = {player.name: 2400.0 if player.team == RED else 900.0 for player in game.humans()}
    evening.rate(**strong)
    for player in duellists:
        player.duel = True
    evening.wait(2.0)
    sides = {player.name: player.team for player in game.humans()}
    game.rcon("sm_eq_scramble now")
    settle(game)
    evening.wait(2.0)
    assert evening.sizes() == [6, 6]
    assert all(player.duel and player.team == sides[player.name] for player in duellists)
    assert any(player.team != sides[player.name] for player in game.humans())
    assert told(game, "Not moved, because in a duel: 4")
    (kept,) = evening.decisions("kept")
    assert set(kept["detail"]["players"]) == {str(player.steamid) for player in duellists}
    assert evening.decisions("failed") == []


def test_a_duel_ends_with_the_round_and_nobody_is_held_in_the_next_freeze(new_evening: NewEvening) -> None:
    evening = running(new_evening, 6, map_name="koth_harvest_final")
    game = evening.game
    for player in game.humans():
        player.duel = True
    sides = evening.sides()
    evening.rate(**dict.fromkeys(evening.side(RED), 2400.0), **dict.fromkeys(evening.side(BLU), 900.0))
    evening.win(RED)
    evening.freeze()
    assert evening.sizes() == [3, 3]
    assert evening.sides() != sides
    assert evening.decisions("kept") == []


@pytest.mark.slow
def test_who_is_held_stays_in_a_scramble_and_while_a_gap_is_closed(new_evening: NewEvening) -> None:
    """By the ball, here."""
    evening = running(new_evening, 6)
    game = evening.game
    player = game.teams.members(RED)[0]
    evening.rate(**{one.name: 2400.0 if one.team == RED else 900.0 for one in game.humans()})
    play.pick_up_ball(game, player)
    evening.wait(2.0)
    game.rcon("sm_eq_scramble now")
    settle(game)
    evening.wait(2.0)
    assert evening.sizes() == [3, 3]
    assert player.team == RED
    assert told(game, f": {player.name}")

    # Two of the other side leave, and the gap can be closed by this player alone, or by one of two others.
    for leaver in game.teams.members(BLU)[:2]:
        game.leave(leaver)
    evening.wait(13.0)
    assert evening.sizes() == [2, 2]
    assert (player.team, player.alive) == (RED, True)
    assert [one["kind"] for one in evening.decisions("move", "failed")] == ["move"]


@pytest.mark.slow
def test_the_arena_scramble_leaves_who_is_held(new_evening: NewEvening) -> None:
    evening = new_evening("arena_well", '[arena]\nround_one = "everyone"\n')
    game = evening.game
    for name in NAMES[:6]:
        game.connect(name)
    game.settle()
    evening.seat_together(*NAMES[:6])
    evening.freeze()
    evening.live()
    evening.win(RED)
    student = game.teams.members(RED)[0]
    game.teams.coach(evening.seat("Coach", "spectate"), student)
    side = student.team
    evening.freeze()
    assert evening.decisions("scramble")
    assert student.team == side
    assert evening.sizes() == [3, 3]
    assert evening.sitting_out() == ["Coach"]


# When nobody may be moved.


@pytest.mark.slow
def test_sudden_death_moves_nobody_and_a_scramble_waits_for_the_next_round(new_evening: NewEvening) -> None:
    """Before, the living of the larger side were respawned on the other one ten seconds later."""
    evening = running(new_evening, 8, map_name="cp_badlands")
    game = evening.game
    game.sm.convars["mp_stalemate_enable"].set("1")
    game.rounds.stalemate()
    evening.wait(2.0)
    for leaver in game.teams.members(BLU)[:2]:
        game.leave(leaver)
    sides = evening.sides()
    evening.wait(25.0)
    assert evening.sides() == sides
    assert [one["reason"] for one in evening.decisions("kept")] == ["No player is moved in Sudden Death."]
    assert evening.decisions("move") == []
    game.rcon("sm_eq_scramble now")
    settle(game)
    evening.wait(3.0)
    assert evening.sides() == sides
    assert any("No player is moved in Sudden Death" in line for line in game.sm.console)
    game.rounds.win(RED, Reason.OPPONENTS_DEAD)
    settle(game)
    evening.freeze()
    assert evening.sizes() == [3, 3]
    assert len(evening.decisions("scramble")) == 2  # the first is that of waiting


@pytest.mark.slow
def test_nobody_is_moved_in_the_last_seconds_of_the_owners_clock(new_evening: NewEvening) -> None:
    """BLU's clock has 25 s left: RED takes the hill, whose clock has more, and the gap is closed then."""
    evening = new_evening("koth_harvest_final", mode=replace(KOTH, length=90))
    game = evening.game
    for name in NAMES[:6]:
        evening.seat(name)
    evening.freeze()
    evening.live()
    play.capture(game, BLU, 0)
    settle(game)
    evening.wait(65.0)
    game.leave(game.teams.members(BLU)[0])
    game.leave(game.teams.members(BLU)[0])
    sides = evening.sides()
    evening.wait(14.0)
    assert evening.sides() == sides
    play.capture(game, RED, 0)
    settle(game)
    evening.wait(16.0)
    assert evening.sizes() == [2, 2]
    assert evening.decisions("failed") == []
