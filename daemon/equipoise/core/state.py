"""What a session knows at one moment: its memory, and what a restart may forget.

The modules that decide (`scrambles`, `gaps`, `places`, `commands`) read and change it; `session` alone hands it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from equipoise.core.asks import AskMoves, AskSplit, CacheSplits
from equipoise.core.effects import Effect, Lock, Move
from equipoise.core.events import Phase, SideWanted, SplitSolved
from equipoise.core.memory import Kept, Memory
from equipoise.core.model import (
    Entry,
    Mode,
    OrderId,
    PlayerId,
    PlayerSummary,
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
    inactive_reason: str = ""
    roster: Roster = field(default_factory=Roster)
    version: int = 0
    """Grows when anybody comes, goes or changes side: answers to older questions no longer hold."""
    summaries: dict[PlayerId, PlayerSummary] = field(default_factory=dict)
    phase_at: float = 0.0
    """When the phase began, on the script's clock."""
    round: RoundId | None = None
    """The running round, None outside."""
    lineup: Mapping[PlayerId, Side] = field(default_factory=dict)
    """Where everybody was when its doors opened."""
    skill_at_start: Mapping[PlayerId, float] | None = None
    """Ratings at its doors."""
    ends_at: float | None = None
    assigned: dict[OrderId, SplitSolved] = field(default_factory=dict)
    """Assignments that the script has not answered."""
    asked: AskSplit | None = None
    """The split that is being solved."""
    attempts: int = 0
    """Splits ordered in this freeze time."""
    teams_made: bool = False
    """A split was carried out since the last round: who waits now was benched by it, and has not sat out yet."""
    moves: dict[OrderId, Move] = field(default_factory=dict)
    """Moves that the script has not answered."""
    asked_moves: AskMoves | None = None
    gap_since: float | None = None
    """When the gap that is open was seen."""
    forced: bool = False
    """An admin wants it closed, however soon the round ends."""
    unmovable: frozenset[PlayerId] = frozenset()
    """Could not be moved in this round."""
    wanting: dict[PlayerId, SideWanted] = field(default_factory=dict)
    """Held until their rating is known."""
    cache: SplitCache | None = None
    asked_cache: CacheSplits | None = None
    wants: frozenset[Literal["hello", "roster"]] = frozenset(("hello", "roster"))
    heard_at: float | None = field(default=None, compare=False)
    """When the script last said anything, even something that was ignored."""

    @property
    def arena(self) -> bool:
        """Arena has rules of its own nearly everywhere."""
        return self.memory.mode is Mode.ARENA

    @property
    def enforces(self) -> bool:
        """Whether scrambles become due: not while switched off, nor on a map where the script stands aside."""
        return self.memory.enabled and not self.inactive_reason

    @property
    def acts(self) -> bool:
        """Whether anything may be ordered at all."""
        return self.known and self.enforces

    def enter(self, phase: Phase, at: float) -> None:
        """A round comes to its next phase."""
        self.phase, self.phase_at = phase, at

    def close_round(self) -> None:
        """No round is running."""
        self.round, self.lineup, self.skill_at_start, self.ends_at = None, {}, None, None

    def hear(self, roster: Roster) -> None:
        """Take the script's own roster: who is not on it has gone, also where nobody told of it."""
        self.see(roster)
        self.wanting = {player: event for player, event in self.wanting.items() if roster.get(player) is not None}

    def see(self, roster: Roster) -> bool:
        """Take a roster as the truth; True when somebody came, went or changed side."""
        if self.memory.mode is Mode.NS2:
            # There bots do not count towards sizes: the rules need not know of them.
            roster = Roster(roster.humans())
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
        """Keep placed players: for a while (or not at all), in arena until the next scramble."""
        if not self.arena and self.rules.lock.minutes == 0:
            return ()
        return self.lock_until(sides, None if self.arena else now + self.rules.lock.minutes * 60, now)

    def lock_until(self, sides: Mapping[PlayerId, Side], until: float | None, now: float) -> Effects:
        """Keep players until then; None: until the next scramble."""
        self.memory = self.memory.lock(sides, until)
        seconds = None if until is None else until - now
        return tuple(Lock(player, side, seconds) for player, side in sides.items())

    def side_skills(self, side: Side) -> dict[PlayerId, float]:
        """Everybody's whose card is known, on that side."""
        return {player: summary.on(side) for player, summary in self.summaries.items()}

    def strangers(self, *others: PlayerId) -> tuple[PlayerId, ...]:
        """Players here, and these others, whose card is not known."""
        everybody = dict.fromkeys((*(entry.id for entry in self.roster.entries), *others))
        return tuple(player for player in everybody if player not in self.summaries)


def _seating(roster: Roster) -> frozenset[tuple[PlayerId, Side | None, bool]]:
    return frozenset((entry.id, entry.side, entry.waiting) for entry in roster.entries)
