"""How soon a system knows the true order of 60 people at 12 against 12, and how even its teams are meanwhile.

`python -m bench.findings.converging [--balanced] [--spread S] [--plot FILE] [SYSTEM …]`
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean

import numpy as np

from bench.findings.people import SPREAD, balanced_rounds, chances, crowd, miss, player, random_rounds
from bench.findings.table import against, estimate, show
from equipoise.lab.models import Model
from equipoise.lab.simulation.measures import ranks, spearman
from equipoise.lab.svg import Axis, Chart, picture
from equipoise.ratings import SYSTEMS, replay
from equipoise.ratings.history import Floats, Numbers
from equipoise.ratings.quality import logistic
from equipoise.ratings.system import System

SIZE, TOP = 12, 6
GOALS = (0.8, 0.9)
ROUNDS, CHUNK = 2000, 20
"""Rounds of a run; rounds between two samples."""
HALF = ROUNDS // CHUNK // 2
HUNDRED = 100 // CHUNK
SEEDS = range(1, 17)
SLOW = {"teamskill_allk_ev": 4, "teamskill_allk_ls": 4, "teamskill_k": 4}
"""Number of seeds of systems whose rounds take a thousand times as long; they are left out in balanced teams."""
YARDSTICK = "the whole history, true prior"
SMALLER = "synelo:k_factor_max=24"
WIDE = "trueskill:beta=12.5"
TUNED = (SMALLER, "synelo:compression=1000000", "elo:k=8", "elo:k=128", WIDE)
FEW = ("synelo", SMALLER, "elo", "glicko2", "ns2", "trueskill", WIDE, "trueskill2", "trueskill_through_time")
"""Systems that are compared at other spreads too."""
DRAWN = ("synelo", SMALLER, YARDSTICK, "ns2", WIDE, "trueskill2")


@dataclass(frozen=True, slots=True)
class Look:
    """A sample after a chunk of rounds; all but `order` and `places` are means over the chunk."""

    order: float
    """Spearman's correlation of the system's skills with the hidden ones."""
    places: Floats
    """Ranks in the system, from 0, of the six best by hidden skill."""
    miss: float
    favourite: float
    """The favourite's true probability to win."""
    best: float
    """The true probability to win of a side, averaged over the best six who play in it."""


Looks = Callable[[Floats, np.random.Generator], Iterator[Look]]
"""Plays chunk after chunk without end."""
Run = Sequence[Look]
RANDOM: dict[str, tuple[str, Callable[[Run], float]]] = {
    "ρ, first half": (".3f", lambda run: fmean(look.order for look in run[:HALF])),
    "ρ, second half": (".3f", lambda run: fmean(look.order for look in run[HALF:])),
    "miss": (".4f", lambda run: fmean(look.miss for look in run[HALF:])),
    "places moved": (".2f", lambda run: moved(run[HALF:])),
}
BALANCED: dict[str, tuple[str, Callable[[Run], float]]] = {
    "ρ, first half": RANDOM["ρ, first half"],
    "ρ, second half": RANDOM["ρ, second half"],
    "favourite, first half": (".1%", lambda run: fmean(look.favourite for look in run[:HALF])),
    "second half": (".1%", lambda run: fmean(look.favourite for look in run[HALF:])),
    "best six": (".1%", lambda run: fmean(look.best for look in run[HALF:])),
    "places moved": RANDOM["places moved"],
}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM")
    parser.add_argument("--balanced", action="store_true")
    parser.add_argument("--spread", type=float, default=SPREAD)
    parser.add_argument("--plot", type=Path, metavar="FILE")
    asked = parser.parse_args()
    names = dict.fromkeys(("synelo", *(asked.systems or _everybody(asked.balanced, asked.spread))))
    runs = {name: _runs(name, asked.balanced, asked.spread) for name in names}
    measures = BALANCED if asked.balanced else RANDOM
    teams = "teams balanced by the system itself" if asked.balanced else "random teams"
    head = ("system", "seeds", *(f"ρ ≥ {goal}" for goal in GOALS), *measures)
    rows = [_row(name, run, runs["synelo"], measures) for name, run in runs.items()]
    show(f"{SIZE} v {SIZE}, {teams}, spread {asked.spread:g}; below the first row differences to it", head, rows)
    if asked.plot:
        asked.plot.write_text(picture([curves(f"Order found, {SIZE} v {SIZE}, {teams}", runs)]))


def _everybody(balanced: bool, spread: float) -> list[str]:
    if spread != SPREAD:
        return [*FEW] if balanced else [*FEW, YARDSTICK]
    live = [name for name in SYSTEMS if Model(name).make().live]
    return [name for name in live if name not in SLOW] + [*TUNED] if balanced else [*live, *TUNED, YARDSTICK]


def _runs(name: str, balanced: bool, spread: float) -> list[Run]:
    seeds = SEEDS[: SLOW.get(name, len(SEEDS))]
    return [_run(_looks(name, balanced, spread), spread, seed) for seed in seeds]


