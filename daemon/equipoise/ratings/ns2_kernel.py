"""NS2's arithmetic: time weights, formulas and replay loop, as plain functions that numba can compile.

The live path (`ns2`) calls the same functions with lists of one match in place of arrays.  All functions stand in this
one file.  Formulas: docs/ratings/ns2.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from equipoise.ratings.compiled_kernel import compiled as machine_code
from equipoise.ratings.ns2_arrays import Constants, Play, Player, Rounds, Shared

if TYPE_CHECKING:
    from equipoise.ratings.ns2_arrays import Floats, Records

POINTS = 400.0
"""Skills are kept in log-odds and shown times this."""

TALLIES = 3
"""Places in `Shared.wins` that a map has: all its rounds, the small ones, the large ones."""


def win_probability(log_odds: float) -> float:
    """The logistic; p(x) + p(-x) is exactly 1, and no gap overflows."""
    favourite = 1.0 / (1.0 + math.exp(-abs(log_odds)))
    return favourite if log_odds >= 0 else 1.0 - favourite


def median_length(shared: Shared, usual: float) -> float:
    """r, seconds."""
    known = shared.cursor[0]
    if known == 0:
        return usual
    return 0.5 * (shared.ordered[known // 2] + shared.ordered[(known - 1) // 2])


def power(halvings: float) -> float:
    """2^-halvings."""
    return math.exp2(-halvings)


def power_in_vectors(halvings: float) -> float:
    """The same, of at most 64 halvings, without a library call: so a loop over spans makes eight at a time.

    The Taylor series of a 1024th of the exponent, in even and odd powers, squared ten times; right to 1e-12.
    """
    z = min(halvings, 64.0) * (-math.log(2.0) / 1024.0)
    square = z * z
    even = 1.0 + square * (1.0 / 2.0 + square * (1.0 / 24.0 + square / 720.0))
    odd = 1.0 + square * (1.0 / 6.0 + square * (1.0 / 120.0 + square / 5040.0))
    series = even + z * odd
    for _ in range(10):
        series *= series
    return series


def length_of(match: int, rounds: Rounds) -> float:
    """Its seconds; where unknown, until the last span ends; infinite without any."""
    if not math.isnan(rounds.seconds[match]):
        return rounds.seconds[match]
    first, last = rounds.spans[rounds.teams[2 * match]], rounds.spans[rounds.teams[2 * match + 2]]
    latest = math.inf if first == last else 0.0
    for span in range(first, last):
        latest = max(latest, rounds.span_end[span])
    return latest


def stretch(start: float, end: float, length: float, per_second: float) -> float:
    """t = a^-in - a^-out = 2^-(2·in/r) - 2^-(2·out/r); what lies outside of the match counts nothing."""
    entered = power(per_second * min(length, max(0.0, start)))
    return max(0.0, entered - power(per_second * min(length, max(0.0, end))))


def weigh_spans(first: int, last: int, rounds: Rounds, play: Play, length: float, per_second: float) -> None:
    """Fill `play.spans`."""
    for span in range(first, last):
        play.spans[span - first] = stretch(rounds.span_start[span], rounds.span_end[span], length, per_second)


def add_spans(seat: int, begin: int, rounds: Rounds, play: Play, place: int) -> None:
    """Add up a participant's time by role, signed by team and unsigned; the match's spans begin at `begin`."""
    average, side, commander, chair = 0.0, 0.0, 0.0, 0.0
    for span in range(rounds.spans[seat], rounds.spans[seat + 1]):
        weight = play.spans[span - begin]
        signed = weight if rounds.span_team[span] == 0 else -weight
        if rounds.span_commander[span]:
            commander += signed
            chair += weight
        else:
            average += signed
            side += weight
    play.average[place], play.side[place] = average, side
    play.commander[place], play.chair[place] = commander, chair


def add_share(seat: int, first_team: bool, whole: float, rounds: Rounds, play: Play, place: int) -> None:
    """A participant without spans: on the field of his team, for his share of the whole match's weight."""
    share = rounds.share[seat] if len(rounds.share) > 0 else 1.0
    weight = whole if math.isnan(share) else whole * share
    play.average[place], play.side[place] = weight if first_team else -weight, weight
    play.commander[place], play.chair[place] = 0.0, 0.0


