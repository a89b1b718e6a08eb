"""Rows of some tables from a dump of MariaDB or MySQL, without a database.

It reads what `mariadb-dump`, `mysqldump` and phpMyAdmin write: INSERT statements of one or many rows, with and without
names of columns. A name that is not in the statement is taken from the CREATE TABLE above it. All other statements are
passed over, so that a dump of a whole database can be read; it is looked at in place, as a mapped file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from mmap import mmap

from equipoise.errors import FileError

Data = bytes | mmap

_STRING = rb"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'"
_NAME = rb"(?:`[^`]+`|\"[^\"]+\"|\w+)"
_VALUE = rb"(?:(?:_\w+\s*|[xXbBnN])?" + _STRING + rb"|[-+.\w]+)"
_BLANK = re.compile(rb"(?:\s+|--(?:[ \t][^\n]*|(?=\r?\n))|#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_PIECE = re.compile(
    rb"[^;'\"`/#-]+|" + _STRING + rb"|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|/\*.*?\*/|--[ \t][^\n]*|[/#-]|;", re.DOTALL
)
_INSERT = re.compile(
    rb"(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\s+)*INTO\s+(?:"
    + _NAME
    + rb"\s*\.\s*)?("
    + _NAME
    + rb")\s*(?:\(([^()]*)\)\s*)?VALUES?\s*",
    re.IGNORECASE,
)
_CREATE = re.compile(
    rb"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:" + _NAME + rb"\s*\.\s*)?(" + _NAME + rb")\s*\(", re.IGNORECASE
)
_COLUMN = re.compile(
    rb"^\s*(?!(?:PRIMARY|UNIQUE|KEY|INDEX|FULLTEXT|SPATIAL|CONSTRAINT|FOREIGN|CHECK|PERIOD)\b)(" + _NAME + rb")\s+\w",
    re.MULTILINE | re.IGNORECASE,
)
_LITERAL = re.compile(
    rb"(?P<null>NULL)|(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:E[-+]?[0-9]+)?)|0X(?P<digits>[0-9A-F]+)"
    rb"|X'(?P<hex>(?:[0-9A-F]{2})*)'|(?:B'|0B)(?P<bits>[01]{1,64})'?|(?:_\w+\s*|N)?'(?P<text>.*)'",
    re.DOTALL | re.IGNORECASE,
)
_END = re.compile(rb"\s*([,;])\s*")
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_ESCAPED = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}
_BY_A_PROGRAM = re.compile(rb"(?:/\*.*?\*/\s*)?-- (?:MariaDB|MySQL) dump ", re.DOTALL)

Value = str | None


@dataclass(frozen=True, slots=True)
class DumpRow:
    """The wanted values of a row."""

    table: str
    values: tuple[Value, ...]
    place: int
    """The byte at which it begins. `line_of` makes a line of it, which takes a look at all that is before."""


def rows(data: Data, wanted: Mapping[str, Sequence[str]]) -> Iterator[DumpRow]:
    """Yield the wanted columns of each row of the wanted tables, named in small letters; FileError names the line."""
    if _BY_A_PROGRAM.match(data) and b"-- Dump completed" not in data[-200:]:
        raise FileError("the dump is not complete: its last line, `-- Dump completed`, is missing", line=line_of(data))
    columns: dict[str, list[str]] = {}
    place = _after_blank(data, 3 if data[:3] == b"\xef\xbb\xbf" else 0)
    while place < len(data):
        if (insert := _INSERT.match(data, place)) and (table := _plain(insert[1])) in wanted:
            names = [_plain(name) for name in insert[2].split(b",")] if insert[2] else columns.get(table)
            if names is None:
                raise FileError(
                    f"the columns of {table} are not known: its CREATE TABLE must stand above, or make the dump with "
                    "--complete-insert",
                    line=line_of(data, place),
                )
            place = yield from _inserted(data, insert.end(), table, names, wanted[table])
        else:
            end = _end_of_statement(data, place)
            if create := _CREATE.match(data, place):
                definitions = _COLUMN.findall(data[create.end() : end])
                columns[_plain(create[1])] = [_plain(name) for name in definitions]
            place = end
        place = _after_blank(data, place)


def _inserted(
    data: Data, place: int, table: str, names: Sequence[str], wanted: Collection[str]
) -> Generator[DumpRow, None, int]:
    """Yield the rows of one statement; return where the next statement begins."""
    if gaps := [name for name in wanted if name not in names]:
        raise FileError(f"{table} has no column {gaps[0]}", line=line_of(data, place))
    order = [name for name in names if name in wanted]
    back = [order.index(name) for name in wanted]
    pattern = re.compile(
        rb"\(\s*"
        + rb"\s*,\s*".join(rb"(" + _VALUE + rb")" if name in wanted else _VALUE for name in names)
        + rb"\s*\)",
        re.DOTALL,
    )
    more = True
    while more:
        row = pattern.match(data, place)
        end = row and _END.match(data, row.end())
        if not (row and end):
            why = f"a row of {table} is cut off, or has not {len(names)} values"
            raise FileError(why, line=line_of(data, place))
        literals = row.groups()
        yield DumpRow(table, tuple(_value(literals[index], data, place) for index in back), place)
        more, place = end[1] == b",", end.end()
    return place


def _after_blank(data: Data, place: int) -> int:
    blank = _BLANK.match(data, place)
    return blank.end() if blank else place


def _end_of_statement(data: Data, place: int) -> int:
    end = place
    while piece := _PIECE.match(data, end):
        end = piece.end()
        if piece[0] == b";":
            return end
    raise FileError("the dump ends in the middle of a statement, or is no dump", line=line_of(data, place))


def line_of(data: Data, place: int | None = None) -> int:
    """Return the number of the line that a place is on."""
    end, step = len(data) if place is None else place, 1 << 20
    return 1 + sum(data[start : min(end, start + step)].count(b"\n") for start in range(0, end, step))


def _plain(name: bytes) -> str:
    return name.strip().strip(b'`"').decode("utf-8", "replace").lower()


def _value(text: bytes, data: Data, place: int) -> Value:
    """Return the value of a literal in the row that begins at `place`; FileError where SQL knows no such literal."""
    literal = _LITERAL.fullmatch(text)
    if literal is None:
        shown = text[:40].decode("ascii", "backslashreplace")
        raise FileError(f"{shown} is no value of SQL", line=line_of(data, place))
    kind = str(literal.lastgroup)
    inside: bytes = literal[kind]
    match kind:
        case "null":
            return None
        case "bits":
            return str(int(inside, 2))
        case "digits" | "hex":
            even = b"0" * (len(inside) % 2) + inside  # 0xF is 0x0F, as in MariaDB
            return bytes.fromhex(even.decode()).decode("utf-8", "replace")
        case "text":
            inside = _ESCAPE.sub(_unescaped, inside)
    return inside.decode("utf-8", "replace")


def _unescaped(escape: re.Match[bytes]) -> bytes:
    letter = escape[1]
    return b"'" if letter is None else _ESCAPED.get(letter, letter)
