"""The optimum with constraints and preferences: two halves that meet over states.

With groups, pins, roles, bench costs or present sides, players no longer differ by value only, and a class (`halves`)
is not enough to tell which partial assignments may be united. All that the constraints count is packed into one
integer, the state; from the lowest bits up: players on A, players on B, A's surplus of each role, the bench cost, the
moves. Each state has the bitset of the differences that its partial assignments make. Placing a unit (a player or a
group) is one addition to the state and one shift of its bitset; so is joining the states of two halves. The count that
is minimised is on top: sorted states are in its order, and states that differ only in it have the same bits below.

Speed is a matter of having few states. So after every step `StateLayout` drops the states that no placing of the
remaining players brings to a goal, that cost more than the limit, or whose differences another state has for less.
Units with roles come first: a role is settled, and no longer counted, once all its players are placed.

A pair of states, one per half, is a whole assignment when their sum meets the goal's sizes, the caps on roles and the
limits; the nearest difference is found as in `halves`. The upper half's bitsets hold −(Σ(A) − Σ(B)), so that the two
halves cancel where their bits coincide.

Preferences are met in stages: the least imbalance; within a tolerance of it the least bench cost; of these the fewest
moves; of these the least imbalance (`PreferenceSearch`). A weighted sum of the three would need weights that no
operator can choose. Counting multiplies the states, so a stage starts with the limit 0, which leaves few of them, and
raises it until an assignment exists. Nothing exists below the limits that failed, so the least count is proven.

It is exact: every step is a union over all choices for one unit. A state is dropped only when no choice for the
remaining players can lead to a solution, and a difference only when a state with a lower count has it, too.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from equipoise.solver.bitsets import (
    HALVES,
    JOIN_WORK,
    STATE_BITS,
    STATE_WORK,
    UNBOUNDED,
    Budget,
    coincidence,
    nearest,
    search_work,
    touches,
    within,
)
from equipoise.solver.problem import BENCH, NO_PREFERENCES, A, B, Floor, Goal, Preferences, Problem, Solution, Unit

COUNT_BITS = 8
COUNT = (1 << COUNT_BITS) - 1
"""Mask of a count of players."""
PLAYING = COUNT | COUNT << COUNT_BITS
ROLE_BITS, ROLE_ZERO = 9, 128
"""A surplus may be negative: each half counts from 128, so that the sum of both counts from 256 and fits 9 bits."""
ROLE = (1 << ROLE_BITS) - 1
CLOSED = -1
FAR = 1 << 62

ROLES_TOGETHER = 2 / 3
"""Units with roles go into one half when they are at most this share of all units."""

States = dict[int, int]
"""From a state to the bitset of its differences."""

Allowed = tuple[list[States], list[States]]
"""For each layer of the lower and of the upper half: the differences that can still lead to a wanted assignment."""


class Limits(NamedTuple):
    """The most bench cost and the most moves that states may have; None: not counted."""

    bench_cost: int | None = None
    moves: int | None = None

    @property
    def last(self) -> int:
        """The limit on what is counted last: the one that a search raises."""
        limit = self.bench_cost if self.moves is None else self.moves
        assert limit is not None
        return limit


NO_LIMITS = Limits()


class Rest(NamedTuple):
    """The players who are still to be placed, as far as they bound what a state can become."""

    players: int = 0
    costs: tuple[int, ...] = ()
    """Bench costs of the players who may sit out, ascending."""
    on_a: int = 0
    on_b: int = 0
    """Players whose present side is A, and B."""
    roles: tuple[int, ...] = ()
    """Players of each role; `CLOSED` when the role's surplus has been removed from states."""


