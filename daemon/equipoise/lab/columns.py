"""CSV files as columns of numbered texts, read fast and in little memory, and refused with file and line.

A column of a history repeats few texts (players, maps, dates) very often. So each distinct text is kept once, and a row
is an int32 index into them: a million rows cost four megabytes per column, and a text is parsed once, not per row.
Files without quotes, nearly all, are split as bytes, some megabytes at a time; the others go through Python's `csv`.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from equipoise.errors import RatingError
from equipoise.lab.svg import printable
from equipoise.ratings.history import Floats, Numbers

T = TypeVar("T")
GZIP = b"\x1f\x8b"
NEWLINE, COMMA = ord("\n"), ord(",")
PIECE = 1 << 23
"""Bytes that are split into fields at a time."""
ROWS = 100_000
"""Rows with quotes that are taken at a time."""


class _Numbering(dict[str, int]):
    """Numbers texts from 0 in the order in which they are looked up."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


@dataclass(slots=True)
class Column:
    """A column's distinct texts, and which of them each row has.

    >>> column = Column()
    >>> column.take(["ann", "bob", "ann"])
    >>> column.texts, column.numbers.tolist()
    (['ann', 'bob'], [0, 1, 0])
    """

    known: _Numbering = field(default_factory=_Numbering)
    pieces: list[Numbers] = field(default_factory=list)

    def take(self, texts: Sequence[str]) -> None:
        """Append one row per text; texts that are known share their number."""
        self.pieces.append(np.fromiter(map(self.known.__getitem__, texts), np.int32, len(texts)))

    @property
    def texts(self) -> list[str]:
        """The distinct texts, in the order of their first rows."""
        return list(self.known)

    @property
    def numbers(self) -> Numbers:
        """Shape (rows,): for each row an index into `texts`."""
        if len(self.pieces) > 1:
            self.pieces = [np.concatenate(self.pieces)]
        return self.pieces[0]


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file's columns by name, all of the same length."""

    path: Path
    columns: dict[str, Column]
    lines: Sequence[int]
    """The line of the file that each row ends on."""

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, name: str) -> Column:
        """A column; one that the file does not have is empty in every row."""
        if name not in self.columns:
            return Column(_Numbering({"": 0}), [np.zeros(len(self), np.int32)])
        return self.columns[name]

    def text(self, name: str, row: int) -> str:
        """The text of one field; empty if the file does not have the column."""
        column = self[name]
        return column.texts[int(column.numbers[row])]

    def refusal(self, row: int, reason: str) -> RatingError:
        """An error about a row, with file and line."""
        return _refusal(self.path, self.lines[row], reason)

    def parsed(self, name: str, parse: Callable[[str], T]) -> list[T]:
        """The values of a column's distinct texts; `parse` raises ValueError with the reason why a text is refused.

        RatingError names the first row with such a text.
        """
        column = self[name]
        values, faults = [], dict[int, str]()
        for number, text in enumerate(column.texts):
            try:
                values.append(parse(text))
            except ValueError as error:
                faults[number] = f"{name} {text!r} {error}"
        if faults:
            row = int(np.flatnonzero(np.isin(column.numbers, list(faults)))[0])
            raise self.refusal(row, faults[int(column.numbers[row])])
        return values

    def floats(self, name: str, parse: Callable[[str], float]) -> Floats:
        """Shape (rows,): the value of each row."""
        values = np.array(self.parsed(name, parse), np.float64)
        return values[self[name].numbers]

    def unpacked(self, name: str, keys: Sequence[str]) -> CsvFile:
        """Split a column of `key=value;key=value` into one column for each of `keys`; other keys are ignored."""
        column = self[name]
        numberings = {key: _Numbering({"": 0}) for key in keys}
        numbers = {key: [0] * len(column.known) for key in keys}
        for number, text in enumerate(column.known):
            for pair in text.split(";"):
                key, equals, value = pair.partition("=")
                if pair and not (key and equals):
                    self.parsed(name, _check_pairs)
                elif key in numberings:
                    numbers[key][number] = numberings[key][value]
        columns = {key: Column(numberings[key], [np.array(numbers[key], np.int32)[column.numbers]]) for key in keys}
        return CsvFile(self.path, columns, self.lines)


def _check_pairs(text: str) -> None:
    if not all(pair.partition("=")[0] and "=" in pair for pair in text.split(";") if pair):
        raise ValueError("is not key=value;key=value")


