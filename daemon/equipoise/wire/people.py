"""Lists of players on the wire: a roster, a round's lineup, and who was on a side during a round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from equipoise.core import events as core
from equipoise.core.model import (
    MOST_PLAYERS,
    Counts,
    Entry,
    LineupPlayer,
    PlayerId,
    Presence,
    Role,
    Roster,
    ServerId,
    Side,
    Span,
)
from equipoise.errors import ScriptError
from equipoise.wire.games import SIDES, SideWord
from equipoise.wire.scalars import Count, Fraction, Player, Seconds, Word

OnSide = SideWord | Literal["none"]
MOST_SPANS = 256
"""Spans of one player in one round: far more changes of side and chair than anybody makes."""
MOST_COUNTED = 10_000
"""Of one thing that one player did in one round; a number above it is no count."""
CLOCK_SLACK = 1.0
"""Seconds by which the sum of a player's classes may exceed their time on the sides: both are rounded."""

Ids = Annotated[tuple[Player, ...], Meta(max_length=MOST_PLAYERS)]


@dataclass(frozen=True, slots=True)
class Here:
    """Where an event comes from: the server, its JSON path, and the batch's time on the script's clock."""

    server: ServerId
    path: str
    at: float


class ScriptEvent(msgspec.Struct, frozen=True, tag_field="kind", kw_only=True):
    """Base of the kinds of event that scripts post; `kind` is the tag."""

    at: Seconds | None = None
    """When it happened, in seconds of the script's monotonic clock; by default the batch's time."""

    def fact(self, here: Here) -> core.ScriptEvent:
        """The core's event. ScriptError where parts of it contradict each other."""
        raise NotImplementedError

    def time(self, here: Here) -> float:
        """The event's time, by default the batch's; seconds."""
        return here.at if self.at is None else self.at


class PlayerLine(msgspec.Struct, frozen=True):
    """A player of a roster; `docs/protocol.md` has the fields."""

    id: Player
    side: OnSide
    """Where they are; `none`: on no side."""
    waiting: bool = False
    """Wants to play but has no side."""
    alive: bool = True
    """The player is alive."""
    connected: Seconds = 0.0
    """Seconds since the player connected."""
    immune: bool = False
    """An admin who is not moved."""
    carrier: bool = False
    """The player carries the objective, or commands: they are never moved."""
    commander: bool = False
    """NS2: sits in the command chair."""
    building: bool = False
    """The player has a sentry or teleporter standing."""
    charge: Fraction = 0.0
    """Übercharge, 0 to 1."""
    ready: bool = True
    """The player has chosen a class, or the script keeps a choice for them."""
    held: Word | None = None
    """Why nobody may move the player: a word of docs/protocol.md."""

    def entry(self) -> Entry:
        return Entry(
            id=player_id(self.id),
            side=SIDES.get(self.side),
            waiting=self.waiting,
            alive=self.alive,
            connected=self.connected,
            immune=self.immune,
            carrier=self.carrier,
            commander=self.commander,
            building=self.building,
            charge=self.charge,
            ready=self.ready,
            held=str(self.held or ""),
        )


Players = Annotated[tuple[PlayerLine, ...], Meta(max_length=MOST_PLAYERS)]


class LineupLine(msgspec.Struct, frozen=True):
    """A player of the lineup: on a side when the round went live."""

    id: Player
    side: SideWord
    """Where they stood when the round went live."""

    def seat(self) -> LineupPlayer:
        return LineupPlayer(player_id(self.id), SIDES[self.side])


class SecondsOn(msgspec.Struct, frozen=True):
    """Seconds that a player spent on each side, named by TF2's colours."""

    red: Seconds = 0.0
    """Seconds on side A: RED, Marines."""
    blu: Seconds = 0.0
    """Seconds on side B: BLU, Aliens."""


class Captures(msgspec.Struct, frozen=True):
    """Captures by each side, summed over the round's stages."""

    red: Count = field(default_factory=Count)
    """Captures of side A: RED, Marines."""
    blu: Count = field(default_factory=Count)
    """Captures of side B: BLU, Aliens."""


