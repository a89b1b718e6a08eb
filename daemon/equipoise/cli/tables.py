"""Tables that fit the terminal, and the same rows as CSV.

Columns are aligned by the width that a terminal gives to letters: Chinese ones take two places, accents none. Where the
terminal is narrower than a table, long cells are wrapped; where that is not enough, each row becomes a block of lines.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from equipoise.lab.printable import printable

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
    """What people read of an item."""
    value: Callable[[Any], object] | None = None
    """What programs read of it in CSV; None: the same."""
    right: bool = False
    """Numbers are aligned right."""
    whole: bool = False
    """The cell stays in one line: a time, a change."""

    def plain(self, item: Any) -> object:
        """What CSV has of an item."""
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
    fitting = widths if width is None else _narrowed(cells, columns, widths, width)
    if fitting is None:
        assert width is not None
        yield from _stacked(cells[0], cells[1:], width)
        return
    for number, row in enumerate(cells):
        parts = [wrapped(cell, fitting[place]) for place, cell in enumerate(row)]
        for depth in range(max(map(len, parts))):
            line = (part[depth] if depth < len(part) else "" for part in parts)
            padded = (_padded(cell, fitting[place], columns[place].right) for place, cell in enumerate(line))
            yield number - 1 if number else None, GAP.join(padded).rstrip()


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