class StateLayout:
    """The position of each count in a state; adds to counts, reads them, and drops states that lead nowhere."""

    def __init__(self, problem: Problem, goals: Sequence[Goal], preferences: Preferences, counted: Limits) -> None:
        self.roles, self.role_cap = problem.roles, problem.role_cap
        self.costs = preferences.bench_cost if counted.bench_cost is not None else None
        self.current = preferences.current if counted.moves is not None else None
        self.role_shifts = [2 * COUNT_BITS + ROLE_BITS * role for role in range(len(self.roles))]
        self.cost_shift = 2 * COUNT_BITS + ROLE_BITS * len(self.roles)
        self.moves_shift = self.cost_shift + sum(self.costs or ()).bit_length()
        # What is counted last is on top, so that states sort by it and the bits below it tell states apart.
        self.counted_shift = self.cost_shift if self.current is None else self.moves_shift
        self.fixed_surplus = [sum(problem.fixed.get(i, BENCH) for i in role) for role in self.roles]
        # Moves are bounded by one goal's sizes: a search that counts them has one goal (`PreferenceSearch`).
        self.goal, self.need = goals[0], _needs(goals)
        self.beyond = FAR
        """The least bound that exceeded the last limit: the next limit that may lead to an assignment."""

    def start(self, lower: bool) -> int:
        """Return the state before any unit is placed; the lower half's includes the players whose place is fixed."""
        surplus = self.fixed_surplus if lower else [0] * len(self.roles)
        return sum((ROLE_ZERO + s) << shift for s, shift in zip(surplus, self.role_shifts, strict=True))

    def step(self, unit: Unit, place: int) -> int:
        """Return the number that placing the unit adds to a state."""
        step = 0 if place == BENCH else len(unit.members) << (0 if place == A else COUNT_BITS)
        # A's surplus: a player of the role counts 1 on A and -1 on B, as places do. A negative step borrows nothing
        # from the field above: each half starts at `ROLE_ZERO`.
        for role, shift in zip(self.roles, self.role_shifts, strict=True):
            step += place * len(role.intersection(unit.members)) * (1 << shift)
        if place == BENCH and self.costs is not None:
            step += sum(self.costs[i] for i in unit.members) << self.cost_shift
        if place != BENCH and self.current is not None:
            step += [self.current[i] for i in unit.members].count(-place) << self.moves_shift
        return step

    def rests(self, units: Sequence[Unit], others: Sequence[Unit]) -> list[Rest]:
        """Return the players still to be placed, the other half's included, after 0, 1, … all of the units."""
        rest = Rest(roles=(0,) * len(self.roles))
        rests = [rest]
        for unit in (*others, *reversed(units)):
            rest = self._with(rest, unit)
            rests.append(rest)
        return rests[len(others) :][::-1]

    def _with(self, rest: Rest, unit: Unit) -> Rest:
        costs, on_a, on_b = rest.costs, rest.on_a, rest.on_b
        if self.costs is not None and BENCH in unit.places:
            costs = tuple(sorted((*costs, *(self.costs[i] for i in unit.members))))
        if self.current is not None:
            sides = [self.current[i] for i in unit.members]
            on_a, on_b = on_a + sides.count(A), on_b + sides.count(B)
        roles = tuple(n + len(role.intersection(unit.members)) for n, role in zip(rest.roles, self.roles, strict=True))
        return Rest(rest.players + len(unit.members), costs, on_a, on_b, roles)

    def complete(self, role: int, lower: bool) -> bool:
        """Return whether a half that holds all players of a role knows its whole surplus.

        Players whose place is fixed count in the lower half.
        """
        return lower or not self.fixed_surplus[role]

    def closing(self, role: int) -> range:
        """Return the steps that remove a role's surplus from a state, once all players of the role are placed."""
        # One of these steps brings a surplus within the cap to 0, and `completable` drops every state at another
        # (`CLOSED`).
        unit, most = 1 << self.role_shifts[role], min(self.role_cap, len(self.roles[role]))
        return range(-most * unit, most * unit + 1, unit)

    def closed(self, rest: Rest, roles: Collection[int]) -> Rest:
        """Return the rest when the surplus of some roles has been removed: it is within the cap and stays so."""
        spreads = [CLOSED if role in roles else count for role, count in enumerate(rest.roles)]
        return rest._replace(roles=tuple(spreads))

    def completable(self, states: States, rest: Rest) -> States:
        """Return the states that some placing of the rest may bring to a goal, judged by sizes and roles."""
        need = self.need
        states = {s: bits for s, bits in states.items() if need.get(s & PLAYING, FAR) <= rest.players}
        for shift, players, surplus in zip(self.role_shifts, rest.roles, self.fixed_surplus, strict=True):
            # The rest can bring back no more of a surplus than it has players of the role. Fixed players count in the
            # lower half alone: to the upper half's states their surplus is still to come.
            most = 0 if players == CLOSED else self.role_cap + players + abs(surplus)
            states = {s: bits for s, bits in states.items() if abs((s >> shift & ROLE) - ROLE_ZERO) <= most}
        return states

    def allowed(self, states: States, differences: States) -> States:
        """Return the states reduced to the differences that are allowed, regardless of what is counted last."""
        # The stage before did not count what is counted last, so its states have no such bits.
        result, mask, bits_of = {}, (1 << self.counted_shift) - 1, differences.get
        for state, bits in states.items():
            common = bits & bits_of(state & mask, 0)
            if common:
                result[state] = common
        return result

    def affordable(self, states: States, rest: Rest, limits: Limits) -> States:
        """Return the states that some placing of the rest may keep within the last limit, judged by counts.

        A difference that a cheaper state with otherwise the same counts has, too, is dropped.
        """
        if limits == NO_LIMITS:
            return states
        bound = self._least_cost(rest) if limits.moves is None else self._least_moves(rest)
        limit, within_limit = limits.last, {}
        for state, bits in states.items():
            least = bound(state)
            if least <= limit:
                within_limit[state] = bits
            elif least < self.beyond:
                self.beyond = least
        return self._cheapest(within_limit)

    def _least_cost(self, rest: Rest) -> Callable[[int], int]:
        """Return a bound on the final bench cost: the cheapest of the rest fill the places left on the bench."""
        need, players, cheapest = self.need, rest.players, [0, *accumulate(rest.costs)]
        cost, shift = (1 << self.moves_shift) - 1, self.cost_shift

        def bound(state: int) -> int:
            # `need` has every state that comes here: `completable` dropped the others, in this stage or in one before.
            seats = players - need[state & PLAYING]
            return ((state & cost) >> shift) + cheapest[seats] if seats < len(cheapest) else FAR

        return bound

    def _least_moves(self, rest: Rest) -> Callable[[int], int]:
        """Return a bound on the final moves: a side short of its own players first gets those of neither side."""
        lacking_a, lacking_b = self.goal.a - rest.on_a, self.goal.b - rest.on_b
        neither = rest.players - rest.on_a - rest.on_b

        def bound(state: int) -> int:
            # What a side lacks after all its present players who are still to come; those of neither side fill it
            # without a move.
            a, b = lacking_a - (state & COUNT), lacking_b - (state >> COUNT_BITS & COUNT)
            short = (a if a > 0 else 0) + (b if b > 0 else 0) - neither
            return (state >> self.moves_shift) + (short if short > 0 else 0)

        return bound

    def _cheapest(self, states: States) -> States:
        # Ascending by the count: of equal differences the first state has the lowest.
        unions: dict[int, int] = {}
        result, mask = {}, (1 << self.counted_shift) - 1
        for state in sorted(states):
            bits, key = states[state], state & mask
            before = unions.get(key)
            if before is None:
                result[state] = unions[key] = bits
            elif more := bits & ~before:
                result[state] = more
                unions[key] = before | more
        return result

    def counted(self, state: int) -> int:
        """Return the count of what is counted last: the moves if they are counted, else the bench cost."""
        return state >> self.counted_shift

    def uncounted(self, state: int) -> int:
        """Return the state without what is counted last."""
        return state & (1 << self.counted_shift) - 1

    def fits(self, state: int, limits: Limits) -> bool:
        """Return whether the state of a whole assignment keeps to the caps on roles and to the limits."""
        for shift in self.role_shifts:
            if abs((state >> shift & ROLE) - 2 * ROLE_ZERO) > self.role_cap:
                return False
        if limits.bench_cost is not None:
            bench_cost = (state & (1 << self.moves_shift) - 1) >> self.cost_shift
            if bench_cost > limits.bench_cost:
                return False
        return limits.moves is None or state >> self.moves_shift <= limits.moves


