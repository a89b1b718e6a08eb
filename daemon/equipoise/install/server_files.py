"""The game servers of a configuration, and the files that a new one needs.

A server that a command adds stands in a file of its own, `servers.d/NAME.toml`, which commands may change and remove.
`config.toml` is written by hand: commands only move a server out of it.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import re
import secrets
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.install import file_changes
from equipoise.install.file_changes import Changes
from equipoise.install.game_folders import (
    CFG,
    CONFIG,
    OUTPUT,
    GameFolder,
    inspect,
    plugin_version,
    read_directory,
    remember,
    write_mod,
)

_SERVER = """\
# Written by `equipoise server add`. Edit it as you like: keys are in config.example.toml; then `equipoise reload`.
[server.{name}]
pool = {pool}
game = "{game}"
secret_sha256 = "{digest}"
"""
_RCON = """\
rcon = "{rcon}"
rcon_password_file = "secrets/{name}.rcon"
"""
_USER = "rcon_user = {user}\n"


@dataclass(frozen=True, slots=True)
class NewServer:
    """An operator's answers about a server; `password` is that of RCON, with `user` that of NS2's web admin."""

    name: str
    pool: str = "main"
    game: str = "tf2"
    tf: Path | None = None
    ns2_config: Path | None = None
    """NS2: the config directory."""
    mod: Path | None = None
    """NS2: the place where the mod's folder is written."""
    rcon: str | None = None
    password: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """A server that is added, as far as its operator has to know it."""

    name: str
    secret: str
    written: tuple[str, ...] = ()
    """Lines for people on what was written into its own folders; none: nothing was, so the secret has to be shown."""
    command: str | None = None
    """A command for the console of the game server that is left to do."""

    def lines(self) -> list[str]:
        """Return the lines that an operator reads."""
        if self.written:
            return list(self.written)
        return [
            f"The secret of {self.name}, shown only now; its script needs it, the plugin as equipoise_secret, the NS2 "
            f"mod as secret in {CONFIG}:",
            f"  {self.name}  {self.secret}",
        ]

    def left(self) -> list[str]:
        """Return the lines that an operator reads of the command."""
        if self.command is None:
            return []
        return [f"One command is left, in the console of {self.name}:\n\n  {self.command}\n"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Servers that can be added."""

    files: Changes
    """Files of the configuration."""
    scripts: list[Changes] = field(default_factory=list)
    """Files of the game servers' own folders."""
    servers: list[Added] = field(default_factory=list)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Make all changes; where they or the caller's block fail, everything is as it was.

        The scripts come first: a run that is killed before the server is configured can be repeated.
        """
        with ExitStack() as stack:
            for changes in (*self.scripts, self.files):
                stack.enter_context(changes.applied())
            yield


def new_secret() -> tuple[str, str]:
    """Return a secret of 256 random bits, and its SHA-256 in hexadecimal, which a configuration may hold."""
    secret = secrets.token_urlsafe(32)
    return secret, hashlib.sha256(secret.encode()).hexdigest()


def server_file(config: Path, name: str) -> Path:
    """Return the file of a server that a command adds."""
    return config.parent / "servers.d" / f"{name}.toml"


def password_file(config: Path, name: str) -> Path:
    """Return the file of a server's RCON password."""
    return config.parent / "secrets" / f"{name}.rcon"


def check_name(name: str, taken: Mapping[str, Path]) -> None:
    """ConfigError where a server may not be called so, or one in `taken`, by name and file, is, but for capitals."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise ConfigError(f"a server's name is up to 64 of A-Z a-z 0-9 _ -, not {name!r}")
    for rival, file in taken.items():
        if rival == name:
            raise ConfigError(f"there is a server {name} already", file=file)
        if rival.casefold() == name.casefold():
            raise ConfigError(f"there is a server {rival}: {name} differs only in capitals", file=file)


def check_rcon(address: str) -> str:
    """Return an address as it is; ConfigError where it is not HOST:PORT, the host being literal or `localhost`."""
    host, _, port = address.rpartition(":")
    try:
        if host != "localhost":
            ipaddress.ip_address(host.strip("[]"))
        if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
            raise ValueError
    except ValueError:
        raise ConfigError(f"RCON is HOST:PORT, the host an IP address or localhost, not {address!r}") from None
    return address


def check_user(name: str, game: str, user: str | None) -> None:
    """ConfigError where NS2's web admin lacks its user, or another game's RCON has one."""
    if game == "ns2" and not user:
        raise ConfigError(f"the web admin of {name} needs its user: --rcon-user")
    if game != "ns2" and user is not None:
        raise ConfigError(f"only NS2's web admin has users: {name} needs no --rcon-user")


def prepare(config: Path, servers: Iterable[NewServer], url: str) -> Prepared:
    """Return what these servers need, after all checks of their folders and addresses; nothing is written.

    `url` is the daemon's address for the plugin. ConfigError says what does not fit.
    """
    files = Changes(config.parent)
    files.make(config.parent)
    # Before its files are written: a secret must not be readable for a moment.
    files.make(config.parent / "secrets", 0o700)
    preparation = Prepared(files)
    for server in servers:
        secret, digest = new_secret()
        pool = json.dumps(server.pool, ensure_ascii=False)  # a string of TOML, whatever is in it
        text = _SERVER.format(name=server.name, pool=pool, game=server.game, digest=digest)
        if server.rcon is not None:
            check_rcon(server.rcon)
            check_user(server.name, server.game, server.user)
            text += _RCON.format(name=server.name, rcon=server.rcon)
            if server.user is not None:
                text += _USER.format(user=json.dumps(server.user, ensure_ascii=False))
            files.write(password_file(config, server.name), f"{server.password}\n".encode(), 0o600)
        files.write(server_file(config, server.name), text.encode())
        remember(files, server.name, tf=server.tf, ns2_config=server.ns2_config, mod=server.mod)
        result, scripts = _prepare_script(server, url, secret)
        preparation.scripts.extend(scripts)
        preparation.servers.append(result)
    return preparation


def prepare_move(config: Path, name: str) -> Changes:
    """Return the move of a server's tables, with the comments right above them, from `config.toml` to its own file.

    ConfigError where they are not whole sections of lines: a server may be written in other ways too.
    """
    check_name(name, {})
    config = config.resolve()
    # By lines and not by a TOML writer: comments and the order of keys are the operator's.
    text = config.read_text("utf-8")
    header = re.compile(
        rf"""[ \t]*\[[ \t]*server[ \t]*\.[ \t]*(["']?){name}\1[ \t]*(?:\.[^\]\n]*)?\][ \t]*(?:#.*)?\s*"""
    )
    rest, section, above, inside = list[str](), list[str](), list[str](), False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("#"):
            above.append(line)
            continue
        if line.lstrip().startswith("["):
            inside = header.fullmatch(line) is not None
        (section if inside else rest).extend((*above, line))
        above = []
    rest += above
    kept, own = "".join(rest), "".join(section).rstrip("\n") + "\n"
    try:
        before, after, table = (tomllib.loads(toml) for toml in (text, kept, own))
        # Read back: both halves together must say what the whole file said, or nothing is moved.
        same = before["server"].pop(name) == table["server"].pop(name) and not table.pop("server") and not table
    except (tomllib.TOMLDecodeError, KeyError):
        same = False
    if not same or {**before, "server": before["server"] or None} != {**after, "server": after.get("server") or None}:
        raise ConfigError(
            f"[server.{name}] is not a section of its own: move it by hand to {server_file(config, name)}", file=config
        )
    files = Changes(config.parent)
    files.write(config, kept.encode(), config.stat().st_mode & 0o777)
    files.write(server_file(config, name), own.encode())
    return files


def prepare_rotation(
    config: Path, name: str, tf: Path | None, ns2_config: Path | None, secret: str, digest: str
) -> tuple[Prepared, list[str]]:
    """Return the change to another secret of a server that stands in a file of its own, and what its operator reads.

    ConfigError where its file holds no hash, or its `tf/` or config directory is another server's.
    """
    file = server_file(config, name)
    text, count = re.subn(
        r"""^([ \t]*secret_sha256[ \t]*=[ \t]*)(["'])[0-9a-fA-F]{64}\2""",
        rf"\g<1>\g<2>{digest}\g<2>",
        file.read_text("utf-8"),
        flags=re.MULTILINE,
    )
    if count != 1:
        raise ConfigError("there is no line secret_sha256; a secret_file is changed by hand", file=file)
    files = Changes(config.parent)
    files.write(file, text.encode())
    preparation = Prepared(files)
    remember(files, name, tf=tf, ns2_config=ns2_config)
    if tf is not None:
        preparation.scripts.append(inspect(tf, name, None).configure(Changes(tf), secret=secret))
        return preparation, [
            f"The new secret is in {tf / CFG}.",
            "The plugin reads it at the next map, or at once with:\n\n  sm plugins reload equipoise\n",
        ]
    if ns2_config is not None:
        directory = read_directory(ns2_config, name)
        preparation.scripts.append(directory.configure(secret=secret))
        return preparation, [f"The new secret is in {directory.file}. The mod reads it at the next map."]
    return preparation, Added(name, secret).lines()


def _prepare_script(server: NewServer, url: str, secret: str) -> tuple[Added, list[Changes]]:
    """Return what a new server needs in its own folders."""
    if server.tf is not None and server.game != "tf2":
        raise ConfigError(f"--tf is for TF2's plugin, and the game of {server.name} is {server.game}")
    if (server.ns2_config or server.mod) and server.game != "ns2":
        raise ConfigError(
            f"--ns2-config and --mod are for the NS2 mod, and the game of {server.name} is {server.game}: --game ns2"
        )
    needs_url = server.tf or server.ns2_config
    if needs_url and (re.fullmatch(r"https?://[\w.\[\]:-]+", url) is None or url.endswith(":0")):
        raise ConfigError(f"{url} is not an address for a game server; choose a web.port, or use --url")
    settings = {"url": url, "server": server.name, "secret": secret}
    if server.tf is not None:
        folder, changes = _with_plugin(server.tf, server.name)
        folder.configure(changes, **settings)
        return Added(server.name, secret, tuple(folder.installed()), folder.command()), [changes]
    written, scripts = list[str](), list[Changes]()
    if server.mod is not None:
        lines, changes = _with_mod(server.mod)
        written += lines
        scripts.append(changes)
    if server.ns2_config is None:
        result = Added(server.name, secret)
        return Added(server.name, secret, (*written, *result.lines()) if written else ()), scripts
    directory = read_directory(server.ns2_config, server.name)
    scripts.append(directory.configure(**settings))
    written.append(f"Its address, name and secret are in {directory.file}; the mod reads them at the next map.")
    return Added(server.name, secret, tuple(written)), scripts


def prepare_update(config: Path, name: str, tf: Path) -> Prepared:
    """Return the change to the plugin of this version from another; ConfigError where it is not that of this server."""
    folder, changes = _with_plugin(tf, name)
    if folder.setting("server") != name:
        raise ConfigError(f"it is not the plugin of {name}: it names no server", file=folder.path / CFG)
    result = Added(name, "", tuple(folder.installed()), folder.command())
    return Prepared(_remembering(config, name, tf=tf), [changes], [result])


def prepare_mod(config: Path, name: str, mod: Path) -> Prepared:
    """Return the change to the mod of this version in its folder."""
    lines, changes = _with_mod(mod)
    return Prepared(_remembering(config, name, mod=mod), [changes], [Added(name, "", tuple(lines))])


def _remembering(config: Path, name: str, **places: Path) -> Changes:
    """Return the note of a server's folder; none where a game server's own user, who may not write there, calls."""
    files = Changes(config.parent)
    if os.access(config.parent, os.W_OK):
        remember(files, name, **places)
    return files


def _with_plugin(tf: Path, name: str) -> tuple[GameFolder, Changes]:
    plugin = file_changes.plugin()
    folder = inspect(tf, name, plugin_version(plugin) or "0")
    return folder, folder.install(plugin, file_changes.plugin_texts())


def _with_mod(mod: Path) -> tuple[list[str], Changes]:
    place = mod.absolute()
    return [
        f"The mod is in {place}: publish it with the Launch Pad, or try it with -game {place / OUTPUT}.",
        f"How, and what to expect: {place / 'README.md'}.",
    ], write_mod(mod)
