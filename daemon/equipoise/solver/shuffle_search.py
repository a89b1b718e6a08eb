"""The exact search of a shuffle: stage by stage, two halves of the players that meet.

As with preferences (`constraints`), what a shuffle counts is packed into one integer, the state; from the lowest bits
up: players on A, how many of them are to be spread evenly, moves, parted friends, and what the denied wishes weigh.
Each stage counts one of them more than the stage before, finds the least of it, and keeps all partial assignments that
lead to that least. Masks select what a stage counts.

Three things differ from a split with a bench, and each makes the search smaller:

- Everyone plays, so the difference is a sum over A alone: a player there adds their value on A and spares B their value
  on B. Bits of the lower half stand for the sum of these weights on A, bits of the upper half for the sum on B, each
  less the half's middle weight per player. The difference is an offset plus a bit of the lower half less one of the
  upper.
- The match has to be even enough, not as even as possible. The band is a window: two states meet in it where the bits
  of one, dilated by the window's width, hit the bits of the other. The nearest difference matters only where nothing is
  inside the window, and at the end.
- Friends may be parted at a cost. A group is placed as one, in any of the patterns of two sides that it can have.

Before a stage counts, it computes for every state that was passed on the least that is still to come, by the states
alone. That is mostly near the answer, and is the first limit; as in `constraints`, nothing exists below limits that
failed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import or_
from typing import NamedTuple

from equipoise.solver.bitsets import (
    HALVES,
    JOIN_WORK,
    STATE_BITS,
    STATE_WORK,
    UNBOUNDED,
    Budget,
    dilate,
    nearest,
    overlap,
    within,
)
from equipoise.solver.constraints import FAR, States, middle
from equipoise.solver.problem import A, B

FIELD_BITS = 8
FIELD = (1 << FIELD_BITS) - 1
"""Mask of a count of players."""
# The topmost field, with room for `shuffle.HEAVIEST` and more.
WISHES_MASK = (1 << 40) - 1


class Count(NamedTuple):
    """The position of a count in a state."""

    shift: int
    mask: int = FIELD

    def of(self, state: int) -> int:
        """Return the count of a state."""
        return state >> self.shift & self.mask

    @property
    def bits(self) -> int:
        """The mask of the count at its position."""
        return self.mask << self.shift


ON_A, SPREAD, MOVES, PARTED = (Count(FIELD_BITS * n) for n in range(4))
WISHES = Count(FIELD_BITS * 4, WISHES_MASK)
NOTHING = Count(0, 0)
"""Counts nothing: for the first stage without a limit on moves."""

Least = dict[int, int]
"""From a state to the least of a count."""

Rests = tuple[list[Least], list[Least]]
"""For the lower and the upper half, after each of its parties: the least that may follow, by state."""


class Band(NamedTuple):
    """The differences that are wanted, from `low` to `high`, and the one to come near to."""

    low: int
    high: int
    target: int


class Pattern(NamedTuple):
    """One way to place the players of a party, and what it adds to a state."""

    step: int
    on_a: int
    """The weights of the players that it places on A, and on B."""
    on_b: int
    places: tuple[int, ...]


class Party(NamedTuple):
    """A player, or a group of friends, and the ways to place them."""

    members: tuple[int, ...]
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Sides:
    """Which place each player may have, and what counts; values in ticks.

    The difference of the sides is the sum of the weights on A less the sum of all values on B.
    """

    a: Sequence[int]
    b: Sequence[int]
    sizes: tuple[int, ...]
    """The numbers of players that A may have."""
    current: Sequence[int]
    """The present place of each player; 0 for players without a side."""
    pins: Mapping[int, int]
    groups: Sequence[Sequence[int]]
    wishes: Sequence[tuple[int, int]]
    """The cost of placing each player on A, and on B."""
    spread: frozenset[int]
    spread_on_a: tuple[int, int]
    """The least and the most of these who should be on A."""
    friend_cost: int = 0
    """What a parted friend adds to the wishes."""

    @property
    def parties(self) -> list[Party]:
        """Groups and single players, ascending by weight."""
        friends = {member for group in self.groups for member in group}
        singles = ((player,) for player in range(len(self.a)) if player not in friends)
        parties = [Party(members, tuple(self._patterns(members))) for members in (*map(tuple, self.groups), *singles)]
        return sorted(parties, key=lambda party: self.weight(party.members) / len(party.members))

    def difference(self, places: Sequence[int]) -> int:
        """Return Σ(A) − Σ(B) of an assignment, in ticks."""
        return sum(a if place == A else -b for place, a, b in zip(places, self.a, self.b, strict=True))

    def state(self, places: Sequence[int]) -> int:
        """Return the state of the places of all players."""
        apart = sum(parted([places[i] for i in group]) for group in self.groups)
        return sum(map(self.step, range(len(places)), places)) + self.apart(apart)

    def apart(self, count: int) -> int:
        """Return what so many parted friends add to a state."""
        return (count << PARTED.shift) + (count * self.friend_cost << WISHES.shift)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest difference of sides of these sizes, wherever players are pinned."""
        # Σ(A) − Σ(B) with everyone on B is the negative sum there; each who changes to A adds their weight.
        weights, on_b = sorted(self.weight([i]) for i in range(len(self.a))), sum(self.b)
        return (
            min(sum(weights[:size]) for size in self.sizes) - on_b,
            max(sum(weights[len(weights) - size :]) for size in self.sizes) - on_b,
        )

    def excess(self, state: int) -> int:
        """Return how many of the players to be spread are too many on A, or too few."""
        (least, most), on_a = self.spread_on_a, SPREAD.of(state)
        return max(0, least - on_a, on_a - most)

    def weight(self, players: Iterable[int]) -> int:
        """Return how much the difference grows when these players change from B to A."""
        return sum(self.a[i] + self.b[i] for i in players)

    def step(self, player: int, place: int) -> int:
        """Return what a player adds to a state, except for parted friends."""
        on_a = place == A
        return (
            on_a
            | (on_a and player in self.spread) << SPREAD.shift
            # A player without a side has 0, which is no place: placing them is no move.
            | (place == -self.current[player]) << MOVES.shift
            | self.wishes[player][not on_a] << WISHES.shift
        )

    def _patterns(self, members: tuple[int, ...]) -> Iterator[Pattern]:
        places_of = [(self.pins[player],) if player in self.pins else (A, B) for player in members]
        for places in product(*places_of):
            step = sum(map(self.step, members, places)) + self.apart(parted(places))
            on_a = self.weight(i for i, place in zip(members, places, strict=True) if place == A)
            yield Pattern(step, on_a, self.weight(members) - on_a, places)


