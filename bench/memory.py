"""What a backtest of 200,000 matches 12v12 takes from the first byte of CSV to the report: 1 GB at most."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from subprocess import DEVNULL, Popen

from bench.reading import write

MATCHES = 200_000
SYSTEMS = ("synelo", "elo", "glicko", "glicko2", "trueskill", "trueskill2", "ns2")
TARGET = 1024


def main() -> None:
    print(f"backtest of {MATCHES:,} matches 12v12, each in a process of its own (target {TARGET:,} MB)")
    with tempfile.TemporaryDirectory() as directory:
        files = write(Path(directory), MATCHES)
        for system in SYSTEMS:
            seconds, most = backtest(system, *files)
            print(f"  {system:<12} {most:>6,.0f} MB {seconds:>6.1f} s", flush=True)


def backtest(system: str, matches: Path, participants: Path) -> tuple[float, float]:
    """Seconds, and the most memory the process held, in MB."""
    command = [sys.executable, "-m", "equipoise", "backtest", "--model", system]
    began = time.perf_counter()
    child = Popen([*command, "--matches", str(matches), "--participants", str(participants)], stdout=DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{system}: exit {child.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
