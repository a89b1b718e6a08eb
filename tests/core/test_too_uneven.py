"""Sides that have run away are evened between two rounds: whom the session lets change sides, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, Purpose
from equipoise.core.effects import Assign, Effect, Lock, LogDecision, Say
from equipoise.core.model import Mode, Outlook, PlayerId, PlayerSummary
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import ArenaRules, Rules, ScrambleRules, Triggers
from tests.core.answerer import POINTS_PER_CHANCE
from tests.core.game import Game
from tests.core.scripts import A, assigned, command, ids, of, play, roster, split, the

FAR = dict(zip("abcdefgh", (1900.0, 1800.0, 1300.0, 1200.0, 1100.0, 1000.0, 900.0, 800.0), strict=True))
"""A is ahead by 2,400 points, 73 %; with a and h in each other's place by 200, 52 %."""


def evening(
    text: str = "abcd|efgh",
    ratings: Mapping[str, float] = FAR,
    *,
    rounds: int = 50,
    mode: Mode = Mode.KOTH,
    rules: Rules | None = None,
) -> Game:
    """A first round was played, with captures on both sides; all players have so many rated rounds."""
    only_chance = rules or Rules(triggers={mode.value: Triggers(chance=True)})
    game = Game(mode, text, ratings, only_chance)
    game.happens(known(ratings, rounds))
    game.round(A)
    return game


def known(ratings: Mapping[str, float], rounds: int) -> e.SummariesLoaded:
    return e.SummariesLoaded(tuple(PlayerSummary(PlayerId(one), rating, rounds) for one, rating in ratings.items()))


def said(effects: list[Effect]) -> list[Text]:
    return [effect.text for effect in effects if isinstance(effect, Say)]


def test_the_fewest_swaps_that_make_the_sides_even_are_ordered_and_said_in_one_line() -> None:
    game = evening()
    effects = game.start()

    order = assigned(effects)
    assert (order.purpose, order.reason) == (Purpose.TOO_UNEVEN, Text(Phrase.REASON_TOO_UNEVEN))
    moved = [one for one in ids("abcdefgh") if order.split.side_of(one) is not roster("abcd|efgh").get(one).side]  # type: ignore[union-attr]
    assert len(moved) in (2, 4)
    phrase = Phrase.TOO_UNEVEN_TWO if len(moved) == 2 else Phrase.TOO_UNEVEN_FOUR
    assert said(effects) == [Text(phrase, ("RED", "73", *(f"@{one}" for one in said_names(effects))))]
    assert {f"@{one}" for one in moved} == set(said(effects)[0].args[2:])
    assert {lock.player for lock in effects if isinstance(lock, Lock)} == set(moved)
    (logged,) = (each for each in effects if isinstance(each, LogDecision))
    assert (logged.kind, logged.players) == ("too_uneven", tuple(moved))
    after = sum(FAR[one] if order.split.side_of(PlayerId(one)) is A else -FAR[one] for one in FAR)
    assert abs(after) / POINTS_PER_CHANCE <= 0.05 + 1e-9
    assert game.session.memory.tally.streak == 1, "it is no scramble"
    assert game.session.memory.moved.keys() == set(moved)


def said_names(effects: list[Effect]) -> list[str]:
    return [str(arg).removeprefix("@") for arg in said(effects)[0].args[2:]]


def test_nothing_happens_inside_the_band_and_before_a_round_was_counted() -> None:
    even = evening(ratings=dict.fromkeys("abcdefgh", 1000.0) | {"a": 1500.0})
    effects = even.start()
    assert (of((Assign, Say), effects), len(of(AskSplit, effects))) == ([], 1)
    assert of(AskSplit, even.happens(e.Heartbeat(even.now))) == [], "the question is asked once for the same players"
    game = Game(Mode.KOTH, "abcd|efgh", FAR, Rules(triggers={"koth": Triggers(chance=True)}))
    game.happens(known(FAR, 50))
    assert of((Assign, Say), game.start()) == []


@pytest.mark.parametrize(("who", "armed"), [("abc", False), ("abcd", True)])
def test_it_is_armed_when_half_of_those_on_the_sides_have_ten_rounds(who: str, armed: bool) -> None:
    game = evening(rounds=9)
    game.happens(known({one: FAR[one] for one in who}, 10))
    assert bool(of(Assign, game.start())) is armed


