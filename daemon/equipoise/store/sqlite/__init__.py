"""The store in one file of SQLite: for every server on one machine."""

from equipoise.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
