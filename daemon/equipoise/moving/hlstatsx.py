"""Players of HLstatsX:CE, from a dump of its database or from its two tables as CSV.

Two tables of its `sql/install.sql` are read: `hlstats_Players` (`playerId`, `lastName`, `skill`, `game`, `hideranking`)
and `hlstats_PlayerUniqueIds` (`playerId`, `uniqueId`, `game`). Its daemon (`scripts/hlstats.pl`) stores
`STEAM_0:0:11101` and `[U:1:22202]` alike as `0:11101`, and bots as `BOT:` or `BOT-` with something behind it.

`skill` begins at 1000 and moves with each kill by what the weapon and the victim's skill are worth. It says who kills
much, on servers with other players and other weights: nothing about how far apart two players are. So only the order
that it makes is taken over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, starmap

from equipoise.core.model import PlayerId
from equipoise.errors import FileError
from equipoise.moving import csv_tables, sql_dump
from equipoise.wire.steam_ids import written_id

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


def read(files: Mapping[str, sql_dump.Data], game: str) -> Players:
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
    if hidden not in ("0", "", None):
        return None
    if not re.fullmatch(r"-?[0-9]{1,12}(?:\.[0-9]+)?", skill or ""):
        raise fault(f"the skill of player {number:.20} is {skill!r:.60}, and no number")
    return Listed("".join(letter for letter in name or "" if letter.isprintable()), float(skill or ""))


def _rows(file: str, data: sql_dump.Data) -> Iterator[tuple[str, _Values, _Fault]]:
    try:
        yield from _rows_of(file, data)
    except FileError as error:
        error.file = file
        raise


def _rows_of(file: str, data: sql_dump.Data) -> Iterator[tuple[str, _Values, _Fault]]:
    csv_tables.refuse_packed(data[:8])
    _, names = csv_tables.header(data[: csv_tables.LONGEST_HEADER])
    if "playerid" not in names:
        for row in sql_dump.rows(data, COLUMNS):
            yield row.table, row.values, partial(_fault, file, data, row.place)
        return
    table = PLAYERS if "skill" in names else IDS
    for line in csv_tables.rows(data[:], COLUMNS[table]):
        yield table, tuple(line.cells[name] for name in COLUMNS[table]), partial(FileError, line=line.line, file=file)


def _fault(file: str, data: sql_dump.Data, place: int, text: str) -> FileError:
    return FileError(text, line=sql_dump.line_of(data, place), file=file)
