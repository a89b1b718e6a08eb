"""The program itself: how it is installed, and how another version takes its place without a moment of neither.

Both pipx and `python3 -m venv` make a virtual environment. Another version is installed into a copy of it beside it,
and then copy and original change their names: the paths of the command and of the unit stay, nothing that runs is
touched before, and the version before is there as it was, with its libraries, until the next upgrade. The copy consists
of links, because installers replace files and do not change them.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from equipoise.errors import ConfigError

NAME = "equipoise"
_WHEEL = re.compile(r"equipoise-([^-]+)-(?:[^-]+-)+[^-]+\.whl")
_METADATA = "pipx_metadata.json"
_EXCHANGE = 2  # RENAME_EXCHANGE, renameat2(2)
_HERE = -100  # AT_FDCWD
_CUT_SHORT = ".unfinished"


@dataclass(frozen=True, slots=True)
class Program:
    """An installation that can be replaced; `folder` is its virtual environment."""

    folder: Path
    pipx: bool

    @property
    def kept(self) -> Path:
        """The place of the other version: of that before, after an upgrade."""
        # Whatever lies in the folder `venvs` is a package to pipx.
        above = self.folder.parent.parent if self.pipx else self.folder.parent
        return above / f"{self.folder.name}-before"

    def python(self, folder: Path | None = None) -> Path:
        """Return the interpreter of the program, or of the one in another folder."""
        return (folder or self.folder) / "bin" / "python"

    def version(self, folder: Path) -> str | None:
        """Return the version of the program in a folder; None where there is none that runs."""
        # With all libraries that the daemon needs.
        answer = self._ask(folder, "import equipoise.app, importlib.metadata as m; print(m.version('equipoise'))")
        return answer or None

    def store_format(self, folder: Path) -> int | None:
        """Return the newest format of the store that the program in a folder reads; None where none runs."""
        answer = self._ask(folder, "from equipoise.store.migrations import MIGRATIONS as m; print(len(m))")
        return int(answer) if answer else None

    def assets(self, folder: Path) -> Path | None:
        """Return the folder of files that the program in a folder carries beside its code; None: it has none."""
        return next(iter(folder.glob("lib/python3*/site-packages/equipoise/assets")), None)

    def _ask(self, folder: Path, code: str) -> str:
        try:
            run = subprocess.run(
                [self.python(folder), "-I", "-c", code], capture_output=True, text=True, cwd="/", check=False
            )
        except OSError:
            return ""
        return "" if run.returncode else run.stdout.strip()

    @property
    def draft(self) -> Path:
        """The place of another version until it is kept."""
        return self.kept.with_name(self.kept.name + _CUT_SHORT)

    def install_beside(self, source: str) -> None:
        """Install another version into a copy, the draft; ConfigError with what pip says, and nothing has changed."""
        draft = self.draft
        self.drop()  # of a run that was killed
        shutil.copytree(self.folder, draft, symlinks=True, copy_function=partial(os.link, follow_symlinks=False))
        words = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet", "--upgrade", source]
        # The user of the unit has to read what it writes.
        run = subprocess.run([self.python(draft), *words], capture_output=True, text=True, check=False, umask=0o022)
        if run.returncode:
            self.drop()
            complaint = run.stderr.strip() or run.stdout.strip()
            raise ConfigError(f"pip cannot install {source}; nothing was changed:\n{complaint}")
        self._name_scripts(draft)
        self._note_version(draft, source)

    def keep(self) -> None:
        """Put the draft, which is whole, into the place of the version before: a way back looks there."""
        shutil.rmtree(self.kept, ignore_errors=True)
        self.draft.rename(self.kept)

    def drop(self) -> None:
        """Remove the draft, where there is one."""
        shutil.rmtree(self.draft, ignore_errors=True)

    def _name_scripts(self, folder: Path) -> None:
        """Have the commands that pip wrote there start by the path that the folder will have."""
        old, new = (os.fsencode(self.python(place)) for place in (folder, self.folder))
        for script in (folder / "bin").iterdir():
            if script.is_symlink() or not script.is_file():
                continue
            content = script.read_bytes()
            if content.startswith(b"#!") and old in content:
                _replace(script, content.replace(old, new))

    def _note_version(self, folder: Path, source: str) -> None:
        """Tell pipx, which would list the version before."""
        file = folder / _METADATA
        with suppress(OSError, ValueError, KeyError, TypeError):
            metadata = json.loads(file.read_text("utf-8"))
            metadata["main_package"] |= {"package_version": self.version(folder), "package_or_url": source}
            _replace(file, f"{json.dumps(metadata, indent=4)}\n".encode())

    def exchange(self) -> None:
        """Let program and copy change their names, at one moment."""
        libc = ctypes.CDLL(None, use_errno=True)
        if not libc.renameat2(_HERE, os.fsencode(self.folder), _HERE, os.fsencode(self.kept), _EXCHANGE):
            return
        number = ctypes.get_errno()
        # These two say that the kernel or the file system knows no exchange; anything else is a fault.
        if number not in (errno.EINVAL, errno.ENOSYS):
            raise ConfigError(f"cannot be exchanged with {self.kept}: {os.strerror(number)}", file=self.folder)
        self.folder.rename(self.draft)  # a file system that knows no exchange
        self.kept.rename(self.folder)
        self.draft.rename(self.kept)


def installed() -> Program:
    """Return the installation that runs; ConfigError where it was made in a way in which this cannot replace it."""
    folder = Path(sys.prefix)
    try:
        origin = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    if origin.get("dir_info", {}).get("editable"):
        raise ConfigError("it runs from a checkout: `git pull` there, then `equipoise upgrade` without FILE")
    if sys.prefix == sys.base_prefix:
        raise ConfigError(
            "it is in the system's Python, where no other version can be put beside it: install the new one as you did "
            "this one, then `equipoise upgrade` without FILE"
        )
    return Program(folder, (folder / _METADATA).is_file())


def again(*words: str) -> list[str]:
    """Return a command line of this program, called as it was called now: the unit is written with that path."""
    script = Path(sys.argv[0]).absolute()
    return [sys.executable, *([str(script)] if script.name == NAME else ["-m", NAME]), *words]


def wheel_version(source: str) -> str | None:
    """Return the version in the name of a release's wheel.

    >>> wheel_version("./equipoise-0.2.0-py3-none-any.whl"), wheel_version("equipoise==0.2.0")
    ('0.2.0', None)
    """
    match = _WHEEL.fullmatch(Path(source).name)
    return match[1] if match else None


def _replace(file: Path, content: bytes) -> None:
    """Write a file anew: in place it would change its twin, too."""
    new = file.with_name(f".{file.name}.equipoise-new")
    new.write_bytes(content)
    shutil.copymode(file, new)
    new.replace(file)
