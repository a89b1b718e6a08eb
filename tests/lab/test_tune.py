"""Parameters found on the burn-in, and what they are worth on matches that the search has not seen."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from equipoise.errors import RatingError
from equipoise.lab.backtest import backtest, warm_up
from equipoise.lab.models import Model, forecast
from equipoise.lab.reading import read_history
from equipoise.lab.tune import SearchAxis, Tuned, axes, tune
from equipoise.ratings.calibration_fit import apply, fit
from equipoise.ratings.history import History, head, scores
from equipoise.ratings.quality import Estimate, surprises
from tests.lab import sets
from tests.lab.test_backtest import turned

pytestmark = pytest.mark.slow  # a search is dozens of backtests

SLUGGISH = Model("synelo", {"k_max": 1, "k_factor_min": 1.0, "k_factor_max": 2.0})


def with_points(history: History, goal: float) -> History:
    """The history with a margin for each win, drawn around the difference of the final strengths."""
    skill = forecast(Model("elo"), history).system.skill
    strength = np.array([skill(name) for name in history.players])[history.members]
    noise = np.random.default_rng(4).exponential(1.0, len(history))
    lead = np.abs(strength[0::2] - strength[1::2]) / 100 + noise
    points = np.zeros(2 * len(history))
    points[0::2], points[1::2] = goal * lead * (history.ranks[0::2] == 0), goal * lead * (history.ranks[1::2] == 0)
    return replace(history, points=points)


def coins(history: History) -> History:
    """The same pairs, each match decided by a coin."""
    first = np.random.default_rng(9).integers(0, 2, len(history))
    return replace(history, ranks=np.column_stack((first, 1 - first)).ravel().astype(history.ranks.dtype))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return read_history(sets.league(tmp_path_factory.mktemp("league"), 2500), None)


def measured(model: Model, part: History, start: int) -> float:
    """Log loss behind the start, corrected."""
    predicted = forecast(model, part).predicted
    corrected = apply(fit(predicted, part, scores(part), start), predicted, part)
    return float(surprises(corrected[start:], scores(part)[start:]).mean())


def prior(value: float, start: float) -> float:
    """Minus its logarithm, nats: log-normal, a factor of ten being one standard deviation."""
    return math.log10(value / start) ** 2 / 2


def test_tuning_comes_as_low_as_a_grid(history: History) -> None:
    assert warm_up(500) == 125
    part, grid = head(history, 500), []
    for k in np.geomspace(2, 2000, 60):
        model = Model("synelo", {**SLUGGISH.settings, "k_factor_max": float(k)})
        grid.append(measured(model, part, 125) + prior(k, 2.0) / 375)
    found = tune(SLUGGISH, history, only=["k_factor_max"], correct="burn-in", trials=300)
    k = float(str(found.model.settings["k_factor_max"]))
    assert found.finished
    assert k > 20
    # What fewer digits may cost is a tenth of a nat, over 375 matches.
    assert found.after + prior(k, 2.0) / 375 <= min(grid) + 5e-4


@pytest.mark.parametrize("goal", [0.05, 40.0])
def test_a_parameter_that_is_off_is_switched_on_at_whatever_size_helps(history: History, goal: float) -> None:
    told = with_points(history, goal)
    found = tune(Model("elo"), told, only=["margin_scale"], correct="burn-in", trials=400)
    part, start = head(told, 500), 125
    grid = [measured(Model("elo", {"margin_scale": float(g)}), part, start) for g in goal * np.geomspace(0.1, 100, 60)]
    assert found.after < found.before - 1 / 375
    assert found.after <= min(grid) + 5e-4


def test_a_parameter_that_explains_nothing_stays_off(history: History) -> None:
    """Leads that are drawn at random."""
    leads = np.random.default_rng(4).exponential(3.0, len(history)).repeat(2)
    found = tune(Model("elo"), replace(history, points=-leads * history.ranks), only=["k", "margin_power"], trials=500)
    assert found.finished
    assert "margin_power" not in found.model.settings


def test_tuning_improves_predictions_of_matches_that_it_has_not_seen_and_says_so(history: History) -> None:
    found = tune(SLUGGISH, history, trials=300)
    assert found.is_better
    assert found.unseen == 300  # three fifths of the burn-in
    before, after = (backtest(model, history, correct="live") for model in (SLUGGISH, found.model))
    assert after.quality.log_loss.value < before.quality.log_loss.value


def test_what_is_true_of_the_matches_searched_alone_is_not_to_be_taken(history: History) -> None:
    """From where the search has not looked yet, each winner is the loser."""
    found = tune(SLUGGISH, turned(history, 200), trials=300, only=["k_factor_max"])
    assert found.gain is not None
    assert found.gain.value < 0
    assert not found.is_better


@pytest.mark.parametrize(
    ("gain", "better"),
    [(Estimate(0.031, 0.01), True), (Estimate(0.029, 0.01), False), (Estimate(0.0, 0.0), False), (None, False)],
)
def test_settings_are_taken_from_a_gain_of_three_standard_errors_on(gain: Estimate | None, better: bool) -> None:
    start = Model("elo")
    assert Tuned(start, start, gain, 300, 0.6, 0.5, 10, finished=True).is_better is better


def test_the_gain_is_that_of_backtests_of_what_each_part_said_on_the_matches_behind_it(history: History) -> None:
    """A parameter that wants to be as large as it can be is that after any part of the matches."""
    start = Model("synelo", {**SLUGGISH.settings, "k_factor_max": 0.001, "k_factor_min": 0.0, "volatility_weight": 0.0})
    found, gains = tune(start, history, only=["k_factor_max"], trials=800), []
    for seen, end in ((200, 300), (300, 400), (400, 500)):
        one, other = (
            backtest(model, head(history, end), burn_in=seen / end, correct="live") for model in (start, found.model)
        )
        gains += (surprises(one.predicted, one.scores) - surprises(other.predicted, other.scores)).tolist()
    assert found.gain is not None
    assert found.gain.value == pytest.approx(float(np.mean(gains)), abs=2e-3)


def test_nothing_after_the_burn_in_is_looked_at(history: History) -> None:
    one, other = (tune(SLUGGISH, each, trials=40) for each in (history, turned(history, 500)))
    assert one == other


def test_a_parameter_that_changes_no_prediction_stays_as_it_is(history: History) -> None:
    found = tune(Model("trueskill", {"beta": 40.0}), history, only=["mu", "beta"], trials=400)
    assert found.model.settings["beta"] != 40.0
    assert "mu" not in found.model.settings


def test_every_setting_found_is_allowed_and_has_the_digits_that_are_known(history: History) -> None:
    told: list[int] = []
    found = tune(SLUGGISH, history, trials=200, progress=lambda trials, loss: told.append(trials))
    found.model.make()
    assert told == sorted(told)
    assert told[-1] == found.trials <= 200
    changed = {name: value for name, value in found.model.settings.items() if value != SLUGGISH.settings.get(name)}
    assert changed
    assert all(float(f"{value:.3g}") == value for value in changed.values())


def test_a_search_ends_when_its_time_is_over_with_what_each_part_of_the_time_found(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that goes on a second whenever it is read, once a trial at least."""
    monkeypatch.setattr("equipoise.lab.tune.monotonic", count().__next__)
    found = tune(SLUGGISH, history, trials=10**9, seconds=200.0)
    assert 20 < found.trials < 200
    assert not found.finished
    assert found.unseen == 300
    assert found.model != SLUGGISH


