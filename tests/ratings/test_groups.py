"""Calibration by group of players against hand-computed values."""

from __future__ import annotations

import math

import pytest

from equipoise.ratings.quality import Group, Seats
from equipoise.ratings.quality import groups as groups_of

Seat = tuple[int, float, float, int, int, float | None]


def seat(
    round: int, predicted: float, score: float, squad: int = 1, rounds: int = 0, last: float | None = None
) -> Seat:
    return round, predicted, score, squad, rounds, last


def groups(seats: list[Seat]) -> tuple[Group, ...]:
    return groups_of(Seats.of(seats))


def test_a_group_has_the_mean_prediction_and_score_of_its_players() -> None:
    alone, pairs = groups([seat(1, 0.6, 1.0, squad=2), seat(1, 0.4, 0.0), seat(2, 0.7, 0.0, squad=2)])
    assert (alone.by, alone.name, alone.rounds, alone.players) == ("squad", "alone", 1, 1)
    assert (pairs.name, pairs.rounds, pairs.players) == ("2", 2, 2)
    assert (pairs.predicted, pairs.scored) == (pytest.approx(0.65), 0.5)
    assert pairs.difference.value == pytest.approx(-0.15)
    assert alone.difference.error is None


def test_the_standard_error_counts_rounds_because_their_players_share_their_luck() -> None:
    once = [seat(1, 0.5, 1.0, squad=2), seat(2, 0.5, 0.0, squad=2), seat(3, 0.5, 1.0, squad=2)]
    (_, single), (_, double) = (groups([*given, seat(1, 0.5, 0.0)]) for given in (once, once * 2))
    off = [0.5 - 1 / 6, -0.5 - 1 / 6, 0.5 - 1 / 6]
    error = math.sqrt(sum(each**2 for each in off) / 2 / 3)
    assert single.difference.error == pytest.approx(error)
    assert double.players == 2 * single.players
    assert double.difference.error == pytest.approx(error)


def test_a_division_with_one_group_says_nothing() -> None:
    assert groups([seat(1, 0.5, 1.0), seat(1, 0.5, 0.0)]) == ()
    assert groups([]) == ()


def test_experience_passes_into_the_next_group_at_10_50_and_200_rounds() -> None:
    found = groups([seat(1, 0.5, 1.0, rounds=rounds) for rounds in (0, 9, 10, 49, 50, 199, 200, 5000)])
    assert [(each.name, each.players) for each in found if each.by == "experience"] == [
        ("0 to 9", 2),
        ("10 to 49", 2),
        ("50 to 199", 2),
        ("200 or more", 2),
    ]


def test_who_played_before_and_whose_last_outcome_is_unknown_is_in_no_group_of_it() -> None:
    given = [(0, None), (1, 0.0), (2, 0.5), (3, 1.0), (4, None)]
    found = groups([seat(1, 0.5, 1.0, rounds=rounds, last=last) for rounds, last in given])
    assert [(each.name, each.players) for each in found if each.by == "last"] == [
        ("first round", 1),
        ("lost", 1),
        ("drew", 1),
        ("won", 1),
    ]


def test_squads_of_six_or_more_are_one_group() -> None:
    found = groups([seat(1, 0.5, 1.0, squad=size) for size in (1, 5, 6, 12)])
    assert [(each.name, each.players) for each in found] == [("alone", 1), ("5", 1), ("6 or more", 2)]
