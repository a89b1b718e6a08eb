"""Files of the state directory: no other user can read them, and they belong to the owner of their directory.

Under systemd's `DynamicUser` that owner is a user who exists only while the unit runs. A command that root runs beside
it must not leave a file behind that this user cannot open.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def open_private(path: Path, flags: int) -> int:
    """Open a file, made if it is missing, with mode 0600 whatever the umask; returns its descriptor."""
    try:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        # Its owner and mode stay: the owner of the directory may have put a link to another file here.
        return os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fchmod(file, 0o600)
        if os.geteuid() == 0:
            directory = path.parent.stat()
            os.fchown(file, directory.st_uid, directory.st_gid)
    except OSError:
        os.close(file)
        raise
    return file


def sync(path: Path) -> None:
    """Make a file durable; of a directory, which files it has."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def make_private_directory(path: Path) -> None:
    """Make a directory that only the owner of the one above can use; nothing happens where there is one."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        path.chmod(0o700)
        if os.geteuid() == 0:
            above = path.parent.stat()
            os.chown(path, above.st_uid, above.st_gid)
