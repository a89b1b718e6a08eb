"""Tables and CSV: any name, any terminal, any locale, a reader who goes away."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from equipoise.cli.client import Since
from equipoise.cli.output import Column, cell_width, table
from tests.cli.house import EQUIPOISE, House, post, serving
from tests.wire.samples import HELLO, RED, posted

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
COLUMNS = [Column("PLAYER", str), Column("NAME", str), Column("RATING", str, right=True)]
ROWS = [[RED, name, "1500"] for name in NAMES.values()]


@pytest.mark.parametrize("width", [None, 80, 40, 10, 1])
def test_no_line_is_wider_than_the_terminal_and_no_name_moves_a_column(width: int | None) -> None:
    lines = [line for _, line in table(["PLAYER", "NAME", "RATING"], ROWS, COLUMNS, width)]
    assert all(line.isprintable() for line in lines)
    if width is None:
        assert len({cell_width(line) for line in lines}) == 1
        assert len(lines) == len(ROWS) + 1
    elif width > 10:  # else not even the head of a row has room
        assert max(map(cell_width, lines)) <= width


def test_on_a_terminal_that_is_too_narrow_for_a_table_each_row_is_a_block() -> None:
    rows = [[RED, "Ann", "1500"], [RED, "-", "990"]]
    assert [line for _, line in table(["PLAYER", "NAME", "RATING"], rows, COLUMNS, 26)] == [
        f"PLAYER  {RED}", "NAME    Ann", "RATING  1500", "", f"PLAYER  {RED}", "RATING  990",
    ]  # fmt: skip


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
        ["player", "find", "7656", "--json"],
        ["audit"],
        ["player", "show", "龍"],
    ):
        shown = run(*named, *words, **environ)
        assert (shown.returncode, shown.stderr) == (0, b""), words
    listed = json.loads(run(*named, "player", "find", "7656", "--json", **environ).stdout)["players"]
    assert {one["name"] for one in listed} == {"".join(filter(str.isprintable, name)) for name in NAMES.values()}


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
    since = Since()
    for text in ("30m", "2h", "3d", "1w", "90s", "2026-11-22", "2026-11-22 18:30", "2026-11-22T18:30:05"):
        assert isinstance(since.convert(text, None, None), float)
    for text in ("", "h", "-2h", "2 h", "2y", "1.5h", "٣h", "2026-13-01", "yesterday", "9" * 12 + "d"):
        with pytest.raises(Exception, match="neither like 30m, 2h, 3d, 1w nor a date"):
            since.convert(text, None, None)
