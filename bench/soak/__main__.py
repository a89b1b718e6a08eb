"""`make soak`: `python -m bench.soak --help`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import bench.soak
from bench.soak import table
from bench.soak.hours import Result, soak
from bench.soak.pools import Pool, measure

SIZES = (1_000, 10_000), (1_000, 100_000), (100_000, 10_000), (100_000, 1_000_000)


def main(words: Sequence[str] | None = None) -> None:
    parser = _parser()
    options = parser.parse_args(words)
    if options.write and options.only:
        parser.error("--write needs both measurements: leave out --only")
    result: Result | None = None
    pools: list[Pool] = []
    with TemporaryDirectory() as made:
        folder = Path(made)
        if options.only != "pools":
            result = soak(folder, options.servers, options.hours, options.speed, options.calm, options.system)
        if options.only != "hours":
            pools = measure(options.stores, folder, options.pools or SIZES, options.turns)
    text = table.markdown(result, pools)
    print(json.dumps(table.as_data(result, pools), indent=2) if options.json else text)
    if options.write:
        table.write(text)
    if result is not None and not result.agrees:
        counts = f"{result.played} rounds played, {result.answered} answered, {result.stored} stored"
        sys.exit(f"{counts}, {result.dropped} dropped: they must agree")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=bench.soak.__doc__)
    parser.add_argument("--servers", type=int, default=100, help="game servers of 24 players (100)")
    parser.add_argument("--hours", type=float, default=1.0, help="hours of the servers' time (1)")
    parser.add_argument("--speed", type=float, default=10.0, help="their time is so many times as fast as ours (10)")
    parser.add_argument("--calm", type=float, default=120.0, help="but as fast as ours for so many seconds (120)")
    parser.add_argument("--system", default="joint", help="it rates the pool, whose teams joint makes (joint)")
    parser.add_argument("--turns", type=int, default=300, help="rounds in each of the pools (300)")
    parser.add_argument(
        "--pools", type=_size, nargs="+", metavar="PLAYERSxROUNDS", help="sizes of the pools, the smallest first"
    )
    parser.add_argument("--stores", type=Path, default=Path(".soak"), help="where filled stores are kept (.soak)")
    parser.add_argument("--only", choices=("hours", "pools"), help="one of the two measurements")
    parser.add_argument("--json", action="store_true", help="print figures as JSON instead of the table")
    parser.add_argument("--write", action="store_true", help="write the table into docs/cost.md")
    return parser


def _size(text: str) -> tuple[int, int]:
    players, times, rounds = text.partition("x")
    if not (times and players.isdecimal() and rounds.isdecimal() and int(players) >= 24 and int(rounds) > 0):
        raise argparse.ArgumentTypeError(f"{text}: not PLAYERSxROUNDS with at least 24 players and a round")
    return int(players), int(rounds)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
