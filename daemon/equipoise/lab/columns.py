"""CSV files as columns, read fast and in little memory: texts numbered, figures as floats, faults with file and line.

A column of a history repeats few texts (players, maps, modes) very often: each distinct text is kept once, and a row is
an int32 index into them. A long file is read by compiled kernels (`cells`), some megabytes at a time. A short one, for
which compiling would take longer, and one with line breaks or doubled quotes in its fields go through Python's `csv`.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

import numpy as np

from equipoise.errors import RatingError
from equipoise.lab import cells
from equipoise.lab.cells import ODD, Known
from equipoise.lab.svg import printable
from equipoise.ratings.history import Flags, Floats, Numbers, Offsets
from equipoise.ratings.parts.compiling import UNCOUNTED, compiled

GZIP, ZSTD, ZIP, UTF16 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", (b"\xff\xfe", b"\xfe\xff")
STDIN = Path("-")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
PIECE = 1 << 20
"""Bytes that are read at a time."""
SHORT = 1 << 22
"""Bytes: a file that is not longer is read by Python, which takes a second at most."""
ROWS = 100_000
"""Rows that Python takes at a time."""
SHOWN = 10
"""Faults that are shown; the others are counted."""

BLANKS = re.compile(r"[\s.-]+")

Kind = Literal["words", "figures", "times"]


class Faults:
    """Faults of files, by the fact that they make unknown; those of "" stop every reader."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """How many there are of each fact."""
        self._shown: dict[str, list[tuple[str, int, str]]] = {}

    def add(self, fact: str, table: Table, rows: Flags | Offsets, reason: Callable[[int], str]) -> None:
        """Note rows, a mask or their numbers; `reason` says what is wrong with one."""
        numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        if not len(numbers):
            return
        self.lines(fact, table.name, ((int(table.lines[row]), reason(row)) for row in numbers[:SHOWN].tolist()))
        self.counts[fact] += max(0, len(numbers) - SHOWN)

    def lines(self, fact: str, file: str, lines: Iterable[tuple[int, str]]) -> None:
        """Note lines, each with what is wrong with it; line 0 is the whole file."""
        for line, reason in lines:
            self.counts[fact] += 1
            if self.counts[fact] <= 2 * SHOWN:  # Those of one file do not hide those of the other.
                self._shown.setdefault(fact, []).append((file, line, printable(reason)))

    def texts(self, facts: Collection[str]) -> list[str]:
        """The first faults that make these facts unknown, and how many more there are, as lines of text."""
        shown = self.first(facts)
        lines = [f"{file}:{line}: {reason}" if line else f"{file}: {reason}" for file, line, reason in shown]
        more = sum(self.counts[fact] for fact in facts) - len(lines)
        return lines + ([f"and {more:,} more"] if more > 0 else [])

    def first(self, facts: Collection[str]) -> list[tuple[str, int, str]]:
        """The first faults that make these facts unknown: file, line, and what is wrong with it."""
        shown = list(dict.fromkeys(fault for fact in facts for fault in self._shown.get(fact, ())))
        files = list(dict.fromkeys(file for file, _, _ in shown))
        return sorted(shown, key=lambda fault: (files.index(fault[0]), fault[1]))[:SHOWN]

    def each(self) -> list[tuple[str, str, int, str]]:
        """The first faults of each fact: the fact, file, line, and what is wrong with it."""
        return [(fact, *fault) for fact in self.counts for fault in self.first([fact])]

    def stop(self, facts: Collection[str] = ("",)) -> None:
        """RatingError with the faults that make one of these facts unknown, if there are some."""
        if lines := self.texts(facts):
            raise RatingError("\n".join(lines))


@dataclass(slots=True)
class Words:
    """A column of texts: for each row the number of its text, and the texts."""

    numbers: Numbers
    known: Known | None
    """Where the texts are; None: in `_texts`."""
    _texts: list[str] | None = None

    @property
    def texts(self) -> list[str]:
        """The distinct texts, in the order of their first rows."""
        if self._texts is None:
            assert self.known is not None, "texts are in one or the other"
            raw = self.known.letters.tobytes()
            text, ends = raw.decode(), self.known.ends.tolist()
            plain = len(text) == len(raw)
            self._texts = [text[a:b] if plain else raw[a:b].decode() for a, b in pairwise(ends)]
        return self._texts

    def __len__(self) -> int:
        """How many distinct texts there are."""
        return len(self.known.ends) - 1 if self.known else len(self._texts or ())

    def __bool__(self) -> bool:
        """Whether any row has a text."""
        return len(self) > 1 or any(self.texts)

    def at(self, row: int) -> str:
        """The text of a row."""
        return self.texts[int(self.numbers[row])]

    def among(self, other: Words) -> Numbers:
        """Shape (rows,): the number of each row's text in another column, -1 for no text, or one that it has not."""
        if self.known and other.known and _alike(self.known, other.known):
            return self.numbers
        places = {text: number for number, text in enumerate(other.texts) if text}
        return np.array([places.get(text, -1) for text in self.texts], np.int32)[self.numbers]


