"""The figures of a soak as Markdown, and as JSON; the place in the documents where they stand."""

from __future__ import annotations

import math
import os
import platform
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.soak.hours import Result, Stretch
from bench.soak.pools import Pool

DOCUMENT = Path(__file__).parents[2] / "docs" / "cost.md"
BEGIN, END = "<!-- measured by make soak -->", "<!-- end of what make soak measured -->"
FLAT = 1.25
"""A round of the largest pool may take so many times what one of the smallest takes, in the median."""


def percentile(values: Sequence[float], part: float) -> float:
    """NaN of no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else math.nan


def summary(values: Sequence[float]) -> dict[str, float | None]:
    """Milliseconds, and how many were measured."""
    found = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {"count": len(values)} | {name: percentile(values, part) if values else None for name, part in found.items()}


def flatness(pools: Sequence[Pool]) -> float:
    """Median of a round's end in the last pool, beside that in the first."""
    return percentile(pools[-1].ends, 0.5) / percentile(pools[0].ends, 0.5)


def as_data(result: Result | None, pools: Sequence[Pool]) -> dict[str, object]:
    """Return the figures as `--json` prints them: milliseconds, MB and parts of a core."""
    return {
        "machine": machine(),
        "hours": None if result is None else _hours(result),
        "pools": [
            {
                "players": pool.players,
                "rounds": pool.rounds,
                "megabytes": pool.megabytes,
                "round_end_ms": summary(pool.ends),
                "arrival_ms": summary(pool.arrivals),
                "cpu_ms": pool.cpu,
            }
            for pool in pools
        ],
    }


def _hours(result: Result) -> dict[str, object]:
    return {
        "servers": result.servers,
        "hours": result.hours,
        "system": result.system,
        "own_scores": result.modes,
        "rounds": {
            "played": result.played,
            "answered": result.answered,
            "stored": result.stored,
            "dropped": result.dropped,
        },
        "memory_mb": result.memory,
        "store_bytes_per_round": result.growth,
        "stretches": [
            {
                "tempo": each.tempo,
                "poll_ms": summary(each.polls),
                "round_end_ms": summary(each.ends),
                "other_ms": summary(each.others),
                "loop_ms": summary(each.lags),
                "sent_again": each.late,
                "cpu": each.cpu,
                "elsewhere": each.elsewhere,
                "memory_mb": each.memory,
            }
            for each in result.stretches
        ],
    }


def machine() -> str:
    """Machine of the figures, without names."""
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"{os.cpu_count()} cores, shared with the simulated servers and with other programs; {versions}"


def markdown(result: Result | None, pools: Sequence[Pool]) -> str:
    """All that was measured, as it stands in the document."""
    lines = [f"Measured on {datetime.now(UTC):%Y-%m-%d}: {machine()}."]
    if result is not None:
        lines += ["", *_hours_lines(result)]
    if pools:
        lines += ["", *_pools_lines(pools)]
    return "\n".join(lines)


def _hours_lines(result: Result) -> Iterator[str]:
    yield (
        f"{result.servers} servers of 24 players in one pool, rated by `{result.system}`, {result.hours:g} h of their "
        f"time, {result.played:,} rounds played, {result.stored:,} stored. At the end own scores are in use in "
        f"{' and '.join(result.modes) or 'no mode'}."
    )
    yield ""
    yield "| | " + " | ".join(f"{_tempo(each)}" for each in result.stretches) + " |"
    yield "|---|" + "---|" * len(result.stretches)
    for name, of in (("a poll", "polls"), ("a round's end", "ends"), ("other events", "others")):
        yield _row(name, (_times(getattr(each, of)) for each in result.stretches))
    yield _row("sent again, for a late answer", (f"{each.late:,}" for each in result.stretches))
    yield _row("the event loop waits for", (_times(each.lags) for each in result.stretches))
    yield _row("the daemon's processor time", (f"{100 * each.cpu:.0f} % of a core" for each in result.stretches))
    yield _row("other programs meanwhile", (f"{100 * each.elsewhere:.0f} % of a core" for each in result.stretches))
    tenths = (", ".join(f"{megabytes:.0f}" for megabytes in each.memory) for each in result.stretches)
    yield _row("MB resident at the end of each tenth", tenths)
    halves = ((each.ends[: len(each.ends) // 2], each.ends[len(each.ends) // 2 :]) for each in result.stretches)
    medians = (f"{percentile(first, 0.5):.1f}, {percentile(second, 0.5):.1f} ms" for first, second in halves)
    yield _row("a round's end in its halves, p50", medians)
    yield ""
    yield (
        "Resident memory: {:.0f} MB before the first server came, {:.0f} MB at most. ".format(*result.memory)
        + f"The store grew by {result.growth / 1000:.1f} kB per round."
    )


def _tempo(stretch: Stretch) -> str:
    return "in real time" if stretch.tempo == 1 else f"{stretch.tempo:g} times as fast"


def _times(values: Sequence[float]) -> str:
    return f"p50 {percentile(values, 0.5):.1f} ms, p99 {percentile(values, 0.99):.1f} ms ({len(values):,})"


def _pools_lines(pools: Sequence[Pool]) -> Iterator[str]:
    yield "A round in stores of different sizes, one in each in turn:"
    yield ""
    yield "| players | rounds | store | a round's end | 24 players arrive | processor for both |"
    yield "|---|---|---|---|---|---|"
    for pool in pools:
        size = f"{pool.megabytes:,.0f} MB"
        cells = size, _times(pool.ends), _times(pool.arrivals), f"{pool.cpu:.1f} ms"
        yield _row(f"{pool.players:,} | {pool.rounds:,}", cells)
    yield ""
    ratio = flatness(pools)
    verdict = "flat" if ratio <= FLAT else "not flat"
    yield f"The last takes {ratio:.2f} times what the first takes, in the median: {verdict} (target: {FLAT:g})."


def _row(name: str, cells: Iterator[str] | Sequence[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def write(text: str, document: Path = DOCUMENT) -> None:
    """Put it where the document has the last one."""
    before, begins, rest = document.read_text().partition(BEGIN)
    _, ends, after = rest.partition(END)
    assert begins, f"{document} has no line {BEGIN}"
    assert ends, f"{document} has no line {END}"
    document.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
