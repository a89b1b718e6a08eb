"""Imports a pool from a file of `pool export`. The daemon must be stopped.

A daemon that runs holds ratings in memory, and a body of a request has 256 KiB: an import beside it would need a second
way in, and every session would have to be asked to load its players again. A restart takes a second.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import click
import msgspec

from equipoise import config, ratings
from equipoise.cli.exporting import refuse_waiting
from equipoise.cli.options import FAILED, INTERRUPTED, say_opened, stop
from equipoise.cli.output import json_text, progress
from equipoise.core.model import PlayerId
from equipoise.errors import ConfigError, FileError, RatingError, ScriptError
from equipoise.moving.jsonl import Reader, written
from equipoise.ratings.system import System
from equipoise.service.fingerprint import check, described, fingerprint_of
from equipoise.service.replayed import Replayed
from equipoise.store import moved
from equipoise.store.rated import Fingerprint
from equipoise.store.sqlite import SqliteStore
from equipoise.store.sqlite.exporting import exported


class Interrupted(Exception):
    """Ctrl-C, seen between two lines."""


def import_export(path: Path, name: str | None, source: Path, *, as_json: bool) -> None:
    """Fill a pool. FileError, ConfigError, StoreError: why not; then nothing was changed."""
    with source.open("rb") as file:
        reader = Reader(file)
        name = name or reader.head.pool
        loaded = config.load(path, os.environ)
        system = configured(loaded, name)
        _agree(name, reader.head, system)
        written = asyncio.run(_Import(loaded.directory, name, source, system).run(reader))
    head = reader.head
    if as_json:
        counts = {"players": head.players, "rounds": head.rounds, "names": head.names, "edits": head.edits}
        click.echo(json_text({"pool": name, **counts, "written": written}))
    elif written:
        click.echo(f"Pool {name} has {head.players:,} players, {head.rounds:,} rounds and {head.names:,} names now.")
    else:
        click.echo(f"Pool {name} is what {source} has: nothing was changed.")


def configured(loaded: config.Config, name: str) -> System[Any]:
    """The rating system of a configured pool; ConfigError without one."""
    if name not in loaded.pools:
        raise ConfigError(f"{loaded.path}: there is no [pool.{name}]; --pool names the pool to import into")
    return ratings.create(loaded.pools[name].system, **loaded.pools[name].params)


@contextmanager
def interruptible() -> Iterator[Event]:
    """An event that Ctrl-C sets: the store's thread looks at it between two lines, and takes everything back."""
    interrupted = Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted.set)
    try:
        yield interrupted
    except Interrupted:
        stop("interrupted; nothing was imported", INTERRUPTED)
    finally:
        loop.remove_signal_handler(signal.SIGINT)


class _Import:
    def __init__(self, directory: Path, name: str, source: Path, system: System[Any]) -> None:
        self._directory, self._name, self._source, self._system = directory, name, source, system

    async def run(self, reader: Reader) -> bool:
        """Fill the pool; False: it is what the file has."""
        refuse_waiting(self._directory, self._name)
        store = SqliteStore(self._directory / config.STORE, create=False)
        await store.open()
        say_opened(store.path)
        try:
            players, rounds, edits = await store.holds(self._name)
            if empty := not (players or rounds or edits):
                await self._fill(store, reader)
            elif not _is_same(store.path, self._name, self._source):
                stop(
                    f"pool {self._name} has {players:,} players and {rounds:,} rounds, unlike "
                    f"{self._source}; nothing was imported. --pool names another pool",
                    FAILED,
                )
        finally:
            await store.close()
        return empty

    async def _fill(self, store: SqliteStore, reader: Reader) -> None:
        with progress() as bar, interruptible() as interrupted:
            task = bar.add_task("importing", total=reader.head.following)

            def lines() -> Iterator[moved.AnyLine]:
                for line in reader.lines():
                    if interrupted.is_set():
                        raise Interrupted
                    self._check(line)
                    bar.advance(task)
                    yield _renamed(line, reader.head.pool, self._name)

            try:
                await store.fill(self._name, lines())
            except (FileError, RatingError, ScriptError) as error:
                if isinstance(error, FileError) and error.line is not None:
                    raise
                raise FileError(str(error), line=reader.line) from None

    def _check(self, line: moved.AnyLine) -> None:
        """RatingError unless the rating system can read what it is to go on from."""
        if isinstance(line, moved.Player):
            player = PlayerId(line.id)
            self._system.restore(player, line.skill.state)
            self._system.forget(player)
        elif isinstance(line, moved.Part):
            self._system.restore_shared(line.key, line.part)
        elif isinstance(line, moved.Base) and line.purpose == "system":
            Replayed(self._system, fingerprint_of(self._system)).restore_snapshot(line.data)


def _agree(name: str, head: moved.Head, system: System[Any]) -> None:
    """The daemon would refuse to start on ratings that another system made than the configured one."""
    made_by = Fingerprint(head.system, head.params)
    try:
        makers = described(made_by)
    except RatingError as error:  # a system that does not exist here
        raise FileError(str(error), line=2) from None
    try:
        check(name, made_by, system)
    except ConfigError:
        raise ConfigError(
            f"the ratings were made by {makers}, which [pool.{name}] must say before the import; "
            "`equipoise pool recompute` can change the system afterwards",
            path=f"$.pool.{name}",
        ) from None


def _is_same(store: Path, name: str, source: Path) -> bool:
    """Whether an export of the pool, if it had the name that it has in the file, would be the file's bytes."""
    with source.open("rb") as file:
        own_name = Reader(file).head.pool
        file.seek(0)
        with exported(store, name) as lines:
            text = written(_renamed(line, name, own_name) for line in lines)
            return all(file.read(len(piece)) == piece for piece in text) and not file.read(1)


def _renamed(line: moved.AnyLine, old: str, new: str) -> moved.AnyLine:
    """A line of a pool that gets another name."""
    if isinstance(line, moved.Head):
        return msgspec.structs.replace(line, pool=new)
    if isinstance(line, moved.Entry) and line.target == f"pool {old}":
        return msgspec.structs.replace(line, target=f"pool {new}")
    return line
