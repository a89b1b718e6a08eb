"""A store that is locked, a disk that is full, files that may not be written."""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from tests.chaos.arena import Arena
from tests.chaos.daemon import UNPRIVILEGED
from tests.chaos.faults.trial import Fault, Trial

DISK_BYTES = 12 << 20


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Another process, this one, holds the store's write lock."""
    with closing(sqlite3.connect(store, isolation_level=None, timeout=30.0)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


def locked_store(trial: Trial) -> int:
    """Rounds are kept; sometimes more than memory holds, sometimes until after a kill, sometimes not sent again."""
    arena = trial.arena
    for _ in range(trial.scale):
        ending = trial.rng.choice(("free", "forget", "kill", "kill and forget"))
        with locked(arena.store):
            for script in arena.scripts:
                for _ in range(trial.rng.choice((0, 6))):
                    script.end_round()
            with arena.playing():
                time.sleep(trial.rng.choice((0.5, 3.0)))
            if "kill" in ending:
                arena.daemon.kill()
        if ending != "free":
            for script in arena.scripts:
                script.restart(forget="forget" in ending)
        if not arena.daemon.running:
            arena.daemon.start()
        arena.play(1)
    return trial.scale


def full_disk(trial: Trial) -> int:
    """Not one page is free on the disk of the state directory; in half of the cases the daemon is killed meanwhile."""
    disk = trial.folder / "disk"
    with small_disk(disk):
        arena = Arena(trial.folder, trial.rng, disk / "state")
        trial.arena = arena
        arena.daemon.start()
        for _ in range(trial.scale):
            arena.play(2)
            with filled(disk / "ballast"):
                with arena.playing():
                    time.sleep(1.0)
                    if trial.rng.random() < 0.5:  # what the daemon has set aside is used up too
                        fill(disk / "ballast")
                        time.sleep(1.0)
                if trial.rng.random() < 0.5:
                    arena.daemon.kill()
            if not arena.daemon.running:
                arena.daemon.start()
        trial.settle(arena)  # while the disk is still there
    trial.note = "on a tmpfs"
    return trial.scale


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """A file system in memory; only root can have it, and not in every container."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def mount_missing() -> str | None:
    """Whether a file system can be mounted, tried out."""
    with TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder) / "disk"):
                return None
        except (OSError, subprocess.CalledProcessError):
            return "a user who may mount a tmpfs"


@contextmanager
def filled(ballast: Path) -> Iterator[None]:
    """Not one page is free."""
    fill(ballast)
    yield
    ballast.unlink()


def fill(ballast: Path) -> None:
    """Take what is free."""
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def file_limit(trial: Trial) -> int:
    """The kernel refuses the daemon every write beyond some bytes of a file, as a quota does."""
    # Of its own: the log of an old store has its full size and is written from its beginning again.
    trial.arena = Arena(trial.folder / "arena", trial.rng)
    daemon = trial.arena.daemon
    daemon.start()
    for _ in range(trial.scale):
        trial.arena.play(1)
        # In two of three cases the store's log cannot grow, and a ring, which is smaller, can.
        log = Path(f"{trial.arena.store}-wal").stat().st_size
        limit = trial.rng.choice((0, log, log))
        soft, hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (limit, hard))
        with trial.arena.playing():
            time.sleep(1.0)
        if trial.rng.random() < 0.3:
            daemon.kill()
            daemon.start()
        else:
            resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (soft, hard))
    return trial.scale


def no_permission(trial: Trial) -> int:
    """The state directory is closed to the daemon's user: while it runs, and when it starts, which it refuses."""
    arena = Arena(trial.folder / "arena", trial.rng)
    trial.arena = arena
    arena.daemon.unprivileged = True
    arena.daemon.start()
    for closed in trial.rng.sample(("directory", "store", "ring"), min(3, trial.scale)):
        arena.play(1)
        path = {"directory": arena.state, "store": arena.store, "ring": arena.state / "main.ring"}[closed]
        mode = path.stat().st_mode & 0o777
        path.chmod(0o000)
        arena.play(1)
        arena.daemon.kill()
        if wrong := arena.daemon.refuses_to_start():
            arena.book.complain(f"start with a closed {closed}: {wrong}")
        path.chmod(mode)
        arena.daemon.start()
    return min(3, trial.scale)


def modes_ignored() -> str | None:
    """Whether a file of mode 000 is closed to a command, tried out."""
    with NamedTemporaryFile() as closed:
        Path(closed.name).chmod(0o000)
        tried = subprocess.run([*UNPRIVILEGED, "cat", closed.name], capture_output=True, check=False)
    return None if b"Permission denied" in tried.stderr else "a user whom modes of files hold for"


def slow_start_after_lock(trial: Trial) -> int:
    """The store is locked while the daemon starts: it starts when the lock is gone, or says why it does not."""
    arena = trial.arena
    arena.play(1)
    arena.daemon.kill()
    with locked(arena.store):
        if wrong := arena.daemon.refuses_to_start(expected=1):
            arena.book.complain(f"start with a locked store: {wrong}")
        time.sleep(0.1)
    arena.daemon.start()
    return 1


FAULTS = (
    Fault("locked store", locked_store),
    Fault("store locked at the start", slow_start_after_lock),
    Fault("full disk", full_disk, mount_missing, own=True),
    Fault("limited file size", file_limit, own=True),
    Fault("no permission", no_permission, modes_ignored, own=True),
)
