"""People who leave and come while a round runs: who drops out and comes back, and who quits because they lose.

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

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from equipoise.core.model import PlayerId
from equipoise.lab.simulation.population import Kind, Person, Population, Scenario

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
        """Those who come before the round and inside it; who is away for a while does not come."""
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
        found = [Happening(self.rng.uniform(0, seconds), player, comes=False) for player in leaving]
        found += [Happening(self.rng.uniform(0, seconds), player, comes=True) for player in coming]
        back = [player for player, at in self._back.items() if at <= clock + seconds]
        for player in back:
            at = max(0.0, self._back.pop(player) - clock)
            if population.expects(player):
                found.append(Happening(at, player, comes=True))
        for player in here:
            if self.rng.random() < self.scenario.churn and player not in leaving:
                found.append(self._goes(player, self.rng, clock, self.rng.uniform(0, seconds), BACK_SECONDS))
        for person in losing:
            rng = Random(f"{self.scenario.seed} quits {number} {person.id}")
            if person.kind is Kind.QUITTER and rng.random() < QUITS_LOSING:
                at = seconds * rng.uniform(0.5, 1)
                found.append(self._goes(person.id, rng, clock, at, QUITTER_BACK_SECONDS))
        return sorted(found)

    def after(
        self, number: int, clock: float, lost: Mapping[PlayerId, bool], people: Mapping[PlayerId, Person]
    ) -> list[PlayerId]:
        """Those of the round's players who leave after it because they lost it."""
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
