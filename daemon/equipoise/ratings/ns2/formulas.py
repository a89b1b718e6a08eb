"""NS2's kernel: logistic regression on who played when, for which side and in which role, learnt match by match.

    log(p / (1 - p)) = Σ T·t·(s + R·o) / Σ t  +  Σ T·c·x / Σ c  +  R·F(map, size)

T is 1 for the first team and -1 for the second, R is 1 on the plus side and -1 on the other; t and c are time weights
on the field and in the commander's chair (`time_weights`), s is a player's average skill, o their offset on the plus
side, χ their skill as a commander, x a mix of χ and field skill, and F the advantage of the plus side on the map.
Bots are in the two sums of the field, with a newcomer's s and no o; they are not rated.
A match moves each s along its gradient, by a constant rate and by Adagrad's, which falls with the squared gradients
so far: newcomers move far, and their average before their offset.  F is not learnt here: it is the log-odds of smoothed
win rates.  Source and deviations from it: docs/ratings/ns2.md.

`rate_match` rates a live match, in lists with `Player` objects for records, and every match of a replay, in arrays that
numba compiles it for.  Loops over participants count from 0: see `time_weights`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.core.model import logistic
from equipoise.ratings.ns2.arrays import (
    Coefficients,
    EnvironmentArrays,
    NS2Arrays,
    NS2Constants,
    Player,
    Workspace,
)
from equipoise.ratings.ns2.time_weights import add_length, fill_time_weights, length_of, median_length
from equipoise.ratings.parts.match_arrays import MatchArrays, result

if TYPE_CHECKING:
    from equipoise.ratings.ns2.arrays import Records
    from equipoise.ratings.parts.match_arrays import Floats, Ints, Lineup

POINTS = 400.0
"""Skills are kept in log-odds and shown times this."""

SETS_PER_MAP = 3
"""Counts per map: of all its rounds, of the small ones, of the large ones."""


def members_of(match: int, matches: MatchArrays) -> Ints:
    """The participants of both teams."""
    return matches.members[matches.teams[2 * match] : matches.teams[2 * match + 2]]


def gather_skills(members: Ints, records: Records, work: Workspace) -> None:
    """Fill `work.skill`, `offset` and `squares`."""
    for place in range(len(members)):
        p = records[members[place]]
        work.skill[place], work.offset[place], work.squares[place] = p.skill, p.offset, p.squares


def skill_log_odds(members: Ints, sign: float, records: Records, work: Workspace) -> float:
    """Log-odds of the first team by skill alone."""
    average, side, commander = 0.0, 0.0, 0.0
    for place in range(len(members)):
        average += work.average[place] * work.skill[place]
        side += work.side[place] * work.offset[place]
        # Few command: the record is read for them alone.
        if work.commander[place] != 0.0:
            commander += work.commander[place] * records[members[place]].commander
    return average + commander + sign * side


def smoothed(won: float, lost: float, win_rate: float, loss_rate: float, prior_rounds: float) -> tuple[float, float]:
    """Win and loss rate of a set of rounds, smoothed towards those of a wider set.

    Returns both, because 1 minus a win rate close to 1 would have lost all digits.

    >>> smoothed(20.0, 0.0, 0.5, 0.5, prior_rounds=20.0)
    (0.75, 0.25)
    """
    weight = 1.0 / (won + lost + prior_rounds)
    return weight * (won + prior_rounds * win_rate), weight * (lost + prior_rounds * loss_rate)


def intercept(number: int, large: bool, environment: EnvironmentArrays, prior_rounds: float) -> float:
    """F of the plus side, log-odds, on a map (negative: unknown) at a size.

    Each set of rounds is smoothed towards the wider one without itself: so no round counts twice.
    """
    wins, rounds = environment.wins, environment.rounds
    won, lost = wins[0], rounds[0] - wins[0]
    if number < 0:
        return math.log((won + 0.5 * prior_rounds) / (lost + 0.5 * prior_rounds))
    place = 1 + SETS_PER_MAP * number
    size, other_size = (place + 2, place + 1) if large else (place + 1, place + 2)
    # Rounding must not leave a difference of equal sums below 0.
    won = max(0.0, won - wins[place])
    lost = max(0.0, lost - (rounds[place] - wins[place]))
    win_rate, loss_rate = smoothed(won, lost, 0.5, 0.5, prior_rounds)
    win_rate, loss_rate = smoothed(
        wins[other_size], rounds[other_size] - wins[other_size], win_rate, loss_rate, prior_rounds
    )
    win_rate, loss_rate = smoothed(wins[size], rounds[size] - wins[size], win_rate, loss_rate, prior_rounds)
    return math.log(win_rate / loss_rate)


def is_large(present: float, c: NS2Constants) -> bool:
    """Whether more than `large_above` players make the match, rounded to whole players."""
    # Rounded to whole players: 16.4 are 16, 16.5 are 17.
    return present >= c.large_above + 0.5


def begin(p: Player, skill: float, offset: float, commander: float, c: NS2Constants) -> None:
    """Set a newcomer's skills between the prior's mode and the game's own, in points; of no commander it knows 0."""
    chair = commander if commander > 0.0 else skill
    p.skill = c.newcomer + c.hive_weight * (skill / POINTS - c.newcomer)
    p.offset = c.hive_sign * c.hive_weight * offset / POINTS
    p.commander = c.newcomer + c.hive_weight * (chair / POINTS - c.newcomer)


