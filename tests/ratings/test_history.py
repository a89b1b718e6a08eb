"""A history holds matches as arrays: every fact in its place; arrays that do not fit are refused."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.history import ALONE, UNKNOWN, History, Spans
from equipoise.ratings.parts.match_arrays import BOT
from equipoise.ratings.system import Counts, Match, Role, Span
from tests.ratings.samples import NUMBERS, duel

A, B, C, D = (PlayerId(str(76561198000000000 + number)) for number in range(4))
BARE = Match(teams=((A,), (B,)), ranks=(0, 1))
FULL = Match(
    teams=((A, C), (B, D)),
    ranks=(0, 1),
    fraction_played={A: 0.5},
    counts={C: Counts(3, 1)},
    quits=frozenset({D}),
    squads=((A, C), (D,)),
    spans={B: (Span(1, 0.0, 60.0), Span(0, 60.0, 90.0, Role.COMMANDER))},
    bots=(Span(1, 0.0, 90.0), Span(0, 30.0, 90.0, Role.COMMANDER)),
    points=(2.0, 1.0),
    sides=("home", "away"),
    seconds=90.0,
    weight=2.0,
    map="koth_viaduct",
    mode="koth",
)


def test_of_bare_matches_no_fact_is_kept_but_who_stands_in_the_lineups() -> None:
    history = History.of([BARE, BARE])
    optional = [each.name for each in fields(History) if each.default is None]
    kept = [name for name in optional if getattr(history, name) is not None]
    assert kept == ["lineup", "lineup_members", "skill_at_start", "lineup_known"]


def test_every_fact_stands_at_its_participant_team_or_match() -> None:
    history = History.of([BARE, FULL])

    expected: dict[str, list[Any]] = {
        "fraction_played": [math.nan, math.nan, 0.5, math.nan, math.nan, math.nan],
        "kills": [math.nan, math.nan, math.nan, 3, math.nan, math.nan],
        "deaths": [math.nan, math.nan, math.nan, 1, math.nan, math.nan],
        "quit": [False, False, False, False, False, True],
        "squad": [ALONE, ALONE, 0, 0, ALONE, 1],
        "points": [math.nan, math.nan, 2, 1],
        "side": [UNKNOWN, UNKNOWN, 0, 1],
        "seconds": [math.nan, 90],
        "weight": [1, 2],
        "map": [UNKNOWN, 0],
        "mode": [UNKNOWN, 0],
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(getattr(history, name), values, err_msg=name)
    assert (history.sides, history.maps, history.modes) == (("home", "away"), ("koth_viaduct",), ("koth",))


def test_stretches_stand_at_their_participant() -> None:
    spans = History.of([BARE, FULL]).spans

    assert spans is not None
    assert spans.starts.tolist() == [0, 0, 0, 0, 0, 2, 2]
    assert spans.team.tolist() == [1, 0]
    assert (spans.start.tolist(), spans.end.tolist()) == ([0.0, 60.0], [60.0, 90.0])
    assert spans.commander.tolist() == [False, True]


def test_stretches_of_bots_stand_at_their_match_and_may_overlap() -> None:
    bots = History.of([BARE, FULL, BARE]).bots

    assert bots is not None
    assert bots.starts.tolist() == [0, 0, 2, 2]
    assert (bots.team.tolist(), bots.commander.tolist()) == ([1, 0], [False, True])
    assert (bots.start.tolist(), bots.end.tolist()) == ([0.0, 30.0], [90.0, 90.0])


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"fraction_played": np.zeros(1)}, "1 fraction_played for 2 rows"),
        ({"points": np.zeros(5)}, "5 points for 2 rows"),
        ({"class_seconds": np.zeros((2, 2)), "classes": ("spy",)}, "class_seconds are not by 1 classes"),
        ({"map": np.array([3], np.int32), "maps": ("one",)}, "map hold a number"),
    ],
)
def test_facts_that_do_not_fit_are_refused(facts: dict[str, Any], complaint: str) -> None:
    bare = History.of([BARE])

    with pytest.raises(RatingError, match=complaint):
        History(bare.players, bare.matches, bare.teams, bare.members, bare.ranks, bare.started_at, **facts)


@pytest.mark.parametrize("name", [*NUMBERS, "player_points"])
def test_numbers_go_from_where_to_where_those_of_a_match_go(name: str) -> None:
    low, high = NUMBERS.get(name, (0, 1e9))
    bare = History.of([BARE, BARE])
    count = len(bare) if name in ("started_at", "seconds", "weight") else 2 * len(bare)
    values = np.linspace(low, high, count)
    replace(bare, **{name: values})
    for wrong in (np.nextafter(low, -np.inf), np.nextafter(high, np.inf), -math.inf, math.inf):
        values[-1] = wrong
        with pytest.raises(RatingError, match=name):
            replace(bare, **{name: values})


def test_any_number_may_be_unknown_but_a_weight() -> None:
    bare = History.of([BARE])

    for name in ("started_at", "seconds"):
        replace(bare, **{name: np.array([math.nan])})
    for name in ("skill_at_start", "fraction_played", "kills", "deaths", "points"):
        replace(bare, **{name: np.full(2, math.nan)})
    with pytest.raises(RatingError, match="weight that is no number"):
        replace(bare, weight=np.array([math.nan]))


@pytest.mark.parametrize(
    ("start", "end"), [(60.0, 0.0), (math.nan, 60.0), (0.0, math.nan), (-math.inf, 60.0), (0.0, math.inf)]
)
def test_spans_that_are_no_stretches_of_time_are_refused(start: float, end: float) -> None:
    with pytest.raises(RatingError, match="no stretches of time"):
        replace(History.of([BARE]), spans=spans_of_one(start=np.array([start]), end=np.array([end])))
    with pytest.raises(RatingError, match="no stretches of time"):
        replace(History.of([BARE, BARE]), bots=spans_of_one(start=np.array([start]), end=np.array([end])))


@pytest.mark.parametrize("name", ["start", "end", "commander"])
def test_spans_of_which_something_is_missing_are_refused(name: str) -> None:
    with pytest.raises(RatingError, match="without a team, a start, an end or a role"):
        replace(History.of([BARE]), spans=spans_of_one(**{name: np.empty(0)}))


def test_bots_of_another_number_of_matches_are_refused() -> None:
    with pytest.raises(RatingError, match="bots are not 2 offsets"):
        replace(History.of([BARE]), bots=spans_of_one())


def spans_of_one(**given: Any) -> Spans:
    """A stretch of the first of two participants, or of a bot in the first of two matches."""
    facts = {"start": np.zeros(1), "end": np.array([60.0]), "commander": np.zeros(1, np.bool_)} | given
    return Spans(starts=np.array([0, 1, 1]), team=np.zeros(1, np.int32), **facts)


def test_a_match_that_is_not_over_makes_no_history():
    with pytest.raises(RatingError, match="not over"):
        History.of([Match(teams=((PlayerId("ann"),), (PlayerId("bob"),)))])


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"matches": np.array([0, 3])}, "matches"),
        ({"teams": np.array([0, 2, 1])}, "teams"),
        ({"teams": np.array([0, 3, 2])}, "teams"),
        ({"members": np.array([0, 2], np.int32)}, "members"),
        ({"members": np.array([BOT, 1], np.int32)}, "members"),
        ({"lineup": np.array([0, 1, 3])}, "lineup"),
        ({"lineup_members": np.array([-2, 1], np.int32)}, "lineup_members"),
        ({"skill_at_start": np.zeros(3)}, "skill_at_start"),
        ({"started_at": np.zeros(2)}, "matches"),
        ({"players": (PlayerId("ann"), PlayerId("bot:1"))}, "bot:1"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused_by_name(wrong, name):
    with pytest.raises(RatingError, match=name):
        replace(History.of([duel("ann", "bob")]), **wrong)
