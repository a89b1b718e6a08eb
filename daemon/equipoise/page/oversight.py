"""What was decided and by whom, and whether all is well: the decision log, the audit, the doctor and the jobs."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta

from equipoise.page.visits import Pages, Shown, Visit
from equipoise.web.administration import Look, show_findings
from equipoise.web.decisions import Reasons, show_audit, show_decisions
from equipoise.web.routes import READERS, Paged
from equipoise.web.servers import Some, show_servers

SPANS = ((1.0, "the last hour"), (24.0, "a day"), (168.0, "a week"))
"""Hours back from now that the log offers, in words."""
LINES = 100

pages = Pages()


class LogAsked(Reasons, frozen=True):
    """Lines of the decision log, as people ask for them."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = LINES
    """The most lines to show."""
    hours: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    """Nothing older than this many hours."""


@pages.add("GET", "/decisions", READERS, query=LogAsked)
async def show_log(visit: Visit) -> Shown:
    """The decision log, newest first, of one server or of all, about one player or about all."""
    query: LogAsked = visit.query
    answer = await show_decisions(visit.request(visit.asked_of(Reasons)))
    kept = {name: getattr(query, name) for name in ("server", "player", "pool", "hours", "limit")}
    if query.limit == LINES:
        kept["limit"] = None
    servers = sorted(visit.services.hosts)
    values = {"found": answer, "asked": query, "kept": kept, "servers": servers, "spans": SPANS}
    return Shown("decisions.html", "Decisions", values)


class AuditAsked(Paged, frozen=True):
    """Lines of the audit."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = LINES
    """The most lines to show."""


@pages.add("GET", "/audit", READERS, query=AuditAsked)
async def show_changes(visit: Visit) -> Shown:
    """The audit: each change by an admin, with the values before and after, newest first."""
    query = visit.query
    answer = await show_audit(visit.request(Paged(limit=query.limit, before=query.before, since=query.since)))
    kept = {"limit": None if query.limit == LINES else query.limit, "since": query.since}
    return Shown("audit.html", "Audit", {"found": answer, "kept": kept})


@pages.add("GET", "/health", READERS)
async def show_health(visit: Visit) -> Shown:
    """The doctor's findings, which only admins may ask for, and the jobs."""
    if not visit.admin:
        return Shown("health.html", "Health", {"state": await show_servers(visit.request(Some())), "doctor": None})
    state, doctor = await asyncio.gather(show_servers(visit.request(Some())), show_findings(visit.request(Look())))
    return Shown("health.html", "Health", {"state": state, "doctor": doctor})
