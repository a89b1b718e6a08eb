"""The batch as a game script writes it: one struct per kind of event, which makes the event of the core.

Only what a newer script may add is ignored: unknown fields. An unknown kind of event is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from equipoise.core import events as core
from equipoise.core.events import Count, Seconds
from equipoise.core.model import (
    MOST_PLAYERS,
    Counts,
    Entry,
    Hive,
    Immunity,
    LineupPlayer,
    Mode,
    OrderId,
    PlayerId,
    Presence,
    Role,
    Roster,
    Round,
    RoundId,
    ServerId,
    Side,
    Span,
    Split,
    is_bot,
)
from equipoise.errors import ScriptError
from equipoise.wire.scalars import SIDES, Caller, Fraction, GameName, Line, MapName, Player, SideWord, Version, Word

ModeName = Literal["arena", "attack_defend", "payload", "koth", "symmetric_cp", "ctf", "payload_race", "other"]
"""The modes that a script of another game may state: all but NS2's own."""


class Facts(msgspec.Struct, frozen=True):
    """Rules of a map as the script knows them: TF2's own description, or the mode itself."""

    game_type: Count = 0
    """`m_nGameType`."""
    koth: bool = False
    """TF2: `m_bPlayingKoth`."""
    multiple_trains: bool = False
    """TF2: `m_bMultipleTrains`."""
    attack_defend: bool = False
    """Control points: RED owns all of them at the start, or the map switches teams on a win."""
    mode: ModeName = "other"
    """Read of the game `other` alone, whose script states the mode."""


def mode_of(game: GameName, facts: Facts) -> Mode:
    """The mode of a map; TF2's from `m_nGameType`: 1 CTF, 2 control points, 3 escort, 4 arena, else without rules."""
    if game != "tf2":
        return Mode.NS2 if game == "ns2" else Mode(facts.mode)
    match facts.game_type:
        case 1:
            return Mode.CTF
        case 2 if facts.koth:
            return Mode.KOTH
        case 2:
            return Mode.ATTACK_DEFEND if facts.attack_defend else Mode.SYMMETRIC_CP
        case 3:
            return Mode.PAYLOAD_RACE if facts.multiple_trains else Mode.PAYLOAD
        case 4:
            return Mode.ARENA
        case _:
            return Mode.OTHER


# Lists of players on the wire: a roster, a round's lineup, and who was on a side during a round.

OnSide = SideWord | Literal["none"]
MOST_SPANS = 256
"""Spans of one player in one round: far more changes of side and chair than anybody makes."""
MOST_COUNTED = 10_000
"""Of one thing that one player did in one round; a number above it is no count."""
IMMUNITIES = {
    "scramble": Immunity.SCRAMBLE,
    "autobalance": Immunity.AUTOBALANCE,
    "lock": Immunity.LOCK,
}
"""The words of `immune_from`."""
MOST_IMMUNITIES = 16
"""A newer script may know more of them."""
MOST_POINTS = 100_000.0
"""Of the game's own skill; the best have some 5,000."""
CLOCK_SLACK = 1.0
"""Seconds by which the sum of a player's classes may exceed their time on the sides: both are rounded."""

Ids = Annotated[tuple[Player, ...], Meta(max_length=MOST_PLAYERS)]


@dataclass(frozen=True, slots=True)
class Here:
    """Origin of an event: the server, its JSON path, and the batch's time on the script's clock."""

    server: ServerId
    path: str
    at: float


class ScriptEvent(core.TimedEvent, frozen=True, kw_only=True):
    """Base of the kinds of event in which sides, players, clocks or Lua's numbers are translated."""

    def fact(self, here: Here) -> core.ScriptEvent:
        """The core's event. ScriptError where parts of it contradict each other."""
        raise NotImplementedError

    def time(self, here: Here) -> float:
        """The event's time, by default the batch's; seconds."""
        return here.at if self.at is None else self.at


