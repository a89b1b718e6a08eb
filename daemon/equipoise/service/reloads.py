"""Reads the configuration again: one reading at a time, and what was wrong with the last one is kept for operators."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from equipoise.errors import EquipoiseError, ScriptError
from equipoise.service.clock import Clock
from equipoise.service.log_lines import notify
from equipoise.store.notes import Audit
from equipoise.store.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The changes by a reload, or those that it would make: lines for people."""

    changes: tuple[str, ...] = ()
    """In force from now on."""
    restart: tuple[str, ...] = ()
    """In force after the next start."""
    rcon: tuple[str, ...] = ()
    """How RCON answered that was new, or did not answer before."""


@dataclass(frozen=True, slots=True)
class ConfigurationStatus:
    """Whether the files say what is in force."""

    refused: str | None
    """Why the files were refused: file, key and reason; None: they were not."""
    refused_since: float | None
    """When that was first found; seconds since the epoch."""
    restart: tuple[str, ...]
    """What of the files waits for the next start."""


Passwords = Mapping[str, str] | None
"""Of RCON, by file; None: those that are known."""
Reload = Callable[[bool, Passwords], Awaitable[Reloaded]]
"""Reads the files and, unless it only tries, puts them in force; after an EquipoiseError everything is as before."""


class Reloads:
    """Call `close` before anything is closed that a reload changes."""

    def __init__(self, reload: Reload, store: Store, clock: Clock) -> None:
        self._reload = reload
        self._store = store
        self._clock = clock
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Reloaded]] = set()
        self._asked: asyncio.Task[Reloaded] | None = None
        self._closed = False
        self._refused: str | None = None
        self._refused_since: float | None = None
        self._restart: tuple[str, ...] = ()

    def status(self) -> ConfigurationStatus:
        """Return the state for operators."""
        return ConfigurationStatus(self._refused, self._refused_since, self._restart)

    def ask(self) -> None:
        """Reload soon, as for a signal. Asked again before that begins, it is done once."""
        if self._asked is None:
            self._asked = self._start(self._signalled())

    async def run(self, who: str, *, dry: bool = False, passwords: Passwords = None) -> Reloaded:
        """Reload, or with `dry` only say what that would change.

        ConfigError: the files are refused. StoreError, SpillError: what they add cannot be opened now. The old
        configuration stays in force then. A caller that goes away leaves the reload running.
        """
        return await asyncio.shield(self._start(self._run(who, dry, passwords)))

    async def close(self) -> None:
        """Finish the reload that is under way and begin no other."""
        self._closed = True
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _signalled(self) -> Reloaded:
        async with self._lock:
            # With the lock, right before the files are read: a signal
            # that comes from now on may be about a later edit of them.
            self._asked = None
        with suppress(EquipoiseError):  # it is in the log
            return await self._run("signal", False, None)
        return Reloaded()

    async def _run(self, who: str, dry: bool, passwords: Passwords) -> Reloaded:
        async with self._lock:
            if self._closed:
                raise ScriptError("busy", "the daemon is stopping", status=503)
            if dry:
                return await self._reload(True, passwords)
            # systemd's `Type=notify-reload` waits for READY=1 behind this, and wants the time with it.
            notify(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")
            try:
                return await self._put_in_force(who, passwords)
            finally:
                fault = f"configuration refused: {self._refused}" if self._refused else ""
                notify(f"READY=1\nSTATUS={fault.splitlines()[0] if fault else ''}")

    async def _put_in_force(self, who: str, passwords: Passwords) -> Reloaded:
        try:
            done = await self._reload(False, passwords)
        except EquipoiseError as error:
            log.error("the configuration is refused, the one before stays in force: %s", error)
            self._refused, self._refused_since = str(error), self._refused_since or self._clock.epoch()
            raise
        self._refused, self._refused_since, self._restart = None, None, done.restart
        for line in done.changes:
            log.info("reloaded: %s", line)
        for line in done.restart:
            log.warning("restart the daemon for this change: %s", line)
        if not done.changes and not done.restart:
            log.info("reloaded: nothing has changed")
        if done.changes:
            entry = Audit(self._clock.epoch(), who, "reload", "configuration", "", "; ".join(done.changes))
            self._store.note((entry,))
        return done

    def _start(self, work: Coroutine[Any, Any, Reloaded]) -> asyncio.Task[Reloaded]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
