"""The files of a configuration: `config.toml`, beside it `servers.d/NAME.toml` with one server each, database URLs.

Programs write the files of servers, so that the file which people write by hand is never rewritten. A server's file
speaks the language of `config.toml`: its table can be moved there as it is.

Secrets: systemd's credentials come before files beside the configuration: the user of the unit cannot read those.
"""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from equipoise.config.sections import Raw, SecretKeys, written
from equipoise.errors import ConfigError
from equipoise.files import read_small

SERVERS = "servers.d"
"""The folder of the servers' files."""
SETTLE_SECONDS = 0.2
"""A file that was changed within this time may be half written."""
SETTLE_LONGEST = 3.0
"""How long is waited for files that keep changing."""

_ADVICE: Mapping[type[OSError], str] = {
    FileNotFoundError: "; `equipoise init` writes one",
    PermissionError: "; the daemon's user must be able to read it: chmod a+rX",
}


@dataclass(frozen=True, slots=True)
class Sources:
    """The tables of all files in one."""

    tables: Raw
    files: Mapping[str, Path]
    """The file with each server's table."""


def read_sources(path: Path) -> Sources:
    """Read `config.toml` and the servers' files; ConfigError names the file that is wrong."""
    tables = _parsed(path)
    servers = tables.get("server", {})
    if not isinstance(servers, dict):
        return Sources(tables, {})  # refused with its path, as every wrong type is
    files = dict.fromkeys(servers, path)
    together = dict(servers)
    for file in _server_files(path.parent / SERVERS):
        name = file.stem
        # Which of the two is meant cannot be known: a secret or a pool may differ.
        if name in files:
            raise ConfigError(f"it is in {files[name]} too: remove one of them", path=_key(name), file=file)
        try:
            own = _only_server(file)
        # `server remove` deletes a file while a reload reads the folder: no reason to refuse the rest.
        except _Gone:
            continue  # removed since the folder was listed
        files[name], together[name] = file, own
    return Sources({**tables, "server": together}, files)


@contextmanager
def located(file: Path) -> Iterator[None]:
    """Errors of keys from in here name the file."""
    try:
        yield
    except ConfigError as error:
        raise error.within(file) from None


def settle(path: Path) -> None:
    """Wait until no file has changed for a moment; ConfigError when that does not come.

    A file that is half written may be valid: it ends behind a line. To take it would remove the servers below it.
    """
    ends_at = time.monotonic() + SETTLE_LONGEST
    stamps = _stamps(path)
    while any(abs(time.time() - stamp.at) < SETTLE_SECONDS for stamp in stamps):
        time.sleep(SETTLE_SECONDS)
        before, stamps = stamps, _stamps(path)
        if stamps == before:
            return
        if time.monotonic() > ends_at:
            raise ConfigError("it is being written: try again", file=max(stamps, key=lambda stamp: stamp.at).file)


class _Stamp(NamedTuple):
    """The marks of a file that change when it is written."""

    file: Path
    at: float
    size: int
    number: int


def _stamps(path: Path) -> list[_Stamp]:
    stamps = []
    for file in (path, *_server_files(path.parent / SERVERS)):
        with suppress(OSError):  # reading says what is wrong with it
            stat = file.stat()
            stamps.append(_Stamp(file, stat.st_mtime, stat.st_size, stat.st_ino))
    return stamps


def _server_files(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"{error.strerror}{_ADVICE.get(type(error), '')}", file=folder) from None
    # What editors and packages leave behind is no configuration: x.toml~, .x.toml.swp, #x.toml#, x.toml.dpkg-old.
    return [folder / name for name in names if name.endswith(".toml") and not name.startswith((".", "#"))]


def _only_server(file: Path) -> Raw:
    """The one table of a server's file."""
    name, tables = file.stem, _parsed(file)
    for key in tables.keys() - {"server"}:
        raise ConfigError(f"this file holds {_table(name)} and nothing else", path=f"$.{written(key)}", file=file)
    servers = tables.get("server", {})
    if not isinstance(servers, dict):
        raise ConfigError("expected a table", path="$.server", file=file)
    for stranger in servers.keys() - {name}:
        raise ConfigError(f"a file of {SERVERS} has its server's name: {_table(name)}", path=_key(stranger), file=file)
    if name not in servers:
        raise ConfigError(f"there is no {_table(name)}; is the file being written?", file=file)
    own = servers[name]
    if not isinstance(own, dict):
        raise ConfigError("expected a table", path=_key(name), file=file)
    return own


