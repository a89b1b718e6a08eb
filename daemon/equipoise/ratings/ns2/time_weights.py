"""NS2's time weights: how much each participant's time counts, and the median length of rounds.

What happens early in a round decides more: a moment t seconds into it counts a^-t, with a = 2^(2/r) and r the median
length of the last rounds, so that the first half of a median round counts twice its second.  A stretch of time counts
the integral of that.  Of a match, the time weights become coefficients: each participant's part of the total of both
teams, separately for the field and for the commanders' chairs.

Plain functions, compiled by numba.  Loops over participants or spans count from 0 over slices or over the arrays of a
`Workspace`, because numba does not vectorise a loop whose index might be negative or that reads an array of records.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from equipoise.ratings.parts.match_arrays import fraction_played_at

if TYPE_CHECKING:
    from equipoise.ratings.ns2.arrays import EnvironmentArrays, Flags, NS2Arrays, Workspace
    from equipoise.ratings.parts.match_arrays import Floats, Ints, MatchArrays

LONGEST = 32.0
"""In median lengths: time later in a match counts nothing, because 2^-64 of its weight would be left."""

BRIEFEST, LENGTHIEST = 1e-9, 1e9
"""Seconds: r is clipped to this range, so that nothing computed from it overflows."""


def median_length(environment: EnvironmentArrays, usual: float) -> float:
    """r, seconds; `usual` before the first round."""
    count = environment.cursor[0]
    if count == 0:
        return usual
    # The same element twice for an odd number. Unknown lengths are infinite and sort last, so the known ones are the
    # first.
    middle = 0.5 * (environment.ordered[count // 2] + environment.ordered[(count - 1) // 2])
    return max(BRIEFEST, min(LENGTHIEST, middle))


def length_of(match: int, matches: MatchArrays, facts: NS2Arrays) -> float:
    """Length of a match, seconds; if unknown, the end of its last span; infinite without spans."""
    if not math.isnan(facts.seconds[match]):
        return facts.seconds[match]
    first, last = facts.spans[matches.teams[2 * match]], facts.spans[matches.teams[2 * match + 2]]
    # Without spans everybody played a fraction of the whole, whatever its length: any length gives the same
    # coefficients.
    latest = math.inf if first == last else 0.0
    for end in facts.span_end[first:last]:
        latest = max(latest, end)
    return latest


def decay(halvings: float) -> float:
    """2^-halvings."""
    return math.exp2(-halvings)


def decayed(halvings: float) -> float:
    """1 - 2^-halvings; exactly 0 for 0 halvings, and with full relative precision for few."""
    return -math.expm1(-math.log(2.0) * halvings)


def decay_in_vectors(halvings: float) -> float:
    """`decay` for at most 64 halvings, without a library call, so that numba can vectorise a loop over spans.

    The Taylor series of a 1024th of the exponent, in even and odd powers, squared ten times; right to 1e-12.
    """
    z = halvings * (-math.log(2.0) / 1024.0)
    square = z * z
    even = 1.0 + square * (1.0 / 2.0 + square * (1.0 / 24.0 + square * (1.0 / 720.0)))
    odd = 1.0 + square * (1.0 / 6.0 + square * (1.0 / 120.0 + square * (1.0 / 5040.0)))
    series = even + z * odd
    for _ in range(10):
        series *= series
    return series


def decayed_in_vectors(halvings: float) -> float:
    """`decayed`, likewise: the series without its 1, and (1 + u)² - 1 = u + u·(1 + u) in place of the square."""
    z = halvings * (-math.log(2.0) / 1024.0)
    square = z * z
    even = square * (1.0 / 2.0 + square * (1.0 / 24.0 + square * (1.0 / 720.0)))
    odd = 1.0 + square * (1.0 / 6.0 + square * (1.0 / 120.0 + square * (1.0 / 5040.0)))
    series = even + z * odd
    power = 1.0 + series
    for _ in range(10):
        series += series * power
        power *= power
    return -series


def time_weight(start: float, end: float, length: float, per_second: float) -> float:
    """Time weight of a span; start, end and the match's length in seconds, `per_second` is 2/r.

    a^-start - a^-end = a^-start · (1 - a^-(end - start)).  As a product it is exactly 0 where no time is left; as a
    difference, machine code that fuses the last multiplication with the subtraction would keep a rounding error, and
    count it as time played.  Time outside of the match counts nothing.

    The halves of a round of 1200 s, where that is the median:

    >>> time_weight(0.0, 600.0, 1200.0, 2.0 / 1200.0), time_weight(600.0, 1200.0, 1200.0, 2.0 / 1200.0)
    (0.5, 0.25)
    """
    first, last = min(length, max(0.0, start)), min(length, max(0.0, end))
    return decay(per_second * first) * decayed(per_second * (last - first))


def fill_span_weights(
    starts: Floats, ends: Floats, teams: Ints, work: Workspace, length: float, per_second: float
) -> None:
    """Fill `work.spans` with the signed time weights of a match's spans."""
    for span in range(len(starts)):
        weight = time_weight(starts[span], ends[span], length, per_second)
        work.spans[span] = weight if teams[span] == 0 else -weight


def add_spans(begin: int, end: int, commanders: Flags, work: Workspace, place: int) -> None:
    """Add up a participant's time weights: on the field, signed by team and unsigned, and commanding each team."""
    average, side, first, second = 0.0, 0.0, 0.0, 0.0
    for span in range(begin, end):
        # Signed by team: positive for the first one.
        chair = work.spans[span]
        if commanders[span]:
            first += max(0.0, chair)
            second += max(0.0, -chair)
        else:
            average += chair
            side += abs(chair)
    work.average[place], work.side[place] = average, side
    work.commander[place], work.time[place] = first, second


