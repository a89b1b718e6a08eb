"""A simulated game server: who is on which side, what happened there, and orders carried out exactly.

`equipoise lab simulate` and the demo both play on it. It speaks the core's vocabulary: what happens is collected as
script events until `take` fetches them, and orders are the core's effects. Whether a session in this process answers
(`closed_loop`) or a daemon behind the protocol (the demo) makes no difference to the game.

A round goes IDLE → FREEZE (`start_round`) → RUNNING (`go_live`) → OVER (`end_round`) → FREEZE … Nothing happens by
itself: time passes in `pass_time` alone, players die in `die` alone, and who wins is the caller's decision.

`NS2Server` has a ready room, commanders, and a start in three steps. Its round goes IDLE → FREEZE (`start_round`:
PreGame) → `count_down` → RUNNING (`go_live`: Started) → OVER (`end_round`) → IDLE (`to_ready_room`). A start may be
given up (`abort`), and a running round too (`abandon`: ResetGame).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, assert_never

from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.effects import Assign, Cancel, Lock, Move, OpenVote, Order, Place, Say, Tell, Unlock
from equipoise.core.events import Phase
from equipoise.core.model import (
    Counts,
    Entry,
    LineupPlayer,
    Mode,
    OrderId,
    PlayerId,
    Presence,
    Role,
    Roster,
    Round,
    RoundId,
    ServerId,
    Side,
    Span,
    Split,
)


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
        totals = {}
        for player, stay in self._stays.items():
            spans = [span for span in (*stay.spans, *stay.running(now)) if span.side is side]
            if spans:
                totals[player] = sum(span.end - span.start for span in spans)
        return totals

    def presences(
        self, now: float, live: float | None = None, counts: Mapping[PlayerId, Counts] | None = None
    ) -> tuple[Presence, ...]:
        """The round's presences if it ends now; with the spans, in seconds since `live`, where that is given."""
        deeds = counts or {}
        a, b = (self.seconds(side, now) for side in Side)
        return tuple(
            Presence(
                player,
                stay.side,
                a.get(player, 0.0),
                b.get(player, 0.0),
                stay.fought,
                left=stay.since is None,
                spans=()
                if live is None
                else tuple(
                    Span(span.side, span.start - live, span.end - live, span.role)
                    for span in (*stay.spans, *stay.running(now))
                ),
                counts=deeds.get(player),
            )
            for player, stay in self._stays.items()
        )


Where: TypeAlias = tuple[Side | None, bool]
"""A side, or none; and whether the player waits for one."""

HELD_SECONDS = 2.0
"""How long a player who wants a side waits for an answer before the game places them itself, as the plugin does."""
UNTIL_SCRAMBLE = math.inf


class Map(NamedTuple):
    """A map, and the mode that is played on it."""

    name: str
    mode: Mode


@dataclass(slots=True)
class Client:
    """A connected player."""

    id: PlayerId
    since: float
    """When they connected, on the game's clock."""
    side: Side | None = None
    waiting: bool = False
    alive: bool = True
    commander: bool = False
    """NS2: sits in the command chair."""

    @property
    def where(self) -> Where:
        """The player's side and whether they wait, as in `SideChanged`."""
        return self.side, self.waiting


@dataclass(slots=True)
class RunningRound:
    """A round since it went live."""

    id: RoundId
    at: float
    lineup: tuple[LineupPlayer, ...]
    attendance: Attendance = field(default_factory=Attendance)


