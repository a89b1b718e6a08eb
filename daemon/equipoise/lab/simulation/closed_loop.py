"""The simulated game server and the real session around each other, with the real solver and the real rating system.

What the host, the store and the wire do in the daemon is done here at once and in this process: every event is handed
to the session, every order is carried out, and every question is answered, before the next event.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, assert_never

from equipoise.balancing import Solved, answer, match_of, outlook, summaries_on
from equipoise.balancing.chances import chance_at_equal_numbers
from equipoise.core import events as e
from equipoise.core.asks import AskChance, AskMoves, AskSide, AskSplit, AskSwitch, CacheSplits, LoadSummaries
from equipoise.core.effects import (
    Assign,
    Cancel,
    Effect,
    Ignored,
    Lock,
    LogDecision,
    LookUp,
    Move,
    OpenVote,
    Place,
    RecordRound,
    Say,
    Tell,
    Unlock,
)
from equipoise.core.model import Counts, OrderId, Outlook, PlayerId, ServerId, Side
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.lab.simulation.fairness import Moved, Scrambled
from equipoise.lab.simulation.game_server import GameServer, Map
from equipoise.lab.simulation.measures import Teams
from equipoise.ratings.history import History
from equipoise.ratings.joint import spread
from equipoise.ratings.system import Match, Rated, System

BOOT = 1_700_000_000_000
"""When the simulation begins, milliseconds since the epoch."""
FREEZE_SECONDS = 10.0


_TEAMS: dict[str, Teams] = {
    "scramble": Teams.SCRAMBLED,
    "duel": Teams.SCRAMBLED,
    "equal_sides": Teams.EQUALISED,
    "too_uneven": Teams.MOVED,
}
"""Way that the teams were made, by the kind of the decision."""

Solve = Callable[[AskSplit | AskMoves | AskSide | AskSwitch | CacheSplits, System[Any]], Solved]
"""Function that answers the session's asks: `balancing.answer`, or another one for comparison."""


