"""What a session remembers across a daemon's restart: stored beside its rounds, restored before its first event.

Times are the session's `now`: seconds that never go back within a process and mean the same in the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from equipoise.core.model import Context, Mode, PlayerId, RoundId, Side
from equipoise.core.phrases import Text
from equipoise.core.triggers import Tally

COUNTED_ROUNDS = 32
"""Ids of counted rounds that are kept: far more than a script's ring sends again."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A player is kept on the side he was placed on."""

    side: Side
    until: float | None
    """None: until the next scramble."""

    def holds(self, now: float) -> bool:
        """Whether it still binds."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Benched:
    """How often somebody sat out in this session, and when last."""

    times: int
    round: int


@dataclass(frozen=True, slots=True)
class Memory:
    """One server's session between two events."""

    session: str = ""
    """Empty: no map was ever announced."""
    map: str = ""
    mode: Mode = Mode.OTHER
    tally: Tally = field(default_factory=Tally)
    counted: tuple[RoundId, ...] = ()
    """The last rounds that were counted, oldest first: a round sent again is not counted twice."""
    pending: Text | None = None
    """Why a scramble is due."""
    locks: Mapping[PlayerId, Kept] = field(default_factory=dict)
    benched: Mapping[PlayerId, Benched] = field(default_factory=dict)
    moved: Mapping[PlayerId, float] = field(default_factory=dict)
    """When autobalance moved whom last; outlives the map."""
    orders: int = 0
    """Orders given so far: the next one's number."""
    enabled: bool = True

    @property
    def context(self) -> Context:
        """What is played and where."""
        return Context(self.mode, self.map)

    def next_map(self, session: str, map: str, mode: Mode) -> Memory:
        """A new map is a new session: only recent moves, the order numbers and the switch stay."""
        return Memory(session, map, mode, moved=self.moved, orders=self.orders, enabled=self.enabled)

    def count(self, round: RoundId, tally: Tally) -> Memory:
        """One more round is counted."""
        return replace(self, tally=tally, counted=(*self.counted, round)[-COUNTED_ROUNDS:])

    def bench(self, players: tuple[PlayerId, ...]) -> Memory:
        """These sit out the round that starts now."""
        benched = dict(self.benched)
        for player in players:
            times = benched[player].times if player in benched else 0
            benched[player] = Benched(times + 1, self.tally.completed + 1)
        return replace(self, benched=benched)

    def lock(self, sides: Mapping[PlayerId, Side], until: float | None) -> Memory:
        """Keep players where they were placed."""
        kept = {player: Kept(side, until) for player, side in sides.items()}
        return replace(self, locks={**self.locks, **kept})

    def switched(self) -> Memory:
        """The game swapped the colours: locks and the streak follow the group."""
        locks = {player: Kept(kept.side.other, kept.until) for player, kept in self.locks.items()}
        return replace(self, locks=locks, tally=self.tally.switched())

    def without_expired(self, now: float, spare_seconds: float) -> Memory:
        """The same without locks and moves that no longer bind."""
        locks = {player: kept for player, kept in self.locks.items() if kept.holds(now)}
        moved = {player: at for player, at in self.moved.items() if now - at < spare_seconds}
        return replace(self, locks=locks, moved=moved)
