"""Arena evenings, end to end: the plugin's bytecode against the real daemon."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.rig.game.facts import BLU, RED, State
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]


def test_a_walk_out_in_the_bonus_time_ends_in_a_phantom_start_and_then_a_round(new_evening: NewEvening) -> None:
    evening = new_evening("arena_well")
    names = [f"P{number}" for number in range(6)]
    for name in names:
        evening.game.connect(name)
    evening.game.settle()
    evening.seat_together(*names)
    evening.round(RED)
    evening.freeze()
    assert evening.sizes() == [3, 3]
    evening.live()
    evening.win(RED)
    for player in evening.game.teams.members(BLU):
        evening.game.leave(player)
    evening.game.settle()
    assert evening.sizes() == [3, 0]
    starts = len(evening.game.events("teamplay_round_start"))
    evening.game.until(lambda: len(evening.game.events("teamplay_round_start")) > starts, within=30)
    assert evening.game.rounds.state is State.PREGAME
    evening.freeze()
    assert evening.sizes() == [1, 1]
    evening.live()
    evening.win(BLU)
    assert evening.status()["round"] == 3
