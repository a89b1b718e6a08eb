"""NS2's arithmetic: time weights, formulas and replay loop, as plain functions that numba can compile.

The live path (`ns2`) calls the same functions with lists of one match in place of arrays.
Formulas: docs/ratings/ns2.md.

Loops over participants or spans count from 0 over slices or `Play`'s arrays: where an index might be negative, or
records stand in place of arrays, machine code takes them one by one and not eight at a time.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from equipoise.ratings.compiled_kernel import compiled as machine_code
from equipoise.ratings.ns2_arrays import Coefficients, Constants, Play, Player, Rounds, Shared
from equipoise.ratings.sides_kernel import result

if TYPE_CHECKING:
    from equipoise.ratings.ns2_arrays import Flags, Floats, Ints, Records

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
    even = 1.0 + square * (1.0 / 2.0 + square * (1.0 / 24.0 + square * (1.0 / 720.0)))
    odd = 1.0 + square * (1.0 / 6.0 + square * (1.0 / 120.0 + square * (1.0 / 5040.0)))
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
    for end in rounds.span_end[first:last]:
        latest = max(latest, end)
    return latest


def stretch(start: float, end: float, length: float, per_second: float) -> float:
    """t = a^-in - a^-out = 2^-(2·in/r) - 2^-(2·out/r); what lies outside of the match counts nothing."""
    entered = power(per_second * min(length, max(0.0, start)))
    return max(0.0, entered - power(per_second * min(length, max(0.0, end))))


def weigh_spans(starts: Floats, ends: Floats, teams: Ints, play: Play, length: float, per_second: float) -> None:
    """Fill `play.spans`."""
    for span in range(len(starts)):
        weight = stretch(starts[span], ends[span], length, per_second)
        play.spans[span] = weight if teams[span] == 0 else -weight


def add_spans(begin: int, end: int, commanders: Flags, play: Play, place: int) -> None:
    """Add up a participant's time by role, signed by team and unsigned."""
    average, side, commander, chair = 0.0, 0.0, 0.0, 0.0
    for span in range(begin, end):
        signed = play.spans[span]
        if commanders[span]:
            commander += signed
            chair += abs(signed)
        else:
            average += signed
            side += abs(signed)
    play.average[place], play.side[place] = average, side
    play.commander[place], play.chair[place] = commander, chair


def add_share(seat: int, first_team: bool, whole: float, rounds: Rounds, play: Play, place: int) -> None:
    """A participant without spans: on the field of his team, for his share of the whole match's weight."""
    share = rounds.share[seat] if len(rounds.share) > 0 else 1.0
    weight = whole if math.isnan(share) else whole * share
    play.average[place], play.side[place] = weight if first_team else -weight, weight
    play.commander[place], play.chair[place] = 0.0, 0.0


def weigh(match: int, rounds: Rounds, play: Play, median: float, field_share: float) -> float:
    """Fill `play`, participant by participant; returns how many played, weighted by time."""
    first, middle, last = rounds.teams[2 * match], rounds.teams[2 * match + 1], rounds.teams[2 * match + 2]
    offsets = rounds.spans[first : last + 1]
    begin, end = offsets[0], offsets[last - first]
    starts, ends, teams = rounds.span_start[begin:end], rounds.span_end[begin:end], rounds.span_team[begin:end]
    commanders = rounds.span_commander[begin:end]
    length = length_of(match, rounds)
    whole = stretch(0.0, length, length, 2.0 / median)
    weigh_spans(starts, ends, teams, play, length, 2.0 / median)
    field, chairs, lead = 0.0, 0.0, 0.0
    for place in range(last - first):
        if offsets[place] < offsets[place + 1]:
            add_spans(offsets[place] - begin, offsets[place + 1] - begin, commanders, play, place)
        else:
            add_share(first + place, first + place < middle, whole, rounds, play, place)
        field += play.side[place]
        chairs += play.chair[place]
        lead += play.commander[place]
    # With a commander on one side only there is no difference of commanders.
    both = abs(lead) < chairs
    normalise(play, last - first, field, chairs if both else 0.0, field_share)
    return (field + chairs) / whole if whole > 0.0 else 0.0


def normalise(play: Play, size: int, field: float, chairs: float, field_share: float) -> None:
    """Times become coefficients: shares of the total of both teams, none where the total is 0."""
    per_field = 1.0 / field if field > 0.0 else 0.0
    per_chair = 1.0 / chairs if chairs > 0.0 else 0.0
    for place in range(size):
        commander, chair = per_chair * play.commander[place], per_chair * play.chair[place]
        play.average[place] = per_field * play.average[place] + field_share * commander
        play.side[place] = per_field * play.side[place] + field_share * chair
        play.commander[place] = (1.0 - field_share) * commander


def members_of(match: int, rounds: Rounds) -> Ints:
    """Of both teams."""
    return rounds.members[rounds.teams[2 * match] : rounds.teams[2 * match + 2]]


def look_up(members: Ints, records: Records, play: Play) -> None:
    """Fill `play.skill`, `offset` and `squares`."""
    for place in range(len(members)):
        p = records[members[place]]
        play.skill[place], play.offset[place], play.squares[place] = p.skill, p.offset, p.squares


