"""The wall: a panel per game server, those that need a person first."""

from __future__ import annotations

from equipoise.page.visits import Pages, Shown, Visit
from equipoise.web.routes import READERS
from equipoise.web.servers import show_servers

pages = Pages()


@pages.add("GET", "/", READERS, public=True)
async def show_wall(visit: Visit) -> Shown:
    """All game servers."""
    answer = await show_servers(visit.request())
    return Shown("wall.html", "Wall", {"answer": answer})
