"""What a command asks on a terminal about a game server, where no option says it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from equipoise.errors import ConfigError


def on_terminal() -> bool:
    """Whether there is a person who can answer."""
    return sys.stdin.isatty()


def server_names() -> tuple[str, ...]:
    """The game servers' names."""
    return tuple(click.prompt("Names of your game servers, with spaces between", default="arena-1").split())


def game_folder(name: str) -> Path | None:
    """The folder of a server, if the plugin is to be installed."""
    answer = click.prompt(f"Folder tf/ of {name}, for the plugin (empty: not now)", default="", show_default=False)
    return Path(answer) if answer else None


def rcon_address(name: str) -> str | None:
    """The address of a server's RCON, if it is to be used."""
    question = f"RCON of {name}, such as 127.0.0.1:27015 (empty: none)"
    return click.prompt(question, default="", show_default=False) or None


def rcon_password(name: str, file: str | None) -> str:
    """The password of a server's RCON: from a file (`-`: standard input), else asked; ConfigError without both."""
    if file is not None:
        try:
            with click.open_file(file, encoding="utf-8") as opened:
                password = str(opened.read(4096)).strip()
        except (OSError, ValueError) as error:
            raise ConfigError(getattr(error, "strerror", None) or "this is no text", file=file) from None
    elif on_terminal():
        password = str(click.prompt(f"RCON password of {name}", hide_input=True))
    else:
        raise ConfigError(f"RCON of {name} needs its password: --rcon-password-file")
    if not password.isprintable() or not password:
        raise ConfigError(f"the RCON password of {name} is empty, or has more than one line")
    return password
