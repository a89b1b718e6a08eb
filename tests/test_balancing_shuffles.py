"""A shuffle's question is answered as its terms say, by the win probabilities that the system predicts."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Any

import pytest
from hypothesis import settings

from equipoise.balancing import answer, chance, outlook
from equipoise.core.asks import AskChance, AskMoves, AskSide, AskSplit, CacheSplits, Purpose, ShuffleTerms, Wish
from equipoise.core.events import ChanceFound, MovesSolved, SideFound, SolveFailed, SplitsCached, SplitSolved
from equipoise.core.model import Context, Entry, Mode, PlayerId, Side, Split
from equipoise.ratings import create
from equipoise.ratings.system import Match, System
from tests.hosts import player
from tests.test_balancing import REASON

VEIL = Context(Mode.NS2, "ns2_veil")
FAIR = (0.45, 0.55)
BAND = ShuffleTerms(FAIR)


def entries(a: tuple[int, ...], b: tuple[int, ...], none: tuple[int, ...] = ()) -> tuple[Entry, ...]:
    """Players on the sides and in the ready room."""
    sides = ((Side.A, a), (Side.B, b), (None, none))
    return tuple(Entry(player(n), side, waiting=side is None) for side, numbers in sides for n in numbers)


def in_chair(here: tuple[Entry, ...], *numbers: int) -> tuple[Entry, ...]:
    chosen = set(map(player, numbers))
    return tuple(replace(entry, commander=entry.id in chosen) for entry in here)


def ask(here: tuple[Entry, ...], terms: ShuffleTerms | None = BAND, tolerance: float = 0.0) -> AskSplit:
    half = len(here) // 2
    return AskSplit(Purpose.SHUFFLE, 1, REASON, VEIL, here, (half, len(here) - half), {}, tolerance, terms=terms)


def solved(question: AskSplit, system: System[Any]) -> SplitSolved:
    found = answer(question, system)
    assert isinstance(found, SplitSolved), found
    return found


def ns2(ratings: dict[int, float], **params: object) -> System[Any]:
    system = create("ns2", **params)
    for number, rating in ratings.items():
        system.seed(player(number), rating=rating)
    return system


def won_by_marines(system: System[Any], wins: int, losses: int) -> None:
    """Rounds of strangers, from which F is learnt."""
    for number in range(wins + losses):
        teams = tuple((player(1000 + 2 * number + team),) for team in range(2))
        ranks = (0, 1) if number < wins else (1, 0)
        system.rate(Match(teams, ranks, map="ns2_veil", mode="ns2", sides=("marines", "aliens"), seconds=600.0))


def moved(found: SplitSolved) -> list[PlayerId]:
    return [one.id for one in found.ask.entries if one.side and found.split.side_of(one.id) is not one.side]


# Compared with trying everything.


def moves_of(question: AskSplit, split: Split) -> int:
    return sum(split.side_of(one.id) is not one.side for one in question.entries if one.side)


def random_question(random: Random) -> tuple[AskSplit, System[Any]]:
    """Few players with any of it: commanders, bots, ready room, friends, wishes, winners, a map's advantage."""
    numbers = list(range(1, random.randint(4, 8) + 1))
    system = create("ns2", commander_field_share=random.choice((0.0, 0.5)))
    won_by_marines(system, *random.choice(((0, 0), (12, 2), (1, 9))))
    for n in numbers:
        rating, offset = random.randint(200, 4000), random.randint(-300, 300)
        system.seed(player(n), rating=float(rating), offset=float(offset), commander=float(random.randint(200, 4000)))
    here = tuple(Entry(player(n), random.choice((Side.A, Side.B, None))) for n in numbers)
    for side in Side:
        on_side = [entry.id for entry in here if entry.side is side]
        if on_side and random.random() < 0.6:
            here = tuple(replace(entry, commander=entry.commander or entry.id == on_side[0]) for entry in here)
    if random.random() < 0.3:
        here += (Entry(PlayerId("bot:50"), random.choice(tuple(Side))),)
    order = random.sample(numbers, len(numbers))
    width = random.choice((0.01, 0.05, 0.2))
    terms = ShuffleTerms(
        (0.5 - width, 0.5 + width),
        max_moves=random.choice((None, None, 1, 2)),
        moves_count=random.random() < 0.7,
        groups=tuple(frozenset(map(player, group)) for group in (order[:2], order[2:4]) if random.random() < 0.5),
        wishes={player(n): Wish(random.choice(tuple(Side)), random.choice((1, 2, 4))) for n in order[:3]},
        spread_evenly=frozenset(map(player, order[: random.choice((0, 3))])),
    )
    return ask(here, terms), system


