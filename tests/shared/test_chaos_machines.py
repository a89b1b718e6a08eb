"""`make chaos ARGS=machines` for a moment, and what it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chaos.book import Book
from tests.chaos.machines import CHECKED, check_rounds, memories_apart, run

pytestmark = pytest.mark.world

SECONDS = 20.0


def test_three_daemons_that_are_killed_and_cut_lose_double_and_reorder_nothing(tmp_path: Path) -> None:
    text, cases = run(tmp_path, 1, SECONDS, print)
    assert cases == [], text


def test_rounds_that_are_lost_twice_or_out_of_order_are_counted_by_server() -> None:
    book = Book()
    for server in ("one", "two"):
        book.sending(server, [{"round": f"{number}"} for number in range(4)])
    stored = [("one", "1"), ("two", "0"), ("one", "0"), ("two", "1"), ("one", "2"), ("one", "3"), ("two", "1")]
    wrong: dict[str, list[str]] = {name: [] for name in CHECKED}
    check_rounds("here", book, [*stored, ("two", "9")], wrong)
    assert wrong["lost"] == ["here: ('two', '2')", "here: ('two', '3')"]
    assert wrong["twice"] == ["here: ('two', '1'), 2 times", "here: ('two', '9') was never sent"]
    assert wrong["order"][0] == "here: ('one', '0') is behind a round that was played later"


def test_memories_of_one_session_that_have_other_rounds_are_counted() -> None:
    def memory(session: str, *counted: str) -> bytes:
        return json.dumps({"memory": {"session": session, "counted": counted}}).encode()

    same = [{"one": memory("map", "1", "2")}, {"one": memory("map", "1", "2")}, {"one": memory("next")}, {}]
    assert not [*memories_apart(same, ())]
    [case] = memories_apart([*same, {"one": memory("map", "1")}], {"1", "2"})
    assert case == "one, session map: 2 is not counted everywhere"
    cut_off = [{"one": memory("map", "1", "2", "3", "4")}, {"one": memory("map", "1", "3", "4")}]
    assert not [*memories_apart(cut_off, {"3"})]
    assert [*memories_apart(cut_off, {"4"})] == [case]
    longer = {"one": memory("map", "2", "3", "4")}
    assert not [*memories_apart([*cut_off[:1], longer], ())], "only the last are remembered"
