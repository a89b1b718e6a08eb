"""Run the daemon, or check its configuration."""

from __future__ import annotations

import os
from pathlib import Path

import click

from equipoise.cli.options import FAILED, PRIVATE, WRONG, config_option, examples, stop
from equipoise.errors import (
    ConfigError,
    EquipoiseError,
    PortInUse,
    SpillError,
    StoreDamaged,
    StoreError,
    StoreInUse,
    StoreRefused,
)


@click.command(epilog=examples("equipoise serve --config /etc/equipoise/config.toml"))
@config_option
@click.option(
    "--new-store",
    is_flag=True,
    help="Begin without ratings where files show that a store is missing. For one start, when there is no backup.",
)
def serve(path: Path, new_store: bool) -> None:
    """Run the daemon until SIGTERM or Ctrl-C. When it cannot start, one line says why.

    Exit code 2: it needs you; 1: it may start when you try again, because a port or a disk is in use or full.
    """
    import asyncio
    import signal

    # numpy reads it when it is imported. Threads of its own would cost more than they gain at matrices of this size.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Until there is a handler: before that it would end the process.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
    from equipoise import app
    from equipoise.config import STORE, load
    from equipoise.service import systemd

    os.umask(PRIVATE)
    try:
        config = load(path, os.environ)
        systemd.set_up(config.log.level, config.log.format)
        asyncio.run(app.serve(config, new_store=new_store))
    except StoreDamaged as error:
        stop(f"{config.directory / STORE}: {error}")
    except (ConfigError, StoreError, SpillError) as error:
        stop(error, FAILED if _heals(error) else WRONG)


def _heals(error: EquipoiseError) -> bool:
    """Whether another start may succeed without anybody's help: systemd tries again then, and not otherwise."""
    match error:
        case PortInUse() | StoreInUse():
            return True
        case ConfigError() | StoreRefused():
            return False
        case _:
            # A ring's file that may not be written stays so until somebody changes it.
            return not isinstance(error.__cause__, PermissionError)


@click.command("check-config", epilog=examples("equipoise check-config", "equipoise check-config --print"))
@config_option
@click.option("--print", "show", is_flag=True, help="Print the effective configuration, secrets left out.")
def check_config(path: Path, show: bool) -> None:
    """Check the configuration as the daemon reads it. Exit code 2: a key is wrong; its path is named."""
    from equipoise.config import load
    from equipoise.config.differences import printed

    try:
        config = load(path, os.environ)
    except ConfigError as error:
        stop(error)
    for old in config.old_keys:
        click.echo(old, err=True)
    if show:
        for line in printed(config):
            click.echo(line)
    else:
        click.echo(f"{path}: valid. Servers: {len(config.servers)}, pools: {len(config.pools)}.")
