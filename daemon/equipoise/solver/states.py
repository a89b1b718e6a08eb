"""States of a constrained split: all that its constraints count, packed into one integer.

From the lowest bits up: players on A, players on B, A's surplus of each role, the bench cost, the moves. Placing a
unit is one addition, and so is joining the states of two halves. The count that is to be kept least is on top: sorted
states are in its order, and states that differ only in it have the same bits below.

Speed is a matter of having few states. So after every step those are dropped that no placing of the remaining players
brings to a goal (`completable`), that cost more than the limit (`affordable`), or whose differences another state has
for less (`_cheapest`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from typing import NamedTuple

from equipoise.solver.problem import BENCH, A, B, Goal, Problem, Unit

COUNT_BITS = 8
COUNT = (1 << COUNT_BITS) - 1
"""Mask of a count of players."""
PLAYING = COUNT | COUNT << COUNT_BITS
ROLE_BITS, ROLE_ZERO = 9, 128
"""A surplus may be negative: each half counts from 128, so that the sum of both counts from 256 and fits 9 bits."""
ROLE = (1 << ROLE_BITS) - 1
CLOSED = -1
FAR = 1 << 62

States = dict[int, int]
"""From a state to the bitset of its differences."""


class Preferences(NamedTuple):
    """What to keep least: the sum of bench costs, and moves away from the present side (1, -1, or 0 for none)."""

    bench_cost: Sequence[int] | None = None
    current: Sequence[int] | None = None


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


NO_PREFERENCES, NO_LIMITS = Preferences(), Limits()


class Rest(NamedTuple):
    """The players who are still to be placed, as far as they bound what a state can become."""

    players: int = 0
    costs: tuple[int, ...] = ()
    """Bench costs of those who may sit out, ascending."""
    on_a: int = 0
    on_b: int = 0
    """Players whose present side is A, and B."""
    roles: tuple[int, ...] = ()
    """Players of each role; `CLOSED` when the role's surplus has been removed from states."""


