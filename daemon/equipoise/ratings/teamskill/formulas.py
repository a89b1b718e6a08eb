"""TeamSkill's replay: match by match, every size's groups by the kernel of the base, and what they predict of teams.

The functions of a base stand here under one name each: as they are for TrueSkill, and `elo_…`, `glicko_…` to be put in
their place.  Formulas: docs/ratings/teamskill.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from equipoise.ratings.elo.formulas import Facts, win_probability
from equipoise.ratings.elo.formulas import Rounds as EloRounds
from equipoise.ratings.elo.formulas import replay_teams as elo_teams
from equipoise.ratings.glicko import formulas as glicko_kernel
from equipoise.ratings.glicko.arrays import Rounds as GlickoRounds
from equipoise.ratings.glicko.formulas import attenuation, expectation
from equipoise.ratings.glicko.formulas import rate as glicko_rate
from equipoise.ratings.parts import gaussian_formulas as belief_kernel
from equipoise.ratings.parts.compiling import Function, compiled, reachable
from equipoise.ratings.parts.gaussian_formulas import expected_of, played_of, shown, update
from equipoise.ratings.parts.team_order import Teams, expect, learn
from equipoise.ratings.teamskill import group_index as groups_kernel
from equipoise.ratings.teamskill.group_index import Choices, Numbering, Units, group, line_up, seat
from equipoise.ratings.teamskill.groups import MOST_GROUPS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.gaussian_formulas import Answers, Rounds

    Records: TypeAlias = NDArray[np.void]
    Floats: TypeAlias = NDArray[np.float64]
    Numbers: TypeAlias = NDArray[np.int32]
    Offsets: TypeAlias = NDArray[np.int64]
    Flags: TypeAlias = NDArray[np.bool_]

K, EV, LS = 0, 1, 2
"""Which TeamSkill; `Plan.kind`."""


class Plan(NamedTuple):
    """What each of m matches asks of which groups."""

    kind: int
    reliable: int
    """Matches together from which a group counts."""
    largest: Offsets
    """Shape (m,): size of the largest groups that are looked at; those that predict TeamSkill-k."""
    rated: Flags
    """Shape (m, sizes + 1): which sizes learn."""
    new: Offsets
    """Shape (m,): groups that the match may be the first to see, at most."""


class Board(NamedTuple):
    """One match of groups of one size, as a `History` has it."""

    ranks: Numbers
    started_at: Floats
    """Shape (1,)."""
    teams: Offsets
    members: Numbers
    fraction_played: Floats
    lineup: Offsets
    lineup_members: Numbers
    skill_at_start: Floats
    people: Offsets
    """As `teams`, of players."""
    predicted_lineup: Offsets
    """As `lineup`, of players."""


class Spare(NamedTuple):
    """Room for what nobody asks about one match, and for what counts in one team."""

    wins: Floats
    after: Floats
    covered: Flags
    """Shape (2, room), all False between teams: choices of even and odd sizes that are part of a group that counts."""


class Work(NamedTuple):
    """All that a replay reads and writes, but for the base's constants."""

    rounds: Rounds
    facts: Facts
    plan: Plan
    numbering: Numbering
    choices: Choices
    played: Units
    """Of the match at hand, as is `at_live`."""
    at_live: Units
    """Filled where others stood there than played."""
    records: Records
    """Of every unit, by its number."""
    room: Teams
    spare: Spare
    answers: Answers


def scale(room: Teams, team: int, mean: float, variance: float, groups: int, people: int) -> None:
    """A team of groups is so many times their mean as it has people, in variance too."""
    side_skills = people / groups if groups > 0 else 1.0
    room.mean[team], room.variance[team] = side_skills * mean, side_skills * variance
    room.size[team] = 1.0 * people if groups > 0 else 0.0


def rate_units(
    match: int, board: Board, facts: Facts, records: Records, room: Teams, wins: Floats, after: Floats, c: Any
) -> float:
    """Predict and rate one match of groups; fills `wins` and `after`, returns the chance of a draw."""
    (
        ranks,
        started_at,
        teams,
        members,
        fraction_played,
        lineup,
        lineup_members,
        skill_at_start,
        people,
        predicted_lineup,
    ) = board
    count, at = len(ranks), started_at[0]
    for team in range(count):
        begin, end = lineup[team], lineup[team + 1]
        mean, variance = expected_of(begin, end, lineup_members, skill_at_start, records, at, c)
        scale(room, team, mean, variance, end - begin, predicted_lineup[team + 1] - predicted_lineup[team])
    draw = expect(room, count, c.unit)
    for team in range(count):
        wins[team] = room.wins[team]
        begin, end = teams[team], teams[team + 1]
        mean, variance = played_of(begin, end, members, fraction_played, records, at, c)
        scale(room, team, mean, variance, end - begin, people[team + 1] - people[team])
    learn(room, ranks, 0, count, c.unit)
    for team in range(count):
        for place in range(teams[team], teams[team + 1]):
            p = records[members[place]]
            part = fraction_played[place] if len(fraction_played) > 0 else 1.0
            update(p, room.slope[team], room.curvature[team], part, at, c)
            after[place] = shown(p, c)
    return draw