def all_splits(question: AskSplit) -> list[Split]:
    """All ways to place as many humans on A as on B, give or take one; commanders and bots stay."""
    here, found = question.entries, []
    for sides in product(*((one.side,) if one.side and (one.commander or one.bot) else Side for one in here)):
        humans = [side for side, one in zip(sides, here, strict=True) if not one.bot]
        if abs(humans.count(Side.A) - humans.count(Side.B)) <= 1:
            on = [tuple(one.id for one, at in zip(here, sides, strict=True) if at is side) for side in Side]
            found.append(Split(*on))
    return found


def win_probability(question: AskSplit, system: System[Any], split: Split) -> float:
    commanders = [entry.id for entry in question.entries if entry.commander]
    return chance(system, question.context, split.a, split.b, commanders)


def score(question: AskSplit, split: Split) -> tuple[int, ...]:
    """What the terms keep least inside the band: winners on one side, parted friends, moves with denied wishes."""
    terms = question.terms
    assert terms is not None
    denied = sum(2 * wish.weight for one, wish in terms.wishes.items() if split.side_of(one) is not wish.side)
    moves = moves_of(question, split) if terms.moves_count else 0
    return crowded(terms, split), parted(terms, split), moves + denied


def price(question: AskSplit, split: Split, chance: float) -> tuple[int, float]:
    """What they keep least where no split is inside it: a move is worth one point of win chance.

    A denied wish is two moves, whatever it weighs, and a parted friend five.
    """
    terms = question.terms
    assert terms is not None
    denied = sum(split.side_of(one) is not wish.side for one, wish in terms.wishes.items())
    moves = moves_of(question, split) if terms.moves_count else 0
    points = 100 * max(terms.fair_band[0] - chance, chance - terms.fair_band[1])
    return crowded(terms, split), points + moves + 2 * denied + 5 * parted(terms, split)


def crowded(terms: ShuffleTerms, split: Split) -> int:
    return max(0, abs(2 * len(terms.spread_evenly & set(split.a)) - len(terms.spread_evenly)) - 1)


def parted(terms: ShuffleTerms, split: Split) -> int:
    on_a = set(split.a)
    return sum(min(len(group & on_a), len(group - on_a)) for group in terms.groups)


@pytest.mark.parametrize("seed", range(settings.default.max_examples))
def test_a_shuffle_is_as_good_as_the_best_of_all(seed: int) -> None:
    check_best(*random_question(Random(seed)))


@pytest.mark.parametrize("seed", [*range(20), 744, 803, 851, 874, 1172])
def test_where_no_split_is_fair_a_move_buys_a_point_of_win_probability(seed: int) -> None:
    question, system = random_question(Random(seed))
    assert question.terms is not None
    check_best(replace(question, terms=replace(question.terms, fair_band=(0.5, 0.5), max_moves=None)), system)


def check_best(question: AskSplit, system: System[Any]) -> None:
    terms = question.terms
    assert terms is not None
    splits = all_splits(question)
    fewest = min(moves_of(question, split) for split in splits)
    if terms.max_moves is not None:
        splits = [one for one in splits if moves_of(question, one) <= max(terms.max_moves, fewest)]
    chances = {split: win_probability(question, system, split) for split in splits}
    low, high = terms.fair_band
    inside = [split for split in splits if low <= chances[split] <= high]

    found = solved(question, system)
    mine = Split(found.split.a, found.split.b)

    assert found.after.chance == pytest.approx(chances[mine])
    if not inside:
        crowd, least = min(price(question, split, each) for split, each in chances.items())
        assert price(question, mine, chances[mine]) == (crowd, pytest.approx(least, abs=0.1))
        return
    best = min(inside, key=lambda split: (score(question, split), abs(chances[split] - 0.5)))
    assert low <= found.after.chance <= high
    assert score(question, mine) == score(question, best)
    assert abs(found.after.chance - 0.5) == pytest.approx(abs(chances[best] - 0.5), abs=0.001)


