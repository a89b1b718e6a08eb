"""Histories from CSV: a file of matches and a file of participants (docs/lab.md has the columns)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from equipoise.core.model import PlayerId, is_bot
from equipoise.errors import RatingError
from equipoise.lab.spans import LONGEST, spans_of
from equipoise.lab.table import Table, read_table
from equipoise.ratings.history import ALONE, UNKNOWN, Flags, Floats, History, Numbers, Offsets, Spans
from equipoise.ratings.system import ranks_of

HOME, AWAY = "home", "away"
PEOPLE = ("match_id", "team", "player_id")
YEARS = (-62_135_596_800.0, 253_402_300_800.0)
"""From the year 1 to 9999, in seconds since 1970: what a date can say, and what no number of milliseconds is."""
SHORTEST = 0.001
"""Seconds of a match at least."""
MOST = 1_000_000.0
"""Points, kills, deaths, and what a match may count: more is a mistake, and would make of ratings what no number is."""
OF_MATCHES = ("map", "venue", "seconds", "weight", "side1", "side2")
OF_PEOPLE = ("quit", "squad", "spans")
"""Keys of `extra` that are read."""
_EITHER = re.compile(r"((?:19|20)[0-9]{2})(?:(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01]))?")
"""A year, or YYYYMMDD: numbers that may be dates, which are refused where all numbers of a file look so."""


@dataclass(frozen=True, slots=True)
class _People:
    """The participants, in the order of matches and teams."""

    players: tuple[PlayerId, ...]
    members: Numbers
    teams: Offsets
    fraction_played: Floats | None = None
    kills: Floats | None = None
    deaths: Floats | None = None
    quit: Flags | None = None
    squad: Numbers | None = None
    spans: Spans | None = None


def read_history(matches: Path, participants: Path | None) -> History:
    """Two-team matches in file order; without participants each team is one player, called by the team's name.

    `RatingError` names the file and line of whatever is wrong.
    """
    named = ("team1_name", "team2_name") if participants is None else ()
    table = read_table(matches, ("match_id", "time", "outcome", *named))
    _refuse_twice(table)
    ranks = np.array(table.parsed("outcome", _outcome), np.int32)
    people = _teams(table) if participants is None else _participants(table, read_table(participants, PEOPLE))
    return History(
        players=people.players,
        matches=np.arange(0, 2 * len(table) + 1, 2, dtype=np.int64),
        teams=people.teams,
        members=people.members,
        ranks=ranks[table["outcome"].numbers].ravel(),
        started_at=_times(table),
        fraction_played=people.fraction_played,
        kills=people.kills,
        deaths=people.deaths,
        quit=people.quit,
        squad=people.squad,
        spans=people.spans,
        points=_points(table),
        **_surroundings(table),  # type: ignore[arg-type]
    )


def line_of(matches: Path, match: int) -> int:
    """The line of the file that a match of its history stands on."""
    return read_table(matches, ()).lines[match]


# Matches.


def _refuse_twice(table: Table) -> None:
    column = table["match_id"]
    if len(column.texts) < len(table):
        firsts = np.maximum.accumulate(np.concatenate(([-1], column.numbers[:-1])))
        row = int(np.flatnonzero(column.numbers <= firsts)[0])
        raise table.refusal(row, f"match_id {table.text('match_id', row)!r} is there twice")


def _times(table: Table) -> Floats:
    times = table.floats("time", _time)
    if not any(_is_seconds(text) for text in table["time"].texts):
        table.parsed("time", _refuse_either)
    known = np.flatnonzero(~np.isnan(times))
    back = np.flatnonzero(np.diff(times[known]) < 0)
    if len(back):
        row = int(known[back[0] + 1])
        early = table.text("time", row)
        raise table.refusal(row, f"time {early} is before that of a row above: sort the file by time")
    return times


def _points(table: Table) -> Floats | None:
    points = np.column_stack([table.floats(name, _number(-MOST, MOST)) for name in ("score1", "score2")]).ravel()
    return None if np.isnan(points).all() else points


def _surroundings(table: Table) -> dict[str, object]:
    """The facts of whole matches and of their sides that the file has."""
    extra = table.unpacked("extra", OF_MATCHES)
    facts: dict[str, object] = {}
    if any(extra["seconds"].texts):
        facts["seconds"] = extra.floats("seconds", _number(SHORTEST, LONGEST))
    if any(extra["weight"].texts):
        facts["weight"] = np.nan_to_num(extra.floats("weight", _number(0.0, MOST)), nan=1.0)
    place = next((extra[key] for key in ("map", "venue") if any(extra[key].texts)), None)
    if place:
        facts["map"], facts["maps"] = _named(place.texts, place.numbers)
    if any(table["mode"].texts):
        facts["mode"], facts["modes"] = _named(table["mode"].texts, table["mode"].numbers)
    return facts | _sides(table, extra)


def _sides(table: Table, extra: Table) -> dict[str, object]:
    """What each team's side is called; `home` = 1 gives team 1 the side `home`."""
    at_home = table.floats("home", _flag).astype(bool).tolist()
    one, two = (map(column.texts.__getitem__, column.numbers.tolist()) for column in (extra["side1"], extra["side2"]))
    names: list[str] = []
    for row, (first, second, home) in enumerate(zip(one, two, at_home, strict=True)):
        pair = (first or HOME, second or AWAY) if home else (first, second)
        if any(pair) and (not all(pair) or pair[0] == pair[1]):
            raise table.refusal(row, f"sides {pair[0]!r} and {pair[1]!r} are not two different names")
        names += pair
    if not any(names):
        return {}
    side, sides = _named(names, np.arange(len(names)))
    return {"side": side, "sides": sides}


