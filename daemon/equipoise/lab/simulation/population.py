"""The people of a simulated pool: how good they truly are, who comes, who stays away, who leaves for good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from random import Random

from equipoise.core.model import STEAM_ID_BASE, Mode, PlayerId
from equipoise.errors import RatingError


class Kind(Enum):
    """What sets somebody apart."""

    REGULAR = "regular"
    SMURF = "smurf"
    """A new account of somebody better than all; he comes when half of the rounds are over."""
    THROWER = "thrower"
    """Loses on purpose in some of his rounds."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is simulated. Skill is in log-odds: the difference of two sides' sums is that of A's win."""

    rounds: int = 1000
    seed: int = 1
    mode: Mode = Mode.ARENA
    slots: int = 24
    people: int = 60
    """Who come by now and then, at the start."""
    spread: float = 0.25
    """Standard deviation of skill, log-odds per player."""
    drift: float = 0.02
    """Standard deviation by which everybody's skill has changed after 100 rounds."""
    turnover: float = 0.02
    """People replaced per round: one leaves for good, a newcomer takes his place."""
    smurfs: int = 0
    throwers: int = 0
    parties: int = 0
    """Groups of three that come and go together."""
    bond: float = 0.1
    """What each member of a party adds, log-odds, per friend on his side."""
    side_advantage: float = 0.0
    """Of side A, log-odds."""
    map_spread: float = 0.0
    """Standard deviation of what a map adds to that."""
    stalemates: float = 0.02
    """Share of the rounds that nobody wins."""

    def __post_init__(self) -> None:
        """Refuse what cannot be played."""
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if not low <= value <= high:
                raise RatingError(f"{name}: {value!r} is not from {low} to {high}")
        if self.people < self.throwers + PARTY * self.parties + 4:
            raise RatingError(f"people: {self.people} are too few for these throwers and parties, and four more")


_RANGES = (
    ("rounds", 1, 1_000_000),
    ("slots", 4, 64),
    ("people", 4, 100_000),
    ("spread", 0, 10),
    ("drift", 0, 10),
    ("turnover", 0, 1),
    ("smurfs", 0, 100),
    ("throwers", 0, 100_000),
    ("parties", 0, 10_000),
    ("bond", -5, 5),
    ("side_advantage", -5, 5),
    ("map_spread", 0, 5),
    ("stalemates", 0, 1),
)
PARTY = 3
STAY = 30
"""Rounds that somebody stays, in the mean."""
OPENING = 0.75
"""Share of the slots that are taken at the start."""
FILL = 0.2
"""Chance that a free slot is taken between two rounds."""
THROWN = 1 / 3
"""Share of his rounds that a thrower throws."""
THROW = 2.0
"""Log-odds that it costs his side."""


@dataclass(slots=True)
class Person:
    """Somebody who plays; `skill` is what nobody is told."""

    id: PlayerId
    skill: float
    kind: Kind = Kind.REGULAR
    party: int | None = None
    rounds: int = 0
    """That he played most of; `won` counts a draw as half."""
    won: float = 0.0
    thrown: int = 0
    """Those of them that he threw."""
    thrown_won: float = 0.0


@dataclass(slots=True)
class Crowd:
    """Everybody who may come by, and those who are gone for good."""

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
        for person in self.people[PARTY * self.scenario.parties :][: self.scenario.throwers]:
            person.kind = Kind.THROWER

    def everybody(self) -> list[Person]:
        """Those who are gone too."""
        return [*self.people, *self.gone]

    def pass_round(self, number: int, here: set[PlayerId]) -> None:
        """Skills drift, some leave for good, newcomers and at half-time the smurfs are there."""
        step = self.scenario.drift / 10  # a random walk: √100 steps of this make `drift`
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
        """Who is there when it begins."""
        parties, wanted = _parties(self.people), int(OPENING * self.scenario.slots)
        return _first(self.rng.sample(parties, min(len(parties), wanted)), wanted, wanted)

    def coming(self, here: set[PlayerId]) -> list[Person]:
        """Who comes now; a party comes when there is room for all of it."""
        away = _parties(person for person in self.people if person.id not in here)
        self.rng.shuffle(away)
        free = self.scenario.slots - len(here)
        return _first(away, sum(self.rng.random() < FILL for _ in range(free)), free)

    def leaving(self, here: set[PlayerId]) -> tuple[list[Person], list[Person]]:
        """Who goes before the next round, and who in its middle: as many, or one more; friends go together."""
        present = _parties(person for person in self.people if person.id in here)
        tired = [party for party in present if self.rng.random() < 1 / STAY]
        before, within, half = list[Person](), list[Person](), sum(map(len, tired)) // 2
        for party in tired:
            # As one half or the other of all who are tired, by where the middle one of the party stands.
            goes = before if len(before) + len(within) + len(party) // 2 < half else within
            goes += party
        return before, within


def _parties(people: Iterable[Person]) -> list[list[Person]]:
    """Who comes and goes together: friends, or somebody alone."""
    found: dict[int | PlayerId, list[Person]] = {}
    for person in people:
        found.setdefault(person.id if person.party is None else person.party, []).append(person)
    return list(found.values())


def _first(parties: Iterable[list[Person]], wanted: int, room: int) -> list[Person]:
    """As many people as are wanted, and friends of the last one; a party that does not fit stays away as a whole."""
    found: list[Person] = []
    for party in parties:
        if len(found) < wanted and len(found) + len(party) <= room:
            found += party
    return found
