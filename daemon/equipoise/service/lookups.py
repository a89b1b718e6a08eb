"""Answers look-ups: ratings, ranks, teams, status, why, and an admin's set and reset.

What a player is shown follows the rules: shadow ratings count but are shown to nobody, himself included; admins see
all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from equipoise.balancing import chance
from equipoise.core.events import Commanded
from equipoise.core.model import STEAM_ID_BASE, PlayerId, PlayerSummary, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.errors import RatingError, StoreError
from equipoise.service.pool import Pool
from equipoise.store.port import Clock, Store

if TYPE_CHECKING:
    from equipoise.service.host import Host

TOP = 5
WHY = 5
VISIBLE_ENOUGH = 3
"""With fewer visible players on a side the teams' sums would give hidden ratings away."""

Lines = tuple[Text, ...]


class Lookups:
    """Answers look-ups for one host."""

    def __init__(self, pool: Pool, store: Store, clock: Clock) -> None:
        self._pool = pool
        self._store = store
        self._clock = clock
        self._answers: dict[str, Callable[[Commanded, str, Host], Awaitable[Lines]]] = {
            "rating": self._rating,
            "rank": self._rank,
            "top": self._top,
            "teams": self._teams,
            "status": self._status,
            "why": self._why,
            "set": self._set,
            "reset": self._reset,
        }

    async def answer(self, command: Commanded, who: str, host: Host) -> Lines:
        """The lines to tell; trouble with the store is told too."""
        try:
            return await self._answers[command.words[0]](command, who, host)
        except (StoreError, RatingError) as error:
            return (Text(Phrase.FAILED, (str(error),)),)

    async def _rating(self, command: Commanded, who: str, host: Host) -> Lines:
        player = _player(command, 1) or command.by
        if player is None:
            return (_unknown(command),)
        (summary,) = await self._pool.summaries((player,))
        return (self._summary_line(summary, admin=command.admin),)

    def _summary_line(self, summary: PlayerSummary, *, admin: bool) -> Text:
        name, rounds = f"@{summary.id}", str(summary.rounds)
        rating = f"{summary.rating:.0f}"
        if summary.visible:
            return Text(Phrase.RATING, (name, rating, rounds))
        missing = str(summary.missing)
        if admin:
            return Text(Phrase.RATING_ADMIN, (name, rating, rounds, missing))
        return Text(Phrase.RATING_SHADOW, (name, missing))

    async def _rank(self, command: Commanded, who: str, host: Host) -> Lines:
        player = _player(command, 1) or command.by
        if player is None:
            return (_unknown(command),)
        ranked = await self._pool.rank(player)
        if ranked is None:
            return (Text(Phrase.RANK_NONE, (f"@{player}",)),)
        (summary,) = await self._pool.summaries((player,))
        return (Text(Phrase.RANK, (f"@{player}", *map(str, ranked), f"{summary.rating:.0f}")),)

    async def _top(self, command: Commanded, who: str, host: Host) -> Lines:
        ranked = await self._pool.top(TOP)
        lines = (
            Text(Phrase.TOP_LINE, (str(place), summary.name or f"@{summary.id}", f"{summary.rating:.0f}"))
            for place, summary in enumerate(ranked, 1)
        )
        return tuple(lines) or (Text(Phrase.TOP_EMPTY),)

    async def _teams(self, command: Commanded, who: str, host: Host) -> Lines:
        roster, context = host.session.state.roster, host.session.memory.context
        sides = {side: tuple(entry.id for entry in roster.on(side)) for side in Side}
        if not all(sides.values()):
            return (Text(Phrase.NOTHING_TO_BALANCE),)
        summaries = {side: await self._pool.summaries(sides[side]) for side in Side}
        red = f"{100 * chance(self._pool.system, context, *sides.values()):.0f}"
        hidden = any(sum(summary.visible for summary in summaries[side]) < VISIBLE_ENOUGH for side in Side)
        if hidden and not command.admin:
            return (Text(Phrase.TEAMS_CHANCE, (red,)),)
        sums = [f"{sum(summary.rating for summary in summaries[side]):.0f}" for side in Side]
        return (Text(Phrase.TEAMS, (*sums, red)),)

    async def _status(self, command: Commanded, who: str, host: Host) -> Lines:
        status = host.status()
        if not status.enabled:
            return (Text(Phrase.STATUS_OFF),)
        scrambles = [one for one in await self._store.decisions(host.server, 100) if one.kind in ("scramble", "alone")]
        last = f"{(self._clock.epoch() - scrambles[0].at) / 60:.0f} min" if scrambles else "-"
        pending = status.pending or "-"
        return (Text(Phrase.STATUS, (status.mode.value, str(status.round), str(status.streak), pending, last)),)

    async def _why(self, command: Commanded, who: str, host: Host) -> Lines:
        await host.write_down()
        decisions = await self._store.decisions(host.server, WHY)
        lines = (Text(Phrase.WHY_LINE, (one.kind.replace("_", " "), one.reason)) for one in decisions)
        return tuple(lines) or (Text(Phrase.WHY_NONE),)

    async def _set(self, command: Commanded, who: str, host: Host) -> Lines:
        player, rating = _player(command, 1), _number(command, 2)
        if player is None or rating is None:
            return (_unknown(command),)
        return await self._edit(player, rating, command, who)

    async def _reset(self, command: Commanded, who: str, host: Host) -> Lines:
        player = _player(command, 1)
        return (_unknown(command),) if player is None else await self._edit(player, None, command, who)

    async def _edit(self, player: PlayerId, rating: float | None, command: Commanded, who: str) -> Lines:
        (before,) = await self._pool.summaries((player,))
        by = who if command.by is None else f"player:{command.by}"
        after = await self._pool.edit(player, rating, by)
        return (Text(Phrase.SET_DONE, (f"@{player}", f"{before.rating:.0f}", f"{after.rating:.0f}")),)


def _player(command: Commanded, place: int) -> PlayerId | None:
    """The SteamID64 among the words, if there is one."""
    word = command.words[place] if len(command.words) > place else ""
    return PlayerId(word) if word.isdecimal() and STEAM_ID_BASE < int(word) <= STEAM_ID_BASE + 2**32 else None


def _number(command: Commanded, place: int) -> float | None:
    word = command.words[place] if len(command.words) > place else ""
    return float(word) if word.isdecimal() and len(word) <= 6 else None


def _unknown(command: Commanded) -> Text:
    return Text(Phrase.UNKNOWN_PLAYER, (" ".join(command.words[1:]) or "?",))