def test_who_is_immune_or_held_stays_and_out_of_reach_every_pair_gains_three_points() -> None:
    game = evening()
    game.roster = roster("abcd|efgh", immune="abc", held="h")
    game.look()
    moved = {*assigned(game.start()).split.a} ^ set(ids("abcd"))
    assert moved == set(ids("dg")), "61 % with them is not even, and gains more than three points"
    nobody = evening()
    nobody.roster = roster("abcd|efgh", immune="abcd")
    nobody.look()
    assert of((Assign, Say), nobody.start()) == []


def test_a_gap_of_two_is_closed_first_and_a_scramble_that_is_due_takes_its_place() -> None:
    """A side that is larger by two is ahead by its numbers, which no swap changes and autobalance does."""
    assert of(Assign, evening("abcde|fgh").start()) == []
    game = evening("abcd|fgh")
    assert assigned(game.start()).purpose is Purpose.TOO_UNEVEN
    game = evening()
    game.happens(command("scramble", "next", by=None))
    assert assigned(game.start()).purpose is Purpose.SCRAMBLE


def test_after_a_due_scramble_that_moved_nobody_no_pair_changes_sides_either() -> None:
    """Players have just read that teams stay as they are."""
    game = evening()
    session = game.session
    play(session, [(game.now, command("scramble", "next", by=None))])
    question = the(AskSplit, play(session, [(game.now, e.RoundStarted(game.now, game.roster))]))
    same = e.SplitSolved(question, split("abcd|efgh"), 0.0, Outlook.alone(0.73), Outlook.alone(0.73))
    effects = play(session, [(game.now, same)])
    assert [text.phrase for text in said(effects)] == [Phrase.SHUFFLE_NEEDLESS]
    assert of(AskSplit, effects) == []


@pytest.mark.parametrize(
    "rules",
    [
        Rules(triggers={"koth": Triggers()}),
        Rules(triggers={"koth": Triggers(chance=True)}, scramble=ScrambleRules(min_players=10)),
        Rules(triggers={"koth": Triggers(chance=True)}, scramble=ScrambleRules(fair_band=(0.2, 0.8))),
    ],
)
def test_the_configuration_can_forbid_it(rules: Rules) -> None:
    assert of((Assign, Say), evening(rules=rules).start()) == []


def test_in_arena_equal_sides_are_evened_and_those_that_were_just_made_are_left_alone() -> None:
    everyone = Rules(arena=ArenaRules(round_one="everyone"), triggers={"arena": Triggers(chance=True)})
    game = evening(mode=Mode.ARENA, rules=everyone)
    assert assigned(game.start()).purpose is Purpose.TOO_UNEVEN
    other = evening(mode=Mode.ARENA, rules=everyone)
    other.roster = roster("abcd|efg|h")
    other.look()
    assert [order.purpose for order in of(Assign, other.start())] == [Purpose.EQUAL_SIDES]  # type: ignore[union-attr]


def test_a_lately_moved_player_counts_twice_and_one_who_was_moved_twice_in_half_an_hour_stays() -> None:
    game = evening()
    first = {*assigned(game.start()).split.a} ^ set(ids("abcd"))
    game.open()
    game.end(A)
    game.happens(e.RosterSeen(game.now, roster("abcd|efgh")))
    game.roster = roster("abcd|efgh")
    second = {*assigned(game.start()).split.a} ^ set(ids("abcd"))
    assert second != first, "others come first"
    game.open()
    game.end(A)
    memory = game.session.memory
    assert len(memory.moved) > len(first)
    for player in ids("abcdefgh"):
        memory = memory.move(player, game.now - 10).move(player, game.now)
    game.session.state.memory = memory
    game.roster = roster("abcd|efgh")
    game.look()
    assert of(Assign, game.start()) == []
    game.session.state.memory = replace(memory, moved_before=dict.fromkeys(memory.moved_before, game.now - 1801.0))
    game.open()
    game.end(A)
    assert of(Assign, game.start()) != []
