"""Shuffles of NS2 end to end: ordered by the daemon, carried out by the mod, seen in the game."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ns2mod.sessions import ALIENS, MARINES, PEOPLE, Evening, fair, stacked

NewEvening = Callable[..., Evening]
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


def test_even_sides_are_left_alone_at_a_round_start(new_evening: NewEvening) -> None:
    evening = new_evening()
    people = evening.seat(*"abcdefgh")
    before = evening.sides()
    evening.start(people["a"], people["b"])
    assert evening.sides() == before
    assert people["a"].commands_now
    assert people["b"].commands_now


def test_a_vote_between_rounds_shuffles_at_once(new_evening: NewEvening) -> None:
    evening, people = stacked(new_evening, BY_HAND)
    for name in "bdfhcj":
        people[name].console("eq vote")
        evening.settle(0.5)
    evening.settle()
    assert fair(evening)
    assert evening.game.resets == 1, "only the map's own"


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


def test_an_admin_shuffles_at_once_and_for_the_next_round(new_evening: NewEvening) -> None:
    evening, _ = stacked(new_evening, BY_HAND)
    assert evening.game.console("sv_eq_shuffle next")
    evening.settle()
    assert evening.status()["pending"] is not None
    assert evening.sides() == [sorted("acegi"), sorted("bdfhj")]
    assert evening.game.console("sv_eq_shuffle cancel")
    evening.settle()
    assert evening.status()["pending"] is None
    assert evening.game.console("sv_eq_shuffle now")
    evening.settle()
    assert fair(evening)


def test_shuffled_players_are_held_to_their_side(new_evening: NewEvening) -> None:
    evening, people = stacked(new_evening, BY_HAND)
    assert evening.game.console("sv_eq_shuffle now")
    evening.settle()
    name = next(name for name in "cegi" if people[name].team == ALIENS)
    next(client for client in people.values() if client.team == MARINES).disconnects()
    people[name].joins(0)
    people[name].moves()
    evening.settle()
    people[name].joins(MARINES)
    evening.settle(2)
    assert people[name].team == ALIENS
    assert any("placed" in line for line in people[name].chat)


def test_a_split_that_comes_after_somebody_left_is_not_carried_out_by_half(new_evening: NewEvening) -> None:
    evening, people = stacked(new_evening, BY_HAND)
    game = evening.game
    game.console("sv_eq_shuffle next")
    evening.settle()
    game.http.delay = 4.0
    people["a"].commands()
    people["b"].commands()
    game.until(lambda: game.state == "Countdown")
    people["h"].disconnects()
    game.start_round()
    evening.settle(3)
    game.http.delay = 0.0
    evening.settle(10)
    sizes = [len(side) for side in evening.sides()]
    assert abs(sizes[0] - sizes[1]) <= 1
    assert sum(sizes) == 9


def test_a_split_that_comes_when_the_round_runs_is_too_late(new_evening: NewEvening) -> None:
    """A slow poll is on its way when a start without PreGame begins: the mod took its cache meanwhile, and says so."""
    evening, _ = stacked(new_evening, BY_HAND)
    game = evening.game
    game.console("sv_eq_shuffle next")
    evening.settle()
    game.http.delay = 4.9
    polled = len(game.http.sent)
    game.until(lambda: len(game.http.sent) > polled)
    evening.settle(0.5)
    before = evening.sides()
    game.start_without_pregame()
    game.until(lambda: game.state == "Started")
    running = evening.sides()
    assert running != before
    assert [len(side) for side in running] == [5, 5]
    game.http.delay = 0.0
    evening.settle(20)
    assert evening.sides() == running
    assert [one["kind"] for one in evening.decisions("shuffle", "alone", "failed")] == ["shuffle", "alone", "failed"]
    assert evening.status()["pending"] is None


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


@pytest.mark.parametrize("way", ["a commander leaves the chair", "an admin resets the game"])
def test_a_split_that_comes_after_a_start_was_broken_off_is_not_carried_out(new_evening: NewEvening, way: str) -> None:
    evening, people = stacked(new_evening, BY_HAND)
    game = evening.game
    game.console("sv_eq_shuffle next")
    evening.settle()
    game.http.delay = 3.0
    people["a"].commands()
    people["b"].commands()
    evening.settle(1.5)
    people["a"].leaves_chair()
    if way == "an admin resets the game":
        game.reset()
    evening.settle(6)
    assert game.state in ("NotStarted", "WarmUp")
    assert evening.sides() == [sorted("acegi"), sorted("bdfhj")]
    game.http.delay = 0.0
    evening.settle(10)
    assert evening.status()["pending"] is not None
    people["a"].commands()
    game.start_round()
    evening.settle()
    assert fair(evening)
    assert evening.status()["pending"] is None


def test_a_gap_of_two_in_a_round_is_closed_by_a_player_who_dies_and_never_by_the_commander(
    new_evening: NewEvening,
) -> None:
    evening = new_evening(BY_HAND)
    people = evening.seat(*PEOPLE)
    evening.start(people["a"], people["b"])
    evening.settle(60)
    people["f"].disconnects()
    people["h"].disconnects()
    evening.settle(60)
    assert list(map(len, evening.sides())) == [5, 3], "the living stay where they are"
    for name in "cegi":
        if [len(side) for side in evening.sides()] == [5, 3]:
            people[name].dies()
            evening.settle(2)
    assert list(map(len, evening.sides())) == [4, 4]
    assert people["a"].commands_now
    assert [one["kind"] for one in evening.decisions()] == ["move"]
