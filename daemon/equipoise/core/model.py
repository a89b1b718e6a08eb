"""The project's vocabulary, used unchanged in SQL, JSON, SourcePawn, Lua and docs (`docs/glossary.md`).

A *round* is one full round; a *side* is RED/BLU or Marines/Aliens, here A and B; a *split* assigns players to the
sides and the *bench*; a player is *eligible* when a split may place them. All values are frozen and compare by
content: a session's effects are compared whole in tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, Flag, auto
from typing import NewType

PlayerId = NewType("PlayerId", str)
"""SteamID64 in decimal, or `bot:<userid>`."""

ServerId = NewType("ServerId", str)
RoundId = NewType("RoundId", str)
OrderId = NewType("OrderId", str)

STEAM_ID_BASE = 76561197960265728
"""SteamID64 of account 0: an NS2 account id is added to it."""

MOST_PLAYERS = 128
"""Clients of one server: more than either game takes."""


def is_bot(player: PlayerId) -> bool:
    """Bots count towards team sizes; they are never rated, assigned or moved.

    >>> is_bot(PlayerId("bot:7")), is_bot(PlayerId("76561197960265729"))
    (True, False)
    """
    return player.startswith("bot:")


class Side(Enum):
    """One of the two sides: A is RED or Marines, B is BLU or Aliens."""

    A = "a"
    B = "b"

    @property
    def other(self) -> Side:
        """B for A, and A for B."""
        return Side.B if self is Side.A else Side.A


TF2_SIDES = ("red", "blu")
NS2_SIDES = ("marines", "aliens")
"""What the games call A and B, in this order: their scripts write it, and rating systems distinguish sides by it."""


class Mode(Enum):
    """The kind of map: it decides when a scramble is due. `wire.batches` finds it from what scripts report."""

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
        """The game's words for A and B."""
        return NS2_SIDES if self is Mode.NS2 else TF2_SIDES

    @property
    def side_names(self) -> tuple[str, str]:
        """Players' names for A and B, unless the configuration has others."""
        return ("Marines", "Aliens") if self is Mode.NS2 else ("RED", "BLU")


class Immunity(Flag):
    """From what an admin is immune: what may neither move them nor keep them on a side."""

    NONE = 0
    SCRAMBLE = auto()
    """Scrambles leave them on their side, but in arena, whose sides are made anew before each round."""
    AUTOBALANCE = auto()
    """So do moves that close a gap, and swaps of sides that are too uneven."""
    LOCK = auto()
    """They are never locked to a side."""
    ALL = SCRAMBLE | AUTOBALANCE | LOCK


class Role(Enum):
    """A player's part on their side; only NS2 distinguishes commanders."""

    FIELD = "field"
    COMMANDER = "commander"


@dataclass(frozen=True, slots=True)
class Context:
    """Mode and map: what a player's skill, and so a prediction, may depend on."""

    mode: Mode
    map: str


IMMUNE = "immune"
"""Of those who are immune from scrambles, why they are held in one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a roster: where a client is and what forbids moving them, as the script sees it."""

    id: PlayerId
    side: Side | None
    """None: on no side (spectating, unassigned, connecting or waiting)."""
    waiting: bool = False
    """On no side, but wants to play: arena's Waiting to Play, NS2's ready room."""
    alive: bool = True
    connected: float = 0.0
    """Seconds since they connected to this server."""
    immune: Immunity = Immunity.NONE
    carrier: bool = False
    """Carries the objective: never moved."""
    commander: bool = False
    """NS2: sits in the command chair: never moved."""
    held: str = ""
    """Why nobody may move them: a word of the protocol, as "duel", or one that only the script knows. Empty: they are
    free."""
    forced: bool = False
    """NS2: an admin or another mod put them on this side."""
    building: bool = False
    """Has a sentry or teleporter standing."""
    charge: float = 0.0
    """A medic's übercharge, 0 to 1; 1 also while it is in use."""
    ready: bool = True
    """Has chosen a class, or the script keeps a choice for them: without one TF2 does not spawn a player. Counts in
    arena only."""
    objective: float | None = None
    """Seconds since they captured or defended what the map is about; None: they never did."""
    hive: Hive | None = None
    """NS2: the game's own skill of them; None where it is not known."""

    @property
    def bot(self) -> bool:
        """The client is a bot."""
        return is_bot(self.id)

    @property
    def eligible(self) -> bool:
        """A split may place them: a human on a side, or free and waiting to play, who is ready."""
        return not self.bot and self.ready and (self.side is not None or (self.waiting and not self.held))

    @property
    def stays(self) -> bool:
        """Splits and moves leave them on their side: bots, commanders, and who is held."""
        return self.side is not None and (self.bot or self.commander or self.held != "")

    def moved(self, side: Side | None, *, waiting: bool = False) -> Entry:
        """The line when the client is on this side, or on none: a commander who changes side has left the chair."""
        same = side is self.side
        return replace(self, side=side, waiting=waiting, commander=self.commander and same, forced=self.forced and same)


