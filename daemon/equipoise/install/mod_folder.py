"""The folder of the NS2 mod: to publish it with the Launch Pad, or to mount it with `-game` in trials."""

from __future__ import annotations

from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.install import assets
from equipoise.install.changes import Changes, advice, as_owner

ENTRY = Path("lua/entry/Equipoise.entry")
CODE = Path("lua/equipoise")
"""All below it is the mod's: files of an older version are removed."""


def write_mod(path: Path) -> Changes:
    """The changes that write the mod of this version there; ConfigError where the folder holds something else."""
    path = path.expanduser().absolute()
    mod = assets.mod()
    try:
        with as_owner(path):
            if path.exists() and any(path.iterdir()) and not (path / ENTRY).is_file():
                raise ConfigError(f"this folder is not empty, and not that of the mod: it has no {ENTRY}", file=path)
            old = [each for each in (path / CODE).rglob("*") if each.is_file()]
    except OSError as error:
        raise ConfigError(f"{error.strerror}{advice(error, path)}", file=error.filename or path) from None
    changes = Changes(path)
    for file in old:
        changes.remove(file)
    for place, data in mod.items():
        changes.write(path / place, data)
    return changes
