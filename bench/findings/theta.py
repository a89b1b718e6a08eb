"""Θ by `k_max` against the Θ that is fitted: what `pool fit-theta` proposes, and what learning with it brings."""

from __future__ import annotations

import numpy as np

from bench.findings.people import balanced_rounds, crowd, random_rounds, true_order
from bench.findings.table import against, estimate, show
from equipoise.lab.models import Model
from equipoise.ratings import replay
from equipoise.ratings.history import Floats, History
from equipoise.ratings.quality import fit_scale, logistic, surprises
from equipoise.ratings.synelo.system import SynEloParams

SEEDS, ROUNDS, LATE, PROPOSED = range(1, 11), 4000, 1000, 500
BALANCED_SEEDS, BALANCED_ROUNDS = range(1, 7), 1000
SIZES, SPREADS = (1, 2, 4, 6, 9, 12), (0.1, 0.25, 0.5)
GRID = tuple(float(theta) for theta in (100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200, 4800, 6400, 9600))


def main() -> None:
    head = (
        *("spread", "teams", "Θ by k_max", "proposed after 500", "proposed, last 3,000"),
        *("log loss: k_max", "relabelled", "learnt with it", "twice", "best Θ", "its", "ρ: k_max", "twice", "best"),
    )
    show(f"Random teams, {ROUNDS:,} rounds, {len(SEEDS)} seeds", head, [_row(sp, k) for sp in SPREADS for k in SIZES])
    rows = [(f"{spread:g}", *_in_balanced_teams(spread)) for spread in SPREADS]
    show(f"Balanced 12 v 12, {BALANCED_ROUNDS:,} rounds, Θ 2400", ("spread", "even rounds", "proposed"), rows)


def _in_balanced_teams(spread: float) -> tuple[str, str]:
    """Fraction of rounds predicted within 0.1 % of even, and the Θ that their predictions propose."""
    even, proposed = [], []
    for seed in BALANCED_SEEDS:
        rng = np.random.default_rng(seed)
        skills = crowd(rng, spread=spread)
        rounds = list(balanced_rounds(Model("synelo").make(), skills, BALANCED_ROUNDS, 12, rng))
        even.append(sum(abs(one.predicted - 0.5) < 0.001 for one in rounds) / len(rounds))
        fit = fit_scale([(one.predicted, one.score) for one in rounds], 2400.0)
        proposed.append(np.inf if fit is None else fit.scale)
    return estimate(even, ".0%"), _scale(proposed)


def _row(spread: float, size: int) -> tuple[str, ...]:
    theta = SynEloParams(k_max=size).scale
    found = [np.array(_measured(spread, size, theta, seed)) for seed in SEEDS]
    early, late, loss, relabelled, again, twice, order, twice_order, *grid = map(list, zip(*found, strict=True))
    losses, orders = grid[: len(GRID)], grid[len(GRID) :]
    best = int(np.argmin(np.mean(losses, axis=1)))
    return (
        f"{spread:g}",
        f"{size} v {size}",
        f"{theta:.0f}",
        _scale(early),
        _scale(late),
        estimate(loss, ".4f"),
        *(against(each, loss, ".4f") for each in (relabelled, again, twice)),
        f"{GRID[best]:.0f}",
        against(losses[best], loss, ".4f"),
        estimate(order, ".2f"),
        *(against(each, order, ".2f") for each in (twice_order, orders[best])),
    )


def _scale(thetas: list[float]) -> str:
    """Median and range: a Θ that cannot be fitted is infinite."""
    low, middle, high = np.quantile(thetas, (0, 0.5, 1), method="inverted_cdf")
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"


def _measured(spread: float, size: int, theta: float, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    skills = crowd(rng, spread=spread)
    history = random_rounds(skills, ROUNDS, size, rng)
    predicted, order = learnt(history, skills, theta)
    early, late = (proposal(history, predicted, theta, part) for part in (slice(PROPOSED), slice(LATE, None)))
    odds = np.log(predicted / (1 - predicted)) * theta / late
    grid = [learnt(history, skills, other) for other in GRID]
    again = learnt(history, skills, min(early, 1e6))[0]
    twice, twice_order = learnt(history, skills, 2 * theta)
    losses = [log_loss(history, one) for one in (predicted, logistic(odds), again, twice)]
    return [
        early,
        late,
        *losses,
        order,
        twice_order,
        *(log_loss(history, one) for one, _ in grid),
        *(rho for _, rho in grid),
    ]


def learnt(history: History, skills: Floats, theta: float) -> tuple[Floats, float]:
    """Predictions of a SynElo with this Θ, and its Spearman's ρ at the end."""
    system = Model("synelo", {"theta": theta}).make()
    return replay(system, history).wins[0::2], true_order(system, skills)


def proposal(history: History, predicted: Floats, theta: float, part: slice) -> float:
    """The Θ that `pool fit-theta` proposes from these rounds; infinity if favourites won no more often than others."""
    fit = fit_scale(np.column_stack((predicted[part], 1.0 - history.ranks[0::2][part])), theta)
    return np.inf if fit is None else fit.scale


def log_loss(history: History, predicted: Floats) -> float:
    """Mean log loss over all but the first `LATE` rounds."""
    return float(surprises(predicted[LATE:], 1.0 - history.ranks[0::2][LATE:]).mean())


if __name__ == "__main__":
    main()
