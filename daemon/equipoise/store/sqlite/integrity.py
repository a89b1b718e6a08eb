"""Whether a store's file is whole: the full check, which also compares every index with its table.

It only reads, with a connection of its own, and may run beside a daemon that has the store open.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from equipoise.store.migrations import MIGRATIONS
from equipoise.store.sqlite.connection import APPLICATION_ID

MOST_PROBLEMS = 5
STEPS = 1_000_000
"""Instructions of SQLite's machine between two calls of `advance`: about a hundredth of a second."""


def problems(path: Path, advance: Callable[[], None] = lambda: None) -> list[str]:
    """What is wrong with a store's file, in words; empty: nothing. OSError when it cannot be read.

    `advance` is called again and again while it works.
    """
    with path.open("rb") as file:  # SQLite says no more than "unable to open" of a file that may not be read
        file.read(1)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            connection.set_progress_handler(advance, STEPS)
            return _problems(connection)
    except sqlite3.Error as error:
        return [str(error)]


def _problems(connection: sqlite3.Connection) -> list[str]:
    ours = connection.execute("PRAGMA application_id").fetchone()[0]
    if ours != APPLICATION_ID:
        return ["it is no Equipoise store"]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        return [f"a newer version of Equipoise wrote it (schema {version}, this one knows {len(MIGRATIONS)})"]
    found = [text for (text,) in connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})")]
    return [] if found == ["ok"] else [" ".join(text.split()) for text in found]
