"""Histories from CSV: a file of matches and a file of participants (docs/lab.md has the columns).

Everything is refused that would give a wrong rating silently: times out of order, numbers that may be dates, players on
both sides, unknown outcomes. A refusal names file and line.

The spans of a player are text such as `1:0-300|2:300-610.5:commander`: each is `team:from-to` or `team:from-to:role`,
in seconds since the match's start; the default role is `field`. All spans of a file are parsed in one pass over one
string, because a match can have hundreds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, is_bot
from equipoise.errors import RatingError
from equipoise.lab.columns import CsvFile, read_csv
from equipoise.ratings.history import ALONE, UNKNOWN, Flags, Floats, History, Numbers, Offsets, Spans
from equipoise.ratings.system import Match, ranks_of

HOME, AWAY = "home", "away"
PEOPLE = ("match_id", "team", "player_id")
YEARS = (-62_135_596_800.0, 253_402_300_800.0)
"""From the year 1 to 9999, in seconds since 1970. Times in milliseconds lie outside, and are refused."""
SHORTEST = 0.001
"""Shortest match that is accepted, seconds."""
MOST = 1_000_000.0
"""Most points, kills, deaths and assists, and largest weight of a match: more is a mistake, and would make ratings
overflow."""
OF_MATCHES = ("map", "venue", "seconds", "weight", "side1", "side2")
OF_PEOPLE = ("quit", "squad", "spans", "classes")
"""The keys that are read from `extra` of participants."""
_EITHER = re.compile(r"((?:19|20)[0-9]{2})(?:(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01]))?")
"""A year, or YYYYMMDD: refused as seconds if all numbers of a file look like that, because they may be dates."""


@dataclass(frozen=True, slots=True)
class _People:
    """The participants, in the order of matches and teams."""

    players: tuple[PlayerId, ...]
    members: Numbers
    teams: Offsets
    fraction_played: Floats | None = None
    kills: Floats | None = None
    deaths: Floats | None = None
    assists: Floats | None = None
    player_points: Floats | None = None
    class_seconds: Floats | None = None
    classes: tuple[str, ...] = ()
    quit: Flags | None = None
    squad: Numbers | None = None
    spans: Spans | None = None


def read_history(matches: Path, participants: Path | None) -> History:
    """Read two-team matches in file order; without participants each team is one player of the team's name.

    RatingError names the file and line of what is wrong.
    """
    names = ("team1_name", "team2_name") if participants is None else ()
    file = read_csv(matches, ("match_id", "time", "outcome", *names))
    _refuse_twice(file)
    ranks = np.array(file.parsed("outcome", _outcome), np.int32)
    people = _teams(file) if participants is None else _participants(file, read_csv(participants, PEOPLE))
    return History(
        players=people.players,
        matches=np.arange(0, 2 * len(file) + 1, 2, dtype=np.int64),
        teams=people.teams,
        members=people.members,
        ranks=ranks[file["outcome"].numbers].ravel(),
        started_at=_times(file),
        fraction_played=people.fraction_played,
        kills=people.kills,
        deaths=people.deaths,
        assists=people.assists,
        player_points=people.player_points,
        class_seconds=people.class_seconds,
        classes=people.classes,
        quit=people.quit,
        squad=people.squad,
        spans=people.spans,
        points=_points(file),
        **_surroundings(file),  # type: ignore[arg-type]
    )


def line_of(matches: Path, match: int) -> int:
    """The line of the file on which a match of its history stands."""
    return read_csv(matches, ()).lines[match]


def _refuse_twice(file: CsvFile) -> None:
    column = file["match_id"]
    if len(column.texts) < len(file):
        # Texts are numbered as they come, so a new one is above all before it.
        firsts = np.maximum.accumulate(np.concatenate(([-1], column.numbers[:-1])))
        row = int(np.flatnonzero(column.numbers <= firsts)[0])
        raise file.refusal(row, f"match_id {file.text('match_id', row)!r} appears twice")


def _times(file: CsvFile) -> Floats:
    times = file.floats("time", _time)
    # One number that can be no date says that all are seconds.
    if not any(_is_seconds(text) for text in file["time"].texts):
        file.parsed("time", _refuse_either)
    places = np.flatnonzero(~np.isnan(times))
    back = np.flatnonzero(np.diff(times[places]) < 0)
    if len(back):
        row = int(places[back[0] + 1])
        early = file.text("time", row)
        raise file.refusal(row, f"time {early} is before that of a row above: sort the file by time")
    return times


def _points(file: CsvFile) -> Floats | None:
    points = np.column_stack([file.floats(name, _number(-MOST, MOST)) for name in ("score1", "score2")]).ravel()
    return None if np.isnan(points).all() else points


def _surroundings(file: CsvFile) -> dict[str, object]:
    """Return the fields of `History` about whole matches and their sides."""
    extra = file.unpacked("extra", OF_MATCHES)
    facts: dict[str, object] = {}
    if any(extra["seconds"].texts):
        facts["seconds"] = extra.floats("seconds", _number(SHORTEST, LONGEST))
    if any(extra["weight"].texts):
        facts["weight"] = np.nan_to_num(extra.floats("weight", _number(0.0, MOST)), nan=1.0)
    place = next((extra[key] for key in ("map", "venue") if any(extra[key].texts)), None)
    if place:
        facts["map"], facts["maps"] = _named(place.texts, place.numbers)
    if any(file["mode"].texts):
        facts["mode"], facts["modes"] = _named(file["mode"].texts, file["mode"].numbers)
    return facts | _sides(file, extra)


def _sides(file: CsvFile, extra: CsvFile) -> dict[str, object]:
    """The name of each team's side; `home` = 1 gives team 1 the side `home`."""
    at_home = file.floats("home", _flag).astype(bool).tolist()
    side_of_first, two = (
        map(column.texts.__getitem__, column.numbers.tolist()) for column in (extra["side1"], extra["side2"])
    )
    names: list[str] = []
    for row, (first, second, home) in enumerate(zip(side_of_first, two, at_home, strict=True)):
        pair = (first or HOME, second or AWAY) if home else (first, second)
        if any(pair) and (not all(pair) or pair[0] == pair[1]):
            raise file.refusal(row, f"sides {pair[0]!r} and {pair[1]!r} are not two different names")
        names += pair
    if not any(names):
        return {}
    side, sides = _named(names, np.arange(len(names)))
    return {"side": side, "sides": sides}


