"""`equipoise pool share`, `join`, `leave` and `upgrade`: pools that several machines rate together."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.client import Client, Unreachable, json_option, pool_options, print_json, remote
from equipoise.cli.options import PRIVATE, agreed, config_option, examples, stop, yes_option
from equipoise.cli.output import counted
from equipoise.errors import ConfigError, EquipoiseError, LogRefused

if TYPE_CHECKING:
    from equipoise.config import Config
    from equipoise.ratings.system import System
    from equipoise.service.shared_pool import SharedPool
    from equipoise.shared.log import State
    from equipoise.store.store import Store

PATIENCE = 900.0
"""Seconds for which a command shows how a pool is being read; it goes on without it."""

database_option = click.option("--database", required=True, metavar="URL", help="As postgresql://ROLE@HOST/NAME.")
password_option = click.option(
    "--password-file", default="", metavar="FILE", help="A file with the role's password, as secrets/database."
)


@click.command(epilog=examples("equipoise pool share main --database postgresql://equipoise@db/equipoise"))
@config_option
@click.argument("name")
@database_option
@password_option
def share(path: Path, name: str, database: str, password_file: str) -> None:
    """Share a pool with other machines: its rounds go into a log in PostgreSQL from now on.

    Games go on meanwhile. The other machines follow by `equipoise pool join`.
    """
    with _errors():
        config, text = _configured(path, name, database, password_file)
        if (state := asyncio.run(_state(config, name))) is not None:
            raise LogRefused(
                f"pool {name} is in this database already, with {counted(state.last, 'event')}: on this machine run "
                f"`equipoise pool join {name}`, or name another database"
            )
        _put_in_force(path, text)
    _show(path, name)


@click.command(epilog=examples("equipoise pool join main --database postgresql://equipoise@db/equipoise"))
@config_option
@click.argument("name")
@database_option
@password_option
@click.option("--replace", is_flag=True, help="Put this machine's own rounds of the pool aside, in a backup.")
@yes_option
def join(path: Path, name: str, database: str, password_file: str, replace: bool, yes: bool) -> None:
    """Join a pool that another machine shares.

    This machine serves at once, and says how far it has read what the others know.
    """
    with _errors():
        config, text = _configured(path, name, database, password_file)
        if (state := asyncio.run(_state(config, name))) is None:
            raise LogRefused(f"pool {name} is not in this database: first run `equipoise pool share {name}` elsewhere")
        _check(config, name, state)
        if replace:
            if not yes and not agreed(f"Put this machine's rounds of pool {name} aside?"):
                stop("nothing was done")
            _put_aside(config, name)
        _put_in_force(path, text)
    _show(path, name)


@click.command(epilog=examples("equipoise pool leave main"))
@config_option
@click.argument("name")
def leave(path: Path, name: str) -> None:
    """Go on alone with all that is here of a shared pool; the other machines go on without this one."""
    from equipoise.config import load
    from equipoise.install.configuration import with_database

    with _errors():
        config = load(path, os.environ)
        if name not in config.pools or config.pools[name].database is None:
            raise ConfigError(f"pool {name} is not shared", file=path)
        text = with_database(path.read_text("utf-8"), name, None)
        if text is None:
            raise ConfigError(f"remove `database` from the table [pool.{name}], and restart the daemon", file=path)
        _put_in_force(path, text)
    click.echo(f"Pool {name} is this machine's own from the daemon's next start on; nothing of it is lost.")


@click.command(epilog=examples("equipoise pool upgrade main"))
@remote
@json_option
@pool_options
def upgrade(client: Client, name: str, as_json: bool) -> None:
    """Have a shared pool rated as this version does, when all of its machines have this version."""
    answer = client.send("POST", "pools", name, "upgrade")
    if not print_json(answer, as_json):
        click.echo(f"Pool {name} is rated by version {answer['version']}; rounds that waited are stored now.")


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


def _configured(path: Path, name: str, url: str, password_file: str) -> tuple[Config, str]:
    """Return the configuration with the database of a pool, and its text; it is not in force yet."""
    from equipoise.config import load
    from equipoise.config.databases import check_url
    from equipoise.install.configuration import with_database

    check_url(url)
    config = load(path, os.environ)
    if name not in config.pools:
        raise ConfigError(f"there is no pool {name}, but {', '.join(config.pools)}", file=path)
    if (database := config.pools[name].database) is not None and database.url != url:
        raise ConfigError(
            f"pool {name} is shared by {database.url}: first run `equipoise pool leave {name}`", file=path
        )
    text = with_database(path.read_text("utf-8"), name, url, password_file)
    if text is None:
        raise ConfigError(f"write a table [pool.{name}] into it first", file=path)
    # Read as the daemon will: a password file that is missing is said now.
    trial = path.with_name(f".{path.name}.trial")
    try:
        trial.write_text(text, "utf-8")
        return load(trial, os.environ), text
    except ConfigError as error:
        raise ConfigError(error.message, path=error.path, file=path) from None
    finally:
        trial.unlink(missing_ok=True)


async def _state(config: Config, name: str) -> State | None:
    from equipoise.shared.log import SharedLog

    database = config.pools[name].database
    assert database is not None
    shared_log = SharedLog(database.url, database.password, config.shared.machine or socket.gethostname())
    try:
        await shared_log.open()
        return await shared_log.state(name)
    finally:
        await shared_log.close()


def _check(config: Config, name: str, state: State) -> None:
    """ConfigError, with the table to write, unless the pool is configured as it is rated."""
    from dataclasses import replace

    from equipoise import ratings
    from equipoise.config.differences import pool_table
    from equipoise.service.fingerprint import made_by
    from equipoise.store.players import Fingerprint

    own, agreement = config.pools[name], state.agreement
    if not made_by(Fingerprint(agreement.system, agreement.params), ratings.create(own.system, **own.params)):
        lines = "\n".join(pool_table(replace(own, system=agreement.system, params=agreement.params, database=None)))
        raise ConfigError(
            f"the pool is rated otherwise on the other machines: write instead\n\n{lines}\n", file=config.path
        )


def _put_aside(config: Config, name: str) -> None:
    from equipoise.config import STORE
    from equipoise.install import unit
    from equipoise.store.backups import back_up
    from equipoise.store.store import Store

    file = config.directory / STORE
    if unit.is_ours():
        unit.systemctl("stop", unit.UNIT.name)
    kept = file.with_name(f"{file.stem}-before-{name}-{time.strftime('%Y-%m-%d-%H%M%S')}.db")

    async def empty() -> None:
        store = Store(file, create=False)
        await store.open()
        try:
            await store.drop(name)
        finally:
            await store.close()

    os.umask(PRIVATE)
    back_up(file, kept)
    asyncio.run(empty())
    click.echo(f"This machine's rounds of pool {name} are in {kept}.")


def _put_in_force(path: Path, text: str) -> None:
    """Write the configuration, and start the daemon anew where that is ours to do."""
    from equipoise.cli.setup import start_unit
    from equipoise.install import unit
    from equipoise.install.changes import Changes

    changes = Changes(path.parent)
    changes.write(path, text.encode(), path.stat().st_mode & 0o777)
    with changes.applied():
        pass
    if unit.is_ours() and path.absolute() == unit.MACHINE / "config.toml":
        start_unit(path, unit.command())
    else:
        click.echo(f"Wrote {path}. Restart the daemon: it takes effect then.")


def _show(path: Path, name: str) -> None:
    """Show how far the daemon is until it has all; without a daemon that answers nothing is shown."""
    client = Client.of(path, None, None)
    ends_at, said = time.monotonic() + PATIENCE, ""
    with suppress(Unreachable):
        while time.monotonic() < ends_at:
            pools = {each["pool"]: each["sharing"] for each in client.get("pools")["pools"]}
            if (sharing := pools.get(name)) is None:
                return
            if sharing["trouble"] is None and not sharing["behind"]:
                machines = f"as machine {sharing['machine']}, up to event {sharing['number']:,}"
                click.echo(f"Pool {name} is shared: this daemon follows its log {machines}.")
                return
            if (line := sharing["trouble"] or f"{sharing['behind']:,} events are to be read") != said:
                click.echo(said := line)
            time.sleep(0.5)
