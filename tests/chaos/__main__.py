"""`python -m tests.chaos`: break the daemon in every way for a while, and print what was lost."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from tests.chaos import mutants
from tests.chaos.driver import Driver
from tests.chaos.faults import FAULTS
from tests.chaos.faults.trial import Fault
from tests.chaos.report import as_json, failures, show, table


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description=__doc__, epilog="tests/chaos/README.md has more."
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=["machines", "mutants"],
        help="break three daemons that share a pool, and their database; or daemons with a fault of their own",
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="every fault is tried once, however short this is")
    parser.add_argument("--rounds", type=int, default=sys.maxsize, help="so many of each fault are enough")
    parser.add_argument("--seed", type=int, help="of an earlier run: its decisions again (not its timing)")
    parser.add_argument(
        "--fault", action="append", help="try only faults, or mutants, with this in their name; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="print the names of all faults")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    return parser.parse_args(words)


def chosen(parts: Sequence[str] | None, faults: Sequence[Fault]) -> list[Fault]:
    """The faults whose names contain one of the words; an unknown word ends the program."""
    for part in parts or ():
        if not any(part in fault.name for fault in faults):
            sys.exit(f"no fault is called {part!r}: there are {', '.join(fault.name for fault in faults)}")
    return [fault for fault in faults if parts is None or any(part in fault.name for part in parts)]


def main(words: Sequence[str], faults: Sequence[Fault] = FAULTS) -> int:
    """0: all zeros; 1: something was lost, or otherwise wrong; 130: interrupted."""
    asked = arguments(words)
    if asked.list:
        print(*(fault.name for fault in faults), sep="\n")
        return 0
    seed = random.SystemRandom().randrange(10**6) if asked.seed is None else asked.seed
    if asked.what == "machines":
        return of_machines(seed, asked.seconds)
    if asked.what == "mutants":
        return of_mutants(seed, asked.fault or [])
    tried = chosen(asked.fault, faults)
    folder, began = Path(mkdtemp(prefix="equipoise-chaos-")), time.monotonic()

    def watch(text: str) -> None:
        show(f"{time.monotonic() - began:4.0f} s  {text}")

    driver = Driver(folder, seed, tried, watch, asked.rounds)
    code = 1
    try:
        driver.run(began + 0.9 * asked.seconds)  # the rest is for the last trial and the comparison at the end
        code = int(driver.failed)
    except KeyboardInterrupt:
        code = 130
    finally:
        if code != 1:
            rmtree(folder, ignore_errors=True)
        kept = str(folder) if folder.exists() else None
        took = round(time.monotonic() - began, 1)
        show(f"{took:g} s, seed {seed}\n")
        if asked.json:
            print(json.dumps(as_json(driver.rows, seed=seed, seconds=took, exit=code, folder=kept), indent=2))
        else:
            print(table(driver.rows))
    if code == 1:
        print(*failures(driver.rows), sep="\n", file=sys.stderr)
        print(
            f"Stores and logs are in {kept}. Again: make chaos SEED={seed}, or ARGS='--seed {seed} --fault …'",
            file=sys.stderr,
        )
    return code


def of_machines(seed: int, seconds: float) -> int:
    """As `main`, for three daemons of a shared pool."""
    from tests.chaos.machines import run  # it needs asyncpg and what configures a daemon; this driver does not

    folder, began = Path(mkdtemp(prefix="equipoise-chaos-")), time.monotonic()
    text, cases = run(folder, seed, seconds, lambda text: show(f"{time.monotonic() - began:4.0f} s  {text}"))
    show(f"{time.monotonic() - began:.1f} s, seed {seed}\n")
    print(text)
    if not cases:
        rmtree(folder)
        return 0
    print(*cases, f"Stores and logs are in {folder}.", sep="\n", file=sys.stderr)
    return 1


def of_mutants(seed: int, words: Sequence[str]) -> int:
    """0: every mutant was noticed."""
    began = time.monotonic()
    text, missed = mutants.run(seed, words, lambda text: show(f"{time.monotonic() - began:4.0f} s  {text}"))
    show(f"{time.monotonic() - began:.1f} s, seed {seed}\n")
    print(text)
    print(*missed, sep="\n", file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