def parted(places: Sequence[int]) -> int:
    """Return how many of a group are on the side that has fewer of them."""
    return min(places.count(A), places.count(B))


class Stage:
    """The rule of a stage: it keeps the states whose count can end within the limit.

    `known`: the mask of what was counted before, by which bits are allowed and bounds are given.
    `least`: the count is to be least, so that a bit is dropped when a state with less of it has it, too.
    """

    def __init__(self, count: Count, known: int, limit: int, *, least: bool) -> None:
        self.count, self.known, self.limit, self.least = count, known, limit, least
        self.beyond = FAR
        """The least bound that exceeded the limit: the next limit that may lead to an assignment."""

    def kept(self, layer: States, rest: Least, allowed: States | None) -> States:
        """Return the states of a layer that may lead to an answer, ascending by the count if it is to be least."""
        # Attributes are read once: the loop runs for every state of every layer.
        shift, mask, limit, store, result = *self.count, self.limit, self.known, dict[int, int]()
        for state, bits in layer.items():
            key = state & store
            if allowed is not None:
                bits &= allowed.get(key, 0)
            if bits:
                bound = (state >> shift & mask) + rest.get(key, FAR)
                if bound <= limit:
                    result[state] = bits
                elif bound < self.beyond:
                    self.beyond = bound
        return self._cheapest(result) if self.least else result

    def _cheapest(self, states: States) -> States:
        # Ascending by the count: of equal bits the first state has the lowest.
        unions, result, others = dict[int, int](), dict[int, int](), ~self.count.bits
        for state in sorted(states):
            bits, before = states[state], unions.get(state & others, 0)
            if bits & ~before:
                result[state] = bits & ~before
                unions[state & others] = bits | before
        return result


