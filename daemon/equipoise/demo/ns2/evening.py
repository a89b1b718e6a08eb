"""An NS2 evening: what happens on the server, and what the daemon makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from statistics import fmean

from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.effects import Assign, Move, Order, Place, Say, Tell
from equipoise.core.events import Phase
from equipoise.core.model import Mode, PlayerId, Presence, Round, RoundId, ServerId, Side, logistic
from equipoise.core.phrases import Phrase, Text
from equipoise.demo import words as common
from equipoise.demo.board import NS2_LOOK, Row, Stage
from equipoise.demo.client import Client
from equipoise.demo.daemon import Daemon, Installation
from equipoise.demo.evening import Evening, boot
from equipoise.demo.ns2 import words
from equipoise.demo.ns2.cast import POINTS, Person, chance, draw_winner, lineup, random_favourite
from equipoise.demo.record import Played
from equipoise.lab.simulation.game_server import Map
from equipoise.lab.simulation.measures import spearman
from equipoise.lab.simulation.ns2_server import NS2Server
from equipoise.wire import NS2

SERVER = "ns2-1"
ROUND_SECONDS = 2000.0
"""More than a round takes on the game's clock, with what is before and after it."""
ADVANTAGES = {"ns2_veil": 0.2, "ns2_summit": -0.1, "ns2_tram": 0.35}
"""The maps, and the marines' true advantage there, log-odds."""
RULES = """\
# The evening's clock runs much faster than the daemon's: what lasts minutes would last for rounds.
[lock]
minutes = 0
[vote]
cooldown_minutes = 0
"""
INSTALLATION = Installation(SERVER, NS2, 'system = "ns2"', RULES)


HOLD_SECONDS = 3.0
"""More than the mod holds a player who wants a side."""
COMMANDER = "commander"
GROUP = 4
"""Players who choose a side in one moment."""


@dataclass(slots=True)
class Tally:
    """What the evening adds up to besides the record."""

    wishes: list[bool] = field(default_factory=list)
    """For each wish of each round, whether its player began the round on that side."""
    true: dict[RoundId, float] = field(default_factory=dict)
    """The marines' true win probability, given who played when."""
    commanded: set[PlayerId] = field(default_factory=set)
    """Players who have commanded."""
    drawn: int = 0
    restarted: int = 0
    """Rounds that a shuffle began again."""
    chosen: list[bool] = field(default_factory=list)
    """For each side that was named in a secret team choice, whether the player got it."""


