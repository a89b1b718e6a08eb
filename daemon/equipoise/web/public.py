"""What anybody may read: answers of routes without what is an admin's, without ratings that are not shown yet, and
without numbers from which one of these could be computed.

Each answer has a struct of its own here with the fields that are public: what a route says beside them stays inside.
Ratings are whole points and chances whole percents, and a chance is said where enough people play on each side.
"""

# ruff: noqa: D101 — each struct is the public part of the one whose name it has.

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import force_setattr, replace

from equipoise.core.model import Counts, Mode, PlayerId, RoundId, ServerId, Side, Skills, Span
from equipoise.ratings.quality import Bin
from equipoise.store.listings import EditOf, Result
from equipoise.store.seasons import Season
from equipoise.web import decisions, evenness, maps, players, pools, rosters, rounds, servers
from equipoise.web.routes import Ok, Services

FEWEST = 3
"""With fewer on a side, a chance would give hidden ratings away: `!teams` says no sums then either."""
FEWEST_ROUNDS = 10
"""With fewer, a mean of chances would say one of them."""
DECIDED = frozenset({"scramble", "duel", "equal_sides", "shuffle", "too_uneven", "alone", "pending", "cancel"}) | {
    *("dropped", "move", "place", "kept", "vote", "choice", "unrated")
}
"""Kinds of decisions that the players of a server are told of in its chat."""

T = TypeVar("T")


def _hide(struct: msgspec.Struct, *names: str) -> None:
    for name in names:
        force_setattr(struct, name, None)


def _round(struct: msgspec.Struct, *names: str, digits: int = 0) -> None:
    for name in names:
        value = getattr(struct, name)
        force_setattr(struct, name, None if value is None else round(value, digits) + 0.0)


# Game servers.


class Outlook(msgspec.Struct, frozen=True):
    chance: float
    low: float | None
    high: float | None

    def __post_init__(self) -> None:
        _round(self, "chance", "low", "high", digits=2)


class Status(msgspec.Struct, frozen=True):
    """A game server as its players know it."""

    server: ServerId
    pool: str
    lost: bool
    map: str
    mode: Mode
    sides: tuple[str, str]
    round: int
    pending: str | None
    players_a: int
    players_b: int
    waiting: int
    outlook: Outlook | None
    balanced_by: str

    def __post_init__(self) -> None:
        if min(self.players_a, self.players_b) < FEWEST:
            _hide(self, "outlook")


class Servers(Ok, frozen=True):
    servers: tuple[Status, ...]


class PlayerHere(msgspec.Struct, frozen=True):
    id: PlayerId
    name: str | None
    side: Side | None
    waiting: bool
    rating: float | None
    visible: bool
    rounds: int
    change: float | None
    skill: float | None
    commander: bool
    locked: float | None
    moved: bool
    benched: int

    def __post_init__(self) -> None:
        if not self.visible:
            _hide(self, "rating", "change", "skill")
        _round(self, "rating", "change", "skill")


class Roster(Ok, frozen=True):
    server: ServerId
    sides: tuple[str, str]
    session: str
    live_seconds: float | None
    due: str
    results: tuple[Result, ...]
    players: tuple[PlayerHere, ...]
    bots: tuple[int, int]
    bench: bool
    turns: tuple[PlayerId, ...]


class CourseLine(msgspec.Struct, frozen=True):
    at: float
    chance: float
    low: float | None
    high: float | None
    players_a: int
    players_b: int
    cause: str

    def __post_init__(self) -> None:
        _round(self, "chance", "low", "high", digits=2)


class Chances(Ok, frozen=True):
    server: ServerId
    sides: tuple[str, str]
    chances: tuple[CourseLine, ...]

    def __post_init__(self) -> None:
        shown = tuple(line for line in self.chances if min(line.players_a, line.players_b) >= FEWEST)
        force_setattr(self, "chances", shown)


class Decision(msgspec.Struct, frozen=True):
    server: ServerId
    at: float
    kind: str
    reason: str
    detail: Mapping[str, Any] | None
    number: int

    def __post_init__(self) -> None:
        force_setattr(self, "detail", None if self.detail is None else _detail(self.detail))