class GameServer:
    """The state of the game, and the events that have not been taken yet."""

    def __init__(self, name: ServerId, boot: int, game_map: Map) -> None:
        self.name = name
        self.boot = boot
        """Start of the script, milliseconds since the epoch."""
        self.clock = 0.0
        """The script's monotonic clock, seconds since `boot`."""
        self.map = game_map
        self.phase = Phase.IDLE
        self.waiting_for_players = False
        self.clients: dict[PlayerId, Client] = {}
        self.locks: dict[PlayerId, tuple[Side, float]] = {}
        """Side that a locked player must stay on, and until when, by player."""
        self._events: list[e.ScriptEvent] = []
        self._maps = 1
        self._rounds = 0
        self._round: RunningRound | None = None
        self._wishes: dict[PlayerId, tuple[Side | None, float]] = {}
        """Side (None: any) that a player asked for who is held until the answer comes, and until when at the latest."""
        self._moves: list[tuple[Move, float]] = []
        """Moves that wait for their player's death, and until when at the latest."""
        self._reported: dict[PlayerId, Where] = {}
        """Side of each player by the last event that said so."""
        self.roster_due = False
        """Something has changed that only a roster says."""

    # Questions.

    def on(self, side: Side) -> tuple[PlayerId, ...]:
        """The players on a side, in the order in which they connected."""
        return tuple(client.id for client in self.clients.values() if client.side is side)

    def bench(self) -> tuple[PlayerId, ...]:
        """The players who wait for a side."""
        return tuple(client.id for client in self.clients.values() if client.side is None and client.waiting)

    def to_be_moved(self) -> tuple[PlayerId, ...]:
        """The players whose move waits for their death."""
        return tuple(move.player for move, _ in self._moves)

    @property
    def arena(self) -> bool:
        """True in arena, where players wait on the bench and do not join a running round."""
        return self.map.mode is Mode.ARENA

    @property
    def queues(self) -> bool:
        """Players on no side wait for one: arena's Waiting to Play, NS2's ready room."""
        return self.map.mode in (Mode.ARENA, Mode.NS2)

    @property
    def uneven(self) -> bool:
        """True if a running round has sides so uneven that autobalance may act."""
        gap = len(self.on(Side.A)) - len(self.on(Side.B))
        return self.phase is Phase.RUNNING and not self.arena and abs(gap) >= 2

    def locked(self, player: PlayerId) -> Side | None:
        """The side on which a player is locked now; None if on none."""
        side, until = self.locks.get(player, (None, 0.0))
        return side if until > self.clock else None

    def fractions_played(self, side: Side) -> dict[PlayerId, float]:
        """The part of the running round, up to 1, that each player has spent on a side; the others are left out."""
        game_round = self._running
        length = self.clock - game_round.at
        return {player: seconds / length for player, seconds in game_round.attendance.seconds(side, self.clock).items()}

    def seconds_played(self) -> dict[PlayerId, float]:
        """Seconds of the running round that each player has spent on either side."""
        a, b = (self._running.attendance.seconds(side, self.clock) for side in Side)
        return {player: a.get(player, 0.0) + b.get(player, 0.0) for player in a | b}

    # Events.

    def hello(self) -> e.Hello:
        """The script introduces itself."""
        return e.Hello(
            self.clock, self._session, self.map.name, self.map.mode, self.phase, waiting=self.waiting_for_players
        )

    def roster(self) -> e.RosterSeen:
        """The roster; changes of side up to now then need no event of their own."""
        return e.RosterSeen(self.clock, self._roster())

    @property
    def quiet(self) -> bool:
        """True if there are no events to take."""
        return not (self._events or self.roster_due) and self._reported == self._where()

    def take(self) -> tuple[e.ScriptEvent, ...]:
        """Return the events since the last call, then every change of side that no roster has shown."""
        changes = [
            e.SideChanged(self.clock, client.id, client.side, client.waiting)
            for client in self.clients.values()
            if self._reported.get(client.id) != client.where
        ]
        self._reported = self._where()
        # Changes last: a player who joined and has a side already is introduced by an event before.
        taken, self._events = (*self._events, *changes), []
        return taken

    def _where(self) -> dict[PlayerId, Where]:
        return {player: client.where for player, client in self.clients.items()}

    def _roster(self) -> Roster:
        self._reported, self.roster_due = self._where(), False
        return Roster(
            tuple(
                Entry(
                    *(client.id, client.side, client.waiting, client.alive),
                    connected=self.clock - client.since,
                    commander=client.commander,
                )
                for client in self.clients.values()
            )
        )

    @property
    def _session(self) -> str:
        return f"{self.boot}-{self._maps}"

    # What happens on the server.

    def pass_time(self, seconds: float) -> None:
        """The clock goes on; moves whose deadline has come are carried out, and no player is held too long."""
        self.clock += seconds
        self._carry_out(*(move for move, until in self._moves if until <= self.clock))
        for player, (side, until) in list(self._wishes.items()):
            if until <= self.clock:
                del self._wishes[player]
                self._put(player, self.locked(player) or side or min(Side, key=lambda each: len(self.on(each))))

    def connect(self, player: PlayerId) -> None:
        """A player joins; in arena they wait for the next round, in NS2 they stand in the ready room."""
        self.clients[player] = Client(player, self.clock, waiting=self.queues)
        self._events.append(e.PlayerJoined(self.clock, player))

    def disconnect(self, player: PlayerId) -> None:
        """A player leaves; orders about them are forgotten."""
        del self.clients[player]
        self._reported.pop(player, None)
        self._wishes.pop(player, None)
        self._moves = [entry for entry in self._moves if entry[0].player != player]
        if self._round:
            self._round.attendance.leave(player, self.clock)
        self._events.append(e.PlayerLeft(self.clock, player))

    def want(self, player: PlayerId, side: Side | None) -> None:
        """A player asks for a side, None: any; they are held until they are placed."""
        self._wishes[player] = side, self.clock + HELD_SECONDS
        self._events.append(e.SideWanted(self.clock, player, side))

    def say(self, player: PlayerId | None, *words: str, admin: bool = False) -> None:
        """A player types a command in chat; None: an admin in the console."""
        self._events.append(e.Commanded(self.clock, words, player, admin or player is None))

    def change_map(self, game_map: Map) -> None:
        """Start a map: all players leave their sides, and outside arena the game waits for players."""
        self.map, self.phase = game_map, Phase.IDLE
        self.waiting_for_players = not self.queues
        self._maps += 1
        self._round = None
        for forgotten in (self.locks, self._moves, self._wishes):
            forgotten.clear()
        for client in self.clients.values():
            client.side, client.waiting, client.commander = None, self.queues, False

    def end_waiting(self) -> None:
        """End the warm-up in which the game waits for players."""
        self.waiting_for_players = False
        self._events.append(e.WaitingEnded(self.clock))

    def start_round(self) -> None:
        """Begin freeze time; all players on a side are alive."""
        self.phase = Phase.FREEZE
        for client in self.clients.values():
            client.alive = client.side is not None
        self._events.append(e.RoundStarted(self.clock, self._roster()))

    def go_live(self) -> RoundId:
        """End freeze time: the round goes live with the present lineup."""
        self.phase = Phase.RUNNING
        self._rounds += 1
        everyone = tuple(LineupPlayer(player, side) for side in Side for player in self.on(side))
        # In arena a player who died in the freeze does not come back before the next round.
        lineup = tuple(entry for entry in everyone if self.clients[entry.id].alive or not self.arena)
        self._round = RunningRound(RoundId(f"{self.boot}-{self._rounds}"), self.clock, lineup)
        for entry in everyone:
            self._round.attendance.play(entry.id, entry.side, self.clock)
        self._events.append(e.RoundLive(self.clock, self._round.id, self._roster()))
        return self._round.id

    def fight(self) -> None:
        """Let every player on a side deal some damage."""
        self._running.attendance.fight(player for side in Side for player in self.on(side))

    def die(self, player: PlayerId) -> None:
        """A player dies; a move that waited for this is carried out."""
        self.clients[player].alive = False
        self._carry_out(*(move for move, _ in self._moves if move.player == player))

    def end_round(
        self,
        winner: Side | None,
        captures: dict[Side, int] | None = None,
        counts: Mapping[PlayerId, Counts] | None = None,
        *,
        partial: bool = False,
    ) -> e.RoundEnded:
        """The round is over. Its event is returned and not queued: a script keeps it until it is stored."""
        game_round, points = self._running, captures or {}
        self._round, self.phase = None, Phase.OVER
        live = game_round.at if self.map.mode is Mode.NS2 else None
        return e.RoundEnded(
            self.clock,
            Round(
                id=game_round.id,
                server=self.name,
                session=self._session,
                map=self.map.name,
                mode=self.map.mode,
                started_at=self.boot / 1000 + game_round.at,
                seconds=self.clock - game_round.at,
                winner=winner,
                lineup=game_round.lineup,
                presences=game_round.attendance.presences(self.clock, live, counts),
                captures_a=points.get(Side.A, 0),
                captures_b=points.get(Side.B, 0),
                partial=partial,
            ),
        )

    @property
    def _running(self) -> RunningRound:
        assert self._round is not None, "no round is live"
        return self._round

    # Orders.

    def apply(self, order: Order) -> bool:
        """Carry out an order; returns True if a player changed sides at once."""
        match order:
            case Assign():
                return self._assign(order)
            case Move() if order.player not in self.clients:
                return self._fail(order.order, "left")
            case Move():
                self._moves.append((order, self.clock + order.deadline))
            case Cancel():
                self._moves = [entry for entry in self._moves if entry[0].order != order.order]
            case Place():
                return self._place(order)
            case Lock():
                until = UNTIL_SCRAMBLE if order.seconds is None else self.clock + order.seconds
                self.locks[order.player] = order.side, until
            case Unlock():
                self.locks = {player: lock for player, lock in self.locks.items() if player not in order.ids}
            case OpenVote() | Say() | Tell():
                pass  # Simulated players neither vote nor read.
            case _:
                assert_never(order)
        return False

    def _assign(self, order: Assign) -> bool:
        if order.moment is Moment.FREEZE and self.phase is not Phase.FREEZE:
            return self._fail(order.order, "live")
        if not {*order.split.a, *order.split.b, *order.split.bench} <= self.clients.keys():
            return self._fail(order.order, "left")
        self.seat(order.split)
        self._done(order.order)
        return True

    def seat(self, split: Split) -> None:
        """Put the players of a split on the sides and the bench; the others stay where they are."""
        for players, side in ((split.a, Side.A), (split.b, Side.B), (split.bench, None)):
            for player in players:
                self._put(player, side)
        self.locks = {player: lock for player, lock in self.locks.items() if lock[1] != UNTIL_SCRAMBLE}

    def _put(self, player: PlayerId, side: Side | None) -> None:
        client = self.clients[player]
        client.side, client.waiting, client.alive = side, side is None, side is not None
        if self._round and side is not None:
            self._round.attendance.play(player, side, self.clock)

    def _place(self, order: Place) -> bool:
        # The answer came too late: the game has placed them, or they have left.
        if self._wishes.pop(order.player, None) is None:
            return False
        client = self.clients[order.player]
        before = client.where
        if order.side is None or order.side is not client.side:
            self._put(order.player, order.side)
        return client.where != before

    def _carry_out(self, *moves: Move) -> None:
        self._moves = [entry for entry in self._moves if entry[0] not in moves]
        for move in moves:
            self._put(move.player, move.side)
            self._done(move.order)

    def _done(self, order: OrderId) -> None:
        self._events.append(e.OrderDone(self.clock, order))

    def _fail(self, order: OrderId, reason: str) -> bool:
        self._events.append(e.OrderFailed(self.clock, order, reason))
        return False


