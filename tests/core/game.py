"""A game server that obeys at once and a shell that answers at once: whole evenings in a few lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from equipoise.core import events as e
from equipoise.core.asks import Ask
from equipoise.core.effects import Assign, Effect, Place
from equipoise.core.model import Entry, Mode, PlayerId, RoundId, Side
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from tests.core.answerer import answer
from tests.core.scripts import INITIAL, ended, finished, hello, ids, roster, roster_text

ROUND_SECONDS = 100.0


class Game:
    """One server: its roster, and every effect that its session has returned."""

    def __init__(
        self, mode: Mode, text: str, ratings: Mapping[str, float] | None = None, rules: Rules | None = None
    ) -> None:
        self.mode = mode
        self.session = Session(rules or Rules())
        self.roster = roster(text)
        self.ratings = {ids(letter)[0]: rating for letter, rating in (ratings or {}).items()}
        self.now = 0.0
        self.rounds = 0
        self.effects: list[Effect] = []
        self.happens(hello(mode))
        self.look()

    def happens(self, *events: e.Event) -> list[Effect]:
        """Receive events, answer asks and carry orders out, also those that follow; returns all effects."""
        before = len(self.effects)
        for event in events:
            for effect in self.session.receive(event, self.now):
                self.effects.append(effect)
                self._obey(effect)
        return self.effects[before:]

    def wait(self, seconds: float) -> list[Effect]:
        """Time passes; returns what the session's deadline brings, and what follows from it."""
        before = len(self.effects)
        self.now += seconds
        for effect in self.session.tick(self.now):
            self.effects.append(effect)
            self._obey(effect)
        return self.effects[before:]

    def _obey(self, effect: Effect) -> None:
        match effect:
            case Assign():
                self._put(effect)
                self.happens(e.OrderDone(self.now, effect.order))
            case Place():
                self.seat(effect.player, effect.side, waiting=effect.side is None)
            case _ if isinstance(effect, Ask):
                self.happens(answer(effect, self._known(effect)))

    def _known(self, ask: Ask) -> dict[PlayerId, float]:
        players = [entry.id for entry in self.roster.entries] + list(getattr(ask, "players", ()))
        return {player: self.ratings.get(player, INITIAL) for player in players}

    def _put(self, order: Assign) -> None:
        for entry in self.roster.humans():
            side = order.split.side_of(entry.id)
            if side is not None or entry.id in order.split.bench:
                self.seat(entry.id, side, waiting=side is None)

    def seat(self, player: PlayerId, side: Side | None, *, waiting: bool = False) -> None:
        """Put a player on a side, or on none, without an event to the session."""
        entry = self.roster.get(player) or Entry(player, None)
        self.roster = self.roster.with_entry(replace(entry, side=side, waiting=waiting))

    def stands(self) -> str:
        """The roster as text."""
        return roster_text(self.roster)

    def look(self) -> list[Effect]:
        """Report the roster to the session."""
        return self.happens(e.RosterSeen(self.now, self.roster))

    def change(self, text: str) -> list[Effect]:
        """People come, go and change side."""
        self.roster = roster(text)
        return self.look()

    def start(self) -> list[Effect]:
        """The next round's freeze time begins."""
        return self.happens(e.RoundStarted(self.now, self.roster))

    def open(self) -> list[Effect]:
        """The round goes live."""
        self.rounds += 1
        return self.happens(e.RoundLive(self.now, RoundId(f"r{self.rounds}"), self.roster))

    def end(self, winner: Side | None, captures: tuple[int, int] = (1, 1)) -> list[Effect]:
        """The running round ends after `ROUND_SECONDS`."""
        self.now += ROUND_SECONDS
        text = self.stands()
        return self.happens(
            ended(finished(f"r{self.rounds}", winner, text, mode=self.mode, captures=captures), self.now)
        )

    def wait_for_commanders(self) -> list[Effect]:
        """NS2: the winner was shown long enough, and the state is NotStarted again."""
        return self.happens(hello(self.mode, e.Phase.IDLE), e.RosterSeen(self.now, self.roster))

    def round(self, winner: Side | None, captures: tuple[int, int] = (1, 1)) -> list[Effect]:
        """A whole round, from freeze to end."""
        return [*self.start(), *self.open(), *self.end(winner, captures)]