@dataclass(frozen=True, slots=True)
class Roster:
    """All clients of a server at one moment, in the script's order."""

    entries: tuple[Entry, ...] = ()

    def get(self, player: PlayerId) -> Entry | None:
        """The player's line; None when they are not here."""
        return next((entry for entry in self.entries if entry.id == player), None)

    def on(self, side: Side) -> tuple[Entry, ...]:
        """All players on a side, bots included."""
        return tuple(entry for entry in self.entries if entry.side is side)

    def commanders(self) -> frozenset[PlayerId]:
        """NS2: the players in the command chairs."""
        return frozenset(entry.id for entry in self.entries if entry.commander)

    def sizes(self) -> dict[Side, int]:
        """Players per side, bots included.

        >>> Roster((Entry(PlayerId("ann"), Side.A), Entry(PlayerId("bot:2"), Side.A))).sizes()
        {<Side.A: 'a'>: 2, <Side.B: 'b'>: 0}
        """
        return {side: len(self.on(side)) for side in Side}

    def eligible(self) -> tuple[Entry, ...]:
        """The players whom a split may place: humans who are ready, on a side or waiting to play."""
        return tuple(entry for entry in self.entries if entry.eligible)

    def humans(self) -> tuple[Entry, ...]:
        """All clients but bots, spectators included."""
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
    """A player who was on a side when the round went live."""

    id: PlayerId
    side: Side


@dataclass(frozen=True, slots=True)
class Span:
    """An unbroken stretch of a round that a player spent on one side in one role; seconds since it went live."""

    side: Side
    """The side they were on."""
    start: float
    """When it began."""
    end: float
    """When it ended."""
    role: Role = Role.FIELD
    """What they did there."""


@dataclass(frozen=True, slots=True)
class Hive:
    """NS2: the game's own skill of a player, in its points, from Steam's statistics."""

    skill: float
    """The average of both sides."""
    offset: float = 0.0
    """Skill is `skill + offset` as a marine, `skill - offset` as an alien."""
    commander: float = 0.0
    """As a commander; 0 where it is not known."""


@dataclass(frozen=True, slots=True)
class Counts:
    """A player's scores in one round, as the game counted them, and its own skill of them."""

    kills: int = 0
    """Kills of other players."""
    deaths: int = 0
    """Deaths by others, or by the world."""
    assists: int = 0
    """Assists in kills of others."""
    points: int = 0
    """The scoreboard's points."""
    classes: Mapping[str, float] = field(default_factory=dict)
    """Seconds as each class, in the game's words; classes that were not played are left out."""
    suicides: int = 0
    """Deaths by their own hand, beside `deaths`: who wants to seem weak can have as many as they like."""
    hive: Hive | None = None
    """NS2: the game's own skill of them as they came into the round; None where it is not known."""


@dataclass(frozen=True, slots=True)
class Presence:
    """One player's time in a round as the script saw it; `core.participation` decides whether it counts."""

    id: PlayerId
    side: Side
    """The side at the end, or when they left."""
    seconds_a: float
    seconds_b: float
    fought: bool
    """Damaged or healed another player, or took damage."""
    left: bool = False
    """Disconnected before the end."""
    spans: tuple[Span, ...] = ()
    """NS2: when, on which side and in which role they played; `seconds_a` and `seconds_b` are their sums."""
    counts: Counts | None = None
    """None where the script does not tell them."""


