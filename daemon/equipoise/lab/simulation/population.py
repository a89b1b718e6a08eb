"""The people of a simulated pool: their true skill, and who joins, leaves and is replaced.

All draws come from one generator that nothing else uses, in an order that does not depend on who is on which side:
every rating system under comparison meets the same people at the same times.

To `Evenings` people come as to a real server: regulars on most of them, others now and then, strangers once. An evening
is `Scenario.evening` rounds long. Before it all who know the server draw whether they come, when, and for how long; who
finds the server full waits for a place. Places that stay free are taken by strangers, most of them in the middle of the
evening. Days pass between two evenings, and skill drifts in them too.

`Regulars` is a server of people who are all there on every evening, from its first round to its last.

With `Scenario.churn` every player drops out of a round with that probability, at any time of it, and comes back after
`BACK_SECONDS` in the mean, if there is a place. Half of those whom the population sends come inside the round too, and
who leaves inside it leaves at any time of it. So sides become unequal while a round runs, and joiners and autobalance
have something to do.

A quitter whose side is losing leaves the round's second half with the probability `QUITS_LOSING`; which side is losing
says the luck of the round: the one that loses it if nobody leaves. After a round that they have lost they leave with
`QUITS_LOST` for each that they have lost in a row.

Nothing is drawn from other generators. What quitters do depends on results, so on the teams; each of their draws has a
generator of its own, so that the other draws of the run stay the same as long as the same people are there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from itertools import count
from random import Random
from typing import NamedTuple, TypeVar

from equipoise.core.model import STEAM_ID_BASE, Mode, PlayerId
from equipoise.errors import RatingError


class Kind(StrEnum):
    """Kind of person, by what sets them apart."""

    REGULAR = "regular"
    SMURF = "smurf"
    """A new account with more skill than all others; it appears when half of the rounds are over."""
    THROWER = "thrower"
    """Loses some rounds on purpose."""
    QUITTER = "quitter"
    """Leaves rounds that their side is losing, and after rounds that it has lost: `Evenings`."""


class Visits(StrEnum):
    """When people come."""

    STEADY = "steady"
    """At all times alike, round after round without a break."""
    EVENINGS = "evenings"
    """On evenings with days between them: `Evenings`."""
    REGULARS = "regulars"
    """All evening, on every evening; places that they leave free are taken by strangers."""


T = TypeVar("T")


def _option(default: T, low: float, high: float, text: str) -> T:
    """A number from low to high, and what `--help` says of it."""
    return field(default=default, metadata={"low": low, "high": high, "help": text})


@dataclass(frozen=True, slots=True)
class Scenario:
    """Parameters of a simulation, the options of `lab simulate`.

    Skill is in log-odds: A wins with the logistic of the difference of the sides' sums. Raises `RatingError` for values
    that cannot be simulated.
    """

    rounds: int = _option(1000, 1, 1_000_000, "Length of the simulation.")
    seed: int = _option(1, -(2**63), 2**63, "Seed of all random draws.")
    mode: Mode = field(default=Mode.ARENA, metadata={"words": [mode.value for mode in Mode if mode is not Mode.NS2]})
    slots: int = _option(24, 4, 64, "Most players on the server.")
    people: int = _option(60, 4, 100_000, "Size of the population at the start.")
    spread: float = _option(0.25, 0, 10, "Standard deviation of skill, log-odds per player.")
    drift: float = _option(0.02, 0, 10, "Standard deviation of its change in 100 rounds, log-odds.")
    turnover: float = _option(0.02, 0, 1, "People replaced per round: one leaves for good, a newcomer comes.")
    smurfs: int = _option(0, 0, 100, "New accounts that come at half-time and are better than all.")
    throwers: int = _option(0, 0, 100_000, "Players who lose a third of their rounds on purpose.")
    quitters: int = _option(0, 0, 100_000, "Players who leave because their side loses.")
    parties: int = _option(0, 0, 10_000, "Groups of three that come and go together.")
    bond: float = _option(0.1, -5, 5, "What a friend on the same side adds, log-odds.")
    side_advantage: float = _option(0.0, -5, 5, "What playing on side A (RED) adds, log-odds.")
    map_spread: float = _option(0.0, 0, 5, "Standard deviation of what a map adds to that, log-odds.")
    stalemates: float = _option(0.02, 0, 1, "Fraction of rounds without a winner.")
    attendance: Visits = field(
        default=Visits.STEADY,
        metadata={
            "words": [visits.value for visits in Visits],
            "help": "Evenings: regulars on most of them, strangers once, days between. Regulars: all people on every "
            "evening from its first round to its last, strangers in places that they leave free.",
        },
    )
    evening: int = _option(100, 10, 1_000_000, "Rounds of an evening; players' evenings are measured over as many.")
    stay: float = _option(30.0, 1, 10_000, "Rounds for which a person stays, on average; of evenings, a regular.")
    churn: float = _option(
        0.0,
        0,
        1,
        "Probability that a player drops out inside a round, to come back minutes later; 0: nobody comes inside a "
        "round, and who leaves inside one leaves in its middle.",
    )
    scores: float = _option(
        0.0,
        0,
        0.95,
        "Correlation of a player's own score in one round with skill; 0: kills, deaths and points are not counted.",
    )
    score_offset: float = _option(
        0.0,
        0,
        10,
        "Standard deviation of what lasts in a person's own score and is not skill, in units of --spread.",
    )

    def __post_init__(self) -> None:
        """Raise `RatingError` for values that cannot be simulated."""
        for option in fields(self):
            value, (low, high) = getattr(self, option.name), map(option.metadata.get, ("low", "high"))
            if low is not None and not low <= value <= high:
                raise RatingError(f"{option.name}: {value!r} is not from {low} to {high}")
        if self.people < self.throwers + self.quitters + PARTY * self.parties + 4:
            kinds = "throwers, quitters and parties" if self.quitters else "throwers and parties"
            raise RatingError(f"people: {self.people} are too few for these {kinds}, and four more")


PARTY = 3
OPENING = 0.75
"""Fraction of the slots that are taken at the start."""
FILL = 0.2
"""Probability that a free slot is taken between two rounds."""
THROWN = 1 / 3
"""Fraction of their rounds that a thrower throws."""
THROW = 2.0
"""Log-odds that a thrower costs their side in such a round."""


@dataclass(slots=True)
class Person:
    """A member of the population. No rating system reads `skill`."""

    id: PlayerId
    skill: float
    kind: Kind = Kind.REGULAR
    party: int | None = None
    rounds: int = 0
    """Rounds of which they played more than half; the three counts below are of these."""
    won: float = 0.0
    """Rounds won; a draw counts half."""
    thrown: int = 0
    thrown_won: float = 0.0


@dataclass(slots=True)
class Population:
    """The people who may join, and those who have left for good."""

    scenario: Scenario
    rng: Random
    people: list[Person] = field(default_factory=list)
    gone: list[Person] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.people += [self._newcomer() for _ in range(self.scenario.people)]
        for number in range(self.scenario.parties):
            for person in self.people[PARTY * number : PARTY * (number + 1)]:
                person.party = number
        alone = self.people[PARTY * self.scenario.parties :]
        for person in alone[: self.scenario.throwers]:
            person.kind = Kind.THROWER
        for person in alone[self.scenario.throwers :][: self.scenario.quitters]:
            person.kind = Kind.QUITTER

    def pause(self, number: int) -> int:
        """Days that pass before a round, after all have left; here none."""
        return 0

    def opens(self, number: int) -> bool:
        """Whether the server is empty before this round."""
        return number == 1

    def expects(self, player: PlayerId) -> bool:
        """Whether a player who dropped out still means to come back."""
        return any(person.id == player for person in self.people)

    def pass_round(self, number: int, here: set[PlayerId]) -> None:
        """Skills drift, people who are not on the server may be replaced, and smurfs appear at half-time."""
        step = self.scenario.drift / 10  # a random walk: √100 such steps make `drift`
        for person in self.people:
            person.skill += self.rng.gauss(0, step)
        if self.rng.random() < self.scenario.turnover:
            self._replace([person for person in self.people if self._may_go(person, here)])
        if number == self.scenario.rounds // 2:
            best = max(person.skill for person in self.people)
            for _ in range(self.scenario.smurfs):
                self.people.append(Person(self._id(), best + self.scenario.spread / 2, Kind.SMURF))

    def _may_go(self, person: Person, here: set[PlayerId]) -> bool:
        return person.kind is Kind.REGULAR and person.party is None and person.id not in here

    def _replace(self, regulars: list[Person]) -> None:
        if regulars:
            leaver = self.rng.choice(regulars)
            self.people.remove(leaver)
            self.gone.append(leaver)
            self.people.append(self._newcomer())

    def _newcomer(self) -> Person:
        return Person(self._id(), self.rng.gauss(0, self.scenario.spread))

    def _id(self) -> PlayerId:
        return PlayerId(str(STEAM_ID_BASE + next(self._numbers)))

    def opening(self) -> list[Person]:
        """The people on the server at the start."""
        parties, places = _parties_of(self.people), int(OPENING * self.scenario.slots)
        return _first_parties(self.rng.sample(parties, min(len(parties), places)), places, places)

    def coming(self, here: set[PlayerId]) -> list[Person]:
        """The people who join now; a party joins only if there is room for all of it."""
        away = _parties_of(person for person in self.people if person.id not in here)
        self.rng.shuffle(away)
        free = self.scenario.slots - len(here)
        return _first_parties(away, sum(self.rng.random() < FILL for _ in range(free)), free)

    def leaving(self, here: set[PlayerId]) -> tuple[list[Person], list[Person]]:
        """The people who leave before the next round and in its middle (as many, or one more); parties leave whole."""
        present = _parties_of(person for person in self.people if person.id in here)
        parties = [party for party in present if self.rng.random() < 1 / self.scenario.stay]
        return _halves(parties)


def _halves(parties: Sequence[list[Person]]) -> tuple[list[Person], list[Person]]:
    """The people of whole parties in two halves, the second as large or one larger.

    A party that lies across the half belongs to the half that holds its middle member.
    """
    first, second, half = list[Person](), list[Person](), sum(map(len, parties)) // 2
    for party in parties:
        goes = first if len(first) + len(second) + len(party) // 2 < half else second
        goes += party
    return first, second


def _parties_of(people: Iterable[Person]) -> list[list[Person]]:
    """Groups that come and go together: friends, or one person alone."""
    result: dict[int | PlayerId, list[Person]] = {}
    for person in people:
        result.setdefault(person.id if person.party is None else person.party, []).append(person)
    return list(result.values())


def _first_parties(parties: Iterable[list[Person]], wanted: int, room: int) -> list[Person]:
    """About `wanted` people from whole parties in order; a party that exceeds `room` is skipped."""
    result: list[Person] = []
    for party in parties:
        if len(result) < wanted and len(result) + len(party) <= room:
            result += party
    return result


USUAL_EVENING = 100
"""Rounds of the evening in which people arrive from `EARLIEST` to `LATEST`: four to five hours."""
MOST_DAYS = 3
"""An evening is one to so many days after the last."""
DAY = 20
"""A day between evenings changes skill as much as so many rounds."""
REGULARS = 0.6
"""Fraction of the population who come on most evenings."""
OFTEN, SELDOM = 0.7, 0.15
"""Probability that a regular, or another who knows the server, comes on an evening."""
EARLIEST, USUAL, LATEST = -40.0, 10.0, 80.0
"""Rounds of the evening at which people arrive, triangular; those before its first are there when it begins."""
STRANGER_STAYS = 10.0
"""Rounds, on average."""
STRANGERS = 0.15
"""Probability that a free place is taken by a stranger between two rounds, at the busiest time."""


@dataclass(frozen=True, slots=True)
class Visit:
    """When a person wants to be on the server, in rounds of the evening."""

    arrives: float
    leaves: float


class Evenings(Population):
    """The population of a server that lives in the evening."""

    def __init__(self, scenario: Scenario, rng: Random) -> None:
        super().__init__(scenario, rng)
        self._regular: dict[PlayerId, bool] = {}
        """Whether they are regulars, by the first of each party or a person alone."""
        self._strangers: set[PlayerId] = set()
        self._visits: dict[PlayerId, Visit] = {}
        self._round = 0
        """Round of the evening, from 0."""

    def opens(self, number: int) -> bool:
        """Whether an evening begins with this round."""
        return number % self.scenario.evening == 1

    def pause(self, number: int) -> int:
        """Days that pass before an evening that is not the first; skill drifts in them."""
        if number == 1 or not self.opens(number):
            return 0
        days = self.rng.randint(1, MOST_DAYS)
        step = self.scenario.drift * math.sqrt(days * DAY / 100)
        for person in self.people:
            person.skill += self.rng.gauss(0, step)
        return days

    def pass_round(self, number: int, here: set[PlayerId]) -> None:
        """Return whether a player may come again, as every population does; strangers who have left do not."""
        self._round = (number - 1) % self.scenario.evening
        # A copy: people are removed in the loop.
        for person in [entry for entry in self.people if entry.id in self._strangers and entry.id not in here]:
            self.people.remove(person)
            self.gone.append(person)
        super().pass_round(number, here)

    def opening(self) -> list[Person]:
        """Who is there when the evening begins; everybody's visits of this evening are drawn."""
        self._round, self._visits = 0, {}
        for party in _parties_of(person for person in self.people if person.id not in self._strangers):
            regular = self._regular.setdefault(party[0].id, self.rng.random() < REGULARS)
            if self.rng.random() < (OFTEN if regular else SELDOM):
                part = self.scenario.evening / USUAL_EVENING
                arrives = self.rng.triangular(EARLIEST * part, LATEST * part, USUAL * part)
                # Who is there before the evening begins stays as long from its first round on.
                visit = Visit(arrives, max(arrives, 0.0) + self._length(self.scenario.stay))
                self._visits |= dict.fromkeys((person.id for person in party), visit)
        return self._arrived(set())

    def coming(self, here: set[PlayerId]) -> list[Person]:
        """Who knows the server and finds a place, then strangers."""
        regulars = self._arrived(here)
        free = self.scenario.slots - len(here) - len(regulars)
        strangers = [self._stranger() for _ in range(free) if self.rng.random() < STRANGERS * self._busy()]
        return [*regulars, *strangers]

    def leaving(self, here: set[PlayerId]) -> tuple[list[Person], list[Person]]:
        """Half of those whose visit ends leave before the next round, the others in its middle; parties leave whole."""
        return _halves(_parties_of(entry for entry in self.people if entry.id in here and self._ended(entry.id)))

    def expects(self, player: PlayerId) -> bool:
        """Return whether a player may come back; nobody whose visit has ended does on this evening."""
        return not self._ended(player) and super().expects(player)

    def _busy(self) -> float:
        """How busy the hour is, up to 1."""
        return math.sin(math.pi * (self._round + 0.5) / self.scenario.evening)

    def _ended(self, player: PlayerId) -> bool:
        visit = self._visits.get(player)
        return visit is None or visit.leaves <= self._round

    def _arrived(self, here: set[PlayerId]) -> list[Person]:
        queue = [
            person
            for person in self.people
            if person.id not in here and not self._ended(person.id) and self._visits[person.id].arrives <= self._round
        ]
        parties = sorted(_parties_of(queue), key=lambda party: self._visits[party[0].id].arrives)
        room = self.scenario.slots - len(here)
        return _first_parties(parties, room, room)

    def _stranger(self) -> Person:
        person = self._newcomer()
        self.people.append(person)
        self._strangers.add(person.id)
        self._visits[person.id] = Visit(self._round, self._round + self._length(STRANGER_STAYS))
        return person

    def _length(self, mean: float) -> float:
        """Rounds of a visit, at least one."""
        return max(1.0, self.rng.expovariate(1 / mean))


