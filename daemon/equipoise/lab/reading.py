"""Histories from CSV: a file of matches and a file of participants (docs/lab.md has the columns).

Files are read as people have them: names of columns, results, sides and dates in the usual forms, in any order. Nothing
is guessed where a guess could give a wrong rating silently: unknown results, dates that may be two, players on both
sides are faults, which are shown together. A fault of a fact that not every system reads makes that fact unknown, and
stops only systems that read it.

The spans of a player are text such as `1:0-300|2:300-610.5:commander`: each is `team:from-to` or `team:from-to:role`,
in seconds since the match's start; the default role is `field`.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pyarrow import compute

from equipoise.core.model import PlayerId, is_bot
from equipoise.errors import RatingError
from equipoise.lab import values
from equipoise.lab.columns import Faults, Table, Words, read_csv
from equipoise.lab.svg import printable
from equipoise.ratings import SYSTEMS
from equipoise.ratings.history import ALONE, UNKNOWN, Flags, Floats, History, Numbers, Offsets, Spans

T = TypeVar("T")
HOME, AWAY = "home", "away"
SHORTEST = 0.001
"""Shortest match that is accepted, seconds."""
MOST = 1_000_000.0
"""Most points, kills, deaths and assists, and largest weight of a match: more is a mistake, and would make ratings
overflow."""
LONGEST = 10_000_000.0
"""Seconds: no match is longer, four months."""
_MATCH = ("id", "match", "matchid", "game_id", "game", "gameid")
OF_MATCHES: Mapping[str, tuple[str, ...]] = {
    "match_id": _MATCH,
    "time": ("datetime", "date_time", "timestamp", "started_at", "start_time", "played_at"),
    "date": ("day", "match_date", "game_date"),
    "outcome": ("result", "win", "won", "ftr"),
    "winner": ("winner_name",),
    "loser": ("loser_name",),
    "team1_name": ("team1", "team_1", "home_team", "hometeam", "player1", "player_1", "white", "red", "team_a"),
    "team2_name": ("team2", "team_2", "away_team", "awayteam", "player2", "player_2", "black", "blue", "team_b"),
    "mode": ("game_mode",),
    "score1": ("home_score", "score_1", "goals1", "home_goals", "fthg"),
    "score2": ("away_score", "score_2", "goals2", "away_goals", "ftag"),
    "home": (),
    "away": (),
    "neutral": ("neutral_site", "neutral_ground", "neutral_venue"),
    "map": ("map_name",),
    "venue": (),
    "seconds": ("duration",),
    "weight": (),
    "side1": (),
    "side2": (),
    "extra": (),
}
"""The columns that are read from the file of matches, and other names that they have in files."""
HIVE = ("hive_skill", "hive_offset", "hive_commander")
"""What NS2 itself says of a player's skill: known where a row has all three."""
OF_PEOPLE: Mapping[str, tuple[str, ...]] = {
    "match_id": _MATCH,
    "team": ("side", "team_name", "team_id"),
    "player_id": ("steamid64", "steamid", "steam_id", "account_id", "player", "player_name", "name"),
    "weight": ("fraction_played", "played"),
    "kills": (),
    "deaths": (),
    "assists": (),
    "points": (),
    **dict.fromkeys(HIVE, ()),
    "quit": (),
    "squad": ("party",),
    "spans": (),
    "classes": (),
    "extra": (),
}
SEEDS = ("rating", "rounds", "mu", "sigma", "rd", "volatility", "offset")
"""The facts of a player that a file of initial ratings may have: those that some system can be seeded with."""
IN_EXTRA = ("map", "venue", "seconds", "weight", "side1", "side2", "quit", "squad", "spans", "classes")
"""The keys that are read from `extra`, if the file has no column of that name."""
ALWAYS = ("", "weight", "fraction_played")
"""Facts that every system reads."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A history as it was read from files, with the faults in them, and how they were understood."""

    tables: tuple[Table, ...]
    faults: Faults
    understood: Mapping[str, str]
    """What was understood, in words."""
    history: History | None
    """None: there are faults that stop every system."""

    def rateable(self) -> History:
        """The history; RatingError with the faults that stop every system."""
        self.faults.stop(ALWAYS)
        assert self.history is not None, "without faults there is one"
        return self.history

    @staticmethod
    def stopped(fact: str) -> list[str]:
        """The systems that a fault of a fact stops; the word `all` for all."""
        return ["all"] if fact in ALWAYS else [name for name, place in SYSTEMS.items() if fact in place.reads]

    def line_of(self, match: int) -> str:
        """File and line of a match of the history."""
        return f"{self.tables[0].name}:{self.tables[0].lines[match]}"


