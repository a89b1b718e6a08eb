"""How even two sides are that an admin names."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.balancing.chances import match_to_come
from equipoise.core.model import Context, Mode, PlayerId
from equipoise.errors import ScriptError
from equipoise.service.outlooks import outlook_of
from equipoise.service.pool import Pool
from equipoise.web.ids import player_id
from equipoise.web.messages.matches import InMatch, MatchAsked, MatchFound
from equipoise.web.players import names_of
from equipoise.web.routes import Asked


async def show_match(asked: Asked) -> MatchFound:
    """The outlook of two sides."""
    body: MatchAsked = asked.body
    pool = asked.services.pool(asked.path["pool"])
    a, b = [await _named(pool, side, path) for side, path in ((body.a, "$.a"), (body.b, "$.b"))]
    if twice := [player for n, player in enumerate((*a, *b)) if player in (*a, *b)[:n]]:
        raise ScriptError("twice", f"{twice[0]} is here twice", path="$.b" if twice[0] in b else "$.a")
    context = Context(body.mode or _usual_mode(pool), body.map)
    found = await outlook_of(pool, context, a, b)
    names = await names_of(pool, (*a, *b))
    return MatchFound(
        pool=pool.name,
        a=tuple(InMatch(id, names.get(id)) for id in a),
        b=tuple(InMatch(id, names.get(id)) for id in b),
        win_probability=found.chance,
        low=found.low,
        high=found.high,
        unevenness=found.unevenness,
        evenness=found.evenness,
        quality=found.evenness,
        trueskill_quality=pool.balancing.trueskill_quality(match_to_come(context, a, b)),
    )


async def _named(pool: Pool, side: Sequence[str], path: str) -> list[PlayerId]:
    return [await player_id(pool, text, path=f"{path}[{n}]") for n, text in enumerate(side)]


def _usual_mode(pool: Pool) -> Mode:
    """NS2's for a system that has skills by side, as only NS2's has."""
    return Mode.OTHER if pool.summary(PlayerId("0")).skills is None else Mode.NS2
