"""Lists of players on the wire: a roster, a round's lineup, and who was on a side during a round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from equipoise.core import events as core
from equipoise.core.model import MOST_PLAYERS, Entry, LineupPlayer, PlayerId, Presence, Roster, ServerId
from equipoise.errors import ScriptError
from equipoise.wire.games import SIDES, SideWord
from equipoise.wire.scalars import Count, Fraction, Player, Seconds

OnSide = SideWord | Literal["none"]
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
    connected: Seconds = 0.0
    immune: bool = False
    carrier: bool = False
    building: bool = False
    charge: Fraction = 0.0
    ready: bool = True

    def entry(self) -> Entry:
        return Entry(
            id=player_id(self.id),
            side=SIDES.get(self.side),
            waiting=self.waiting,
            alive=self.alive,
            connected=self.connected,
            immune=self.immune,
            carrier=self.carrier,
            building=self.building,
            charge=self.charge,
            ready=self.ready,
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
    blu: Seconds = 0.0


class Captures(msgspec.Struct, frozen=True):
    """Captures by each side, summed over the round's stages."""

    red: Count = field(default_factory=Count)
    blu: Count = field(default_factory=Count)


class PresenceLine(msgspec.Struct, frozen=True):
    """A player who was on a side at any time of the round."""

    id: Player
    side: SideWord
    """Their side at the end, or when they left."""
    seconds: SecondsOn = field(default_factory=SecondsOn)
    """How long they were on each side."""
    fought: bool = False
    left: bool = False

    def presence(self) -> Presence:
        return Presence(
            id=player_id(self.id),
            side=SIDES[self.side],
            seconds_a=self.seconds.red,
            seconds_b=self.seconds.blu,
            fought=self.fought,
            left=self.left,
        )


def player_id(id: Player) -> PlayerId:
    """The id as the core's type."""
    return PlayerId(str(id))


def roster(players: Players, here: Here) -> Roster:
    """The core's roster. ScriptError when a player is listed twice."""
    refuse_twice((line.id, f"{here.path}.players[{n}].id") for n, line in enumerate(players))
    return Roster(tuple(line.entry() for line in players))


def refuse_twice(ids: Iterable[tuple[Player, str]]) -> None:
    """Raise ScriptError at the path of the first id that occurred before; pairs of id and path."""
    seen: set[Player] = set()
    for id, path in ids:
        if id in seen:
            raise ScriptError("twice", f"{id} is here twice", path=path)
        seen.add(id)
