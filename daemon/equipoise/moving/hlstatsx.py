"""Players of HLstatsX:CE, from a dump of its database or from its two tables as CSV.

Two tables of its `sql/install.sql` are read: `hlstats_Players` (`playerId`, `lastName`, `skill`, `game`, `hideranking`)
and `hlstats_PlayerUniqueIds` (`playerId`, `uniqueId`, `game`). Its daemon (`scripts/hlstats.pl`) stores
`STEAM_0:0:11101` and `[U:1:22202]` alike as `0:11101`, and bots as `BOT:` or `BOT-` with something behind it.

`skill` begins at 1000 and moves with each kill by what the weapon and the victim's skill are worth. It says who kills
much, on servers with other players and other weights: nothing about how far apart two players are. So only the order
that it makes is taken over.

Rows of some tables from a dump of MariaDB or MySQL, without a database.

It reads what `mariadb-dump`, `mysqldump` and phpMyAdmin write: INSERT statements of one or many rows, with and without
names of columns. A name that is not in the statement is taken from the CREATE TABLE above it. All other statements are
passed over, so that a dump of a whole database can be read; it is looked at in place, as a mapped file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, starmap
from mmap import mmap

from equipoise.core.model import PlayerId
from equipoise.errors import FileError
from equipoise.moving import csv_tables
from equipoise.wire.scalars import written_id

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
    csv_tables.refuse_packed(data[:8])
    _, names = csv_tables.header(data[: csv_tables.LONGEST_HEADER])
    if "playerid" not in names:
        for row in dump_rows(data, COLUMNS):
            yield row.table, row.values, partial(_fault, file, data, row.place)
        return
    table = PLAYERS if "skill" in names else IDS
    for line in csv_tables.rows(data[:], COLUMNS[table]):
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
