"""Game servers: their status, orders to them, their consoles, and servers added, changed and removed.

Commands that change a server write files and have the running daemon read them. If it refuses them, everything is as it
was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import Group, questions
from equipoise.cli.client import (
    Client,
    Unreachable,
    json_option,
    listing,
    print_json,
    redrawn,
    remote,
    servers,
    token_option,
    url_option,
)
from equipoise.cli.options import FAILED, Stopped, config_option, confirm, dry_run_option, examples, stop, yes_option
from equipoise.cli.output import Column, counted, field, local_time, print_items, print_legend, print_note, print_table
from equipoise.core.wording import chance, change, side_word
from equipoise.errors import ConfigError

if TYPE_CHECKING:
    from equipoise.config.sources import Sources
    from equipoise.install.server_files import NewServer


@click.command(epilog=examples("equipoise reload --dry-run", "equipoise reload"))
@remote
@dry_run_option
def reload(client: Client, dry_run: bool, as_json: bool) -> None:
    """Read the configuration again and put it in force, without a restart.

    Each change is a line. What needs a restart is named, and everything else takes effect at once. Exit code 1: a file
    is wrong; its name, the key and the reason are shown, and the configuration from before stays in force.
    """
    answer = client.reload(dry=dry_run)
    if print_json(answer, as_json):
        return
    if dry_run and answer["changes"]:
        click.echo("A reload would change:")
    for line in answer["changes"]:
        click.echo(line)
    for line in answer["restart"]:
        click.echo(f"needs a restart: {line}")
    for line in answer["rcon"]:
        click.echo(line)
    if not answer["changes"] and not answer["restart"] and not answer["rcon"]:
        click.echo("Nothing has changed.")


def not_in_force(configuration: dict[str, Any]) -> Iterator[str]:
    """Lines of `status` about files that say something else than what is in force."""
    if configuration["refused"] is not None:
        since = local_time(configuration["refused_since"])
        yield f"\nConfiguration refused since {since}: {configuration['refused']}. The one before is in force."
    for line in configuration["restart"]:
        yield f"\nA restart is needed for a change of the configuration: {line}"


@click.command(
    epilog=examples("equipoise status", "equipoise status --watch", "equipoise status --json | jq '.servers[].map'")
)
@listing
@click.option("--watch", is_flag=True, help="Show it again every 2 seconds, until Ctrl-C.")
def status(client: Client, watch: bool, as_json: bool, as_csv: bool) -> None:
    """Show what every game server is doing."""
    if not watch:
        _show(client.get("servers"), as_json=as_json, as_csv=as_csv)
        return
    if as_json or as_csv:
        raise click.UsageError("--watch shows a table: it excludes --json and --csv")

    def draw() -> Callable[[], None]:
        answer = client.get("servers")
        return lambda: _show(answer, as_json=False, as_csv=False)

    redrawn(draw)


def _show(answer: Any, *, as_json: bool, as_csv: bool) -> None:
    if print_json(answer, as_json):
        return
    none = "No server is configured: `equipoise server add NAME` adds one."
    shown = print_items(answer["servers"], CSV if as_csv else COLUMNS, as_csv=as_csv, empty=none, colour=_colour)
    if as_csv:
        return
    for neighbour in answer["elsewhere"]:
        crowd = counted(neighbour["players"], "player", "players")
        state = "lost" if neighbour["lost"] else f"{neighbour['map'] or 'no map'}, {crowd}"
        click.echo(f"{neighbour['server']} on machine {neighbour['machine']}: {state}")
    for line in _notes(answer):
        print_note(line)
    _show_store(answer)
    if any(server["players_a"] or server["players_b"] for server in answer["servers"]):
        print_legend(shown)


def _notes(answer: Any) -> Iterator[str]:
    """Yield the lines that the table has no room for."""
    for line in answer["servers"]:
        if line["pending"]:
            yield f"{line['server']}: a {_scramble(line)} is due at the next round start: {line['pending']}."
        if line["stale_scripts"]:
            yield _several_scripts(line)
    for job in answer["jobs"]:
        if job["last_error"] is not None:
            when, again = local_time(job["last_run"]), local_time(job["next_run"])
            yield f"\nThe job {job['name']} failed at {when}: {job['last_error']}. Next run: {again}."
    yield from answer["remarks"]
    yield from not_in_force(answer["configuration"])


def _show_store(answer: Any) -> None:
    queue = counted(answer["waiting_rounds"], "round waits", "rounds wait")
    if (store := answer["store"])["state"] != "ok":
        click.echo()
        print_note(f"The store is {store['state']} since {local_time(store['since'])}, {queue}: {store['advice']}.")
    elif answer["waiting_rounds"]:
        click.echo(f"{queue} for the store.")


def _heard(shown: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    """A cell about the map: there is nothing to say before a script called."""
    return lambda each: "-" if each["silent_seconds"] is None else shown(each)


def _players(each: dict[str, Any]) -> str:
    sides = [f"{each[f'players_{side}']} {side_word(each['sides'], side)}" for side in "ab"]
    return ", ".join([*sides, *([f"{each['waiting']} waiting"] if each["waiting"] else [])])


def _streak(each: dict[str, Any]) -> str:
    side = each["streak_side"]
    return f"{side_word(each['sides'], side)} {each['streak']}" if side and each["streak"] else "-"


def _scramble(each: dict[str, Any]) -> str:
    return "shuffle" if each["mode"] == "ns2" else "scramble"


def _next(each: dict[str, Any]) -> str:
    if each["pending"]:
        return _scramble(each)
    if each["vote_running"]:
        return "vote running"
    return f"asked for a vote: {each['voices']}" if each["voices"] else "-"


def _state(each: dict[str, Any]) -> str:
    if each["silent_seconds"] is None:
        return "not heard yet" if each["boot"] else "never heard of"
    if each["lost"]:
        return f"lost for {_long(each['silent_seconds'])}"
    if each["inactive_reason"]:
        return f"inactive: {each['inactive_reason']}"
    if each["level"] != "balance":
        return f"{'inactive' if each['level'] == 'off' else 'only rates'}: {each['level_reason']}"
    return "on" if each["enabled"] else "off"


def _long(seconds: float) -> str:
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _colour(each: dict[str, Any]) -> str | None:
    if each["silent_seconds"] is not None and each["lost"]:
        return "red"
    return None if _state(each) == "on" else "yellow"


COLUMNS = (
    field("SERVER", "server"),
    Column("STATE", _state, least=14),
    Column("MAP", _heard(lambda each: f"{each['map']} ({each['mode']})" if each["map"] else "-"), least=10, goes=5),
    Column("ROUND", _heard(lambda each: f"{each['round']} {each['phase']}"), goes=2),
    Column("PLAYERS", _heard(_players), legend="on each side, and those who wait"),
    Column(
        "FAVOURITE",
        _heard(lambda each: chance(each["sides"], each["win_probability"], each["outlook"])),
        goes=4,
        legend="the side that is likely to win, by the system that makes the teams, and the 80 % interval of its "
        "chance where that is known",
    ),
    Column("STREAK", _heard(_streak), goes=1, legend="rounds that a side has won in a row"),
    Column("NEXT", _heard(_next), goes=3, legend="what is due at the next round start"),
)


_KEYS = (
    *("pool", "map", "mode", "phase", "round", "players_a", "players_b", "waiting", "win_probability"),
    *("streak", "streak_side", "pending", "ring", "dropped_rounds"),
)
CSV = (COLUMNS[0], Column("state", _state), *(field(key, key) for key in _KEYS))


def _several_scripts(each: dict[str, Any]) -> str:
    """Why a server of this name may not be served."""
    stale = each["stale_scripts"]
    others = ", ".join(f"boot {script['boot']} is stale since {local_time(script['since'])}" for script in stale)
    first = f"boot {each['boot']} is served"
    return f"{len(stale) + 1} scripts call as {each['server']}: {first}, {others}; is the plugin loaded on two servers?"


@click.group(cls=Group)
def server() -> None:
    """Game servers."""


def _order(action: str, summary: str, *, dry: bool = False) -> None:
    """Add a command that makes a server do something."""

    @remote
    @click.argument("name", metavar="SERVER", shell_complete=servers)
    def order(client: Client, name: str, as_json: bool, dry_run: bool = False, when: str = "now") -> None:
        answer = client.send("POST", "servers", name, action, body={"dry_run": dry_run, "when": when})
        if not print_json(answer, as_json):
            _print_order(answer)

    example = examples(f"equipoise server {action} arena-1{' --dry-run' if dry else ''}")
    command = click.command(action, help=summary, epilog=example)(order)
    if dry:
        command.params.append(click.Option(["--dry-run"], is_flag=True, help="Only show what would be done."))
    if action == "scramble":
        choice = click.Choice(["now", "next", "skip"])
        text = "At once, or next round; NS2: skip, not before it."
        command.params.append(click.Option(["--when"], type=choice, default="now", help=text))
    server.add_command(command)


def _print_order(answer: dict[str, Any]) -> None:
    proposal = answer["proposal"]
    if proposal is None:
        _print_lines([line["english"] for line in answer["lines"]])
        if not answer["lines"]:
            click.echo("Ordered. `equipoise why` shows what became of it.")
        return
    click.echo(f"Chance to win: {change(proposal['sides'], proposal)}")
    if proposal["spread_after"] is not None:
        before, after = (_spread(proposal[key]) for key in ("spread_before", "spread_after"))
        click.echo(f"Spread of skill within the sides: {before} → {after} points")
    if proposal["moves"]:
        rows = ((move["id"], move["name"] or "-", _where(move["side"])) for move in proposal["moves"])
        print_table(("PLAYER", "NAME", "TO"), rows)
    else:
        click.echo("Nobody would move: the sides are as even as they can be.")


def _spread(sides: Sequence[float] | None) -> str:
    return "?" if sides is None else " / ".join(f"{total:.0f}" for total in sides)


def _where(word: str) -> str:
    return "bench" if word == "none" else side_word((word, word), "a")


def _print_lines(lines: Sequence[str]) -> None:
    """The lines of an answer; one that ends in a colon and the next one are a sentence."""
    for line in "\n".join(lines).replace(":\n", ": ").splitlines():
        click.echo(f"{line[:-1]}." if line.endswith(":") else line)


_order("scramble", "Balance the teams, at once where the mode allows it: what NS2 calls a shuffle.", dry=True)
_order("balance", "Close a gap of two or more players now.", dry=True)
_order("cancel", "Forget a pending scramble, or end a vote.")
_order("on", "Let Equipoise act on this server.")
_order("off", "Let Equipoise only watch and rate.")


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


_UNCHANGED: Mapping[str, list[str]] = {"changes": [], "restart": [], "rcon": []}
"""A reload's lines, where there was none."""


