"""The project's vocabulary, fixed once and used unchanged in SQL, JSON, SourcePawn, Lua and docs.

A *round* is one full round; a *side* is RED/BLU or Marines/Aliens, here A and B; a *split* assigns a pool of
players to the sides and the *bench*; a player is *eligible* when a split may place him.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NewType

PlayerId = NewType("PlayerId", str)
"""SteamID64 in decimal, or `bot:<userid>`."""

ServerId = NewType("ServerId", str)
RoundId = NewType("RoundId", str)
OrderId = NewType("OrderId", str)

STEAM_ID_BASE = 76561197960265728
"""SteamID64 of account 0: an NS2 account id is added to it."""


def is_bot(player: PlayerId) -> bool:
    """Bots count towards sizes; they are not rated, assigned, moved or stored."""
    return player.startswith("bot:")


class Side(Enum):
    """One of the two sides: A is RED or Marines, B is BLU or Aliens."""

    A = "a"
    B = "b"

    @property
    def other(self) -> Side:
        """The side it plays against."""
        return Side.B if self is Side.A else Side.A


TF2_SIDES = ("red", "blu")
NS2_SIDES = ("marines", "aliens")
"""What the games call A and B: their scripts write it, and rating systems tell sides apart by it."""


class Mode(Enum):
    """What decides when a scramble is due; the script reports facts, `wire.games` maps them."""

    ARENA = "arena"
    ATTACK_DEFEND = "attack_defend"
    PAYLOAD = "payload"
    KOTH = "koth"
    SYMMETRIC_CP = "symmetric_cp"
    CTF = "ctf"
    PAYLOAD_RACE = "payload_race"
    OTHER = "other"
    NS2 = "ns2"

    @property
    def sides(self) -> tuple[str, str]:
        """What its game calls A and B."""
        return NS2_SIDES if self is Mode.NS2 else TF2_SIDES


@dataclass(frozen=True, slots=True)
class Context:
    """What is played and where: what players are worth, and what is expected of them, depends on it."""

    mode: Mode
    map: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a roster: where a client is and what forbids moving him, as the script sees it."""

    id: PlayerId
    side: Side | None
    """None: on no side (spectating, unassigned, connecting or waiting)."""
    waiting: bool = False
    """On no side, but wants to play: arena's Waiting to Play, NS2's ready room."""
    alive: bool = True
    connected: float = 0.0
    """Seconds since he connected to this server."""
    immune: bool = False
    carrier: bool = False
    """Carries the objective, or commands: never moved."""
    building: bool = False
    """Has a sentry or teleporter standing."""
    charge: float = 0.0
    """Übercharge, 0 to 1; 1 also while it is in use."""

    @property
    def bot(self) -> bool:
        """True for a bot."""
        return is_bot(self.id)

    @property
    def eligible(self) -> bool:
        """A split may place him (a human on a side, or waiting to play)."""
        return not self.bot and (self.side is not None or self.waiting)


@dataclass(frozen=True, slots=True)
class Roster:
    """Everybody on a server at one moment, in the script's order."""

    entries: tuple[Entry, ...] = ()

    def get(self, player: PlayerId) -> Entry | None:
        """The player's line, None when he is not here."""
        return next((entry for entry in self.entries if entry.id == player), None)

    def on(self, side: Side) -> tuple[Entry, ...]:
        """Everybody on a side, bots too."""
        return tuple(entry for entry in self.entries if entry.side is side)

    def eligible(self) -> tuple[Entry, ...]:
        """The pool of a split: humans on a side or waiting to play."""
        return tuple(entry for entry in self.entries if entry.eligible)

    def humans(self) -> tuple[Entry, ...]:
        """Everybody but bots."""
        return tuple(entry for entry in self.entries if not entry.bot)

    def with_entry(self, entry: Entry) -> Roster:
        """The roster with this line replaced, or added at the end."""
        if self.get(entry.id) is None:
            return Roster((*self.entries, entry))
        return Roster(tuple(entry if old.id == entry.id else old for old in self.entries))

    def without(self, player: PlayerId) -> Roster:
        """The roster after the player left."""
        return Roster(tuple(entry for entry in self.entries if entry.id != player))


