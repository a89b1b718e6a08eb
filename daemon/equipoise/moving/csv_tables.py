"""Tables from CSV: a header, then rows by column name, each with the number of its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from equipoise.errors import FileError

LONGEST_HEADER = 64 * 1024
"""Bytes."""
LONGEST_LINE = 1 << 20
"""Bytes."""
DELIMITERS = ",;\t"
_COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row."""

    line: int
    cells: Mapping[str, str]
    comma: bool
    """Numbers may have a decimal comma: the columns are separated by something else."""


def refuse_packed(data: bytes) -> None:
    """Raise FileError for a file that has to be unpacked or written anew first; its first bytes suffice."""
    if data.startswith(_COMPRESSED):
        raise FileError("the file is packed: unpack it first")
    if data.startswith(_UTF16):
        raise FileError("the file is UTF-16: write it as UTF-8 (a redirection in PowerShell makes UTF-16)", line=1)


def header(data: bytes) -> tuple[str, list[str]]:
    """Return the delimiter of a table, the one that is there most, and the names of its columns, in small letters."""
    text = next(iter(data.decode("utf-8-sig", "replace").splitlines()), "")
    # Of equally many the comma, which stands first.
    delimiter = max(DELIMITERS, key=text.count)
    try:
        names = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        names = []
    return delimiter, [name.strip().lower() for name in names]


def rows(data: bytes, needed: Collection[str], optional: Collection[str] | None = None) -> Iterator[Row]:
    """Yield every row; FileError names the line. Without `optional`, the table may have any other columns."""
    refuse_packed(data)
    _check_text(data)
    delimiter, names = header(data[:LONGEST_HEADER])
    _check_header(names, needed, optional)
    # In pieces: the whole text at once would take up to five times the file.
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="")
    # Not strict, it would take a stray quote for the beginning of a cell that ends lines below.
    table = csv.reader(text, delimiter=delimiter, strict=True)
    lines = _numbered(table)
    next(lines, None)
    for line, cells in lines:
        if not any(cells):
            continue
        if len(cells) != len(names):
            raise FileError(f"{len(cells)} cells, where the header has {len(names)}", line=line)
        values = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
        yield Row(line, values, comma=delimiter != ",")


def _check_text(data: bytes) -> None:
    """FileError: a line is not UTF-8, or so long that it is none of a table."""
    for number, line in enumerate(io.BytesIO(data), start=1):
        if len(line) > LONGEST_LINE:
            raise FileError(f"the line has {len(line):,} bytes; up to {LONGEST_LINE:,} are read", line=number)
        try:
            line.decode()
        except UnicodeDecodeError:
            raise FileError("the text is not UTF-8", line=number) from None


def _numbered(table: Iterable[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the numbers of the lines on which they begin."""
    reader = iter(table)
    while True:
        # Before the row is read: of one with line breaks in it that is its first line.
        line = getattr(reader, "line_num", 0) + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileError(f"the line is no CSV: {error}", line=line) from None
        yield line, cells


def _check_header(names: list[str], needed: Collection[str], optional: Collection[str] | None) -> None:
    if gaps := [name for name in needed if name not in names]:
        columns = ",".join((*needed, *(f"[{name}]" for name in optional or ())))
        raise FileError(f"the first line must name the columns ({columns}); {gaps[0]} is missing", line=1)
    if twice := [name for name in needed if names.count(name) > 1]:
        raise FileError(f"the column {twice[0]} is there twice", line=1)
    if optional is not None and (unknown := [name for name in names if name not in (*needed, *optional)]):
        raise FileError(f"there is no column {unknown[0]!r}; is it {' or '.join((*needed, *optional))}?", line=1)
