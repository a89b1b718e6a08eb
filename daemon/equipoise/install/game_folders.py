"""The folders of game servers: TF2's `tf/`, NS2's config directory and its mod's folder, and those remembered.

Versions in a TF2 server's folder are read from the binaries, because includes and other files of a package may be
missing or of another one:

- SourceMod links `versionlib/versionlib.cpp` into each of its binaries. Its string `SM_VERSION_STRING` is
  `major.minor.release.revision`, a tag may follow (`tools/buildbot/generate_headers.py`). `sourcemod.logic.so` is one
  binary that has the same name for every game; 64-bit servers load that in `bin/x64/`
  (`tools/buildbot/PackageScript`).
- A folder of the Source engine says its game in `gameinfo.txt`: the key `game`, and `SteamAppId` of `FileSystem`, which
  is 440 for TF2.
- REST in Pawn sends `sm-ripext/<version>` as its user agent (`extension.h`, `SM_RIPEXT_USER_AGENT`).
- A compiled plugin is in SourcePawn's format (`include/smx/smx-headers.h`): a header, section headers, and from
  `dataoffs` on everything compressed. Its `myinfo` is a public variable of five addresses of strings: name,
  description, author, version, url (SourceMod, `core/logic/PluginSys.cpp`, `sm_plugininfo_c_t`).

The mods of an NS2 server call its config directory `config://`: the settings of the mod Equipoise stand there. The
server names it by `-config_path`. The game writes `ServerConfig.json` there at its first start. The mod's own folder,
which the Launch Pad publishes, is no place for a secret: every client downloads it. In trials `-game` mounts its
`output/`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.files import read_small
from equipoise.install import file_changes
from equipoise.install.file_changes import Changes, advice, as_owner
from equipoise.versions import order

PLUGIN = Path("addons/sourcemod/plugins/equipoise.smx")
CFG = Path("cfg/sourcemod/equipoise.cfg")
_SOURCEMOD = "addons/sourcemod/bin", "sourcemod.logic.so", rb"\0(\d+\.\d+\.\d+\.\d+(?:-[\w.-]+)?)\0"
_RIPEXT = "addons/sourcemod/extensions", "rip.ext.so", rb"sm-ripext/(\d+(?:\.\d+)+)"
_TF2 = 440
_LARGEST = 256 << 20
"""Bytes of a file that is read."""
_HEADER = struct.Struct("<IHBIIBII")  # magic, version, compression, disksize, imagesize, sections, stringtab, dataoffs
_SECTION = struct.Struct("<III")  # name in the string table, offset in the file, size
_PUBLIC_VARIABLE = struct.Struct("<II")  # address in the data, name in `.names`
_MAGIC = 0x53504646
_LARGEST_IMAGE = 64 << 20
"""Bytes; a damaged header could ask for any amount."""
_LEAST_SOURCEMOD, _LEAST_RIPEXT = "1.11", "1.3.2"
_SEATS_SOURCEMOD = "1.12"
"""The first whose MAXPLAYERS is 101, in clients.inc; it was 65."""
_RELEASES = "https://github.com/ErikMinekus/sm-ripext/releases"
_DEFAULTS = {"equipoise_chat_prefix": "[Equipoise]", "equipoise_words": ""}
"""A cfg without one of the plugin's settings is written anew by SourceMod 1.13, readable by all (`CoreConfig.cpp`)."""


