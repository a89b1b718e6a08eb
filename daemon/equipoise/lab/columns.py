"""CSV files as columns, read by pyarrow: texts numbered, faults with file and line.

A column of a history repeats few texts (players, maps, modes) very often: each distinct text is kept once, and a row is
an int32 index into them.
"""

from __future__ import annotations

import csv
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow

from equipoise.errors import RatingError
from equipoise.lab.svg import printable
from equipoise.ratings.history import Flags, Numbers, Offsets

ZIP, UTF16 = b"PK\x03\x04", (b"\xff\xfe", b"\xfe\xff")
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
STDIN = Path("-")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
ENCODED = pa.dictionary(pa.int32(), pa.string())
"""The type of a column of few texts: each once, and numbers."""
PIECE = 1 << 20
"""Bytes that are read at a time; no row may be longer."""
SHOWN = 10
"""Faults that are shown; the others are counted."""
BLANKS = re.compile(r"[\s.-]+")


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


@dataclass(frozen=True)
class Words:
    """A column of texts: for each row the number of its text, and the texts."""

    numbers: Numbers
    known: Any
    """The distinct texts, in the order of their first rows, as pyarrow has them."""

    def distinct(self) -> Words:
        """The column with each text once, where `known` has some of them twice."""
        encoded = self.known.dictionary_encode()
        return Words(encoded.indices.to_numpy()[self.numbers], encoded.dictionary)

    @cached_property
    def texts(self) -> list[str]:
        """`known` as a list: a row's text by its number."""
        texts: list[str] = self.known.to_pylist()
        return texts

    def __len__(self) -> int:
        """How many distinct texts there are."""
        return len(self.known)

    def __bool__(self) -> bool:
        """Whether any row has a text."""
        return len(self) > 1 or any(self.texts)

    def at(self, row: int) -> str:
        """The text of a row."""
        return str(self.known[int(self.numbers[row])])

    def among(self, other: Words) -> Numbers:
        """Shape (rows,): the number of each row's text in another column, -1 for no text, or one that it has not."""
        places = compute.index_in(self.known, value_set=other.known).fill_null(-1).to_numpy()
        return np.where(compute.equal(self.known, ""), np.int32(-1), places)[self.numbers]


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
    columns: dict[str, Words]
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
        """A column; one that the file does not have is empty in every row."""
        return self.columns.get(name) or self.constant("")

    def drop(self, *names: str) -> None:
        """Forget columns, and give their memory back."""
        for name in names:
            self.columns.pop(name, None)
        pa.default_memory_pool().release_unused()

    def constant(self, text: str) -> Words:
        """A column with the same text in each row."""
        return Words(np.zeros(len(self), np.int32), pa.array([text]))

    def taken(self, rows: Flags | Offsets) -> Table:
        """Some of the rows, or all in another order."""
        columns = {name: replace(column, numbers=column.numbers[rows]) for name, column in self.columns.items()}
        return replace(self, columns=columns, lines=np.asarray(self.lines)[rows])

    def unpacked(self, name: str, keys: Collection[str], faults: Faults) -> Table:
        """Split a column of `key=value;key=value` into columns for these keys; other keys are ignored."""
        packed = self.words(name)
        if not packed or not keys:
            return self
        values = {key: [""] * len(packed) for key in keys}
        wrong = list[int]()
        for number, text in enumerate(packed.texts):
            for pair in text.split(";"):
                key, equals, value = pair.partition("=")
                if key.strip() in values and equals:
                    values[key.strip()][number] = value.strip()
                elif pair and not (key and equals):
                    wrong.append(number)
        rows = np.isin(packed.numbers, wrong)
        faults.add("", self, rows, lambda row: f"{name} {packed.at(row)!r} is not key=value;key=value")
        split = {key: Words(packed.numbers, pa.array(texts)).distinct() for key, texts in values.items() if any(texts)}
        return replace(self, columns={**self.columns, **split})


