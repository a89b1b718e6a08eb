"""A new configuration: its file, the owner's token, its first game servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.install.servers import Added, NewServer, Prepared, check_name, new_secret, prepare

URL = "http://127.0.0.1:27500"
"""The address in a new configuration."""
_CONFIG = """\
# Equipoise. Every key with its unit and default: config.example.toml. `equipoise check-config` reads this file.
# Game servers stand in servers.d, each in a file of its own: `equipoise server add`, `equipoise server remove`.

[web]
host = "127.0.0.1"
port = 27500

[pool.main]
{pool}

[token.owner]
role = "admin"
secret_sha256 = "{digest}"
"""
_POOL = """\
system = "synelo"
# The largest team size; over several servers the median of theirs.
k_max = 12
# Teams are made by what is known best; without this line by the ratings that players see.
balance = "joint"
# `equipoise pool fit-spread` says how far skills differ here, as soon as there are rounds enough to know."""
_NS2_POOL = """\
system = "ns2"
# Its parameters: docs/ratings/ns2.md."""


def write_new(directory: Path, servers: Sequence[NewServer]) -> list[Added]:
    """Write a configuration with these servers; ConfigError, and nothing is written, where `prepare_new` refuses."""
    prepared = prepare_new(directory, servers)
    with prepared.applied():
        return prepared.servers


def prepare_new(directory: Path, servers: Sequence[NewServer]) -> Prepared:
    """A configuration with these servers; nothing is written.

    ConfigError where one of its files exists already, or a server does not fit.
    """
    config = directory / "config.toml"
    named: dict[str, Path] = {}
    for server in servers:
        check_name(server.name, named)
        named[server.name] = config
    prepared = prepare(config, servers, URL)
    token, digest = new_secret()
    pool = _NS2_POOL if all(server.game == "ns2" for server in servers) else _POOL
    prepared.files.write(config, _CONFIG.format(pool=pool, digest=digest).encode())
    prepared.files.write(directory / "owner.token", f"{token}\n".encode(), 0o600)
    for path in prepared.files.written():
        if path.exists():
            raise ConfigError(
                "exists already, and nothing is overwritten; `equipoise server add` adds a server to a configuration",
                file=path,
            )
    return prepared
