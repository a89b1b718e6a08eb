"""Simulated pools in parallel processes: each is played once, and its result is kept in a file.

A result belongs to all that a pool is made of (systems, rule of the split, scenario with its seed), not to the code:
delete the file when the code has changed.
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.findings.between import without_swaps
from equipoise import balancing
from equipoise.balancing import Solved, answer, covariances, mean_variance, swaps
from equipoise.balancing.chances import MEAN_WEIGHT
from equipoise.cli.output import progress
from equipoise.core.asks import AskMoves, AskSplit, CacheSplits
from equipoise.core.rules import DEFAULT_TRIGGERS, Rules
from equipoise.lab import json_output
from equipoise.lab.models import Model
from equipoise.lab.simulation.closed_loop import Solve
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.simulation.run import simulate
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.system import System

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Found = Mapping[str, Any]
"""One pool of `equipoise lab simulate --json`."""


class ByMeans(Joint):
    """`joint` that does not say that it knows more than means."""

    correlated = False


def by_means(ask: AskSplit | AskMoves | CacheSplits, system: System[Any]) -> Solved:
    """Splits by the difference of the means alone, of a system that knows more."""
    assert isinstance(system, Joint)
    means = ByMeans(system.params)
    means.active = system.active
    return answer(ask, means)


@contextmanager
def weighing(weight: float) -> Iterator[None]:
    """Teams are made with this weight of the mean difference, in this process."""
    readers = (balancing, covariances, mean_variance, swaps)
    try:
        for module in readers:
            vars(module)["MEAN_WEIGHT"] = weight
        yield
    finally:
        for module in readers:
            vars(module)["MEAN_WEIGHT"] = MEAN_WEIGHT


SOLVES: dict[str, Solve] = {"best": answer, "bench alone": without_swaps, "means": by_means}


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool to simulate: its system, its scenario, how its splits are chosen, and who makes its teams."""

    model: str
    scenario: Scenario = field(default_factory=Scenario)
    solve: str = "best"
    balance: str | None = None
    chance: bool = True
    """Sides that are too uneven are evened between rounds."""
    weight: float = MEAN_WEIGHT
    learns: bool = False
    """`joint` learns the spread of skill."""

    def seeded(self, seed: int) -> Pool:
        """The same with this seed."""
        return replace(self, scenario=replace(self.scenario, seed=seed))

    @property
    def key(self) -> str:
        """Key of its result."""
        return repr((self.model, self.balance, self.solve, self.scenario, self.chance, self.weight, self.learns))

    def play(self) -> Found:
        """The pool's summary as JSON values."""
        model, balance = Model.of(self.model), None if self.balance is None else Model.of(self.balance)
        triggers = {mode: replace(each, chance=each.chance and self.chance) for mode, each in DEFAULT_TRIGGERS.items()}
        with weighing(self.weight):
            rules, solve = Rules(triggers=triggers), SOLVES[self.solve]
            summary = simulate(self.scenario, model, rules, solve=solve, balance=balance, learns=self.learns)
        (found,) = json.loads(json.dumps(json_output.simulated(self.scenario, [(model, summary)])["pools"]))  # type: ignore[misc]
        return found  # type: ignore[no-any-return]


def seed_range(text: str) -> range:
    """Read `--seeds FROM-TO`, or one seed."""
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not FROM-TO") from None


def play(pools: Mapping[str, Pool], file: Path, processes: int) -> dict[str, Found]:
    """The results of all pools by key; those that the file has are not played again, and the others are added to it."""
    found = kept(file)
    missing = {key: pool for key, pool in pools.items() if key not in found}
    # One process per pool in turn: threads of the linear algebra would only get in each other's way.
    os.environ.update(dict.fromkeys(THREADS, "1"))
    workers = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    with progress() as bar, file.open("a", encoding="utf-8") as lines:
        task = bar.add_task("pools", total=len(missing))
        try:
            waiting = {workers.submit(pool.play): key for key, pool in missing.items()}
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                lines.write(json.dumps([waiting[done], done.result()]) + "\n")
                lines.flush()
                bar.advance(task)
        finally:
            workers.shutdown(cancel_futures=True)
    return found


def kept(file: Path) -> dict[str, Found]:
    """Results of earlier runs; a line that was cut off when one was killed is left out."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line.endswith("]"):
            key, result = json.loads(line)
            found[key] = result
    return found
