"""What a session knows at one moment: its memory, and what a restart may forget.

The modules that decide (`scrambles`, `gaps`, `places`, `commands`) read and change it; `session` alone hands it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from equipoise.core.effects import AskMoves, AskSplit, CacheSplits, Effect, Lock, Move
from equipoise.core.events import Phase, SideWanted, SplitSolved
from equipoise.core.memory import Kept, Memory
from equipoise.core.model import (
    Card,
    Entry,
    Mode,
    OrderId,
    PlayerId,
    Roster,
    RoundId,
    Side,
    Split,
    SplitCache,
)
from equipoise.core.rules import Rules

Effects = tuple[Effect, ...]


@dataclass(slots=True)
class State:
    """One server's session; changed only while an event is received."""

    rules: Rules
    memory: Memory
    phase: Phase = Phase.IDLE
    known: bool = False
    """The script has introduced itself since this process started."""
    waiting: bool = False
    aside: str = ""
    roster: Roster = field(default_factory=Roster)
    version: int = 0
    """Grows when anybody comes, goes or changes side: answers to older questions no longer hold."""
    cards: dict[PlayerId, Card] = field(default_factory=dict)
    round: RoundId | None = None
    """The running round, None outside."""
    standing: Mapping[PlayerId, float] | None = None
    """Ratings at its doors."""
    ends_at: float | None = None
    assigned: dict[OrderId, SplitSolved] = field(default_factory=dict)
    """Assignments that the script has not answered."""
    asked: AskSplit | None = None
    """The split that is being solved."""
    attempts: int = 0
    """Splits ordered in this freeze time."""
    moves: dict[OrderId, Move] = field(default_factory=dict)
    """Moves that the script has not answered."""
    asked_moves: AskMoves | None = None
    gap_since: float | None = None
    unmovable: frozenset[PlayerId] = frozenset()
    """Could not be moved in this round."""
    wanting: dict[PlayerId, SideWanted] = field(default_factory=dict)
    """Held until their rating is known."""
    cache: SplitCache | None = None
    asked_cache: CacheSplits | None = None
    wants: frozenset[Literal["hello", "roster"]] = frozenset(("hello", "roster"))
    heard_at: float | None = None

    @property
    def arena(self) -> bool:
        """Arena has rules of its own nearly everywhere."""
        return self.memory.mode is Mode.ARENA

    @property
    def acts(self) -> bool:
        """Whether anything may be ordered at all."""
        return self.known and self.memory.enabled and not self.aside

    def see(self, roster: Roster) -> bool:
        """Take a roster as the truth; True when somebody came, went or changed side."""
        changed = _seating(roster) != _seating(self.roster)
        self.roster = roster
        self.version += changed
        return changed

    def seat(self, player: PlayerId, side: Side | None, *, waiting: bool = False) -> bool:
        """Put one player elsewhere in the roster; True when he was not there already."""
        old = self.roster.get(player) or Entry(player, None)
        return self.see(self.roster.with_entry(replace(old, side=side, waiting=waiting)))

    def seat_all(self, split: Split) -> None:
        """Put everybody where a split says."""
        for entry in self.roster.eligible():
            if entry.id in split.bench:
                self.seat(entry.id, None, waiting=True)
            elif (side := split.side_of(entry.id)) is not None:
                self.seat(entry.id, side)

    def next_order(self) -> OrderId:
        """An id that no other order of this server has."""
        number = self.memory.orders + 1
        self.memory = replace(self.memory, orders=number)
        return OrderId(f"o{number}")

    def kept(self, player: PlayerId, now: float) -> Kept | None:
        """The lock that binds a player now."""
        kept = self.memory.locks.get(player)
        return kept if kept is not None and kept.holds(now) else None

    def lock(self, sides: Mapping[PlayerId, Side], now: float) -> Effects:
        """Keep placed players: for a while, in arena until the next scramble."""
        seconds = None if self.arena else self.rules.lock.minutes * 60
        self.memory = self.memory.lock(sides, None if seconds is None else now + seconds)
        return tuple(Lock(player, side, seconds) for player, side in sides.items())

    def ratings(self) -> dict[PlayerId, float]:
        """Every rating that is known here."""
        return {player: card.rating for player, card in self.cards.items()}

    def strangers(self) -> tuple[PlayerId, ...]:
        """Players here whose card is not known."""
        return tuple(entry.id for entry in self.roster.entries if entry.id not in self.cards)


def _seating(roster: Roster) -> frozenset[tuple[PlayerId, Side | None, bool]]:
    return frozenset((entry.id, entry.side, entry.waiting) for entry in roster.entries)
