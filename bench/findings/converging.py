"""How many rounds of 12 against 12 until a system knows the true order of 60 people.

`python -m bench.findings.converging [--balanced] [--plot FILE] [SYSTEM …]`
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean

import numpy as np

from bench.findings.people import SPREAD, balanced_rounds, crowd, random_rounds, true_order
from bench.findings.table import show
from equipoise.lab.models import Model
from equipoise.lab.simulation.measures import spearman
from equipoise.lab.svg import Axis, Chart, picture
from equipoise.ratings import SYSTEMS
from equipoise.ratings.history import Floats

SIZE = 12
GOALS = (0.8, 0.9)
CHUNK = 20
"""Rounds between two looks."""
SEEDS, LONGEST = range(1, 9), 10_000
BALANCED_SEEDS, BALANCED_LONGEST = range(1, 4), 2000
SLOW = {"teamskill_allk_ev": 2, "teamskill_allk_ls": 2, "teamskill_k": 4}
"""Seeds for those whose rounds take a thousand times as long; 0 in balanced teams."""
SLOW_LONGEST = 2000
TUNED = ("synelo:k_factor_max=24", "synelo:compression=1000000", "elo:k=8", "elo:k=128", "trueskill:beta=12.5")
YARDSTICK = "the whole history, true prior"
DRAWN = ("synelo", "elo", "ns2", "trueskill2", "elo:k=128")
DRAWN_ROUNDS = 3000

Orders = Callable[[Floats, np.random.Generator], Iterator[float]]
"""Plays on and on; the correlation with the true order after each chunk."""


def main(arguments: Sequence[str]) -> None:
    if arguments and arguments[0] == "--plot":
        Path(arguments[1]).write_text(picture([curves()]))
        return
    balanced = "--balanced" in arguments
    asked = [name for name in arguments if name != "--balanced"]
    rows = [_row(name, balanced) for name in asked or _everybody(balanced)]
    teams = "balanced by the system itself" if balanced else "random"
    head = ("system", *(f"ρ ≥ {goal}" for goal in GOALS), "seeds")
    show(f"Rounds until Spearman's ρ ≥ …, median (least to most); teams {teams}", head, rows)


def _everybody(balanced: bool) -> list[str]:
    live = [name for name in SYSTEMS if Model(name).make().live]
    return [name for name in live if name not in SLOW] + [*TUNED] if balanced else [YARDSTICK, *live, *TUNED]


def _row(name: str, balanced: bool) -> tuple[str, ...]:
    slow = name in SLOW
    seeds = BALANCED_SEEDS if balanced else SEEDS[: SLOW.get(name, len(SEEDS))]
    longest = BALANCED_LONGEST if balanced else SLOW_LONGEST if slow else LONGEST
    reached = [rounds_needed(_orders(name, balanced), seed, longest) for seed in seeds]
    return name, *(_told(rounds, longest) for rounds in zip(*reached, strict=True)), str(len(seeds))


def rounds_needed(orders: Orders, seed: int, longest: int) -> list[float]:
    """For each goal, when it was first reached; infinity if not in the longest time."""
    rng = np.random.default_rng(seed)
    needed = [np.inf] * len(GOALS)
    for number, order in enumerate(islice(orders(crowd(rng), rng), longest // CHUNK), 1):
        needed = [
            min(was, number * CHUNK if order >= goal else np.inf) for was, goal in zip(needed, GOALS, strict=True)
        ]
        if np.isfinite(needed).all():
            break
    return needed


def _orders(name: str, balanced: bool) -> Orders:
    if name == YARDSTICK:
        return yardstick
    return _in_balanced_teams(Model.of(name)) if balanced else _in_random_teams(Model.of(name))


def _in_random_teams(model: Model) -> Orders:
    def orders(skills: Floats, rng: np.random.Generator) -> Iterator[float]:
        system = model.make()
        while True:
            system.replay(random_rounds(skills, CHUNK, SIZE, rng))
            yield true_order(system, skills)

    return orders


def _in_balanced_teams(model: Model) -> Orders:
    def orders(skills: Floats, rng: np.random.Generator) -> Iterator[float]:
        system = model.make()
        while True:
            for _ in balanced_rounds(system, skills, CHUNK, SIZE, rng):
                pass
            yield true_order(system, skills)

    return orders


def yardstick(skills: Floats, rng: np.random.Generator) -> Iterator[float]:
    """The most likely skills by all rounds so far, told the model: what no system can beat by much."""
    sides, scores, likely = np.empty((0, len(skills))), np.empty(0), np.zeros(len(skills))
    while True:
        history = random_rounds(skills, CHUNK, SIZE, rng)
        played = np.zeros((CHUNK, len(skills)))
        np.put_along_axis(played, history.members.reshape(CHUNK, -1), np.repeat((1.0, -1.0), SIZE)[None], axis=1)
        sides, scores = np.vstack([sides, played]), np.append(scores, 1.0 - history.ranks[0::2])
        likely = most_likely(sides, scores, likely)
        yield spearman(list(likely), list(skills))


def most_likely(sides: Floats, scores: Floats, start: Floats) -> Floats:
    """Newton's method for a logistic regression with normal priors; `sides` is 1 for A and −1 for B."""
    skills = start
    for _ in range(50):
        chances = 0.5 + 0.5 * np.tanh(sides @ skills / 2)
        slope = sides.T @ (scores - chances) - skills / SPREAD**2
        bend = (sides.T * (chances * (1 - chances))) @ sides + np.eye(len(skills)) / SPREAD**2
        step = np.linalg.solve(bend, slope)
        skills = skills + step
        if np.abs(step).max() < 1e-9:
            break
    return skills


def curves() -> Chart:
    """The mean correlation over the seeds, of the yardstick and a few systems in random teams."""
    chart = Chart(
        "Order found, 12 v 12 in random teams",
        Axis("rounds", 0, DRAWN_ROUNDS),
        Axis("Spearman's ρ", 0.5, 1),
        height=360,
    )
    rounds = [float(CHUNK * each) for each in range(5, DRAWN_ROUNDS // CHUNK + 1, 5)]
    for series, name in enumerate((YARDSTICK, *DRAWN)):
        chart.line(rounds, _mean_curve(_orders(name, balanced=False))[4::5], series)
        chart.name(name, series)
    return chart


def _mean_curve(orders: Orders) -> list[float]:
    runs = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        runs.append(list(islice(orders(crowd(rng), rng), DRAWN_ROUNDS // CHUNK)))
    return [fmean(each) for each in zip(*runs, strict=True)]


def _told(rounds: tuple[float, ...], longest: int) -> str:
    """Median and range: who never gets there has no mean."""
    low, middle, high = np.quantile(rounds, (0, 0.5, 1), method="inverted_cdf")
    return " ".join((_number(middle, longest), f"({_number(low, longest)} to {_number(high, longest)})"))


def _number(rounds: float, longest: int) -> str:
    return f"{rounds:,.0f}" if np.isfinite(rounds) else f"> {longest:,}"


if __name__ == "__main__":
    main(sys.argv[1:])
