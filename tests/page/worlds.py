"""Daemons with a past and with players, for pages to show: a town's servers play at a real daemon, in a thread."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from equipoise.demo.daemon import Daemon
from equipoise.demo.town import KINDS, POLL_SECONDS, Place, Server, Tempo, settle, townspeople
from tests.game.rcon_servers import free_port
from tests.threads import served

T = TypeVar("T")
SHORT_ROUNDS = Tempo(freeze=4.0, round=(12.0, 30.0))
LONG_ROUNDS = Tempo(freeze=20.0, round=(150.0, 500.0))
PLACES = tuple(Place(f"{kind.name}-1", kind) for kind in KINDS[:3])
"""Arena, payload and NS2."""


@dataclass
class World:
    """A daemon, and the game servers that play at it."""

    daemon: Daemon
    servers: dict[str, Server]
    loop: asyncio.AbstractEventLoop
    public: str
    """The address of the public pages."""

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
    folder: Path,
    players: int | None = 24,
    *,
    hours: float = 4.0,
    places: Sequence[Place] = PLACES,
    lively: bool = False,
) -> Iterator[World]:
    """A world whose servers have played for so many hours, and are in the middle of a round with so many players each.

    A lively one plays on, in short rounds; in any other only time goes by. With no players nobody has ever been
    there, and the first server's script has not called either. None: as many as are usual on each.
    """

    async def live(ready: Callable[[World], None], stop: asyncio.Event) -> None:
        daemon, port = Daemon(folder, *(place.installation for place in places)), free_port()
        with daemon.config.open("a") as file:
            file.write(f"\n[public]\nport = {port}\n")
        try:
            async with AsyncExitStack() as stack:
                await daemon.start()
                servers = await _servers(daemon, players, hours, places, stack)
                async with asyncio.TaskGroup() as group:
                    # A script without players calls too; the first of an empty world never does.
                    here = [*servers.values()][1 if players == 0 else 0 :]
                    playing = [group.create_task(server.live() if lively else _stay(server)) for server in here]
                    ready(World(daemon, servers, asyncio.get_running_loop(), f"http://127.0.0.1:{port}"))
                    await stop.wait()
                    for task in playing:
                        task.cancel()
        finally:
            await daemon.stop()

    with served(live, "world") as built:
        yield built


async def _servers(
    daemon: Daemon, players: int | None, hours: float, places: Sequence[Place], stack: AsyncExitStack
) -> dict[str, Server]:
    """The servers after what they have played, each in the middle of a round."""
    rng = Random(26)
    # The last long round ends before now.
    until = time.time() - 2 * LONG_ROUNDS.round[1]
    tempo = Tempo(LONG_ROUNDS.freeze, LONG_ROUNDS.round, end=until)
    there = sum(place.kind.crowd if players is None else players for place in places)
    people = townspeople(rng, round(1.5 * there))
    servers = await settle(daemon, places, people, until - 3600 * hours, tempo, rng, stack, players)
    here = [server for server in servers if server.crowd]
    await _together(server.live() for server in here)
    tempo.freeze, tempo.round, tempo.end = SHORT_ROUNDS.freeze, SHORT_ROUNDS.round, SHORT_ROUNDS.end
    await _together(_last_round(server) for server in here)
    return {server.place.name: server for server in servers}


async def _together(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(work)


async def _last_round(server: Server) -> None:
    """A round that ends just now, as the daemon's watch on scripts' clocks expects it, and the one that runs."""
    await server.pass_time(time.time() - 45.0 - server.now)
    await server.begin()
    await server.play(15.0)
    await server.finish()
    await server.begin()


async def _stay(server: Server) -> None:
    while True:
        await server.pass_time(POLL_SECONDS)


def oversee(world: World) -> None:
    """An admin looks after people, rounds and servers: what the audit log then has."""
    pools = {place.installation.pool_name for place in (server.place for server in world.servers.values())}
    for pool in sorted(pools):
        best, second, *_ = (entry["id"] for entry in world.ask(f"pools/{pool}/top?limit=5")["players"])
        world.ask(f"players/{best}?pool={pool}", {"rating": 1650}, "PUT")
        world.ask(f"players/{second}?pool={pool}", None, "DELETE")
        world.ask(f"players/{second}/undo?pool={pool}", {})
        for name in ("Autumn 2026", "Winter 2026"):
            world.ask(f"pools/{pool}/seasons", {"name": name})
    for name in world.servers:
        rounds = world.ask(f"rounds?server={name}&limit=10")["rounds"]
        rated = [each["round"] for each in rounds if each["unrated"] is None]
        world.ask(f"rounds/{name}/{rated[-1]}/void", {"reason": "somebody cheated"})
    world.ask(f"servers/{list(world.servers)[1]}/scramble", {})
