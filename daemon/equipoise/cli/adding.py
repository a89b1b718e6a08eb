"""Game servers are added, removed, updated and given another secret, while the daemon runs.

Each command writes files and has the daemon read them. Where the daemon refuses them, everything is as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from functools import wraps
from pathlib import Path
from typing import Any

import click

from equipoise.cli import questions
from equipoise.cli.client import Client, Unreachable
from equipoise.cli.options import FAILED, Stopped, agreed, config_option, examples, stop, yes_option
from equipoise.cli.remote import json_option, print_json, token_option, url_option
from equipoise.errors import ConfigError

Command = Callable[..., None]
tf_option = click.option(
    "--tf", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="The server's folder tf/."
)


class Daemon:
    """The daemon that serves a configuration, or would."""

    def __init__(self, config: Path, url: str | None, token: str | None) -> None:
        self.config = config
        self._client = Client.of(config, url, token)

    @property
    def url(self) -> str:
        """The daemon's address, as the client calls it."""
        return self._client.url

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let other commands wait that change files of this configuration."""
        with self.config.open("rb") as file:
            flock(file, LOCK_EX)
            yield

    def reread(self) -> dict[str, Any]:
        """Have the files read, and return what that changed; Stopped or ConfigError where they are refused.

        Without a daemon they are checked as one would; then the answer's `running` is false.
        """
        try:
            # Files that are refused are taken back: `status` shall not say that the configuration is refused.
            self._client.send("POST", "reload", body={"dry_run": True})
            answer = self._client.send("POST", "reload", body={"dry_run": False})
        except Unreachable:
            from equipoise.config import load

            load(self.config, os.environ)
            return {"running": False, "changes": [], "restart": []}
        return {"running": True, "changes": answer["changes"], "restart": answer["restart"]}

    def console(self, server: str, command: str) -> list[str]:
        """Send a command of SourceMod to a game server, and say whether that succeeded."""
        try:
            output = str(self._client.send("POST", "servers", server, "rcon", body={"command": command})["output"])
        except Stopped as error:
            output = str(error)
        if "successfully" in output:  # SourceMod, core/logic/PluginSys.cpp, OnRootConsoleCommand
            return [f"RCON: {command}: {output.strip()}"]
        return [f"RCON: {output.strip()}", f"One command is left, in the console of {server}:\n\n  {command}\n"]


def _daemon(command: Command) -> Command:
    """Give a command the daemon, and print its refusals."""

    @config_option
    @url_option
    @token_option
    @json_option
    @wraps(command)
    def connected(path: Path, url: str | None, token: str | None, **arguments: Any) -> None:
        try:
            command(Daemon(path.absolute(), url, token), **arguments)
        except ConfigError as error:
            stop(error)

    return connected


@click.command(epilog=examples("equipoise server add dustbowl --tf /srv/dustbowl/tf --rcon 127.0.0.1:27025"))
@_daemon
@click.argument("name", metavar="SERVER")
@tf_option
@click.option("--pool", help="The pool it feeds. [default: main, or the only one]")
@click.option("--game", type=click.Choice(["tf2", "ns2", "other"]), default="tf2", show_default=True, help="Its game.")
@click.option("--rcon", metavar="HOST:PORT", help="Its RCON, for orders within a second.")
@click.option("--rcon-password-file", metavar="FILE", help="A file with its password; -: standard input. Else asked.")
def add(
    daemon: Daemon,
    name: str,
    tf: Path | None,
    pool: str | None,
    game: str,
    rcon: str | None,
    rcon_password_file: str | None,
    as_json: bool,
) -> None:
    """Add a game server, while the daemon runs.

    It is written into servers.d/SERVER.toml, beside the configuration. With --tf the plugin is installed into the
    server's folder, with the address, the name and a secret of its own; without, the secret is shown, only once.
    """
    from equipoise.install.servers import NewServer, check_rcon, prepare

    _check_new(daemon.config, name)
    if rcon is not None:
        check_rcon(rcon)
    password = questions.rcon_password(name, rcon_password_file) if rcon is not None else None
    with daemon.alone():
        tables = _check_new(daemon.config, name)
        server = NewServer(name, pool or _only_pool(tables), game, tf, rcon, password)
        prepared = prepare(daemon.config, [server], daemon.url)
        with prepared.applied():
            answer = daemon.reread()
    (added,) = prepared.servers
    lines = added.lines()
    if command := added.command():
        lines += daemon.console(name, command) if rcon and answer["running"] else added.left()
    secret = added.secret if tf is None else None
    _show(answer | {"ok": True, "server": name, "secret": secret, "lines": lines}, as_json)


@click.command(epilog=examples("equipoise server update dustbowl --tf /srv/dustbowl/tf"))
@_daemon
@click.argument("name", metavar="SERVER")
@click.option("--tf", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", required=True, help="Its tf/.")
def update(daemon: Daemon, name: str, tf: Path, as_json: bool) -> None:
    """Install the plugin of this version into a server's folder, after an upgrade. Its cfg stays as it is."""
    from equipoise.config.sources import read_sources
    from equipoise.install.servers import prepare_update

    sources = read_sources(daemon.config)
    _check_there(name, sources.files)
    prepared = prepare_update(name, tf)
    with prepared.applied():
        pass
    (updated,) = prepared.servers
    lines = updated.lines()
    if command := updated.command():
        has_rcon = sources.tables["server"][name].get("rcon")
        lines += daemon.console(name, command) if has_rcon else updated.left()
    _show({"ok": True, "running": True, "server": name, "lines": lines, "changes": [], "restart": []}, as_json)


