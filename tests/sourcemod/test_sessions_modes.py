"""Each other mode's trigger, and a round after which it must not fire."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize("map_name", ["cp_gorge", "pl_upward"])
def test_attackers_who_capture_nothing_are_given_new_teams(new_evening: NewEvening, map_name: str) -> None:
    evening = evening_on(new_evening, map_name)

    evening.win(RED, Reason.DEFENDED)
    evening.freeze()

    assert reasons(evening)[1:] == ["the losing side captured nothing"]


@pytest.mark.slow
@pytest.mark.parametrize("map_name", ["cp_gorge", "pl_upward"])
def test_attackers_who_captured_play_a_second_round_and_then_get_new_teams(
    new_evening: NewEvening, map_name: str
) -> None:
    evening = evening_on(new_evening, map_name)

    play.capture(evening.game, BLU, 0, evening.game.teams.members(BLU)[0])
    evening.win(RED, Reason.DEFENDED)
    assert evening.status()["pending"] is None
    evening.freeze()
    evening.live()
    play.capture(evening.game, BLU, 0, evening.game.teams.members(BLU)[0])
    evening.win(BLU)
    evening.freeze()

    assert reasons(evening)[1:] == ["full rounds since the last scramble: 2"]


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("map_name", ["koth_harvest_final", "cp_badlands"])
def test_a_side_that_never_captured_gets_new_teams(new_evening: NewEvening, map_name: str) -> None:
    evening = evening_on(new_evening, map_name)

    play.capture(evening.game, RED, 0, evening.game.teams.members(RED)[0])
    evening.win(RED)
    evening.freeze()

    assert reasons(evening)[1:] == ["the losing side captured nothing"]


@pytest.mark.slow
@pytest.mark.parametrize("map_name", ["koth_harvest_final", "cp_badlands"])
def test_a_side_that_captured_once_keeps_its_teams(new_evening: NewEvening, map_name: str) -> None:
    evening = evening_on(new_evening, map_name)

    for _ in range(3):
        play.capture(evening.game, BLU, 0, evening.game.teams.members(BLU)[0])
        play.capture(evening.game, RED, 0, evening.game.teams.members(RED)[0])
        evening.win(RED)
        evening.freeze()
        evening.live()

    assert reasons(evening) == ["Waiting For Players is over"]


@pytest.mark.slow
def test_a_side_that_never_captured_the_flag_gets_new_teams(new_evening: NewEvening) -> None:
    evening = evening_on(new_evening, "ctf_2fort")
    play.fight(evening.game)
    for _ in range(3):
        play.capture_flag(evening.game, evening.game.teams.members(RED)[0])
    evening.game.settle()
    evening.freeze()

    assert reasons(evening)[1:] == ["the losing side captured nothing"]


@pytest.mark.slow
def test_a_side_that_captured_the_flag_keeps_its_teams(new_evening: NewEvening) -> None:
    evening = evening_on(new_evening, "ctf_2fort")
    play.fight(evening.game)
    play.capture_flag(evening.game, evening.game.teams.members(BLU)[0])
    for _ in range(3):
        play.capture_flag(evening.game, evening.game.teams.members(RED)[0])
    evening.game.settle()
    evening.freeze()

    assert reasons(evening) == ["Waiting For Players is over"]


@pytest.mark.slow
def test_a_payload_race_is_scrambled_after_waiting_only(new_evening: NewEvening) -> None:
    evening = evening_on(new_evening, "plr_hightower")
    for _ in range(3):
        evening.win(RED)
        evening.freeze()
        evening.live()

    assert reasons(evening) == ["Waiting For Players is over"]


@pytest.mark.slow
def test_an_odd_number_outside_arena_is_split_unevenly_and_nobody_is_benched(new_evening: NewEvening) -> None:
    evening = evening_on(new_evening, "koth_harvest_final", players=7)

    assert evening.sitting_out() == []


@pytest.mark.slow
@pytest.mark.parametrize(("map_name", "convars"), [("mvm_coaltown", {}), ("cp_badlands", {"mp_tournament": "1"})])
def test_where_it_has_no_business_it_stands_aside(
    new_evening: NewEvening, map_name: str, convars: dict[str, str]
) -> None:
    evening = new_evening("koth_harvest_final")
    evening.game.server_cfg |= convars
    evening.game.start_map(map_name)
    evening.game.settle()
    for number in range(4):
        evening.game.add(f"P{number}", "red" if number < 3 else "blue")
    evening.wait(30)

    assert evening.status()["inactive_reason"]
    assert evening.decisions("scramble", "move", "place") == []
