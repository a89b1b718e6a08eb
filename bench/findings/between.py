"""Are arena's rounds between scrambles even, and what do even ones cost in moves and turns on the bench?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bench.findings.table import estimate, figure, show
from equipoise.balancing import Solved, answer
from equipoise.core.asks import AskMoves, AskSplit, CacheSplits, Purpose
from equipoise.lab.models import Model
from equipoise.lab.simulation.closed_loop import Solve
from equipoise.lab.simulation.measures import Between, Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.simulation.run import simulate
from equipoise.ratings.system import System

SEEDS, ROUNDS, SLOTS = range(1, 5), 1000, (9, 13, 25)


def main() -> None:
    runs = {
        (slots, rule): [one(slots, seed, solve) for seed in SEEDS] for slots in SLOTS for rule, solve in RULES.items()
    }
    for title, rounds in (
        ("Rounds between scrambles", _between),
        ("Of these, rounds with sides made equal", _equalised),
    ):
        head = ("slots", "rule", "rounds", *MEASURES, "worst prediction", "sat out, most − fewest")
        rows = [(f"{slots}", rule, *_row(found, rounds)) for (slots, rule), found in runs.items()]
        show(f"{title}; second half of {ROUNDS} arena rounds, {len(SEEDS)} seeds", head, rows)


def one(slots: int, seed: int, solve: Solve, rounds: int = ROUNDS) -> Summary:
    """SynElo with the scale that its source has for teams of this size."""
    model = Model("synelo", {"k_max": slots // 2})
    return simulate(Scenario(rounds=rounds, seed=seed, slots=slots), model, solve=solve)


def without_swaps(ask: AskSplit | AskMoves | CacheSplits, system: System[Any]) -> Solved:
    """Who sat out comes in and who has to gives way; no other player moves, however uneven that leaves the sides."""
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
