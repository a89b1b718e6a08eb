"""People who come as to a real server: regulars on most evenings, others now and then, strangers once.

An evening is `Scenario.evening` rounds long. Before it all who know the server draw whether they come, when, and for
how long; who finds the server full waits for a place. Places that stay free are taken by strangers, most of them in the
middle of the evening. Days pass between two evenings, and skill drifts in them too.

`Regulars` is a server of people who are all there on every evening, from its first round to its last.

All draws are those of the population's generator and depend on who is on the server, not on the teams.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

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
        """By the first of each party, or a person alone."""
        self._strangers: set[PlayerId] = set()
        self._visits: dict[PlayerId, Visit] = {}
        self._round = 0
        """Of the evening, from 0."""

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
        """As every population's; strangers who have left do not come again."""
        self._round = (number - 1) % self.scenario.evening
        for person in [one for one in self.people if one.id in self._strangers and one.id not in here]:
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
                visit = Visit(arrives, max(arrives, 0.0) + self._length(self.scenario.stay))
                self._visits |= dict.fromkeys((person.id for person in party), visit)
        return self._arrived(set())

    def coming(self, here: set[PlayerId]) -> list[Person]:
        """Who knows the server and finds a place, then strangers."""
        known = self._arrived(here)
        free = self.scenario.slots - len(here) - len(known)
        strangers = [self._stranger() for _ in range(free) if self.rng.random() < STRANGERS * self._busy()]
        return [*known, *strangers]

    def leaving(self, here: set[PlayerId]) -> tuple[list[Person], list[Person]]:
        """Half of those whose visit ends leave before the next round, the others in its middle; parties leave whole."""
        return halves(parties_of(one for one in self.people if one.id in here and self._ended(one.id)))

    def expects(self, player: PlayerId) -> bool:
        """As every population; nobody whose visit has ended comes back on this evening."""
        return not self._ended(player) and super().expects(player)

    def _busy(self) -> float:
        """How busy the hour is, up to 1."""
        return math.sin(math.pi * (self._round + 0.5) / self.scenario.evening)

    def _ended(self, player: PlayerId) -> bool:
        visit = self._visits.get(player)
        return visit is None or visit.leaves <= self._round

    def _arrived(self, here: set[PlayerId]) -> list[Person]:
        waiting = [
            person
            for person in self.people
            if person.id not in here and not self._ended(person.id) and self._visits[person.id].arrives <= self._round
        ]
        parties = sorted(parties_of(waiting), key=lambda party: self._visits[party[0].id].arrives)
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
        known = (person for person in self.people if person.id not in self._strangers)
        self._round, self._visits = 0, {person.id: Visit(0.0, math.inf) for person in known}
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
