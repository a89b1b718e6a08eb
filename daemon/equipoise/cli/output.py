"""Output of commands: JSON, CSV, a progress bar, times and chances in words, and tables that fit the terminal.

A terminal that is too narrow for a table gets shorter names, and fewer columns: those that matter least go first.
`--wide` shows everything, and what is no terminal gets it, too. rich is imported where a table or a paragraph is laid
out, not before: it takes a quarter of the time of a command that asks the daemon.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from equipoise.cli.options import FAILED, harmless, one_line, past, stop, wanted_wide
from equipoise.lab.svg import printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from equipoise.lab.svg import Chart
    from equipoise.lab.tables import Table


_BEYOND_ASCII = re.compile(r"[^\n -~]")


def json_text(value: object, *, indent: int | None = 2, ascii_only: bool = True) -> str:
    """JSON text, what a terminal would obey escaped; a number that JSON cannot write ends the command."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    except ValueError:
        stop("a number is infinite or not a number, which JSON cannot write", FAILED)
    return _BEYOND_ASCII.sub(
        lambda found: found[0] if harmless(found[0]) == found[0] else json.dumps(found[0])[1:-1], text
    )


def progress() -> Progress:
    """A progress bar on standard error, on terminals only, which disappears at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=past(sys.stderr))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def show(tables: Sequence[Table]) -> None:
    """Print tables with their titles and notes."""
    for table in tables:
        click.echo(click.style(harmless(table.title), bold=True), file=past(sys.stdout))
        print_table(table.head, table.rows, texts=table.texts, goes=table.goes)
        print_note(table.note)
        if table.note:
            click.echo()


def draw(path: Path, charts: Sequence[Chart]) -> None:
    """Write charts as one SVG file."""
    from equipoise.lab.svg import picture

    write(path, picture(charts))


def write(path: Path, text: str) -> None:
    """Write a file; what prevents it ends the command."""
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


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "player"), counted(1200, "player"), counted(2, "player waits", "players wait")
    ('1 player', '1,200 players', '2 players wait')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


GAP = 2
"""Places between two columns."""
FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""With these, the last four as wide letters, a spreadsheet begins a formula: it could come from a player's name."""
LEFT_TO_RIGHT = "\N{LEFT-TO-RIGHT MARK}"
NAME = 16
"""Places that a name keeps in a table."""
WIDEST = 100_000
"""More than any table needs."""
TRAILING = re.compile(r" +(?=(\x1b\[0m)?$)")


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
    goes: int = 0
    """Its turn where columns have to be left out, from 1 on; 0: it stays."""
    least: int = 0
    """A longer text may be cut to so many places before columns are left out; 0: it stays whole."""
    legend: str = ""
    """What it shows, if its head does not say it."""

    def plain(self, item: Any) -> object:
        """Return the CSV cell of an item."""
        return self.cell(item) if self.value is None else self.value(item)


def field(head: str, key: str, shown: Callable[[Any], object] = str, **how: Any) -> Column:
    """Return the column of one value: people read what `shown` makes of it, or `-`; programs have it as it is."""
    return Column(head, lambda item: "-" if item[key] in (None, "") else shown(item[key]), itemgetter(key), **how)


def moment(head: str, key: str, *, shown: Callable[[float], str] = local_minute, goes: int = 0) -> Column:
    """Return the column of a time: by the reader's clock, for programs as ISO 8601."""
    return Column(head, lambda item: shown(item[key]), lambda item: iso_time(item[key]), goes=goes)


def print_items(
    items: Sequence[Any],
    columns: Sequence[Column],
    *,
    as_csv: bool,
    empty: str,
    colour: Callable[[Any], str | None] = lambda _: None,
    narrow: Callable[[Any], Sequence[str]] | None = None,
) -> Sequence[Column]:
    """Print a list as a table, or as CSV; without items the sentence that says why there are none.

    Return the columns that are shown. `narrow` says the lines of an item where there is no room for all columns: they
    are printed instead of a table, and no column is shown.
    """
    if as_csv:
        print_csv([column.head for column in columns], ([column.plain(item) for column in columns] for item in items))
        return ()
    if not items:
        click.echo(empty)
        return ()
    rows = [[_shown(str(column.cell(item))) for column in columns] for item in items]
    widths, room = _chosen(columns, rows), _room()
    if narrow is not None and room is not None and _width(widths) > room:
        _print_narrow([_shown(line) for item in items for line in narrow(item)])
        return ()
    shown = {columns[place]: width for place, width in widths.items()}
    _lay_out(shown, [[row[place] for place in widths] for row in rows], [colour(item) for item in items], room)
    if left := [column.head for column in columns if column not in shown]:
        print_note(f"Left out: {', '.join(left)}; --wide shows all.")
    return list(shown)


def _print_narrow(lines: Sequence[str]) -> None:
    cut = [_cut(line) for line in lines]
    for line in cut:
        click.echo(line)
    if cut != lines:
        print_note("Cut to the terminal's width; --wide shows all.")


