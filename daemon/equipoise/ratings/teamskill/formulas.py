"""TeamSkill: teams rated by the groups of players in them (DeLong et al., PAKDD 2011), as a loop over a history.

Every group of k players of a team is a unit that a base system rates as if it were a player.  Its record is per member,
on the scale of one player; so the strength of a team of K is K times the mean of its groups of k.  Three
systems differ in which groups make the prediction: TeamSkill-k takes those of one size (K); TeamSkill-AllK averages all
sizes, either all players and every reliable group (EV) or the largest reliable groups and what is in none (LS).

A match of groups of one size is a match of the base system, and its kernel rates it.  For TrueSkill the groups of a
team overlap, so that a sum would be far too sure of them: mean and variance are scaled (`scale`) to those of K people.

A live system and a replay run the same functions: they list the groups of a team (`group_index`), average those that
count (`average`), predict (`expect_teams`) and update (`rate_groups`).  They differ in where records are: live, an id
finds a group in a dictionary, and a round in a pool of 200 takes a millisecond.  A replay numbers the groups and keeps
their records in one array, 170 times as fast.

`known_skill` and `expect_teams` find the base's own form by the type of its constants; a replay compiles that form.
Formulas and decisions: docs/ratings/teamskill.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from equipoise.ratings.elo.formulas import EloConstants, MatchTerms, win_probability
from equipoise.ratings.elo.formulas import rate_match as elo_rate
from equipoise.ratings.glicko.formulas import GlickoConstants, attenuation, expectation
from equipoise.ratings.glicko.formulas import rate_match as glicko_rate
from equipoise.ratings.parts.compiling import Function, compiled
from equipoise.ratings.parts.match_arrays import Lineup, MatchArrays
from equipoise.ratings.parts.team_order import Teams, expect
from equipoise.ratings.teamskill.group_index import (
    MOST_GROUPS,
    NO_GROUP,
    Choices,
    Numbering,
    Units,
    enter_keys,
    list_groups,
    number_of,
    sort_members,
)
from equipoise.ratings.trueskill.formulas import (
    GaussianAnswers,
    GaussianConstants,
    sum_lineup,
    sum_participants,
    update_participants,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.match_arrays import Ints

    Records: TypeAlias = NDArray[np.void]
    Floats: TypeAlias = NDArray[np.float64]
    Offsets: TypeAlias = NDArray[np.int64]
    Flags: TypeAlias = NDArray[np.bool_]

K, EV, LS = 0, 1, 2
"""The kinds of TeamSkill: -k, -AllK-EV, -AllK-LS."""


class Rule(NamedTuple):
    """Which groups of a team count."""

    kind: int
    """`K`, `EV` or `LS`."""
    reliable: int
    """A group counts after this many matches together."""
    choices: Choices
    covered: Any
    """Shape (2, room), all False between teams: choices of even and odd sizes that are part of a group that counts."""


class Plan(NamedTuple):
    """For m matches, which sizes of groups predict and learn."""

    whole: bool
    """Every lineup is the participants, and no skill at start is known."""
    largest: Offsets
    """Shape (m,): largest size of groups in use; in TeamSkill-k, the size that predicts."""
    rated: Flags
    """Shape (m, sizes + 1): whether groups of a size learn from the match."""
    new: Offsets
    """Shape (m,): upper bound of the number of groups that first play in the match."""


class Spare(NamedTuple):
    """Working arrays of one match; modified in place."""

    matches: NDArray[np.int32]
    """Shape (2,): 0 and the number of teams."""
    wins: Floats
    """Shape (teams,): discarded predictions of sizes that do not predict; `after` likewise, by group."""
    draws: Floats
    """Shape (1,)."""
    after: Floats


class Work(NamedTuple):
    """All arrays that a replay reads and writes; the base's constants are separate."""

    arrays: MatchArrays
    """Players are numbered in the order of their names."""
    terms: MatchTerms
    """Arrays that Elo reads besides `arrays`; empty over the other bases."""
    plan: Plan
    rule: Rule
    numbering: Numbering
    played: Units
    """Groups of the participants of the current match."""
    lineup: Units
    """Groups of its lineups; filled only if the lineups are not the participants."""
    records: Records
    """Shape (g,): the record of every player and group, by number."""
    sides: Teams
    spare: Spare
    answers: GaussianAnswers


