"""The secret team choice: opened, answered in secret, closed, carried out, or ended with the reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, Moment
from equipoise.core.effects import Assign, Effect, LogDecision, Say, Tell
from equipoise.core.memory import Remembered, encode_memory
from equipoise.core.model import Mode, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.state import Stage
from tests.core.game import Game
from tests.core.scripts import A, B, command, ids, of, rules, the

SECONDS = Rules().shuffle.choice_seconds
EVEN_PLAYERS = dict.fromkeys("abcdefgh", 2000.0)


def said(effects: list[Effect]) -> list[Text]:
    return [effect.text for effect in effects if isinstance(effect, Say)]


def chosen(game: Game, **choices: str) -> list[Effect]:
    """Players choose, by letter."""
    return [
        effect
        for player, word in choices.items()
        for effect in game.happens(command("choose", word, by=player, admin=False))
    ]


def opened(text: str = "abc|def", ratings: dict[str, float] | None = None, some_rules: Rules | None = None) -> Game:
    game = Game(Mode.NS2, text, ratings or EVEN_PLAYERS, some_rules)
    game.happens(command("choice"))
    return game


def cancelled(reason: Text) -> list[Text]:
    return [Text(Phrase.CHOICE_CANCELLED), reason]


# Opened.


def test_an_admin_opens_it_and_all_players_read_how_to_choose() -> None:
    game = Game(Mode.NS2, "ab|cd")
    opening = LogDecision("choice", Text(Phrase.REASON_ADMIN))
    assert game.happens(command("choice")) == [opening, Say(Text(Phrase.CHOICE_OPEN, ("30",)))]
    assert game.session.deadline() == game.now + SECONDS


def test_the_console_reads_that_it_opened() -> None:
    game = Game(Mode.NS2, "ab|cd")
    assert Tell(None, (Text(Phrase.CHOICE_OPENED),)) in game.happens(command("choice", by=None))


def test_enough_players_who_ask_for_it_open_it_and_the_vote_has_its_cool_down() -> None:
    game = Game(Mode.NS2, "abc|def")
    for number, player in enumerate("abc", 1):
        line = Text(Phrase.CHOICE_VOICE, (f"@{player}", str(number), "4"))
        assert game.happens(command("choice", by=player, admin=False)) == [Say(line)]
    assert game.happens(command("choice", by="a", admin=False)) == [
        Tell(PlayerId("a"), (Text(Phrase.CHOICE_VOICE, ("@a", "3", "4")),))
    ]
    effects = game.happens(command("choice", by="d", admin=False))
    assert LogDecision("choice", Text(Phrase.REASON_VOTE)) in effects
    game.wait(SECONDS)
    cooling = Tell(PlayerId("a"), (Text(Phrase.VOTE_COOLDOWN),))
    assert game.happens(command("choice", by="a", admin=False)) == [cooling]


def test_an_admin_of_a_server_without_admin_commands_asks_like_any_player() -> None:
    game = Game(Mode.NS2, "abc|def", rules=Rules(admin_commands=False))
    assert said(game.happens(command("choice", by="a"))) == [Text(Phrase.CHOICE_VOICE, ("@a", "1", "4"))]


def refusal(game: Game, *, admin: bool = False) -> Text:
    (answer,) = game.happens(command("choice", by="a", admin=admin))
    assert isinstance(answer, Tell)
    return answer.lines[0]


def test_it_is_refused_with_the_reason() -> None:
    assert refusal(Game(Mode.NS2, "a|b"), admin=True) == Text(Phrase.NOT_ENOUGH_PLAYERS, ("4", "2"))
    assert refusal(Game(Mode.NS2, "ab|cd")) == Text(Phrase.VOTE_TOO_FEW)
    assert refusal(Game(Mode.NS2, "bc|def||a")) == Text(Phrase.PLAYING_ONLY)
    assert refusal(Game(Mode.NS2, "abc|def", rules=rules(vote={"enabled": False}))) == Text(Phrase.VOTE_OFF)
    assert refusal(opened(), admin=True) == Text(Phrase.CHOICE_RUNNING)
    running = Game(Mode.NS2, "abc|def")
    running.start()
    assert refusal(running, admin=True) == Text(Phrase.CHOICE_NOT_NOW)
    running.open()
    assert refusal(running, admin=True) == Text(Phrase.CHOICE_NOT_NOW)
    running.end(A)
    assert refusal(running, admin=True) == Text(Phrase.CHOICE_NOT_NOW), "the winner is shown"
    off = Game(Mode.NS2, "abc|def")
    off.happens(command("off"))
    assert refusal(off, admin=True) == Text(Phrase.STATUS_OFF)


@pytest.mark.parametrize("admin", [True, False])
@pytest.mark.parametrize("words", [("choice", "bogus"), ("choice", "cancel", "it")])
def test_a_word_too_many_is_unknown_and_neither_opens_it_nor_counts(words: tuple[str, ...], admin: bool) -> None:
    game = Game(Mode.NS2, "abc|def")
    unknown = Text(Phrase.UNKNOWN_COMMAND, (" ".join(words),))
    assert game.happens(command(*words, by="a", admin=admin)) == [Tell(PlayerId("a"), (unknown,))]
    assert game.session.state.choice is None
    assert not game.session.state.choice_voices.asked_at


# Answered.


def test_a_choice_is_told_to_its_player_alone_and_the_latest_counts() -> None:
    game = opened()
    told = Tell(PlayerId("a"), (Text(Phrase.CHOICE_CHOSEN, ("marines",)),))
    assert chosen(game, a="Marines") == [told]
    assert game.happens(command("choose", by="a", admin=False)) == [told]
    chosen(game, a="random")
    assert game.happens(command("choose", by="a", admin=False)) == [
        Tell(PlayerId("a"), (Text(Phrase.CHOICE_CHOSEN, ("random",)),))
    ]


@pytest.mark.parametrize(
    ("by", "words", "phrase"),
    [
        ("a", ("skulks",), Phrase.CHOICE_USAGE),
        ("a", ("marines", "aliens"), Phrase.CHOICE_USAGE),
        ("a", (), Phrase.CHOICE_USAGE),
        ("f", ("marines",), Phrase.PLAYING_ONLY),
        ("z", ("marines",), Phrase.PLAYING_ONLY),
        (None, ("marines",), Phrase.PLAYING_ONLY),
    ],
)
def test_what_is_no_choice_is_answered_and_not_noted(by: str | None, words: tuple[str, ...], phrase: Phrase) -> None:
    game = opened("ab|cd|e|f")
    (answer,) = game.happens(command("choose", *words, by=by, admin=False))
    assert answer == Tell(None if by is None else PlayerId(by), (Text(phrase),))
    assert game.session.state.choice is not None
    assert game.session.state.choice.chosen == {}


def test_without_an_open_choice_nobody_chooses() -> None:
    game = Game(Mode.NS2, "ab|cd")
    assert chosen(game, a="marines") == [Tell(PlayerId("a"), (Text(Phrase.CHOICE_NONE),))]


choices = st.dictionaries(
    st.sampled_from("abcde"), st.tuples(*(st.sampled_from(["marines", "aliens", "random"]),) * 2), min_size=1
)


@given(choices, st.lists(st.sampled_from("abcde"), max_size=3), st.floats(0, SECONDS - 1))
def test_until_it_closes_nothing_but_the_answers_to_their_players_depends_on_what_was_chosen(
    both: dict[str, tuple[str, str]], leavers: list[str], later: float
) -> None:
    """Two servers differ in their players' choices alone: all that leaves the sessions is the same."""
    games = opened(), opened()
    for which, game in enumerate(games):
        for player, words in both.items():
            answer = chosen(game, **{player: words[which]})
            assert {effect.player for effect in answer if isinstance(effect, Tell)} == {player}
            assert len(answer) == 1
        for player in leavers:
            game.happens(e.PlayerLeft(game.now, PlayerId(player)))
        game.happens(command("status"), command("scramble", "dry"), e.Heartbeat(game.now))
        game.wait(later)
        game.look()
    one, two = ([effect for effect in game.effects if not _is_answer(effect)] for game in games)
    assert one == two
    assert games[0].session.memory == games[1].session.memory
    assert games[0].session.deadline() == games[1].session.deadline()
    assert b"random" not in encode_memory(Remembered(games[0].session.memory))