@dataclass(frozen=True, slots=True)
class GameFolder:
    """The contents of a `tf/`; versions are "" where a file does not say its own, None where it is missing."""

    path: Path
    sourcemod: str
    ripext: str | None
    plugin: str | None
    cfg: bytes

    def install(self, plugin: bytes, texts: dict[str, bytes]) -> Changes:
        """Return the changes that put the plugin and its texts there."""
        changes = Changes(self.path)
        changes.write(self.path / PLUGIN, plugin)
        for place, text in texts.items():
            changes.write(self.path / "addons/sourcemod" / place, text)
        return changes

    def configure(self, changes: Changes, **settings: str) -> Changes:
        """Return the changes with these settings of the plugin: `url`, `server`, `secret`."""
        values = {f"equipoise_{name}": value for name, value in settings.items()}
        changes.write(self.path / CFG, _with_settings(self.cfg, values), 0o600)
        return changes

    def setting(self, name: str) -> str | None:
        """Return the value of a setting of the plugin, such as `server`: the last line wins. None: no line sets it."""
        return _setting(self.cfg, name)

    def installed(self) -> list[str]:
        """Return the lines that an operator reads when the plugin is there."""
        note = "" if self.plugin is None else f", in place of {self.plugin or 'one of an unknown version'}"
        return [
            f"The plugin is {self.path / PLUGIN}{note}.",
            f"Its address, name and secret are in {self.path / CFG}.",
            *self.notes(),
        ]

    def command(self) -> str:
        """Return the command for the game server's console that is left then."""
        return f"sm plugins {'load' if self.plugin is None else 'reload'} equipoise"

    def notes(self) -> list[str]:
        """Return what an operator should know of SourceMod and REST in Pawn before they load the plugin."""
        lines = [f"SourceMod {self.sourcemod or 'of an unknown version'} is there."]
        if self.sourcemod and _numbers(self.sourcemod) < _numbers(_LEAST_SOURCEMOD):
            lines.append(f"It is too old: the plugin needs SourceMod {_LEAST_SOURCEMOD} or newer.")
        elif self.sourcemod and _numbers(self.sourcemod) < _numbers(_SEATS_SOURCEMOD):
            lines.append(f"It knows 64 players at most: a server with more slots needs SourceMod {_SEATS_SOURCEMOD}.")
        if self.ripext is None:
            lines.append(f"REST in Pawn (rip.ext.so) is MISSING, and the plugin cannot load without it: {_RELEASES}")
        else:
            lines.append(f"REST in Pawn {self.ripext or 'of an unknown version'} is there.")
            if self.ripext and _numbers(self.ripext) < _numbers(_LEAST_RIPEXT):
                lines.append(f"It is too old: the plugin needs REST in Pawn {_LEAST_RIPEXT} or newer: {_RELEASES}")
        return lines


def inspect(path: Path, name: str, ours: str | None) -> GameFolder:
    """Look into the `tf/` of the server `name`, for a plugin of version `ours` that is to be installed.

    ConfigError where it is none, has no SourceMod, belongs to another server, or has a newer plugin.
    """
    path = path.absolute()
    try:
        with as_owner(path):
            folder = _inspected(path)
    except OSError as error:
        raise ConfigError(f"{error.strerror}{advice(error, path)}", file=error.filename or path) from None
    owner = folder.setting("server")
    if owner and owner != name:
        raise ConfigError(
            f"this folder belongs to the server {owner}; several servers from one install: see "
            "sourcemod/README.md, Settings",
            file=path / CFG,
        )
    present = order(folder.plugin or "")
    if ours and present and present > (order(ours) or present):
        raise ConfigError(
            f"the plugin there is {folder.plugin}, newer than this Equipoise ({ours}): upgrade Equipoise first",
            file=path / PLUGIN,
        )
    return folder


def settings_of(cfg: Path) -> dict[str, str]:
    """Return the plugin's `server` and `secret` in a cfg, as far as it can be read and has them."""
    try:
        content = read_small(cfg, _LARGEST)
    except OSError:
        return {}
    return {name: value for name in ("server", "secret") if (value := _setting(content, name)) is not None}


def _setting(cfg: bytes, name: str) -> str | None:
    lines = cfg.splitlines()
    # All lines, because the game obeys the last one.
    values = [match[1] for line in lines if (match := re.match(_line(f"equipoise_{name}"), line))]
    return values[-1].split(b"//")[0].strip().decode("utf-8", "replace") if values else None


def _inspected(path: Path) -> GameFolder:
    if not (path / "gameinfo.txt").is_file():
        inner = path / "tf"
        hint = f"; is it {inner}?" if (inner / "gameinfo.txt").is_file() else ""
        raise ConfigError(f"not a tf/ folder: it has no gameinfo.txt{hint}", file=path)
    if stranger := _other_game(path):
        raise ConfigError(f"a folder of {stranger!r}, by its gameinfo.txt, and the plugin is for TF2's tf/", file=path)
    sourcemod = _version(path, *_SOURCEMOD)
    if sourcemod is None:
        raise ConfigError(
            "SourceMod is not installed there: addons/sourcemod/bin/sourcemod.logic.so is missing; "
            "https://www.sourcemod.net/downloads.php",
            file=path,
        )
    plugin = _bytes(path / PLUGIN)
    return GameFolder(
        path=path,
        sourcemod=sourcemod,
        ripext=_version(path, *_RIPEXT),
        plugin=None if plugin is None else plugin_version(plugin) or "",
        cfg=_bytes(path / CFG) or b"",
    )


