"""The side a player wants: where it comes from, what it weighs after it was denied, and what a shuffle is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, Purpose, Wish
from equipoise.core.effects import Effect, Tell
from equipoise.core.memory import (
    HEAVIEST_WISH,
    MOST_REMEMBERED,
    Memory,
    Remembered,
    WantedSide,
    decode_memory,
    encode_memory,
)
from equipoise.core.model import Mode, PlayerId, Roster, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.core.shuffles import terms
from tests.core.game import Game
from tests.core.scripts import A, B, begun, command, hello, ids, of, play, rules, seen, split

ANN, BOB = ids("ab")


def prefer(game: Game, by: str, *words: str) -> Text:
    (answer, *_) = game.happens(command("prefer", *words, by=by, admin=False))
    assert isinstance(answer, Tell)
    assert answer.player == by
    return answer.lines[0]


def wanted(game: Game, by: str, side: Side | None) -> None:
    game.happens(e.SideWanted(game.now, PlayerId(by), side))


def wishes(game: Game) -> dict[PlayerId, Wish]:
    return dict(terms(game.session.state).wishes)


def lopsided(text: str = "ab|cd|e") -> Game:
    """A server whose shuffles always have something to do: one player has to be placed."""
    return Game(Mode.NS2, text, {"a": 2000.0})


# Where a wish comes from.


def test_the_side_a_player_last_asked_for_between_rounds_is_their_wish() -> None:
    game = Game(Mode.NS2, "ab|cd")
    wanted(game, "a", B)
    assert wishes(game) == {ANN: Wish(B, 1)}
    wanted(game, "a", A)
    shown = Text(Phrase.WISH_ASKED, ("Marines",))
    assert game.happens(command("prefer", by="a", admin=False)) == [Tell(ANN, (shown, Text(Phrase.WISH_USAGE)))]
    wanted(game, "a", None)
    assert wishes(game) == {}


def test_who_asks_in_a_running_round_goes_where_there_is_room_and_wishes_nothing() -> None:
    game = Game(Mode.NS2, "ab|cd")
    game.start()
    wanted(game, "a", B)
    game.open()
    wanted(game, "b", B)
    assert set(wishes(game)) == {ANN}
    game.end(A)
    wanted(game, "b", B)
    assert set(wishes(game)) == {ANN, BOB}


def test_a_stated_wish_outlasts_what_the_player_asks_to_join_until_none_forgets_it() -> None:
    game = Game(Mode.NS2, "ab|cd")
    told = Tell(ANN, (Text(Phrase.WISH_STATED, ("Aliens",)),))
    assert game.happens(command("prefer", "Aliens", by="a", admin=False)) == [told]
    wanted(game, "a", A)
    for words in (("skulks",), ("marines", "please"), ("",)):
        assert prefer(game, "a", *words) == Text(Phrase.WISH_USAGE)
    assert wishes(game) == {ANN: Wish(B, 1)}
    assert prefer(game, "a", "none") == Text(Phrase.WISH_NONE)
    assert prefer(game, "a") == Text(Phrase.WISH_NONE)
    wanted(game, "a", A)
    assert wishes(game) == {ANN: Wish(A, 1)}


def test_sides_are_shown_by_the_names_that_the_owner_gave_them() -> None:
    game = Game(Mode.NS2, "ab|cd", rules=Rules(sides=("Frontiersmen", "Kharaa")))
    assert prefer(game, "a", "aliens") == Text(Phrase.WISH_STATED, ("Kharaa",))


@pytest.mark.parametrize("verb", ["prefer", "choice", "choose"])
def test_only_ns2_servers_have_these_commands(verb: str) -> None:
    session = begun(Mode.KOTH, "ab|cd")
    memory = session.memory
    refusal = Tell(ANN, (Text(Phrase.NS2_ONLY, (verb,)),))
    assert session.receive(command(verb, "b", admin=False), 0.0) == (refusal,)
    assert session.memory is memory


@pytest.mark.parametrize("words", [("prefer", "aliens"), ("friend", "a")])
def test_the_console_has_no_wishes(words: tuple[str, ...]) -> None:
    game = Game(Mode.NS2, "ab|cd")
    assert game.happens(command(*words, by=None)) == [Tell(None, (Text(Phrase.PLAYING_ONLY),))]


# What a shuffle is asked for.


def shuffles(effects: list[Effect]) -> list[AskSplit]:
    return [ask for ask in of(AskSplit, effects) if isinstance(ask, AskSplit) and ask.purpose is Purpose.SHUFFLE]


def test_a_shuffle_is_asked_for_with_the_wishes_and_friends_of_the_players_who_are_here() -> None:
    game = lopsided("abc|de")
    for player in "acf":
        prefer(game, player, "aliens")
    for one, two in ("ab", "ba", "df", "fd"):
        game.happens(command("friend", two, by=one, admin=False))
    game.change("ab|de")
    (ask, *_) = shuffles(game.start())
    assert ask.terms is not None
    assert ask.terms.wishes == {ANN: Wish(B, 1)}
    assert ask.terms.groups == (frozenset(ids("ab")),)
    assert (ask.terms.fair_band, ask.terms.max_moves, ask.terms.moves_count) == ((0.45, 0.55), None, True)
    assert ask.terms.spread_evenly == frozenset()


def test_a_commander_is_denied_nothing_because_no_split_moves_them() -> None:
    game = Game(Mode.NS2, "ab|cd")
    prefer(game, "a", "aliens")
    game.roster = Roster(tuple(replace(entry, commander=entry.id == "a") for entry in game.roster.entries))
    game.start()
    assert (wishes(game), game.session.memory.weights) == ({}, {})


# The fairness memory.


def weights(game: Game) -> dict[str, int]:
    return dict(game.session.memory.weights)


def test_a_denied_wish_doubles_with_every_round_up_to_eight_and_a_granted_one_weighs_one() -> None:
    game = Game(Mode.NS2, "ab|cd")
    for player in "abcd":
        prefer(game, player, "marines")
    seen_weights = []
    for _ in range(5):
        game.round(A)
        seen_weights.append(weights(game).get("c", 1))
    assert seen_weights == [2, 4, 8, 8, 8]
    assert weights(game).get("a") is None
    prefer(game, "c", "aliens")
    game.round(A)
    assert "c" not in weights(game)
    game.happens(e.ScrambledAlone(game.now, split("cd|ab")))
    assert {weights(game)[player] for player in "abc"} == {2}, "the script alone denied them"


def test_several_shuffles_before_one_round_deny_a_wish_once_and_the_last_of_them_decides() -> None:
    game = Game(Mode.NS2, "abc|def")
    prefer(game, "d", "marines")
    for _ in range(3):
        game.happens(command("scramble", "now"))
    game.start()
    assert weights(game) == {"d": 2}
    game.open()
    game.end(A)
    game.wait_for_commanders()
    game.happens(command("scramble", "now"))
    game.round(A)
    assert weights(game) == {"d": 4}
    game.wait_for_commanders()
    game.happens(command("scramble", "now"))
    prefer(game, "d", "aliens")
    game.round(A)
    assert weights(game) == {}


# Memory.


def full_memory() -> Memory:
    return Memory(
        "s1",
        "this map",
        Mode.NS2,
        wishes={ANN: WantedSide(A, stated=True), BOB: WantedSide(B, stated=False)},
        weights={ANN: 4},
        friendships=((ANN, BOB),),
        winners=(ANN,),
        chairs=((BOB, A), (ANN, B), (BOB, A)),
        choosing=True,
    )


def test_what_players_want_survives_a_restart_and_a_new_map() -> None:
    stored = decode_memory(encode_memory(Remembered(full_memory(), 1, 1)))
    assert stored is not None
    assert stored.memory == full_memory()
    session = Session(Rules(), stored.memory.restored(0.0, Rules()))
    play(session, [(0.0, hello(Mode.NS2, session="s2", map_name="next map")), (0.0, seen("ab|cd"))])
    assert terms(session.state).wishes == {ANN: Wish(A, 4), BOB: Wish(B, 1)}
    assert terms(session.state).groups == (frozenset((ANN, BOB)),)
    assert session.memory.winners == ()
    assert session.memory.chairs == full_memory().chairs


some = st.sampled_from(ids("abcdefgh"))


@given(
    st.dictionaries(some, st.integers(-(2**40), 2**40)),
    st.lists(st.tuples(some, some), max_size=40),
    st.lists(some, max_size=300),
)
def test_whatever_was_stored_weights_groups_and_winners_are_within_the_rules(
    stored: dict[PlayerId, int], friendships: list[tuple[PlayerId, PlayerId]], winners: list[PlayerId]
) -> None:
    memory = Memory(weights=stored, friendships=tuple(friendships), winners=tuple(winners)).restored(0.0, Rules())
    assert all(1 < weight <= HEAVIEST_WISH for weight in memory.weights.values())
    assert memory == memory.restored(0.0, Rules())
    assert len(memory.winners) <= 128


def test_of_ever_new_wishes_the_latest_are_remembered() -> None:
    memory = Memory()
    for number in range(MOST_REMEMBERED + 5):
        player = PlayerId(str(number))
        memory = memory.want(player, WantedSide(A, stated=True)).weigh({**memory.weights, player: 2})
    latest = {PlayerId(str(number)) for number in range(5, MOST_REMEMBERED + 5)}
    assert memory.wishes.keys() == memory.weights.keys() == latest
    older = Memory(wishes={PlayerId("older"): WantedSide(A, stated=True), **memory.wishes})
    assert older.restored(0.0, Rules()).wishes == memory.wishes


def test_orders_and_the_round_start_after_them_move_no_more_than_max_moves_together() -> None:
    game = Game(Mode.NS2, "abc|def", {"a": 5000.0, "b": 5000.0}, rules(shuffle={"max_moves": 5}))
    game.open()
    assert limits(game.happens(command("shuffle", "now"))) == [5]
    game.ratings = {entry.id: 5000.0 for entry in game.session.state.roster.on(A)[:2]}
    game.look()
    game.happens(command("shuffle", "now"))
    assert limits(game.start()) == [1]
    game.open()
    game.end(A)
    assert limits(game.start()) == [5]


def limits(effects: list[Effect]) -> list[int | None]:
    return [ask.terms.max_moves for ask in shuffles(effects) if ask.terms is not None]
