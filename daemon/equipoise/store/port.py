"""What the shell offers the pool and the host: Protocols only. Nothing outside `store` knows a dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, PlayerSummary, RoundId, ServerId, Side


@dataclass(frozen=True, slots=True)
class PlayerRow:
    """A player as stored: what a rating system needs to go on from."""

    id: PlayerId
    version: int
    """Grows with every write; a copy in memory with another version is out of date."""
    rating: float
    rounds: int
    visible: bool
    last_played: float | None
    """Seconds since the epoch, at the doors of his last rated round."""
    state: Mapping[str, object]
    """The rating system's own small state, plain data."""
    history: tuple[tuple[float, float, float], ...]
    """(rating after, prediction, score) of his last rated rounds, oldest first, as many as were asked for."""
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What a round did to one participant."""

    id: PlayerId
    side: Side
    before: float
    after: float
    prediction: float
    """Win probability of his side."""
    score: float
    """1, 0.5 or 0."""
    rounds: int
    """Rated rounds after this one."""
    visible: bool
    state: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RatedRound:
    """A round's answer: the first one, however often it is sent."""

    round: RoundId
    prediction: float | None
    """Win probability of side A; None when the round was not rated."""
    changes: tuple[Change, ...]
    again: bool = False
    """The round was stored before: this is its first answer."""
    shared: Mapping[str, object] = field(default_factory=dict)
    """By key, what the round changed of what the system keeps of no single player; no part of the answer."""


@dataclass(frozen=True, slots=True)
class Known:
    """What memory has of what a round needs, by version; 0 where it has none."""

    players: Mapping[PlayerId, int]
    """Everybody whose rating the round needs."""
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Shared:
    """What a pool's rating system keeps of no single player, as stored."""

    version: int
    """Grows with every round that changes something of it."""
    parts: Mapping[str, object]
    """By key."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a pool's stored ratings were made by."""

    system: str
    params: Mapping[str, object]
    """All of the system's parameters: what JSON can say."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A line of the decision log, as stored."""

    server: ServerId
    at: float
    """Seconds since the epoch."""
    kind: str
    reason: str
    """English text."""
    order: str | None = None
    detail: Mapping[str, object] | None = None
    """Split, players, win probability before and after: plain data."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What an admin did."""

    at: float
    who: str
    """Token or player."""
    action: str
    target: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """One stored, rated round: what was predicted for side A and what happened."""

    at: float
    predicted: float
    score: float


RateRows = Callable[[Sequence[PlayerRow], Shared | None], RatedRound]
"""Rates a round, given what memory lacks or has in another version: players, what is shared. Does no I/O."""

EditRow = Callable[[PlayerRow | None], tuple[PlayerRow, Audit]]
"""Changes one player's row (None: he is unknown) and says so for the audit. Does no I/O.

The version is the store's to count, the name is not changed."""

SeeRound = Callable[[RecordRound, float], None]
"""Gets a stored, rated round as its system once got it, and what was predicted for side A. Does no I/O.

Of its presences only those of participants are known, and of them not what only rules ask for.
"""


class Replay(Protocol):
    """A rating system that begins with nobody and is given a pool's rounds again. Does no I/O."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What the ratings are made by now."""

    def rate(self, record: RecordRound) -> RatedRound:
        """The next round's new answer; RatingError when the system refuses it."""

    def player(self, player: PlayerId) -> PlayerRow:
        """Him as he stands; without rated rounds a newcomer."""

    def shared(self) -> Mapping[str, object]:
        """What is kept of no single player, as it stands, by key."""


class Store(Protocol):
    """Where players, rounds, decisions and sessions are kept. Every method may raise StoreError."""

    async def open(self) -> None:
        """Connect and migrate. StoreRefused when the store is not ours, newer than we are, or read-only."""

    async def close(self) -> None:
        """Finish what is under way and disconnect."""

    async def ping(self) -> None:
        """Fail if the store cannot be written."""

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        """Rows of known players; strangers are missing."""

    async def record(
        self,
        pool: str,
        record: RecordRound,
        known: Known,
        window: int,
        rate: RateRows,
        memory: bytes | None,
        at: float,
    ) -> RatedRound:
        """One transaction: the round, its participants, their new ratings, what the system shares, session memory.

        A round id that is stored already changes nothing and returns the first answer. `rate` gets whatever
        is stored in another version than the known one and is called inside the transaction. `at` is when the
        round first came in (seconds since the epoch): the memory of a round that waited does not replace a newer
        one. After any error nothing was written.
        """

    async def fingerprint(self, pool: str) -> Fingerprint | None:
        """What a pool's ratings are made by; None before its first start."""

    async def adopt(self, pool: str, fingerprint: Fingerprint, at: float) -> None:
        """Record what a pool's ratings are made by from now on; they stay as they are."""

    async def shared(self, pool: str) -> Shared | None:
        """What the pool's system keeps of no single player; None before the first start."""

    async def rated_rounds(self, pool: str, see: SeeRound) -> None:
        """Show every rated round of a pool, in the order in which they were applied."""

    async def recompute(self, pool: str, replay: Replay, entry: Audit) -> None:
        """One transaction: every rated round, its participants and everybody's rating as `replay` makes them.

        With them what is shared, the recipe, and a line of the audit. After any error nothing was written.
        """

    async def edit(self, pool: str, player: PlayerId, window: int, edit: EditRow) -> PlayerRow:
        """One transaction: an admin's change of a player and its line in the audit."""

    async def name(self, pool: str, player: PlayerId, name: str) -> None:
        """Remember what a player called himself last."""

    async def remember(self, server: ServerId, memory: bytes, at: float) -> None:
        """Store a server's session memory as of `at` (seconds since the epoch)."""

    async def memory(self, server: ServerId) -> bytes | None:
        """A server's session memory, None before the first."""

    async def decide(self, decision: Decision) -> None:
        """Append to the decision log."""

    async def decisions(self, server: ServerId | None, limit: int) -> Sequence[Decision]:
        """The newest decisions, newest first."""

    async def audit(self, entry: Audit) -> None:
        """Append to the audit."""

    async def audits(self, limit: int) -> Sequence[Audit]:
        """The newest audit lines, newest first."""

    async def predictions(self, pool: str, limit: int | None) -> Sequence[Prediction]:
        """The last rated rounds of a pool, without a limit all, oldest first."""

    async def summaries(self, pool: str) -> Sequence[PlayerSummary]:
        """Everybody in a pool."""

    async def top(self, pool: str, limit: int | None, *, since: float | None) -> Sequence[PlayerRow]:
        """Visible players, highest rating first, without history; `since` omits who has not played since."""

    async def rank(self, pool: str, player: PlayerId, *, since: float | None) -> tuple[int, int] | None:
        """A player's place in the whole of `top` and its length; None when he is not in it."""

    async def search(self, pool: str, text: str, limit: int) -> Sequence[PlayerRow]:
        """Players whose id or last name contains the text."""


class Clock(Protocol):
    """Time, given to the host so that its tests give it."""

    def monotonic(self) -> float:
        """Seconds that never go back; drives deadlines."""

    def epoch(self) -> float:
        """Seconds since the epoch; is stored."""
