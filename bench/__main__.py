"""Runs every bench, or those named on the command line: `python -m bench solver synelo`."""

from __future__ import annotations

import sys
from importlib import import_module

BENCHES = (
    "solver",
    "synelo",
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
    "polls",
    "startup",
)


def main(names: list[str]) -> None:
    for name in names or BENCHES:
        if name not in BENCHES:
            sys.exit(f"no bench {name}: there are {', '.join(BENCHES)}")
        print(f"\n== {name}", flush=True)
        import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
