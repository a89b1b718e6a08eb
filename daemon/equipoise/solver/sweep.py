"""The dynamic programme over one half's units: all differences that they can make, by state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.solver.budget import Budget
from equipoise.solver.problem import A, B, Problem, Unit
from equipoise.solver.states import COUNT, COUNT_BITS, Limits, Rest, StateLayout, States

STATE_BITS = 1 << 10
"""Memory of a state besides its bitset, in bits. Bitsets are estimated at half of their greatest length."""
STATE_WORK = 1 << 14
"""Work that one choice for a state takes besides that on its bitset, in bits."""
HALVES = 2


class Option(NamedTuple):
    """What one choice adds to a state and to the positions in its bitset, and the place that it gives the players."""

    step: int
    shift: int = 0
    place: int = 0


class Stage(NamedTuple):
    """One choice: the place of a unit, or the removal of the surplus of a role whose players are all placed."""

    options: list[Option]
    rest: Rest
    members: tuple[int, ...] = ()
    span: int = 0
    """The highest position that a bit can have after this stage."""


class Sweep:
    """One half: its states after 0, 1, … all of its stages.

    The half's middle value is subtracted from its values, on each side, which keeps the bitsets short; the counts in
    a state say how often. `sign` is 1 for the lower half and -1 for the upper.
    """

    def __init__(
        self,
        problem: Problem,
        layout: StateLayout,
        units: Sequence[Unit],
        others: Sequence[Unit],
        sign: int,
        budget: Budget,
    ) -> None:
        self.problem, self.layout, self.sign, self.budget = problem, layout, sign, budget
        players = [i for unit in units for i in unit.members]
        self.middle_a = middle([problem.a[i] for i in players])
        self.middle_b = middle([problem.b[i] for i in players])
        self.low = 0
        self.first, *rests = layout.rests(units, others)
        self.stages = list(self._stages(units, rests))
        self.layers: list[States] = []

    def _stages(self, units: Sequence[Unit], rests: Sequence[Rest]) -> Iterator[Stage]:
        before, closed, span = self.first, set[int](), 0
        for unit, rest in zip(units, rests, strict=True):
            options = self._options(unit)
            span += max(option.shift for option in options)
            yield Stage(options, self.layout.closed(rest, closed), unit.members, span)
            for role, (more, left) in enumerate(zip(before.roles, rest.roles, strict=True)):
                if more and not left and self.layout.complete(role, self.sign > 0):
                    closed.add(role)
                    yield Stage(
                        list(map(Option, self.layout.closing(role))), self.layout.closed(rest, closed), span=span
                    )
            before = rest

    def _options(self, unit: Unit) -> list[Option]:
        gain_on = {
            A: sum(self.problem.a[i] - self.middle_a for i in unit.members),
            B: -sum(self.problem.b[i] - self.middle_b for i in unit.members),
        }
        gains = [self.sign * gain_on.get(place, 0) for place in unit.places]
        least = min(gains)
        self.low += least
        return [
            Option(self.layout.step(unit, place), gain - least, place)
            for place, gain in zip(unit.places, gains, strict=True)
        ]

    def run(self, limits: Limits, allowed: Sequence[States] | None) -> None:
        """Compute the states within the limits, layer by layer, with only the differences that are allowed."""
        self.layers, load = [], 0
        self.layers.append(self._kept({self.layout.start(self.sign > 0): 1}, self.first, limits, allowed))
        for stage in self.stages:
            bits = len(self.layers[-1]) * (STATE_BITS + stage.span // 2)
            load += bits
            # At most a state per option comes of each state; most of them are the same.
            self.budget.spend(self._work(stage, self.layers[-1]), HALVES * (load + len(stage.options) * bits))
            layer = _extended(self.layers[-1], stage.options)
            self.layers.append(self._kept(layer, stage.rest, limits, allowed))

    def _work(self, stage: Stage, layer: States) -> int:
        return len(stage.options) * len(layer) * (STATE_WORK + stage.span)

    @property
    def span(self) -> int:
        """The highest position that a bit of the whole half can have."""
        return max((stage.span for stage in self.stages), default=0)

    def _kept(self, layer: States, rest: Rest, limits: Limits, allowed: Sequence[States] | None) -> States:
        if allowed is None:
            layer = self.layout.completable(layer, rest)
        else:
            layer = self.layout.allowed(layer, allowed[len(self.layers)])
        return self.layout.affordable(layer, rest, limits)

    def paths(self, ends: States) -> list[States]:
        """The differences of each layer that lead to one of the ends."""
        layers = [ends]
        for stage, before in zip(reversed(self.stages), reversed(self.layers[:-1]), strict=True):
            after, layer = layers[-1], dict[int, int]()
            self.budget.spend(self._work(stage, before))
            for state, bits in before.items():
                onward = 0
                for step, shift, _ in stage.options:
                    onward |= after.get(state + step, 0) >> shift
                if bits & onward:
                    layer[state] = bits & onward
            layers.append(layer)
        return layers[::-1]

    @property
    def states(self) -> States:
        """The states of the whole half."""
        return self.layers[-1]

    def least(self, state: int) -> int:
        """The difference, with this half's sign, that bit 0 of the state's bitset stands for."""
        on_a, on_b = state & COUNT, state >> COUNT_BITS & COUNT
        return self.low + self.sign * (on_a * self.middle_a - on_b * self.middle_b)

    def trace(self, state: int, position: int) -> dict[int, int]:
        """The place of every player of the half, for one bit of a state."""
        places: dict[int, int] = {}
        for stage, before in zip(reversed(self.stages), reversed(self.layers[:-1]), strict=True):
            option = next(o for o in stage.options if _holds(before.get(state - o.step, 0), position - o.shift))
            state, position = state - option.step, position - option.shift
            places.update(dict.fromkeys(stage.members, option.place))
        return places


def middle(values: list[int]) -> int:
    """The middle one: as far as the values are from it together, the least bitsets reach."""
    return sorted(values)[len(values) // 2] if values else 0


def _holds(bits: int, position: int) -> bool:
    return position >= 0 and bool(bits >> position & 1)


def _extended(states: States, options: Sequence[Option]) -> States:
    result: States = {}
    get = result.get
    for step, shift, _ in options:
        for state, bits in states.items():
            result[state + step] = get(state + step, 0) | bits << shift
    return result