def _alike(one: Known, other: Known) -> bool:
    same = np.array_equal(one.ends, other.ends) and bool(np.diff(one.ends).all())
    return same and np.array_equal(one.letters, other.letters)


@dataclass(frozen=True, slots=True)
class Figures:
    """A column of numbers; those that are written in another way than plain decimals stand among `odd`."""

    values: Floats
    """Shape (rows,): NaN where there is none; `-ODD - n` for the text n of `odd`."""
    odd: Words

    def text(self, row: int) -> str:
        """A row's text; that of a plain number may have been written otherwise."""
        value = float(self.values[row])
        if math.isnan(value):
            return ""
        return self.odd.texts[int(-ODD - value)] if value <= -ODD else f"{value:.15g}"

    def with_odd(self, odd: Sequence[float]) -> Floats:
        """The values, with these numbers for the texts of `odd`."""
        values = self.values.copy()
        if len(odd):
            places = np.flatnonzero(values <= -ODD)
            values[places] = np.array(odd)[(-ODD - values[places]).astype(np.int64)]
        return values


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a file that were asked for, by name, all of the same length."""

    name: str
    """The file, as errors name it."""
    form: str
    """Separator and packing, in words."""
    header: tuple[str, ...]
    """The names in the file."""
    above: int
    """The header's line."""
    read_as: Mapping[str, str]
    """Columns that were understood: the name in the file of each."""
    columns: Mapping[str, Words | Figures]
    lines: Sequence[int] | Numbers
    """The line of the file that each row ends on."""
    ragged: bool
    """Whether lines were left out that have more or fewer fields than the header."""

    def __len__(self) -> int:
        return len(self.lines)

    def unread(self) -> list[str]:
        """The names in the file of columns that are not read."""
        return [name.strip() for name in self.header if name.strip() not in self.read_as.values()]

    def words(self, name: str) -> Words:
        """A column of texts; one that the file does not have is empty in every row."""
        column = self.columns.get(name)
        return column if isinstance(column, Words) else self.constant("")

    def figures(self, name: str) -> Figures:
        """A column of numbers; one that the file does not have is NaN in every row."""
        column = self.columns.get(name)
        none = Words(np.empty(0, np.int32), None, [])
        return column if isinstance(column, Figures) else Figures(np.full(len(self), np.nan), none)

    def without(self, *names: str) -> Table:
        """The table without these columns."""
        return replace(self, columns={name: column for name, column in self.columns.items() if name not in names})

    def constant(self, text: str) -> Words:
        """A column with the same text in each row."""
        return Words(np.zeros(len(self), np.int32), None, [text])

    def taken(self, order: Offsets) -> Table:
        """The rows in another order."""
        columns = {
            name: replace(column, **{part: getattr(column, part)[order]})
            for name, column in self.columns.items()
            for part in ("numbers" if isinstance(column, Words) else "values",)
        }
        return replace(self, columns=columns, lines=np.asarray(self.lines)[order])

    def unpacked(self, name: str, kinds: Mapping[str, Kind], faults: Faults) -> Table:
        """Split a column of `key=value;key=value` into columns for the keys of `kinds`; other keys are ignored."""
        packed = self.words(name)
        if not packed or not kinds:
            return self
        numberings = {key: _Numbering({"": 0}) for key in kinds}
        numbers = {key: np.zeros(len(packed), np.int32) for key in kinds}
        wrong = list[int]()
        for number, text in enumerate(packed.texts):
            for pair in text.split(";"):
                key, equals, value = pair.partition("=")
                if key.strip() in numberings and equals:
                    numbers[key.strip()][number] = numberings[key.strip()][value.strip()]
                elif pair and not (key and equals):
                    wrong.append(number)
        rows = np.isin(packed.numbers, wrong)
        faults.add("", self, rows, lambda row: f"{name} {packed.at(row)!r} is not key=value;key=value")
        keys = {
            key: Words(places, None, list(numberings[key]))
            if kind == "words"
            else _figures(list(numberings[key]), places, kind)
            for key, kind in kinds.items()
            for places in (numbers[key][packed.numbers],)
            if len(numberings[key]) > 1
        }
        return replace(self, columns={**self.columns, **keys})


