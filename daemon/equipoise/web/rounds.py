"""Rounds: one that a program submits, and stored ones with what they did to players.

POST /v1/rounds, GET /v1/admin/rounds, GET /v1/admin/rounds/{server}/{round}, POST …/void, GET
/v1/admin/players/{id}/rounds, …/curve, …/mates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from equipoise.core.model import Mode, PlayerId, RoundId, ServerId, Side, interval
from equipoise.core.participation import recorded
from equipoise.errors import ScriptError
from equipoise.ratings.system import System
from equipoise.service.pool import Pool
from equipoise.store.listings import EditOf, Played, StoredMatch
from equipoise.store.notes import Audit
from equipoise.store.past import VoidStrike
from equipoise.web.players import InPool, Replay, concealed_from, known_player, names_of, replay_of
from equipoise.web.routes import (
    ADMINS,
    LARGEST,
    READERS,
    WRITERS,
    Ask,
    Listed,
    Ok,
    Paged,
    Request,
    Routes,
    Services,
    check_server,
    page,
    refused,
)
from equipoise.wire.batches import Here, RoundSubmitted
from equipoise.wire.scalars import Word

CURVE_STRETCHES = 250
"""Twice as many points are as many as a picture has columns."""
MOST_COMPANY = 2000
"""Rounds of a player whose other players are looked for: 24 rows each, a few milliseconds for 500."""
MOST_EDITS = 1000
"""Edits between the rounds of a page."""

routes = Routes()


class Submission(Ask, frozen=True):
    """A finished round of a configured server."""

    server: Word
    round: RoundSubmitted
    """The round, with the fields of `round_ended`."""


class Rerated(msgspec.Struct, frozen=True):
    """A participant's ratings before and after the round."""

    id: PlayerId
    side: str
    """The side that they played for: `a` or `b`."""
    before: float
    """Their rating before the round."""
    after: float
    """Their rating after it."""
    rounds: int
    """Rated rounds with this one."""
    visible: bool


class Receipt(Ok, frozen=True):
    """The result of a round; one that comes again gets its first answer."""

    status: Literal["stored", "kept"]
    """`stored`, or `kept` in the daemon's ring."""
    win_probability: float | None
    """Win probability of side A, as predicted; null when it was not rated, or is kept."""
    unrated: str | None
    """Why it was not rated."""
    players: tuple[Rerated, ...]
    """The rated players."""


@routes.add(
    "POST",
    "/v1/rounds",
    "A finished round",
    WRITERS,
    body=Submission,
    body_example={
        "server": "arena-1",
        "round": {
            "round": "1763622000123-1",
            "session": "1763622000123-1",
            "map": "arena_lumberyard",
            "game": "tf2",
            "facts": {"game_type": 4},
            "started_at": 1763622040.0,
            "seconds": 95.0,
            "winner": "red",
            "captures": {"red": 1, "blu": 0},
            "lineup": [{"id": "76561197960265729", "side": "red"}, {"id": "76561197960265730", "side": "blu"}],
            "players": [
                {
                    "id": "76561197960265729",
                    "side": "red",
                    "seconds": {"red": 95.0},
                    "fought": True,
                    "counts": {
                        "kills": 2,
                        "deaths": 0,
                        "assists": 1,
                        "points": 4,
                        "classes": {"soldier": 95.0},
                        "suicides": 1,
                    },
                },
                {"id": "76561197960265730", "side": "blu", "seconds": {"blu": 95.0}, "fought": True},
            ],
        },
    },
    reply_example={
        "ok": True,
        "status": "stored",
        "win_probability": 0.5,
        "unrated": None,
        "players": [
            {"id": "76561197960265729", "side": "a", "before": 1000.0, "after": 1018.0, "rounds": 1, "visible": False},
            {"id": "76561197960265730", "side": "b", "before": 1000.0, "after": 982.0, "rounds": 1, "visible": False},
        ],
    },
)
async def take_round(request: Request) -> Receipt:
    """Rate and store a round that did not come in a batch. No session sees it; an admin's is written to the audit."""
    body: Submission = request.body
    server = ServerId(str(body.server))
    match = body.round.finished(Here(server, "$.round", 0.0))
    check_server(request.caller, server)
    host = request.services.host(server)
    record = recorded(match, host.rules)
    if request.caller.role == "admin":
        who, now = request.caller.who, request.services.clock.epoch()
        await request.services.store.audit(Audit(now, who, "round", server, "", match.id))
    # No memory: the session has not seen this round.
    result = await host.pool.record(record, None)
    outcome = result.rated
    return Receipt(
        status=result.status,
        win_probability=outcome.prediction if outcome else None,
        unrated=outcome.unrated if outcome else record.unrated,
        players=tuple(
            Rerated(change.id, change.side.value, change.before, change.after, change.rounds, change.visible)
            for change in (outcome.changes if outcome else ())
        ),
    )


