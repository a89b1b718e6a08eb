"""An NS2 evening: what happens on the server, and what the daemon makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from statistics import fmean

from equipoise.core.asks import Moment
from equipoise.core.effects import Assign, Move, Order, Place
from equipoise.core.events import Phase
from equipoise.core.model import Mode, PlayerId, Round, ServerId, Side
from equipoise.demo import words as common
from equipoise.demo.board import NS2_LOOK, Stage
from equipoise.demo.client import Client
from equipoise.demo.daemon import Daemon, Installation
from equipoise.demo.evening import Evening, boot
from equipoise.demo.ns2 import words
from equipoise.demo.ns2.cast import Person, chance, draw_winner, lineup, random_favourite
from equipoise.demo.record import Played
from equipoise.lab.simulation.game_server import Map
from equipoise.lab.simulation.ns2_server import NS2Server
from equipoise.wire import NS2

SERVER = "ns2-1"
ROUND_SECONDS = 2000.0
"""More than a round takes on the game's clock, with what is before and after it."""
ADVANTAGES = {"ns2_veil": 0.2, "ns2_summit": -0.1, "ns2_tram": 0.35}
"""The maps, and the marines' true advantage there, log-odds."""
INSTALLATION = Installation(SERVER, NS2, 'system = "ns2"')


class NS2Evening(Evening):
    """An evening on an NS2 server."""

    look = NS2_LOOK

    def __init__(
        self, people: Sequence[Person], rounds: int, rng: Random, daemon: Daemon, client: Client, stage: Stage
    ) -> None:
        self.people = {person.id: person for person in people}
        self.game = NS2Server(ServerId(SERVER), boot(rounds, ROUND_SECONDS), Map("ns2_veil", Mode.NS2))
        super().__init__(self.people, rounds, rng, daemon, client, stage, self.game)
        self.wishes: dict[PlayerId, Side] = {}
        """The side that each player asked for before this round."""
        self.honoured: list[bool] = []
        """For each wish of each round whether its player began the round on that side."""
        self.commanders: tuple[PlayerId, ...] = ()
        """Who commanded when the round went live."""
        self._sides = self.game.on(Side.A), self.game.on(Side.B)
        self._chance: float | None = None
        """The marines' win probability, as the daemon last said it."""

    # Orders.

    def _obey(self, order: Order) -> None:
        if isinstance(order, Assign) and order.moment is Moment.NOW and self.game.phase is Phase.RUNNING:
            self.script.keep(self.game.abandon())
            self.report("trouble", f"Round {self.number} begins again: it is reported as partial, and not rated")
        super()._obey(order)

    def _report(self, order: Order, before: common.Teams, *, changed: bool) -> None:
        match order:
            case Assign(reason=reason, moment=Moment.FREEZE):
                self._held = self.english(reason), before
            case Assign(reason=reason) if changed:
                self._pending_report = self.english(reason), before
            case Move(player=player, side=side, reason=reason):
                self.record.gaps += 1
                self.report("move", f"{self.name(player)} → {words.SIDES[side]} at their next death: {self.english(reason)}")
            case Place():
                self._report_place(order)
