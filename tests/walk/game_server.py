"""A folder of a TF2 server as SteamCMD, Metamod, SourceMod and REST in Pawn leave it, as far as an installer looks.

The names are those of SourceMod's package script (`tools/buildbot/PackageScript`); versions stand in the binaries, as
`versionlib/versionlib.cpp` of SourceMod and `extension.h` of sm-ripext put them there.
"""

from __future__ import annotations

from pathlib import Path

FILES = {
    "gameinfo.txt": b'"GameInfo"\n{\n\tgame "Team Fortress 2"\n}\n',
    "cfg/server.cfg": b'hostname "Walked"\n',
    "addons/sourcemod/bin/sourcemod.logic.so": b"\x7fELF\x00SourceMod\x001.12.0.7177\x00",
    "addons/sourcemod/extensions/rip.ext.so": b"\x7fELF\x00sm-ripext/1.3.2\x00",
    "addons/sourcemod/translations/core.phrases.txt": b'"Phrases"\n{\n}\n',
    "addons/sourcemod/configs/core.cfg": b'"Core"\n{\n}\n',
}
FOLDERS = ("addons/sourcemod/plugins", "addons/sourcemod/scripting/include", "cfg/sourcemod", "maps")


def make(tf: Path) -> None:
    """The folder `tf/`, readable by all; the caller gives it its owner."""
    for name in FOLDERS:
        (tf / name).mkdir(parents=True, exist_ok=True)
    for name, data in FILES.items():
        path = tf / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
