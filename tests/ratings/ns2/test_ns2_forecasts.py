"""NS2's predictions: what is known as a match goes live, and nothing that is known only later."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from equipoise.core.model import PlayerId, Role
from equipoise.ratings import replay
from equipoise.ratings.history import History
from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.system import Match, Span
from tests.ratings.histories import agree
from tests.ratings.ns2.samples import SIDES, busy_matches, ns2, whole
from tests.ratings.samples import people

ANN, BOB, CID, DAN, EVE = people(5)
BOT = PlayerId("bot:3")
LINEUP = ((ANN, BOB), (CID, DAN))
CHAIR = Role.COMMANDER


def seeded(**params: object) -> NS2:
    """Ann is good, Bob a good marine, Cid a good commander."""
    system = ns2(**params)
    system.seed(ANN, rating=1800.0)
    system.seed(BOB, offset=200.0)
    system.seed(CID, commander=2200.0)
    return system


def logit(probability: float) -> float:
    return math.log(probability / (1.0 - probability))


def forecast(system: NS2, match: Match) -> float:
    """The log-odds of the first team in points; what `rate` and `replay` say is the same."""
    predicted = system.predict(match).wins[0]
    live, bulk = NS2(system.params), NS2(system.params)
    for player in people(5):
        live.restore(player, system.state(player))
        bulk.restore(player, system.state(player))
    assert live.rate(match).prediction.wins[0] == predicted
    assert replay(bulk, History.of([match])).wins[0] == pytest.approx(predicted, abs=1e-12)
    return 400 * logit(predicted)


def test_it_is_about_the_lineup_on_its_sides_for_the_whole_match():
    match = replace(whole(2, 2), teams=LINEUP, lineup=LINEUP)
    assert forecast(seeded(), match) == pytest.approx((1800 + 1200 - 1000 - 1000) / 4)
    assert forecast(seeded(), replace(match, sides=SIDES[::-1])) == pytest.approx((1800 + 800 - 2000) / 4)


LATER = {
    "leaver": {"spans": {ANN: (Span(0, 0, 60),)}},
    "switcher": {"spans": {ANN: (Span(0, 0, 60), Span(1, 60, 1200))}},
    "late commander": {"spans": {CID: (Span(1, 0, 1), Span(1, 1, 1200, CHAIR)), DAN: (Span(1, 0, 1200),)}},
    "late joiner": {"teams": ((ANN, BOB, EVE), (CID, DAN)), "spans": {EVE: (Span(0, 30, 1200),)}},
    "gone": {"teams": ((BOB,), (CID, DAN))},
    "fractions": {"fraction_played": {ANN: 0.1}},
    "length": {"seconds": 61.0},
}


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_what_happens_later_is_not_in_it(later):
    match = replace(whole(2, 2), teams=LINEUP, lineup=LINEUP)
    assert forecast(seeded(), replace(match, **later)) == pytest.approx(forecast(seeded(), match))


def test_what_happens_later_does_move_the_skills():
    match = replace(whole(2, 2), teams=LINEUP, lineup=LINEUP)
    stayed, left = seeded(), seeded()
    stayed.rate(match)
    left.rate(replace(match, **LATER["leaver"]))
    assert 0 < left.skill(ANN) - 1800 < (stayed.skill(ANN) - 1800) / 2


@pytest.mark.parametrize("field_share", [0.0, 0.5])
def test_those_in_the_chair_as_it_goes_live_count_as_commanders(field_share):
    spans = {ANN: (Span(0, 0, 600, CHAIR), Span(0, 600, 1200)), CID: (Span(1, 0, 1200, CHAIR),)}
    match = replace(whole(2, 2), teams=LINEUP, lineup=LINEUP, spans=spans)
    first = (1 - field_share) * 1000 + field_share * 1800
    second = (1 - field_share) * 2200 + field_share * 1000
    expected = (1200 - 1000) / 2 + (first - second) / 2
    assert forecast(seeded(commander_field_share=field_share), match) == pytest.approx(expected)


def test_with_a_commander_on_one_side_alone_the_term_is_dropped():
    match = replace(whole(2, 2), teams=LINEUP, lineup=LINEUP, spans={CID: (Span(1, 0, 1200, CHAIR),)})
    assert forecast(seeded(), match) == pytest.approx((1800 + 1200 - 1000) / 3)


def test_skills_at_the_start_replace_those_that_later_rounds_made():
    match = replace(whole(2, 2), teams=LINEUP, lineup=LINEUP, skill_at_start={ANN: 1000.0, BOB: 1100.0})
    assert forecast(seeded(), match) == pytest.approx(100 / 4)


def test_a_bot_plays_as_a_newcomer_and_does_not_make_a_match_large():
    system = ns2(large_above=4, prior_rounds=1.0)
    large = replace(whole(3, 2), map="ns2_veil")
    for _ in range(20):
        system.rate(large)
    match = replace(whole(2, 2), lineup=((*people(4)[:2], BOT), tuple(people(4)[2:])), map="ns2_veil")
    small = replace(match, lineup=match.teams)
    field = sum((1 if p in people(4)[:2] else -1) * system.skill(p) for p in people(4))
    offsets = sum(system.state(p)["offset"] * 400 for p in people(4))
    advantage = 400 * logit(system.predict(small).wins[0]) - (field + offsets) / 4
    with_bot = 400 * logit(system.predict(match).wins[0])
    assert with_bot == pytest.approx((field + offsets + 1000) / 5 + advantage)
    assert BOT not in system


def test_ratings_without_players_are_predicted_as_given():
    match = Match(teams=LINEUP, skill_at_start={ANN: 2000.0, BOB: 1000.0, CID: 1000.0, DAN: 1200.0})
    assert logit(ns2().predict(match).wins[0]) == pytest.approx(800 / 4 / 400)


def test_without_a_lineup_the_time_that_was_played_predicts():
    late = replace(whole(2, 1), spans={ANN: (Span(0, 600, 1200),)})
    assert ns2().predict(late) != ns2().predict(replace(late, lineup=late.teams))


def test_a_replay_predicts_as_live_where_matches_have_a_lineup_or_skills_at_the_start_alone_or_neither():
    matches = list(busy_matches(seed=11, count=120, players=14))
    everybody = people(14)
    for n, match in enumerate(matches):
        if n % 3:
            first = (*match.teams[0][n % 2 :], BOT)
            second = (*match.teams[1], *(p for p in everybody[n % 14 :] if p not in (*first, *match.teams[1])))[:7]
            matches[n] = replace(match, lineup=(first, second))
        elif n % 2:
            matches[n] = replace(match, skill_at_start={match.teams[0][0]: 1500.0})
    agree(ns2(commander_field_share=0.5), ns2(commander_field_share=0.5), matches)