class Regulars(Evenings):
    """The same people all evening, on every evening; strangers take the places that they leave free.

    `turnover` replaces regulars while they play: one goes for good, and a newcomer stays instead.
    """

    def opening(self) -> list[Person]:
        """All regulars for whom there is room."""
        people = (person for person in self.people if person.id not in self._strangers)
        self._round, self._visits = 0, {person.id: Visit(0.0, math.inf) for person in people}
        return self._arrived(set())

    def _busy(self) -> float:
        return 1.0

    def _may_go(self, person: Person, here: set[PlayerId]) -> bool:
        return person.kind is Kind.REGULAR and person.party is None and person.id not in self._strangers

    def _replace(self, regulars: list[Person]) -> None:
        if not regulars:
            return
        # Who goes still has to leave the server; then they are forgotten as a stranger is.
        leaver, newcomer = self.rng.choice(regulars), self._newcomer()
        self._strangers.add(leaver.id)
        self.people.append(newcomer)
        self._visits[leaver.id] = Visit(0.0, self._round)
        self._visits[newcomer.id] = Visit(self._round, math.inf)


BACK_SECONDS = 300.0
QUITTER_BACK_SECONDS = 1800.0
"""How long somebody is away who dropped out, or quit, in the mean."""
QUITS_LOSING, QUITS_LOST = 0.15, 0.1
LATE = 0.5
"""Fraction of those who come who come inside a round."""


