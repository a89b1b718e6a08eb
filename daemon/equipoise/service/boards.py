"""How far a pool's players have come since a week and a month ago, in points and in places on the leaderboard.

An earlier leaderboard is kept as its ratings alone, and made anew in a thread once an hour, while people look at it:
who comes then still sees the one from before.
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import StoreError
from equipoise.ratings.system import System
from equipoise.service.clock import Clock
from equipoise.store import seasons
from equipoise.store.store import Store

DAY = 86400.0
HOUR = 3600.0
WAIT = 1.0
"""Seconds that the first who asks waits for an earlier leaderboard."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """A player's way since an earlier moment."""

    gained: float | None
    """Points gained since then; null: they had no rating then."""
    place: int | None
    """Their place on the leaderboard then; null: they were not on it."""


@dataclass(frozen=True, slots=True)
class _Board:
    at: float
    """Seconds since the epoch."""
    ratings: array[float]
    """Lowest first."""


class Boards:
    """The earlier leaderboards of one pool."""

    def __init__(self, pool: str, system: System[Any], store: Store, clock: Clock) -> None:
        self._pool = pool
        self._system = system
        self._store = store
        self._clock = clock
        self._kept: dict[int, _Board] = {}
        self._making: dict[int, asyncio.Task[None]] = {}

    async def progress(self, players: Sequence[PlayerSummary], days: int) -> Sequence[Progress | None]:
        """Return how far players, as they are now, have come in so many days, which end with a full hour.

        None: the earlier leaderboard is not ready yet, which in a large pool takes a while after a start.
        """
        board = await self._board(days)
        if board is None:
            return [None] * len(players)
        then = await self._store.players_at(self._pool, [player.id for player in players], board.at, self._rule)
        ways = []
        for player in players:
            was = then.get(player.id)
            if was is None or was.rating is None:
                ways.append(Progress(None, None))
            else:
                better = len(board.ratings) - bisect_right(board.ratings, was.rating)
                ways.append(Progress(player.rating - was.rating, better + 1 if was.listed else None))
        return ways

    @property
    def _rule(self) -> seasons.Rule:
        newcomer = self._system.summary(PlayerId("0"))
        longest = self._system.stale_after
        return seasons.Rule(newcomer.missing, None if longest == float("inf") else longest)

    async def _board(self, days: int) -> _Board | None:
        at = (self._clock.epoch() - days * DAY) // HOUR * HOUR
        kept = self._kept.get(days)
        if kept is None or kept.at != at:
            task = self._making.get(days)
            if task is None:
                task = self._making[days] = asyncio.create_task(self._make(days, at))
            if kept is None:
                await asyncio.wait([task], timeout=WAIT)
        return self._kept.get(days)

    async def _make(self, days: int, at: float) -> None:
        try:
            ratings = await asyncio.to_thread(seasons.board_at, self._store.path, self._pool, at, self._rule)
            self._kept[days] = _Board(at, ratings)
        except StoreError as error:
            log.warning("pool %s: the leaderboard of %d days ago is not known: %s", self._pool, days, error)
        finally:
            del self._making[days]