class HiveLine(msgspec.Struct, frozen=True):
    """NS2: the game's own skill of a player, in its points, where it knows one."""

    skill: Annotated[float, Meta(ge=0, le=MOST_POINTS)]
    """The average of both sides."""
    offset: Annotated[float, Meta(ge=-MOST_POINTS, le=MOST_POINTS)] = 0.0
    """What they are better by as a marine, and worse as an alien."""
    commander: Annotated[float, Meta(ge=0, le=MOST_POINTS)] = 0.0
    """As a commander; 0: it is not known."""

    def hive(self) -> Hive:
        return Hive(self.skill, self.offset, self.commander)


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
    """An admin who is not moved: where `immune_from` is not told, they are immune from everything."""
    immune_from: Annotated[tuple[Word, ...], Meta(max_length=MOST_IMMUNITIES)] | None = None
    """What alone they are immune from; a word that is not known counts for nothing."""
    carrier: bool = False
    """The player carries the objective, or commands: they are never moved."""
    commander: bool = False
    """NS2: sits in the command chair."""
    forced: bool = False
    """NS2: an admin or another mod put them on this side."""
    building: bool = False
    """The player has a sentry or teleporter standing."""
    charge: Fraction = 0.0
    """Übercharge, 0 to 1."""
    ready: bool = True
    """The player has chosen a class, or the script keeps a choice for them."""
    held: Word | None = None
    """Why nobody may move the player: a word of docs/protocol.md."""
    objective: Seconds | None = None
    """Seconds since the player captured or defended an objective; None: they never did."""
    hive: HiveLine | None = None
    """NS2: the game's own skill of the player; None: it knows none."""

    def entry(self) -> Entry:
        return Entry(
            id=player_id(self.id),
            side=SIDES.get(self.side),
            waiting=self.waiting,
            alive=self.alive,
            connected=self.connected,
            immune=self._immunity(),
            carrier=self.carrier,
            commander=self.commander,
            forced=self.forced,
            building=self.building,
            charge=self.charge,
            ready=self.ready,
            held=str(self.held or ""),
            objective=self.objective,
            hive=None if self.hive is None else self.hive.hive(),
        )

    def _immunity(self) -> Immunity:
        if self.immune_from is None:
            return Immunity.ALL if self.immune else Immunity.NONE
        return reduce(or_, (IMMUNITIES[word] for word in self.immune_from if word in IMMUNITIES), Immunity.NONE)


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

    red: Count = 0
    """Captures of side A: RED, Marines."""
    blu: Count = 0
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
        """Seconds by class, without classes that were not played."""
        return {name: seconds for name, seconds in msgspec.structs.asdict(self).items() if seconds}


class CountsLine(msgspec.Struct, frozen=True):
    """A player's scores in this round alone, as the game counted them."""

    kills: Count = 0
    """Kills of other players."""
    deaths: Count = 0
    """Deaths by others, or by the world."""
    assists: Count = 0
    """Assists in kills of others."""
    points: Count = 0
    """The scoreboard's points."""
    classes: ClassSeconds = field(default_factory=ClassSeconds)
    """How long they played each class, dead or alive."""
    suicides: Count = 0
    """Deaths by their own hand."""
    hive: HiveLine | None = None
    """NS2: the game's own skill of the player as they came into the round."""

    def counts(self) -> Counts:
        hive = None if self.hive is None else self.hive.hive()
        numbers = self.kills, self.deaths, self.assists, self.points
        return Counts(*numbers, self.classes.played(), self.suicides, hive)

    def fault(self, seconds: float) -> str | None:
        """Name a count that is impossible for a player who was on a side for so long; None: there is none."""
        for name in ("kills", "deaths", "assists", "points", "suicides"):
            if (number := getattr(self, name)) > MOST_COUNTED:
                return f"{name} of one round are at most {MOST_COUNTED:,}, not {number:,}"
        seconds_as_classes = sum(self.classes.played().values())
        if seconds_as_classes > seconds + CLOCK_SLACK:
            return f"classes were played for {seconds_as_classes:g} s, and the player was on a side for {seconds:g} s"
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
        """Name a count of the player that is impossible; None: there is none."""
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


