"""Numbers groups for a replay over arrays.

Players are numbered in the order of their names.  Larger groups get the next free numbers when they first play: the key
of a group is the number of the group without its last member, and that member, so that groups of any size need one
table of pairs.  The table hashes with open addressing, at most half full.

These are plain functions that numba can compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.match_arrays import Floats as Known
    from equipoise.ratings.parts.match_arrays import Ints

    Floats: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = NDArray[np.int32]
    Offsets: TypeAlias = NDArray[np.int64]

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

    rows: Offsets
    """Shape (n + 1, k + 1): number of choices; 0 if there are too many, which are not listed."""
    at: Offsets
    """Shape (n + 1, k + 1): where they begin in `first` and `last`."""
    first: Numbers
    """For each choice, the row of the choice of k - 1 without its last position."""
    last: Numbers
    """For each choice, its last position."""
    parts_at: Offsets
    """Shape (n + 1, k + 1): where their parts begin in `parts`."""
    parts: Numbers
    """For each choice, the rows of the k choices of k - 1 that it contains; empty if not requested."""


class Units(NamedTuple):
    """The groups of all teams of one match, by size; modified in place."""

    starts: Offsets
    """Shape (sizes + 1, teams + 1): where each team's groups begin."""
    numbers: Numbers
    """Shape (sizes + 1, room): the numbers of the groups."""
    facts: Floats
    """Shape (sizes + 1, room): least fraction played of a group's members, or a player's skill at start, if known."""


def slot_of(key: int, keys: Offsets) -> int:
    """The slot of a key, or the empty slot where it belongs."""
    mask = len(keys) - 1
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


def sort_members(units: Units, team: int, begin: int, end: int, people: Ints, facts: Known) -> None:
    """Fill the groups of one: the team's members from the arrays, in order of their numbers; bots come first."""
    here = units.starts[1, team]
    for place in range(begin, end):
        free = here + place - begin
        while free > here and units.numbers[1, free - 1] > people[place]:
            units.numbers[1, free] = units.numbers[1, free - 1]
            units.facts[1, free] = units.facts[1, free - 1]
            free -= 1
        units.numbers[1, free] = people[place]
        units.facts[1, free] = facts[place] if len(facts) > 0 else 0.0
    units.starts[1, team + 1] = here + end - begin


def list_groups(
    units: Units, team: int, largest: int, known: bool, new: bool, numbering: Numbering, choices: Choices
) -> None:
    """Fill the groups of two and more of a team whose members are sorted.

    `known`: with the least of their members' facts.  `new`: a group that never played gets a number.
    """
    starts, numbers, facts = units
    people, count = starts[1, team], starts[1, team + 1] - starts[1, team]
    for size in range(2, largest + 1):
        here, below, at = starts[size, team], starts[size - 1, team], choices.at[count, size]
        rows = choices.rows[count, size]
        for row in range(rows):
            first, last = below + choices.first[at + row], people + choices.last[at + row]
            numbers[size, here + row] = number_of(numbers[size - 1, first], numbers[1, last], new, numbering)
            if known:
                facts[size, here + row] = min(facts[size - 1, first], facts[1, last])
        starts[size, team + 1] = here + rows
