"""Processes beside the daemon, for work on the store that would keep its event loop from serving."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from equipoise.errors import StoreError

LEAST_PRIORITY = 19


@asynccontextmanager
async def started(command: Sequence[str], purpose: str, **options: Any) -> AsyncIterator[Process]:
    """A process that is killed at the end of this, if it has not ended by itself.

    StoreError: it cannot be started; `purpose` completes the sentence "no process can be started that …".
    """
    try:
        # A session of its own: Ctrl-C at a terminal is for the daemon, which ends it.
        process = await asyncio.create_subprocess_exec(*command, start_new_session=True, **options)
    except OSError as error:  # no memory, too many processes or open files
        raise StoreError(f"no process can be started that {purpose}: {error.strerror}") from None
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())


def give_way() -> None:
    """Called in such a process: the game comes first."""
    with suppress(OSError):  # a sandbox may refuse it
        os.setpriority(os.PRIO_PROCESS, 0, LEAST_PRIORITY)
