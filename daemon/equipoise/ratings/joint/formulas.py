"""The filter of `joint`: predicts and rates matches on arrays.

Plain functions: the live system calls them with numpy arrays, the replay compiles them (`shrink` in the form of
`shrink_by_rows`).  A *coordinate* is a row of the dense Gaussian: the head count, the worth of newcomers, a player's
skill, or a *place*: the worth of a side, or of a side on a map.  Who is not dense is *parked*: mean and variance alone.

A newcomer's skill is what they have of their own and a part of the *worth of newcomers*, which fades with each round.
The row of a dense player is that of the sum, so that nothing else has to know of it; a parked one has the own part.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.ratings.joint.outcome import expected, exponents, posterior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equipoise.ratings.history import Floats

    Ints = NDArray[np.int64]

BOT = -1
STRANGER = -2
"""In place of a player's number: nothing is held of them."""
NOWHERE = -1
"""In place of a row or a place's number: there is none."""

FREE, HEAD, PLAYER, PLACE = range(4)
"""The kinds of row; HEAD: those that every pool has."""
HEAD_COUNT, NEWCOMERS = range(2)
"""The rows of the kind HEAD."""

NEWCOMER_ROUNDS = 30
"""Rounds over which the worth of newcomers fades out of a player's skill."""

PLACES = 64
"""Sides and maps that are dense; a match names two."""

BLOCK = 24
"""Rows that are updated at once: their outer product stays in the cache."""

FLOOR = 1e-9
"""Squared log-odds: no variance falls below this, so that rounding cannot make one negative."""


class Constants(NamedTuple):
    """The parameters as the formulas read them; variances in squared log-odds."""

    variance: float
    """Of a newcomer's skill."""
    drift2: float
    """Gained per round."""
    drift2_second: float
    """Gained per second away."""
    draw_weight: float
    active: int
    correlated: bool
    newcomer: float
    """1; 0 where newcomers have no worth."""


class Dense(NamedTuple):
    """The Gaussian over up to n coordinates; modified in place."""

    mean: Floats
    """Shape (n,)."""
    cov: Floats
    """Shape (n, n), symmetric; 0 in the rows and columns that are free."""
    kind: Ints
    """Shape (n,)."""
    owner: Ints
    """Shape (n,): number of the player or place."""
    counts: Ints
    """Shape (4,): rows of each kind; of FREE, how many rows were ever used."""
    work: Floats
    """Shape (n,): the covariance of all coordinates with D."""


class Roll(NamedTuple):
    """The k coordinates of one kind, by number; modified in place."""

    mean: Floats
    """Shape (k,), as the others: as it was parked."""
    variance: Floats
    row: Ints
    """In the dense Gaussian; `NOWHERE` if parked."""
    stamp: Ints
    """Number of the last match that used it."""


class People(NamedTuple):
    """The rest of what is kept of each player."""

    rounds: Ints
    last_played: Floats
    """Seconds since the epoch; `NEVER` before."""
    shown: Floats
    """Mean after the player's own last event; log-odds."""
    shown_variance: Floats
    newcomer: Floats
    """The part of the worth of newcomers in the skill: 1 before the first round, 0 where the skill stands by itself."""


class State(NamedTuple):
    """All that the filter knows; modified in place."""

    dense: Dense
    players: Roll
    places: Roll
    people: People
    time: Floats
    """Shape (1,): the latest start of a match, seconds since the epoch."""
    events: Ints
    """Shape (1,): matches so far."""


class Sides(NamedTuple):
    """Who counts how much in the differences D of m matches."""

    starts: Ints
    """Shape (m + 1,): where each match's players begin."""
    members: Ints
    """Shape (p,): the players' numbers, `BOT` or `STRANGER`."""
    signs: Floats
    """Shape (p,): the part of the match that each played on A, less that on B."""
    heads: Floats
    """Shape (m,): ln(n_A / n_B)."""


