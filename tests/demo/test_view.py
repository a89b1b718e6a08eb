"""One moment drawn, the figures in it and the words of the ticker: all that matters fits the smallest terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from equipoise.core.model import Side
from equipoise.core.phrases import Phrase, Text
from equipoise.demo.arena_evening import due, finished, scrambled
from equipoise.demo.record import Played, Record, Teams, english
from equipoise.demo.stage import NS2_LOOK, TF2_LOOK, Board, Line, Row, screen, sparkline
from tests.lab.games import A, B, C, D, E

TICKER = (
    Line("round", "Round 50: BLU wins (had a 48 % chance)"),
    Line("scramble", "3 wins in a row → scrambled: RED 71 % → 52 %, 4 moved, Vex sits out (has sat out least)"),
)


def rows(prefix: str, count: int, *, shadow: bool = False) -> tuple[Row, ...]:
    return tuple(Row(f"{prefix}{number}", 1000.0 + number, shadow, -12.0, 1300.0 + number) for number in range(count))


def board(size: int) -> Board:
    return Board(
        look=TF2_LOOK,
        map="arena_lumberyard",
        number=51,
        rounds=100,
        a=rows("Ann", size),
        b=rows("Bob", size, shadow=True),
        bench=rows("Cid", 1),
        predicted=0.57,
        winner=Side.A,
        due="scramble due if RED wins",
        up=True,
        ring=0,
        chat="Teams are balanced. Win chance of RED: 52 %.",
        record=Record(rounds=[Played(0.5, 0.7, 0.8, score=1.0)] * 30, fidelity=[0.01 * n for n in range(30)]),
    )


def drawn(board: Board, width: int, height: int, ticker: tuple[Line, ...] = TICKER) -> list[str]:
    console = Console(width=width, height=height, color_system=None)
    with console.capture() as capture:
        console.print(screen(board, ticker, width, height), height=height)
    return capture.get().splitlines()


@pytest.mark.parametrize(
    ("size", "width", "height"), [(4, 80, 24), (5, 80, 24), (12, 80, 24), (12, 120, 40), (16, 80, 30)]
)
def test_teams_odds_bench_and_the_newest_line_fit(size: int, width: int, height: int) -> None:
    lines = drawn(board(size), width, height)

    text = "\n".join(lines)
    assert len(lines) == height
    assert max(map(len, lines)) <= width
    for number in range(size):
        assert f"Ann{number} " in text
        assert f"Bob{number} " in text
    for part in (
        "round 51 of 100",
        "RED  57 %",
        "43 %  BLU",
        "Cid0",
        "scramble due if RED wins",
        "out least)",
        "50 % is even",
    ):
        assert part in text


def test_shadow_ratings_are_marked_and_the_truth_is_shown_where_there_is_room() -> None:
    text = "\n".join(drawn(board(4), 80, 24))

    assert (text.count("1003°"), text.count("1003 "), text.count("1303")) == (1, 1, 0)
    assert "1303" in "\n".join(drawn(board(4), 120, 40))


def test_in_ns2_every_word_is_of_ns2() -> None:
    moment = replace(board(8), look=NS2_LOOK, up=False, ring=1, winner=Side.B, due="", chat="")
    lines = drawn(moment, 80, 24, ticker=())

    text = "\n".join(lines)
    for part in ("Marines  57 %", "43 %  Aliens", "1 in the outbox", "ready room", "shuffles", "★ commands", "won"):
        assert part in text
    assert max(map(len, lines)) <= 80
    for part in ("RED", "BLU", "ring", "bench", "scramble"):
        assert part not in text


def test_a_dead_daemon_and_the_rounds_that_wait_for_it_are_shown() -> None:
    lines = drawn(replace(board(4), up=False, ring=2), 80, 24)

    assert "daemon dead" in lines[0]
    assert "2 in the ring" in lines[0]


def test_a_sparkline_spans_its_levels_and_shrinks_long_series() -> None:
    assert sparkline([0.0, 0.5, 1.0], 10, 0.0, 1.0) == "▁▅█"
    assert sparkline([0.0] * 50 + [1.0] * 50, 4, 0.0, 1.0) == "▁▁██"
    assert sparkline([-1.0, 2.0], 10, 0.0, 1.0) == "▁█"
    assert sparkline([], 10, 0.0, 1.0) == ""


def test_favourites_and_evenness_are_counted_for_whichever_side_is_ahead() -> None:
    rounds = [Played(0.7, 0.9, 0.8, 1.0), Played(0.4, 0.3, 0.8, 1.0), Played(0.2, 0.5, 0.6, 0.5)]
    record = Record(rounds=rounds)

    expected, won = record.expected()

    assert expected == pytest.approx(0.7 + 0.6 + 0.8)
    assert won == 1.5
    assert record.evenness(20) == pytest.approx(((0.9 + 0.7 + 0.5) / 3, 2.2 / 3))
    assert record.evenness(1) == pytest.approx((0.5, 0.6))
    assert Record().evenness(20) == (0.5, 0.5)


NAMES = dict(zip((A, B, C, D, E), ("Ann", "Bob", "Cid", "Dee", "Eve"), strict=True))


def test_a_scramble_is_reported_with_reason_odds_moves_and_a_bench_that_is_called_fair_where_it_is() -> None:
    before, after = Teams((A, B), (C, D), (E,), 0.71), Teams((A, C), (B, E), (D,), 0.52)

    said = scrambled((0.71, 0.52, ""), "3 wins in a row", before, after, NAMES, fair=True)

    assert said == "3 wins in a row → scrambled: RED 71 % → 52 %, 2 moved, Dee sits out (has sat out least)"
    after = Teams((A, B), (C, E), (D,), 0.5)
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