@click.command(epilog=examples("equipoise server remove dustbowl"))
@_daemon
@click.argument("name", metavar="SERVER")
@yes_option
def remove(daemon: Daemon, name: str, yes: bool, as_json: bool) -> None:
    """Remove a game server that a command added. Its ratings stay: they are its pool's.

    The daemon writes its session down and no longer serves it. The plugin stays in its folder tf/.
    """
    from equipoise.install.changes import Changes
    from equipoise.install.servers import password_file, server_file

    _own_file(daemon.config, name, f"remove the table [server.{name}], then `equipoise reload`")
    if not yes and not agreed(f"Remove the game server {name}?"):
        stop("nothing was changed", FAILED)
    files = Changes(daemon.config.parent)
    files.remove(server_file(daemon.config, name))
    files.remove(password_file(daemon.config, name))
    with daemon.alone(), files.applied():
        answer = daemon.reread()
    lines = [f"{name} is removed; its ratings stay.", "Its plugin is still in its tf/: sm plugins unload equipoise"]
    _show(answer | {"ok": True, "server": name, "lines": lines}, as_json)


@click.command(epilog=examples("equipoise server secret dustbowl --rotate --tf /srv/dustbowl/tf"))
@_daemon
@click.argument("name", metavar="SERVER")
@click.option(
    "--rotate",
    is_flag=True,
    required=True,
    expose_value=False,
    help="Make a new secret; the old one is refused from then on.",
)
@tf_option
def secret(daemon: Daemon, name: str, tf: Path | None, as_json: bool) -> None:
    """Give a game server another secret.

    With --tf it is written into the cfg of its plugin, else shown, only once. The plugin reads its cfg at the next map.
    """
    from equipoise.install.servers import new_secret, prepare_rotation

    new, digest = new_secret()
    line = f'secret_sha256 = "{digest}"'
    advice = f"set {line} in [server.{name}], then `equipoise reload`; the new secret is {new}"
    with daemon.alone():
        _own_file(daemon.config, name, advice)
        prepared, lines = prepare_rotation(daemon.config, name, tf, new, digest)
        with prepared.applied():
            answer = daemon.reread()
    _show(answer | {"ok": True, "server": name, "secret": None if tf else new, "lines": lines}, as_json)


def _own_file(config: Path, name: str, advice: str) -> None:
    """Stop unless the server stands in a file that commands write."""
    from equipoise.config.sources import read_sources

    files = read_sources(config).files
    _check_there(name, files)
    if files[name] == config:
        stop(f"{name} stands in {config}, which no command changes: {advice}", FAILED)


def _check_there(name: str, files: Mapping[str, Path]) -> None:
    if name not in files:
        close = [other for other in files if other.casefold() == name.casefold()]
        stop(f"there is no server {name}; there is: {', '.join(close or files) or 'none'}")


def _check_new(config: Path, name: str) -> dict[str, Any]:
    """The tables of a configuration; ConfigError where it has a server of this name."""
    from equipoise.config.sources import read_sources
    from equipoise.install.servers import check_name

    sources = read_sources(config)
    check_name(name, sources.files)
    return sources.tables


def _only_pool(tables: dict[str, Any]) -> str:
    pools = tables.get("pool", {})
    return next(iter(pools)) if len(pools) == 1 else "main"


def _show(answer: dict[str, Any], as_json: bool) -> None:
    if print_json(answer, as_json):
        return
    for line in (*answer["changes"], *answer["lines"]):
        click.echo(line)
    for line in answer["restart"]:
        click.echo(f"needs a restart: {line}")
    if not answer["running"]:
        click.echo("No daemon is running: it reads this at its next start.")
