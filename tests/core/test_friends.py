"""Friends: invited, accepted, shown, ended; their groups hold at most four and no player twice."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSplit
from equipoise.core.effects import Effect, Place, RecordRound, Tell
from equipoise.core.friends import INVITATION_MINUTES, present, with_friends
from equipoise.core.memory import LARGEST_GROUP, MOST_REMEMBERED, Memory, groups, lawful
from equipoise.core.model import STEAM_ID_BASE, Entry, Mode, PlayerId, Roster, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from tests.core.game import Game
from tests.core.scripts import A, B, command, ended, finished, ids, split, the


def friend(game: Game, by: str, *words: str) -> list[Effect]:
    return game.happens(command("friend", *words, by=by, admin=False))


def befriended(game: Game, *pairs: str) -> Game:
    for one, two in pairs:
        friend(game, one, two)
        friend(game, two, one)
    return game


def together(game: Game) -> set[str]:
    return {"".join(sorted(group)) for group in present(game.session.state)}


def told(player: str, *lines: Text) -> Tell:
    return Tell(PlayerId(player), lines)


def test_two_who_name_each_other_are_friends_and_both_read_it() -> None:
    game = Game(Mode.NS2, "ab|cd")
    minutes = str(INVITATION_MINUTES)
    assert friend(game, "a", "b") == [
        told("a", Text(Phrase.FRIEND_ASKED, ("@b", minutes))),
        told("b", Text(Phrase.FRIEND_ASKS, ("@a",))),
    ]
    assert together(game) == set()
    assert friend(game, "b", "a") == [
        told("b", Text(Phrase.FRIEND_MADE, ("@a",))),
        told("a", Text(Phrase.FRIEND_MADE, ("@b",))),
    ]
    assert together(game) == {"ab"}


def test_an_invitation_lapses_and_one_who_asks_again_is_not_shown_again() -> None:
    game = Game(Mode.NS2, "ab|cd")
    friend(game, "a", "b")
    game.now += INVITATION_MINUTES * 60 - 1
    assert [effect.player for effect in friend(game, "a", "b") if isinstance(effect, Tell)] == ["a"]
    game.now += INVITATION_MINUTES * 60
    friend(game, "b", "a")
    assert together(game) == set()
    friend(game, "a", "b")
    assert together(game) == {"ab"}


def test_friends_of_friends_are_one_group_and_a_fifth_is_refused_also_by_an_older_invitation() -> None:
    full = Text(Phrase.FRIEND_FULL, (str(LARGEST_GROUP),))
    game = befriended(Game(Mode.NS2, "abc|def"), "ab")
    friend(game, "e", "a")
    befriended(game, "cd", "bc")
    assert together(game) == {"abcd"}
    for by, other in ("ea", "de", "ae"):
        assert friend(game, by, other) == [told(by, full)]
    assert together(game) == {"abcd"}


def test_open_invitations_count_so_that_one_player_cannot_ask_everybody() -> None:
    game = Game(Mode.NS2, "abc|def")
    for other in "bcd":
        friend(game, "a", other)
    assert friend(game, "a", "e") == [told("a", Text(Phrase.FRIEND_FULL, (str(LARGEST_GROUP),)))]


def test_a_player_sees_their_group_and_leaves_it_alone() -> None:
    game = befriended(Game(Mode.NS2, "ab|cd"), "ab", "bc")
    usage = Text(Phrase.FRIEND_USAGE)
    lines = (Text(Phrase.FRIEND_LINE, ("@b",)), Text(Phrase.FRIEND_LINE, ("@c",)))
    assert friend(game, "a") == [told("a", *lines, usage)]
    assert friend(game, "d") == [told("d", Text(Phrase.FRIEND_NONE), usage)]
    left = Text(Phrase.FRIEND_LEFT, ("@b",))
    assert friend(game, "b", "none") == [told("b", Text(Phrase.FRIEND_ENDED)), told("a", left), told("c", left)]
    assert together(game) == set(), "a and c were friends through b alone"
    assert friend(game, "a") == [told("a", Text(Phrase.FRIEND_NONE), usage)]


def test_none_withdraws_open_invitations_too_and_one_that_is_made_again_is_read_once_in_five_minutes() -> None:
    game = Game(Mode.NS2, "ab|cd")
    friend(game, "a", "b")
    for by, words in (("a", "none"), ("b", "a"), ("a", "none"), ("b", "none")):
        friend(game, by, words)
    assert together(game) == set()
    asks = told("b", Text(Phrase.FRIEND_ASKS, ("@a",)))
    assert asks not in friend(game, "a", "b")
    assert told("c", Text(Phrase.FRIEND_ASKS, ("@a",))) in friend(game, "a", "c"), "another pair"
    game.now += INVITATION_MINUTES * 60
    assert asks in friend(game, "a", "b")
    for by, words in (("a", "none"), ("a", "b"), ("b", "a")):
        friend(game, by, words)
    assert together(game) == {"ab"}, "who read it before it was withdrawn may accept the next"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("z",), Text(Phrase.UNKNOWN_PLAYER, ("z",))),
        (("bot:1",), Text(Phrase.UNKNOWN_PLAYER, ("bot:1",))),
        (("big", "ann"), Text(Phrase.UNKNOWN_PLAYER, ("big ann",))),
        (("9" * 60,), Text(Phrase.UNKNOWN_PLAYER, ("9" * 60,))),
        (("²",), Text(Phrase.UNKNOWN_PLAYER, ("²",))),
        (("a",), Text(Phrase.FRIEND_USAGE)),
    ],
)
def test_who_is_not_here_is_no_friend(words: tuple[str, ...], answer: Text) -> None:
    assert friend(Game(Mode.NS2, "ab1|cd"), "a", *words) == [told("a", answer)]


def test_a_friend_is_named_by_account_number_as_well() -> None:
    game = Game(Mode.NS2, "ab|cd")
    ann, bob = (PlayerId(str(STEAM_ID_BASE + number)) for number in (7, 8))
    game.roster = Roster((Entry(ann, A), Entry(bob, B)))
    game.look()
    friend(game, ann, "8")
    friend(game, bob, ann)
    assert present(game.session.state) == (frozenset((ann, bob)),)


def test_a_friend_who_left_or_is_afk_is_in_no_shuffle_and_comes_back_to_the_group() -> None:
    game = befriended(Game(Mode.NS2, "abc|d"), "ab", "bc")
    for text, here in (("ac|d||b", {"ac"}), ("a|d", set()), ("abc|d", {"abc"})):
        game.change(text)
        assert together(game) == here


names = st.sampled_from(ids("abcdefgh"))


@given(st.lists(st.tuples(names, names), max_size=60))
def test_groups_are_disjoint_and_hold_two_to_four(pairs: list[tuple[PlayerId, PlayerId]]) -> None:
    memory = Memory()
    for one, two in pairs:
        memory = memory.befriend(one, two)
    found = set(groups(memory.friendships).values())
    assert all(2 <= len(group) <= LARGEST_GROUP for group in found)
    assert all(not one & two for one, two in itertools.combinations(found, 2))
    assert memory.friendships == lawful(pairs)
    assert all(one not in groups(memory.part(one).friendships) for one, _ in pairs)


def test_of_ever_new_friendships_the_latest_are_remembered() -> None:
    memory = Memory()
    for number in range(MOST_REMEMBERED + 5):
        memory = memory.befriend(PlayerId(f"one {number}"), PlayerId(f"two {number}"))
    assert len(memory.friendships) == MOST_REMEMBERED
    assert memory.friendships[0] == ("one 5", "two 5")


def recorded(effects: list[Effect]) -> RecordRound:
    return the(RecordRound, effects)


def test_friends_who_play_a_round_are_its_squads() -> None:
    game = befriended(Game(Mode.NS2, "abc|def"), "ac", "cd", "ef")
    game.change("abc|e")
    assert recorded(game.round(Side.A)).round.squads == (ids("ac"),)


def test_squads_that_the_script_tells_are_not_replaced_and_a_late_round_gets_none() -> None:
    game = befriended(Game(Mode.NS2, "ab|cd"), "ab")
    game.start()
    game.open()
    told_by_script = replace(finished("r1", Side.A, mode=Mode.NS2), squads=(ids("cd"),))
    assert recorded(game.happens(ended(told_by_script))).round.squads == (ids("cd"),)
    late = finished("r0", Side.A, mode=Mode.NS2)
    assert recorded(game.happens(ended(late))).round.squads == ()


# TF2: scrambles, autobalance and joins.


def koth(text: str, *pairs: str, ratings: dict[str, float] | None = None) -> Game:
    return befriended(Game(Mode.KOTH, text, ratings), *pairs)


def scrambled(game: Game) -> list[Effect]:
    game.happens(command("scramble", "next"))
    return game.start()


@pytest.mark.parametrize("known", [True, False], ids=["", "where the rules know no friends"])
def test_a_scramble_is_asked_to_keep_friends_together_unless_the_rules_know_none_and_the_word_says_so(
    known: bool,
) -> None:
    game = koth("abcd|efgh", "ae")
    game.session.use(Rules(friends=known))
    assert known or friend(game, "a", "b") == [told("a", Text(Phrase.FRIEND_OFF))]
    effects = scrambled(game)
    groups = (frozenset(ids("ae")),) if known else ()
    assert the(AskSplit, effects).groups == groups
    squads = recorded([*game.open(), *game.end(Side.A)]).round.squads
    assert squads == ((ids("ae"),) if known else ())


def parted_line(effect: Effect) -> bool:
    return isinstance(effect, Tell) and any(line.phrase is Phrase.FRIEND_PARTED for line in effect.lines)


def test_of_a_group_that_is_parted_each_reads_only_of_those_on_the_other_side() -> None:
    game = koth("abc|defg|h", "ab", "bc")
    game.happens(command("scramble", "next"))
    question = the(AskSplit, game.session.receive(e.RoundStarted(game.now, game.roster), game.now))
    effects = game.happens(e.SplitSolved(question, split("adeh|bcfg"), 0.0, None, None))
    lines = {each.player: [line.args for line in each.lines] for each in effects if parted_line(each)}
    assert lines == {"a": [("@b",), ("@c",)], "b": [("@a",)], "c": [("@a",)]}


def test_friends_who_leave_in_the_freeze_are_no_reason_for_anything() -> None:
    game = koth("abcd|efgh", "ab")
    game.happens(command("scramble", "next"))
    game.start()
    effects = game.change("acd|efgh")
    assert not [each for each in effects if parted_line(each)]
    assert together(game) == set()


def test_a_watching_player_may_have_friends_and_the_console_none() -> None:
    game = koth("ab|cd||e")
    friend(game, "e", "a")
    assert friend(game, "a", "e")[0] == told("a", Text(Phrase.FRIEND_MADE, ("@e",)))
    assert together(game) == set()
    assert friend(game, "a") == [told("a", Text(Phrase.FRIEND_LINE, ("@e",)), Text(Phrase.FRIEND_MENU))]
    refusal = [Tell(None, (Text(Phrase.PLAYING_ONLY),))]
    assert game.happens(command("friend", "a", by=None)) == refusal


def test_autobalance_is_told_who_plays_beside_a_friend_and_where_sides_are_too_uneven_they_count_twice() -> None:
    game = koth("abcde|fgh", "ab", "fg")
    game.start()
    assert the(AskMoves, game.open()).friends == frozenset("ab")
    assert [with_friends(game.session.state, side) for side in Side] == [frozenset("ab"), frozenset("fg")]


@pytest.mark.parametrize(
    ("text", "ratings", "wanted", "side", "reason"),
    [
        ("ab|cd||e", {}, Side.B, Side.A, Phrase.REASON_JOIN_FRIEND),
        ("ab|cd||e", {"a": 2400.0, "e": 2400.0}, Side.A, Side.B, Phrase.REASON_JOIN_WEAKER),
        ("abf|cd||e", {}, Side.A, Side.B, Phrase.REASON_JOIN_SMALLER),
    ],
    ids=["beside their friend", "while the sides stay even", "to the smaller side all the same"],
)
def test_a_joiner_goes_beside_their_friend_while_the_sides_stay_even(
    text: str, ratings: dict[str, float], wanted: Side, side: Side, reason: Phrase
) -> None:
    game = koth(text, "ae", ratings=ratings)
    game.start()
    game.open()
    place = the(Place, game.happens(e.SideWanted(game.now, PlayerId("e"), wanted)))
    assert (place.side, place.reason) == (side, Text(reason))
