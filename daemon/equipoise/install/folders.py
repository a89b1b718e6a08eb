"""The folders outside of the machine's own in which something of ours was installed, remembered by server.

They stand in `folders.json` beside the configuration, and not in it: a configuration is read strictly, and an older
version must be able to read it again. A server that was set up before they were remembered is searched for.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.files import read_small
from equipoise.install.changes import Changes
from equipoise.install.game_folder import CFG, settings_of

FILE = "folders.json"
SEARCHED = Path("/srv"), Path("/home"), Path("/opt")
"""Places where game servers are."""
DEPTH = 6
"""Folders below such a place: `/home/steam/servers/arena/tf` is the fourth."""

Folders = dict[str, dict[str, str]]
"""By server: `tf`, `ns2_config` and `mod`, as far as they are known."""


def remembered(directory: Path) -> Folders:
    """Return the folders that commands have noted; ConfigError where the file is none of ours."""
    file = directory / FILE
    try:
        folders = json.loads(read_small(file))
        return {str(name): {str(kind): str(path) for kind, path in places.items()} for name, places in folders.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError):
        raise ConfigError("not what commands write there; remove it, and name the folders again", file=file) from None
    except OSError as error:
        raise ConfigError(error.strerror or str(error), file=file) from None


def remember(changes: Changes, name: str, **places: Path | None) -> None:
    """Plan to note a server's folders, in changes of the configuration's own folder; others of it stay noted."""
    new = {kind: str(path.expanduser().absolute()) for kind, path in places.items() if path is not None}
    file = changes.folder / FILE
    before = changes.planned(file)
    folders = remembered(changes.folder) if before is None else json.loads(before)
    if new.items() <= folders.get(name, {}).items():
        return
    folders[name] = folders.get(name, {}) | new
    changes.write(file, f"{json.dumps(folders, indent=2, ensure_ascii=False)}\n".encode(), 0o644)


def search(hashes: Mapping[str, str], places: tuple[Path, ...] = SEARCHED) -> Iterator[tuple[str, Path]]:
    """Find the `tf/` of servers whose plugin is configured: `hashes` has the SHA-256 of each one's secret by name.

    The secret in the plugin's cfg proves that the folder is this server's, and no copy that somebody has renamed.
    """
    for place in places:
        for folder, inner, files in os.walk(place):
            path = Path(folder)
            if "gameinfo.txt" in files and (path / CFG).is_file():
                settings = settings_of(path / CFG)
                name = settings.get("server", "")
                if hashes.get(name) == hashlib.sha256(settings.get("secret", "").encode()).hexdigest():
                    yield name, path
            if "gameinfo.txt" in files or len(path.relative_to(place).parts) >= DEPTH:
                inner.clear()  # a game's thousands of files hold no other server
