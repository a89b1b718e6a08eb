"""An NS2 evening: its people and the truth about them, what happens on the server, and what the daemon makes of it.

Winners are drawn from the model of docs/ratings/ns2.md, written down once more here: the daemon has to find from
results alone what this module knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from statistics import fmean

from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.effects import Assign, Move, Order, Place, Say, Tell
from equipoise.core.events import Phase
from equipoise.core.model import Mode, PlayerId, Presence, Role, Round, RoundId, ServerId, Side, Span, logistic
from equipoise.core.phrases import Phrase, Text
from equipoise.demo.daemon import Client, Daemon, Installation
from equipoise.demo.evening import NAMES, SMURF, Character, Evening, account, boot
from equipoise.demo.record import UPSET, Odds, Played, Teams, percent
from equipoise.demo.stage import NS2_LOOK, Row, Stage
from equipoise.lab.simulation.game_server import Map, NS2Server
from equipoise.lab.simulation.measures import spearman
from equipoise.wire import NS2

POINTS = 400.0
"""Points per unit of log-odds."""
SHAPE, SCALE = 6.0, 200.0
"""Shape and scale (points) of the Gamma distribution of skills: the rating system's own prior."""
OFFSET = 150.0
"""Standard deviation of a player's offset between the sides, points."""
COMMANDERS = 6
"""How many of the people like to command."""
USUAL_SECONDS = 900.0
"""The length of a round within which what happens early counts twice."""
DRAWS = 0.01
"""Fraction of the rounds without a winner."""


@dataclass(frozen=True, slots=True)
class Person(Character):
    """A player. `skill` is the average of both sides, on the field."""

    offset: float
    """Skill gained as a marine and lost as an alien, points."""
    commanding: float
    """Skill as a commander, points."""
    prefers: Side | None
    """The side that they ask for when they may choose."""
    commands: bool
    """They like to command."""

    def on(self, side: Side) -> float:
        """Skill on the field of a side, points."""
        return self.skill + (self.offset if side is Side.A else -self.offset)


def people(rng: Random, count: int) -> tuple[Person, ...]:
    """Draw `count` people; two in three prefer a side."""
    names = NAMES if count <= len(NAMES) else (*NAMES, SMURF)
    return tuple(random_person(rng, number, name) for number, name in enumerate(rng.sample(names, count), 1))


def random_person(rng: Random, number: int, name: str) -> Person:
    """Draw the person with this number."""
    return Person(
        account(number),
        name,
        skill=rng.gammavariate(SHAPE, SCALE),
        offset=rng.gauss(0, OFFSET),
        commanding=rng.gammavariate(SHAPE, SCALE),
        prefers=rng.choice((Side.A, Side.B, None)),
        commands=number <= COMMANDERS,
    )


def chance(people: Mapping[PlayerId, Person], presences: Iterable[Presence], advantage: float) -> float:
    """The marines' true win probability, given who played when and where; `advantage` is theirs on the map, log-odds.

    >>> ann, bob = (Person(PlayerId(name), name, 1200.0, 100.0, 1200.0, None, commands=True) for name in ("ann", "bob"))
    >>> here = [Presence(ann.id, Side.A, 9, 0, True, spans=(Span(Side.A, 0, 9),)),
    ...         Presence(bob.id, Side.B, 0, 9, True, spans=(Span(Side.B, 0, 9),))]
    >>> round(chance({ann.id: ann, bob.id: bob}, here, advantage=0.4), 3)  # marines 1300, aliens 1100
    0.657
    """
    field, field_weight = 0.0, 0.0
    chairs = dict.fromkeys(Side, 0.0)
    chair_worth = 0.0
    for presence in presences:
        person = people[presence.id]
        for span in presence.spans:
            sign, weight = (1.0 if span.side is Side.A else -1.0), _weight(span)
            if span.role is Role.COMMANDER:
                chairs[span.side] += weight
                chair_worth += sign * weight * person.commanding
            else:
                field_weight += weight
                field += sign * weight * person.on(span.side)
    log_odds = advantage + (field / field_weight / POINTS if field_weight else 0.0)
    if all(chairs.values()):
        log_odds += chair_worth / sum(chairs.values()) / POINTS
    return logistic(log_odds)


def _weight(span: Span) -> float:
    """A moment t seconds into the round counts 4^(-t/usual)."""
    rate = 2.0 * math.log(2.0) / USUAL_SECONDS
    return math.exp(-rate * span.start) - math.exp(-rate * span.end)