def start_newcomers(match: int, matches: MatchArrays, facts: NS2Arrays, records: Records, c: NS2Constants) -> None:
    """Have participants without a round begin between a newcomer's skill and the game's own of them."""
    if c.hive_weight == 0.0 or len(facts.hive_skill) == 0:
        return
    for place in range(matches.teams[2 * match], matches.teams[2 * match + 2]):
        p, skill = records[matches.members[place]], facts.hive_skill[place]
        if p.rounds == 0 and not math.isnan(skill):
            begin(p, skill, facts.hive_offset[place], facts.hive_commander[place], c)


def let_go(match: int, matches: MatchArrays, facts: NS2Arrays, records: Records, c: NS2Constants) -> None:
    """Have those who began with this match and did not play a second of it begin again."""
    if c.hive_weight == 0.0 or len(facts.hive_skill) == 0:
        return
    for place in range(matches.teams[2 * match], matches.teams[2 * match + 2]):
        p = records[matches.members[place]]
        if p.rounds == 0 and not math.isnan(facts.hive_skill[place]):
            p.skill, p.offset, p.commander = c.newcomer, 0.0, c.newcomer


def predict_match(
    match: int,
    matches: MatchArrays,
    facts: NS2Arrays,
    records: Records,
    work: Workspace,
    environment: EnvironmentArrays,
    present: float,
    bots: float,
    c: NS2Constants,
) -> float:
    """Win probability of the first team; reads the time weights in `work` and fills its skills.

    `present` and `bots` are what `fill_time_weights` returns.
    """
    members, sign = members_of(match, matches), facts.sign[match]
    gather_skills(members, records, work)
    log_odds = skill_log_odds(members, sign, records, work) + bots * c.newcomer
    if sign != 0.0:
        log_odds += sign * intercept(facts.maps[match], is_large(present, c), environment, c.prior_rounds)
    return logistic(log_odds)


def find_commanders(match: int, matches: MatchArrays, facts: NS2Arrays, work: Workspace) -> int:
    """Put the numbers of the players who commanded when the match went live in `work.commander`; returns how many."""
    count, member = 0, matches.teams[2 * match]
    for span in range(facts.spans[member], facts.spans[matches.teams[2 * match + 2]]):
        # Half-open: a player who left the chair as the round went live, at 0, did not command.
        if facts.span_commander[span] and facts.span_start[span] <= 0.0 < facts.span_end[span]:
            while facts.spans[member + 1] <= span:
                member += 1
            work.commander[count] = matches.members[member]
            count += 1
    return count


def skill_at_start(seat: int, side: float, lineup: Lineup, records: Records, c: NS2Constants) -> float:
    """Field skill of a player of the lineup, log-odds; `side` is 1 on the plus side, -1 on the other, 0 if unknown."""
    if len(lineup.skill_at_start) > 0 and not math.isnan(lineup.skill_at_start[seat]):
        return lineup.skill_at_start[seat] / POINTS
    if lineup.members[seat] < 0:
        return c.newcomer
    p = records[lineup.members[seat]]
    return p.skill + side * p.offset


