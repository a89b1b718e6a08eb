"""Players: the leaderboard, a player, and edits of a rating, whose effect is shown before they are made."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from equipoise.errors import ScriptError
from equipoise.page.pictures import curve
from equipoise.page.visits import Download, Elsewhere, Pages, Shown, Visit, attempted
from equipoise.web.administration import Reasons, show_decisions
from equipoise.web.players import (
    BesidePlayer,
    InPool,
    PlayersFound,
    Points,
    RatingSet,
    Reset,
    Sought,
    Top,
    Undo,
    find_players,
    known_player,
    reset_player,
    set_player,
    show_player,
    show_top,
    undo_edit,
)
from equipoise.web.pools import BehindPlace, show_season, show_seasons
from equipoise.web.privacy import (
    Forget,
    Hide,
    export_person,
    forget_person,
    hide_player,
)
from equipoise.web.rounds import LastOfPlayer, OfPlayer, show_curve, show_history, show_mates
from equipoise.web.routes import ADMINS, LARGEST, READERS, Ask

ROUNDS, MATES, MOVES = 25, 8, 10
"""Lines of a page's lists."""
DAY = 86400.0
MOVES_DAYS = 30
"""Days of the decision log that are looked through for a player."""
pages = Pages()


class BoardAsked(BesidePlayer, frozen=True):
    """A page of the leaderboard, or players by a part of their id or name."""

    pool: str | None = None
    text: Annotated[str, Meta(min_length=1, max_length=128)] | None = None


@pages.add("GET", "/players", READERS, query=BoardAsked, public=True)
async def show_board(visit: Visit) -> Shown:
    """The leaderboard, or the players whose name or id has a text."""
    query: BoardAsked = visit.query
    pool = query.pool or min(visit.services.pools)
    board: Top | PlayersFound
    if query.text is None:
        board = await visit.ask(show_top, query, pool=pool)
    else:
        board = await visit.ask(find_players, Sought(limit=query.limit, text=query.text), pool=pool)
    seasons = (await visit.ask(show_seasons, pool=pool)).seasons
    values = {"found": board, "asked": query, "size": query.limit, "seasons": seasons}
    return Shown("players.html", "Players", values)


@pages.add("GET", "/seasons/{pool}/{name}", READERS, query=BehindPlace, public=True)
async def show_past_board(visit: Visit) -> Shown:
    """The leaderboard with which a season began, and the other seasons."""
    query: BehindPlace = visit.query
    board = await visit.ask(show_season, query)
    seasons = (await visit.ask(show_seasons)).seasons
    values = {"found": board, "after": query.after, "size": query.limit, "seasons": seasons}
    return Shown("season.html", board.season.name, values)


class PlayerAsked(Ask, frozen=True):
    """A player, and a page of their rounds."""

    pool: str | None = None
    before: Annotated[int, Meta(ge=1, le=LARGEST)] | None = None
    """The round before which the list goes on."""


@pages.add("GET", "/players/{id}", READERS, query=PlayerAsked, public=True)
async def show_profile(visit: Visit) -> Shown | Elsewhere:
    """A player: their rating over time, their rounds, the others in these, and why they were moved."""
    query: PlayerAsked = visit.query
    pool = await _pool(visit, query.pool)
    profile = await visit.ask(show_player, InPool(pool=pool))
    player = profile.player
    if player.id != visit.path["id"]:  # a name, or another form of the id
        return Elsewhere(visit.link("players", player.id, pool=query.pool))
    history = await visit.ask(show_history, OfPlayer(pool=pool, limit=ROUNDS, before=query.before))
    lines = sorted([*history.rounds, *history.edits], key=_at, reverse=True)
    first = query.before is None
    values: dict[str, Any] = {"found": profile, "player": player, "history": history, "lines": lines, "first": first}
    if first:
        values["curve"] = curve((await visit.ask(show_curve, InPool(pool=pool))).points)
        values["mates"] = await visit.ask(show_mates, LastOfPlayer(pool=pool, limit=MATES))
        since = visit.services.clock.epoch() - MOVES_DAYS * DAY
        about = Reasons(player=player.id, pool=pool, limit=MOVES, since=since)
        values["moves"] = None if visit.public else await show_decisions(visit.request(about))
        values["days"] = MOVES_DAYS
    return Shown("player.html", player.name or player.id, values)


def _at(line: Any) -> float:
    at: float = line.round.at if hasattr(line, "round") else line.at
    return at


