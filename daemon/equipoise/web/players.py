"""Players: one, those whose id or name has a text, the leaderboard, and edits by admins; how any request names them.

GET, PUT and DELETE /v1/admin/players/{id}, POST …/undo, GET /v1/admin/pools/{pool}/players and …/top. People name a
player by an id in any of the forms in which it is written, or by the last name the player had. Each edit is written to
the audit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, structs

from equipoise.core.model import PlayerId, PlayerSummary, Skills, interval, is_bot
from equipoise.errors import RatingError, ScriptError, StoreError
from equipoise.service.boards import Progress
from equipoise.service.pool import Pool
from equipoise.store.past import Undone
from equipoise.store.recalculation import Revised
from equipoise.store.round_rows import Record
from equipoise.web.routes import ADMINS, LARGEST, READERS, Ask, Limited, Ok, Request, Routes, Services
from equipoise.wire.scalars import FORMS, written_id

Points = Annotated[float, Meta(ge=-1e9, le=1e9)]

T = TypeVar("T")

WEEK, MONTH = 7, 30
"""Days."""
MOST_LISTED = 10
"""Players who are listed where a name fits several."""

routes = Routes()


class InPool(Ask, frozen=True):
    """A pool by name; it may be left out where there is only one."""

    pool: str | None = None
    """The rating population; may be left out where there is only one."""


class Interval(msgspec.Struct, frozen=True):
    """The interval in which a number that is only estimated lies with a probability of 80 %."""

    low: float
    """The lower end."""
    high: float
    """The upper end."""


class PlayerSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A player as admins see them."""

    id: PlayerId
    name: str | None
    rating: float
    """The rating, in points."""
    rounds: int
    """Rated rounds so far."""
    visible: bool
    stale: bool
    """Without a rated round for so long that they are not on the leaderboard."""
    last_played: float | None
    """Seconds since the epoch."""
    skill: float
    """The number that splits balance."""
    skill_by: str | None
    """The system that makes the teams, which `skill`, `deviation` and `interval` are of; null where that is the one of
    `rating`."""
    deviation: float | None
    """The standard deviation of `skill`; null where the rating system knows none."""
    interval: Interval | None
    """The 80 % interval of `skill`; null where the rating system knows none."""
    record: Record | None
    """Null while the store does not answer."""
    skills: Skills | None
    """Skills by side and as a commander; null where the rating system has one skill for a player."""
    hidden: bool
    """They are rated and shown nowhere: only admins are answered about them."""


class PlayerFound(Ok, frozen=True):
    """A player and the pool that the rating is of."""

    pool: str
    player: PlayerSeen
    """The player."""
    place: int | None
    """Their place on the leaderboard, 1 for the best; null: they are not on it, or the store does not answer."""
    length: int | None
    """Players on the whole leaderboard; null where `place` is."""
    version: int | None
    """A number that grows with every change of the player; an edit may name it. Null while the store does not
    answer."""


@routes.add(
    "GET",
    "/v1/admin/players/{id}",
    "A player",
    READERS,
    query=InPool,
    reply_example={
        "ok": True,
        "pool": "main",
        "player": {
            "id": "76561197960265729",
            "name": "Ann",
            "rating": 1500.0,
            "rounds": 212,
            "visible": True,
            "stale": False,
            "last_played": 1763622135.0,
            "skill": 1500.0,
            "skill_by": None,
            "deviation": 78.0,
            "interval": {"low": 1400.0, "high": 1600.0},
            "record": {"wins": 109, "draws": 4, "losses": 99, "leaves": 6},
            "skills": None,
            "hidden": False,
        },
        "place": 12,
        "length": 150,
        "version": 214,
    },
)
async def show_player(request: Request) -> PlayerFound:
    """One player who was seen in the pool."""
    services, pool = request.services, request.services.pool(request.query.pool)
    summary = await pool.looked_up(await known_player(request, pool, request.path["id"]))
    names = await names_of(pool, (summary.id,))
    (player,) = await all_seen(services, pool, [replace(summary, name=names.get(summary.id))])
    return PlayerFound(pool=pool.name, player=player, **await _standing(pool, player.id))