def player_id(player: Player) -> PlayerId:
    """The id as the core's type."""
    return PlayerId(str(player))


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
    for player, path in ids:
        if player in seen:
            raise ScriptError("twice", f"{player} is here twice", path=path)
        seen.add(player)


def refuse_spans(spans: tuple[SpanLine, ...], seconds: float, path: str) -> None:
    """Raise ScriptError at the path of a span that is no part of a round of so many seconds, or that overlaps one.

    Spans may touch and come in any order. Refusing the round is better than rating it by a part of what was played.
    """
    for n, span in enumerate(spans):
        if span.end < span.start:
            raise ScriptError("spans", f"the span ends before it begins, at {span.start:g} s", path=f"{path}[{n}].to")
        # Exactly: a script reckons both from the same moments.
        if span.end > seconds:
            text = f"the span ends at {span.end!r} s and the round at {seconds!r} s"
            raise ScriptError("spans", text, path=f"{path}[{n}].to")
    in_order = sorted(range(len(spans)), key=lambda n: (spans[n].start, spans[n].end))
    for before, n in pairwise(in_order):
        if spans[n].start < spans[before].end:
            text = f"the span overlaps another of the player, which ends at {spans[before].end!r} s"
            raise ScriptError("spans", text, path=f"{path}[{n}].from")


# A finished round as a script reports it: everything that rating it needs, in one event.


class RoundEnded(ScriptEvent, frozen=True, tag="round_ended", kw_only=True):
    """A full round with all that rating it needs; the fields are those of docs/protocol.md."""

    round: Word
    session: Word
    """Names one map on one server."""
    map: MapName
    """The map's name."""
    game: GameName
    """Which game it is."""
    facts: Facts = field(default_factory=Facts)
    """Facts of the map's rules, as the script knows them."""
    started_at: Seconds
    """When the round went live, in seconds since the epoch."""
    seconds: Seconds
    """From live to the end."""
    winner: OnSide
    """The side that won; `none`: a stalemate."""
    captures: Captures = field(default_factory=Captures)
    """Captures of each side, over all stages."""
    partial: bool = False
    """The script did not see the round go live."""
    waiting: bool = False
    """It was played inside Waiting For Players."""
    cheats: bool = False
    """They were on at some time while it was played."""
    lineup: Annotated[tuple[LineupLine, ...], Meta(max_length=MOST_PLAYERS)]
    """Who stood on the sides when the round went live."""
    players: Annotated[tuple[PresenceLine, ...], Meta(max_length=MOST_PLAYERS)]
    """Every human who was on a side at any time; in NS2 every bot too."""
    squads: Annotated[tuple[Ids, ...], Meta(max_length=MOST_PLAYERS)] = ()
    """Friends who play together."""

    def fact(self, here: Here) -> core.RoundEnded:
        return core.RoundEnded(self.time(here), self.finished(here))

    def finished(self, here: Here) -> Round:
        """The round.

        ScriptError when a player is twice in its lineup, among its players or in its squads, and for wrong spans.
        """
        # These would make a match that no rating system takes; what is only odd (a count) is left out instead.
        refuse_twice((seat.id, f"{here.path}.lineup[{n}].id") for n, seat in enumerate(self.lineup))
        refuse_twice((line.id, f"{here.path}.players[{n}].id") for n, line in enumerate(self.players))
        refuse_twice(
            (player, f"{here.path}.squads[{n}][{m}]")
            for n, ids in enumerate(self.squads)
            for m, player in enumerate(ids)
        )
        mode = mode_of(self.game, self.facts)
        for n, line in enumerate(self.players):
            path = f"{here.path}.players[{n}].spans"
            if line.spans and mode is not Mode.NS2:
                raise ScriptError("spans", f"rounds of the game {self.game} have no spans, only seconds", path=path)
            refuse_spans(line.spans, self.seconds, path)
        return Round(
            id=RoundId(str(self.round)),
            server=here.server,
            session=str(self.session),
            map=str(self.map),
            mode=mode,
            started_at=self.started_at,
            seconds=self.seconds,
            winner=SIDES.get(self.winner),
            lineup=tuple(seat.seat() for seat in self.lineup),
            presences=tuple(line.presence() for line in self.players),
            captures_a=self.captures.red,
            captures_b=self.captures.blu,
            partial=self.partial,
            waiting=self.waiting,
            cheats=self.cheats,
            squads=self._squads(),
            bots=tuple(span.span() for line in self.players if is_bot(player_id(line.id)) for span in line.spans),
        )

    def _squads(self) -> tuple[tuple[PlayerId, ...], ...]:
        """The squads as far as they played: of two humans or more."""
        players = {player_id(line.id) for line in self.players}
        squads = (
            tuple(player for player in map(player_id, ids) if player in players and not is_bot(player))
            for ids in self.squads
        )
        return tuple(squad for squad in squads if len(squad) > 1)


