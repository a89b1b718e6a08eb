"""`equipoise pool share`, `join`, `leave` and `upgrade`: pools that several machines rate together."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from equipoise.cli.client import Client, Unreachable, pool_options, print_json, remote
from equipoise.cli.options import PRIVATE, config_option, confirm, examples, say_opened, stop, yes_option
from equipoise.cli.output import counted
from equipoise.errors import CommitUnknown, ConfigError, EquipoiseError, LogError, LogRefused

if TYPE_CHECKING:
    from equipoise.config import Config, Pool
    from equipoise.ratings.system import System
    from equipoise.service.shared_pool import SharedPool
    from equipoise.shared.log import State
    from equipoise.store.store import Store

PATIENCE = 900.0
"""Seconds for which a command shows how a pool is being read; it goes on without it."""

PASSWORD = "secrets/{pool}.database"
"""The file of a password that was asked for, beside the configuration."""
URL = "postgresql://equipoise@db/equipoise"

database_option = click.option("--database", metavar="URL", help=f"Such as {URL}. [default: that in the pool's table]")
password_option = click.option(
    "--password-file",
    metavar="FILE",
    help="A file with the role's password, such as secrets/database; -: standard input. On a terminal it is asked for.",
)


@click.command(epilog=examples(f"equipoise pool share main --database {URL}"))
@config_option
@pool_options
@database_option
@password_option
def share(path: Path, name: str | None, database: str | None, password_file: str | None) -> None:
    """Share a pool with other machines: its rounds go into a log in PostgreSQL from now on.

    Games go on meanwhile. The other machines follow by `equipoise pool join`.
    """
    with _errors(), _configured(path, name, database, password_file) as (config, pool):
        state = asyncio.run(_state(config, pool))
        follows, _ = _here(config, pool.name)
        if state is not None and not follows:
            raise LogRefused(
                f"pool {pool.name} is in this database already, with {counted(state.last, 'event')}: on this machine "
                f"run `equipoise pool join {pool.name}`, or name another database"
            )
        _put_in_force(config)
    show(path, pool.name)
    assert pool.database is not None
    click.echo(f"On each other machine: equipoise pool join {pool.name} --database {shlex.quote(pool.database.url)}")


@click.command(epilog=examples(f"equipoise pool join main --database {URL}", "equipoise pool join main --replace"))
@config_option
@pool_options
@database_option
@password_option
@click.option("--replace", is_flag=True, help="Put this machine's own rounds of the pool aside, in a backup.")
@yes_option
def join(
    path: Path, name: str | None, database: str | None, password_file: str | None, replace: bool, yes: bool
) -> None:
    """Join a pool that another machine shares.

    This machine serves at once, and says how far it has read what the others know.
    """
    with _errors(), _configured(path, name, database, password_file) as (config, pool):
        _check_shared(config, pool)
        if replace:
            _, rounds = _here(config, pool.name)
            confirm(f"Put {counted(rounds, 'round')} of pool {pool.name} that are here aside?", yes=yes)
            _put_aside(config, pool.name)
        else:
            _check_own_rounds(config, pool)
        _put_in_force(config)
    show(path, pool.name)


def join_anew(path: Path, url: str, password_file: str | None) -> str:
    """Have a configuration that was written just now join the pool that others share; returns its name.

    EquipoiseError: the configuration is as it was.
    """
    with _configured(path, None, url, password_file) as (config, pool):
        _check_shared(config, pool)
        _check_own_rounds(config, pool)
    return pool.name


@click.command(epilog=examples("equipoise pool leave main"))
@config_option
@pool_options
def leave(path: Path, name: str | None) -> None:
    """Go on alone with all that is here of a shared pool; the other machines go on without this one."""
    from equipoise.config import load

    with _errors():
        config = load(path, os.environ)
        pool = config.pool(name)
        if pool.database is None:
            raise ConfigError(f"pool {pool.name} is not shared", file=path)
        with _written(path, pool.name, None, "", None):
            _put_in_force(config)
    click.echo(f"Pool {pool.name} is this machine's own again, with all that it has; the other machines go on without.")


@click.command(epilog=examples("equipoise pool upgrade main"))
@remote
@pool_options
def upgrade(client: Client, name: str, as_json: bool) -> None:
    """Have a shared pool rated as this version does, when all of its machines have this version."""
    answer = client.send("POST", "pools", name, "upgrade")
    if print_json(answer, as_json):
        return
    if answer["before"] == answer["version"]:
        click.echo(f"Pool {name} is rated by version {answer['version']} already.")
    else:
        click.echo(
            f"Pool {name} is rated by version {answer['version']} from now on, before by {answer['before']}: rounds "
            "that wait here go into its log now; machines with an older version keep theirs until they have this one."
        )


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Store]:
    """The store of a configuration, for a command alone. StoreError: usually the daemon runs, or no store is here."""
    from equipoise.config import STORE
    from equipoise.store.store import Store

    store = Store(config.directory / STORE, create=False)
    await store.open()
    say_opened(store.path)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def followed(config: Config, name: str, system: System[Any], store: Store) -> AsyncIterator[SharedPool | None]:
    """A shared pool at the end of its log, and all rounds in it that waited here; None: it is this machine's own.

    For commands that have the store for themselves. StoreError: the log is away, or cannot be followed.
    """
    from equipoise.app import SystemClock
    from equipoise.service.ring import Ring
    from equipoise.service.shared_pool import SharedPool
    from equipoise.shared.log import SharedLog

    if (database := config.pools[name].database) is None:
        yield None
        return
    shared_log = SharedLog(database.url, database.password, config.shared.machine or socket.gethostname())
    pool = SharedPool(name, system, store, Ring(config.directory / f"{name}.ring"), SystemClock(), shared_log)
    try:
        await pool.open()
        await pool.settle()
        yield pool
    except CommitUnknown as error:
        raise LogError(f"{error}; start the daemon: if it is in the log, it is taken over from there") from error
    except (LogError, LogRefused) as error:
        raise type(error)(f"{error}; nothing was changed") from error
    finally:
        await pool.close()
        await shared_log.close()


@contextmanager
def _errors() -> Iterator[None]:
    """End the command with the message of an error of ours."""
    try:
        yield
    except EquipoiseError as error:
        stop(error)


@contextmanager
def _configured(
    path: Path, name: str | None, url: str | None, password_file: str | None
) -> Iterator[tuple[Config, Pool]]:
    """Write a pool's database into the configuration; after an error in here everything is as it was."""
    from equipoise.config import load
    from equipoise.config.sources import check_url

    pool = load(path, os.environ).pool(name)
    before = pool.database
    if url is None:
        if before is None:
            raise ConfigError(f"which database? --database {URL}")
        url = before.url
    check_url(url)
    if before is not None and before.url != url:
        raise ConfigError(
            f"pool {pool.name} is shared by {before.url}: first run `equipoise pool leave {pool.name}`", file=path
        )
    password = None
    if before is not None and password_file is None:
        password_file = before.password_file
    elif password_file == "-" or (password_file is None and sys.stdin.isatty()):
        password = _password(url, asks=password_file is None)
        password_file = PASSWORD.format(pool=pool.name) if password else ""
    with _written(path, pool.name, url, password_file or "", password):
        config = load(path, os.environ)
        yield config, config.pools[pool.name]


