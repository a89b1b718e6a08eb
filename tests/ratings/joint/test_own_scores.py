"""What a player did by themselves says who is good, as far as results bear it out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator

from equipoise.core.model import Counts, PlayerId
from equipoise.ratings import create
from equipoise.ratings.history import History
from equipoise.ratings.joint import own
from equipoise.ratings.joint.replay import replay
from equipoise.ratings.joint.score_map import Learnt, ScoreMap
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.system import Match

PEOPLE = [PlayerId(str(number)) for number in range(24)]
CLASSES = {"scout": 3.0, "heavy": 1.5, "medic": 0.5}
"""Kills per minute."""
SPREAD = 0.3


def counts_of(value: float, seconds: float, rng: Generator) -> Counts:
    """What somebody does whose own score is this, in deviations of its noise: kills tell, the rest is noise."""
    name = str(rng.choice([*CLASSES]))
    kills = CLASSES[name] * max(0.0, 1 + 0.4 * (value + rng.normal())) * seconds / 60
    deaths, assists, points = rng.poisson(10), rng.poisson(5), rng.poisson(20)
    return Counts(round(kills), int(deaths), int(assists), int(points), {name: seconds})


def matches(rounds: int, told: float, offset: float = 0.0, seed: int = 1) -> tuple[list[Match], np.ndarray]:
    """Rounds of random sides, and the true skills: `told` and `offset` are what skill and style add to own scores."""
    rng = np.random.default_rng(seed)
    skill, style = rng.normal(0, SPREAD, len(PEOPLE)), rng.normal(0, offset, len(PEOPLE))
    found = []
    for number in range(rounds):
        order = rng.permutation(len(PEOPLE))[:16]
        a, b = order[:8], order[8:]
        won = rng.random() < 1 / (1 + np.exp(-skill[a].sum() + skill[b].sum()))
        found.append(
            Match(
                teams=(tuple(PEOPLE[n] for n in a), tuple(PEOPLE[n] for n in b)),
                ranks=(0, 1) if won else (1, 0),
                seconds=300.0,
                started_at=1e9 + 400.0 * number,
                mode="arena",
                counts={PEOPLE[n]: counts_of(told * skill[n] / SPREAD + style[n], 300.0, rng) for n in order},
            )
        )
    return found, skill


def rated(played: list[Match], **params: object) -> Joint:
    system = create("joint", spread=SPREAD, **params)
    assert isinstance(system, Joint)
    for match in played:
        system.rate(match)
    return system


def map_of(system: Joint) -> ScoreMap:
    (found,) = system.score_map()
    assert found.mode == "arena"
    return found


def error_of(system: Joint, skill: np.ndarray) -> float:
    """Deviation of the skills found from the true ones, log-odds."""
    found = np.array([system.skill(player) for player in PEOPLE]) / system.params.scale
    return float(np.std(found - skill))


@pytest.mark.slow
def test_a_score_that_tells_skill_is_found_and_makes_ratings_better() -> None:
    played, skill = matches(300, told=0.5)
    with_scores, without = rated(played), rated(played, scores=False)
    found = map_of(with_scores)
    weights = {each.feature: each for each in found.weights}
    assert found.used
    assert found.gain > 1
    assert weights["kills"].weight > 2 * weights["kills"].deviation
    for noise in ("deaths", "assists", "points"):
        # As guessed: without lasting differences between players there is nothing to learn it from, nor to use it on.
        assert abs(weights[noise].weight) < 3 * weights[noise].deviation
    # 0.5 beside a noise of 1 is 0.45, of which the prior of the weights takes a part.
    assert 0.2 < found.correlation < 0.55
    assert error_of(with_scores, skill) < 0.8 * error_of(without, skill)


@pytest.mark.slow
def test_scores_that_are_noise_are_not_used() -> None:
    played, skill = matches(250, told=0.0)
    with_scores, without = rated(played), rated(played, scores=False)
    assert map_of(with_scores).correlation < 0.1
    assert error_of(with_scores, skill) < 1.05 * error_of(without, skill)


@pytest.mark.slow
def test_a_style_that_lasts_and_wins_nothing_is_not_used() -> None:
    played, skill = matches(250, told=0.0, offset=0.8)
    with_scores, without = rated(played), rated(played, scores=False)
    found = map_of(with_scores)
    assert not found.used or found.offset > SPREAD
    assert error_of(with_scores, skill) < 1.05 * error_of(without, skill)


@pytest.mark.slow
def test_with_offsets_as_large_as_the_spread_scores_still_do_no_harm_and_never_become_certain() -> None:
    played, skill = matches(300, told=0.5, offset=0.5)
    with_scores, without = rated(played), rated(played, scores=False)
    assert error_of(with_scores, skill) < 1.02 * error_of(without, skill)
    found = map_of(with_scores)
    assert found.offset > 0.3 * SPREAD
    assert found.noise > 0


@pytest.mark.slow
def test_with_scores_switched_off_counts_change_nothing() -> None:
    played, _ = matches(30, told=0.5)
    bare = [Match(m.teams, m.ranks, seconds=m.seconds, started_at=m.started_at, mode=m.mode) for m in played]
    off = rated(played, scores=False)
    assert off.score_map() == ()
    assert off.snapshot() == rated(bare, scores=False).snapshot()


def test_a_mode_may_begin_with_a_round_that_says_nothing_of_anybody() -> None:
    (match, *_), _ = matches(1, told=0.5)
    played = [replace(match, seconds=5.0), match]
    live, replayed = rated(played), rated([])
    replay(replayed, History.of(played))
    assert [live.skill(each) for each in PEOPLE] == pytest.approx([replayed.skill(each) for each in PEOPLE])
    (one, _) = match.teams
    assert live.summary(one[0]).rounds == 2


@pytest.mark.slow
def test_a_restored_snapshot_goes_on_to_the_same_bytes() -> None:
    played, _ = matches(150, told=0.7)
    through = rated(played)
    assert map_of(through).used
    for place in (69, 70, 71):  # classes and players are parted anew after one of them
        again = create("joint", spread=SPREAD)
        again.restore_snapshot(rated(played[:place]).snapshot())
        for match in played[place:]:
            again.rate(match)
        assert again.snapshot() == through.snapshot()


@pytest.mark.slow
def test_a_forgotten_player_takes_their_scores_along() -> None:
    played, _ = matches(100, told=0.5)
    system = rated(played)
    number = system.active.number(PEOPLE[3])
    system.forget(PEOPLE[3])
    mode = system.active.own.modes["arena"]
    assert system.active.own.precision[number] == 0
    assert not mode.weight[number].any()
    np.testing.assert_allclose(mode.class_total.sum(0), mode.total.sum(0), atol=1e-9)
    system.rate(played[0])


@pytest.mark.slow
def test_what_fades_of_players_fades_of_their_classes_and_moves_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    played, _ = matches(400, told=0.5)
    whole = rated(played).active.own.modes["arena"]
    monkeypatch.setattr(own, "LONGEST", 60.0)
    faded = rated(played).active.own.modes["arena"]
    assert faded.weight.sum(1).max() < 61 < whole.weight.sum(1).min(where=whole.weight.any(1), initial=100)
    np.testing.assert_allclose(faded.class_total.sum(0), faded.total.sum(0), atol=1e-9)
    np.testing.assert_allclose(faded.class_rates, whole.class_rates, atol=0.1)


@pytest.mark.slow
def test_a_replayed_history_gives_the_numbers_of_its_matches_rated_one_by_one() -> None:
    played, _ = matches(150, told=0.7)
    # One player has no counts in the first rounds, and a few rounds have none at all.
    played = [
        replace(match, counts={p: c for p, c in match.counts.items() if p != PEOPLE[0] and number % 7})
        if number < 30
        else match
        for number, match in enumerate(played)
    ]
    live, replayed = rated(played), rated([])
    found = replay(replayed, History.of(played))
    assert map_of(live).used
    skills = [[system.skill(player) for player in PEOPLE] for system in (live, replayed)]
    np.testing.assert_allclose(*skills, rtol=0, atol=1e-9)
    assert map_of(replayed).gain == pytest.approx(map_of(live).gain, abs=1e-9)
    assert len(found.wins) == 300


@pytest.mark.parametrize("rounds", [1, 4, 50])
def test_an_offset_that_is_integrated_out_is_one_that_has_a_coordinate(rounds: int) -> None:
    learnt = Learnt(SPREAD**2)
    learnt.between[0, 0], learnt.within[0, 0], learnt.weights[0] = 0.25, 0.8, 0.4
    shown = learnt.shown("")
    rates = np.random.default_rng(rounds).normal(0.3, 0.9, rounds)
    total = np.array([[rates.sum(), 0.0, 0.0, 0.0]])
    precision, shift = learnt.factors(*learnt.lasting_rates(np.array([float(rounds)]), total))
    # y = skill + offset + noise, with the rate in units of skill
    scores = rates * learnt.weights[0] * SPREAD**2 / (learnt.weights[0] ** 2 * learnt.between[0, 0])
    prior = np.linalg.inv(np.diag([SPREAD**2, shown.offset**2]))
    both = np.ones(2)
    cov = np.linalg.inv(prior + rounds * np.outer(both, both) / shown.noise**2)
    mean = cov @ both * scores.sum() / shown.noise**2
    variance = 1 / (1 / SPREAD**2 + precision[0])
    assert (variance, variance * shift[0]) == (pytest.approx(cov[0, 0], rel=1e-9), pytest.approx(mean[0], rel=1e-9))


@pytest.mark.slow
def test_who_hides_what_they_can_do_hardly_gets_better_mates() -> None:
    """Three players do nothing that counts in their last 35 rounds, and win as often as before."""
    played, _ = matches(300, told=0.5)
    honest, lowered = rated(played), []
    for player in PEOPLE[:3]:
        hidden = list(played)
        for number in [number for number, match in enumerate(played) if player in match.counts][-35:]:
            match = played[number]
            did = replace(match.counts[player], kills=0, assists=0, points=0)
            hidden[number] = replace(match, counts={**match.counts, player: did})
        lowered.append((honest.skill(player) - rated(hidden).skill(player)) / honest.params.scale / SPREAD)
    assert sum(lowered) / 3 < 0.35  # 1.17 where scores count whatever results say
    assert max(lowered) < 0.7


def test_scores_that_say_less_than_results_do_lose_weight_and_those_that_say_more_do_not() -> None:
    learnt = Learnt(SPREAD**2)
    learnt.between[0, 0], learnt.within[0, 0], learnt.weights[0] = 0.25, 0.8, 0.4
    total = np.array([[50.0 * rate, 0.0, 0.0, 0.0] for rate in (-3, -0.8, -0.6, 0, 3)])
    told = learnt.lasting_rates(np.full(5, 50.0), total)
    wins = np.full(5, 0.1), np.eye(5) * SPREAD**2 / 2
    kept = learnt.believed(*told, wins)
    assert kept[0] == 0
    assert 0 < kept[1] < kept[2] <= kept[3] == kept[4] == 1