class Daemon:
    """The daemon that serves a configuration, or would."""

    def __init__(self, config: Path, url: str | None, token: str | None) -> None:
        self.config = config
        self._client = Client.of(config, url, token)

    @property
    def url(self) -> str:
        """The daemon's address, as the client calls it."""
        return self._client.url

    def sources(self) -> Sources:
        """Read the files of the configuration."""
        from equipoise.config.sources import read_sources

        return read_sources(self.config)

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
            self._client.reload(dry=True)
            answer = self._client.reload(dry=False)
        except Unreachable:
            from equipoise.config import load

            load(self.config, os.environ)
            return {"running": False, **_UNCHANGED}
        return {"running": True, **{key: answer[key] for key in _UNCHANGED}}

    def console(self, server: str, command: str) -> list[str]:
        """Send a command of SourceMod to a game server, and say whether that succeeded."""
        try:
            output = str(self._client.send("POST", "servers", server, "rcon", body={"command": command})["output"])
        except Stopped as error:
            output = str(error)
        if "successfully" in output:  # SourceMod, core/logic/PluginSys.cpp, OnRootConsoleCommand
            return [f"RCON: {command}: {output.strip()}"]
        return [f"RCON: {output.strip()}", f"One command is left, in the console of {server}:\n\n  {command}\n"]


