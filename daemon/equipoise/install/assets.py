"""The files that an installation carries beside the code: unit, plugin, mod, reference of the configuration.

A wheel has them below `assets/` (`hatch_build.py` puts them there). An editable installation has them in its checkout,
by the same names; there plugin and mod are built when they are asked for, so that they are never older than their
source.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import equipoise
from equipoise.errors import ConfigError

_PACKED = Path(equipoise.__file__).parent / "assets"
_CHECKOUT = Path(equipoise.__file__).parents[2]


def folder() -> Path:
    """Return the folder of the files, which have the names there that they have in a checkout."""
    return _PACKED if _PACKED.is_dir() else _CHECKOUT


def plugin(place: Path | None = None) -> bytes:
    """Return the compiled plugin of this version; ConfigError where this installation has none.

    `place`: the folder of another version's files.
    """
    place = place or folder()
    if place == _CHECKOUT:
        return _compiled()
    try:
        return (place / "sourcemod" / "equipoise.smx").read_bytes()
    except FileNotFoundError:
        raise ConfigError(
            "this installation has no plugin: its wheel was built where SourceMod's compiler (x86-64) does not run. "
            "Install a wheel that was built on x86-64, or run `make plugin` there and unpack the zip into tf/"
        ) from None


def plugin_texts(place: Path | None = None) -> dict[str, bytes]:
    """Return what belongs to the plugin below `addons/sourcemod`: its translations, its include for other plugins."""
    sourcemod = (place or folder()) / "sourcemod"
    paths = [*sorted((sourcemod / "translations").rglob("*.txt")), sourcemod / "scripting/include/equipoise.inc"]
    return {path.relative_to(sourcemod).as_posix(): path.read_bytes() for path in paths}


def mod() -> dict[str, bytes]:
    """Return the NS2 mod's folder as the Launch Pad publishes it, by places below it."""
    if _PACKED.is_dir():
        return _read(_PACKED / "ns2mod")
    with tempfile.TemporaryDirectory() as temporary:
        command = [sys.executable, str(_CHECKOUT / "ns2mod" / "build.py"), "--output", temporary]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise ConfigError(f"the mod cannot be built: {run.stderr.strip() or run.stdout.strip()}")
        (built,) = (path for path in Path(temporary).iterdir() if path.is_dir())
        return _read(built)


def _read(root: Path) -> dict[str, bytes]:
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def _compiled() -> bytes:
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary) / "equipoise.smx"
        command = [sys.executable, str(_CHECKOUT / "sourcemod" / "build.py"), "--bytecode", str(output)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise ConfigError(f"the plugin cannot be compiled: {run.stderr.strip() or run.stdout.strip()}")
        return output.read_bytes()
