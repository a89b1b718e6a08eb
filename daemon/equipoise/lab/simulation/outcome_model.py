"""Winner and counts of a simulated round, drawn from the players' hidden skill.

    log-odds of A = Σ skill(A) − Σ skill(B) + bonds(A) − bonds(B) + advantage(side A) + advantage(map)

Skill counts by the fraction of the round that its owner played; a bond counts for friends who played most of it on the
same side; a thrower costs `THROW`. No rating system reads any of this.

The counts of a player — kills, deaths, assists and points, by class — come from a score of the round:

    score = skill + offset + noise        the noise so large that score and skill correlate as the scenario says

The offset belongs to a person and lasts: style, padding, a class that scores. The score is not seen. It is in the
counts, a part in each, with independent noises whose sum it is:

    rate of a count = its class's rate · (1 + SWING · z),   z = √(part) · g · (skill + offset) / spread + a normal noise

With g = r/√(1 − r²) the best sum of the z correlates with skill as r, whatever the parts. Whole numbers and a count's
end at 0 lose a little of it. Rates differ by class more than by skill, so a count says something only beside others of
the same class.

A person's habits and the luck of a round have generators of their own, by player and round: no other draw of the
simulation depends on them, and they depend on no team.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from equipoise.core.model import Counts, PlayerId, Side, logistic
from equipoise.lab.simulation.population import THROW, THROWN, Kind, Person, Scenario

MAP_NAMES = ("granary", "lumberyard", "nucleus", "sawmill", "viaduct")


class OutcomeModel:
    """The model that results are drawn from."""

    def __init__(self, scenario: Scenario, rng: Random) -> None:
        self.scenario, self.rng = scenario, rng
        self.map_advantages = {name: rng.gauss(0, scenario.map_spread) for name in MAP_NAMES}

    def win_probability(self, a: Sequence[Person], b: Sequence[Person], map_name: str) -> float:
        """Probability that A wins if these people play the whole round, none of them throws it and it has a winner.

        >>> ann, bob = Person(PlayerId("ann"), 0.5), Person(PlayerId("bob"), -0.5)
        >>> model = OutcomeModel(Scenario(), Random(1))
        >>> round(model.win_probability([ann], [bob], "granary"), 3)
        0.731
        """
        return logistic(strength(a, self.scenario.bond) - strength(b, self.scenario.bond) + self._advantage(map_name))

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
        map_name: str,
        thrown: Collection[PlayerId],
        luck: float | None,
    ) -> Side | None:
        """Return who wins with this luck, by the fraction of the round, 0 to 1, that each player played for A and B."""
        if luck is None:
            return None
        odds = self._advantage(map_name) + self._played(a, people, thrown) - self._played(b, people, thrown)
        return Side.A if luck < logistic(odds) else Side.B

    def _played(
        self, fractions: Mapping[PlayerId, float], people: Mapping[PlayerId, Person], thrown: Collection[PlayerId]
    ) -> float:
        lost = THROW * sum(fraction for player, fraction in fractions.items() if player in thrown)
        most = [people[player] for player, fraction in fractions.items() if fraction > 0.5]
        skill = sum(people[player].skill * fraction for player, fraction in fractions.items())
        return skill + _bonds(most, self.scenario.bond) - lost

    def _advantage(self, map_name: str) -> float:
        return self.scenario.side_advantage + self.map_advantages[map_name]


def strength(side: Sequence[Person], bond: float) -> float:
    """Return a side's part of the log-odds: skill, and the bonds of friends on it."""
    return sum(person.skill for person in side) + _bonds(side, bond)


def _bonds(side: Sequence[Person], bond: float) -> float:
    parties = [person.party for person in side if person.party is not None]
    return bond * sum(parties.count(party) - 1 for party in parties)


class Rates(NamedTuple):
    """Counts per minute of a player of mean skill."""

    kills: float
    deaths: float
    assists: float
    points: float
    """Beside those for kills and assists: damage, healing, captures."""


