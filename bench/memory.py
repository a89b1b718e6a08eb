"""Peak memory of a backtest, from the first byte of CSV to the report: 12v12, a league of large teams, and duels."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.measuring import run_module
from bench.reading import MATCHES as LEAGUE
from bench.reading import PLAYERS, SIZE, write, write_duels

MATCHES, DUELS = 200_000, 10_000_000
SYSTEMS = ("synelo", "elo", "glicko", "glicko2", "trueskill", "trueskill2", "ns2")
TARGET, LEAGUE_TARGET = 1024, 350


def main() -> None:
    print(f"backtest of {MATCHES:,} matches 12v12, each in a process of its own (target {TARGET:,} MB)")
    with tempfile.TemporaryDirectory() as directory:
        files = write(Path(directory), MATCHES, 12, 5_000)
        for system in SYSTEMS:
            row(system, *files)
        print(f"{LEAGUE:,} matches of {SIZE} against {SIZE} (target {LEAGUE_TARGET} MB)")
        row("trueskill", *write(Path(directory), LEAGUE, SIZE, PLAYERS))
        print(f"{DUELS:,} duels (target {TARGET:,} MB)")
        row("elo", write_duels(Path(directory), DUELS))


def row(system: str, matches: Path, participants: Path | None = None) -> None:
    """Run one backtest, and print what it took."""
    players = ["--teams"] if participants is None else ["--participants", str(participants)]
    seconds, peak = run_module("equipoise", ["lab", "backtest", "--model", system, "--matches", str(matches), *players])
    print(f"  {system:<12} {peak:>6,.0f} MB {seconds:>6.1f} s", flush=True)


if __name__ == "__main__":
    main()