def forecast(
    match: int,
    matches: MatchArrays,
    facts: NS2Arrays,
    records: Records,
    work: Workspace,
    environment: EnvironmentArrays,
    c: NS2Constants,
) -> float:
    """Win probability of the first team as the match goes live, as if all in its lineup stayed in their roles.

    Does not read what is known only later: who joined, left, switched or took a chair.  Overwrites `work.commander`.
    """
    lineup, sign, commanders = matches.lineup, facts.sign[match], find_commanders(match, matches, facts, work)
    first, middle, last = lineup.starts[2 * match], lineup.starts[2 * match + 1], lineup.starts[2 * match + 2]
    skill, bots = 0.0, 0
    for seat in range(first, last):
        team = 1.0 if seat < middle else -1.0
        skill += team * skill_at_start(seat, sign * team, lineup, records, c)
        if lineup.members[seat] < 0:
            bots += 1
    command, chairs, balance = 0.0, 0.0, 0.0
    for place in range(commanders):
        for seat in range(first, last):
            # A commander is looked up in the lineup: one who is not in it was not there when the round went live.
            if lineup.members[seat] == work.commander[place]:
                team = 1.0 if seat < middle else -1.0
                own = skill_at_start(seat, sign * team, lineup, records, c)
                chi = records[lineup.members[seat]].commander
                command += team * ((1.0 - c.field_share) * chi + c.field_share * own)
                skill -= team * own
                chairs += 1.0
                balance += team
    # Σt with t = 1 for everybody on the field; no one on it leaves 0 divided by 1.
    log_odds = skill / max(1.0, last - first - chairs)
    if abs(balance) < chairs:  # both teams have a commander
        log_odds += command / chairs
    if sign != 0.0:
        large = is_large(last - first - bots, c)
        log_odds += sign * intercept(facts.maps[match], large, environment, c.prior_rounds)
    return logistic(log_odds)


def gradient_step(size: int, sign: float, error: float, work: Workspace, c: NS2Constants) -> None:
    """Move the skills in `work`: s by Adagrad and the constant rate, o by the constant rate alone."""
    # Without Adagrad's part: a newcomer's first rounds say how good they are before they say where.
    step = c.constant * error * sign
    for place in range(size):
        gradient = error * work.average[place]
        # Before the step, as in the paper's update: the first gradient is already in its own rate.
        work.squares[place] += gradient * gradient
        work.skill[place] += (c.constant + c.adagrad / math.sqrt(work.squares[place] + c.epsilon)) * gradient
        work.offset[place] += step * work.side[place]


def commander_step(p: Player, gradient: float, c: NS2Constants) -> None:
    """Move χ, by the learning rates of s where its prior is as wide."""
    p.commander_squares += gradient * gradient
    p.commander += c.chair_rate * (c.constant + c.adagrad / math.sqrt(p.commander_squares + c.epsilon)) * gradient


def scatter_skills(
    members: Ints, records: Records, work: Workspace, error: float, started_at: float, c: NS2Constants
) -> None:
    """Write the moved skills back to their records, and move those of the few commanders."""
    for place in range(len(members)):
        p = records[members[place]]
        p.skill, p.offset, p.squares = work.skill[place], work.offset[place], work.squares[place]
        if work.commander[place] != 0.0:
            commander_step(p, error * work.commander[place], c)
        # A participant without a second in the match has a gradient of 0 and no round.
        if work.time[place] > 0.0:
            p.rounds += 1
            # Not by `max`, which would return NaN for an unknown time.
            if started_at > p.last_played:
                p.last_played = started_at


def weight_of(match: int, matches: MatchArrays) -> float:
    """w, the weight of a match; 1 if unknown."""
    return matches.weight[match] if len(matches.weight) > 0 else 1.0


def score_of(match: int, matches: MatchArrays) -> float:
    """G of the first team: 1, 0 or, drawn, 0.5."""
    return result(matches.ranks[2 * match], matches.ranks[2 * match + 1])