class NS2Server(GameServer):
    """A simulated NS2 game as the mod sees it, which carries orders out."""

    def __init__(self, name: ServerId, boot: int, game_map: Map) -> None:
        super().__init__(name, boot, game_map)
        self._held: Assign | None = None
        """The assignment that waits for Countdown."""

    def commander(self, side: Side) -> PlayerId | None:
        """The player in a side's command chair."""
        return next((entry.id for entry in self.clients.values() if entry.side is side and entry.commander), None)

    def presences(self) -> tuple[Presence, ...]:
        """Who has played the running round so far, and when."""
        game_round = self._running
        return game_round.attendance.presences(self.clock, game_round.at)

    # What happens on the server.

    def take_chair(self, player: PlayerId) -> None:
        """A player begins to command their side; who commanded it before is back on the field."""
        side = self.clients[player].side
        assert side is not None, "a commander is on a side"
        if (before := self.commander(side)) is not None:
            self.leave_chair(before)
        self._command(player, True)

    def leave_chair(self, player: PlayerId) -> None:
        """A commander is back on the field."""
        self._command(player, False)

    def _command(self, player: PlayerId, commands: bool) -> None:
        client = self.clients[player]
        client.commander, self.roster_due = commands, True
        if self._round and client.side is not None:
            role = Role.COMMANDER if commands else Role.FIELD
            self._round.attendance.play(player, client.side, self.clock, role)

    def abort(self) -> None:
        """A side lost its commander in PreGame: there is no round."""
        self.phase = Phase.IDLE
        self._events.append(e.RoundAborted(self.clock))
        if self._held is not None:
            self._fail(self._held.order, "aborted")
            self._held = None

    def count_down(self) -> bool:
        """Countdown begins, the moment of the held assignment; returns True if a player changed sides."""
        order, self._held = self._held, None
        return order is not None and self._seat_present(order)

    def go_live(self) -> RoundId:
        """The state becomes Started."""
        if self._held is not None:
            self._fail(self._held.order, "too_late")
            self._held = None
        live = super().go_live()
        for client in self.clients.values():
            if client.commander and client.side is not None:
                self._running.attendance.play(client.id, client.side, self.clock, Role.COMMANDER)
        return live

    def abandon(self) -> e.RoundEnded:
        """ResetGame in a running round: it is told as partial, and the next start begins anew."""
        end = self.end_round(None, partial=True)
        self.phase = Phase.IDLE
        return end

    def to_ready_room(self) -> None:
        """After a round the game takes all players off their sides."""
        self.phase = Phase.IDLE
        for client in self.clients.values():
            client.side, client.waiting, client.commander = None, True, False

    # Orders.

    def _assign(self, order: Assign) -> bool:
        if order.moment is Moment.NOW:
            return self._seat_present(order)
        if self.phase is not Phase.FREEZE:
            return self._fail(order.order, "too_late")
        self._held = order
        return False

    def _seat_present(self, order: Assign) -> bool:
        """Seat the players who are still here, if that leaves no side two larger than the other."""
        seats = order.split
        present = Split(*(tuple(entry for entry in side if entry in self.clients) for side in (seats.a, seats.b)))
        if present != Split(seats.a, seats.b) and abs(len(present.a) - len(present.b)) > 1:
            return self._fail(order.order, "sizes")
        before = self._where()
        self.seat(present)
        self._done(order.order)
        return self._where() != before

    def _put(self, player: PlayerId, side: Side | None) -> None:
        # Who stays keeps the chair.
        if self.clients[player].side is side:
            return
        self.clients[player].commander = False
        super()._put(player, side)
