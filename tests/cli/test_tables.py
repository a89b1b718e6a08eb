"""Tables and CSV: any name, any terminal, any locale, a reader who goes away."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli.client import since_time
from equipoise.cli.output import NAME, Column, cell_width, print_items
from tests.cli.house import EQUIPOISE, House, post, serving
from tests.wire.samples import HELLO, RED, finished, posted, seats

NAMES = {
    "bell": "a\x07b\x1b[31mc",
    "right to left": "שלום מרחבא",
    "override": "\u202eevil\u2066x",
    "zero width": "a\u200bb\u200dc",
    "chinese": "龍" * 64,
    "long": "b" * 128,
    "accents": "Zoe\u0301",
    "formula": "=cmd|' /C calc'!A0",
    "wide formula": "\uff1dcmd|' /C calc'!A0",
    "lines": "one\ntwo\rthree",
    "emoji": "👍🏽 ok",
}
COLUMNS = [
    Column("PLAYER", itemgetter(0)),
    Column("NAME", itemgetter(1), least=NAME),
    Column("RATING", itemgetter(2), right=True),
    Column("ROUNDS", itemgetter(3), right=True, goes=2),
    Column("LAST PLAYED", itemgetter(4), goes=1),
]
ROWS = [(RED, name, "1500", "20", "2026-11-22 18:30") for name in NAMES.values()]


def printed(
    capsys: pytest.CaptureFixture[str], rows: Sequence[tuple[str, ...]], narrow: Callable[[Any], Sequence[str]] | None
) -> list[str]:
    print_items(rows, COLUMNS, as_csv=False, empty="", narrow=narrow)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("term", ["xterm", "dumb"])
@pytest.mark.parametrize("width", [None, 120, 80, 60, 40, 10, 1])
def test_no_line_is_wider_than_the_terminal_and_no_name_breaks_a_row_of_a_usual_one(
    width: int | None, term: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "" if width is None else str(width))
    monkeypatch.setenv("TERM", term)
    lines = printed(capsys, ROWS, None)
    assert all(line.isprintable() for line in lines)
    if width is None:
        assert len(lines) == len(ROWS) + 1
        assert max(map(cell_width, lines)) > 128
    else:
        assert max(map(cell_width, lines)) <= width
    if width in (80, 120):
        assert len({cell_width(line) for line in lines[: len(ROWS) + 1]}) <= 2  # heads are not padded
        assert lines[len(ROWS) + 1 :] == (["Left out: LAST PLAYED; --wide shows all."] if width == 60 else [])


@pytest.mark.parametrize(
    ("width", "head"),
    [
        (72, ["PLAYER", "NAME", "RATING", "ROUNDS", "LAST PLAYED"]),
        (55, ["PLAYER", "NAME", "RATING", "ROUNDS"]),
        (47, ["PLAYER", "NAME", "RATING"]),
    ],
)
def test_names_are_cut_and_then_columns_are_left_out_in_their_turn(
    width: int, head: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(capsys, [(RED, "xX_TheLegendary_Heavy_Xx", "1500", "20", "2026-11-22 18:30")], None)
    assert re.split("  +", lines[0]) == head
    assert re.match(rf"{RED}  xX_TheLegendary\w*…  ", lines[1])
    left = [column.head for column in COLUMNS if column.head not in head]
    assert " ".join(lines[2:]) == (f"Left out: {', '.join(left)}; --wide shows all." if left else "")


def test_a_list_with_a_narrow_form_has_it_where_whole_rows_are_too_wide(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def narrow(row: Any) -> list[str]:
        return [f"{row[1]} is rated {row[2]}", "    and played"]

    rows = [(RED, "龍" * 20, "1500", "20", "2026-11-22 18:30")]
    monkeypatch.setenv("COLUMNS", "40")
    assert printed(capsys, rows, narrow) == [
        "龍" * 19 + " …", "    and played", "Cut to the terminal's width; --wide", "shows all.",
    ]  # fmt: skip
    monkeypatch.setenv("COLUMNS", "120")
    assert printed(capsys, rows, narrow)[0].startswith("PLAYER")


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, str]]:
    """A daemon that knows players with these names, and ratings that an admin gave them."""
    house = House.made(tmp_path_factory.mktemp("named"))
    with serving(house) as (_, address):
        joins = [
            {"kind": "player_joined", "id": str(int(RED) + number), "name": name}
            for number, name in enumerate(NAMES.values())
        ]
        post(address, house.secret, posted(HELLO, *joins, seq=1))
        for number in range(len(NAMES)):
            asked = run(house, address, "player", "set", str(int(RED) + number), "1500", "--yes")
            assert asked.returncode == 0, asked.stderr
        yield house, address


def run(house: House, address: str, *words: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    command = [EQUIPOISE, *words, "--config", house.config, "--url", f"http://{address}"]
    plain = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    return subprocess.run(command, capture_output=True, timeout=60, env=plain | environ)


@pytest.mark.slow
@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii", "COLUMNS": "40"},
    ],
)
def test_every_name_is_shown_whatever_the_locale(named: tuple[House, str], environ: dict[str, str]) -> None:
    for words in (
        ["player", "find", "7656"],
        ["audit"],
        ["player", "show", "龍"],
    ):
        shown = run(*named, *words, **environ)
        assert (shown.returncode, shown.stderr) == (0, b""), words
    listed = json.loads(run(*named, "player", "find", "7656", "--json", **environ).stdout)["players"]
    assert {one["name"] for one in listed} == {"".join(filter(str.isprintable, name)) for name in NAMES.values()}


@pytest.mark.slow
def test_twenty_rounds_are_a_screen_and_a_decision_is_two_lines_at_80_columns(tmp_path: Path) -> None:
    server = "frankfurt-arena-1"
    house = House.made(tmp_path, "--server", server)
    ids = [str(int(RED) + number) for number in range(12)]
    joins = [{"kind": "player_joined", "id": id, "name": name} for id, name in zip(ids, NAMES.values(), strict=False)]
    koth = {"map": "koth_lakeside_event_final3", "facts": {"game_type": 2, "koth": True}}
    started = {"kind": "round_started", "players": seats(ids)}
    with serving(house) as (_, address):
        hello = {**HELLO, **koth, "phase": "running"}, {**started, "kind": "roster"}, *joins
        post(address, house.secret, posted(*hello, seq=1, server=server))
        for number in range(20):
            ended = finished(ids, round=f"1763622000123-{number}", **koth)
            post(address, house.secret, posted(ended, started, seq=number + 2, server=server))
        for words, most in ((["round", "list"], 22), (["why", "--limit", "10"], 21)):
            narrow, wide, piped = (
                run(house, address, *words, *more, LC_ALL="C.UTF-8", **environ).stdout.decode()
                for more, environ in (([], {"COLUMNS": "80"}), (["--wide"], {"COLUMNS": "80"}), ([], {}))
            )
            assert 10 < len(narrow.splitlines()) <= most
            assert max(map(cell_width, narrow.splitlines())) <= 80
            assert wide.split("\n\n")[0].strip() == piped.split("\n\n")[0].strip()
            assert max(map(cell_width, piped.splitlines())) > 80


@pytest.mark.slow
def test_csv_is_utf_8_that_no_spreadsheet_runs(named: tuple[House, str]) -> None:
    raw = run(*named, "player", "find", "7656", "--csv", PYTHONIOENCODING="ascii").stdout
    assert raw.count(b"\r\n") == len(NAMES) + 1
    rows = list(csv.DictReader(io.StringIO(raw.decode(), newline="")))
    assert {row["player"] for row in rows} == {str(int(RED) + number) for number in range(len(NAMES))}
    names = {row["name"] for row in rows}
    assert "'=cmd|' /C calc'!A0" in names
    assert "龍" * 64 in names
    assert not {name for name in names if name.startswith(("=", "\uff1d", "+", "-", "@"))}


@pytest.mark.slow
def test_a_reader_who_goes_away_is_no_traceback(named: tuple[House, str]) -> None:
    house, address = named
    for words in ("player find 7656", "player find 7656 --csv", "audit --json"):
        command = f"'{EQUIPOISE}' {words} --config '{house.config}' --url http://{address} | head -1"
        shown = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
        assert (shown.returncode, shown.stderr) == (0, b"")
        assert len(shown.stdout.splitlines()) == 1


@pytest.mark.slow
def test_colours_are_for_terminals_only(named: tuple[House, str]) -> None:
    assert b"\x1b" not in run(*named, "status").stdout
    assert b"\x1b" not in run(*named, "player", "find", "7656").stdout


def test_since_takes_lengths_and_dates_and_nothing_else() -> None:
    for text in ("30m", "2h", "3d", "1w", "90s", "2026-11-22", "2026-11-22 18:30", "2026-11-22T18:30:05"):
        assert isinstance(since_time(text), float)
    for text in ("", "h", "-2h", "2 h", "2y", "1.5h", "٣h", "2026-13-01", "yesterday", "9" * 12 + "d"):
        with pytest.raises(Exception, match="neither like 30m, 2h, 3d, 1w nor a date"):
            since_time(text)
