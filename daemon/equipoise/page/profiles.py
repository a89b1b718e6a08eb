"""Players: the leaderboard, a player, and edits of a rating, whose effect is shown before they are made."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from equipoise.errors import ScriptError
from equipoise.page.pictures import curve
from equipoise.page.visits import Download, Elsewhere, Pages, Shown, Visit
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
    reset_player,
    set_player,
    show_player,
    show_top,
    shown_player,
    undo_edit,
)
from equipoise.web.pools import BehindPlace, show_season, show_seasons
from equipoise.web.privacy import (
    Forget,
    Hide,
    PersonForgotten,
    PersonHidden,
    export_person,
    forget_person,
    hide_player,
)
from equipoise.web.rounds import LastOfPlayer, OfPlayer, show_curve, show_history, show_mates
from equipoise.web.routes import ADMINS, LARGEST, MOST_LINES, READERS, Ask

BOARD, ROUNDS, MATES, MOVES = 50, 25, 8, 10
"""Lines of a page's lists."""
EXPORTED = MOST_LINES
"""Lines of a leaderboard in a file, which has no second page."""
DAY = 86400.0
MOVES_DAYS = 30
"""Days of the decision log that are looked through for a player."""
EDITS = {"set": "Set the rating", "reset": "Make a newcomer", "undo": "Take back the last edit"}
"""What admins may do with a player, in words."""

pages = Pages()


class BoardAsked(Ask, frozen=True):
    """A page of the leaderboard, or players by a part of their id or name."""

    pool: str | None = None
    text: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    after: Annotated[str, Meta(max_length=256)] | None = None
    """The player behind whom it goes on."""
    before: Annotated[str, Meta(max_length=256)] | None = None
    """The player at whom it ends."""


@pages.add("GET", "/players", READERS, query=BoardAsked, public=True)
async def show_board(visit: Visit) -> Shown:
    """The leaderboard, or the players whose name or id has a text."""
    query: BoardAsked = visit.query
    pool = query.pool or min(visit.services.pools)
    size = EXPORTED if visit.exported else BOARD
    board: Top | PlayersFound
    if query.text is None:
        board = await visit.ask(show_top, BesidePlayer(limit=size, after=query.after, before=query.before), pool=pool)
    else:
        board = await visit.ask(find_players, Sought(limit=BOARD, text=query.text), pool=pool)
    seasons = (await visit.ask(show_seasons, pool=pool)).seasons
    values = {"found": board, "asked": query, "size": BOARD, "seasons": seasons}
    return Shown("players.html", "Players", values)


class SeasonAsked(Ask, frozen=True):
    """A page of the leaderboard with which a season began."""

    after: Annotated[int, Meta(ge=0, le=LARGEST)] = 0
    """The place behind which it goes on."""


@pages.add("GET", "/seasons/{pool}/{name}", READERS, query=SeasonAsked, public=True)
async def show_past_board(visit: Visit) -> Shown:
    """The leaderboard with which a season began, and the other seasons."""
    size = EXPORTED if visit.exported else BOARD
    board = await visit.ask(show_season, BehindPlace(limit=size, after=visit.query.after))
    seasons = (await visit.ask(show_seasons)).seasons
    values = {"found": board, "after": visit.query.after, "size": size, "seasons": seasons}
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
    values: dict[str, Any] = {"found": profile, "player": player, "history": history, "lines": lines, "first": True}
    if query.before is not None:
        values["first"] = False
        return Shown("player.html", player.name or player.id, values)
    values["curve"] = curve((await visit.ask(show_curve, InPool(pool=pool))).points)
    values["mates"] = await visit.ask(show_mates, LastOfPlayer(pool=pool, limit=MATES))
    values["moves"], values["days"] = None, MOVES_DAYS
    if not visit.public:
        since = visit.services.clock.epoch() - MOVES_DAYS * DAY
        values["moves"] = await show_decisions(
            visit.request(Reasons(player=player.id, pool=pool, limit=MOVES, since=since))
        )
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
                await shown_player(visit.request(), pool, visit.path["id"])
            except ScriptError:
                continue
            return pool.name
    return visit.services.pool(name or min(pools)).name


# Edits: first a page that says what it would change, then the same question again with the version of the player that
# it was about. When the player has changed meanwhile, the page comes again with the new effect, and nothing was done.


class EditAsked(Ask, frozen=True):
    """An edit that is to be shown before it is made."""

    pool: str | None = None
    rating: Points | None = None
    """The rating to set."""


class EditConfirmed(msgspec.Struct, frozen=True):
    """The form by which an edit is made."""

    version: Annotated[int, Meta(ge=0, le=LARGEST)]
    """The player's, as the effect was shown."""
    rating: Points | None = None


