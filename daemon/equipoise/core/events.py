"""Events of a session: frozen facts in the past tense, and their union.

The first group comes from the script (`wire`), the second from the shell that answers an ask: the only two ways into
a session. `at` is the script's monotonic clock in seconds. It drives durations, never deadlines, because a script
queues events while the daemon is away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.core.asks import Ask, AskChance, AskMoves, AskSide, AskSplit, AskSwitch, CacheSplits
from equipoise.core.model import (
    Mode,
    OrderId,
    Outlook,
    PlayerId,
    PlayerSummary,
    Roster,
    Round,
    RoundId,
    Side,
    Split,
)

Stayed = Mapping[PlayerId, str]
"""Players whom an order names and who could not be moved, and why: a word as `Entry.held`."""


class Phase(Enum):
    """The part of a round that is running."""

    IDLE = "idle"
    """No round: the map loads, players are waited for, a side is empty."""
    FREEZE = "freeze"
    """From the round's start until it goes live: setup time, freeze time."""
    RUNNING = "running"
    OVER = "over"
    """Between a round's end and the next start."""


# From the script.

Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
"""A whole number as JSON holds it: a double, which is all that Lua has, counts exactly up to its end."""


class TimedEvent(msgspec.Struct, frozen=True, tag_field="kind"):
    """Base of the events that are the same in every game and in the protocol; `wire` reads them as they are."""

    at: Seconds | None = None
    """When it happened, in seconds of the script's monotonic clock; by default the batch's time, set by `wire`."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A script introduces itself: at its start, at every map's start, and when asked."""

    at: float
    session: str
    """An identifier that the script makes at each map start."""
    map: str
    mode: Mode
    phase: Phase
    waiting: bool = False
    """Waiting For Players is on."""
    late: bool = False
    """Loaded in the middle of a map."""
    inactive_reason: str = ""
    """Why the script carries no orders out, by the game's own rules: a word of the protocol as "mvm"; else empty."""
    due: bool = False
    """Waiting For Players ended while the daemon was away, and its scramble was not carried out."""


@dataclass(frozen=True, slots=True)
class RosterSeen:
    """Every connected player and their side: replaces what the session believed."""

    at: float
    roster: Roster
    ends_in: float | None = None
    """Seconds until the round ends, where that is known."""
    no_moves: str = ""
    """Why nobody may be moved in the running round now: a word of the protocol, as "sudden_death". Empty: they may."""
    map_ends_in: float | None = None
    """Seconds until the map's time is over; None: it has no limit, or none is known."""


@dataclass(frozen=True, slots=True)
class PlayerJoined:
    """A player is connected and their id is known."""

    at: float
    id: PlayerId


@dataclass(frozen=True, slots=True)
class PlayerLeft:
    """A player disconnected; their lock stays."""

    at: float
    id: PlayerId


@dataclass(frozen=True, slots=True)
class SideChanged:
    """A player is on another side, or on none."""

    at: float
    id: PlayerId
    side: Side | None
    waiting: bool = False
    ready: bool = True
    """As in `Entry`; a change of this or of `held` alone comes with the same side."""
    held: str = ""


@dataclass(frozen=True, slots=True)
class SideWanted:
    """A player asks for a side; the script holds them until the answer comes."""

    at: float
    id: PlayerId
    side: Side | None
    """None: any."""


class SidesSwitched(TimedEvent, frozen=True, tag="sides_switched"):
    """The game swapped the sides: groups stay together, colours change. Comes before rosters that show it."""


class WaitingEnded(TimedEvent, frozen=True, tag="waiting_ended"):
    """Waiting For Players is over: its time has passed, or an admin cancelled it."""


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A round's freeze or setup time began: the moment a scramble is carried out."""

    at: float
    roster: Roster


@dataclass(frozen=True, slots=True)
class RoundLive:
    """The round goes live: the moment of its lineup."""

    at: float
    round: RoundId
    roster: Roster


class RoundAborted(TimedEvent, frozen=True, tag="round_aborted"):
    """NS2: the freeze ended without a round, because a side lost its commander."""


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """A full round ended. Self-contained: it is rated the same whenever it arrives."""

    at: float
    round: Round


@dataclass(frozen=True, slots=True)
class ScrambledAlone:
    """The script applied a cached split because the daemon did not answer."""

    at: float
    split: Split


