"""The game's `json` with the weaknesses of its library (ns2.md 1.2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ns2mod.rig import Game

GAME = Game(strict=False).boot()

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(st.text(), each, max_size=4),
)


def written(value: str) -> Any:
    return GAME.execute(f"return json.encode({value})")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("{}", "[  ]"),
        ("{ 1, 'two', true }", '[ 1, "two", true ]'),
        ("{ a = 1 }", '{ "a": 1 }'),
        ("76561198012345678", "7.6561198012346e+16"),
        ("0 / 0 ~= 0 / 0 and 1 / 0", "inf"),
        ("{ 1, nil, 3 }", "[ 1, null, 3 ]"),
        ("'a\"\\\\\\n\\1é'", '"a\\"\\\\\\n\\u0001é"'),
    ],
)
def test_what_the_encoder_writes(value: str, text: str) -> None:
    assert written(value) == text


def test_a_sparse_list_becomes_an_object_with_text_for_keys() -> None:
    assert json.loads(written("{ [1] = 1, [30] = 30 }")) == {"1": 1, "30": 30}


def test_a_function_is_refused_with_a_text() -> None:
    assert written("{ print }") == (None, "type 'function' is not supported by JSON.")


def test_nan_is_written_raw() -> None:
    assert written("0 / 0").lstrip("-") == "nan"


@pytest.mark.parametrize(("digits", "text"), [(14, "7.6561198012346e+16"), (17, "76561198012345680")])
def test_the_number_of_digits_is_a_switch(digits: int, text: str) -> None:
    game = Game(switches={"json_digits": digits}).boot()
    assert game.execute("return json.encode(76561198012345678)") == text


def test_the_decoder_reads_lists_and_objects_alike_commas_or_none_and_comments() -> None:
    assert GAME.execute(
        """local read = json.decode('{"a" 1 /* two */ ,"b": 2}') return read[1], read[2], read.b"""
    ) == (
        "a",
        1,
        2,
    )


@pytest.mark.parametrize("text", ["", "  ", "{", "[1,", "<html>", '"open', "nul", '{"a":}'])
def test_the_decoder_returns_nil_a_position_and_a_text_for_broken_input(text: str) -> None:
    value, position, error = GAME.execute(f"return json.decode([==[{text}]==])")
    assert value is None
    assert position >= 1
    assert error


def test_the_decoder_throws_for_nil() -> None:
    assert GAME.execute("return (pcall(json.decode, nil))") is False


def test_null_is_nil_unless_another_value_is_given() -> None:
    assert GAME.execute("return json.decode('{ \"a\": null }').a") is None
    assert GAME.execute("return json.decode('{ \"a\": null }', 1, 'null').a") == "null"


@settings(max_examples=2 * settings.default.max_examples)
@given(VALUES)
def test_what_python_writes_is_read_and_written_back(value: Any) -> None:
    for text in json.dumps(value), json.dumps(value, ensure_ascii=False):
        GAME.execute(f"source = {quoted(text)}")
        back = GAME.execute("return json.encode((json.decode(source)))")
        assert with_lists(json.loads(back)) == with_lists(value)


def quoted(text: str) -> str:
    return '"' + "".join(f"\\{byte:03d}" for byte in text.encode(errors="surrogatepass")) + '"'


def with_lists(value: Any) -> Any:
    """An empty object comes back as an empty list, and an object of whole numbers from 1 as a list never does."""
    if isinstance(value, dict):
        return {key: with_lists(each) for key, each in value.items()} or []
    return [with_lists(each) for each in value] if isinstance(value, list) else value
