"""The console of a game server, however it is reached: one command at a time, and what a failure means for the next."""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from typing import ClassVar

from equipoise.errors import PeerError
from equipoise.game.port import Address, RconState, RconStatus, reason, written

EXCHANGE_SECONDS = 5.0
"""From the wait for the command before to the end of the answer."""
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
"""Seconds after a failure, which double with each further one, before the server is tried again unasked."""

CLOSED = "the daemon closed its RCON connection: the configuration has changed, or it stops"

log = logging.getLogger(__name__)


class Failure(Exception):
    """An exchange that failed, and the state that the connection is in since."""

    def __init__(self, text: str, state: RconState = "unreachable") -> None:
        super().__init__(text)
        self.state: RconState = state


class Console(ABC):
    """The console of one game server, which one command uses at a time."""

    harmless: ClassVar[str]
    """A command that does nothing, to see whether the server answers."""

    def __init__(self, server: str, address: Address, seconds: float = EXCHANGE_SECONDS) -> None:
        self._server = server
        self._address = address
        self._seconds = seconds
        self._lock = asyncio.Lock()
        self._closed = False
        self._state: RconState = "unused"
        self._error: str | None = None
        self._failed_in_a_row = 0
        self._retry_at = 0.0
        self._commands = self._failures = self._connections = 0

    async def execute(self, command: str, *, unasked: bool = False) -> str | None:
        """Return a command's output; None: this console returns none. PeerError: no answer, or not as it should be.

        `unasked`: nobody waits for the output, and a server that failed lately is left in peace.
        """
        if self._state == "refused":
            raise PeerError(f"{self._error}; it is not tried again until the configuration is loaded again")
        if unasked and asyncio.get_running_loop().time() < self._retry_at:
            raise PeerError(f"{self._error}; it was tried lately")
        self._commands += 1
        try:
            async with asyncio.timeout(self._seconds), self._lock:
                answer = await self._try(command)
        except Failure as failure:
            raise self._failed(str(failure), failure.state) from None
        except TimeoutError:
            raise self._failed(f"no answer within {self._seconds:g} s") from None
        except asyncio.IncompleteReadError:
            raise self._failed("the game server closed the connection") from None
        except OSError as error:
            raise self._failed(reason(error)) from None
        self._succeeded()
        return answer

    def status(self) -> RconStatus:
        """Return the state in which the last command left it."""
        address = written(self._address)
        return RconStatus(self._state, address, self._error, self._commands, self._failures, self._connections)

    def forgive(self) -> None:
        """Try the password again that was refused."""
        if self._state == "refused":
            self._state, self._error = "unused", None

    def close(self) -> None:
        """End the connection for good; commands that are under way fail."""
        self._closed = True
        self._drop()

    async def _try(self, command: str) -> str | None:
        if self._state == "refused":  # while this command waited for its turn
            raise Failure(self._error or "", "refused")
        self._check_open()
        try:
            return await self._exchange(command)
        except BaseException:
            # Whatever comes later on a connection that failed, or whose caller has gone, belongs to nobody.
            self._drop()
            raise

    def _check_open(self) -> None:
        """`close` may have come while a command waited: there must be no connection beside that of its successor."""
        if self._closed:
            raise Failure(CLOSED)

    def _failed(self, text: str, state: RconState = "unreachable") -> PeerError:
        if self._closed:  # which looks like a fault of the game server
            return PeerError(CLOSED)
        self._failures += 1
        self._failed_in_a_row += 1
        # With a random part below: servers that failed in one
        # moment, as their machine did, are not tried in one moment.
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(self._failed_in_a_row - 1, 10))
        self._retry_at = asyncio.get_running_loop().time() + delay * random.uniform(0.5, 1.5)
        if self._state != state:
            log.warning("RCON failed: %s", text, extra={"server": self._server})
        self._state, self._error = state, text
        return PeerError(text)

    def _succeeded(self) -> None:
        if self._failed_in_a_row:
            log.info("RCON works again", extra={"server": self._server})
        self._failed_in_a_row, self._retry_at = 0, 0.0
        self._state, self._error = "answers", None

    @abstractmethod
    async def _exchange(self, command: str) -> str | None:
        """Send a command and return its output; the lock is held."""

    @abstractmethod
    def _drop(self) -> None:
        """End the connection, if there is one."""