def _run(looks: Looks, spread: float, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    return list(islice(looks(crowd(rng, spread=spread), rng), ROUNDS // CHUNK))


def _looks(name: str, balanced: bool, spread: float) -> Looks:
    if name == YARDSTICK:
        return partial(yardstick, spread=spread)
    return partial(in_balanced_teams if balanced else in_random_teams, model=Model.of(name))


def in_random_teams(skills: Floats, rng: np.random.Generator, *, model: Model) -> Iterator[Look]:
    system = model.make()
    while True:
        history = random_rounds(skills, CHUNK, SIZE, rng)
        replayed = replay(system, history)
        predicted = replayed.wins[0::2] + replayed.draws / 2
        yield look(skills, _rated(system, skills), history.members.reshape(CHUNK, -1), predicted)


def in_balanced_teams(skills: Floats, rng: np.random.Generator, *, model: Model) -> Iterator[Look]:
    system = model.make()
    while True:
        played = list(balanced_rounds(system, skills, CHUNK, SIZE, rng))
        members = np.array([(*one.a, *one.b) for one in played])
        yield look(skills, _rated(system, skills), members, np.array([one.predicted for one in played]))


def _rated(system: System[object], skills: Floats) -> list[float]:
    return [system.skill(player(number)) for number in range(len(skills))]


def look(skills: Floats, rated: Sequence[float], members: Numbers, predicted: Floats) -> Look:
    true = chances(skills, members)
    best = np.argsort(-skills)[:TOP]
    with_a, with_b = (np.isin(side, best).sum(axis=1) for side in (members[:, :SIZE], members[:, SIZE:]))
    won = float((with_a * true + with_b * (1 - true)).sum() / (with_a + with_b).sum())
    favourite = float(np.maximum(true, 1 - true).mean())
    places = ranks([-skill for skill in rated])[best]
    return Look(spearman(rated, list(skills)), places, miss(predicted, true), favourite, won)


def yardstick(skills: Floats, rng: np.random.Generator, *, spread: float) -> Iterator[Look]:
    """The most probable skills by all rounds so far under the true model: no system can be much better."""
    sides, scores, likely = np.empty((0, len(skills))), np.empty(0), np.zeros(len(skills))
    while True:
        history = random_rounds(skills, CHUNK, SIZE, rng)
        members, played = history.members.reshape(CHUNK, -1), np.zeros((CHUNK, len(skills)))
        np.put_along_axis(played, members, np.repeat((1.0, -1.0), SIZE)[None], axis=1)
        predicted = logistic(played @ likely)
        sides, scores = np.vstack([sides, played]), np.append(scores, 1.0 - history.ranks[0::2])
        likely = most_likely(sides, scores, likely, spread)
        yield look(skills, list(likely), members, predicted)


def most_likely(sides: Floats, scores: Floats, start: Floats, spread: float) -> Floats:
    """Newton's method for a logistic regression with normal priors; `sides` is 1 for A and −1 for B."""
    skills = start
    for _ in range(50):
        chances = logistic(sides @ skills)
        slope = sides.T @ (scores - chances) - skills / spread**2
        bend = (sides.T * (chances * (1 - chances))) @ sides + np.eye(len(skills)) / spread**2
        step = np.linalg.solve(bend, slope)
        skills = skills + step
        if np.abs(step).max() < 1e-9:
            break
    return skills


def first(run: Run, goal: float) -> float:
    """Rounds until the order was as good as the goal; infinity if it never was."""
    return next((CHUNK * number for number, look in enumerate(run, 1) if look.order >= goal), np.inf)


def moved(run: Run) -> float:
    """Mean number of places (of 60) by which one of the best six moves within 100 rounds."""
    pairs = zip(run, run[HUNDRED:], strict=False)
    return fmean(float(np.abs(then.places - now.places).mean()) for then, now in pairs)


def _row(
    name: str, runs: Sequence[Run], reference: Sequence[Run], measures: dict[str, tuple[str, Callable[[Run], float]]]
) -> tuple[str, ...]:
    cells = [_median_and_range([first(run, goal) for run in runs]) for goal in GOALS]
    for form, measure in measures.values():
        found = [measure(run) for run in runs]
        others = [measure(run) for run in reference[: len(runs)]]
        cells.append(estimate(found, form) if runs is reference else against(found, others, form))
    return name, str(len(runs)), *cells


def _median_and_range(rounds: Sequence[float]) -> str:
    """Median and range: a run that never reaches the goal has no mean."""
    low, middle, high = np.quantile(rounds, (0, 0.5, 1), method="inverted_cdf")
    return f"{_number(middle)} ({_number(low)} to {_number(high)})"


def _number(rounds: float) -> str:
    return f"{rounds:,.0f}" if np.isfinite(rounds) else f"> {ROUNDS:,}"


def curves(title: str, runs: dict[str, list[Run]]) -> Chart:
    """The mean order found over the seeds, every 100 rounds; a system has the same colour in every chart."""
    chart = Chart(title, Axis("rounds", 0, ROUNDS), Axis("Spearman's ρ", 0.5, 1), height=400)
    steps = range(2 * HUNDRED - 1, ROUNDS // CHUNK, HUNDRED)
    for series, name in enumerate(DRAWN):
        if name in runs:
            orders = [fmean(run[step].order for run in runs[name]) for step in steps]
            chart.line([float(CHUNK * (step + 1)) for step in steps], orders, series)
            chart.legend(name, series)
    return chart


if __name__ == "__main__":
    main()
