"""What the worker process is asked and answers, and both as bytes: a length, then MessagePack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import Assignment, Budget, Gap, Pin, Splits, preferred_splits, splits

LENGTH_BYTES = 4
EXACT_SHARE = 0.5
"""Of the time, for the exact answer that a search by mean and variance starts from."""
SEARCHING = "swaps"


class SplitQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Players as indices, and what their splits must respect; as in `solver.splits`."""

    values: tuple[float, ...]
    size: int | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    pins: dict[int, Pin] = {}
    bench_cost: tuple[int, ...] | None = None
    current: tuple[Side | None, ...] | None = None
    tolerances: dict[int, float] = {}
    """By team size, in points; empty where there are no preferences."""
    covariance: tuple[tuple[float, ...], ...] | None = None
    """Of the values, in points squared: then sides are made that are known to be even."""
    log_odds: dict[int, float] = {}
    """By team size, the points that are one log-odds; needed with a covariance."""


class Given(msgspec.Struct, frozen=True):
    """A question, and the seconds that its answer may take."""

    question: SplitQuestion
    seconds: float


class Answer(msgspec.Struct, frozen=True):
    """The splits by size, or the reason why there are none."""

    splits: tuple[Assignment, ...] = ()
    refusal: str | None = None


def answer(given: Given, clock: Callable[[], float]) -> Answer:
    """Solve within the time; more work than that time allows is not counted."""
    asked, started = given.question, clock()
    try:
        found = _exact(asked, clock, started + given.seconds * (1.0 if asked.covariance is None else EXACT_SHARE))
    except SplitError as error:
        return Answer(refusal=str(error))
    splits = {size: found[size] for size in sorted(found)}
    if asked.covariance is not None:
        for size in sorted(splits, reverse=True):
            # The largest sides first: those that are in time are what is played.
            if clock() < started + given.seconds:
                splits[size] = _expected(asked, asked.covariance, splits[size])
    return Answer(tuple(splits.values()))


def _exact(asked: SplitQuestion, clock: Callable[[], float], until: float) -> Splits:
    budget = Budget(work=float("inf"), clock=clock, until=until)
    if not asked.tolerances:
        return splits(asked.values, groups=asked.groups, pins=asked.pins, k=asked.size, budget=budget)
    return preferred_splits(
        asked.values,
        tolerances=asked.tolerances,
        groups=asked.groups,
        pins=asked.pins,
        bench_cost=asked.bench_cost,
        current=asked.current,
        budget=budget,
    )


def _expected(asked: SplitQuestion, covariance: Sequence[Sequence[float]], exact: Assignment) -> Assignment:
    """The sides of those whom the exact answer lets play that have the least cost."""
    # numpy is loaded where a question needs it.
    from equipoise.balancing.mean_variance import SIGNS, QuadraticProblem, SwapSearch

    order = sorted((*exact.a, *exact.b))
    number, size = {player: index for index, player in enumerate(order)}, len(exact.a)
    values = [asked.values[player] for player in order]
    sides: Sequence[Side | None] = asked.current or [None] * len(asked.values)
    problem = QuadraticProblem(
        (values, values),
        [[covariance[one][other] for other in order] for one in order],
        exact.sizes,
        pins={number[player]: pin for player, pin in asked.pins.items() if player in number},
        groups=[[number[player] for player in group] for group in asked.groups if group and group[0] in number],
        current=[SIGNS[sides[player]] for player in order],
    )
    search = SwapSearch(problem, [[1 if player in exact.a else -1 for player in order]])
    points = asked.log_odds[size]
    limit = search.limit(asked.tolerances.get(size, 0.0) / (4 * points), points)
    found = search.sides(search.cheapest(limit, problem.moves) if asked.current else search.least)
    a, b = (tuple(one for one, side in zip(order, found, strict=True) if side == stand) for stand in (1, -1))
    difference = math.fsum(asked.values[one] for one in a) - math.fsum(asked.values[one] for one in b)
    moves = sum(side * now < 0 for side, now in zip(found, problem.current, strict=True))
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


def framed(message: msgspec.Struct) -> bytes:
    """A message as bytes that say how long they are."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def length_of(head: bytes) -> int:
    """How many bytes follow a frame's head."""
    return int.from_bytes(head, "big")
