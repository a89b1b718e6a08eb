"""A replay by TeamSkill gives the numbers and the end state of rating match after match.

Both run the same functions; these tests compare groups found by id with groups found by number, and plain functions
with compiled ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import create, replay
from equipoise.ratings.history import History
from equipoise.ratings.system import Match
from tests.ratings.histories import agree
from tests.ratings.samples import odd_matches, people, random_matches
from tests.ratings.trueskill.brute_force import many_teams

BASES = ("elo", "glicko", "trueskill")
KINDS = ("teamskill_k", "teamskill_allk_ls", "teamskill_allk_ev")


def full_matches(seed: int, count: int, players: int) -> Iterator[Match]:
    """Matches with all that a base reads: lineups that differ, bots in them, fractions, weights, goals."""
    rng = random.Random(seed)
    everybody = people(players)
    for number in range(count):
        one, other = rng.randrange(1, 7), rng.randrange(1, 7)
        chosen = rng.sample(everybody, one + other)
        teams = tuple(chosen[:one]), tuple(chosen[one:])
        seats = [*rng.sample(everybody, rng.randrange(9)), *(PlayerId(f"bot:{bot}") for bot in range(rng.randrange(3)))]
        rng.shuffle(seats)
        cut = rng.randrange(len(seats) + 1)
        yield Match(
            teams=teams,
            ranks=rng.choice(((0, 1), (1, 0), (0, 0))),
            lineup=(tuple(seats[:cut]), tuple(seats[cut:])) if rng.random() < 0.5 else (),
            skill_at_start={rng.choice(everybody): rng.uniform(0, 2000), chosen[0]: rng.uniform(0, 50)},
            fraction_played={player: rng.random() for player in chosen[::2]} if rng.random() < 0.7 else {},
            started_at=None if rng.random() < 0.2 else 1e9 + 30_000.0 * (number + rng.uniform(-1, 1)),
            points=(rng.randrange(5), rng.randrange(5)) if rng.random() < 0.7 else (),
            sides=("home", "away") if rng.random() < 0.7 else (),
            weight=rng.choice((1.0, 0.5)),
        )


@pytest.mark.compiles
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "base"), list(zip(KINDS, BASES, strict=True)))
def test_a_replay_is_rating_one_by_one(kind, base):
    settings = {"side_advantage": 40.0, "margin_power": 0.5} if base == "elo" else {}
    for before in (0, 25):
        live, bulk = (create(kind, base=base, settings=settings) for _ in range(2))
        matches = [*full_matches(seed=before + 1, count=60, players=14), *odd_matches(seed=8, count=40, players=12)]
        for system in (live, bulk):
            for match in matches[:before]:
                system.rate(match)
            system.learner(2).seed(PlayerId("76561198000000001+76561198000000003"), rating=1700.0)
            system.learner(2).seed(PlayerId("76561198000000001+somebody else"), rating=100.0, rounds=9)
        agree(live, bulk, matches[before:])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_teams_may_play(kind):
    agree(create(kind), create(kind), [*many_teams(seed=4, count=60, players=15)])


@pytest.mark.compiles
@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_known_by_names_and_not_by_the_order_of_the_history(kind):
    """Also where the ids of players look like those of groups."""
    called = dict(zip(people(9), ["a", "a%2Bb", "a+b", "a+b+c", "b", "b+c", "c", "%25", "+"], strict=True))
    matches = [
        replace(match, teams=tuple(tuple(PlayerId(called[player]) for player in side) for side in match.teams))
        for match in random_matches(seed=5, count=60, players=9, size=4)
    ]
    live, bulk = create(kind), create(kind)
    for system in (live, bulk):
        for match in matches[:20]:
            system.rate(match)
    agree(live, bulk, [replace(match, teams=tuple(side[::-1] for side in match.teams)) for match in matches[20:]])


def test_groups_of_any_size_predict():
    for k in (1, 3, 12):
        agree(*(create("teamskill_k", k=k) for _ in range(2)), list(full_matches(seed=6, count=40, players=14)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[2:])
def test_groups_of_all_sizes_count_where_they_are_not_too_many(kind):
    """15 players have too many groups of 6 to 9, but not of 10; a group of 10 covers its groups of those sizes."""
    fifteens = list(random_matches(seed=7, count=2, players=30, size=15)) * 2
    agree(*(create(kind, base="elo", largest=10, reliable=2) for _ in range(2)), fifteens)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_crowd_in_the_lineup_leaves_out_sizes_as_a_crowd_that_plays_does(kind):
    everybody = people(65)
    match = Match(teams=(tuple(everybody[:32]), tuple(everybody[32:64])), ranks=(0, 1))
    crowd = replace(match, lineup=(tuple(everybody[:32]), tuple(everybody[32:])))
    live, bulk = create(kind, base="elo"), create(kind, base="elo")
    agree(live, bulk, [crowd, match, crowd])
    assert live.learner(3).summary(PlayerId("+".join(sorted(everybody[:3])))).rounds == 1


def test_too_many_groups_are_refused_before_anything_changes():
    system, everybody = create("teamskill_k", base="elo", k=8), people(40)
    few, many = (Match(teams=(tuple(everybody[:n]), tuple(everybody[n : 2 * n])), ranks=(0, 1)) for n in (9, 20))
    for rate in (system.rate, lambda match: replay(system, History.of([few, match]))):
        with pytest.raises(RatingError, match="20 players make more than 5000 groups of 8"):
            rate(many)
        assert everybody[0] not in system


@pytest.mark.parametrize("base", ["elo", "glicko"])
def test_a_history_that_a_base_cannot_read_is_refused_before_anything_changes(base):
    system, threes = create("teamskill_k", base=base), many_teams(seed=4, count=20, players=15)
    with pytest.raises(RatingError, match="two teams"):
        replay(system, History.of([*random_matches(seed=8, count=2, players=6, size=2), *threes]))
    assert not any(learner.players for learner in system.learners.values())


def test_without_lineups_the_participants_are_predicted():
    matches = list(random_matches(seed=9, count=80, players=12, size=4))
    whole = History.of(matches)
    one, other = create("teamskill_allk_ls"), create("teamskill_allk_ls")
    first = replay(one, whole)
    second = replay(other, replace(whole, lineup=None, lineup_members=None, skill_at_start=None))
    np.testing.assert_array_equal(first.wins, second.wins)
    assert one.learner(3).players == other.learner(3).players