# The same round as a program submits it: a field that this version does not know is refused. A script that is newer
# than the daemon may add fields, and a refusal would cost it the round. A program's unknown field is a misspelt one,
# and a round that was rated without it would be wrong for good.


class StrictFacts(Facts, frozen=True, forbid_unknown_fields=True):
    """Facts of a map, and no others."""


class StrictCaptures(Captures, frozen=True, forbid_unknown_fields=True):
    """Captures by the two sides, and nothing else."""


class StrictSecondsOn(SecondsOn, frozen=True, forbid_unknown_fields=True):
    """Seconds on the two sides, and nothing else."""


class StrictLineupLine(LineupLine, frozen=True, forbid_unknown_fields=True):
    """A player of the lineup, without unknown fields."""


class StrictSpanLine(SpanLine, frozen=True, forbid_unknown_fields=True):
    """A stretch of a round, without unknown fields."""


class StrictClassSeconds(ClassSeconds, frozen=True, forbid_unknown_fields=True):
    """Seconds as each class, and no other class."""


class StrictHiveLine(HiveLine, frozen=True, forbid_unknown_fields=True):
    """The game's own skill, without unknown fields."""


class StrictCountsLine(CountsLine, frozen=True, forbid_unknown_fields=True):
    """A player's scores, without unknown fields."""

    classes: StrictClassSeconds = field(default_factory=StrictClassSeconds)
    hive: StrictHiveLine | None = None


class StrictPresenceLine(PresenceLine, frozen=True, forbid_unknown_fields=True):
    """A player's part in the round, without unknown fields."""

    seconds: StrictSecondsOn = field(default_factory=StrictSecondsOn)
    spans: Annotated[tuple[StrictSpanLine, ...], Meta(max_length=MOST_SPANS)] = ()
    counts: StrictCountsLine | None = None


class RoundSubmitted(RoundEnded, frozen=True, forbid_unknown_fields=True, tag="round_ended", kw_only=True):
    """A whole round, without unknown fields in any of its parts."""

    facts: StrictFacts = field(default_factory=StrictFacts)
    captures: StrictCaptures = field(default_factory=StrictCaptures)
    lineup: Annotated[tuple[StrictLineupLine, ...], Meta(max_length=MOST_PLAYERS)]
    players: Annotated[tuple[StrictPresenceLine, ...], Meta(max_length=MOST_PLAYERS)]

    def finished(self, here: Here) -> Round:
        """The round. ScriptError for counts that cannot be, too: a program can mend what it sends."""
        for n, line in enumerate(self.players):
            if (fault := line.fault()) is not None:
                raise ScriptError("counts", fault, path=f"{here.path}.players[{n}].counts")
        return super().finished(here)


MOST_EVENTS = 256
"""Events of one batch."""

Wanted = SideWord | Literal["any"]

InactiveReason = Literal["", "mvm", "tournament", "training", "mannpower", "hell", "shuffle", "damaged"]
"""What a script finds in the game's own rules, and NS2's also in other mods: `shuffle` is one that shuffles teams
itself, `damaged` that files of the script are cut. Maps by name are the daemon's (`core.rules`)."""