class ShuffleHalf:
    """The dynamic programme over one half's parties: the states after 0, 1, … all of them, and the bits of each."""

    def __init__(self, sides: Sides, parties: Sequence[Party], lower: bool, budget: Budget) -> None:
        self.parties, self.budget = parties, budget
        members = [i for party in parties for i in party.members]
        self.players = len(members)
        self.weight, self.middle = sides.weight(members), middle([sides.weight([i]) for i in members])
        self.low = 0
        """The sum that bit 0 stands for, besides the middle weight of each player."""
        self.ways: list[list[tuple[int, int]]] = []
        """For each party and each of its patterns: the step of a state, and how far its bits shift."""
        self.spans = [0]
        for party in parties:
            gains = []
            for pattern in party.patterns:
                on_a = ON_A.of(pattern.step)
                weight, players = (pattern.on_a, on_a) if lower else (pattern.on_b, len(pattern.places) - on_a)
                gains.append(weight - players * self.middle)
            # Shifts count from the least gain, so that no bitset has leading zeros.
            least = min(gains)
            self.low += least
            self.ways.append(
                [(pattern.step, gain - least) for pattern, gain in zip(party.patterns, gains, strict=True)]
            )
            self.spans.append(self.spans[-1] + max(gains) - least)
        self.counted = 0
        """The mask of what the present layers count."""
        self.options, self.layers = list[list[tuple[int, int]]](), list[States]()

    def run(self, counted: int, stage: Stage, rests: Sequence[Least], allowed: Sequence[States] | None) -> None:
        """Compute all layers: the states of what is counted, with the bits that are allowed and within the limit.

        `rests`: after each party, the least that the other parties can add to each known state.
        """
        if counted != self.counted:
            self.counted = counted
            # Patterns that differ in nothing that is counted, and in no weight, are one option.
            self.options = [list({(step & counted, shift) for step, shift in ways}) for ways in self.ways]
        masks: Sequence[States | None] = allowed or [None] * len(rests)
        self.layers, load = [stage.kept({0: 1}, rests[0], masks[0])], 0
        for number, options in enumerate(self.options, start=1):
            before = self.layers[-1]
            # No state is left: what the stage asks for does not exist within its limit.
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
        """Return the bits of each layer that lead to one of the ends."""
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
        """Return the least count of each known state at the end, on the way through the states of these layers."""
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
        """Return for each known state of these layers the least that is still added to the count.

        `ends`: the same after the half.
        """
        rests = [ends]
        for ways, layer in zip(reversed(self.ways), reversed(layers[:-1]), strict=True):
            steps, after = {(step & known, count.of(step)) for step, _ in ways}, rests[-1]
            rests.append({state: min(more + after.get(state + step, FAR) for step, more in steps) for state in layer})
        return rests[::-1]

    def trace(self, state: int, position: int) -> dict[int, int]:
        """Return the place of every player of the half, for one bit of a state."""
        places: dict[int, int] = {}
        for number in range(len(self.parties) - 1, -1, -1):
            before, party = self.layers[number], self.parties[number]
            # By all patterns, not by the merged options: the first that fits is as good as any, and has places.
            for (step, shift), pattern in zip(self.ways[number], party.patterns, strict=True):
                last, at = state - (step & self.counted), position - shift
                if at >= 0 and before.get(last, 0) >> at & 1:
                    state, position = last, at
                    places.update(zip(party.members, pattern.places, strict=True))
                    break
        return places

    @property
    def states(self) -> States:
        """The states of the whole half."""
        return self.layers[-1]

    def _work(self, number: int, before: States) -> int:
        return len(self.options[number - 1]) * len(before) * (STATE_WORK + self.spans[number])