def _needs(goals: Sequence[Goal]) -> dict[int, int]:
    """Return how many more players (a, b) needs to become the sizes of a goal, for every (a, b) that can."""
    # From the full sizes down: one player more, on A or on B, than the next (a, b) needs. `sizes + 1` has one more on
    # A, `sizes + COUNT + 1`, which is `sizes` + 2⁸, one more on B.
    need = {goal.a | goal.b << COUNT_BITS: 0 for goal in goals}
    for a in range(max(goal.a for goal in goals), -1, -1):
        for b in range(max(goal.b for goal in goals), -1, -1):
            sizes = a | b << COUNT_BITS
            onward = min(need.get(sizes, FAR), need.get(sizes + 1, FAR) + 1, need.get(sizes + COUNT + 1, FAR) + 1)
            if onward < FAR:
                need[sizes] = onward
    return need


class Option(NamedTuple):
    """The number that a choice adds to a state, the shift of its bitset, and the place that it gives the players."""

    step: int
    shift: int = 0
    place: int = 0


class Choice(NamedTuple):
    """The place of a unit, or the removal of the surplus of a role whose players are all placed."""

    options: list[Option]
    rest: Rest
    members: tuple[int, ...] = ()
    span: int = 0
    """The highest position that a bit can have after this choice."""


