"""The course of a map: how even the sides of a server are, noted whenever they have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from equipoise.core.effects import DecisionKind
from equipoise.core.model import Outlook, PlayerId, ServerId, Side
from equipoise.core.session import Session
from equipoise.service.clock import Clock
from equipoise.service.status import round_number
from equipoise.store.notes import CHANGES, Chance

Sides = tuple[frozenset[PlayerId], frozenset[PlayerId]]


class Course:
    """Notes the chance of one server's sides once they have stood for a moment, unless they are as they were noted."""

    settle_seconds = 3.0
    """From a change to its line. A scramble moves people one after the other: the states between are nobody's."""

    def __init__(self, server: ServerId, clock: Clock, look: Callable[[], None]) -> None:
        self._server = server
        self._clock = clock
        self._look = look
        """Is called when a change has settled: the host then calls `line`."""
        self._timer: asyncio.TimerHandle | None = None
        self._roster = -1
        """Version of the last roster that was looked at."""
        self._session = ""
        self._sides: Sides = frozenset(), frozenset()
        """The sides of the last line."""
        self._kind: DecisionKind | None = None
        """The last decision since then that changes sides."""

    def see(self, session: Session, kinds: Iterable[DecisionKind]) -> None:
        """See a session after a piece of work, with the kinds of its decisions."""
        self._kind = next((kind for kind in reversed([*kinds]) if kind in CHANGES), self._kind)
        if session.state.version == self._roster and session.memory.session == self._session:
            return
        self._roster = session.state.version
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.settle_seconds, self._settled)

    def close(self) -> None:
        """Note nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _settled(self) -> None:
        self._timer = None
        self._look()

    def line(self, session: Session, outlook_now: Callable[[], Outlook | None]) -> Chance | None:
        """Return the line to note now; None: the sides are as they were, one is empty, or nothing is known of them."""
        a, b = (frozenset(entry.id for entry in session.state.roster.on(side)) for side in Side)
        same_map = session.memory.session == self._session
        # Most changes of a roster leave the sides as they are, and an outlook costs a prediction.
        if (same_map and (a, b) == self._sides) or (outlook := outlook_now()) is None:
            return None
        cause = self._cause((a, b)) if same_map else "map"
        self._session, self._sides, self._kind = session.memory.session, (a, b), None
        return Chance(
            server=self._server,
            at=self._clock.epoch(),
            session=session.memory.session,
            map=session.memory.map,
            round=round_number(session),
            chance=outlook.chance,
            low=outlook.low,
            high=outlook.high,
            players_a=len(a),
            players_b=len(b),
            cause=cause,
        )

    def _cause(self, sides: Sides) -> str:
        if self._kind is not None:
            return self._kind
        before, after = self._sides[0] | self._sides[1], sides[0] | sides[1]
        common = before & after
        was_on_a, is_on_a = self._sides[0] & common, sides[0] & common
        if common and was_on_a | is_on_a == common and not was_on_a & is_on_a:
            return "switched"
        if was_on_a != is_on_a:
            return "sides"
        return "joined" if len(after) > len(before) else "left"
