"""What a run prints: a line while it goes on, and the table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tests.chaos.driver import Row

COLUMNS = ("tried", "rounds", "kept", "lost", "twice", "order", "differ", "early", "late", "gaps", "replay", "answers")
FEW = 5
"""Cases shown of a kind."""


def figures(row: Row) -> list[int]:
    """By `COLUMNS`."""
    return [row.tried, row.rounds, row.kept, *(len(cases) for _, cases in row.verdict)]


def table(rows: Sequence[Row]) -> str:
    """A line for each fault, and their sums."""
    total = ["all", *(str(sum(column)) for column in zip(*map(figures, rows), strict=True)), ""]
    lines = [["fault", *COLUMNS, ""], *([row.name, *map(str, figures(row)), row.remark] for row in rows), total]
    widths = [max(len(line[place]) for line in lines) for place in range(len(COLUMNS) + 1)]
    return "\n".join(aligned(line, widths) for line in lines)


def aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers, note = line
    cells = [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))]
    return "  ".join([*cells, note]).rstrip()


def failures(rows: Sequence[Row]) -> list[str]:
    """The first cases of everything that is wrong."""
    return [f"{row.name}: {name}: {case}" for row in rows for name, cases in row.verdict for case in cases[:FEW]]


def as_json(rows: Sequence[Row], **about: object) -> dict[str, Any]:
    """The table as plain data."""
    faults = [{"fault": row.name, **dict(zip(COLUMNS, figures(row), strict=True)), "note": row.remark} for row in rows]
    return {**about, "faults": faults, "failures": failures(rows)}


def show(text: str) -> None:
    """The present line: over the last one on a terminal, else below it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
