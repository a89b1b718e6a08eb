"""Each other mode's trigger, and a round after which it must not fire."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]


def evening_on(new_evening: NewEvening, map_name: str, players: int = 6) -> Evening:
    """A map on which waiting is over and its scramble, in every mode, was made: round 1 is live."""
    evening = new_evening(map_name)
    for number in range(players):
        evening.seat(f"P{number}")
    evening.freeze()
    evening.live()
    assert reasons(evening) == ["Waiting For Players is over"]
    assert sorted(evening.sizes()) == [players // 2, players - players // 2]
    return evening


def reasons(evening: Evening) -> list[str]:
    return [one["reason"] for one in evening.decisions("scramble")]


def test_attackers_who_capture_nothing_are_given_new_teams(new_evening: NewEvening) -> None:
    evening = evening_on(new_evening, "pl_upward")

    evening.win(RED, Reason.DEFENDED)
    evening.freeze()

    assert reasons(evening)[1:] == ["the losing side captured nothing"]


def test_attackers_who_captured_play_a_second_round_and_then_get_new_teams(new_evening: NewEvening) -> None:
    evening = evening_on(new_evening, "cp_gorge")

    play.capture(evening.game, BLU, 0, evening.game.teams.members(BLU)[0])
    evening.win(RED, Reason.DEFENDED)
    assert evening.status()["pending"] is None
    evening.freeze()
    evening.live()
    play.capture(evening.game, BLU, 0, evening.game.teams.members(BLU)[0])
    evening.win(BLU)
    evening.freeze()

    assert reasons(evening)[1:] == ["full rounds since the last scramble: 2"]


def test_the_stages_of_a_round_are_one_round_and_their_captures_add_up(new_evening: NewEvening) -> None:
    evening = evening_on(new_evening, "cp_dustbowl")
    play.capture(evening.game, BLU, 0, evening.game.teams.members(BLU)[0])
    play.fight(evening.game)
    evening.game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    evening.game.settle()
    assert evening.status()["round"] == 1

    evening.freeze()
    evening.live()
    evening.win(RED, Reason.DEFENDED)

    assert evening.status()["pending"] is None
    assert {evening.rounds(player) for player in evening.game.humans()} == {1}


def test_a_side_that_never_captured_gets_new_teams(new_evening: NewEvening) -> None:
    evening = evening_on(new_evening, "cp_badlands")

    play.capture(evening.game, RED, 0, evening.game.teams.members(RED)[0])
    evening.win(RED)
    evening.freeze()

    assert reasons(evening)[1:] == ["the losing side captured nothing"]
