"""Answers with a whole pool, in pieces."""

from __future__ import annotations

from equipoise.errors import ScriptError
from equipoise.web.answers import Streamed
from equipoise.web.routes import Asked, refused


async def export_pool(asked: Asked) -> Streamed:
    """A pool as JSON Lines; docs/moving.md has the format."""
    services, pool = asked.services, asked.services.pool(asked.path["pool"])
    await pool.drain()
    if pool.ring_depth:
        raise refused("waits", f"{pool.ring_depth} rounds wait for the store, and would be missing")
    await services.store.names(pool.name, ())  # writes the names and the lines of the audit that wait
    if services.exports.busy:
        raise ScriptError("busy", "another export is under way", status=503)
    return Streamed(services.exports.pieces(pool.name), "application/jsonl")
