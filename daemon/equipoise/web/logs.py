"""The two logs for admins: decisions and the audit."""

from __future__ import annotations

from equipoise.web.messages.logs import Audits, Decisions
from equipoise.web.messages.refusals import RefusedFound
from equipoise.web.routes import Asked


async def show_decisions(asked: Asked) -> Decisions:
    """Lines of the decision log, newest first, of one server or of all."""
    server = None if asked.query.server is None else asked.services.host(asked.query.server).server
    for host in asked.services.hosts.values():
        await host.write_down()
    return Decisions(decisions=tuple(await asked.services.store.decisions(server, asked.query.limit)))


async def show_audit(asked: Asked) -> Audits:
    """Lines of the audit, newest first."""
    for host in asked.services.hosts.values():
        await host.write_down()
    return Audits(audit=tuple(await asked.services.store.audits(asked.query.limit)))


async def show_refused(asked: Asked) -> RefusedFound:
    """Requests that were refused in the last hour."""
    return RefusedFound(refused=asked.services.refusals.remembered.lines())
