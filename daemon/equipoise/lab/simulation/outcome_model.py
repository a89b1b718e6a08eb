"""Who wins, by the people's hidden skill."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from random import Random

from equipoise.core.model import PlayerId, Side
from equipoise.lab.simulation.population import THROW, THROWN, Kind, Person, Scenario

MAPS = ("granary", "lumberyard", "nucleus", "sawmill", "viaduct")


class Truth:
    """The model that results are drawn from; the rating system is told none of it."""

    def __init__(self, scenario: Scenario, rng: Random) -> None:
        self.scenario, self.rng = scenario, rng
        self.maps = {name: rng.gauss(0, scenario.map_spread) for name in MAPS}

    def chance(self, a: Sequence[Person], b: Sequence[Person], map: str) -> float:
        """That side A wins with these people for the whole round, if nobody throws it and somebody wins."""
        return _logistic(strength(a, self.scenario.bond) - strength(b, self.scenario.bond) + self._ground(map))

    def thrown(self, people: Collection[Person]) -> frozenset[PlayerId]:
        """Who throws the round that starts now."""
        throwers = [person for person in people if person.kind is Kind.THROWER]
        return frozenset(person.id for person in throwers if self.rng.random() < THROWN)

    def winner(
        self,
        a: Mapping[PlayerId, float],
        b: Mapping[PlayerId, float],
        people: Mapping[PlayerId, Person],
        map: str,
        thrown: Collection[PlayerId],
    ) -> Side | None:
        """Drawn from what everybody, by id, played of the round for each side (0 to 1)."""
        if self.rng.random() < self.scenario.stalemates:
            return None
        odds = self._ground(map) + self._played(a, people, thrown) - self._played(b, people, thrown)
        return Side.A if self.rng.random() < _logistic(odds) else Side.B

    def _played(
        self, shares: Mapping[PlayerId, float], people: Mapping[PlayerId, Person], thrown: Collection[PlayerId]
    ) -> float:
        lost = THROW * sum(share for player, share in shares.items() if player in thrown)
        whole = [people[player] for player, share in shares.items() if share > 0.5]
        return sum(people[p].skill * share for p, share in shares.items()) + _bonds(whole, self.scenario.bond) - lost

    def _ground(self, map: str) -> float:
        return self.scenario.side_advantage + self.maps[map]


def strength(side: Sequence[Person], bond: float) -> float:
    """What a side brings, log-odds."""
    return sum(person.skill for person in side) + _bonds(side, bond)


def _bonds(side: Sequence[Person], bond: float) -> float:
    parties = [person.party for person in side if person.party is not None]
    return bond * sum(parties.count(party) - 1 for party in parties)


def _logistic(odds: float) -> float:
    return 0.5 + 0.5 * math.tanh(odds / 2)