def read_csv(path: Path, kinds: Mapping[str, Kind], known_as: Mapping[str, Sequence[str]], faults: Faults) -> Table:
    """Read the columns of `kinds`; `known_as` has other names of theirs. RatingError for a file that is none."""
    source = _Source(path)
    try:
        return _read(source, kinds, known_as, faults)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        rest = f" after {lines:,} lines" if (lines := source.whole_lines()) else ""
        raise RatingError(f"{source.name}: not a whole {source.packing} file: it ends or breaks{rest}") from None
    except OSError as error:
        raise RatingError(f"{source.name}: {error.strerror or error}") from None
    finally:
        source.close()


def _read(source: _Source, kinds: Mapping[str, Kind], known_as: Mapping[str, Sequence[str]], faults: Faults) -> Table:
    pieces = source.pieces()
    header, above, rest = _header(pieces)
    separator, names = _names(source.name, header, above, known_as)
    read_as = _understood(names, known_as)
    if twice := [names[place] for place in read_as.values() if names.count(names[place]) > 1]:
        raise RatingError(f"{source.name}:{above}: {printable(f'column {twice[0]} appears twice')}")
    places = {name: place for name, place in read_as.items() if name in kinds}
    shape = _Shape(source, separator, len(names), above, [(place, kinds[name]) for name, place in places.items()])
    begin = [rest]
    # A short file beside a long one is read by the kernels that are loaded anyway.
    least = 0 if _loaded() else SHORT
    while begin[-1] and sum(map(len, begin)) <= least:
        begin.append(next(pieces, b""))
    body = _compiled(shape, chain(begin, pieces)) if begin[-1] else _by_python(shape, begin)
    if body is None:
        pieces = source.pieces()
        *_, rest = _header(pieces)
        body = _by_python(shape, chain([rest], pieces))
    wrong = ((line, f"{width} fields, the header has {len(names)}") for line, width in body.wrong)
    faults.lines("", source.name, wrong)
    if not len(body.lines) and not body.wrong:
        faults.lines("", source.name, [(0, "no rows")])
    form = f"{SEPARATORS[separator]}{f', {source.packing}' if source.packing else ''}"
    named = {name: names[place].strip() for name, place in read_as.items()}
    columns = dict(zip(places, body.columns, strict=True))
    return Table(source.name, form, tuple(names), above, named, columns, body.lines, ragged=bool(body.wrong))


