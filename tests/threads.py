"""An event loop in a thread of the test's process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
Serve = Callable[[Callable[[T], None], asyncio.Event], Coroutine[Any, Any, None]]
"""Calls the first with what it serves once that is ready, and ends it when the second is set."""


@contextmanager
def served(serve: Serve[T], name: str) -> Iterator[T]:
    """What is served, for as long as the context lasts; what it raises is raised here."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    values: list[T] = []
    failure: BaseException | None = None

    def tell(value: T) -> None:
        values.append(value)
        ready.set()

    def run() -> None:
        nonlocal failure
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(serve(tell, stop))
        except BaseException as error:
            failure = error
        finally:
            ready.set()

    thread = threading.Thread(target=run, name=name)
    thread.start()
    ready.wait()
    try:
        if failure is None:
            yield values[0]
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)
        thread.join()
    if failure is not None:
        raise failure
