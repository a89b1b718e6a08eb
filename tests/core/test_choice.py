"""The secret team choice: opened, answered in secret, closed, carried out, or ended with the reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, Moment
from equipoise.core.effects import Assign, Effect, LogDecision, Say, Tell
from equipoise.core.memory import Remembered, encode_memory
from equipoise.core.model import Mode, Outlook, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.core.state import Stage
from tests.core.game import Game
from tests.core.scripts import (
    A,
    B,
    assigned,
    begun,
    command,
    hello,
    ids,
    of,
    play,
    rules,
    seen,
    split,
    started,
    the,
    went_live,
)

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
    opening = [LogDecision("choice", Text(Phrase.REASON_ADMIN)), Say(Text(Phrase.CHOICE_OPEN, ("30",)))]
    assert game.happens(command("choice")) == opening
    assert game.session.deadline() == game.now + SECONDS
    console = Game(Mode.NS2, "ab|cd").happens(command("choice", by=None))
    assert console == [*opening, Tell(None, (Text(Phrase.CHOICE_OPENED),))]


@pytest.mark.parametrize("trusted", [True, False], ids=["players", "an admin where none is trusted"])
def test_enough_players_who_ask_for_it_open_it_and_the_vote_has_its_cool_down(trusted: bool) -> None:
    game = Game(Mode.NS2, "abc|def", rules=Rules(admin_commands=trusted))
    for number, player in enumerate("abc", 1):
        line = Text(Phrase.CHOICE_VOICE, (f"@{player}", str(number), "4"))
        assert game.happens(command("choice", by=player, admin=not trusted)) == [Say(line)]
    assert game.happens(command("choice", by="a", admin=False)) == [
        Tell(PlayerId("a"), (Text(Phrase.CHOICE_VOICE, ("@a", "3", "4")),))
    ]
    effects = game.happens(command("choice", by="d", admin=False))
    assert LogDecision("choice", Text(Phrase.REASON_VOTE)) in effects
    game.wait(SECONDS)
    cooling = Tell(PlayerId("a"), (Text(Phrase.VOTE_COOLDOWN),))
    assert game.happens(command("choice", by="a", admin=False)) == [cooling]


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
    game = Game(Mode.NS2, "ab|cd|e|f")
    assert chosen(game, a="marines") == [Tell(PlayerId("a"), (Text(Phrase.CHOICE_NONE),))], "none is open"
    game.happens(command("choice"))
    (answer,) = game.happens(command("choose", *words, by=by, admin=False))
    assert answer == Tell(None if by is None else PlayerId(by), (Text(phrase),))
    assert game.session.state.choice is not None
    assert game.session.state.choice.chosen == {}


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


@pytest.mark.parametrize(
    ("results", "winners"),
    [([], ""), ([A], "abcd"), ([A, None], "")],
    ids=["no round", "a round", "a draw"],
)
def test_the_winners_of_the_round_before_are_spread_evenly(results: list[Side | None], winners: str) -> None:
    game = Game(Mode.NS2, "abcd|efgh", EVEN_PLAYERS, rules(shuffle={"at_round_start": False}))
    for result in results:
        game.round(result)
    game.wait_for_commanders()
    game.happens(command("choice"))
    ask = the(AskSplit, chosen(game, **dict.fromkeys("abcdefgh", "random")))
    assert ask.terms is not None
    assert ask.terms.spread_evenly == set(ids(winners))


def test_the_shuffle_before_the_round_keeps_to_what_was_chosen_and_friends_stay_together() -> None:
    game = Game(Mode.NS2, "abcd|efgh", EVEN_PLAYERS)
    game.happens(command("friend", "b", by="a", admin=False), command("friend", "a", by="b", admin=False))
    game.round(A)
    game.wait_for_commanders()
    game.happens(command("choice"))
    effects = chosen(game, a="aliens", **dict.fromkeys("bcd", "marines"), **dict.fromkeys("efgh", "aliens"))
    ask = the(AskSplit, effects)
    assert ask.terms is not None
    assert ask.terms.groups == (frozenset(ids("ab")),)
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


# It does not come to teams: players read why, and nothing stays open.


def is_over(game: Game) -> bool:
    state = game.session.state
    return state.choice is None and not state.memory.choosing and state.memory.pending is None


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (Game.start, Phrase.REASON_ROUND_BEGAN),
        (lambda game: game.wait(SECONDS), Phrase.REASON_NO_CHOICE),
        (lambda game: game.happens(command("off")), Phrase.REASON_INACTIVE),
        (lambda game: game.happens(hello(Mode.NS2, inactive_reason="tournament")), Phrase.REASON_INACTIVE),
    ],
    ids=["a round starts", "nobody chose", "off", "tournament"],
)
def test_it_ends_without_new_teams_and_players_read_why(end: Callable[[Game], list[Effect]], reason: Phrase) -> None:
    game = opened()
    if reason is not Phrase.REASON_NO_CHOICE:
        chosen(game, a="aliens")
    effects = end(game)
    assert LogDecision("cancel", Text(reason)) in effects
    assert said(effects)[-2:] == cancelled(Text(reason))
    assert is_over(game)
    assert game.wait(SECONDS) == []


@pytest.mark.parametrize(
    ("left", "reason"),
    [
        ("a|cd", Text(Phrase.NOT_ENOUGH_PLAYERS, ("4", "3"))),
        ("|", Text(Phrase.NOT_ENOUGH_PLAYERS, ("4", "0"))),
        ("cd|ef", Text(Phrase.REASON_NO_CHOICE)),
    ],
    ids=["too few at its end", "nobody at once", "nobody who chose"],
)
def test_players_who_leave_take_their_choices_along_and_too_few_are_not_shuffled(left: str, reason: Text) -> None:
    game = opened("ab|cdef")
    chosen(game, a="marines", b="aliens")
    effects = [*game.change(left), *(game.wait(SECONDS) if left != "|" else ())]
    assert said(effects) == cancelled(reason)
    assert is_over(game)


@pytest.mark.parametrize("by", [None, "a"], ids=["console", "in the game"])
def test_an_admin_cancels_it_and_reads_so_once(by: str | None) -> None:
    game = opened()
    effects = game.happens(command("choice", "cancel", by=by))
    assert said(effects) == cancelled(Text(Phrase.REASON_ADMIN))
    lines = (Text(Phrase.CHOICE_CANCELLED), Text(Phrase.REASON_ADMIN))
    assert of(Tell, effects) == ([Tell(None, lines)] if by is None else [])
    assert is_over(game)
    assert game.happens(command("choice", "cancel")) == [Tell(PlayerId("a"), (Text(Phrase.CHOICE_NONE),))]


def test_a_player_cannot_cancel_it_and_neither_can_an_admin_where_none_is_trusted() -> None:
    for game in (Game(Mode.NS2, "abc|def"), opened()):
        stage = game.session.state.choice_stage
        refused = Tell(PlayerId("b"), (Text(Phrase.REFUSED_ADMIN),))
        assert game.happens(command("choice", "cancel", by="b", admin=False)) == [refused]
        assert game.session.state.choice_stage is stage
        assert not game.session.state.choice_voices.asked_at
    untrusted = Game(Mode.NS2, "abc|def", rules=Rules(admin_commands=False))
    refused = Tell(PlayerId("b"), (Text(Phrase.REFUSED_IN_GAME, ("choice cancel",)),))
    assert untrusted.happens(command("choice", "cancel", by="b")) == [refused]


def test_a_restart_of_the_daemon_ends_it_and_players_read_so_when_the_script_is_back() -> None:
    game = opened()
    chosen(game, a="aliens")
    session = Session(rules(), game.session.memory)
    assert session.deadline() is None
    effects = play(session, [(0.0, hello(Mode.NS2)), (0.0, seen("abc|def"))])
    assert said(effects) == cancelled(Text(Phrase.REASON_RESTARTED))
    assert not session.memory.choosing
    again = play(session, [(0.0, command("choose", "aliens", admin=False))])
    assert again == [Tell(PlayerId("a"), (Text(Phrase.CHOICE_NONE),))]


def test_a_script_that_is_loaded_anew_on_the_map_ends_it_too_and_the_end_of_the_map_without_a_word() -> None:
    assert said(opened().happens(hello(Mode.NS2, session="s2", late=True))) == cancelled(Text(Phrase.REASON_RESTARTED))
    game = opened()
    assert said(game.happens(hello(Mode.NS2, session="s2", map_name="next map"))) == []
    assert is_over(game)


def closed() -> tuple[Session, AskSplit]:
    """Four were asked and all chose the other side; the question that follows."""
    session = begun(Mode.NS2, "ab|cd", phase=e.Phase.IDLE)
    sides = dict(zip("abcd", ("aliens", "aliens", "marines", "marines"), strict=True))
    script = [command("choice"), *(command("choose", word, by=player, admin=False) for player, word in sides.items())]
    return session, the(AskSplit, play(session, [(0.0, event) for event in script]))


def solved(ask: AskSplit) -> tuple[float, e.Event]:
    return 0.0, e.SplitSolved(ask, split("cd|ab"), 0.0, Outlook.alone(0.5), Outlook.alone(0.5))


def test_if_players_come_or_leave_while_it_is_solved_it_is_asked_for_again() -> None:
    session, ask = closed()
    again = the(AskSplit, play(session, [(0.0, seen("ab|cd|e")), solved(ask)]))
    assert (again.moment, len(again.entries), again.terms and len(again.terms.wishes)) == (Moment.NOW, 5, 4)


@pytest.mark.parametrize("failed", [False, True], ids=["not solved", "not carried out"])
def test_what_failed_is_kept_for_the_next_round_start_and_carried_out_there(failed: bool) -> None:
    session, ask = closed()
    if failed:
        order = assigned(play(session, [solved(ask)]))
        play(session, [(0.0, e.OrderFailed(0.0, order.order, "sizes"))])
    else:
        play(session, [(0.0, e.SolveFailed(ask, "slow"))])
    assert session.memory.pending == Text(Phrase.REASON_CHOICE)
    later = the(AskSplit, play(session, [(0.0, started("ab|cd"))]))
    assert (later.moment, later.reason, later.terms) == (Moment.FREEZE, Text(Phrase.REASON_CHOICE), ask.terms)
    order = assigned(play(session, [solved(later)]))
    effects = play(session, [(0.0, e.OrderDone(0.0, order.order))])
    assert Say(Text(Phrase.CHOICE_RESULT, ("4", "4"))) in effects
    play(session, [(0.0, went_live("r1", "cd|ab"))])
    assert session.state.choice is None


def test_an_admin_who_cancels_the_pending_shuffle_ends_the_choice() -> None:
    session, _ = closed()
    play(session, [(0.0, command("shuffle", "cancel"))])
    assert session.state.choice is None
    assert not of(Assign, play(session, [(0.0, e.Heartbeat(0.0))]))
