"""TrueSkill 2: how a skill changes by playing and by time, besides the update from a match."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

import pytest

from equipoise.ratings.system import Match
from equipoise.ratings.trueskill2.system import TrueSkill2
from tests.ratings.samples import ANN, BOB, CID, duel

DUEL = duel("ann", "bob")


def test_experience_adds_what_its_offset_says_and_then_the_last_one():
    system, without = (TrueSkill2.create(experience_offset=offsets) for offsets in ((0.5, 0.25), ()))
    drawn = replace(DUEL, ranks=(0, 0))
    gained = []
    for _ in range(3):
        system.rate(drawn)
        without.rate(drawn)
        gained.append(system.skill(ANN) - without.skill(ANN))
    assert gained == pytest.approx([0.5, 0.75, 1.0], abs=1e-9)


def test_the_offsets_of_experience_end_with_that_of_two_hundred_matches():
    offsets = tuple(0.001 * (number + 1) for number in range(201))
    system = TrueSkill2.create(experience_offset=offsets, initial_variance=0.0, gamma2=0.0, tau2=0.0)
    skills = [system.skill(ANN)]
    for _ in range(203):
        system.rate(DUEL)
        skills.append(system.skill(ANN))
    gains = [after - before for before, after in pairwise(skills)]
    assert gains == pytest.approx([*offsets, 0.201, 0.201], abs=1e-9)


def test_a_match_adds_its_variances_to_a_mode_and_to_the_base():
    still, moving = (
        TrueSkill2.create(base_variance=0.7, gamma2=own, base_gamma2=base) for own, base in ((0, 0), (0.3, 0.2))
    )
    for system in (still, moving):
        system.rate(DUEL)
    before, after = (system.players[ANN] for system in (still, moving))
    assert after.modes[""].variance == pytest.approx(before.modes[""].variance + 0.3, abs=1e-12)
    assert after.base_variance == pytest.approx(before.base_variance + 0.2, abs=1e-12)


def test_every_minute_away_adds_its_variances_to_a_mode_and_to_the_base():
    system = TrueSkill2.create(base_variance=0.7, base_weight=1.5, tau2=1e-3, base_tau2=1e-4, margin=0.0)
    for start, match in enumerate((DUEL, duel("cid", "dan"))):
        system.rate(replace(match, started_at=600.0 * start))
    later = Match(teams=((ANN,), (CID,)), started_at=6600.0)
    variance = 2.0 + sum(
        system.uncertainty(player) ** 2 + minutes * (1e-3 + 1.5**2 * 1e-4)
        for player, minutes in ((ANN, 110), (CID, 100))
    )
    system.seed(ANN, rating=4.0)
    system.seed(CID, rating=3.0)
    assert system.predict(later).wins[0] == pytest.approx(NormalDist().cdf(1 / math.sqrt(variance)), abs=1e-12)


def test_time_away_makes_less_sure():
    system = TrueSkill2.create(tau2=1e-4)
    system.rate(replace(DUEL, started_at=0.0))
    soon, late = TrueSkill2.create(tau2=1e-4), TrueSkill2.create(tau2=1e-4)
    for one, at in ((soon, 3600.0), (late, 3600.0 * 24 * 30)):
        one.restore(ANN, system.state(ANN))
        one.restore(BOB, system.state(BOB))
        one.rate(replace(DUEL, started_at=at))
    assert late.uncertainty(ANN) > soon.uncertainty(ANN)
