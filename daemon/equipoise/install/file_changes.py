"""The files of an installation: those that it carries beside the code, and how files are written together, or none.

A wheel has unit, plugin, mod and the reference of the configuration below `assets/` (`hatch_build.py` puts them there).
An editable installation has them in its checkout, by the same names; there plugin and mod are built when they are asked
for, so that they are never older than their source.

Each file is written beside its place under another name and renamed, so that a crash leaves whole files: old or new.
All names are written before the first rename: a full disk is noticed while nothing has changed.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import equipoise
from equipoise.errors import ConfigError
from equipoise.files import existing, sync

_PACKED = Path(equipoise.__file__).parent / "assets"
_CHECKOUT = Path(equipoise.__file__).parents[2]


def folder() -> Path:
    """Return the folder of the files, which have the names there that they have in a checkout."""
    return _PACKED if _PACKED.is_dir() else _CHECKOUT


def plugin(place: Path | None = None) -> bytes:
    """Return the compiled plugin of this version; ConfigError where this installation has none.

    `place`: the folder of another version's files.
    """
    place = place or folder()
    if place == _CHECKOUT:
        return _compiled()
    try:
        return (place / "sourcemod" / "equipoise.smx").read_bytes()
    except FileNotFoundError:
        raise ConfigError(
            "this installation has no plugin: its wheel was built where SourceMod's compiler (x86-64) does not run. "
            "Install a wheel that was built on x86-64, or run `make plugin` there and unpack the zip into tf/"
        ) from None


def plugin_texts(place: Path | None = None) -> dict[str, bytes]:
    """Return what belongs to the plugin below `addons/sourcemod`: its translations, its include for other plugins."""
    sourcemod = (place or folder()) / "sourcemod"
    paths = [*sorted((sourcemod / "translations").rglob("*.txt")), sourcemod / "scripting/include/equipoise.inc"]
    return {path.relative_to(sourcemod).as_posix(): path.read_bytes() for path in paths}


def mod() -> dict[str, bytes]:
    """Return the NS2 mod's folder as the Launch Pad publishes it, by places below it."""
    if _PACKED.is_dir():
        return _read(_PACKED / "ns2mod")
    with tempfile.TemporaryDirectory() as temporary:
        command = [sys.executable, str(_CHECKOUT / "ns2mod" / "build.py"), "--output", temporary]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise ConfigError(f"the mod cannot be built: {run.stderr.strip() or run.stdout.strip()}")
        (built,) = (path for path in Path(temporary).iterdir() if path.is_dir())
        return _read(built)


def _read(root: Path) -> dict[str, bytes]:
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def _compiled() -> bytes:
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary) / "equipoise.smx"
        command = [sys.executable, str(_CHECKOUT / "sourcemod" / "build.py"), "--bytecode", str(output)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise ConfigError(f"the plugin cannot be compiled: {run.stderr.strip() or run.stdout.strip()}")
        return output.read_bytes()


# Files that are written together: all of them, or after an error or a refusal none.


@dataclass(slots=True)
class Changes:
    """Changes below a folder. Root makes them as the folder's owner.

    The files then belong to that owner, and a link that the owner put into the folder leads root to nothing that the
    owner could not read or write.
    """

    folder: Path
    _folders: dict[Path, int] = field(default_factory=dict)
    _files: dict[Path, tuple[bytes, int] | None] = field(default_factory=dict)
    _staged: list[Path] = field(default_factory=list)
    _before: dict[Path, tuple[bytes, int] | None] = field(default_factory=dict)
    _made: list[Path] = field(default_factory=list)

    def make(self, path: Path, mode: int = 0o755) -> None:
        """Plan a folder; one that exists stays as it is."""
        self._folders[path] = mode

    def write(self, path: Path, data: bytes, mode: int = 0o644) -> None:
        """Plan a file with this content, in place of another."""
        self._files[path] = data, mode

    def remove(self, path: Path) -> None:
        """Plan to remove a file, if it is there."""
        self._files[path] = None

    def planned(self, path: Path) -> bytes | None:
        """Return the content that is planned for a file; None: nothing is, or it is to be removed."""
        content = self._files.get(path)
        return None if content is None else content[0]

    def written(self) -> list[Path]:
        """Return the files that are planned."""
        return [path for path, content in self._files.items() if content is not None]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Make the changes; where they or the caller's block fail, everything is as it was.

        ConfigError names a file that cannot be written.
        """
        try:
            with as_owner(self.folder):
                self._apply()
            yield
        except BaseException as error:
            with as_owner(self.folder):
                self._undo()
            if isinstance(error, OSError) and error.filename is not None:
                raise ConfigError(
                    f"{error.strerror}{advice(error, self.folder)}", file=error.filename2 or error.filename
                ) from None
            raise

    def _apply(self) -> None:
        for path, mode in self._folders.items():
            self._make(path, mode)
        for path, content in self._files.items():
            if content is not None:
                self._make(path.parent, 0o755)
                self._staged.append(path)
                _write(path, *content)
        # Only now, when all of them could be written beside their places.
        for path, content in self._files.items():
            # Right before the exchange: `_undo` puts back those that are noted here, and no others.
            self._before[path] = _content(path)
            if content is not None:
                os.replace(_beside(path), path)
            else:
                path.unlink(missing_ok=True)
        for folder in {path.parent for path in self._files if path.parent.is_dir()}:
            sync(folder)

    def _make(self, folder: Path, mode: int) -> None:
        if not folder.is_dir():
            self._make(folder.parent, 0o755)
            folder.mkdir()
            self._made.append(folder)
            folder.chmod(mode)

    def _undo(self) -> None:
        for path in self._staged:
            with suppress(OSError):  # it could not be written, and is not there
                _beside(path).unlink()
        for path, content in self._before.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                _write(path, *content)
                os.replace(_beside(path), path)
        for folder in reversed(self._made):
            folder.rmdir()


@contextmanager
def as_owner(folder: Path) -> Iterator[None]:
    """Let root have the rights of a folder's owner, and no others; the folder, or the nearest above it, exists."""
    status = existing(folder).stat()
    if os.geteuid() != 0 or status.st_uid == 0:
        yield
        return
    groups, group = os.getgroups(), os.getegid()
    # The groups first, while we are still root: without root's rights they could not be changed any more.
    os.setgroups([status.st_gid])
    os.setegid(status.st_gid)
    os.seteuid(status.st_uid)
    try:
        yield
    finally:
        # In the reverse order, for the same reason.
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def advice(error: OSError, folder: Path) -> str:
    """Return what to do about a file below a folder that cannot be read or written."""
    if error.errno != errno.EACCES:
        return ""
    return "; use sudo" if os.geteuid() != 0 else f"; it must belong to the owner of {folder}: use chown"


def _beside(path: Path) -> Path:
    """Return a name that neither the daemon (`*.toml`) nor SourceMod (`*.smx`, `*.cfg`, `*.txt`) reads."""
    return path.with_name(f".{path.name}.equipoise-new")


def _content(path: Path) -> tuple[bytes, int] | None:
    try:
        return path.read_bytes(), path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write a file beside its place; OSError names the place."""
    copy = _beside(path)
    try:
        with suppress(FileNotFoundError):
            if copy.lstat():  # of a run that was killed
                copy.unlink()
        with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
