"""The players that people name: by an id in any of the forms in which it is written, or by the last name they had."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.model import PlayerId
from equipoise.errors import ScriptError
from equipoise.service.pool import Pool
from equipoise.wire.steam_ids import FORMS, written_id

MOST_LISTED = 10
"""Players who are listed where a name fits several."""


async def player_id(pool: Pool, text: str, *, path: str = "{id}") -> PlayerId:
    """The player whom a text means in a pool; they need not be known there when it is an id.

    ScriptError 422: it is meant as an id and is none; 404: it fits the name of no player; 409: of several.
    """
    text = text.strip()
    try:
        id = written_id(text)
    except ValueError as error:
        raise ScriptError("schema", str(error), path=path) from None
    # A short number may be a name as well, where nobody with this account was seen.
    if id is not None and (len(text) > 10 or not text.isdecimal() or await pool.store.seen(pool.name, id)):
        return id
    fitting = await _fitting(pool, text)
    if len(fitting) > 1:
        shown = "".join(f"\n  {one}  {name}" for one, name in fitting[:MOST_LISTED])
        more = "\n  and others" if len(fitting) > MOST_LISTED else ""
        message = f"the name {text} fits several players; use an id:{shown}{more}"
        raise ScriptError("several", message, path=path, status=409)
    if fitting:
        return fitting[0][0]
    if id is None:
        message = f"nobody here has the name {text}; an id is written {FORMS}"
        raise ScriptError("not_found", message, path=path, status=404)
    return id


async def known_player(pool: Pool, text: str, *, path: str = "{id}") -> PlayerId:
    """The same; ScriptError 404 where they were never seen in this pool."""
    id = await player_id(pool, text, path=path)
    if not await pool.known(id):
        raise ScriptError("not_found", f"{id} was never seen here (pool {pool.name})", path=path, status=404)
    return id


async def _fitting(pool: Pool, text: str) -> Sequence[tuple[PlayerId, str]]:
    """Those whose last name is the text; where there are none, those whose last name contains it."""
    found = await pool.store.named(pool.name, text, MOST_LISTED + 1)
    return [one for one in found if one[1].casefold() == text.casefold()] or found