def without_server(columns: Sequence[Column], server: str | None, *, as_csv: bool) -> Sequence[Column]:
    """Leave the server's column out where it says on each line what was asked for; programs get it."""
    return columns if as_csv or server is None else [column for column in columns if column.head != "SERVER"]


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, texts: int | None = None, goes: Sequence[str] = ()
) -> None:
    """Print rows; columns after the first `texts` are figures, None: none is. Those of `goes` may be left out."""
    columns = [
        Column(
            name,
            itemgetter(place),
            right=texts is not None and place >= texts,
            goes=goes.index(name) + 1 if name in goes else 0,
            least=NAME if name == "NAME" or (texts is not None and place < texts) else 0,
        )
        for place, name in enumerate(head)
    ]
    print_items(list(rows), columns, as_csv=False, empty="")


def print_one(item: Any, columns: Sequence[Column]) -> None:
    """Print one item as lines of a head and its text; empty ones are left out."""
    margin = max(len(column.head) for column in columns) + GAP
    for column in columns:
        if (text := _shown(str(column.cell(item)))) not in ("", "-"):
            print_note(text, f"{column.head:{margin}}")


def print_legend(columns: Sequence[Column]) -> None:
    """Print what those columns show whose heads do not say it."""
    if words := [f"{column.head}: {column.legend}." for column in columns if column.legend]:
        click.echo()
        print_note(" ".join(words))


def _chosen(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> dict[int, int]:
    """The columns that there is room for, each with its width."""
    widths = {
        place: max(map(cell_width, (column.head, *(row[place] for row in rows))))
        for place, column in enumerate(columns)
    }
    room = _room()
    if room is None:
        return widths
    least = {
        place: min(width, max(columns[place].least, len(columns[place].head))) if columns[place].least else width
        for place, width in widths.items()
    }
    # Cutting texts comes before leaving columns out: a column goes only if even the shortest texts do not fit.
    for place in sorted((place for place in widths if columns[place].goes), key=lambda place: columns[place].goes):
        if _width(least) <= room:
            break
        del widths[place], least[place]
    # A place at a time from the widest column that may still be cut, so that all of them end about as wide.
    while _width(widths) > max(room, _width(least)):
        widths[max(widths, key=lambda place: (widths[place] > least[place], widths[place]))] -= 1
    return widths


def _width(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)


def _lay_out(
    columns: Mapping[Column, int], rows: Sequence[Sequence[str]], colours: Sequence[str | None], room: int | None
) -> None:
    """Print a table, a row a line; texts that are wider than their columns are cut.

    If the terminal is too narrow even so, rich makes the columns fit, and breaks the rows.
    """
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    fits = room is None or _width(dict(enumerate(columns.values()))) <= room
    how: dict[str, Any] = {"no_wrap": fits, "overflow": "ellipsis" if fits else "fold"}
    grid = Grid(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column, width in columns.items():
        grid.add_column(
            Text(column.head, **how), justify="right" if column.right else "left", width=width if fits else None, **how
        )
    for row, colour in zip(rows, colours, strict=True):
        grid.add_row(*(Text(cell, **how) for cell in row), style=colour)
    stream = io.StringIO()
    # click takes colours away where it prints to no terminal, or is told to show none. Without a height rich would take
    # 80 columns where TERM is "dumb".
    Console(file=stream, width=room or WIDEST, height=1, force_terminal=True, color_system="standard").print(grid)
    for line in stream.getvalue().splitlines():
        click.echo(TRAILING.sub("", line), file=past(sys.stdout))


def _cut(line: str) -> str:
    """A line as long as the terminal is wide."""
    from rich.text import Text

    text = Text(line)
    text.truncate(columns_here() or WIDEST, overflow="ellipsis")
    return text.plain


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows into a file, as `print_csv` prints them."""
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        _write_csv(file, head, rows)


def _write_csv(file: IO[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    import csv

    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([name.lower().replace(" ", "_") for name in head])
    writer.writerows([_harmless(cell) for cell in row] for row in rows)


def print_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as RFC 4180 says, in UTF-8 whatever the terminal's encoding is."""
    written = io.StringIO(newline="")
    _write_csv(written, head, rows)
    sys.stdout.flush()
    bytes_out = past(sys.stdout).buffer
    bytes_out.write(written.getvalue().encode("utf-8", "replace"))
    bytes_out.flush()


def _harmless(cell: object) -> object:
    if not isinstance(cell, str):
        return "" if cell is None else cell
    return f"'{one_line(cell)}" if cell.startswith(FORMULA) else one_line(cell)


def print_note(text: str, first: str = "") -> None:
    """Print a paragraph, wrapped to the terminal; its first line begins with `first`, the others as far right.

    Line ends in front are empty lines; any other one came with a text of others.
    """
    words, width = text.lstrip("\n"), columns_here()
    text = "\n" * (len(text) - len(words)) + one_line(words)
    for number, line in enumerate([text] if width is None else wrapped(text, max(1, width - len(first)))):
        click.echo((" " * len(first) if number else first) + line)


def wrapped(text: str, width: int) -> list[str]:
    """Lines that are no wider, broken between words where that is possible.

    >>> wrapped("the losing side captured nothing", 12)
    ['the losing', 'side', 'captured', 'nothing']
    """
    if len(text) <= width and text.isascii():
        return [text]
    from rich.console import Console
    from rich.text import Text

    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=width), width)]


def columns_here() -> int | None:
    """How wide the terminal is; None where the output is no terminal, and as wide as it needs to be."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return max(1, shutil.get_terminal_size().columns)
    return None


def _room() -> int | None:
    """How wide a table may be; None: as wide as it needs to be."""
    return None if wanted_wide() else columns_here()


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
