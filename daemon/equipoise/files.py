"""Files of the state directory and of the configuration.

No other user can read those of the state directory, and they belong to the owner of the directory. Under systemd's
`DynamicUser` that owner is a user who exists only while the unit runs. A command that root runs beside it must not
leave a file behind that this user cannot open.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def existing(path: Path) -> Path:
    """Return the path, or the nearest above it that exists."""
    while not path.exists():
        path = path.parent
    return path


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


def read_small(path: Path, most: int = 1 << 20) -> bytes:
    """The content of a regular file of at most so many bytes; OSError says why there is none.

    A pipe would be waited for and a device might never end, so neither is read. Nor is half of a file that another
    program writes meanwhile.
    """
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY), "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            directory = stat.S_ISDIR(before.st_mode)
            raise OSError(errno.EINVAL, os.strerror(errno.EISDIR) if directory else "not a regular file")
        content = file.read(most + 1)
        after = os.fstat(file.fileno())
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    if (before.st_mtime_ns, len(content)) != (after.st_mtime_ns, after.st_size):
        raise OSError(errno.EAGAIN, "it is being written: try again")
    return content


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
