"""Splits for other programs, solved beside the daemon.

A request may take all the time that it names, and all the memory that the process may have: the daemon, which answers
game servers meanwhile, feels neither.

The exact answer comes first. Where the question has a covariance, half of the time is for it, and the sides of every
size are then searched by mean and variance, the largest first: those that are in time are what is played.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import Assignment, Budget, Gap, Pin, Splits, preferred_splits, splits
from equipoise.workers import Watch

EXACT_SHARE = 0.5
"""The part of the time for the exact answer that a search by mean and variance starts from."""
SEARCHING = "swaps"


class SplitQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Players as indices, and the constraints of their splits, as in `solver.splits`."""

    values: tuple[float, ...]
    size: int | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    pins: dict[int, Pin] = {}
    bench_cost: tuple[int, ...] | None = None
    current: tuple[Side | None, ...] | None = None
    tolerances: dict[int, float] = {}
    """Points by team size; empty where there are no preferences."""
    covariance: tuple[tuple[float, ...], ...] | None = None
    """The covariance of the values, in points squared: with it sides are searched that are known to be even."""
    log_odds: dict[int, float] = {}
    """The points that are one log-odds, by team size; needed with a covariance."""


class SplitRequest(msgspec.Struct, frozen=True):
    """A question, and the seconds that its answer may take."""

    question: SplitQuestion
    seconds: float


SolvedSplits = tuple[Assignment, ...]
"""The splits, smallest size first."""


def work(watch: Watch) -> tuple[type[SplitRequest], Callable[[SplitRequest], SolvedSplits]]:
    """Return the requests and the function of `Job.SPLITS`."""
    return SplitRequest, lambda request: solve(request, watch)


def solve(request: SplitRequest, clock: Callable[[], float]) -> SolvedSplits:
    """Return the splits that are solved in time; work is not limited otherwise.

    SplitError: there are none, or they would need more memory than there is.
    """
    try:
        return _solved(request, clock)
    except MemoryError:
        raise SplitError("so many players with such groups and costs need more memory than there is") from None


def _solved(request: SplitRequest, clock: Callable[[], float]) -> SolvedSplits:
    question, start = request.question, clock()
    share = 1.0 if question.covariance is None else EXACT_SHARE
    exact = _exact(question, clock, start + request.seconds * share)
    by_size = {size: exact[size] for size in sorted(exact)}
    if question.covariance is not None:
        for size in sorted(by_size, reverse=True):
            if clock() < start + request.seconds:
                by_size[size] = _by_covariance(question, question.covariance, by_size[size])
    return tuple(by_size.values())


def _exact(question: SplitQuestion, clock: Callable[[], float], until: float) -> Splits:
    budget = Budget(work=float("inf"), clock=clock, until=until)
    if not question.tolerances:
        return splits(question.values, groups=question.groups, pins=question.pins, k=question.size, budget=budget)
    return preferred_splits(
        question.values,
        tolerances=question.tolerances,
        groups=question.groups,
        pins=question.pins,
        bench_cost=question.bench_cost,
        current=question.current,
        budget=budget,
    )


def _by_covariance(question: SplitQuestion, covariance: Sequence[Sequence[float]], exact: Assignment) -> Assignment:
    """Return the sides with the least cost of the players whom the exact answer lets play."""
    # numpy is loaded where a question needs it.
    from equipoise.balancing.mean_variance import SIGNS, QuadraticProblem, SwapSearch

    order = sorted((*exact.a, *exact.b))
    number, size = {player: index for index, player in enumerate(order)}, len(exact.a)
    values = [question.values[player] for player in order]
    sides: Sequence[Side | None] = question.current or [None] * len(question.values)
    problem = QuadraticProblem(
        (values, values),
        [[covariance[player][mate] for mate in order] for player in order],
        exact.sizes,
        pins={number[player]: pin for player, pin in question.pins.items() if player in number},
        groups=[[number[player] for player in group] for group in question.groups if group and group[0] in number],
        current=[SIGNS[sides[player]] for player in order],
    )
    search = SwapSearch(problem, [[1 if player in exact.a else -1 for player in order]])
    points = question.log_odds[size]
    limit = search.limit(question.tolerances.get(size, 0.0) / (4 * points), points)
    signs = search.sides(search.cheapest(limit, problem.moves) if question.current else search.least)
    a, b = (tuple(player for player, sign in zip(order, signs, strict=True) if sign == stand) for stand in (1, -1))
    difference = math.fsum(question.values[player] for player in a) - math.fsum(question.values[player] for player in b)
    moves = sum(sign * now < 0 for sign, now in zip(signs, problem.current, strict=True))
    return replace(
        exact,
        a=a,
        b=b,
        difference=difference,
        optimal=False,
        method=SEARCHING,
        moves=moves,
        gap=Gap(abs(difference), exact.gap.bench_cost, moves),
    )
