"""Who played a running round: when, on which side and in which role, and whether they fought."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from equipoise.core.model import Counts, PlayerId, Presence, Role, Side, Span


@dataclass(slots=True)
class Stay:
    """One player's part of the round."""

    side: Side
    role: Role
    since: float | None
    """When they joined this side in this role, on the game's clock; None: they have left."""
    spans: list[Span] = field(default_factory=list)
    """Those that have ended, on the game's clock."""
    fought: bool = False

    def stop(self, now: float) -> None:
        """End the running span."""
        if self.since is not None:
            self.spans += self.running(now)
            self.since = None

    def running(self, now: float) -> list[Span]:
        """The running span as if it ended now; none, where it has no length."""
        return [] if self.since is None or now <= self.since else [Span(self.side, self.since, now, self.role)]


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

    def play(self, player: PlayerId, side: Side, now: float, role: Role = Role.FIELD) -> None:
        """The player is on this side in this role from now on."""
        stay = self._stays.setdefault(player, Stay(side, role, None))
        if stay.since is None or (stay.side, stay.role) != (side, role):
            stay.stop(now)
            stay.side, stay.role, stay.since = side, role, now

    def fight(self, players: Iterable[PlayerId]) -> None:
        """Note that these players dealt damage."""
        for player in players:
            self._stays[player].fought = True

    def leave(self, player: PlayerId, now: float) -> None:
        """Note that the player is on no side any more."""
        if stay := self._stays.get(player):
            stay.stop(now)

    def seconds(self, side: Side, now: float) -> dict[PlayerId, float]:
        """Seconds on a side so far; players who were never on it are left out."""
        found = {}
        for player, stay in self._stays.items():
            spans = [span for span in (*stay.spans, *stay.running(now)) if span.side is side]
            if spans:
                found[player] = sum(span.end - span.start for span in spans)
        return found

    def presences(
        self, now: float, live: float | None = None, counts: Mapping[PlayerId, Counts] | None = None
    ) -> tuple[Presence, ...]:
        """The round's presences if it ends now; with the spans, in seconds since `live`, where that is given."""
        counted = counts or {}
        a, b = (self.seconds(side, now) for side in Side)
        return tuple(
            Presence(
                player,
                stay.side,
                a.get(player, 0.0),
                b.get(player, 0.0),
                stay.fought,
                left=stay.since is None,
                spans=() if live is None else _since(live, (*stay.spans, *stay.running(now))),
                counts=counted.get(player),
            )
            for player, stay in self._stays.items()
        )


def _since(live: float, spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans on the game's clock as seconds since the round went live."""
    return tuple(Span(span.side, span.start - live, span.end - live, span.role) for span in spans)