class Fixtures(NamedTuple):
    """m matches between two sides, in the order they are rated."""

    lineup: Sides
    """Those whom the prediction is about."""
    played: Sides
    """The participants."""
    side: Ints
    """Shape (m,): number of the sides' place, as `map` is that of the map's; `NOWHERE` without."""
    map: Ints
    sign: Floats
    """Shape (m,): 1 if A is the side that the places are the worth of, -1 if B is."""
    score: Floats
    """Shape (m,): of A."""
    weight: Floats
    started_at: Floats
    """Shape (m,): seconds since the epoch, NaN where unknown."""


MORE_TERMS = 4
"""Head count, newcomers, and two places."""


class Terms(NamedTuple):
    """Working arrays: D as a sum of coordinates; as long as the largest match has players, and `MORE_TERMS` more."""

    rows: Ints
    x: Floats


class Answers(NamedTuple):
    """The results for m matches and p participants; filled in place."""

    wins: Floats
    """Shape (m,): expected score of A."""
    evidence: Floats
    """Shape (m,): logarithm of the likelihood of the result, given all before."""
    after: Floats
    """Shape (p,): mean after the match."""


def pending(number: int, at: float, variance: float, people: People, c: Constants) -> float:
    """The variance that a player's skill gains before a match: none before their first round.

    Days away bring it up to a newcomer's variance at most.
    """
    if people.rounds[number] == 0:
        return 0.0
    away, last = 0.0, people.last_played[number]
    # A NaN cannot come here: `time_of_match` puts the latest known time in its place.
    if last > -math.inf and at > last:
        away = min((at - last) * c.drift2_second, max(0.0, c.variance - variance))
    return c.drift2 + away


def gather(match: int, sides: Sides, at: float, terms: Terms, s: State, c: Constants) -> tuple[int, float, float]:
    """Fill `terms` with the dense players of a match; returns how many, and mean and variance that others add."""
    count, mean, variance, newcomers = 0, 0.0, 0.0, 0.0
    for seat in range(sides.starts[match], sides.starts[match + 1]):
        number, x = sides.members[seat], sides.signs[seat]
        if number == STRANGER:
            variance += x * x * c.variance
            newcomers += x * c.newcomer
        # A bot has skill 0 and no variance: it counts in the heads alone.
        elif number != BOT:
            row = s.players.row[number]
            held = s.players.variance[number] if row == NOWHERE else s.dense.cov[row, row]
            # What the time since their last round adds is in the arrays only once they play.
            variance += x * x * pending(number, at, held, s.people, c)
            if row == NOWHERE:
                mean += x * s.players.mean[number]
                variance += x * x * held
                # The parts of all who are not dense are one term: a dense row has its part in it already.
                newcomers += x * s.people.newcomer[number]
            else:
                terms.rows[count], terms.x[count] = row, x
                count += 1
    if newcomers != 0.0:
        terms.rows[count], terms.x[count] = NEWCOMERS, newcomers
        count += 1
    return count, mean, variance


def gather_place(number: int, sign: float, count: int, terms: Terms, places: Roll) -> tuple[int, float, float]:
    """Add a place to the terms if it is dense; returns their number, and mean and variance that a parked one adds."""
    if number == NOWHERE or sign == 0.0:
        return count, 0.0, 0.0
    if places.row[number] == NOWHERE:
        return count, sign * places.mean[number], places.variance[number]
    terms.rows[count], terms.x[count] = places.row[number], sign
    return count + 1, 0.0, 0.0


def project(count: int, terms: Terms, dense: Dense) -> tuple[float, float]:
    """Mean and variance of the sum of `count` terms; fills `work` with its covariance with every coordinate."""
    rows = dense.counts[FREE]
    work = dense.work[:rows]
    # In rows, which lie in memory in one piece; the matrix is symmetric.
    work[:] = 0.0
    mean = variance = 0.0
    for term in range(count):
        row, x = terms.rows[term], terms.x[term]
        work += x * dense.cov[row, :rows]
        mean += x * dense.mean[row]
    for term in range(count):
        variance += terms.x[term] * work[terms.rows[term]]
    return mean, variance


