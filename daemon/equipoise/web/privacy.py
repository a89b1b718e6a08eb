"""A person's data: shown to nobody, exported, and forgotten.

POST /v1/admin/players/{id}/hide, GET …/export, POST …/forget.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from equipoise.core.model import PlayerId
from equipoise.service import people
from equipoise.service.people import Copy
from equipoise.store.notes import Audit
from equipoise.web.players import InPool, PlayerFound, known_player, names_of, show_player
from equipoise.web.routes import ADMINS, Ask, Ok, Request, Routes, refused

routes = Routes()


class Hide(Ask, frozen=True):
    """Whether a player is hidden."""

    hidden: bool = True
    """False: they are shown again."""
    seen: str | None = None
    """Only while they are as a dry run has shown them, by its `seen`."""
    dry_run: bool = False
    """Say how they are, and change nothing."""


class PersonHidden(PlayerFound, frozen=True, kw_only=True):
    """A player after they were hidden or shown again; in a dry run as they are."""

    seen: str | None
    """Names what a dry run has shown, for the request that is to be about just that; null for one that was done."""


@routes.add(
    "POST",
    "/v1/admin/players/{id}/hide",
    "Show a player nowhere",
    ADMINS,
    query=InPool,
    body=Hide,
    body_example={"hidden": True},
)
async def hide_player(request: Request) -> PersonHidden:
    """Show a player nowhere but to admins, in all pools, or everywhere again; rounds are rated as before."""
    services, body = request.services, request.body
    answer = await show_player(request)
    player = answer.player
    seen = _digest(player.id, player.name, player.hidden)
    if body.dry_run:
        return PersonHidden(**structs.asdict(answer), seen=seen)
    _check(player.id, body.seen, seen)
    entry = Audit(services.clock.epoch(), request.caller.who, "hide" if body.hidden else "unhide", player.id, "", "")
    await people.hide(player.id, services.pools.values(), entry, hide=body.hidden)
    return PersonHidden(**structs.asdict(await show_player(request)), seen=None)


def _digest(*shown: object) -> str:
    """Return a short name of what an admin sees before they do something."""
    return hashlib.sha256(msgspec.json.encode(shown)).hexdigest()[:16]


def _check(player: PlayerId, asked: str | None, now: str | None) -> None:
    """ScriptError 409: somebody is not as they were seen."""
    if asked not in (None, now):
        raise refused("changed", f"{player} has changed since you looked: nothing was done")


class PersonExported(Ok, frozen=True):
    """All that is stored about a person, in all pools."""

    player: PlayerId
    """The player."""
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    """Every row of the store that names them, by table and column; others' ids are left out. docs/store.md has the
    tables."""


@routes.add("GET", "/v1/admin/players/{id}/export", "All that is stored about a person", ADMINS, query=InPool)
async def export_person(request: Request) -> PersonExported:
    """Everything that is stored about one person."""
    services = request.services
    player = await known_player(request, services.pool(request.query.pool), request.path["id"])
    for host in services.hosts.values():
        host.write_down()
    return PersonExported(player=player, tables=await services.store.rows_about(player))


class Forget(Ask, frozen=True):
    """Forget a person."""

    seen: str | None = None
    """Only while all is as a dry run has shown it, by its `seen`, and nothing of the person has changed since."""
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
    seen: str | None
    """Names what a dry run has shown, for the request that is to be about just that; null for one that was done."""


@routes.add(
    "POST",
    "/v1/admin/players/{id}/forget",
    "Forget a person",
    ADMINS,
    query=InPool,
    body=Forget,
    body_example={"dry_run": True},
)
async def forget_person(request: Request) -> PersonForgotten:
    """Put a stand-in in a person's place everywhere, in all pools; nobody else's rating changes."""
    services, body = request.services, request.body
    pools, hosts = services.pools.values(), services.hosts.values()
    player = await known_player(request, services.pool(request.query.pool), request.path["id"])
    people.refuse_present(player, hosts)
    if body.dry_run:
        return await _before_forgetting(request, player)

    async def checked() -> PersonForgotten:
        now = await _before_forgetting(request, player)
        _check(player, body.seen, now.seen)
        return now

    work = people.forget(player, services.store, pools, hosts, services.clock, request.caller.who, checked)
    # A caller who hangs up leaves nobody half forgotten.
    stand_in, before = await asyncio.shield(asyncio.ensure_future(work))
    return structs.replace(before, dry_run=False, stand_in=stand_in, seen=None)


async def _before_forgetting(request: Request, player: PlayerId) -> PersonForgotten:
    """Return what a forgetting would be about, and what it would not reach."""
    store, pools = request.services.store, request.services.pools.values()
    name = (await names_of(request.services.pool(request.query.pool), (player,))).get(player)
    exports = tuple(await store.exports_since(player))
    copies = tuple(await asyncio.to_thread(people.copies, store.path, player))
    versions = [await pool.stored_version(player) for pool in pools]
    files, numbers = [copy.file for copy in copies], [export.number for export in exports]
    seen = _digest(player, name, player in await store.hidden(), versions, files, numbers)
    return PersonForgotten(
        dry_run=True, player=player, name=name, stand_in=None, copies=copies, exports=exports, seen=seen
    )