def read_initial(path: Path) -> dict[PlayerId, dict[str, float]]:
    """Read ratings to begin with, by player. RatingError names file and line of what is wrong."""
    faults, people = Faults(), ("id", "team", *OF_PEOPLE["player_id"])
    table = read_csv(path, {"player_id": people, **dict.fromkeys(SEEDS, ()), "rating": ("elo",)}, faults)
    _need(table, {"player_id"})
    if not table.columns.keys() & {*SEEDS}:
        raise RatingError(f"{table.name}:{table.above}: no column of ratings; there may be {', '.join(SEEDS)}")
    columns = {name: _numbers(table, name, "", faults, -1e9, 1e9).tolist() for name in SEEDS if name in table.columns}
    players = table.words("player_id")
    again = np.bincount(players.numbers, minlength=len(players))[players.numbers] > 1
    faults.add("", table, again, lambda row: f"{players.at(row) or 'a player without a name'} stands there twice")
    faults.stop()
    return {
        PlayerId(players.at(row)): {name: values[row] for name, values in columns.items() if not np.isnan(values[row])}
        for row in range(len(table))
    }


def read_history(matches: Path, participants: Path | None) -> History:
    """Read two-team matches; without participants each team is one player of the team's name.

    RatingError names file and line of what is wrong, if every system reads it.
    """
    return read(matches, participants).rateable()


def read(matches: Path, participants: Path | None) -> Reading:
    """Read files, and note their faults. RatingError for a file that cannot be read at all."""
    faults = Faults()
    people = None if participants is None else _table(participants, OF_PEOPLE, faults)
    file = _as_duels(_table(matches, OF_MATCHES, faults, distinct=("match_id", "time", "date")))
    needed = {"outcome"} if not {"score1", "score2"} <= file.columns.keys() else set[str]()
    _need(file, needed | ({"team1_name", "team2_name"} if participants is None else {"match_id"}))
    if people is not None:
        _need(people, {"match_id", "team", "player_id"})
    started_at, understood = _times(file, faults)
    # Each has served; of millions of matches a column is a tenth of what is held at a time.
    file.drop("time", "date")
    order = _order_of(started_at)
    if order is not None:
        file, started_at = file.taken(order), started_at[order]
        understood["order"] = "sorted by time here, the file is not"
    _note_twice(file, faults)
    ranks, sides = _ranks(file, people, faults)
    facts = _surroundings(file, sides, faults)
    if people is None:
        file.drop("match_id")
    whose = _teams(file, faults) if people is None else _participants(file, people, sides, faults)
    history = None
    if "" not in faults.counts:
        history = History(
            matches=np.arange(0, 2 * len(file) + 1, 2, dtype=np.int32),
            ranks=ranks,
            started_at=started_at,
            unread={fact: "\n".join(faults.texts([fact])) for fact in faults.counts},
            **whose,
            **facts,
        )
        understood |= _summary(history)
    # They have served, and of millions of matches they are half of what would be kept.
    tables = (file,) if people is None else (file, people)
    for table in tables:
        table.drop(*table.columns)
    return Reading(tables, faults, understood, history)


