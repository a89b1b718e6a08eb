"""Are arena's rounds between scrambles even, and what do even ones cost in moves and turns on the bench?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import Any

from bench.findings.table import estimate, figure, show
from equipoise.balancing import Solved, answer
from equipoise.core.asks import AskMoves, AskSplit, CacheSplits, Purpose
from equipoise.core.events import SplitSolved
from equipoise.lab.models import Model
from equipoise.lab.simulation.closed_loop import Solve
from equipoise.lab.simulation.measures import Between, Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.simulation.run import simulate
from equipoise.ratings.quality import EVEN
from equipoise.ratings.system import System

SEEDS, ROUNDS, SLOTS = range(1, 5), 1000, (9, 13, 25)
PLAYERS = ((4, 6), (7, 7), (8, 8), (9, 9), (10, 10), (11, 13), (14, 25))


def main() -> None:
    runs = {
        (slots, rule): [Run(slots, seed, solve) for seed in SEEDS] for slots in SLOTS for rule, solve in RULES.items()
    }
    for title, rounds in (
        ("Rounds between scrambles", _between),
        ("Of these, rounds with sides made equal", _equalised),
    ):
        head = ("slots", "rule", "rounds", *MEASURES, "worst prediction", "sat out, most − fewest")
        rows = [
            (f"{slots}", rule, *_row([run.summary for run in found], rounds)) for (slots, rule), found in runs.items()
        ]
        show(f"{title}; second half of {ROUNDS} arena rounds, {len(SEEDS)} seeds", head, rows)
    by_rule = {rule: [run for (_, of), found in runs.items() if of == rule for run in found] for rule in RULES}
    rows = [(f"{low}" if low == high else f"{low}–{high}", *_sized(low, high, by_rule)) for low, high in PLAYERS]
    show("The same by players present", ("players", "rounds", *(f"within 45–55 %: {rule}" for rule in RULES)), rows)


class Run:
    """One simulation, and what was predicted for each split that made the sides equal in its second half.

    SynElo has the scale of its source for teams of this size.
    """

    def __init__(self, slots: int, seed: int, solve: Solve, rounds: int = ROUNDS) -> None:
        self._solve, self._made = solve, list[tuple[int, float]]()
        model = Model("synelo", {"k_max": slots // 2})
        self.summary = simulate(Scenario(rounds=rounds, seed=seed, slots=slots), model, solve=self._watched)
        self.made = self._made[len(self._made) // 2 :]
        """Players present, and the win probability of side A."""

    def _watched(self, ask: AskSplit | AskMoves | CacheSplits, system: System[Any]) -> Solved:
        solved = self._solve(ask, system)
        if isinstance(solved, SplitSolved) and solved.ask.purpose is Purpose.EQUAL_SIDES and solved.after is not None:
            self._made.append((len(solved.ask.entries), solved.after))
        return solved


def without_swaps(ask: AskSplit | AskMoves | CacheSplits, system: System[Any]) -> Solved:
    """Players who sat out come in for others in turn; no other player moves, however uneven that leaves the sides."""
    if not isinstance(ask, AskSplit) or ask.purpose is not Purpose.EQUAL_SIDES:
        return answer(ask, system)
    # The session takes an answer only to the very question that it asked.
    return replace(answer(replace(ask, tolerance=math.inf), system), ask=ask)  # type: ignore[arg-type]


RULES: dict[str, Solve] = {"bench alone": without_swaps, "and fewest swaps": answer}


MEASURES: dict[str, tuple[str, Callable[[Between], float]]] = {
    "within 45–55 %": (".1%", lambda between: between.even.value),
    "favourite, truly": (".1%", lambda between: between.favourite),
    "moved per player and round": (".3f", lambda between: between.reassigned),
}


def _between(summary: Summary) -> Between:
    assert summary.between is not None, "every round was scrambled"
    return summary.between


def _equalised(summary: Summary) -> Between:
    assert summary.equalised is not None, "no sides were made equal"
    return summary.equalised


def _sized(low: int, high: int, by_rule: dict[str, list[Run]]) -> list[str]:
    """The rounds with so many players under the rule that is in force, and the share of even ones under each."""
    chances = [[p for run in runs for players, p in run.made if low <= players <= high] for runs in by_rule.values()]
    even = [fmean(EVEN[0] <= p <= EVEN[1] for p in found) for found in chances]
    return [f"{len(chances[-1]):,}", *(figure(share, ".1%") for share in even)]


def _row(summaries: list[Summary], rounds: Callable[[Summary], Between]) -> list[str]:
    found = [rounds(summary) for summary in summaries]
    turns = [summary.bench.apart for summary in summaries if summary.bench is not None]
    return [
        f"{sum(each.rounds for each in found):,}",
        *(estimate([read(each) for each in found], form) for form, read in MEASURES.values()),
        figure(max(each.worst for each in found), ".1%"),
        estimate(turns, ".2f"),
    ]


if __name__ == "__main__":
    main()
