"""Between the rules, the rating systems and the solver: answers the session's questions, and turns rounds into matches.

Pure; the service and the laboratory share it. The core knows players and rules but no numbers, a rating system knows
skills, the solver knows numbers and indices only. Here they meet: skills of the present context go into the solver,
its indices come back as players, and a win probability is added to what is announced.

Each question has a function here. A split of a system that knows its means alone is solved in `means`, one of a system
that knows how its errors depend on each other in `covariances`, a shuffle in `shuffle_terms`, swaps between two rounds
in `swaps`; what all of them predict and make even is in `chances`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import pstdev
from typing import Any

from equipoise.balancing import friend_terms
from equipoise.balancing.chances import (
    MEAN_WEIGHT,
    Values,
    chance,
    chance_at_equal_numbers,
    deviation_of,
    even_difference,
    field_skills,
    match_to_even,
    of_one_more,
    on_both_sides,
    on_field,
    outlook,
    skills,
)
from equipoise.balancing.means import best, who_plays
from equipoise.balancing.shuffle_terms import chairs_decide, friends_decide, seated, shuffled
from equipoise.balancing.swaps import evened
from equipoise.core import model as core
from equipoise.core.asks import (
    AskChance,
    AskMoves,
    AskSide,
    AskSplit,
    AskSwitch,
    CacheSplits,
    Purpose,
    ShuffleTerms,
    SwapTerms,
)
from equipoise.core.bench import duel
from equipoise.core.effects import RecordRound
from equipoise.core.events import (
    ChanceFound,
    MovesSolved,
    SideFound,
    SolveFailed,
    SplitsCached,
    SplitSolved,
    SwitchJudged,
)
from equipoise.core.model import (
    NS2_SIDES,
    Context,
    Counts,
    Entry,
    Mode,
    Participant,
    PlayerId,
    PlayerSummary,
    Role,
    Side,
    Split,
    is_even,
)
from equipoise.core.phrases import Phrase, Text
from equipoise.errors import SplitError
from equipoise.ratings.system import Match, SkillContext, Span, System, ranks_of
from equipoise.solver import Assignment, Pin, splits, transfer
from equipoise.solver.splits import MIN_TEAM

__all__ = ["Question", "Solved", "answer", "asked_players", "chance", "match_of", "outlook", "skills", "summaries_on"]

Question = AskSplit | AskMoves | AskSide | AskSwitch | CacheSplits | AskChance
Solved = SplitSolved | MovesSolved | SideFound | SwitchJudged | SplitsCached | ChanceFound | SolveFailed

SPARED = 0.02
"""Win probability that moves may give up so that they part no friends."""
DIGITS = 3
"""Costs that are the same up to here, in points squared, differ by rounding alone."""


def asked_players(ask: Question) -> tuple[PlayerId, ...]:
    """Return the players whose skills a question is answered from."""
    match ask:
        case AskMoves():
            return (*ask.larger, *ask.smaller)
        case AskChance() | AskSwitch():
            return (*ask.a, *ask.b)
        case AskSide():
            return (*ask.a, *ask.b, ask.player)
        case AskSplit() | CacheSplits():
            return tuple(entry.id for entry in ask.entries)


def answer(ask: Question, system: System[Any]) -> Solved:
    """Solve a question with the system's present skills; `SolveFailed` when the constraints allow no answer."""
    try:
        match ask:
            case AskChance():
                return ChanceFound(ask, outlook(system, ask.context, ask.a, ask.b, ask.commanders))
            case AskSide():
                return SideFound(ask, side_of_joiner(ask, system))
            case AskSwitch():
                return SwitchJudged(ask, *judged_switch(ask, system))
            case AskSplit():
                return _split(ask, system)
            case AskMoves():
                return _moves(ask, system)
            case CacheSplits():
                return _cache(ask, system)
    except SplitError as error:
        return SolveFailed(ask, str(error))


def _split(ask: AskSplit, system: System[Any]) -> SplitSolved:
    if ask.swaps is not None:
        return _swapped_split(ask, ask.swaps, system)
    players = [entry.id for entry in ask.entries]
    a, b = (tuple(entry.id for entry in ask.entries if entry.side is side) for side in Side)
    commanders = frozenset(entry.id for entry in ask.entries if entry.commander)
    question = ask
    if ask.purpose is Purpose.SHUFFLE:
        question = seated(ask, system)
        commanders = frozenset(entry.id for entry in question.entries if entry.commander)
        split = shuffled(question, commanders, system)
    elif ask.purpose is Purpose.DUEL:
        # The core's own rule chooses the two (`core.bench`); it needs their skills alone.
        values = on_both_sides(system, ask.context, players)
        split = duel(ask.entries, *(dict(zip(players, side, strict=True)) for side in values))
    else:
        split = _even_split(ask, system)
    before, after = (field_skills(system, ask.context, *sides, commanders) for sides in ((a, b), (split.a, split.b)))
    return SplitSolved(
        ask,
        split,
        difference=sum(after[0]) - sum(after[1]),
        before=outlook(system, ask.context, a, b, commanders) if a and b else None,
        after=outlook(system, ask.context, split.a, split.b, commanders),
        spread_before=_spread(before),
        spread_after=_spread(after),
        friends=ask.purpose is Purpose.SHUFFLE and friends_decide(question, split, commanders, system),
        chairs=chairs_decide(ask, split, commanders, system) if ask.purpose is Purpose.SHUFFLE else 0.0,
        likely=tuple(sorted(commanders)) if question is not ask else (),
    )


