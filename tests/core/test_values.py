"""Events and effects are immutable values."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import msgspec
import pytest

from equipoise.core.effects import Effect, Order
from equipoise.core.events import Answer, Event, ScriptEvent
from equipoise.core.memory import Memory
from equipoise.core.model import Mode, PlayerId, PlayerSummary, Side, is_bot
from equipoise.core.phrases import Phrase, Text
from tests.core.scripts import split


@pytest.mark.parametrize("kind", [*get_args(Effect), *get_args(Event), Memory], ids=lambda kind: kind.__name__)
def test_every_event_and_effect_is_frozen(kind: type) -> None:
    if issubclass(kind, msgspec.Struct):
        assert kind.__struct_config__.frozen
        return
    value = object.__new__(kind)
    with pytest.raises(AttributeError):
        setattr(value, kind.__match_args__[0], None)


def test_every_event_is_from_the_script_or_answers_the_shell() -> None:
    assert set(get_args(Event)) == {*get_args(ScriptEvent), *get_args(Answer)}
    assert set(get_args(Order)) <= set(get_args(Effect))


def test_a_mirrored_split_has_the_same_teams_on_the_other_sides() -> None:
    teams = split("ab|c|d")
    assert teams.mirrored() == split("c|ab|d")
    assert [teams.side_of(PlayerId(player)) for player in "acdx"] == [Side.A, Side.B, None, None]
    assert teams.size == 1


def test_a_summary_gives_the_skill_on_the_side_else_the_skill_else_the_rating() -> None:
    summary = PlayerSummary(PlayerId("a"), 2000.0)
    assert (summary.balance, summary.on(Side.A), summary.on(Side.B)) == (2000.0, 2000.0, 2000.0)
    summary = replace(summary, skill=25.0)
    assert (summary.balance, summary.on(Side.A), summary.on(Side.B)) == (25.0, 25.0, 25.0)
    summary = replace(summary, side_skills=(30.0, 20.0))
    assert (summary.balance, summary.on(Side.A), summary.on(Side.B)) == (25.0, 30.0, 20.0)


@pytest.mark.parametrize("mode", Mode)
def test_only_ns2_calls_its_sides_marines_and_aliens(mode: Mode) -> None:
    assert mode.sides == (("marines", "aliens") if mode is Mode.NS2 else ("red", "blu"))


def test_a_bot_is_known_by_its_id() -> None:
    assert is_bot(PlayerId("bot:7"))
    assert not is_bot(PlayerId("76561197960287930"))


def test_every_phrase_takes_as_many_arguments_as_its_text_shows() -> None:
    for phrase in Phrase:
        text = Text(phrase, tuple(f"<{n}>" for n in range(1, phrase.arguments + 1)))
        assert "{" not in text.english
    assert Text(Phrase.DRY_RUN_LINE, ("@a", "RED")).english == "a to RED"