class _Source:
    """The bytes of a file, of standard input (`-`) or of a pipe, unpacked, as often as they are asked for."""

    def __init__(self, path: Path) -> None:
        self.name = "standard input" if path == STDIN else str(path)
        self.packing = ""
        self._path = path
        self._spool: IO[bytes] | None = None

    def pieces(self) -> Iterator[bytes]:
        """Complete lines, some megabytes at a time, that end as on Unix."""
        with self._rewound() as raw:
            stream = self._unpacked(raw)
            rest, old = b"", None
            while chunk := stream.read(PIECE):
                old = (b"\r" in chunk and b"\n" not in chunk) if old is None else old
                if old:  # Lines end as on a Macintosh of long ago.
                    chunk = chunk.replace(b"\r", b"\n")
                cut = chunk.rfind(b"\n") + 1
                if cut:
                    yield rest + chunk[:cut]
                    rest = b""
                rest += chunk[cut:]
            if rest:
                yield rest

    def _unpacked(self, raw: IO[bytes]) -> IO[bytes]:
        start = raw.read(4)
        raw.seek(0)
        if start.startswith(GZIP):
            self.packing = "gzip"
            return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
        if start == ZSTD:
            self.packing = "zstd"
            return _unpacked_zstd(self.name, raw)
        if start == ZIP:
            raise RatingError(f"{self.name}: a zip archive or a spreadsheet: unpack it, or save the sheet as CSV")
        if start.startswith(UTF16):
            try:
                return io.BytesIO(raw.read().decode("utf-16").encode())
            except UnicodeDecodeError:
                raise RatingError(f"{self.name}: begins as UTF-16, and is none") from None
        return raw

    def whole_lines(self) -> int:
        """How many lines can be unpacked of a gzip that is broken."""
        count, unpacker = 0, zlib.decompressobj(wbits=31)
        with self._rewound() as raw, suppress(zlib.error):
            while self.packing == "gzip" and (chunk := raw.read(PIECE)):
                count += unpacker.decompress(chunk).count(b"\n")
        return count

    def close(self) -> None:
        """Forget what was kept of a pipe."""
        if self._spool is not None:
            self._spool.close()

    def _rewound(self) -> IO[bytes]:
        """The packed bytes from the first on; what cannot be read twice is kept in a file without a name."""
        if self._spool is None:
            raw = cast("IO[bytes]", sys.stdin.buffer) if self._path == STDIN else self._path.open("rb")
            if self._path != STDIN and raw.seekable():
                return raw
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as this object
            shutil.copyfileobj(raw, self._spool)
            if self._path != STDIN:
                raw.close()
        self._spool.seek(0)
        # Closed with the reader that it is given to.
        return os.fdopen(os.dup(self._spool.fileno()), "rb")


def _unpacked_zstd(name: str, raw: IO[bytes]) -> IO[bytes]:
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return cast("IO[bytes]", import_module(module).ZstdFile(raw))
        except ImportError:
            continue
    raise RatingError(f"{name}: zstd: install equipoise[lab], or unpack it: zstd -dc FILE | equipoise lab … -")


def _header(pieces: Iterator[bytes]) -> tuple[bytes, int, bytes]:
    """The first line with letters, its number, and what follows in its piece."""
    first, line = next(pieces, b"").removeprefix(b"\xef\xbb\xbf"), 0
    while first:
        head, _, first = first.partition(b"\n")
        line += 1
        # "sep=;" above the header tells a spreadsheet what separates.
        if head.strip() and not head.lower().startswith(b"sep="):
            return head, line, first
    return b"", 1, b""


def _names(file: str, header: bytes, line: int, known_as: Mapping[str, Sequence[str]]) -> tuple[str, list[str]]:
    """The separator with which most names of the header are understood, and the names."""
    text, read = _text(file, header, line), []
    for separator in SEPARATORS:
        try:
            names = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
        except csv.Error as error:
            raise RatingError(f"{file}:{line}: {printable(str(error))}") from None
        read.append((len(_understood(names, known_as)), len(names), separator, names))
    *_, separator, names = max(read, key=lambda one: one[:2])
    return separator, names


