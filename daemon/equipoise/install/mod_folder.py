"""The folder of the NS2 mod: to publish it with the Launch Pad, or to mount its `output/` with `-game` in trials."""

from __future__ import annotations

from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.install import assets
from equipoise.install.changes import Changes, advice, as_owner

OUTPUT = Path("output")
"""What is published. All code below it is the mod's: files of an older version are removed."""
ENTRY = OUTPUT / "lua/entry/Equipoise.entry"
SETTINGS = Path("mod.settings")
"""The Launch Pad writes into it which item of the Workshop this is: it stays as it is."""


def write_mod(path: Path) -> Changes:
    """The changes that write the mod of this version there; ConfigError where the folder holds something else."""
    path = path.expanduser().absolute()
    mod = assets.mod()
    try:
        with as_owner(path):
            if path.exists() and any(path.iterdir()) and not (path / ENTRY).is_file():
                raise ConfigError(f"this folder is not empty, and not that of the mod: it has no {ENTRY}", file=path)
            old = [each for each in (path / OUTPUT / "lua").rglob("*") if each.is_file()]
    except OSError as error:
        raise ConfigError(f"{error.strerror}{advice(error, path)}", file=error.filename or path) from None
    changes = Changes(path)
    for file in old:
        changes.remove(file)
    for place, data in mod.items():
        if not (Path(place) == SETTINGS and (path / SETTINGS).exists()):
            changes.write(path / place, data)
    return changes
