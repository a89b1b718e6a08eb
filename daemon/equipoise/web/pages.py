"""Pages of lists, newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TypeVar

from equipoise.web.messages import Paged

T = TypeVar("T")


def page(
    rows: Sequence[T], asked: Paged, at: Callable[[T], float], number: Callable[[T], int]
) -> tuple[tuple[T, ...], int | None]:
    """The rows since the asked time, and the number before which the next page goes on; None: there is none.

    Rows were written in the order of their numbers, so the first one that is too old ends the list.
    """
    kept = tuple(rows if asked.since is None else takewhile(lambda row: at(row) >= (asked.since or 0.0), rows))
    more = len(kept) == len(rows) == asked.limit
    return kept, number(kept[-1]) if more else None
