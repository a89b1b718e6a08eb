"""Players for admins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import StoreError
from equipoise.service.pool import Pool
from equipoise.web.ids import known_player
from equipoise.web.messages.players import PlayerFound, PlayerSeen, PlayersFound, Top
from equipoise.web.routes import Asked
from equipoise.web.services import Services
from equipoise.wire.steam_ids import written_id


async def show_player(asked: Asked) -> PlayerFound:
    """One player who was seen in the pool."""
    pool = asked.services.pool(asked.query.pool)
    id = await known_player(pool, asked.path["id"])
    return await _found(asked.services, pool, await pool.looked_up(id))


async def _found(services: Services, pool: Pool, summary: PlayerSummary) -> PlayerFound:
    names = await names_of(pool, (summary.id,))
    return PlayerFound(pool=pool.name, player=seen(services, pool, summary, names.get(summary.id)))


def seen(services: Services, pool: Pool, summary: PlayerSummary, name: str | None) -> PlayerSeen:
    """A player as admins see them."""
    return PlayerSeen(
        id=summary.id,
        name=name,
        rating=summary.rating,
        rounds=summary.rounds,
        visible=summary.visible,
        stale=pool.system.stale(summary.last_played, services.clock.epoch()),
        last_played=summary.last_played,
        skills=summary.skills,
    )


async def names_of(pool: Pool, ids: Iterable[PlayerId]) -> Mapping[PlayerId, str]:
    """Last known names; empty while the store does not answer, because names are not worth a refusal."""
    try:
        return await pool.store.names(pool.name, tuple(ids))
    except StoreError:
        return {}


async def show_top(asked: Asked) -> Top:
    """The leaderboard of a pool, best first."""
    pool = asked.services.pool(asked.path["pool"])
    newcomer = pool.summary(PlayerId("0"))
    summaries = await pool.top(asked.query.limit)
    if newcomer.skills is not None:  # the leaderboard's rows have none: they are in the players' states
        states = await pool.summaries([each.id for each in summaries])
        summaries = tuple(replace(row, skills=each.skills) for row, each in zip(summaries, states, strict=True))
    crowd = await pool.store.crowd(pool.name, since=pool.active_since())
    return Top(
        pool=pool.name,
        players=tuple(seen(asked.services, pool, summary, summary.name) for summary in summaries),
        shadow_rounds=newcomer.missing,
        shadow=crowd.count - crowd.visible,
        stale=crowd.stale,
    )


def _sought(text: str) -> str:
    """The SteamID64 where the text is an id in another form."""
    try:
        return text if text.isdecimal() else written_id(text) or text
    except ValueError:
        return text


async def find_players(asked: Asked) -> PlayersFound:
    """Players by a part of their id or name."""
    pool = asked.services.pool(asked.path["pool"])
    rows = await pool.store.search(pool.name, _sought(asked.query.text), asked.query.limit)
    summaries = await pool.summaries([row.id for row in rows])
    found = (seen(asked.services, pool, summary, row.name) for summary, row in zip(summaries, rows, strict=True))
    return PlayersFound(pool=pool.name, players=tuple(found))