@pages.add("GET", "/players/{id}/{edit:set|reset|undo}", ADMINS, query=EditAsked)
async def show_edit(visit: Visit) -> Shown:
    """The effect of an edit."""
    query: EditAsked = visit.query
    return await _effect(visit, await _pool(visit, query.pool), query.rating)


@pages.add("POST", "/players/{id}/{edit:set|reset|undo}", ADMINS, query=EditAsked)
async def make_edit(visit: Visit) -> Shown | Elsewhere:
    """Make an edit whose effect was shown, if it still is that effect."""
    pool = await _pool(visit, visit.query.pool)
    form = visit.fields(EditConfirmed)
    try:
        await _edit(visit, pool, form.rating, form.version, dry_run=False)
    except ScriptError as error:
        if error.code != "changed":
            raise
        return await _effect(visit, pool, form.rating, error)
    return Elsewhere(visit.link("players", visit.path["id"], pool=visit.query.pool))


async def _effect(visit: Visit, pool: str, rating: float | None, stale: ScriptError | None = None) -> Shown:
    kind = visit.path["edit"]
    profile = await show_player(visit.request(InPool(pool=pool)))
    effect = await _edit(visit, pool, rating, None, dry_run=True)
    values = {"kind": kind, "words": EDITS[kind], "found": profile, "effect": effect, "rating": rating, "stale": stale}
    return Shown("edit.html", f"{EDITS[kind]}?", values, 200 if stale is None else stale.status)


async def _edit(visit: Visit, pool: str, rating: float | None, version: int | None, *, dry_run: bool) -> Any:
    query = InPool(pool=pool)
    match visit.path["edit"]:
        case "set":
            if rating is None:
                raise ScriptError("rating", "which rating? Go back and enter one", path="rating")
            body = RatingSet(rating=rating, version=version, dry_run=dry_run)
            return await set_player(visit.request(query, body))
        case "reset":
            return await reset_player(visit.request(Reset(pool=pool, version=version, dry_run=dry_run)))
        case _:
            return await undo_edit(visit.request(query, Undo(version=version, dry_run=dry_run)))


# A person's data.

PERSON = {"hide": "Hide", "unhide": "Show again", "forget": "Forget"}
"""What admins may do with what is known of a person, in words."""


@pages.add("GET", "/players/{id}/export", ADMINS, query=InPool)
async def send_export(visit: Visit) -> Download:
    """All that is stored about a person, as a file."""
    person = await export_person(visit.request(InPool(pool=await _pool(visit, visit.query.pool))))
    body = msgspec.json.format(msgspec.json.encode(person))
    return Download(f"{person.player}.json", body, "application/json")


class PersonConfirmed(msgspec.Struct, frozen=True):
    """The form by which it is done."""

    seen: str = ""
    """Names what was shown."""
    sure: bool = False
    """That it cannot be undone is known."""


@pages.add("GET", "/players/{id}/{act:hide|unhide|forget}", ADMINS, query=InPool)
async def show_act(visit: Visit) -> Shown:
    """The page that says what hiding, showing or forgetting a person means, before it is done."""
    return await _person(visit, await _pool(visit, visit.query.pool))


@pages.add("POST", "/players/{id}/{act:hide|unhide|forget}", ADMINS, query=InPool)
async def act_on_person(visit: Visit) -> Shown | Elsewhere:
    """Hide a person, show them again, or forget them, if they still are as they were shown."""
    pool, act = await _pool(visit, visit.query.pool), visit.path["act"]
    form = visit.fields(PersonConfirmed)
    if act == "forget" and not form.sure:
        return await _person(visit, pool, ScriptError("schema", "tick the box: it cannot be undone", status=422))
    try:
        done = await _act(visit, pool, form.seen, dry_run=False)
    except ScriptError as error:
        if error.code != "changed":
            raise
        return await _person(visit, pool, error)
    if act == "forget":
        return Shown("person.html", "Forgotten", {"act": act, "effect": done})
    return Elsewhere(visit.link("players", visit.path["id"], pool=visit.query.pool))


async def _person(visit: Visit, pool: str, stale: ScriptError | None = None) -> Shown:
    words = PERSON[visit.path["act"]]
    profile = await show_player(visit.request(InPool(pool=pool)))
    effect = await _act(visit, pool, None, dry_run=True)
    values = {"act": visit.path["act"], "found": profile, "effect": effect, "words": words, "stale": stale}
    return Shown("person.html", f"{words}?", values, 200 if stale is None else stale.status)


async def _act(visit: Visit, pool: str, seen: str | None, *, dry_run: bool) -> PersonHidden | PersonForgotten:
    query, act = InPool(pool=pool), visit.path["act"]
    if act == "forget":
        return await forget_person(visit.request(query, Forget(seen=seen, dry_run=dry_run)))
    return await hide_player(visit.request(query, Hide(hidden=act == "hide", seen=seen, dry_run=dry_run)))
