"""Who can read which file: the configuration, the secrets, the state."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from equipoise.config import MACHINE_CONFIG, STORE, Config
from equipoise.doctor.finding import Finding, Findings

NOBODY = 65534
"""The id of a user who owns nothing, as the one that systemd makes for the unit."""
ENOUGH_BYTES = 64 << 20
CHECK_SECONDS = 60


def rights(config: Config) -> Findings:
    """Files with secrets that other users can read, and a state directory that this user cannot write."""
    beside = config.path.parent
    secret = [beside / "owner.token", *sorted((beside / "secrets").glob("*"))]
    open_ones = [path for path in secret if path.is_file() and path.stat().st_mode & 0o077]
    for path in open_ones:
        yield Finding("bad", str(path), "other users can read this secret", f"chmod 600 {path}")
    store = config.directory / STORE
    if store.is_file() and store.stat().st_mode & 0o077:
        yield Finding("note", str(store), "other users can read the store", "restart the daemon: it closes the file")
    if not open_ones:
        yield Finding("good", str(beside), "no other user can read its secrets")


def disk(config: Config) -> Findings:
    """Room for the store, and for a backup of it."""
    place = config.directory
    if not place.is_dir():
        yield Finding("note", str(place), "the state directory does not exist yet", "the daemon makes it at its start")
        return
    free = shutil.disk_usage(place).free
    store = place / STORE
    size = store.stat().st_size if store.is_file() else 0
    said = f"{_megabytes(free)} free, the store has {_megabytes(size)}"
    if free < ENOUGH_BYTES:
        yield Finding("bad", str(place), said, "make room: rounds wait in the ring's file when the disk is full")
    elif free < 2 * size:
        yield Finding("note", str(place), said, "a backup of the store will not fit for long: make room")
    else:
        yield Finding("good", str(place), said)


def service_user(path: Path) -> Findings:
    """Whether the unit's user, who owns nothing, can run the command and read the configuration.

    It is tried by a process of such a user, with the secrets as systemd hands them over.
    """
    if os.geteuid() != 0 or path.absolute() != MACHINE_CONFIG:
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        said = _try_as_nobody(path, _handed_over(path.parent / "secrets", Path(folder)))
    if said is None:
        yield Finding("good", str(path), "the service's user can read it")
    else:
        advice = "`chmod 644` the files of the configuration and `chmod 755` their folders; secrets stay in secrets/"
        yield Finding("bad", str(path), f"the service's user cannot use it: {said}", advice)


def _handed_over(secrets: Path, folder: Path) -> Path:
    """The credentials of `LoadCredential=secrets:…`, as systemd names them."""
    for file in sorted(secrets.glob("*")):
        if file.is_file():
            copy = folder / f"secrets_{file.name}"
            shutil.copyfile(file, copy)
            os.chown(copy, NOBODY, NOBODY)
            copy.chmod(stat.S_IRUSR)
    return folder


def _try_as_nobody(path: Path, credentials: Path) -> str | None:
    """What `check-config` says as nobody; None: the configuration is good."""
    try:
        run = subprocess.run(
            [sys.executable, "-P", "-m", "equipoise", "check-config", "--config", path],
            capture_output=True,
            text=True,
            cwd="/",
            env={"CREDENTIALS_DIRECTORY": str(credentials), "PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent"},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            timeout=CHECK_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{sys.executable} cannot be started by it: {error}"
    lines = (run.stderr or run.stdout).strip().splitlines()
    return None if run.returncode == 0 else (lines[-1] if lines else f"it ended with {run.returncode}")


def _megabytes(number: int) -> str:
    """A number of bytes for people.

    >>> _megabytes(2_500_000), _megabytes(6_300_000_000)
    ('2.5 MB', '6,300 MB')
    """
    return f"{number / 1e6:,.1f} MB" if number < 1e8 else f"{number / 1e6:,.0f} MB"
