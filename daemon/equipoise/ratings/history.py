"""Histories as arrays, for replays and fits; needs numpy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.core.model import Counts, Hive, PlayerId, Role, is_bot
from equipoise.errors import RatingError
from equipoise.ratings.parameters import FARTHEST, MOST
from equipoise.ratings.parts.match_arrays import BOT, Lineup, MatchArrays
from equipoise.ratings.system import Match, Span

Floats: TypeAlias = NDArray[np.float64]
Offsets: TypeAlias = NDArray[np.signedinteger[Any]]
Numbers: TypeAlias = NDArray[np.int32]

Flags: TypeAlias = NDArray[np.bool_]

ALONE = -1
"""In `History.squad`: the player is in no squad."""
UNKNOWN = -1
"""In `History.side`, `map` and `mode`: no name."""

_SHAPED = {
    "members": (
        *("fraction_played", "kills", "deaths", "assists", "player_points", "quit", "squad", "class_seconds"),
        *("hive_skill", "hive_offset", "hive_commander"),
    ),
    "ranks": ("points", "side"),
    "started_at": ("seconds", "weight", "map", "mode", "lineup_known"),
}
"""Optional arrays, by the array whose length they must have."""

_RANGES = {
    "started_at": (-FARTHEST, FARTHEST),
    "skill_at_start": (-MOST, MOST),
    "fraction_played": (0.0, 1.0),
    "kills": (0.0, MOST),
    "deaths": (0.0, MOST),
    "assists": (0.0, MOST),
    "player_points": (0.0, MOST),
    "class_seconds": (0.0, FARTHEST),
    "hive_skill": (0.0, MOST),
    "hive_offset": (-MOST, MOST),
    "hive_commander": (0.0, MOST),
    "points": (-MOST, MOST),
    "seconds": (0.0, FARTHEST),
    "weight": (0.0, MOST),
}
"""The allowed range of each array, as in `Match`.  NaN means unknown and is allowed everywhere but in `weight`."""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """`Match.spans` as arrays: r spans of p participants; or `Match.bots`, of m matches."""

    starts: Offsets
    """Shape (p + 1,): where each participant's spans begin; of bots (m + 1,), each match's."""
    team: Numbers
    """Shape (r,): index of the team in its match."""
    start: Floats
    """Shape (r,): seconds since the match went live, as is `end`."""
    end: Floats
    commander: Flags
    """Shape (r,): True for `Role.COMMANDER`."""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Matches in the order they are rated: m matches of t teams with p participants, s players in lineups.

    Raises `RatingError` if the arrays do not fit together or hold a number that `Match` refuses.  Does not check that a
    player occurs only once in a match.
    """

    players: tuple[PlayerId, ...]
    """Player ids; `members` and `lineup_members` are indexes into this tuple.  Without bots."""
    matches: Offsets
    """Shape (m + 1,): where each match's teams begin."""
    teams: Offsets
    """Shape (t + 1,): where each team's participants begin."""
    members: Numbers
    """Shape (p,): the participants."""
    ranks: Numbers
    """Shape (t,): `Match.ranks`."""
    started_at: Floats
    """Shape (m,): seconds since the epoch, NaN where unknown."""
    lineup: Offsets | None = None
    """Shape (t + 1,): where each team's lineup begins; None if every lineup is the participants."""
    lineup_members: Numbers | None = None
    """Shape (s,): the players in the lineups, `BOT` for a bot."""
    skill_at_start: Floats | None = None
    """Shape (s,): `Match.skill_at_start`, NaN where unknown; None if unknown everywhere."""

    # Read by some systems only.  None if unknown for every match.
    lineup_known: Flags | None = None
    """Shape (m,): whether something is known of the match as it went live: its lineup, or skills at start, where the
    participants stand for the lineup; None: as `lineup` says for every match."""
    fraction_played: Floats | None = None
    """Shape (p,): `Match.fraction_played`, NaN where unknown."""
    kills: Floats | None = None
    """Shape (p,): `Counts.kills`, NaN where unknown."""
    deaths: Floats | None = None
    """Shape (p,): `Counts.deaths`, NaN where unknown."""
    assists: Floats | None = None
    """Shape (p,): `Counts.assists`, NaN where unknown."""
    player_points: Floats | None = None
    """Shape (p,): `Counts.points`, NaN where unknown."""
    class_seconds: Floats | None = None
    """Shape (p, c): `Counts.classes`, 0 where a class was not played or is unknown."""
    classes: tuple[str, ...] = ()
    """The c classes."""
    hive_skill: Floats | None = None
    """Shape (p,), as the next two: fields of `Counts.hive`, NaN where unknown."""
    hive_offset: Floats | None = None
    hive_commander: Floats | None = None
    quit: Flags | None = None
    """Shape (p,): whether the player left before the end."""
    squad: Numbers | None = None
    """Shape (p,): number of the player's squad, unique within the match; `ALONE` without a squad."""
    spans: Spans | None = None
    """Spans of all participants."""
    bots: Spans | None = None
    """Spans of bots."""
    points: Floats | None = None
    """Shape (t,): `Match.points`, NaN where unknown."""
    side: Numbers | None = None
    """Shape (t,): index into `sides`; `UNKNOWN` for a team whose side has no name."""
    sides: tuple[str, ...] = ()
    seconds: Floats | None = None
    """Shape (m,): `Match.seconds`, NaN where unknown."""
    weight: Floats | None = None
    """Shape (m,): `Match.weight`; never NaN."""
    map: Numbers | None = None
    """Shape (m,): index into `maps`; `UNKNOWN` without a name."""
    maps: tuple[str, ...] = ()
    mode: Numbers | None = None
    """Shape (m,): index into `modes`; `UNKNOWN` without a name."""
    modes: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    """Fields that are unknown because their texts in a file are wrong, and what is wrong with these."""
    pairs: bool = field(init=False)
    """True if every match has exactly two teams."""
    singles: bool = field(init=False)
    """True if every team has exactly one participant."""

    def __post_init__(self) -> None:
        # Of ten million duels offsets are half of all; and a kernel is compiled for one type.
        for name in ("matches", "teams", "lineup"):
            if (offsets := getattr(self, name)) is not None:
                object.__setattr__(self, name, offsets.astype(np.int32, copy=False))
        # Compiled kernels do not check indexes, so all are checked here.  `pairs` and `singles` are computed once.
        lineup, lineup_members, skill_at_start = self.predicted_lineup
        _check_offsets("matches", self.matches, len(self.started_at), len(self.ranks))
        _check_offsets("teams", self.teams, len(self.ranks), len(self.members))
        _check_offsets("lineup", lineup, len(self.ranks), len(lineup_members))
        _check_numbers("members", self.members, 0, len(self.players))
        _check_numbers("lineup_members", lineup_members, BOT, len(self.players))
        if len(skill_at_start) not in (0, len(lineup_members)):
            raise RatingError(f"history: {len(skill_at_start)} skill_at_start for {len(lineup_members)} in the lineups")
        self._check_facts()
        self._check_ranges()
        # The class is frozen; these two are facts about the other fields, which do not change either.
        object.__setattr__(self, "pairs", bool(np.all(self.matches[1:] - self.matches[:-1] == 2)))
        # As many players as teams, and no team without one: exactly one each.
        as_many = len(self.members) == len(self.ranks)
        object.__setattr__(self, "singles", as_many and bool(np.all(self.teams[1:] > self.teams[:-1])))
        for player in self.players:
            if is_bot(player):
                raise RatingError(f"{player}: bots are not rated: they may only stand in a lineup")

    def _check_facts(self) -> None:
        if self.class_seconds is not None and self.class_seconds.shape[1:] != (len(self.classes),):
            raise RatingError(f"history: class_seconds are not by {len(self.classes)} classes")
        rows = {"members": len(self.members), "ranks": len(self.ranks), "started_at": len(self.started_at)}
        for like, names in _SHAPED.items():
            for name in names:
                values = getattr(self, name)
                if values is not None and len(values) != rows[like]:
                    raise RatingError(f"history: {len(values)} {name} for {rows[like]} rows")
        for name, words in (("side", self.sides), ("map", self.maps), ("mode", self.modes)):
            if (numbers := getattr(self, name)) is not None:
                _check_numbers(name, numbers, UNKNOWN, len(words))
        if self.spans is not None:
            _check_offsets("spans", self.spans.starts, rows["members"], len(self.spans.team))
            _check_stretches(self.spans)
            if (twice := _overlapping(self.spans)) is not None:
                raise RatingError(f"{self.players[self.members[twice]]}: plays twice at a time: their spans overlap")
        if self.bots is not None:
            _check_offsets("bots", self.bots.starts, rows["started_at"], len(self.bots.team))
            _check_stretches(self.bots)

    def _check_ranges(self) -> None:
        for name, (low, high) in _RANGES.items():
            if (values := getattr(self, name)) is not None:
                _check_range(name, values, low, high)
        if self.weight is not None and np.isnan(self.weight).any():
            raise RatingError("history: weight that is no number")

    def __len__(self) -> int:
        return len(self.started_at)

    @property
    def predicted_lineup(self) -> tuple[Offsets, Numbers, Floats]:
        """The fields of `Lineup`: the participants if `lineup` is None; skills at start have shape (0,) if unknown."""
        starts = self.teams if self.lineup is None else self.lineup
        members = self.members if self.lineup_members is None else self.lineup_members
        return starts, members, np.empty(0) if self.skill_at_start is None else self.skill_at_start

    @property
    def squad_sizes(self) -> Offsets:
        """Shape (p,): size of each participant's squad in their team; 1 for those who came alone."""
        if self.squad is None:
            return np.ones(len(self.members), np.int64)
        # Squads are numbered within a match: friends on opposite sides have the same number, and are no squad of
        # either.
        team = np.repeat(np.arange(len(self.ranks)), np.diff(self.teams))
        squad = self.squad.astype(np.int64) - ALONE  # From 0 on, so that numbers of different teams stay apart.
        numbers = team * (int(squad.max(initial=0)) + 1) + squad
        _, number, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
        return np.where(self.squad == ALONE, 1, sizes[number])

    def arrays(self) -> MatchArrays:
        """The arrays that kernels read, not copied; an optional array that is None becomes an empty one."""
        return MatchArrays(
            matches=self.matches,
            teams=self.teams,
            members=self.members,
            ranks=self.ranks,
            started_at=self.started_at,
            lineup=Lineup(*self.predicted_lineup),
            fraction_played=np.empty(0) if self.fraction_played is None else self.fraction_played,
            weight=np.empty(0) if self.weight is None else self.weight,
        )

    @classmethod
    def of(cls, matches: Iterable[Match] | History) -> History:
        """Convert matches to arrays; raises `RatingError` for a match without ranks."""
        if isinstance(matches, History):
            return matches
        rows = list(matches)
        # `score` refuses a match that is not over.
        for match in rows:
            match.score(0)
        numbers: dict[PlayerId, int] = {}
        teams = [team for match in rows for team in match.teams]
        lineup = [(side, match.skill_at_start) for match in rows for side in match.predicted_lineup]
        members = [numbers.setdefault(player, len(numbers)) for team in teams for player in team]
        lineup_members = [
            BOT if is_bot(player) else numbers.setdefault(player, len(numbers)) for side, _ in lineup for player in side
        ]
        return cls(
            players=tuple(numbers),
            matches=_offsets(len(match.teams) for match in rows),
            teams=_offsets(len(team) for team in teams),
            members=np.array(members, np.int32),
            ranks=np.array([rank for match in rows for rank in match.ranks], np.int32),
            started_at=np.array([math.nan if m.started_at is None else m.started_at for m in rows], np.float64),
            lineup=_offsets(len(side) for side, _ in lineup),
            lineup_members=np.array(lineup_members, np.int32),
            skill_at_start=np.array([skills.get(p, math.nan) for side, skills in lineup for p in side], np.float64),
            lineup_known=np.array([bool(match.lineup or match.skill_at_start) for match in rows], np.bool_),
            **_facts(rows),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """The predictions and ratings that `System.rate` returns, for all matches; shapes as in `History`."""

    wins: Floats
    """Shape (t,): `WinProbabilities.wins`."""
    draws: Floats
    """Shape (m,): `WinProbabilities.draw`."""
    after: Floats
    """Shape (p,): `Change.after`."""


def _facts(rows: list[Match]) -> dict[str, Any]:
    """The optional arrays, without those that are unknown for every match."""
    people = [(match, player) for match in rows for team in match.teams for player in team]
    facts: dict[str, Any] = {}
    if any(match.fraction_played for match in rows):
        facts["fraction_played"] = _floats(match.fraction_played.get(player, math.nan) for match, player in people)
    if any(match.counts for match in rows):
        facts |= _counted([match.counts.get(player) for match, player in people])
    if any(match.quits for match in rows):
        facts["quit"] = np.array([player in match.quits for match, player in people], np.bool_)
    if any(match.squads for match in rows):
        # By identity: a match holds mappings and has no hash.
        squads = {id(match): {p: n for n, squad in enumerate(match.squads) for p in squad} for match in rows}
        facts["squad"] = np.array([squads[id(match)].get(player, ALONE) for match, player in people], np.int32)
    if any(match.spans for match in rows):
        facts["spans"] = _spans([match.spans.get(player, ()) for match, player in people])
    if any(match.bots for match in rows):
        facts["bots"] = _spans([match.bots for match in rows])
    if any(match.points for match in rows):
        blank = [(math.nan,) * len(match.teams) for match in rows]
        facts["points"] = _floats(
            point for match, none in zip(rows, blank, strict=True) for point in (match.points or none)
        )
    return facts | _match_facts(rows)


def _counted(counts: list[Counts | None]) -> dict[str, Any]:
    """The arrays of what was counted, of each participant."""
    facts: dict[str, Any] = {}
    for name, of in (("kills", "kills"), ("deaths", "deaths"), ("assists", "assists"), ("player_points", "points")):
        facts[name] = _floats(math.nan if count is None else getattr(count, of) for count in counts)
    if classes := tuple(dict.fromkeys(name for count in counts if count for name in count.classes)):
        seconds = [[count.classes.get(name, 0.0) if count else 0.0 for name in classes] for count in counts]
        facts["classes"], facts["class_seconds"] = classes, np.array(seconds, np.float64)
    hives = [count.hive if count else None for count in counts]
    if any(hives):
        for name in ("skill", "offset", "commander"):
            facts[f"hive_{name}"] = _floats(math.nan if hive is None else getattr(hive, name) for hive in hives)
    return facts


def _match_facts(rows: list[Match]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if any(match.seconds is not None for match in rows):
        facts["seconds"] = _floats(math.nan if match.seconds is None else match.seconds for match in rows)
    if any(match.weight != 1.0 for match in rows):
        facts["weight"] = _floats(match.weight for match in rows)
    if any(match.map for match in rows):
        facts["map"], facts["maps"] = _named([match.map for match in rows])
    if any(match.mode for match in rows):
        facts["mode"], facts["modes"] = _named([match.mode for match in rows])
    if any(match.sides for match in rows):
        every = [name for match in rows for name in (match.sides or ("",) * len(match.teams))]
        facts["side"], facts["sides"] = _named(every)
    return facts


def _spans(each: Sequence[tuple[Span, ...]]) -> Spans:
    rows = [span for spans in each for span in spans]
    return Spans(
        _offsets(len(spans) for spans in each),
        np.array([span.team for span in rows], np.int32),
        _floats(span.start for span in rows),
        _floats(span.end for span in rows),
        # Comparing text is quicker than members of an enum, for the dozens of spans of every round.
        np.array([span.role.value == "commander" for span in rows], np.bool_),
    )


def _floats(values: Iterable[float]) -> Floats:
    return np.array(list(values), np.float64)


def _named(words: list[str]) -> tuple[Numbers, tuple[str, ...]]:
    """Each word's index among the distinct words, `UNKNOWN` for the empty word; and the distinct words."""
    numbers_by_word = {word: number for number, word in enumerate(dict.fromkeys(word for word in words if word))}
    return np.array([numbers_by_word.get(word, UNKNOWN) for word in words], np.int32), tuple(numbers_by_word)


def _offsets(lengths: Iterable[int]) -> Offsets:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _check_offsets(name: str, offsets: Offsets, rows: int, end: int) -> None:
    if len(offsets) != rows + 1 or offsets[0] != 0 or offsets[-1] != end or np.any(offsets[1:] < offsets[:-1]):
        raise RatingError(f"history: {name} are not {rows + 1} offsets from 0 to {end}")


def _check_numbers(name: str, numbers: Numbers, lowest: int, players: int) -> None:
    if len(numbers) and not (lowest <= numbers.min() and numbers.max() < players):
        raise RatingError(f"history: {name} hold a number that is none of {players} players")


def _check_range(name: str, values: Floats, low: float, high: float) -> None:
    # `fmin` and `fmax` pass over NaN, which stands for an unknown number; `min` would return it.
    least, most = np.fmin.reduce(values.ravel(), initial=high), np.fmax.reduce(values.ravel(), initial=low)
    if least < low or most > high:
        raise RatingError(f"history: {name} {least if least < low else most:g} is not from {low:g} to {high:g}")


def _check_stretches(spans: Spans) -> None:
    if any(len(facts) != len(spans.team) for facts in (spans.start, spans.end, spans.commander)):
        raise RatingError("history: spans without a team, a start, an end or a role")
    # With start <= end below this bounds all four ends; NaN fails each comparison.
    finite = spans.start.min(initial=0.0) > -math.inf and spans.end.max(initial=0.0) < math.inf
    if not finite or not np.all(spans.start <= spans.end):
        raise RatingError("history: spans that are no stretches of time")


def _overlapping(spans: Spans) -> int | None:
    """Index of a participant two of whose spans overlap; None if there is none."""
    if np.count_nonzero(spans.starts[1:] > spans.starts[:-1]) == len(spans.team):
        return None  # At most one span each.  Much faster on a long history than comparing all spans.
    owner = np.repeat(np.arange(len(spans.starts) - 1), np.diff(spans.starts))
    start, end = spans.start, spans.end
    again = _starts_early(owner, start, end)
    if again.any():  # The spans may only be unsorted: sort and compare again.
        order = np.lexsort((end, start, owner))
        again = _starts_early(owner, start[order], end[order])
    return int(owner[1:][again][0]) if again.any() else None


def _starts_early(owner: Offsets, start: Floats, end: Floats) -> Flags:
    """Shape (r - 1,): True where a span begins before the preceding span of the same owner ends."""
    early: Flags = (start[1:] < end[:-1]) & (owner[1:] == owner[:-1])
    return early


_FACTS: dict[str, tuple[str, object]] = {
    "fraction_played": ("members", np.nan),
    "kills": ("members", np.nan),
    "deaths": ("members", np.nan),
    "assists": ("members", np.nan),
    "player_points": ("members", np.nan),
    "hive_skill": ("members", np.nan),
    "hive_offset": ("members", np.nan),
    "hive_commander": ("members", np.nan),
    "quit": ("members", False),
    "squad": ("members", ALONE),
    "points": ("ranks", np.nan),
    "seconds": ("started_at", np.nan),
    "weight": ("started_at", 1.0),
    "lineup_known": ("started_at", True),
}
"""Optional arrays: another of the same length, and the value in a part that does not know it."""

_NAMED = {"side": ("sides", "ranks"), "map": ("maps", "started_at"), "mode": ("modes", "started_at")}


def joined(parts: Sequence[History]) -> History:
    """Join histories in their order, each with its lineups, as `History.of` makes them.

    Made in parts, a long history needs a tenth of the memory.

    >>> from equipoise.ratings.system import Match
    >>> duel = Match(((PlayerId("ann"),), (PlayerId("bob"),)), ranks=(0, 1))
    >>> rematch = Match(((PlayerId("bob"),), (PlayerId("cat"),)), ranks=(0, 1), map="arena")
    >>> both = joined([History.of([duel]), History.of([rematch])])
    >>> both.players, both.members.tolist(), both.map.tolist()
    (('ann', 'bob', 'cat'), [0, 1, 1, 2], [-1, 0])
    """
    numbers: dict[PlayerId, int] = {}
    own = [np.array([numbers.setdefault(p, len(numbers)) for p in part.players], np.int32) for part in parts]
    facts = {name: _filled(parts, name, like, filler) for name, (like, filler) in _FACTS.items()}
    for name, (names, like) in _NAMED.items():
        facts[name], facts[names] = _renamed(parts, name, names, like)
    facts["class_seconds"], facts["classes"] = _class_seconds(parts)
    return History(
        players=tuple(numbers),
        matches=_counted_on([part.matches for part in parts]),
        teams=_counted_on([part.teams for part in parts]),
        members=np.concatenate([new[part.members] for new, part in zip(own, parts, strict=True)]),
        ranks=np.concatenate([part.ranks for part in parts]),
        started_at=np.concatenate([part.started_at for part in parts]),
        lineup=_counted_on([part.lineup for part in parts if part.lineup is not None]),
        lineup_members=np.concatenate([_lineup(new, part) for new, part in zip(own, parts, strict=True)]),
        skill_at_start=np.concatenate([part.skill_at_start for part in parts if part.skill_at_start is not None]),
        spans=_joined_spans(parts, "spans", "members"),
        bots=_joined_spans(parts, "bots", "started_at"),
        **facts,
    )


def _joined_spans(parts: Sequence[History], name: str, like: str) -> Spans | None:
    """The spans of all parts, in each of which as many rows have them as `like` has; None if no part knows any."""
    part_spans: list[Spans | None] = [getattr(part, name) for part in parts]
    all_spans = [spans for spans in part_spans if spans is not None]
    if not all_spans:
        return None
    team, start, end, commander = (
        np.concatenate([getattr(spans, name) for spans in all_spans]) for name in ("team", "start", "end", "commander")
    )
    starts = [
        np.zeros(len(getattr(part, like)) + 1, np.int64) if spans is None else spans.starts
        for spans, part in zip(part_spans, parts, strict=True)
    ]
    return Spans(_counted_on(starts), team, start, end, commander)


def _class_seconds(parts: Sequence[History]) -> tuple[Floats | None, tuple[str, ...]]:
    """The seconds of all parts by the distinct classes of all; and these."""
    classes = tuple(dict.fromkeys(name for part in parts for name in part.classes))
    if not classes:
        return None, ()
    seconds = [np.zeros((len(part.members), len(classes))) for part in parts]
    for columns, part in zip(seconds, parts, strict=True):
        if part.class_seconds is not None:
            columns[:, [classes.index(name) for name in part.classes]] = part.class_seconds
    return np.concatenate(seconds), classes


def _lineup(new: Numbers, part: History) -> Numbers:
    assert part.lineup_members is not None, "`History.of` knows the lineups"
    members = part.lineup_members.copy()
    # BOT is -1 too, but has no entry in `new`.
    members[members != BOT] = new[members[members != BOT]]
    return members


def _counted_on(offsets: Sequence[Offsets]) -> Offsets:
    """Return the offsets of all parts, one after the other."""
    lengths = np.concatenate([np.diff(part) for part in offsets])
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def _filled(parts: Sequence[History], name: str, like: str, missing: object) -> Any:
    """An optional array of all parts; None if no part knows it."""
    arrays = [getattr(part, name) for part in parts]
    kind = next((column.dtype for column in arrays if column is not None), None)
    if kind is None:
        return None
    lengths = (len(getattr(part, like)) for part in parts)
    return np.concatenate(
        [
            np.full(count, missing, kind) if column is None else column
            for column, count in zip(arrays, lengths, strict=True)
        ]
    )


def _renamed(parts: Sequence[History], name: str, names: str, like: str) -> tuple[Any, tuple[str, ...]]:
    """Indexes of names, among the distinct names of all parts; and these names."""
    codes: dict[str, int] = {}
    columns = []
    for part in parts:
        # One more at the end for UNKNOWN, which is -1 and so indexes the last.
        new = np.array([*(codes.setdefault(label, len(codes)) for label in getattr(part, names)), UNKNOWN], np.int32)
        numbers = getattr(part, name)
        columns.append(np.full(len(getattr(part, like)), UNKNOWN, np.int32) if numbers is None else new[numbers])
    return (np.concatenate(columns), tuple(codes)) if codes else (None, ())


_PER_MATCH = ("started_at", "seconds", "weight", "map", "mode", "lineup_known")
_PER_TEAM = ("ranks", "points", "side")
_COUNTS = ("kills", "deaths", "assists", "player_points", "class_seconds")
_PER_PARTICIPANT = ("members", "fraction_played", *_COUNTS, "quit", "squad")
_PER_SEAT = ("lineup_members", "skill_at_start")


def refuse_others(history: History) -> None:
    """RatingError unless every match has two teams."""
    if not history.pairs:
        raise RatingError("the laboratory measures matches of two teams")


def scores(history: History) -> Floats:
    """Shape (m,): 1, 0.5 or 0 for each match's first team. RatingError unless every match has two teams."""
    refuse_others(history)
    first, second = history.ranks[0::2], history.ranks[1::2]
    # A lower rank is the better one.
    outcomes: Floats = 1.0 + np.sign(second - first)
    outcomes /= 2
    return outcomes


def unpacked(history: History) -> Iterator[Match] | None:
    """The matches one by one, as a live system rates them; None where a `Match` cannot say what is known.

    >>> from equipoise.ratings.system import Match
    >>> duel = Match(((PlayerId("ann"),), (PlayerId("bob"),)), ranks=(0, 1), map="arena", seconds=60.0)
    >>> list(unpacked(History.of([duel]))) == [duel]
    True
    """
    columns = [getattr(history, name) for name in ("kills", "deaths", "assists", "player_points")]
    unknown = [None if column is None else np.isnan(column) for column in columns]
    # Of a player a match knows all counts, or none.
    if any((gaps is None) != (unknown[0] is None) or not np.array_equal(gaps, unknown[0]) for gaps in unknown):  # type: ignore[arg-type]
        return None
    return (_unpacked(history, number, columns) for number in range(len(history)))


def _unpacked(history: History, number: int, columns: Sequence[Floats | None]) -> Match:
    def by_player(column: Any) -> dict[PlayerId, Any]:
        values = () if column is None else column[people].tolist()
        return {player: value for player, value in zip(who, values, strict=False) if not math.isnan(value)}

    def word(numbers: Numbers | None, names: tuple[str, ...], place: int) -> str:
        return "" if numbers is None or numbers[place] == UNKNOWN else names[numbers[place]]

    first, last = history.matches[number : number + 2].tolist()
    people = slice(int(history.teams[first]), int(history.teams[last]))
    who = [history.players[member] for member in history.members[people].tolist()]
    teams = tuple(
        tuple(who[a - people.start : b - people.start]) for a, b in pairwise(history.teams[first : last + 1].tolist())
    )
    starts, members, skills = history.predicted_lineup
    seats = range(int(starts[first]), int(starts[last]))
    # Of a bot nothing is known but that it is there.
    players = [PlayerId(f"bot:{seat}") if members[seat] == BOT else history.players[members[seat]] for seat in seats]
    has_lineup = history.lineup is not None and (history.lineup_known is None or bool(history.lineup_known[number]))
    lineup = tuple(
        tuple(players[a - seats.start : b - seats.start]) for a, b in pairwise(starts[first : last + 1].tolist())
    )
    squads: dict[float, list[PlayerId]] = {}
    for player, squad in by_player(history.squad).items():
        squads.setdefault(squad, []).append(player)
    counts = [by_player(column) for column in columns]
    skill, offset, commander = (by_player(c) for c in (history.hive_skill, history.hive_offset, history.hive_commander))
    classes = (
        {} if history.class_seconds is None else dict(zip(who, history.class_seconds[people].tolist(), strict=True))
    )
    sides = tuple(word(history.side, history.sides, team) for team in range(first, last))
    points = () if history.points is None else tuple(history.points[first:last].tolist())
    moment, weight = float(history.started_at[number]), history.weight
    length = math.nan if history.seconds is None else float(history.seconds[number])
    return Match(
        teams=teams,
        ranks=tuple(history.ranks[first:last].tolist()),
        lineup=lineup if has_lineup else (),
        skill_at_start={
            p: s for p, s in zip(players, skills[seats.start : seats.stop].tolist(), strict=False) if not math.isnan(s)
        },
        started_at=None if math.isnan(moment) else moment,
        seconds=None if math.isnan(length) else length,
        fraction_played=by_player(history.fraction_played),
        spans={
            player: spans
            for place, player in enumerate(who, people.start)
            if (spans := _spans_at(history.spans, place))
        },
        bots=_spans_at(history.bots, number),
        squads=tuple(tuple(squad) for name, squad in squads.items() if name != ALONE),
        counts={
            player: Counts(
                *(count[player] for count in counts),  # type: ignore[misc]
                classes={
                    name: seconds
                    for name, seconds in zip(history.classes, classes.get(player, ()), strict=False)
                    if seconds
                },
                hive=Hive(skill[player], offset[player], commander[player]) if player in skill else None,
            )
            for player in counts[0]
        },
        quits=frozenset(player for player, left in by_player(history.quit).items() if left),
        points=() if any(map(math.isnan, points)) else points,
        map=word(history.map, history.maps, number),
        mode=word(history.mode, history.modes, number),
        sides=sides if any(sides) else (),
        weight=1.0 if weight is None else float(weight[number]),
    )


def _spans_at(spans: Spans | None, row: int) -> tuple[Span, ...]:
    if spans is None:
        return ()
    return tuple(
        Span(
            int(spans.team[at]),
            float(spans.start[at]),
            float(spans.end[at]),
            Role.COMMANDER if spans.commander[at] else Role.FIELD,
        )
        for at in range(int(spans.starts[row]), int(spans.starts[row + 1]))
    )


def head(history: History, count: int) -> History:
    """The first `count` matches; players who appear only later keep their numbers."""
    return stretch(history, 0, count)


def stretch(history: History, first: int, last: int) -> History:
    """The matches from `first` to below `last`, with the players of all."""
    teams = slice(int(history.matches[first]), int(history.matches[last]))
    people = slice(int(history.teams[teams.start]), int(history.teams[teams.stop]))
    lineup, _, _ = history.predicted_lineup
    parts = (
        (_PER_MATCH, slice(first, last)),
        (_PER_TEAM, teams),
        (_PER_PARTICIPANT, people),
        (_PER_SEAT, slice(int(lineup[teams.start]), int(lineup[teams.stop]))),
    )
    arrays = {name: getattr(history, name) for names, _ in parts for name in names}
    cut = {name: arrays[name][part] for names, part in parts for name in names if arrays[name] is not None}
    return replace(
        history,
        matches=_from_0(history.matches[first : last + 1]),
        teams=_from_0(history.teams[teams.start : teams.stop + 1]),
        lineup=None if history.lineup is None else _from_0(history.lineup[teams.start : teams.stop + 1]),
        spans=None if history.spans is None else _stretch_of(history.spans, people),
        bots=None if history.bots is None else _stretch_of(history.bots, slice(first, last)),
        **cut,
    )


def _from_0(offsets: Offsets) -> Offsets:
    return offsets - offsets[0] if offsets[0] else offsets


def _stretch_of(spans: Spans, rows: slice) -> Spans:
    part = slice(int(spans.starts[rows.start]), int(spans.starts[rows.stop]))
    starts = _from_0(spans.starts[rows.start : rows.stop + 1])
    return Spans(starts, spans.team[part], spans.start[part], spans.end[part], spans.commander[part])