def _teams(file: CsvFile) -> _People:
    columns = [file["team1_name"], file["team2_name"]]
    codes = {name: number for number, name in enumerate(dict.fromkeys((*columns[0].texts, *columns[1].texts)))}
    numbers = [np.array([codes[name] for name in column.texts], np.int32)[column.numbers] for column in columns]
    # The first such row alone, if there is one.
    for row in np.flatnonzero((numbers[0] == numbers[1]) | np.isin(numbers, codes.get("", UNKNOWN)).any(axis=0))[
        :1
    ].tolist():
        first, second = (file.text(name, row) for name in ("team1_name", "team2_name"))
        raise file.refusal(row, f"{first} on both sides" if first and second else "a team without a name")
    members = np.column_stack(numbers).ravel()
    return _People(tuple(map(PlayerId, codes)), members, np.arange(len(members) + 1, dtype=np.int64))


def _participants(matches: CsvFile, file: CsvFile) -> _People:
    """The rows of the second file, sorted into the order of the first."""
    places = {match: number for number, match in enumerate(matches["match_id"].texts)}
    match = np.array(file.parsed("match_id", _in(places)), np.int64)[file["match_id"].numbers]
    team = np.array(file.parsed("team", _team), np.int64)[file["team"].numbers]
    players, members = tuple(file.parsed("player_id", _human)), file["player_id"].numbers
    _refuse_twice_in_a_match(file, match * len(players) + members, team)
    team += 2 * match
    sizes = np.bincount(team, minlength=2 * len(matches))
    if not sizes.all():
        row, side = divmod(int(np.flatnonzero(sizes == 0)[0]), 2)
        raise matches.refusal(row, f"no player for team {side + 1} of match {matches.text('match_id', row)}")
    # Files are sorted as a rule: a slice copies nothing.
    order = slice(None) if np.all(np.diff(team) >= 0) else np.argsort(team, kind="stable")
    extra = file.unpacked("extra", OF_PEOPLE)
    facts: dict[str, Any] = {name: array[order] for name, array in _personal(file, extra).items()}
    facts["classes"], seconds = _class_seconds(extra)
    facts["class_seconds"] = None if seconds is None else seconds[order]
    teams = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return _People(players, members[order], teams, spans=spans_of(extra, "spans", order), **facts)


