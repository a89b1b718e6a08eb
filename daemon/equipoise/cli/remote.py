"""What commands share that ask the running daemon through its admin interface."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from equipoise.cli.client import Client
from equipoise.cli.options import config_option, stop
from equipoise.cli.output import json_text

Command = Callable[..., None]


url_option = click.option(
    "--url", envvar="EQUIPOISE_URL", help="The daemon's address. [env: EQUIPOISE_URL; default: config]"
)
token_option = click.option(
    "--token", envvar="EQUIPOISE_TOKEN", help="A token. [env: EQUIPOISE_TOKEN; default: owner.token beside it]"
)


def remote(command: Command) -> Command:
    """Give a command the daemon's client, from options that all such commands have."""

    @config_option
    @url_option
    @token_option
    @wraps(command)
    def connected(path: Path, url: str | None, token: str | None, **arguments: Any) -> None:
        command(Client.of(path, url, token), **arguments)

    return connected


json_option = click.option("--json", "as_json", is_flag=True, help="Print the daemon's answer as JSON.")
pool_option = click.option("--pool", help="The pool; needed only where there are several.")


def pool_options(command: Command) -> Command:
    """Give a command the name of a pool, by an argument or by `--pool`, which the commands on players have.

    Without either, a command with the daemon's client has the only pool; one that reads the configuration gets None.
    """

    @click.option("--pool", "by_option", help="The pool; needed only where there are several.")
    @click.argument("pool", metavar="[POOL]", required=False)
    @wraps(command)
    def named(*client: Client, pool: str | None, by_option: str | None, **arguments: Any) -> None:
        if pool and by_option and pool != by_option:
            raise click.UsageError(f"name one pool: {pool} or {by_option}")
        name = pool or by_option
        command(*client, name=one_pool(client[0], name) if client else name, **arguments)

    return named


def one_pool(client: Client, name: str | None) -> str:
    """The pool that was named, else the daemon's only one."""
    if name is not None:
        return name
    known = [each["pool"] for each in client.get("pools")["pools"]]
    if len(known) != 1:
        stop(f"there are several pools: name one by --pool: {', '.join(known)}")
    return str(known[0])


def print_json(answer: Any, as_json: bool) -> bool:
    """Print the answer if JSON was asked for; True if it was."""
    if as_json:
        # A terminal that cannot show a name would make another name of it.
        click.echo(json_text(answer, ascii_only=sys.stdout.encoding.lower() != "utf-8"))
    return as_json