@dataclass(frozen=True, slots=True)
class Round:
    """A finished round with all that rating it needs: it may arrive days late, from a script's ring."""

    id: RoundId
    server: ServerId
    session: str
    """The map session it belongs to: it counts for the rules of that session only."""
    map: str
    mode: Mode
    started_at: float
    """When it went live, in seconds since the epoch."""
    seconds: float
    """Length from going live to the end."""
    winner: Side | None
    """None: stalemate."""
    lineup: tuple[LineupPlayer, ...]
    presences: tuple[Presence, ...]
    captures_a: int = 0
    captures_b: int = 0
    partial: bool = False
    """The script did not see it go live: it counts for the rules and is not rated."""
    waiting: bool = False
    """Inside Waiting For Players: neither counted nor rated."""
    cheats: bool = False
    """They were on at some time while it was played: it counts for the rules and is not rated."""
    squads: tuple[tuple[PlayerId, ...], ...] = ()
    """Friends who play together, as the script or the players told it; no player is in two."""
    bots: tuple[Span, ...] = ()
    """NS2: when, on which side and in which role bots played, all in one; empty where the script does not tell it."""

    @property
    def walk_out(self) -> bool:
        """Arena: a side had no lineup when the round went live, so the round was decided without being played."""
        return self.mode is Mode.ARENA and not self.partial and not all(self.lineup_of(side) for side in Side)

    def captures(self, side: Side) -> int:
        """Captures by a side, summed over the round's stages."""
        return self.captures_a if side is Side.A else self.captures_b

    def lineup_of(self, side: Side) -> tuple[PlayerId, ...]:
        """Players on a side when the round went live, bots included."""
        return tuple(player.id for player in self.lineup if player.side is side)

    def score(self, side: Side) -> float:
        """Outcome for a side: 1 for a win, 0.5 for a stalemate, 0 for a defeat."""
        return 0.5 if self.winner is None else float(self.winner is side)


@dataclass(frozen=True, slots=True)
class Participant:
    """A player who is rated for a round, on the side they are rated for."""

    id: PlayerId
    side: Side
    seconds_a: float = 0.0
    """Time on side A during the round."""
    seconds_b: float = 0.0
    spans: tuple[Span, ...] = ()
    """NS2: when, on which side and in which role they played; empty where only the times are known."""
    counts: Counts | None = None
    """None where they are not known."""


@dataclass(frozen=True, slots=True)
class Split:
    """An assignment of players to two sides and a bench, each in the roster's order.

    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> split = Split((ann,), (bob,), (cid,))
    >>> split.size, split.side_of(bob), split.side_of(cid)
    (1, <Side.B: 'b'>, None)
    """

    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    bench: tuple[PlayerId, ...] = ()

    @property
    def size(self) -> int:
        """The team size k: players on the smaller side."""
        return min(len(self.a), len(self.b))

    def side_of(self, player: PlayerId) -> Side | None:
        """The side on which the split puts a player; None: on the bench, or not in the split."""
        if player in self.a:
            return Side.A
        return Side.B if player in self.b else None

    def mirrored(self) -> Split:
        """The same teams on the other sides."""
        return Split(self.b, self.a, self.bench)


@dataclass(frozen=True, slots=True)
class SkillEstimate:
    """A number that was learnt from rounds, in rating points."""

    value: float
    """The estimate."""
    deviation: float
    """Its standard deviation: how far it is expected to be from the truth."""


@dataclass(frozen=True, slots=True)
class Skills:
    """A player's skills in a rating system that distinguishes sides and commanders."""

    average: SkillEstimate
    """Skill on the field, over both sides."""
    offset: SkillEstimate
    """How much better they are on the first of `sides` than on average; as much worse on the second."""
    sides: Mapping[str, SkillEstimate]
    """Skill on the field by side, in the game's words."""
    commander: SkillEstimate
    """Skill in the command chair."""


@dataclass(frozen=True, slots=True)
class PlayerSummary:
    """A player's rating in a pool, as the rules, scripts and admins read it."""

    id: PlayerId
    rating: float
    rounds: int = 0
    visible: bool = False
    """False during the shadow period: no player is shown the rating, but splits use it in full."""
    last_played: float | None = None
    """Seconds since the epoch; None before the first rated round."""
    missing: int = 0
    """Rated rounds until the rating becomes visible."""
    name: str | None = None
    """Their last name in the game, where it was asked for."""
    skill: float | None = None
    """The number that splits balance, regardless of side and context; None: the rating itself."""
    deviation: float | None = None
    """The standard deviation of `balance`, in its unit; None: the rating system does not know it, or was not asked."""
    side_skills: tuple[float, float] | None = None
    """Skill on A and on B in the present context; None: the same on both."""
    rated_skills: tuple[float, float] | None = None
    """The same by the system that rates, where another one makes the teams; None: `side_skills`."""
    chair_skills: tuple[float, float] | None = None
    """Skill in the command chair of A and of B; None where the system that makes the teams has none apart."""
    skills: Skills | None = None
    """None where the rating system has one skill for a player, or was not asked."""

    @property
    def balance(self) -> float:
        """The skill regardless of side, by which players are ranked."""
        return self.rating if self.skill is None else self.skill

    def on(self, side: Side) -> float:
        """The skill on a side, which splits sum up."""
        return self.balance if self.side_skills is None else self.side_skills[side is Side.B]

    def rated_on(self, side: Side) -> float:
        """The skill on a side that a rating of the round is made from."""
        return self.on(side) if self.rated_skills is None else self.rated_skills[side is Side.B]


