"""What the tracer sees: SIGKILL at each point between two writes, and answers that leave before their sync."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from tempfile import TemporaryDirectory

from tests.chaos.arena import Arena
from tests.chaos.daemon import TRACER
from tests.chaos.faults.disks import locked
from tests.chaos.faults.trial import Fault, Trial
from tests.chaos.tracer import EARLY

FEW, MANY, AT_ONCE = 2, 4, 2
"""Points of the first trial and of a later one; and how many at the same time, each in an arena of its own."""


def scene(arena: Arena, kill: str | None = None) -> list[str]:
    """A new store, rounds that are stored, kept, and applied, and an end; the points that were met, in order."""
    arena.daemon.start(trace=True, kill=kill)
    script = arena.scripts[:1]
    try:
        arena.play(1, script)
        if arena.store.exists():
            with locked(arena.store):
                arena.play(2, script)
        arena.play(2, script)
        arena.daemon.stop()
    finally:
        arena.daemon.kill()
    return [line for line in arena.daemon.points.read_text().splitlines()[1:] if not line.startswith(EARLY)]


def worth_most_first(points: Sequence[str], rng: Random) -> list[str]:
    """Of each call and file the last point and the first, the latest files first; then all others in disorder."""
    names = list(dict.fromkeys(point.rpartition(" ")[0] for point in reversed(points)))
    of = {name: [point for point in points if point.rpartition(" ")[0] == name] for name in names}
    first = list(dict.fromkeys([*(each[-1] for each in of.values()), *(each[0] for each in of.values())]))
    rest = [point for point in points if point not in first]
    rng.shuffle(rest)
    return [*first, *rest]


class Points:
    """The points of the scene, each tried once before any is tried again."""

    def __init__(self) -> None:
        self._points: list[str] = []
        self._tried: set[str] = set()
        self._next: Iterator[str] = iter(())

    def run(self, trial: Trial) -> int:
        """Kill at the next points, each in a new arena; how many were met."""
        if not self._points:
            self._points = worth_most_first(scene(Arena(trial.folder / "all", trial.rng)), trial.rng)
        points = [self._take() for _ in range(FEW if trial.scale == 1 else MANY)]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            tried = sum(threads.map(lambda point: self._kill_at(point, trial), points))
        trial.note = f"{len(self._tried)} of {len(self._points)} points"
        return tried

    def _take(self) -> str:
        if (point := next(self._next, None)) is None:
            self._next = iter(self._points)
            return self._take()
        return point

    def _kill_at(self, point: str, trial: Trial) -> bool:
        arena = Arena(trial.folder / point.replace(" ", "-"), Random(point))
        try:
            met = point in scene(arena, kill=point)
            arena.daemon.start()
            trial.settle(arena, about=f"killed before {point}: ")
        finally:
            arena.daemon.kill()
        if met:
            self._tried.add(point)
        return met


def answers_traced(trial: Trial) -> int:
    """Scripts play, with commits that are shared, with a store that is locked, and with rounds that waited."""
    trial.arena = arena = Arena(trial.folder / "arena", trial.rng)
    arena.daemon.start(trace=True)
    arena.play(1)
    for _ in range(trial.scale):
        with arena.playing():
            time.sleep(1.0)
            with locked(arena.store):
                time.sleep(1.5)
            time.sleep(0.5)
    return trial.scale


def tracing_missing() -> str | None:
    """Whether a process can be traced here, tried out."""
    with TemporaryDirectory() as folder:
        tried = subprocess.run(
            [*TRACER, "--folder", folder, "--log", f"{folder}/log", "--", sys.executable, "-S", "-c", ""],
            capture_output=True,
            check=False,
        )
    return "Linux on x86-64 or ARM64, and the right to ptrace" if tried.returncode else None


FAULTS = (
    Fault("answers before their sync", answers_traced, tracing_missing, own=True),
    Fault("kill -9 between two writes", Points().run, tracing_missing, own=True),
)
