"""Several troubles at the same moment, behind a network that loses answers."""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from tests.chaos.arena import Arena
from tests.chaos.faults.disks import locked
from tests.chaos.faults.trial import Fault, Trial
from tests.chaos.proxy import proxy


@contextmanager
def store_locked(arena: Arena) -> Iterator[None]:
    with locked(arena.store):
        yield


@contextmanager
def files_limited(arena: Arena) -> Iterator[None]:
    """No file of the daemon may be written."""
    pid = arena.daemon.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    yield
    with suppress(ProcessLookupError):  # it was killed meanwhile
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def stopped(arena: Arena) -> Iterator[None]:
    arena.daemon.send(signal.SIGSTOP)
    yield
    arena.daemon.send(signal.SIGCONT)


@contextmanager
def killed(arena: Arena) -> Iterator[None]:
    """At the end; it is started again when all other troubles are over."""
    yield
    arena.daemon.kill()


TROUBLES = (store_locked, files_limited, stopped, killed)
"""In the order in which they begin: a stopped daemon may hold the lock of the store for ever."""


def together(trial: Trial) -> int:
    """Any troubles at once, again and again, with pauses that are shorter than a retry."""
    trial.arena = arena = Arena(trial.folder / "arena", trial.rng)
    count = 4 * trial.scale
    arena.daemon.start()
    arena.play(1)
    with proxy(arena.daemon.port, trial.rng) as between, arena.playing(port=between.port):
        for _ in range(count):
            with ExitStack() as troubles:
                for trouble in TROUBLES:
                    if trial.rng.random() < 0.4:
                        troubles.enter_context(trouble(arena))
                time.sleep(trial.rng.uniform(0.0, 0.8))
            if not arena.daemon.running:
                arena.daemon.start()
            time.sleep(trial.rng.uniform(0.0, 0.3))
    return count


FAULTS = (Fault("several at once", together, own=True),)
