"""Changes of ratings by admins. Each is written to the audit."""

from __future__ import annotations

from dataclasses import replace

from equipoise.core.model import PlayerId, RoundId, ServerId, is_bot
from equipoise.errors import RatingError, ScriptError
from equipoise.service.pool import Pool
from equipoise.store.sequence import Revised, RoundStrike
from equipoise.web.ids import known_player, player_id
from equipoise.web.messages.editing import EditUndone, PlayerEdited, RatingChange, Replay, RoundVoided
from equipoise.web.players import all_seen, names_of
from equipoise.web.routes import Asked, refused


async def set_player(asked: Asked) -> PlayerEdited:
    """Set a player's rating; one who was never seen here only with `new`."""
    return await _edit(asked, asked.body.rating, new=asked.body.new)


async def reset_player(asked: Asked) -> PlayerEdited:
    """Make a player a newcomer again."""
    return await _edit(asked, None, new=False)


async def undo_edit(asked: Asked) -> EditUndone:
    """Take back the last edit of a player; when it was taken back already, apply it again."""
    pool = asked.services.pool(asked.query.pool)
    id = await known_player(pool, asked.path["id"])
    revised = await pool.undo(id, asked.caller.who, trial=asked.body.dry_run)
    undone = revised.undone
    assert undone is not None
    return EditUndone(
        pool=pool.name,
        again=revised.back,
        edit=undone,
        replay=await _replay(pool, revised, dry_run=asked.body.dry_run),
    )


async def void_round(asked: Asked) -> RoundVoided:
    """Take a round out of the ratings; with `undo`, put it back."""
    server, round, body = ServerId(asked.path["server"]), RoundId(asked.path["round"]), asked.body
    pool = await _pool_of(asked, server, round)
    strike = RoundStrike(server, round, body.undo)
    revised = await pool.void(strike, asked.caller.who, body.reason, trial=body.dry_run)
    replay = await _replay(pool, revised, dry_run=body.dry_run)
    return RoundVoided(pool=pool.name, server=server, round=round, void=not revised.back, replay=replay)


async def _edit(asked: Asked, rating: float | None, *, new: bool) -> PlayerEdited:
    pool, text = asked.services.pool(asked.query.pool), asked.path["id"]
    id = await (player_id if new or is_bot(PlayerId(text)) else known_player)(pool, text)
    try:
        edited = await pool.edit(id, rating, asked.caller.who)
    except RatingError as error:
        raise ScriptError("rating", str(error), path="$.rating") from None
    name = (await names_of(pool, (id,))).get(id)
    both = [replace(each, name=name) for each in (edited.before, edited.after)]
    before, after = await all_seen(asked.services, pool, both)
    return PlayerEdited(pool=pool.name, before=before, player=after)


async def _pool_of(asked: Asked, server: ServerId, round: RoundId) -> Pool:
    name = await asked.services.store.pool_of(server, round)
    if name is not None and name in asked.services.pools:
        return asked.services.pools[name]
    if name is not None:
        raise refused("refused", f"pool {name}, which round {round} of {server} belongs to, is not configured")
    if any((server, round) in pool.ring for pool in asked.services.pools.values()):
        raise refused("refused", f"round {round} of {server} waits for the store: try again when it is stored")
    raise ScriptError("not_found", f"round {round} of {server} is not stored", status=404)


async def _replay(pool: Pool, revised: Revised, *, dry_run: bool) -> Replay:
    names = await names_of(pool, [shift.id for shift in revised.shifts])
    return Replay(
        dry_run=dry_run,
        rounds=revised.rounds,
        edits=revised.edits,
        lost_edits=revised.lost,
        refitted=revised.refitted,
        changes=tuple(
            RatingChange(
                id=PlayerId(shift.id),
                name=names.get(shift.id),
                before=shift.before,
                after=shift.after,
                rounds_before=shift.rounds_before,
                rounds_after=shift.rounds_after,
            )
            for shift in revised.shifts
        ),
    )
