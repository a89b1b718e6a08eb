"""Asks answered by the solver are as good as asks answered by trying everything."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import settings

from equipoise.balancing import answer, match_of
from equipoise.balancing.chances import chance_at_equal_numbers
from equipoise.balancing.means import FEW_WHO_CAME
from equipoise.core.asks import AskMoves, AskSplit, AskSwitch, CacheSplits, Purpose, SwapTerms
from equipoise.core.effects import RecordRound
from equipoise.core.events import MovesSolved, SolveFailed, SplitsCached, SplitSolved, SwitchJudged
from equipoise.core.model import Context, Entry, Mode, PlayerId, Presence, Role, Side, Span, Split
from equipoise.core.participation import participants, recorded
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.ratings import SYSTEMS, create
from equipoise.ratings.system import Match, System
from equipoise.ratings.system import Span as MatchSpan
from tests.core import answerer
from tests.core.scripts import finished, ids, presence
from tests.hosts import player

REASON = Text(Phrase.REASON_ADMIN)
KOTH = Context(Mode.KOTH, "koth_viaduct")


def system_of(ratings: dict[PlayerId, float]) -> System:  # type: ignore[type-arg]
    system = create("synelo")
    for one, rating in ratings.items():
        if not one.startswith("bot:"):
            system.seed(one, rating=rating)
    return system


def random_ask(random: Random) -> tuple[AskSplit, dict[PlayerId, float]]:
    """A small pool with anything in it: waiting players, bots, turns on the bench, uneven sizes."""
    count = random.randint(4, 8)
    humans = [
        Entry(player(number), random.choice((Side.A, Side.B, None)), connected=random.random() * 100)
        for number in range(count)
    ]
    humans = [replace(entry, waiting=entry.side is None) for entry in humans]
    bots = [
        Entry(PlayerId(f"bot:{number}"), random.choice(tuple(Side))) for number in range(random.choice((0, 0, 0, 1, 2)))
    ]
    pool = tuple(humans + bots)
    bench, few_came = random.random() < 0.5, sum(entry.waiting for entry in humans) <= FEW_WHO_CAME
    half = len(pool) // 2
    purpose = random.choice((Purpose.SCRAMBLE, Purpose.EQUAL_SIDES))
    ratings = {entry.id: float(random.choice((1000, random.randint(500, 2500)))) for entry in humans}
    ask = AskSplit(
        purpose,
        1,
        REASON,
        KOTH,
        pool,
        (half, half if bench else len(pool) - half),
        {entry.id: random.randint(0, 2) for entry in humans},
        random.choice((0.0, 0.01, 0.05)),
        frozenset(random.sample([entry.id for entry in humans], random.choice((0, 0, 1)))),
        each_way=random.choice((0, 1, 2)) if purpose is Purpose.SCRAMBLE and few_came else 0,
    )
    return ask, ratings | {entry.id: 1000.0 for entry in bots}


def quality(
    ask: AskSplit, split: Split, ratings: dict[PlayerId, float], on_b: dict[PlayerId, float] | None = None
) -> tuple[int, int, float]:
    """The three numbers that the rules compare splits by: bench cost, moves, difference."""
    bench = sum(ask.bench_cost.get(one, 0) for one in split.bench)
    moves = sum(entry.side is not None and split.side_of(entry.id) is entry.side.other for entry in ask.entries)
    return bench, moves, abs(answerer.difference(split, ratings, on_b))


Skills = dict[PlayerId, float]
NS2 = Context(Mode.NS2, "ns2_veil")
CONTEXTS = (NS2, Context(Mode.ARENA, "arena_well"), KOTH)
SIDE_NAMES = {Mode.NS2: ("marines", "aliens"), Mode.ARENA: ("red", "blu"), Mode.KOTH: ("red", "blu")}
PER_LOG_ODDS = 400.0
"""NS2's points; a side's log-odds are its lead in them, by the number of players."""


def specialists(random: Random, pool: tuple[Entry, ...], plus_side: str) -> tuple[System[Any], Skills, Skills]:
    """A system with players who are better on one side, and their skills on its plus side and on the other.

    In sixteenths of log-odds: nothing is rounded.
    """
    system = create("ns2", plus_side=plus_side)
    plus, minus = {entry.id: 1000.0 for entry in pool}, {entry.id: 1000.0 for entry in pool}
    for entry in pool:
        if not entry.bot:
            rating, offset = 25.0 * random.randint(20, 100), 25.0 * random.randint(-20, 20)
            system.seed(entry.id, rating=rating, offset=offset)
            plus[entry.id], minus[entry.id] = rating + offset, rating - offset
    return system, plus, minus


def somewhere(random: Random, pool: tuple[Entry, ...]) -> tuple[Context, System[Any], Skills, Skills]:
    """A context, a system whose plus side is A or B there, and the skills of all players on A and on B."""
    context = random.choice(CONTEXTS)
    plus_on_a = random.random() < 0.5
    system, plus, minus = specialists(random, pool, SIDE_NAMES[context.mode][not plus_on_a])
    return (context, system, plus, minus) if plus_on_a else (context, system, minus, plus)


def anywhere(random: Random, pool: tuple[Entry, ...]) -> tuple[Context, System[Any], Skills, Skills]:
    """A system that knows no sides."""
    ratings = {entry.id: float(random.choice((1000, random.randint(500, 2500)))) for entry in pool}
    ratings |= {entry.id: 1000.0 for entry in pool if entry.bot}
    return KOTH, system_of(ratings), ratings, ratings


World = Callable[[Random, tuple[Entry, ...]], tuple[Context, System[Any], Skills, Skills]]
with_and_without_sides = pytest.mark.parametrize("world", [anywhere, somewhere])


def logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


@with_and_without_sides
@pytest.mark.parametrize("seed", range(settings.default.max_examples))
def test_a_split_is_as_good_as_the_best_of_all(seed: int, world: World) -> None:
    ask, _ = random_ask(Random(seed))
    context, system, on_a, on_b = world(Random(seed), ask.entries)
    ask = replace(ask, context=context)
    points = answerer.POINTS_PER_CHANCE if world is anywhere else 4 * 2 * max(ask.sizes) * PER_LOG_ODDS

    solved, expected = answer(ask, system), answerer.answer(ask, on_a, on_b, points)

    assert type(solved) is type(expected)
    if isinstance(solved, SplitSolved) and isinstance(expected, SplitSolved):
        assert quality(ask, solved.split, on_a, on_b) == quality(ask, expected.split, on_a, on_b)
        assert solved.difference == answerer.difference(solved.split, on_a, on_b)
        players = len(solved.split.a) + len(solved.split.b)
        per_log_odds = answerer.POINTS_PER_CHANCE / 4 if world is anywhere else players * PER_LOG_ODDS
        assert solved.after is not None
        assert solved.after.chance == pytest.approx(logistic(solved.difference / per_log_odds))


@pytest.mark.parametrize("seed", range(settings.default.max_examples))
def test_swaps_of_sides_that_are_too_uneven_are_as_good_as_the_best_of_all(seed: int) -> None:
    random = Random(seed)
    count = random.choice((4, 6, 7, 10, 12))
    entries = tuple(Entry(player(number), tuple(Side)[number % 2]) for number in range(count))
    ratings = {entry.id: float(random.randint(500, 2500)) for entry in entries}
    stay = frozenset(random.sample([entry.id for entry in entries], random.choice((0, 0, 2))))
    cost = dict.fromkeys(random.sample([entry.id for entry in entries], random.choice((0, 0, 3))), 2)
    terms = SwapTerms((0.42, 0.58), (0.45, 0.55), stay, cost)
    ask = AskSplit(Purpose.TOO_UNEVEN, 1, REASON, KOTH, entries, (count // 2, count - count // 2), {}, 0.0, swaps=terms)
    # The next to join is a newcomer, and goes to the smaller side.
    newcomer = Entry(player(99), Side.B) if count % 2 else None
    whole = (
        replace(ask, entries=(*entries, newcomer), swaps=replace(terms, stay=stay | {player(99)})) if newcomer else ask
    )

    solved, expected = answer(ask, system_of(ratings)), answerer.answer(whole, ratings | {player(99): 1000.0})

    assert isinstance(solved, SplitSolved)
    assert isinstance(expected, SplitSolved)
    assert solved.before is not None
    assert solved.after is not None
    assert expected.after is not None
    moved = [one for one in solved.moved() if one in ratings]
    assert stay.isdisjoint(moved)
    assert sum(cost.get(one, 1) for one in moved) == sum(cost.get(one, 1) for one in expected.moved())
    assert abs(solved.after.chance - 0.5) == pytest.approx(abs(expected.after.chance - 0.5))


@pytest.mark.parametrize(("ahead", "moved"), [(1740.0, 0), (1200.0, 4)])
def test_where_no_swap_makes_sides_even_each_pair_has_to_gain_three_points(ahead: float, moved: int) -> None:
    """Two pairs that gain five points together are not worth their moves; two that gain ten are."""
    entries = tuple(Entry(player(number), tuple(Side)[number % 2]) for number in range(12))
    ratings = {entry.id: 1000.0 + ahead * (entry.side is Side.A) for entry in entries}
    free = [player(number) for number in range(4)]
    ratings |= {id: 1600.0 if number % 2 == 0 else 1000.0 for number, id in enumerate(free)}
    terms = SwapTerms((0.42, 0.58), (0.45, 0.55), frozenset(ratings) - {*free}, {})
    ask = AskSplit(Purpose.TOO_UNEVEN, 1, REASON, KOTH, entries, (6, 6), {}, 0.0, swaps=terms)

    solved = answer(ask, system_of(ratings))

    assert isinstance(solved, SplitSolved)
    assert len(solved.moved()) == moved


def test_where_bots_stand_in_the_way_of_one_side_the_other_is_the_larger_and_of_both_the_answer_says_why() -> None:
    three = tuple(Entry(PlayerId(f"bot:{number}"), Side.B) for number in range(3))
    four = (*three, Entry(PlayerId("bot:3"), Side.B))
    one, other = Entry(player(1), Side.B), Entry(player(2), Side.A)
    ask = AskSplit(Purpose.SCRAMBLE, 1, REASON, KOTH, (one, other, *three), (2, 3), {}, 0.01)
    solved = answer(ask, create("synelo"))
    even = answer(replace(ask, entries=(one, *three), sizes=(2, 2)), create("synelo"))
    uneven = answer(replace(ask, entries=(one, *four)), create("synelo"))

    assert isinstance(solved, SplitSolved)
    assert set(solved.split.a) == {player(1), player(2)}
    assert isinstance(even, SolveFailed)
    assert isinstance(uneven, SolveFailed)
    assert even.reason
    assert uneven.reason


@with_and_without_sides
@pytest.mark.parametrize("larger_side", Side)
@pytest.mark.parametrize("seed", range(settings.default.max_examples // 2))
def test_moves_leave_the_least_difference_and_cost_least_among_equals(
    seed: int, larger_side: Side, world: World
) -> None:
    """A player who crosses counts with the skill of either side."""
    random = Random(seed)
    larger = tuple(player(number) for number in range(7))
    smaller = tuple(player(number) for number in range(10, 13))
    pool = tuple(Entry(one, larger_side) for one in larger) + tuple(Entry(one, larger_side.other) for one in smaller)
    context, system, on_a, on_b = world(random, pool)
    cost = {one: random.randint(0, 3) for one in larger}
    ask = AskMoves(1, context, larger, smaller, larger_side, larger[:6], 2, cost)

    def left(answered: object) -> tuple[float, int]:
        assert isinstance(answered, MovesSolved)
        after = set(larger) - set(answered.players), set(smaller) | set(answered.players)
        a, b = after if larger_side is Side.A else after[::-1]
        gap = sum(on_a[one] for one in a) - sum(on_b[one] for one in b)
        return abs(gap), sum(cost[one] for one in answered.players)

    assert left(answer(ask, system)) == left(answerer.answer(ask, on_a, on_b))


def learned(name: str) -> System:  # type: ignore[type-arg]
    """A system that has rated 40 rounds of 25 players, in which those with a lower number are better."""
    random, system = Random(7), create(name)
    for _ in range(40):
        order = random.sample(range(25), 24)
        sides = tuple(order[:12]), tuple(order[12:])
        ahead = sum(sides[1]) - sum(sides[0]) + random.gauss(0, 60)
        teams = (tuple(map(player, sides[0])), tuple(map(player, sides[1])))
        system.rate(Match(teams=teams, ranks=(0, 1) if ahead > 0 else (1, 0), seconds=900.0, map=KOTH.map, mode="koth"))
    return system


@pytest.mark.parametrize("name", [name for name in SYSTEMS if create(name).live])
def test_one_player_more_is_worth_nothing_to_the_chance_at_equal_numbers_and_skill_is(name: str) -> None:
    strangers, known = create(name), learned(name)
    a, b = tuple(map(player, range(0, 25, 2))), tuple(map(player, range(1, 25, 2)))

    assert chance_at_equal_numbers(strangers, KOTH, a, b) == pytest.approx(0.5, abs=1e-6)
    ahead = chance_at_equal_numbers(known, KOTH, a, b)
    assert chance_at_equal_numbers(known, KOTH, b, a) == pytest.approx(1 - ahead, abs=1e-6)
    best = answer(AskSwitch(1, KOTH, a, b, player(0)), known)
    least = answer(AskSwitch(1, KOTH, a, b, player(24)), known)
    back = answer(AskSwitch(1, KOTH, a[1:], (*b, player(0)), player(0)), known)
    assert isinstance(best, SwitchJudged)
    assert isinstance(least, SwitchJudged)
    assert isinstance(back, SwitchJudged)
    assert best.before == least.before == ahead
    assert best.after < ahead - 0.005
    assert best.after < least.after
    assert (back.before, back.after) == pytest.approx((best.after, best.before), abs=1e-6)


@with_and_without_sides
@pytest.mark.parametrize("bench", [True, False])
@pytest.mark.parametrize("count", [6, 7])
def test_a_cache_holds_the_best_of_every_size_and_without_a_bench_the_uneven_one(
    count: int, bench: bool, world: World
) -> None:
    pool = tuple(Entry(player(number), Side.A) for number in range(count))
    context, system, on_a, on_b = world(Random(count), pool)
    ask = CacheSplits(context, pool, bench)

    solved, expected = answer(ask, system), answerer.answer(ask, on_a, on_b)

    assert isinstance(solved, SplitsCached)
    assert isinstance(expected, SplitsCached)
    differences = [[abs(answerer.difference(one, on_a, on_b)) for one in each.splits] for each in (solved, expected)]
    assert differences[0] == differences[1]
    sizes = [sorted((len(split.a), len(split.b))) for split in solved.splits]
    assert sizes == [[2, 2], [3, 3], *([[3, 4]] if count == 7 and not bench else [])]


def test_who_must_play_is_in_every_cached_split() -> None:
    """The counterexample of docs/solver.md: of these six the best 2 against 2 benches the first."""
    points = (4000.0, 1010.0, 1005.0, 1003.0, 1002.0, 1000.0)
    pool = tuple(Entry(player(number), Side.A) for number in range(6))
    ratings = {entry.id: value for entry, value in zip(pool, points, strict=True)}

    def of_two(must_play: frozenset[PlayerId]) -> float:
        solved = answer(CacheSplits(KOTH, pool, True, must_play), system_of(ratings))
        assert isinstance(solved, SplitsCached)
        return abs(sum(ratings[id] for id in solved.splits[0].a) - sum(ratings[id] for id in solved.splits[0].b))

    assert of_two(frozenset()) == 0
    assert of_two(frozenset({player(0)})) == 2985


# A finished round as rating systems read it.


def record(presences: tuple[Presence, ...], winner: Side | None = Side.A, **fields: object) -> RecordRound:
    text = "".join(one.id for one in presences if one.side is Side.A)
    round = finished("r1", winner, f"{text}|z", presences=(*presences, presence("z", Side.B, 100.0)))
    return recorded(replace(round, **fields), Rules())  # type: ignore[arg-type]


def test_a_match_says_what_fraction_of_the_round_each_played_on_the_side_they_are_rated_for() -> None:
    late = presence("b", Side.A, 25.0)
    switched = presence("c", Side.B, on_a=75.0, on_b=20.0)
    stayed = presence("a", Side.A, 100.4)

    match = match_of(record((stayed, late, switched)))

    assert match is not None
    assert match.fraction_played == {"a": 1.0, "b": 0.25, "c": 0.75, "z": 1.0}
    assert match.teams == (("a", "b", "c"), ("z",))
    for played, seconds, fraction in ((0.25, 0.5, 0.5), (0.0, 0.0, 1.0)):
        short = match_of(record((presence("a", Side.A, played),), seconds=seconds))
        assert short is not None
        assert short.fraction_played["a"] == fraction


def test_a_match_carries_all_that_the_round_tells() -> None:
    quitter = presence("b", Side.A, 25.0, left=True)

    match = match_of(replace(record((presence("a", Side.A, 100.0), quitter)), skill_at_start={ids("a")[0]: 2100.0}))

    assert match is not None
    assert (match.started_at, match.seconds) == (1e9, 100.0)
    assert (match.map, match.mode, match.sides) == ("this map", "koth", ("red", "blu"))
    assert match.lineup == (("a", "b"), ("z",))
    assert match.quits == {"b"}
    assert match.skill_at_start == {"a": 2100.0}


def test_a_match_has_every_span_for_the_team_of_its_side() -> None:
    spans = (Span(Side.B, 0.0, 30.0), Span(Side.A, 30.0, 100.0, Role.COMMANDER))
    switched = replace(presence("a", Side.A, 70.0), seconds_b=30.0, spans=spans)
    match = match_of(record((switched, presence("b", Side.B, 100.0))))
    assert match is not None
    assert match.spans == {switched.id: (MatchSpan(1, 0.0, 30.0), MatchSpan(0, 30.0, 100.0, Role.COMMANDER))}


@pytest.mark.parametrize(("winner", "ranks"), [(Side.A, (0, 1)), (Side.B, (1, 0)), (None, (0, 0))])
def test_the_winner_of_a_match_is_the_winner_of_the_round(winner: Side | None, ranks: tuple[int, int]) -> None:
    match = match_of(record((presence("a", Side.A, 100.0),), winner))
    assert match is not None
    assert tuple(match.ranks) == ranks


def test_a_lineup_with_nobody_on_a_side_is_left_out_and_a_round_that_is_not_rated_makes_no_match() -> None:
    round = finished("r1", Side.A, "a|", presences=(presence("a", Side.A, 100.0), presence("b", Side.B, 50.0)))
    match = match_of(RecordRound(round, participants(round)))
    assert match is not None
    assert match.lineup == ()
    assert match_of(record((presence("a", Side.A, 100.0),), partial=True)) is None
