"""Commands on this machine: run the daemon, write and check its configuration."""

from __future__ import annotations

import os
from pathlib import Path

import click

from equipoise.cli.options import PRIVATE, config_option, examples, new_directory, stop
from equipoise.errors import ConfigError, SpillError, StoreDamaged, StoreError


@click.command(epilog=examples("equipoise serve --config /etc/equipoise/config.toml"))
@config_option
@click.option(
    "--new-store",
    is_flag=True,
    help="Begin without ratings where files show that a store is missing. For one start, when there is no backup.",
)
def serve(path: Path, new_store: bool) -> None:
    """Run the daemon until SIGTERM or Ctrl-C. Exit code 2: it cannot start; one line says why."""
    import asyncio

    from equipoise import app
    from equipoise.config import STORE, load
    from equipoise.service import log

    os.umask(PRIVATE)
    try:
        config = load(path, os.environ)
        log.set_up(config.log.level)
        asyncio.run(app.serve(config, new_store=new_store))
    except StoreDamaged as error:
        stop(f"{config.directory / STORE}: {error}")
    except (ConfigError, StoreError, SpillError) as error:
        stop(error)


@click.command("check-config", epilog=examples("equipoise check-config", "equipoise check-config --print"))
@config_option
@click.option("--print", "show", is_flag=True, help="Print the effective configuration, secrets left out.")
def check_config(path: Path, show: bool) -> None:
    """Check the configuration as the daemon reads it. Exit code 2: a key is wrong; its path is named."""
    from equipoise.config import load
    from equipoise.config.printing import printed

    try:
        config = load(path, os.environ)
    except ConfigError as error:
        stop(error)
    if show:
        for line in printed(config):
            click.echo(line)
    else:
        click.echo(f"{path}: valid. Servers: {len(config.servers)}, pools: {len(config.pools)}.")


@click.command(epilog=examples("sudo equipoise init", "equipoise init ~/test --server arena-2"))
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=new_directory)
@click.option("--server", default="arena-1", show_default=True, help="Name of the first game server.")
@click.option("--game", type=click.Choice(["tf2", "ns2"]), default="tf2", show_default=True, help="Its game.")
def init(directory: Path, server: str, game: str) -> None:
    """Write config.toml and secrets into DIRECTORY; nothing that exists is overwritten.

    The default is ~/.config/equipoise, for root /etc/equipoise.

    The secret of the game server is shown only once; its plugin needs it. The files hold SHA-256 hashes, except
    owner.token, which this command line uses.
    """
    from equipoise.cli.setup import write

    try:
        secret = write(directory, server, game)
    except ConfigError as error:
        stop(error)
    config = directory / "config.toml"
    click.echo(f"Wrote {config}. Start the daemon with:\n\n  equipoise serve --config {config}\n")
    click.echo(f"The secret of {server}, shown only now, for its plugin's configuration:\n\n  {secret}\n")
    click.echo(f"{directory / 'owner.token'} is your token for the admin interface: keep it secret.")
