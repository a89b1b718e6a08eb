"""NS2's time weights: who played when, as coefficients, and how long rounds last; functions that numba can compile.

Loops over participants or spans count from 0 over slices or `Play`'s arrays: where an index might be negative, or
records stand in place of arrays, machine code takes them one by one and not eight at a time.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.ratings.ns2.arrays import Flags, Floats, Ints, Play, Rounds, Shared

LONGEST = 32.0
"""Median rounds after which a match counts no more: 2^-64 of its weight would be left."""

BRIEFEST, LENGTHIEST = 1e-9, 1e9
"""Seconds: r is no less and no more, so that nothing made of it overflows."""


def median_length(shared: Shared, usual: float) -> float:
    """r, seconds."""
    known = shared.cursor[0]
    if known == 0:
        return usual
    middle = 0.5 * (shared.ordered[known // 2] + shared.ordered[(known - 1) // 2])
    return max(BRIEFEST, min(LENGTHIEST, middle))


def length_of(match: int, rounds: Rounds) -> float:
    """Its seconds; where unknown, until the last span ends; infinite without any."""
    if not math.isnan(rounds.seconds[match]):
        return rounds.seconds[match]
    first, last = rounds.spans[rounds.teams[2 * match]], rounds.spans[rounds.teams[2 * match + 2]]
    latest = math.inf if first == last else 0.0
    for end in rounds.span_end[first:last]:
        latest = max(latest, end)
    return latest


def left(halvings: float) -> float:
    """2^-halvings."""
    return math.exp2(-halvings)


def gone(halvings: float) -> float:
    """1 - 2^-halvings; of no halvings exactly 0, and of few as right as of many."""
    return -math.expm1(-math.log(2.0) * halvings)


def left_in_vectors(halvings: float) -> float:
    """`left`, of at most 64 halvings, without a library call: so a loop over spans makes eight at a time.

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


def gone_in_vectors(halvings: float) -> float:
    """`gone`, likewise: the series without its 1, and (1 + u)² - 1 = u + u·(1 + u) in place of the square."""
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


def stretch(start: float, end: float, length: float, per_second: float) -> float:
    """t = a^-in - a^-out = a^-in·(1 - a^-(out - in)), a = 2^(2/r); what lies outside of the match counts nothing.

    As a product it is exactly 0 where no time is left.  Of a difference of powers, machine code that fuses the last
    multiplication with the subtraction keeps a rounding error instead, and takes it for somebody's time.
    """
    first, last = min(length, max(0.0, start)), min(length, max(0.0, end))
    return left(per_second * first) * gone(per_second * (last - first))


def weigh_spans(starts: Floats, ends: Floats, teams: Ints, play: Play, length: float, per_second: float) -> None:
    """Fill `play.spans`."""
    for span in range(len(starts)):
        weight = stretch(starts[span], ends[span], length, per_second)
        play.spans[span] = weight if teams[span] == 0 else -weight


def add_spans(begin: int, end: int, commanders: Flags, play: Play, place: int) -> None:
    """Add up a participant's time: on the field signed by team and unsigned, in either team's chair."""
    average, side, first, second = 0.0, 0.0, 0.0, 0.0
    for span in range(begin, end):
        signed = play.spans[span]
        if commanders[span]:
            first += max(0.0, signed)
            second += max(0.0, -signed)
        else:
            average += signed
            side += abs(signed)
    play.average[place], play.side[place] = average, side
    play.commander[place], play.time[place] = first, second


def add_share(seat: int, first_team: bool, whole: float, rounds: Rounds, play: Play, place: int) -> None:
    """A participant without spans: on the field of his team, for his share of the whole match's weight."""
    fraction_played = rounds.fraction_played[seat] if len(rounds.fraction_played) > 0 else 1.0
    weight = whole if math.isnan(fraction_played) else whole * fraction_played
    play.average[place], play.side[place] = weight if first_team else -weight, weight
    play.commander[place], play.time[place] = 0.0, 0.0


