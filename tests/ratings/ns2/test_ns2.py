"""NS2 against its formulas, computed here by other means, and against the laws it must keep."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from equipoise.core.model import Role
from equipoise.ratings import fit, replay
from equipoise.ratings.history import History
from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.system import Match, SkillContext, Span
from tests.ratings.ns2.samples import Naive, busy_matches, ns2, whole
from tests.ratings.samples import people

ANN, BOB, CID, DAN = people(4)
DUEL = whole(1, 1)


def seeded(system: NS2, **skill: float) -> NS2:
    """A system in which Ann has this skill, in points."""
    system.seed(ANN, **skill)
    return system


def chance(system: NS2, match: Match) -> float:
    return system.predict(match).wins[0]


def logit(probability: float) -> float:
    return math.log(probability / (1.0 - probability))


@pytest.mark.slow
@pytest.mark.parametrize("field_share", [0.0, 0.5, 1.0])
def test_every_round_follows_the_printed_formulas_in_their_right_form(field_share):
    system = ns2(
        commander_field_share=field_share, commander_shape=12.0, median_rounds=7, large_above=6, prior_rounds=5.0
    )
    naive = Naive(system.params)
    for match in busy_matches(seed=1, count=300, players=15):
        rated = system.rate(match)
        assert rated.prediction.wins[0] == pytest.approx(naive.rate(match), abs=1e-12)
        assert sum(rated.prediction.wins) + rated.prediction.draw == 1.0
    for player, skill in naive.skill.items():
        state = system.state(player)
        assert state["skill"] == pytest.approx(skill, abs=1e-11)
        assert state["offset"] == pytest.approx(naive.offset[player], abs=1e-11)
        assert state["commander"] == pytest.approx(naive.chi[player], abs=1e-11)
        assert (state["rounds"], state["last_played"]) == (naive.rounds[player], naive.last_played.get(player))
    assert any(abs(value - system.params.newcomer) > 0.01 for value in naive.chi.values()) or field_share == 1.0


@pytest.mark.parametrize(
    ("size", "count", "before", "now"),
    [(1, 0, 169, 169), (1, 10, 169, 35), (3, 0, 68, 68), (3, 12, 68, 23), (6, 12, 35, 17), (12, 0, 17, 17)],
)
def test_a_win_among_bots_pays_what_one_among_as_many_people_pays(size, count, before, now):
    """The table of docs/ratings/ns2.md: points of the first win of `size` newcomers a side, among so many bots."""
    played = replace(whole(size, size), bots=tuple(Span(number % 2, 0.0, 1200.0) for number in range(count)))
    gains = [ns2(bots=on).rate(played).changes[0].after - 1000 for on in (False, True)]
    assert gains == pytest.approx([before, now], abs=0.5)


def rate_all(system: NS2, matches: list[Match]) -> None:
    for match in matches:
        system.rate(match)


@pytest.mark.slow
def test_without_the_parameter_bots_count_for_nothing_in_every_way_of_rating():
    matches = list(busy_matches(seed=4, count=40, players=12))
    bare = [replace(match, bots=()) for match in matches]
    for way in (rate_all, replay, fit):
        off, without = ns2(bots=False), ns2()
        way(off, matches if way is rate_all else History.of(matches))
        way(without, bare if way is rate_all else History.of(bare))
        assert {p: off.state(p) for p in off.players} == {p: without.state(p) for p in without.players}
        assert off.shared() == without.shared()


def test_sides_of_other_games_have_neither_offset_nor_intercept():
    system = seeded(ns2(), offset=100)
    strange = whole(1, 1, sides=("red", "blu"))
    system.rate(strange)
    assert system.state(ANN)["offset"] == 0.25
    assert "all" not in system.shared()


COMMANDED = replace(
    whole(2, 2),
    spans={
        ANN: (Span(0, 0, 1200, Role.COMMANDER),),
        BOB: (Span(0, 0, 1200),),
        CID: (Span(1, 0, 1200, Role.COMMANDER),),
        DAN: (Span(1, 0, 1200),),
    },
)


@pytest.mark.parametrize("field_share", [0.0, 0.5, 1.0])
def test_a_skill_is_that_of_the_side_and_a_commanders_is_mixed_with_it_by_the_field_share(field_share):
    system = seeded(ns2(commander_field_share=field_share), rating=2000, offset=100, commander=1400)
    assert [system.skill(ANN, SkillContext(side=side)) for side in ("marines", "aliens", "")] == [2100, 1900, 2000]
    mixed = (1 - field_share) * 1400 + field_share * 2100
    assert system.skill(ANN, SkillContext(side="marines", role=Role.COMMANDER)) == pytest.approx(mixed)
    assert logit(chance(system, COMMANDED)) == pytest.approx((mixed - 1000) / 2 / 400)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1.0, 60.0])
def test_a_very_short_turn_in_the_chair_makes_the_difference_of_all_of_the_chair(seconds):
    """The term exists or not: p jumps with the first moment of the second commander, and not later."""
    system = seeded(ns2(), commander=3000)
    turn = Span(1, 0, seconds, Role.COMMANDER), Span(1, seconds, 1200)
    weight = (1 - 2 ** (-seconds / 600)) * (seconds > 0)
    duel = (0.75 * 3000 - weight * 1000) / (0.75 + weight) / 400 if weight else 0.0
    on_field = (0.75 - (2 * 0.75 - weight)) / (3 * 0.75 - weight) * 1000 / 400
    match = replace(COMMANDED, spans={**COMMANDED.spans, CID: turn})
    assert logit(chance(system, match)) == pytest.approx(duel + on_field)


@pytest.mark.parametrize(
    "match",
    [
        whole(2, 2, seconds=0.0),
        Match(teams=((), ()), ranks=(0, 1)),
        replace(DUEL, spans={ANN: (Span(0, 1300, 1400),), BOB: (Span(1, 7, 7),)}),
        replace(DUEL, fraction_played={ANN: 0.0, BOB: 0.0}),
        replace(DUEL, fraction_played={ANN: 0.0, BOB: 0.0}, bots=(Span(0, 0, 1200), Span(1, 0, 1200))),
        replace(DUEL, seconds=40_000.0, spans={ANN: (Span(0, 38_500, 40_000),), BOB: (Span(1, 38_500, 40_000),)}),
    ],
    ids=["zero-length", "nobody", "outside", "no fraction", "bots alone", "after 32 median rounds"],
)
def test_a_round_without_time_played_is_even_and_changes_nothing(match):
    system = seeded(ns2(), rating=2000)
    rated = system.rate(replace(match, started_at=100.0))
    assert rated.prediction.wins == (0.5, 0.5)
    assert all((change.after, change.rounds) == (change.before, 0) for change in rated.changes)
    assert system.shared() == ns2().shared()
    assert (system.summary(ANN).rounds, system.summary(ANN).last_played) == (0, None)


def test_a_team_without_players_loses_to_any_player():
    assert chance(ns2(), Match(teams=((ANN,), ()), ranks=(0, 1))) == pytest.approx(1 / (1 + math.exp(-2.5)))


def test_a_size_is_large_above_sixteen_players_weighted_by_their_time_and_rounded():
    system = ns2(constant_rate=0.0, adagrad_rate=0.0)
    system.rate(whole(8, 8, map="ns2_veil"))
    system.rate(whole(9, 8, map="ns2_veil"))
    crowd = whole(9, 9, map="ns2_veil")
    system.rate(replace(crowd, fraction_played=dict.fromkeys(crowd.teams[0], 0.1)))
    for fraction_played in (0.4, 0.6):
        system.rate(replace(whole(9, 8, map="ns2_veil"), fraction_played={ANN: fraction_played}))
    assert system.shared()["map:ns2_veil"] == [[5, 5], [3, 3], [2, 2]]


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_with_hardly_a_prior_a_side_that_never_wins_is_still_predicted_and_rated(outcome):
    system = ns2(prior_rounds=0.001)
    for size in (2, 9):
        for name in ("ns2_veil", "ns2_tram"):
            for _ in range(300):
                rated = system.rate(whole(size, size, outcome, map=name))
    assert abs(outcome - rated.prediction.wins[0]) < 1e-12
    assert all(math.isfinite(change.after) for change in rated.changes)


@pytest.mark.parametrize("won", [0.0, 1e17])
def test_counts_that_do_not_add_up_are_read_as_near_as_they_can_be(won):
    """A store may hold more rounds of a map than of all, by rounding or otherwise."""
    system = ns2(prior_rounds=0.001)
    system.restore_shared("all", [won, 1e17])
    system.restore_shared("map:ns2_veil", [[won, 1.5e17]] * 3 if won == 0.0 else [[won, 1e17]] * 3)
    assert abs(chance(system, whole(1, 1, map="ns2_veil")) - (won > 0)) < 1e-12
