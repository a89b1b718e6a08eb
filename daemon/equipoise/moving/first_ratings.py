"""First ratings of players: from a table of CSV, from HLstatsX:CE, or as quantiles of an order that a program made.

Of HLstatsX:CE a dump of its database is read, or its two tables as CSV, which its `sql/install.sql` makes:
`hlstats_Players` (`playerId`, `lastName`, `skill`, `game`, `hideranking`) and `hlstats_PlayerUniqueIds` (`playerId`,
`uniqueId`, `game`). Its daemon (`scripts/hlstats.pl`) stores `STEAM_0:0:11101` and `[U:1:22202]` alike as `0:11101`,
and bots as `BOT:` or `BOT-` with something behind it.

`skill` begins at 1000 and moves with each kill by what the weapon and the victim's skill are worth. It says who kills
much, on servers with other players and other weights: nothing about how far apart two players are. So only the order
that it makes is taken over.

The dumps are those that `mariadb-dump`, `mysqldump` and phpMyAdmin write: INSERT statements of one or many rows, with
and without names of columns. A name that is not in the statement is taken from the CREATE TABLE above it. All other
statements are passed over, so that a dump of a whole database can be read; it is looked at in place, as a mapped
file.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, starmap
from mmap import mmap
from statistics import NormalDist
from typing import TypeVar

from equipoise.core.model import PlayerId
from equipoise.errors import FileError
from equipoise.wire.scalars import FORMS, written_id

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


# First ratings.

MOST_SPREADS = 3.0
"""The most that a quantile can be from the middle, in spreads: beyond it, who made the most kills says nothing."""
FINEST = 20.0
"""Ratings with a smaller spread are not rounded to whole numbers."""

_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class FirstRating:
    """A player's rating by a file."""

    player: PlayerId
    rating: float
    rounds: int | None = None
    """None: the file does not say."""
    line: int | None = None


def read_table(data: bytes) -> list[FirstRating]:
    """Return the rows of a table `id,rating[,rounds]`, with ids in any form; FileError names the line that is wrong."""
    ratings: dict[PlayerId, FirstRating] = {}
    for row in rows(data, ("id", "rating"), ("rounds",)):
        rating = _first(row)
        if (before := ratings.get(rating.player)) is not None:
            raise FileError(f"{rating.player} is on line {before.line} too", line=row.line)
        ratings[rating.player] = rating
    if not ratings:
        raise FileError("there is no row below the header", line=1)
    return list(ratings.values())


def quantiles(order: Mapping[K, float], middle: float, spread: float) -> dict[K, float]:
    """Return a rating for each: their place in the order, on a normal distribution; equal ones get the same.

    >>> quantiles({"a": 900, "b": 1000, "c": 1000, "d": 5000}, 1000, 200)
    {'a': 770.0, 'b': 1000.0, 'c': 1000.0, 'd': 1230.0}
    """
    normal, count = NormalDist(), len(order)
    digits = 0 if spread >= FINEST else 4
    ratings: dict[K, float] = {}
    for _, group in groupby(sorted(order, key=order.__getitem__), key=order.__getitem__):
        equals = list(group)
        # The middle of the places that equal ones share: never 0 or `count`, whose quantiles are infinite.
        place = len(ratings) + len(equals) / 2
        deviation = max(-MOST_SPREADS, min(MOST_SPREADS, normal.inv_cdf(place / count)))
        ratings |= dict.fromkeys(equals, round(middle + spread * deviation, digits))
    return ratings


def bins(ratings: Sequence[float], most: int = 12) -> list[tuple[float, float, int]]:
    """Return a histogram: lower and upper bound of each bin, and how many ratings are in it."""
    low, high = min(ratings), max(ratings)
    # All ratings alike: one bin has them.
    width = (high - low) / most or 1.0
    counts = [0] * most
    for rating in ratings:
        counts[min(most - 1, int((rating - low) / width))] += 1
    return [(low + place * width, low + (place + 1) * width, count) for place, count in enumerate(counts)]


