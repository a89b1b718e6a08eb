"""Daemons with a past and with players, for pages to show: a town's servers play at a real daemon, in a thread."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.request
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from equipoise.demo.daemon import Daemon
from equipoise.demo.town import KINDS, Place, Server, Tempo, settle, townspeople

T = TypeVar("T")
LONG_ROUNDS = Tempo(freeze=20.0, round=(150.0, 500.0))
PLACES = tuple(Place(f"{kind.name}-1", kind) for kind in KINDS[:3])
"""Arena, payload and NS2."""


@dataclass
class World:
    """A daemon, and the game servers that play at it."""

    daemon: Daemon
    servers: dict[str, Server]
    loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        return self.daemon.url

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this where the servers live: `world.run(world.daemon.kill())`."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def ask(self, path: str, body: object | None = None, method: str | None = None) -> Any:
        """The admin interface's answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.daemon.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v1/admin/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)


@contextmanager
def world(
    folder: Path, players: int = 24, *, hours: float = 1.0, places: Sequence[Place] = PLACES, lively: bool = False
) -> Iterator[World]:
    """A world whose servers have played for so many hours, and are in the middle of a round with so many players each.

    A lively one plays on, at the pace of the demo. With no players nobody has ever been there.
    """
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    built: World | None = None
    failure: BaseException | None = None

    async def live() -> None:
        nonlocal built
        daemon = Daemon(folder, *(place.installation for place in places))
        try:
            async with AsyncExitStack() as stack:
                await daemon.start()
                built = World(daemon, await _servers(daemon, players, hours, places, stack), loop)
                async with asyncio.TaskGroup() as group:
                    playing = [group.create_task(server.live()) for server in built.servers.values() if lively]
                    ready.set()
                    await stop.wait()
                    for task in playing:
                        task.cancel()
        finally:
            await daemon.stop()

    def run() -> None:
        nonlocal failure
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(live())
        except BaseException as error:
            failure = error
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="world")
    thread.start()
    ready.wait()
    try:
        if failure is None:
            assert built is not None
            yield built
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)
        thread.join()
    if failure is not None:
        raise failure


async def _servers(
    daemon: Daemon, players: int, hours: float, places: Sequence[Place], stack: AsyncExitStack
) -> dict[str, Server]:
    """The servers after what they have played, each in the middle of a round."""
    rng = Random(26)
    # A last round ends before now, and so does the beginning of the one that runs.
    until = time.time() - 2 * LONG_ROUNDS.round[1]
    tempo = Tempo(LONG_ROUNDS.freeze, LONG_ROUNDS.round, end=until)
    people = townspeople(rng, round(len(places) * players * 1.5))
    servers = await settle(daemon, places, people, until - 3600 * hours, tempo, rng, stack, players)
    async with asyncio.TaskGroup() as group:
        for server in servers:
            group.create_task(_played(server))
    tempo.freeze, tempo.round, tempo.end = Tempo().freeze, Tempo().round, Tempo().end
    return {server.place.name: server for server in servers}


async def _played(server: Server) -> None:
    await server.live()
    if server.game.clients:
        await server.begin()
        await server.pass_time(90.0)
