"""Players as lists of them arrive: who is connected, who stood at the doors, who was there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from equipoise.core import events as core
from equipoise.core.model import Entry, LineupPlayer, PlayerId, Presence, Roster, ServerId
from equipoise.errors import ScriptError
from equipoise.wire.games import SIDES, SideWord
from equipoise.wire.scalars import Count, Player, Seconds, Share

MOST_PLAYERS = 128

OnSide = SideWord | Literal["none"]
Ids = Annotated[tuple[Player, ...], Meta(max_length=MOST_PLAYERS)]


@dataclass(frozen=True, slots=True)
class Here:
    """Where an event stands: in which server's batch, at which JSON path, and the batch's time."""

    server: ServerId
    path: str
    at: float


class ScriptEvent(msgspec.Struct, frozen=True, tag_field="kind", kw_only=True):
    """What every event has."""

    at: Seconds | None = None

    def fact(self, here: Here) -> core.ScriptEvent:
        """What it means; ScriptError where the parts contradict each other."""
        raise NotImplementedError

    def time(self, here: Here) -> float:
        """The event's time, by default the batch's."""
        return here.at if self.at is None else self.at


class PlayerLine(msgspec.Struct, frozen=True):
    """One player of a roster."""

    id: Player
    side: OnSide
    waiting: bool = False
    alive: bool = True
    connected: Seconds = 0.0
    immune: bool = False
    carrier: bool = False
    building: bool = False
    charge: Share = 0.0

    def entry(self) -> Entry:
        """The core's line."""
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
        )


Players = Annotated[tuple[PlayerLine, ...], Meta(max_length=MOST_PLAYERS)]


class LineupLine(msgspec.Struct, frozen=True):
    """Somebody on a side at the doors."""

    id: Player
    side: SideWord

    def seat(self) -> LineupPlayer:
        """The core's seat."""
        return LineupPlayer(player_id(self.id), SIDES[self.side])


class SecondsOn(msgspec.Struct, frozen=True):
    """Seconds on each side."""

    red: Seconds = 0.0
    blu: Seconds = 0.0


class Captures(msgspec.Struct, frozen=True):
    """Captures by each side."""

    red: Count = field(default_factory=Count)
    blu: Count = field(default_factory=Count)


class PresenceLine(msgspec.Struct, frozen=True):
    """Somebody who was on a side at any time of a round."""

    id: Player
    side: SideWord
    seconds: SecondsOn = field(default_factory=SecondsOn)
    fought: bool = False
    left: bool = False

    def presence(self) -> Presence:
        """The core's presence."""
        return Presence(
            id=player_id(self.id),
            side=SIDES[self.side],
            seconds_a=self.seconds.red,
            seconds_b=self.seconds.blu,
            fought=self.fought,
            left=self.left,
        )


def player_id(id: Player) -> PlayerId:
    """The id as plain text."""
    return PlayerId(str(id))


def roster(players: Players, here: Here) -> Roster:
    """The core's roster; nobody may be in it twice."""
    refuse_twice((line.id, f"{here.path}.players[{n}].id") for n, line in enumerate(players))
    return Roster(tuple(line.entry() for line in players))


def refuse_twice(ids: Iterable[tuple[Player, str]]) -> None:
    """ScriptError at the path of the first id that was there before."""
    seen: set[Player] = set()
    for id, path in ids:
        if id in seen:
            raise ScriptError("twice", f"{id} is here twice", path=path)
        seen.add(id)