class HistoryFilter(Paged, frozen=True):
    """Rounds of one server, or of all; on one map, or on all; of one player, or of all."""

    server: str | None = None
    map: Annotated[str, Meta(max_length=256)] | None = None
    """The map's whole name."""
    player: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """An id in any form, or a name that only one player has: their rated rounds."""
    pool: str | None = None
    """The player's; may be left out where there is only one."""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A round as it is listed."""

    round: RoundId
    server: ServerId
    pool: str
    map: str
    mode: Mode
    """The mode, which decides when a scramble is due."""
    sides: tuple[str, str]
    at: float
    """When it first came in, seconds since the epoch."""
    started_at: float
    """When the round went live, in seconds since the epoch."""
    seconds: float
    """How long it was live, in seconds."""
    winner: Side | None
    """Null: a stalemate."""
    players_a: int
    """How many were on side A when it went live; 0 where its participants were deleted for their age."""
    players_b: int
    """How many were on side B."""
    win_probability: float | None
    """Win probability of side A, as players heard it: by the system that makes the teams, for rounds from before there
    was one by that of the ratings; null when it was not rated."""
    rating_probability: float | None
    """The same by the system of the ratings, which they changed by."""
    predicted_by: str | None
    """The system that `win_probability` is of; null when it was not rated, or its pool is not configured."""
    unrated: str | None
    """Why it was not rated."""
    void: bool
    """An admin took it out of the ratings."""


class Rounds(Listed, frozen=True):
    """Stored rounds, newest first."""

    rounds: tuple[Listing, ...]
    """A page of them, newest first."""


@routes.add("GET", "/v1/admin/rounds", "Stored rounds", READERS, query=HistoryFilter)
async def list_rounds(request: Request) -> Rounds:
    """The newest rounds; of a player only rated ones, because the others name no participants."""
    services, query = request.services, request.query
    server = None if query.server is None else ServerId(query.server)
    if query.player is None:
        rows = await services.store.rounds(server, query.before, query.limit, map_name=query.map)
    else:
        pool = services.pool(query.pool)
        player = await known_player(request, pool, query.player, path="?player")
        history = await services.store.played(pool.name, player, server, query.before, query.limit, query.map)
        rows = [row for row, _ in history]
    rows, before = page(rows, query, lambda row: row.at, lambda row: row.number)
    return Rounds(rounds=tuple(_seen(services, row) for row in rows), before=before)


class Report(Ok, frozen=True):
    """A round, who was rated for it, and who else stood on a side when it went live."""

    round: Listing
    """The round as it is listed."""
    captures: tuple[int, int]
    """How often side A and side B captured, over all stages."""
    pruned: bool
    """Rows of its participants were deleted for their age."""
    lineup: tuple[tuple[PlayerId, ...], tuple[PlayerId, ...]]
    """The players on side A and on side B when it went live."""
    players: tuple[Played, ...]
    """The players whom it was rated for."""
    names: Mapping[PlayerId, str]
    """Last known names."""


@routes.add("GET", "/v1/admin/rounds/{server}/{round}", "A round", READERS)
async def show_round(request: Request) -> Report:
    """One round, with its sides."""
    services, server, number = request.services, request.path["server"], request.path["round"]
    result = await services.store.round(ServerId(server), RoundId(number))
    if result is None:
        message = f"no round {number} of server {server} is stored; `equipoise round list` has those that are"
        raise ScriptError("not_found", message, status=404)
    row, players = result
    pool, hidden_ids = services.pools.get(row.pool), await concealed_from(request)
    a, b = (tuple(player for player in side if player not in hidden_ids) for side in (row.lineup_a, row.lineup_b))
    players = [player for player in players if player.id not in hidden_ids]
    ids = (*a, *b, *(player.id for player in players))
    return Report(
        round=_seen(services, row),
        captures=(row.captures_a, row.captures_b),
        pruned=row.pruned,
        lineup=(a, b),
        players=tuple(players),
        names={} if pool is None else await names_of(pool, ids),
    )


class OfPlayer(Paged, frozen=True):
    """A pool by name, which may be left out where there is only one, and a server."""

    pool: str | None = None
    """The rating population; may be left out where there is only one."""
    server: str | None = None


class Appearance(msgspec.Struct, frozen=True):
    """A rated round of a player."""

    round: Listing
    """The round as it is listed."""
    played: Played
    """The player's part in it, and its effect on their rating."""


