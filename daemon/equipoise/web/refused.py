"""Shows operators what was refused."""

from __future__ import annotations

from equipoise.web.messages.refusals import RefusedFound
from equipoise.web.routes import Asked


async def show_refused(asked: Asked) -> RefusedFound:
    """Requests that were refused in the last hour."""
    return RefusedFound(refused=asked.services.refusals.remembered.lines())