def elo_units(
    match: int, board: Board, facts: Facts, records: Records, room: Teams, wins: Floats, after: Floats, c: Any
) -> float:
    """`rate_units` over Elo."""
    ranks, started_at, teams, members, fraction_played, lineup, lineup_members, skill_at_start, _, _ = board
    lead, weight, margin = (
        facts.lead[match : match + 1],
        facts.weight[match : match + 1],
        facts.margin[match : match + 1],
    )
    known = Facts(lead, weight, margin, facts.scores, facts.protected, fraction_played)
    elo_teams(
        EloRounds(teams, members, ranks, started_at, lineup, lineup_members, skill_at_start),
        known,
        records,
        wins,
        after,
        c,
    )
    return 0.0


def glicko_units(
    match: int, board: Board, facts: Facts, records: Records, room: Teams, wins: Floats, after: Floats, c: Any
) -> float:
    """`rate_units` over Glicko."""
    ranks, started_at, teams, members, fraction_played, lineup, lineup_members, skill_at_start, _, _ = board
    weight = facts.weight[match : match + 1]
    units: Any = members
    rounds = GlickoRounds(
        teams, units, ranks, started_at, lineup, lineup_members, skill_at_start, weight, fraction_played
    )
    glicko_rate(0, rounds, records, wins, after, c)
    return 0.0


def believed(number: int, records: Records, c: Any) -> tuple[float, float]:
    """Mean and variance of a unit after its last match; below 0 it is a newcomer."""
    if number < 0:
        return c.mean, c.variance
    return records[number].mu, records[number].variance


def elo_believed(number: int, records: Records, c: Any) -> tuple[float, float]:
    """`believed` over Elo, which knows no variance."""
    return (records[number].rating, 0.0) if number >= 0 else (c.initial, 0.0)


def glicko_believed(number: int, records: Records, c: Any) -> tuple[float, float]:
    """`believed` over Glicko."""
    return (records[number].rating, records[number].variance) if number >= 0 else (c.initial, c.variance)


def expect_teams(match: int, count: int, facts: Facts, room: Teams, wins: Floats, c: Any) -> float:
    """What is expected of teams of equal newcomers with the mean and variance in the room; as `rate_units`."""
    for team in range(count):
        people = room.size[team]
        room.mean[team] *= people
        room.variance[team] = people * (room.variance[team] + c.tau2 + c.noise)
    draw = expect(room, count, c.unit)
    for team in range(count):
        wins[team] = room.wins[team]
    return draw


def elo_expect(match: int, count: int, facts: Facts, room: Teams, wins: Floats, c: Any) -> float:
    """`expect_teams` over Elo."""
    lead = facts.lead[match] if len(facts.lead) > 0 else 0.0
    wins[0] = win_probability(room.mean[0] - room.mean[1] + lead, c)
    wins[1] = 1.0 - wins[0]
    return 0.0


def glicko_expect(match: int, count: int, facts: Facts, room: Teams, wins: Floats, c: Any) -> float:
    """`expect_teams` over Glicko."""
    wins[0] = expectation(room.mean[0] - room.mean[1], attenuation(room.variance[0] + room.variance[1]))
    wins[1] = 1.0 - wins[0]
    return 0.0


def average(seats: Units, team: int, largest: int, work: Work, c: Any) -> tuple[float, float]:
    """Per member of a team, over the groups that count: mean, and mean variance; each size m weighs m times."""
    plan, choices, covered = work.plan, work.choices, work.spare.covered
    stood = len(work.rounds.skill_at_start) > 0
    mean = variance = weight = 0.0
    count = seats.starts[1, team + 1] - seats.starts[1, team]
    for size in range(min(largest, count), 0, -1):
        rows, here, parts = choices.rows[count, size], seats.starts[size, team], choices.parts_at[count, size]
        kept, means, variances = 0, 0.0, 0.0
        for row in range(rows):
            number, taken = seats.numbers[size, here + row], covered[size % 2, row]
            covered[size % 2, row] = False
            counts = size == 1 or (rows <= MOST_GROUPS and reliable(number, work.records, plan))
            if counts and not taken:
                own, spread = believed(number, work.records, c)
                if size == 1 and stood and not math.isnan(seats.facts[1, here + row]):
                    own = seats.facts[1, here + row]
                kept, means, variances = kept + 1, means + own, variances + spread
            if plan.kind == LS and size > 1 and (counts or taken):
                for part in range(parts + row * size, parts + (row + 1) * size):
                    covered[(size - 1) % 2, choices.parts[part]] = True
        if kept > 0:
            mean, variance = mean + size * means / kept, variance + size * variances / kept
            weight += size
    if weight == 0.0:
        return believed(-1, work.records, c)
    return mean / weight, variance / weight


def reliable(number: int, records: Records, plan: Plan) -> bool:
    """Whether a group has played often enough together."""
    return number >= 0 and records[number].rounds >= plan.reliable