def lineup(a: Iterable[PlayerId], b: Iterable[PlayerId], commanders: Iterable[PlayerId]) -> list[Presence]:
    """Presences of players who play one whole round."""
    chairs, roles = set(commanders), (Role.FIELD, Role.COMMANDER)
    return [
        Presence(player, side, 0, 0, True, spans=(Span(side, 0, USUAL_SECONDS, roles[player in chairs]),))
        for side, ids in ((Side.A, a), (Side.B, b))
        for player in ids
    ]


def volunteers(people: Mapping[PlayerId, Person], side: Sequence[PlayerId]) -> Sequence[PlayerId]:
    """Return those of a side who like to command; all of it where nobody does."""
    return [player for player in side if people[player].commands] or side


def random_favourite(
    rng: Random,
    people: Mapping[PlayerId, Person],
    sides: Sequence[Sequence[PlayerId]],
    advantage: float,
    samples: int = 100,
) -> float:
    """The stronger side's win probability, the mean over random teams, each led by one who likes to."""
    everybody, first = [player for side in sides for player in side], len(sides[0])
    odds = []
    for _ in range(samples):
        order = rng.sample(everybody, len(everybody))
        teams = order[:first], order[first:]
        chairs = [rng.choice(volunteers(people, team)) for team in teams]
        odds.append(chance(people, lineup(*teams, chairs), advantage))
    return fmean(max(chance_of_one, 1 - chance_of_one) for chance_of_one in odds)


def draw_winner(rng: Random, marines: float) -> Side | None:
    """Draw the winner of a round by the marines' win probability; None: a draw."""
    # Both in any case: whether a round is drawn shifts no later draw.
    drawn, won = rng.random(), rng.random()
    if drawn < DRAWS:
        return None
    return Side.A if won < marines else Side.B


SIDES = {Side.A: "Marines", Side.B: "Aliens"}


def shuffled(odds: Odds, reason: str, before: Teams, after: Teams) -> str:
    """A shuffle: its reason, the marines' chance before and after, how many moved and how many were placed.

    >>> from equipoise.core.model import PlayerId
    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> before, after = Teams((ann, bob), (), (cid,), None), Teams((ann,), (bob, cid), (), 0.5)
    >>> shuffled((0.71, 0.52, ""), "the round starts", before, after)
    'The round starts → shuffled: Marines 71 % → 52 %, 1 moved, 1 placed from the ready room'
    """
    movers = before.moved_to(after)
    newcomers = len({*after.a, *after.b} & {*before.bench})
    parts = [f"Marines {percent(odds[0])} → {percent(odds[1])}{odds[2]}", f"{movers or 'nobody'} moved"]
    if newcomers:
        parts.append(f"{newcomers} placed from the ready room")
    return f"{reason[:1].upper()}{reason[1:]} → shuffled: {', '.join(parts)}"


def finished(number: int, winner: Side | None, minutes: float, predicted: float) -> str:
    """A round's result, with the chance that the winner had by the ratings; `predicted` is the marines'.

    >>> finished(4, Side.B, 17.4, predicted=0.58)
    'Round 4: Aliens win after 17 min (had a 42 % chance, against the odds)'
    """
    if winner is None:
        return f"Round {number}: a draw after {minutes:.0f} min: half a win for each side"
    chance = predicted if winner is Side.A else 1 - predicted
    upset = ", against the odds" if chance < UPSET else ""
    return f"Round {number}: {SIDES[winner]} win after {minutes:.0f} min (had a {percent(chance)} chance{upset})"


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
NEW_POOL = """\
system = "ns2"
commander_field_share = 0.25"""
"""A new installation's, as `equipoise init` writes it."""
INSTALLATION = Installation(SERVER, NS2, NEW_POOL, RULES)


HOLD_SECONDS = 3.0
"""More than the mod holds a player who wants a side."""
COMMANDER = "commander"
CHAIR = (Phrase.CHAIR_ASKED, Phrase.CHAIR_OFFERED)
"""What players read who are asked to command."""
FOLLOW = 0.5
"""How many of those who are asked to command do. Nobody has measured it: docs/findings.md has none, half and all."""
GROUP = 4
"""Players who choose a side in one moment."""


