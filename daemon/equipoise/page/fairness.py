"""Is it fair: a pool's last weeks, and its maps."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from equipoise.page.pictures import calibration, histogram
from equipoise.page.visits import Elsewhere, Pages, Shown, Visit
from equipoise.web.evenness import Weeks, show_evenness
from equipoise.web.maps import EVEN, Recent, list_maps, show_map
from equipoise.web.players import InPool
from equipoise.web.pools import show_pools
from equipoise.web.routes import READERS

pages = Pages()

SPANS = ((7, "a week"), (28, "four weeks"), (91, "three months"), (365, "a year"))
"""Days that the page offers, in words."""


@pages.add("GET", "/pools", READERS, public=True)
async def choose_pool(visit: Visit) -> Shown | Elsewhere:
    """All pools; where there is only one, its own page."""
    lines = (await visit.ask(show_pools)).pools
    if len(lines) == 1:
        return Elsewhere(visit.link("pools", lines[0].pool))
    return Shown("pools.html", "Is it fair?", {"found": lines})


@pages.add("GET", "/pools/{pool}", READERS, query=Weeks, public=True)
async def show_fairness(visit: Visit) -> Shown:
    """How fair a pool's rounds of the last weeks were."""
    answer = await visit.ask(show_evenness, visit.query)
    figures = answer.figures
    drawn = figures and {
        "began": histogram(figures.began, EVEN, answer.sides[0]),
        "held": calibration(figures.calibration),
    }
    values = {"found": answer, "drawn": drawn, "spans": SPANS, "even": EVEN}
    return Shown("fairness.html", f"Is it fair? {answer.pool}", values)


class MapsAsked(InPool, frozen=True):
    """A pool, and how many of its last rounds are looked at."""

    rounds: Annotated[int, Meta(ge=1, le=100_000)] = 10_000
    """The most of them."""


@pages.add("GET", "/maps", READERS, query=MapsAsked, public=True)
async def show_maps(visit: Visit) -> Shown:
    """The maps of a pool."""
    pool = visit.services.pool(visit.query.pool or min(visit.services.pools)).name
    answer = await visit.ask(list_maps, Recent(rounds=visit.query.rounds), pool=pool)
    return Shown("maps.html", "Maps", {"found": answer})


@pages.add("GET", "/maps/{pool}/{map}", READERS, query=Recent, public=True)
async def show_one_map(visit: Visit) -> Shown:
    """One map, on each server that played it."""
    answer = await visit.ask(show_map, visit.query)
    return Shown("map.html", answer.map.map, {"found": answer})
