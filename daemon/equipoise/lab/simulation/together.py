"""The same teams again: how often two players meet on one side, against chance.

A round with sides of a and b players has C(a, 2) + C(b, 2) pairs on one side with any teams: how often *all* pairs
meet says nothing. What players complain of is that it is the same ones. So the measure is, of two players who were on
one side in one round, how often they are on one side in another round that both play. By chance that is as often as
any pair is.

>>> together = Together()
>>> together.count("ab", "cde")
>>> together.count("ab", "cde")
>>> together.again()
Again(share=1.0, chance=0.4)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product


@dataclass(frozen=True, slots=True)
class Again:
    """How often two who were on one side once are on one side another time."""

    share: float
    chance: float
    """How often any two are."""


@dataclass(slots=True)
class Together:
    """Rounds whose teams are compared with each other."""

    _met: dict[frozenset[Hashable], list[int]] = field(default_factory=dict)
    """By pair, the rounds on one side and on either."""

    def count(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> None:
        """Add a round; one against one has no pairs and counts for nothing."""
        if max(len(a), len(b)) < 2:
            return
        for side in (a, b):
            for pair in combinations(side, 2):
                self._add(frozenset(pair), 1)
        for pair in product(a, b):
            self._add(frozenset(pair), 0)

    def _add(self, pair: frozenset[Hashable], together: int) -> None:
        met = self._met.setdefault(pair, [0, 0])
        met[0] += together
        met[1] += 1

    def again(self) -> Again | None:
        """Over all pairs of rounds; None where no two players were on one side who met in another round."""
        # Of a pair with n rounds, m on one side: each of the m has n − 1 others, of which m − 1 are on one side.
        others = sum(m * (n - 1) for m, n in self._met.values())
        if not others:
            return None
        met = [(m, n) for m, n in self._met.values() if n > 1]
        chance = sum(m for m, _ in met) / sum(n for _, n in met)
        return Again(sum(m * (m - 1) for m, _ in met) / others, chance)
