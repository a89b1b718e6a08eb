"""Files of the state directory and of the configuration.

No other user can read those of the state directory, and they belong to the owner of the directory. Under systemd's
`DynamicUser` that owner is a user who exists only while the unit runs. A command that root runs beside it must not
leave a file behind that this user cannot open.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
"""A part of a file's name in a `Folder`."""


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


def replace_private(path: Path, content: bytes) -> None:
    """Write a private file anew, whole or not at all; it is durable when this returns. OSError."""
    part = path.with_name(f"{path.name}.part")
    with open(open_private(part, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(content)
    sync(part)
    part.replace(path)
    sync(path.parent)


def make_private_directory(path: Path) -> None:
    """Make a directory that only the owner of the one above can use; nothing happens where there is one."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        path.chmod(0o700)
        if os.geteuid() == 0:
            above = path.parent.stat()
            os.chown(path, above.st_uid, above.st_gid)


class Folder:
    """A folder of files that are written again and again, and of which those that are no more are removed.

    A list of its own files lies in it. A file that is not on the list is somebody else's, and stays as it is.
    """

    LIST = ".equipoise-files.json"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before: frozenset[str] = frozenset()
        self._names: frozenset[str] = frozenset()

    def begin(self, names: Iterable[str]) -> None:
        """Say which files will be there, with strokes in their names; OSError: one of them is somebody else's."""
        self._names = frozenset(names)
        for name in self._names:
            if not all(PART.fullmatch(part) for part in name.split("/")):
                raise OSError(errno.EINVAL, "this is no name of a file below a folder", name)
        self.path.mkdir(parents=True, exist_ok=True)
        self._before = self._listed()
        for name in sorted(self._names - self._before):
            if os.path.lexists(self.path / name):
                message = "it was there before and is somebody else's: choose an empty folder"
                raise FileExistsError(errno.EEXIST, message, str(self.path / name))
        # Before the first of them: what a killed export leaves behind is known to the next one.
        self._list(self._before | self._names)

    def write(self, name: str, content: bytes) -> None:
        """Write one of the files, at once whole; OSError."""
        assert name in self._names, name
        file = self.path / name
        for above in reversed(Path(name).parents[:-1]):
            folder = self.path / above
            if not folder.is_dir():
                folder.mkdir()
                folder.chmod(0o755)  # whatever the umask: a web server reads it
        self._replace(file, content)

    def finish(self) -> int:
        """Remove the files of before that are no more; return how many they were. OSError."""
        old = self._before - self._names
        for name in old:
            (self.path / name).unlink(missing_ok=True)
            for above in Path(name).parents[:-1]:
                with suppress(OSError):  # it is not empty
                    (self.path / above).rmdir()
        self._list(self._names)
        return len(old)

    def _listed(self) -> frozenset[str]:
        with suppress(FileNotFoundError, ValueError):
            names = json.loads(read_small(self.path / self.LIST, 1 << 26))
            if isinstance(names, list):
                # Who writes the list must not have files elsewhere removed.
                own = (name for name in names if isinstance(name, str))
                return frozenset(name for name in own if all(PART.fullmatch(part) for part in name.split("/")))
        return frozenset()

    def _list(self, names: Iterable[str]) -> None:
        self._replace(self.path / self.LIST, json.dumps(sorted(names), indent=0).encode())

    def _replace(self, file: Path, content: bytes) -> None:
        new = file.with_name(f".{file.name}.new")
        new.write_bytes(content)
        new.chmod(0o644)
        new.replace(file)
