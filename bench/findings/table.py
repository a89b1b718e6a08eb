"""What every finding prints: a table of means over seeds with their standard errors, as it stands in the document."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.ratings.quality import mean


def figure(value: float, form: str) -> str:
    """With a real minus, none before a rounded zero, and a space before the sign of per cent."""
    sign = "+" if form.startswith("+") else ""
    return f"{value:{sign}z{form.removeprefix('+')}}".replace("-", "−").replace("%", " %")


def estimate(values: Sequence[float], form: str = ".3f") -> str:
    """Mean ± standard error over seeds."""
    found = mean(values)
    told = figure(found.value, form)
    return told if found.error is None else f"{told} ± {found.error:{form.lstrip('+')}}".rstrip("%")


def against(values: Sequence[float], reference: Sequence[float], form: str = ".3f") -> str:
    """Mean difference to the same seeds of another system: their common luck cancels."""
    return estimate([value - other for value, other in zip(values, reference, strict=True)], "+" + form)


def compared(ways: Sequence[Sequence[Sequence[float]]], forms: Sequence[str]) -> list[list[str]]:
    """Measures by way and seed: those of the first way, and what the others change."""
    source, *others = (list(zip(*seeds, strict=True)) for seeds in ways)
    told = [[estimate(values, form) for values, form in zip(source, forms, strict=True)]]
    for way in others:
        columns = zip(way, source, forms, strict=True)
        told.append([against(values, reference, form) for values, reference, form in columns])
    return told


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Markdown."""
    print(f"\n{title}\n")
    for line in (head, *rows):
        print("| " + " | ".join(line) + " |")
        if line is head:
            print("|" + "---|" * len(head))