class Sweep:
    """The dynamic programme over one half's units: its states after 0, 1, … all of its choices.

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
        self.choices = list(self._choices(units, rests))
        self.span = max((choice.span for choice in self.choices), default=0)
        """The highest position that a bit of the whole half can have."""
        self.layers: list[States] = []

    def _choices(self, units: Sequence[Unit], rests: Sequence[Rest]) -> Iterator[Choice]:
        before, ends, span = self.first, set[int](), 0
        for unit, rest in zip(units, rests, strict=True):
            options = self._options(unit)
            span += max(option.shift for option in options)
            yield Choice(options, self.layout.closed(rest, ends), unit.members, span)
            for role, (more, players) in enumerate(zip(before.roles, rest.roles, strict=True)):
                # The role's last player is placed: its surplus is within the cap, and no longer tells states apart.
                if more and not players and self.layout.complete(role, self.sign > 0):
                    ends.add(role)
                    # Options without members: they place nobody, and `trace` has nobody to name.
                    yield Choice(
                        list(map(Option, self.layout.closing(role))), self.layout.closed(rest, ends), span=span
                    )
            before = rest

    def _options(self, unit: Unit) -> list[Option]:
        gain_on = {
            A: sum(self.problem.a[i] - self.middle_a for i in unit.members),
            B: -sum(self.problem.b[i] - self.middle_b for i in unit.members),
        }
        gains = [self.sign * gain_on.get(place, 0) for place in unit.places]
        # Shifts count from the least gain, so that no bitset has leading zeros.
        least = min(gains)
        self.low += least
        return [
            Option(self.layout.step(unit, place), gain - least, place)
            for place, gain in zip(unit.places, gains, strict=True)
        ]

    def run(self, limits: Limits, allowed: Sequence[States] | None) -> None:
        """Compute the states within the limits, layer by layer, with only the differences that are allowed."""
        self.layers, load = [], 0
        self.layers.append(self._pruned({self.layout.start(self.sign > 0): 1}, self.first, limits, allowed))
        for choice in self.choices:
            before = self.layers[-1]
            bits = len(before) * (STATE_BITS + choice.span // 2)
            load += bits
            # At most a state per option comes of each state; most of them are the same.
            self.budget.spend(self._work(choice, before), HALVES * (load + len(choice.options) * bits))
            layer: States = {}
            get = layer.get
            for step, shift, _ in choice.options:
                for state, bits in before.items():
                    layer[state + step] = get(state + step, 0) | bits << shift
            self.layers.append(self._pruned(layer, choice.rest, limits, allowed))

    def _work(self, choice: Choice, layer: States) -> int:
        return len(choice.options) * len(layer) * (STATE_WORK + choice.span)

    def _pruned(self, layer: States, rest: Rest, limits: Limits, allowed: Sequence[States] | None) -> States:
        if allowed is None:
            layer = self.layout.completable(layer, rest)
        else:
            layer = self.layout.allowed(layer, allowed[len(self.layers)])
        return self.layout.affordable(layer, rest, limits)

    def paths(self, ends: States) -> list[States]:
        """Return the differences of each layer that lead to one of the ends."""
        layers = [ends]
        for choice, before in zip(reversed(self.choices), reversed(self.layers[:-1]), strict=True):
            after, layer = layers[-1], dict[int, int]()
            self.budget.spend(self._work(choice, before))
            for state, bits in before.items():
                # Each option read backwards: where the bits would have to be now to reach an end.
                onward = 0
                for step, shift, _ in choice.options:
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
        """Return the difference, with this half's sign, that bit 0 of the state's bitset stands for."""
        on_a, on_b = state & COUNT, state >> COUNT_BITS & COUNT
        return self.low + self.sign * (on_a * self.middle_a - on_b * self.middle_b)

    def trace(self, state: int, position: int) -> dict[int, int]:
        """Return the place of every player of the half, for one bit of a state."""
        places: dict[int, int] = {}
        for choice, before in zip(reversed(self.choices), reversed(self.layers[:-1]), strict=True):
            step, shift, place = next(
                (step, shift, place)
                for step, shift, place in choice.options
                if position >= shift and before.get(state - step, 0) >> position - shift & 1
            )
            state, position = state - step, position - shift
            places.update(dict.fromkeys(choice.members, place))
        return places


def middle(values: list[int]) -> int:
    """Return the upper median: the sum of all distances from it is least, and so are the lengths of bitsets."""
    return sorted(values)[len(values) // 2] if values else 0


class Ladder(NamedTuple):
    """States that differ only in what is counted last, ascending by that count."""

    state: int
    counts: list[int]
    unions: list[int]
    """`unions[i]`: the differences that the first i counts can make."""


class Programme:
    """The dynamic programmes of both halves, and the pairs of states in which they meet."""

    def __init__(
        self,
        problem: Problem,
        goals: Sequence[Goal],
        budget: Budget,
        preferences: Preferences = NO_PREFERENCES,
        limits: Limits = NO_LIMITS,
        allowed: Allowed | None = None,
    ) -> None:
        budget.spend(len(problem.units) * STATE_WORK)
        self.problem, self.budget, self.allowed = problem, budget, allowed
        self.layout = StateLayout(problem, goals, preferences, limits)
        # Exchanging A and B gives as good an assignment, unless moves or fixed players tell the sides apart. Units do
        # not: pins leave them all places or both sides (`Problem.of`).
        self.symmetric = problem.a == problem.b and limits.moves is None and not any(self.layout.fixed_surplus)
        lower, upper = _halves(problem)
        self.lower = Sweep(problem, self.layout, lower, upper, 1, budget)
        self.upper = Sweep(problem, self.layout, upper, lower, -1, budget)
        self.join = JOIN_WORK + self.lower.span + self.upper.span
        """Work of looking at one pair of states, in bits."""
        self.run(limits)

    def run(self, limits: Limits) -> None:
        """Compute both halves within the limits."""
        self.limits, self.layout.beyond = limits, FAR
        lower, upper = self.allowed or (None, None)
        self.lower.run(limits, lower)
        self.upper.run(limits, upper)
        # States with about equally many players on both sides come first: they have the most differences, so a good
        # pair is found early and rules out many others.
        self.evenly = sorted(self.lower.states, key=lambda s: abs((s & COUNT) - (s >> COUNT_BITS & COUNT)))
        self.partners: dict[int, list[int]] = {}
        for state in self.upper.states:
            self.partners.setdefault(state & PLAYING, []).append(state)

    def within(self, goal: Goal, width: int, limits: Limits) -> Allowed:
        """Return the partial assignments that lead to one within the limits and at most `width` from the target."""
        lower_ends: States = {}
        upper_ends: States = {}
        for lower, upper in self._joins(goal, limits, symmetric=False):
            first, second, shift = self._sets(lower, upper, goal)
            lower_ends[lower] = lower_ends.get(lower, 0) | within(second, first, -shift, -width, width)
            upper_ends[upper] = upper_ends.get(upper, 0) | within(first, second, shift, -width, width)
        return self.lower.paths(lower_ends), self.upper.paths(upper_ends)

    def nearest(self, goal: Goal, limits: Limits = NO_LIMITS, least: int = 0) -> Solution | None:
        """Return the assignment within the limits that is closest to the goal's target; None when there is none.

        `least`: a known lower bound on the distance, at which the search may stop.
        """
        symmetric = self.symmetric and goal.a == goal.b and goal.target == 0
        floor = max(least, self.problem.parity_bound(goal))
        best, pair = UNBOUNDED, None
        for lower, upper in self._joins(goal, limits, symmetric):
            first, second, shift = self._sets(lower, upper, goal)
            distance = nearest(first, second, shift, floor, best)
            if distance < best:
                self.budget.spend(search_work(first, second))
                best, pair = distance, (lower, upper)
                if best == floor:
                    break
        if pair is None:
            return None
        lower, upper = pair
        low, high = coincidence(*self._sets(lower, upper, goal), best)
        return Solution(best, self.problem.whole(self.lower.trace(lower, low) | self.upper.trace(upper, high)))

    def fewest(self, goal: Goal, width: int) -> int | None:
        """Return the least count of what is counted last, over assignments at most `width` from the target.

        None when that is above the limit; `beyond` is then the least that it may be.
        """
        layout, ladders, limit = self.layout, self._ladders(), self.limits.last
        best = limit + 1
        # Cheapest first, so that `best` falls early and cuts the ladders short.
        for lower in sorted(self.lower.states):
            first, count = self.lower.states[lower], layout.counted(lower)
            candidates = ladders.get(_missing(lower, goal), ())
            self.budget.spend(len(candidates) * self.join)
            for ladder in candidates:
                if not layout.fits(layout.uncounted(lower) + ladder.state, self.limits):
                    continue
                shift = self.lower.least(lower) - self.upper.least(ladder.state) - goal.target
                # Down the ladder while fewer rungs still touch: unions only grow upwards.
                rung = bisect_left(ladder.counts, best - count)
                while rung and (width >= UNBOUNDED or touches(first, ladder.unions[rung], shift, width)):
                    rung -= 1
                    best = count + ladder.counts[rung]
                # Nothing was found yet, so this rung is the first one above the limit.
                if best > limit and rung < len(ladder.counts):
                    layout.beyond = min(layout.beyond, count + ladder.counts[rung])
        return best if best <= limit else None

    def _ladders(self) -> dict[int, list[Ladder]]:
        """Return the upper half's states as ladders, by their numbers of players."""
        ladders: dict[int, Ladder] = {}
        for state in sorted(self.upper.states):
            key = self.layout.uncounted(state)
            ladder = ladders.setdefault(key, Ladder(key, [], [0]))
            ladder.counts.append(self.layout.counted(state))
            ladder.unions.append(ladder.unions[-1] | self.upper.states[state])
        by_sizes: dict[int, list[Ladder]] = {}
        for ladder in ladders.values():
            by_sizes.setdefault(ladder.state & PLAYING, []).append(ladder)
        return by_sizes

    def _joins(self, goal: Goal, limits: Limits, symmetric: bool) -> Iterator[tuple[int, int]]:
        """Yield the pairs of states that meet the goal's sizes, the caps on roles and the limits.

        `symmetric`: skip pairs that only exchange A and B of another.
        """
        for lower in self.evenly:
            if symmetric and lower & COUNT < lower >> COUNT_BITS & COUNT:
                continue
            partners = self.partners.get(_missing(lower, goal), ())
            self.budget.spend(len(partners) * self.join)
            for upper in partners:
                if self.layout.fits(lower + upper, limits):
                    yield lower, upper

    def _sets(self, lower: int, upper: int, goal: Goal) -> tuple[int, int, int]:
        shift = self.lower.least(lower) - self.upper.least(upper) - goal.target
        return self.lower.states[lower], self.upper.states[upper], shift