class StateLayout:
    """Where each count lies in a state; adds to counts, reads them, and drops states that lead nowhere."""

    def __init__(self, problem: Problem, goals: Sequence[Goal], preferences: Preferences, counted: Limits) -> None:
        self.roles, self.role_cap = problem.roles, problem.role_cap
        self.costs = preferences.bench_cost if counted.bench_cost is not None else None
        self.current = preferences.current if counted.moves is not None else None
        self.role_shifts = [2 * COUNT_BITS + ROLE_BITS * role for role in range(len(self.roles))]
        self.cost_shift = 2 * COUNT_BITS + ROLE_BITS * len(self.roles)
        self.moves_shift = self.cost_shift + sum(self.costs or ()).bit_length()
        self.counted_shift = self.cost_shift if self.current is None else self.moves_shift
        self.fixed_surplus = [sum(problem.fixed.get(i, BENCH) for i in role) for role in self.roles]
        self.goal, self.need = goals[0], _needs(goals)
        self.beyond = FAR
        """The least bound that exceeded the last limit: the next limit that may find something."""

    def start(self, lower: bool) -> int:
        """The state before any unit is placed; the lower half's includes the players whose place is fixed."""
        surplus = self.fixed_surplus if lower else [0] * len(self.roles)
        return sum((ROLE_ZERO + s) << shift for s, shift in zip(surplus, self.role_shifts, strict=True))

    def step(self, unit: Unit, place: int) -> int:
        """The number that placing the unit adds to a state."""
        step = 0 if place == BENCH else len(unit.members) << (0 if place == A else COUNT_BITS)
        for role, shift in zip(self.roles, self.role_shifts, strict=True):
            step += place * len(role.intersection(unit.members)) * (1 << shift)
        if place == BENCH and self.costs is not None:
            step += sum(self.costs[i] for i in unit.members) << self.cost_shift
        if place != BENCH and self.current is not None:
            step += [self.current[i] for i in unit.members].count(-place) << self.moves_shift
        return step

    def rests(self, units: Sequence[Unit], others: Sequence[Unit]) -> list[Rest]:
        """The players still to be placed, the other half included, after 0, 1, … all of the units are placed."""
        rest = Rest(roles=(0,) * len(self.roles))
        rests = [rest]
        for unit in (*others, *reversed(units)):
            rest = self._with(rest, unit)
            rests.append(rest)
        return rests[len(others) :][::-1]

    def complete(self, role: int, lower: bool) -> bool:
        """A half that holds all players of a role knows its whole surplus: fixed players count in the lower half."""
        return lower or not self.fixed_surplus[role]

    def closing(self, role: int) -> range:
        """The steps that remove a role's surplus from a state, once all players of the role are placed."""
        one, most = 1 << self.role_shifts[role], min(self.role_cap, len(self.roles[role]))
        return range(-most * one, most * one + 1, one)

    def closed(self, rest: Rest, roles: Collection[int]) -> Rest:
        """The rest when the surplus of some roles has been removed: it is within the cap and stays so."""
        spreads = [CLOSED if role in roles else left for role, left in enumerate(rest.roles)]
        return rest._replace(roles=tuple(spreads))

    def _with(self, rest: Rest, unit: Unit) -> Rest:
        costs, on_a, on_b = rest.costs, rest.on_a, rest.on_b
        if self.costs is not None and BENCH in unit.places:
            costs = tuple(sorted((*costs, *(self.costs[i] for i in unit.members))))
        if self.current is not None:
            sides = [self.current[i] for i in unit.members]
            on_a, on_b = on_a + sides.count(A), on_b + sides.count(B)
        roles = tuple(n + len(role.intersection(unit.members)) for n, role in zip(rest.roles, self.roles, strict=True))
        return Rest(rest.players + len(unit.members), costs, on_a, on_b, roles)

    def completable(self, states: States, rest: Rest) -> States:
        """The states that some placing of the rest may bring to a goal, judged by sizes and roles."""
        need = self.need
        states = {s: bits for s, bits in states.items() if need.get(s & PLAYING, FAR) <= rest.players}
        for shift, left, fixed in zip(self.role_shifts, rest.roles, self.fixed_surplus, strict=True):
            most = 0 if left == CLOSED else self.role_cap + left + abs(fixed)
            states = {s: bits for s, bits in states.items() if abs((s >> shift & ROLE) - ROLE_ZERO) <= most}
        return states

    def allowed(self, states: States, differences: States) -> States:
        """The states reduced to the differences that are allowed, regardless of what is counted last."""
        kept, uncounted, allowed = {}, (1 << self.counted_shift) - 1, differences.get
        for state, bits in states.items():
            common = bits & allowed(state & uncounted, 0)
            if common:
                kept[state] = common
        return kept

    def affordable(self, states: States, rest: Rest, limits: Limits) -> States:
        """The states that some placing of the rest may keep within the last limit, judged by counts.

        A difference that a cheaper state with otherwise the same counts has, too, is dropped.
        """
        if limits == NO_LIMITS:
            return states
        bound = self._least_cost(rest) if limits.moves is None else self._least_moves(rest)
        states, over = _within(states, bound, limits.last)
        self.beyond = min(self.beyond, over)
        return self._cheapest(states)

    def _least_cost(self, rest: Rest) -> Callable[[int], int]:
        """A bound on the final bench cost: the cheapest of the rest fill the places that are left on the bench."""
        need, players, cheapest = self.need, rest.players, [0, *accumulate(rest.costs)]
        cost, shift = (1 << self.moves_shift) - 1, self.cost_shift

        def bound(state: int) -> int:
            benched = players - need[state & PLAYING]
            return ((state & cost) >> shift) + cheapest[benched] if benched < len(cheapest) else FAR

        return bound

    def _least_moves(self, rest: Rest) -> Callable[[int], int]:
        """A bound on the final moves: a side that lacks players of its own is first filled with those of neither."""
        lacking_a, lacking_b = self.goal.a - rest.on_a, self.goal.b - rest.on_b
        neither = rest.players - rest.on_a - rest.on_b

        def bound(state: int) -> int:
            a, b = lacking_a - (state & COUNT), lacking_b - (state >> COUNT_BITS & COUNT)
            short = (a if a > 0 else 0) + (b if b > 0 else 0) - neither
            return (state >> self.moves_shift) + (short if short > 0 else 0)

        return bound

    def _cheapest(self, states: States) -> States:
        had: dict[int, int] = {}
        kept, uncounted = {}, (1 << self.counted_shift) - 1
        for state in sorted(states):
            bits, key = states[state], state & uncounted
            before = had.get(key)
            if before is None:
                kept[state] = had[key] = bits
            elif more := bits & ~before:
                kept[state] = more
                had[key] = before | more
        return kept

    def bench_cost(self, state: int) -> int:
        """The bench cost of a state."""
        return (state & (1 << self.moves_shift) - 1) >> self.cost_shift

    def counted(self, state: int) -> int:
        """The count of what is counted last: the moves if they are counted, else the bench cost."""
        return state >> self.counted_shift

    def uncounted(self, state: int) -> int:
        """The state without what is counted last."""
        return state & (1 << self.counted_shift) - 1

    def fits(self, state: int, limits: Limits) -> bool:
        """The state of a whole assignment keeps to the caps on roles and to the limits."""
        for shift in self.role_shifts:
            if abs((state >> shift & ROLE) - 2 * ROLE_ZERO) > self.role_cap:
                return False
        if limits.bench_cost is not None and self.bench_cost(state) > limits.bench_cost:
            return False
        return limits.moves is None or state >> self.moves_shift <= limits.moves


def _within(states: States, bound: Callable[[int], int], limit: int) -> tuple[States, int]:
    """The states whose bound is within the limit, and the least bound that is not."""
    kept, over = {}, FAR
    for state, bits in states.items():
        least = bound(state)
        if least <= limit:
            kept[state] = bits
        elif least < over:
            over = least
    return kept, over


def _needs(goals: Sequence[Goal]) -> dict[int, int]:
    """How many more players (a, b) needs to become the sizes of a goal, for every (a, b) that can."""
    need = {goal.a | goal.b << COUNT_BITS: 0 for goal in goals}
    for a in range(max(goal.a for goal in goals), -1, -1):
        for b in range(max(goal.b for goal in goals), -1, -1):
            here = a | b << COUNT_BITS
            onward = min(need.get(here, FAR), need.get(here + 1, FAR) + 1, need.get(here + COUNT + 1, FAR) + 1)
            if onward < FAR:
                need[here] = onward
    return need
