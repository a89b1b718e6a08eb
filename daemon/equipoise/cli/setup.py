"""Writes a new installation: a configuration, a secret for the first game server, a token for the owner."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path

from equipoise.errors import ConfigError

_TEMPLATE = """\
# Equipoise. Every key with its unit and default: config.example.toml. `equipoise check-config` reads this file.

[web]
host = "127.0.0.1"
port = 27500

[pool.main]
system = "synelo"
# The largest team size; over several servers the median of theirs.
k_max = 12

[server.{server}]
pool = "main"
game = "{game}"
secret_file = "secrets/{server}.sha256"

[token.owner]
role = "admin"
secret_file = "secrets/owner.sha256"
"""


def write(directory: Path, server: str, game: str) -> str:
    """Write all files and return the game server's secret in plain text.

    ConfigError, and nothing is written, where one of the files exists already.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", server) or server == "owner":
        raise ConfigError("a server's name is up to 64 of A-Z a-z 0-9 _ - and not `owner`", path="--server")
    secret, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    files = {
        directory / "secrets" / f"{server}.sha256": (_sha256(secret), 0o600),
        directory / "secrets" / "owner.sha256": (_sha256(token), 0o600),
        directory / "owner.token": (f"{token}\n", 0o600),
        directory / "config.toml": (_TEMPLATE.format(server=server, game=game), 0o644),
    }
    for path in files:
        if path.exists():
            raise ConfigError("exists already, and nothing is overwritten; choose another directory", path=str(path))
    try:
        (directory / "secrets").mkdir(parents=True, exist_ok=True, mode=0o700)
        for path, (text, mode) in files.items():
            _write(path, text, mode)
    except OSError as error:
        raise ConfigError(error.strerror or "cannot be written", path=str(error.filename)) from None
    return secret


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest() + "\n"


def _write(path: Path, text: str, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "w") as file:
        file.write(text)