def _swapped_split(ask: AskSplit, terms: SwapTerms, system: System[Any]) -> SplitSolved:
    split, before, after = evened(ask, terms, system)
    skills = field_skills(system, ask.context, split.a, split.b, frozenset())
    return SplitSolved(ask, split, sum(skills[0]) - sum(skills[1]), before, after, spread_after=_spread(skills))


def _even_split(ask: AskSplit, system: System[Any]) -> Split:
    # A split is solved without commanders: only a shuffle, NS2's, has them.
    values = on_both_sides(system, ask.context, [entry.id for entry in ask.entries])
    if ask.groups:
        return friend_terms.scrambled(ask, values, system)
    if not system.correlated:
        return _named(best(ask, values, system), ask.entries)
    # numpy is loaded where a system needs it.
    from equipoise.balancing.covariances import playing

    return playing(ask, who_plays(ask, values, system), values, system)


def _spread(sides: Values) -> tuple[float, float] | None:
    return (pstdev(sides[0]), pstdev(sides[1])) if all(sides) else None


def summaries_on(
    system: System[Any],
    context: Context | None,
    summaries: Sequence[PlayerSummary],
    shown: System[Any] | None = None,
) -> tuple[PlayerSummary, ...]:
    """Return the summaries with their players' skills on both sides in a context, if there is one.

    `shown`: the system that rates, if that is not `system`.
    """
    if context is None:
        return tuple(summaries)
    players = [summary.id for summary in summaries]
    on_sides = list(zip(*on_both_sides(system, context, players), strict=True))
    estimates: Sequence[tuple[float, float] | None] = [None] * len(players)
    # What the rating system says is shown beside what the teams are made by, and only where that is another system.
    if shown is not None and shown is not system:
        estimates = list(zip(*on_both_sides(shown, context, players), strict=True))
    chairs: Sequence[tuple[float, float] | None] = [None] * len(players)
    if system.commanders_apart:
        chairs = list(zip(*(skills(system, context, side, players, Role.COMMANDER) for side in Side), strict=True))
    deviations = [summary.deviation for summary in summaries]
    if system.correlated:
        # It depends on mode and map, so no summary holds it. With it known, the session asks which side of a joiner
        # becomes more even.
        where = SkillContext(context.mode.value, context.map)
        deviations = [
            system.deviation(player, where) if uncertainty is None else uncertainty
            for player, uncertainty in zip(players, deviations, strict=True)
        ]
    return tuple(
        replace(summary, side_skills=on, deviation=deviation, rated_skills=by_shown, chair_skills=command)
        for summary, on, deviation, by_shown, command in zip(
            summaries, on_sides, deviations, estimates, chairs, strict=True
        )
    )


def _named(assignment: Assignment, entries: Sequence[Entry]) -> Split:
    groups = (assignment.a, assignment.b, assignment.bench)
    return Split(*(tuple(entries[index].id for index in sorted(group)) for group in groups))


def _moves(ask: AskMoves, system: System[Any]) -> MovesSolved:
    answer = _best_moves(ask, system)
    others = tuple(player for player in ask.movable if player not in ask.friends)
    if ask.friends.isdisjoint(answer.players) or len(others) < ask.count:
        return answer
    without_friends = _best_moves(replace(ask, movable=others), system)
    lost = _uneven_after(ask, without_friends, system) - _uneven_after(ask, answer, system)
    return MovesSolved(ask, without_friends.players) if lost <= SPARED else answer


def _uneven_after(ask: AskMoves, solved: MovesSolved, system: System[Any]) -> float:
    """Return how far the win probability of the sides is from a half after the moves."""
    stay = tuple(player for player in ask.larger if player not in solved.players)
    sides = (stay, (*ask.smaller, *solved.players))
    a, b = sides if ask.larger_side is Side.A else sides[::-1]
    return abs(chance_at_equal_numbers(system, ask.context, a, b, ask.commanders) - 0.5)


