"""Damage to the file of a store that is closed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_LEAVES = (0x0A, 0x0D)


def wreck(path: Path, name: str) -> None:
    """Overwrite the last leaf page of a table or an index."""
    with closing(sqlite3.connect(path)) as database:
        (size,) = database.execute("PRAGMA page_size").fetchone()
        (page,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    with path.open("r+b") as file:
        while True:
            file.seek((page - 1) * size)
            header = file.read(12)
            if header[0] in _LEAVES:
                break
            page = int.from_bytes(header[8:], "big")
        file.seek((page - 1) * size)
        file.write(b"\xee" * size)


def restore(backup: Path, path: Path) -> None:
    """What an operator does while the daemon is stopped: no log of the damaged store may stay beside the backup."""
    for each in path.parent.glob(f"{path.name}*"):
        if not each.name.endswith(".lock"):
            each.unlink()
    path.write_bytes(backup.read_bytes())
