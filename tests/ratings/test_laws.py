"""Laws of every rating system: the order of names is nothing, the stronger is favoured, and nonsense is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import SYSTEMS, create
from equipoise.ratings.system import Match, Span
from tests.ratings.histories import fullest
from tests.ratings.samples import ANN, BOB, CID, DAN, duel, people, random_matches

LIVE = [name for name in SYSTEMS if create(name).live]


def of(name: str, match: Match) -> Match:
    """A match as this system needs it: football has goals."""
    return match if name in LIVE else replace(match, points=tuple(2.0 - rank for rank in match.ranks), mode="friendly")


def turned(match: Match) -> Match:
    """The same match with its teams, and the players of each, in the reverse order."""
    last = len(match.teams) - 1

    def other(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(replace(span, team=last - span.team) for span in spans)

    teams, lineup = (tuple(team[::-1] for team in side[::-1]) for side in (match.teams, match.lineup))
    spans = {player: other(each) for player, each in match.spans.items()}
    ranks, points, sides = match.ranks[::-1], match.points[::-1], match.sides[::-1]
    return replace(
        match, teams=teams, lineup=lineup, ranks=ranks, points=points, sides=sides, spans=spans, bots=other(match.bots)
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_order_of_sides_and_of_players_makes_no_difference(name: str) -> None:
    plain_matches = [replace(each, seconds=600.0) for each in random_matches(2, 60, 12, 3 if name in LIVE else 1)]
    # Where TrueSkill reads more, or of more teams, the order shows in the fifth digit: its own tests are of less.
    params, full = fullest(name) if name in LIVE and not name.startswith("trueskill") else ({}, [])
    for matches in (plain_matches, full):
        plain, reverse = create(name, **params), create(name, **params)
        for match in (of(name, each) for each in matches):
            wins = plain.rate(match).prediction.wins
            assert reverse.rate(turned(match)).prediction.wins == pytest.approx(wins[::-1])
        for player in people(15):
            assert reverse.skill(player) == pytest.approx(plain.skill(player), rel=1e-8, abs=1e-6)
            assert reverse.uncertainty(player) == pytest.approx(plain.uncertainty(player), rel=1e-8)


@pytest.mark.parametrize("name", LIVE)
def test_what_a_system_makes_of_matches_does_not_depend_on_the_order_of_ids(name: str) -> None:
    # So that a stand-in may have any id, and the ratings of others stay to the last digit. TeamSkill sums over groups
    # in the order of their members' ids, which the last digits show.
    plain, renamed = create(name), create(name)
    others = dict(zip(people(12), people(12)[::-1], strict=True))
    for match in random_matches(seed=3, count=200, players=12, size=4):
        turned = replace(match, teams=tuple(tuple(map(others.__getitem__, team)) for team in match.teams))
        plain.rate(match)
        renamed.rate(turned)
    skills = [plain.skill(player) for player in people(12)], [renamed.skill(others[player]) for player in people(12)]
    assert skills[1] == (pytest.approx(skills[0], rel=1e-9) if name.startswith("teamskill") else skills[0])


UNITS: dict[str, tuple[dict[str, float], float]] = {
    "elo": ({"initial": 0.0, "scale": 800.0, "k": 64.0}, 2),
    "glicko": ({"initial": 0.0}, 1),
    "glicko2": ({"initial": 0.0}, 1),
    "joint": ({"initial": 0.0, "scale": 600.0}, 1 / 4),
    "trueskill": ({"mu": 1500, "sigma": 1000 / 3, "beta": 500 / 3, "tau": 10 / 3}, 40),
    "trueskill_through_time": ({"mu": 1500, "sigma": 1000 / 3, "beta": 500 / 3, "gamma": 10 / 3}, 40),
    "weng_lin": ({"mu": 1500, "sigma": 1000 / 3, "beta": 500 / 3, "tau": 10 / 3}, 40),
}
"""Another newcomer and unit of skill, and how many times as large the numbers are."""


@pytest.mark.parametrize("name", UNITS)
def test_a_scale_of_skill_and_a_shift_of_all_change_nothing_but_the_unit(name: str) -> None:
    params, factor = UNITS[name]
    plain, other = create(name), create(name, **params)
    newcomers = plain.skill(PlayerId("zed")), other.skill(PlayerId("zed"))
    for match in random_matches(seed=3, count=100, players=12, size=3):
        wins = plain.rate(match).prediction.wins
        assert other.rate(match).prediction.wins == pytest.approx(wins, abs=1e-9)
    for player in people(12):
        moved = newcomers[1] + factor * (plain.skill(player) - newcomers[0])
        assert other.skill(player) == pytest.approx(moved, abs=1e-6 * factor)
        assert other.uncertainty(player) == pytest.approx(
            plain.uncertainty(player) * (1.0 if name == "elo" else factor), rel=1e-7
        )


@pytest.mark.parametrize("name", [name for name in LIVE if name != "joint" and not name.startswith("teamskill")])
def test_a_match_is_predicted_by_its_lineups_and_the_skills_at_its_start(name: str) -> None:
    """And a bot as a newcomer, but where it has a skill of its own."""
    system, known = create(name), create(name)
    newcomer, shown, bot = system.skill(ANN), system.summary(ANN).rating, PlayerId("bot:1")
    gap = system.gap(0.1, 1)
    ahead = newcomer + (gap if gap < 10.0 else round(gap))
    match = replace(duel("ann", "bob"), lineup=((ANN, CID), (BOB,)), skill_at_start={ANN: ahead}, seconds=600.0)
    known.seed(ANN, **{"mu" if hasattr(system.params, "mu") else "rating": ahead})
    expected = known.predict(replace(match, lineup=(), skill_at_start={}, teams=match.lineup)).wins
    assert system.predict(match).wins == pytest.approx(expected)
    with_bot = system.predict(replace(match, lineup=((ANN, bot), (BOB,)))).wins
    assert (with_bot == pytest.approx(expected)) is (name != "trueskill2")
    rated = system.rate(match)
    assert rated.prediction.wins == pytest.approx(expected)
    assert [(change.player, change.before) for change in rated.changes] == [(ANN, shown), (BOB, shown)]
    assert system.summary(CID).rounds == 0


@pytest.mark.parametrize("name", LIVE)
def test_a_change_names_the_player_their_team_and_what_was_expected_of_it(name: str) -> None:
    system, players = create(name), (ANN, BOB, CID, DAN)
    before = [system.summary(player).rating for player in players]
    rated = system.rate(Match(((ANN, BOB), (CID, DAN)), (0, 1), seconds=600.0))
    said = [(change.player, change.team, change.score, change.rounds) for change in rated.changes]
    assert said == [(ANN, 0, 1, 1), (BOB, 0, 1, 1), (CID, 1, 0, 1), (DAN, 1, 0, 1)]
    assert [change.expected for change in rated.changes] == [rated.prediction.expected(team) for team in (0, 0, 1, 1)]
    assert [change.before for change in rated.changes] == before
    assert [change.after for change in rated.changes] == [system.summary(player).rating for player in players]


@pytest.mark.parametrize("name", LIVE)
def test_a_rating_is_shown_once_no_shadow_round_is_missing_and_stale_after_days_without_a_round(name: str) -> None:
    given = {"shadow_rounds": 2, "stale_days": 3.0}
    system = create(name, **{"settings": given} if name.startswith("teamskill") else given)
    shown = []
    for _ in range(3):
        shown.append((summary := system.summary(ANN)).missing)
        assert (summary.rounds, summary.visible) == (len(shown) - 1, summary.missing == 0)
        system.rate(replace(duel("ann", "bob"), started_at=1e9))
    assert shown == [2, 1, 0]
    assert summary.last_played == 1e9
    stale = [system.stale(last, 1e9 + 3 * 86_400.0 + late) for last, late in ((1e9, 0), (1e9, 1), (None, 1))]
    assert stale == [False, True, False]


@pytest.mark.parametrize("outcome", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_stronger_is_favoured_the_more_so_the_stronger_and_no_gap_is_too_large(name: str, outcome: float) -> None:
    system, chances = create(name), []
    newcomer, match = round(system.skill(BOB)), of(name, replace(duel("ann", "bob", outcome), seconds=600.0))
    unit = system.gap(0.05, 1) if name in LIVE else 50.0
    for gap in (0.0, unit, 4 * unit, 40_000.0):
        system.seed(ANN, rating=newcomer + (gap if gap < 1.0 else round(gap)))
        chances.append(system.predict(match).expected(0))
    assert chances == sorted(chances)
    assert chances[1] < chances[2] > 0.5
    rated = system.rate(match)
    assert all(math.isfinite(change.after) for change in rated.changes)
    assert sum(rated.prediction.wins) + rated.prediction.draw == pytest.approx(1)
    assert math.isfinite(system.uncertainty(ANN))


@pytest.mark.parametrize(
    ("name", "params", "known", "probability", "size"),
    [
        ("elo", {"form": "logistic"}, {}, 0.01, 2),
        ("elo", {"form": "gaussian"}, {}, 0.01, 2),
        ("glicko", {}, {"rd": 1}, 0.01, 2),
        ("glicko2", {}, {"rd": 1}, 0.01, 2),
        ("synelo", {}, {}, 0.01, 2),
        ("trueskill", {"sigma": 0.001, "tau": 0}, {}, 0.01, 6),
        ("trueskill2", {}, {"sigma": 1e-4}, 0.05, 1),
        ("weng_lin", {"sigma": 0.001, "tau": 0}, {}, 0.01, 6),
        ("weng_lin", {"sigma": 0.001, "tau": 0, "model": "thurstone_mosteller", "neighbours": 1}, {}, 0.01, 6),
        ("ns2", {}, {}, 0.001, 6),
    ],
)
def test_a_gap_is_worth_its_probability_where_players_are_known(
    name: str, params: dict[str, Any], known: dict[str, float], probability: float, size: int
) -> None:
    system, names = create(name, **params), people(2 * size)
    newcomer = system.skill(names[0])
    for player in names:
        system.seed(player, rating=newcomer, **known)
    system.seed(names[0], rating=newcomer + system.gap(probability, size), **known)
    match = Match((tuple(names[:size]), tuple(names[size:])), (0, 1), seconds=600.0)
    assert system.predict(match).expected(0) - 0.5 == pytest.approx(probability, rel=0.02)


PARAMETERS: dict[str, list[tuple[str, object]]] = {
    "elo": [("k", -1.0), ("form", "cauchy"), ("speed", 1)],
    "glicko": [("rd", 0.0), ("periods", "week")],
    "glicko2": [("tau", 0.0)],
    "ns2": [
        *[("shape", 1.0), ("scale", 0.0), ("constant_rate", -0.1), ("adagrad_rate", math.nan), ("adagrad_floor", 0.0)],
        *[("offset_deviation", 0), ("commander_field_share", 1.1), ("plus_side", ""), ("plus_side", 1)],
        *[("prior_rounds", 0.0), ("large_above", 16.5), ("usual_seconds", 0.0), ("median_rounds", 0)],
        *[("shadow_rounds", True), ("stale_days", -1.0), ("learning_rate", 0.1)],
    ],
    "synelo": [
        *[("k_max", 0), ("k_max", 12.5), ("k_max", True), ("k_max", "12"), ("theta", 0.5), ("theta", math.nan)],
        *[("window", 1), ("floor", -1.0), ("floor", 99.5), ("initial", 50.0), ("initial", None), ("shadow_cap", 50.0)],
        *[("k_factor_min", 80.0), ("k_factor_max", 0.0), ("compression", math.inf), ("rounding", "up")],
        ("sigma", 400.0),
    ],
    "teamskill_k": [("base", "chess"), ("k", 0), ("settings", {"speed": 1})],
    "trueskill": [("beta", 0), ("sigma", -1.0), ("draw_probability", 1.0), ("tau", math.nan), ("kappa", 1)],
    "trueskill2": [
        *[("beta2", 0.0), ("quit_related", 1.5), ("quit_margin", 0.5), ("squad_offset", ("big",))],
        *[("experience_offset", (0.0,) * 202), ("modes", {"arena": {"base_variance": 2.0}})],
        *[("modes", {"arena": {"speed": 2.0}}), ("modes", {"arena": {"beta2": -2.0}})],
    ],
    "trueskill_through_time": [("gamma", -1), ("period_days", 0)],
    "weng_lin": [("model", "elo"), ("neighbours", -1), ("epsilon", -0.1), ("limit_sigma", 1), ("draw_probability", 0)],
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_that_makes_no_sense_is_refused_by_name(name: str) -> None:
    for parameter, value in PARAMETERS[name]:
        with pytest.raises(RatingError, match=f"^{parameter}[.:]"):
            create(name, **{parameter: value})


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_number_beyond_either_end_of_its_range_is_refused_by_name(name: str) -> None:
    params = create(name).params
    for parameter, metadata in ((each.name, each.metadata) for each in params.__dataclass_fields__.values()):
        for end, away in (("low", -math.inf), ("high", math.inf)):
            if (limit := metadata.get(end)) is not None:
                whole = isinstance(getattr(params, parameter), int)
                beyond = limit + math.copysign(1, away) if whole else math.nextafter(limit, away)
                with pytest.raises(RatingError, match=f"^{parameter}: "):
                    create(name, **{parameter: beyond})


SEEDS: dict[str, list[dict[str, float]]] = {
    "elo": [{"luck": 1}, {"rating": 1e7}, {"rounds": 1.5}],
    "glicko": [{"volatility": 1}],
    "glicko2": [{"rd": 0}],
    "ns2": [{"sigma": 3}, {"rating": 60_000}, {"offset": math.nan}, {"rounds": -1}, {"rounds": 0.5}],
    "synelo": [{"sigma": 3}, {"rating": 99}, {"rating": 60_000}, {"rating": 1000.5}, {"rounds": -1}, {"rounds": 0.5}],
    "trueskill": [{"mu": math.inf}, {"sigma": -1.0}, {"rounds": 0.5}, {"rating": math.nan}, {"skill": 1.0}],
}


@pytest.mark.parametrize("name", SEEDS)
def test_a_seed_that_makes_no_sense_is_refused_by_player_and_seeds_nothing(name: str) -> None:
    for skill in SEEDS[name]:
        system = create(name)
        with pytest.raises(RatingError, match=f"^ann: .*{next(iter(skill))}"):
            system.seed(ANN, **{"rating": 1300, **skill})
        assert ANN not in system


STATES: dict[str, list[dict[str, Any]]] = {
    "ns2": [{"sigma": 1.0}, {"skill": math.nan}, {"offset": "left"}, {"squares": -1.0}, {"rounds": 0.5}],
    "synelo": [
        *[{"sigma": 3}, {"rating": 1000.5}, {"rating": "high"}, {"rating": math.nan}, {"rounds": -1}],
        *[{"rounds": True}, {"last_played": math.inf}],
    ],
    "trueskill": [{"variance": -1.0}, {"mu": "25"}, {"rounds": 0.5}],
}


@pytest.mark.parametrize("name", LIVE)
def test_a_state_that_is_not_one_of_the_system_is_refused_by_player_and_nothing_is_held(name: str) -> None:
    system = create(name)
    good = system.state(ANN)
    lacking = dict(list(good.items())[1:])
    for state in (lacking, *({**good, **wrong} for wrong in STATES.get(name, []))):
        with pytest.raises(RatingError, match=r"^ann: "):
            system.restore(PlayerId("ann"), state)
        assert ANN not in system
