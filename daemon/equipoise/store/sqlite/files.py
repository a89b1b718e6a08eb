"""Whether the files of an open store are still those at its paths.

A process goes on writing to a file that was removed, or replaced by a backup, until it ends: rounds would be answered
`stored` and be gone after the next start.
"""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.errors import StoreDamaged


class OpenFiles:
    """The database and its write-ahead log, as they were when the store was opened."""

    def __init__(self, path: Path) -> None:
        self._opened = {each: _identity(each.stat()) for each in (path, path.with_name(f"{path.name}-wal"))}

    def check(self) -> None:
        """StoreDamaged when one of them was removed or replaced."""
        for path, identity in self._opened.items():
            try:
                same = _identity(path.stat()) == identity
            except FileNotFoundError:
                same = False
            except OSError:  # the directory is closed to us for now: SQLite has the file open and can go on
                same = True
            if not same:
                raise StoreDamaged(f"store: {path.name} was removed or replaced while the daemon had it open")


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
