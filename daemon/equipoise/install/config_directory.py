"""An NS2 server's config directory, which its mods call `config://`: the settings of the mod Equipoise stand there.

The server names it by `-config_path`. The game writes `ServerConfig.json` there at its first start. The mod's own
folder is no place for a secret: every client downloads it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.files import read_small
from equipoise.install.changes import Changes, advice, as_owner

CONFIG = "Equipoise.json"
_SIGNS = "ServerConfig.json", "MapCycle.json"
_LARGEST = 1 << 20
"""Bytes of a file that is read."""


@dataclass(frozen=True, slots=True)
class ConfigDirectory:
    """A config directory, and the settings of the mod that stand in it."""

    path: Path
    settings: dict[str, object]

    @property
    def file(self) -> Path:
        """Where the mod's settings are."""
        return self.path / CONFIG

    def configure(self, **settings: str) -> Changes:
        """The changes with these settings; others that stand there stay."""
        changes = Changes(self.path)
        text = json.dumps(self.settings | settings, indent=4, ensure_ascii=False)
        changes.write(self.file, f"{text}\n".encode(), 0o600)
        return changes


def read_directory(path: Path, name: str) -> ConfigDirectory:
    """Look into the config directory of the server `name`; ConfigError where it is none, or another server's."""
    path = path.expanduser().absolute()
    try:
        with as_owner(path):
            found = ConfigDirectory(path, _settings(path))
    except OSError as error:
        raise ConfigError(f"{error.strerror}{advice(error, path)}", file=error.filename or path) from None
    other = found.settings.get("server")
    if other and other != name:
        raise ConfigError(f"this config directory belongs to the server {other}: each needs its own", file=found.file)
    return found


def _settings(path: Path) -> dict[str, object]:
    if not any((path / sign).is_file() for sign in _SIGNS):
        raise ConfigError(
            "this is no config directory of an NS2 server, which has a ServerConfig.json from its first start on; "
            "its -config_path names it, and without one it is '.config/Natural Selection 2' in the home of its user",
            file=path,
        )
    try:
        text = read_small(path / CONFIG, _LARGEST)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path / CONFIG)) from None
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"this is no JSON, and is left as it is: {error}", file=path / CONFIG) from None
    if not isinstance(settings, dict):
        raise ConfigError("this is no JSON object, and is left as it is", file=path / CONFIG)
    return settings
