"""Shuffles and secret choices of NS2 end to end: asked for, ordered by the daemon, carried out by the mod."""

from __future__ import annotations

import pytest

from tests.ns2mod.sessions import ALIENS, MARINES, NewEvening, fair, stacked

BY_HAND = "[shuffle]\nat_round_start = false\n"


def test_before_a_round_the_fewest_moves_make_the_sides_even_and_commanders_stay(new_evening: NewEvening) -> None:
    evening, people = stacked(new_evening)
    assert people["a"].commands()
    assert people["b"].commands()
    evening.game.until(lambda: evening.game.state == "Countdown")
    before = evening.sides()
    evening.settle(0.5)

    assert fair(evening)
    assert people["a"].team == MARINES
    assert people["a"].commands_now
    assert people["b"].team == ALIENS
    assert people["b"].commands_now
    assert len(set(before[0]) ^ set(evening.sides()[0])) <= 4
    evening.game.start_round()
    evening.settle(100)
    evening.end(ALIENS)
    (stored,) = evening.stored()
    assert stored.partial is False
    assert sorted(name for name, side in stored.lineup.items() if side == "marines") != sorted("acegi")
    assert [one["kind"] for one in evening.decisions("shuffle", "scramble")] == ["shuffle"]
    assert any("%" in line for line in people["h"].chat)


def test_a_vote_in_the_first_two_minutes_of_a_round_begins_it_again(new_evening: NewEvening) -> None:
    evening, people = stacked(new_evening, BY_HAND)
    evening.start(people["a"], people["b"])
    resets = evening.game.resets
    evening.settle(60)
    for name in "bdfhcj":
        people[name].console("eq vote")
        evening.settle(0.5)
    evening.settle()

    assert evening.game.resets > resets
    assert fair(evening)
    said = people["c"].chat
    assert next(n for n, line in enumerate(said) if "again" in line) < next(
        n for n, line in enumerate(said) if "moved" in line or "chance" in line
    )
    (broken,) = evening.stored()
    assert broken.partial
    assert people["a"].commands_now
    assert people["b"].commands_now


@pytest.mark.parametrize("count", [10, 11])
@pytest.mark.parametrize("dead", [False, True])
def test_with_one_commander_only_a_shuffle_leaves_even_sides(new_evening: NewEvening, count: int, dead: bool) -> None:
    evening, people = stacked(new_evening, BY_HAND)
    game = evening.game
    if count == 11:
        assert game.join(evening.connect(2000, "late"), MARINES, force=True)
    game.console("sv_eq_shuffle next")
    evening.settle(6)
    if dead:
        evening.daemon.kill()
        evening.settle(12)
    before = evening.sides()
    assert people["a"].commands()
    game.start_without_pregame()
    game.until(lambda: game.state == "Started")
    assert sorted(map(len, evening.sides())) == [count // 2, count - count // 2]
    assert evening.sides() != before
    assert (people["a"].team, people["a"].commands_now) == (MARINES, True)