def weigh(match: int, rounds: Rounds, play: Play, base: int, median: float, field_share: float) -> float:
    """Fill `play` from `base` on, participant by participant; returns how many played, weighted by time."""
    first, middle, last = rounds.teams[2 * match], rounds.teams[2 * match + 1], rounds.teams[2 * match + 2]
    length, begin = length_of(match, rounds), rounds.spans[first]
    whole = stretch(0.0, length, length, 2.0 / median)
    weigh_spans(begin, rounds.spans[last], rounds, play, length, 2.0 / median)
    field, chairs, lead = 0.0, 0.0, 0.0
    for seat in range(first, last):
        place = base + seat - first
        if rounds.spans[seat] < rounds.spans[seat + 1]:
            add_spans(seat, begin, rounds, play, place)
        else:
            add_share(seat, seat < middle, whole, rounds, play, place)
        field += play.side[place]
        chairs += play.chair[place]
        lead += play.commander[place]
    # With a commander on one side only there is no difference of commanders.
    both = abs(lead) < chairs
    normalise(play, base, base + last - first, field, chairs if both else 0.0, field_share)
    return (field + chairs) / whole if whole > 0.0 else 0.0


def normalise(play: Play, first: int, last: int, field: float, chairs: float, field_share: float) -> None:
    """Times become coefficients: shares of the total of both teams, none where the total is 0."""
    per_field = 1.0 / field if field > 0.0 else 0.0
    per_chair = 1.0 / chairs if chairs > 0.0 else 0.0
    for place in range(first, last):
        commander, chair = per_chair * play.commander[place], per_chair * play.chair[place]
        play.average[place] = per_field * play.average[place] + field_share * commander
        play.side[place] = per_field * play.side[place] + field_share * chair
        play.commander[place] = (1.0 - field_share) * commander


def difference(match: int, rounds: Rounds, records: Records, play: Play) -> float:
    """Log-odds of the first team by skill alone."""
    first, sign, total = rounds.teams[2 * match], rounds.sign[match], 0.0
    for seat in range(first, rounds.teams[2 * match + 2]):
        p, place = records[rounds.members[seat]], seat - first
        total += play.average[place] * p.skill + play.commander[place] * p.commander
        total += sign * play.side[place] * p.offset
    return total


def win_rate(place: int, parent: float, shared: Shared, prior_rounds: float) -> float:
    """Of the plus side, smoothed towards that of a wider set of rounds."""
    return (shared.wins[place] + prior_rounds * parent) / (shared.rounds[place] + prior_rounds)


def intercept(number: int, large: bool, shared: Shared, prior_rounds: float) -> float:
    """F of the plus side on a map (negative: unknown) at a size; log-odds."""
    rate = win_rate(0, 0.5, shared, prior_rounds)
    if number >= 0:
        place = 1 + TALLIES * number
        rate = win_rate(place, rate, shared, prior_rounds)
        rate = win_rate(place + (2 if large else 1), rate, shared, prior_rounds)
    return math.log(rate / (1.0 - rate))


def is_large(present: float, c: Constants) -> bool:
    """Whether more than `large_above` players make the match, rounded to whole players."""
    return present >= c.large_above + 0.5


def chance(
    match: int, rounds: Rounds, records: Records, play: Play, shared: Shared, present: float, c: Constants
) -> float:
    """Win probability of the first team, from `play` as `weigh` has filled it."""
    log_odds = difference(match, rounds, records, play)
    if rounds.sign[match] != 0.0:
        large = is_large(present, c)
        log_odds += rounds.sign[match] * intercept(rounds.maps[match], large, shared, c.prior_rounds)
    return win_probability(log_odds)


def learn(p: Player, average: float, side: float, commander: float, error: float, c: Constants) -> None:
    """A gradient step: Adagrad and a constant rate for s and χ, the constant rate alone for o."""
    gradient = error * average
    p.squares += gradient * gradient
    p.skill += (c.constant + c.adagrad / math.sqrt(p.squares + c.epsilon)) * gradient
    p.offset += c.constant * error * side
    if commander != 0.0:
        gradient = error * commander
        p.commander_squares += gradient * gradient
        p.commander += (c.constant + c.adagrad / math.sqrt(p.commander_squares + c.epsilon)) * gradient


def score_of(match: int, rounds: Rounds) -> float:
    """G of the first team: 1, 0 or, drawn, 0.5."""
    behind = rounds.ranks[2 * match] - rounds.ranks[2 * match + 1]
    return 0.5 if behind == 0 else 1.0 if behind < 0 else 0.0


def tally(match: int, rounds: Rounds, shared: Shared, large: bool) -> None:
    """Count a match for F."""
    sign, weight = rounds.sign[match], rounds.weight[match]
    if sign == 0.0:
        return
    won = weight * (0.5 + sign * (score_of(match, rounds) - 0.5))
    shared.wins[0] += won
    shared.rounds[0] += weight
    if rounds.maps[match] >= 0:
        place = 1 + TALLIES * rounds.maps[match]
        for each in (place, place + (2 if large else 1)):
            shared.wins[each] += won
            shared.rounds[each] += weight