class Happening(NamedTuple):
    """A player comes, or leaves, so many seconds into the round."""

    at: float
    player: PlayerId
    comes: bool


@dataclass(slots=True)
class Churn:
    """Who is away for a while, and who has lost how often in a row."""

    scenario: Scenario
    rng: Random
    _back: dict[PlayerId, float] = field(default_factory=dict)
    """When they come back, on the game's clock."""
    _lost: dict[PlayerId, int] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        """Whether anything happens inside rounds but that some leave in the middle."""
        return self.scenario.churn > 0 or self.scenario.quitters > 0

    def end_evening(self) -> None:
        """Nobody is away any more, and lost rounds are forgotten."""
        self._back.clear()
        self._lost.clear()

    def divided(self, coming: Iterable[Person]) -> tuple[list[Person], list[Person]]:
        """Return who comes before the round and inside it; who is away for a while does not come."""
        before, within = list[Person](), list[Person]()
        for person in coming:
            if person.id not in self._back:
                late = self.scenario.churn > 0 and self.rng.random() < LATE
                (within if late else before).append(person)
        return before, within

    def happenings(
        self,
        number: int,
        clock: float,
        seconds: float,
        here: Collection[PlayerId],
        leaving: Collection[PlayerId],
        coming: Iterable[PlayerId],
        losing: Iterable[Person],
        population: Population,
    ) -> list[Happening]:
        """Draw what happens in a round of so many seconds, in the order of time."""
        happenings = [Happening(self.rng.uniform(0, seconds), player, comes=False) for player in leaving]
        happenings += [Happening(self.rng.uniform(0, seconds), player, comes=True) for player in coming]
        back = [player for player, at in self._back.items() if at <= clock + seconds]
        for player in back:
            at = max(0.0, self._back.pop(player) - clock)
            # Their visit may have ended while they were away.
            if population.expects(player):
                happenings.append(Happening(at, player, comes=True))
        for player in here:
            if self.rng.random() < self.scenario.churn and player not in leaving:
                happenings.append(self._goes(player, self.rng, clock, self.rng.uniform(0, seconds), BACK_SECONDS))
        for person in losing:
            # Whether somebody is losing depends on the teams: a draw from the common generator would shift all later
            # ones.
            rng = Random(f"{self.scenario.seed} quits {number} {person.id}")
            if person.kind is Kind.QUITTER and rng.random() < QUITS_LOSING:
                at = seconds * rng.uniform(0.5, 1)
                happenings.append(self._goes(person.id, rng, clock, at, QUITTER_BACK_SECONDS))
        return sorted(happenings)

    def after(
        self, number: int, clock: float, lost: Mapping[PlayerId, bool], people: Mapping[PlayerId, Person]
    ) -> list[PlayerId]:
        """Return the players of the round who leave after it because they lost it."""
        quits = list[PlayerId]()
        for player in lost:
            if people[player].kind is not Kind.QUITTER:
                continue
            self._lost[player] = self._lost.get(player, 0) + 1 if lost[player] else 0
            rng = Random(f"{self.scenario.seed} quits after {number} {player}")
            if rng.random() < QUITS_LOST * self._lost[player]:
                self._goes(player, rng, clock, 0.0, QUITTER_BACK_SECONDS)
                self._lost[player] = 0
                quits.append(player)
        return quits

    def _goes(self, player: PlayerId, rng: Random, clock: float, at: float, away: float) -> Happening:
        self._back[player] = clock + at + rng.expovariate(1 / away)
        return Happening(at, player, comes=False)