def _key(server: str) -> str:
    return f"$.server.{written(server)}"


def _table(server: str) -> str:
    return f"[server.{written(server)}]"


class _Gone(ConfigError):
    """There is no such file, nor a link to one that is missing."""


def _parsed(file: Path) -> Raw:
    try:
        text = read_small(file).decode()
        tables = tomllib.loads(text)
    except OSError as error:
        gone = isinstance(error, FileNotFoundError) and not file.is_symlink()
        reason = f"{error.strerror}{_ADVICE.get(type(error), '')}"
        raise (_Gone if gone else ConfigError)(reason, file=file) from None
    except ValueError as error:
        advice = "; is the file being written?" if "end of document" in str(error) else ""
        raise ConfigError(f"not valid TOML: {error}{advice}", file=file) from None
    except RecursionError:
        raise ConfigError("not valid TOML: its brackets are nested too deeply", file=file) from None
    if not text:  # to take it for all defaults would remove every server, in the moment before an editor has written
        raise ConfigError("the file is empty; is it being written?", file=file)
    return tables


LONGEST = 4096
"""Bytes of a file with a secret."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Finds files with secrets: first among systemd's credentials, then beside the configuration."""

    beside: Path
    credentials: str | None
    late: list[str] | None = None
    """Keys whose files systemd hands over at the next start only. None: this is a start."""
    passed: Mapping[str, str] = field(default_factory=dict)
    """RCON passwords by file, as a command of root passed them on since systemd handed its copies over."""

    def digest(self, keys: SecretKeys, path: str) -> bytes:
        """The SHA-256 of a caller's secret, from one of the two keys; `path` is that of their table."""
        if keys.secret_file and keys.secret_sha256:
            raise ConfigError("secret_sha256 is there too: only one of them", path=f"{path}.secret_file")
        if keys.secret_file:
            key = f"{path}.secret_file"
            return _digest(self.text(keys.secret_file, key), key, f" in {self._place(keys.secret_file)}")
        if keys.secret_sha256:
            return _digest(keys.secret_sha256, f"{path}.secret_sha256", "")
        raise ConfigError("this key, or secret_file, is required", path=f"{path}.secret_sha256")

    def password(self, name: str, path: str) -> str | None:
        """Return a file's content; None, noted in `late`, if systemd has not handed it over and only root reads it."""
        # Only there: without systemd the daemon reads the file itself, and finds the newest.
        if self.credentials:
            for file, text in self.passed.items():
                if self.beside / file == self.beside / _expanded(name):
                    return text.strip()
        if self.late is not None and self.credentials and self._is_closed(name):
            self.late.append(f"{path}: systemd hands {name} over when the unit starts")
            return None
        return self.text(name, path)

    def text(self, name: str, path: str) -> str:
        """Return a file's content without white space around it; `path` is the key's for the error."""
        place = self._place(name)
        try:
            return read_small(place, LONGEST).decode().strip()
        except OSError as error:
            advice = ""
            if self.credentials:
                advice = "; systemd hands credentials over when the unit starts: restart it"
            raise ConfigError(f"{place}: {error.strerror}{advice}", path=path) from None
        except ValueError:
            raise ConfigError(f"{place}: not a text file", path=path) from None

    def _place(self, name: str) -> Path:
        if self.credentials:
            # Where systemd puts it: `LoadCredential=` of a file, and of the folder that holds it.
            path = Path(name)
            for copy in (path.name, f"{path.parent.name}_{path.name}"):
                if (file := Path(self.credentials, copy)).is_file():
                    return file
        # Also where it is missing: its name is the one for the error.
        return self.beside / _expanded(name)

    def _is_closed(self, name: str) -> bool:
        try:
            read_small(self._place(name), LONGEST)
        except PermissionError:
            return True
        except OSError:
            return False
        return False


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # ~ of a user who does not exist
        return Path(name)


def _digest(text: str, path: str, where: str) -> bytes:
    # The text is not shown: it may be the secret.
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise ConfigError(f"expected a SHA-256 in 64 hexadecimal digits{where}, not the secret itself", path=path)
    return bytes.fromhex(text)


# The database of a shared pool: its URL, without a password, and the file that has it.

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