def _missing(state: int, goal: Goal) -> int:
    """Return the players on A and B that the other half must add to meet the goal's sizes; negative if none can."""
    return goal.a - (state & COUNT) + ((goal.b - (state >> COUNT_BITS & COUNT)) << COUNT_BITS)


def _halves(problem: Problem) -> tuple[list[Unit], list[Unit]]:
    """Return the units in two halves, ascending by value; if they fit, all units with roles in the lower half."""

    def signature(unit: Unit) -> list[bool]:
        return [role.isdisjoint(unit.members) for role in problem.roles]

    def value(unit: Unit) -> float:
        return sum(problem.a[i] for i in unit.members) / len(unit.members)

    # Players of the same roles side by side, so that one role after the other is complete.
    units = sorted(problem.units, key=lambda unit: (all(signature(unit)), signature(unit), value(unit)))
    with_role = sum(not all(signature(unit)) for unit in units)
    half = len(units) // 2
    # Roles that fit into one half need not be counted where the halves meet; too uneven halves would cost more than
    # that.
    cut = max(half, with_role) if with_role <= ROLES_TOGETHER * len(units) else half
    return units[:cut], units[cut:]


def solve(problem: Problem, goals: Sequence[Goal], budget: Budget) -> Iterator[tuple[Goal, Solution | None]]:
    """Yield the optimum for each goal as it is found; None where the constraints allow none."""
    programme = Programme(problem, goals, budget)
    for goal in goals:
        yield goal, programme.nearest(goal)


