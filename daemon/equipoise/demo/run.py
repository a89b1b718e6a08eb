"""Runs an evening: builds its parts, and stops the daemon at its end and after every error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from equipoise.demo.arena_evening import ArenaEvening, installation
from equipoise.demo.board import Stage
from equipoise.demo.cast import cast
from equipoise.demo.client import Client
from equipoise.demo.closing import Summary
from equipoise.demo.daemon import Daemon
from equipoise.demo.ns2 import summary as ns2_summary
from equipoise.demo.ns2.cast import people
from equipoise.demo.ns2.evening import INSTALLATION, NS2Evening
from equipoise.demo.ns2.story import Story as NS2Story
from equipoise.demo.story import Story
from equipoise.demo.summary import summarise

GameName = Literal["tf2", "ns2"]


class Usual(NamedTuple):
    """The length of an evening and the number of its people, where no option says them."""

    rounds: int
    players: int


USUAL: dict[GameName, Usual] = {"tf2": Usual(100, 12), "ns2": Usual(200, 12)}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line that shape the evening."""

    game: GameName
    rounds: int
    seed: int
    players: int


async def run(options: Options, home: Path, stage: Stage) -> Summary:
    """Play an evening in an empty directory. PeerError when the daemon does not start or misbehaves."""
    rng = Random(options.seed)
    ns2 = options.game == "ns2"
    daemon = Daemon(home, INSTALLATION if ns2 else installation(options.players // 2))
    try:
        await daemon.start()
        async with Client(daemon.url, daemon.secret, daemon.token, forms=ns2) as client:
            if ns2:
                on_ns2 = NS2Evening(people(rng, options.players), options.rounds, rng, daemon, client, stage)
                await NS2Story(on_ns2).play()
                return await ns2_summary.summarise(on_ns2, client)
            evening = ArenaEvening(cast(rng, options.players), options.rounds, rng, daemon, client, stage)
            await Story(evening).play()
            return await summarise(evening.record, evening.script.stored, client)
    finally:
        await daemon.stop()
