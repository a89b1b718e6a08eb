"""Friends in a scramble: while the sides stay even as few as possible are parted, and of such sides the most even win.

Even is what players read as even (`EVEN_CHANCES`), by the players alone. Where no sides are, those count that are
within the scramble's tolerance of the most even ones. Who plays is decided before, by turns on the bench.

Which friends stand together is found by the means of skills, exactly (`solver.shuffle`). For a system that knows how
its errors depend on each other the sides are then those of the least cost in which they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from equipoise.balancing.chances import Values, even_difference, match_to_even, unevenness
from equipoise.balancing.means import (
    EQUAL,
    FEW_WHO_CAME,
    GIVEN_UP,
    Pins,
    can_leave,
    leave,
    pins_of_staying,
    renewed,
    who_plays,
)
from equipoise.core.asks import AskSplit
from equipoise.core.model import EVEN_CHANCES, PlayerId, Side, Split, is_even
from equipoise.errors import SplitError
from equipoise.ratings.system import System
from equipoise.solver import Assignment, Budget, Pin, shuffle

TRIES = 4
"""The most solves, each time with a narrower band, until the prediction of the sides is inside it."""

Teams = tuple[list[PlayerId], list[PlayerId]]


class Renewal(NamedTuple):
    """The rule that so many of those who stand on A stay there, with so many players on A in all."""

    on_a: int
    stand_on_a: list[int]
    stay_on_a: tuple[int, int]
    """At least, and at most."""
    pins: Pins
    """Pins of the players who stand on no side."""


def scrambled(ask: AskSplit, values: Values, system: System[Any]) -> Split:
    """Return the split of a due scramble that parts as few friends as it can."""
    order = list(range(len(ask.entries)))
    if sum(ask.sizes) < len(order):
        plays = who_plays(ask, values, system)
        order = sorted((*plays.a, *plays.b))
    together = Together(ask, order, values, system)
    if system.correlated:
        # numpy is loaded where a system needs it.
        from equipoise.balancing.covariances import playing

        split = playing(ask, together.of_entries(), values, system, together.pieces(), together.fits)
        if together.fits((split.a, split.b)):
            return split
    a, b = together.scrambled()
    return Split(tuple(a), tuple(b), tuple(entry.id for i, entry in enumerate(ask.entries) if i not in order))


class Together:
    """A scramble of those who play, by number, as the solver of shuffles reads it; differences in points.

    Of uneven sizes either may be that of A, and where the sides are even depends on it. A share of that is added to the
    value of every player on A, so that it is the same for both sizes.
    """

    def __init__(self, ask: AskSplit, order: Sequence[int], values: Values, system: System[Any]) -> None:
        self.ask, self.system, self.order, self.budget = ask, system, order, Budget()
        self.entries = [ask.entries[index] for index in order]
        self.players = [entry.id for entry in self.entries]
        number = {player: index for index, player in enumerate(self.players)}
        groups = ([number[member] for member in sorted(group) if member in number] for group in ask.groups)
        self.groups = [group for group in groups if len(group) > 1]
        smaller, larger = sorted(ask.sizes)
        even = self._difference_at(0.5, smaller)
        # With n players on A it is even at a lead of e(n), not at one target. A share c for each of them makes it
        # e(n) + n·c, which is the same for both sizes if c = (e(smaller) − e(larger))/(larger − smaller).
        share = (even - self._difference_at(0.5, larger)) / (larger - smaller) if larger > smaller else 0.0
        self.values = [values[0][index] + share for index in order], [values[1][index] for index in order]
        self.target = even + share * smaller
        self.scale = scale = self._scale(smaller)
        # What players read as even, as differences: the points beyond even that these chances take.
        self.low, self.high = (self.target + scale * (self._difference_at(p, smaller) - even) for p in EVEN_CHANCES)
        self.equal, self.given_up, self.tolerance = (
            scale * system.gap(part, larger) for part in (EQUAL, GIVEN_UP, ask.tolerance)
        )
        self.best = self._most_even()
        self.chance = self._chance(self.teams(self.best))
        # No sides are even: friends may cost what newness may, counted from the most even ones.
        if not is_even(self.chance):
            reach = abs(self.best.difference - self.target) + self.given_up
            self.low, self.high = self.target - reach, self.target + reach

    def _difference_at(self, probability: float, on_a: int) -> float:
        sides = self.players[:on_a], self.players[on_a:]
        return even_difference(self.system, self.ask.context, *sides, probability=probability)

    def _scale(self, on_a: int) -> float:
        """Return how many times the points that a newcomer's chance takes are those that these players' chance takes.

        Read off sides of every second player by skill, whose chance is neither a half nor certain.
        """
        by_value = sorted(range(len(self.players)), key=lambda index: -self.values[0][index])
        a = by_value[: 2 * on_a : 2]
        b = [index for index in by_value if index not in a]
        lead = sum(self.values[0][index] for index in a) - sum(self.values[1][index] for index in b) - self.target
        chance = self._chance(([self.players[index] for index in a], [self.players[index] for index in b]))
        # A certain win says nothing of how many points it takes.
        if not 0.001 < chance < 0.999:
            return 1.0
        gain = self._difference_at(chance, on_a) - self._difference_at(0.5, on_a)
        # Players who are nearly alike have a quotient of two numbers near 0, which may be anything.
        return lead / gain if gain and 0.1 < lead / gain < 10.0 else 1.0

    def _chance(self, teams: tuple[Sequence[PlayerId], Sequence[PlayerId]]) -> float:
        return self.system.predict(match_to_even(self.ask.context, *teams)).expected(0)

    def _most_even(self) -> Assignment:
        for _ in range(TRIES):
            split = self._solved()
            after, slack = self._chance(self.teams(split)), split.error_bound
            # Sides outside of the band are the nearest there are: a narrower band would have the same answer.
            if is_even(after) or not self.low - slack <= split.difference <= self.high + slack:
                break
            # The band ends where the prediction of these sides says that it does.
            at = self._difference_at(EVEN_CHANCES[after > 0.5], len(split.a))
            end = split.difference - self.scale * (self._difference_at(after, len(split.a)) - at)
            self.low, self.high = (self.low, end) if after > 0.5 else (end, self.high)
        # With known errors these sides say who stands together, and are a start.
        return split if self.system.correlated else self._fewest_moves(split)

    def _solved(self, *, near: float | None = None, rule: Renewal | None = None) -> Assignment:
        """Return the sides that part the fewest friends in the band; the most even of them.

        `near`: in this distance from even instead, and then those that move the fewest.
        """
        band = (self.low, self.high) if near is None else (self.target - near, self.target + near)
        pins = pins_of_staying(self.entries)
        return shuffle(
            self.values[0],
            [entry.side for entry in self.entries],
            sizes=self.ask.sizes if rule is None else (rule.on_a, len(self.entries) - rule.on_a),
            either=rule is None,
            values_b=self.values[1],
            target=self.target,
            band=band,
            tolerance=self.tolerance,
            pins=pins if rule is None else pins | rule.pins,
            groups=self.groups,
            spread_evenly=() if rule is None else rule.stand_on_a,
            spread_on_a=None if rule is None else rule.stay_on_a,
            moves_count=near is not None,
            budget=self.budget.share(1 / 2),
        )

    def _fewest_moves(self, split: Assignment, rule: Renewal | None = None) -> Assignment:
        """Return sides that are as good as these, and of those the ones that move the fewest players."""
        same = self._solved(near=self._off(split) + self.equal + split.error_bound, rule=rule)
        as_good = self.apart(same) <= self.apart(split) and same.moves <= split.moves
        return same if as_good and self._off(same) <= self._off(split) + self.equal + split.error_bound else split

    def scrambled(self) -> Teams:
        """Return the most even of these sides, or others that are new ones where people expect it."""

        def attempts(each_way: int) -> Iterator[Assignment]:
            if leave(self.entries, self.teams(self.best)[0], each_way):
                yield self.best
                return
            candidates = [split for rule in self._renewals(each_way) if (split := self._renewed(rule, each_way))]
            yield from sorted(candidates, key=lambda split: (self._off(split), split.moves))[:1]

        def uneven(split: Assignment) -> float:
            return unevenness(self.system, self.ask.context, *self.teams(split))

        each_way = can_leave(self.entries, self.ask.each_way)
        return self.teams(renewed(self.best, each_way, attempts, uneven))

    def _renewals(self, each_way: int) -> Iterator[Renewal]:
        """Yield the questions for sides that so many players leave each way; newcomers are placed in each of them."""
        came = [index for index, entry in enumerate(self.entries) if entry.side is None]
        stand = {side: [i for i, entry in enumerate(self.entries) if entry.side is side] for side in Side}
        ways = [tuple(self.best.side_of(index) or Side.A for index in came)]
        if len(came) <= FEW_WHO_CAME:
            ways = [*product(Side, repeat=len(came))]
        for sides, on_a in product(ways, dict.fromkeys(self.ask.sizes)):
            # Of those who stand on A, `stay` remain; the rest of the room is for `room - stay` of B. `leave` asks four
            # things: stay and len(A) - stay, room - stay and len(B) - (room - stay) are each no less than `each_way`.
            room = on_a - sides.count(Side.A)
            least = max(each_way, room - len(stand[Side.B]) + each_way)
            most = min(len(stand[Side.A]) - each_way, room - each_way)
            if least <= most:
                pins = {index: Pin.A if side is Side.A else Pin.B for index, side in zip(came, sides, strict=True)}
                yield Renewal(on_a, stand[Side.A], (least, most), pins)

    def _renewed(self, rule: Renewal, each_way: int) -> Assignment | None:
        try:
            split = self._fewest_moves(self._solved(rule=rule), rule)
        except SplitError:
            return None
        new = leave(self.entries, self.teams(split)[0], each_way) and self.apart(split) <= self.apart(self.best)
        return split if new and self.fits(self.teams(split)) else None

    def fits(self, teams: tuple[Sequence[PlayerId], Sequence[PlayerId]]) -> bool:
        """Return whether these sides are even; where none are, whether they are about as even as the most even."""
        chance = self._chance(teams)
        near = abs(chance - 0.5) <= abs(self.chance - 0.5) + GIVEN_UP
        return is_even(chance) or (near and not is_even(self.chance))

    def _off(self, split: Assignment) -> float:
        return abs(split.difference - self.target)

    def apart(self, split: Assignment) -> int:
        """Return how many friends are parted: of each group those on the side that has fewer of them."""
        return sum(min(len(set(group).intersection(side)) for side in (split.a, split.b)) for group in self.groups)

    def pieces(self) -> list[list[int]]:
        """Return the friends who stand together on these sides."""
        pieces = ([i for i in group if i in side] for group in self.groups for side in (self.best.a, self.best.b))
        return [piece for piece in pieces if len(piece) > 1]

    def of_entries(self) -> Assignment:
        """Return these sides by the numbers of the question's entries."""
        a, b = (tuple(self.order[index] for index in side) for side in (self.best.a, self.best.b))
        return replace(self.best, a=a, b=b, bench=tuple(sorted({*range(len(self.ask.entries))} - {*a, *b})))

    def teams(self, split: Assignment) -> Teams:
        """Return the players on both sides."""
        return [self.players[index] for index in split.a], [self.players[index] for index in split.b]
