"""The truth of an NS2 evening is the model that NS2's rating system assumes."""

from __future__ import annotations

import math
from random import Random

import pytest

from equipoise.core.model import PlayerId, Presence, Role, Side, Span
from equipoise.demo.ns2_evening import USUAL_SECONDS, Person, chance, lineup, people, random_favourite
from equipoise.ratings import create
from equipoise.ratings import system as rating

TEAM = {Side.A: 1, Side.B: 2}


def presence(player: PlayerId, *spans: Span) -> Presence:
    return Presence(player, spans[-1].side, 0, 0, fought=True, spans=spans)


def of_system(known: dict[PlayerId, Person], presences: list[Presence], advantage: float) -> float:
    """The prediction of the rating system, told the truth about everybody and the map."""
    system = create("ns2", usual_seconds=USUAL_SECONDS, prior_rounds=0.001)
    rate = 1.0 / (1.0 + math.exp(-advantage))
    system.restore_shared("all", [1e6 * rate, 1e6])
    for person in known.values():
        system.seed(person.id, rating=person.skill, offset=person.offset, commander=person.commanding)
    teams = tuple(tuple(each.id for each in presences if each.side is side) for side in Side)
    spans = {
        each.id: tuple(rating.Span(TEAM[span.side] - 1, span.start, span.end, span.role) for span in each.spans)
        for each in presences
    }
    match = rating.Match(teams=teams, spans=spans, seconds=800.0, sides=("marines", "aliens"))
    return system.predict(match).expected(0)


@pytest.mark.parametrize("advantage", [0.0, 0.3, -0.5])
def test_the_truth_agrees_with_the_rating_system_that_knows_it(advantage: float) -> None:
    known = {person.id: person for person in people(Random(4), 8)}
    a, b, c, d, e, f, *_ = known
    presences = [
        presence(a, Span(Side.A, 0, 300, Role.COMMANDER), Span(Side.A, 300, 800)),
        presence(b, Span(Side.A, 0, 300), Span(Side.A, 300, 800, Role.COMMANDER)),
        presence(c, Span(Side.A, 120, 500)),
        presence(d, Span(Side.B, 0, 800, Role.COMMANDER)),
        presence(e, Span(Side.A, 0, 200), Span(Side.B, 200, 800)),
        presence(f, Span(Side.B, 0, 800)),
    ]
    assert chance(known, presences, advantage) == pytest.approx(of_system(known, presences, advantage), abs=1e-6)


def test_random_teams_keep_the_commanders_and_everybody_else_is_anywhere() -> None:
    known = {person.id: person for person in people(Random(7), 6)}
    a, b, c, d, e, f = known
    sides, chairs = ((a, b, c), (d, e, f)), (a, d)
    pairs = [(one, two) for one in (b, c, e, f) for two in (b, c, e, f) if one < two]
    odds = [chance(known, lineup((a, *pair), (d, *({b, c, e, f} - {*pair})), chairs), 0.2) for pair in pairs]
    mean = sum(max(one, 1 - one) for one in odds) / len(odds)
    assert random_favourite(Random(1), known, sides, chairs, 0.2, samples=4000) == pytest.approx(mean, abs=0.01)


def test_a_seed_makes_the_same_people_again() -> None:
    assert people(Random(5), 12) == people(Random(5), 12)
    assert people(Random(5), 12) != people(Random(6), 12)
