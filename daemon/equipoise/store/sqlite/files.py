"""Whether the files of an open store are still those at its paths.

A process goes on writing to a file that was removed, or replaced by a backup, until it ends: rounds would be answered
`stored` and be gone after the next start.
"""

from __future__ import annotations

from pathlib import Path

from equipoise.errors import StoreDamaged


class OpenFiles:
    """The database and its write-ahead log, as they were when the store was opened."""

    def __init__(self, path: Path) -> None:
        self._opened = {each: _identity(each) for each in (path, path.with_name(f"{path.name}-wal"))}

    def check(self) -> None:
        """StoreDamaged when one of them was removed or replaced."""
        for path, identity in self._opened.items():
            if _identity(path) != identity:
                raise StoreDamaged(f"store: {path.name} was removed or replaced while the daemon had it open")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
