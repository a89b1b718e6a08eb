"""A game server's folder `tf/` as SourceMod's and REST in Pawn's packages leave it, without the code in the binaries.

SourceMod: `tools/buildbot/PackageScript` (places), `versionlib/versionlib.cpp` (`SM_BUILD_LOCAL_REV`, `SM_BUILD_CSET`,
`SM_VERSION_STRING`, the date: four literals side by side), `tools/buildbot/generate_headers.py` (how they look).
REST in Pawn: its `PackageScript`; `extension.h` (`SM_RIPEXT_USER_AGENT`), `smsdk_config.h` (the name).
"""

from __future__ import annotations

import os
from pathlib import Path


def game_server(
    folder: Path, sourcemod: str | None = "1.12.0.7195", ripext: str | None = "1.3.2", x64: str = ""
) -> Path:
    """The folder `tf/`; `x64`: "x64" for the package of a 64-bit server."""
    tf = folder / "tf"
    for inner in ("cfg", "maps", "addons"):
        (tf / inner).mkdir(parents=True)
    (tf / "gameinfo.txt").write_text('"GameInfo"\n{\n\tgame\t"Team Fortress 2"\n}\n')
    (tf / "cfg" / "server.cfg").write_text('hostname "Arena"\n')
    if sourcemod is not None:
        revision = sourcemod.split("-")[0].rpartition(".")[2]
        strings = f"\0%s: 1.2.3.4\0{revision}\x00b68a60976\0{sourcemod}\0Aug  2 2026 13:59:20\0"
        binary(tf / "addons/sourcemod/bin" / x64 / "sourcemod.logic.so", strings)
        for inner in ("plugins", "translations", "extensions", "scripting/include"):
            (tf / "addons/sourcemod" / inner).mkdir(parents=True)
        (tf / "cfg/sourcemod").mkdir()
    if ripext is not None:
        strings = f"\0REST in Pawn\0{ripext}\0sm-ripext/{ripext}\0"
        binary(tf / "addons/sourcemod/extensions" / x64 / "rip.ext.so", strings)
    return tf


def binary(path: Path, strings: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF" + os.urandom(5000) + strings.encode() + os.urandom(5000))


def everything(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Mode and content of all below a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }
