"""Stored rounds for admins, and what they did to players."""

from __future__ import annotations

import math

from equipoise.core.model import PlayerId, RoundId, ServerId
from equipoise.errors import ScriptError
from equipoise.store.listings import StoredRound
from equipoise.web.ids import known_player
from equipoise.web.messages.past import History, RoundFound, RoundPlayed, Rounds, RoundSeen
from equipoise.web.pages import page
from equipoise.web.players import names_of
from equipoise.web.routes import Asked
from equipoise.web.services import Services

MOST_EDITS = 1000
"""Edits between the rounds of a page."""


async def list_rounds(asked: Asked) -> Rounds:
    """The newest rounds; of a player only rated ones, because the others name no participants."""
    services, query = asked.services, asked.query
    server = None if query.server is None else ServerId(query.server)
    if query.player is None:
        rows = await services.store.rounds(server, query.before, query.limit)
    else:
        pool = services.pool(query.pool)
        id = await known_player(pool, query.player, path="?player")
        played = await services.store.played(pool.name, id, server, query.before, query.limit)
        rows = [round for round, _ in played]
    kept, before = page(rows, query, lambda row: row.at, lambda row: row.number)
    return Rounds(rounds=tuple(_seen(services, row) for row in kept), before=before)


async def show_round(asked: Asked) -> RoundFound:
    """One round, with its sides."""
    services, server, id = asked.services, asked.path["server"], asked.path["round"]
    found = await services.store.round(ServerId(server), RoundId(id))
    if found is None:
        raise ScriptError("not_found", f"no round {id} of server {server} is stored", status=404)
    round, players = found
    named: list[PlayerId] = [*round.lineup_a, *round.lineup_b, *(one.id for one in players)]
    pool = services.pools.get(round.pool)
    return RoundFound(
        round=_seen(services, round),
        captures=(round.captures_a, round.captures_b),
        pruned=round.pruned,
        lineup=(round.lineup_a, round.lineup_b),
        players=tuple(players),
        names={} if pool is None else await names_of(pool, named),
    )


async def show_history(asked: Asked) -> History:
    """The rated rounds of a player, newest first."""
    services, query = asked.services, asked.query
    pool = services.pool(query.pool)
    id = await known_player(pool, asked.path["id"])
    server = None if query.server is None else ServerId(query.server)
    rows = await services.store.played(pool.name, id, server, query.before, query.limit)
    kept, before = page(rows, query, lambda row: row[0].at, lambda row: row[0].number)
    names = await names_of(pool, (id,))
    rounds = tuple(RoundPlayed(_seen(services, round), played) for round, played in kept)
    edits = [] if query.server else await services.store.edits_of(pool.name, id, query.before, MOST_EDITS)
    return History(
        pool=pool.name,
        player=id,
        name=names.get(id),
        rounds=rounds,
        edits=tuple(edit for edit in edits if edit.number > (before or 0) and edit.at >= (query.since or -math.inf)),
        before=before,
    )


def _seen(services: Services, row: StoredRound) -> RoundSeen:
    return RoundSeen(
        round=row.id,
        server=row.server,
        pool=row.pool,
        map=row.map,
        mode=row.mode,
        sides=services.sides(row.server) or row.mode.sides,
        at=row.at,
        started_at=row.started_at,
        seconds=row.seconds,
        winner=row.winner,
        players_a=len(row.lineup_a),
        players_b=len(row.lineup_b),
        win_probability=row.prediction,
        rating_probability=row.rating_prediction,
        unrated=row.unrated,
    )