def scale(sides: Teams, groups: Ints, people: Ints) -> None:
    """Scale sums over groups to K times their mean and mean variance; both offsets have shape (teams + 1,)."""
    for team in range(len(people) - 1):
        # A team of K has the mean of its groups K times; without groups (fewer players than a group has) it is a team
        # without players.
        many, count = people[team + 1] - people[team], groups[team + 1] - groups[team]
        factor = many / count if count > 0 else 1.0
        sides.mean[team], sides.variance[team] = factor * sides.mean[team], factor * sides.variance[team]
        sides.size[team] = 1.0 * many if count > 0 else 0.0


def predict_groups(at: float, lineup: Lineup, people: Ints, records: Any, sides: Teams, c: GaussianConstants) -> float:
    """Fill `sides.wins` for the lineups of one match, of groups; returns the probability of a draw.

    `people`, shape (teams + 1,): offsets of the lineups' players, as `lineup.starts` are of their groups.
    """
    count = len(people) - 1
    sum_lineup(0, count, at, lineup, records, sides, c)
    scale(sides, lineup.starts, people)
    return expect(sides, count, c.unit)


def rate_groups(
    arrays: MatchArrays, people: Ints, lineup_people: Ints, records: Any, sides: Teams, answers: GaussianAnswers, c: Any
) -> None:
    """Predict and rate the first match, of groups over TrueSkill; modifies their records and fills the answers."""
    answers.draws[0] = predict_groups(arrays.started_at[0], arrays.lineup, lineup_people, records, sides, c)
    sum_participants(0, arrays, records, sides, c)
    scale(sides, arrays.teams, people)
    update_participants(0, arrays, records, sides, answers, c)


def rate_units(
    match: int, arrays: MatchArrays, people: Ints, lineup_people: Ints, work: Work, answers: GaussianAnswers, c: Any
) -> None:
    """Predict and rate one match of units over TrueSkill; fills `answers`, whose draws are of shape (1,)."""
    rate_groups(arrays, people, lineup_people, work.records, work.sides, answers, c)


def elo_units(
    match: int, arrays: MatchArrays, people: Ints, lineup_people: Ints, work: Work, answers: GaussianAnswers, c: Any
) -> None:
    """`rate_units` over Elo."""
    lead, margin = work.terms.lead[match : match + 1], work.terms.margin[match : match + 1]
    own = MatchTerms(lead, margin, work.terms.scores, work.terms.protected)
    elo_rate(0, arrays, own, work.records, answers.wins, answers.after, c)
    answers.draws[0] = 0.0


def glicko_units(
    match: int, arrays: MatchArrays, people: Ints, lineup_people: Ints, work: Work, answers: GaussianAnswers, c: Any
) -> None:
    """`rate_units` over Glicko."""
    glicko_rate(0, arrays, work.records, answers.wins, answers.after, c)
    answers.draws[0] = 0.0


def known_skill(number: int, records: Any, c: Any) -> tuple[float, float]:
    """Mean and variance of a unit after its last match; a newcomer's for a negative number."""
    skill: tuple[float, float] = BASES[type(c)]["known_skill"](number, records, c)
    return skill


def gaussian_known_skill(number: int, records: Any, c: GaussianConstants) -> tuple[float, float]:
    """`known_skill` over TrueSkill."""
    if number < 0:
        return c.mean, c.variance
    return records[number].mu, records[number].variance


def elo_known_skill(number: int, records: Any, c: EloConstants) -> tuple[float, float]:
    """`known_skill` over Elo, which has no variance."""
    return (records[number].rating, 0.0) if number >= 0 else (c.initial, 0.0)


def glicko_known_skill(number: int, records: Any, c: GlickoConstants) -> tuple[float, float]:
    """`known_skill` over Glicko."""
    return (records[number].rating, records[number].variance) if number >= 0 else (c.initial, c.variance)


def expect_teams(count: int, lead: float, sides: Teams, c: Any) -> float:
    """Fill `sides.wins` for teams of equal players with `sides`' mean and variance; returns the draw probability.

    Modifies mean and variance of the sides.  `lead`: Elo points that the sides themselves give the first team.
    """
    draw: float = BASES[type(c)]["expect_teams"](count, lead, sides, c)
    return draw


def gaussian_expect_teams(count: int, lead: float, sides: Teams, c: GaussianConstants) -> float:
    """`expect_teams` over TrueSkill."""
    for team in range(count):
        people = sides.size[team]
        sides.mean[team] *= people
        # As K equal players before a match: each gains τ² and performs with noise β².
        sides.variance[team] = people * (sides.variance[team] + c.tau2 + c.noise)
    return expect(sides, count, c.unit)