def foresee(match: int, fixtures: Fixtures, sides: Sides, terms: Terms, s: State, c: Constants) -> tuple[float, float]:
    """Mean and variance of D for these sides, in log-odds, before the match; changes nothing."""
    at = time_of_match(match, fixtures, s)
    # Nothing may change here, so parked players add numbers of their own instead of terms.
    count, mean, variance = gather(match, sides, at, terms, s, c)
    for number in (fixtures.side[match], fixtures.map[match]):
        count, more, wider = gather_place(number, fixtures.sign[match], count, terms, s.places)
        mean += more
        variance += wider
    terms.rows[count], terms.x[count] = HEAD_COUNT, sides.heads[match]
    dense_mean, dense_variance = project(count + 1, terms, s.dense)
    return float(mean + dense_mean), float(max(0.0, variance + dense_variance))


def time_of_match(match: int, fixtures: Fixtures, s: State) -> float:
    """When a match was; if unknown, the latest time that is known."""
    at = fixtures.started_at[match]
    return float(s.time[0] if math.isnan(at) else at)


def clear(row: int, dense: Dense) -> None:
    """Free a row: its coordinate is forgotten, and all covariances with it."""
    rows = dense.counts[FREE]
    dense.cov[row, :rows] = 0.0
    dense.cov[:rows, row] = 0.0
    dense.mean[row] = 0.0
    dense.counts[dense.kind[row]] -= 1
    dense.kind[row], dense.owner[row] = FREE, NOWHERE


def park(number: int, roll: Roll, dense: Dense) -> None:
    """Take a coordinate out of the dense Gaussian, if it is there: its correlations are lost."""
    row = roll.row[number]
    if row != NOWHERE:
        roll.mean[number], roll.variance[number] = dense.mean[row], dense.cov[row, row]
        roll.row[number] = NOWHERE
        clear(row, dense)


def longest_unused(kind: int, roll: Roll, dense: Dense, now: int) -> int:
    """The number of the coordinate of a kind that was used longest ago, before this match; `NOWHERE` without one."""
    owners = dense.owner[dense.kind == kind]
    if not len(owners):
        return NOWHERE
    # Of equal stamps the lowest row: the order is that of the rows, and the same in a replay.
    least = np.argmin(roll.stamp[owners])
    return int(owners[least]) if roll.stamp[owners[least]] < now else NOWHERE


def enter(number: int, kind: int, roll: Roll, dense: Dense) -> int:
    """Make a coordinate dense, if it is not, in the first free row; returns its row."""
    if roll.row[number] != NOWHERE:
        return int(roll.row[number])
    # The first free row, so that the matrix in use stays small.
    row = int(np.argmin(dense.kind))  # FREE is the least
    dense.counts[FREE] = max(dense.counts[FREE], row + 1)
    dense.counts[kind] += 1
    dense.kind[row], dense.owner[row] = kind, number
    dense.mean[row], dense.cov[row, row] = roll.mean[number], roll.variance[number]
    roll.row[number] = row
    return row


def add_newcomers(row: int, part: float, dense: Dense) -> None:
    """Add a part of the worth of newcomers to a coordinate."""
    rows, cov = dense.counts[FREE], dense.cov
    # Var(s + p·γ) = Var(s) + 2p·Cov(s, γ) + p²·Var(γ); computed first, as the next lines change what it reads.
    variance = cov[row, row] + part * (2.0 * cov[row, NEWCOMERS] + part * cov[NEWCOMERS, NEWCOMERS])
    dense.mean[row] += part * dense.mean[NEWCOMERS]
    cov[row, :rows] += part * cov[NEWCOMERS, :rows]
    cov[:rows, row] = cov[row, :rows]
    cov[row, row] = max(variance, FLOOR)