@dataclass(frozen=True, slots=True)
class DueIf:
    """An outcome of the running round after which a scramble is due."""

    winner: Side | None
    """None: a stalemate."""
    shutout: bool = False
    """Only if the losing side captured nothing."""


@dataclass(frozen=True, slots=True)
class SplitCache:
    """The script's fallback: ids in descending order of skill, and one split per team size, the largest last."""

    ids: tuple[PlayerId, ...]
    splits: tuple[Split, ...]


EVEN_CHANCES = (0.45, 0.55)
"""Win probabilities at which players read that teams are even."""

WITHIN = 1.2815515655446004
"""Standard deviations on each side of the mean that 80 % of a normal variable lie within."""


def interval(mean: float, deviation: float) -> tuple[float, float]:
    """The ends of the 80 % interval of a normal variable.

    >>> [round(end) for end in interval(1200.0, 100.0)]
    [1072, 1328]
    """
    return mean - WITHIN * deviation, mean + WITHIN * deviation


def logistic(log_odds: float) -> float:
    """The probability of log-odds; p(x) + p(-x) is exactly 1, and nothing overflows.

    >>> logistic(0.0), logistic(2000.0), round(logistic(math.log(3.0)), 12)
    (0.5, 1.0, 0.75)
    """
    favourite = 1.0 / (1.0 + math.exp(-abs(log_odds)))
    # Without a branch, which the processor would mispredict half the time where this is compiled.
    return 0.5 + math.copysign(favourite - 0.5, log_odds)


def is_even(chance: float) -> bool:
    """Whether players read of teams with this win probability that they are even.

    >>> is_even(0.55), is_even(0.56)
    (True, False)
    """
    low, high = EVEN_CHANCES
    return low <= chance <= high


@dataclass(frozen=True, slots=True)
class Outlook:
    """A win probability, with what is known of how far the true one may be from it.

    >>> Outlook.alone(0.47).evenness
    0.94
    """

    chance: float
    """Win probability of side A, from 0 to 1, as the rating system predicts it."""
    low: float | None
    """The lower end of the 80 % interval of the true win probability; None where no uncertainty is known."""
    high: float | None
    """Its upper end."""
    unevenness: float
    """How far the true win probability is expected to be from a half, E|p - 1/2|; without an interval that of
    `chance`."""
    of_teams: float | None = None
    """`chance` without what the map and its sides are worth, which splits do not make up for; None: they are worth
    nothing."""
    unevenness_of_teams: float | None = None
    """The same of `unevenness`."""

    @property
    def teams(self) -> float:
        """The win probability by the players alone, by which teams are called even."""
        return self.chance if self.of_teams is None else self.of_teams

    @classmethod
    def alone(cls, chance: float) -> Outlook:
        """A chance without an interval."""
        return cls(chance, None, None, abs(chance - 0.5))

    @property
    def evenness(self) -> float:
        """1 - 2 · unevenness: 1 for sides that are known to be even, 0 for a decided match."""
        return 1.0 - 2.0 * self.unevenness

    def is_even(self, band: tuple[float, float]) -> bool:
        """The teams are known to be even: their chance is in the band, and the unevenness at most half its width.

        The second counts where an interval is known: the mean prediction of strangers is always near a half.

        >>> Outlook.alone(0.51).is_even((0.42, 0.58)), Outlook(0.51, 0.1, 0.9, 0.3).is_even((0.42, 0.58))
        (True, False)
        """
        least, most = band
        if not least <= self.teams <= most:
            return False
        unevenness = self.unevenness if self.unevenness_of_teams is None else self.unevenness_of_teams
        return self.low is None or unevenness <= (most - least) / 2