def _first(row: Row) -> FirstRating:
    text, rounds = row.cells["id"], row.cells.get("rounds", "")
    try:
        player = written_id(text)
    except ValueError as error:
        raise FileError(str(error), line=row.line) from None
    if player is None:
        raise FileError(f"{text!r:.60} is no id: write {FORMS}", line=row.line)
    if rounds and not re.fullmatch("[0-9]{1,9}", rounds):
        raise FileError(f"rounds: {rounds!r:.60} is not a whole number from 0 up", line=row.line)
    rating = row.cells["rating"]
    if not _NUMBER.fullmatch(rating) or ("," in rating and not row.comma):
        raise FileError(f"rating: {rating!r:.60} is not a number", line=row.line)
    return FirstRating(player, float(rating.replace(",", ".")), int(rounds) if rounds else None, row.line)


# Players of HLstatsX:CE, and rows of some tables from a dump of MariaDB or MySQL, without a database.

PLAYERS, IDS = "hlstats_players", "hlstats_playeruniqueids"
COLUMNS: Mapping[str, Sequence[str]] = {
    PLAYERS: ("playerid", "lastname", "skill", "game", "hideranking"),
    IDS: ("playerid", "uniqueid", "game"),
}
_BOT = re.compile(r"BOT\b|BOT[-:]", re.IGNORECASE)
_NOBODY = re.compile(r"(?:STEAM|VALVE)_ID_|.*PENDING|.*_LAN$|UNKNOWN$|HLTV", re.IGNORECASE)
_SHORT = re.compile(r"[01]:[0-9]{1,10}")
_ID = re.compile(r"STEAM_|\[U:|U:1:|[0-9]{17}$", re.IGNORECASE)

_Values = tuple[str | None, ...]
_Fault = Callable[[str], FileError]
"""Makes the error that says what is wrong in a row, and where."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A player whom HLstatsX:CE ranks."""

    name: str
    skill: float


@dataclass(slots=True)
class Players:
    """The players of one game, by SteamID64, and why others are left out."""

    listed: dict[PlayerId, Listed] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    games: Counter[str] = field(default_factory=Counter)
    """Players of each game that is in the files."""


def read(files: Mapping[str, Data], game: str) -> Players:
    """Return the players of a game in a dump, or in two files of CSV by their names; FileError names file and line."""
    result = Players()
    players: dict[str, Listed | None] = {}
    """Players by HLstatsX's own number; None: hidden."""
    ids: list[tuple[str, str]] = []
    names: set[str] = set()
    for table, values, fault in chain.from_iterable(starmap(_rows, files.items())):
        names.add(table)
        number = values[0] or ""
        if table == PLAYERS:
            result.games[values[3] or ""] += 1
            if values[3] == game:
                players[number] = _listed(number, values, fault)
        elif values[2] == game:
            ids.append((number, values[1] or ""))
    if gaps := [table for table in COLUMNS if table not in names]:
        raise FileError(f"there are no rows of {' and '.join(gaps)}: both tables are needed")
    if not players:
        games = ", ".join(f"{name} ({count:,})" for name, count in result.games.most_common())
        raise FileError(f"there are no players of the game {game!r}; --game-code names one of: {games}")
    for number, text in ids:
        # Three cases: listed; None, who is hidden; and `...`, who has an id but no row among the players.
        _take(result, players.get(number, ...), text)
    if not result.listed:
        raise FileError(f"no player of the game {game!r} has a SteamID and is ranked")
    return result


def _take(result: Players, listed: object, text: str) -> None:
    player, why = _player(text)
    if player is None:
        result.skipped[why] += 1
    elif listed is ...:
        result.skipped["ids without a player"] += 1
    elif not isinstance(listed, Listed):
        result.skipped["hidden from the ranking"] += 1
    elif (before := result.listed.get(player)) is not None:
        result.skipped["ids that are there twice"] += 1
        # One person with two rows, as after a change of the id's form: the better one is what they have shown.
        if before.skill < listed.skill:
            result.listed[player] = listed
    else:
        result.listed[player] = listed


