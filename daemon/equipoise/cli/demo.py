"""`equipoise demo`: a simulated game server against a real daemon."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console

from equipoise.cli.options import FAILED, INTERRUPTED, examples, stop
from equipoise.cli.output import json_text
from equipoise.demo.board import Stage
from equipoise.demo.cast import MOST
from equipoise.demo.closing import as_json, show
from equipoise.demo.plot import LEAST_PLAYERS, LEAST_ROUNDS
from equipoise.demo.run import USUAL, GameName, Options, run
from equipoise.demo.stages import Plain, Quiet, Screen
from equipoise.errors import PeerError

T = TypeVar("T")


@click.command(epilog=examples("equipoise demo", "equipoise demo --game ns2", "equipoise demo --speed 0 --json"))
@click.option(
    "--game", type=click.Choice(["tf2", "ns2"]), default="tf2", show_default=True, help="Which game is played."
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
    game: GameName,
    rounds: int | None,
    seed: int,
    speed: float | None,
    players: int | None,
    keep: Path | None,
    json_only: bool,
) -> None:
    """Watch a simulated game server play against a real daemon, in about a minute.

    The daemon listens on a free loopback port and keeps its ratings in a directory that is deleted at the end.
    """
    console = Console()
    live = console.is_terminal and not os.environ.get("CI")
    options = Options(game, rounds or USUAL[game].rounds, seed, players or USUAL[game].players)
    pace = speed if speed is not None else float(live)
    try:
        with _home(keep) as home, _stage(console, pace, live=live, quiet=json_only) as stage:
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
        return nullcontext(Quiet())
    return Screen(console, speed) if live else nullcontext(Plain(console, speed))


async def _until_signalled(work: Coroutine[object, object, T]) -> T:
    """Do the work; SIGTERM and SIGHUP end it as Ctrl-C does."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work