def _other_game(path: Path) -> str | None:
    """Return the game that a folder says to be of; None: TF2, one that is made of it, or none is said."""
    text = _bytes(path / "gameinfo.txt") or b""
    game = re.search(rb'(?im)^[ \t]*"?game"?[ \t]+"([^"\r\n]*)"', text)
    app = re.search(rb'(?im)^[ \t]*"?SteamAppId"?[ \t]+"?(\d+)', text)
    name = game[1].decode("utf-8", "replace") if game else ""
    if (app and int(app[1]) == _TF2) or not name or "Team Fortress" in name:
        return None
    return name


def _version(path: Path, folder: str, file: str, pattern: bytes) -> str | None:
    for place in (path / folder / file, path / folder / "x64" / file):
        if (data := _bytes(place)) is not None:
            match = re.search(pattern, data)
            return match[1].decode() if match else ""
    return None


def _bytes(path: Path) -> bytes | None:
    try:
        return read_small(path, _LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _line(name: str) -> bytes:
    """Return the pattern of a cfg's line that sets this, as the game reads it: quotes and capitals do not count."""
    return rb'(?i)[ \t]*"?%s"?[ \t]+"?([^"\r\n]*)' % name.encode()


def _with_settings(cfg: bytes, settings: dict[str, str]) -> bytes:
    """Return a cfg with these settings, each in the place of its first line; all other lines stay as they are."""
    lines = cfg.splitlines(keepends=True)
    if not lines:
        lines = [b"// Written by `equipoise server add`. sourcemod/README.md explains each setting.\n"]
        settings = settings | _DEFAULTS
    elif not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    for name, value in settings.items():
        own = [place for place, line in enumerate(lines) if re.match(_line(name), line)]
        written = f'{name} "{value}"\n'.encode()
        if own:
            lines[own[0]] = written
            # From the end, so that the places before it stay what they were.
            for place in reversed(own[1:]):
                del lines[place]
        else:
            lines.append(written)
    return b"".join(lines)


def plugin_version(file: bytes) -> str | None:
    """Return the version in a plugin's `myinfo`; None where the file is no plugin, or says none.

    >>> plugin_version(b"no plugin") is None
    True
    """
    try:
        return _version_in(file)
    except (struct.error, zlib.error, ValueError):
        return None


def _version_in(file: bytes) -> str | None:
    magic, _, compression, _, imagesize, sections, stringtab, dataoffs = _HEADER.unpack_from(file)
    if magic != _MAGIC or imagesize > _LARGEST_IMAGE:
        return None
    # With a limit: a damaged file may unpack to anything.
    image = file[:dataoffs] + zlib.decompressobj().decompress(file[dataoffs:], imagesize) if compression else file
    places = {}
    for number in range(sections):
        name, offset, size = _SECTION.unpack_from(image, _HEADER.size + number * _SECTION.size)
        places[_text(image, stringtab + name)] = offset, size
    if not {".pubvars", ".names", ".data"} <= places.keys():
        return None
    offset, size = places[".pubvars"]
    for address, name in _PUBLIC_VARIABLE.iter_unpack(image[offset : offset + size]):
        if _text(image, places[".names"][0] + name) == "myinfo":
            data = places[".data"][0] + struct.unpack_from("<III", image, places[".data"][0])[2]
            return _text(image, data + struct.unpack_from("<5I", image, data + address)[3]) or None
    return None


def _text(image: bytes, start: int) -> str:
    return image[start : image.index(b"\0", start)].decode("utf-8")


# The folders of an NS2 server.

CONFIG = "Equipoise.json"
OUTPUT = Path("output")
"""The part that is published. All code below it is the mod's: files of an older version are removed."""
ENTRY = OUTPUT / "lua/entry/Equipoise.entry"
SETTINGS = Path("mod.settings")
"""The Launch Pad writes into it which item of the Workshop this is: it stays as it is."""
_SIGNS = "ServerConfig.json", "MapCycle.json"
_LARGEST_SETTINGS = 1 << 20
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
        text = read_small(path / CONFIG, _LARGEST_SETTINGS)
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
    mod = file_changes.mod()
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


# The folders outside of the machine's own in which something of ours was installed, remembered by server.
#
# They stand in `folders.json` beside the configuration, and not in it: a configuration is read strictly, and an older
# version must be able to read it again. A server that was set up before they were remembered is searched for.

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