def _password(url: str, *, asks: bool) -> str | None:
    """Return the password of a URL's role, asked for or read from standard input; None for none."""
    if not asks:
        return sys.stdin.readline().strip()
    role = urlsplit(url).username or "the role"
    return click.prompt(f"Password of {role} (empty: none)", hide_input=True, default="", show_default=False) or None


@contextmanager
def _written(path: Path, name: str, url: str | None, password_file: str, password: str | None) -> Iterator[None]:
    """Write a pool's database, None for none, into the configuration, until something in here fails."""
    from equipoise.install import unit
    from equipoise.install.configuration import with_database
    from equipoise.install.file_changes import Changes

    text = with_database(path.read_text("utf-8"), name, url, password_file)
    if text is None:
        raise ConfigError(f"there is no table [pool.{name}]: write one, and run this again", file=path)
    changes = Changes(path.parent)
    changes.write(path, text.encode(), path.stat().st_mode & 0o777)
    if password is not None:
        secret = path.parent / password_file
        changes.make(secret.parent, 0o700)
        changes.write(secret, f"{password}\n".encode(), 0o600)
    try:
        with changes.applied():
            yield
    except BaseException:
        if _has_unit(path):
            with suppress(unit.StartFailed):  # it runs still, or failed with what is taken back
                unit.systemctl("start", unit.UNIT.name)
        raise


