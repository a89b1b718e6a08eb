"""A person's data: shown to nobody, exported, and forgotten.

POST /v1/admin/players/{id}/hide, GET …/export, POST …/forget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.core.model import PlayerId
from equipoise.service import people
from equipoise.service.people import Copy
from equipoise.store.notes import Audit
from equipoise.web.players import InPool, PlayerFound, known_player, names_of, show_player
from equipoise.web.routes import ADMINS, Ask, Ok, Request, Routes

routes = Routes()


class Hide(Ask, frozen=True):
    """Whether a player is hidden."""

    hidden: bool = True
    """False: they are shown again."""


@routes.add(
    "POST",
    "/v1/admin/players/{id}/hide",
    "Show a player nowhere",
    ADMINS,
    query=InPool,
    body=Hide,
    reply=PlayerFound,
    body_example={"hidden": True},
)
async def hide_player(request: Request) -> PlayerFound:
    """Show a player nowhere but to admins, in all pools, or everywhere again; rounds are rated as before."""
    services, hide = request.services, request.body.hidden
    player = await known_player(services.pool(request.query.pool), request.path["id"])
    entry = Audit(services.clock.epoch(), request.caller.who, "hide" if hide else "unhide", player, "", "")
    await people.hide(player, services.pools.values(), entry, hide=hide)
    return await show_player(request)


class PersonExported(Ok, frozen=True):
    """All that is stored about a person, in all pools."""

    player: PlayerId
    """The player."""
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    """Every row of the store that names them, by table and column; others' ids are left out. docs/store.md has the
    tables."""


@routes.add(
    "GET",
    "/v1/admin/players/{id}/export",
    "All that is stored about a person",
    ADMINS,
    query=InPool,
    reply=PersonExported,
)
async def export_person(request: Request) -> PersonExported:
    """Everything that is stored about one person."""
    services = request.services
    player = await known_player(services.pool(request.query.pool), request.path["id"])
    for host in services.hosts.values():
        host.write_down()
    return PersonExported(player=player, tables=await services.store.rows_about(player))


class Forget(Ask, frozen=True):
    """Forget a person."""

    dry_run: bool = False
    """Say what would be done, and do nothing."""


class PersonForgotten(Ok, frozen=True, kw_only=True):
    """A person who is forgotten, and where their data is left, which is the operator's to delete."""

    dry_run: bool
    """Nothing was changed."""
    player: PlayerId
    """The person."""
    name: str | None
    """The name that they had."""
    stand_in: PlayerId | None
    """Who stands in their place now, without a name and hidden; null in a dry run."""
    copies: tuple[Copy, ...]
    """Backups and other files beside the store that name them; copies elsewhere are not known."""
    exports: tuple[Audit, ...]
    """Exports of pools since their first rated round: the files are where the callers wrote them."""


@routes.add(
    "POST",
    "/v1/admin/players/{id}/forget",
    "Forget a person",
    ADMINS,
    query=InPool,
    body=Forget,
    reply=PersonForgotten,
    body_example={"dry_run": True},
)
async def forget_person(request: Request) -> PersonForgotten:
    """Put a stand-in in a person's place everywhere, in all pools; nobody else's rating changes."""
    services, dry_run = request.services, request.body.dry_run
    store, pool, hosts = services.store, services.pool(request.query.pool), services.hosts.values()
    player = await known_player(pool, request.path["id"])
    people.refuse_present(player, hosts)
    name = (await names_of(pool, (player,))).get(player)
    exports = tuple(await store.exports_since(player))
    copies = tuple(await asyncio.to_thread(people.copies, store.path, player))
    stand_in = None
    if not dry_run:
        work = people.forget(player, store, services.pools.values(), hosts, services.clock, request.caller.who)
        # A caller who hangs up leaves nobody half forgotten.
        stand_in = await asyncio.shield(asyncio.ensure_future(work))
    return PersonForgotten(dry_run=dry_run, player=player, name=name, stand_in=stand_in, copies=copies, exports=exports)
