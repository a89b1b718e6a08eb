"""Parameters found on the burn-in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.errors import RatingError
from equipoise.lab.backtest import backtest, warm_up
from equipoise.lab.correction import fit
from equipoise.lab.histories import head, scores
from equipoise.lab.models import Model, forecast
from equipoise.lab.reading import read_history
from equipoise.lab.tune import Axis, axes, log_loss, tune
from equipoise.ratings.history import History
from tests.lab import sets
from tests.lab.test_backtest import turned

SLUGGISH = Model("synelo", {"k_max": 1, "k_factor_min": 1.0, "k_factor_max": 2.0})


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return read_history(sets.league(tmp_path_factory.mktemp("league"), 2500), None)


def test_tuning_finds_what_a_grid_finds(history: History) -> None:
    grid = []
    part = head(history, 500)
    for k in np.geomspace(1, 1000, 40):
        model = Model("synelo", {**SLUGGISH.settings, "k_factor_max": float(k)})
        predicted = forecast(model, part).predicted
        corrected = fit(predicted, part, scores(part), 125).apply(predicted, part)
        grid.append(log_loss(corrected[125:], scores(part)[125:]))
    found = tune(SLUGGISH, history, only=["k_factor_max"], trials=60)
    assert warm_up(500) == 125
    assert found.finished
    assert found.after <= min(grid) + 2e-4


def test_tuning_helps_on_what_it_has_not_seen(history: History) -> None:
    found = tune(SLUGGISH, history, trials=150)
    assert found.after < found.before
    before, after = (backtest(model, history, correct="burn-in") for model in (SLUGGISH, found.model))
    assert after.quality.log_loss.value < before.quality.log_loss.value


def test_nothing_after_the_burn_in_is_looked_at(history: History) -> None:
    one, other = (tune(SLUGGISH, each, trials=40) for each in (history, turned(history, 500)))
    assert one == other


def test_what_changes_no_prediction_stays_as_it_is(history: History) -> None:
    found = tune(SLUGGISH, history, trials=200)
    assert not {"stale_days", "shadow_cap"} & found.model.settings.keys()


def test_every_setting_found_is_allowed(history: History) -> None:
    told: list[tuple[int, float]] = []
    found = tune(SLUGGISH, history, trials=50, progress=lambda trials, loss: told.append((trials, loss)))
    found.model.make()
    counts = [trials for trials, _ in told]
    assert counts == sorted(set(counts))
    assert counts[-1] <= found.trials <= 50
    assert min(loss for _, loss in told) == pytest.approx(found.after)


def test_only_numbers_with_a_range_are_tuned() -> None:
    names = [axis.name for axis in axes(Model("synelo"))]
    assert "rounding" not in names
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
        axis = Axis("x", start, -10.0, 1000.0, whole=False)
        assert axis.value(axis.origin) == pytest.approx(start)
        assert axis.value(1e9) == 1000.0
        assert axis.value(-1e9) == -10.0
    whole = Axis("n", 12.0, 1, 1000, whole=True)
    assert whole.value(whole.origin) == 12
    assert isinstance(whole.value(whole.origin + 0.1), int)