def enter_place(number: int, now: int, s: State) -> None:
    """Make a place dense; the one that was used longest ago gives way."""
    if number == NOWHERE:
        return
    s.places.stamp[number] = now
    if s.places.row[number] == NOWHERE and s.dense.counts[PLACE] >= PLACES:
        park(longest_unused(PLACE, s.places, s.dense, now), s.places, s.dense)
    enter(number, PLACE, s.places, s.dense)


def enter_player(number: int, at: float, now: int, s: State, c: Constants) -> None:
    """Make a participant dense, and widen their skill by what it gained since their last round.

    The player who played longest ago gives way, unless all play now.
    """
    if s.players.row[number] == NOWHERE and s.dense.counts[PLAYER] >= c.active:
        gone = longest_unused(PLAYER, s.players, s.dense, now)
        # More than `active` players in one match: nobody gives way, and the matrix has more rows for a while.
        if gone != NOWHERE:
            park(gone, s.players, s.dense)
            # A parked player keeps the sum: their part of the newcomers' worth is in it for good.
            s.people.newcomer[gone] = 0.0
    is_out = s.players.row[number] == NOWHERE
    row = enter(number, PLAYER, s.players, s.dense)
    if is_out and s.people.newcomer[number] > 0.0:
        add_newcomers(row, s.people.newcomer[number], s.dense)
    s.dense.cov[row, row] += pending(number, at, s.dense.cov[row, row], s.people, c)


def shrink(dense: Dense, factor: float, correlated: bool) -> None:
    """Subtract factor² times the outer square of `work` from the covariance, or from its diagonal alone."""
    rows = dense.counts[FREE]
    change = factor * dense.work[:rows]
    if correlated:
        room = np.empty(BLOCK * rows)  # one for all blocks: each of its own would be cleared memory
        for first in range(0, rows, BLOCK):
            last = min(rows, first + BLOCK)
            block, square = slice(first, last), room[: (last - first) * last].reshape(last - first, last)
            lower = dense.cov[block, :last]
            np.multiply(change[block, None], change[:last], out=square)
            np.subtract(lower, square, out=lower)
            dense.cov[:first, block] = lower[:, :first].T
    else:
        dense.cov.ravel()[: rows * (len(dense.cov) + 1) : len(dense.cov) + 1] -= change * change


def shrink_by_rows(dense: Dense, factor: float, correlated: bool) -> None:
    """`shrink` in the form that is fast when compiled."""
    rows = dense.counts[FREE]
    for row in range(rows):
        dense.work[row] *= factor
    for row in range(rows):
        change = dense.work[row]
        if not correlated:
            dense.cov[row, row] -= change * change
        elif change != 0.0:
            for column in range(rows):
                dense.cov[row, column] -= change * dense.work[column]


def learn(count: int, score: float, weight: float, terms: Terms, dense: Dense, c: Constants) -> float:
    """Take in a result of the sum of `count` terms; returns the logarithm of its likelihood."""
    mean, variance = project(count, terms, dense)
    factor, evidence = take_in(count, mean, variance, score, weight, terms, dense, c)
    narrow(count, factor, terms, dense, c)
    return evidence


def take_in(
    count: int, mean: float, variance: float, score: float, weight: float, terms: Terms, dense: Dense, c: Constants
) -> tuple[float, float]:
    """Move the means by a result of the sum of `count` terms, which has this mean and variance and was projected.

    Returns the factor for `narrow`, which is left to do, and the logarithm of the result's likelihood.
    """
    least = FLOOR * float((terms.x[:count] ** 2).sum())
    a, b = exponents(score, weight, c.draw_weight)
    variance = max(variance, least)
    if variance <= 0.0:
        # No term counts: nobody played for either side longer than for the other.
        return 0.0, 0.0
    after, left, evidence = posterior(float(mean), float(variance), a, b)
    # Rounding may give a posterior that is wider than the prior, or none at all.
    left = min(variance, max(left, least))
    rows, gain = dense.counts[FREE], (after - mean) / variance
    dense.mean[:rows] += gain * dense.work[:rows]
    # Σ ← Σ + (Σx)(Σx)ᵀ(left − v)/v²: the factor is the root of (v − left)/v², which `narrow` squares.
    return math.sqrt(variance - left) / variance, evidence


