"""The evening's hub: the game server, its script and the daemon behind it; carries orders out and tells of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from equipoise.core.model import PlayerId, Side
from equipoise.demo import words
from equipoise.demo.board import Board, Kind, Line, Row, Stage
from equipoise.demo.client import Client
from equipoise.demo.daemon import SERVER, Daemon
from equipoise.demo.model import MEAN, Person, chance, draw, random_odds
from equipoise.demo.record import Played, Record, rank_correlation
from equipoise.demo.script import Script
from equipoise.demo.server import GameServer
from equipoise.wire import orders as wire

ROUND_SECONDS = 240.0
"""More than a round takes on the server's clock: its evening began so long ago that it ends by now."""


class Evening:
    """Everything that takes part, and what is told of it."""

    def __init__(
        self, people: Sequence[Person], rounds: int, rng: Random, daemon: Daemon, client: Client, stage: Stage
    ) -> None:
        self.people = {person.id: person for person in people}
        self.rng = rng
        self.daemon = daemon
        self.stage = stage
        self.record = Record()
        self.server = GameServer(round(1000 * (time.time() - rounds * ROUND_SECONDS)))
        self.script = Script(self.server, SERVER)
        self.number = 0
        """Of the running round."""
        self.rounds = rounds
        """How many there will be."""
        self.up = True
        self._client = client
        self._names = {person.id: person.name for person in people}
        self._summaries: dict[PlayerId, wire.PlayerSummary] = {}
        self._changes: dict[PlayerId, float] = {}
        self._chat = ""
        self._sat_out: Counter[PlayerId] = Counter()
        """Rounds on the bench."""
        self._lineup = self.teams()
        self._winner: Side | None = None

    # Talking to the daemon.

    async def sync(self) -> None:
        """Say everything there is to say, obey, and say what came of it, until nothing is left."""
        while not self.script.silent:
            if not await self.poll():
                return

    async def poll(self) -> bool:
        """One batch and its answer; False when nobody answers, or a round must be sent again later."""
        reply = await self._client.exchange(self.script)
        self.up = reply is not None
        if reply is None:
            return False
        self._take_summaries(reply.players)
        for order in reply.orders:
            self._obey(order)
        return "kept" not in reply.rounds.values()

    async def settle(self) -> None:
        """Let the daemon write down what it does behind its replies: its store answers in order."""
        await self._client.ask("/v1/admin/decisions?limit=1")

    def _take_summaries(self, summaries: Iterable[wire.PlayerSummary]) -> None:
        for summary in summaries:
            id = PlayerId(summary.id)
            before = self._summaries.get(id)
            if before is not None and summary.rounds > before.rounds:
                self._changes[id] = summary.rating - before.rating
            self._summaries[id] = summary

    def _obey(self, order: wire.AnyOrder) -> None:
        before = self.teams()
        changed = self.server.apply(order)
        match order:
            case wire.Assign() if changed:
                self._tell_assignment(order, before)
            case wire.Move():
                self._tell_move(order)
            case wire.Place():
                self._tell_place(order, changed=changed)
            case wire.Say(text):
                self._chat = self.english(text)
            case wire.Tell(id, lines) if id:
                self._chat = f"(to {self._names[PlayerId(id)]}) {' '.join(map(self.english, lines))}"

    # Telling.

    def english(self, text: wire.Text) -> str:
        """A phrase with names."""
        return words.english(text, self._names)

    def name(self, id: PlayerId) -> str:
        """What he calls himself."""
        return self._names[id]

    def tell(self, kind: Kind, text: str) -> None:
        """A line for the ticker."""
        self.stage.tell(Line(kind, text))

    def _tell_assignment(self, order: wire.Assign, before: words.Teams) -> None:
        after, reason = self.teams(), self.english(order.reason)
        if order.reason.phrase == words.DUEL:
            pair = words.listed((*after.red, *after.blu), self._names)
            self.tell("scramble", f"{pair} play, everybody else waits: {reason}")
        elif order.reason.phrase != words.EQUAL_SIDES:
            self._tell_scramble(reason, before, after)
        self.record.benched += len(after.bench)

    def _tell_scramble(self, reason: str, before: words.Teams, after: words.Teams) -> None:
        self.record.scrambles += 1
        self.record.moved += before.moved_to(after)
        self.tell("scramble", words.scrambled(reason, before, after, self._names, fair=self._fair(after.bench)))

    def _fair(self, bench: Iterable[PlayerId]) -> bool:
        """Nobody here has sat out less than those on the bench."""
        least = min(self._sat_out[id] for id in self.server.clients)
        return all(self._sat_out[id] == least for id in bench)

    def _tell_move(self, order: wire.Move) -> None:
        self.record.gaps += 1
        reason = self.english(order.reason)
        self.tell("move", f"{self._names[PlayerId(order.id)]} → {order.side.upper()} at his next death: {reason}")

    def _tell_place(self, order: wire.Place, *, changed: bool) -> None:
        name, reason = self._names[PlayerId(order.id)], self.english(order.reason)
        if order.reason.phrase in words.REFUSALS:
            self.record.refused += 1
            self.tell("move", f"{name} wants the other side: {reason}")
        elif changed and not self.server.waiting_for_players:
            self.tell("people", f"{name} joins {order.side.upper()}: {reason}")

    # A round.

    async def freeze(self) -> None:
        """The next round's freeze time, in which teams are made; without the daemon the script helps itself."""
        self.number += 1
        self._winner, self._chat = None, ""
        self.server.pass_time(15)
        before = self.teams()
        self.server.start_round()
        await self.sync()
        if not self.up and self.script.scramble_alone():
            self._tell_scramble("the daemon is away, the plugin applies its cached split", before, self.teams())

    async def lineup(self) -> None:
        """The round really starts."""
        self.server.go_live()
        self._lineup = self.teams()
        self._sat_out.update(self._lineup.bench)
        await self.sync()

    async def finish(self, *, shutout: bool = False) -> None:
        """Somebody wins, as true skill has it; the round is delivered and rated."""
        self.server.fight()
        self.server.pass_time(60 + self.rng.random() * 120)
        red, blu = (self._truth(self.server.on(side)) for side in Side)
        winner = draw(self.rng, red, blu, self.daemon.theta)
        captures = {winner: 1, winner.other: 0 if shutout else 1}
        self.script.keep(self.server.end_round(winner, captures), winner, captures[winner.other])
        self._note(winner)
        await self.sync()
        self.record.fidelity.append(self._fidelity())

    def _note(self, winner: Side) -> None:
        """Count the round; what was to be expected is a matter of who stood at the doors."""
        self._winner, lineup = winner, self._lineup
        predicted = 0.5 if lineup.chance is None else lineup.chance
        red, blu = self._truth(lineup.red), self._truth(lineup.blu)
        true = chance(red, blu, self.daemon.theta)
        random = random_odds(self.rng, [*red, *blu], len(red), self.daemon.theta)
        self.record.rounds.append(Played(predicted, true, random, winner is Side.A))
        self.tell("round", words.finished(self.number, winner, lineup, self._names, predicted=predicted))

    def _truth(self, ids: Iterable[PlayerId]) -> list[float]:
        return [self.people[id].skill for id in ids]

    def _fidelity(self) -> float:
        known = [id for id, summary in self._summaries.items() if summary.rounds]
        return rank_correlation([self.rating(id) for id in known], [self.people[id].skill for id in known])

    # What is shown.

    def rating(self, id: PlayerId) -> float:
        """What the daemon last said of him."""
        summary = self._summaries.get(id)
        return summary.rating if summary else MEAN

    def teams(self) -> words.Teams:
        """Who is where, with the odds by the ratings."""
        red, blu = self.server.on(Side.A), self.server.on(Side.B)
        odds = chance(map(self.rating, red), map(self.rating, blu), self.daemon.theta) if red and blu else None
        return words.Teams(red, blu, self.server.bench(), odds)

    def show(self) -> None:
        """Draw the moment."""
        teams = self.teams()
        self.stage.show(
            Board(
                map=self.server.map.name,
                number=self.number,
                rounds=self.rounds,
                red=self._rows(teams.red),
                blu=self._rows(teams.blu),
                bench=self._rows(teams.bench),
                predicted=0.5 if teams.chance is None else teams.chance,
                winner=self._winner,
                due=words.due(self.script.due_if, pending=self.script.pending),
                up=self.up,
                ring=len(self.script.ring),
                chat=self._chat,
                record=self.record,
            )
        )

    def _rows(self, ids: Iterable[PlayerId]) -> tuple[Row, ...]:
        rows = [self._row(id) for id in ids]
        return tuple(sorted(rows, key=lambda row: -row.rating))

    def _row(self, id: PlayerId) -> Row:
        summary = self._summaries.get(id)
        return Row(
            name=self._names[id],
            rating=self.rating(id),
            shadow=summary is None or not summary.visible,
            change=self._changes.get(id, 0.0),
            skill=self.people[id].skill,
        )
