"""Output of commands: JSON, a progress bar, times and chances in words, and tables that fit the terminal.

Columns are aligned by the width that a terminal gives to letters: Chinese ones take two places, accents none. If the
terminal is narrower than a table, long cells are wrapped; if that is not enough, each row becomes a block of lines.
rich would cost a command that asks the daemon more time than all else that it imports.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.options import FAILED, stop
from equipoise.lab.svg import printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from equipoise.lab.svg import Chart
    from equipoise.lab.tables import Table


def json_text(value: object, *, indent: int | None = 2, ascii_only: bool = True) -> str:
    """JSON text; a number that JSON cannot write ends the command."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    except ValueError:
        stop("a number is infinite or not a number, which JSON cannot write", FAILED)


def progress() -> Progress:
    """A progress bar on standard error, on terminals only, which disappears at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def show(tables: Sequence[Table]) -> None:
    """Print tables with their titles and notes."""
    for table in tables:
        click.echo(click.style(table.title, bold=True))
        print_table(table.head, table.rows, texts=table.texts)
        click.echo(f"{table.note}\n" if table.note else "")


def draw(path: Path, charts: Sequence[Chart]) -> None:
    """Write charts as one SVG file."""
    from equipoise.lab.svg import picture

    _write(path, picture(charts))


def report(path: Path, title: str, introduction: str, tables: Sequence[Table], charts: Sequence[Chart]) -> None:
    """Write tables and charts as one HTML page."""
    from equipoise.lab.tables import page

    _write(path, page(title, introduction, tables, charts))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:  # of a full disk it has no name
        stop(f"{path}: {error.strerror}")


def local_time(epoch: float | None) -> str:
    """A time of the daemon's as the reader's clock shows it."""
    return "never" if epoch is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(epoch))


def local_minute(epoch: float | None) -> str:
    """The same without seconds, where they do not matter."""
    return local_time(epoch).rpartition(":")[0] or "never"


def iso_time(epoch: float | None) -> str | None:
    """The same for programs, with the zone's offset."""
    return None if epoch is None else datetime.fromtimestamp(epoch).astimezone().isoformat(timespec="seconds")


def side_word(sides: Sequence[str], side: str | None) -> str:
    """Return the game's word for side `a` or `b`.

    >>> side_word(["red", "blu"], "b"), side_word(["marines", "aliens"], "a"), side_word(["red", "blu"], None)
    ('BLU', 'Marines', '-')
    >>> side_word(["a", "b"], "b"), side_word(["Allies", "the Axis"], "b")
    ('B', 'the Axis')
    """
    if side is None:
        return "-"
    word = sides[side == "b"]
    if word in ("red", "blu", "a", "b"):
        return word.upper()
    return word.capitalize() if word in ("marines", "aliens") else word


def chance(sides: Sequence[str], of_a: float | None, outlook: Mapping[str, Any] | None = None) -> str:
    """Which side is to win, and how probably; with the interval of that, where it is known.

    >>> chance(["red", "blu"], 0.39), chance(["red", "blu"], 0.498), chance(["red", "blu"], None)
    ('BLU 61 %', 'even', '-')
    >>> chance(["red", "blu"], 0.39, {"low": 0.2, "high": 0.65})
    'BLU 61 % (35 to 80)'
    """
    if of_a is None:
        return "-"
    told = interval(outlook if of_a >= 0.5 else _of_b(outlook))
    if percent(of_a) == "50 %" and not told:
        return "even"
    return f"{side_word(sides, 'a' if of_a >= 0.5 else 'b')} {percent(max(of_a, 1 - of_a))}{told}"


