"""What the worker process is asked and answers, and both as bytes: a length, then MessagePack."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import Assignment, Budget, Pin, preferred_splits, splits

LENGTH_BYTES = 4


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
    asked, until = given.question, clock() + given.seconds
    budget = Budget(work=float("inf"), clock=clock, until=until)
    try:
        if asked.tolerances:
            found = preferred_splits(
                asked.values,
                tolerances=asked.tolerances,
                groups=asked.groups,
                pins=asked.pins,
                bench_cost=asked.bench_cost,
                current=asked.current,
                budget=budget,
            )
        else:
            found = splits(asked.values, groups=asked.groups, pins=asked.pins, k=asked.size, budget=budget)
    except SplitError as error:
        return Answer(refusal=str(error))
    return Answer(tuple(found[size] for size in sorted(found)))


def framed(message: msgspec.Struct) -> bytes:
    """A message as bytes that say how long they are."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def length_of(head: bytes) -> int:
    """How many bytes follow a frame's head."""
    return int.from_bytes(head, "big")
