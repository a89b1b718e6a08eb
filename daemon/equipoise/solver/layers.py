"""One half of a shuffle's players: the dynamic programme over its units, and what a stage of the search keeps of it."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.solver.budget import Budget
from equipoise.solver.sides import ON_A, Count, Sides, Unit
from equipoise.solver.states import FAR, States
from equipoise.solver.sweep import HALVES, STATE_BITS, STATE_WORK, middle

Least = dict[int, int]
"""From a state to the least of a count."""


class Half:
    """The states after 0, 1, … all units of a half, and the bits of each."""

    def __init__(self, sides: Sides, units: Sequence[Unit], lower: bool, budget: Budget) -> None:
        self.units, self.budget = units, budget
        members = [i for unit in units for i in unit.members]
        self.players = len(members)
        self.weight, self.middle = sides.weight(members), middle([sides.weight([i]) for i in members])
        self.low = 0
        """What bit 0 stands for, besides the middle weight of each player."""
        self.ways: list[list[tuple[int, int]]] = []
        """Of each unit and each of its patterns: the step of a state, and how far its bits shift."""
        self.spans = [0]
        for unit in units:
            gains = []
            for pattern in unit.patterns:
                on_a = ON_A.of(pattern.step)
                weight, players = (pattern.on_a, on_a) if lower else (pattern.on_b, len(pattern.places) - on_a)
                gains.append(weight - players * self.middle)
            least = min(gains)
            self.low += least
            self.ways.append([(pattern.step, gain - least) for pattern, gain in zip(unit.patterns, gains, strict=True)])
            self.spans.append(self.spans[-1] + max(gains) - least)
        self.counted = 0
        """The mask of what the present layers count."""
        self.options, self.layers = list[list[tuple[int, int]]](), list[States]()

    def run(self, counted: int, stage: Stage, rests: Sequence[Least], allowed: Sequence[States] | None) -> None:
        """Compute all layers: the states of what is counted, with the bits that are allowed and within the limit.

        `rests`: after each unit, the least that the other units can add to each known state.
        """
        if counted != self.counted:
            self.counted = counted
            self.options = [list({(step & counted, shift) for step, shift in ways}) for ways in self.ways]
        masks: Sequence[States | None] = allowed or [None] * len(rests)
        self.layers, load = [stage.kept({0: 1}, rests[0], masks[0])], 0
        for number, options in enumerate(self.options, start=1):
            before = self.layers[-1]
            if not before:
                return
            bits = len(before) * (STATE_BITS + self.spans[number] // 2)
            load += bits
            self.budget.spend(self._work(number, before), HALVES * (load + len(options) * bits))
            layer: States = {}
            get = layer.get
            for step, shift in options:
                for state, bits in before.items():
                    layer[state + step] = get(state + step, 0) | bits << shift
            self.layers.append(stage.kept(layer, rests[number], masks[number]))

    def paths(self, ends: States) -> list[States]:
        """The bits of each layer that lead to one of the ends."""
        layers = [ends]
        for number in range(len(self.options), 0, -1):
            before, after, layer = self.layers[number - 1], layers[-1], dict[int, int]()
            self.budget.spend(self._work(number, before))
            for state, bits in before.items():
                onward = 0
                for step, shift in self.options[number - 1]:
                    if (end := after.get(state + step)) is not None:
                        onward |= end >> shift
                if bits & onward:
                    layer[state] = bits & onward
            layers.append(layer)
        return layers[::-1]

    def spent(self, layers: Sequence[States], known: int, count: Count) -> Least:
        """The least count of each known state at the end, on the way through the states of these layers."""
        least: Least = {0: 0}
        for ways, layer in zip(self.ways, layers[1:], strict=True):
            steps, before = {(step & known, count.of(step)) for step, _ in ways}, least
            least = {}
            for state, cost in before.items():
                for step, more in steps:
                    after = state + step
                    if after in layer and cost + more < least.get(after, FAR):
                        least[after] = cost + more
        return least

    def to_go(self, layers: Sequence[States], known: int, count: Count, ends: Least) -> list[Least]:
        """For each known state of these layers, the least that is still added to the count; `ends`: after the half."""
        rests = [ends]
        for ways, layer in zip(reversed(self.ways), reversed(layers[:-1]), strict=True):
            steps, after = {(step & known, count.of(step)) for step, _ in ways}, rests[-1]
            rests.append({state: min(more + after.get(state + step, FAR) for step, more in steps) for state in layer})
        return rests[::-1]

    def trace(self, state: int, position: int) -> dict[int, int]:
        """The place of every player of the half, for one bit of a state."""
        places: dict[int, int] = {}
        for number in range(len(self.units) - 1, -1, -1):
            before, unit = self.layers[number], self.units[number]
            for (step, shift), pattern in zip(self.ways[number], unit.patterns, strict=True):
                last, at = state - (step & self.counted), position - shift
                if at >= 0 and before.get(last, 0) >> at & 1:
                    state, position = last, at
                    places.update(zip(unit.members, pattern.places, strict=True))
                    break
        return places

    @property
    def states(self) -> States:
        """The states of the whole half."""
        return self.layers[-1]

    def _work(self, number: int, before: States) -> int:
        return len(self.options[number - 1]) * len(before) * (STATE_WORK + self.spans[number])


class Stage:
    """What a stage keeps: states whose count can end within the limit.

    `known`: the mask of what was counted before, by which bits are allowed and bounds are given.
    `least`: the count is to be least, so that a bit which a state with less of it has, too, is dropped.
    """

    def __init__(self, count: Count, known: int, limit: int, *, least: bool) -> None:
        self.count, self.known, self.limit, self.least = count, known, limit, least
        self.beyond = FAR
        """The least bound that exceeded the limit: the next limit that may find something."""

    def kept(self, layer: States, left: Least, allowed: States | None) -> States:
        """The states of a layer that may lead to an answer, ascending by the count."""
        shift, mask, limit, known, kept = *self.count, self.limit, self.known, dict[int, int]()
        for state, bits in layer.items():
            key = state & known
            if allowed is not None:
                bits &= allowed.get(key, 0)
            if bits:
                bound = (state >> shift & mask) + left.get(key, FAR)
                if bound <= limit:
                    kept[state] = bits
                elif bound < self.beyond:
                    self.beyond = bound
        return self._cheapest(kept) if self.least else kept

    def _cheapest(self, states: States) -> States:
        had, kept, others = dict[int, int](), dict[int, int](), ~self.count.bits
        for state in sorted(states):
            bits, before = states[state], had.get(state & others, 0)
            if bits & ~before:
                kept[state] = bits & ~before
                had[state & others] = bits | before
        return kept