Unranked = Literal["", "cheats", "slots", "spectators", "mods"]
"""What keeps an NS2 server from being ranked by the game, the first that holds of what its engine looks at."""


class Hello(ScriptEvent, frozen=True, tag="hello", kw_only=True):
    """A script introduces itself; `plugin` and `unranked` go beside the event, `slots` is for later use."""

    plugin: Word
    """The script's version."""
    game: GameName
    """Which game it is."""
    map: MapName
    """The map's name."""
    session: Word
    """Names one map on one server."""
    phase: core.Phase
    """The phase of the round."""
    slots: Count = 0
    """Places for players on the server."""
    waiting: bool = False
    """Waiting For Players is on."""
    late: bool = False
    """The script was loaded in the middle of a map."""
    due: bool = False
    """Waiting For Players ended while the daemon did not answer, and its scramble was not carried out."""
    inactive_reason: InactiveReason = ""
    """Why the script gives no orders on this map, by the game's own rules; empty: it does."""
    unranked: Unranked = ""
    """NS2: why the game does not rank its rounds; empty: it does, or that is not known."""
    facts: Facts = field(default_factory=Facts)
    """Facts of the map's rules, as the script knows them."""

    def fact(self, here: Here) -> core.Hello:
        return core.Hello(
            at=self.time(here),
            session=str(self.session),
            map=str(self.map),
            mode=mode_of(self.game, self.facts),
            phase=self.phase,
            waiting=self.waiting,
            late=self.late,
            due=self.due,
            inactive_reason=self.inactive_reason,
        )


class RosterSeen(ScriptEvent, frozen=True, tag="roster", kw_only=True):
    """Every connected client; replaces what the daemon knew of the roster."""

    players: Players
    """Every connected client."""
    ends_in: Seconds | None = None
    """Seconds to a known end of the round."""
    moves: Literal["yes", "no"] = "yes"
    """Whether players may be moved in the running round now."""
    moves_reason: Word | None = None
    """Why players may not be moved now: a word of docs/protocol.md."""
    map_ends_in: Seconds | None = None
    """Seconds until the map's time is over."""

    def fact(self, here: Here) -> core.RosterSeen:
        # The core knows one field: a reason, or that there is none.
        no_moves = str(self.moves_reason or "no") if self.moves == "no" else ""
        players = roster(self.players, here)
        return core.RosterSeen(self.time(here), players, self.ends_in, no_moves, self.map_ends_in)


class PlayerJoined(ScriptEvent, frozen=True, tag="player_joined", kw_only=True):
    """A player is connected and authorised; `name` goes beside the event."""

    id: Player
    name: Line = field(default_factory=Line)
    """The name that the player uses."""

    def fact(self, here: Here) -> core.PlayerJoined:
        return core.PlayerJoined(self.time(here), player_id(self.id))


class PlayerLeft(ScriptEvent, frozen=True, tag="player_left", kw_only=True):
    """A player disconnected from the server."""

    id: Player

    def fact(self, here: Here) -> core.PlayerLeft:
        return core.PlayerLeft(self.time(here), player_id(self.id))


class SideChanged(ScriptEvent, frozen=True, tag="side_changed", kw_only=True):
    """A player changed side, left their side to watch or wait, or became ready."""

    id: Player
    side: OnSide
    """Where they are."""
    waiting: bool = False
    """Wants to play but has no side."""
    ready: bool = True
    """The player has chosen a class, or the script keeps a choice for them."""
    held: Word | None = None
    """Why nobody may move the player: a word of docs/protocol.md."""

    def fact(self, here: Here) -> core.SideChanged:
        player, side = player_id(self.id), SIDES.get(self.side)
        return core.SideChanged(self.time(here), player, side, self.waiting, self.ready, str(self.held or ""))


class SideWanted(ScriptEvent, frozen=True, tag="side_wanted", kw_only=True):
    """A player asks for a side."""

    id: Player
    side: Wanted
    """Which side they ask for; `any`: whichever the daemon says."""

    def fact(self, here: Here) -> core.SideWanted:
        return core.SideWanted(self.time(here), player_id(self.id), SIDES.get(self.side))