def _detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return who goes where by a decision, without hidden players, and the chance where it is said."""
    public = {name: detail[name] for name in ("side", "cause") if name in detail}
    if "players" in detail:
        public["players"] = [player for player in detail["players"] if player != "hidden"]
    if "split" in detail:
        split = detail["split"]
        public["split"] = {place: [player for player in ids if player != "hidden"] for place, ids in split.items()}
        if min(len(split["a"]), len(split["b"])) >= FEWEST and detail.get("after") is not None:
            public["before"] = None if detail["before"] is None else round(detail["before"], 2)
            public["after"] = round(detail["after"], 2)
    return public


class Decisions(Ok, frozen=True):
    decisions: tuple[Decision, ...]
    names: Mapping[PlayerId, str]
    sides: Mapping[str, tuple[str, str]]

    def __post_init__(self) -> None:
        force_setattr(self, "decisions", tuple(line for line in self.decisions if line.kind in DECIDED))


# Players.


class Interval(msgspec.Struct, frozen=True):
    low: float
    high: float

    def __post_init__(self) -> None:
        _round(self, "low", "high")


class Player(msgspec.Struct, frozen=True, kw_only=True):
    """A player; without a rating until it may be shown."""

    id: PlayerId
    name: str | None
    rating: float | None
    rounds: int
    visible: bool
    stale: bool
    last_played: float | None
    skill: float | None
    skill_by: str | None
    interval: Interval | None
    record: players.RecordSeen | None
    skills: Skills | None

    def __post_init__(self) -> None:
        if not self.visible:
            _hide(self, "rating", "skill", "skill_by", "interval", "skills")
        _round(self, "rating", "skill")


class PlayerFound(Ok, frozen=True):
    pool: str
    player: Player
    place: int | None
    length: int | None


class PlayersFound(Ok, frozen=True):
    """Players whose rating may be shown: the order of the others would say theirs."""

    pool: str
    players: tuple[Player, ...]

    def __post_init__(self) -> None:
        force_setattr(self, "players", tuple(player for player in self.players if player.visible))


class Progress(msgspec.Struct, frozen=True):
    gained: float | None
    place: int | None

    def __post_init__(self) -> None:
        if self.place is None:  # then it may have been a rating that was not shown
            _hide(self, "gained")
        _round(self, "gained")


class Leader(Player, frozen=True, kw_only=True):
    place: int
    week: Progress | None
    month: Progress | None


class Top(Ok, frozen=True):
    pool: str
    players: tuple[Leader, ...]
    length: int
    before: PlayerId | None
    after: PlayerId | None
    shadow_rounds: int
    shadow: int
    stale: int


class Standing(msgspec.Struct, frozen=True):
    place: int
    player: PlayerId
    name: str | None
    rating: float
    rounds: int
    wins: int
    draws: int
    losses: int
    leaves: int

    def __post_init__(self) -> None:
        _round(self, "rating")


class SeasonBoard(Ok, frozen=True):
    pool: str
    season: Season
    players: tuple[Standing, ...]


# Rounds.


class Listing(msgspec.Struct, frozen=True):
    round: RoundId
    server: ServerId
    pool: str
    map: str
    mode: Mode
    sides: tuple[str, str]
    at: float
    started_at: float
    seconds: float
    winner: Side | None
    players_a: int
    players_b: int
    win_probability: float | None
    predicted_by: str | None
    unrated: str | None
    void: bool

    def __post_init__(self) -> None:
        if self.void:  # an admin's reason stays inside
            force_setattr(self, "unrated", "taken out of the ratings")
        if min(self.players_a, self.players_b) < FEWEST:
            _hide(self, "win_probability", "predicted_by")
        _round(self, "win_probability", digits=2)


class Rounds(Ok, frozen=True):
    rounds: tuple[Listing, ...]
    before: int | None


class Played(msgspec.Struct, frozen=True):
    """A participant; `before` stays inside where the rating became one that is shown with this very round."""

    id: PlayerId
    side: Side
    seconds_a: float
    seconds_b: float
    quit: bool
    before: float | None
    after: float | None
    score: float
    rounds: int
    visible: bool
    spans: tuple[Span, ...]
    counts: Counts | None

    def __post_init__(self) -> None:
        if not self.visible:
            _hide(self, "before", "after")
        _round(self, "before", "after")

    def since(self, shadow: float) -> Played:
        """Return it without what it was before it was shown, which is after so many rounds."""
        return replace(self, before=None) if self.rounds <= shadow else self


class Report(Ok, frozen=True):
    round: Listing
    captures: tuple[int, int]
    pruned: bool
    lineup: tuple[tuple[PlayerId, ...], tuple[PlayerId, ...]]
    players: tuple[Played, ...]
    names: Mapping[PlayerId, str]


class Appearance(msgspec.Struct, frozen=True):
    round: Listing
    played: Played


class History(Ok, frozen=True):
    pool: str
    player: PlayerId
    name: str | None
    rounds: tuple[Appearance, ...]
    edits: tuple[EditOf, ...]
    """None: what admins do is not public."""
    before: int | None

    def __post_init__(self) -> None:
        force_setattr(self, "edits", ())


class CurvePoint(msgspec.Struct, frozen=True):
    at: float
    rating: float
    low: float | None
    high: float | None
    edit: str | None
    visible: bool

    def __post_init__(self) -> None:
        _round(self, "rating", "low", "high")


class Curve(Ok, frozen=True):
    pool: str
    player: PlayerId
    name: str | None
    rounds: int
    points: tuple[CurvePoint, ...]

    def __post_init__(self) -> None:
        force_setattr(self, "points", tuple(point for point in self.points if point.visible and point.edit is None))


# Maps and pools.


class MapFigures(msgspec.Struct, frozen=True, kw_only=True):
    rounds: int
    seconds: float
    wins_a: int
    wins_b: int
    stalemates: int
    expected_a: float | None
    even: float | None
    new_teams: int
    last_played: float

    def __post_init__(self) -> None:
        if self.rounds < FEWEST_ROUNDS:
            _hide(self, "expected_a", "even")
        _round(self, "expected_a", "even", digits=2)


class MapSeen(MapFigures, frozen=True, kw_only=True):
    map: str
    mode: Mode
    sides: tuple[str, str]


class ServerOnMap(MapFigures, frozen=True, kw_only=True):
    server: ServerId


class Maps(Ok, frozen=True):
    pool: str
    rounds: int
    maps: tuple[MapSeen, ...]


class MapFound(Ok, frozen=True):
    pool: str
    map: MapSeen
    servers: tuple[ServerOnMap, ...]


class FairFigures(msgspec.Struct, frozen=True, kw_only=True):
    even: float
    favourite_won: float | None
    favourite_expected: float
    moved: int
    moved_an_hour: float | None
    lopsided: int
    began: tuple[evenness.Began, ...]
    calibration: tuple[Bin, ...]
    brier: float

    def __post_init__(self) -> None:
        _round(self, "even", "favourite_won", "favourite_expected", "brier", digits=2)
        bins = (bar for bar in self.calibration if bar.rounds >= FEWEST_ROUNDS)
        shown_bins = tuple(dataclasses.replace(bar, predicted=round(bar.predicted, 2)) for bar in bins)
        force_setattr(self, "calibration", shown_bins)


class Fairness(Ok, frozen=True, kw_only=True):
    pool: str
    days: float
    rounds: int
    servers: int
    sides: tuple[str, str]
    balanced_by: str
    players: int
    figures: FairFigures | None

    def __post_init__(self) -> None:
        if self.rounds < FEWEST_ROUNDS:
            _hide(self, "figures")


STRUCTS: Mapping[type, type[msgspec.Struct]] = {
    servers.Servers: Servers,
    rosters.RosterFound: Roster,
    decisions.Chances: Chances,
    decisions.Decisions: Decisions,
    players.PlayerFound: PlayerFound,
    players.PlayersFound: PlayersFound,
    players.Top: Top,
    rounds.Rounds: Rounds,
    rounds.Report: Report,
    rounds.History: History,
    rounds.Curve: Curve,
    rounds.Mates: rounds.Mates,
    maps.Maps: Maps,
    maps.MapFound: MapFound,
    evenness.Fairness: Fairness,
    pools.PoolsFound: pools.PoolsFound,
    pools.SeasonsFound: pools.SeasonsFound,
    pools.SeasonBoard: SeasonBoard,
}
"""The answers that are public, and what is public of each: fields with the names and meanings that they have there."""


def published(answer: T, services: Services) -> T:
    """Return the public part of an answer. It has the names of the whole one, and fewer of them."""
    public: Any = msgspec.convert(answer, STRUCTS[type(answer)], from_attributes=True)
    match public:
        case Roster():
            shadow = _shadow(services, services.host(public.server).pool.name)
            lines = (replace(line, change=None) if line.rounds <= shadow else line for line in public.players)
            # By rating, where that is shown: the order of the others would say theirs.
            order = sorted(lines, key=lambda line: (line.rating is None, -(line.rating or 0.0), line.id))
            public = replace(public, players=tuple(order))
        case Report():
            shadow = _shadow(services, public.round.pool)
            public = replace(public, players=tuple(line.since(shadow) for line in public.players))
        case History():
            shadow = _shadow(services, public.pool)
            shown = (replace(line, played=line.played.since(shadow)) for line in public.rounds)
            public = replace(public, rounds=tuple(shown))
    return public  # type: ignore[no-any-return]


def _shadow(services: Services, pool: str) -> float:
    """Return the rounds until a rating is shown; without the pool nobody knows."""
    return services.pools[pool].summary(PlayerId("0")).missing if pool in services.pools else float("inf")
