"""Peak memory of a backtest of 200,000 matches 12v12, from the first byte of CSV to the report: 1 GB at most."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.measuring import run_module
from bench.reading import write

MATCHES = 200_000
SYSTEMS = ("synelo", "elo", "glicko", "glicko2", "trueskill", "trueskill2", "ns2")
TARGET = 1024


def main() -> None:
    print(f"backtest of {MATCHES:,} matches 12v12, each in a process of its own (target {TARGET:,} MB)")
    with tempfile.TemporaryDirectory() as directory:
        matches, participants = write(Path(directory), MATCHES)
        files = ["--matches", str(matches), "--participants", str(participants)]
        for system in SYSTEMS:
            seconds, peak = run_module("equipoise", ["lab", "backtest", "--model", system, *files])
            print(f"  {system:<12} {peak:>6,.0f} MB {seconds:>6.1f} s", flush=True)


if __name__ == "__main__":
    main()
