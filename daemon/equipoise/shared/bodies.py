"""The form of events and bases: rows of a store's tables, as JSON, in one or more pieces.

The store makes and takes in pieces (`store.changes`); the log keeps rows of some tables for people's own web pages.
"""

from __future__ import annotations

import msgspec

FORMAT = 2
"""Of all this, and of the tables' columns: daemons that write another one cannot share a pool."""
OWN = -1
"""In place of a number: that of the event itself."""

Value = str | int | float | None


class Rows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of one table."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]


class Piece(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of an event: rows as they are now, and keys of those that are gone, by table."""

    rows: dict[str, Rows] = {}
    deleted: dict[str, list[tuple[Value, ...]]] = {}
    anew: bool = False
    """All rows of the pool go before these."""
    forgotten: tuple[tuple[str, str], ...] = ()
    """A mark of an id (`store.changes.mark_of`), and the stand-in that takes the place of who has it."""


piece_decoder = msgspec.json.Decoder(Piece)