def _player(text: str) -> tuple[PlayerId | None, str]:
    """Return the player of an id; or why it is none."""
    text = text.strip()
    if _BOT.match(text):
        return None, "bots"
    if _NOBODY.match(text):
        return None, "LAN and pending ids"
    try:
        if _SHORT.fullmatch(text):
            return written_id(f"STEAM_0:{text}"), ""
        return (written_id(text), "") if _ID.match(text) else (None, "no SteamIDs")
    except ValueError:
        return None, "no SteamIDs"


def _listed(number: str, values: _Values, fault: _Fault) -> Listed | None:
    _, name, skill, _, hidden = values
    # A hidden player's skill is not looked at: it may be anything.
    if hidden not in ("0", "", None):
        return None
    if not re.fullmatch(r"-?[0-9]{1,12}(?:\.[0-9]+)?", skill or ""):
        raise fault(f"the skill of player {number:.20} is {skill!r:.60}, and no number")
    return Listed("".join(letter for letter in name or "" if letter.isprintable()), float(skill or ""))


def _rows(file: str, data: Data) -> Iterator[tuple[str, _Values, _Fault]]:
    try:
        yield from _rows_of(file, data)
    except FileError as error:
        error.file = file
        raise


def _rows_of(file: str, data: Data) -> Iterator[tuple[str, _Values, _Fault]]:
    # A mapped file: a slice copies, so only as much as is looked at.
    refuse_packed(data[:8])
    _, names = header(data[:LONGEST_HEADER])
    if "playerid" not in names:
        for row in dump_rows(data, COLUMNS):
            yield row.table, row.values, partial(_fault, file, data, row.place)
        return
    table = PLAYERS if "skill" in names else IDS
    for line in rows(data[:], COLUMNS[table]):
        yield table, tuple(line.cells[name] for name in COLUMNS[table]), partial(FileError, line=line.line, file=file)


def _fault(file: str, data: Data, place: int, text: str) -> FileError:
    return FileError(text, line=line_of(data, place), file=file)


Data = bytes | mmap

LONGEST_VALUE = 65536
"""Bytes of a value that is wanted: a name has 64 letters at most, and the text of a whole forum may stand beside it."""
# Possessive, as all that repeats a group: a way back would be kept for each escape, which takes 100 bytes for one.
_STRING = rb"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'"
_NAME = rb"(?:`[^`]+`|\"[^\"]+\"|\w+)"
_VALUE = rb"(?:(?:_\w+\s*|[xXbBnN])?" + _STRING + rb"|[-+.\w]+)"
_BLANK = re.compile(rb"(?:\s+|--(?:[ \t][^\n]*|(?=\r?\n))|#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_PIECE = re.compile(
    rb"[^;'\"`/#-]++|"
    + _STRING
    + rb"|\"[^\"\\]*+(?:(?:\\.|\"\")[^\"\\]*+)*+\"|`[^`]*`|/\*.*?\*/|--[ \t][^\n]*|[/#-]|;",
    re.DOTALL,
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


def dump_rows(data: Data, wanted: Mapping[str, Sequence[str]]) -> Iterator[DumpRow]:
    """Yield the wanted columns of each row of the wanted tables, named in small letters; FileError names the line."""
    # phpMyAdmin writes no such line, so its dumps cannot be checked.
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
    # The pattern's groups are in the order of the statement; rows come out in the order that was wanted.
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
        for at, name in enumerate(order, start=1):
            if (size := row.end(at) - row.start(at)) > LONGEST_VALUE:
                why = f"the {name} in a row of {table} has {size:,} bytes; up to {LONGEST_VALUE:,} are read"
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
        if end - piece.start() == 1 and data[end - 1 : end] == b";":
            return end
    raise FileError("the dump ends in the middle of a statement, or is no dump", line=line_of(data, place))


def line_of(data: Data, place: int | None = None) -> int:
    """Return the number of the line that a place is on."""
    # In pieces: a slice of a mapped file is a copy.
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
