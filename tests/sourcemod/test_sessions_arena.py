"""Arena evenings, end to end: the plugin's bytecode against the real daemon."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

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
