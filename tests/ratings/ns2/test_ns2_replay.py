"""Replays of NS2: times at the edge of rounding, histories in parts, and spans that are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import Role
from equipoise.errors import RatingError
from equipoise.ratings import fit, replay
from equipoise.ratings.history import History, Spans
from equipoise.ratings.system import Span
from tests.ratings.histories import agree, random_history
from tests.ratings.ns2.samples import SIDES, ns2, whole
from tests.ratings.samples import people


@pytest.mark.parametrize("seconds", [530.0, 530.3, 7.77, 1999.9])
def test_time_that_rounds_to_zero_counts_for_no_player_in_machine_code_either(seconds):
    """A commander's chair that is left at once, one taken after the end, and a round without any time played."""
    a, b, c, d = people(4)
    whole_round, chair = (Span(1, 0, seconds),), Role.COMMANDER
    commands = {a: (Span(0, 0, seconds, chair),), b: (Span(0, 0, seconds),), d: whole_round}
    at_once = Span(1, 0, seconds / 3), Span(1, seconds / 3, seconds / 3, chair), Span(1, seconds / 3, seconds)
    too_late = Span(1, 0, seconds + 3), Span(1, seconds + 3, seconds + 8, chair)
    idle = {p: (Span(0, seconds, seconds + 9),) for p in (a, b)}
    idle |= {p: (Span(1, seconds / 7, seconds / 7),) for p in (c, d)}
    matches = [
        replace(whole(2, 2), seconds=seconds, spans=spans)
        for spans in ({**commands, c: at_once}, {**commands, c: too_late}, idle)
    ]
    live, bulk, fitted = ns2(), ns2(), ns2()
    agree(live, bulk, matches)
    assert bulk.state(a)["commander"] == 2.5
    assert bulk.state(a)["rounds"] == 2
    fit(fitted, matches)
    assert fitted.state(a)["commander"] == pytest.approx(2.5, abs=1e-9)
    assert fitted.shared()["lengths"] == [seconds, seconds]


def test_commanders_of_the_last_moments_of_a_long_round_weigh_the_same_in_machine_code():
    a, b = people(2)
    for start in (1600.0, 1700.0, 1910.0, 1919.9, 1920.0, 2000.0):
        spans = {
            p: (Span(team, 0, begin), Span(team, begin, 3600, Role.COMMANDER))
            for team, (p, begin) in enumerate(((a, start), (b, start - 60.0)))
        }
        match = replace(whole(1, 1), seconds=3600.0, spans=spans)
        live, bulk = ns2(usual_seconds=60.0), ns2(usual_seconds=60.0)
        for system in (live, bulk):
            system.seed(a, commander=3000.0)
        agree(live, bulk, [match])


@pytest.mark.slow
def test_thousands_of_random_matches_leave_everything_finite():
    rng, count, size = np.random.default_rng(4), 30_000, 6
    places = 2 * size * count
    system = ns2(constant_rate=50.0, adagrad_rate=50.0)
    spans = Spans(
        starts=np.arange(places + 1),
        team=rng.integers(0, 2, places, dtype=np.int32),
        start=rng.uniform(0, 100, places),
        end=rng.uniform(100, 1e6, places),
        commander=rng.random(places) < 0.1,
    )
    history = random_history(
        count,
        size,
        seconds=rng.exponential(900.0, count),
        spans=spans,
        side=np.tile(np.array([0, 1], np.int32), count),
        sides=SIDES,
        map=rng.integers(-1, 3, count, dtype=np.int32),
        maps=("ns2_summit", "ns2_veil", "ns2_tram"),
    )
    replayed = replay(system, history)
    assert np.isfinite(replayed.after).all()
    assert ((replayed.wins >= 0) & (replayed.wins <= 1)).all()
    assert np.isfinite([system.skill(player) for player in system.players]).all()


def test_overlapping_spans_in_arrays_are_refused_by_player():
    times = map(np.array, ([30.0, 0.0, 0.0], [60.0, 40.0, 60.0], [False, False, False]))
    spans = Spans(np.array([0, 1, 3]), np.array([0, 1, 1], np.int32), *times)
    history = History.of([whole(1, 1)])
    with pytest.raises(RatingError, match=f"{people(2)[1]}: plays twice"):
        replace(history, spans=spans)
    later = replace(spans, start=np.array([30.0, 40.0, 0.0]), end=np.array([60.0, 60.0, 40.0]))
    assert replace(history, spans=later).spans is later


@pytest.mark.parametrize(("kind", "starts"), [("spans", [0, 1, 1]), ("bots", [0, 1])])
@pytest.mark.parametrize("team", [2, -1])
def test_spans_of_a_third_team_are_refused_and_change_nothing(team, kind, starts):
    spans = Spans(np.array(starts), np.array([team], np.int32), *map(np.array, ([0.0], [60.0], [False])))
    system = ns2()
    with pytest.raises(RatingError, match="third team"):
        replay(system, replace(History.of([whole(1, 1)]), **{kind: spans}))
    assert not system.players