def _refuse_twice_in_a_match(file: CsvFile, key: Offsets, team: Offsets) -> None:
    """Raise RatingError for a player twice in a match; `key`, shape (rows,), is equal where match and player are."""
    # All different: no player is in a match twice. Sorting once is all that the usual file costs.
    if np.all(np.diff(np.sort(key))):
        return
    order = np.argsort(key, kind="stable")
    again = int(np.flatnonzero(np.diff(key[order]) == 0)[0])
    first, two = int(order[again]), int(order[again + 1])
    where = "on both sides" if team[first] != team[two] else "twice on one side"
    raise file.refusal(two, f"{file.text('player_id', two)} is {where} of match {file.text('match_id', two)}")


def _personal(file: CsvFile, extra: CsvFile) -> dict[str, Floats | Flags | Numbers]:
    """Return the fields of `History` about participants."""
    facts: dict[str, Floats | Flags | Numbers] = {}
    for column, name, high in (
        # Of a participant the weight is the part of the match that they played (docs/lab.md).
        ("weight", "fraction_played", 1.0),
        ("kills", "kills", MOST),
        ("deaths", "deaths", MOST),
        ("assists", "assists", MOST),
        ("points", "player_points", MOST),
    ):
        values = file.floats(column, _number(0.0, high))
        if not np.isnan(values).all():
            facts[name] = values
    if any(extra["quit"].texts):
        facts["quit"] = extra.floats("quit", _flag).astype(np.bool_)
    if any(extra["squad"].texts):
        facts["squad"], _ = _named(extra["squad"].texts, extra["squad"].numbers, ALONE)
    return facts


def _class_seconds(extra: CsvFile) -> tuple[tuple[str, ...], Floats | None]:
    """The classes, and the seconds of each row's player as each of them, shape (rows, classes)."""
    if not any(extra["classes"].texts):
        return (), None
    cells = extra.parsed("classes", _seconds_by_class)
    classes = tuple(dict.fromkeys(name for cell in cells for name in cell))
    seconds = np.array([[cell.get(name, 0.0) for name in classes] for cell in cells], np.float64)
    return classes, seconds[extra["classes"].numbers]


def _seconds_by_class(text: str) -> dict[str, float]:
    """Seconds by class as a file has them, `scout:180.5|medic:60`; ValueError for other text."""
    class_seconds: dict[str, float] = {}
    for part in text.split("|") if text else ():
        name, _, seconds = part.partition(":")
        if not name or not seconds or name in class_seconds:
            raise ValueError("is not class:seconds|class:seconds, each class once")
        try:
            class_seconds[name] = _number(0.0, LONGEST)(seconds)
        except ValueError as error:
            raise ValueError(f"has {seconds!r} for {name}, which {error}") from None
    return class_seconds


def _named(words: Sequence[str], numbers: Numbers | Offsets, none: int = UNKNOWN) -> tuple[Numbers, tuple[str, ...]]:
    """Shape (rows,): each row's word as a number, `none` for the empty one; and the words, in the order of numbers."""
    numbers_by_word = {word: number for number, word in enumerate(dict.fromkeys(word for word in words if word))}
    return np.array([numbers_by_word.get(word, none) for word in words], np.int32)[numbers], tuple(numbers_by_word)


def _outcome(text: str) -> tuple[int, int]:
    """The ranks of both teams, 0 the better."""
    outcome = _number()(text)
    try:
        return ranks_of(outcome)
    except RatingError:
        raise ValueError("is not 1, 0.5 or 0") from None


def _number(low: float = -math.inf, high: float = math.inf) -> Callable[[str], float]:
    """A parser of finite numbers within bounds; empty text becomes NaN."""
    bounds = f" from {low:,.10g} to {high:,.10g}" if math.isfinite(high) else ""

    def parse(text: str) -> float:
        try:
            value = float(text) if text else math.nan
        except ValueError:
            value = math.inf
        # Python's float() reads 1_000 as a thousand.
        if text and not (math.isfinite(value) and low <= value <= high and "_" not in text):
            raise ValueError(f"is not a number{bounds}")
        return value

    return parse


def _time(text: str) -> float:
    """ISO 8601 (UTC unless it names a zone), or seconds since 1970; empty text becomes NaN."""
    try:
        return _number(*YEARS)(text)
    except ValueError:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError("is neither an ISO date nor seconds since 1970") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _is_seconds(text: str) -> bool:
    """Whether the text is a number that is neither a year nor YYYYMMDD."""
    return text.replace(".", "").removeprefix("-").isdecimal() and not _EITHER.fullmatch(text)


