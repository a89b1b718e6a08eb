"""A compiled replay gives the numbers and the end state of rating one by one, by the same kernel uncompiled."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.ratings import replay
from equipoise.ratings.history import History, Replayed
from equipoise.ratings.parts.match_arrays import BOT
from equipoise.ratings.synelo.system import SynElo
from equipoise.ratings.system import Match
from tests.ratings.samples import duel, odd_matches, people, random_matches


def one_by_one(system: SynElo, matches: list[Match]) -> Replayed:
    rated = [system.rate(match) for match in matches]
    return Replayed(
        wins=np.array([win for each in rated for win in each.prediction.wins]),
        draws=np.array([each.prediction.draw for each in rated]),
        after=np.array([change.after for each in rated for change in each.changes]),
    )


def agree(one: SynElo, other: SynElo, first: Replayed, second: Replayed) -> None:
    """Ratings to the last bit where they are whole; libraries may differ in the last bit of exp."""
    exact = {"rtol": 0, "atol": 0 if one.params.rounding == "bankers" else 1e-9}
    np.testing.assert_allclose(first.after, second.after, **exact)
    np.testing.assert_allclose(first.wins, second.wins, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(first.draws, second.draws)
    assert one.players.keys() == other.players.keys()
    for player, held in one.players.items():
        fields, others = asdict(held), asdict(other.players[player])
        ring, errors = fields.pop("ring"), fields.pop("errors")
        np.testing.assert_allclose(ring, others.pop("ring"), **exact)
        np.testing.assert_allclose(errors, others.pop("errors"), rtol=0, atol=2**11)
        assert fields.pop("excess") == pytest.approx(others.pop("excess"), rel=0, abs=2**20)
        assert fields == pytest.approx(others, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("rounding", ["bankers", "none"])
@pytest.mark.parametrize("window", [500, 7, 8])
def test_a_replay_gives_the_numbers_and_the_state_of_rating_one_by_one(window, rounding):
    params = {"window": window, "rounding": rounding, "k_max": 3, "shadow_rounds": 20, "shadow_cap": 1010.0}
    live, bulk = SynElo.create(**params), SynElo.create(**params)
    matches = list(odd_matches(seed=window, count=120, players=12))
    for system in (live, bulk):
        for match in matches[:30]:
            system.rate(match)
    rest = matches[30:]
    rated = one_by_one(live, rest)
    replayed = replay(bulk, History.of(rest))
    agree(live, bulk, rated, replayed)
    assert {player for match in matches for team in match.teams for player in team} == live.players.keys()


@pytest.mark.parametrize("rounding", ["bankers", "none"])
def test_full_windows_of_five_hundred_rounds_replay_as_rated(rounding):
    live, bulk = SynElo.create(rounding=rounding, k_max=2), SynElo.create(rounding=rounding, k_max=2)
    matches = list(random_matches(seed=1, count=1500, players=5, size=2))
    rated = one_by_one(live, matches)
    replayed = replay(bulk, History.of(matches))
    agree(live, bulk, rated, replayed)
    assert all(held.count == 500 for held in bulk.players.values())


def test_ratings_far_from_the_initial_one_replay_to_the_last_bit():
    live, bulk = SynElo.create(window=9, k_max=2), SynElo.create(window=9, k_max=2)
    matches = list(random_matches(seed=8, count=60, players=5, size=2))
    for system in (live, bulk):
        for number, player in enumerate(people(5)):
            system.seed(player, rating=9_001 + 7_654 * number)
    agree(live, bulk, one_by_one(live, matches), replay(bulk, History.of(matches)))


def test_a_hundred_thousand_random_matches_leave_every_rating_finite_and_above_the_floor():
    rng = np.random.default_rng(4)
    count, players, size = 100_000, 200, 6
    members = np.concatenate([rng.permutation(players)[: 2 * size] for _ in range(count)]).astype(np.int32)
    history = History(
        players=tuple(people(players)),
        matches=2 * np.arange(count + 1),
        teams=size * np.arange(2 * count + 1),
        members=members,
        ranks=rng.integers(0, 2, 2 * count, dtype=np.int32),
        started_at=np.full(count, np.nan),
    )
    for rounding in ("bankers", "none"):
        system = SynElo.create(rounding=rounding)
        replayed = replay(system, history)
        assert np.isfinite(replayed.after).all()
        assert replayed.after.min() >= 100
        assert ((replayed.wins > 0) & (replayed.wins < 1)).all()
        assert {system.summary(player).last_played for player in history.players} == {None}


def test_players_of_lineups_only_are_not_made():
    system = SynElo.create()
    match = replace(duel("ann", "bob"), lineup=((PlayerId("ann"), PlayerId("bot:1")), (PlayerId("cid"),)))
    history = History.of([match])
    replay(system, history)
    assert set(system.players) == {"ann", "bob"}
    assert BOT in history.predicted_lineup[1]


def test_an_empty_history_is_replayed_in_no_time():
    assert len(replay(SynElo.create(), History.of([])).after) == 0
