"""Output of every finding: a Markdown table of means over seeds with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.ratings.quality import mean


def figure(value: float, form: str) -> str:
    """A number with a typographic minus, none before a rounded zero, and a space before the per cent sign.

    >>> figure(-0.123, ".1%"), figure(-0.0001, ".2f"), figure(0.5, "+.2f")
    ('−12.3 %', '0.00', '+0.50')
    """
    sign = "+" if form.startswith("+") else ""
    return f"{value:{sign}z{form.removeprefix('+')}}".replace("-", "−").replace("%", " %")


def estimate(values: Sequence[float], form: str = ".3f") -> str:
    """Mean ± standard error over seeds."""
    found = mean(values)
    text = figure(found.value, form)
    return text if found.error is None else f"{text} ± {found.error:{form.lstrip('+')}}".rstrip("%")


def against(values: Sequence[float], reference: Sequence[float], form: str = ".3f") -> str:
    """Mean difference to the same seeds of another system: their common luck cancels."""
    return estimate([value - other for value, other in zip(values, reference, strict=True)], "+" + form)


def compared(ways: Sequence[Sequence[Sequence[float]]], forms: Sequence[str]) -> list[list[str]]:
    """Rows of a table, from `ways[way][seed][measure]`: the first way's figures, and what each other way changes."""
    source, *others = (list(zip(*seeds, strict=True)) for seeds in ways)
    rows = [[estimate(values, form) for values, form in zip(source, forms, strict=True)]]
    for way in others:
        columns = zip(way, source, forms, strict=True)
        rows.append([against(values, reference, form) for values, reference, form in columns])
    return rows


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a title and a Markdown table."""
    print(f"\n{title}\n")
    for line in (head, *rows):
        print("| " + " | ".join(line) + " |")
        if line is head:
            print("|" + "---|" * len(head))