async def _state(config: Config, pool: Pool) -> State | None:
    from equipoise.shared.log import SharedLog

    database = pool.database
    assert database is not None
    shared_log = SharedLog(database.url, database.password, config.shared.machine or socket.gethostname())
    try:
        await shared_log.open()
        return await shared_log.state(pool.name)
    finally:
        await shared_log.close()


def _check_shared(config: Config, own: Pool) -> None:
    """LogRefused: nobody shares the pool. ConfigError, with the table to write: it is configured otherwise."""
    from dataclasses import replace

    from equipoise import ratings
    from equipoise.config.differences import pool_table
    from equipoise.service.held import made_by
    from equipoise.store.player_rows import Fingerprint

    if (state := asyncio.run(_state(config, own))) is None:
        raise LogRefused(
            f"pool {own.name} is not in this database: first run `equipoise pool share {own.name}` on the machine that "
            "has its rounds"
        )
    agreement = state.agreement
    if not made_by(Fingerprint(agreement.system, agreement.params), ratings.create(own.system, **own.params)):
        lines = "\n".join(pool_table(replace(own, system=agreement.system, params=agreement.params, database=None)))
        raise ConfigError(
            f"the pool is rated otherwise on the other machines: write instead\n\n{lines}\n", file=config.path
        )


def _here(config: Config, name: str) -> tuple[bool, int]:
    """Return whether the store, read beside a daemon, follows a pool's log, and how many rounds of the pool it has."""
    from equipoise.config import STORE
    from equipoise.store import changes
    from equipoise.store.connection import reading, store_errors
    from equipoise.store.transfer import holds

    file = config.directory / STORE
    if not file.exists():  # no daemon ever ran
        return False, 0
    with store_errors(), closing(reading(file)) as db:
        return name in changes.positions(db), holds(db, name)[1]


def _check_own_rounds(config: Config, own: Pool) -> None:
    """LogRefused: a pool that is to be joined has rounds here."""
    follows, rounds = _here(config, own.name)
    if rounds and not follows:
        raise LogRefused(
            f"pool {own.name} has {counted(rounds, 'round')} here that the other machines do not know: `equipoise pool "
            f"join {own.name} --replace` puts them aside, in a backup"
        )


def _put_aside(config: Config, name: str) -> None:
    """Empty a pool of this machine, after a backup of its store; its daemon is stopped for that."""
    from equipoise.config import STORE
    from equipoise.install import unit
    from equipoise.store.backups import back_up
    from equipoise.store.store import Store

    file = config.directory / STORE
    if not file.exists():
        return
    if _has_unit(config.path):
        unit.systemctl("stop", unit.UNIT.name)
    kept = file.with_name(f"{file.stem}-before-{name}-{time.strftime('%Y-%m-%d-%H%M%S')}.db")

    async def empty() -> None:
        store = Store(file, create=False)
        await store.open()
        try:
            back_up(file, kept)
            await store.follow(name, None, drop=True)
        finally:
            await store.close()

    os.umask(PRIVATE)
    asyncio.run(empty())
    click.echo(f"What was here of pool {name} is in {kept}.")


def _has_unit(path: Path) -> bool:
    """Return whether systemd runs the daemon with this configuration by a unit of ours."""
    from equipoise.install import unit

    return unit.is_ours() and path.absolute() == unit.MACHINE / "config.toml"


def _put_in_force(config: Config) -> None:
    """Start the daemon anew where that is ours to do."""
    from equipoise.cli.starting import start_unit
    from equipoise.install import unit

    if _has_unit(config.path):
        start_unit(config.path, unit.command())
    else:
        click.echo(f"Wrote {config.path}. Restart the daemon: it takes effect then.")


def show(path: Path, name: str) -> None:
    """Show how far the daemon is until it has all; without a daemon that answers nothing is shown."""
    client = Client.of(path, None, None)
    ends_at, line = time.monotonic() + PATIENCE, ""
    with suppress(Unreachable):
        while time.monotonic() < ends_at:
            pools = {pool["pool"]: pool["sharing"] for pool in client.get("pools")["pools"]}
            if (state := pools.get(name)) is None:  # it runs with what was configured before
                return
            if state["trouble"] is None and not state["behind"]:
                machine = f"as machine {state['machine']}, up to event {state['number']:,}"
                click.echo(f"Pool {name} is shared: this daemon follows its log {machine}.")
                return
            before, line = line, state["trouble"] or f"{state['behind']:,} events are to be read"
            if line != before:
                click.echo(line)
            time.sleep(1.0)
        click.echo("It goes on without this command; `equipoise doctor` says how far it is.")