def test_few_matches_move_nothing_far(history: History) -> None:
    """Of forty coin flips every system can explain some; without a prior parameters run to the ends of their ranges."""
    found = tune(Model("elo"), coins(history), burn_in=0.02, trials=500)
    start = Model("elo").make().params
    for name, value in found.model.settings.items():
        at = getattr(start, name)
        assert at == 0 or at / 100 < float(str(value)) < 100 * at, name


def test_parameters_may_be_named_in_any_order(history: History) -> None:
    """What is taken first decides where a search ends: a k that is tuned before leads does without them."""
    told, only = with_points(history, 1.0), ("k", "margin_scale")
    one, other = (tune(Model("elo"), told, only=names, correct="burn-in", trials=1500) for names in (only, only[::-1]))
    assert one.finished
    assert one == other
    part, ks, scales = head(told, 500), np.geomspace(4, 100, 8), np.geomspace(0.5, 50, 8)
    grid = [measured(Model("elo", {"k": float(k), "margin_scale": float(g)}), part, 125) for k in ks for g in scales]
    assert one.after <= min(grid) + 2e-3


def test_only_numbers_with_a_range_are_tuned() -> None:
    names = [axis.name for axis in axes(Model("synelo"))]
    assert "rounding" not in names
    assert not {"shadow_rounds", "shadow_cap", "stale_days"} & set(names), "of what is shown, not of the model"
    assert "active" not in [axis.name for axis in axes(Model("joint"))]
    assert "theta" not in names, "None: derived from k_max"
    assert "theta" in [axis.name for axis in axes(Model("synelo", {"theta": 400}))]


def test_an_unknown_parameter_is_refused_by_name(history: History) -> None:
    with pytest.raises(RatingError, match="rounding: not a number that synelo can be tuned by"):
        tune(SLUGGISH, history, only=["rounding"])


def test_a_history_that_the_system_refuses_says_why(history: History) -> None:
    bare = replace(history, points=None)
    with pytest.raises(RatingError, match="goals of every match"):
        tune(Model("world_football_elo"), bare)


def test_an_axis_goes_through_its_start_and_stays_in_its_range() -> None:
    for start in (-3.0, 0.0, 0.5, 400.0):
        axis = SearchAxis("x", start, -10.0, 1000.0, whole=False)
        assert axis.value(axis.origin) == pytest.approx(start)
        assert axis.value(1e9) == 1000.0
        assert axis.value(-1e9) == -10.0
    whole = SearchAxis("n", 12.0, 1, 1000, whole=True)
    assert whole.value(whole.origin) == 12
    assert isinstance(whole.value(whole.origin + 0.1), int)