class OfOne(Ok, frozen=True, kw_only=True):
    """An answer about one player of a pool."""

    pool: str
    player: PlayerId
    """The player."""
    name: str | None


class History(OfOne, frozen=True, kw_only=True):
    """The rated rounds of a player, newest first."""

    rounds: tuple[Appearance, ...]
    """Their rated rounds, newest first."""
    edits: tuple[EditOf, ...]
    """Changes of the rating between these rounds; none where a server is named."""
    before: int | None
    """The value of `before` that asks for the next page; null at the end."""


@routes.add("GET", "/v1/admin/players/{id}/rounds", "A player's rated rounds", READERS, query=OfPlayer)
async def show_history(request: Request) -> History:
    """The rated rounds of a player, newest first."""
    services, query = request.services, request.query
    pool = services.pool(query.pool)
    player = await known_player(request, pool, request.path["id"])
    server = None if query.server is None else ServerId(query.server)
    history = await services.store.played(pool.name, player, server, query.before, query.limit)
    rows, before = page(history, query, lambda row: row[0].at, lambda row: row[0].number)
    names = await names_of(pool, (player,))
    edits = [] if query.server else await services.store.edits_of(pool.name, player, query.before, MOST_EDITS)
    return History(
        pool=pool.name,
        player=player,
        name=names.get(player),
        rounds=tuple(Appearance(_seen(services, row), part) for row, part in rows),
        edits=tuple(edit for edit in edits if edit.number > (before or 0) and edit.at >= (query.since or -math.inf)),
        before=before,
    )


class CurvePoint(msgspec.Struct, frozen=True):
    """A rating at a moment."""

    at: float
    """When the round went live or the edit was made, in seconds since the epoch."""
    rating: float
    """The rating after it, in points."""
    low: float | None
    """The lower end of its 80 % interval; null where that is not known: after edits, and of systems without one."""
    high: float | None
    """The upper end."""
    edit: str | None
    """What an admin or a job did: `set`, `reset`, `refit` and the like; null after a round."""
    visible: bool
    """The rating might be shown then; of an edit, that is not known."""


class Curve(OfOne, frozen=True, kw_only=True):
    """A player's rating over time."""

    rounds: int
    """The rated rounds that it is made of."""
    points: tuple[CurvePoint, ...]
    """Oldest first. Of many rounds those are left out that change nothing in a picture: each stretch keeps its lowest
    and its highest."""


@routes.add("GET", "/v1/admin/players/{id}/curve", "A player's rating over time", READERS, query=InPool)
async def show_curve(request: Request) -> Curve:
    """The rating of a player over all their rated rounds, and what admins and jobs made of it."""
    pool = request.services.pool(request.query.pool)
    player, store = await known_player(request, pool, request.path["id"]), request.services.store
    rounds = await store.ratings_of(pool.name, player)
    edits = await store.edits_of(pool.name, player, None, MOST_EDITS)
    numbers, ratings = [number for number, _, _ in rounds], [rating for _, rating, _ in rounds]
    places = drawn(ratings, CURVE_STRETCHES)
    moments = await store.moments_of(pool.name, player, [numbers[place] for place in places])
    bands = _bands(pool.system, player, [state for _, state in moments])
    points = [
        (numbers[place], CurvePoint(at, ratings[place], band[0], band[1], None, rounds[place][2]))
        for place, (at, _), band in zip(places, moments, bands, strict=True)
    ] + [
        (edit.number, CurvePoint(edit.at, edit.after, None, None, edit.action, False))
        for edit in edits
        if not edit.undone
    ]
    return Curve(
        pool=pool.name,
        player=player,
        name=(await names_of(pool, (player,))).get(player),
        rounds=len(rounds),
        points=tuple(point for _, point in sorted(points, key=lambda entry: entry[0])),
    )


def _bands(
    system: System[Any], player: PlayerId, states: Sequence[Mapping[str, object]]
) -> list[tuple[float, float] | tuple[None, None]]:
    """Return the 80 % interval of the rating in each of a player's states, where the system knows that."""
    reader = type(system)(system.params)
    bands: list[tuple[float, float] | tuple[None, None]] = []
    for state in states:
        reader.restore(player, state)
        skill, deviation = reader.skill(player), reader.deviation(player)
        # A rating that is no skill, such as a lower bound of one, is in no such interval.
        is_skill = deviation is not None and math.isclose(skill, reader.summary(player).rating, abs_tol=0.01)
        bands.append(interval(skill, deviation) if deviation is not None and is_skill else (None, None))
    return bands