async def _pool(visit: Visit, name: str | None) -> str:
    """Return the pool that is named, else the first in which the player was seen."""
    pools = visit.services.pools
    if name is None and len(pools) > 1:
        for pool in pools.values():
            try:
                await known_player(visit.request(), pool, visit.path["id"])
            except ScriptError:
                continue
            return pool.name
    return visit.services.pool(name or min(pools)).name


@pages.add("GET", "/players/{id}/export", ADMINS, query=InPool)
async def send_export(visit: Visit) -> Download:
    """All that is stored about a person, as a file."""
    person = await export_person(visit.request(InPool(pool=await _pool(visit, visit.query.pool))))
    body = msgspec.json.format(msgspec.json.encode(person))
    return Download(f"{person.player}.json", body, "application/json")


# What admins do with a player: first a page that says what it would do, then the same question again with what it was
# about. When the player has changed meanwhile, the page comes again with the new effect, and nothing was done.

EDITS = {"set": "Set the rating", "reset": "Make a newcomer", "undo": "Take back the last edit"}
ACTS = EDITS | {"hide": "Hide", "unhide": "Show again", "forget": "Forget"}
"""What admins may do with a rating, and with what is known of a person, in words."""
ACT = f"/players/{{id}}/{{act:{'|'.join(ACTS)}}}"


class ActAsked(InPool, frozen=True):
    """Something that an admin asks to do with a player, and is shown first."""

    rating: Points | None = None
    """The rating to set."""


class ActConfirmed(msgspec.Struct, frozen=True):
    """The form by which it is done."""

    rating: Points | None = None
    version: Annotated[int, Meta(ge=0, le=LARGEST)] | None = None
    """The player's, as the effect of an edit was shown."""
    seen: str = ""
    """Names what else was shown."""
    sure: bool = False
    """That it cannot be undone is known."""


@pages.add("GET", ACT, ADMINS, query=ActAsked)
async def show_act(visit: Visit) -> Shown:
    """The page that says what an edit of a rating, or hiding, showing or forgetting a person means."""
    return await _effect(visit, await _pool(visit, visit.query.pool), visit.query.rating)


@pages.add("POST", ACT, ADMINS, query=ActAsked)
async def act_on_player(visit: Visit) -> Shown | Elsewhere:
    """Do it, if its effect still is the one that was shown."""
    pool, act = await _pool(visit, visit.query.pool), visit.path["act"]
    form = visit.fields(ActConfirmed)
    if act in EDITS and form.version is None:
        raise ScriptError("schema", "in the form: `version` is missing: nothing was shown")
    if act == "forget" and not form.sure:
        return await _effect(visit, pool, None, ScriptError("schema", "tick the box: it cannot be undone", status=422))
    done, stale = await attempted(_act(visit, pool, form, dry_run=False), "changed")
    if stale:
        return await _effect(visit, pool, form.rating, stale)
    if act == "forget":
        return Shown("person.html", "Forgotten", {"act": act, "effect": done})
    return Elsewhere(visit.link("players", visit.path["id"], pool=visit.query.pool))


async def _effect(visit: Visit, pool: str, rating: float | None, stale: ScriptError | None = None) -> Shown:
    act = visit.path["act"]
    profile = await show_player(visit.request(InPool(pool=pool)))
    effect = await _act(visit, pool, ActConfirmed(rating=rating), dry_run=True)
    values = {"act": act, "words": ACTS[act], "found": profile, "effect": effect, "rating": rating, "stale": stale}
    template = "edit.html" if act in EDITS else "person.html"
    return Shown(template, f"{ACTS[act]}?", values, 200 if stale is None else stale.status)


async def _act(visit: Visit, pool: str, form: ActConfirmed, *, dry_run: bool) -> Any:
    query, act = InPool(pool=pool), visit.path["act"]
    version, seen = (None, None) if dry_run else (form.version, form.seen)
    match act:
        case "set":
            if form.rating is None:
                raise ScriptError("rating", "which rating? Go back and enter one", path="rating")
            body = RatingSet(rating=form.rating, version=version, dry_run=dry_run)
            return await set_player(visit.request(query, body))
        case "reset":
            return await reset_player(visit.request(Reset(pool=pool, version=version, dry_run=dry_run)))
        case "undo":
            return await undo_edit(visit.request(query, Undo(version=version, dry_run=dry_run)))
        case "forget":
            return await forget_person(visit.request(query, Forget(seen=seen, dry_run=dry_run)))
        case _:
            return await hide_player(visit.request(query, Hide(hidden=act == "hide", seen=seen, dry_run=dry_run)))
