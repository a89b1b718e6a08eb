"""A new installation: the configuration, its game servers, and the systemd unit."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from equipoise.cli import completion, questions
from equipoise.cli.options import examples, new_directory, stop
from equipoise.cli.sharing import join_anew, show
from equipoise.cli.starting import start_unit
from equipoise.errors import ConfigError, StoreError
from equipoise.install import unit
from equipoise.install.configuration import Ruleset, prepare_new
from equipoise.install.server_files import NewServer

EPILOG = examples(
    "equipoise init",
    "equipoise init --server arena-1 --tf /srv/arena-1/tf",
    "equipoise init --server a --server b --tf a=/srv/a/tf --tf b=/srv/b/tf --yes",
    "equipoise init --systemd --server arena-1 --tf /srv/arena-1/tf",
    "equipoise init --game ns2 --server ns2-1 --ns2-config /home/ns2/config",
    "equipoise init --rules source --server arena-1 --tf /srv/arena-1/tf",
    "equipoise init --systemd --join postgresql://equipoise@db/equipoise",
    "equipoise init --completion",
)
SHARED = "With several servers NAME= says whose it is."


@click.command(epilog=EPILOG)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=new_directory)
@click.option(
    "--server", "names", multiple=True, metavar="NAME", help="A game server; repeat it for more. [arena-1, ns2-1]"
)
@click.option(
    "--game", type=click.Choice(["tf2", "ns2", "other"]), default="tf2", show_default=True, help="Their game."
)
@click.option(
    "--rules",
    type=click.Choice(["equipoise", "source"]),
    default="equipoise",
    show_default=True,
    help="source: by the letter of the documents that the rules come from (SynElo; with --game ns2 NS2's), key by key.",
)
@click.option("--tf", multiple=True, metavar="[NAME=]DIR", help=f"Install the plugin into this tf/. {SHARED}")
@click.option(
    "--ns2-config", multiple=True, metavar="[NAME=]DIR", help=f"NS2: a server's config directory, for its mod. {SHARED}"
)
@click.option(
    "--rcon", multiple=True, metavar="[NAME=]HOST:PORT", help=f"A server's RCON, or NS2's web admin. {SHARED}"
)
@click.option("--rcon-user", multiple=True, metavar="[NAME=]NAME", help="NS2: the web admin's user, its -webuser.")
@click.option(
    "--rcon-password-file", multiple=True, metavar="[NAME=]FILE", help="A file with its password; -: standard input."
)
@click.option("--join", metavar="URL", help="Join the pool that other machines share in this PostgreSQL database.")
@click.option(
    "--join-password-file",
    metavar="FILE",
    help="A file with its role's password; -: standard input. On a terminal it is asked for.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask, but for passwords; what no option says is left out.")
@click.option("--systemd", is_flag=True, help="Write the systemd unit too, and start it.")
@click.option("--completion", "completes", is_flag=True, help="Only let your shells complete commands by Tab.")
def init(
    directory: Path,
    names: tuple[str, ...],
    game: str,
    rules: Ruleset,
    tf: tuple[str, ...],
    ns2_config: tuple[str, ...],
    rcon: tuple[str, ...],
    rcon_user: tuple[str, ...],
    rcon_password_file: tuple[str, ...],
    join: str | None,
    join_password_file: str | None,
    yes: bool,
    systemd: bool,
    completes: bool,
) -> None:
    """Write a configuration and game servers into DIRECTORY; nothing that exists is overwritten.

    The default is ~/.config/equipoise, for root /etc/equipoise. On a terminal it asks for what no option says. Shells
    complete commands by Tab from then on.

    The files hold SHA-256 hashes of secrets. A game server's secret is written into its plugin's cfg with --tf, into
    the settings of its mod with --ns2-config, else shown, only once. owner.token is the key of this command line: keep
    it secret.
    """
    config = directory / "config.toml"
    try:
        if completes:
            if not (lines := completion.install(completion.own(), Path.home())):
                raise ConfigError("nothing was written: there is no home directory, or the files are not ours")
            click.echo("\n".join(lines))
            return
        command = None
        if systemd:
            # All checks that need no configuration come before anything is written.
            unit.check_machine(directory)
            command = unit.command()
        options = {
            "--tf": tf,
            "--ns2-config": ns2_config,
            "--rcon": rcon,
            "--rcon-user": rcon_user,
            "--rcon-password-file": rcon_password_file,
        }
        pool = None
        if not command or names or rules == "source" or join or any(options.values()) or not config.exists():
            servers = _new_servers(names, game, options, asks=sys.stdin.isatty() and not yes)
            preparation = prepare_new(directory, servers, rules)
            with preparation.applied():
                if join is not None:
                    pool = join_anew(config, join, join_password_file)
            for result in preparation.servers:
                click.echo("\n".join([*result.lines(), *result.left()]) + "\n")
            click.echo(f"Wrote config.toml, owner.token and servers.d in {directory}.")
        _complete(system=systemd)
        if command:
            start_unit(config, command)
            if pool is not None:
                show(config, pool)
        else:
            click.echo(f"Start the daemon with:\n\n  equipoise serve --config {config}\n")
            click.echo(f"While it runs, open its page in a browser with:\n\n  equipoise page --config {config}\n")
    except (ConfigError, StoreError) as error:
        stop(error)


def _complete(*, system: bool) -> None:
    """Let shells complete commands: where that cannot be, one line says why."""
    places, folder = (completion.SYSTEM, Path("/")) if system else (completion.own(), Path.home())
    try:
        lines = completion.install(places, folder)
    except ConfigError as error:
        click.echo(f"Tab does not complete commands: {error}", err=True)
        return
    for line in lines:
        click.echo(line)


def _new_servers(
    names: tuple[str, ...], game: str, given: Mapping[str, Sequence[str]], *, asks: bool
) -> list[NewServer]:
    """The game servers that the options say, and on a terminal the answers to what they leave open."""
    usual = "ns2-1" if game == "ns2" else "arena-1"
    servers = names or (questions.server_names(usual) if asks else (usual,))
    answers = {option: _by_server(option, values, servers) for option, values in given.items()}
    return [_server(name, game, {option: answers[option].get(name) for option in answers}, asks) for name in servers]


def _server(name: str, game: str, told: Mapping[str, str | None], asks: bool) -> NewServer:
    tf, address = _path(told["--tf"]), told["--rcon"]
    directory = _path(told["--ns2-config"])
    if asks and game == "tf2":
        tf = tf or questions.game_folder(name)
        address = address or questions.rcon_address(name)
    elif asks and game == "ns2":
        directory = directory or questions.config_directory(name)
        address = address or questions.web_admin_address(name)
    user = told["--rcon-user"]
    if address and game == "ns2":
        user = user or questions.web_admin_user(name)
    password = questions.rcon_password(name, told["--rcon-password-file"]) if address else None
    return NewServer(name, game=game, tf=tf, ns2_config=directory, rcon=address, password=password, user=user)


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _by_server(option: str, given: Sequence[str], servers: Sequence[str]) -> dict[str, str]:
    """The values of an option by server; without NAME= it is that of the only one."""
    values_by_server: dict[str, str] = {}
    for value in given:
        name, equals, rest = value.partition("=")
        if not (equals and name in servers):
            if len(servers) > 1:
                raise ConfigError(f"{option} {value}: which server? Write {option} {servers[0]}={value}")
            name, rest = servers[0], value
        if name in values_by_server:
            raise ConfigError(f"{option} is given twice for {name}")
        values_by_server[name] = rest
    return values_by_server
