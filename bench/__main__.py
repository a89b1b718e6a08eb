"""Runs every bench, or those named on the command line: `python -m bench solver synelo`.

Several benches run one after the other, each in a process of its own: memory and machine code that one leaves behind
would change the figures of the next.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

BENCHES = (
    "solver",
    "expected",
    "synelo",
    "joint",
    "elo",
    "trueskill",
    "trueskill2",
    "teamskill",
    "ns2",
    "reading",
    "memory",
    "store",
    "calls",
    "servers",
    "round_end",
    "backup",
    "polls",
    "startup",
    "balance",
    "page",
    "machines",
    "plugin",
    "ns2mod",
)


def main(names: list[str]) -> None:
    for name in names:
        if name not in BENCHES:
            sys.exit(f"no bench {name}: there are {', '.join(BENCHES)}")
    if len(names) == 1:
        print(f"\n== {names[0]}", flush=True)
        import_module(f"bench.{names[0]}").main()
        return
    for name in names or BENCHES:
        ended = subprocess.run([sys.executable, "-m", "bench", name], check=False)
        if ended.returncode:
            sys.exit(f"bench {name}: exit {ended.returncode}")


if __name__ == "__main__":
    main(sys.argv[1:])
