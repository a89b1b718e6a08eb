"""Work that is worth nothing once its caller has hung up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

LOOK_SECONDS = 0.1


async def unless_gone(doing: Coroutine[Any, Any, T], gone: Callable[[], bool]) -> T:
    """Do it, but cancel it when its caller has gone: then CancelledError.

    The web server could cancel handlers by itself, but only all of them, and an admin's change is not to be half made.
    """
    task = asyncio.create_task(doing)
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=LOOK_SECONDS)
            if gone():
                task.cancel()
        return await task
    finally:
        task.cancel()
