"""Disks in trouble: full, limited, and closed to a user who is not root."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NOBODY = 65534


@contextmanager
def fast_directory() -> Iterator[Path]:
    """A directory in memory where the machine has one: for tests that drive a store hundreds of times."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of 2 MB; only root can have it."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Not one page is free."""
    ballast = disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        yield
    finally:
        ballast.unlink()


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """The kernel refuses every write beyond this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def without_root() -> Iterator[None]:
    """Without root's power to write everywhere; nothing changes for other users."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
