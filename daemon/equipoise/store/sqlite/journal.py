"""Decisions and the audit in SQLite: two logs, which `retention` shortens."""

from __future__ import annotations

import sqlite3

import msgspec

from equipoise.core.model import ServerId
from equipoise.store.port import Audit, Decision


def decide(db: sqlite3.Connection, decision: Decision) -> None:
    """Append to the decision log."""
    detail = None if decision.detail is None else msgspec.json.encode(decision.detail).decode()
    db.execute(
        "INSERT INTO decisions (server, at, kind, reason, order_id, detail) VALUES (?, ?, ?, ?, ?, ?)",
        (decision.server, decision.at, decision.kind, decision.reason, decision.order, detail),
    )


def decisions(db: sqlite3.Connection, server: ServerId | None, limit: int) -> list[Decision]:
    """The newest decisions of one server or of all, newest first."""
    # Two statements: with `:server IS NULL OR server = :server` SQLite would read the whole log for a quiet server.
    of_server = "" if server is None else "WHERE server = :server"
    found = db.execute(
        f"SELECT server, at, kind, reason, order_id, detail FROM decisions {of_server} "
        "ORDER BY number DESC LIMIT :limit",
        {"server": server, "limit": limit},
    )
    return [_decision(*each) for each in found]


def audit(db: sqlite3.Connection, entry: Audit) -> None:
    """Insert a line of the audit; the caller commits."""
    db.execute(
        "INSERT INTO audit (at, who, action, target, before, after) VALUES (?, ?, ?, ?, ?, ?)",
        (entry.at, entry.who, entry.action, entry.target, entry.before, entry.after),
    )


def audits(db: sqlite3.Connection, limit: int) -> list[Audit]:
    """The last `limit` lines of the audit, newest first."""
    found = db.execute(
        "SELECT at, who, action, target, before, after FROM audit ORDER BY number DESC LIMIT ?", (limit,)
    )
    return [Audit(*each) for each in found]


def _decision(server: str, at: float, kind: str, reason: str, order: str | None, detail: str | None) -> Decision:
    data = None if detail is None else msgspec.json.decode(detail, type=dict[str, object])
    return Decision(ServerId(server), at, kind, reason, order, data)
