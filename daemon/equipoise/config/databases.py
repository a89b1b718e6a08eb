"""The database of a shared pool: its URL, without a password, and the file that has it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from equipoise.config.sources import Secrets
from equipoise.errors import ConfigError

MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
"""`sslmode`, as PostgreSQL's own clients have it."""
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "host": (),
    "port": (),
    "sslmode": MODES,
    "sslrootcert": (),
    "sslcert": (),
    "sslkey": (),
    "sslcrl": (),
    "target_session_attrs": ("any", "read-write", "primary", "read-only", "standby", "prefer-standby"),
}
"""Parameters of a URL, and the values of those that have a choice. Others would be sent to the server as settings."""
FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
EXAMPLE = "postgresql://equipoise@db.example.org/equipoise"


@dataclass(frozen=True, slots=True)
class Database:
    """A PostgreSQL database that holds the log of a shared pool."""

    url: str
    password_file: str = ""
    """As the file has it; empty: the server asks for no password, or the environment has it."""
    password: str | None = field(default=None, repr=False)


def read_database(keys: dict[str, Any], path: str, secrets: Secrets) -> Database | None:
    """Take the database out of the keys of a pool's table, None where it has none."""
    url, file = keys.pop("database", None), keys.pop("database_password_file", "")
    for key, value in (("database", url), ("database_password_file", file)):
        if not isinstance(value, str | None):
            raise ConfigError(f"expected a string, not {value!r}", path=f"{path}.{key}")
    if url is None:
        if file:
            raise ConfigError("database, which it belongs to, is missing", path=f"{path}.database_password_file")
        return None
    check_url(url, f"{path}.database")
    if not file:
        return Database(url)
    key = f"{path}.database_password_file"
    password = secrets.password(file, key)
    if password is not None and (not password or not password.isprintable()):
        raise ConfigError(f"{file} must hold the password in one line", path=key)
    return Database(url, file, password)


def check_url(text: str, path: str | None = None) -> None:
    """Refuse what is no URL of a database, and a password in it, which is not shown."""
    try:
        url = urlsplit(text)
        parameters = dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=True)) if url.query else {}
    except ValueError:
        raise ConfigError(f"expected the URL of a PostgreSQL database, as {EXAMPLE}", path=path) from None
    if ":" in url.netloc.rpartition("@")[0] or "password" in parameters:
        message = "a password in it could be read by others: write it into a file of its own, and its name into"
        raise ConfigError(f"{message} database_password_file", path=path)
    if url.scheme not in ("postgresql", "postgres") or not url.path.strip("/") or not text.isprintable():
        raise ConfigError(f"expected the URL of a PostgreSQL database, as {EXAMPLE}", path=path)
    hosts = url.netloc.rpartition("@")[2]
    if not hosts and not parameters.get("host"):
        raise ConfigError(f"the host is missing: as {EXAMPLE}, or of a socket ?host=/run/postgresql", path=path)
    for host in hosts.split(",") if hosts else ():
        match = re.fullmatch(r"(\[[\da-fA-F:.]+\]|[\w.%-]+)(:(\d{1,5}))?", host)
        if match is None or not 0 < int(match[3] or 5432) < 65536:
            raise ConfigError(f"expected a host and perhaps a port, as db.example.org:5432, not {host!r}", path=path)
    _check_parameters(parameters, path)


def _check_parameters(parameters: Mapping[str, str], path: str | None) -> None:
    if parameters.get("sslmode", "").startswith("verify") and "sslrootcert" not in parameters:
        advice = "the file of who signed its certificate, or sslrootcert=/etc/ssl/certs/ca-certificates.crt"
        raise ConfigError(f"sslmode={parameters['sslmode']} needs sslrootcert too, {advice}", path=path)
    for name, value in parameters.items():
        if name not in PARAMETERS:
            raise ConfigError(f"there is no parameter {name}, but {', '.join(PARAMETERS)}", path=path)
        if PARAMETERS[name] and value not in PARAMETERS[name]:
            raise ConfigError(f"{name} is {', '.join(PARAMETERS[name])}, not {value}", path=path)
        if name in FILES and not os.access(value, os.R_OK):
            raise ConfigError(f"{name}: the daemon's user cannot read {value}, or it is not there", path=path)
