"""The folders of an NS2 server: its config directory, and that of the mod, to publish it or to mount it in trials.

The mods of a server call its config directory `config://`: the settings of the mod Equipoise stand there. The server
names it by `-config_path`. The game writes `ServerConfig.json` there at its first start. The mod's own folder, which
the Launch Pad publishes, is no place for a secret: every client downloads it. In trials `-game` mounts its `output/`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.files import read_small
from equipoise.install import assets
from equipoise.install.changes import Changes, advice, as_owner

CONFIG = "Equipoise.json"
OUTPUT = Path("output")
"""The part that is published. All code below it is the mod's: files of an older version are removed."""
ENTRY = OUTPUT / "lua/entry/Equipoise.entry"
SETTINGS = Path("mod.settings")
"""The Launch Pad writes into it which item of the Workshop this is: it stays as it is."""
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
        """The file of the mod's settings."""
        return self.path / CONFIG

    def configure(self, **settings: str) -> Changes:
        """Return the changes with these settings; others that stand there stay."""
        changes = Changes(self.path)
        text = json.dumps(self.settings | settings, indent=4, ensure_ascii=False)
        changes.write(self.file, f"{text}\n".encode(), 0o600)
        return changes


def read_directory(path: Path, name: str) -> ConfigDirectory:
    """Look into the config directory of the server `name`; ConfigError where it is none, or another server's."""
    path = path.expanduser().absolute()
    try:
        with as_owner(path):
            directory = ConfigDirectory(path, _settings(path))
    except OSError as error:
        raise ConfigError(f"{error.strerror}{advice(error, path)}", file=error.filename or path) from None
    owner = directory.settings.get("server")
    if owner and owner != name:
        raise ConfigError(
            f"this config directory belongs to the server {owner}: each needs its own", file=directory.file
        )
    return directory


def _settings(path: Path) -> dict[str, object]:
    if not any((path / sign).is_file() for sign in _SIGNS):
        raise ConfigError(
            "not the config directory of an NS2 server, which has a ServerConfig.json from its first start on; "
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
        raise ConfigError(f"not valid JSON, left as it is: {error}", file=path / CONFIG) from None
    if not isinstance(settings, dict):
        raise ConfigError("not a JSON object, left as it is", file=path / CONFIG)
    return settings


def write_mod(path: Path) -> Changes:
    """Return the changes that write this version's mod there; ConfigError where the folder holds something else."""
    path = path.expanduser().absolute()
    mod = assets.mod()
    try:
        with as_owner(path):
            if path.exists() and any(path.iterdir()) and not (path / ENTRY).is_file():
                raise ConfigError(f"this folder is not empty, and not that of the mod: it has no {ENTRY}", file=path)
            old = [file for file in (path / OUTPUT / "lua").rglob("*") if file.is_file()]
    except OSError as error:
        raise ConfigError(f"{error.strerror}{advice(error, path)}", file=error.filename or path) from None
    changes = Changes(path)
    for file in old:
        # Planned before the new files: of one path the last plan
        # holds, so that only what this version lacks is removed.
        changes.remove(file)
    for place, data in mod.items():
        if not (Path(place) == SETTINGS and (path / SETTINGS).exists()):
            changes.write(path / place, data)
    return changes
