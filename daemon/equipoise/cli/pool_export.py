"""Exports a pool: through the daemon where one runs, else from the store."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote, urlsplit

import click
import msgspec

from equipoise import config
from equipoise.cli.client import NO_DAEMON, Client, one_pool
from equipoise.cli.histories import configured_pool
from equipoise.cli.options import FAILED, say_opened, stop
from equipoise.cli.output import progress
from equipoise.errors import StoreRefused
from equipoise.files import sync
from equipoise.moving.jsonl import PIECE, written
from equipoise.store.pool_file import Head
from equipoise.store.store import Store
from equipoise.store.transfer import exported

SECONDS = 60
"""How long one piece of the daemon's answer is waited for."""

Take = Callable[[bytes], None]


def export(path: Path, name: str | None, target: Path, url: str | None, token: str | None) -> None:
    """Write the pool, by default the only one. ConfigError, StoreError: there is no store, or no such pool."""
    pool = name or _only_pool(path, url, token)
    with _output(target) as take:
        client = Client.of(path, url, token)
        with _asked(client.moved() or client, pool) as answer:
            if answer is not None:
                _copy(_received(answer), take)
        if answer is None and url is not None:
            stop(f"no daemon answers at {url}: Connection refused; is `equipoise serve` running?", NO_DAEMON)
        if answer is None:
            asyncio.run(_from_store(path, pool, take))
    if str(target) != "-":
        click.echo(f"{target}: pool {pool}, {target.stat().st_size / 1e6:,.1f} MB.")


def _only_pool(path: Path, url: str | None, token: str | None) -> str:
    """Return the only pool of the daemon at a given address, else of the configuration."""
    if url is not None:
        return one_pool(Client.of(path, url, token), None)
    return configured_pool(config.load(path, os.environ), None).name


async def _from_store(path: Path, pool: str, take: Take) -> None:
    directory = config.load(path, os.environ).directory
    refuse_waiting(directory, pool)
    store = Store(directory / config.STORE, create=False)
    await store.open()
    say_opened(store.path)
    try:
        with exported(store.path, pool) as lines:
            _copy(written(lines), take)
    finally:
        await store.close()


def refuse_waiting(directory: Path, pool: str) -> None:
    """StoreRefused when rounds wait in the ring's file: they are a part of the pool that is not in the store."""
    ring = directory / f"{pool}.ring"
    with suppress(OSError):
        if ring.stat().st_size:
            raise StoreRefused(f"{ring}: rounds wait here for the store: start the daemon once, so that it stores them")


@contextmanager
def _asked(client: Client, pool: str) -> Iterator[http.client.HTTPResponse | None]:
    """The daemon's answer, to be read piece by piece; None: nothing listens at its address."""
    address = urlsplit(client.url)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    with closing(kind(address.hostname or "", address.port, timeout=SECONDS)) as connection:
        answer = None
        try:
            target = f"{address.path.rstrip('/')}/v1/admin/pools/{quote(pool, safe='')}/export"
            connection.request("GET", target, headers={"Authorization": f"Bearer {client.token}"})
            answer = connection.getresponse()
            refusal = b"" if answer.status == 200 else answer.read()
        except ConnectionRefusedError:
            refusal = b""
        except (OSError, ValueError, http.client.HTTPException) as error:
            stop(f"no daemon answers at {client.url}: {error}; is `equipoise serve` running?", NO_DAEMON)
        if refusal:
            stop(_why(refusal), FAILED)
        yield answer


def _why(refused: bytes) -> str:
    try:
        return str(json.loads(refused)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return "another program listens there"


def _received(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while piece := answer.read(PIECE):
            yield piece
    except (OSError, http.client.HTTPException):
        stop("the daemon's answer ended too early: its log says why", FAILED)


def _copy(pieces: Iterable[bytes], take: Take) -> None:
    with progress() as bar:
        task, head, counted_on = bar.add_task("exporting", total=None), b"", False
        for piece in pieces:
            take(piece)
            if not counted_on:
                head += piece
                if counted_on := head.count(b"\n") > 1:
                    bar.update(task, total=3 + msgspec.json.decode(head.splitlines()[1], type=Head).following)
            bar.advance(task, piece.count(b"\n"))


def _to_stdout(piece: bytes) -> None:
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


@contextmanager
def _output(target: Path) -> Iterator[Take]:
    """Yield a writer of bytes: to standard output, or to a new file that appears when it is whole and on the disk."""
    if str(target) == "-":
        yield _to_stdout
        return
    if os.path.lexists(target):
        stop(f"{target}: exists already, and nothing is overwritten: name another file")
    part = target.with_name(f".{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        _failed(target, error)
    try:
        with os.fdopen(file, "wb") as stream:

            def to_file(piece: bytes) -> None:
                try:
                    stream.write(piece)
                except OSError as error:
                    _failed(target, error)

            yield to_file
            try:
                stream.flush()
                os.fsync(file)
                part.rename(target)
                sync(target.parent)
            except OSError as error:
                _failed(target, error)
    finally:
        part.unlink(missing_ok=True)


def _failed(target: Path, error: OSError) -> NoReturn:
    stop(f"{target}: {error.strerror}; nothing was written", FAILED)
