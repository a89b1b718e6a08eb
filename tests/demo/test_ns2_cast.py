"""The truth of an NS2 evening is the model that NS2's rating system assumes."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from random import Random

import pytest

from equipoise.core.model import PlayerId, Presence, Role, Side, Span
from equipoise.demo.ns2_evening import NEW_POOL, USUAL_SECONDS, Person, chance, lineup, people, random_favourite
from equipoise.install.server_files import NewServer
from equipoise.ratings import create
from equipoise.ratings import system as rating
from tests.daemons import write_new

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


def test_random_teams_have_everybody_anywhere_and_are_led_by_one_who_likes_to() -> None:
    known = {person.id: replace(person, commands=number < 3) for number, person in enumerate(people(Random(7), 6))}
    odds = []
    for a in combinations(known, 3):
        sides = a, [player for player in known if player not in a]
        keen = [[player for player in side if known[player].commands] or side for side in sides]
        for chairs in product(*keen):
            chance_of_one = chance(known, lineup(*sides, chairs), 0.2)
            odds.append((max(chance_of_one, 1 - chance_of_one), len(keen[0]) * len(keen[1])))
    mean = sum(odd / ways for odd, ways in odds) / 20
    sides = tuple(known)[:3], tuple(known)[3:]
    assert random_favourite(Random(1), known, sides, 0.2, samples=4000) == pytest.approx(mean, abs=0.01)


def test_the_demos_pool_is_a_new_installations(tmp_path: Path) -> None:
    write_new(tmp_path, [NewServer("ns2-1", game="ns2")])
    assert tomllib.loads((tmp_path / "config.toml").read_text())["pool"]["main"] == tomllib.loads(NEW_POOL)