def drawn(values: Sequence[float], stretches: int) -> list[int]:
    """Return the places that a curve of so many stretches needs: of each its lowest and highest, and both ends.

    >>> drawn([1.0, 5.0, 2.0, 3.0, 0.0, 4.0], 2)
    [0, 1, 4, 5]
    """
    length = -(-len(values) // stretches)
    places = {0, len(values) - 1} if values else set()
    for start in range(0, len(values), max(length, 1)):
        stretch = range(start, min(start + length, len(values)))
        places |= {min(stretch, key=values.__getitem__), max(stretch, key=values.__getitem__)}
    return sorted(places)


class LastOfPlayer(InPool, frozen=True):
    """A player's last rated rounds."""

    rounds: Annotated[int, Meta(ge=1, le=MOST_COMPANY)] = 500
    """The most of them."""
    limit: Annotated[int, Meta(ge=1, le=MOST_COMPANY)] = 10
    """The most players to return, with and against."""


class Mate(msgspec.Struct, frozen=True):
    """Another player, and how rounds with or against them went."""

    id: PlayerId
    """The other player."""
    name: str | None
    rounds: int
    """Rated rounds with them, or against them."""
    score: float
    """What the player scored in these: 1 for a win, 0.5 for a draw."""


class Mates(OfOne, frozen=True, kw_only=True):
    """With and against whom a player played, those with the most rounds first."""

    beside: tuple[Mate, ...]
    """On the same side."""
    against: tuple[Mate, ...]
    """On the other one."""


@routes.add("GET", "/v1/admin/players/{id}/mates", "With and against whom a player played", READERS, query=LastOfPlayer)
async def show_mates(request: Request) -> Mates:
    """The others in the last rated rounds of a player, with and against them."""
    query = request.query
    pool = request.services.pool(query.pool)
    player = await known_player(request, pool, request.path["id"])
    hidden_ids = await concealed_from(request)
    company = await request.services.store.company(pool.name, player, query.rounds)
    rows = sorted((row for row in company if row.id not in hidden_ids), key=lambda row: (-row.rounds, row.id))
    sides = [[row for row in rows if row.beside is beside][: query.limit] for beside in (True, False)]
    names = await names_of(pool, (player, *(row.id for side in sides for row in side)))
    beside, against = (tuple(Mate(row.id, names.get(row.id), row.rounds, row.score) for row in side) for side in sides)
    return Mates(pool=pool.name, player=player, name=names.get(player), beside=beside, against=against)


class Void(Ask, frozen=True):
    """Take a round out of the ratings."""

    reason: Annotated[str, Meta(max_length=200)] = ""
    """Why, in words, for the audit."""
    undo: bool = False
    """Put it back instead."""
    last_edit: Annotated[int, Meta(ge=0, le=LARGEST)] | None = None
    """Only while this is the number of the pool's last edit, as a dry run said."""
    dry_run: bool = False
    """Say what would change, and change nothing."""


class Voided(Ok, frozen=True, kw_only=True):
    """A round that was taken out of the ratings or put back, and what that changes."""

    pool: str
    server: ServerId
    round: RoundId
    void: bool
    """Whether the round is out of the ratings."""
    last_edit: int
    """The number of the pool's last edit of ratings; 0: there is none."""
    replay: Replay
    """The changes by the replay of the following rounds."""


@routes.add(
    "POST",
    "/v1/admin/rounds/{server}/{round}/void",
    "Take a round out of the ratings",
    ADMINS,
    body=Void,
    body_example={"reason": "a cheater played", "dry_run": True},
)
async def void_round(request: Request) -> Voided:
    """Take a round out of the ratings; with `undo`, put it back."""
    server, number, body = ServerId(request.path["server"]), RoundId(request.path["round"]), request.body
    pool = await _pool_of(request, server, number)
    strike = VoidStrike(server, number, body.undo)
    last_edit = await pool.store.last_edit_number(pool.name)  # before the trial: what comes meanwhile is noticed
    revision = await pool.void(strike, request.caller.who, body.reason, last_edit=body.last_edit, trial=body.dry_run)
    if not body.dry_run:
        last_edit = await pool.store.last_edit_number(pool.name)
    replay = await replay_of(pool, revision, dry_run=body.dry_run)
    void = not revision.back
    return Voided(pool=pool.name, server=server, round=number, void=void, last_edit=last_edit, replay=replay)


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


def _seen(services: Services, row: StoredMatch) -> Listing:
    pool = services.pools.get(row.pool)
    # By name: the system that makes the teams is not there while it is built anew.
    by = None if pool is None else pool.follower.name if row.balanced and pool.follower else pool.system.name
    return Listing(
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
        predicted_by=None if row.prediction is None else by,
        unrated=row.unrated,
        void=row.void,
    )