def weigh(match: int, rounds: Rounds, play: Play, median: float, field_share: float) -> float:
    """Fill `play`, participant by participant; returns how many played, weighted by time."""
    first, middle, last = rounds.teams[2 * match], rounds.teams[2 * match + 1], rounds.teams[2 * match + 2]
    offsets = rounds.spans[first : last + 1]
    begin, end = offsets[0], offsets[last - first]
    starts, ends, teams = rounds.span_start[begin:end], rounds.span_end[begin:end], rounds.span_team[begin:end]
    commanders = rounds.span_commander[begin:end]
    length = min(length_of(match, rounds), LONGEST * median)
    whole = stretch(0.0, length, length, 2.0 / median)
    weigh_spans(starts, ends, teams, play, length, 2.0 / median)
    field, first_chair, second_chair = 0.0, 0.0, 0.0
    for place in range(last - first):
        if offsets[place] < offsets[place + 1]:
            add_spans(offsets[place] - begin, offsets[place + 1] - begin, commanders, play, place)
        else:
            add_share(first + place, first + place < middle, whole, rounds, play, place)
        field += play.side[place]
        first_chair += play.commander[place]
        second_chair += play.time[place]
    chairs = first_chair + second_chair
    # With a commander on one side only there is no difference of commanders.
    both = first_chair > 0.0 and second_chair > 0.0
    normalise(play, last - first, field, chairs if both else 0.0, field_share)
    return (field + chairs) / whole if whole > 0.0 else 0.0


def normalise(play: Play, size: int, field: float, chairs: float, field_share: float) -> None:
    """Times become coefficients: shares of the total of both teams, none where the total is 0."""
    per_field = 1.0 / field if field > 0.0 else 0.0
    per_chair = 1.0 / chairs if chairs > 0.0 else 0.0
    for place in range(size):
        first, second = play.commander[place], play.time[place]
        play.time[place] = play.side[place] + (first + second)
        commander, chair = per_chair * (first - second), per_chair * (first + second)
        play.average[place] = per_field * play.average[place] + field_share * commander
        play.side[place] = per_field * play.side[place] + field_share * chair
        play.commander[place] = (1.0 - field_share) * commander


def reorder(old: float, new: float, ordered: Floats) -> None:
    """A new one among ordered ones, in place of an old one."""
    gap, place = bisect_left(ordered, old), bisect_left(ordered, new)
    if new > old:
        ordered[gap : place - 1] = ordered[gap + 1 : place]
        ordered[place - 1] = new
    else:
        ordered[place + 1 : gap + 1] = ordered[place:gap]
        ordered[place] = new


def reorder_in_vectors(old: float, new: float, ordered: Floats) -> None:
    """The same, comparing all with their neighbours, eight at a time: a search guesses its way, and often wrongly."""
    last = len(ordered) - 1
    if new > old:
        for each in range(last):
            if ordered[each] >= old:
                ordered[each] = max(ordered[each], min(ordered[each + 1], new))
        ordered[last] = max(ordered[last], new)
    else:
        for each in range(last, 0, -1):
            if ordered[each] <= old:
                ordered[each] = min(ordered[each], max(ordered[each - 1], new))
        ordered[0] = min(ordered[0], new)


def remember(length: float, shared: Shared) -> None:
    """Take a round's length among the last ones, in place of the oldest of a full window."""
    width, place = len(shared.lengths), shared.cursor[1]
    reorder(shared.lengths[place], length, shared.ordered)
    shared.lengths[place] = length
    shared.cursor[0] = min(shared.cursor[0] + 1, width)
    shared.cursor[1] = place + 1 if place + 1 < width else 0


IN_VECTORS: dict[str, Callable[..., Any]] = {
    "left": left_in_vectors,
    "gone": gone_in_vectors,
    "reorder": reorder_in_vectors,
}
"""What machine code calls instead, by name."""
