"""A server whose script is not trusted takes no admin's commands from the game: `admin_commands = false`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.commands import LONGEST_QUOTE
from equipoise.core.effects import LogDecision, LookUp, Tell
from equipoise.core.model import Mode
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from tests.core.scripts import begun, command, ids, play

UNTRUSTED = Rules(admin_commands=False)
CHANGES = [
    ("set", "76561197960287930", "4321"),
    ("reset", "76561197960287930"),
    ("scramble",),
    ("scramble", "next"),
    ("scramble", "cancel"),
    ("balance",),
    ("move", "b"),
    ("on",),
    ("off",),
]


@pytest.mark.parametrize("words", CHANGES, ids=" ".join)
@pytest.mark.parametrize("by", ["a", None], ids=["player", "console"])
def test_a_command_that_changes_something_is_refused_and_written_down(words: tuple[str, ...], by: str | None) -> None:
    session = begun(Mode.KOTH, "abc|d", rules=UNTRUSTED)
    before = session.memory
    event = command(*words, by=by)
    refused = Text(Phrase.REFUSED_IN_GAME, (" ".join(words),))

    assert play(session, [(1.0, event)]) == [
        Tell(event.by, (refused,)),
        LogDecision("refused", refused, players=ids(by or "")),
    ]
    assert session.memory == before


@pytest.mark.parametrize("words", CHANGES, ids=" ".join)
def test_the_admin_interface_may_give_every_command(words: tuple[str, ...]) -> None:
    outside = replace(command(*words, by=None), outside=True)
    trusted, untrusted = (begun(Mode.KOTH, "abc|d", rules=rules) for rules in (Rules(), UNTRUSTED))
    assert play(untrusted, [(1.0, outside)]) == play(trusted, [(1.0, outside)])


@pytest.mark.parametrize("verb", ["rating", "rank", "top", "teams", "status", "why"])
def test_look_ups_remain(verb: str) -> None:
    event = command(verb)
    assert play(begun(Mode.KOTH, "ab|cd", rules=UNTRUSTED), [(1.0, event)]) == [LookUp(event)]


def test_players_still_vote_and_hear_that_the_rest_is_for_admins() -> None:
    asked = [command("vote", admin=False), command("scramble", admin=False)]
    trusted, untrusted = (begun(Mode.KOTH, "abcd|efgh", rules=rules) for rules in (Rules(), UNTRUSTED))
    script: list[tuple[float, e.Event]] = [(1.0, each) for each in asked]
    assert play(untrusted, script) == play(trusted, script)


def test_a_long_command_is_quoted_in_part() -> None:
    session = begun(Mode.KOTH, "ab|cd", rules=UNTRUSTED)
    (tell, _) = play(session, [(1.0, command("set", "x" * 128))])
    assert isinstance(tell, Tell)
    assert len(tell.lines[0].args[0]) == LONGEST_QUOTE