def _teams(table: Table) -> _People:
    columns = [table["team1_name"], table["team2_name"]]
    known = {name: number for number, name in enumerate(dict.fromkeys((*columns[0].texts, *columns[1].texts)))}
    each = [np.array([known[name] for name in column.texts], np.int32)[column.numbers] for column in columns]
    for row in np.flatnonzero((each[0] == each[1]) | np.isin(each, known.get("", UNKNOWN)).any(axis=0))[:1].tolist():
        first, second = (table.text(name, row) for name in ("team1_name", "team2_name"))
        raise table.refusal(row, f"{first} on both sides" if first and second else "a team without a name")
    members = np.column_stack(each).ravel()
    return _People(tuple(map(PlayerId, known)), members, np.arange(len(members) + 1, dtype=np.int64))


# Participants.


def _participants(matches: Table, table: Table) -> _People:
    """The second file's rows, put into the order of the first; any order will do."""
    places = {match: number for number, match in enumerate(matches["match_id"].texts)}
    match = np.array(table.parsed("match_id", _in(places)), np.int64)[table["match_id"].numbers]
    team = np.array(table.parsed("team", _team), np.int64)[table["team"].numbers]
    players, members = tuple(table.parsed("player_id", _human)), table["player_id"].numbers
    _refuse_twice_in_a_match(table, match * len(players) + members, team)
    team += 2 * match
    sizes = np.bincount(team, minlength=2 * len(matches))
    if not sizes.all():
        row, side = divmod(int(np.flatnonzero(sizes == 0)[0]), 2)
        raise matches.refusal(row, f"nobody played for team {side + 1} of match {matches.text('match_id', row)}")
    order = slice(None) if np.all(np.diff(team) >= 0) else np.argsort(team, kind="stable")
    extra = table.unpacked("extra", OF_PEOPLE)
    facts = {name: array[order] for name, array in _personal(table, extra).items()}
    teams = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return _People(players, members[order], teams, spans=spans_of(extra, "spans", order), **facts)  # type: ignore[arg-type]


