"""The files of a configuration: `config.toml`, and beside it `servers.d/NAME.toml` with one server each.

Programs write the files of servers, so that the file which people write by hand is never rewritten. A server's file
speaks the language of `config.toml`: its table can be moved there as it is.
"""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from equipoise.config.keys import written
from equipoise.config.tables import Raw
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
    """Where each server's table stands."""


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
        if name in files:
            raise ConfigError(f"it stands in {files[name]} too: remove one of them", path=_key(name), file=file)
        try:
            own = _only_server(file)
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
    found = _stamps(path)
    while any(abs(time.time() - stamp.at) < SETTLE_SECONDS for stamp in found):
        time.sleep(SETTLE_SECONDS)
        before, found = found, _stamps(path)
        if found == before:
            return
        if time.monotonic() > ends_at:
            raise ConfigError("it is being written: try again", file=_newest(found))


def _newest(stamps: list[_Stamp]) -> Path:
    return max(stamps, key=lambda stamp: stamp.at).file


class _Stamp(NamedTuple):
    """What shows that a file was written."""

    file: Path
    at: float
    size: int
    number: int


def _stamps(path: Path) -> list[_Stamp]:
    found = []
    for file in (path, *_server_files(path.parent / SERVERS)):
        with suppress(OSError):  # reading says what is wrong with it
            stat = file.stat()
            found.append(_Stamp(file, stat.st_mtime, stat.st_size, stat.st_ino))
    return found


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
    for other in servers.keys() - {name}:
        raise ConfigError(f"a file of {SERVERS} has its server's name: {_table(name)}", path=_key(other), file=file)
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
        said = f"{error.strerror}{_ADVICE.get(type(error), '')}"
        raise (_Gone if gone else ConfigError)(said, file=file) from None
    except ValueError as error:
        advice = "; is the file being written?" if "end of document" in str(error) else ""
        raise ConfigError(f"this is no TOML: {error}{advice}", file=file) from None
    except RecursionError:
        raise ConfigError("this is no TOML: its brackets are nested too deeply", file=file) from None
    if not text:  # to take it for all defaults would remove every server, in the moment before an editor has written
        raise ConfigError("the file is empty; is it being written?", file=file)
    return tables
