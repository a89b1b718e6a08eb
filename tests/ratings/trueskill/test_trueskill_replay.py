"""TrueSkill and the forward pass of TrueSkill Through Time in bulk: the numbers of `rate`, and its end state."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from equipoise.ratings import create, replay
from equipoise.ratings.history import History, Replayed
from equipoise.ratings.parts.gaussian_system import GaussianSystem
from equipoise.ratings.system import Match
from tests.ratings.samples import people, random_matches
from tests.ratings.trueskill.brute_force import many_teams


def one_by_one(system: GaussianSystem[Any], matches: list[Match]) -> Replayed:
    rated = [system.rate(match) for match in matches]
    return Replayed(
        wins=np.array([win for each in rated for win in each.prediction.wins]),
        draws=np.array([each.prediction.draw for each in rated]),
        after=np.array([change.after for each in rated for change in each.changes]),
    )


def agree(one: GaussianSystem[Any], other: GaussianSystem[Any], first: Replayed, second: Replayed) -> None:
    """To rounding: libraries may differ in the last bit of erfc."""
    for column in ("wins", "draws", "after"):
        np.testing.assert_allclose(getattr(first, column), getattr(second, column), rtol=1e-9, atol=1e-9)
    assert one.players.keys() == other.players.keys()
    for player, held in one.players.items():
        assert asdict(held) == pytest.approx(asdict(other.players[player]), rel=1e-9)


@pytest.mark.parametrize("name", ["trueskill", "trueskill_through_time"])
def test_a_replay_gives_the_numbers_and_the_state_of_rating_one_by_one(name):
    """The live system rates by the same function, plain; so this compares what numba and the arrays make of it."""
    matches = [*many_teams(seed=4, count=60, players=15), *random_matches(seed=5, count=40, players=15, size=3)]
    for draw_probability in (0.15, 0.0):
        live, bulk = (create(name, draw_probability=draw_probability) for _ in range(2))
        for system in (live, bulk):
            for match in matches[:20]:
                system.rate(match)
        rated = one_by_one(live, matches[20:])
        agree(live, bulk, rated, replay(bulk, History.of(matches[20:])))


@pytest.mark.parametrize("name", ["trueskill", "trueskill_through_time"])
def test_two_whole_teams_take_a_shorter_way_to_the_same_numbers(name):
    """Arrays of lineups that are the participants take the way of any match; without them there is one sum."""
    usual, shorter, live = (create(name) for _ in range(3))
    matches = list(random_matches(seed=6, count=300, players=20, size=4))
    history = History.of(matches)
    plain = replace(history, lineup=None, lineup_members=None, skill_at_start=None)
    replayed = replay(shorter, plain)
    agree(usual, shorter, replay(usual, history), replayed)
    agree(live, shorter, one_by_one(live, matches), replayed)


@pytest.mark.slow
def test_a_hundred_thousand_random_matches_leave_every_skill_finite():
    rng = np.random.default_rng(7)
    count, players, size = 100_000, 200, 6
    members = np.concatenate([rng.permutation(players)[: 2 * size] for _ in range(count)]).astype(np.int32)
    system = create("trueskill")
    replayed = replay(
        system,
        History(
            players=tuple(people(players)),
            matches=2 * np.arange(count + 1),
            teams=size * np.arange(2 * count + 1),
            members=members,
            ranks=rng.integers(0, 2, 2 * count, dtype=np.int32),
            started_at=np.full(count, np.nan),
        ),
    )
    assert np.isfinite(replayed.after).all()
    assert ((replayed.wins > 0) & (replayed.wins < 1)).all()
    assert {system.summary(player).rounds for player in system.players} <= set(range(5000, 7000))
    assert all(0 < system.uncertainty(player) < 25 / 3 for player in system.players)


def test_an_empty_history_is_replayed_in_no_time():
    assert len(replay(create("trueskill"), History.of([])).after) == 0
