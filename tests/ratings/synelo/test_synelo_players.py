"""SynElo's players between rounds: restored, seeded, reset, refused."""

from __future__ import annotations

import json

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import fit
from tests.ratings.samples import ANN, duel, random_matches, synelo

# What the store keeps.


def test_a_player_restored_from_state_and_history_is_rated_as_if_never_forgotten():
    kept, restored = synelo(window=20, k_max=2), synelo(window=20, k_max=2)
    stored: dict[PlayerId, tuple[str, list[list[float]]]] = {}
    for match in random_matches(seed=7, count=200, players=6, size=2):
        expected = kept.rate(match)
        for player in restored.needs(match):
            if player in stored:
                state, rows = stored[player]
                restored.restore(player, json.loads(state), [tuple(row) for row in rows[-restored.window :]])
        rated = restored.rate(match)
        assert rated == expected
        for change in rated.changes:
            rows = stored.get(change.player, ("", []))[1]
            rows.append([change.after, change.expected, change.score])
            stored[change.player] = (json.dumps(restored.state(change.player)), rows)
            restored.forget(change.player)
            assert change.player not in restored
    assert max(len(rows) for _, rows in stored.values()) > 2 * kept.window


def test_a_player_who_was_reset_ignores_the_rows_before_the_reset():
    system = synelo()
    for _ in range(5):
        system.rate(duel("ann", "bob"))
    system.forget(ANN)
    system.seed(ANN)
    fresh = synelo()
    fresh.restore(ANN, system.state(ANN), [(1036.0, 0.5, 1.0)] * 5)
    assert fresh.state(ANN) == system.state(ANN) == {"rating": 1000, "rounds": 0, "last_played": None, "windowed": 0}
    assert fresh.uncertainty(ANN) == 1.0


def test_a_window_that_was_made_smaller_is_restored_from_its_last_rows():
    rows = [(1000.0 + 10 * number, 0.5, 1.0) for number in range(30)]
    state = {"rating": 1290, "rounds": 30, "last_played": None, "windowed": 30}
    smaller, equal = synelo(window=8), synelo(window=8)
    smaller.restore(ANN, state, rows)
    equal.restore(ANN, {**state, "windowed": 8}, rows[-8:])
    assert smaller.state(ANN) == {**state, "windowed": 8}
    assert smaller.rate(duel("ann", "bob")) == equal.rate(duel("ann", "bob"))


def test_players_below_a_raised_floor_can_still_be_restored():
    system = synelo(floor=500.0)
    system.restore(ANN, {**NEWCOMER, "rating": 300})
    system.seed(ANN, rounds=3)
    assert system.skill(ANN) == 300
    assert system.rate(duel("ann", "bob", 0.0)).changes[0].after == 500


def test_an_admins_rating_keeps_rounds_and_window():
    system = synelo()
    for _ in range(3):
        system.rate(duel("ann", "bob"))
    before = system.uncertainty(ANN)
    system.seed(ANN, rating=1500)
    assert system.state(ANN) == {"rating": 1500, "rounds": 3, "last_played": None, "windowed": 3}
    assert system.uncertainty(ANN) == before


NEWCOMER = {"rating": 1000.0, "rounds": 0, "last_played": None, "windowed": 0}


@pytest.mark.parametrize(
    ("state", "history"),
    [
        ({**NEWCOMER, "windowed": 1}, [(1000.5, 0.5, 1.0)]),
        ({**NEWCOMER, "windowed": 1}, [(1000.0, 1.5, 1.0)]),
        ({**NEWCOMER, "windowed": 1}, [(1000.0, 0.5, -1.0)]),
    ],
)
def test_a_state_that_cannot_be_is_refused_by_player_and_nothing_is_held(state, history):
    system = synelo()
    with pytest.raises(RatingError, match=r"^ann: "):
        system.restore(ANN, state, history)
    assert ANN not in system


# Making one.


def test_synelo_has_no_whole_history_fit():
    with pytest.raises(RatingError, match="synelo"):
        fit(synelo(), [])
