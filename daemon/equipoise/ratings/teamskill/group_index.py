"""Lists the groups of a team, by id in a live system and by number in a replay.

The groups of a size are the choices of so many positions in the sorted team (`choices_of`).  A group is called by the
group without its last member, and that member (`name_of`): so those of one size follow from those of the size below.
In a live system the name is an id of both joined.  In a replay it is a number (`number_of`): players are numbered in
the order of their ids, and larger groups get the next free numbers when they first play.  The table of pairs that finds
those hashes with open addressing, at most half full.

These are plain functions, of lists or of arrays; numba compiles all but `choices_of`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.match_arrays import Floats as Known
    from equipoise.ratings.parts.match_arrays import Ints

    Floats: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = NDArray[np.int32]
    Offsets: TypeAlias = NDArray[np.int64]

AND: Final = "+"
"""Separates the members in a group's id; the id of a group of one is the player's."""

MOST_GROUPS: Final = 5000
"""Limit on the groups of one size in one team."""

FREE = -1
"""In `Numbering.keys`: an empty slot."""

NO_GROUP = -1
"""The number of a bot, and of a group that never played."""


class Numbering(NamedTuple):
    """The numbers of groups, up to g; modified in place."""

    players: int
    """Number of players, which is also the number of the first larger group."""
    counts: Offsets
    """Shape (2,): how many numbers are in use, and how many of them are in `keys`."""
    without: Numbers
    """Shape (g,): for each group, the number of the group without its last member."""
    last: Numbers
    """Shape (g,): the number of each group's last member."""
    keys: Offsets
    """Shape (a power of two,): `without · players + last` of the groups, hashed; at least half are `FREE`."""
    numbers: Numbers
    """The group's number for each slot of `keys`."""


class Choices(NamedTuple):
    """Positions in a sorted team of n, chosen k at a time in the order of `itertools.combinations`."""

    rows: Any
    """Shape (n + 1, k + 1): number of choices; 0 if there are too many, which are not listed."""
    at: Any
    """Shape (n + 1, k + 1): where they begin in `last`."""
    last: Any
    """For each choice, its last position."""
    parts_at: Any
    """Shape (n + 1, k + 1): where their parts begin in `parts`."""
    parts: Any
    """For each choice, the rows of the k choices of k - 1 that it contains; the last leaves out its last position."""


class Units(NamedTuple):
    """The groups of all teams of one match, by size; modified in place."""

    starts: Any
    """Shape (sizes + 1, teams + 1): where each team's groups begin."""
    names: Any
    """Shape (sizes + 1, room): the names of the groups."""
    facts: Any
    """Shape (sizes + 1, room): least fraction played of a group's members, or a player's skill at start, if known."""


def choices_of(teams: Iterable[int], largest: int) -> Choices:
    """The choices of up to `largest` positions for teams of these sizes, in lists.

    A size of more than `MOST_GROUPS` choices is listed only if a larger one, which has fewer, is built from it.

    >>> choices = choices_of([3], largest=2)
    >>> choices.rows[3], choices.last, choices.parts  # the pairs 01, 02 and 12
    ([0, 3, 3], [1, 2, 2], [1, 0, 2, 0, 2, 1])
    """
    sizes = sorted(set(teams))
    shape = range(max(sizes, default=0) + 1)
    rows, at, parts_at = ([[0] * (largest + 1) for _ in shape] for _ in range(3))
    last: list[int] = []
    parts: list[int] = []
    for count in sizes:
        rows[count][1] = count
        below: dict[tuple[int, ...], int] = {(position,): position for position in range(count)}
        # Sizes beyond half of the team have few choices again, and need all those below to be built from.
        group_sizes = (size for size in range(1, largest + 1) if 0 < comb(count, size) <= MOST_GROUPS)
        for size in range(2, max(group_sizes, default=1) + 1):
            chosen = list(combinations(range(count), size))
            rows[count][size], at[count][size], parts_at[count][size] = len(chosen), len(last), len(parts)
            last += [choice[-1] for choice in chosen]
            parts += [below[choice[:left] + choice[left + 1 :]] for choice in chosen for left in range(size)]
            below = {choice: row for row, choice in enumerate(chosen)}
    return Choices(rows, at, last, parts_at, parts)


def slot_of(key: int, keys: Offsets) -> int:
    """The slot of a key, or the empty slot where it belongs."""
    mask = len(keys) - 1
    # Multiplicative hashing by 2³² over the golden ratio, of high bits folded into low ones: keys are products, whose
    # low bits repeat.
    slot = (((key ^ (key >> 29)) * 0x9E3779B1) >> 16) & mask
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & mask
    return slot


def enter_keys(numbering: Numbering) -> None:
    """Enter the groups that are not in `keys` yet."""
    counts = numbering.counts
    for number in range(counts[1], counts[0]):
        key = numbering.without[number] * numbering.players + numbering.last[number]
        slot = slot_of(key, numbering.keys)
        numbering.keys[slot], numbering.numbers[slot] = key, number
    counts[1] = counts[0]


def number_of(without: int, last: int, new: bool, numbering: Numbering) -> int:
    """The number of a group; a group without a number gets the next one if `new`, else `NO_GROUP`."""
    # A bot, and any group with one: neither is rated.
    if without < 0 or last < 0:
        return NO_GROUP
    key = without * numbering.players + last
    slot = slot_of(key, numbering.keys)
    if numbering.keys[slot] == key:
        return int(numbering.numbers[slot])
    if not new:
        return NO_GROUP
    number = numbering.counts[0]
    numbering.without[number], numbering.last[number] = without, last
    numbering.keys[slot], numbering.numbers[slot] = key, number
    numbering.counts[0] = numbering.counts[1] = number + 1
    return int(number)


def name_of(without: Any, last: Any, new: bool, numbering: Numbering) -> Any:
    """The name of a group: in a live system the id, from the ids of its parts; `number_of` in a replay."""
    return f"{without}{AND}{last}"


def sort_members(units: Units, team: int, begin: int, end: int, people: Ints, facts: Known) -> None:
    """Fill the groups of one: the team's members from the arrays, in order of their numbers; bots come first."""
    start, names, member_facts = units.starts[1][team], units.names[1], units.facts[1]
    for place in range(begin, end):
        free = start + place - begin
        while free > start and names[free - 1] > people[place]:
            names[free] = names[free - 1]
            member_facts[free] = member_facts[free - 1]
            free -= 1
        names[free] = people[place]
        member_facts[free] = facts[place] if len(facts) > 0 else 0.0
    units.starts[1][team + 1] = start + end - begin


def list_groups(
    units: Units, team: int, largest: int, known: bool, new: bool, numbering: Numbering, choices: Choices
) -> None:
    """Fill the groups of two and more of a team whose members are sorted.

    `known`: with the least of their members' facts.  `new`: a group that never played gets a name.
    """
    people, count = units.starts[1][team], units.starts[1][team + 1] - units.starts[1][team]
    members, last, parts = units.names[1], choices.last, choices.parts
    for size in range(2, largest + 1):
        names, smaller, facts = units.names[size], units.names[size - 1], units.facts
        start, below = units.starts[size][team], units.starts[size - 1][team]
        at, part, rows = choices.at[count][size], choices.parts_at[count][size] - 1, choices.rows[count][size]
        for row in range(rows):
            # The last of a choice's parts leaves out its last position: that is the group without its last member.
            part += size
            first, second = below + parts[part], people + last[at + row]
            names[start + row] = name_of(smaller[first], members[second], new, numbering)
            if known:
                facts[size][start + row] = min(facts[size - 1][first], facts[1][second])
        units.starts[size][team + 1] = start + rows
