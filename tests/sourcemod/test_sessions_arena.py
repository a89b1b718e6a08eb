"""Arena evenings, end to end: the plugin's bytecode against the real daemon."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.sourcemod.answerer import settle
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, RED, State
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

FIVE = {"Ann": 1900, "Bob": 1500, "Cid": 1480, "Dee": 1100, "Eve": 900}


def five(new_evening: NewEvening) -> Evening:
    """Five rated players on an arena map."""
    evening = new_evening("arena_well")
    for name in FIVE:
        evening.game.connect(name)
    evening.game.settle()
    evening.rate(**FIVE)
    evening.seat_together(*FIVE)
    return evening


def test_an_arena_evening(new_evening: NewEvening) -> None:
    """Duel, round 2, equal sides between scrambles, a bench that goes round, and a streak that scrambles."""
    evening = five(new_evening)

    evening.freeze()
    assert sorted(evening.side(RED) + evening.side(BLU)) == ["Bob", "Cid"]
    assert evening.sitting_out() == ["Ann", "Dee", "Eve"]
    evening.live()
    evening.win(RED)

    evening.freeze()
    assert evening.sizes() == [2, 2]
    (scramble,) = evening.decisions("scramble")
    assert scramble["reason"] == "round 2 is always balanced"
    assert abs(scramble["detail"]["after"] - 0.5) < 0.02
    benched = [evening.sitting_out()]
    for _ in range(3):
        evening.live()
        evening.win(RED)
        evening.freeze()
        assert evening.sizes() == [2, 2]
        benched.append(evening.sitting_out())

    assert [one["reason"] for one in evening.decisions("scramble")] == ["round 2 is always balanced", "3 wins in a row"]
    # Ann, Dee and Eve sat out the duel: those who did not come first, and no player twice in a row.
    assert len({bench[0] for bench in benched}) >= 3
    assert all(one != two for one, two in pairwise(benched))


@pytest.mark.slow
def test_the_first_two_play_round_one_and_later_players_enter_in_round_two(new_evening: NewEvening) -> None:
    evening = new_evening("arena_well")
    players = [evening.seat(name) for name in ("Ann", "Bob", "Cid", "Dee")]
    for late in players[2:]:
        late.choose("soldier")  # the rig's joinclass does nothing for spectators
    assert sorted(evening.side(RED) + evening.side(BLU)) == ["Ann", "Bob"]
    evening.live()
    assert evening.sitting_out() == ["Cid", "Dee"]
    evening.win(RED)
    evening.freeze()

    assert evening.sizes() == [2, 2]
    assert all(player.alive for player in players)
    assert [evening.rounds(player) for player in players] == [1, 1, 0, 0]
    (scramble,) = evening.decisions("scramble")
    assert scramble["reason"] == "round 2 is always balanced"


@pytest.mark.slow
def test_nobody_dies_or_loses_a_point_by_being_placed(new_evening: NewEvening) -> None:
    evening = five(new_evening)
    for _ in range(3):
        evening.round(RED)
        evening.freeze()

    for player in evening.game.humans():
        assert player.suicides == 0
        assert not player.misplaced


@pytest.mark.slow
def test_a_stalemate_resets_the_streak(new_evening: NewEvening) -> None:
    evening = five(new_evening)
    for _ in range(3):
        evening.round(RED)
    assert evening.status()["streak"] == 2

    evening.freeze()
    evening.live()
    play.fight(evening.game)
    evening.game.rounds.stalemate()
    settle(evening.game)
    assert evening.status()["streak"] == 0

    evening.round(RED)
    evening.round(RED)
    assert not evening.status()["pending"]
    evening.round(RED)
    assert evening.status()["pending"] == "3 wins in a row"


@pytest.mark.slow
def test_when_one_side_walks_out_the_others_are_dealt_anew_and_play_on(new_evening: NewEvening) -> None:
    evening = five(new_evening)
    evening.round(RED)
    evening.freeze()
    evening.live()
    play.fight(evening.game)
    for player in list(evening.game.teams.members(BLU)):
        evening.game.leave(player)
    evening.game.settle()

    evening.game.until(lambda: evening.game.rounds.state is not State.STALEMATE)
    evening.freeze()

    assert evening.sizes() == [1, 1]
    evening.live()
    evening.win(RED)
    assert evening.status()["round"] == 3


@pytest.mark.slow
def test_a_joiner_in_a_running_round_waits_and_plays_in_the_next(new_evening: NewEvening) -> None:
    evening = five(new_evening)
    evening.round(RED)
    evening.freeze()
    evening.live()

    evening.seat("Fay")
    assert "Fay" in evening.sitting_out()
    assert evening.status()["waiting"] == 2
    evening.win(RED)
    evening.freeze()

    assert evening.sizes() == [3, 3]
    assert evening.sitting_out() == []


@pytest.mark.slow
def test_every_round_is_rated_once_for_its_participants(new_evening: NewEvening) -> None:
    evening = five(new_evening)
    evening.round(RED)

    played = {player.name: evening.rounds(player) for player in evening.game.humans()}

    assert played == {"Ann": 0, "Bob": 1, "Cid": 1, "Dee": 0, "Eve": 0}


@pytest.mark.slow
def test_with_fewer_than_four_the_scramble_waits_and_sides_stay_one_against_one(new_evening: NewEvening) -> None:
    evening = new_evening("arena_well")
    for name in ("Ann", "Bob", "Cid"):
        evening.seat(name)
    for _ in range(3):
        evening.round(RED)
        evening.freeze()
        assert evening.sizes() == [1, 1]

    assert evening.status()["pending"] == "round 2 is always balanced"
    evening.seat("Dee")
    evening.live()
    evening.win(RED)
    evening.freeze()
    assert evening.sizes() == [2, 2]
    assert evening.status()["pending"] is None