def _summary(history: History) -> dict[str, str]:
    """A history in words."""
    known = history.started_at[~np.isnan(history.started_at)]
    days = [datetime.fromtimestamp(time, UTC).date().isoformat() for time in known[[0, -1]]] if len(known) else []
    draws = int(np.count_nonzero(history.ranks[0::2] == history.ranks[1::2]))
    return {
        "matches": f"{len(history):,}, {draws:,} drawn",
        "players": f"{len(history.players):,}, {len(history.members):,} places in matches",
        "from": f"{days[0]} to {days[1]}" if days else "no times: as in the file, and as if at one time",
        "without a time": f"{len(history) - len(known):,}",
        "sides": ", ".join(history.sides) or "none",
    }


def _table(
    path: Path, known_as: Mapping[str, tuple[str, ...]], faults: Faults, distinct: Collection[str] = ()
) -> Table:
    """A file's columns, with those that stand in `extra`."""
    table = read_csv(path, known_as, faults, distinct)
    wanted = known_as.keys() - table.columns.keys()
    return table.unpacked("extra", [name for name in IN_EXTRA if name in wanted], faults)


def _need(file: Table, names: Iterable[str]) -> None:
    gaps = [name for name in (*OF_MATCHES, *OF_PEOPLE) if name in names and name not in file.columns]
    if gaps:
        reason = f"no column {', '.join(dict.fromkeys(gaps))}; there are {', '.join(file.header) or 'none'}"
        raise RatingError(f"{file.name}:{file.above}: {printable(reason)}")


def _as_duels(file: Table) -> Table:
    """The columns of `winner` and `loser`, or of `home` and `away`, as those of teams 1 and 2."""
    columns = dict(file.columns)
    if {"winner", "loser"} <= columns.keys() and "team1_name" not in columns:
        columns |= {"team1_name": columns["winner"], "team2_name": columns["loser"], "outcome": file.constant("1")}
    elif "winner" in columns:
        columns.setdefault("outcome", columns["winner"])
    if {"home", "away"} <= columns.keys():
        columns |= {"team1_name": columns["home"], "team2_name": columns["away"], "home": file.constant("1")}
    return replace(file, columns=columns)


def _note_twice(file: Table, faults: Faults) -> None:
    if "match_id" not in file.columns:
        return
    ids = file.words("match_id")
    # Sorted, because a table of ten million texts by hash takes a gigabyte.
    order = compute.sort_indices(ids.known)
    texts = ids.known.take(order)
    twice = order[1:].filter(compute.equal(texts[1:], texts[:-1]))
    faults.add("", file, np.isin(ids.numbers, twice), lambda row: f"match_id {ids.at(row)!r} appears twice")


def _times(file: Table, faults: Faults) -> tuple[Floats, dict[str, str]]:
    """Seconds since 1970, NaN where unknown, and how they were read."""
    name, of_day = "time" if "time" in file.columns else "date", None
    column = file.words(name)
    # A column of days, and one of clocks beside it.
    if {"time", "date"} <= file.columns.keys() and (clock := values.clocks(column.texts)) is not None:
        name, column, of_day = "date", file.words("date"), np.array(clock)[column.numbers]
    if (plain := values.plain_times(column.known)) is not None:
        times, forms = plain
    else:
        column = column.distinct()
        times, forms, reasons = values.times(column.texts)
        _note(file, name, column, "", faults, reasons)
    times = times[column.numbers]
    return times if of_day is None else times + of_day, {"times": ", ".join(forms) or "none"}


def _order_of(times: Floats) -> Offsets | None:
    """The rows in the order of time, None: they are; one without a time stays behind the row above it."""
    known = times[~np.isnan(times)]
    steps = np.diff(known)
    if (steps >= 0).all():
        return None
    # A file that begins with the newest match has those of one time the other way round, too.
    rows = np.arange(len(times))[:: -1 if (steps <= 0).all() else 1]
    last = np.maximum.accumulate(np.where(np.isnan(times[rows]), -1, np.arange(len(rows))))
    filled = np.where(last < 0, -np.inf, times[rows][last])
    return rows[np.argsort(filled, kind="stable")]


