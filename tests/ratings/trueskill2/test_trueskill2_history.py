"""TrueSkill 2 over histories: the replay, the fit, and the parameters that made them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import replay
from equipoise.ratings.history import History
from equipoise.ratings.system import Counts, Match
from equipoise.ratings.trueskill2.estimate import Rprop, estimate
from equipoise.ratings.trueskill2.fit import fit, prepared
from equipoise.ratings.trueskill2.fit_formulas import sweep_history
from equipoise.ratings.trueskill2.params import columns_of
from equipoise.ratings.trueskill2.system import TrueSkill2
from tests.ratings.histories import random_history
from tests.ratings.samples import ANN, BOB, duel, people
from tests.ratings.trueskill2.brute_force import Normal, drawn, evidence
from tests.ratings.trueskill2.samples import EVERYTHING, full_matches


@pytest.mark.slow
def test_thousands_of_random_matches_leave_every_skill_finite():
    system, rng, count = TrueSkill2.create(**EVERYTHING), np.random.default_rng(5), 30_000
    history = random_history(
        count,
        size=2,
        players=60,
        times=True,
        seconds=np.full(count, 300.0),
        fraction_played=rng.random(4 * count),
        kills=rng.poisson(1.5, 4 * count).astype(np.float64),
        deaths=rng.poisson(1.5, 4 * count).astype(np.float64),
        quit=rng.random(4 * count) < 0.1,
    )
    replayed = replay(system, history)
    assert np.isfinite(replayed.after).all()
    assert ((replayed.wins >= 0) & (replayed.wins <= 1)).all()
    assert system.stuck == 0
    assert all(0.0 < system.uncertainty(player) < 2.0 for player in system.players)


def test_one_sweep_forward_is_rating_online():
    params = {name: value for name, value in EVERYTHING.items() if not name.startswith("quit")}
    online, batch = TrueSkill2.create(**params), TrueSkill2.create(**params)
    matches = list(full_matches(seed=2, count=12))
    rated = [online.rate(match) for match in matches]
    sweeps = prepared(batch, History.of(matches), sweep_history)
    sweeps.forward(np.array(batch.table))
    changed = [
        (change.player, match.mode) for match, each in zip(matches, rated, strict=True) for change in each.changes
    ]
    chains = {
        (sweeps.indexed.chains[chain][0], sweeps.indexed.chains[chain][1]): chain
        for chain in range(len(sweeps.indexed.chains))
    }
    numbers = {player: number for number, player in enumerate(History.of(matches).players)}
    for player, mode in changed:
        own = online.players[player].modes[mode]
        chain = chains[numbers[player], mode]
        assert sweeps.own.forward_mean[chain] == pytest.approx(own.mean, abs=1e-7)
        assert sweeps.own.forward_variance[chain] == pytest.approx(own.variance, abs=1e-7)


@pytest.mark.compiles
@pytest.mark.slow
def test_sweeps_of_a_fit_are_the_same_in_machine_code():
    system, history = TrueSkill2.create(**EVERYTHING), History.of(full_matches(seed=3, count=30))
    table, found = np.array(system.table), []
    for run in (sweep_history, None):
        sweeps, gradients = prepared(system, history, run), np.zeros_like(table)
        moved = [sweeps.back_and_forth(table, gradients) for _ in range(3)]
        found.append((moved, sweeps.skill, gradients))
    for plain, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-7, atol=1e-9)


def test_a_fit_of_one_duel_is_rating_it():
    fitted, rated = TrueSkill2.create(), TrueSkill2.create()
    fit(fitted, History.of([duel("ann", "bob")]), sweep_history)
    rated.rate(duel("ann", "bob"))
    for player in (ANN, BOB):
        assert fitted.skill(player) == pytest.approx(rated.skill(player), abs=1e-9)
        assert fitted.uncertainty(player) == pytest.approx(rated.uncertainty(player), abs=1e-9)
        assert fitted.summary(player).rounds == 1


@pytest.mark.parametrize("part", ["own", "base"])
def test_a_fit_of_a_drifting_skill_is_the_regression_on_all_that_was_seen_of_it(part):
    """Only kills carry information, and they are Gaussian: with so wide a margin a draw is certain."""
    drifts = {"initial_variance": 1.6, "gamma2": 0.3, "tau2": 2e-3}
    if part == "base":
        drifts = {"base_variance": 1.6, "base_gamma2": 0.3, "base_tau2": 2e-3} | dict.fromkeys(drifts, 0.0)
    system = TrueSkill2.create(kill_own=1.0, kill_variance=2.0, margin=1e6, **drifts)
    minutes, kills = np.array([0.0, 50.0, 60.0, 300.0, 310.0]), np.array([10, 60, 35, 5, 20])
    matches = [
        replace(duel("ann", f"rival{n}", 0.5), started_at=60.0 * at, seconds=600.0, counts={ANN: Counts(int(count), 0)})
        for n, (at, count) in enumerate(zip(minutes, kills, strict=True))
    ]
    sweeps = prepared(system, History.of(matches), sweep_history)
    for _ in range(3):
        sweeps.back_and_forth(np.array(system.table), np.zeros((1, len(system.table[0]))))
    walked = 1.6 + np.arange(5) * 0.3 + minutes * 2e-3
    prior = np.minimum.outer(walked, walked)
    seen = prior + (1.0 + 2.0 / 10.0) * np.eye(5)
    assert sweeps.skill[::2] == pytest.approx(3.0 + prior @ np.linalg.solve(seen, kills / 10.0 - 3.0), abs=1e-9)


def test_a_fit_starts_again_from_the_seeds():
    twice, once = TrueSkill2.create(), TrueSkill2.create()
    matches = [duel("ann", "bob", outcome) for outcome in (1.0, 0.0, 1.0)]
    for system in (twice, once):
        system.seed(ANN, rating=5.0, sigma=0.5)
    for match in matches:
        twice.rate(match)
    for system in (twice, once):
        fit(system, History.of(matches), sweep_history)
    assert twice.skill(ANN) == pytest.approx(once.skill(ANN), abs=1e-6)
    assert twice.skill(ANN) > 4.0


def test_a_fit_reads_that_players_stayed_too():
    params = {"quit_related": 0.9, "quit_unrelated": 0.01}
    fitted, rated = TrueSkill2.create(**params), TrueSkill2.create(**params)
    match = duel("ann", "bob")
    fit(fitted, History.of([match]), sweep_history)
    rated.rate(match)
    assert fitted.skill(BOB) > rated.skill(BOB)


NAMES = (
    "initial",
    "initial_variance",
    "beta2",
    "margin",
    "kill_own",
    "kill_opponent",
    "kill_variance",
    "death_own",
    "death_opponent",
    "death_variance",
)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [{}, {"rating": 4.0}, {"sigma": 0.7}], ids=["newcomers", "seeded mean", "and width"])
def test_the_gradient_of_a_duel_is_that_of_its_evidence(seeds):
    """Seeded values do not change with the parameters."""
    params = {name: value for name, value in EVERYTHING.items() if name in NAMES} | {"margin": 0.0}
    counts = {ANN: Counts(7, 4), BOB: Counts(3, 9)}
    match = replace(duel("ann", "bob"), seconds=600.0, fraction_played={BOB: 0.7}, counts=counts)

    def log_evidence(**changed: float) -> float:
        p = TrueSkill2.create(**params | changed).params
        variance = seeds["sigma"] ** 2 if "sigma" in seeds else p.initial_variance
        first, second = (
            Normal(seeds.get("rating", p.initial), variance),
            Normal(p.initial, p.initial_variance),
        )
        return evidence(p, match, (first, second))

    system = TrueSkill2.create(**params)
    system.seed(ANN, **seeds)
    table, gradient = np.array(system.table), np.zeros((1, len(system.table[0])))
    prepared(system, History.of([match]), sweep_history).back_and_forth(table, gradient)
    for name in NAMES if not seeds else ("initial", "initial_variance"):
        value, step = float(getattr(system.params, name)), 1e-3
        if name in ("initial", "initial_variance", "beta2"):  # they move the grid under the edge between win and loss
            step = 0.05
        if name == "margin":  # a grid has no edge to move
            continue
        slope = (log_evidence(**{name: value + step}) - log_evidence(**{name: value - step})) / (2 * step)
        columns = [column for each in columns_of(system.params, name) for column in each]
        assert gradient[0, columns].sum() == pytest.approx(slope, rel=5e-3, abs=5e-3)


@pytest.mark.world
@pytest.mark.timeout(300)
def test_the_parameters_that_made_a_history_are_found_in_it():
    truth = {name: value for name, value in EVERYTHING.items() if not name.startswith(("base", "mode", "tau"))}
    history = drawn(TrueSkill2.create(**truth).params, seed=1, matches=3000, players=300, size=4)
    guess = TrueSkill2.create(
        initial=2.0,
        initial_variance=1.0,
        gamma2=0.01,
        margin=0.05,
        kill_own=0.1,
        kill_opponent=-0.05,
        death_own=-0.05,
        death_opponent=0.1,
        quit_margin=-0.3,
        quit_related=0.3,
        squad_offset=(0.0, 0.0),
        experience_offset=(0.0,) * 5,
    )
    found = estimate(guess, history, [*truth, "initial", "initial_variance"], sweeps=50)
    within = {"squad_offset": 0.1, "experience_offset": 0.2, "gamma2": 0.002, "initial_variance": 0.35, "initial": 0.35}
    for name, value in {**truth, "initial": 3.0, "initial_variance": 1.6}.items():
        tolerance = within.get(name, 0.04 + 0.05 * abs(value if isinstance(value, float) else 0.0))
        assert getattr(found, name) == pytest.approx(value, rel=0, abs=tolerance), name


def test_what_no_match_depends_on_stays_as_it_is():
    system = TrueSkill2.create()
    for player in (ANN, BOB):
        system.seed(player, rating=1.0, sigma=0.5)
    history = History.of([duel("ann", "bob"), duel("bob", "ann")])
    found = estimate(system, history, ["initial", "initial_variance"], sweeps=5, run=sweep_history)
    assert (found.initial, found.initial_variance) == (3.0, 1.6)


def test_an_offset_of_experience_is_estimated_by_the_matches_that_follow_it():
    """All play twice: no match follows what the second one adds."""
    matches = [duel("ann", "bob"), duel("cid", "dan"), duel("ann", "eve", 0.0), duel("bob", "fay", 0.0)]
    guess = TrueSkill2.create(experience_offset=(0.1, 0.1, 0.1))
    found = estimate(guess, History.of(matches), ["experience_offset"], sweeps=5, run=sweep_history)
    assert found.experience_offset[0] < 0.0
    assert found.experience_offset[1:] == (0.1, 0.1)


def test_a_gain_by_experience_equals_opponents_weaker_by_as_much():
    gained, outcomes = [0.0, 0.5, 0.75, 0.8125, 0.875], (1.0, 0.0, 1.0, 1.0, 0.0)
    rivals = [PlayerId(f"rival{number}") for number in range(5)]
    history = History.of(duel("ann", rival, outcome) for rival, outcome in zip(rivals, outcomes, strict=True))
    skills = []
    for offsets, levels in (((0.5, 0.25, 0.0625), [0.0] * 5), ((), gained)):
        system = TrueSkill2.create(experience_offset=offsets)
        for rival, level in zip(rivals, levels, strict=True):
            system.seed(rival, rating=3.5 - level, sigma=1e-6)
        sweeps = prepared(system, history, sweep_history)
        for _ in range(100):
            sweeps.back_and_forth(np.array(system.table), np.zeros((1, len(system.table[0]))))
        skills.append(sweeps.skill[::2].copy())
    assert skills[0] == pytest.approx(skills[1] + gained, abs=1e-9)


def test_bots_that_are_as_newcomers_move_with_them():
    """One player beats one and a bot in three of ten matches; the estimate predicts that chance."""
    bot, plain = PlayerId("bot:1"), sweep_history
    matches = [
        Match(teams=((a,), (b,)), lineup=((a,), (b, bot)), ranks=(0, 1) if number < 3 else (1, 0))
        for number, (a, b) in enumerate(zip(people(20)[:10], people(20)[10:], strict=True))
    ]
    found = estimate(TrueSkill2.create(), History.of(matches), ["initial"], sweeps=60, run=plain)
    assert TrueSkill2(found).predict(matches[0]).wins[0] == pytest.approx(0.3, abs=1e-3)


def test_a_parameter_that_is_off_is_not_estimated():
    system = TrueSkill2.create()
    with pytest.raises(RatingError, match="quit_related"):
        estimate(system, History.of([duel("ann", "bob")]), ["quit_related"], sweeps=1)
    with pytest.raises(RatingError, match="speed"):
        estimate(system, History.of([duel("ann", "bob")]), ["speed"], sweeps=1)


def test_rprop_takes_longer_steps_while_a_slope_keeps_its_sign_waits_when_it_turns_and_goes_back_in_shorter_ones():
    """Riedmiller & Braun: a factor of 1.2, and of 0.5; each of three parameters by its own signs."""
    climb = Rprop(np.array([0.1, 0.1, 0.1]), largest=0.13, smallest=0.04)
    slopes = [(5, 1, -1), (1, -1, -1), (2, -1, -1), (-9, 1, -1), (-1, 1, 0), (-1, -1, -1), (-1, -1, -1)]
    steps = [
        (0.1, 0.1, -0.1),
        (0.12, 0.0, -0.12),
        (0.13, -0.05, -0.13),
        (0.0, 0.0, -0.13),
        (-0.065, 0.04, 0.0),
        (-0.078, 0.0, -0.13),
        (-0.0936, -0.04, -0.13),
    ]
    for slope, step in zip(slopes, steps, strict=True):
        assert climb.step(np.array(slope, np.float64)) == pytest.approx(step, abs=1e-12)