def _is_answer(effect: Effect) -> bool:
    return isinstance(effect, Tell) and effect.lines[0].phrase is Phrase.CHOICE_CHOSEN


# Closed.


def test_when_its_time_is_up_the_teams_are_made_at_once_of_what_was_chosen() -> None:
    game = opened()
    chosen(game, a="aliens", b="aliens", d="marines", e="marines", f="random")
    effects = game.wait(SECONDS)
    ask = the(AskSplit, effects)
    assert ask.moment is Moment.NOW
    assert ask.terms is not None
    assert not ask.terms.moves_count
    assert {player: wish.side for player, wish in ask.terms.wishes.items()} == dict(
        zip(ids("abde"), (B, B, A, A), strict=True)
    )
    assert {"d", "e"} <= set(game.stands().split("|")[0])
    assert {"a", "b"} <= set(game.stands().split("|")[1])
    assert said(effects)[0].args[-1] == Text(Phrase.REASON_CHOICE)
    assert said(effects)[-1] == Text(Phrase.CHOICE_RESULT, ("4", "4"))
    assert game.session.memory.pending is None


def test_it_closes_as_soon_as_all_have_chosen_or_the_last_who_had_not_left() -> None:
    game = opened("ab|cde")
    chosen(game, a="marines", b="marines", c="aliens")
    game.change("abd|c||e")
    assert game.session.state.choice_stage is Stage.OPEN
    assert of(AskSplit, chosen(game, d="random"))
    game = opened("ab|cde")
    chosen(game, a="marines", b="marines", c="aliens", d="random")
    assert of(AskSplit, game.happens(e.PlayerLeft(game.now, PlayerId("e"))))


