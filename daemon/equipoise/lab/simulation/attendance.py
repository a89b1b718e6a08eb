"""Who played a running round: seconds on each side, and whether they fought."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from equipoise.core.model import PlayerId, Presence, Side


@dataclass(slots=True)
class Stay:
    """One player's part of the round."""

    side: Side
    since: float | None
    """When they joined this side, on the game's clock; None: they have left."""
    seconds: dict[Side, float] = field(default_factory=lambda: dict.fromkeys(Side, 0.0))
    fought: bool = False

    def stop(self, now: float) -> None:
        """Add the running stretch to the seconds of its side."""
        if self.since is not None:
            self.seconds[self.side] += now - self.since
            self.since = None


class Attendance:
    """The players who were on a side at any time of the round.

    >>> ann, bob = PlayerId("ann"), PlayerId("bob")
    >>> attendance = Attendance()
    >>> attendance.play(ann, Side.A, now=100.0)
    >>> attendance.play(bob, Side.B, now=100.0)
    >>> attendance.play(ann, Side.B, now=130.0)
    >>> attendance.leave(bob, now=145.0)
    >>> attendance.seconds(Side.B, now=150.0)
    {'ann': 20.0, 'bob': 45.0}
    """

    def __init__(self) -> None:
        self._stays: dict[PlayerId, Stay] = {}

    def play(self, player: PlayerId, side: Side, now: float) -> None:
        """The player is on this side from now on."""
        stay = self._stays.setdefault(player, Stay(side, None))
        stay.stop(now)
        stay.side, stay.since = side, now

    def fight(self, players: Iterable[PlayerId]) -> None:
        """Note that these players dealt damage."""
        for player in players:
            self._stays[player].fought = True

    def leave(self, player: PlayerId, now: float) -> None:
        """Note that the player disconnected."""
        if stay := self._stays.get(player):
            stay.stop(now)

    def seconds(self, side: Side, now: float) -> dict[PlayerId, float]:
        """Seconds on a side so far; players who were never on it are left out."""
        found = {}
        for player, stay in self._stays.items():
            running = now - stay.since if stay.since is not None and stay.side is side else 0.0
            if seconds := stay.seconds[side] + running:
                found[player] = seconds
        return found

    def presences(self, now: float) -> tuple[Presence, ...]:
        """The round's presences if it ends now."""
        a, b = (self.seconds(side, now) for side in Side)
        return tuple(
            Presence(player, stay.side, a.get(player, 0.0), b.get(player, 0.0), stay.fought, left=stay.since is None)
            for player, stay in self._stays.items()
        )
