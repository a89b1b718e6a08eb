"""NS2's players and rounds in memory, in the store and in summaries; what is refused, and that it changes nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from equipoise.errors import RatingError
from equipoise.ratings import create, fit, replay
from equipoise.ratings.history import History
from equipoise.ratings.system import Role, Span
from tests.ratings.ns2.samples import busy_matches, ns2, whole
from tests.ratings.samples import people

ANN, BOB, CID, _ = people(4)
DUEL = whole(1, 1)
NEWCOMER = {
    "skill": 2.5,
    "commander": 2.5,
    "offset": 0.0,
    "squares": 0.0,
    "commander_squares": 0.0,
    "fitted": 0.0,
    "commander_fitted": 0.0,
    "rounds": 0,
    "last_played": None,
}


def played(count: int):
    system = ns2()
    for match in busy_matches(seed=5, count=count, players=12):
        system.rate(match)
    return system


# Players.


def test_a_newcomer_has_a_thousand_points_which_is_the_mode_of_the_gamma_prior():
    system = ns2()
    summary = system.summary(ANN)
    assert (summary.rating, summary.rounds, summary.visible, summary.missing) == (1000, 0, False, 50)
    assert ns2(shape=4.0, scale=1.0).skill(ANN) == 400 * 3.0
    assert system.state(ANN) == NEWCOMER


def test_a_newcomers_skills_are_as_uncertain_as_the_priors_say():
    skills = ns2().skills(ANN)
    prior, offset = 400 * math.sqrt(6) * 0.5, 400 * 0.375
    assert (skills.average.value, skills.offset.value, skills.commander.value) == (1000, 0, 1000)
    assert [each.deviation for each in (skills.average, skills.offset, skills.commander)] == pytest.approx(
        [prior, offset, prior]
    )
    assert ns2().uncertainty(ANN) == skills.average.deviation


def test_skills_are_handed_out_by_side_in_the_games_words():
    for plus_side, sides in (("marines", ["marines", "aliens"]), ("blu", ["blu", "red"]), ("home", ["home", "other"])):
        system = ns2(plus_side=plus_side)
        system.seed(ANN, rating=1200, offset=150, commander=900)
        skills = system.skills(ANN)
        assert [(side, each.value) for side, each in skills.sides.items()] == list(
            zip(sides, (1350, 1050), strict=True)
        )
        both = math.hypot(skills.average.deviation, skills.offset.deviation)
        assert [each.deviation for each in skills.sides.values()] == pytest.approx([both, both])
        assert (skills.average.value, skills.commander.value) == (1200, pytest.approx(900))


def test_a_fit_makes_skills_more_certain_than_the_same_rounds_one_by_one():
    matches = list(busy_matches(seed=5, count=400, players=12))
    online, fitted = ns2(), ns2()
    replay(online, History.of(matches))
    fit(fitted, matches)
    stranger = ns2().skills(ANN)
    for player in people(12):
        one, whole_history = online.skills(player), fitted.skills(player)
        assert whole_history.average.deviation < one.average.deviation < stranger.average.deviation
        assert whole_history.offset.deviation < stranger.offset.deviation
        state = fitted.state(player)
        assert (state["fitted"], state["commander_fitted"]) == (state["squares"], state["commander_squares"])
    before = fitted.skills(ANN)
    for _ in range(50):
        fitted.rate(DUEL)
    assert fitted.skills(ANN).average.deviation > before.average.deviation


def test_a_state_of_before_fits_were_remembered_counts_as_never_fitted():
    system, older = played(200), ns2()
    state = {name: value for name, value in system.state(ANN).items() if not name.endswith("fitted")}
    older.restore(ANN, state)
    assert older.state(ANN) == system.state(ANN)
    assert older.skills(ANN) == system.skills(ANN)


def test_a_seed_sets_what_is_named_in_points_and_leaves_the_rest():
    system = ns2()
    system.seed(ANN, rating=1200, commander=800, rounds=7)
    system.seed(ANN, offset=-40)
    assert system.state(ANN) == {**NEWCOMER, "skill": 3.0, "commander": 2.0, "offset": -0.1, "rounds": 7}


def test_of_more_lengths_than_the_median_looks_back_the_last_are_kept():
    system = ns2(median_rounds=3)
    system.restore_shared("lengths", [1, 2, 900, 300, 600])
    assert system.median_seconds == 600
    assert system.shared()["lengths"] == [900, 300, 600]


# What is refused.


SHARED = {"all": [1, 2], "map:ns2_veil": [[1, 2], [1, 1], [0, 1]], "lengths": [600.0]}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (("all", [3, 2]), "all: 3 won of 2"),
        (("all", [1]), "all"),
        (("all", [math.nan, 2]), "all"),
        (("map:ns2_veil", [[1, 2]]), "ns2_veil"),
        (("map:ns2_veil", [[1, 2], [1, 1], [2, 1]]), "ns2_veil: 2 won of 1"),
        (("map:ns2_new", 1), "ns2_new"),
        (("map:", [[1, 2], [1, 1], [0, 1]]), "map:"),
        (("lengths", [0.0]), "lengths"),
        (("lengths", ["long"]), "lengths"),
        (("extra", 1), "extra"),
    ],
)
def test_a_shared_part_that_cannot_be_is_refused_and_changes_nothing(wrong, reason):
    system = ns2()
    for key, part in SHARED.items():
        system.restore_shared(key, part)
    with pytest.raises(RatingError, match=reason):
        system.restore_shared(*wrong)
    assert system.shared() == SHARED


def test_a_system_of_players_alone_keeps_nothing_else():
    system = create("synelo")
    assert system.shared() == {}
    with pytest.raises(RatingError, match="synelo keeps nothing but its players: all"):
        system.restore_shared("all", [1, 2])


def test_spans_may_touch_and_stand_in_any_order():
    ordered, other = ns2(), ns2()
    spans = Span(0, 0, 60), Span(0, 60, 60, Role.COMMANDER), Span(1, 60, 90)
    ordered.rate(replace(DUEL, spans={ANN: spans}))
    replay(other, History.of([replace(DUEL, spans={ANN: spans[::-1]})]))
    assert other.skill(ANN) == pytest.approx(ordered.skill(ANN))