def difference(members: Ints, sign: float, records: Records, play: Play) -> float:
    """Log-odds of the first team by skill alone."""
    average, side, commander = 0.0, 0.0, 0.0
    for place in range(len(members)):
        average += play.average[place] * play.skill[place]
        side += play.side[place] * play.offset[place]
        if play.commander[place] != 0.0:
            commander += play.commander[place] * records[members[place]].commander
    return average + commander + sign * side


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
    """Win probability of the first team, from `play` as `weigh` has filled it; fills the rest of it."""
    members, sign = members_of(match, rounds), rounds.sign[match]
    look_up(members, records, play)
    log_odds = difference(members, sign, records, play)
    if sign != 0.0:
        log_odds += sign * intercept(rounds.maps[match], is_large(present, c), shared, c.prior_rounds)
    return win_probability(log_odds)


def learn(size: int, sign: float, error: float, play: Play, c: Constants) -> None:
    """A gradient step in `play`: Adagrad and a constant rate for s, the constant rate alone for o."""
    sided = c.constant * error * sign
    for place in range(size):
        gradient = error * play.average[place]
        play.squares[place] += gradient * gradient
        play.skill[place] += (c.constant + c.adagrad / math.sqrt(play.squares[place] + c.epsilon)) * gradient
        play.offset[place] += sided * play.side[place]


def learn_command(p: Player, gradient: float, c: Constants) -> None:
    """The step of χ, as that of s."""
    p.commander_squares += gradient * gradient
    p.commander += (c.constant + c.adagrad / math.sqrt(p.commander_squares + c.epsilon)) * gradient


def write_back(members: Ints, records: Records, play: Play, error: float, started_at: float, c: Constants) -> None:
    """What `learn` has made of them, and the few commanders' own step."""
    for place in range(len(members)):
        p = records[members[place]]
        p.skill, p.offset, p.squares = play.skill[place], play.offset[place], play.squares[place]
        if play.commander[place] != 0.0:
            learn_command(p, error * play.commander[place], c)
        p.rounds += 1
        p.last_played = max(p.last_played, started_at)


def score_of(match: int, rounds: Rounds) -> float:
    """G of the first team: 1, 0 or, drawn, 0.5."""
    return result(rounds.ranks[2 * match], rounds.ranks[2 * match + 1])


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


def note(match: int, rounds: Rounds, shared: Shared, large: bool) -> None:
    """What a match somebody played in leaves behind besides skills."""
    tally(match, rounds, shared, large)
    length = length_of(match, rounds)
    if 0.0 < length < math.inf:
        remember(length, shared)


def rate(match: int, rounds: Rounds, records: Records, play: Play, shared: Shared, c: Constants) -> float:
    """One match; returns what was expected of its first team, and leaves everybody's new s in `play.skill`."""
    present = weigh(match, rounds, play, median_length(shared, c.usual_seconds), c.field_share)
    first = chance(match, rounds, records, play, shared, present, c)
    error = rounds.weight[match] * (score_of(match, rounds) - first)
    members = members_of(match, rounds)
    learn(len(members), rounds.sign[match], error, play, c)
    write_back(members, records, play, error, rounds.started_at[match], c)
    if present > 0.0:
        note(match, rounds, shared, is_large(present, c))
    return first


def replay(
    rounds: Rounds, records: Records, play: Play, shared: Shared, wins: Floats, after: Floats, c: Constants
) -> None:
    """Rate match after match; fills `wins` (per team) and `after` (per participant, points)."""
    for match in range(len(rounds.started_at)):
        wins[2 * match] = rate(match, rounds, records, play, shared, c)
        wins[2 * match + 1] = 1.0 - wins[2 * match]
        skills = after[rounds.teams[2 * match] : rounds.teams[2 * match + 2]]
        for place in range(len(skills)):
            skills[place] = POINTS * play.skill[place]


def weigh_all(rounds: Rounds, play: Play, shared: Shared, everybody: Coefficients, sizes: Floats, c: Constants) -> None:
    """`weigh` match after match, with the medians as they ran; fills `everybody` and `sizes`."""
    for match in range(len(rounds.started_at)):
        sizes[match] = weigh(match, rounds, play, median_length(shared, c.usual_seconds), c.field_share)
        first = rounds.teams[2 * match]
        for place in range(rounds.teams[2 * match + 2] - first):
            everybody.average[first + place] = play.average[place]
            everybody.side[first + place] = play.side[place]
            everybody.commander[first + place] = play.commander[place]
        if sizes[match] > 0.0:
            note(match, rounds, shared, is_large(sizes[match], c))


Replay: TypeAlias = Callable[[Rounds, "Records", Play, Shared, "Floats", "Floats", Constants], None]
WeighAll: TypeAlias = Callable[[Rounds, Play, Shared, Coefficients, "Floats", Constants], None]


class Kernels(NamedTuple):
    """The loops over a history."""

    replay: Replay
    weigh_all: WeighAll


UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""For numba: nothing here allocates, and counting references to arrays would make the replay four times as slow.

The option is private to numba; without it all works as well.
"""

IN_VECTORS: dict[str, Callable[..., Any]] = {"power": power_in_vectors, "reorder": reorder_in_vectors}
"""What machine code calls instead, by name."""

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
    members_of,
    look_up,
    difference,
    win_rate,
    intercept,
    is_large,
    chance,
    learn,
    learn_command,
    write_back,
    result,
    score_of,
    tally,
    reorder,
    remember,
    note,
    rate,
)
"""All that the loops call, callees before callers."""


def build(*, compiled: bool) -> Kernels:
    """The loops as they stand here, or compiled with their callees (the machine code is cached on disk)."""
    if not compiled:
        return Kernels(replay, weigh_all)
    options = {"fastmath": {"contract"}, **UNCOUNTED}
    return Kernels(
        machine_code(replay, (), CALLEES, IN_VECTORS, **options),
        machine_code(weigh_all, (), CALLEES, IN_VECTORS, **options),
    )