async def _standing(pool: Pool, player: PlayerId) -> dict[str, Any]:
    """Return the fields of `PlayerFound` that only the store knows; they are not worth a refusal."""
    try:
        place, length = await pool.rank(player) or (None, None)
        return {"place": place, "length": length, "version": await pool.stored_version(player)}
    except StoreError:
        return {"place": None, "length": None, "version": None}


class Sought(Limited, frozen=True, kw_only=True):
    """Part of an id or of a name."""

    text: Annotated[str, Meta(min_length=1, max_length=128)]
    """A part of an id or of a name."""


class PlayersFound(Ok, frozen=True):
    """Highest rating first; shadow ratings and stale players too."""

    pool: str
    players: tuple[PlayerSeen, ...]
    """Those whose id or name has the text."""


@routes.add("GET", "/v1/admin/pools/{pool}/players", "Players by a part of their id or name", READERS, query=Sought)
async def find_players(request: Request) -> PlayersFound:
    """Players by a part of their id or name."""
    pool, text = request.pool, request.query.text
    if not text.isdecimal():
        with suppress(ValueError):  # no id in another form is a part of a name
            text = written_id(text) or text
    rows = await pool.store.search(pool.name, text, request.query.limit)
    hidden_ids = await concealed_from(request)
    rows = [row for row in rows if row.id not in hidden_ids]
    summaries = await pool.summaries([row.id for row in rows])
    summaries = tuple(replace(summary, name=row.name) for summary, row in zip(summaries, rows, strict=True))
    return PlayersFound(pool=pool.name, players=await all_seen(request.services, pool, summaries))


class BesidePlayer(Limited, frozen=True):
    """A page of the leaderboard."""

    after: Annotated[str, Meta(max_length=256)] | None = None
    """The id of the player behind whom it goes on, as the answer said."""
    before: Annotated[str, Meta(max_length=256)] | None = None
    """The id of the player at whom it ends; `after` goes before."""


class Leader(PlayerSeen, frozen=True, kw_only=True):
    """A player on the leaderboard, and how far they have come."""

    place: int
    """Their place, 1 for the best."""
    week: Progress | None
    """Since a week ago, to the hour; null: it is being worked out, ask again."""
    month: Progress | None
    """Since 30 days ago."""


class Top(Ok, frozen=True):
    """The leaderboard, without shadow ratings and stale players."""

    pool: str
    players: tuple[Leader, ...]
    """The best first."""
    length: int
    """Players on the whole of it."""
    before: PlayerId | None
    """The value of `before` that asks for the places above these; null at the top."""
    after: PlayerId | None
    """The value of `after` that asks for the places below these; null at the end."""
    shadow_rounds: int
    """Rated rounds until a rating is shown."""
    shadow: int
    """Players who have not played as many."""
    stale: int
    """Players who played too long ago."""


@routes.add("GET", "/v1/admin/pools/{pool}/top", "The leaderboard", READERS, query=BesidePlayer)
async def show_top(request: Request) -> Top:
    """The leaderboard of a pool, best first."""
    pool, query = request.pool, request.query
    newcomer = pool.summary(PlayerId("0"))
    before = None if query.after else query.before
    start = query.after or before
    if request.caller.role != "admin" and start and await pool.rank(PlayerId(start)) is None:
        # Beside whom somebody hidden, or in their shadow period, stands would say their rating.
        message = f"{start} is not on the leaderboard any more: begin at the top"
        raise ScriptError("not_found", message, path="?after" if query.after else "?before", status=404)
    rows = await pool.top(query.limit, after=query.after and PlayerId(query.after), before=before and PlayerId(before))
    if start:
        first, length = (rows and await pool.rank(rows[0].id)) or (1, len(rows))
    else:  # a place is counted out among all, and this one is known
        first, length = 1, await pool.store.board_length(pool.name, since=pool.active_since())
    if newcomer.skills is not None or newcomer.deviation is not None:  # then the players' states say more than the rows
        states = await pool.summaries([row.id for row in rows])
        rows = tuple(
            replace(row, skill=state.skill, deviation=state.deviation, skills=state.skills)
            for row, state in zip(rows, states, strict=True)
        )
    crowd = await pool.store.crowd(pool.name, since=pool.active_since())
    players = await all_seen(request.services, pool, rows)
    weeks, months = [await pool.boards.progress(rows, days) for days in (WEEK, MONTH)]
    return Top(
        pool=pool.name,
        players=tuple(
            Leader(**structs.asdict(player), place=place, week=week, month=month)
            for place, (player, week, month) in enumerate(zip(players, weeks, months, strict=True), first)
        ),
        length=length,
        before=players[0].id if players and first > 1 else None,
        after=players[-1].id if players and first + len(players) <= length else None,
        shadow_rounds=newcomer.missing,
        shadow=crowd.count - crowd.visible,
        stale=crowd.stale,
    )