def elo_expect_teams(count: int, lead: float, sides: Teams, c: EloConstants) -> float:
    """`expect_teams` over Elo."""
    sides.wins[0] = win_probability(sides.mean[0] - sides.mean[1] + lead, c)
    sides.wins[1] = 1.0 - sides.wins[0]
    return 0.0


def glicko_expect_teams(count: int, lead: float, sides: Teams, c: GlickoConstants) -> float:
    """`expect_teams` over Glicko."""
    doubt = attenuation(sides.variance[0] + sides.variance[1])
    sides.wins[0] = expectation(sides.mean[0] - sides.mean[1], doubt)
    sides.wins[1] = 1.0 - sides.wins[0]
    return 0.0


def average(
    lineup: Units, team: int, largest: int, known: bool, rule: Rule, records: Any, c: Any
) -> tuple[float, float]:
    """Mean and mean variance per member of a team, over the groups that count; the mean of each size m has weight m.

    `lineup` holds the team's groups by their numbers in `records`; `known`: with skills at start.
    """
    choices, cover, parts = rule.choices, rule.covered, rule.choices.parts
    mean = variance = weight = 0.0
    count = lineup.starts[1][team + 1] - lineup.starts[1][team]
    for size in range(min(largest, count), 0, -1):
        numbers, start = lineup.names[size], lineup.starts[size][team]
        own_covered, below, first = cover[size % 2], cover[(size - 1) % 2], choices.parts_at[count][size]
        rows, kept, means, variances = choices.rows[count][size], 0, 0.0, 0.0
        for row in range(rows):
            # Two rows of flags suffice: a size reads its own and marks the size below. Each is cleared as it is read,
            # for the next team.
            number, taken = numbers[start + row], own_covered[row]
            own_covered[row] = False
            # A size with too many groups may be listed because a larger one is built from it; it does not count.
            counts = size == 1 or (rows <= MOST_GROUPS and reliable(number, records, rule))
            if counts and not taken:
                own, spread = known_skill(number, records, c)
                if size == 1 and known and not math.isnan(lineup.facts[1][start + row]):
                    own = lineup.facts[1][start + row]
                kept, means, variances = kept + 1, means + own, variances + spread
            # A group that is part of a larger one passes the mark on, down to its players.
            if rule.kind == LS and size > 1 and (counts or taken):
                for part in range(first + row * size, first + (row + 1) * size):
                    below[parts[part]] = True
        if kept > 0:
            mean, variance = mean + size * means / kept, variance + size * variances / kept
            weight += size
    if weight == 0.0:
        return known_skill(NO_GROUP, records, c)
    return mean / weight, variance / weight


def reliable(number: int, records: Any, rule: Rule) -> bool:
    """Whether a group has played often enough together."""
    return number >= 0 and records[number].rounds >= rule.reliable


def lineup_differs(match: int, whole: bool, arrays: MatchArrays) -> bool:
    """Whether the lineups differ from the participants, in players or order, or a skill at start is known."""
    if whole or len(arrays.lineup.skill_at_start) > 0:
        return not whole
    for team in range(arrays.matches[match], arrays.matches[match + 1]):
        begin, seat = arrays.teams[team], arrays.lineup.starts[team]
        if arrays.teams[team + 1] - begin != arrays.lineup.starts[team + 1] - seat:
            return True
        for place in range(arrays.teams[team + 1] - begin):
            if arrays.members[begin + place] != arrays.lineup.members[seat + place]:
                return True
    return False


def groups_of_size(
    match: int, size: int, arrays: MatchArrays, played: Units, lineup: Units, spare: Spare
) -> MatchArrays:
    """One match as a history of groups of a size; for size 1, a view of the history's arrays.

    Groups have no skill at start.
    """
    first, end = arrays.matches[match], arrays.matches[match + 1]
    ranks, started_at = arrays.ranks[first:end], arrays.started_at[match : match + 1]
    weight = arrays.weight[match : match + 1]
    spare.matches[1] = end - first
    if size == 1:
        lineups = Lineup(arrays.lineup.starts[first : end + 1], arrays.lineup.members, arrays.lineup.skill_at_start)
        return MatchArrays(
            spare.matches,
            arrays.teams[first : end + 1],
            arrays.members,
            ranks,
            started_at,
            lineups,
            arrays.fraction_played,
            weight,
        )
    starts, nothing = lineup.starts[size][: end - first + 1], arrays.lineup.skill_at_start[:0]
    return MatchArrays(
        spare.matches,
        played.starts[size][: end - first + 1],
        played.names[size],
        ranks,
        started_at,
        Lineup(starts, lineup.names[size], nothing),
        played.facts[size] if len(arrays.fraction_played) > 0 else arrays.fraction_played,
        weight,
    )


