"""The people of an NS2 evening and the truth about them: skill on the field, per side and as commanders.

Winners are drawn from the model of docs/ratings/ns2.md, written down once more here: the daemon has to find from
results alone what this module knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from equipoise.core.model import PlayerId, Presence, Role, Side, Span, logistic
from equipoise.demo.cast import NAMES, SMURF, Character, account

POINTS = 400.0
"""Points per unit of log-odds."""
SHAPE, SCALE = 6.0, 200.0
"""Of the Gamma distribution of skills, points: the rating system's own prior."""
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
    """What they are better as a marine and worse as an alien, points."""
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
    return tuple(
        Person(
            account(number),
            name,
            skill=rng.gammavariate(SHAPE, SCALE),
            offset=rng.gauss(0, OFFSET),
            commanding=rng.gammavariate(SHAPE, SCALE),
            prefers=rng.choice((Side.A, Side.B, None)),
            commands=number <= COMMANDERS,
        )
        for number, name in enumerate(rng.sample(names, count), 1)
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
    commanding = 0.0
    for presence in presences:
        person = people[presence.id]
        for span in presence.spans:
            sign, weight = (1.0 if span.side is Side.A else -1.0), _weight(span)
            if span.role is Role.COMMANDER:
                chairs[span.side] += weight
                commanding += sign * weight * person.commanding
            else:
                field_weight += weight
                field += sign * weight * person.on(span.side)
    log_odds = advantage + (field / field_weight / POINTS if field_weight else 0.0)
    if all(chairs.values()):
        log_odds += commanding / sum(chairs.values()) / POINTS
    return logistic(log_odds)


def _weight(span: Span) -> float:
    """A moment t seconds into the round counts 4^(-t/usual)."""
    rate = 2.0 * math.log(2.0) / USUAL_SECONDS
    return math.exp(-rate * span.start) - math.exp(-rate * span.end)


def lineup(a: Iterable[PlayerId], b: Iterable[PlayerId], commanders: Iterable[PlayerId]) -> list[Presence]:
    """Presences of players who play one whole round."""
    chairs = set(commanders)
    return [
        Presence(id, side, 0, 0, True, spans=(Span(side, 0, USUAL_SECONDS, _role(id in chairs)),))
        for side, ids in ((Side.A, a), (Side.B, b))
        for id in ids
    ]


def _role(commands: bool) -> Role:
    return Role.COMMANDER if commands else Role.FIELD


def random_favourite(
    rng: Random,
    people: Mapping[PlayerId, Person],
    sides: Sequence[Sequence[PlayerId]],
    commanders: Sequence[PlayerId],
    advantage: float,
    samples: int = 100,
) -> float:
    """The stronger side's win probability, the mean over random teams; commanders keep their side."""
    field = [id for side in sides for id in side if id not in commanders]
    chairs = [[id for id in side if id in commanders] for side in sides]
    first = len(sides[0]) - len(chairs[0])
    odds = []
    for _ in range(samples):
        order = rng.sample(field, len(field))
        teams = (chairs[0] + order[:first], chairs[1] + order[first:])
        odds.append(chance(people, lineup(*teams, commanders), advantage))
    return fmean(max(one, 1 - one) for one in odds)


def draw_winner(rng: Random, marines: float) -> Side | None:
    """Draw the winner of a round by the marines' win probability; None: a draw."""
    drawn, won = rng.random(), rng.random()
    if drawn < DRAWS:
        return None
    return Side.A if won < marines else Side.B
