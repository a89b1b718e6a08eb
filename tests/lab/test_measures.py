"""What a simulation measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, permutations
from random import Random
from statistics import fmean

import pytest

from equipoise.core.model import PlayerId
from equipoise.lab.simulation.measures import (
    Again,
    BenchTurns,
    Point,
    RatedRound,
    Together,
    bench_sharing,
    groups,
    order,
    overconfidence,
    ranks,
    spearman,
)
from equipoise.lab.simulation.population import Kind, Person


def by_hand(rounds: Sequence[tuple[str, str]]) -> float:
    """Every ordered two of the rounds, every pair of players on one side in the first who both play in the second."""
    met = [
        any({one, other} <= set(side) for side in second)
        for first, second in permutations(rounds, 2)
        for side in first
        for one, other in combinations(side, 2)
        if {one, other} <= {*second[0], *second[1]}
    ]
    return fmean(met)


def test_the_same_teams_again_are_counted_over_all_pairs_of_rounds() -> None:
    rng, drawn, together = Random(1), list[tuple[str, str]](), Together()
    for _ in range(12):
        players = rng.sample("abcdefghij", 8)
        drawn.append(("".join(players[:4]), "".join(players[4:])))
        together.count(*drawn[-1])
    found = together.again()
    assert found is not None
    assert found.share == pytest.approx(by_hand(drawn))


def test_random_teams_are_the_same_again_as_often_as_chance_has_it() -> None:
    rng, together, players = Random(1), Together(), list("abcdefghijklmnop")
    for _ in range(600):
        rng.shuffle(players)
        together.count(players[:5], players[5:10])
    found = together.again()
    assert found is not None
    assert found.chance == pytest.approx(20 / 45)
    assert found.share == pytest.approx(found.chance, abs=0.005)


def test_players_who_never_met_twice_are_not_compared() -> None:
    together = Together()
    together.count("ab", "cd")
    together.count("ac", "")
    together.count("e", "f")
    assert together.again() == Again(share=0.0, chance=0.5)
    alone = Together()
    alone.count("a", "b")
    alone.count("a", "b")
    assert alone.again() is None


def people(*skills: float) -> list[Person]:
    return [Person(PlayerId(f"p{number}"), skill) for number, skill in enumerate(skills)]


def test_ranks_share_ties() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [2.5, 0.0, 2.5, 1.0]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 2, 3], [10, 20, 90], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8),
        ([1, 2, 3, 40], [0.1, 0.2, 0.3, 0.31], 1.0),
        ([1, 1], [1, 2], 0.0),
    ],
)
def test_spearman_is_that_of_the_textbook(one: list[float], other: list[float], expected: float) -> None:
    """Without ties 1 - 6 Σ d² / (n (n² - 1))."""
    assert spearman(one, other) == pytest.approx(expected)


def played(predicted: float, score: float) -> RatedRound:
    return RatedRound(predicted, score, true=0.5, random=0.5)


def test_overconfidence_is_the_expected_minus_the_actual_score_of_favourites() -> None:
    rounds = [played(0.8, 1.0), played(0.8, 0.0), played(0.3, 1.0), played(0.3, 0.5), played(0.5, 1.0)]
    found = overconfidence(rounds)
    assert found is not None
    assert found.value == pytest.approx((0.8 + 0.8 + 0.7 + 0.7) / 4 - (1.0 + 0.0 + 0.0 + 0.5) / 4)
    errors = [-0.2, 0.8, 0.7, 0.2]
    deviation = sum((error - found.value) ** 2 for error in errors) / 3
    assert found.error == pytest.approx(math.sqrt(deviation / 4))


def test_even_predictions_have_no_favourite() -> None:
    assert overconfidence([played(0.5, 1.0), played(0.5, 0.0)]) is None
    assert overconfidence([]) is None


def looks(*found: float) -> list[Point]:
    """One every 10 rounds."""
    return [
        Point(10 * number, value, 0.25, 0.7, None, favourite=0.5, random=0.5) for number, value in enumerate(found, 1)
    ]


@pytest.mark.parametrize(
    ("found", "end", "after"),
    [
        ((0.1, 0.4, 0.6, 0.73, 0.75, 0.8, 0.8, 0.8), 0.8, 40),
        ((0.1, 0.9, 0.3, 0.5, 0.75, 0.8, 0.8, 0.8), 0.8, 50),  # a lucky look
        ((0.1, 0.4, 0.8, 0.7, 0.8, 0.7, 0.8, 0.8), 0.8, 30),  # one that is missed later on
        ((0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8), 0.8, 10),
        ((0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.8), 0.4, None),
        ((0.1, 0.1, 0.1, 0.1, 0.1, 0.1, -0.1, -0.1), -0.1, None),
        ((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 0.0, None),
        ((0.8,), 0.8, None),
        ((), None, None),
    ],
)
def test_the_order_is_found_when_it_is_nearly_that_of_the_last_quarter_and_stays(
    found: tuple[float, ...], end: float | None, after: int | None
) -> None:
    assert order(looks(*found), 10 * len(found)) == (end if end is None else pytest.approx(end), after)


def test_the_bench_is_counted_over_those_who_stayed() -> None:
    turns = BenchTurns()
    ann, bob, cid = (PlayerId(name) for name in ("ann", "bob", "cid"))
    turns.count([ann, bob, cid], [ann])
    turns.count([ann, bob], [ann])
    found = bench_sharing([turns])
    assert found is not None
    assert (found.share, found.apart) == (pytest.approx(2 / 5), 2)
    assert bench_sharing([BenchTurns()]) is None


def test_rounds_of_throwers_are_counted_apart() -> None:
    one, other = people(0.1, 0.2)
    one.kind = other.kind = Kind.THROWER
    one.rounds, one.won, one.thrown, one.thrown_won = 10, 6.0, 4, 1.0
    other.rounds, other.won, other.thrown, other.thrown_won = 5, 2.5, 1, 0.5
    (group,) = groups([one, other], [1.0, 2.0])
    assert group.won == pytest.approx(8.5 / 15)
    assert (group.won_honestly, group.won_thrown) == (pytest.approx(7 / 10), pytest.approx(1.5 / 5))
    one.thrown, one.thrown_won, other.thrown, other.thrown_won = 10, 6.0, 5, 2.5
    (group,) = groups([one, other], [1.0, 2.0])
    assert (group.won_honestly, group.won_thrown) == (None, pytest.approx(8.5 / 15))


def test_kinds_are_ranked_among_all_people() -> None:
    crowd = people(0.1, 0.2, 0.9)
    crowd[2].kind = Kind.SMURF
    for person in crowd:
        person.rounds, person.won = 4, 1.0
    regular, smurf = groups(crowd, [10.0, 30.0, 20.0])
    assert (regular.people, regular.won, regular.rated, regular.true) == (2, 0.25, 0.5, 0.25)
    assert (regular.won_honestly, regular.won_thrown) == (0.25, None)
    assert (smurf.kind, smurf.rated, smurf.true) == (Kind.SMURF, 0.5, 1.0)