def _with_daemon(command: Command) -> Command:
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


@server.command(
    epilog=examples(
        "equipoise server add dustbowl --tf /srv/dustbowl/tf --rcon 127.0.0.1:27025",
        "equipoise server add ns2-1 --game ns2 --ns2-config /home/ns2/config",
        "equipoise server add ns2-2 --game ns2 --rcon 127.0.0.1:8080 --rcon-user me",
    )
)
@_with_daemon
@click.argument("name", metavar="SERVER")
@tf_option
@ns2_config_option
@mod_option
@click.option("--pool", help="The pool it feeds. [default: main, or the only one; for NS2 the one of system ns2]")
@click.option("--game", type=click.Choice(["tf2", "ns2", "other"]), default="tf2", show_default=True, help="Its game.")
@click.option("--rcon", metavar="HOST:PORT", help="Its RCON, or NS2's web admin, for orders within a second.")
@click.option("--rcon-user", metavar="NAME", help="NS2: the web admin's user, its -webuser.")
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
    rcon_user: str | None,
    rcon_password_file: str | None,
    as_json: bool,
) -> None:
    """Add a game server, while the daemon runs.

    It is written into servers.d/SERVER.toml, beside the configuration. With --tf the plugin is installed into the
    server's folder, with the address, the name and a secret of its own; with --ns2-config these are written into the
    server's config directory, for the NS2 mod. Without either the secret is shown, only once.
    """
    from equipoise.install.server_files import NewServer, check_rcon, check_user, prepare

    # Before the password is asked for, so that nobody types one for a name that is taken; and again with the lock.
    _check_new(daemon, name)
    if rcon is not None:
        check_rcon(rcon)
        check_user(name, game, rcon_user)
    password = questions.rcon_password(name, rcon_password_file) if rcon is not None else None
    with daemon.alone():
        tables = _check_new(daemon, name)
        server = NewServer(name, pool or _pool_for(game, tables), game, tf, ns2_config, mod, rcon, password, rcon_user)
        preparation = prepare(daemon.config, [server], daemon.url)
        # The daemon reads inside: if it refuses the files, all of them are taken back.
        with preparation.applied():
            answer = daemon.reread()
    (result,) = preparation.servers
    lines = result.lines() + _lost(server, tables)
    if result.command:
        lines += daemon.console(name, result.command) if rcon and answer["running"] else result.left()
    secret = result.secret if tf is None and ns2_config is None else None
    _show_change(answer | {"ok": True, "server": name, "secret": secret, "lines": lines}, as_json)