@dataclass(frozen=True, slots=True)
class LineupPlayer:
    """Somebody on a side at the doors."""

    id: PlayerId
    side: Side


@dataclass(frozen=True, slots=True)
class Presence:
    """What the script saw of one player during a round; `core.participation` decides what it is worth."""

    id: PlayerId
    side: Side
    """The side at the end, or when he left."""
    seconds_a: float
    seconds_b: float
    fought: bool
    """Dealt damage to somebody else, took damage, or healed somebody else."""
    left: bool = False
    """Disconnected before the end."""


@dataclass(frozen=True, slots=True)
class Round:
    """A finished round, self-contained: all that rating it needs, whenever it arrives."""

    id: RoundId
    server: ServerId
    session: str
    """Which life of a map it belongs to: only the running session counts it for its rules."""
    map: str
    mode: Mode
    started_at: float
    """Seconds since the epoch, at the doors."""
    seconds: float
    """Length from the doors to the end."""
    winner: Side | None
    """None: stalemate."""
    lineup: tuple[LineupPlayer, ...]
    presences: tuple[Presence, ...]
    captures_a: int = 0
    captures_b: int = 0
    partial: bool = False
    """The script did not see it from its doors: counted, not rated."""
    waiting: bool = False
    """Inside Waiting For Players: neither counted nor rated."""

    def captures(self, side: Side) -> int:
        """Captures by a side, added up over the round's stages."""
        return self.captures_a if side is Side.A else self.captures_b

    def lineup_of(self, side: Side) -> tuple[PlayerId, ...]:
        """Who was on a side at the doors, bots too."""
        return tuple(seat.id for seat in self.lineup if seat.side is side)

    def score(self, side: Side) -> float:
        """Outcome for a side: 1, 0.5 or 0."""
        if self.winner is None:
            return 0.5
        return 1.0 if self.winner is side else 0.0


@dataclass(frozen=True, slots=True)
class Participant:
    """A player who is rated for a round, on the side he is rated for."""

    id: PlayerId
    side: Side
    seconds_a: float = 0.0
    seconds_b: float = 0.0


@dataclass(frozen=True, slots=True)
class Split:
    """An assignment of a pool: two sides and a bench, in the pool's order."""

    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    bench: tuple[PlayerId, ...] = ()

    @property
    def size(self) -> int:
        """The team size k: of the smaller side."""
        return min(len(self.a), len(self.b))

    def side_of(self, player: PlayerId) -> Side | None:
        """Where the split puts the player; None for the bench and for strangers."""
        if player in self.a:
            return Side.A
        return Side.B if player in self.b else None

    def mirrored(self) -> Split:
        """The same teams on the other sides."""
        return Split(self.b, self.a, self.bench)


@dataclass(frozen=True, slots=True)
class PlayerSummary:
    """What a pool knows of a player: the answer to a join."""

    id: PlayerId
    rating: float
    rounds: int = 0
    visible: bool = False
    """False during the shadow period: shown to no player, full weight in every split."""
    last_played: float | None = None
    """Seconds since the epoch; None before the first rated round."""
    missing: int = 0
    """Rated rounds until it becomes visible."""
    name: str | None = None
    """What he called himself last, where it was asked for."""
    skill: float | None = None
    """What he is worth wherever he plays; None: the rating itself."""
    side_skills: tuple[float, float] | None = None
    """What he is worth on A and on B of the present ground; None: the same everywhere."""

    @property
    def balance(self) -> float:
        """What he stands for among others, whatever the side."""
        return self.rating if self.skill is None else self.skill

    def on(self, side: Side) -> float:
        """What sums of a side are made of."""
        return self.balance if self.side_skills is None else self.side_skills[side is Side.B]


@dataclass(frozen=True, slots=True)
class DueIf:
    """An outcome of the running round that would make a scramble due."""

    winner: Side | None
    """None: a stalemate."""
    shutout: bool = False
    """Only if the losing side captured nothing."""


@dataclass(frozen=True, slots=True)
class SplitCache:
    """Splits for the script to fall back on: ids strongest first, one split per team size, largest last."""

    ids: tuple[PlayerId, ...]
    splits: tuple[Split, ...]
