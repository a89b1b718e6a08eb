"""Runs an evening: builds its parts, and stops the daemon at its end and after every error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from equipoise.demo.arena_evening import ArenaEvening, installation
from equipoise.demo.board import Stage
from equipoise.demo.cast import cast
from equipoise.demo.client import Client
from equipoise.demo.daemon import Daemon
from equipoise.demo.story import Story
from equipoise.demo.summary import EveningSummary, summarise


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line that shape the evening."""

    rounds: int
    seed: int
    players: int


async def run(options: Options, home: Path, stage: Stage) -> EveningSummary:
    """Play an evening in an empty directory. PeerError when the daemon does not start or misbehaves."""
    rng = Random(options.seed)
    people = cast(rng, options.players)
    daemon = Daemon(home, installation(options.players // 2))
    try:
        await daemon.start()
        async with Client(daemon.url, daemon.secret, daemon.token) as client:
            evening = ArenaEvening(people, options.rounds, rng, daemon, client, stage)
            await Story(evening).play()
            return await summarise(evening.record, evening.script.stored, client)
    finally:
        await daemon.stop()
