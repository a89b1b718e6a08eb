"""A replay, whose kernel is compiled, gives the numbers of `rate`, and leaves the system in the same state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import fit, replay
from equipoise.ratings.history import History, Replayed, Spans
from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.system import Match, Role, Span
from tests.ratings.ns2.samples import SIDES, busy_matches, ns2, whole
from tests.ratings.samples import duel, people


def one_by_one(system: NS2, matches: list[Match]) -> Replayed:
    rated = [system.rate(match) for match in matches]
    return Replayed(
        wins=np.array([win for each in rated for win in each.prediction.wins]),
        draws=np.array([each.prediction.draw for each in rated]),
        after=np.array([change.after for each in rated for change in each.changes]),
    )


def agree(one: NS2, other: NS2) -> None:
    assert one.players.keys() == other.players.keys()
    for player in one.players:
        state, same = dict(one.state(player)), dict(other.state(player))
        assert state.pop("last_played") == same.pop("last_played")
        assert state == pytest.approx(same, rel=1e-11, abs=1e-11)
    assert one.shared() == other.shared()


@pytest.mark.parametrize("field_share", [0.0, 0.5])
def test_a_replay_gives_the_numbers_and_the_state_of_rating_one_by_one(field_share):
    live, bulk = (ns2(median_rounds=8, large_above=6, commander_field_share=field_share) for _ in range(2))
    matches = list(busy_matches(seed=1, count=250, players=15))
    for system in (live, bulk):
        one_by_one(system, matches[:50])
    rest = matches[50:]
    rated = one_by_one(live, rest)
    replayed = replay(bulk, History.of(rest))
    np.testing.assert_allclose(replayed.wins, rated.wins, rtol=0, atol=1e-12)
    np.testing.assert_allclose(replayed.after, rated.after, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(replayed.draws, rated.draws)
    agree(live, bulk)


@pytest.mark.parametrize("seconds", [530.0, 530.3, 7.77, 1999.9])
def test_time_that_rounds_to_nothing_is_nobodys_in_machine_code_either(seconds):
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
    rated = one_by_one(live, matches)
    np.testing.assert_allclose(replay(bulk, History.of(matches)).wins, rated.wins, rtol=0, atol=1e-12)
    agree(live, bulk)
    assert bulk.state(a)["commander"] == 2.5
    assert bulk.state(a)["rounds"] == 2
    fit(fitted, matches)
    assert fitted.state(a)["commander"] == pytest.approx(2.5, abs=1e-9)
    assert fitted.shared()["lengths"] == [seconds, seconds]


def test_chairs_taken_when_hardly_anything_counts_any_more_weigh_the_same_in_machine_code():
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
        rated = one_by_one(live, [match])
        np.testing.assert_allclose(replay(bulk, History.of([match])).wins, rated.wins, rtol=0, atol=1e-11)


def test_bare_matches_replay_as_rated():
    live, bulk = ns2(), ns2()
    matches = [duel("ann", "bob"), duel("bob", "cid", 0.5), duel("cid", "ann", 0.0)]
    np.testing.assert_allclose(one_by_one(live, matches).after, replay(bulk, History.of(matches)).after)
    agree(live, bulk)


def test_a_history_replayed_in_two_parts_ends_as_in_one():
    together, parts = ns2(), ns2()
    matches = list(busy_matches(seed=2, count=300, players=20))
    replay(together, History.of(matches))
    for part in (matches[:120], matches[120:]):
        replay(parts, History.of(part))
    agree(together, parts)


def test_a_system_goes_on_rating_after_a_replay():
    live, bulk = ns2(), ns2()
    matches = list(busy_matches(seed=3, count=200, players=12))
    one_by_one(live, matches[:150])
    replay(bulk, History.of(matches[:150]))
    one_by_one(live, matches[150:])
    one_by_one(bulk, matches[150:])
    agree(live, bulk)


@pytest.mark.slow
def test_thousands_of_random_matches_leave_everything_finite():
    rng = np.random.default_rng(4)
    count, players, size = 30_000, 200, 6
    places = 2 * size * count
    system = ns2(constant_rate=50.0, adagrad_rate=50.0)
    replayed = replay(
        system,
        History(
            players=tuple(people(players)),
            matches=2 * np.arange(count + 1),
            teams=size * np.arange(2 * count + 1),
            members=np.concatenate([rng.permutation(players)[: 2 * size] for _ in range(count)]).astype(np.int32),
            ranks=rng.integers(0, 2, 2 * count, dtype=np.int32),
            started_at=np.full(count, np.nan),
            seconds=rng.exponential(900.0, count),
            spans=Spans(
                starts=np.arange(places + 1),
                team=rng.integers(0, 2, places, dtype=np.int32),
                start=rng.uniform(0, 100, places),
                end=rng.uniform(100, 1e6, places),
                commander=rng.random(places) < 0.1,
            ),
            side=np.tile(np.array([0, 1], np.int32), count),
            sides=SIDES,
            map=rng.integers(-1, 3, count, dtype=np.int32),
            maps=("ns2_summit", "ns2_veil", "ns2_tram"),
        ),
    )
    assert np.isfinite(replayed.after).all()
    assert ((replayed.wins >= 0) & (replayed.wins <= 1)).all()
    assert np.isfinite([system.skill(player) for player in system.players]).all()


def test_a_player_who_was_only_in_the_lineup_is_not_made():
    system = ns2()
    ann, bob = people(2)
    match = replace(whole(1, 1), lineup=((ann, PlayerId("bot:1")), (PlayerId("cid"),)))
    replay(system, History.of([match]))
    assert set(system.players) == {ann, bob}


def test_an_empty_history_is_replayed_in_no_time():
    assert len(replay(ns2(), History.of([])).after) == 0


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"seconds": np.array([-1.0])}, "seconds"),
        ({"weight": np.array([np.inf])}, "weight"),
        ({"weight": np.array([np.nan])}, "weight"),
        ({"fraction_played": np.array([0.5, -0.5])}, "fraction_played"),
        ({"fraction_played": np.array([np.inf, 1.0])}, "fraction_played"),
    ],
)
def test_a_history_that_cannot_be_rated_is_refused_and_changes_nothing(wrong, reason):
    system = ns2()
    with pytest.raises(RatingError, match=reason):
        replay(system, replace(History.of([whole(1, 1)]), **wrong))
    assert not system.players
    assert system.shared() == ns2().shared()


def test_overlapping_spans_in_arrays_are_refused_by_player():
    times = map(np.array, ([30.0, 0.0, 0.0], [60.0, 40.0, 60.0], [False, False, False]))
    spans = Spans(np.array([0, 1, 3]), np.array([0, 1, 1], np.int32), *times)
    history = History.of([whole(1, 1)])
    with pytest.raises(RatingError, match=f"{people(2)[1]}: plays twice"):
        replace(history, spans=spans)
    later = replace(spans, start=np.array([30.0, 40.0, 0.0]), end=np.array([60.0, 60.0, 40.0]))
    assert replace(history, spans=later).spans is later


@pytest.mark.parametrize("team", [2, -1])
def test_spans_of_a_third_team_are_refused_and_change_nothing(team):
    spans = Spans(np.array([0, 1, 1]), np.array([team], np.int32), *map(np.array, ([0.0], [60.0], [False])))
    system = ns2()
    with pytest.raises(RatingError, match="third team"):
        replay(system, replace(History.of([whole(1, 1)]), spans=spans))
    assert not system.players


def test_three_teams_are_refused():
    match = Match(teams=tuple((player,) for player in people(3)), ranks=(0, 1, 2))
    with pytest.raises(RatingError, match="two teams"):
        replay(ns2(), History.of([match]))
