"""NS2's arithmetic: formulas and replay loop, as plain functions that numba can compile; times: `ns2_time_kernel`.

The live path (`ns2`) calls the same functions with lists of one match in place of arrays.
Formulas: docs/ratings/ns2.md.

Loops over participants count from 0 over slices or `Play`'s arrays: see `ns2_time_kernel`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from equipoise.ratings.ns2.arrays import Coefficients, Constants, Play, Player, Rounds, Shared
from equipoise.ratings.ns2.time_weights import IN_VECTORS, length_of, median_length, remember, weigh
from equipoise.ratings.parts.compiling import compiled as machine_code
from equipoise.ratings.parts.two_teams import result

if TYPE_CHECKING:
    from equipoise.ratings.ns2.arrays import Floats, Ints, Records

POINTS = 400.0
"""Skills are kept in log-odds and shown times this."""

TALLIES = 3
"""Places in `Shared.wins` that a map has: all its rounds, the small ones, the large ones."""


def win_probability(log_odds: float) -> float:
    """The logistic; p(x) + p(-x) is exactly 1, and no gap overflows."""
    favourite = 1.0 / (1.0 + math.exp(-abs(log_odds)))
    return favourite if log_odds >= 0 else 1.0 - favourite


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


def smoothed(won: float, lost: float, win_rate: float, loss_rate: float, prior_rounds: float) -> tuple[float, float]:
    """Both rates of a set of rounds, smoothed towards those of a wider one.

    Side by side: of one rate next to 1 nothing would be left to make the other of.
    """
    each = 1.0 / (won + lost + prior_rounds)
    return each * (won + prior_rounds * win_rate), each * (lost + prior_rounds * loss_rate)


def intercept(number: int, large: bool, shared: Shared, prior_rounds: float) -> float:
    """F of the plus side on a map (negative: unknown) at a size; log-odds.

    Each set of rounds is smoothed towards the wider one without itself.
    """
    wins, rounds = shared.wins, shared.rounds
    won, lost = wins[0], rounds[0] - wins[0]
    if number < 0:
        return math.log((won + 0.5 * prior_rounds) / (lost + 0.5 * prior_rounds))
    place = 1 + TALLIES * number
    size, other = (place + 2, place + 1) if large else (place + 1, place + 2)
    # What rounding leaves of equal sums is not below 0.
    won = max(0.0, won - wins[place])
    lost = max(0.0, lost - (rounds[place] - wins[place]))
    win_rate, loss_rate = smoothed(won, lost, 0.5, 0.5, prior_rounds)
    win_rate, loss_rate = smoothed(wins[other], rounds[other] - wins[other], win_rate, loss_rate, prior_rounds)
    win_rate, loss_rate = smoothed(wins[size], rounds[size] - wins[size], win_rate, loss_rate, prior_rounds)
    return math.log(win_rate / loss_rate)


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
        if play.time[place] > 0.0:
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
            everybody.time[first + place] = play.time[place]
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


def build(*, compiled: bool) -> Kernels:
    """The loops as they stand here, or compiled with their callees (the machine code is cached on disk)."""
    if not compiled:
        return Kernels(replay, weigh_all)
    options = {"fastmath": {"contract"}, **UNCOUNTED}
    return Kernels(
        machine_code(replay, inline="all", instead=IN_VECTORS, **options),
        machine_code(weigh_all, inline="all", instead=IN_VECTORS, **options),
    )
