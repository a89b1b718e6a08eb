"""One server virtual machine: LuaJIT with the engine's scripts and the mods' real files.

A map change throws it away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from lupa.luajit21 import LuaRuntime

from .switches import Switches

ENGINE = Path(__file__).with_name("engine")
BEFORE_MODS = "base", "json", "shared", "entities", "clients"
VANILLA = "players", "teams", "rules", "joining", "commanding", "bots", "chat", "frames"
ENTRIES = "lua/entry/"
OWN = re.compile(r"\b(\w+) = \1 or ")
"""How a mod's file asks whether another file of it came first."""

Host = Mapping[str, Callable[..., Any]]


def to_lua(text: str) -> str:
    """Text as the bytes that a Lua string holds; Latin-1 carries them, so that broken UTF-8 passes too."""
    return text.encode(errors="surrogateescape").decode("latin-1")


def from_lua(value: Any) -> Any:
    """A Lua string as text; bytes that are no UTF-8 become replacement characters. Anything else as it is."""
    return value.encode("latin-1").decode(errors="replace") if isinstance(value, str) else value


def overlay(mods: list[Path]) -> dict[str, Path]:
    """The merged file system: every mod's files by their path, a later mod's over an earlier one's."""
    return {path.relative_to(mod).as_posix(): path for mod in mods for path in mod.rglob("*") if path.is_file()}


@lru_cache(maxsize=256)
def _asked_for(text: str) -> frozenset[str]:
    """The search takes as long as all else of a start, and each test starts a server of the same files."""
    return frozenset(OWN.findall(text))


class Machine:
    """The virtual machine and its scripts. `rig` is the engine's own table, out of the mods' reach."""

    def __init__(
        self,
        map_name: str,
        mods: list[Path],
        host: Host,
        switches: Switches,
        settings: dict[str, Any],
        *,
        shine: str = "none",
        nsl: bool = False,
        strict: bool = True,
        own: tuple[str, ...] = (),
        cut: Mapping[str, int] | None = None,
    ) -> None:
        self.lua = LuaRuntime(unpack_returned_tuples=True, encoding="latin-1", source_encoding="latin-1")
        self._files = overlay(mods)
        self.rig = self.lua.table_from(
            {
                "host": self.lua.table_from({**host, "source": self._source}),
                "switches": self.lua.table_from(asdict(switches)),
                "settings": self.lua.table_from(settings),
                "map": map_name,
                "strict": strict,
                "mods": len(mods) + (shine != "none"),
                "time": 0.0,
                "system": 0.0,
            }
        )
        self._shine, self._nsl, self._absent = shine, nsl, own
        self._cut = cut or {}

    def boot(self, system: float) -> None:
        """Load in the order of ns2_game.md 1.1: entries, file hooks, the game, server scripts, the map."""
        self.rig["system"] = system
        self._engine(*BEFORE_MODS)
        if self._shine != "none":
            self._engine("shine")
        self.rig["CloseTheSandbox"]()
        self.rig["StrictGlobals"](",".join(self._own()))
        entries = self._entries()
        for _, _, entry in entries:
            self._load(entry, "FileHooks")
        self.rig["RunFileHooks"]("pre")
        self._engine(*VANILLA)
        self.rig["RunFileHooks"]("post")
        for kind in "Shared", "Server":
            self._scripts(entries, kind)
        self.rig["LoadMap"]()

    def _scripts(self, entries: list[tuple[float, str, Any]], kind: str) -> None:
        """One kind of script of all mods; Shine has priority 50 and NSL 5 among them."""
        if kind == "Server" and self._shine != "none":
            self.rig["ShineLoads"]()
            if self._shine == "inside":
                self.rig["ShineWraps"]()
        for priority, _, entry in entries:
            if kind == "Server" and self._nsl and priority < 5 and not self.rig["Pause"]:
                self._engine("nsl")
            self._load(entry, kind)
        if kind == "Server" and self._nsl and not self.rig["Pause"]:
            self._engine("nsl")

    def _engine(self, *names: str) -> None:
        for name in names:
            path = ENGINE / f"{name}.lua"
            self.lua.execute(path.read_bytes().decode("latin-1"), self.rig, name=f"@engine/{name}.lua")

    def _entries(self) -> list[tuple[float, str, Any]]:
        """Entry tables by priority, larger first, 10 where none is named; the same order for equal ones."""
        found = []
        for name in sorted(self._files):
            if name.startswith(ENTRIES) and name.endswith(".entry"):
                entry = self.rig["ReadEntry"](name)
                if entry is not None:
                    found.append((float(entry["Priority"] or 10), name, entry))
        return sorted(found, key=lambda each: -each[0])

    def _load(self, entry: Any, kind: str) -> None:
        if entry[kind]:
            self.rig["LoadScript"](entry[kind])

    def _own(self) -> set[str]:
        """Globals that the mods' own files ask for before they make them."""
        texts = (path.read_text(errors="replace") for name, path in self._files.items() if name.endswith(".lua"))
        return {name for text in texts for name in _asked_for(text)} | set(self._absent)

    def _source(self, path: str) -> str | None:
        file = self._files.get(path)
        return file.read_bytes()[: self._cut.get(path)].decode("latin-1") if file else None

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the engine's table; an error inside is a script error and returns None."""
        passed = [to_lua(each) if isinstance(each, str) else each for each in arguments]
        return self.rig["Act"](name, self.rig[name], *passed)
