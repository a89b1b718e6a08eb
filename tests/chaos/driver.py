"""Tries fault after fault until the time is up, and compares after each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.chaos.arena import Arena
from tests.chaos.audit import Verdict
from tests.chaos.daemon import Ended
from tests.chaos.faults.trial import Fault, Trial

FIRST, LATER = 1, 3
"""How much of a fault is tried in its first trial, and in the later ones."""


@dataclass
class Row:
    """A line of the table."""

    name: str
    tried: int = 0
    rounds: int = 0
    kept: int = 0
    verdict: Verdict = field(default_factory=Verdict)
    note: str = ""
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def remark(self) -> str:
        """What the table says behind the figures."""
        return ", ".join(filter(None, (self.note, *(f"{name} {self.counts[name]}" for name in sorted(self.counts)))))


class Driver:
    """One run; `rows` is the table so far."""

    def __init__(
        self, folder: Path, seed: int, faults: Sequence[Fault], watch: Callable[[str], None], rounds: int
    ) -> None:
        """A fault is not tried any more that has been there in so many rounds."""
        self._enough = rounds
        self.rows = [Row(fault.name) for fault in faults]
        self._folder, self._seed, self._watch = folder, seed, watch
        self._faults = faults
        self._arena = Arena(folder / "arena", Random(f"{seed}"))
        self._trials = 0

    @property
    def rounds(self) -> int:
        return sum(row.rounds for row in self.rows)

    @property
    def failed(self) -> bool:
        return any(row.verdict for row in self.rows)

    def run(self, until: float) -> None:
        """Try until a time of the monotonic clock, or until something is wrong; every fault is tried once at least."""
        try:
            for row, fault, scale in self._plan(until):
                self._watch(f"{fault.name}: trial {self._trials + 1}, {self.rounds} rounds so far")
                self._try(row, fault, scale)
                if row.verdict:
                    return
            self._check_everything()
        finally:
            self._arena.daemon.kill()

    def _plan(self, until: float) -> Iterator[tuple[Row, Fault, int]]:
        """First every fault once, then one after the other, and the last of them, the points, in every second trial."""
        able = []
        for row, fault in zip(self.rows, self._faults, strict=True):
            if missing := fault.needs():
                row.note = f"not tried here: needs {missing}"
            else:
                able.append((row, fault))
        for row, fault in able:
            yield row, fault, FIRST
        while any(row.rounds < self._enough for row, _ in able):
            for one in able[:-1] or able:
                for row, fault in (one, able[-1]):
                    if time.monotonic() > until:
                        return
                    if row.rounds < self._enough:
                        yield row, fault, LATER

    def _try(self, row: Row, fault: Fault, scale: int) -> None:
        self._trials += 1
        # By its own name and number: a fault that is tried alone meets the same decisions.
        rng = Random(f"{self._seed}/{fault.name}/{row.tried}")
        trial = Trial(self._arena, rng, self._folder / f"trial-{self._trials}", scale)
        trial.folder.mkdir()
        rounds, kept = self._arena.rounds, len(self._arena.book.kept)
        try:
            if not fault.own and not self._arena.daemon.running:
                self._arena.daemon.start()
            row.tried += fault.run(trial)
            if not trial.settled:
                self._settle(trial, fault)
        except Ended as error:
            row.verdict.answers += [f"the daemon: {error}", *trial.arena.book.wrong]
        finally:
            if trial.arena is not self._arena:
                trial.arena.daemon.kill()
        row.rounds += trial.rounds + self._arena.rounds - rounds
        row.kept += trial.kept + len(self._arena.book.kept) - kept
        row.verdict.add(trial.verdict)
        row.note = trial.note or row.note
        row.counts += trial.counts

    def _settle(self, trial: Trial, fault: Fault) -> None:
        if fault.own:
            trial.settle(trial.arena)
        else:
            trial.verdict.add(trial.arena.settle())

    def _check_everything(self) -> None:
        """Once more from the first round on, in a store that is closed."""
        if self._arena.daemon.running:
            row = Row("the whole store, at the end", tried=1, rounds=0)
            row.verdict.add(self._arena.close())
            self.rows.append(row)
