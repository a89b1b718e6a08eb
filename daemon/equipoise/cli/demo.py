"""`equipoise demo`: a simulated game server against a real daemon."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, TypeVar

import click
from rich.console import Console

from equipoise.cli.options import FAILED, INTERRUPTED, examples, past, stop
from equipoise.cli.output import json_text
from equipoise.demo.arena_evening import ArenaEvening, Story, installation, summarise
from equipoise.demo.daemon import Client, Daemon
from equipoise.demo.evening import LEAST_PLAYERS, LEAST_ROUNDS, MOST, cast
from equipoise.demo.ns2_evening import INSTALLATION, NS2Evening, people
from equipoise.demo.ns2_story import NS2Story, summarise_ns2
from equipoise.demo.record import Summary, as_json, show
from equipoise.demo.stage import Plain, Screen, Stage
from equipoise.demo.town import places, serve
from equipoise.errors import PeerError
from equipoise.wire import GAMES

T = TypeVar("T")
GameName = Literal["tf2", "ns2"]


USUAL: dict[GameName, int] = {"tf2": 100, "ns2": 200}
"""Rounds of an evening, if no option says otherwise; `PEOPLE` play in it."""
PEOPLE = 12


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line that shape the evening."""

    game: GameName
    rounds: int
    seed: int
    players: int


@click.command(
    epilog=examples(
        "equipoise demo",
        "equipoise demo --game ns2",
        "equipoise demo --speed 0 --json",
        "equipoise demo --servers 6 --serve",
    )
)
@click.option(
    "--game", type=click.Choice(["tf2", "ns2"]), help="Which game is played.  [default: tf2; with --serve both]"
)
@click.option(
    "--serve",
    "serves",
    is_flag=True,
    help="Go on until Ctrl-C, for the page on another screen: many people, all modes.",
)
@click.option(
    "--servers", type=click.IntRange(1, 100), default=1, show_default=True, help="Game servers, with --serve."
)
@click.option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS, 10_000),
    help="Length of the evening.  [default: 100; for NS2 200]",
)
@click.option("--seed", type=int, default=15, show_default=True, help="Seed of all random draws.")
@click.option(
    "--speed",
    type=click.FloatRange(0, 1000),
    help="1: about a minute; 2: twice as fast; 0: no pauses.  [default: 1 on a terminal, else 0]",
)
@click.option(
    "--players",
    type=click.IntRange(LEAST_PLAYERS, MOST),
    help="How many players take part.  [default: 12]",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the daemon's configuration, store and log in this new directory.",
)
@click.option("--json", "json_only", is_flag=True, help="Print only the summary, as JSON.")
def demo(
    game: GameName | None,
    serves: bool,
    servers: int,
    rounds: int | None,
    seed: int,
    speed: float | None,
    players: int | None,
    keep: Path | None,
    json_only: bool,
) -> None:
    """Watch a simulated game server play against a real daemon, in about a minute.

    The daemon listens on a free loopback port and keeps its ratings in a directory that is deleted at the end. It has a
    page for browsers, whose address is shown first; with --serve there is time to look at it.
    """
    console = Console(file=past(sys.stdout))
    live = console.is_terminal and not os.environ.get("CI")
    summary: Summary
    try:
        with _home(keep) as home:
            if serves:
                _refuse_lengths(rounds, players, speed)
                town = places(servers, None if game is None else GAMES[game])
                work = serve(home, town, seed, speed or 1.0, None if json_only else console)
                summary = asyncio.run(_until_signalled(work))
            else:
                if servers > 1:
                    raise click.UsageError(f"--servers {servers} play until Ctrl-C: add --serve")
                name = game or "tf2"
                options = Options(name, rounds or USUAL[name], seed, players or PEOPLE)
                pace = speed if speed is not None else float(live)
                with _stage(console, pace, live=live, quiet=json_only) as stage:
                    summary = asyncio.run(_until_signalled(run(options, home, stage)))
    except PeerError as error:
        stop(error, FAILED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo("Stopped: the daemon is down.", err=True)
        sys.exit(INTERRUPTED)
    if json_only:
        click.echo(json_text(as_json(summary)))
    else:
        show(summary, console, keep)


def _refuse_lengths(rounds: int | None, players: int | None, speed: float | None) -> None:
    """UsageError for options of an evening that ends."""
    for option, value in (("--rounds", rounds), ("--players", players)):
        if value is not None:
            raise click.UsageError(f"{option} {value} is for an evening that ends: leave out {option} or --serve")
    if speed == 0:
        raise click.UsageError("--speed 0 never rests, and --serve never ends: say --speed 1, or a greater number")


async def run(options: Options, home: Path, stage: Stage) -> Summary:
    """Play an evening in an empty directory. PeerError when the daemon does not start or misbehaves."""
    rng = Random(options.seed)
    ns2 = options.game == "ns2"
    daemon = Daemon(home, INSTALLATION if ns2 else installation(options.players // 2))
    try:
        await daemon.start()
        (secret,) = daemon.secrets.values()
        async with Client(daemon.url, secret, daemon.token, forms=ns2) as client:
            stage.open(await client.page())
            if ns2:
                on_ns2 = NS2Evening(people(rng, options.players), options.rounds, rng, daemon, client, stage)
                await NS2Story(on_ns2).play()
                return await summarise_ns2(on_ns2, client)
            evening = ArenaEvening(cast(rng, options.players), options.rounds, rng, daemon, client, stage)
            await Story(evening).play()
            return await summarise(evening, client)
    finally:
        await daemon.stop()


@contextmanager
def _home(keep: Path | None) -> Iterator[Path]:
    """The daemon's directory: one that is deleted at the end, or a new one that is kept."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="equipoise-demo-") as home:
            yield Path(home)
        return
    try:
        keep.mkdir(parents=True)
    except OSError as error:
        raise click.BadParameter(f"{keep}: {error.strerror}", param_hint="--keep") from None
    yield keep


def _stage(console: Console, speed: float, *, live: bool, quiet: bool) -> AbstractContextManager[Stage]:
    if quiet:
        return nullcontext(Stage())
    return Screen(console, speed) if live else nullcontext(Plain(console, speed))


async def _until_signalled(work: Coroutine[object, object, T]) -> T:
    """Do the work; SIGTERM and SIGHUP end it as Ctrl-C does."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work