@server.command(
    epilog=examples(
        "equipoise server update dustbowl --tf /srv/dustbowl/tf",
        "equipoise server update ns2-1 --mod /srv/equipoise-mod",
    )
)
@_with_daemon
@click.argument("name", metavar="SERVER", shell_complete=servers)
@tf_option
@mod_option
def update(daemon: Daemon, name: str, tf: Path | None, mod: Path | None, as_json: bool) -> None:
    """Install the plugin or the mod of this version, after an upgrade. Address, name and secret stay."""
    from equipoise.install.server_files import prepare_mod, prepare_update

    sources = daemon.sources()
    _check_there(name, sources.files)
    if tf is not None and mod is None:
        preparation = prepare_update(daemon.config, name, tf)
    elif mod is not None and tf is None:
        preparation = prepare_mod(daemon.config, name, mod)
    else:
        raise click.UsageError("which folder? Either --tf DIR, of a TF2 server, or --mod DIR, of the NS2 mod")
    with preparation.applied():
        pass
    (result,) = preparation.servers
    lines = result.lines()
    if result.command:
        has_rcon = sources.tables["server"][name].get("rcon")
        lines += daemon.console(name, result.command) if has_rcon else result.left()
    _show_change({"ok": True, "running": True, "server": name, "lines": lines, **_UNCHANGED}, as_json)


@server.command(epilog=examples("equipoise server remove dustbowl"))
@_with_daemon
@click.argument("name", metavar="SERVER", shell_complete=servers)
@yes_option
def remove(daemon: Daemon, name: str, yes: bool, as_json: bool) -> None:
    """Remove a game server that a command added. Its ratings stay: they are its pool's.

    The daemon writes its session down and no longer serves it. The plugin stays in its folder tf/, the NS2 mod on its
    server.
    """
    from equipoise.install.file_changes import Changes
    from equipoise.install.server_files import password_file, server_file

    game = _own_table(daemon, name).get("game", "tf2")
    confirm(f"Remove the game server {name}?", yes=yes)
    files = Changes(daemon.config.parent)
    files.remove(server_file(daemon.config, name))
    files.remove(password_file(daemon.config, name))
    with daemon.alone(), files.applied():
        answer = daemon.reread()
    lines = [f"{name} is removed; its ratings stay.", *_STILL_THERE.get(game, [])]
    _show_change(answer | {"ok": True, "server": name, "lines": lines}, as_json)


_STILL_THERE = {
    "tf2": ["Its plugin is still in its tf/: sm plugins unload equipoise"],
    "ns2": ["Its mod is still there: take its id out of MapCycle.json, and remove Equipoise.json beside that"],
}


@server.command(epilog=examples("equipoise server secret dustbowl --rotate --tf /srv/dustbowl/tf"))
@_with_daemon
@click.argument("name", metavar="SERVER", shell_complete=servers)
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
    from equipoise.install.server_files import new_secret, prepare_rotation

    new, digest = new_secret()
    with daemon.alone():
        _own_table(daemon, name)
        preparation, lines = prepare_rotation(daemon.config, name, tf, ns2_config, new, digest)
        with preparation.applied():
            answer = daemon.reread()
    _show_change(
        answer | {"ok": True, "server": name, "secret": None if tf or ns2_config else new, "lines": lines}, as_json
    )