def read_csv(
    path: Path, known_as: Mapping[str, Sequence[str]], faults: Faults, distinct: Collection[str] = ()
) -> Table:
    """Read the columns of `known_as`, which has other names of theirs. RatingError for a file that is none.

    Texts of columns that are `distinct` are expected to differ from row to row: they are numbered as rows are.
    """
    name = "standard input" if path == STDIN else str(path)
    try:
        with _rewindable(path) as file:
            try:
                return _read(name, file, known_as, faults, distinct)
            except UnicodeDecodeError:
                raise RatingError(_undecodable(name, file)) from None
    except OSError as error:
        # Those of pyarrow have no words of the system.
        reason = error.strerror or "not a whole gzip or zstd file: it ends or breaks"
        raise RatingError(f"{name}: {reason}") from None


@contextmanager
def _rewindable(path: Path) -> Iterator[Path]:
    """A file that can be read again; standard input and pipes are kept in one."""
    with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as raw:
        if path != STDIN and raw.seekable():
            yield path
            return
        with tempfile.NamedTemporaryFile() as spool:
            shutil.copyfileobj(raw, spool)
            spool.flush()
            yield Path(spool.name)


def _unpacked(name: str, file: Path) -> tuple[Any, str, str]:
    """The bytes of a file, unpacked, their encoding, and how they were packed."""
    with file.open("rb") as raw:
        start = raw.read(4)
    if start == ZIP:
        raise RatingError(f"{name}: a zip archive or a spreadsheet: unpack it, or save the sheet as CSV")
    packing = next((packing for mark, packing in PACKED.items() if start.startswith(mark)), None)
    return pa.input_stream(file, packing), "utf-16" if start.startswith(UTF16) else "utf-8-sig", packing or ""


def _undecodable(name: str, file: Path) -> str:
    """Say on which line a file is not encoded as it begins."""
    stream, encoding, _ = _unpacked(name, file)
    try:
        stream.read().decode(encoding)
    except UnicodeDecodeError as error:
        line, wrong = error.object.count(b"\n", 0, error.start) + 1, error.object[error.start : error.end]
        return f"{name}:{line}: not {error.encoding[:6].upper()}: {wrong!r}"
    raise AssertionError("it was not decodable")


def _read(
    name: str, file: Path, known_as: Mapping[str, Sequence[str]], faults: Faults, distinct: Collection[str]
) -> Table:
    stream, encoding, packing = _unpacked(name, file)
    header, above, more = _header(pa.transcoding_input_stream(stream, encoding, "utf-8"))
    separator, names = _names(name, header, above, known_as)
    read_as = _understood(names, known_as)
    if twice := [names[place] for place in read_as.values() if names.count(names[place]) > 1]:
        raise RatingError(f"{name}:{above}: {printable(f'column {twice[0]} appears twice')}")
    types = {column: pa.string() if column in distinct else ENCODED for column in read_as}
    if more:
        by_place = {place: column for column, place in read_as.items()}
        stream = pa.transcoding_input_stream(_unpacked(name, file)[0], encoding, "utf-8")
        given = [by_place.get(place, str(place)) for place in range(len(names))]
        rows, lines, wrong = _rows(name, stream, separator, above, given, types)
    else:
        rows, lines, wrong = pa.schema(list(types.items())).empty_table(), range(0), []
    faults.lines("", name, ((line, f"{width} fields, the header has {len(names)}") for line, width in wrong))
    columns = dict[str, Words]()
    for column in read_as:
        columns[column] = _words(rows.column(column))
        # Of millions of rows each column once.
        rows = rows.drop_columns(column)
        pa.default_memory_pool().release_unused()
    form = f"{SEPARATORS[separator]}{f', {packing}' if packing else ''}"
    named = {column: names[place].strip() for column, place in read_as.items()}
    table = Table(name, form, tuple(names), above, named, columns, lines, ragged=bool(wrong))
    blank = np.ones(len(table), np.bool_)
    for words in columns.values():
        blank &= np.asarray(compute.equal(words.known, ""))[words.numbers]
    if blank.any():
        table = table.taken(~blank)
    if not len(table) and not wrong:
        faults.lines("", name, [(0, "no rows")])
    return table