def _of_b(outlook: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if outlook is None or outlook["low"] is None:
        return None
    return {"low": 1 - outlook["high"], "high": 1 - outlook["low"]}


def percent(probability: float) -> str:
    """A probability in whole percents.

    >>> percent(0.614)
    '61 %'
    """
    return f"{100 * probability:.0f} %"


def interval(outlook: Mapping[str, Any] | None) -> str:
    """The 80 % interval of a chance, behind it.

    >>> interval({"low": 0.3, "high": 0.73}), interval({"low": None, "high": None}), interval(None)
    (' (30 to 73)', '', '')
    """
    if outlook is None or outlook["low"] is None:
        return ""
    return f" ({100 * outlook['low']:.0f} to {100 * outlook['high']:.0f})"


def change(sides: Sequence[str], found: Mapping[str, Any]) -> str:
    """How the chance of side A changes, with the interval of what it becomes.

    >>> change(["red", "blu"], {"before": 0.61, "after": 0.5}), change(["red", "blu"], {"before": None, "after": 0.5})
    ('RED 61 % → 50 %', 'RED 50 %')
    """
    before, after = found.get("before"), found.get("after")
    if after is None:
        return ""
    was = "" if before is None else f"{percent(before)} → "
    return f"{side_word(sides, 'a')} {was}{percent(after)}{interval(found.get('after_outlook'))}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "player"), counted(1200, "player"), counted(2, "player waits", "players wait")
    ('1 player', '1,200 players', '2 players wait')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


GAP = "  "
LONGEST_WORD = 20
"""A word up to this width is not broken to make room: a SteamID64 has 17 digits."""
FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""With these, the last four as wide letters, a spreadsheet begins a formula: it could come from a player's name."""
LEFT_TO_RIGHT = "\N{LEFT-TO-RIGHT MARK}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list."""

    head: str
    cell: Callable[[Any], object]
    """Text that people read of an item."""
    value: Callable[[Any], object] | None = None
    """Value that programs read of it in CSV; None: the same."""
    right: bool = False
    """Numbers are aligned right."""
    whole: bool = False
    """The cell stays in one line: a time, a change."""

    def plain(self, item: Any) -> object:
        """Return the CSV cell of an item."""
        return self.cell(item) if self.value is None else self.value(item)


def print_items(
    items: Sequence[Any],
    columns: Sequence[Column],
    *,
    as_csv: bool,
    empty: str,
    colour: Callable[[Any], str | None] = lambda _: None,
) -> None:
    """Print a list as a table, or as CSV; without items the sentence that says why there are none."""
    if as_csv:
        print_csv([column.head for column in columns], ([column.plain(item) for column in columns] for item in items))
    elif not items:
        click.echo(empty)
    else:
        rows = [[str(column.cell(item)) for column in columns] for item in items]
        lines = table([column.head for column in columns], rows, columns, columns_here())
        _print(lines, [colour(item) for item in items])


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, texts: int | None = None) -> None:
    """Print rows; columns after the first `texts` are aligned right, None: none is."""
    lines = [[str(cell) for cell in row] for row in rows]
    columns = [Column(name, str, right=texts is not None and place >= texts) for place, name in enumerate(head)]
    _print(table(head, lines, columns, columns_here()), [None] * len(lines))


def _print(lines: Iterable[tuple[int | None, str]], colours: Sequence[str | None]) -> None:
    for row, line in lines:
        click.echo(click.style(line, bold=True) if row is None else click.style(line, fg=colours[row]))