@dataclass(slots=True)
class Bits:
    """The bits of a state, to be met by the other half's: also as wide as the window, unless that is too long."""

    exact: int
    width: int
    longest: int
    _wide: int | None = None

    def near(self, others: int, shift: int, high: int) -> int:
        """Return the others that make a difference in the window with one of these bits; the window ends at `high`."""
        if self._wide is None:
            # A dilated set that is longer than all differences there are would hold nothing but ones.
            if self.exact.bit_length() + self.width > self.longest:
                return within(self.exact, others, shift, high - self.width, high)
            self._wide = dilate(self.exact, self.width)
        return overlap(self._wide, others, shift - high)


@dataclass(slots=True)
class Ladder:
    """States of the upper half that differ only in the count, ascending by it."""

    state: int
    counts: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    unions: list[int] = field(default_factory=lambda: [0])
    """`unions[i]`: the bits of the first i states."""
    known: dict[int, Bits] = field(default_factory=dict)
    """The same unions as the other half meets them."""


class Meeting(NamedTuple):
    """A state of the lower half and states of the upper one that together meet all limits."""

    state: int
    bits: Bits
    offset: int
    """The difference is this plus a bit of the lower half less one of the upper half."""
    ladder: Ladder

    def hits(self, reach: int, high: int) -> int:
        """Return the bits of the ladder's first states that make a difference in the window, which ends at `high`."""
        return self.bits.near(self.ladder.unions[reach], self.offset, high) if reach else 0

    def fewest(self, reach: int, high: int) -> int:
        """Return how many of the ladder's first states are needed for a hit; all of them together have one."""
        return 1 + bisect_left(range(1, reach), True, key=lambda count: self.hits(count, high) != 0)