def apart(match: int, rounds: Rounds) -> bool:
    """Whether anything else stood at the doors than the teams as they are."""
    if not rounds.apart or len(rounds.skill_at_start) > 0:
        return bool(rounds.apart)
    for team in range(rounds.matches[match], rounds.matches[match + 1]):
        begin, door = rounds.teams[team], rounds.lineup[team]
        if rounds.teams[team + 1] - begin != rounds.lineup[team + 1] - door:
            return True
        for place in range(rounds.teams[team + 1] - begin):
            if rounds.members[begin + place] != rounds.lineup_members[door + place]:
                return True
    return False


def board_of(match: int, size: int, rounds: Rounds, played: Units, seats: Units) -> Board:
    """The match as one of groups; players are as the history has them, groups have no standing."""
    first, end = rounds.matches[match], rounds.matches[match + 1]
    ranks, started_at = rounds.ranks[first:end], rounds.started_at[match : match + 1]
    people, predicted_lineup = rounds.teams[first : end + 1], rounds.lineup[first : end + 1]
    if size == 1:
        members, fraction_played, lineup_members, skill_at_start = (
            rounds.members,
            rounds.fraction_played,
            rounds.lineup_members,
            rounds.skill_at_start,
        )
        return Board(
            ranks,
            started_at,
            people,
            members,
            fraction_played,
            predicted_lineup,
            lineup_members,
            skill_at_start,
            people,
            predicted_lineup,
        )
    teams, lineup = played.starts[size][: end - first + 1], seats.starts[size][: end - first + 1]
    members, lineup_members, skill_at_start = played.numbers[size], seats.numbers[size], rounds.skill_at_start[:0]
    fraction_played = played.facts[size] if len(rounds.fraction_played) > 0 else rounds.fraction_played
    return Board(
        ranks,
        started_at,
        teams,
        members,
        fraction_played,
        lineup,
        lineup_members,
        skill_at_start,
        people,
        predicted_lineup,
    )


def make_groups(match: int, work: Work) -> bool:
    """Fill `played` and, where it differs (the answer), `at_live`."""
    rounds, largest = work.rounds, work.plan.largest[match]
    first, differs = rounds.matches[match], apart(match, rounds)
    for team in range(rounds.matches[match + 1] - first):
        begin, end = rounds.teams[first + team], rounds.teams[first + team + 1]
        line_up(work.played, team, begin, end, rounds.members, rounds.fraction_played)
        group(work.played, team, largest, len(rounds.fraction_played) > 0, True, work.numbering, work.choices)
        if differs:
            begin, end = rounds.lineup[first + team], rounds.lineup[first + team + 1]
            line_up(work.at_live, team, begin, end, rounds.lineup_members, rounds.skill_at_start)
            group(work.at_live, team, largest, False, False, work.numbering, work.choices)
    return differs


def replay_match(match: int, work: Work, c: Any) -> None:
    """Predict one match and rate it by every size."""
    rounds, plan, room, answers = work.rounds, work.plan, work.room, work.answers
    first, count = rounds.matches[match], rounds.matches[match + 1] - rounds.matches[match]
    differs = make_groups(match, work)
    seats = work.at_live if differs else work.played
    wins = answers.wins[first : first + count]
    if plan.kind != K:
        for team in range(count):
            room.mean[team], room.variance[team] = average(seats, team, plan.largest[match], work, c)
            room.size[team] = 1.0 * (rounds.lineup[first + team + 1] - rounds.lineup[first + team])
        answers.draws[match] = expect_teams(match, count, work.facts, room, wins, c)
    for size in range(1, plan.largest[match] + 1):
        if plan.rated[match, size]:
            told = wins if plan.kind == K else work.spare.wins[:count]
            after = answers.after if size == 1 else work.spare.after
            board = board_of(match, size, rounds, work.played, seats)
            draw = rate_units(match, board, work.facts, work.records, room, told, after, c)
            if plan.kind == K:
                answers.draws[match] = draw


def replay(match: int, work: Work, c: Any) -> int:
    """From a match on, as far as there is room for new groups; returns the first that is not rated."""
    seat(work.numbering)
    room = len(work.numbering.last)
    while match < len(work.rounds.started_at) and work.numbering.counts[0] + work.plan.new[match] <= room:
        replay_match(match, work, c)
        match += 1
    return match


Replay: TypeAlias = Callable[[int, Work, Any], int]


_OVER: dict[str, dict[str, Function]] = {
    "trueskill": {"drift": belief_kernel.steady},
    "elo": {"rate_units": elo_units, "believed": elo_believed, "expect_teams": elo_expect},
    "glicko": {"rate_units": glicko_units, "believed": glicko_believed, "expect_teams": glicko_expect},
}
"""What stands under which name."""

_ARITHMETIC: dict[str, Function] = {"elo": elo_teams, "glicko": glicko_rate}
"""What takes arrays and runs for every group: all that it calls is inlined."""


def build(base: str) -> Replay:
    """`replay` over a base, compiled."""
    inline: list[Function] = [*groups_kernel.INLINE, scale, believed, reliable, *belief_kernel.INLINE]
    if base in _ARITHMETIC:
        inline += reachable(cast(FunctionType, _ARITHMETIC[base]))[0].values()
    return compiled(replay, inline=inline, called=glicko_kernel.CALLED, instead=_OVER[base])
