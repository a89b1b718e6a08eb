"""A simulated NS2 server: ready room, commanders, and a start in three steps.

A round goes IDLE → FREEZE (`start_round`: PreGame) → `count_down` → RUNNING (`go_live`: Started) → OVER (`end_round`) →
IDLE (`to_ready_room`). A start may be given up (`abort`), and a running round too (`abandon`: ResetGame).
"""

from __future__ import annotations

from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.effects import Assign
from equipoise.core.events import Phase
from equipoise.core.model import PlayerId, Presence, Role, RoundId, ServerId, Side, Split
from equipoise.lab.simulation.game_server import GameServer, Map


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
