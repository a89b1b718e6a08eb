"""What every finding prints: a table of means over seeds with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.ratings.quality import mean


def estimate(values: Sequence[float], form: str = ".3f") -> str:
    """Mean ± standard error over seeds."""
    found = mean(values)
    return (
        f"{found.value:{form}}" if found.error is None else f"{found.value:{form}} ± {found.error:{form.lstrip('+')}}"
    )


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Markdown, as it stands in the document."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    print(f"\n{title}\n")
    for line in (head, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