# The method of the game's author.


def test_the_greedy_method_swaps_the_best_pair_until_no_pair_helps() -> None:
    """By the text: least |difference| after a swap, again and again; commanders keep their side, bots theirs."""
    random = Random(5)
    for _ in range(60):
        count = random.randint(4, 9)
        ratings = {number: float(random.randint(100, 4000)) for number in range(1, count + 1)}
        here = in_chair(entries(tuple(range(1, count // 2 + 1)), tuple(range(count // 2 + 1, count + 1))), 1)
        found = solved(ask(here, ShuffleTerms(FAIR, greedy=True)), ns2(ratings))

        sides = [{n for n in ratings if n <= count // 2}, {n for n in ratings if n > count // 2}]
        # The commander's skill is another one than that of the field, so it counts on neither side.
        skills = {**ratings, 1: 0.0}

        def off(a: set[int], b: set[int], skills: dict[int, float] = skills) -> float:
            return abs(sum(skills[n] for n in a) - sum(skills[n] for n in b))

        while True:
            swaps = [
                ({*sides[0]} ^ {one, other}, {*sides[1]} ^ {one, other}) for one, other in product(*sides) if one != 1
            ]
            best = min(swaps, key=lambda pair: off(*pair))
            if off(*best) >= off(*sides):
                break
            sides = list(best)
        assert off(*({int(id) - int(player(0)) for id in side} for side in (found.split.a, found.split.b))) == off(
            *sides
        )
        assert player(1) in found.split.a


def test_the_greedy_method_first_places_who_is_on_no_side_and_keeps_to_the_most_moves() -> None:
    ratings = {1: 2000.0, 2: 1000.0, 3: 1500.0, 4: 1400.0, 5: 1600.0, 6: 1450.0}
    # Wishes and friends do not count.
    terms = ShuffleTerms(
        FAIR, greedy=True, wishes={player(4): Wish(Side.A, 4)}, groups=(frozenset((player(2), player(5))),)
    )
    found = solved(ask(entries((1, 2), (3,), (4, 5, 6)), terms), ns2(ratings))
    # With 4 on A 4400 against 4550; with 6 4450 against 4500, and every swap of a pair leaves more than 50.
    assert sorted(found.split.a) == [player(n) for n in (1, 2, 6)]
    assert not moved(found)
    ratings = {1: 4000.0, 2: 3500.0, 3: 3000.0, 4: 2500.0, 5: 1000.0, 6: 900.0, 7: 800.0, 8: 750.0}
    for most in (0, 2, 4):
        terms = ShuffleTerms(FAIR, max_moves=most, greedy=True)
        assert len(moved(solved(ask(entries((1, 2, 3, 4), (5, 6, 7, 8)), terms), ns2(ratings)))) == most
        found = solved(ask(entries((1, 2, 3, 4, 5), (6, 7, 8)), terms), ns2(ratings))
        assert len(moved(found)) == {0: 1, 2: 1, 4: 3}[most], "one whom sizes need, and pairs"


# Before the chairs are filled.


@pytest.mark.parametrize("seed", range(4))
def test_whichever_two_likely_commanders_sit_no_other_sides_of_them_are_as_even_for_their_moves(seed: int) -> None:
    random = Random(seed)
    system = create("ns2")
    for number in range(1, 9):
        system.seed(player(number), rating=1000.0, commander=random.gammavariate(6, 200))
    here = entries((1, 2, 3, 4), (5, 6, 7, 8))
    likely = {player(n): (random.randint(1, 5), random.randint(1, 5)) for n in (1, 2, 5, 6)}
    wishes = {player(n): Wish(random.choice(list(Side)), 1) for n in (1, 3, 6, 7)}
    question = ask(here, ShuffleTerms(FAIR, likely=likely, wishes=wishes))
    found = solved(question, system)

    def cost(split: Split) -> float:
        """Points: outside the band, over all pairs who may sit, and one for each move and two for each denied wish."""
        risk = total = 0.0
        for one, two in product(likely, repeat=2):
            if one in split.a and two in split.b:
                weight = likely[one][0] * likely[two][1]
                even = chance(system, VEIL, (one,), (two,), frozenset((one, two)))
                risk, total = risk + weight * max(0.0, 0.45 - even, even - 0.55), total + weight
        toll = moves_of(question, split) + 2 * sum(
            split.side_of(one) is wish.side.other for one, wish in wishes.items()
        )
        return toll + 100 * risk / total if total else math.inf

    placed = {one: found.split.side_of(one) for one in likely}
    costs: dict[tuple[Side | None, ...], float] = {}
    for split in all_splits(replace(question, sizes=(4, 4))):
        key = tuple(split.side_of(one) for one in likely)
        costs[key] = min(costs.get(key, math.inf), cost(split))
    assert costs[tuple(placed.values())] == pytest.approx(min(costs.values()))
    first, second = found.likely
    assert {placed[first], placed[second]} == {*Side}
    assert found.after == outlook(system, VEIL, found.split.a, found.split.b, frozenset(found.likely))


def test_two_likely_commanders_of_one_side_are_parted() -> None:
    likely = dict.fromkeys(map(player, (1, 2)), (1, 1))
    found = solved(ask(entries((1, 2, 3), (4, 5, 6)), ShuffleTerms(FAIR, likely=likely)), create("ns2"))
    assert found.likely == (player(1), player(2))
    assert found.split.side_of(player(1)) is not found.split.side_of(player(2))


@pytest.mark.parametrize(("most", "parted"), [(0, False), (1, False), (2, True), (None, True)])
def test_two_likely_commanders_who_change_places_are_two_moves(most: int | None, parted: bool) -> None:
    """The two strongest stand on one side, the two weakest on the other."""
    system = create("ns2")
    for number, commander in ((1, 3000.0), (2, 3000.0), (5, 1000.0), (6, 1000.0)):
        system.seed(player(number), commander=commander)
    terms = ShuffleTerms(FAIR, max_moves=most, likely=dict.fromkeys(map(player, (1, 2, 5, 6)), (1, 1)))
    found = solved(ask(entries((1, 2, 3, 4), (5, 6, 7, 8)), terms), system)
    sides = {number: found.split.side_of(player(number)) for number in (1, 2, 5, 6)}
    assert [sides[1] is not sides[2], sides[5] is not sides[6]] == [parted, parted]
    assert len(moved(found)) == (2 if parted else 0)


@pytest.mark.parametrize("seed", range(12))
def test_around_likely_commanders_no_more_players_move_than_may_or_than_sizes_need(seed: int) -> None:
    random = Random(seed)
    system = create("ns2")
    for number in range(1, 10):
        system.seed(player(number), rating=random.gammavariate(6, 300), commander=random.gammavariate(6, 200))
    numbers = random.sample(range(1, 10), 9)
    first, second = sorted(random.choices(range(1, 9), k=2))
    here = entries(numbers[:first], numbers[first:second], numbers[second:])
    likely = {player(n): (random.randint(1, 5), random.randint(1, 5)) for n in random.sample(range(1, 10), 4)}
    most = random.randint(0, 5)
    question = ask(here, ShuffleTerms(FAIR, most, likely=likely))
    fewest = min(moves_of(question, split) for split in all_splits(question))
    assert len(moved(solved(question, system))) <= max(most, fewest)


# The band.


@pytest.mark.parametrize(("name", "points"), [("ns2", 6 * 400), ("synelo", 2400)])
def test_at_the_edge_of_the_band_nothing_changes_and_beyond_it_players_move(name: str, points: float) -> None:
    """`points`: the lead that is worth one in log-odds."""
    here, lead = entries((1, 2, 3), (4, 5, 6)), math.floor(points * math.log(0.55 / 0.45))
    system = create(name)
    for number in range(1, 7):
        system.seed(player(number), rating=1500.0)
    system.seed(player(1), rating=1600.0)

    system.seed(player(2), rating=1400.0 + lead)
    inside = solved(ask(here), system)
    system.seed(player(2), rating=1400.0 + lead + 1)
    beyond = solved(ask(here), system)

    assert (inside.difference, moved(inside)) == (lead, [])
    assert inside.after.chance == pytest.approx(0.55, abs=0.001)
    assert beyond.before.chance == pytest.approx(0.55, abs=0.001)
    assert len(moved(beyond)) == 2
    assert beyond.after is not None
    assert 0.45 <= beyond.after.chance <= 0.55


@pytest.mark.parametrize("name", ["synelo", "elo", "glicko2", "trueskill", "teamskill_k", "trueskill2"])
def test_a_pool_of_another_system_is_shuffled_into_the_band_that_it_predicts(name: str) -> None:
    system, here = create(name), in_chair(entries((1, 2, 3, 4, 5, 6), (7, 8, 9, 10, 11, 12)), 1, 7)
    for evening in range(30):
        order = Random(evening).sample(range(1, 13), 12)
        teams = tuple(map(player, order[:6])), tuple(map(player, order[6:]))
        strong = sum(number <= 6 for number in order[:6])
        system.rate(Match(teams, (0, 1) if strong >= 3 else (1, 0), started_at=3600.0 * evening))

    found = solved(ask(here), system)

    assert found.after is not None
    assert 0.45 <= found.after.chance <= 0.55
    assert player(1) in found.split.a
    assert player(7) in found.split.b


@pytest.mark.parametrize("name", ["elo", "glicko2", "trueskill"])
@pytest.mark.parametrize("seed", [*range(8), 25, 57, 59, 68, 71])
def test_where_a_band_is_no_band_of_differences_who_is_inside_stays_and_others_get_there(name: str, seed: int) -> None:
    """Of these systems a win probability is a straight line of the difference near even sides alone."""
    random, system = Random(seed), create(name)
    count, spread, width = random.choice((6, 8)), random.choice((1.0, 3.0)), random.choice((0.02, 0.05, 0.1))
    for number in range(1, count + 1):
        skill = spread * random.gauss(0, 1)
        seeds = {
            "elo": {"rating": 1500 + 150 * skill},
            "trueskill": {"mu": 25 + 3 * skill, "sigma": random.uniform(1, 8)},
        }
        system.seed(player(number), **seeds.get(name, {"rating": 1500 + 150 * skill, "rd": random.uniform(40, 300)}))
    half = count // 2
    here = entries(tuple(range(1, half + 1)), tuple(range(half + 1, count + 1)))
    friends = random.choice(((), (frozenset(entry.id for entry in random.sample(here, 3)),)))
    question = ask(here, ShuffleTerms((0.5 - width, 0.5 + width), groups=friends))
    inside = [split for split in all_splits(question) if abs(win_probability(question, system, split) - 0.5) <= width]
    found = solved(question, system)
    assert found.before is not None
    if abs(found.before.chance - 0.5) <= width and not friends:
        assert not moved(found)
    elif inside:
        assert abs(found.after.chance - 0.5) <= width


# Commanders.


@pytest.mark.parametrize("system", ["ns2", "joint"])
@pytest.mark.parametrize("on", Side)
def test_where_more_than_half_stay_on_one_side_the_other_gets_who_is_left(system: str, on: Side) -> None:
    a, b = ((1, 2, 3, 4), (5, 6)) if on is Side.A else ((5, 6), (1, 2, 3, 4))
    here = tuple(replace(entry, held="duel" if entry.side is on else "") for entry in entries(a, b))
    split = solved(ask(here), create(system)).split
    assert {*split.a} == {*map(player, a)}
    assert {*split.b} == {*map(player, b)}


def test_a_vote_asks_for_the_chance_with_the_commanders_in_their_chairs() -> None:
    system = ns2(dict.fromkeys(range(1, 5), 1000.0), commander_field_share=0.0)
    system.seed(player(1), commander=1800.0)
    a, b = (player(1), player(2)), (player(3), player(4))

    led = answer(AskChance(1, VEIL, a, b, player(2), frozenset({player(1), player(3)})), system)
    alone = answer(AskChance(1, VEIL, a, b, player(2)), system)

    assert isinstance(led, ChanceFound)
    assert isinstance(alone, ChanceFound)
    assert led.outlook.chance == pytest.approx(1 / (1 + math.exp(-1)))
    assert alone.outlook.chance == 0.5


def uneven_map() -> tuple[System[Any], tuple[Entry, ...]]:
    """Eight players, of whom 1 and 5 command, on a map that marines win; 1 commands far better."""
    system = ns2({2: 1500.0, 3: 900.0, 4: 1200.0, 6: 1400.0, 7: 1000.0, 8: 700.0})
    won_by_marines(system, 30, 10)
    system.seed(player(1), commander=1600.0)
    return system, in_chair(entries((1, 2, 3, 4), (5, 6, 7, 8)), 1, 5)


def test_a_cached_split_makes_up_for_the_map_and_for_commanders_who_stay() -> None:
    system, here = uneven_map()

    found = answer(CacheSplits(VEIL, here, False), system)

    assert isinstance(found, SplitsCached)
    largest = found.splits[-1]
    assert {player(1), player(5)}.isdisjoint({*largest.a, *largest.b})
    chairs = frozenset((player(1), player(5)))

    def off(split: Split) -> float:
        return abs(chance(system, VEIL, (player(1), *split.a), (player(5), *split.b), chairs) - 0.5)

    field = [one for one in here if not one.commander]
    threes = [
        Split(a, tuple(one.id for one in field if one.id not in a)) for a in combinations([f.id for f in field], 3)
    ]
    assert off(largest) == pytest.approx(min(map(off, threes)))
    # The most equal sums would leave more.
    assert off(largest) < off(
        min(threes, key=lambda one: abs(sum(map(system.skill, one.a)) - sum(map(system.skill, one.b))))
    )


def test_a_joiner_and_movers_make_up_for_the_map_and_the_commanders() -> None:
    system, here = uneven_map()
    a, b = (tuple(one.id for one in here if one.side is side) for side in Side)
    chairs = frozenset((player(1), player(5)))

    def off(a: tuple[PlayerId, ...], b: tuple[PlayerId, ...]) -> float:
        return abs(chance(system, VEIL, a, b, chairs) - 0.5)

    system.seed(player(9), rating=1800.0)
    joined = answer(AskSide(1, VEIL, a, b, player(9), Side.A, chairs), system)
    larger, smaller = (*a, player(9), player(10)), b
    crossed = answer(AskMoves(1, VEIL, larger, smaller, Side.A, larger[1:], 1, commanders=chairs), system)

    assert isinstance(joined, SideFound)
    assert joined.side is Side.B
    assert isinstance(crossed, MovesSolved)
    after = {one: off(tuple(p for p in larger if p != one), (*smaller, one)) for one in larger[1:]}
    assert after[crossed.players[0]] == pytest.approx(min(after.values()))


def test_a_friend_crosses_where_the_map_would_leave_the_sides_clearly_less_even_without_it() -> None:
    """The friends are equals. By the map they cross; by skill alone the fifth would leave the sides as even."""
    system = ns2(dict.fromkeys(range(1, 8), 1000.0))
    won_by_marines(system, 30, 10)
    marines, aliens = tuple(map(player, (1, 2, 3))), tuple(map(player, (4, 5, 6, 7, 8)))
    # As many points as the map is worth to four against four.
    system.seed(player(8), rating=1000.0 + 8 * 400 * math.log(2))
    found = answer(AskMoves(1, VEIL, aliens, marines, Side.B, aliens, 1, friends=frozenset(aliens[:4])), system)
    assert isinstance(found, MovesSolved)
    assert found.players[0] in aliens[:4]


def test_cached_splits_make_up_for_the_map_where_errors_are_correlated_too() -> None:
    system, here = create("joint", side_spread=0.6), entries((1, 2, 3), (4, 5, 6))
    for entry, rating in zip(here, (1400.0, 1350.0, 1200.0, 1100.0, 1000.0, 900.0), strict=True):
        system.seed(entry.id, rating=rating, deviation=50.0)
    won_by_marines(system, 30, 2)
    found = answer(CacheSplits(VEIL, here, False), system)
    assert isinstance(found, SplitsCached)
    for split in found.splits:
        there = (*split.a, *split.b)
        every = (Split(a, tuple(one for one in there if one not in a)) for a in combinations(there, len(split.a)))
        assert outlook(system, VEIL, split.a, split.b).unevenness == pytest.approx(
            min(outlook(system, VEIL, each.a, each.b).unevenness for each in every), abs=0.002
        )


# Who is there.


def test_friends_and_winners_who_left_and_bots_do_not_matter() -> None:
    here = (*entries((1, 2), (3, 4)), Entry(PlayerId("bot:7"), Side.A))
    terms = ShuffleTerms(
        FAIR,
        groups=(frozenset(map(player, (1, 3, 99))),),
        wishes={player(98): Wish(Side.A, 8)},
        spread_evenly=frozenset(map(player, (97,))),
    )

    found = solved(ask(here, terms), ns2(dict.fromkeys(range(1, 5), 1000.0)))

    humans = [[one for one in side if not one.startswith("bot:")] for side in (found.split.a, found.split.b)]
    assert [len(side) for side in humans] == [2, 2]
    assert PlayerId("bot:7") in found.split.a
    assert (player(1) in found.split.a) == (player(3) in found.split.a)


def test_without_terms_the_evenest_split_is_taken_and_the_answer_has_the_spread_of_both_sides() -> None:
    found = solved(ask(entries((1, 2), (3, 4)), None), ns2({1: 1400.0, 2: 1300.0, 3: 1200.0, 4: 1100.0}))
    assert found.after.chance == 0.5
    stays = solved(ask(entries((1, 2), (3, 4))), ns2({1: 1400.0, 2: 1000.0, 3: 1200.0, 4: 1200.0}))
    assert (stays.spread_before, stays.spread_after) == ((200.0, 0.0), (200.0, 0.0))


@pytest.mark.parametrize(
    ("here", "reason"),
    [
        (entries((1,), ()), "1 players cannot all play 0 against 1"),
        (entries((), ()), "no players"),
        (in_chair(entries((1, 2, 3), ()), 1, 2, 3), "3 players cannot all play 0 against 3"),
    ],
)
def test_a_shuffle_that_cannot_be_is_a_failure_with_its_reason(here: tuple[Entry, ...], reason: str) -> None:
    found = answer(ask(here), ns2({}))

    assert isinstance(found, SolveFailed)
    assert reason in found.reason


# What may be given up.


def test_nobody_moves_where_chairs_are_far_apart_and_a_move_buys_less_than_a_point() -> None:
    """95 to 90 % by seven moves: that is no shuffle worth its moves."""
    system = ns2({number: 1000.0 + 30.0 * (number % 4) for number in range(1, 13)}, commander_field_share=0.0)
    system.seed(player(1), commander=3400.0)
    here = in_chair(entries(tuple(range(1, 7)), tuple(range(7, 13))), 1, 7)

    stay = solved(ask(here), system)
    # Two of them are far better: to have them on the other side buys eleven points.
    system.seed(player(2), rating=2400.0)
    system.seed(player(3), rating=2400.0)
    go = solved(ask(here), system)

    assert not moved(stay)
    assert stay.after.chance > 0.9
    assert stay.chairs == pytest.approx(2400.0)
    assert {player(2), player(3)} <= set(go.split.b)
    assert go.before is not None
    assert go.before.chance - go.after.chance > 0.01 * len(moved(go))


@pytest.mark.slow
def test_where_errors_are_correlated_the_band_is_of_what_is_said_of_the_sides() -> None:
    """What a side is worth is not known well, so some sides are uneven whose players are known to be equal."""
    fair = 0
    for seed in range(40):
        random = Random(seed)
        system = create("joint", side_spread=random.choice((0.2, 0.4, 0.6)))
        for n in range(1, 9):
            system.seed(player(n), rating=1000.0 + random.gauss(0.0, 400.0), deviation=random.choice((50.0, 300.0)))
        teams = tuple(map(player, (1, 2, 3, 4))), tuple(map(player, (5, 6, 7, 8)))
        system.rate(Match(teams, (0, 1), map="ns2_veil", mode="ns2", sides=("marines", "aliens")))
        question = ask(entries((1, 2, 3, 4), (5, 6, 7, 8)), ShuffleTerms((0.4, 0.6)))

        found = solved(question, system)

        by_unevenness = [
            (outlook(system, VEIL, split.a, split.b).unevenness, moves_of(question, split))
            for split in all_splits(question)
        ]
        uneven, moves = outlook(system, VEIL, found.split.a, found.split.b).unevenness, len(moved(found))
        least = min(by_unevenness)[0]
        if least < 0.099:
            fair += 1
            assert uneven < 0.101
            assert moves <= min(moves for unevenness, moves in by_unevenness if unevenness < 0.099)
        elif least > 0.101:
            assert 100 * uneven + moves < min(100 * each + most for each, most in by_unevenness) + 1.5
    assert 10 < fair < 30


@pytest.mark.parametrize(("band", "decides"), [((0.2, 0.8), True), (FAIR, False)])
def test_friends_are_the_cause_where_the_same_shuffle_without_them_would_be_even(
    band: tuple[float, float], decides: bool
) -> None:
    """In a wide band friends stay together; in a narrow one they are parted, as the band comes first."""
    system = ns2({1: 1400.0, 2: 1400.0, 3: 1000.0, 4: 1000.0})
    strong = frozenset((player(1), player(2)))
    here = entries((), (), (1, 2, 3, 4))
    found = solved(ask(here, ShuffleTerms(band, groups=(strong,))), system)
    assert found.friends is decides
    assert (strong <= set(found.split.a) or strong <= set(found.split.b)) is decides
    assert not solved(ask(here, ShuffleTerms(band)), system).friends


def test_the_cached_split_of_all_players_keeps_friends_together_and_the_commanders_where_they_are() -> None:
    """By brute force: of the even splits of the field, that with fewest parted friends."""
    system = ns2({n: 1000.0 + 60.0 * n for n in range(12)})
    here = in_chair(entries((0, 1, 2, 3, 4, 5), (6, 7, 8, 9, 10, 11)), 0, 6)
    together = frozenset(map(player, (8, 9, 10, 11)))
    alone = answer(CacheSplits(VEIL, here, False), system)
    found = answer(CacheSplits(VEIL, here, False, terms=replace(BAND, moves_count=False, groups=(together,))), system)
    assert isinstance(alone, SplitsCached)
    assert isinstance(found, SplitsCached)
    assert found.splits[:-1] == alone.splits[:-1]
    largest = found.splits[-1]
    assert sorted((*largest.a, *largest.b)) == sorted(map(player, (1, 2, 3, 4, 5, 7, 8, 9, 10, 11)))
    assert len(largest.a) == len(largest.b) == 5

    def parted(a: frozenset[PlayerId]) -> int:
        return min(len(together & a), len(together - a))

    def evenness(a: tuple[PlayerId, ...], b: tuple[PlayerId, ...]) -> float:
        chairs = frozenset((player(0), player(6)))
        return chance(system, VEIL, (player(0), *a), (player(6), *b), chairs)

    field = (*largest.a, *largest.b)
    even = [a for a in combinations(field, 5) if 0.45 <= evenness(a, tuple(p for p in field if p not in a)) <= 0.55]
    assert 0.45 <= evenness(largest.a, largest.b) <= 0.55
    assert parted(frozenset(largest.a)) == min(parted(frozenset(a)) for a in even)
    assert parted(frozenset(alone.splits[-1].a)) > parted(frozenset(largest.a))
