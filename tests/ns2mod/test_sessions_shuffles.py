"""Shuffles and secret choices of NS2 end to end: asked for, ordered by the daemon, carried out by the mod."""

from __future__ import annotations

import pytest

from tests.ns2mod.rig.clients import Client
from tests.ns2mod.sessions import ALIENS, MARINES, PEOPLE, NewEvening, fair, stacked

BY_HAND = "[shuffle]\nat_round_start = false\n"
QUIET = f"[autobalance]\nenabled = false\n{BY_HAND}choice_seconds = 300.0\n"


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


def test_who_has_commanded_and_matches_the_other_commander_best_is_asked_to_command_and_nobody_is_moved(
    new_evening: NewEvening,
) -> None:
    evening = new_evening(pool="hive_rounds = 1000.0")
    people = {name: evening.connect(1000 + n, name, skill=3000) for n, name in enumerate("ab")}
    people |= {name: evening.connect(1100 + n, name) for n, name in enumerate("cdefgh")}

    def sit() -> None:
        evening.settle()
        for number, client in enumerate(people.values()):
            if client.team not in (MARINES, ALIENS):
                assert evening.game.seat(client, 1 + number % 2)
        evening.settle()

    sit()
    assert people["a"].commands()
    evening.settle(3)
    assert "Will you command" not in str(people["b"].chat), "none of them has commanded here"
    evening.start(people["a"], people["b"])
    evening.settle(80)
    evening.end(MARINES)
    sit()
    sides = {name: client.team for name, client in people.items()}
    assert people["a"].commands()
    evening.settle(3)
    asked = [name for name, client in people.items() if "Will you command" in str(client.chat)]
    assert asked == ["b"]
    assert (
        people["b"].chat[-1] == "Will you command? a commands the other side, and on yours you are the closest match."
    )
    assert not people["b"].commands_now
    assert {name: client.team for name, client in people.items()} == sides
    assert sides["a"] != sides["b"]


def read(client: Client) -> list[str]:
    return [*client.chat, *client.prints]


def test_a_choice_with_a_tie_splits_the_last_winners_and_honours_what_balance_allows(new_evening: NewEvening) -> None:
    """Four want marines and four want aliens, all of them the winners' side or its opposite: some are denied."""
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(100)
    evening.end(MARINES)
    winners = set("aceg")
    for name, client in people.items():
        client.moves()
        evening.game.join(client, MARINES if name in winners else ALIENS, force=True)
    evening.settle()
    assert evening.game.console("sv_eq_choice")
    evening.settle()
    heard = len(read(people["h"]))
    for name, client in people.items():
        if name != "h":
            client.console(f"eq choose {'marines' if name in 'acef' else 'aliens'}")
            evening.settle(0.5)
    assert len(read(people["h"])) == heard, "nobody reads what another chose"
    before = evening.sides()
    assert before == [sorted("aceg"), sorted("bdfh")], "nothing happens before all have chosen"
    assert not [line for line in evening.decisions() if "marines" in str(line["reason"]).lower()]

    people["h"].console("eq choose aliens")
    evening.settle(2)
    after = evening.sides()
    assert [len(side) for side in after] == [4, 4]
    assert len(winners & set(after[0])) == 2
    assert fair(evening)
    assert evening.status()["pending"] is None