def _ranks(file: Table, people: Table | None, faults: Faults) -> tuple[Numbers, tuple[str, ...]]:
    """Shape (2m,): the ranks of both teams, 0 the better; and the names of sides that results and players are by."""
    outcome, sides = file.words("outcome"), tuple[str, ...]()
    if "outcome" in file.columns:
        meant = np.array([np.nan if one is None else one for one in values.results(outcome.texts)])
        scores = meant[outcome.numbers]
    else:
        # Their own faults are noted with the points.
        first, second = (_numbers(file, name, "points", Faults(), -MOST, MOST) for name in ("score1", "score2"))
        scores = np.where(np.isnan(first + second), np.nan, 0.5 + 0.5 * np.sign(first - second))
    for name, score in (("team1_name", 1.0), ("team2_name", 0.0), ("side1", 1.0), ("side2", 0.0)):
        if np.isnan(scores).any() and name in file.columns:
            winners = outcome.among(file.words(name)) == file.words(name).numbers
            scores = np.where(np.isnan(scores) & winners, score, scores)
    names = set(people.words("team").texts) - TEAMS.keys() if people else set[str]()
    unclear = set(map(outcome.at, np.flatnonzero(np.isnan(scores)).tolist()))
    if len(names) == 2 and unclear and unclear <= names:
        sides = tuple(sorted(names))
        meant = np.array([1.0 - sides.index(text) if text in names else np.nan for text in outcome.texts])
        scores = np.where(np.isnan(scores), meant[outcome.numbers], scores)
    reason = "is not 1, 0.5 or 0, nor win, draw or loss, nor a team that plays"
    if "outcome" not in file.columns:
        reason += ", and there are not two scores"
    faults.add("", file, np.isnan(scores), lambda row: f"outcome {outcome.at(row)!r} {reason}")
    return np.column_stack((scores < 0.5, scores > 0.5)).astype(np.int32).ravel(), sides


def _numbers(
    file: Table, name: str, fact: str, faults: Faults, low: float, high: float, *, percent: bool = False
) -> Floats:
    """Shape (rows,): a column of numbers within bounds, NaN where there is none, or a fault."""
    read = _parsed(file, name, fact, faults, values.numbers(low, high, percent=percent), np.nan)
    return np.array(read, np.float64)[file.words(name).numbers]


def _parsed(file: Table, name: str, fact: str, faults: Faults, parse: Callable[[str], T], otherwise: T) -> list[T]:
    """The values of a column's distinct texts; `parse` raises ValueError with the reason why a text is refused."""
    column, read, reasons = file.words(name), list[T](), dict[int, str]()
    for number, text in enumerate(column.texts):
        try:
            read.append(parse(text))
        except ValueError as error:
            read.append(otherwise)
            reasons[number] = str(error)
    _note(file, name, column, fact, faults, reasons)
    return read


def _note(file: Table, name: str, column: Words, fact: str, faults: Faults, reasons: Mapping[int, str]) -> None:
    """Note the rows of a column whose text, by its number, has a reason."""
    if reasons:
        rows = np.isin(column.numbers, list(reasons))
        faults.add(fact, file, rows, lambda row: f"{name} {column.at(row)!r} {reasons[int(column.numbers[row])]}")


def _surroundings(file: Table, sides: tuple[str, ...], faults: Faults) -> dict[str, Any]:
    """Return the fields of `History` about whole matches and their sides."""
    facts: dict[str, Any] = {}
    if {"score1", "score2"} & file.columns.keys():
        each = [_numbers(file, name, "points", faults, -MOST, MOST) for name in ("score1", "score2")]
        facts["points"] = np.column_stack(each).ravel()
    for fact, low, high in (("seconds", SHORTEST, LONGEST), ("weight", 0.0, MOST)):
        if fact in file.columns:
            facts[fact] = _numbers(file, fact, fact, faults, low, high)
    facts = {fact: array for fact, array in facts.items() if not np.isnan(array).all()}
    if "weight" in facts:
        facts["weight"] = np.nan_to_num(facts["weight"], nan=1.0)
    if place := next((file.words(key) for key in ("map", "venue") if file.words(key)), None):
        facts["map"], facts["maps"] = _named(place)
    if file.words("mode"):
        facts["mode"], facts["modes"] = _named(file.words("mode"))
    return facts | (
        {"side": np.tile(np.arange(2, dtype=np.int32), len(file)), "sides": sides} if sides else _sides(file, faults)
    )


