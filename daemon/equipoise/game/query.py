"""A2S queries: a game server's own word on its map and its players, by UDP.

Only A2S_INFO is asked. Its answer fits into one packet; of longer ones, which python-a2s 1.4.2 takes for compressed by
the wrong bit (its issue 55), half would be lost. Addresses are literal, because looking up a name has no time limit.
"""

from __future__ import annotations

import asyncio
import struct

import a2s

from equipoise.errors import PeerError
from equipoise.game.port import Address, QueryAnswer, QueryState, QueryStatus, reason, written

TIMEOUT_SECONDS = 2.0
SILENT_SECONDS = 90.0
"""A server that changes its map answers nothing for up to a minute."""


class Query:
    """The answers of one game server."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._answer: QueryAnswer | None = None
        self._error: str | None = None
        self._failures = 0
        self._began = asyncio.get_running_loop().time()
        self._heard_at: float | None = None

    async def ask(self) -> None:
        """Send one query and keep what came of it; a PeerError is kept, not raised."""
        try:
            # In a task of its own: python-a2s leaves tasks behind when it is cancelled. Its own timeouts end it.
            self._answer = await asyncio.shield(asyncio.ensure_future(info(self._address)))
        except PeerError as error:
            self._error = str(error)
            self._failures += 1
        else:
            self._error = None
            self._heard_at = asyncio.get_running_loop().time()

    def status(self) -> QueryStatus:
        """By the answers so far."""
        now, state = asyncio.get_running_loop().time(), self._state()
        silent = None if self._heard_at is None else now - self._heard_at
        return QueryStatus(state, written(self._address), self._error, silent, self._answer, self._failures)

    def _state(self) -> QueryState:
        now = asyncio.get_running_loop().time()
        if self._heard_at is not None and now - self._heard_at < SILENT_SECONDS:
            return "answers"
        return "unknown" if now - self._began < SILENT_SECONDS else "silent"


async def info(address: Address, seconds: float = TIMEOUT_SECONDS) -> QueryAnswer:
    """One answer to A2S_INFO; PeerError where there is none, or none that makes sense."""
    try:
        found = await a2s.ainfo(address, timeout=seconds)
    except TimeoutError:
        raise PeerError(f"no answer within {seconds:g} s") from None
    except OSError as error:
        raise PeerError(reason(error)) from None
    except (a2s.BrokenMessageError, ValueError, struct.error) as error:
        raise PeerError(f"this is no answer to A2S_INFO: {error}") from None
    return QueryAnswer(found.server_name, found.map_name, found.player_count, found.bot_count, found.max_players)