class ClosedLoop:
    """One pool's only server: the game, its session, and the systems that rate its rounds.

    `system` is shown; `balance` makes the teams and predicts, where it is another one; it learns its spread of skill if
    it can and `learns` says so.
    """

    def __init__(
        self,
        game_map: Map,
        system: System[Any],
        rules: Rules,
        solve: Solve = answer,
        balance: System[Any] | None = None,
        *,
        learns: bool = False,
    ) -> None:
        self.system, self._solve = system, solve
        self.balancing: System[Any] = balance or system
        """Makes the teams; `system` is shown."""
        self.session = Session(rules)
        self.game = GameServer(ServerId("simulated"), BOOT, game_map)
        self.rated: Rated | None = None
        """The rating of the last round by the system that makes the teams; None: it was not rated."""
        self.teams = Teams.KEPT
        """How the teams came about in this round's freeze."""
        self.assigned = 0
        """Players whom splits have put on the other side."""
        self.moved = 0
        """Players whom autobalance has moved."""
        self.scrambles: list[Scrambled] = []
        """Those that were due."""
        self.moves: list[Moved] = []
        """All changes of side that players did not ask for."""
        self.player_seconds = 0.0
        """How long players were on the server, all together."""
        self._learns = learns and self.balancing.spread is not None
        self._learnt_at = -math.inf
        self._rated: list[Match] = []
        """All that a system which learns its spread begins anew with."""
        self._assignments: dict[OrderId, tuple[dict[PlayerId, Side], dict[PlayerId, Side]]] = {}
        """Who stood on a side before and after, of assignments whose decision is not logged yet: it follows the order,
        and what the session orders when it hears that the order is done comes between."""

    def change_map(self, game_map: Map) -> None:
        """Start a map; all players choose a side again."""
        self.game.change_map(game_map)
        self._hear(self.game.hello(), self.game.roster())
        if not self.game.arena:
            for player in list(self.game.clients):
                self._want_any_side(player)
            self.game.end_waiting()
            self._sync()

    def join(self, player: PlayerId) -> None:
        """A player connects; outside arena they ask for a side at once."""
        self.game.connect(player)
        self._sync()
        if not self.game.arena:
            self._want_any_side(player)

    def _want_any_side(self, player: PlayerId) -> None:
        self.game.want(player, None)
        self._sync()

    def leave(self, player: PlayerId) -> None:
        """A player disconnects."""
        self.game.disconnect(player)
        self._sync()

    def pass_time(self, seconds: float) -> None:
        """The clock goes on. Each stretch is long enough for a player who is to be moved to die in it."""
        # Taken before the time passes: some moves are carried out in it, at their deadline.
        sides = {player: self.game.clients[player].side for player in self.game.to_be_moved()}
        self.moved += len(sides)
        self.player_seconds += seconds * len(self.game.clients)
        self.game.pass_time(seconds)
        for player in self.game.to_be_moved():
            self.game.die(player)
        crossers = [player for player, side in sides.items() if self.game.clients[player].side is not side]
        self.moves += [Moved(player, "autobalance", self.game.clock) for player in crossers]
        self._sync()
        deadline = self.session.deadline()
        if deadline is not None and deadline <= self.game.clock:
            self._obey(self.session.tick(self.game.clock))

    def start_round(self) -> bool:
        """Freeze time, in which teams are made, and the start; False when a side is empty and no round is played."""
        self.rated, self.teams = None, Teams.KEPT
        self.game.start_round()
        self._sync()
        self.pass_time(FREEZE_SECONDS)
        if not all(self.game.on(side) for side in Side):
            return False
        self.game.go_live()
        self.game.fight()
        self._sync()
        return True

    def outlook(self) -> Outlook:
        """Return the chance of the present sides by the system that makes the teams."""
        return outlook(self.balancing, self.session.memory.context, self.game.on(Side.A), self.game.on(Side.B))

    def chance_of_teams(self) -> float:
        """Return that chance for the players alone, at equal numbers: by it sides are too uneven."""
        return chance_at_equal_numbers(
            self.balancing, self.session.memory.context, self.game.on(Side.A), self.game.on(Side.B)
        )

    def end_round(
        self, winner: Side | None, captures: dict[Side, int], counts: Mapping[PlayerId, Counts] | None = None
    ) -> None:
        """End the round; the session has it rated."""
        self._hear(self.game.end_round(winner, captures, counts))

    def learn(self) -> None:
        """Fit the spread of skill, as the daemon does every night, and begin anew if it has changed."""
        since = self.game.clock - self._learnt_at
        if not self._learns or since < spread.OFTEN or len(self._rated) < spread.LEAST:
            return
        system = self.balancing
        params = replace(system.params, spread=system.spread)
        fit = spread.fit_spread(params, History.of(self._rated))
        if fit is None or not spread.is_due(fit.spread, params.spread, fit.missing, since):
            return
        anew = type(system)(system.params)
        anew.begin(fit.spread)
        for match in self._rated:
            anew.rate(match)
        # Into the same object, which the session and the caller hold.
        system.go_back(anew.checkpoint())
        self._learnt_at = self.game.clock
        self._load(self.game.clients)

    def _sync(self) -> None:
        """Pass the game's new events to the session and carry out its answers."""
        self._hear(*self.game.take())

    def _hear(self, *events: e.Event) -> None:
        for event in events:
            self._obey(self.session.receive(event, self.game.clock))

    def _obey(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Assign():
                    self._assign(effect)
                case Move() | Cancel() | Place() | Lock() | Unlock():
                    self.game.apply(effect)
                    self._sync()
                case LoadSummaries():
                    self._load(effect.players)
                case AskSplit() | AskMoves() | AskSide() | AskSwitch():
                    self._hear(self._solve(effect, self.balancing))
                case RecordRound():
                    self._rate(effect)
                case LogDecision():
                    self._note(effect)
                case AskChance() | OpenVote() | Say() | Tell() | LookUp() | CacheSplits() | Ignored():
                    pass  # Votes, messages, and splits for a script that loses its daemon: not simulated.
                case _:
                    assert_never(effect)

    def _assign(self, order: Assign) -> None:
        before = self._on_sides()
        self.game.apply(order)
        after = self._on_sides()
        self._assignments[order.order] = before, after
        crossers = [player for player, side in before.items() if after.get(player) is side.other]
        self.assigned += len(crossers)
        self.moves += [Moved(player, order.purpose.value, self.game.clock) for player in crossers]
        self._sync()

    def _note(self, decision: LogDecision) -> None:
        # A freeze may have several decisions; those that make no teams change nothing.
        self.teams = _TEAMS.get(decision.kind, self.teams)
        assignment = self._assignments.pop(decision.order, None) if decision.order else None
        if decision.kind == "scramble":
            # Without an order nobody moves.
            before, after = assignment or (self._on_sides(), self._on_sides())
            self.scrambles.append(Scrambled(before, after, decision.after.teams if decision.after else None))

    def _on_sides(self) -> dict[PlayerId, Side]:
        return {player: client.side for player, client in self.game.clients.items() if client.side is not None}

    def _load(self, players: Iterable[PlayerId]) -> None:
        summaries = [self.system.summary(player) for player in players]
        self._hear(e.SummariesLoaded(summaries_on(self.balancing, self.session.memory.context, summaries)))

    def _rate(self, record: RecordRound) -> None:
        match = match_of(record)
        if match is None:
            return
        if self.balancing is self.system:
            self.rated = self.system.rate(match)
        else:
            # The session notes skills in the unit of one system. On the pool's only server none changed in the round.
            match = replace(match, skill_at_start={})
            self.system.rate(match)
            self.rated = self.balancing.rate(match)
        if self._learns:
            self._rated.append(match)
        self._load(change.player for change in self.rated.changes)
