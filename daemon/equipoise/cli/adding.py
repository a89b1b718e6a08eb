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
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import questions
from equipoise.cli.client import Client, Unreachable
from equipoise.cli.options import FAILED, Stopped, agreed, config_option, examples, stop, yes_option
from equipoise.cli.remote import json_option, print_json, token_option, url_option
from equipoise.errors import ConfigError

if TYPE_CHECKING:
    from equipoise.install.servers import NewServer

Command = Callable[..., None]
tf_option = click.option(
    "--tf", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="The server's folder tf/."
)
ns2_config_option = click.option(
    "--ns2-config",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="NS2: the server's config directory (its -config_path).",
)
mod_option = click.option(
    "--mod",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="NS2: write the mod's folder there, to publish it or to try it with -game.",
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


@click.command(
    epilog=examples(
        "equipoise server add dustbowl --tf /srv/dustbowl/tf --rcon 127.0.0.1:27025",
        "equipoise server add ns2-1 --game ns2 --ns2-config '/home/ns2/.config/Natural Selection 2'",
    )
)
@_daemon
@click.argument("name", metavar="SERVER")
@tf_option
@ns2_config_option
@mod_option
@click.option("--pool", help="The pool it feeds. [default: main, or the only one; for NS2 the one of system ns2]")
@click.option("--game", type=click.Choice(["tf2", "ns2", "other"]), default="tf2", show_default=True, help="Its game.")
@click.option("--rcon", metavar="HOST:PORT", help="Its RCON, for orders within a second.")
@click.option("--rcon-password-file", metavar="FILE", help="A file with its password; -: standard input. Else asked.")
def add(
    daemon: Daemon,
    name: str,
    tf: Path | None,
    ns2_config: Path | None,
    mod: Path | None,
    pool: str | None,
    game: str,
    rcon: str | None,
    rcon_password_file: str | None,
    as_json: bool,
) -> None:
    """Add a game server, while the daemon runs.

    It is written into servers.d/SERVER.toml, beside the configuration. With --tf the plugin is installed into the
    server's folder, with the address, the name and a secret of its own; with --ns2-config these are written into the
    server's config directory, for the NS2 mod. Without either the secret is shown, only once.
    """
    from equipoise.install.servers import NewServer, check_rcon, prepare

    _check_new(daemon.config, name)
    if rcon is not None:
        check_rcon(rcon)
    password = questions.rcon_password(name, rcon_password_file) if rcon is not None else None
    with daemon.alone():
        tables = _check_new(daemon.config, name)
        server = NewServer(name, pool or _pool_for(game, tables), game, tf, ns2_config, mod, rcon, password)
        prepared = prepare(daemon.config, [server], daemon.url)
        with prepared.applied():
            answer = daemon.reread()
    (added,) = prepared.servers
    lines = added.lines() + _lost(server, tables)
    if added.command:
        lines += daemon.console(name, added.command) if rcon and answer["running"] else added.left()
    secret = added.secret if tf is None and ns2_config is None else None
    _show(answer | {"ok": True, "server": name, "secret": secret, "lines": lines}, as_json)


@click.command(
    epilog=examples(
        "equipoise server update dustbowl --tf /srv/dustbowl/tf",
        "equipoise server update ns2-1 --mod /srv/equipoise-mod",
    )
)
@_daemon
@click.argument("name", metavar="SERVER")
@tf_option
@mod_option
def update(daemon: Daemon, name: str, tf: Path | None, mod: Path | None, as_json: bool) -> None:
    """Install the plugin or the mod of this version, after an upgrade. Address, name and secret stay."""
    from equipoise.config.sources import read_sources
    from equipoise.install.servers import prepare_mod, prepare_update

    sources = read_sources(daemon.config)
    _check_there(name, sources.files)
    if tf is not None and mod is None:
        prepared = prepare_update(name, tf)
    elif mod is not None and tf is None:
        prepared = prepare_mod(name, mod)
    else:
        raise click.UsageError("which folder? Either --tf DIR, of a TF2 server, or --mod DIR, of the NS2 mod")
    with prepared.applied():
        pass
    (updated,) = prepared.servers
    lines = updated.lines()
    if updated.command:
        has_rcon = sources.tables["server"][name].get("rcon")
        lines += daemon.console(name, updated.command) if has_rcon else updated.left()
    _show({"ok": True, "running": True, "server": name, "lines": lines, "changes": [], "restart": []}, as_json)


@click.command(epilog=examples("equipoise server remove dustbowl"))
@_daemon
@click.argument("name", metavar="SERVER")
@yes_option
def remove(daemon: Daemon, name: str, yes: bool, as_json: bool) -> None:
    """Remove a game server that a command added. Its ratings stay: they are its pool's.

    The daemon writes its session down and no longer serves it. The plugin stays in its folder tf/, the NS2 mod on its
    server.
    """
    from equipoise.install.changes import Changes
    from equipoise.install.servers import password_file, server_file

    _own_file(daemon.config, name, f"remove the table [server.{name}], then `equipoise reload`")
    if not yes and not agreed(f"Remove the game server {name}?"):
        stop("nothing was changed", FAILED)
    game = _game(daemon.config, name)
    files = Changes(daemon.config.parent)
    files.remove(server_file(daemon.config, name))
    files.remove(password_file(daemon.config, name))
    with daemon.alone(), files.applied():
        answer = daemon.reread()
    lines = [f"{name} is removed; its ratings stay.", *_STILL_THERE.get(game, [])]
    _show(answer | {"ok": True, "server": name, "lines": lines}, as_json)


_STILL_THERE = {
    "tf2": ["Its plugin is still in its tf/: sm plugins unload equipoise"],
    "ns2": ["Its mod is still there: take its id out of MapCycle.json, and remove Equipoise.json beside that"],
}


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
@ns2_config_option
def secret(daemon: Daemon, name: str, tf: Path | None, ns2_config: Path | None, as_json: bool) -> None:
    """Give a game server another secret.

    With --tf it is written into the cfg of its plugin, with --ns2-config into the settings of its mod, else shown, only
    once. Both are read at the next map.
    """
    from equipoise.install.servers import new_secret, prepare_rotation

    new, digest = new_secret()
    line = f'secret_sha256 = "{digest}"'
    advice = f"set {line} in [server.{name}], then `equipoise reload`; the new secret is {new}"
    with daemon.alone():
        _own_file(daemon.config, name, advice)
        prepared, lines = prepare_rotation(daemon.config, name, tf, ns2_config, new, digest)
        with prepared.applied():
            answer = daemon.reread()
    _show(answer | {"ok": True, "server": name, "secret": None if tf or ns2_config else new, "lines": lines}, as_json)


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


def _game(config: Path, name: str) -> str:
    """The game of a server that is there, as its file says."""
    from equipoise.config.sources import read_sources

    return str(read_sources(config).tables["server"][name].get("game", "tf2"))


def _pool_for(game: str, tables: dict[str, Any]) -> str:
    """The pool that a server of a game feeds where no option says it; ConfigError where none fits.

    One account's skill in two games is no one number: a pool that another game's servers feed is left out.
    """
    fed = {keys.get("pool") for keys in tables.get("server", {}).values() if keys.get("game", "tf2") != game}
    pools = {name: keys for name, keys in tables.get("pool", {}).items() if name not in fed}
    if game == "ns2":
        pools = {name: keys for name, keys in pools.items() if keys.get("system") == "ns2"}
        if not pools:
            raise ConfigError(
                'no pool rates by ns2: add [pool.ns2] with system = "ns2" to config.toml and restart the daemon, or '
                "name a pool by --pool"
            )
    if not pools and tables.get("pool"):
        raise ConfigError("servers of another game feed every pool: add a pool to config.toml, or name one by --pool")
    return next(iter(pools)) if len(pools) == 1 else "main"


def _lost(server: NewServer, tables: dict[str, Any]) -> list[str]:
    """What an operator reads who lets an NS2 server feed a pool of another system; nothing elsewhere."""
    system = tables.get("pool", {}).get(server.pool, {}).get("system", "synelo")
    if server.game != "ns2" or system == "ns2":
        return []
    return [
        f"{server.pool} rates by {system}, without sides and commanders. For both add [pool.NAME] with "
        f'system = "ns2" to config.toml, set pool in servers.d/{server.name}.toml, and restart the daemon.'
    ]


def _show(answer: dict[str, Any], as_json: bool) -> None:
    if print_json(answer, as_json):
        return
    for line in (*answer["changes"], *answer["lines"]):
        click.echo(line)
    for line in answer["restart"]:
        click.echo(f"needs a restart: {line}")
    if not answer["running"]:
        click.echo("No daemon is running: it reads this at its next start.")
