"""A pool on its way from one store to another, as a file: one value for each line of an export.

Versions of rows are not among it: each store counts its own. Numbers of rounds and edits count from the pool's first.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.core.events import Count
from equipoise.core.model import LineupPlayer, Mode, Role, Side
from equipoise.store.round_rows import Duration, ParticipantRow, Probability, Record, SteamId
from equipoise.store.sequence import EditAction, Purpose

Place = Annotated[int, Meta(ge=1, le=2**53)]
Points = Annotated[float, Meta(ge=-1e6, le=1e6)]
Text = Annotated[str, Meta(max_length=1000)]


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """One line of an export; what it is stands in its field `kind`."""


class Head(Line, frozen=True, tag="pool"):
    """The pool itself, and how many lines of each kind follow."""

    pool: Text
    system: Text
    params: dict[str, object]
    """All parameters of the system that made the ratings."""
    changed_at: float
    """Since when it makes them, seconds since the epoch."""
    pruned_rounds: Count
    """Rated rounds that were ever deleted."""
    parts: Count
    players: Count
    names: Count
    rounds: Count
    edits: Count
    edited: Count
    voids: Count
    audit: Count
    bases: Count = 0
    seasons: Count = 0

    @property
    def following(self) -> int:
        """Number of the lines that follow."""
        once = self.parts + self.bases + self.players + self.names + self.audit + self.seasons
        return once + self.rounds + self.edits + self.edited + self.voids


class Part(Line, frozen=True, tag="part"):
    """A part of the rating system's shared state."""

    key: Text
    part: object


class Base(Line, frozen=True, tag="base"):
    """A snapshot behind which rounds may be missing: what a sequential system knew after them."""

    purpose: Purpose
    number: Count
    """Number of the event before it; 0: before all that are here."""
    system: Text
    params: dict[str, object]
    data: bytes


class Skill(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The stored numbers of a player."""

    rating: float
    rounds: Count
    visible: bool
    last_played: float | None
    state: dict[str, object]


class Player(Line, frozen=True, tag="player", omit_defaults=True):
    """A rated player."""

    id: SteamId
    skill: Skill
    record: Record | None = None
    """None: what the rounds say that follow. So it is in files of formats 1 and 2."""
    hidden: bool = False
    """They are shown nowhere."""


class Name(Line, frozen=True, tag="name", omit_defaults=True):
    """The name that a player used last; also one who was never rated."""

    player: SteamId
    name: Text
    hidden: bool = False
    """They are shown nowhere."""


class Standing(Record, frozen=True, forbid_unknown_fields=True):
    """A player on the leaderboard of a season, with their record until then."""

    place: Place
    """1 for the best. Places of players who are hidden now are left out."""
    player: SteamId
    """Their id."""
    name: Text | None
    """The name that they had then."""
    rating: float
    """The rating, in points."""
    rounds: Count
    """Rated rounds until then."""


class Season(Line, frozen=True, tag="season"):
    """The leaderboard with which a season began."""

    season: Text
    at: float
    players: tuple[Standing, ...]


class Span(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A stretch of a round on one side in one role; seconds since it went live."""

    side: Side
    start: Duration
    end: Duration
    role: Role


class Hive(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The game's own skill of a player as they came into a round."""

    skill: Points
    offset: Points
    commander: Points


class Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Counts of a player in a round."""

    kills: Count
    deaths: Count
    assists: Count
    points: Count
    classes: dict[Text, Duration]
    suicides: Count = 0
    hive: Hive | msgspec.UnsetType = msgspec.UNSET


class Participant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A participant of a round, and what it did to them."""

    player: SteamId
    side: Side
    seconds_a: Duration
    seconds_b: Duration
    quit: bool
    before: float
    after: float
    prediction: Probability
    score: Probability
    rounds: Count
    visible: bool
    state: dict[str, object]
    spans: tuple[Span, ...] = ()
    """None where only the seconds on each side are known."""
    counts: Counts | None = None
    """None where they are not known."""

    def __post_init__(self) -> None:
        """Refuse spans that no match can be made of: a file may have been edited."""
        in_order = sorted(self.spans, key=lambda span: (span.start, span.end))
        backwards = any(span.end < span.start for span in in_order)
        if backwards or any(later.start < span.end for span, later in pairwise(in_order)):
            raise ValueError(f"spans of {self.player} overlap or end before they begin")


class Round(Line, frozen=True, omit_defaults=True, tag="round"):
    """A finished round. Rounds and edits stand in the order in which they were applied."""

    number: Place
    server: Text
    id: Text
    session: Text
    map: Text
    mode: Mode
    started_at: float
    seconds: Duration
    winner: Side | None
    captures_a: Count
    captures_b: Count
    partial: bool
    waiting: bool
    lineup: tuple[LineupPlayer, ...]
    skill_at_start: dict[str, float] | None
    unrated: str | None
    prediction: Probability | None
    recorded_at: float
    pruned: bool
    voided: Place | None
    """The number of the edit that took it out of the ratings."""
    participants: tuple[Participant, ...]
    squads: tuple[tuple[SteamId, ...], ...] = ()
    """Friends who played together."""
    bots: tuple[Span, ...] = ()
    """The stretches in which bots played, all in one; none where it is not known."""
    balance_prediction: Probability | None = None
    """Win probability by the system that made the teams, where that is another one."""
    said: Probability | None = None
    """The prediction of the system that made the teams, where a calibration made it another number."""
    unevenness: Probability | None = None
    """Expected by the system that made the teams; None where that knows no deviations."""

    def __post_init__(self) -> None:
        """Refuse squads and bots that no match can have."""
        members = [member for squad in self.squads for member in squad]
        if len(set(members)) < len(members):
            raise ValueError(f"a player is twice in the squads of round {self.id}")
        if any(span.end < span.start for span in self.bots):
            raise ValueError(f"spans of bots end before they begin in round {self.id}")


class Edit(Line, frozen=True, tag="edit"):
    """A change of ratings that is not a round."""

    number: Place
    at: float
    who: Text
    action: EditAction
    detail: dict[str, object]
    shared: dict[str, object] | None


class Edited(Line, frozen=True, tag="edited"):
    """A player in the edit before it."""

    edit: Place
    player: SteamId
    struck: bool
    """It was undone for this player."""
    before: Skill | None
    after: Skill


class Void(Line, frozen=True, tag="void"):
    """The effects of a round that an edit took out of the ratings."""

    round: Place
    edit: Place
    prediction: Probability
    participants: tuple[ParticipantRow, ...]


class Entry(Line, frozen=True, tag="audit"):
    """A line of the audit that is about the pool, its players, or a server that feeds it."""

    at: float
    who: Text
    action: Text
    target: Text
    before: str
    after: str


AnyLine = Head | Part | Base | Player | Name | Season | Round | Edit | Edited | Void | Entry


def shifted(edit: Edit, by: int) -> Edit:
    """With other numbers: its own, and that of the edit that it takes back."""
    detail = dict(edit.detail)
    if isinstance(target := detail.get("edit"), int):
        detail["edit"] = target + by
    return msgspec.structs.replace(edit, number=edit.number + by, detail=detail)
