"""`python -m tests.walk --debian 12`: walk through README.md and docs/operations.md on an empty Debian.

Needs root, debootstrap and systemd-nspawn. Takes some minutes; the second time a minute less, because the empty root is
kept in `.walk/`. The transcript is `.walk/debian12.log`. With `--suite` the machine runs the suite instead, as root and
as a plain user, which takes twice as long as it does here; the transcript is `.walk/suite12.log`.
"""

from __future__ import annotations

import argparse
import sys

from tests.walk import machine, roots, suite, wheels
from tests.walk.blocks import ROOT, steps
from tests.walk.scenario import Walk, walk_all
from tests.walk.transcript import Transcript

FIRST = ("install", "init", "load")
FURTHER = ("further",)
UPGRADE = ("upgrade",)
DATABASE = ("database", "reached")
SHARE = ("share",)
MACHINE = ("further-install", "further-init")
CACHE = ROOT / ".walk"


def main() -> int:
    """Exit code 0: every line did what the documents say."""
    parser = argparse.ArgumentParser(prog="python -m tests.walk", description=__doc__)
    parser.add_argument("--debian", type=int, choices=sorted(roots.RELEASES), default=12)
    parser.add_argument("--suite", action="store_true", help="run the suite there")
    options = parser.parse_args()
    debian = options.debian
    if reason := machine.cannot():
        print(f"make walk cannot run here: {reason}", file=sys.stderr)
        return 1
    CACHE.mkdir(exist_ok=True)
    transcript = Transcript(CACHE / f"{'suite' if options.suite else 'debian'}{debian}.log")
    transcript.say(f"Debian {debian}; the transcript is {transcript.path}")
    empty = roots.machine(debian, CACHE, transcript)
    if options.suite:
        return 0 if suite.run_suite(empty.copy(CACHE / f"walked{debian}" / "suite"), transcript) else 1
    for name, version in (("release", "9.8.7"), ("next", "9.8.8")):
        wheels.release(CACHE / name, CACHE / "tagged", version)
    walk = Walk(empty, CACHE / f"walked{debian}", CACHE / "release", CACHE / "next", steps(), transcript)
    walk.place.mkdir(exist_ok=True)
    try:
        walk_all(walk)
    except machine.WalkError as error:
        transcript.say(f"FAILED: {error}")
        return 1
    finally:
        for made in walk.machines:
            made.stop()
        for name, named in (
            ("first server", FIRST),
            ("each further server", FURTHER),
            ("an upgrade", UPGRADE),
            ("the database of a shared pool", DATABASE),
            ("its first machine, beside its own installation", SHARE),
            ("each further machine of it, from nothing", MACHINE),
        ):
            walk.figure(f"commands typed, {name}", sum(transcript.typed.get(step, 0) for step in named))
        transcript.table(walk.figures)
    transcript.say("every line did what the documents say")
    return 0


if __name__ == "__main__":
    sys.exit(main())
