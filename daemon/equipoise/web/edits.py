"""Edits: changes of ratings by admins, each of which is written to the audit.

PUT and DELETE /v1/admin/players/{id}, POST /v1/admin/players/{id}/undo, POST /v1/admin/rounds/{server}/{round}/void.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.core.model import PlayerId, RoundId, ServerId, is_bot
from equipoise.errors import RatingError, ScriptError
from equipoise.service.pool import Pool
from equipoise.store.sequence import Revised, RoundStrike, Undone
from equipoise.web.answers import Ok
from equipoise.web.players import InPool, PlayerFound, PlayerSeen, all_seen, known_player, names_of, player_id
from equipoise.web.routes import ADMINS, Ask, Request, Routes, refused

Points = Annotated[float, Meta(ge=-1e9, le=1e9)]

routes = Routes()


class RatingSet(Ask, frozen=True):
    """The rating that an admin gives a player, in points."""

    rating: Points
    """The rating, in points."""
    new: bool = False
    """The player may be one who was never seen here."""


class PlayerEdited(PlayerFound, frozen=True, kw_only=True):
    """A player after an edit, and before it."""

    before: PlayerSeen
    """The player before the edit."""


@routes.add(
    "PUT",
    "/v1/admin/players/{id}",
    "Set a player's rating",
    ADMINS,
    query=InPool,
    body=RatingSet,
    reply=PlayerEdited,
    body_example={"rating": 1500},
)
async def set_player(request: Request) -> PlayerEdited:
    """Set a player's rating; one who was never seen here only with `new`."""
    return await _edit(request, request.body.rating, new=request.body.new)


@routes.add("DELETE", "/v1/admin/players/{id}", "Make a player a newcomer", ADMINS, query=InPool, reply=PlayerEdited)
async def reset_player(request: Request) -> PlayerEdited:
    """Make a player a newcomer again."""
    return await _edit(request, None, new=False)


async def _edit(request: Request, rating: float | None, *, new: bool) -> PlayerEdited:
    pool, text = request.services.pool(request.query.pool), request.path["id"]
    player = await (player_id if new or is_bot(PlayerId(text)) else known_player)(pool, text)
    try:
        edit = await pool.edit(player, rating, request.caller.who)
    except RatingError as error:
        raise ScriptError("rating", str(error), path="$.rating") from None
    name = (await names_of(pool, (player,))).get(player)
    summaries = [replace(summary, name=name) for summary in (edit.before, edit.after)]
    before, after = await all_seen(request.services, pool, summaries)
    return PlayerEdited(pool=pool.name, before=before, player=after)


class RatingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A player whose rating or rounds a replay changes."""

    id: PlayerId
    name: str | None
    """Their last known name."""
    before: float
    """The rating before it."""
    after: float
    """The rating after it."""
    rounds_before: int
    """Rated rounds before it."""
    rounds_after: int
    """Rated rounds after it."""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """A replay, and what it changes, or would change."""

    dry_run: bool
    """Nothing was changed."""
    rounds: int
    """Rounds that were rated anew."""
    edits: int
    """Edits that were applied anew."""
    lost_edits: int
    """Ratings that admins changed since then, before edits were stored: they cannot be kept."""
    refitted: bool
    """The ratings are those of a later refit: the next one takes the change into account."""
    changes: tuple[RatingChange, ...]
    """The largest change first."""


class Undo(Ask, frozen=True):
    """Take back a player's last edit."""

    dry_run: bool = False
    """Say what would change, and change nothing."""


class EditUndone(Ok, frozen=True, kw_only=True):
    """The edit that was taken back, and what that changes."""

    pool: str
    again: bool
    """It had been taken back, and was applied again."""
    edit: Undone
    """The edit that was taken back, or applied again."""
    replay: Replay
    """The changes by the replay of the following rounds."""


@routes.add(
    "POST",
    "/v1/admin/players/{id}/undo",
    "Take back a player's last edit",
    ADMINS,
    query=InPool,
    body=Undo,
    reply=EditUndone,
    body_example={"dry_run": True},
)
async def undo_edit(request: Request) -> EditUndone:
    """Take back the last edit of a player; when it was taken back already, apply it again."""
    pool = request.services.pool(request.query.pool)
    player = await known_player(pool, request.path["id"])
    revision = await pool.undo(player, request.caller.who, trial=request.body.dry_run)
    edit = revision.undone
    assert edit is not None
    replay = await _replay(pool, revision, dry_run=request.body.dry_run)
    return EditUndone(pool=pool.name, again=revision.back, edit=edit, replay=replay)


class RoundVoid(Ask, frozen=True):
    """Take a round out of the ratings."""

    reason: Annotated[str, Meta(max_length=200)] = ""
    """Why, in words, for the audit."""
    undo: bool = False
    """Put it back instead."""
    dry_run: bool = False
    """Say what would change, and change nothing."""


class RoundVoided(Ok, frozen=True, kw_only=True):
    """A round that was taken out of the ratings or put back, and what that changes."""

    pool: str
    server: ServerId
    round: RoundId
    void: bool
    """Whether the round is out of the ratings."""
    replay: Replay
    """The changes by the replay of the following rounds."""


@routes.add(
    "POST",
    "/v1/admin/rounds/{server}/{round}/void",
    "Take a round out of the ratings",
    ADMINS,
    body=RoundVoid,
    reply=RoundVoided,
    body_example={"reason": "a cheater played", "dry_run": True},
)
async def void_round(request: Request) -> RoundVoided:
    """Take a round out of the ratings; with `undo`, put it back."""
    server, number, body = ServerId(request.path["server"]), RoundId(request.path["round"]), request.body
    pool = await _pool_of(request, server, number)
    strike = RoundStrike(server, number, body.undo)
    revision = await pool.void(strike, request.caller.who, body.reason, trial=body.dry_run)
    replay = await _replay(pool, revision, dry_run=body.dry_run)
    return RoundVoided(pool=pool.name, server=server, round=number, void=not revision.back, replay=replay)


async def _pool_of(request: Request, server: ServerId, number: RoundId) -> Pool:
    pools = request.services.pools
    name = await request.services.store.pool_of(server, number)
    if name is not None and name in pools:
        return pools[name]
    if name is not None:
        raise refused("refused", f"pool {name}, which round {number} of {server} belongs to, is not configured")
    if any((server, number) in pool.ring for pool in pools.values()):
        raise refused("refused", f"round {number} of {server} waits for the store: try again when it is stored")
    raise ScriptError("not_found", f"round {number} of {server} is not stored", status=404)


async def _replay(pool: Pool, revision: Revised, *, dry_run: bool) -> Replay:
    names = await names_of(pool, [shift.id for shift in revision.shifts])
    return Replay(
        dry_run=dry_run,
        rounds=revision.rounds,
        edits=revision.edits,
        lost_edits=revision.lost,
        refitted=revision.refitted,
        changes=tuple(
            RatingChange(
                id=PlayerId(shift.id),
                name=names.get(shift.id),
                before=shift.before,
                after=shift.after,
                rounds_before=shift.rounds_before,
                rounds_after=shift.rounds_after,
            )
            for shift in revision.shifts
        ),
    )
