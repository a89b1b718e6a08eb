"""Orders and results in the words of the ticker."""

from __future__ import annotations

from equipoise.core.model import Side
from equipoise.core.phrases import Phrase, Text
from equipoise.demo.arena_evening import due, finished, scrambled
from equipoise.demo.record import Teams, english
from tests.lab.games import A, B, C, D, E

NAMES = dict(zip((A, B, C, D, E), ("Ann", "Bob", "Cid", "Dee", "Eve"), strict=True))


def test_a_scramble_is_reported_with_reason_odds_moves_and_bench() -> None:
    before, after = Teams((A, B), (C, D), (E,), 0.71), Teams((A, C), (B, E), (D,), 0.52)

    said = scrambled((0.71, 0.52, ""), "3 wins in a row", before, after, NAMES, fair=True)

    assert said == "3 wins in a row → scrambled: RED 71 % → 52 %, 2 moved, Dee sits out (has sat out least)"


def test_a_bench_that_has_sat_out_before_is_not_called_fair() -> None:
    before, after = Teams((A, B), (C, D), (E,), 0.71), Teams((A, B), (C, E), (D,), 0.5)

    assert scrambled((0.71, 0.5, ""), "x", before, after, NAMES, fair=False).endswith("nobody moved, Dee sits out")


def test_a_scramble_that_moves_nobody_is_reported_as_such_and_what_is_the_maps_part_is_said() -> None:
    teams = Teams((A, B), (C, D), (), 0.5)

    said = scrambled((0.5, 0.46, ", including the map's -4 %"), "x", teams, teams, NAMES, fair=True)

    assert said == "X → scrambled: RED 50 % → 46 %, including the map's -4 %, nobody moved"


def test_a_round_against_the_odds_says_so() -> None:
    teams = Teams((A, B), (C, D), (E,), 0.7)

    assert finished(4, Side.A, teams, NAMES, predicted=0.7) == ("Round 4: RED wins (had a 70 % chance) · Eve sat out")
    assert "against the odds" in finished(4, Side.B, teams, NAMES, predicted=0.7)


def test_every_phrase_is_shown_with_its_arguments_and_names() -> None:
    for phrase in Phrase:
        args = (f"@{A}", "17", "x", "y", "z", "w")[: phrase.arguments]

        said = english(Text(phrase, args), NAMES)

        assert "{" not in said, phrase
        assert all(arg in said for arg in ("Ann", *args[1:])[: len(args)]), (phrase, said)


def test_the_outcomes_that_make_a_scramble_due_are_said_in_words() -> None:
    assert due(("red", "none"), pending=False) == "scramble due if RED wins or after a stalemate"
    assert due(("blu:0",), pending=False) == "scramble due if BLU shuts RED out"
    assert due(("red:0", "blu:0"), pending=False) == "scramble due after a shutout"
    assert due((), pending=False) == ""
    assert due(("any",), pending=True) == "scramble at the next round start"
