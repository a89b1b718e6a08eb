"""What a session must know again after a restart of the daemon: stored beside its rounds, restored before any event.

Times are the session's `now`: seconds that never go back within a process and mean the same in the next one, unless
the system's clock was wrong when one of the two processes began (`restored`). All values are frozen: every change makes
a new `Memory`, so the host sees by comparison whether there is something to store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from equipoise.core.model import MOST_PLAYERS, Context, Mode, PlayerId, RoundId, Side
from equipoise.core.phrases import Text
from equipoise.core.rules import Rules
from equipoise.core.triggers import Tally

Value = TypeVar("Value")

MOST_REMEMBERED = 4 * MOST_PLAYERS
"""Players with a lock, a turn on the bench or a recent move, of each the latest. Memory is written with every round,
and a map may last for weeks."""

COUNTED_ROUNDS = 32
"""How many ids of counted rounds are kept: far more than a script's ring of unsent rounds holds."""


@dataclass(frozen=True, slots=True)
class HeldSide:
    """A lock: the side that a placed player has to stay on."""

    side: Side
    until: float | None
    """None: until the next scramble."""

    def holds(self, now: float) -> bool:
        """The lock has not expired."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Benched:
    """How often a player sat out in this session, and the number of the last such round, from 1."""

    times: int
    round: int


@dataclass(frozen=True, slots=True)
class Memory:
    """One server's session between two events."""

    session: str = ""
    """The identifier that the script made at the map's start; empty before the first hello."""
    map: str = ""
    mode: Mode = Mode.OTHER
    tally: Tally = field(default_factory=Tally)
    counted: tuple[RoundId, ...] = ()
    """Ids of the last rounds that were counted, oldest first: a round that is sent again is not counted twice."""
    pending: Text | None = None
    """Why a scramble is due; None: none is."""
    locks: Mapping[PlayerId, HeldSide] = field(default_factory=dict)
    benched: Mapping[PlayerId, Benched] = field(default_factory=dict)
    moved: Mapping[PlayerId, float] = field(default_factory=dict)
    """When autobalance last moved a player; kept across maps."""
    orders: int = 0
    """Orders given so far, which makes their ids unique."""
    enabled: bool = True
    """An admin has not switched Equipoise off."""
    no_vote_before: float = 0.0
    """When players may ask for the next vote."""

    @property
    def context(self) -> Context:
        """Mode and map, which skills may depend on."""
        return Context(self.mode, self.map)

    def next_map(self, session: str, map: str, mode: Mode) -> Memory:
        """Begin a session on a new map: recent moves, order numbers and the admin's switch are kept."""
        return Memory(session, map, mode, moved=self.moved, orders=self.orders, enabled=self.enabled)

    def emptied(self) -> Memory:
        """The last human left an arena server: the next players begin with round 1."""
        return replace(self, pending=None, tally=Tally(), benched={})

    def count(self, round: RoundId, tally: Tally) -> Memory:
        """Note a round as counted; `tally` includes it."""
        return replace(self, tally=tally, counted=(*self.counted, round)[-COUNTED_ROUNDS:])

    def bench(self, players: tuple[PlayerId, ...]) -> Memory:
        """Note that these players sit out the round that goes live now."""
        benched = dict(self.benched)
        for player in players:
            times = benched.pop(player).times if player in benched else 0
            benched[player] = Benched(times + 1, self.tally.completed + 1)
        return replace(self, benched=_newest(benched))

    def lock(self, sides: Mapping[PlayerId, Side], until: float | None) -> Memory:
        """Lock players to sides until a time; None: until the next scramble."""
        locks = {player: held for player, held in self.locks.items() if player not in sides}
        locks |= {player: HeldSide(side, until) for player, side in sides.items()}
        return replace(self, locks=_newest(locks))

    def move(self, player: PlayerId, now: float) -> Memory:
        """Note that autobalance has moved a player."""
        moved = {other: at for other, at in self.moved.items() if other != player}
        return replace(self, moved=_newest({**moved, player: now}))

    def switched(self) -> Memory:
        """The game swapped the sides: locks and the streak follow the group of players."""
        locks = {player: HeldSide(held.side.other, held.until) for player, held in self.locks.items()}
        return replace(self, locks=locks, tally=self.tally.switched())

    def restored(self, now: float, rules: Rules) -> Memory:
        """As another process goes on from it: nothing in it holds longer from `now` on than the rules say.

        The clock may have been ahead when the times were noted: then a lock of three minutes would hold for years. A
        time that is no number is taken as the latest that is allowed.

        >>> ahead = Memory(locks={PlayerId("ann"): HeldSide(Side.A, 2e9)}, moved={PlayerId("bob"): 2e9})
        >>> restored = ahead.restored(1000.0, Rules())
        >>> restored.locks[PlayerId("ann")].until, restored.moved[PlayerId("bob")]
        (1180.0, 1000.0)
        """
        lock_end, vote = now + rules.lock.minutes * 60, now + rules.vote.cooldown_minutes * 60
        locks = {player: self._held_until(lock_end, held) for player, held in self.locks.items()}
        moved = {player: at if at < now else now for player, at in self.moved.items()}
        no_vote_before = self.no_vote_before if self.no_vote_before < vote else vote
        return replace(self, locks=locks, moved=moved, no_vote_before=no_vote_before)

    def _held_until(self, latest: float, held: HeldSide) -> HeldSide:
        if held.until is None and self.mode is Mode.ARENA:
            return held  # the next scramble ends it
        return held if held.until is not None and held.until < latest else replace(held, until=latest)

    def without_expired(self, now: float, spare_seconds: float) -> Memory:
        """Drop expired locks, and moves that are longer ago than `spare_seconds`."""
        locks = {player: held for player, held in self.locks.items() if held.holds(now)}
        moved = {player: at for player, at in self.moved.items() if now - at < spare_seconds}
        return replace(self, locks=locks, moved=moved)


def _newest(noted: dict[PlayerId, Value]) -> dict[PlayerId, Value]:
    """At most as many players as are remembered, those who were noted last."""
    return dict(list(noted.items())[-MOST_REMEMBERED:])
