"""The people of a simulated pool: their true skill, and who joins, leaves and is replaced.

All draws come from one generator that nothing else uses, in an order that does not depend on who is on which side:
every rating system under comparison meets the same people at the same times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import count
from random import Random
from typing import TypeVar

from equipoise.core.model import STEAM_ID_BASE, Mode, PlayerId
from equipoise.errors import RatingError


class Kind(Enum):
    """Kind of person, by what sets them apart."""

    REGULAR = "regular"
    SMURF = "smurf"
    """A new account with more skill than all others; it appears when half of the rounds are over."""
    THROWER = "thrower"
    """Loses some rounds on purpose."""
    QUITTER = "quitter"
    """Leaves rounds that their side is losing, and after rounds that it has lost: `lab.simulation.evenings`."""


class Visits(Enum):
    """When people come."""

    STEADY = "steady"
    """At all times alike, round after round without a break."""
    EVENINGS = "evenings"
    """On evenings with days between them: `lab.simulation.evenings`."""
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

    def everybody(self) -> list[Person]:
        """All people, including those who have left for good."""
        return [*self.people, *self.gone]

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
        parties, places = parties_of(self.people), int(OPENING * self.scenario.slots)
        return first_parties(self.rng.sample(parties, min(len(parties), places)), places, places)

    def coming(self, here: set[PlayerId]) -> list[Person]:
        """The people who join now; a party joins only if there is room for all of it."""
        away = parties_of(person for person in self.people if person.id not in here)
        self.rng.shuffle(away)
        free = self.scenario.slots - len(here)
        return first_parties(away, sum(self.rng.random() < FILL for _ in range(free)), free)

    def leaving(self, here: set[PlayerId]) -> tuple[list[Person], list[Person]]:
        """The people who leave before the next round and in its middle (as many, or one more); parties leave whole."""
        present = parties_of(person for person in self.people if person.id in here)
        parties = [party for party in present if self.rng.random() < 1 / self.scenario.stay]
        return halves(parties)


def halves(parties: Sequence[list[Person]]) -> tuple[list[Person], list[Person]]:
    """The people of whole parties in two halves, the second as large or one larger.

    A party that lies across the half belongs to the half that holds its middle member.
    """
    first, second, half = list[Person](), list[Person](), sum(map(len, parties)) // 2
    for party in parties:
        goes = first if len(first) + len(second) + len(party) // 2 < half else second
        goes += party
    return first, second


def parties_of(people: Iterable[Person]) -> list[list[Person]]:
    """Groups that come and go together: friends, or one person alone."""
    result: dict[int | PlayerId, list[Person]] = {}
    for person in people:
        result.setdefault(person.id if person.party is None else person.party, []).append(person)
    return list(result.values())


def first_parties(parties: Iterable[list[Person]], wanted: int, room: int) -> list[Person]:
    """About `wanted` people from whole parties in order; a party that exceeds `room` is skipped."""
    result: list[Person] = []
    for party in parties:
        if len(result) < wanted and len(result) + len(party) <= room:
            result += party
    return result
