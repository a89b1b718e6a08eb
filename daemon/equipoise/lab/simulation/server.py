"""A game server that obeys at once, around the real session: it asks the real solver and the real rating system."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from equipoise.balancing import answer, match_of, summaries_on
from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSplit, LoadSummaries
from equipoise.core.effects import Assign, Cancel, Effect, Move, Place, RecordRound
from equipoise.core.model import Entry, LineupPlayer, Mode, PlayerId, Presence, Roster, Round, RoundId, ServerId, Side
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.ratings.system import Rated, System

EPOCH = 1_700_000_000.0
"""When the simulation begins, seconds since 1970."""
UNTIL_DEATH = 5.0
"""Seconds after which somebody who is to be moved is dead."""


@dataclass(slots=True)
class Spot:
    """Where somebody stands."""

    since: float
    side: Side | None = None
    waiting: bool = False


@dataclass(slots=True)
class Stay:
    """One player's part of the running round."""

    side: Side
    since: float | None
    seconds: dict[Side, float] = field(default_factory=lambda: dict.fromkeys(Side, 0.0))
    left: bool = False

    def stop(self, now: float) -> None:
        """His clock stands."""
        if self.since is not None:
            self.seconds[self.side] += now - self.since
            self.since = None


class Server:
    """What the game knows; whatever the session orders is carried out here."""

    def __init__(self, mode: Mode, system: System[Any], rules: Rules) -> None:
        self.mode, self.system = mode, system
        self.session = Session(rules)
        self.clock = 0.0
        self.map = ""
        self.spots: dict[PlayerId, Spot] = {}
        self.rated: Rated | None = None
        """What became of the last round; None: it was not rated."""
        self.assigned = 0
        """Players whom splits have put on the other side."""
        self.moved = 0
        """Players whom autobalance has moved."""
        self._moves: list[tuple[float, Move]] = []
        self._stays: dict[PlayerId, Stay] = {}
        self._rounds = self._sessions = 0
        self._seats: tuple[LineupPlayer, ...] = ()
        self._live_at = 0.0

    def on(self, side: Side) -> list[PlayerId]:
        """Everybody on a side."""
        return [player for player, spot in self.spots.items() if spot.side is side]

    def bench(self) -> list[PlayerId]:
        """Everybody who waits for a side."""
        return [player for player, spot in self.spots.items() if spot.side is None and spot.waiting]

    def roster(self) -> Roster:
        """The whole truth."""
        return Roster(
            tuple(
                Entry(player, spot.side, spot.waiting, connected=self.clock - spot.since)
                for player, spot in self.spots.items()
            )
        )

    # What happens.

    def change_map(self, map: str) -> None:
        """A new session; everybody chooses a side anew."""
        self.map = map
        self._sessions += 1
        self._moves.clear()
        arena = self.mode is Mode.ARENA
        for spot in self.spots.values():
            spot.side, spot.waiting = None, arena
        hello = e.Hello(self.clock, f"s{self._sessions}", map, self.mode, e.Phase.IDLE, waiting=not arena)
        self._tell(hello, e.RosterSeen(self.clock, self.roster()))
        if not arena:
            for player in list(self.spots):
                self._tell(e.SideWanted(self.clock, player, None))
            self._tell(e.WaitingEnded(self.clock))

    def join(self, player: PlayerId) -> None:
        """Somebody connects; in arena he waits for the next round."""
        arena = self.mode is Mode.ARENA
        self.spots[player] = Spot(self.clock, waiting=arena)
        self._tell(e.PlayerJoined(self.clock, player))
        if arena:
            self._tell(e.SideChanged(self.clock, player, None, waiting=True))
        else:
            self._tell(e.SideWanted(self.clock, player, None))

    def leave(self, player: PlayerId) -> None:
        """Somebody disconnects; an order about him goes with him."""
        del self.spots[player]
        self._moves = [(at, move) for at, move in self._moves if move.player != player]
        if stay := self._stays.get(player):
            stay.stop(self.clock)
            stay.left = True
        self._tell(e.PlayerLeft(self.clock, player))

    def pass_time(self, seconds: float) -> None:
        """The clock goes on; who was to be moved dies."""
        self.clock += seconds
        due = [move for at, move in self._moves if at <= self.clock]
        self._moves = [(at, move) for at, move in self._moves if at > self.clock]
        for move in due:
            self.moved += 1
            self._put(move.player, move.side)
            self._tell(e.OrderDone(self.clock, move.order))
        deadline = self.session.deadline()
        if deadline is not None and deadline <= self.clock:
            self._obey(self.session.tick(self.clock))

    def start_round(self) -> bool:
        """Freeze time, splits, doors; False when a side is empty and no round can be played."""
        self.rated = None
        self._tell(e.RoundStarted(self.clock, self.roster()))
        self.pass_time(10.0)
        if not all(self.on(side) for side in Side):
            return False
        self._rounds += 1
        self._seats = tuple(LineupPlayer(player, side) for side in Side for player in self.on(side))
        self._live_at = self.clock
        self._stays = {seat.id: Stay(seat.side, self.clock) for seat in self._seats}
        self._tell(e.RoundLive(self.clock, RoundId(f"r{self._rounds}"), self.roster()))
        return True

    def shares(self, side: Side) -> dict[PlayerId, float]:
        """Which part of the running round everybody has played for a side."""
        length = self.clock - self._live_at
        for player, stay in self._stays.items():
            if stay.since is not None:
                stay.stop(self.clock)
                stay.since = self.clock if player in self.spots else None
        return {player: stay.seconds[side] / length for player, stay in self._stays.items() if stay.seconds[side]}

    def end_round(self, winner: Side | None, captures: dict[Side, int]) -> None:
        """The round is told, recorded and rated."""
        presences = tuple(
            Presence(player, stay.side, stay.seconds[Side.A], stay.seconds[Side.B], fought=True, left=stay.left)
            for player, stay in self._stays.items()
        )
        round = Round(
            id=RoundId(f"r{self._rounds}"),
            server=ServerId("simulated"),
            session=f"s{self._sessions}",
            map=self.map,
            mode=self.mode,
            started_at=EPOCH + self._live_at,
            seconds=self.clock - self._live_at,
            winner=winner,
            lineup=self._seats,
            presences=presences,
            captures_a=captures[Side.A],
            captures_b=captures[Side.B],
        )
        self._stays = {}
        self._tell(e.RoundEnded(self.clock, round))

    # Effects.

    def _tell(self, *events: e.Event) -> None:
        for event in events:
            self._obey(self.session.receive(event, self.clock))

    def _obey(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Assign():
                    self._assign(effect)
                case Move():
                    self._moves.append((self.clock + UNTIL_DEATH, effect))
                case Cancel():
                    self._moves = [(at, move) for at, move in self._moves if move.order != effect.order]
                case Place():
                    self._put(effect.player, effect.side)
                case LoadSummaries():
                    self._load(effect.players)
                case AskSplit() | AskMoves():
                    self._tell(answer(effect, self.system))
                case RecordRound():
                    self._rate(effect)
                case _:
                    # Words for players, locks that nobody here tries, and splits for a script that loses its daemon.
                    pass

    def _assign(self, order: Assign) -> None:
        for player in list(self.spots):
            before, after = self.spots[player].side, order.split.side_of(player)
            if after is not None or player in order.split.bench:
                self.assigned += before is not None and after is before.other
                self._put(player, after)
        self._tell(e.OrderDone(self.clock, order.order))

    def _put(self, player: PlayerId, side: Side | None) -> None:
        spot = self.spots[player]
        spot.side, spot.waiting = side, side is None
        if side is None or not self._stays:
            return
        stay = self._stays.setdefault(player, Stay(side, None))
        stay.stop(self.clock)
        stay.side, stay.since, stay.left = side, self.clock, False

    def _load(self, players: Iterable[PlayerId]) -> None:
        summaries = [self.system.summary(player) for player in players]
        self._tell(e.SummariesLoaded(summaries_on(self.system, self.session.memory.context, summaries)))

    def _rate(self, record: RecordRound) -> None:
        match = match_of(record)
        if match is not None:
            self.rated = self.system.rate(match)
            self._load(change.player for change in self.rated.changes)