def _best_moves(ask: AskMoves, system: System[Any]) -> MovesSolved:
    index_of = {player: index for index, player in enumerate(ask.larger)}
    larger, smaller = ask.larger_side, ask.larger_side.other
    # Also for a correlated system: it starts from the answer by the means.
    exact = transfer(
        on_field(system, ask.context, larger, ask.larger, ask.commanders),
        # What the larger side may be ahead counts for the smaller one.
        [*on_field(system, ask.context, smaller, ask.smaller, ask.commanders), _lead(ask, system)],
        [index_of[player] for player in ask.movable],
        ask.count,
        # How long ago a player was moved, and the like: among moves that leave the sides as even, the least sum wins.
        [ask.cost.get(player, 0) for player in ask.larger],
        larger_there=on_field(system, ask.context, smaller, ask.larger, ask.commanders),
    )
    if system.correlated:
        from equipoise.balancing.covariances import crossing

        return MovesSolved(ask, crossing(ask, exact.moved, system))
    return MovesSolved(ask, tuple(ask.larger[index] for index in exact.moved))


def _lead(ask: AskMoves, system: System[Any]) -> float:
    """Return how far the larger side is ahead where the sides are even after the moves."""
    if ask.context.mode is not Mode.NS2 and not system.compares_means:
        return 0.0
    # Only head counts, who plays, and commanders matter for it, who are never movable.
    movers = ask.movable[: ask.count]
    sides = [player for player in ask.larger if player not in movers], [*ask.smaller, *movers]
    a, b = sides if ask.larger_side is Side.A else sides[::-1]
    even = even_difference(system, ask.context, a, b, ask.commanders)
    return even if ask.larger_side is Side.A else -even


def _cache(ask: CacheSplits, system: System[Any]) -> SplitsCached:
    entries, values = ask.entries, on_both_sides(system, ask.context, [entry.id for entry in ask.entries])
    # A system that knows how errors depend on each other has a target of its own for each size.
    on_field = sum(not entry.commander for entry in entries)
    if ask.context.mode is Mode.NS2 and not system.correlated and on_field >= 2 * MIN_TEAM:
        entries, values = _beside_commanders(ask, system)
    if more := of_one_more(system, [entry.id for entry in entries]):
        values = [value - more for value in values[0]], [value - more for value in values[1]]
    pins = {index: Pin.PLAY for index, entry in enumerate(entries) if entry.id in ask.must_play}
    # Where these splits are but a start, whole points are solved in half the time.
    exact_a, exact_b = (list(map(round, side)) if system.correlated else side for side in values)
    by_size = splits(exact_a, values_b=exact_b, pins=pins, odd_without_bench=not ask.bench)
    # Ascending, with the uneven one last: the script takes the largest that its players fill.
    exact = [by_size[size] for size in sorted(by_size)]
    if by_size.uneven is not None:
        exact.append(by_size.uneven)
    if system.correlated:
        from equipoise.balancing.covariances import every_size

        return SplitsCached(ask, every_size(ask, exact, values, system))
    choices = [_named(assignment, entries) for assignment in exact]
    if ask.terms is not None and choices:
        # Who is held may leave no sides of these sizes: then friends count for nothing.
        with suppress(SplitError):
            choices[-1] = _with_friends(ask, ask.terms, system)
    return SplitsCached(ask, tuple(choices))


def _with_friends(ask: CacheSplits, terms: ShuffleTerms, system: System[Any]) -> Split:
    """Return the split of all players as a shuffle makes it, without the commanders, who stay where they are."""
    commanders = frozenset(entry.id for entry in ask.entries if entry.commander)
    smaller = len(ask.entries) // 2
    sizes = (smaller, len(ask.entries) - smaller)
    reason = Text(Phrase.REASON_ROUND_START)
    question = AskSplit(Purpose.SHUFFLE, 0, reason, ask.context, ask.entries, sizes, {}, 0.0, terms=terms)
    split = shuffled(question, commanders, system)
    a, b = (tuple(player for player in side if player not in commanders) for side in (split.a, split.b))
    return Split(a, b)


def _beside_commanders(ask: CacheSplits, system: System[Any]) -> tuple[tuple[Entry, ...], Values]:
    """Return NS2's players without commanders, who stay, and what each is worth on A and on B.

    The advantages of the map and of one commander over the other grow with the players on the field. Each of these
    bears a part of them, wherever they play, so that sums that are equal are even at every size.
    """
    commanders = frozenset(entry.id for entry in ask.entries if entry.commander)
    others = tuple(entry for entry in ask.entries if entry.id not in commanders)
    a, b = ([entry.id for entry in ask.entries if (entry.side is Side.B) is on_b] for on_b in (False, True))
    part = system.difference_at(0.5, match_to_even(ask.context, a, b, commanders)) / len(others)
    on_a, on_b = on_both_sides(system, ask.context, [entry.id for entry in others])
    return others, ([value - part for value in on_a], [value + part for value in on_b])