class PreferenceSearch:
    """The search for one goal, stage by stage; what it has proven so far is still there after `Spent`.

    The first stage finds the optimum and keeps all partial assignments that lead to one within the tolerance; each
    later stage looks among those for the least of what it counts, and passes on what leads to it.
    """

    def __init__(
        self, problem: Problem, goal: Goal, preferences: Preferences, tolerance: float, budget: Budget
    ) -> None:
        self.problem, (self.goal,), self.factor = problem.scaled([goal])
        # A stage builds its own sets beside those that the stage before has allowed.
        self.preferences, self.budget = preferences, budget.halved()
        # This and all distances below are of the scaled problem, whose tick is `factor` of the caller's.
        self.tolerance = UNBOUNDED if math.isinf(tolerance) else int(tolerance) // self.factor
        self.width, self.limits = UNBOUNDED, NO_LIMITS
        self.programme: Programme | None = None
        self.nearest: Solution | None = None
        """The optimum without preferences."""
        self.floor = Floor()

    def solution(self) -> Solution | None:
        """Return the preferred assignment; None when the constraints allow none."""
        try:
            return self._preferred()
        finally:
            self.programme = None  # the memory is for others

    def _preferred(self) -> Solution | None:
        if self.tolerance < UNBOUNDED:
            self.programme = Programme(self.problem, [self.goal], self.budget)
            optimum = self.programme.nearest(self.goal)
            if optimum is None:
                return None
            self.nearest, self.floor = optimum.times(self.factor), Floor(optimum.distance * self.factor)
            self.width = optimum.distance + self.tolerance
        if self.preferences.bench_cost is not None and not self._stage(Limits):
            return None
        cost = self.limits.bench_cost
        if self.preferences.current is not None and not self._stage(lambda moves: Limits(cost, moves)):
            return None
        assert self.programme is not None, "there is a preference"
        # No assignment is nearer than the optimum of the first stage: at that distance the last one may stop.
        best = self.programme.nearest(self.goal, self.limits, self.floor.distance // self.factor)
        return best and best.times(self.factor)

    def _stage(self, limits: Callable[[int], Limits]) -> bool:
        """Find the least limit under which an assignment within the tolerance exists; False when there is none.

        The excess over the first bound above 0 doubles from run to run, so a high count takes few runs.
        """
        before, mask = self.programme, None
        if before is not None:
            mask = before.within(self.goal, self.width, self.limits)
        # The sets of the stage before are let go before there are new ones.
        self.programme = before = None
        programme = Programme(self.problem, [self.goal], self.budget, self.preferences, limits(0), mask)
        limit = first = 0
        while (least := programme.fewest(self.goal, self.width)) is None:
            beyond = programme.layout.beyond
            if beyond >= FAR:
                return False
            self._raise_floor(limits(beyond))
            first = first or beyond
            limit = max(beyond, 2 * limit - first)
            programme.run(limits(limit))
        self.programme, self.limits = programme, limits(least)
        self._raise_floor(self.limits)
        return True

    def _raise_floor(self, least: Limits) -> None:
        self.floor = Floor(self.floor.distance, least.bench_cost or 0, least.moves or 0)