def make_groups(match: int, work: Work) -> bool:
    """Fill `work.played`, and `work.lineup` if it differs; returns whether it differs."""
    arrays, largest = work.arrays, work.plan.largest[match]
    first, differs = arrays.matches[match], lineup_differs(match, work.plan.whole, arrays)
    for team in range(arrays.matches[match + 1] - first):
        begin, end = arrays.teams[first + team], arrays.teams[first + team + 1]
        sort_members(work.played, team, begin, end, arrays.members, arrays.fraction_played)
        list_groups(
            work.played, team, largest, len(arrays.fraction_played) > 0, True, work.numbering, work.rule.choices
        )
        if differs:
            begin, end = arrays.lineup.starts[first + team], arrays.lineup.starts[first + team + 1]
            sort_members(work.lineup, team, begin, end, arrays.lineup.members, arrays.lineup.skill_at_start)
            list_groups(work.lineup, team, largest, False, False, work.numbering, work.rule.choices)
    return differs


def replay_match(match: int, work: Work, c: Any) -> None:
    """Predict one match and rate it by every size."""
    arrays, plan, sides, answers, spare = work.arrays, work.plan, work.sides, work.answers, work.spare
    first, end = arrays.matches[match], arrays.matches[match + 1]
    differs = make_groups(match, work)
    lineup = work.lineup if differs else work.played
    people, lineup_people = arrays.teams[first : end + 1], arrays.lineup.starts[first : end + 1]
    wins = answers.wins[first:end]
    # TeamSkill-k predicts with the groups that learn, below: one pass does both.
    if work.rule.kind != K:
        has_skills = len(arrays.lineup.skill_at_start) > 0
        for team in range(end - first):
            sides.mean[team], sides.variance[team] = average(
                lineup, team, plan.largest[match], has_skills, work.rule, work.records, c
            )
            sides.size[team] = 1.0 * (lineup_people[team + 1] - lineup_people[team])
        lead = work.terms.lead[match] if len(work.terms.lead) > 0 else 0.0
        answers.draws[match] = expect_teams(end - first, lead, sides, c)
        for team in range(end - first):
            wins[team] = sides.wins[team]
    for size in range(1, plan.largest[match] + 1):
        if plan.rated[match, size]:
            # For -k the sizes ascend, so the last one, which predicts, overwrites what the players' own kernel said.
            own_wins = wins if work.rule.kind == K else spare.wins[: end - first]
            own = GaussianAnswers(own_wins, spare.draws, answers.after if size == 1 else spare.after)
            units = groups_of_size(match, size, arrays, work.played, lineup, spare)
            rate_units(match, units, people, lineup_people, work, own, c)
            if work.rule.kind == K:
                answers.draws[match] = spare.draws[0]


def replay(match: int, work: Work, c: Any) -> int:
    """Rate from a match on, until there is no room for new groups; returns the first match not rated."""
    enter_keys(work.numbering)
    room = len(work.numbering.last)
    # Compiled code cannot grow the arrays; the caller does (`replay._Records.allocate`).
    while match < len(work.arrays.started_at) and work.numbering.counts[0] + work.plan.new[match] <= room:
        replay_match(match, work, c)
        match += 1
    return match


Replay: TypeAlias = Callable[[int, Work, Any], int]


BASES: Final[Mapping[type, Mapping[str, Function]]] = {
    EloConstants: {"rate_units": elo_units, "known_skill": elo_known_skill, "expect_teams": elo_expect_teams},
    GlickoConstants: {
        "rate_units": glicko_units,
        "known_skill": glicko_known_skill,
        "expect_teams": glicko_expect_teams,
    },
    GaussianConstants: {"known_skill": gaussian_known_skill, "expect_teams": gaussian_expect_teams},
}
"""The functions of each base, by the type of its constants; a replay compiles them under these names."""


def build(base: type) -> Replay:
    """Compile `replay` over the base with this type of constants."""
    return compiled(replay, instead={**BASES[base], "name_of": number_of}, _nrt=False)