def side_of_joiner(ask: AskSide, system: System[Any]) -> Side:
    """Return the side on which a joiner leaves the least cost; of two that cost as little the one they want.

    The side of their friends comes first, where the sides stay even with them there.
    """
    if ask.friends is not None:
        a, b = ((*ask.a, ask.player), ask.b) if ask.friends is Side.A else (ask.a, (*ask.b, ask.player))
        if is_even(chance_at_equal_numbers(system, ask.context, a, b, ask.commanders)):
            return ask.friends

    def order(side: Side) -> tuple[float, bool]:
        a, b = ((*ask.a, ask.player), ask.b) if side is Side.A else (ask.a, (*ask.b, ask.player))
        on_a, on_b = field_skills(system, ask.context, a, b, ask.commanders)
        lead = sum(on_a) - sum(on_b) - even_difference(system, ask.context, a, b, ask.commanders)
        # Independent errors add as much on either side.
        variance = _variance(match_to_even(ask.context, a, b, ask.commanders), system) if system.correlated else 0.0
        return round(MEAN_WEIGHT * lead**2 + variance, DIGITS), side is not ask.wanted

    return min(Side, key=order)


def _variance(match: Match, system: System[Any]) -> float:
    """Return the variance of the difference of the sides, in points squared."""
    deviation = deviation_of(system, match)
    # From log-odds back to points, the inverse of `deviation_of`.
    return 0.0 if deviation is None else (deviation * system.gap(1.0, max(map(len, match.teams))) / 4) ** 2


def judged_switch(ask: AskSwitch, system: System[Any]) -> tuple[float, float]:
    """Return the win probability of side A at equal numbers if the player stays, and if they (and a partner) cross."""
    crossers = {ask.player, ask.partner}
    a, b = (tuple(player for player in side if player not in crossers) for side in (ask.a, ask.b))
    from_a, from_b = (tuple(player for player in side if player in crossers) for side in (ask.a, ask.b))
    # A player who changes side leaves the chair, so only the second prediction is without it.
    sides, commanders = ((*a, *from_b), (*b, *from_a)), ask.commanders - crossers
    return (
        chance_at_equal_numbers(system, ask.context, ask.a, ask.b, ask.commanders),
        chance_at_equal_numbers(system, ask.context, *sides, commanders),
    )


def match_of(record: RecordRound) -> Match | None:
    """Return a finished round as rating systems read it; None when it is not to be rated.

    A lineup with an empty side is left out: systems that predict from it then use the teams.
    """
    fact = record.round
    if not record.participants:
        return None
    lineup = (fact.lineup_of(Side.A), fact.lineup_of(Side.B))
    leavers = {presence.id for presence in fact.presences if presence.left}
    return Match(
        teams=(_team(record.participants, Side.A), _team(record.participants, Side.B)),
        ranks=ranks_of(fact.score(Side.A)),
        # As in the daemon's predictions: those who were there when it went live, not all who took part.
        lineup=lineup if all(lineup) else (),
        # None if the daemon did not see the round go live: then the present skills are taken.
        skill_at_start=record.skill_at_start or {},
        started_at=fact.started_at,
        seconds=fact.seconds,
        fraction_played={player.id: _fraction_played(player, fact.seconds) for player in record.participants},
        spans={player.id: tuple(map(_span, player.spans)) for player in record.participants if player.spans},
        bots=tuple(map(_span, fact.bots)),
        squads=fact.squads,
        counts={player.id: _counts(player) for player in record.participants if player.counts},
        quits=frozenset(player.id for player in record.participants if player.id in leavers),
        map=fact.map,
        mode=fact.mode.value,
        sides=fact.mode.sides,
    )


def _team(participants: Sequence[Participant], side: Side) -> tuple[PlayerId, ...]:
    return tuple(player.id for player in participants if player.side is side)


def _span(span: core.Span) -> Span:
    """Return a span by its place among the match's teams, which are the sides in their order."""
    return Span(int(span.side is Side.B), span.start, span.end, span.role)


def _counts(participant: Participant) -> Counts:
    """Return a player's counts; in NS2 with the seconds in each role for classes: no one kills from the chair."""
    counts = participant.counts or Counts()
    if not participant.spans or counts.classes:
        return counts
    seconds: dict[str, float] = {}
    for span in participant.spans:
        name = NS2_SIDES[span.side is Side.B] if span.role is Role.FIELD else span.role.value
        seconds[name] = seconds.get(name, 0.0) + span.end - span.start
    return replace(counts, classes=seconds)


def _fraction_played(participant: Participant, seconds: float) -> float:
    """Return the time on the rated side as a part of the round, at most 1."""
    time_on_side = participant.seconds_a if participant.side is Side.A else participant.seconds_b
    # Scripts' clocks may run past the round's end.
    return min(1.0, time_on_side / seconds) if seconds > 0 else 1.0
