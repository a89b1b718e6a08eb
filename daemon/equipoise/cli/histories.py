"""Sources of the laboratory's histories, and errors in them that end a command."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

import click

from equipoise.cli.client import pool_options, pools
from equipoise.cli.options import INTERRUPTED, config_option, say_opened, stop
from equipoise.errors import ConfigError, RatingError, StoreError, StoreInUse
from equipoise.ratings.parts.compiling import announce

if TYPE_CHECKING:
    from equipoise.config import Config, Pool
    from equipoise.core.effects import RecordRound
    from equipoise.core.model import PlayerId
    from equipoise.lab.reading import Reading
    from equipoise.ratings.history import History

P = ParamSpec("P")
FILE = click.Path(path_type=Path, dir_okay=False)
CSV = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
READING, PREDICTED = "equipoise.reading", "equipoise.predicted"


def reports_errors(command: Callable[P, None]) -> Callable[P, None]:
    """End the command with one line where the laboratory refuses something."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        notice = announce(lambda what: click.echo(f"equipoise: {what}", err=True))
        try:
            command(*args, **kwargs)
        except (RatingError, ConfigError, StoreError) as error:
            stop(located(error))
        except KeyboardInterrupt:
            stop("interrupted", INTERRUPTED)
        except OSError as error:
            if error.filename is None:  # standard output
                raise
            stop(f"{error.filename}: {error.strerror}")
        finally:
            if seconds := notice():
                click.echo(f"equipoise: compiled in {seconds:.1f} s", err=True)

    return run


def located(error: Exception) -> Exception | str:
    """The error, or its message with file and line if it is about one match of a file."""
    if not isinstance(error, RatingError) or error.match is None:
        return error
    history = click.get_current_context().meta.get(READING)
    return error if history is None else f"{history.line_of(error.match)}: {error}"


def line_of() -> Callable[[int], str]:
    """The file and line of a match by its number; nothing of a pool's."""
    history = click.get_current_context().meta.get(READING)
    return history.line_of if history else lambda match: ""


def file_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a history in files."""
    for option in (
        click.option("--teams", is_flag=True, help="Instead of --participants: each team is one player, by its name."),
        click.option("--participants", type=CSV, help="CSV of the players in them."),
        click.option("--matches", type=CSV, help="CSV of matches, plain, gzip or zstd; -: standard input."),
    ):
        command = option(command)
    return command


def pool_history_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a pool, by default the only one, or of a history in files; pass `history` and `pool`.

    `history` is None for a pool without rated rounds, `pool` for files.
    """

    @pool_options
    @file_options
    @config_option
    @wraps(command)
    def given(
        matches: Path | None, participants: Path | None, teams: bool, name: str | None, path: Path, **rest: object
    ) -> None:
        if matches is not None and name is not None:
            raise click.UsageError("give --matches, or a pool")
        if matches is None and (participants or teams):
            raise click.UsageError("--participants and --teams are for --matches")
        command(*_history(matches, participants, teams, name, path), **rest)

    return given


def history_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a history, files or the daemon's store, and pass it as `history`."""

    @click.option("--pool", shell_complete=pools, help="Instead of files: this pool's rounds, from the daemon's store.")
    @file_options
    @config_option
    @wraps(command)
    def given(
        matches: Path | None, participants: Path | None, teams: bool, pool: str | None, path: Path, **rest: object
    ) -> None:
        if (matches is None) == (pool is None) or (pool and (participants or teams)):
            raise click.UsageError("give --matches, or --pool")
        history, _ = _history(matches, participants, teams, pool, path)
        if history is None:
            raise RatingError("no rated rounds")
        command(history, **rest)

    return given


def league_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a published league, and pass them as `league`."""

    @click.option(
        "--initial",
        type=CSV,
        help="CSV of ratings to begin with: player_id, and rating, or what the system calls it, such as mu and sigma.",
    )
    @click.option(
        "--pull",
        metavar="PART[:SKILL]",
        help="Between seasons every skill goes this part of the way to a newcomer's, or to SKILL: 1/3:1505.",
    )
    @click.option(
        "--pause",
        type=click.FloatRange(0, min_open=True),
        default=60.0,
        show_default=True,
        help="Days without a match that part two seasons.",
    )
    @wraps(command)
    def given(history: History, *, initial: Path | None, pull: str | None, pause: float, **rest: object) -> None:
        from equipoise.lab.models import League

        part, _, toward = (pull or "0").partition(":")
        try:
            share, middle = float(Fraction(part)), float(toward) if toward else None
        except (ValueError, ZeroDivisionError):
            share, middle = math.nan, None
        if not 0 <= share <= 1:
            raise click.UsageError(f"--pull {pull}: write a part from 0 to 1, or part:skill, such as 1/3:1505")
        command(history, league=League(_initial(initial) if initial else {}, share, middle, pause), **rest)

    return given


def _history(
    matches: Path | None, participants: Path | None, teams: bool, name: str | None, path: Path
) -> tuple[History | None, Pool | None]:
    """The history in files, or a pool's with the pool; None where it has no rated rounds."""
    if matches is not None:
        if teams == (participants is not None):
            raise click.UsageError("give --participants, or --teams to rate whole teams")
        return read_files(matches, participants).rateable(), None
    from equipoise.config import load
    from equipoise.lab.backtest import history_of

    config = load(path, os.environ)
    pool = config.pool(name)
    history, click.get_current_context().meta[PREDICTED] = history_of(_stored(config, pool.name))
    return history, pool


def read_files(matches: Path, participants: Path | None) -> Reading:
    """A history in files, with its faults; remembered for `located`."""
    if str(matches) == str(participants) == "-":
        raise click.UsageError("standard input holds one file: name the other")
    _need_pyarrow()
    from equipoise.lab.reading import read

    history = click.get_current_context().meta[READING] = read(matches, participants)
    return history


def _initial(path: Path) -> dict[PlayerId, dict[str, float]]:
    """Ratings to begin with, by player."""
    _need_pyarrow()
    from equipoise.lab.reading import read_initial

    return read_initial(path)


def _need_pyarrow() -> None:
    """RatingError where the reader of CSV files is not installed."""
    if find_spec("pyarrow") is None:
        raise RatingError("CSV files need the package pyarrow, which is missing: pipx inject equipoise pyarrow")


def stored_predictions() -> list[float]:
    """Return the prediction for side A of each round of --pool when it was rated."""
    if PREDICTED not in (meta := click.get_current_context().meta):
        raise click.UsageError("`stored` are the predictions that a pool's rounds were stored with: give --pool")
    predictions: list[float] = meta[PREDICTED]
    return predictions


def _stored(config: Config, pool: str) -> list[tuple[RecordRound, float]]:
    """A pool's rounds and what was predicted of them, beside a daemon that runs or without one.

    StoreError where no store is.
    """
    import asyncio

    from equipoise.config import STORE
    from equipoise.store.store import Store
    from equipoise.store.transfer import Beside

    rounds: list[tuple[RecordRound, float]] = []

    def see(record: RecordRound, predicted: float) -> None:
        rounds.append((record, predicted))

    async def read() -> None:
        store = Store(config.directory / STORE, create=False)
        try:
            await store.open()
        # A daemon runs: its store may be read beside it, without the lock.
        except StoreInUse:
            say_opened(store.path)
            await Beside(store.path).rated_rounds(pool, see)
            return
        say_opened(store.path)
        try:
            await store.rated_rounds(pool, see)
        finally:
            await store.close()

    asyncio.run(read())
    return rounds
