"""A secret team choice that does not come to teams: players read why, and nothing stays open."""

from __future__ import annotations

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, Moment
from equipoise.core.effects import Assign, Effect, LogDecision, Say, Tell
from equipoise.core.model import Mode, Outlook, PlayerId
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from tests.core.game import Game
from tests.core.scripts import assigned, begun, command, hello, of, play, rules, seen, split, started, the, went_live
from tests.core.test_choice import SECONDS, cancelled, chosen, opened, said


def is_over(game: Game) -> bool:
    state = game.session.state
    return state.choice is None and not state.memory.choosing and state.memory.pending is None


def test_a_round_that_starts_meanwhile_ends_it() -> None:
    game = opened()
    chosen(game, a="aliens")
    assert said(game.start())[-2:] == cancelled(Text(Phrase.REASON_ROUND_BEGAN))
    assert is_over(game)
    assert game.wait(SECONDS) == []


def test_if_no_player_chose_the_teams_stay() -> None:
    game = opened()
    effects = game.wait(SECONDS)
    assert effects[0] == LogDecision("cancel", Text(Phrase.REASON_NO_CHOICE))
    assert said(effects) == cancelled(Text(Phrase.REASON_NO_CHOICE))
    assert is_over(game)


def test_players_who_leave_take_their_choices_along_and_too_few_are_not_shuffled() -> None:
    game = opened("ab|cd")
    chosen(game, a="marines", b="aliens")
    game.change("a|cd")
    assert said(game.wait(SECONDS)) == cancelled(Text(Phrase.NOT_ENOUGH_PLAYERS, ("4", "3")))
    assert is_over(game)


def test_when_all_have_left_it_is_over_at_once() -> None:
    game = opened("ab|cd")
    assert said(game.change("|")) == cancelled(Text(Phrase.NOT_ENOUGH_PLAYERS, ("4", "0")))
    assert is_over(game)


def test_an_admin_cancels_it() -> None:
    game = opened()
    effects = game.happens(command("choice", "cancel", by=None))
    assert said(effects) == cancelled(Text(Phrase.REASON_ADMIN))
    assert Tell(None, (Text(Phrase.CHOICE_CANCELLED), Text(Phrase.REASON_ADMIN))) in effects
    assert is_over(game)
    assert game.happens(command("choice", "cancel")) == [Tell(PlayerId("a"), (Text(Phrase.CHOICE_NONE),))]


def test_an_admin_in_the_game_who_cancels_it_reads_so_once() -> None:
    game = opened()
    effects = game.happens(command("choice", "cancel"))
    assert said(effects) == cancelled(Text(Phrase.REASON_ADMIN))
    assert not [effect for effect in effects if isinstance(effect, Tell)]


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


@pytest.mark.parametrize(
    "event", [command("off"), hello(Mode.NS2, inactive_reason="tournament")], ids=["off", "tournament"]
)
def test_it_ends_when_equipoise_may_not_act_any_more(event: e.Event) -> None:
    game = opened()
    assert said(game.happens(event))[-2:] == cancelled(Text(Phrase.REASON_INACTIVE))
    assert is_over(game)


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


def test_a_script_that_is_loaded_anew_on_the_map_ends_it_too() -> None:
    game = opened()
    effects = game.happens(hello(Mode.NS2, session="s2", late=True))
    assert said(effects) == cancelled(Text(Phrase.REASON_RESTARTED))


def test_the_end_of_the_map_ends_it_without_a_word() -> None:
    game = opened()
    assert said(game.happens(hello(Mode.NS2, session="s2", map_name="next map"))) == []
    assert is_over(game)


def closed(session: Session) -> list[Effect]:
    """A choice of four is open, all choose the other side; returns what follows."""
    sides = dict(zip("abcd", ("aliens", "aliens", "marines", "marines"), strict=True))
    script = [command("choice"), *(command("choose", word, by=player, admin=False) for player, word in sides.items())]
    return play(session, [(0.0, event) for event in script])


def asked(effects: list[Effect]) -> AskSplit:
    return the(AskSplit, effects)


def test_if_players_come_or_leave_while_it_is_solved_it_is_asked_for_again() -> None:
    session = begun(Mode.NS2, "ab|cd", phase=e.Phase.IDLE)
    ask = asked(closed(session))
    play(session, [(0.0, seen("ab|cd|e"))])
    again = asked(
        play(session, [(0.0, e.SplitSolved(ask, split("cd|ab"), 0.0, Outlook.alone(0.5), Outlook.alone(0.5)))])
    )
    assert (again.moment, len(again.entries), again.terms and len(again.terms.wishes)) == (Moment.NOW, 5, 4)


def test_if_the_solver_fails_the_choice_is_kept_for_the_next_round_start() -> None:
    session = begun(Mode.NS2, "ab|cd", phase=e.Phase.IDLE)
    ask = asked(closed(session))
    play(session, [(0.0, e.SolveFailed(ask, "slow"))])
    later = asked(play(session, [(0.0, started("ab|cd"))]))
    assert (later.moment, later.reason) == (Moment.FREEZE, Text(Phrase.REASON_CHOICE))
    assert later.terms == ask.terms


def test_what_could_not_be_carried_out_is_carried_out_before_the_round() -> None:
    session = begun(Mode.NS2, "ab|cd", phase=e.Phase.IDLE)
    ask = asked(closed(session))
    solution = e.SplitSolved(ask, split("cd|ab"), 0.0, Outlook.alone(0.5), Outlook.alone(0.5))
    order = assigned(play(session, [(0.0, solution)]))
    play(session, [(0.0, e.OrderFailed(0.0, order.order, "sizes"))])
    assert session.memory.pending == Text(Phrase.REASON_CHOICE)
    ask = asked(play(session, [(0.0, started("ab|cd"))]))
    order = assigned(
        play(session, [(0.0, e.SplitSolved(ask, split("cd|ab"), 0.0, Outlook.alone(0.5), Outlook.alone(0.5)))])
    )
    effects = play(session, [(0.0, e.OrderDone(0.0, order.order))])
    assert Say(Text(Phrase.CHOICE_RESULT, ("4", "4"))) in effects
    play(session, [(0.0, went_live("r1", "cd|ab"))])
    assert session.state.choice is None


def test_an_admin_who_cancels_the_pending_shuffle_ends_the_choice() -> None:
    session = begun(Mode.NS2, "ab|cd", phase=e.Phase.IDLE)
    closed(session)
    play(session, [(0.0, command("shuffle", "cancel"))])
    assert session.state.choice is None
    assert not of(Assign, play(session, [(0.0, e.Heartbeat(0.0))]))
