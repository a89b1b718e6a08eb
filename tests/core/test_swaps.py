"""Swaps: two agree, the sides stay even, both are moved or neither; and who offers to go is moved first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSwitch
from equipoise.core.effects import Assign, Cancel, Effect, Lock, LogDecision, Move, Say, Tell
from equipoise.core.friends import INVITATION_MINUTES
from equipoise.core.model import Entry, Mode, PlayerId, Roster, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules, ScrambleRules
from tests.core.game import Game
from tests.core.scripts import A, B, command, hello, ids, of, roster, the

MINUTES = str(INVITATION_MINUTES)
BOTH = {"a": 2100.0, "e": 2050.0}


def running(text: str = "abcd|efgh", mode: Mode = Mode.KOTH, ratings: dict[str, float] | None = None) -> Game:
    game = Game(mode, text, BOTH if ratings is None else ratings)
    game.start()
    game.open()
    return game


def swap(game: Game, by: str, *words: str) -> list[Effect]:
    return game.happens(command("swap", *words, by=by, admin=False))


def told(player: str, *lines: Text) -> Tell:
    return Tell(PlayerId(player), lines)


def tells(effects: list[Effect]) -> list[Tell]:
    return [each for each in effects if isinstance(each, Tell)]


def agreed(game: Game, one: str = "a", two: str = "e") -> tuple[Move, Move]:
    """Both name each other; the moves that follow."""
    swap(game, one, two)
    first, second = of(Move, swap(game, two, one))
    assert isinstance(first, Move)
    assert isinstance(second, Move)
    return first, second


def carried_out(game: Game, move: Move) -> list[Effect]:
    """The script reports the new side, and that the order is done."""
    game.seat(move.player, move.side)
    return game.happens(
        e.SideChanged(game.now, move.player, move.side),
        e.OrderDone(game.now, move.order),
        e.RosterSeen(game.now, game.roster),
    )


def test_two_who_name_each_other_swap_sides() -> None:
    game = running()
    assert [each for each in swap(game, "a", "e") if not isinstance(each, AskSwitch)] == [
        told("a", Text(Phrase.SWAP_ASKED, ("@e", MINUTES))),
        told("e", Text(Phrase.SWAP_ASKS, ("@a",))),
    ]
    effects = [each for each in swap(game, "e", "a") if not isinstance(each, AskSwitch)]
    assert effects[:2] == [
        told("e", Text(Phrase.SWAP_AGREED, ("@a", "10"))),
        told("a", Text(Phrase.SWAP_AGREED, ("@e", "10"))),
    ]
    first, second = of(Move, effects)
    assert isinstance(first, Move)
    assert isinstance(second, Move)
    assert {(move.player, move.side) for move in (first, second)} == {("a", B), ("e", A)}
    assert {first.reason, second.reason} == {Text(Phrase.REASON_SWAP)}
    assert [(log.kind, log.order) for log in of(LogDecision, effects)] == [
        ("move", first.order),
        ("move", second.order),
    ]  # type: ignore[union-attr]
    halfway = carried_out(game, first)
    assert of(AskMoves, halfway) == [], "a gap that the second closes is none"
    assert of(Say, halfway) == []
    effects = carried_out(game, second)
    assert of(Say, effects) == [Say(Text(Phrase.SWAPPED, (f"@{first.player}", f"@{second.player}")))]
    assert {(lock.player, lock.side) for lock in of(Lock, halfway + effects)} == {("a", B), ("e", A)}  # type: ignore[union-attr]
    assert game.session.state.swaps == ()


def test_locks_immunity_and_recent_moves_count_for_nothing_among_players_who_agree() -> None:
    game = running()
    state = game.session.state
    state.memory = state.memory.lock({PlayerId("a"): A, PlayerId("e"): B}, None)
    for _ in range(2):
        state.memory = state.memory.move(PlayerId("a"), game.now)
    game.roster = roster("abcd|efgh", immune="ae")
    game.look()
    assert {move.player for move in agreed(game)} == {"a", "e"}


def test_a_swap_that_makes_the_sides_uneven_is_refused_and_one_that_makes_them_more_even_is_not() -> None:
    effects = swap(running(ratings={"b": 3000.0, "e": 3000.0}), "a", "e")
    assert tells(effects) == [told("a", Text(Phrase.REFUSED_SWAP, ("RED", "71")))], "before the other is asked"
    assert {move.player for move in agreed(running(ratings={"a": 3000.0, "b": 3000.0}))} == {"a", "e"}
    game = running(ratings={"b": 3000.0, "e": 3000.0, "x": 3000.0})
    swap(game, "a", "f")
    game.change("abcx|efgh")
    effects = swap(game, "f", "a")
    assert of(Move, effects) == []
    refusal = Text(Phrase.REFUSED_SWAP, ("RED", "60"))
    assert tells(effects) == [told(player, refusal) for player in "fa"], "it has become unfair, and both read it"


@pytest.mark.parametrize(
    ("mode", "text", "by", "words", "line"),
    [
        (Mode.KOTH, "abcd|efgh", "a", ("b",), Text(Phrase.SWAP_SIDES)),
        (Mode.KOTH, "abcd|efgh", "a", ("a",), Text(Phrase.SWAP_SIDES)),
        (Mode.KOTH, "abcd|efgh|i", "a", ("i",), Text(Phrase.SWAP_SIDES)),
        (Mode.KOTH, "abcd|efgh||i", "i", ("a",), Text(Phrase.PLAYING_ONLY)),
        (Mode.KOTH, "abcd|efgh||i", "i", (), Text(Phrase.PLAYING_ONLY)),
        (Mode.KOTH, "abcd|efgh", "a", ("z",), Text(Phrase.UNKNOWN_PLAYER, ("z",))),
        (Mode.KOTH, "abcd|efg1", "a", ("bot:1",), Text(Phrase.UNKNOWN_PLAYER, ("bot:1",))),
        (Mode.KOTH, "abcd|efgh", "a", ("big", "ann"), Text(Phrase.UNKNOWN_PLAYER, ("big ann",))),
        (Mode.ARENA, "abcd|efgh", "a", ("e",), Text(Phrase.CANNOT_BALANCE_ARENA)),
        (Mode.ARENA, "abcd|efgh", "a", (), Text(Phrase.CANNOT_BALANCE_ARENA)),
        (Mode.NS2, "abcd|efgh", "a", ("e",), Text(Phrase.UNKNOWN_COMMAND, ("swap",))),
    ],
)
def test_who_cannot_swap_reads_why(mode: Mode, text: str, by: str, words: tuple[str, ...], line: Text) -> None:
    game = running(text, mode)
    assert swap(game, by, *words) == [told(by, line)]


def test_nobody_swaps_between_rounds_nor_while_the_game_moves_nobody_nor_one_who_is_held() -> None:
    game = Game(Mode.KOTH, "abcd|efgh")
    not_now = Text(Phrase.SWAP_NOT_NOW)
    assert swap(game, "a", "e") == [told("a", not_now)]
    game.start()
    assert swap(game, "a", "e") == [told("a", not_now)]
    game.open()
    game.happens(e.RosterSeen(game.now, game.roster, no_moves="overtime"))
    assert swap(game, "a", "e") == [told("a", Text(Phrase.NO_MOVES_OVERTIME))]
    game.roster = roster("abcd|efgh", held="e")
    game.look()
    assert swap(game, "a", "e") == [told("a", Text(Phrase.HELD_DUEL, ("@e",)))]
    assert game.happens(command("swap", "e", by=None)) == [Tell(None, (Text(Phrase.PLAYING_ONLY),))]


def test_who_is_being_moved_or_swapped_swaps_with_nobody_meanwhile() -> None:
    not_now = Text(Phrase.SWAP_NOT_NOW)
    game = running()
    agreed(game)
    assert swap(game, "b", "e") == [told("b", not_now)]
    game = running("abcdef|ghijkl")
    mover = moved_first(game)[0].player
    assert swap(game, mover, "g") == [told(mover, not_now)]


def test_a_partner_who_left_or_changed_side_before_they_agreed_is_not_swapped_with() -> None:
    game = running()
    swap(game, "a", "e")
    game.change("abcd|fgh")
    assert swap(game, "a", "e") == [told("a", Text(Phrase.UNKNOWN_PLAYER, ("e",)))]
    game.change("abcd|efgh")
    assert of(Move, swap(game, "e", "a")) != [], "back in time: the invitation still stands"
    game = running()
    swap(game, "a", "e")
    game.change("abce|dfgh")
    assert swap(game, "e", "a") == [told("e", Text(Phrase.SWAP_SIDES))]


def test_an_invitation_lapses_none_takes_it_back_and_the_same_words_are_shown_to_the_other_once() -> None:
    game = running()
    swap(game, "a", "e")
    assert [tell.player for tell in tells(swap(game, "a", "e"))] == ["a"]
    game.now += INVITATION_MINUTES * 60
    assert of(Move, swap(game, "e", "a")) == []
    assert swap(game, "e", "none") == [told("e", Text(Phrase.SWAP_NONE))]
    assert of(Move, swap(game, "a", "e")) == []


@pytest.mark.parametrize("first_is_done", [False, True])
def test_when_one_leaves_before_they_were_moved_the_other_stays_or_is_not_moved_back(first_is_done: bool) -> None:
    game = running()
    first, second = agreed(game)
    others = agreed(game, "b", "f")
    if first_is_done:
        carried_out(game, first)
    game.roster = game.roster.without(second.player)
    effects = game.happens(e.PlayerLeft(game.now, second.player), e.OrderFailed(game.now, second.order, "left"))
    assert of(Cancel, effects) == ([] if first_is_done else [Cancel(first.order)])
    assert told(first.player, Text(Phrase.SWAP_FAILED, (f"@{second.player}",))) in effects
    assert [swap.moves for swap in game.session.state.swaps] == [others]
    game.happens(e.PlayerLeft(game.now, PlayerId("h")))
    assert [swap.moves for swap in game.session.state.swaps] == [others], "who leaves is in no swap"


def test_when_one_cannot_be_moved_the_other_stays_and_both_read_it() -> None:
    game = running()
    first, second = agreed(game)
    effects = game.happens(e.OrderFailed(game.now, first.order, "held", {first.player: "duel"}))
    assert of(Cancel, effects) == [Cancel(second.order)]
    assert [tell.player for tell in tells(effects)] == [first.player, second.player]
    assert [log.kind for log in of(LogDecision, effects)] == ["failed"]  # type: ignore[union-attr]


def test_where_one_was_moved_and_the_other_cannot_be_autobalance_closes_the_gap() -> None:
    game = running()
    first, second = agreed(game)
    carried_out(game, first)
    game.now += 4.0
    effects = game.happens(e.OrderFailed(game.now, second.order, "held", {second.player: "duel"}))
    assert of(Cancel, effects) == []
    move = the(Move, effects)
    assert (move.side, move.deadline) == (first.side.other, 10.0)
    assert move.player in ids("fgh"), "who has just come over stays, though their skill is what the gap needs"


def test_one_who_was_moved_in_the_moment_in_which_the_other_failed_is_locked_and_stays_too() -> None:
    game = running()
    first, second = agreed(game)
    game.seat(second.player, second.side)
    effects = game.happens(
        e.OrderFailed(game.now, first.order, "held", {first.player: "duel"}),
        e.OrderDone(game.now, second.order),
    )
    assert of(Cancel, effects) == [Cancel(second.order)], "it came too late"
    assert [(lock.player, lock.side) for lock in of(Lock, effects)] == [(second.player, second.side)]  # type: ignore[union-attr]
    assert the(Move, effects).player in ids("bcd")


def test_others_are_moved_before_two_who_swapped_but_a_swap_is_none_of_the_moves_after_which_nobody_is_moved() -> None:
    game = running("abcdef|ghijkl", ratings={})
    for _ in range(2):
        for move in agreed(game, "a", "g"):
            carried_out(game, move)
    assert game.stands() == "abcdef|ghijkl", "there and back"
    game.ratings |= {PlayerId("a"): 3000.0, PlayerId("i"): 1000.0}
    assert the(Move, game.change("abcdef|ijkl")).player != "a", "though just this skill is needed"
    game.change("abcdef|ghijkl")
    game.now += game.session.state.rules.autobalance.spare_minutes * 60
    assert the(Move, game.change("abcdef|ijkl")).player == "a"


@pytest.mark.parametrize("end", ["round", "scramble", "off", "switched", "overdue"])
def test_what_ends_the_round_or_makes_new_teams_ends_a_swap(end: str) -> None:
    game = running()
    moves = agreed(game)
    if end == "round":
        effects = game.end(Side.A)
    elif end == "scramble":
        effects = game.happens(command("scramble", "now"))
        assert of(Assign, effects) != []
    elif end == "off":
        effects = game.happens(command("off"))
    elif end == "switched":
        effects = game.happens(e.SidesSwitched(at=game.now))
    else:
        deadline = game.session.deadline()
        assert deadline is not None
        effects = game.wait(deadline - game.now)
    assert {cancel.order for cancel in of(Cancel, effects)} == {move.order for move in moves}  # type: ignore[union-attr]
    assert len([each for each in effects if isinstance(each, Tell) and each.lines[0].phrase is Phrase.SWAP_FAILED]) == 2
    assert game.session.state.swaps == ()


@pytest.mark.parametrize("fails", [False, True])
def test_an_answer_that_comes_twice_counts_once_and_a_failed_pool_moves_nobody(fails: bool) -> None:
    game = running()
    (ask,) = game.session.receive(command("swap", "e", by="a", admin=False), game.now)
    assert isinstance(ask, AskSwitch)
    effects = game.happens(e.SolveFailed(ask, "broken") if fails else e.SwitchJudged(ask, 0.5, 0.5))
    assert len(effects) == (1 if fails else 2)
    assert not fails or effects == [told("a", Text(Phrase.FAILED, ("swap",)))]
    assert game.happens(e.SwitchJudged(ask, 0.5, 0.5)) == []


def test_a_hundred_slots_of_swaps_are_fifty_and_autobalance_moves_none_of_them() -> None:
    entries = [Entry(PlayerId(f"p{number}"), (A, B)[number % 2]) for number in range(100)]
    # No cached splits: here they are found by trying everything.
    game = Game(Mode.KOTH, "", rules=Rules(scramble=ScrambleRules(min_players=200)))
    game.roster = Roster(tuple(entries))
    game.look()
    game.start()
    game.open()
    moves = [move for n in range(0, 100, 2) for move in agreed(game, f"p{n}", f"p{n + 1}")]
    assert len({move.player for move in moves}) == 100
    before = len(game.effects)
    for move in moves:
        carried_out(game, move)
    assert len(of(Say, game.effects[before:])) == 50
    assert of(AskMoves, game.effects[before:]) == []


# Offers.


def moved_first(game: Game) -> list[Move]:
    """Two more of A's players come; the moves that follow."""
    moves = of(Move, game.change("abcdefxy|ghij"))
    assert all(isinstance(move, Move) for move in moves)
    return moves  # type: ignore[return-value]


