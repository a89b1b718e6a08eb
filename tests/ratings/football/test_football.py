"""The three football rankings: what a match counts, what a score line says, and who is ranked."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import create
from equipoise.ratings.football.rankings import FifaMen, FifaWomen, WorldFootballElo
from equipoise.ratings.football.system import Kind, kind_of
from equipoise.ratings.system import Match
from tests.ratings.samples import people

NOR, SWE, DEN = (PlayerId(name) for name in ("NOR", "SWE", "DEN"))
DAY = 86_400.0


def played(goals: int, other: int, mode: str = "friendly", *, won: int | None = None, **facts: object) -> Match:
    """Norway against Sweden on neutral ground; `won`, 0 or 1: who won the shoot-out."""
    order = (goals < other) - (goals > other) if won is None else (1 if won else -1)
    ranks = (max(order, 0), max(-order, 0))
    teams = facts.pop("teams", ((NOR,), (SWE,)))
    return Match(teams=teams, ranks=ranks, points=(float(goals), float(other)), mode=mode, **facts)


def changes(name: str, match: Match, **params: object) -> list[float]:
    return [each.after - each.before for each in create(name, **params).rate(match).changes]


# Kinds of match.


CONTINENTS = (
    "UEFA Euro",
    "Copa América",
    "African Cup of Nations",
    "AFC Asian Cup",
    "Gold Cup",
    "CONCACAF Championship",
    "Oceania Nations Cup",
)
NAMES = {
    Kind.FRIENDLY: ["Friendly"],
    Kind.NATIONS_LEAGUE: ["UEFA Nations League", "CONCACAF Nations League"],
    Kind.QUALIFIER: ["FIFA World Cup qualification"],
    Kind.CONTINENTAL_QUALIFIER: [f"{each} qualification" for each in CONTINENTS],
    Kind.OLYMPIC_QUALIFIER: ["Olympic Games qualification"],
    Kind.CONTINENTAL: [*CONTINENTS, "Confederations Cup"],
    Kind.WORLD_CUP: ["FIFA World Cup"],
    Kind.OLYMPICS: ["Olympic Games"],
    Kind.OTHER: ["CECAFA Cup", "Merdeka Tournament", ""],
}
"""As in the results of martj42."""


def test_a_mode_is_a_kind_or_the_name_of_a_tournament():
    for kind in Kind:
        assert {kind_of(name) for name in (kind.value, *NAMES.get(kind, []))} == {kind}


def test_every_kind_counts_as_the_published_tables_say():
    tables = (WorldFootballElo.importance, FifaMen.importance, FifaWomen.importance)
    assert {kind: tuple(table[kind] for table in tables) for kind in Kind} == {
        Kind.FRIENDLY: (20, 10, 15),
        Kind.FRIENDLY_OUTSIDE_WINDOW: (20, 5, 15),
        Kind.NATIONS_LEAGUE: (30, 15, 15),
        Kind.NATIONS_LEAGUE_PLAY_OFF: (30, 25, 15),
        Kind.NATIONS_LEAGUE_FINALS: (30, 25, 15),
        Kind.QUALIFIER: (40, 25, 45),
        Kind.CONTINENTAL_QUALIFIER: (40, 25, 30),
        Kind.OLYMPIC_QUALIFIER: (30, 10, 45),
        Kind.CONTINENTAL: (50, 35, 45),
        Kind.CONTINENTAL_KNOCK_OUT: (50, 35, 45),
        Kind.CONTINENTAL_QUARTER_FINAL_ON: (50, 40, 45),
        Kind.WORLD_CUP: (60, 50, 60),
        Kind.WORLD_CUP_KNOCK_OUT: (60, 50, 60),
        Kind.WORLD_CUP_QUARTER_FINAL_ON: (60, 60, 60),
        Kind.OLYMPICS: (30, 10, 60),
        Kind.OTHER: (30, 10, 15),
    }


# World Football Elo.


def test_goals_multiply_the_points_exchanged():
    assert changes("world_football_elo", played(4, 0, "world cup")) == [56, -56]  # 30 x 1.875 = 56.25
    assert changes("world_football_elo", played(4, 0, "world cup"), rounding="none") == [56.25, -56.25]


def test_the_home_team_is_better_by_100_points():
    match = played(1, 1, sides=("home", "away"))
    expected = 1 / (1 + 10 ** (-100 / 400))
    assert create("world_football_elo").predict(match).wins[0] == pytest.approx(expected)
    assert changes("world_football_elo", match, rounding="none")[0] == pytest.approx(20 * (0.5 - expected))


def test_a_shoot_out_is_a_draw_in_the_world_football_elo():
    assert changes("world_football_elo", played(1, 1, won=0)) == [0, 0]


def test_whole_points_are_exchanged_and_none_is_lost():
    system, rng = create("world_football_elo"), random.Random(1)
    for _ in range(200):
        a, b = rng.sample(people(8), 2)
        system.rate(played(rng.randrange(6), rng.randrange(4), "qualifier", teams=((a,), (b,))))
    assert all(player.rating % 1 == 0 for player in system.players.values())
    assert sum(player.rating for player in system.players.values()) == 8 * 1500


# FIFA, men.


def test_a_shoot_out_gives_three_quarters_to_the_winner_and_a_draw_to_the_loser():
    assert changes("fifa_men", played(0, 0, "world cup", won=1)) == [0, 12.5]


def test_a_shoot_out_after_two_legs_leaves_the_match_an_ordinary_win_and_loss():
    assert changes("fifa_men", played(1, 0, "qualifier", won=1)) == [12.5, -12.5]


def test_the_knock_out_stages_of_final_competitions_take_no_points():
    losses = {
        "world cup": -25,
        "world cup knock-out": 0,
        "world cup quarter-final on": 0,
        "continental": -17.5,
        "continental knock-out": 0,
        "continental quarter-final on": 0,
        "nations league finals": 0,
        "nations league play-off": -12.5,
        "qualifier": -12.5,
    }
    assert {mode: changes("fifa_men", played(0, 1, mode))[0] for mode in losses} == losses


def test_a_favourite_who_wins_a_knock_out_match_on_penalties_loses_no_points():
    system = create("fifa_men")
    system.seed(NOR, rating=1900)
    assert system.rate(played(0, 0, "world cup knock-out", won=0)).changes[0].after == 1900


def test_home_is_no_advantage_to_men():
    assert create("fifa_men").predict(played(0, 0, sides=("home", "away"))).wins == (0.5, 0.5)


# FIFA, women.


def test_a_goalless_draw_costs_both_points_and_one_of_many_goals_gives_both_points():
    assert changes("fifa_women", played(0, 0, "world cup")) == pytest.approx([-1.8, -1.8])
    assert changes("fifa_women", played(7, 7, "world cup")) == pytest.approx([1.8, 1.8])


def test_the_table_ends_at_five_goals_and_a_difference_of_six():
    women = FifaWomen.create()
    assert women.outcome(12, 2, 1) == women.outcome(8, 2, 1) == (1.0, 0.98, 0.02)
    assert women.outcome(9, 10, -1) == women.outcome(5, 6, -1) == (1.0, 0.2, 0.8)


def test_a_shoot_out_is_a_draw_to_women():
    assert FifaWomen.create().outcome(1, 1, 1) == (1.0, 0.5, 0.5)


def test_only_the_first_ten_friendlies_of_a_pair_count_double():
    system = FifaWomen.create()
    system.rate(played(1, 0, "world cup"))
    weights = []
    for number in range(12):
        teams = ((NOR,), (SWE,)) if number % 2 else ((SWE,), (NOR,))
        match = played(1, 0, teams=teams)
        weights.append(system.importance_in(match))
        system.rate(match)
    assert weights == [30.0] * 10 + [15.0] * 2
    assert system.importance_in(played(1, 0, teams=((NOR,), (DEN,)))) == 30


def test_the_first_teams_are_ranked_after_five_matches_and_then_ranked_opponents_are_needed():
    system = FifaWomen.create()
    for number in range(5):
        assert not system.ranked(NOR, None)
        system.rate(played(1, 0, started_at=number * DAY))
    assert system.ranked(NOR, 5 * DAY)
    assert system.summary(NOR).visible
    newcomers = people(2)
    for number in range(6):
        system.rate(played(1, 0, teams=((newcomers[0],), (newcomers[1],)), started_at=(6 + number) * DAY))
    assert system.summary(newcomers[0]).missing == 5
    for number in range(5):
        system.rate(played(0, 3, teams=((newcomers[0],), (SWE,)), started_at=(20 + number) * DAY))
    assert system.ranked(newcomers[0], 25 * DAY)
    assert not system.ranked(newcomers[1], 25 * DAY)


def test_a_team_without_a_match_for_eighteen_months_is_not_ranked_and_keeps_its_points():
    system = FifaWomen.create()
    for number in range(5):
        system.rate(played(2, 0, started_at=number * DAY))
    points = system.skill(NOR)
    assert system.ranked(NOR, 552 * DAY)
    assert not system.ranked(NOR, 553 * DAY)
    system.rate(played(1, 0, teams=((DEN,), (NOR,)), started_at=600 * DAY))
    assert system.held(DEN).recognised == 0
    assert system.held(NOR).rating < points


def test_a_team_is_restored_with_its_friendlies():
    system, other = FifaWomen.create(), FifaWomen.create()
    for number in range(3):
        system.rate(played(1, 0, started_at=float(number)))
    other.restore(NOR, system.state(NOR))
    assert other.held(NOR) == system.held(NOR)
    assert other.held(NOR).friendlies == {SWE: 3}
    with pytest.raises(RatingError, match="NOR: friendlies"):
        other.restore(NOR, {**system.state(NOR), "friendlies": 3})


# All three.


@pytest.mark.parametrize("name", ["world_football_elo", "fifa_men", "fifa_women"])
def test_football_is_for_histories_only(name):
    assert not create(name).live
    assert create("elo").live


UNREAD: dict[str, dict[str, object]] = {
    "fraction_played": {"fraction_played": {NOR: 0.5}},
    "lineup": {"lineup": ((DEN, PlayerId("bot:1")), (SWE,)), "skill_at_start": {DEN: 1900.0}},
    "skill_at_start": {"skill_at_start": {NOR: 1900.0}},
    "weight": {"weight": 3.0},
    "others": {"map": "Ullevaal", "seconds": 7200.0, "quits": frozenset({SWE})},
}


@pytest.mark.parametrize("name", ["world_football_elo", "fifa_men", "fifa_women"])
def test_facts_that_football_does_not_read_change_nothing(name):
    match = played(3, 1, "qualifier", sides=("home", "away"))
    for case, facts in UNREAD.items():
        plain, other = (create(name) for _ in range(2))
        for system in (plain, other):
            system.seed(NOR, rating=1400)
        assert other.predict(replace(match, **facts)) == plain.predict(match), case
        assert other.rate(replace(match, **facts)) == plain.rate(match), case
        assert other.players == plain.players, case


@pytest.mark.parametrize("name", ["world_football_elo", "fifa_men", "fifa_women"])
def test_a_match_that_is_not_of_football_is_refused_and_changes_nothing(name):
    system = create(name)
    for match, reason in (
        (replace(played(1, 0), points=()), "needs the goals of NOR and SWE"),
        (replace(played(1, 0), points=(1.5, 0.0)), "goals: 1.5"),
        (replace(played(1, 0), points=(1000.0, 0.0)), "goals: 1000.0"),
        (replace(played(1, 0), points=(1.0, -1.0)), "goals: -1.0"),
        (replace(played(1, 0), teams=((NOR, DEN), (SWE,))), "one player a side"),
        (replace(played(1, 0), teams=((NOR,), ())), "one player a side"),
    ):
        with pytest.raises(RatingError, match=reason):
            system.rate(match)
        assert not system.players, reason