def shorter(length: float, ordered: Floats, known: int) -> int:
    """How many of the first `known` are; counted, because a bisection guesses its way."""
    count = 0
    for each in range(known):
        count += ordered[each] < length
    return count


def remember(length: float, shared: Shared) -> None:
    """Take a round's length among the last ones, in place of the oldest of a full window."""
    ordered, known, oldest = shared.ordered, shared.cursor[0], shared.cursor[1]
    if known < len(ordered):
        gap, newest = known, known
        shared.cursor[0] = known + 1
    else:
        gap, newest = shorter(shared.lengths[oldest], ordered, known), oldest
        shared.cursor[1] = oldest + 1 if oldest + 1 < known else 0
    place = shorter(length, ordered, known)
    for each in range(gap, place - 1):
        ordered[each] = ordered[each + 1]
    for each in range(gap, place, -1):
        ordered[each] = ordered[each - 1]
    ordered[place - 1 if place > gap else place] = length
    shared.lengths[newest] = length


def note(match: int, rounds: Rounds, shared: Shared, large: bool) -> None:
    """What a match somebody played in leaves behind besides skills."""
    tally(match, rounds, shared, large)
    length = length_of(match, rounds)
    if 0.0 < length < math.inf:
        remember(length, shared)


def rate(
    match: int, rounds: Rounds, records: Records, play: Play, shared: Shared, after: Floats, c: Constants
) -> float:
    """One match; returns what was expected of its first team, and fills `after` (per participant, points)."""
    present = weigh(match, rounds, play, 0, median_length(shared, c.usual_seconds), c.field_share)
    first = chance(match, rounds, records, play, shared, present, c)
    error = rounds.weight[match] * (score_of(match, rounds) - first)
    begin, sign, started_at = rounds.teams[2 * match], rounds.sign[match], rounds.started_at[match]
    for seat in range(begin, rounds.teams[2 * match + 2]):
        p, place = records[rounds.members[seat]], seat - begin
        learn(p, play.average[place], sign * play.side[place], play.commander[place], error, c)
        p.rounds += 1
        p.last_played = max(p.last_played, started_at)
        after[seat] = POINTS * p.skill
    if present > 0.0:
        note(match, rounds, shared, is_large(present, c))
    return first


def replay(
    rounds: Rounds, records: Records, play: Play, shared: Shared, wins: Floats, after: Floats, c: Constants
) -> None:
    """Rate match after match; fills `wins` (per team) and `after`."""
    for match in range(len(rounds.started_at)):
        wins[2 * match] = rate(match, rounds, records, play, shared, after, c)
        wins[2 * match + 1] = 1.0 - wins[2 * match]


def weigh_all(rounds: Rounds, play: Play, shared: Shared, sizes: Floats, c: Constants) -> None:
    """`weigh` match after match into arrays of all participants, with the medians as they ran; fills `sizes`."""
    for match in range(len(rounds.started_at)):
        median = median_length(shared, c.usual_seconds)
        sizes[match] = weigh(match, rounds, play, rounds.teams[2 * match], median, c.field_share)
        if sizes[match] > 0.0:
            note(match, rounds, shared, is_large(sizes[match], c))


Replay: TypeAlias = Callable[[Rounds, "Records", Play, Shared, "Floats", "Floats", Constants], None]
WeighAll: TypeAlias = Callable[[Rounds, Play, Shared, "Floats", Constants], None]


class Kernels(NamedTuple):
    """The loops over a history."""

    replay: Replay
    weigh_all: WeighAll


UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""For numba: nothing here allocates, and counting references to arrays would cost more than all the arithmetic."""

CALLEES = (
    win_probability,
    median_length,
    length_of,
    stretch,
    weigh_spans,
    add_spans,
    add_share,
    normalise,
    weigh,
    difference,
    win_rate,
    intercept,
    is_large,
    chance,
    learn,
    score_of,
    tally,
    shorter,
    remember,
    note,
    rate,
)
"""All that the loops call, callees before callers."""


def build(*, compiled: bool) -> Kernels:
    """The loops as they stand here, or compiled with their callees (the machine code is cached on disk)."""
    if not compiled:
        return Kernels(replay, weigh_all)
    instead, options = {"power": power_in_vectors}, {"fastmath": {"contract"}, **UNCOUNTED}
    return Kernels(
        machine_code(replay, (), CALLEES, instead, **options), machine_code(weigh_all, (), CALLEES, instead, **options)
    )
