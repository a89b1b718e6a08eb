"""TrueSkill: its posterior against the generative model, its laws, its players."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import create
from equipoise.ratings.parts.team_order import draw_unit, margin_of
from equipoise.ratings.system import Match, ranks_of
from equipoise.ratings.trueskill.system import TrueSkill
from tests.ratings.samples import ANN, BOB, CID, DAN, duel, people
from tests.ratings.trueskill.brute_force import Skill, duel_posteriors, many_teams

BETA = 25 / 6


def seeded(*skills: Skill, **params: object) -> tuple[TrueSkill, list[PlayerId]]:
    system, names = TrueSkill.create(**params), people(len(skills))
    for name, skill in zip(names, skills, strict=True):
        system.seed(name, mu=skill.mean, sigma=skill.deviation)
    return system, names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([Skill(25, 8)], [Skill(30, 3)]),
        ([Skill(25, 8)], [Skill(20, 4, 0.5), Skill(27, 6)]),
        ([Skill(25, 8, 0.7), Skill(31, 2)], [Skill(20, 4), Skill(27, 6, 0.1)]),
    ],
    ids=["1v1", "1v2 with a late joiner", "2v2 with a leaver on each side"],
)
def test_skills_after_a_match_are_those_of_the_generative_model(first, second):
    margin = margin_of(len(first) + len(second), draw_unit(0.2, BETA))
    for outcome, expected in duel_posteriors((first, second), BETA, margin).items():
        system, names = seeded(*first, *second, tau=0, draw_probability=0.2)
        fractions = {name: skill.fraction_played for name, skill in zip(names, [*first, *second], strict=True)}
        teams = tuple(names[: len(first)]), tuple(names[len(first) :])
        system.rate(Match(teams, ranks_of(outcome), fraction_played=fractions))
        for name, (mean, deviation) in zip(names, expected, strict=True):
            assert system.skill(name) == pytest.approx(mean, abs=1e-3), outcome
            assert system.uncertainty(name) == pytest.approx(deviation, abs=1e-3), outcome


def test_between_equals_the_chance_of_a_draw_is_the_parameter():
    system = TrueSkill.create(draw_probability=0.3, sigma=0.001, tau=0)
    chances = system.predict(duel("ann", "bob"))
    assert chances.draw == pytest.approx(0.3, abs=1e-6)
    assert chances.wins[0] == chances.wins[1]


def test_the_order_in_which_teams_and_players_are_named_makes_no_difference():
    teams, ranks = ((ANN, BOB), (CID,), (DAN,)), (2, 0, 1)
    named, turned = TrueSkill.create(), TrueSkill.create()
    for system in (named, turned):
        system.seed(ANN, mu=29, sigma=4)
        system.seed(CID, mu=20, sigma=7)
    named.rate(Match(teams, ranks))
    turned.rate(Match(((DAN,), (BOB, ANN), (CID,)), (1, 2, 0)))
    for player in (ANN, BOB, CID, DAN):
        assert named.skill(player) == pytest.approx(turned.skill(player), rel=1e-8)
        assert named.uncertainty(player) == pytest.approx(turned.uncertainty(player), rel=1e-8)


def test_without_dynamics_no_deviation_grows_by_playing():
    system = TrueSkill.create(tau=0)
    for match in many_teams(seed=2, count=200, players=15):
        before = {player: system.uncertainty(player) for team in match.teams for player in team}
        system.rate(match)
        for player, uncertainty in before.items():
            assert system.uncertainty(player) <= uncertainty + 1e-12


def test_a_player_with_a_fraction_of_0_changes_by_the_dynamics_only():
    system = TrueSkill.create(tau=0.5)
    system.rate(Match(((ANN,), (BOB, CID)), (0, 1), fraction_played={CID: 0.0}))
    assert system.skill(CID) == 25
    assert system.uncertainty(CID) == pytest.approx(math.hypot(25 / 3, 0.5))
    assert system.skill(BOB) < 25


def test_a_summary_shows_the_mean_less_three_deviations():
    system = TrueSkill.create()
    assert system.summary(ANN).rating == pytest.approx(0)
    system.rate(duel("ann", "bob"))
    assert system.summary(ANN).rating == pytest.approx(29.39583 - 3 * 7.171475, abs=1e-4)


@pytest.mark.parametrize(
    ("size", "difference", "sigma", "published"),
    # trueskilltest.py of sublee/trueskill, "each results from C# Skills": n against n newcomers; a lead of 10 points.
    [(1, 0.0, 25 / 3, 0.447), (2, 0.0, 25 / 3, 0.447), (4, 0.0, 25 / 3, 0.447), (3, 10.0, 2.0, None)],
)
def test_the_quality_of_two_teams_is_the_sources_formula(size, difference, sigma, published):
    system, names = TrueSkill.create(), [PlayerId(str(n)) for n in range(2 * size)]
    for name in names:
        system.seed(name, mu=25.0 + difference / size * (name in names[:size]), sigma=sigma)
    beta = 25 / 6
    c2 = 2 * size * beta**2 + 2 * size * sigma**2
    formula = math.exp(-(difference**2) / (2 * c2)) * math.sqrt(2 * size * beta**2 / c2)
    match = Match((tuple(names[:size]), tuple(names[size:])))
    found = system.trueskill_quality(match)
    assert found == pytest.approx(formula, rel=1e-12)
    assert published is None or found == pytest.approx(published, abs=5e-4)
    with pytest.raises(RatingError, match="has no players"):
        system.trueskill_quality(replace(match, fraction_played=dict.fromkeys(names[:size], 0.0)))


def test_parameters_are_in_the_order_in_which_they_are_tuned():
    both = {
        name: [field.name for field in fields(create(name).params)] for name in ("trueskill", "trueskill_through_time")
    }
    shown = ["draw_probability", "confidence", "shadow_rounds", "stale_days"]
    assert both["trueskill"] == ["mu", "sigma", "beta", "tau", *shown]
    assert both["trueskill_through_time"] == [
        *("mu", "sigma", "beta", "gamma", "period_days"),
        *shown,
        "tolerance",
        "sweeps",
    ]
