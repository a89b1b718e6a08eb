"""Decisions and the audit in SQLite: two logs, which `retention` shortens."""

from __future__ import annotations

import sqlite3

import msgspec

from equipoise.core.model import PlayerId, ServerId
from equipoise.store.notes import Audit, Decision

_SELECT = "SELECT number, server, at, kind, reason, order_id, detail FROM decisions"
_LINES_AT_ONCE = 2000
"""Lines that are looked through for a player without letting a round pass: a few milliseconds."""


def decide(db: sqlite3.Connection, decision: Decision) -> None:
    """Append to the decision log."""
    detail = None if decision.detail is None else msgspec.json.encode(decision.detail).decode()
    db.execute(
        "INSERT INTO decisions (server, at, kind, reason, order_id, detail) VALUES (?, ?, ?, ?, ?, ?)",
        (decision.server, decision.at, decision.kind, decision.reason, decision.order, detail),
    )


def decisions(
    db: sqlite3.Connection, server: ServerId | None, limit: int, before: int | None, after: int
) -> list[Decision]:
    """The newest decisions of a server, or of all, whose numbers lie between the two; newest first."""
    found = db.execute(
        f"{_SELECT} {_between(server, before)} ORDER BY number DESC LIMIT :limit",
        {"server": server, "before": before, "after": after, "limit": limit},
    )
    return [_decision(*each) for each in found]


def decisions_about(
    db: sqlite3.Connection, player: PlayerId, server: ServerId | None, limit: int, before: int | None, after: int
) -> tuple[list[Decision], int | None]:
    """Those of a piece of the log that name a player, and the number of its oldest line; None at the log's end."""
    here = {"server": server, "before": before, "after": after, "offset": _LINES_AT_ONCE - 1}
    oldest = db.execute(
        f"SELECT number FROM decisions {_between(server, before)} ORDER BY number DESC LIMIT 1 OFFSET :offset", here
    ).fetchone()
    if oldest is not None:  # one lower bound: of two SQLite uses the first, and walks down to the log's end
        here["after"] = oldest[0] - 1
    found = db.execute(
        f"{_SELECT} {_between(server, before)} AND instr(detail, :quoted) ORDER BY number DESC LIMIT :limit",
        {**here, "quoted": f'"{player}"', "limit": limit},
    )
    return [_decision(*each) for each in found], oldest and oldest[0]


def last_before(db: sqlite3.Connection, time: float) -> int:
    """The number of the last decision before a time; 0 where there is none."""
    found = db.execute("SELECT number FROM decisions WHERE at < ? ORDER BY at DESC LIMIT 1", (time,)).fetchone()
    return found[0] if found else 0


def _between(server: ServerId | None, before: int | None) -> str:
    # No parameter that may be null: with `:server IS NULL OR server = :server` SQLite would read the whole log for a
    # quiet server.
    of_server = "" if server is None else "server = :server AND"
    return f"WHERE {of_server} number > :after" + ("" if before is None else " AND number < :before")


def audit(db: sqlite3.Connection, entry: Audit) -> None:
    """Insert a line of the audit; the caller commits."""
    db.execute(
        "INSERT INTO audit (at, who, action, target, before, after) VALUES (?, ?, ?, ?, ?, ?)",
        (entry.at, entry.who, entry.action, entry.target, entry.before, entry.after),
    )


def audits(db: sqlite3.Connection, limit: int, before: int | None = None) -> list[Audit]:
    """The last `limit` lines of the audit, newest first."""
    older = "" if before is None else "WHERE number < :before"
    found = db.execute(
        f"SELECT at, who, action, target, before, after, number FROM audit {older} ORDER BY number DESC LIMIT :limit",
        {"before": before, "limit": limit},
    )
    return [Audit(*each) for each in found]


def _decision(
    number: int, server: str, at: float, kind: str, reason: str, order: str | None, detail: str | None
) -> Decision:
    data = None if detail is None else msgspec.json.decode(detail, type=dict[str, object])
    return Decision(ServerId(server), at, kind, reason, order, data, number)
