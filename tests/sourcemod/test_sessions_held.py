"""Players whom nobody may move, end to end: the plugin's bytecode, the game, and the real daemon."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.answerer import settle
from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, RED
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