def narrow(count: int, factor: float, terms: Terms, dense: Dense, c: Constants) -> None:
    """Take from the covariance what a result has told, by the factor that `take_in` gave."""
    shrink(dense, factor, c.correlated)
    for term in range(count):
        row = terms.rows[term]
        dense.cov[row, row] = max(dense.cov[row, row], FLOOR)


def enter_match(match: int, fixtures: Fixtures, terms: Terms, s: State, c: Constants) -> int:
    """Make all that a match is about dense, widen what changed since, and fill the terms of D; returns their number.

    The players come last, in the order of the teams.
    """
    times, at = fixtures.played, time_of_match(match, fixtures, s)
    first, last = times.starts[match], times.starts[match + 1]
    s.events[0] += 1
    now = s.events[0]
    for seat in range(first, last):
        # All participants before any of them enters: nobody of this match may be parked for another.
        s.players.stamp[times.members[seat]] = now
    count = 1
    terms.rows[0], terms.x[0] = HEAD_COUNT, times.heads[match]
    for number in (fixtures.side[match], fixtures.map[match]):
        if number != NOWHERE and fixtures.sign[match] != 0.0:
            enter_place(number, now, s)
            terms.rows[count], terms.x[count] = s.places.row[number], fixtures.sign[match]
            count += 1
    for seat in range(first, last):
        number = times.members[seat]
        enter_player(number, at, now, s, c)
        terms.rows[count], terms.x[count] = s.players.row[number], times.signs[seat]
        count += 1
    # Time never runs back: a round that arrives late widens nobody by it.
    s.time[0] = max(s.time[0], at)
    return count


def rate_match(match: int, fixtures: Fixtures, terms: Terms, answers: Answers, s: State, c: Constants) -> None:
    """Learn from the participants of a match."""
    count = enter_match(match, fixtures, terms, s, c)
    answers.evidence[match] = learn(count, fixtures.score[match], fixtures.weight[match], terms, s.dense, c)


def note_rounds(match: int, fixtures: Fixtures, answers: Answers, s: State) -> None:
    """Count a round of each participant, by which they are less of a newcomer, and keep what they are shown with."""
    members, at = fixtures.played.members, fixtures.started_at[match]
    for seat in range(fixtures.played.starts[match], fixtures.played.starts[match + 1]):
        number = members[seat]
        row = s.players.row[number]
        s.people.rounds[number] += 1
        newcomer = max(0.0, 1.0 - s.people.rounds[number] / NEWCOMER_ROUNDS)
        # Whose newcomers' part has been set to 0, by an edit or by parking, does not get it back.
        if newcomer < s.people.newcomer[number]:
            add_newcomers(row, newcomer - s.people.newcomer[number], s.dense)
            s.people.newcomer[number] = newcomer
        if at > s.people.last_played[number]:
            s.people.last_played[number] = at
        s.people.shown[number], s.people.shown_variance[number] = s.dense.mean[row], s.dense.cov[row, row]
        answers.after[seat] = s.people.shown[number]


def replay(fixtures: Fixtures, terms: Terms, answers: Answers, s: State, c: Constants) -> None:
    """Rate all matches in order: modifies the state, and fills the answers."""
    for match in range(len(fixtures.score)):
        # By the lineup, before participants enter: to enter may park a player of the lineup.
        answers.wins[match] = expected(*foresee(match, fixtures, fixtures.lineup, terms, s, c))
        rate_match(match, fixtures, terms, answers, s, c)
        note_rounds(match, fixtures, answers, s)