@dataclass(slots=True)
class Tally:
    """Counts of an NS2 evening besides the record."""

    wishes: list[bool] = field(default_factory=list)
    """For each wish of each round, whether its player began the round on that side."""
    true: dict[RoundId, float] = field(default_factory=dict)
    """The marines' true win probability, given who played when."""
    commanded: set[PlayerId] = field(default_factory=set)
    """Players who have commanded."""
    asked: int = 0
    """How often somebody was asked to command."""
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
        self._held: tuple[str, Teams] | None = None
        """Why or when there is the shuffle that waits for Countdown, and the teams when it was ordered."""
        self._asked: set[PlayerId] = set()
        """Who was asked to command and has not answered."""
        self._answers: list[Text] = []
        """Texts that players have read since one last asked something."""
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
            case Tell(player, lines):
                self._answers += lines
                if player is not None and lines[0].phrase in CHAIR:
                    self._asked.add(player)
                    self.tally.asked += 1

    def _report(self, order: Order, before: Teams, *, changed: bool) -> None:
        match order:
            case Assign(moment=Moment.FREEZE):
                usual = order.reason.phrase is Phrase.REASON_ROUND_START
                self._held = f"before round {self.number}" if usual else self.english(order.reason), before
            case Assign() if changed:
                self._count_shuffle(self.english(order.reason), before)
            case Move():
                self.record.gaps += 1
                side, reason = SIDES[order.side], self.english(order.reason)
                self.report("move", f"{self.name(order.player)} → {side} at their next death: {reason}")
            case Place() if order.reason.phrase.refusal:
                self.record.refused += 1
                self.report("move", f"{self.name(order.player)} wants the other side: {self.english(order.reason)}")

    def _count_shuffle(self, reason: str, before: Teams) -> None:
        """Count a shuffle that was carried out; it is reported when the daemon has said how even it is."""
        after = self.teams()
        self.record.scrambles += 1
        self.record.moved += before.moved_to(after)
        line = partial(shuffled, reason=reason, before=before, after=after)
        self._remade.append((line, before, after))

    # Before a round.

    async def gather(self) -> None:
        """Players choose sides out of the ready room, a few at a time; some go on standing there."""
        self._winner, self._chat, self._wishes = None, "", {}
        self.game.pass_time(20)
        people = [player for player in self.game.clients if self.game.clients[player].side is None]
        self.rng.shuffle(people)
        voters = people[: max(len(people) - self.rng.randint(0, 2), 2)]
        for place in range(0, len(voters), GROUP):
            for player in voters[place : place + GROUP]:
                await self._want(player)
            await self.sync()
            self.game.pass_time(HOLD_SECONDS)  # without the daemon all go where they asked
        await self.man_chairs()

    async def _want(self, player: PlayerId) -> None:
        side = self.people[player].prefers
        if side is not None:
            self._wishes[player] = side
        self.game.want(player, side or self.rng.choice(list(Side)))

    async def man_chairs(self) -> None:
        """On each side without a commander somebody takes the chair: who was asked to, or one who likes to."""
        for side in Side:
            team = self.game.on(side)
            if not team or self.game.commander(side) is not None:
                continue
            follows, chosen = self.rng.random() < FOLLOW, self.rng.choice(volunteers(self.people, team))
            candidates = [player for player in team if player in self._asked]
            self.game.take_chair(candidates[0] if candidates and follows else chosen)
            await self.sync()
        self._asked.clear()

    async def choose(self) -> None:
        """A secret team choice: all say what they want, most of them the side that they prefer."""
        self.game.say(None, "choice")
        await self.sync()
        before, chosen = self.teams(), dict[PlayerId, Side | None]()
        for player in list(self.game.clients):
            chosen[player] = side = self.people[player].prefers
            self.game.say(player, "choose", SIDES[side].lower() if side else "random")
        seen = self.record.scrambles
        await self.sync()
        hits = [self.game.clients[player].side is side for player, side in chosen.items() if side is not None]
        self.tally.chosen += hits
        if self.record.scrambles > seen:
            after = f"{sum(hits)} of {len(hits)} who named a side got it, {before.moved_to(self.teams())} changed side"
            self.report("people", f"The choice is closed: {after}")

    async def vote(self, player: PlayerId) -> tuple[str, bool]:
        """A player asks for a shuffle: what they read, and whether that was the last word on it."""
        self._answers.clear()
        self.game.say(player, "vote")
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
        await self.man_chairs()
        self.game.start_round()
        await self.sync()

    async def count_down(self) -> None:
        """The shuffle is carried out; without the daemon the mod uses the split that it was given last."""
        # A split that waited is reported against the teams when it was ordered; one from the cache against those of
        # now.
        before, (reason, teams) = self.teams(), self._held or ("", self.teams())
        self._held = None
        changes = self.game.count_down()
        alone = not self.up and self.script.scramble_alone()
        await self.man_chairs()
        if alone:
            self._count_shuffle("the daemon is away, the mod applies its cached split", before)
        elif changes:
            self._count_shuffle(reason, teams)
        await self.sync()

    async def go_live(self) -> None:
        """The round goes live: note its lineup, and which wishes came true."""
        self.game.go_live()
        await self.sync()
        teams = self.teams()
        chairs = [player for side in Side if (player := self.game.commander(side)) is not None]
        self._lineup = lineup(teams.a, teams.b, chairs)
        self.tally.commanded.update(chairs)
        self._predicted = 0.5 if teams.chance is None else teams.chance
        self._random = random_favourite(self.rng, self.people, (teams.a, teams.b), self.advantage)
        self.tally.wishes += [
            self.game.clients[player].side is side
            for player, side in self._wishes.items()
            if player in self.game.clients
        ]

    # A round.

    @property
    def advantage(self) -> float:
        """The marines' true advantage on the map, log-odds."""
        return ADVANTAGES[self.game.map.name]

    async def finish(self, *, drawn: bool = False) -> None:
        """The round ends. The winner is drawn by the truth about who played when; the result is delivered and rated."""
        self.game.pass_time(300 + 900 * self.rng.random())
        for player in self.game.to_be_moved():
            self.game.die(player)
        self.game.pass_time(60)
        true = chance(self.people, self.game.presences(), self.advantage)
        winner = None if drawn else draw_winner(self.rng, true)
        result = self.game.end_round(winner).round
        self.script.keep(e.RoundEnded(self.game.clock, result))
        self._record(result, true)
        await self.sync()
        self.record.fidelity.append(self.fidelity())

    def _record(self, ended: Round, true: float) -> None:
        """Count the round. How even it was is said of its lineup, how probable its end of who played when."""
        self._winner = ended.winner
        at_start = chance(self.people, self._lineup, self.advantage)
        self.record.rounds.append(Played(self._predicted, at_start, self._random, ended.score(Side.A)))
        self.tally.true[ended.id] = true
        self.tally.drawn += ended.winner is None
        self.report("round", finished(self.number, ended.winner, ended.seconds / 60, self._predicted))

    async def to_ready_room(self) -> None:
        """Eight seconds later the game takes all players off their sides."""
        self.game.pass_time(8)
        self.game.to_ready_room()
        await self.sync()

    # What is shown.

    def teams(self) -> Teams:
        """The players on each side and in the ready room, and the marines' win probability by the daemon."""
        a, b = self.game.on(Side.A), self.game.on(Side.B)
        chance = self._chance if self.up else self._guess(a, b)
        return Teams(a, b, self.game.bench(), chance if a and b else None)

    def _guess(self, a: Iterable[PlayerId], b: Iterable[PlayerId]) -> float | None:
        """The win probability by the last known ratings alone, while the daemon is away."""
        if not (a and b):
            return None
        difference = fmean(map(self.rating, a)) - fmean(map(self.rating, b))
        return logistic(difference / 2 / POINTS)

    def _row(self, player: PlayerId) -> Row:
        """A player is shown with their skill in the part that they have: as marine, as alien or as commander."""
        person, part = self.people[player], self._part(player)
        side = self.game.clients[player].side
        true = person.commanding if part == COMMANDER else person.skill if side is None else person.on(side)
        return replace(super()._row(player), rating=self._skill(player, part), skill=true)

    def _part(self, player: PlayerId) -> str:
        """Return the daemon's name for the skill that counts now; empty: the average."""
        client = self.game.clients[player]
        return COMMANDER if client.commander else "" if client.side is None else NS2.word(client.side)

    def _skill(self, player: PlayerId, part: str) -> float:
        summary = self._summaries.get(player)
        return (
            self.rating(player) if summary is None or not summary.skills else summary.skills.get(part, summary.rating)
        )

    def commanders_fidelity(self) -> float:
        """Rank correlation of the skills as commanders with the true ones, of those who have commanded."""
        players = sorted(self.tally.commanded)
        return spearman(
            [self._skill(player, COMMANDER) for player in players],
            [self.people[player].commanding for player in players],
        )

    def _due(self) -> str:
        return "shuffle at the next round start" if self.script.pending else ""