def _refuse_twice_in_a_match(table: Table, key: Offsets, team: Offsets) -> None:
    """`key` is the same where match and player are."""
    if np.all(np.diff(np.sort(key))):
        return
    order = np.argsort(key, kind="stable")
    again = int(np.flatnonzero(np.diff(key[order]) == 0)[0])
    one, two = int(order[again]), int(order[again + 1])
    where = "on both sides" if team[one] != team[two] else "twice on one side"
    raise table.refusal(two, f"{table.text('player_id', two)} is {where} of match {table.text('match_id', two)}")


def _personal(table: Table, extra: Table) -> dict[str, Floats | Flags | Numbers]:
    """The facts of participants that the file has."""
    facts: dict[str, Floats | Flags | Numbers] = {}
    for column, name, high in (
        ("weight", "fraction_played", 1.0),
        ("kills", "kills", MOST),
        ("deaths", "deaths", MOST),
    ):
        values = table.floats(column, _number(0.0, high))
        if not np.isnan(values).all():
            facts[name] = values
    if any(extra["quit"].texts):
        facts["quit"] = extra.floats("quit", _flag).astype(np.bool_)
    if any(extra["squad"].texts):
        facts["squad"], _ = _named(extra["squad"].texts, extra["squad"].numbers, ALONE)
    return facts


# Fields.


def _named(words: Sequence[str], numbers: Numbers | Offsets, none: int = UNKNOWN) -> tuple[Numbers, tuple[str, ...]]:
    """Each row's word as a number, `none` for the empty one, and what the numbers mean."""
    known = {word: number for number, word in enumerate(dict.fromkeys(word for word in words if word))}
    return np.array([known.get(word, none) for word in words], np.int32)[numbers], tuple(known)


def _outcome(text: str) -> tuple[int, int]:
    """The ranks of both teams."""
    outcome = _number()(text)
    try:
        return ranks_of(outcome)
    except RatingError:
        raise ValueError("is not 1, 0.5 or 0") from None


def _number(low: float = -math.inf, high: float = math.inf) -> Callable[[str], float]:
    """Reads finite numbers within bounds; empty text is NaN."""
    bounds = f" from {low:,.10g} to {high:,.10g}" if math.isfinite(high) else ""

    def parse(text: str) -> float:
        try:
            value = float(text) if text else math.nan
        except ValueError:
            value = math.inf
        # Python would take 1_000 for a thousand.
        if text and not (math.isfinite(value) and low <= value <= high and "_" not in text):
            raise ValueError(f"is not a number{bounds}")
        return value

    return parse


def _time(text: str) -> float:
    """ISO 8601, taken as UTC where it names no zone, or seconds since the epoch; empty: unknown."""
    try:
        return _number(*YEARS)(text)
    except ValueError:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError("is neither an ISO date nor seconds since 1970") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _is_seconds(text: str) -> bool:
    """Whether it is a number, and no year or YYYYMMDD either."""
    return text.replace(".", "").removeprefix("-").isdecimal() and not _EITHER.fullmatch(text)


def _refuse_either(text: str) -> None:
    """ValueError for a number that may be meant as a date, where no other one of the file says what they are."""
    if either := _EITHER.fullmatch(text):
        year, month, day = either.groups(default="01")
        raise ValueError(
            f"may be a date or seconds since 1970: write {year}-{month}-{day}, or {text}.0 if it is seconds"
        )


def _flag(text: str) -> float:
    if text not in ("", "0", "1"):
        raise ValueError("is not 0 or 1")
    return float(text == "1")


def _team(text: str) -> int:
    if text not in ("1", "2"):
        raise ValueError("is not 1 or 2")
    return int(text) - 1


def _human(text: str) -> PlayerId:
    player = PlayerId(text)
    if not text or is_bot(player):
        raise ValueError("is nobody who can be rated")
    return player


def _in(places: dict[str, int]) -> Callable[[str], int]:
    def place(text: str) -> int:
        if text not in places:
            raise ValueError("is not in the file of matches")
        return places[text]

    return place