def test_who_offers_to_go_is_moved_first_and_reads_why() -> None:
    game = running("abcdef|ghijkl", ratings={"a": 9000.0})
    assert swap(game, "a") == [told("a", Text(Phrase.SWAP_OFFERED))]
    moves = moved_first(game)
    (mine,) = [move for move in moves if move.player == "a"]
    assert mine.reason == Text(Phrase.REASON_VOLUNTEER, ("8", "4"))
    carried_out(game, mine)
    assert game.session.state.volunteers == {}, "an offer is good for one move"


@pytest.mark.parametrize("end", ["none", "left", "watches", "map", "moved"])
def test_an_offer_ends_with_none_a_change_of_side_or_the_map(end: str) -> None:
    game = running("abcdef|ghijkl")
    swap(game, "a")
    if end == "none":
        assert swap(game, "a", "none") == [told("a", Text(Phrase.SWAP_NONE))]
    elif end == "left":
        game.change("bcdef|ghijkl")
        game.change("abcdef|ghijkl")
    elif end == "watches":
        game.change("bcdef|ghijkl||a")
        game.change("abcdef|ghijkl")
    elif end == "moved":
        game.change("bcdefg|ahijkl")
    else:
        game.happens(replace(hello(Mode.KOTH), session="s2", map="another"))
        game.look()
    assert game.session.state.volunteers == {}


def test_an_offer_follows_its_player_when_the_game_swaps_the_colours_and_counts_more_than_immunity() -> None:
    game = running("abcdef|ghijkl")
    swap(game, "a")
    game.roster = roster("abcdef|ghij", immune="abcdef")
    assert the(Move, game.look()).player == "a"
    game.happens(e.SidesSwitched(at=game.now))
    assert game.session.state.volunteers == {"a": B}


def test_offers_are_refused_where_the_map_is_left_alone() -> None:
    game = Game(Mode.KOTH, "abcd|efgh", rules=Rules(maps={"this": "rate"}))
    (answer,) = swap(game, "a")
    assert isinstance(answer, Tell)
    assert answer.lines[0].phrase is Phrase.MAP_RATE