class RoundStarted(ScriptEvent, frozen=True, tag="round_started", kw_only=True):
    """Freeze or setup time began."""

    players: Players
    """Every connected client."""

    def fact(self, here: Here) -> core.RoundStarted:
        return core.RoundStarted(self.time(here), roster(self.players, here))


class RoundLive(ScriptEvent, frozen=True, tag="round_live", kw_only=True):
    """The round goes live; `players` holds its lineup."""

    round: Word
    players: Players
    """Every connected client; those on a side are the lineup."""

    def fact(self, here: Here) -> core.RoundLive:
        return core.RoundLive(self.time(here), RoundId(str(self.round)), roster(self.players, here))


class ScrambledAlone(ScriptEvent, frozen=True, tag="scrambled_alone", kw_only=True):
    """A cached split was applied while the daemon did not answer."""

    red: Ids
    """Who went to side A."""
    blu: Ids
    """Who went to side B."""
    bench: Ids = ()
    """Players who sit out."""

    def fact(self, here: Here) -> core.ScrambledAlone:
        parts = {"red": self.red, "blu": self.blu, "bench": self.bench}
        refuse_twice(
            (player, f"{here.path}.{part}[{n}]") for part, ids in parts.items() for n, player in enumerate(ids)
        )
        a, b, bench = (tuple(player_id(player) for player in ids) for ids in parts.values())
        return core.ScrambledAlone(self.time(here), Split(a, b, bench))


class OrderDone(ScriptEvent, frozen=True, tag="order_done", kw_only=True):
    """The script has carried out an order of this id."""

    order: Word
    stayed: Stayed = ()
    """Players whom the order names and who could not be moved."""

    def fact(self, here: Here) -> core.OrderDone:
        return core.OrderDone(self.time(here), OrderId(str(self.order)), stayed(self.stayed, here))


class OrderFailed(ScriptEvent, frozen=True, tag="order_failed", kw_only=True):
    """An order could not be carried out; `reason` is one of the words in docs/protocol.md."""

    order: Word
    reason: Word
    """A short word of docs/protocol.md."""
    stayed: Stayed = ()
    """Players whom the order names and who could not be moved."""

    def fact(self, here: Here) -> core.OrderFailed:
        order = OrderId(str(self.order))
        return core.OrderFailed(self.time(here), order, str(self.reason), stayed(self.stayed, here))


class Commanded(ScriptEvent, frozen=True, tag="command", kw_only=True):
    """A player, or the server's console if `by` is empty, typed a command."""

    words: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=16)]
    """The command and its arguments."""
    by: Caller
    """The player who typed it; empty for the server's console."""
    admin: bool = False
    """The script vouches that this player is an admin."""

    def fact(self, here: Here) -> core.Commanded:
        words = tuple(str(word) for word in self.words)
        return core.Commanded(self.time(here), words, player_id(self.by) if self.by else None, self.admin)


AnyEvent = (
    Hello
    | RosterSeen
    | PlayerJoined
    | PlayerLeft
    | SideChanged
    | SideWanted
    | core.SidesSwitched
    | core.WaitingEnded
    | RoundStarted
    | RoundLive
    | core.RoundAborted
    | RoundEnded
    | ScrambledAlone
    | OrderDone
    | OrderFailed
    | core.VoteEnded
    | Commanded
    | core.Heartbeat
)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Events of one script in order, with the number of the batch within the boot."""

    v: Version
    """Version of the protocol."""
    server: Word
    boot: Count
    """Names one start of the script: a number that no other start ever had."""
    seq: Annotated[int, Meta(ge=1, le=2**53)]
    """Number of the batch within the boot."""
    at: Seconds
    """When it was made, in seconds of the script's monotonic clock."""
    dropped: Count = 0
    """Finished rounds that fell out of the script's full ring since the last answered batch."""
    events: Annotated[tuple[AnyEvent, ...], Meta(max_length=MOST_EVENTS)]
    """The events, in order."""
