"""People who come as to a real server: regulars on most evenings, others now and then, strangers once.

An evening is `Scenario.evening` rounds long. Before it all who know the server draw whether they come, when, and for
how long; who finds the server full waits for a place. Places that stay free are taken by strangers, most of them in the
middle of the evening. Days pass between two evenings, and skill drifts in them too.

`Regulars` is a server of people who are all there on every evening, from its first round to its last.

All draws are those of the population's generator and depend on who is on the server, not on the teams.

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
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from equipoise.core.model import PlayerId
from equipoise.lab.simulation.population import (
    Kind,
    Person,
    Population,
    Scenario,
    first_parties,
    halves,
    parties_of,
)

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
        for party in parties_of(person for person in self.people if person.id not in self._strangers):
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
        return halves(parties_of(entry for entry in self.people if entry.id in here and self._ended(entry.id)))

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
        parties = sorted(parties_of(queue), key=lambda party: self._visits[party[0].id].arrives)
        room = self.scenario.slots - len(here)
        return first_parties(parties, room, room)

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
