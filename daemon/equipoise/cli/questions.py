"""Questions that a command asks on a terminal about a game server if no option answers them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from equipoise.errors import ConfigError
from equipoise.install.game_folders import inspect, read_directory
from equipoise.install.server_files import check_name, check_rcon

T = TypeVar("T")


def server_names(usual: str) -> tuple[str, ...]:
    """The game servers' names."""

    def checked(text: str) -> tuple[str, ...]:
        names: dict[str, Path] = {}
        for name in text.split():
            check_name(name, names)
            names[name] = Path("the names above")
        return tuple(names)

    return _asked("Names of your game servers, with spaces between", checked, default=usual) or (usual,)


def game_folder(name: str) -> Path | None:
    """The folder of a server; None: the plugin is not to be installed."""
    question = f"Folder tf/ of {name}, for the plugin (empty: not now)"
    return _asked(question, lambda text: inspect(Path(text).expanduser(), name, None).path)


def config_directory(name: str) -> Path | None:
    """The config directory of an NS2 server; None: the settings of the mod are not to be written."""
    question = f"Config directory of {name}, its -config_path, for the mod's settings (empty: not now)"
    return _asked(question, lambda text: read_directory(Path(text), name).path)


def rcon_address(name: str) -> str | None:
    """The address of a server's RCON; None: it is not to be used."""
    return _asked(f"RCON of {name}, such as 127.0.0.1:27015 (empty: none)", check_rcon)


def web_admin_address(name: str) -> str | None:
    """The address of an NS2 server's web admin; None: it is not to be used."""
    return _asked(f"Web admin of {name}, such as 127.0.0.1:8080, its -webport (empty: none)", check_rcon)


def web_admin_user(name: str) -> str:
    """The user of an NS2 server's web admin; ConfigError without a terminal."""
    if not sys.stdin.isatty():
        raise ConfigError(f"the web admin of {name} needs its user: --rcon-user")
    return str(click.prompt(f"User of {name}'s web admin, its -webuser"))


def _asked(question: str, checked: Callable[[str], T], default: str = "") -> T | None:
    """The answer once it is good; None: an empty one."""

    def good(text: str) -> T | None:
        try:
            return checked(text) if text else None
        except ConfigError as error:
            raise click.UsageError(str(error)) from None  # click prints it, and asks again

    answer: T | None = click.prompt(question, default=default, show_default=bool(default), value_proc=good)
    return answer


def rcon_password(name: str, file: str | None) -> str:
    """The password of a server's RCON: from a file (`-`: standard input), else asked; ConfigError without both."""
    if file is not None:
        try:
            with click.open_file(file, encoding="utf-8") as stream:
                password = str(stream.read(4096)).strip()
        except (OSError, ValueError) as error:
            raise ConfigError(getattr(error, "strerror", None) or "not a text file", file=file) from None
    elif sys.stdin.isatty():
        password = str(click.prompt(f"RCON password of {name}", hide_input=True))
    else:
        raise ConfigError(f"RCON of {name} needs its password: --rcon-password-file")
    if not password.isprintable() or not password:
        raise ConfigError(f"the RCON password of {name} is empty, or has more than one line")
    return password