class SpanLine(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """An unbroken stretch of a round on one side in one role."""

    side: SideWord
    """Where they were."""
    start: Seconds
    """When it began, in seconds since the round went live."""
    end: Seconds
    """When it ended; not before it began, nor after the round's end."""
    role: Literal["field", "commander"] = "field"
    """What they did there."""

    def span(self) -> Span:
        return Span(SIDES[self.side], self.start, self.end, Role(self.role))


class ClassSeconds(msgspec.Struct, frozen=True):
    """Seconds that a player spent as each class of TF2."""

    scout: Seconds = 0.0
    """Seconds as this class."""
    soldier: Seconds = 0.0
    """Seconds as this class."""
    pyro: Seconds = 0.0
    """Seconds as this class."""
    demoman: Seconds = 0.0
    """Seconds as this class."""
    heavy: Seconds = 0.0
    """Seconds as this class."""
    engineer: Seconds = 0.0
    """Seconds as this class."""
    medic: Seconds = 0.0
    """Seconds as this class."""
    sniper: Seconds = 0.0
    """Seconds as this class."""
    spy: Seconds = 0.0
    """Seconds as this class."""

    def played(self) -> dict[str, float]:
        """By class, without those that were not played."""
        return {name: seconds for name, seconds in msgspec.structs.asdict(self).items() if seconds}


class CountsLine(msgspec.Struct, frozen=True):
    """What a player did in this round alone, as the game counted it."""

    kills: Count = field(default_factory=Count)
    """Kills of other players."""
    deaths: Count = field(default_factory=Count)
    """Deaths by others, or by the world."""
    assists: Count = field(default_factory=Count)
    """Assists in kills of others."""
    points: Count = field(default_factory=Count)
    """The scoreboard's points."""
    classes: ClassSeconds = field(default_factory=ClassSeconds)
    """How long they played each class, dead or alive."""
    suicides: Count = field(default_factory=Count)
    """Deaths by their own hand."""

    def counts(self) -> Counts:
        done = int(self.kills), int(self.deaths), int(self.assists), int(self.points)
        return Counts(*done, self.classes.played(), int(self.suicides))

    def fault(self, seconds: float) -> str | None:
        """What cannot be of a player who was on a side for so long; None: nothing."""
        for name in ("kills", "deaths", "assists", "points", "suicides"):
            if (number := getattr(self, name)) > MOST_COUNTED:
                return f"{name} of one round are at most {MOST_COUNTED:,}, not {number:,}"
        played = sum(self.classes.played().values())
        if played > seconds + CLOCK_SLACK:
            return f"classes were played for {played:g} s, and the player was on a side for {seconds:g} s"
        return None


class PresenceLine(msgspec.Struct, frozen=True):
    """A player who was on a side at any time of the round."""

    id: Player
    side: SideWord
    """Their side at the end, or when they left."""
    seconds: SecondsOn = field(default_factory=SecondsOn)
    """How long they were on each side."""
    fought: bool = False
    """The player dealt or took damage, or healed another player."""
    left: bool = False
    """The player disconnected before the round's end."""
    spans: Annotated[tuple[SpanLine, ...], Meta(max_length=MOST_SPANS)] = ()
    """NS2: when, where and in which role they played; then `seconds` is not read."""
    counts: CountsLine | None = None
    """What they did; None where the script does not tell it."""

    def presence(self) -> Presence:
        """Without counts that cannot be: they say nothing, and must not cost the round."""
        spans = tuple(line.span() for line in self.spans)
        a, b = self._seconds(spans)
        counts = self.counts
        return Presence(
            id=player_id(self.id),
            side=SIDES[self.side],
            seconds_a=a,
            seconds_b=b,
            fought=self.fought,
            left=self.left,
            spans=spans,
            counts=None if counts is None or counts.fault(a + b) else counts.counts(),
        )

    def fault(self) -> str | None:
        """What cannot be of the player's counts; None: nothing."""
        seconds = self._seconds(tuple(line.span() for line in self.spans))
        return None if self.counts is None else self.counts.fault(sum(seconds))

    def _seconds(self, spans: tuple[Span, ...]) -> tuple[float, float]:
        if not spans:
            return self.seconds.red, self.seconds.blu
        a, b = (sum(span.end - span.start for span in spans if span.side is side) for side in Side)
        return a, b


class StayedLine(msgspec.Struct, frozen=True):
    """A player whom an order names and who could not be moved."""

    id: Player
    held: Word
    """Why nobody may move the player: a word of docs/protocol.md."""


Stayed = Annotated[tuple[StayedLine, ...], Meta(max_length=MOST_PLAYERS)]


def stayed(lines: Stayed, here: Here) -> core.Stayed:
    """The core's players who stayed. ScriptError when one is listed twice."""
    refuse_twice((line.id, f"{here.path}.stayed[{n}].id") for n, line in enumerate(lines))
    return {player_id(line.id): str(line.held) for line in lines}


def player_id(id: Player) -> PlayerId:
    """The id as the core's type."""
    return PlayerId(str(id))


def roster(players: Players, here: Here) -> Roster:
    """The core's roster. ScriptError when a player is listed twice, or is a commander on no side."""
    refuse_twice((line.id, f"{here.path}.players[{n}].id") for n, line in enumerate(players))
    for n, line in enumerate(players):
        if line.commander and line.side == "none":
            raise ScriptError(
                "commander", f"{line.id} commands and is on no side", path=f"{here.path}.players[{n}].commander"
            )
    return Roster(tuple(line.entry() for line in players))


def refuse_twice(ids: Iterable[tuple[Player, str]]) -> None:
    """Raise ScriptError at the path of the first id that occurred before; pairs of id and path."""
    seen: set[Player] = set()
    for id, path in ids:
        if id in seen:
            raise ScriptError("twice", f"{id} is here twice", path=path)
        seen.add(id)


def refuse_spans(spans: tuple[SpanLine, ...], seconds: float, path: str) -> None:
    """Raise ScriptError at the path of a span that is no part of a round of so many seconds, or that overlaps one.

    Spans may touch and come in any order. Refusing the round is better than rating it by a part of what was played.
    """
    for n, span in enumerate(spans):
        if span.end < span.start:
            raise ScriptError("spans", f"the span ends before it begins, at {span.start:g} s", path=f"{path}[{n}].to")
        if span.end > seconds:
            text = f"the span ends at {span.end!r} s and the round at {seconds!r} s"
            raise ScriptError("spans", text, path=f"{path}[{n}].to")
    in_order = sorted(range(len(spans)), key=lambda n: (spans[n].start, spans[n].end))
    for before, n in pairwise(in_order):
        if spans[n].start < spans[before].end:
            text = f"the span overlaps another of the player, which ends at {spans[before].end!r} s"
            raise ScriptError("spans", text, path=f"{path}[{n}].from")
