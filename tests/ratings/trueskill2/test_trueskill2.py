"""TrueSkill 2 against its own model by quadrature, against TrueSkill, and by its laws."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import create
from equipoise.ratings.history import History
from equipoise.ratings.system import Counts, Match, SkillContext, Span
from equipoise.ratings.trueskill2.formulas import rate_matches
from equipoise.ratings.trueskill2.replay import replay as replay_with
from equipoise.ratings.trueskill2.system import TrueSkill2
from tests.ratings.samples import ANN, BOB, CID, DAN, duel, people, random_matches
from tests.ratings.trueskill2.brute_force import Normal, posterior

COUNTED = {
    "kill_own": 0.3,
    "kill_opponent": -0.15,
    "kill_variance": 0.6,
    "death_own": -0.15,
    "death_opponent": 0.3,
    "death_variance": 0.6,
}
QUITTING = {"quit_margin": -0.5, "quit_related": 0.6, "quit_unrelated": 0.05}
STEADY = {"gamma2": 0.0, "tau2": 0.0, "margin": 0.2}
MINUTES = 600.0


def trueskill2(**params: object) -> TrueSkill2:
    return TrueSkill2.create(**params)


TEN = replace(duel("ann", "bob"), seconds=MINUTES)
COUNTS = {ANN: Counts(7, 4), BOB: Counts(3, 9)}
DUELS = {
    "a win": TEN,
    "a draw": replace(TEN, ranks=(0, 0)),
    "counts": replace(TEN, counts=COUNTS),
    "counts of an upset": replace(TEN, ranks=(1, 0), counts=COUNTS),
    "counts of who played half": replace(TEN, counts=COUNTS, fraction_played={ANN: 0.5}),
    "no kills": replace(TEN, counts={ANN: Counts(7, 4), BOB: Counts(0, 9)}),
    "no deaths": replace(TEN, counts={ANN: Counts(4, 0), BOB: Counts(3, 5)}),
    "the loser left": replace(TEN, quits=frozenset({BOB})),
    "the winner left": replace(TEN, quits=frozenset({ANN})),
    "left before a draw": replace(TEN, ranks=(0, 0), quits=frozenset({ANN})),
    "left early, with counts": replace(TEN, counts=COUNTS, fraction_played={BOB: 0.6}, quits=frozenset({BOB})),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "unrelated"), [*((name, 0.05) for name in DUELS), ("the loser left", 0.0), ("the winner left", 0.0)]
)
def test_a_duel_is_what_summing_over_all_performances_says(name, unrelated):
    system = trueskill2(**STEADY, **COUNTED, **QUITTING | {"quit_unrelated": unrelated})
    system.seed(ANN, rating=3.5, sigma=1.2)
    system.seed(BOB, rating=2.8, sigma=0.8)
    posteriors = posterior(system.params, DUELS[name], (Normal(3.5, 1.44), Normal(2.8, 0.64)))
    system.rate(DUELS[name])
    for player, posterior_skill in zip((ANN, BOB), posteriors, strict=True):
        assert system.skill(player) == pytest.approx(posterior_skill.mean, rel=0, abs=1e-3)
        assert system.uncertainty(player) == pytest.approx(math.sqrt(posterior_skill.variance), rel=0, abs=1e-3)
    assert system.stuck == 0


CROWDED = Match(
    teams=tuple(tuple(people(12)[first : first + 3]) for first in range(0, 12, 3)),
    ranks=(0, 1, 1, 0),
    seconds=MINUTES,
    counts={player: Counts(number % 3, number % 2) for number, player in enumerate(people(12))},
    quits=frozenset(people(12)[::4]),
)
"""With sites that say much about one another."""


@pytest.mark.slow
def test_sites_are_updated_until_no_skill_moves_any_more(monkeypatch):
    found, settled = (trueskill2(**COUNTED, **QUITTING) for _ in range(2))
    found.rate(CROWDED)
    monkeypatch.setattr("equipoise.ratings.trueskill2.expectation_propagation.CONVERGED", 0.0)
    settled.rate(CROWDED)
    for player in people(12):
        assert found.skill(player) == pytest.approx(settled.skill(player), rel=0, abs=1e-10)
        assert found.uncertainty(player) == pytest.approx(settled.uncertainty(player), rel=0, abs=1e-10)
    assert found.stuck == 0


def test_matches_whose_sites_were_still_moving_in_the_end_are_counted(monkeypatch):
    monkeypatch.setattr("equipoise.ratings.trueskill2.expectation_propagation.MOST_ITERATIONS", 3)
    live, bulk = (trueskill2(**COUNTED, **QUITTING) for _ in range(2))
    history = [CROWDED, TEN, CROWDED]
    for match in history:
        live.rate(match)
    replay_with(bulk, History.of(history), rate_matches)
    assert live.stuck == bulk.stuck == 2


@pytest.mark.slow
def test_two_quits_in_a_duel_are_nearly_what_the_sum_says():
    system, match = trueskill2(**STEADY, **QUITTING), replace(TEN, quits=frozenset({ANN, BOB}))
    posteriors = posterior(system.params, match, (Normal(3.0, 1.6), Normal(3.0, 1.6)))
    system.rate(match)
    assert [system.skill(player) for player in (ANN, BOB)] == pytest.approx([b.mean for b in posteriors], abs=0.1)
    assert system.uncertainty(ANN) == pytest.approx(math.sqrt(posteriors[0].variance), abs=0.1)


@pytest.mark.parametrize("draws", [0.0, 0.3])
def test_with_everything_off_it_is_trueskill(draws):
    beta, sizes = 25 / 6, 6
    trueskill = create("trueskill", tau=0.0, draw_probability=draws)
    unit = trueskill.constants.unit * math.sqrt(sizes)
    same = {"initial": 25.0, "initial_variance": (25 / 3) ** 2, "beta2": beta**2, "margin": unit}
    system = trueskill2(gamma2=0.0, tau2=0.0, **same)
    for match in random_matches(seed=1, count=60, players=15, size=3):
        if draws or match.ranks[0] != match.ranks[1]:
            wins = system.rate(match).prediction.wins
            assert wins == pytest.approx(trueskill.rate(match).prediction.wins, rel=0, abs=1e-9)
    for player in people(15):
        assert system.skill(player) == pytest.approx(trueskill.skill(player), rel=0, abs=1e-7)
        assert system.uncertainty(player) == pytest.approx(trueskill.uncertainty(player), rel=0, abs=1e-7)


@pytest.mark.parametrize("ranks", [(0, 1, 2), (2, 0, 1), (0, 0, 1), (1, 1, 1)])
def test_with_everything_off_three_teams_are_trueskills(ranks):
    trueskill = create("trueskill", tau=0.0, draw_probability=0.25)
    unit = trueskill.constants.unit * math.sqrt(4)
    same = {"initial": 25.0, "initial_variance": (25 / 3) ** 2, "beta2": (25 / 6) ** 2, "margin": unit}
    system = trueskill2(gamma2=0.0, tau2=0.0, **same)
    everybody = people(6)
    match = Match(teams=tuple(tuple(everybody[n : n + 2]) for n in (0, 2, 4)), ranks=ranks)
    predicted = system.rate(match).prediction, trueskill.rate(match).prediction
    assert predicted[0].wins == pytest.approx(predicted[1].wins, rel=0, abs=1e-9)
    for player in everybody:
        assert system.skill(player) == pytest.approx(trueskill.skill(player), rel=0, abs=1e-6)
        assert system.uncertainty(player) == pytest.approx(trueskill.uncertainty(player), rel=0, abs=1e-6)


@pytest.mark.parametrize("team", [0, 1], ids=["winner", "loser"])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_a_quit_lowers_the_skill_of_a_player(team, size):
    everybody = people(2 * size)
    match = Match(teams=(tuple(everybody[:size]), tuple(everybody[size:])), ranks=(0, 1))
    player = match.teams[team][0]
    stayed, left = trueskill2(**QUITTING), trueskill2(**QUITTING)
    stayed.rate(match)
    left.rate(replace(match, quits=frozenset({player})))
    assert left.skill(player) < stayed.skill(player) - 1e-3


def test_players_who_stayed_are_rated_as_without_quits():
    plain, quitting = trueskill2(), trueskill2(**QUITTING)
    assert plain.rate(TEN) == quitting.rate(TEN)


def test_counts_without_a_length_say_nothing():
    system, blind = trueskill2(**COUNTED), trueskill2(**COUNTED)
    assert system.rate(replace(TEN, seconds=None, counts=COUNTS)) == blind.rate(TEN)


def test_a_squad_is_expected_to_do_better_and_gains_less_by_winning():
    system = trueskill2(squad_offset=(0.5,))
    match = Match(teams=((ANN, BOB), (CID, DAN)), ranks=(0, 1))
    squad = replace(match, squads=((ANN, BOB),))
    assert system.predict(squad).wins[0] > system.predict(match).wins[0]
    alone = trueskill2(squad_offset=(0.5,))
    alone.rate(match)
    system.rate(squad)
    assert system.skill(ANN) < alone.skill(ANN)


def test_a_squad_is_as_large_as_it_is_in_the_team():
    system = trueskill2(squad_offset=(0.1, 0.9))
    match = Match(teams=((ANN, BOB), (CID, DAN)), squads=((ANN, BOB, CID),))
    two = replace(match, squads=((ANN, BOB),))
    assert system.predict(match) == system.predict(two)


def test_modes_share_the_base_and_nothing_else():
    shared, apart = trueskill2(base_variance=1.0), trueskill2()
    for system in (shared, apart):
        for _ in range(5):
            system.rate(replace(TEN, mode="payload"))
    payload, arena = SkillContext("payload"), SkillContext("arena")
    assert apart.skill(ANN, arena) == apart.params.initial
    assert shared.params.initial < shared.skill(ANN, arena) < shared.skill(ANN, payload)
    assert shared.skill(ANN) == shared.skill(ANN, payload)


def test_a_mode_can_have_its_own_parameters():
    system = trueskill2(modes={"arena": {"initial": 5.0, "beta2": 4.0}})
    assert system.skill(ANN, SkillContext("arena")) == 5.0
    assert system.skill(ANN, SkillContext("payload")) == 3.0


def test_bots_in_a_lineup_are_constants_that_play():
    system = trueskill2(bot=1.0)
    bots = tuple(PlayerId(f"bot:{number}") for number in range(3))
    match = replace(TEN, lineup=((ANN,), (BOB, *bots)))
    assert system.predict(match).wins[0] < system.predict(TEN).wins[0]
    plain = trueskill2(bot=1.0)
    plain.rate(TEN)
    system.rate(match)
    assert system.skill(ANN) > plain.skill(ANN)
    assert not any(bot in system for bot in bots)
    assert system.skill(bots[0]) == 1.0


def test_sides_and_players_may_be_named_in_any_order():
    match = Match(
        teams=((ANN, BOB), (CID, DAN)),
        ranks=(0, 1),
        seconds=MINUTES,
        counts={ANN: Counts(3, 2)},
        quits=frozenset({DAN}),
    )
    mirrored = replace(match, teams=((DAN, CID), (BOB, ANN)), ranks=(1, 0))
    one, other = trueskill2(**COUNTED, **QUITTING), trueskill2(**COUNTED, **QUITTING)
    first, second = one.rate(match).prediction, other.rate(mirrored).prediction
    assert first.wins == pytest.approx(second.wins[::-1], abs=1e-12)
    for player in (ANN, BOB, CID, DAN):
        assert one.skill(player) == pytest.approx(other.skill(player), abs=1e-8)


@pytest.mark.parametrize("ranks", [(0, 1), (1, 0), (0, 0)])
def test_nothing_breaks_at_ten_thousand_points(ranks):
    system = trueskill2(**COUNTED, **QUITTING)
    system.seed(ANN, rating=10_000.0)
    system.seed(BOB, rating=-10_000.0)
    match = replace(TEN, ranks=ranks, counts={ANN: Counts(0, 3), BOB: Counts(50, 0)}, quits=frozenset({ANN}))
    rated = system.rate(match)
    assert rated.prediction.wins[0] > 0.999
    for player in (ANN, BOB):
        assert math.isfinite(system.skill(player))
        assert 0.0 < system.uncertainty(player) < 10.0


def test_a_margin_too_wide_for_any_difference_leaves_a_gap_beyond_measure():
    assert trueskill2(margin=1e3).gap(0.1, 6) > 1e300
    assert trueskill2(margin=1e3).gap(0.0, 6) == 0


def test_a_match_of_no_mode_changes_the_skill_of_no_mode():
    system = trueskill2()
    for _ in range(3):
        system.rate(replace(TEN, mode="payload"))
    first, second = system.rate(TEN).changes[0], system.rate(TEN).changes[0]
    assert first.before == system.params.initial
    assert second.before == first.after


def test_a_seed_sets_every_mode():
    system = trueskill2(base_variance=1.0)
    system.rate(replace(TEN, mode="payload"))
    system.seed(ANN, rating=5.0, rounds=7)
    assert [system.skill(ANN, SkillContext(mode)) for mode in ("payload", "arena", "")] == [5.0, 5.0, 5.0]
    assert system.summary(ANN).rounds == 7
    system.forget(ANN)
    assert ANN not in system
    assert system.skill(ANN) == 3.0


STATE = {
    "base_mean": 0.0,
    "base_variance": 0.5,
    "base_last": None,
    "rounds": 3,
    "start_mean": None,
    "start_variance": None,
    "modes": {"payload": {"mean": 3.0, "variance": 1.0, "rounds": 3, "last": None}},
}
PAYLOAD = STATE["modes"]["payload"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"modes": 3},
        {"sigma": 1.0},
        {"rounds": 0.5},
        {"base_mean": None},
        {"base_variance": -1.0},
        {"start_variance": -1.0},
        {"modes": {"payload": 3.0}},
        {"modes": {"payload": {**PAYLOAD, "sigma": 1.0}}},
        {"modes": {"payload": {**PAYLOAD, "mean": math.nan}}},
        {"modes": {"payload": {**PAYLOAD, "variance": -1.0}}},
        {"modes": {"payload": {**PAYLOAD, "rounds": -1}}},
    ],
)
def test_a_state_that_cannot_be_is_refused_by_player_and_nothing_is_held(wrong):
    system = trueskill2()
    with pytest.raises(RatingError, match=f"^{ANN}: "):
        system.restore(ANN, {**STATE, **wrong})
    assert ANN not in system
    system.restore(ANN, STATE)
    assert system.state(ANN) == STATE


def test_spans_and_maps_are_ignored():
    system, other = trueskill2(), trueskill2()
    described = replace(TEN, map="dustbowl", spans={ANN: (Span(0, 0.0, 9.0),)}, weight=3.0, sides=("red", "blu"))
    assert system.rate(TEN) == other.rate(described)


def test_the_offsets_of_experience_end_with_that_of_two_hundred_matches():
    offsets = tuple(0.001 * (number + 1) for number in range(201))
    system = trueskill2(experience_offset=offsets, initial_variance=0.0, gamma2=0.0, tau2=0.0)
    skills = [system.skill(ANN)]
    for _ in range(203):
        system.rate(duel("ann", "bob"))
        skills.append(system.skill(ANN))
    gains = [after - before for before, after in pairwise(skills)]
    assert gains == pytest.approx([*offsets, 0.201, 0.201], abs=1e-9)


def test_a_match_adds_its_variances_to_a_mode_and_to_the_base():
    still, moving = (trueskill2(base_variance=0.7, gamma2=own, base_gamma2=base) for own, base in ((0, 0), (0.3, 0.2)))
    for system in (still, moving):
        system.rate(duel("ann", "bob"))
    before, after = (system.players[ANN] for system in (still, moving))
    assert after.modes[""].variance == pytest.approx(before.modes[""].variance + 0.3, abs=1e-12)
    assert after.base_variance == pytest.approx(before.base_variance + 0.2, abs=1e-12)


def test_every_minute_away_adds_its_variances_to_a_mode_and_to_the_base():
    system = trueskill2(base_variance=0.7, base_weight=1.5, tau2=1e-3, base_tau2=1e-4, margin=0.0)
    for start, match in enumerate((duel("ann", "bob"), duel("cid", "dan"))):
        system.rate(replace(match, started_at=600.0 * start))
    later = Match(teams=((ANN,), (CID,)), started_at=6600.0)
    variance = 2.0 + sum(
        system.uncertainty(player) ** 2 + minutes * (1e-3 + 1.5**2 * 1e-4)
        for player, minutes in ((ANN, 110), (CID, 100))
    )
    system.seed(ANN, rating=4.0)
    system.seed(CID, rating=3.0)
    assert system.predict(later).wins[0] == pytest.approx(NormalDist().cdf(1 / math.sqrt(variance)), abs=1e-12)