class NS2Evening(Evening):
    """An evening on an NS2 server."""

    look = NS2_LOOK

    def __init__(
        self, people: Sequence[Person], rounds: int, rng: Random, daemon: Daemon, client: Client, stage: Stage
    ) -> None:
        self.people = {person.id: person for person in people}
        self.game = NS2Server(ServerId(SERVER), boot(rounds, ROUND_SECONDS), Map("ns2_veil", Mode.NS2))
        super().__init__(self.people, rounds, rng, daemon, client, stage, self.game)
        self.tally = Tally()
        self._wishes: dict[PlayerId, Side] = {}
        """The side that players asked for before this round, who care which."""
        self._held: tuple[str, common.Teams] | None = None
        """Why or when there is the shuffle that waits for Countdown, and the teams when it was ordered."""
        self._answers: list[Text] = []
        """What players have read since one last asked something."""
        self._lineup: list[Presence] = []
        self._random = 0.5
        self._predicted = 0.5

    # Orders.

    def _obey(self, order: Order) -> None:
        if isinstance(order, Assign) and order.moment is Moment.NOW and self.game.phase is Phase.RUNNING:
            self.script.keep(self.game.abandon())
            self.tally.restarted += 1
        super()._obey(order)
        match order:
            case Say(text):
                self._answers.append(text)
            case Tell(_, lines):
                self._answers += lines

    def _report(self, order: Order, before: common.Teams, *, changed: bool) -> None:
        match order:
            case Assign(moment=Moment.FREEZE):
                usual = order.reason.phrase is Phrase.REASON_ROUND_START
                self._held = f"before round {self.number}" if usual else self.english(order.reason), before
            case Assign() if changed:
                self._count_shuffle(self.english(order.reason), before)
            case Move():
                self.record.gaps += 1
                side, reason = words.SIDES[order.side], self.english(order.reason)
                self.report("move", f"{self.name(order.player)} → {side} at their next death: {reason}")
            case Place() if order.reason.phrase.refusal:
                self.record.refused += 1
                self.report("move", f"{self.name(order.player)} wants the other side: {self.english(order.reason)}")

    def _count_shuffle(self, reason: str, before: common.Teams) -> None:
        """Count a shuffle that was carried out; it is reported when the daemon has said how even it is."""
        after = self.teams()
        self.record.scrambles += 1
        self.record.moved += before.moved_to(after)
        said = partial(words.shuffled, reason=reason, before=before, after=after)
        self._remade.append((said, before, after))

    # Before a round.

    async def gather(self) -> None:
        """Players choose sides out of the ready room, a few at a time; some go on standing there."""
        self._winner, self._chat, self._wishes = None, "", {}
        self.game.pass_time(20)
        here = [id for id in self.game.clients if self.game.clients[id].side is None]
        self.rng.shuffle(here)
        choosing = here[: max(len(here) - self.rng.randint(0, 2), 2)]
        for place in range(0, len(choosing), GROUP):
            for id in choosing[place : place + GROUP]:
                await self._want(id)
            await self.sync()
            self.game.pass_time(HOLD_SECONDS)  # without the daemon all go where they asked
        self.man_chairs()
        await self.sync()

    async def _want(self, id: PlayerId) -> None:
        side = self.people[id].prefers
        if side is not None:
            self._wishes[id] = side
        self.game.want(id, side or self.rng.choice(list(Side)))

    def man_chairs(self) -> None:
        """On each side without a commander a player takes the chair, if possible one who likes to."""
        for side in Side:
            there = self.game.on(side)
            if there and self.game.commander(side) is None:
                willing = [id for id in there if self.people[id].commands]
                self.game.take_chair(self.rng.choice(willing or there))

    async def choose(self) -> None:
        """A secret team choice: all say what they want, most of them the side that they prefer."""
        self.game.say(None, "choice")
        await self.sync()
        before, chosen = self.teams(), dict[PlayerId, Side | None]()
        for id in list(self.game.clients):
            chosen[id] = side = self.people[id].prefers
            self.game.say(id, "choose", words.SIDES[side].lower() if side else "random")
        seen = self.record.scrambles
        await self.sync()
        named = [self.game.clients[id].side is side for id, side in chosen.items() if side is not None]
        self.tally.chosen += named
        if self.record.scrambles > seen:
            after = (
                f"{sum(named)} of {len(named)} who named a side got it, {before.moved_to(self.teams())} changed side"
            )
            self.report("people", f"The choice is closed: {after}")

    async def vote(self, id: PlayerId) -> tuple[str, bool]:
        """A player asks for a shuffle: what they read, and whether that was the last word on it."""
        self._answers.clear()
        self.game.say(id, "vote")
        await self.sync()
        if not self._answers:
            return "nothing", False
        voice = self._answers[-1].phrase is Phrase.VOTE_SHUFFLE
        return self.english(self._answers[-1]), not voice

    async def start(self) -> None:
        """PreGame, Countdown with its shuffle, and Started."""
        await self.pregame()
        self.game.pass_time(3)
        await self.count_down()
        self.game.pass_time(6)
        await self.go_live()

    async def pregame(self) -> None:
        """Both sides have a commander: the next round starts, and teams are asked for."""
        self.man_chairs()
        self.game.start_round()
        await self.sync()

    async def count_down(self) -> None:
        """The shuffle is carried out; without the daemon the mod uses the split that it was given last."""
        before, (reason, ordered) = self.teams(), self._held or ("", self.teams())
        self._held = None
        changed = self.game.count_down()
        alone = not self.up and self.script.scramble_alone()
        self.man_chairs()
        if alone:
            self._count_shuffle("the daemon is away, the mod applies its cached split", before)
        elif changed:
            self._count_shuffle(reason, ordered)
        await self.sync()

    async def go_live(self) -> None:
        """The round goes live: note its lineup, and which wishes came true."""
        self.game.go_live()
        await self.sync()
        teams = self.teams()
        chairs = [id for side in Side if (id := self.game.commander(side)) is not None]
        self._lineup = lineup(teams.a, teams.b, chairs)
        self.tally.commanded.update(chairs)
        self._predicted = 0.5 if teams.chance is None else teams.chance
        self._random = random_favourite(self.rng, self.people, (teams.a, teams.b), chairs, self.advantage)
        self.tally.wishes += [self.game.clients[id].side is side for id, side in self._wishes.items() if self._here(id)]

    def _here(self, id: PlayerId) -> bool:
        return id in self.game.clients

    # A round.

    @property
    def advantage(self) -> float:
        """The marines' true advantage on the map, log-odds."""
        return ADVANTAGES[self.game.map.name]

    async def finish(self, *, drawn: bool = False) -> None:
        """The round ends. The winner is drawn by the truth about who played when; the result is delivered and rated."""
        self.game.pass_time(300 + 900 * self.rng.random())
        for id in self.game.to_be_moved():
            self.game.die(id)
        self.game.pass_time(60)
        true = chance(self.people, self.game.presences(), self.advantage)
        winner = None if drawn else draw_winner(self.rng, true)
        ended = self.game.end_round(winner).round
        self.script.keep(e.RoundEnded(self.game.clock, ended))
        self._record(ended, true)
        await self.sync()
        self.record.fidelity.append(self.fidelity())

    def _record(self, ended: Round, true: float) -> None:
        """Count the round. How even it was is said of its lineup, how probable its end of who played when."""
        self._winner = ended.winner
        at_start = chance(self.people, self._lineup, self.advantage)
        self.record.rounds.append(Played(self._predicted, at_start, self._random, ended.score(Side.A)))
        self.tally.true[ended.id] = true
        self.tally.drawn += ended.winner is None
        self.report("round", words.finished(self.number, ended.winner, ended.seconds / 60, self._predicted))

    async def to_ready_room(self) -> None:
        """Eight seconds later the game takes all players off their sides."""
        self.game.pass_time(8)
        self.game.to_ready_room()
        await self.sync()

    # What is shown.

    def teams(self) -> common.Teams:
        """The players on each side and in the ready room, and the marines' win probability by the daemon."""
        a, b = self.game.on(Side.A), self.game.on(Side.B)
        chance = self._chance if self.up else self._guess(a, b)
        return common.Teams(a, b, self.game.bench(), chance if a and b else None)

    def _guess(self, a: Iterable[PlayerId], b: Iterable[PlayerId]) -> float | None:
        """The win probability by the last known ratings alone, while the daemon is away."""
        if not (a and b):
            return None
        difference = fmean(map(self.rating, a)) - fmean(map(self.rating, b))
        return logistic(difference / 2 / POINTS)

    def _row(self, id: PlayerId) -> Row:
        """A player is shown with their skill in the part that they have: as marine, as alien or as commander."""
        person, part = self.people[id], self._part(id)
        side = self.game.clients[id].side
        true = person.commanding if part == COMMANDER else person.skill if side is None else person.on(side)
        return replace(super()._row(id), rating=self._skill(id, part), skill=true)

    def _part(self, id: PlayerId) -> str:
        """What the daemon calls the skill that counts now; empty: the average."""
        client = self.game.clients[id]
        return COMMANDER if client.commander else "" if client.side is None else NS2.word(client.side)

    def _skill(self, id: PlayerId, part: str) -> float:
        summary = self._summaries.get(id)
        return self.rating(id) if summary is None or not summary.skills else summary.skills.get(part, summary.rating)

    def commanders_fidelity(self) -> float:
        """Rank correlation of the skills as commanders with the true ones, of those who have commanded."""
        known = sorted(self.tally.commanded)
        return spearman([self._skill(id, COMMANDER) for id in known], [self.people[id].commanding for id in known])

    def _due(self) -> str:
        return "shuffle at the next round start" if self.script.pending else ""