@dataclass(frozen=True, slots=True)
class OrderDone:
    """An order was carried out, but for players who could not be moved."""

    at: float
    order: OrderId
    stayed: Stayed = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrderFailed:
    """An order could not be carried out; `reason` is one of the protocol's words, "left" or "dead_end"."""

    at: float
    order: OrderId
    reason: str
    stayed: Stayed = field(default_factory=dict)
    """Because of whom: nobody was moved."""


class VoteEnded(TimedEvent, frozen=True, tag="vote_ended", kw_only=True):
    """The time of a vote is over, or all have voted."""

    order: Annotated[OrderId, Meta(min_length=1, max_length=64)]
    yes: Count
    """Votes for it."""
    no: Count
    """Votes against it."""


@dataclass(frozen=True, slots=True)
class Commanded:
    """A command came from a player, from the server's console or through the admin API."""

    at: float
    words: tuple[str, ...]
    """The command without its prefix, then its arguments: ("scramble", "now")."""
    by: PlayerId | None
    """None: the console or the admin API."""
    admin: bool
    outside: bool = False
    """Through the admin API, whose callers have tokens of their own. Else the script says who typed it, and that they
    are an admin."""


class Heartbeat(TimedEvent, frozen=True, tag="heartbeat"):
    """The script is alive; no other event came since its last batch."""


# Answers from the shell.


@dataclass(frozen=True, slots=True)
class SummariesLoaded:
    """Answers `LoadSummaries`; also sent when ratings of known players changed."""

    summaries: tuple[PlayerSummary, ...]


@dataclass(frozen=True, slots=True)
class SplitSolved:
    """Answers `AskSplit` with the split and the win probabilities that it changes."""

    ask: AskSplit
    split: Split
    difference: float | None
    """Sum of A minus sum of B, in rating points; None for a split from the cache. Without commanders where the rating
    system counts those apart."""
    before: Outlook | None
    """Of the sides before the split; None when one was empty."""
    after: Outlook | None
    """Of the sides after the split; None for a split from the cache."""
    spread_before: tuple[float, float] | None = None
    """Standard deviations of the skills on A and on B before the split, in points; None when a side was empty."""
    spread_after: tuple[float, float] | None = None
    """The same after the split; None for a split from the cache."""
    friends: bool = False
    """NS2: the sides are not even, and would be if these players were no friends."""
    chairs: float = 0.0
    """NS2: the points between the two commanders, where the sides would be even with commanders alike; else 0."""
    likely: tuple[PlayerId, ...] = ()
    """NS2: the two who are taken for commanders in `after`, while a chair is free."""

    def moved(self) -> tuple[PlayerId, ...]:
        """The humans whose place the split changes: their side, or whether they play."""
        entries = (entry for entry in self.ask.entries if not entry.bot)
        return tuple(entry.id for entry in entries if self.split.side_of(entry.id) is not entry.side)


@dataclass(frozen=True, slots=True)
class MovesSolved:
    """Answers `AskMoves`: the players who go to the smaller side."""

    ask: AskMoves
    players: tuple[PlayerId, ...]


@dataclass(frozen=True, slots=True)
class SplitsCached:
    """Answers `CacheSplits`: one split per team size, largest last."""

    ask: CacheSplits
    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True)
class SideFound:
    """Answers `AskSide` with the side that the joiner goes to."""

    ask: AskSide
    side: Side


@dataclass(frozen=True, slots=True)
class SwitchJudged:
    """Answers `AskSwitch` with the win probability of side A at equal numbers, from 0 to 1."""

    ask: AskSwitch
    before: float
    """If the player stays."""
    after: float
    """If they change side."""


@dataclass(frozen=True, slots=True)
class ChanceFound:
    """Answers `AskChance`: how even the sides are, and how sure that is."""

    ask: AskChance
    outlook: Outlook


@dataclass(frozen=True, slots=True)
class SolveFailed:
    """An ask has no answer: its constraints allow none, or answering it failed; `reason` says why."""

    ask: Ask
    reason: str


ScriptEvent = (
    Hello
    | RosterSeen
    | PlayerJoined
    | PlayerLeft
    | SideChanged
    | SideWanted
    | SidesSwitched
    | WaitingEnded
    | RoundStarted
    | RoundLive
    | RoundAborted
    | RoundEnded
    | ScrambledAlone
    | OrderDone
    | OrderFailed
    | VoteEnded
    | Commanded
    | Heartbeat
)
Answer = (
    SummariesLoaded | SplitSolved | MovesSolved | SideFound | SwitchJudged | SplitsCached | ChanceFound | SolveFailed
)
Event = ScriptEvent | Answer