def _header(stream: Any) -> tuple[bytes, int, bool]:
    """The first line with letters, its number, and whether there are others below."""
    lines = stream.read(PIECE).splitlines()
    for line, text in enumerate(lines, 1):
        # "sep=;" above the header tells a spreadsheet what separates.
        if text.strip() and not text.lower().startswith(b"sep="):
            return text, line, line < len(lines)
    return b"", 1, False


def _rows(
    name: str, stream: Any, separator: str, above: int, names: list[str], types: dict[str, Any]
) -> tuple[pa.Table, Sequence[int] | Numbers, list[tuple[int, int]]]:
    """The rows in columns of `types`, the line that each ends on, and line and width of those of another width."""
    skipped = list[Any]()

    def skip(row: Any) -> str:
        skipped.append(row)
        return "skip"

    batches, breaks = list[Any](), list[Numbers]()
    try:
        reader = arrow.open_csv(
            stream,
            arrow.ReadOptions(use_threads=False, block_size=PIECE, skip_rows=above, column_names=names),
            arrow.ParseOptions(
                delimiter=separator, newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=skip
            ),
            arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string()) | types),
        )
        for batch in reader:
            within = sum(map(_breaks, batch.columns), np.zeros(len(batch), np.int32))
            breaks.append(within if within.any() else np.broadcast_to(np.int32(0), len(batch)))
            texts = [
                batch.column(name) if kind == ENCODED else _bare(batch.column(name)) for name, kind in types.items()
            ]
            batches.append(pa.RecordBatch.from_arrays(texts, list(types)))
    except pa.ArrowInvalid:
        read = sum(len(part) + int(part.sum()) for part in breaks) + sum(row.text.count("\n") + 1 for row in skipped)
        reason = "a row of more than a megabyte: is a quote not closed?"
        raise RatingError(f"{name}:{above + read + 1}: {reason}") from None
    rows = pa.Table.from_batches(batches, pa.schema(list(types.items())))
    # A table without a column that is read has no length.
    count = sum(map(len, breaks))
    if not skipped and not any(part.any() for part in breaks):
        return rows, range(above + 1, above + 1 + count), []
    heights = np.ones(count + len(skipped), np.int32)
    good = np.ones(len(heights), np.bool_)
    good[[row.number - above - 1 for row in skipped]] = False
    heights[good] += np.concatenate([np.empty(0, np.int32), *breaks])
    heights[~good] += np.array([row.text.count("\n") for row in skipped], np.int32)
    lines = above + np.cumsum(heights, dtype=np.int32)
    wrong = [
        (line, row.actual_columns)
        for line, row in zip(lines[~good].tolist(), skipped, strict=True)
        if row.text.strip(f'{separator}" \t\r')
    ]
    return rows, lines[good], wrong


def _breaks(column: pa.Array) -> Numbers:
    """How many line breaks stand in each row of a column."""
    encoded = column.type == ENCODED
    counts: Numbers = compute.count_substring(column.dictionary if encoded else column, "\n").to_numpy()
    return counts[column.indices] if encoded else counts


def _bare(given: pa.Array) -> pa.Array:
    """Texts without the blanks around them."""
    texts = compute.ascii_trim_whitespace(given)
    # Behind a blank a quote is a letter like any other for pyarrow.
    if compute.any(compute.starts_with(texts, '"')).as_py():
        texts = compute.replace_substring_regex(texts, '^"(.*)"$', r"\1")
    return texts


def _words(column: pa.ChunkedArray) -> Words:
    array = column.unify_dictionaries().combine_chunks()
    if array.type != ENCODED:
        return Words(np.arange(len(array), dtype=np.int32), array)
    numbers, texts = array.indices.to_numpy(), _bare(array.dictionary)
    return Words(numbers, texts) if texts.equals(array.dictionary) else Words(numbers, texts).distinct()


def _names(file: str, header: bytes, line: int, known_as: Mapping[str, Sequence[str]]) -> tuple[str, list[str]]:
    """The separator with which most names of the header are understood, and the names."""
    text, read = header.decode(), []
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