def print_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as RFC 4180 says, in UTF-8 whatever the terminal's encoding is."""
    import csv

    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow([name.lower().replace(" ", "_") for name in head])
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    sys.stdout.flush()
    sys.stdout.buffer.write(written.getvalue().encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _harmless(cell: object) -> object:
    if isinstance(cell, str) and cell.startswith(FORMULA):
        return f"'{cell}"
    return "" if cell is None else cell


def print_note(text: str, first: str = "") -> None:
    """Print a paragraph, wrapped to the terminal; its first line begins with `first`, the others as far right."""
    width = columns_here()
    for number, line in enumerate([text] if width is None else wrapped(text, max(1, width - len(first)))):
        click.echo((" " * len(first) if number else first) + line)


def columns_here() -> int | None:
    """How wide the terminal is; None where the output is no terminal, and as wide as it needs to be."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return max(1, shutil.get_terminal_size().columns)
    return None


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[Column], width: int | None
) -> Iterator[tuple[int | None, str]]:
    """The lines of a table, each with the number of its row; None for the head.

    >>> columns = [Column("NAME", str), Column("RATING", str, right=True)]
    >>> for _, line in table(["NAME", "RATING"], [["Ann", "1500"], ["李小龍", "990"]], columns, None):
    ...     print(line)
    NAME    RATING
    Ann       1500
    李小龍     990
    """
    cells = [[_shown(cell) for cell in row] for row in (head, *rows)]
    widths = [max(cell_width(row[place]) for row in cells) for place in range(len(head))]
    room = widths if width is None else _narrowed(cells, columns, widths, width)
    if room is None:
        assert width is not None
        yield from _stacked(cells[0], cells[1:], width)
        return
    for number, row in enumerate(cells):
        parts = [wrapped(cell, room[place]) for place, cell in enumerate(row)]
        for depth in range(max(map(len, parts))):
            line = (part[depth] if depth < len(part) else "" for part in parts)
            aligned_cells = (_padded(cell, room[place], columns[place].right) for place, cell in enumerate(line))
            yield number - 1 if number else None, GAP.join(aligned_cells).rstrip()


def cell_width(text: str) -> int:
    """How many places of a terminal a text takes.

    >>> cell_width("Ann"), cell_width("李小龍")
    (3, 6)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _shown(cell: str) -> str:
    """One line without control characters, and without changing the order of what follows on a terminal."""
    text = printable(cell)
    backwards = sys.stdout.isatty() and any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)
    return f"{text}{LEFT_TO_RIGHT}" if backwards else text


def _padded(cell: str, width: int, right: bool) -> str:
    room = " " * (width - cell_width(cell))
    return room + cell if right else cell + room


def _narrowed(
    cells: Sequence[Sequence[str]], columns: Sequence[Column], widths: Sequence[int], width: int
) -> list[int] | None:
    """Widths with which the table fits, whole words in each column; None where there are none."""
    narrow, room = list(widths), width - len(GAP) * (len(widths) - 1)
    least = [
        widths[place]
        if column.whole
        else max(min(LONGEST_WORD, cell_width(word)) for row in cells for word in row[place].split(" "))
        for place, column in enumerate(columns)
    ]
    while sum(narrow) > room:
        widest = max(range(len(narrow)), key=lambda place: (narrow[place] > least[place], narrow[place]))
        if narrow[widest] <= least[widest]:
            return None
        narrow[widest] -= 1
    return narrow


def _stacked(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[tuple[int | None, str]]:
    """Each row as lines of a head and its cell, with an empty line between two rows; empty cells are left out."""
    margin = max(map(cell_width, head)) + len(GAP)
    for number, row in enumerate(rows):
        if number:
            yield number, ""
        for name, cell in zip(head, row, strict=True):
            for depth, part in enumerate(wrapped(cell, max(1, width - margin)) if cell not in ("", "-") else ()):
                yield number, _padded("" if depth else name, margin, False) + part


def wrapped(text: str, width: int) -> list[str]:
    """Lines that are no wider, broken between words where that is possible.

    >>> wrapped("the losing side captured nothing", 12)
    ['the losing', 'side', 'captured', 'nothing']
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(longer) <= width:
            lines[-1] = longer
            continue
        *full, rest = _cut(word, width)
        lines += [*full, rest]
    return [line for line in lines if line] or [""]


def _cut(word: str, width: int) -> list[str]:
    """A word in pieces that are no wider."""
    pieces = [""]
    for letter in word:
        if pieces[-1] and cell_width(pieces[-1] + letter) > width:
            pieces.append("")
        pieces[-1] += letter
    return pieces