@server.command(epilog=examples("equipoise server move dustbowl"))
@_with_daemon
@click.argument("name", metavar="SERVER", shell_complete=servers)
def move(daemon: Daemon, name: str, as_json: bool) -> None:
    """Move a game server from config.toml, as it stands there, to servers.d/SERVER.toml, which commands can change.

    Its tables go with the comments right above them. Nothing else changes: address, rules and secret stay.
    """
    from equipoise.install.server_files import prepare_move, server_file

    with daemon.alone():
        files = daemon.sources().files
        _check_there(name, files)
        if files[name] != daemon.config:
            stop(f"{name} has a file of its own already: {files[name]}", FAILED)
        with prepare_move(daemon.config, name).applied():
            answer = daemon.reread()
    lines = [f"{name} stands in {server_file(daemon.config, name)} now."]
    _show_change(answer | {"ok": True, "server": name, "lines": lines}, as_json)


def _own_table(daemon: Daemon, name: str) -> dict[str, Any]:
    """Return the table of a server; stop unless it stands in a file that commands write."""
    sources, config = daemon.sources(), daemon.config
    _check_there(name, sources.files)
    if sources.files[name] == config:
        stop(f"{name} stands in {config}: `equipoise server move {name}` gives it a file that commands change", FAILED)
    table: dict[str, Any] = sources.tables["server"][name]
    return table


def _check_there(name: str, files: Mapping[str, Path]) -> None:
    if name not in files:
        close = [file for file in files if file.casefold() == name.casefold()]
        stop(f"there is no server {name}; there is: {', '.join(close or files) or 'none'}")


def _check_new(daemon: Daemon, name: str) -> dict[str, Any]:
    """The tables of a configuration; ConfigError where it has a server of this name."""
    from equipoise.install.server_files import check_name

    sources = daemon.sources()
    check_name(name, sources.files)
    return sources.tables


def _pool_for(game: str, tables: dict[str, Any]) -> str:
    """The pool that a server of a game feeds where no option says it; ConfigError where none fits.

    One account's skill in two games is no one number: a pool that another game's servers feed is left out.
    """
    names = {keys.get("pool") for keys in tables.get("server", {}).values() if keys.get("game", "tf2") != game}
    pools = {name: keys for name, keys in tables.get("pool", {}).items() if name not in names}
    if game == "ns2":
        pools = {name: keys for name, keys in pools.items() if keys.get("system") == "ns2"}
        if not pools:
            raise ConfigError(
                'no pool rates by ns2: add [pool.ns2] with system = "ns2" to config.toml and restart the daemon, or '
                "name a pool by --pool"
            )
    if not pools and tables.get("pool"):
        raise ConfigError("every pool serves another game: add one to config.toml, or name one by --pool")
    return next(iter(pools)) if len(pools) == 1 else "main"


def _lost(server: NewServer, tables: dict[str, Any]) -> list[str]:
    """Return a warning if an NS2 server feeds a pool of another system, else nothing."""
    system = tables.get("pool", {}).get(server.pool, {}).get("system", "synelo")
    if server.game != "ns2" or system == "ns2":
        return []
    return [
        f"{server.pool} rates by {system}, without sides and commanders. For both add [pool.NAME] with "
        f'system = "ns2" to config.toml, set pool in servers.d/{server.name}.toml, and restart the daemon.'
    ]


def _show_change(answer: dict[str, Any], as_json: bool) -> None:
    if print_json(answer, as_json):
        return
    for line in (*answer["changes"], *answer["lines"]):
        click.echo(line)
    for line in answer["restart"]:
        click.echo(f"needs a restart: {line}")
    for line in answer["rcon"]:
        if line.startswith(f"{answer['server']}: "):  # others are not what was asked for
            click.echo(line)
    if not answer["running"]:
        click.echo("No daemon is running: it reads this at its next start.")


EPILOG = examples(
    "equipoise server rcon arena-1 status",
    "equipoise server rcon arena-1 sm_kick '#12'",
    "equipoise server rcon ns2-1 sv_say The next round is shuffled",
    "equipoise server rcon --json arena-1 sm plugins list",
)


@server.command(context_settings={"ignore_unknown_options": True}, epilog=EPILOG)
@remote
@click.argument("name", metavar="SERVER", shell_complete=servers)
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def rcon(client: Client, name: str, words: tuple[str, ...], as_json: bool) -> None:
    """Send one COMMAND to the console of SERVER, and print its output.

    The daemon sends it by the RCON of its configuration, and writes it into the audit. NS2's web admin has no output.
    Refused are `;`, quotes, control characters, and the name of a player where a command takes a player: name players
    by #userid or SteamID.
    """
    answer = client.send("POST", "servers", name, "rcon", body={"command": " ".join(words)})
    if print_json(answer, as_json):
        return
    if (output := answer["output"]) is None:
        output = f"{name} took it; NS2's web admin returns no output: the game server's log has it."
    click.echo(output, nl=not output.endswith("\n"))