def count_result(
    match: int, matches: MatchArrays, facts: NS2Arrays, environment: EnvironmentArrays, large: bool
) -> None:
    """Add a match to the counts that F is read from."""
    sign, weight = facts.sign[match], weight_of(match, matches)
    if sign == 0.0:
        return
    # The score of the plus side, whichever team it is.
    won = weight * (0.5 + sign * (score_of(match, matches) - 0.5))
    environment.wins[0] += won
    environment.rounds[0] += weight
    if facts.maps[match] >= 0:
        place = 1 + SETS_PER_MAP * facts.maps[match]
        for index in (place, place + (2 if large else 1)):
            environment.wins[index] += won
            environment.rounds[index] += weight


def update_environment(
    match: int, matches: MatchArrays, facts: NS2Arrays, environment: EnvironmentArrays, large: bool
) -> None:
    """Count a match with any time played: its result for F, and its length."""
    count_result(match, matches, facts, environment, large)
    length = length_of(match, matches, facts)
    if 0.0 < length < math.inf:
        add_length(length, environment)


def rate_match(
    match: int,
    matches: MatchArrays,
    facts: NS2Arrays,
    records: Records,
    work: Workspace,
    environment: EnvironmentArrays,
    c: NS2Constants,
) -> float:
    """Rate one match; returns the prediction for its first team and leaves all new s in `work.skill`.

    The prediction is the forecast from the lineup where that is known.  Skills are moved by another, which knows who
    played when: the forecast's error would also move players for what others did later.
    """
    start_newcomers(match, matches, facts, records, c)
    chance = 0.0
    if facts.forecasts[match]:
        chance = forecast(match, matches, facts, records, work, environment, c)
    median = median_length(environment, c.usual_seconds)
    present, bots = fill_time_weights(match, matches, facts, work, median, c.field_share)
    first = predict_match(match, matches, facts, records, work, environment, present, bots, c)
    error = weight_of(match, matches) * (score_of(match, matches) - first)
    members = members_of(match, matches)
    gradient_step(len(members), facts.sign[match], error, work, c)
    scatter_skills(members, records, work, error, matches.started_at[match], c)
    let_go(match, matches, facts, records, c)
    # A match that nobody played says nothing about maps, either.
    if present > 0.0:
        update_environment(match, matches, facts, environment, is_large(present, c))
    return chance if facts.forecasts[match] else first


def rate_matches(
    matches: MatchArrays,
    facts: NS2Arrays,
    records: Records,
    work: Workspace,
    environment: EnvironmentArrays,
    wins: Floats,
    after: Floats,
    c: NS2Constants,
) -> None:
    """Rate match after match; fills `wins` (per team) and `after` (per participant, points)."""
    for match in range(len(matches.started_at)):
        wins[2 * match] = rate_match(match, matches, facts, records, work, environment, c)
        wins[2 * match + 1] = 1.0 - wins[2 * match]
        skills = after[matches.teams[2 * match] : matches.teams[2 * match + 2]]
        for place in range(len(skills)):
            skills[place] = POINTS * work.skill[place]


def weigh_matches(
    matches: MatchArrays,
    facts: NS2Arrays,
    work: Workspace,
    environment: EnvironmentArrays,
    coefficients: Coefficients,
    sizes: Floats,
    bots: Floats,
    c: NS2Constants,
) -> None:
    """Fill `coefficients`, `sizes` (players present) and `bots` (the coefficient of their skill), match after match.

    Time weights are by the median length at each.
    """
    for match in range(len(matches.started_at)):
        median = median_length(environment, c.usual_seconds)
        sizes[match], bots[match] = fill_time_weights(match, matches, facts, work, median, c.field_share)
        first = matches.teams[2 * match]
        for place in range(matches.teams[2 * match + 2] - first):
            coefficients.average[first + place] = work.average[place]
            coefficients.side[first + place] = work.side[place]
            coefficients.commander[first + place] = work.commander[place]
            coefficients.time[first + place] = work.time[place]
        if sizes[match] > 0.0:
            update_environment(match, matches, facts, environment, is_large(sizes[match], c))
