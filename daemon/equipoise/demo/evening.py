"""The evening's state: the game, its script and the daemon behind it. Carries orders out and reports them.

`story` decides what happens; this module makes it happen. Each step changes the game and then calls `sync`, which talks
to the daemon until neither has anything left to send.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from equipoise.core.effects import Assign, Move, Order, Place, Say, Tell
from equipoise.core.model import Mode, PlayerId, ServerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.demo import words
from equipoise.demo.board import Board, Kind, Line, Row, Stage
from equipoise.demo.cast import MEAN, Character, draw_winner, random_favourite, win_probability
from equipoise.demo.client import Client
from equipoise.demo.daemon import SERVER, Daemon
from equipoise.demo.protocol import decoded
from equipoise.demo.record import Played, Record
from equipoise.demo.script import Script
from equipoise.lab.simulation.game_server import GameServer, Map
from equipoise.lab.simulation.measures import spearman
from equipoise.wire import orders as wire

ARENA = Map("arena_lumberyard", Mode.ARENA)
ROUND_SECONDS = 240.0
"""More than a round takes on the game's clock: the boot is set so far back that the evening ends before now."""


class Evening:
    """The game, its script, the daemon, and what the evening adds up to so far."""

    def __init__(
        self, people: Sequence[Character], rounds: int, rng: Random, daemon: Daemon, client: Client, stage: Stage
    ) -> None:
        self.people = {person.id: person for person in people}
        self.rng = rng
        self.daemon = daemon
        self.stage = stage
        self.record = Record()
        self.game = GameServer(ServerId(SERVER), round(1000 * (time.time() - rounds * ROUND_SECONDS)), ARENA)
        self._names = {person.id: person.name for person in people}
        self.script = Script(self.game, self._names)
        self.number = 0
        """The running round, 1 the first."""
        self.rounds = rounds
        """How many there will be."""
        self.up = True
        """The daemon answered the last batch."""
        self._client = client
        self._summaries: dict[PlayerId, wire.PlayerSummary] = {}
        self._changes: dict[PlayerId, float] = {}
        """Rating changes by each player's last rated round."""
        self._chat = ""
        self._sat_out: Counter[PlayerId] = Counter()
        """Rounds on the bench."""
        self._lineup = self.teams()
        self._winner: Side | None = None

    # Talking to the daemon.

    async def sync(self) -> None:
        """Post batches and carry out the orders of the replies until the script has nothing to report."""
        while not self.script.silent:
            if not await self.poll():
                return

    async def poll(self) -> bool:
        """One batch and its answer; False when there is no answer, or when a round must be sent again later."""
        reply = await self._client.exchange(self.script)
        self.up = reply is not None
        if reply is None:
            return False
        self._take_summaries(reply.players)
        for order in reply.orders:
            self._obey(decoded(order))
        return "kept" not in reply.rounds.values()

    async def settle(self) -> None:
        """Wait until the daemon has written what it writes behind its replies: its store answers in order."""
        await self._client.ask("/v1/admin/decisions?limit=1")

    def _take_summaries(self, summaries: Iterable[wire.PlayerSummary]) -> None:
        for summary in summaries:
            id = PlayerId(summary.id)
            before = self._summaries.get(id)
            if before is not None and summary.rounds > before.rounds:
                self._changes[id] = summary.rating - before.rating
            self._summaries[id] = summary

    def _obey(self, order: Order) -> None:
        before = self.teams()
        changed = self.game.apply(order)
        match order:
            case Assign() if changed:
                self._report_assignment(order, before)
            case Move():
                self._report_move(order)
            case Place():
                self._report_place(order, changed=changed)
            case Say(text):
                self._chat = self.english(text)
            case Tell(player, lines) if player:
                self._chat = f"(to {self._names[player]}) {' '.join(map(self.english, lines))}"

    # The ticker.

    def english(self, text: Text) -> str:
        """A phrase in English, with players' names in place of their ids."""
        return words.english(text, self._names)

    def name(self, id: PlayerId) -> str:
        """The name of the player with this id."""
        return self._names[id]

    def report(self, kind: Kind, text: str) -> None:
        """Show a line of this kind on the stage."""
        self.stage.add(Line(kind, text))

    def _report_assignment(self, order: Assign, before: words.Teams) -> None:
        after, reason = self.teams(), self.english(order.reason)
        if order.reason.phrase is Phrase.REASON_DUEL:
            pair = words.listed((*after.red, *after.blu), self._names)
            self.report("scramble", f"{pair} play, everybody else waits: {reason}")
        elif order.reason.phrase is not Phrase.REASON_EQUAL_SIDES:
            self._report_scramble(reason, before, after)
        self.record.benched += len(after.bench)

    def _report_scramble(self, reason: str, before: words.Teams, after: words.Teams) -> None:
        self.record.scrambles += 1
        self.record.moved += before.moved_to(after)
        self.report("scramble", words.scrambled(reason, before, after, self._names, fair=self._fair(after.bench)))

    def _fair(self, bench: Iterable[PlayerId]) -> bool:
        """No player on a side has sat out less often than the players on the bench."""
        least = min(self._sat_out[id] for id in self.game.clients)
        return all(self._sat_out[id] == least for id in bench)

    def _report_move(self, order: Move) -> None:
        self.record.gaps += 1
        side, reason = words.SIDE_NAMES[order.side], self.english(order.reason)
        self.report("move", f"{self._names[order.player]} → {side} at their next death: {reason}")

    def _report_place(self, order: Place, *, changed: bool) -> None:
        name, reason = self._names[order.player], self.english(order.reason)
        if order.reason.phrase.refusal:
            self.record.refused += 1
            self.report("move", f"{name} wants the other side: {reason}")
        elif changed and order.side is not None and not self.game.waiting_for_players:
            self.report("people", f"{name} joins {words.SIDE_NAMES[order.side]}: {reason}")

    # A round.

    async def freeze(self) -> None:
        """The next round's freeze time, in which teams are made; without the daemon the script uses its cache."""
        self.number += 1
        self._winner, self._chat = None, ""
        self.game.pass_time(15)
        before = self.teams()
        self.game.start_round()
        await self.sync()
        if not self.up and self.script.scramble_alone():
            self._report_scramble("the daemon is away, the plugin applies its cached split", before, self.teams())

    async def go_live(self) -> None:
        """The round goes live: note its lineup, and report it."""
        self.game.go_live()
        self._lineup = self.teams()
        self._sat_out.update(self._lineup.bench)
        await self.sync()

    async def finish(self, *, shutout: bool = False) -> None:
        """The round ends; the winner is drawn by true skill, and the result is delivered and rated."""
        self.game.fight()
        self.game.pass_time(60 + self.rng.random() * 120)
        red, blu = (self._skills(self.game.on(side)) for side in Side)
        winner = draw_winner(self.rng, red, blu, self.daemon.theta)
        self.script.keep(self.game.end_round(winner, {winner: 1, winner.other: 0 if shutout else 1}))
        self._record(winner)
        await self.sync()
        self.record.fidelity.append(self._fidelity())

    def _record(self, winner: Side) -> None:
        """Count the round, with the predictions for its lineup: players may have joined or left since."""
        self._winner, lineup = winner, self._lineup
        predicted = 0.5 if lineup.chance is None else lineup.chance
        red, blu = self._skills(lineup.red), self._skills(lineup.blu)
        true = win_probability(red, blu, self.daemon.theta)
        random = random_favourite(self.rng, [*red, *blu], len(red), self.daemon.theta)
        self.record.rounds.append(Played(predicted, true, random, winner is Side.A))
        self.report("round", words.finished(self.number, winner, lineup, self._names, predicted=predicted))

    def _skills(self, ids: Iterable[PlayerId]) -> list[float]:
        return [self.people[id].skill for id in ids]

    def _fidelity(self) -> float:
        known = [id for id, summary in self._summaries.items() if summary.rounds]
        return spearman([self.rating(id) for id in known], [self.people[id].skill for id in known])

    # What is shown.

    def rating(self, id: PlayerId) -> float:
        """A player's rating as the daemon last sent it; a newcomer's before that."""
        summary = self._summaries.get(id)
        return summary.rating if summary else MEAN

    def teams(self) -> words.Teams:
        """The players on each side and on the bench, and RED's win probability by the ratings."""
        red, blu = self.game.on(Side.A), self.game.on(Side.B)
        chance = None
        if red and blu:
            chance = win_probability(map(self.rating, red), map(self.rating, blu), self.daemon.theta)
        return words.Teams(red, blu, self.game.bench(), chance)

    def show(self) -> None:
        """Show the present state on the stage."""
        teams = self.teams()
        self.stage.show(
            Board(
                map=self.game.map.name,
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
