"""A new installation: the configuration, its game servers, and the systemd unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli import completion, questions
from equipoise.cli.options import FAILED, examples, new_directory, stop
from equipoise.errors import ConfigError
from equipoise.install import assets
from equipoise.install.configuration import Ruleset, write_new
from equipoise.install.servers import NewServer

if TYPE_CHECKING:
    from equipoise.config import Config
    from equipoise.install.unit import Needs

EPILOG = examples(
    "equipoise init",
    "equipoise init --server arena-1 --tf /srv/arena-1/tf",
    "equipoise init --server a --server b --tf a=/srv/a/tf --tf b=/srv/b/tf --yes",
    "equipoise init --systemd --server arena-1 --tf /srv/arena-1/tf",
    "equipoise init --game ns2 --server ns2-1 --ns2-config /home/ns2/config",
    "equipoise init --rules source --server arena-1 --tf /srv/arena-1/tf",
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
@click.option("--yes", "-y", is_flag=True, help="Do not ask; what no option says is left out.")
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
        command = _unit_command(directory) if systemd else None
        options = {
            "--tf": tf,
            "--ns2-config": ns2_config,
            "--rcon": rcon,
            "--rcon-user": rcon_user,
            "--rcon-password-file": rcon_password_file,
        }
        if not command or names or rules == "source" or any(options.values()) or not config.exists():
            servers = _new_servers(names, game, options, asks=questions.on_terminal() and not yes)
            for result in write_new(directory, servers, rules):
                click.echo("\n".join([*result.lines(), *result.left()]) + "\n")
            click.echo(f"Wrote config.toml, owner.token and servers.d in {directory}.")
        _complete(system=systemd)
        if command:
            start_unit(config, command)
        else:
            click.echo(f"Start the daemon with:\n\n  equipoise serve --config {config}\n")
            click.echo(f"While it runs, open its page in a browser with:\n\n  equipoise page --config {config}\n")
    except ConfigError as error:
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


def _unit_command(directory: Path) -> str:
    """Return the command that the unit runs, after all checks that need no configuration."""
    from equipoise.install import unit

    unit.check_machine(directory)
    return unit.command()


def start_unit(config: Path, command: str) -> None:
    """Write the unit in place of an older one, and start the daemon anew."""
    from equipoise.config import load
    from equipoise.install import unit

    read = load(config, {})
    # Before the start: the daemon would take the default of new pools for a pool that has played without it.
    for line in keep_as_before(read):
        click.echo(line)
    unit.write(command, needs(read))
    click.echo(f"Wrote {unit.UNIT}. Starting the daemon …")
    if read.web.allow_remote:
        click.echo(f"The unit lets in this machine alone: {assets.folder() / 'systemd' / 'remote.conf'} opens it.")
    try:
        unit.start()
    except unit.StartFailed as error:
        stop(error, FAILED)
    click.echo(
        "The daemon runs, and is ready. `equipoise status` shows the game servers, `equipoise page` how to "
        "open their page in a browser."
    )


def needs(config: Config) -> Needs:
    """Return what a configuration needs of the unit."""
    from equipoise.install.unit import Needs

    outward = bool(config.webhooks) or any(pool.database for pool in config.pools.values())
    return Needs(config.web.port, config.web.max_connections, outward)


def keep_as_before(config: Config) -> Iterator[str]:
    """Write how teams are made into the tables of pools that have played before there was a default; what was done."""
    from equipoise.config import STORE
    from equipoise.install.changes import Changes
    from equipoise.install.configuration import with_balance
    from equipoise.store.measurements import plays_alone_in

    for pool in config.pools.values():
        if not pool.balance_left_open or not plays_alone_in(config.directory / STORE, pool.name):
            continue
        line = f'balance = "{pool.system}" in [pool.{pool.name}]'
        text = with_balance(config.path.read_text("utf-8"), pool.name, pool.system)
        if text is None:
            yield f"Write {line} of {config.path}: its teams are made as before, by the ratings that players see."
            continue
        changes = Changes(config.path.parent)
        changes.write(config.path, text.encode(), config.path.stat().st_mode & 0o777)
        with changes.applied():
            pass
        yield f"Wrote {line}: its teams are made as before. `equipoise doctor` says what new pools have."


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