def _understood(names: Sequence[str], known_as: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The place of each column that has one of the names that it is known as; the first of these counts."""
    plain = [BLANKS.sub("_", name.strip().casefold()) for name in names]
    columns = {
        name: next((plain.index(one) for one in (name, *others) if one in plain), None)
        for name, others in known_as.items()
    }
    return {name: place for name, place in columns.items() if place is not None}


class _Shape(NamedTuple):
    """The form of a file's rows, as its header says it."""

    source: _Source
    separator: str
    width: int
    above: int
    """The header's line."""
    columns: list[tuple[int, Kind]]
    """Place and kind of each column that is read."""


class _Body(NamedTuple):
    """The rows of a file."""

    columns: list[Words | Figures]
    lines: Sequence[int] | Numbers
    wrong: list[tuple[int, int]]
    """Line and width of each row that has not the header's width."""


def _by_python(shape: _Shape, pieces: Iterable[bytes]) -> _Body:
    """Read the rows by Python's `csv`."""
    columns, lines, wrong = [_Numbering() for _ in shape.columns], list[int](), list[tuple[int, int]]()
    numbers: list[list[Numbers]] = [[] for _ in columns]
    reader = csv.reader(_text_lines(shape, pieces), delimiter=shape.separator, skipinitialspace=True)
    rows = _whole(shape, reader, lines, wrong)
    blanks = " \r" if shape.separator == "\t" else " \t\r"
    while taken := list(islice(rows, ROWS)):
        for (place, _), column, parts in zip(shape.columns, columns, numbers, strict=True):
            parts.append(np.fromiter((column[row[place].strip(blanks)] for row in taken), np.int32, len(taken)))
    done: list[Words | Figures] = []
    for (_, kind), column, parts in zip(shape.columns, columns, numbers, strict=True):
        places = np.concatenate([np.empty(0, np.int32), *parts])
        done.append(Words(places, None, list(column)) if kind == "words" else _figures(list(column), places, kind))
    return _Body(done, lines, wrong)


def _text_lines(shape: _Shape, pieces: Iterable[bytes]) -> Iterator[str]:
    line = shape.above
    for piece in pieces:
        yield from io.StringIO(_text(shape.source.name, piece, line + 1).replace("\r\n", "\n"), newline="\n")
        line += piece.count(b"\n")


def _whole(shape: _Shape, reader: Any, lines: list[int], wrong: list[tuple[int, int]]) -> Iterator[list[str]]:
    """The rows of the right width."""
    try:
        for row in reader:
            # Of a row with line breaks in quotes this is the last line.
            line = shape.above + reader.line_num
            if len(row) == shape.width and any(map(str.strip, row)):
                lines.append(line)
                yield row
            elif any(map(str.strip, row)):
                wrong.append((line, len(row)))
    except csv.Error as error:
        line = shape.above + reader.line_num
        raise RatingError(f"{shape.source.name}:{line}: {printable(str(error))}") from None


class _Numbering(dict[str, int]):
    """Numbers texts from 0 in the order in which they are looked up."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


def _figures(texts: list[str], numbers: Numbers, kind: Kind) -> Figures:
    odd = _Numbering()
    values = [cells.figure_of(raw := text.encode(), 0, len(raw), kind == "times") for text in texts]
    coded = [value - odd[text] if value == -ODD else value for text, value in zip(texts, values, strict=True)]
    return Figures(np.array(coded, np.float64)[numbers], Words(np.empty(0, np.int32), None, list(odd)))


def _compiled(shape: _Shape, pieces: Iterable[bytes]) -> _Body | None:
    """Read the rows by compiled kernels; None if a field needs `csv`."""
    split, *_ = _kernels()
    columns = [_Grown(place, kind) for place, kind in shape.columns]
    lines, wrong, above = list[Any](), list[tuple[int, int]](), shape.above + 1
    for piece in pieces:
        if not piece.isascii():
            _text(shape.source.name, piece, above)
        codes = np.frombuffer(piece, np.uint8)
        most = int(np.count_nonzero(codes == cells.NEWLINE)) + 1
        fields, places, narrow = (np.empty((most, *more), np.int32) for more in ((shape.width, 2), (), (2,)))
        rows, count, wrongs = split(codes, ord(shape.separator), fields, places, narrow)
        if rows < 0:
            return None
        for column in columns:
            column.take(codes, fields, rows)
        if rows:
            first, last = above + int(places[0]), above + int(places[rows - 1])
            whole = last - first == rows - 1  # Then the ends say all.
            lines.append(range(first, last + 1) if whole else places[:rows] + above)
        wrong += [(above + line, width) for line, width in narrow[:wrongs].tolist()]
        above += count
    done = [column.done() for column in columns]
    every: Any = range(int(lines[0][0]), int(lines[-1][-1]) + 1) if lines else range(0)
    if len(every) != sum(map(len, lines)):
        every = np.concatenate([np.asarray(part, np.int32) for part in lines])
    return _Body(done, every, wrong)


class _Grown:
    """A column that grows piece by piece."""

    def __init__(self, place: int, kind: Kind) -> None:
        self._place, self._kind, self._count = place, kind, 0
        self._known = Known(np.full(1 << 10, -1, np.int32), np.zeros(1 << 9, np.int64), np.empty(0, np.uint8))
        self._column: Any = np.empty(0, np.int32 if kind == "words" else np.float64)
        self._rows = 0

    def take(self, codes: Any, fields: Numbers, rows: int) -> None:
        """Append the rows of a piece."""
        _, number_texts, read_figures, _ = _kernels()
        self._make_room(rows, len(codes))
        part = self._column[self._rows : self._rows + rows]
        if self._kind == "words":
            self._count = number_texts(codes, fields, self._place, self._known, self._count, part)
        else:
            times = self._kind == "times"
            self._count = read_figures(codes, fields, self._place, times, self._known, self._count, part)
        self._rows += rows

    def _make_room(self, rows: int, letters: int) -> None:
        """Room for a piece whose texts are all new."""
        if self._rows + rows > len(self._column):
            # In place: parts that are joined in the end would take twice the memory, and leave it in pieces.
            self._column.resize(self._rows + self._rows // 4 + rows, refcheck=False)
        slots, ends, store = self._known
        known, size = self._count + rows + 1, int(ends[self._count]) + letters
        if known > len(ends):
            ends = _longer(ends, self._count + 1, 2 * known)
        if size > len(store):
            store = _longer(store, int(ends[self._count]), 2 * size)
        self._known = Known(slots, ends, store)
        # At most half full.
        if 2 * known > len(slots):
            self._known = Known(np.full(1 << (4 * known).bit_length() - 1, -1, np.int32), ends, store)
            _kernels()[3](self._known, self._count)

    def done(self) -> Words | Figures:
        """Return the column of all rows so far; none is taken after it."""
        self._column.resize(self._rows, refcheck=False)
        _, ends, letters = self._known
        # The table by hash has served. Room that was never written is no memory.
        known = self._known = Known(np.empty(0, np.int32), ends[: self._count + 1], letters[: ends[self._count]])
        if self._kind == "words":
            return Words(self._column, known)
        return Figures(self._column, Words(np.empty(0, np.int32), known))


def _longer(array: Any, used: int, length: int) -> Any:
    longer = np.empty(length, array.dtype)
    longer[:used] = array[:used]
    return longer


def _loaded() -> bool:
    return _kernels.cache_info().currsize > 0


@cache
def _kernels() -> Any:
    kernels = (cells.split, cells.number_texts, cells.read_figures, cells.fill_slots)
    return tuple(compiled(kernel, **UNCOUNTED) for kernel in kernels)


def _text(file: str, raw: bytes, line: int) -> str:
    """Decode UTF-8; `line` is the line of the first byte."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        wrong, line = raw[error.start : error.end], line + raw.count(b"\n", 0, error.start)
        raise RatingError(f"{file}:{line}: not UTF-8: {wrong!r}") from None
