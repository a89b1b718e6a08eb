"""A town on the terminal: a line per game server, drawn again and again, or a line per round; and its numbers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from equipoise.demo.daemon import Client, Daemon
from equipoise.demo.record import Figure, Steps, Summary, percent
from equipoise.demo.stage import PAGE
from equipoise.demo.town import Place, Server, Tempo, settle, townspeople

PAST_SECONDS = 1800.0
"""How much of the evening is over when somebody looks; at speed 1, as with all that lasts."""
PEOPLE = 1.8
"""People, for each who is there."""


@dataclass(frozen=True, slots=True)
class TownSummary(Summary):
    """A town's evening in numbers. The fields are those of `--json`."""

    servers: int
    people: int
    rounds: int
    stored: int
    """Rounds that the daemon reported as stored."""
    remade: int
    """Scrambles and shuffles."""
    minutes: float
    """How long somebody has watched."""

    def rows(self) -> list[Figure]:
        """Return what was played."""
        return [
            ("servers", f"{self.servers}", f"for {self.people} people, in {self.minutes:.0f} min"),
            ("rounds", f"{self.rounds}", f"{self.stored} stored and rated"),
            ("scrambles", f"{self.remade}", "new teams, shuffles among them"),
        ]

    @property
    def steps(self) -> Steps:
        """Commands that set up a server."""
        return (
            ("equipoise init", "write a configuration, install the plugin into tf/"),
            ("equipoise init --game ns2", "write a configuration and the settings of the mod"),
            ("equipoise doctor", "look for what is wrong, and what to do"),
        )


async def serve(home: Path, places: Sequence[Place], seed: int, speed: float, console: Console | None) -> TownSummary:
    """Play until it is cancelled. PeerError when the daemon does not start or refuses something.

    The console is a terminal, which is drawn again and again, or gets a line per round; None: nothing is shown.
    """
    rng, began = Random(seed), time.time()
    tempo = Tempo(Tempo.freeze / speed, (Tempo.round[0] / speed, Tempo.round[1] / speed))
    people = townspeople(rng, round(PEOPLE * sum(place.kind.crowd for place in places)))
    daemon = Daemon(home, *(place.installation for place in places))
    try:
        await daemon.start()
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(daemon.url, "", daemon.token))
            if console:
                _say(console, f"{PAGE}: {await client.page()}")
                _say(console, f"Ctrl-C ends the evening. Another link: equipoise page -c {daemon.config}")
            servers = await settle(daemon, places, people, began - PAST_SECONDS / speed, tempo, rng, stack)
            try:
                async with asyncio.TaskGroup() as group:
                    for server in servers:
                        group.create_task(server.live())
                    if console:
                        group.create_task(_watch(servers, client, console))
            except asyncio.CancelledError:
                pass  # Ctrl-C is how it ends
            return TownSummary(
                servers=len(servers),
                people=len(people),
                rounds=sum(server.rounds for server in servers),
                stored=sum(server.script.stored for server in servers),
                remade=sum(server.scrambles for server in servers),
                minutes=(time.time() - began) / 60,
            )
    finally:
        await daemon.stop()


def _say(console: Console, line: str) -> None:
    """Print a line that can be copied whole."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


async def _watch(servers: Sequence[Server], client: Client, console: Console) -> None:
    """Show once a second what the daemon says of its servers."""
    seen: dict[str, int] = {}
    live = Live(console=console, auto_refresh=False) if console.is_terminal else None
    with live or nullcontext():
        while True:
            status = {row["server"]: row for row in (await client.ask("/v1/admin/servers"))["servers"]}
            if live:
                live.update(table(servers, status), refresh=True)
            else:
                for server in servers:
                    if server.rounds != seen.get(server.place.name, 0) and server.now > time.time() - 60:
                        line = f"{server.place.name}, round {server.rounds} on {server.game.map.name}: {server.result}"
                        _say(console, line)
                        seen[server.place.name] = server.rounds
            await asyncio.sleep(1.0)


def table(servers: Sequence[Server], status: Mapping[str, Mapping[str, Any]]) -> Table:
    """A line per server, by what the daemon says of it."""
    grid = Table(box=None, header_style="dim", expand=True, padding=(0, 1))
    for head in ("server", "map", "round", "players", "chance"):
        grid.add_column(head, no_wrap=True, justify="right" if head in ("round", "players", "chance") else "left")
    grid.add_column("what the daemon says there", no_wrap=True, overflow="ellipsis", ratio=1)
    for server in servers:
        row, (a, _) = status[server.place.name], server.game.map.mode.side_names
        queue = f" + {row['waiting']}" if row["waiting"] else ""
        chance = row["win_probability"]
        grid.add_row(
            Text(server.place.name, "bold"),
            server.game.map.name,
            f"{server.rounds + 1}",
            f"{row['players_a']} v {row['players_b']}{queue}",
            "" if chance is None else Text(f"{a} {percent(chance)}", "bold" if 0.4 < chance < 0.6 else "yellow"),
            Text(server.chat, "dim"),
        )
    return grid