def add_whole_match(
    member: int, first_team: bool, whole: float, matches: MatchArrays, work: Workspace, place: int
) -> None:
    """Time weight of a participant without spans: on their team's field for their fraction of the match."""
    weight = whole * fraction_played_at(member, matches.fraction_played)
    work.average[place], work.side[place] = weight if first_team else -weight, weight
    work.commander[place], work.time[place] = 0.0, 0.0


def bots_on_field(match: int, facts: NS2Arrays, length: float, per_second: float) -> tuple[float, float]:
    """Time weights of a match's bots on the field, added up: signed by team, and unsigned."""
    difference, total = 0.0, 0.0
    for span in range(facts.bots[match], facts.bots[match + 1]):
        if not facts.bot_commander[span]:
            weight = time_weight(facts.bot_start[span], facts.bot_end[span], length, per_second)
            difference += weight if facts.bot_team[span] == 0 else -weight
            total += weight
    return difference, total


def fill_time_weights(
    match: int, matches: MatchArrays, facts: NS2Arrays, work: Workspace, median: float, field_share: float
) -> tuple[float, float]:
    """Fill the first five arrays of `work`, participant by participant.

    Returns how many played, weighted by time, without bots; and the coefficient of the bots' skill, 0 without bots.
    """
    first, middle, last = matches.teams[2 * match], matches.teams[2 * match + 1], matches.teams[2 * match + 2]
    offsets = facts.spans[first : last + 1]
    begin, end = offsets[0], offsets[last - first]
    starts, ends, teams = facts.span_start[begin:end], facts.span_end[begin:end], facts.span_team[begin:end]
    commanders = facts.span_commander[begin:end]
    # An infinite length would make 0 · ∞ below; what is cut off weighs 2⁻⁶⁴.
    length = min(length_of(match, matches, facts), LONGEST * median)
    whole = time_weight(0.0, length, length, 2.0 / median)
    fill_span_weights(starts, ends, teams, work, length, 2.0 / median)
    field, first_chair, second_chair = 0.0, 0.0, 0.0
    for place in range(last - first):
        if offsets[place] < offsets[place + 1]:
            add_spans(offsets[place] - begin, offsets[place + 1] - begin, commanders, work, place)
        else:
            add_whole_match(first + place, first + place < middle, whole, matches, work, place)
        field += work.side[place]
        first_chair += work.commander[place]
        second_chair += work.time[place]
    chairs = first_chair + second_chair
    present = (field + chairs) / whole if whole > 0.0 else 0.0
    bots, bot_time = bots_on_field(match, facts, length, 2.0 / median)
    field += bot_time
    # The commanders' term needs a commander on both sides.
    both = first_chair > 0.0 and second_chair > 0.0
    normalise(work, last - first, field, chairs if both else 0.0, field_share)
    return present, bots / field if field > 0.0 else 0.0


def normalise(work: Workspace, size: int, field: float, chairs: float, field_share: float) -> None:
    """Divide times by the totals of both teams, which makes them coefficients; 0 where the total is 0."""
    per_field = 1.0 / field if field > 0.0 else 0.0
    per_chair = 1.0 / chairs if chairs > 0.0 else 0.0
    for place in range(size):
        first, second = work.commander[place], work.time[place]
        work.time[place] = work.side[place] + (first + second)
        commander, chair = per_chair * (first - second), per_chair * (first + second)
        work.average[place] = per_field * work.average[place] + field_share * commander
        work.side[place] = per_field * work.side[place] + field_share * chair
        work.commander[place] = (1.0 - field_share) * commander


def replace_ordered(old: float, new: float, ordered: Floats) -> None:
    """Put `new` in its place among ordered numbers, and take `old` out.

    >>> lengths = [1.0, 2.0, 3.0, 4.0]
    >>> replace_ordered(4.0, 1.5, lengths)
    >>> lengths
    [1.0, 1.5, 2.0, 3.0]
    """
    # Of equal numbers any may go, so the first is as good as the one that is the oldest.
    gap, place = bisect_left(ordered, old), bisect_left(ordered, new)
    if new > old:
        ordered[gap : place - 1] = ordered[gap + 1 : place]
        ordered[place - 1] = new
    else:
        ordered[place + 1 : gap + 1] = ordered[place:gap]
        ordered[place] = new


def replace_ordered_in_vectors(old: float, new: float, ordered: Floats) -> None:
    """`replace_ordered` without branches, so that it is vectorised: a binary search branches unpredictably."""
    last = len(ordered) - 1
    if new > old:
        for index in range(last):
            if ordered[index] >= old:
                ordered[index] = max(ordered[index], min(ordered[index + 1], new))
        ordered[last] = max(ordered[last], new)
    else:
        for index in range(last, 0, -1):
            if ordered[index] <= old:
                ordered[index] = min(ordered[index], max(ordered[index - 1], new))
        ordered[0] = min(ordered[0], new)


def add_length(length: float, environment: EnvironmentArrays) -> None:
    """Enter a round's length among the last ones, in place of the oldest of a full window."""
    width, place = len(environment.lengths), environment.cursor[1]
    replace_ordered(environment.lengths[place], length, environment.ordered)
    environment.lengths[place] = length
    environment.cursor[0] = min(environment.cursor[0] + 1, width)
    environment.cursor[1] = place + 1 if place + 1 < width else 0


IN_VECTORS: dict[str, Callable[..., Any]] = {
    "decay": decay_in_vectors,
    "decayed": decayed_in_vectors,
    "replace_ordered": replace_ordered_in_vectors,
}
"""Replacements for `compiling.compiled`: the forms that numba can vectorise."""