class Undo(Ask, frozen=True, kw_only=True):
    """Take back a player's last edit."""

    version: Annotated[int, Meta(ge=0, le=LARGEST)] | None = None
    """Only while the player has this version."""
    dry_run: bool = False
    """Say what would change, and change nothing."""


class RatingSet(Undo, frozen=True, kw_only=True):
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
    body_example={"rating": 1500},
)
async def set_player(request: Request) -> PlayerEdited:
    """Set a player's rating; one who was never seen here only with `new`."""
    body = request.body
    return await _edit(request, body.rating, new=body.new, version=body.version, trial=body.dry_run)


class Reset(Undo, frozen=True, kw_only=True):
    """Make a player a newcomer again."""

    pool: str | None = None
    """The rating population; may be left out where there is only one."""


@routes.add("DELETE", "/v1/admin/players/{id}", "Make a player a newcomer", ADMINS, query=Reset)
async def reset_player(request: Request) -> PlayerEdited:
    """Make a player a newcomer again."""
    return await _edit(request, None, new=False, version=request.query.version, trial=request.query.dry_run)


async def _edit(request: Request, rating: float | None, *, new: bool, version: int | None, trial: bool) -> PlayerEdited:
    pool, text = request.services.pool(request.query.pool), request.path["id"]
    anybody = new or is_bot(PlayerId(text))
    player = await (player_id(pool, text) if anybody else known_player(request, pool, text))
    try:
        edit = await pool.edit(player, rating, request.caller.who, version=version, trial=trial)
    except RatingError as error:
        raise ScriptError("rating", str(error), path="$.rating") from None
    name = (await names_of(pool, (player,))).get(player)
    summaries = [replace(summary, name=name) for summary in (edit.before, edit.after)]
    before, after = await all_seen(request.services, pool, summaries)
    return PlayerEdited(pool=pool.name, before=before, player=after, **await _standing(pool, player))


class EditUndone(Ok, frozen=True, kw_only=True):
    """The edit that was taken back, and what that changes."""

    pool: str
    version: int
    """The player's: of before the edit was taken back, where that was only tried."""
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
    body_example={"dry_run": True},
)
async def undo_edit(request: Request) -> EditUndone:
    """Take back the last edit of a player; when it was taken back already, apply it again."""
    pool = request.services.pool(request.query.pool)
    player, body = await known_player(request, pool, request.path["id"]), request.body
    version = await pool.stored_version(player)  # before the trial: what changes meanwhile is noticed by the edit
    revision = await pool.undo(player, request.caller.who, version=body.version, trial=body.dry_run)
    edit = revision.undone
    assert edit is not None
    if not body.dry_run:
        version = await pool.stored_version(player)
    replay = await replay_of(pool, revision, dry_run=body.dry_run)
    return EditUndone(pool=pool.name, version=version, again=revision.back, edit=edit, replay=replay)


# A replay: what the change of an older event changes.


class RatingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A player whose rating or rounds a replay changes."""

    id: PlayerId
    name: str | None
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


async def replay_of(pool: Pool, revision: Revised, *, dry_run: bool) -> Replay:
    """Return a replay as admins see it."""
    names = await names_of(pool, [shift.id for shift in revision.shifts])
    return Replay(
        dry_run=dry_run,
        rounds=revision.rounds,
        edits=revision.edits,
        lost_edits=revision.lost,
        refitted=revision.refitted,
        changes=tuple(RatingChange(name=names.get(shift.id), **asdict(shift)) for shift in revision.shifts),
    )


# How players are named and shown in any request.


async def player_id(
    pool: Pool, text: str, *, path: str = "{id}", concealed: Collection[PlayerId] = frozenset()
) -> PlayerId:
    """Return the player whom a text means in a pool; they need not be known there when it is an id.

    The `concealed` have no name.

    ScriptError 422: it is meant as an id and is none; 404: it fits the name of no player; 409: of several.
    """
    text = text.strip()
    try:
        player = written_id(text)
    except ValueError as error:
        raise ScriptError("schema", str(error), path=path) from None
    # A short number may be a name as well, where nobody with this account was seen.
    if player is not None and (len(text) > 10 or not text.isdecimal() or await pool.store.seen(pool.name, player)):
        return player
    rows = await pool.store.named(pool.name, text, MOST_LISTED + 1 + len(concealed))
    rows = [row for row in rows if row[0] not in concealed]
    # A whole name goes before a part of one.
    # `rows` are those with this very name first (`Store.named`), so that one more than are shown is enough to know.
    matches = [row for row in rows if row[1].casefold() == text.casefold()] or rows
    if len(matches) > 1:
        shown = "".join(f"\n  {match}  {name}" for match, name in matches[:MOST_LISTED])
        more = "\n  and others" if len(matches) > MOST_LISTED else ""
        message = f"the name {text} fits several players; use an id:{shown}{more}"
        raise ScriptError("several", message, path=path, status=409)
    if matches:
        return matches[0][0]
    if player is None:
        message = f"nobody here has the name {text}; an id is written {FORMS}"
        raise ScriptError("not_found", message, path=path, status=404)
    return player


async def concealed_from(request: Request) -> frozenset[PlayerId]:
    """Return the hidden players, of whom this caller is told nothing: admins see all."""
    return frozenset() if request.caller.role == "admin" else await request.services.store.hidden()


def concealing(value: T, concealed: Iterable[PlayerId], kind: type[T]) -> T:
    """Return plain data with `hidden` in place of the ids of concealed players."""
    return msgspec.json.decode(without_ids(msgspec.json.encode(value), concealed), type=kind)


def without_ids(text: bytes, concealed: Iterable[PlayerId]) -> bytes:
    """Return JSON with `hidden` in place of the ids of concealed players."""
    for player in concealed:
        text = text.replace(player.encode(), b"hidden")
    return text


async def known_player(request: Request, pool: Pool, text: str, *, path: str = "{id}") -> PlayerId:
    """Return the player whom a text means; ScriptError 404, too, where they were never seen in this pool, or are hidden
    from this caller.
    """
    concealed = await concealed_from(request)
    player = await player_id(pool, text, path=path, concealed=concealed)
    if player in concealed or not await pool.known(player):
        raise ScriptError("not_found", f"{player} was never seen here (pool {pool.name})", path=path, status=404)
    return player


async def names_of(pool: Pool, ids: Iterable[PlayerId]) -> Mapping[PlayerId, str]:
    """Return last known names; none while the store does not answer, because names are not worth a refusal."""
    try:
        return await pool.store.names(pool.name, tuple(ids))
    except StoreError:
        return {}


async def all_seen(services: Services, pool: Pool, summaries: Sequence[PlayerSummary]) -> tuple[PlayerSeen, ...]:
    """Return players as admins see them, with the names of the summaries."""
    records: Mapping[PlayerId, Record] | None
    try:
        records = await pool.store.records(pool.name, [summary.id for summary in summaries])
    except StoreError:
        records = None  # they are not worth a refusal
    hidden = await pool.store.hidden()

    def seen(summary: PlayerSummary) -> PlayerSeen:
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
            interval=None if summary.deviation is None else Interval(*interval(summary.balance, summary.deviation)),
            record=None if records is None else records[summary.id],
            skills=summary.skills,
            hidden=summary.id in hidden,
        )

    return tuple(map(seen, summaries))
