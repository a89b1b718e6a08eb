"""Who played a running round: seconds on each side, and whether he fought. What `round_ended` tells of everybody."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from equipoise.core.model import PlayerId, Side
from equipoise.wire import TF2


@dataclass(slots=True)
class Stay:
    """One player's part of the round."""

    side: Side
    since: float | None
    """None: his clock stands."""
    seconds: dict[Side, float] = field(default_factory=lambda: dict.fromkeys(Side, 0.0))
    fought: bool = False
    left: bool = False

    def stop(self, now: float) -> None:
        """His clock stands from now on."""
        if self.since is not None:
            self.seconds[self.side] += now - self.since
            self.since = None


class Attendance:
    """Everybody who was on a side at any time of the round."""

    def __init__(self) -> None:
        self._stays: dict[PlayerId, Stay] = {}

    def play(self, id: PlayerId, side: Side, now: float) -> None:
        """He is on this side from now on."""
        stay = self._stays.setdefault(id, Stay(side, now))
        stay.stop(now)
        stay.side, stay.since, stay.left = side, now, False

    def fight(self, ids: Iterable[PlayerId]) -> None:
        """They dealt damage."""
        for id in ids:
            self._stays[id].fought = True

    def leave(self, id: PlayerId, now: float) -> None:
        """He disconnected."""
        if stay := self._stays.get(id):
            stay.stop(now)
            stay.left = True

    def lines(self, now: float) -> list[dict[str, object]]:
        """The protocol's `players` of a finished round; every clock stands."""
        for stay in self._stays.values():
            stay.stop(now)
        return [
            {
                "id": id,
                "side": TF2.word(stay.side),
                "seconds": {TF2.word(side): seconds for side, seconds in stay.seconds.items()},
                "fought": stay.fought,
                "left": stay.left,
            }
            for id, stay in self._stays.items()
        ]