def test_who_does_not_choose_keeps_the_wish_they_stated_and_random_overrides_it() -> None:
    game = Game(Mode.NS2, "abc|def", EVEN_PLAYERS)
    for player in "def":
        game.happens(command("prefer", "marines", by=player, admin=False))
    game.happens(e.SideWanted(0.0, PlayerId("a"), B))
    game.happens(command("choice"))
    chosen(game, e="random", f="aliens")
    ask = the(AskSplit, game.wait(SECONDS))
    assert ask.terms is not None
    assert {player: wish.side for player, wish in ask.terms.wishes.items()} == {PlayerId("d"): A, PlayerId("f"): B}


def test_if_all_choose_marines_the_ones_who_were_denied_before_get_them() -> None:
    game = Game(Mode.NS2, "abc|def", EVEN_PLAYERS)
    for number in range(2):
        game.happens(command("choice"))
        effects = chosen(game, **dict.fromkeys("abcdef", "marines"))
        assert said(effects)[-1] == Text(Phrase.CHOICE_RESULT, ("3", "6"))
        marines = game.stands().split("|")[0]
        if number == 0:
            first = marines
            game.round(None)
            game.wait_for_commanders()
    assert set(first) | set(marines) == set("abcdef")
    assert not set(first) & set(marines)


def test_the_band_comes_before_choices() -> None:
    strong = {**EVEN_PLAYERS, "a": 3200.0, "b": 3200.0}
    game = opened("ab|cdef", strong)
    chosen(game, **dict.fromkeys("ab", "marines"), **dict.fromkeys("cdef", "aliens"))
    marines, aliens = game.stands().split("|")
    assert len(set("ab") & set(marines)) == len(set("ab") & set(aliens)) == 1


def test_the_last_winners_are_split_evenly() -> None:
    game = Game(Mode.NS2, "abcd|efgh", EVEN_PLAYERS)
    game.round(A)
    game.wait_for_commanders()
    game.happens(command("choice"))
    chosen(game, **dict.fromkeys("abcd", "marines"), **dict.fromkeys("efgh", "aliens"))
    marines, aliens = game.stands().split("|")
    assert len(set("abcd") & set(marines)) == len(set("abcd") & set(aliens)) == 2


@pytest.mark.parametrize("winner", [None, A])
def test_after_a_draw_and_before_the_first_round_no_player_is_a_winner(winner: Side | None) -> None:
    game = Game(Mode.NS2, "abc|def", EVEN_PLAYERS)
    if winner is None:
        game.round(A)
        game.round(winner)
        game.wait_for_commanders()
    game.happens(command("choice"))
    ask = the(AskSplit, chosen(game, **dict.fromkeys("abcdef", "random")))
    assert ask.terms is not None
    assert ask.terms.spread_evenly == frozenset()


def test_the_shuffle_before_the_round_keeps_to_what_was_chosen() -> None:
    game = Game(Mode.NS2, "abcd|efgh", EVEN_PLAYERS)
    game.happens(command("friend", "b", by="a", admin=False), command("friend", "a", by="b", admin=False))
    game.round(A)
    game.wait_for_commanders()
    game.happens(command("choice"))
    chosen(game, **dict.fromkeys("abcd", "marines"), **dict.fromkeys("efgh", "aliens"))
    stood = game.stands()
    game.start()
    assert game.stands() == stood
    game.open()
    assert game.session.state.choice is None


def test_a_choice_that_nobody_had_to_move_for_is_announced_too() -> None:
    game = opened("ab|cd")
    effects = chosen(game, a="marines", b="marines", c="aliens", d="aliens")
    assert not of(Assign, effects)
    assert [text.phrase for text in said(effects)] == [Phrase.SHUFFLE_NEEDLESS, Phrase.CHOICE_RESULT]
    assert game.session.state.choice_stage is Stage.APPLIED


def test_friends_stay_together_though_they_chose_different_sides() -> None:
    game = Game(Mode.NS2, "abc|def", EVEN_PLAYERS)
    game.happens(command("friend", "b", by="a", admin=False), command("friend", "a", by="b", admin=False))
    game.happens(command("choice"))
    effects = chosen(game, a="marines", b="aliens", c="random", d="random", e="random", f="random")
    assert said(effects)[-1] == Text(Phrase.CHOICE_RESULT, ("1", "2"))
    assert any({"a", "b"} <= set(side) for side in game.stands().split("|"))


def test_a_group_larger_than_half_the_players_is_parted_as_little_as_possible() -> None:
    game = Game(Mode.NS2, "abc|def", EVEN_PLAYERS)
    for one, two in ("ab", "ba", "bd", "db", "de", "ed"):
        game.happens(command("friend", two, by=one, admin=False))
    game.happens(command("choice"))
    chosen(game, **dict.fromkeys("abcdef", "random"))
    assert sorted(len(set("abde") & set(side)) for side in game.stands().split("|")) == [1, 3]