def _sides(file: Table, faults: Faults) -> dict[str, Any]:
    """The name of each team's side; `home` = 1 gives team 1 the side `home`, and `neutral` = 1 gives it none."""
    if not any(file.words(name) for name in ("home", "neutral", "side1", "side2")):
        return {}
    at_home, away = (
        np.array(_parsed(file, name, "side", faults, values.flag, 0.0), np.int64)[file.words(name).numbers]
        for name in ("home", "neutral")
    )
    if "neutral" in file.columns:
        at_home = (at_home if "home" in file.columns else 1) * (1 - away)
    one, two = file.words("side1"), file.words("side2")
    kinds, numbers = np.unique((at_home * len(one) + one.numbers) * len(two) + two.numbers, return_inverse=True)
    pairs, wrong = list[tuple[str, str]](), list[int]()
    for number, kind in enumerate(kinds.tolist()):
        first, second = one.texts[kind // len(two) % len(one)], two.texts[kind % len(two)]
        if kind // len(two) // len(one):
            first, second = first or HOME, second or AWAY
        if (first or second) and (not first or not second or first == second):
            wrong.append(number)
        pairs.append((first, second))
    faults.add(
        "side",
        file,
        np.isin(numbers, wrong),
        lambda row: "sides {!r} and {!r} are not two different names".format(*pairs[numbers[row]]),
    )
    names = tuple(dict.fromkeys(name for pair in pairs for name in pair if name))
    if not names or wrong:
        return {}
    by_pair = np.array([[names.index(name) if name else UNKNOWN for name in pair] for pair in pairs], np.int32)
    return {"side": by_pair[numbers].ravel(), "sides": names}


def _teams(file: Table, faults: Faults) -> dict[str, Any]:
    """Return the fields of `History` about participants where each team is one."""
    one, two = file.words("team1_name"), file.words("team2_name")
    codes = {name: number for number, name in enumerate(dict.fromkeys((*one.texts, *two.texts)))}
    first, second = (
        np.array([codes[name] for name in column.texts], np.int32)[column.numbers] for column in (one, two)
    )
    empty = codes.get("", UNKNOWN)
    nameless = (first == empty) | (second == empty)
    faults.add("", file, nameless, lambda row: "a team without a name")
    faults.add("", file, (first == second) & ~nameless, lambda row: f"{one.at(row)} on both sides")
    members = np.column_stack((first, second)).ravel()
    return {
        "players": tuple(map(PlayerId, codes)),
        "members": members,
        "teams": np.arange(len(members) + 1, dtype=np.int32),
    }


def _participants(matches: Table, file: Table, sides: tuple[str, ...], faults: Faults) -> dict[str, Any]:
    """Return the same fields from the rows of the second file, sorted into the order of the first."""
    ids, own = matches.words("match_id"), file.words("match_id")
    # The place of each match among those that are sorted by time.
    places = np.full(len(ids) + 1, UNKNOWN)
    places[ids.numbers] = np.arange(len(matches))
    match = places[own.among(ids)]
    # The match may stand on a line that is left out.
    unknown = (match < 0) & (not matches.ragged)
    faults.add("", file, unknown, lambda row: f"match_id {own.at(row)!r} is not in the file of matches")
    team = _team_of(matches, file, match, sides)
    names = file.words("team")
    faults.add(
        "",
        file,
        (team < 0) & (match >= 0),
        lambda row: f"team {names.at(row)!r} is not 1 or 2, nor a team or side of the match",
    )
    who = file.words("player_id")
    players = tuple(_parsed(file, "player_id", "", faults, _human, PlayerId("")))
    good = (match >= 0) & (team >= 0)
    team = np.where(good, 2 * match + team, 0)
    if good.all():
        _note_twice_in_a_match(file, match, who, team, faults)
    sizes = np.bincount(team[good], minlength=2 * len(matches))
    # A row that is not understood may be the one that is missed.
    unclear = np.zeros(len(matches), np.bool_)
    unclear[match[(match >= 0) & ~good]] = True
    if (match >= 0).all():
        empty = np.flatnonzero((sizes == 0) & ~np.repeat(unclear, 2))
        sides_of = {row // 2: row % 2 + 1 for row in empty[::-1].tolist()}
        faults.add(
            "",
            matches,
            np.array(sorted(sides_of), np.int64),
            lambda row: f"no player for team {sides_of[row]} of match {ids.at(row)}",
        )
    # Files are sorted as a rule: a slice copies nothing.
    order = slice(None) if np.all(np.diff(team) >= 0) else np.argsort(team, kind="stable")
    facts: dict[str, Any] = {name: array[order] for name, array in _personal(file, faults).items()}
    facts |= _class_seconds(file, order, faults)
    facts["spans"] = _spans_of(file, order, faults)
    # What pyarrow made is read-only, which for numba is another type: each kernel would be compiled once more for it.
    members = np.require(who.numbers[order], requirements="W")
    return facts | {"players": players, "members": members, "teams": _offsets(sizes)}


def _team_of(matches: Table, file: Table, match: Offsets, sides: tuple[str, ...]) -> Offsets:
    """Shape (rows,): 0 or 1, and -1 for a text that names no team of the match."""
    named = file.words("team")
    by_text = {**TEAMS, **{side: place for place, side in enumerate(sides)}}
    team = np.array([by_text.get(text, by_text.get(text.casefold(), UNKNOWN)) for text in named.texts], np.int64)[
        named.numbers
    ]
    for name, place in (("team1_name", 0), ("team2_name", 1), ("side1", 0), ("side2", 1)):
        if (team < 0).any() and name in matches.columns:
            column = matches.words(name)
            same = (named.among(column) == column.numbers[match]) & (match >= 0)
            team = np.where((team < 0) & same, place, team)
    return team


TEAMS = {"1": 0, "1.0": 0, "team1": 0, "team 1": 0, HOME: 0, "2": 1, "2.0": 1, "team2": 1, "team 2": 1, AWAY: 1}


def _note_twice_in_a_match(file: Table, match: Offsets, who: Words, team: Offsets, faults: Faults) -> None:
    key = match * len(who) + who.numbers
    # All different: no player is in a match twice. Sorting once is all that the usual file costs.
    if np.all(np.diff(np.sort(key))):
        return
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(np.diff(key[order]) == 0)
    before = dict(zip(order[again + 1].tolist(), order[again].tolist(), strict=True))

    def reason(row: int) -> str:
        where = "on both sides" if team[before[row]] != team[row] else "twice on one side"
        return f"{who.at(row)} is {where} of match {file.words('match_id').at(row)}"

    faults.add("", file, np.array(sorted(before)), reason)


def _personal(file: Table, faults: Faults) -> dict[str, Floats | Flags | Numbers]:
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
        if column in file.columns:
            read = _numbers(file, column, name, faults, 0.0, high, percent=column == "weight")
            if not np.isnan(read).all():
                facts[name] = read
    if file.columns.keys() >= {*HIVE}:
        read = np.array([_numbers(file, name, name, faults, -MOST if name == HIVE[1] else 0.0, MOST) for name in HIVE])
        read[:, np.isnan(read).any(0)] = np.nan
        if not np.isnan(read).all():
            facts |= dict(zip(HIVE, read, strict=True))
    if file.words("quit"):
        left = np.array(_parsed(file, "quit", "quit", faults, values.flag, 0.0), np.bool_)
        facts["quit"] = left[file.words("quit").numbers]
    if file.words("squad"):
        facts["squad"], _ = _named(file.words("squad"), ALONE)
    return facts


def _class_seconds(file: Table, order: slice | Offsets, faults: Faults) -> dict[str, Any]:
    """Return the fields of `History` about classes, the rows in the given order."""
    if not file.words("classes"):
        return {}
    by_class = _parsed(file, "classes", "class_seconds", faults, _seconds_by_class, dict[str, float]())
    classes = tuple(dict.fromkeys(name for each in by_class for name in each))
    seconds = np.array([[each.get(name, 0.0) for name in classes] for each in by_class], np.float64)
    return {"classes": classes, "class_seconds": seconds[file.words("classes").numbers[order]]}


def _seconds_by_class(text: str) -> dict[str, float]:
    """Seconds by class as a file has them, `scout:180.5|medic:60`; ValueError for other text."""
    class_seconds: dict[str, float] = {}
    for part in text.split("|") if text else ():
        name, _, seconds = part.partition(":")
        if not name or not seconds or name in class_seconds:
            raise ValueError("is not class:seconds|class:seconds, each class once")
        value = float(seconds) if _FIGURE.fullmatch(seconds) else -1.0
        if not 0.0 <= value <= LONGEST:
            raise ValueError(f"has {seconds!r} for {name}, which is not a number{values.between(0.0, LONGEST)}")
        class_seconds[name] = value
    return class_seconds


def _named(column: Words, none: int = UNKNOWN) -> tuple[Numbers, tuple[str, ...]]:
    """Shape (rows,): each row's word as a number, `none` for the empty one; and the words, in the order of numbers."""
    words = (word for word in column.texts if word and word.casefold() not in values.NOTHING)
    by_word = {word: number for number, word in enumerate(words)}
    return np.array([by_word.get(word, none) for word in column.texts], np.int32)[column.numbers], tuple(by_word)


def _human(text: str) -> PlayerId:
    player = PlayerId(text)
    if not text or is_bot(player):
        raise ValueError("is not a player who can be rated")
    if _ROUNDED.fullmatch(text):
        raise ValueError("was rounded by a spreadsheet: many players may have become one")
    return player


_FIGURE = re.compile(r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?")
_ROUNDED = re.compile(r"[0-9][.,][0-9]+[eE]\+[0-9]+")


_SECONDS = r"([0-9]+(?:\.[0-9]+)?)"
_STRETCH = re.compile(rf"([12]):{_SECONDS}-{_SECONDS}(?::field|(:commander))?")


def _spans_of(file: Table, order: slice | Offsets, faults: Faults) -> Spans | None:
    """The spans of all rows in the given order; None if no row has any, or one is wrong."""
    column, figures = file.words("spans"), array("d")

    def parse(text: str) -> int:
        stretches = _stretches(text)
        figures.extend(figure for stretch in stretches for figure in stretch)
        return len(stretches)

    counts = np.array(_parsed(file, "spans", "spans", faults, parse, 0), np.int64)
    if "spans" in faults.counts or not counts.any():
        return None
    first, rows = _offsets(counts), column.numbers[order]
    starts = _offsets(counts[rows])
    # The index among the parsed spans of each span of each row: where its text's spans begin, and on from there.
    take = np.repeat(first[rows] - starts[:-1], counts[rows]) + np.arange(starts[-1])
    start, end, team, commander = np.frombuffer(figures).reshape(-1, 4).T
    return Spans(starts, team[take].astype(np.int32), start[take], end[take], commander[take] > 0)


def _stretches(text: str) -> list[tuple[float, float, int, bool]]:
    """Start, end, team (0 or 1) and whether as commander; ValueError says what is wrong."""
    stretches = []
    for stretch in text.split("|") if text else ():
        match = _STRETCH.fullmatch(stretch)
        if not match:
            raise ValueError(
                f"has {stretch!r}, which is not team:from-to or team:from-to:role (1 or 2, field or commander)"
            )
        start, end = float(match[2]), float(match[3])
        if not start <= end <= LONGEST:
            raise ValueError(f"has {stretch!r}, which is not from a second to a later one up to {LONGEST:,.0f}")
        stretches.append((start, end, int(match[1]) - 1, match[4] is not None))
    for (_, end, *_), later in pairwise(sorted(stretches)):
        if later[0] < end:
            stretch = text.split("|")[stretches.index(later)]
            raise ValueError(f"has {stretch!r}, which begins before another stretch ends")
    return stretches


def _offsets(counts: Offsets) -> Offsets:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
