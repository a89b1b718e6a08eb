"""Players for admins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from equipoise.core.model import PlayerId, PlayerSummary, interval
from equipoise.errors import StoreError
from equipoise.service.pool import Pool
from equipoise.store.listings import Record
from equipoise.web.ids import known_player
from equipoise.web.messages.players import Interval, PlayerFound, PlayerSeen, PlayersFound, RecordSeen, Top
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
    (player,) = await all_seen(services, pool, [replace(summary, name=names.get(summary.id))])
    return PlayerFound(pool=pool.name, player=player)


async def all_seen(services: Services, pool: Pool, summaries: Sequence[PlayerSummary]) -> tuple[PlayerSeen, ...]:
    """Players as admins see them, with the names of the summaries."""
    records = await _records_of(pool, [each.id for each in summaries])
    return tuple(_seen(services, pool, each, records) for each in summaries)


async def _records_of(pool: Pool, ids: Sequence[PlayerId]) -> Mapping[PlayerId, Record] | None:
    """Records; None while the store does not answer, because they are not worth a refusal."""
    try:
        return await pool.store.records(pool.name, ids)
    except StoreError:
        return None


def _seen(
    services: Services, pool: Pool, summary: PlayerSummary, records: Mapping[PlayerId, Record] | None
) -> PlayerSeen:
    record = None if records is None else records[summary.id]
    low, high = interval(summary.balance, summary.deviation or 0.0)
    return PlayerSeen(
        id=summary.id,
        name=summary.name,
        rating=summary.rating,
        rounds=summary.rounds,
        visible=summary.visible,
        stale=pool.system.stale(summary.last_played, services.clock.epoch()),
        last_played=summary.last_played,
        skill=summary.balance,
        skill_by=pool.balancing.name if pool.follower is not None and pool.follower.ready else None,
        deviation=summary.deviation,
        interval=None if summary.deviation is None else Interval(low, high),
        record=None if record is None else RecordSeen(record.wins, record.draws, record.losses, record.leaves),
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
    if newcomer.skills is not None or newcomer.deviation is not None:
        summaries = await _with_skills(pool, summaries)
    crowd = await pool.store.crowd(pool.name, since=pool.active_since())
    return Top(
        pool=pool.name,
        players=await all_seen(asked.services, pool, summaries),
        shadow_rounds=newcomer.missing,
        shadow=crowd.count - crowd.visible,
        stale=crowd.stale,
    )


async def _with_skills(pool: Pool, rows: Sequence[PlayerSummary]) -> tuple[PlayerSummary, ...]:
    """The leaderboard's rows with what is in the players' states."""
    states = await pool.summaries([each.id for each in rows])
    return tuple(
        replace(row, skill=state.skill, deviation=state.deviation, skills=state.skills)
        for row, state in zip(rows, states, strict=True)
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
    named = [replace(summary, name=row.name) for summary, row in zip(summaries, rows, strict=True)]
    return PlayersFound(pool=pool.name, players=await all_seen(asked.services, pool, named))
