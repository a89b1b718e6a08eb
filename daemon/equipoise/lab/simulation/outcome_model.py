"""Draws the winner of a simulated round from the players' hidden skill.

    log-odds of A = Σ skill(A) − Σ skill(B) + bonds(A) − bonds(B) + advantage(side A) + advantage(map)

Skill counts by the fraction of the round that its owner played; a bond counts for friends who played most of it on the
same side; a thrower costs `THROW`. No rating system reads any of this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from random import Random

from equipoise.core.model import PlayerId, Side, logistic
from equipoise.lab.simulation.population import THROW, THROWN, Kind, Person, Scenario

MAP_NAMES = ("granary", "lumberyard", "nucleus", "sawmill", "viaduct")


class OutcomeModel:
    """The model that results are drawn from."""

    def __init__(self, scenario: Scenario, rng: Random) -> None:
        self.scenario, self.rng = scenario, rng
        self.map_advantages = {name: rng.gauss(0, scenario.map_spread) for name in MAP_NAMES}

    def win_probability(self, a: Sequence[Person], b: Sequence[Person], map: str) -> float:
        """Probability that A wins if these people play the whole round, none of them throws it and it has a winner.

        >>> ann, bob = Person(PlayerId("ann"), 0.5), Person(PlayerId("bob"), -0.5)
        >>> model = OutcomeModel(Scenario(), Random(1))
        >>> round(model.win_probability([ann], [bob], "granary"), 3)
        0.731
        """
        return logistic(strength(a, self.scenario.bond) - strength(b, self.scenario.bond) + self._advantage(map))

    def thrown(self, people: Collection[Person]) -> frozenset[PlayerId]:
        """Draw who of these people throws the round."""
        throwers = [person for person in people if person.kind is Kind.THROWER]
        return frozenset(person.id for person in throwers if self.rng.random() < THROWN)

    def luck(self) -> float | None:
        """Draw the luck of a round before it is played, from 0, the best for A, to 1; None: it has no winner."""
        return None if self.rng.random() < self.scenario.stalemates else self.rng.random()

    def winner(
        self,
        a: Mapping[PlayerId, float],
        b: Mapping[PlayerId, float],
        people: Mapping[PlayerId, Person],
        map: str,
        thrown: Collection[PlayerId],
        luck: float | None,
    ) -> Side | None:
        """Return who wins with this luck, by the fraction of the round, 0 to 1, that each player played for A and B."""
        if luck is None:
            return None
        odds = self._advantage(map) + self._played(a, people, thrown) - self._played(b, people, thrown)
        return Side.A if luck < logistic(odds) else Side.B

    def _played(
        self, fractions: Mapping[PlayerId, float], people: Mapping[PlayerId, Person], thrown: Collection[PlayerId]
    ) -> float:
        lost = THROW * sum(fraction for player, fraction in fractions.items() if player in thrown)
        most = [people[player] for player, fraction in fractions.items() if fraction > 0.5]
        skill = sum(people[player].skill * fraction for player, fraction in fractions.items())
        return skill + _bonds(most, self.scenario.bond) - lost

    def _advantage(self, map: str) -> float:
        return self.scenario.side_advantage + self.map_advantages[map]


def strength(side: Sequence[Person], bond: float) -> float:
    """What a side contributes to the log-odds: skill, and the bonds of friends on it."""
    return sum(person.skill for person in side) + _bonds(side, bond)


def _bonds(side: Sequence[Person], bond: float) -> float:
    parties = [person.party for person in side if person.party is not None]
    return bond * sum(parties.count(party) - 1 for party in parties)
