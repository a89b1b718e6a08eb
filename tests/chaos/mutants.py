"""`make chaos ARGS=mutants`: daemons with a fault of their own, each of which the driver has to notice.

A mutant is the daemon's package, copied, with a few words exchanged. The driver runs some of its faults on it, until
something is wrong or two minutes are over. One that is not noticed shows what the driver does not see.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "daemon" / "equipoise"
SECONDS = 120.0
AT_ONCE = 2


@dataclass(frozen=True)
class Mutant:
    """A fault of the daemon's own."""

    name: str
    file: str
    before: str
    """What stands in the file, once at least."""
    after: str
    tries: tuple[str, ...]
    """Words in the names of faults that are tried on it."""
    columns: tuple[str, ...]
    """Where it has to show: a case of another column may be of something else."""


MUTANTS = (
    Mutant(
        "the store is not synced",
        "store/connection.py",
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = NORMAL",
        ("before their sync",),
        ("early",),
    ),
    Mutant(
        "a ring is not synced",
        "service/ring.py",
        "            if synced:\n                os.fsync(file)\n",
        "",
        ("before their sync",),
        ("early",),
    ),
    Mutant(
        "a ring of a shared pool is not synced where a round is kept",
        "service/shared_pool.py",
        "                await asyncio.to_thread(self.ring.sync)\n",
        "                pass\n",
        ("power loss, shared",),
        ("lost",),
    ),
    Mutant(
        "a round is `stored` before the commit",
        "service/work.py",
        "            done = await self.pool.record(record, encode_memory(replace(self.last, memory=memory)))\n",
        "            from equipoise.service.pool import Recorded\n\n"
        "            doing = self.pool.record(record, encode_memory(replace(self.last, memory=memory)))\n"
        "            asyncio.get_running_loop().create_task(doing)\n"
        '            done = Recorded("stored", None)\n',
        ("behind an answer", "before their sync"),
        ("lost", "early"),
    ),
    Mutant(
        "a round is `kept` before it is written",
        "service/pool.py",
        "                results += await asyncio.to_thread(self._keep, group.rounds[len(results) :])\n",
        "                rest = group.rounds[len(results) :]\n"
        "                asyncio.get_running_loop().call_later(0.02, self._keep, rest)\n"
        '                results += [Recorded("kept", None)] * len(rest)\n',
        ("before their sync",),
        ("lost", "early"),
    ),
    Mutant(
        "a round that is not stored is not undone",
        "service/pool.py",
        "            undo(attempts)\n            self._held.undone()\n",
        "            self._held.undone()\n",
        ("locked store", "limited file size"),
        ("differ",),
    ),
    Mutant(
        "a round that is sent again counts again",
        "store/round_rows.py",
        "    if first := first_answer(db, server, record.round.id):\n",
        "    if first := first_answer(db, server, record.round.id):\n"
        "        players.update(db, pool, first.changes, record.round.started_at)\n",
        ("lost and cut answers", "simultaneous duplicates"),
        ("differ",),
    ),
    Mutant(
        "a round overtakes the ring",
        "service/pool.py",
        "while not self.ring.depth and not self._rounds_wait_for_replay",
        "while not self._rounds_wait_for_replay",
        ("locked store",),
        ("reordered",),
    ),
    Mutant(
        "a ring is not read at the start",
        "service/ring.py",
        "        if not size:\n            return\n",
        "        return\n",
        ("behind an answer", "locked store"),
        ("lost",),
    ),
    Mutant(
        "memory is not read again after an edit",
        "service/held.py",
        "        self._players.clear()\n        self._absent.clear()\n        self._shared = 0\n",
        "",
        ("people, each edit",),
        ("differ", "replay"),
    ),
    Mutant(
        "the system that makes the teams keeps what was undone",
        "service/place.py",
        "        self._anew, self.ready, self._reference = True, False, None\n",
        "        self._reference = None\n",
        ("people, each edit",),
        ("replay",),
    ),
    Mutant(
        "who was moved is not locked",
        "core/autobalance.py",
        "return (*state.lock({move.player: move.side}, now), *check(state, now))",
        "return check(state, now)",
        ("people come",),
        ("answers",),
    ),
    Mutant(
        "players stay on their colour when the sides are swapped",
        "core/session.py",
        "replace(entry, side=entry.side and entry.side.other) for entry",
        "replace(entry, side=entry.side) for entry",
        ("people, swapped sides",),
        ("answers", "differ"),
    ),
    Mutant(
        "locks stay on their colour when the sides are swapped",
        "core/memory.py",
        "HeldSide(lock.side.other, lock.until) for player, lock in self.locks.items()",
        "HeldSide(lock.side, lock.until) for player, lock in self.locks.items()",
        ("people, swapped sides",),
        ("answers",),
    ),
    Mutant(
        "a gap is taken for one that is being closed",
        "core/autobalance.py",
        "    return len(movers) == count and able.issuperset(movers)\n",
        "    return bool(able) or len(movers) == count\n",
        ("people come",),
        ("gaps",),
    ),
    Mutant(
        "the loop is held",
        "service/pool.py",
        "            results: list[Recorded | Exception] = []\n            why",
        "            results: list[Recorded | Exception] = []\n"
        "            import time\n\n            time.sleep(0.3)\n            why",
        ("kill -9 at random", "servers of a pool"),
        ("late",),
    ),
)


@contextmanager
def mutated(mutant: Mutant) -> Iterator[Path]:
    """A folder with the package in which the mutant's words are exchanged."""
    with TemporaryDirectory(prefix="equipoise-mutant-") as folder:
        copy = Path(folder) / PACKAGE.name
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        file = copy / mutant.file
        text = file.read_text()
        if mutant.before not in text:
            sys.exit(f"{mutant.file} has no {mutant.before!r} any more: the mutant {mutant.name!r} is out of date")
        file.write_text(text.replace(mutant.before, mutant.after))
        yield Path(folder)


def noticed(mutant: Mutant, seed: int) -> tuple[float, str | None]:
    """After how many seconds the driver ended, and the first case that shows the mutant; None: there is none."""
    began = time.monotonic()
    with mutated(mutant) as folder:
        faults = [word for each in mutant.tries for word in ("--fault", each)]
        paths = filter(None, (str(folder), os.environ.get("PYTHONPATH")))
        ended = subprocess.run(
            [sys.executable, "-m", "tests.chaos", "--seconds", str(SECONDS), "--seed", str(seed), "--json", *faults],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )
    printed = json.loads(ended.stdout)
    if printed["folder"]:
        shutil.rmtree(printed["folder"])
    shown = (case for case in printed["failures"] for column in mutant.columns if f": {column}: " in case)
    return time.monotonic() - began, next(shown, None)


def run(seed: int, words: Sequence[str], watch: Callable[[str], None]) -> tuple[str, list[str]]:
    """The table of all mutants whose names contain one of the words, and those that were not noticed."""
    mutants = [each for each in MUTANTS if not words or any(word in each.name for word in words)]
    lines, missed = [], []
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for mutant, (seconds, case) in zip(
            mutants, threads.map(lambda each: noticed(each, seed), mutants), strict=True
        ):
            watch(f"{mutant.name}: {'noticed' if case else 'NOT NOTICED'} after {seconds:.0f} s")
            lines.append(f"{mutant.name:54}{seconds:5.0f} s  {case or 'not noticed'}"[:240])
            if case is None:
                missed.append(f"not noticed: {mutant.name}")
    return "\n".join(lines), missed