CLASSES = {
    "scout": Rates(2.4, 1.9, 0.6, 2.5),
    "soldier": Rates(2.2, 1.7, 0.9, 4.0),
    "pyro": Rates(1.6, 1.8, 0.8, 2.5),
    "demoman": Rates(2.6, 1.7, 0.9, 4.5),
    "heavy": Rates(1.8, 1.5, 1.2, 3.5),
    "engineer": Rates(1.4, 1.2, 0.9, 3.0),
    "medic": Rates(0.3, 1.3, 2.6, 6.0),
    "sniper": Rates(1.9, 1.2, 0.4, 2.0),
    "spy": Rates(1.5, 1.8, 0.3, 2.0),
}
"""Counts of a busy round: whole numbers lose little of such rates."""
PARTS = Rates(kills=0.45, deaths=0.2, assists=0.1, points=0.25)
"""How much of what is to be known is in each count; deaths are fewer the better the player."""
SIGNS = Rates(1, -1, 1, 1)
SWING = 0.4
"""Standard deviation of a rate, as a fraction of the class's."""
PREFERENCES = (0.65, 0.25, 0.1)
"""How often a person plays each of their three classes."""
CHANGES = 0.2
"""Fraction of the rounds in which a player changes class."""


@dataclass(frozen=True, slots=True)
class Habits:
    """Lasting habits of a person's play."""

    offset: float
    """In log-odds."""
    classes: tuple[str, ...]
    """The favourite first."""


@dataclass(slots=True)
class CountsModel:
    """The model that players' counts are drawn from."""

    scenario: Scenario
    _habits: dict[PlayerId, Habits] = field(default_factory=dict)

    def drawn(
        self, number: int, seconds: Mapping[PlayerId, float], people: Mapping[PlayerId, Person]
    ) -> dict[PlayerId, Counts]:
        """The counts of a round's players by their seconds on a side; none where the scenario has no scores.

        >>> ann, bob = Person(PlayerId("ann"), 0.3), Person(PlayerId("bob"), 0.0)
        >>> everybody = {ann.id: ann, bob.id: bob}
        >>> found = CountsModel(Scenario(scores=0.35)).drawn(1, {ann.id: 120.0, bob.id: 60.0}, everybody)
        >>> sum(found[ann.id].classes.values())
        120.0
        """
        if not self.scenario.scores:
            return {}
        return {player: self._played(number, people[player], time) for player, time in seconds.items()}

    def habits(self, player: PlayerId) -> Habits:
        """The same for a player in every round."""
        if player not in self._habits:
            rng = Random(f"{self.scenario.seed} habits {player}")
            offset = rng.gauss(0, self.scenario.score_offset * self.scenario.spread)
            self._habits[player] = Habits(offset, tuple(rng.sample(sorted(CLASSES), len(PREFERENCES))))
        return self._habits[player]

    def _played(self, number: int, person: Person, seconds: float) -> Counts:
        rng, habits = Random(f"{self.scenario.seed} scores {number} {person.id}"), self.habits(person.id)
        factors = self._factors(rng, person.skill + habits.offset)
        classes = _classes(rng, habits, seconds)
        minutes = {name: span / 60 for name, span in classes.items()}
        kills, deaths, assists, points = (
            factor * sum(CLASSES[name][part] * span for name, span in minutes.items())
            for part, factor in enumerate(factors)
        )
        # As the scoreboard counts: a kill is a point, an assist half of one.
        whole = round(kills), round(deaths), round(assists)
        return Counts(*whole, whole[0] + round(whole[2] / 2 + points), classes)

    def _factors(self, rng: Random, value: float) -> list[float]:
        """Return the factor of the rates in this round, for a player of this skill and offset together."""
        r, spread = self.scenario.scores, self.scenario.spread or 1.0
        signal = r / math.sqrt(1 - r * r) * value / spread
        drawn = [sign * math.sqrt(part) * signal + rng.gauss(0, 1) for part, sign in zip(PARTS, SIGNS, strict=True)]
        return [max(0.0, 1 + SWING * factor) for factor in drawn]


def _classes(rng: Random, habits: Habits, seconds: float) -> dict[str, float]:
    """Seconds by class: one, or two after a change."""
    (first,) = rng.choices(habits.classes, PREFERENCES)
    # Both are drawn in any case, so that no later draw depends on whether the class changes.
    change, habit = rng.random(), rng.choice(habits.classes)
    if change >= CHANGES or habit == first or seconds <= 0:
        return {first: seconds} if seconds > 0 else {}
    # Below `CHANGES` the draw is uniform from 0 to it: it also says when the class was changed.
    part = round(seconds * change / CHANGES, 1)
    return {name: time for name, time in ((first, part), (habit, seconds - part)) if time > 0}