def read_csv(path: Path, needed: Sequence[str]) -> CsvFile:
    """Read a UTF-8 file, gzip or plain. RatingError unless it has the needed columns and only complete rows."""
    raw = _bytes(path)
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    head, _, body = raw.partition(b"\n")
    names = _names(path, head)
    gaps = [name for name in needed if name not in names]
    if gaps:
        raise _refusal(path, 1, f"no column {', '.join(gaps)}; there are {', '.join(names) or 'none'}")
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise _refusal(path, 1, f"column {twice[0]} appears twice")
    # Empty lines at the end are no rows.
    body = body.rstrip(b"\n")
    if not body:
        raise RatingError(f"{path}: no rows")
    return _quoted(path, names, body) if b'"' in body else _plain(path, names, body)


def _names(path: Path, head: bytes) -> list[str]:
    """The names in the first line, in the order of the columns."""
    try:
        return next(csv.reader([_text(path, head, 1).removeprefix("\ufeff")]), [])
    except csv.Error as error:
        raise _refusal(path, 1, str(error)) from None


def _plain(path: Path, names: Sequence[str], body: bytes) -> CsvFile:
    """Without quotes every comma separates fields: one split makes all fields of a piece."""
    columns = [Column() for _ in names]
    rows = 0
    for piece in _pieces(body):
        # The header is line 1.
        line = rows + 2
        rows += _check_widths(path, piece, line, len(names))
        fields = _text(path, piece, line).replace("\n", ",").split(",")
        for place, column in enumerate(columns):
            column.take(fields[place :: len(names)])
    return CsvFile(path, dict(zip(names, columns, strict=True)), range(2, rows + 2))


def _pieces(body: bytes) -> Iterator[bytes]:
    """Complete lines, some megabytes at a time."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start + PIECE)
        end = len(body) if end < 0 else end
        yield body[start:end]
        start = end + 1


def _check_widths(path: Path, piece: bytes, line: int, wanted: int) -> int:
    """The number of lines in a piece; RatingError for a line with another number of fields."""
    codes = np.frombuffer(piece, np.uint8)
    ends = np.append(np.flatnonzero(codes == NEWLINE), len(codes))
    # The commas before each line's end, less those before the end above: one field more than commas.
    widths = np.diff(np.searchsorted(np.flatnonzero(codes == COMMA), ends), prepend=0) + 1
    wrong = np.flatnonzero(widths != wanted)
    if len(wrong):
        raise _width(path, line + int(wrong[0]), int(widths[wrong[0]]), wanted)
    return len(ends)


def _quoted(path: Path, names: Sequence[str], body: bytes) -> CsvFile:
    reader = csv.reader(StringIO(_text(path, body, 2), newline=""))
    columns, lines = [Column() for _ in names], list[int]()
    while rows := list(islice(_whole(path, reader, len(names), lines), ROWS)):
        for column, texts in zip(columns, zip(*rows, strict=True), strict=True):
            column.take(texts)
    return CsvFile(path, dict(zip(names, columns, strict=True)), lines)


def _whole(path: Path, reader: Iterator[list[str]], wanted: int, lines: list[int]) -> Iterator[list[str]]:
    try:
        for row in reader:
            # The reader begins below the header. Of a row with line breaks in quotes this is the last line.
            line = reader.line_num + 1  # type: ignore[attr-defined]
            if len(row) != wanted:
                raise _width(path, line, len(row), wanted)
            lines.append(line)
            yield row
    except csv.Error as error:
        raise _refusal(path, reader.line_num + 1, str(error)) from None  # type: ignore[attr-defined]


def _width(path: Path, line: int, width: int, wanted: int) -> RatingError:
    return _refusal(path, line, f"{width} fields, the header has {wanted}")


def _refusal(path: Path, line: int, reason: str) -> RatingError:
    return RatingError(f"{path}:{line}: {printable(reason)}")


def _bytes(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw.startswith(GZIP) else raw
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise RatingError(f"{path}: not a whole gzip file") from None
    except OSError as error:
        raise RatingError(f"{path}: {error.strerror}") from None


def _text(path: Path, raw: bytes, line: int) -> str:
    """Decode UTF-8; `line` is the line of the first byte."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        wrong = raw[error.start : error.end]
        raise _refusal(path, line + raw.count(b"\n", 0, error.start), f"not UTF-8: {wrong!r}") from None