class ShuffleSearch:
    """The search; `best` has the places of the best stage so far, and keeps them after `Spent`.

    Window and tolerance are in ticks. `max_moves` None: any number of players may change side.
    """

    def __init__(self, sides: Sides, window: Band, tolerance: int, max_moves: int | None, budget: Budget) -> None:
        self.sides, self.window, self.tolerance, self.budget = sides, window, tolerance, budget.halved()
        # Half of the players in each half, as near as groups allow: states multiply with every player.
        parties, cut = sides.parties, 0
        while sum(len(party.members) for party in parties[:cut]) < len(sides.a) // 2:
            cut += 1
        self.lower = ShuffleHalf(sides, parties[:cut], True, self.budget)
        self.upper = ShuffleHalf(sides, parties[cut:], False, self.budget)
        # The upper half's weight on A is its whole weight less that on B, which its bits count.
        self.base = (
            self.lower.low + self.upper.weight - sum(sides.b) - self.upper.players * self.upper.middle - self.upper.low
        )
        self.known, self.counted = ON_A.bits, ON_A.bits | SPREAD.bits
        self.excess = len(sides.a)
        self.limits: dict[Count, int] = {}
        self.fewest = self._first_rests(MOVES)[0][0][0]
        """The fewest moves that sizes and pins allow."""
        self.cap = FAR if max_moves is None else max(max_moves, self.fewest)
        if max_moves is not None:
            self.limits[MOVES] = self.cap
            self.counted |= MOVES.bits
        self.allowed: tuple[list[States], list[States]] | None = None
        self.stage = Stage(NOTHING, self.known, 0, least=False)
        self.ladders: dict[int, list[Ladder]] = {}
        self.best: list[int] | None = None

    def solve(self, counts: Sequence[Count]) -> list[int]:
        """Return the places of all players: inside the window, then spread evenly, then each of the counts is least."""
        if MOVES in self.limits:
            self.stage = Stage(MOVES, self.known, self.limits[MOVES], least=False)
        self._run(self._first_rests(self.stage.count))
        if not self._spread():
            # Nothing is inside the band: as near to the target as the tolerance says, instead.
            self._widen()
            self._spread()
        for count in counts:
            self.allowed = self._leading()
            self.known, self.counted = self.counted, self.counted | count.bits
            self._lessen(count)
        return self._nearest()

    # The stages, in the order in which `solve` takes them.

    def _spread(self) -> bool:
        """Minimise the excess of the players to be spread evenly; return False when nothing is inside the window."""
        least, window = None, self.window
        if window.low > window.high:
            return False
        for meeting in self._meetings():
            excess = self.sides.excess(meeting.state + meeting.ladder.state)
            reach = self._reach(meeting.state, meeting.ladder)
            if (least is None or excess < least) and meeting.hits(reach, window.high):
                # Traced at once: should the budget end later, these places are the answer (`shuffle.Trades` starts from
                # them).
                least, self.best = excess, self._traced(meeting, reach, window.low, window.high)
                if not least:
                    break
        if least is None:
            return False
        self.excess = least
        return True

    def _widen(self) -> None:
        """Make the window, in which there is nothing, that of all differences within the tolerance of the nearest."""
        target, distance = self.window.target, UNBOUNDED
        for states, whole, offset, ladder in self._pairs():
            shift = offset - target
            # One test with all bits together, where many states differ only in the count.
            if len(states) > 1 and nearest(whole.exact, ladder.unions[-1], shift, 0, distance) == distance:
                continue
            for state, bits in states:
                if reach := self._reach(state, ladder):
                    distance = nearest(bits.exact, ladder.unions[reach], shift, 0, distance)
        distance += self.tolerance
        self.window = Band(target - distance, target + distance, target)

    def _leading(self) -> tuple[list[States], list[States]]:
        """Return the partial assignments that lead into the window within the limits, by layers of both halves."""
        low, high, _ = self.window
        lower_ends, upper_ends = dict[int, int](), dict[int, int]()
        for meeting in self._meetings():
            state, bits, offset, ladder = meeting
            reach = self._reach(state, ladder)
            hits = meeting.hits(reach, high)
            if not hits:
                continue
            for upper in ladder.states[:reach]:
                if own := hits & self.upper.states[upper]:
                    upper_ends[upper] = upper_ends.get(upper, 0) | own
            if reach not in ladder.known:
                ladder.known[reach] = self._bits(ladder.unions[reach])
            lower_ends[state] = lower_ends.get(state, 0) | ladder.known[reach].near(bits.exact, -offset, -low)
        return self.lower.paths(lower_ends), self.upper.paths(upper_ends)

    def _lessen(self, count: Count) -> None:
        """Find the least of a count, and keep to it.

        The limit begins at the least that the states allow; its excess over that triples from run to run. States that
        were left out have `Stage.beyond` or more: a count below that is the least, and all states that have it are
        still there.
        """
        assert self.allowed is not None, "a stage goes before"
        rests = self._later_rests(*self.allowed, count)
        # Of the lower half, before its first party, for the one state there is: the least that the whole count can be.
        limit = first = rests[0][0][0]
        while True:
            self.stage = Stage(count, self.known, limit, least=True)
            self._run(rests)
            least = self._least()
            if least < self.stage.beyond:
                break
            # An assignment with the least so far exists, so no limit above it is needed.
            limit = min(least, max(self.stage.beyond, 3 * limit - 2 * first))
        self.stage.limit = self.limits[count] = least

    def _least(self) -> int:
        """Return the least count inside the window among the present states; `FAR` when there is none."""
        least, pair, (low, high, _) = FAR, None, self.window
        for meeting in self._meetings():
            state, counts = self.stage.count.of(meeting.state), meeting.ladder.counts
            reach = bisect_left(counts, least - state)
            if meeting.hits(reach, high):
                reach = meeting.fewest(reach, high)
                least, pair = state + counts[reach - 1], (meeting, reach)
        if pair is not None:
            self.best = self._traced(*pair, low, high)
        return least

    def _nearest(self) -> list[int]:
        """Return the places that come nearest to the target inside the window, within all limits."""
        low, high, target = self.window
        best, pair = UNBOUNDED, None
        for meeting in self._meetings():
            reach = self._reach(meeting.state, meeting.ladder)
            if not meeting.hits(reach, high):
                continue
            first, second = meeting.bits.exact, meeting.ladder.unions[reach]
            # Above the target and below it, each time only nearer than the best so far.
            start, end = max(low, target), min(high, target + best - 1)
            above = first_hit(first, second, meeting.offset - start, end - start, -1)
            if above is not None:
                best, pair = start + above - target, (meeting, reach, start + above)
            start, end = min(high, target), max(low, target - best + 1)
            below = first_hit(first, second, meeting.offset - start, start - end, 1)
            if below is not None:
                best, pair = target - start + below, (meeting, reach, start - below)
        assert pair is not None, "the last stage left an assignment"
        meeting, reach, difference = pair
        return self._traced(meeting, reach, difference, difference)

    # What the stages share: both halves, their meetings, and bounds.

    def _run(self, rests: Rests) -> None:
        """Compute both halves for the stage, and the upper half's states as ladders by their players on A."""
        lower, upper = self.allowed or (None, None)
        self.lower.run(self.counted, self.stage, rests[0], lower)
        self.ladders, count = {}, self.stage.count
        # The upper half then has nothing to meet; its sets would be made for nothing.
        if not self.lower.states:
            return
        self.upper.run(self.counted, self.stage, rests[1], upper)
        ladders: dict[int, Ladder] = {}
        for state in sorted(self.upper.states):
            key = state & ~count.bits
            if key not in ladders:
                ladders[key] = Ladder(key)
                self.ladders.setdefault(ON_A.of(key), []).append(ladders[key])
            ladder = ladders[key]
            ladder.counts.append(count.of(state))
            ladder.states.append(state)
            ladder.unions.append(ladder.unions[-1] | self.upper.states[state])

    def _first_rests(self, count: Count) -> Rests:
        """Return the least that is still to come, for the first stage: by the number of players on A alone."""
        whole_lower, whole_upper = [self._tables(half.parties, [[0]], count)[0] for half in (self.lower, self.upper)]
        rests = []
        for half, opposite in ((self.lower, whole_upper), (self.upper, whole_lower)):
            tables = self._tables(half.parties, [opposite], count)
            rests.append([dict(enumerate(self._to_sizes(table, half.players))) for table in tables])
        return rests[0], rests[1]

    def _tables(self, parties: Sequence[Party], tables: list[list[int]], count: Count) -> list[list[int]]:
        """Return the least count of the parties from each one on, by how many players they put on A."""
        for party in reversed(parties):
            least: dict[int, int] = {}
            for pattern in party.patterns:
                on_a = ON_A.of(pattern.step)
                least[on_a] = min(least.get(on_a, FAR), count.of(pattern.step))
            # Tables by players on A are added like distances: the least over all ways to make each number.
            before, most = tables[-1], max(least)
            rows = [
                [FAR] * on_a + [cost + addition for addition in before] + [FAR] * (most - on_a)
                for on_a, cost in least.items()
            ]
            tables.append(list(map(min, zip(*rows, strict=True))))
        return tables[::-1]

    def _to_sizes(self, table: Sequence[int], players: int) -> list[int]:
        sizes = self.sides.sizes
        return [
            min(table[size - on_a] if 0 <= size - on_a < len(table) else FAR for size in sizes)
            for on_a in range(players + 1)
        ]

    def _later_rests(self, lower: list[States], upper: list[States], count: Count) -> Rests:
        """Return the least that is still to come, for either half, after each of its parties and for each state."""
        below, above = self.lower.spent(lower, self.known, count), self.upper.spent(upper, self.known, count)
        lower_ends, upper_ends = dict.fromkeys(below, FAR), dict.fromkeys(above, FAR)
        by_size: dict[int, list[int]] = {}
        for second in above:
            by_size.setdefault(ON_A.of(second), []).append(second)
        for first, size in product(below, self.sides.sizes):
            for second in by_size.get(size - ON_A.of(first), ()):
                if self._meet(first + second):
                    lower_ends[first] = min(lower_ends[first], above[second])
                    upper_ends[second] = min(upper_ends[second], below[first])
        return (
            self.lower.to_go(lower, self.known, count, lower_ends),
            self.upper.to_go(upper, self.known, count, upper_ends),
        )

    def _meet(self, state: int) -> bool:
        """Return whether the state of a whole assignment meets the limits of the stages before."""
        meets = all(count.of(state) <= limit for count, limit in self.limits.items())
        return meets and self.sides.excess(state) <= self.excess

    def _pairs(self) -> Iterator[tuple[list[tuple[int, Bits]], Bits, int, Ladder]]:
        """Yield lower states that differ only in the count, with all their bits; the offset and the ladder that fit
        them.

        Together they meet the sizes and the limits of the stages before.
        """
        lower, upper, count = self.lower, self.upper, self.stage.count
        limits = [
            (limit_of.shift, limit_of.mask, limit) for limit_of, limit in self.limits.items() if limit_of != count
        ]
        join, excess = JOIN_WORK + lower.spans[-1] + upper.spans[-1], self.excess
        excesses = [self.sides.excess(spread << SPREAD.shift) for spread in range(len(self.sides.spread) + 1)]
        for alone, states, whole in self._lower_states():
            on_a = ON_A.of(alone)
            for size in self.sides.sizes:
                ladders = self.ladders.get(size - on_a, ())
                # Counted for all ladders at once, before any is looked at.
                self.budget.spend(len(ladders) * len(states) * join)
                offset = self.base + on_a * lower.middle + (size - on_a) * upper.middle
                for ladder in ladders:
                    both = alone + ladder.state
                    if excesses[both >> SPREAD.shift & SPREAD.mask] > excess:
                        continue
                    for shift, mask, limit in limits:
                        if both >> shift & mask > limit:
                            break
                    else:
                        yield states, whole, offset, ladder

    def _lower_states(self) -> Iterator[tuple[int, list[tuple[int, Bits]], Bits]]:
        """Yield the lower half's states by their counts besides the stage's own, and all their bits together."""
        others = ~self.stage.count.bits
        by_others: dict[int, list[tuple[int, Bits]]] = {}
        for state in sorted(self.lower.states):
            by_others.setdefault(state & others, []).append((state, self._bits(self.lower.states[state])))
        for alone, states in by_others.items():
            whole = states[0][1]
            if len(states) > 1:
                whole = self._bits(reduce(or_, (bits.exact for _, bits in states)))
            yield alone, states, whole

    def _bits(self, exact: int) -> Bits:
        return Bits(exact, max(0, self.window.high - self.window.low), self.lower.spans[-1] + self.upper.spans[-1] + 1)

    def _meetings(self) -> Iterator[Meeting]:
        """Yield the pairs of a lower state and upper ones that may have a difference in the window."""
        high = self.window.high
        for states, whole, offset, ladder in self._pairs():
            if len(states) == 1 or whole.near(ladder.unions[-1], offset, high):
                for state, bits in states:
                    yield Meeting(state, bits, offset, ladder)

    def _reach(self, state: int, ladder: Ladder) -> int:
        """Return how many states of the ladder meet the stage's limit, together with a state of the lower half."""
        return bisect_right(ladder.counts, self.stage.limit - self.stage.count.of(state))

    def _traced(self, meeting: Meeting, reach: int, low: int, high: int) -> list[int]:
        """Return the places of some assignment of a meeting whose difference is from `low` to `high`."""
        state, bits, offset, ladder = meeting
        hits = within(bits.exact, ladder.unions[reach], offset, low, high)
        second = (hits & -hits).bit_length() - 1
        upper = next(state for state in ladder.states[:reach] if self.upper.states[state] >> second & 1)
        # difference = offset + bit of the lower half − bit of the upper half, so the lower bit is at least this.
        least = max(0, low - offset + second)
        above = bits.exact >> least
        first = least + (above & -above).bit_length() - 1
        places = self.lower.trace(state, first) | self.upper.trace(upper, second)
        return [places[player] for player in range(len(places))]


def first_hit(first: int, second: int, shift: int, most: int, sign: int) -> int | None:
    """Return the least x from 0 to `most` for which a number of the first set, shifted, is x below one of the second.

    With `sign` 1, x below; with -1, x above. None when there is none.
    """

    def hit(width: int) -> bool:
        return within(first, second, shift, *((0, width) if sign < 0 else (-width, 0))) != 0

    if most < 0 or not hit(most):
        return None
    return bisect_left(range(most), True, key=hit)