def _refuse_either(text: str) -> None:
    """ValueError for a number that may be meant as a date."""
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
        raise ValueError("is not a player who can be rated")
    return player


def _in(places: dict[str, int]) -> Callable[[str], int]:
    def place(text: str) -> int:
        if text not in places:
            raise ValueError("is not in the file of matches")
        return places[text]

    return place


LONGEST = 10_000_000.0
"""Seconds: no match is longer, four months."""

COMMANDER = ":commander"
UNREADABLE = "which is not team:from-to or team:from-to:role (1 or 2, field or commander)"
_SECONDS = r"[0-9]+(?:\.[0-9]+)?"
_STRETCH = re.compile(rf"[12]:({_SECONDS})-({_SECONDS})(?::field|{COMMANDER})?")


def spans_of(file: CsvFile, name: str, order: slice | Offsets) -> Spans | None:
    """The spans of a column, its rows in the given order; None if no row has any. RatingError for a bad text."""
    column = file[name]
    counts = np.array([text.count("|") + 1 if text else 0 for text in column.texts], np.int64)
    if not counts.any():
        return None
    first, rows = _offsets(counts), column.numbers[order]
    stretches = "|".join(filter(None, column.texts)).split("|")
    if not all(map(_STRETCH.fullmatch, stretches)):
        file.parsed(name, _refuse)
    team, start, end = _figures(stretches)
    if not _in_order(start, end, first):
        file.parsed(name, _refuse)
    commander = np.fromiter((stretch.endswith(COMMANDER) for stretch in stretches), np.bool_, len(stretches))
    starts = _offsets(counts[rows])
    # The index among the parsed spans of each span of each row: where its text's spans begin, and on from there.
    take = np.repeat(first[rows] - starts[:-1], counts[rows]) + np.arange(starts[-1])
    return Spans(starts, (team[take] - 1).astype(np.int32), start[take], end[take], commander[take])


def _figures(stretches: list[str]) -> tuple[Floats, Floats, Floats]:
    """Shape (spans,) each: team (1 or 2), start and end of well-formed spans."""
    text = ",".join(stretches).replace(":field", "").replace(COMMANDER, "").replace(":", ",").replace("-", ",")
    # Only digits and separators are left, as each stretch has matched `_STRETCH`; three figures each.
    figures = np.fromstring(text, np.float64, sep=",")
    return figures[0::3], figures[1::3], figures[2::3]


def _in_order(start: Floats, end: Floats, first: Offsets) -> bool:
    """Whether the spans of each text are in order without overlap; `first` holds the index of each text's first span.

    A fast check: texts that fail it go through `_refuse`, which also accepts spans in another order.
    """
    # One more than spans, as a text without any at the end begins where the last one ends.
    begins = np.zeros(len(start) + 1, np.bool_)
    begins[first] = True
    after = begins[1:-1] | (start[1:] >= end[:-1])
    return bool(np.all(start <= end) and np.all(after) and end.max() <= LONGEST)


def _refuse(text: str) -> None:
    """ValueError that says what is wrong with a text, if anything is."""
    times = []
    for stretch in text.split("|") if text else ():
        match = _STRETCH.fullmatch(stretch)
        if not match:
            raise ValueError(f"has {stretch!r}, {UNREADABLE}")
        start, end = map(float, match.groups())
        if not start <= end <= LONGEST:
            raise ValueError(f"has {stretch!r}, which is not from a second to a later one up to {LONGEST:,.0f}")
        times.append((start, end, stretch))
    for (_, end, _), (start, _, stretch) in pairwise(sorted(times)):
        if start < end:
            raise ValueError(f"has {stretch!r}, which begins before another stretch ends")


def _offsets(counts: Offsets) -> Offsets:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def history_of(records: Iterable[RecordRound]) -> History:
    """The rated rounds in their order; the first team is side A. RatingError if there is none.

    `skill_at_start` is left out, because its unit is that of the system in use when the round was played.
    """
    matches = matches_of(records)
    if not matches:
        raise RatingError("no rated rounds")
    return History.of(matches)


def matches_of(records: Iterable[RecordRound]) -> list[Match]:
    """The rated rounds as matches, as `history_of` has them."""
    bare = (replace(record, skill_at_start=None) for record in records)
    return [match for record in bare if (match := match_of(record)) is not None]
