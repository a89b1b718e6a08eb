"""The mod's modules that touch no engine, in plain LuaJIT, with the game's JSON module as it is.

Texts pass between the languages as bytes: what is no UTF-8 is a surrogate in Python.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lupa.luajit21 import LuaRuntime, lua_type

ROOT = Path(__file__).parents[2]
MOD = ROOT / "ns2mod"
FOLDER = MOD / "lua" / "equipoise"
NAMES = ("codec", "reply", "ring", "outbox", "record", "fallback", "texts")
"""In the order in which each finds what it uses."""
JSON = Path(__file__).parent / "rig" / "engine" / "json.lua"


class Modules:
    """One Lua state with all modules, and the game's `json`."""

    def __init__(self) -> None:
        self.lua = LuaRuntime(encoding="latin-1", unpack_returned_tuples=True, register_eval=False)
        self.run(JSON)
        self.json = self.lua.globals().json
        for name in NAMES:
            self.run(FOLDER / f"{name}.lua")
        self.all = self.lua.globals().Equipoise

    def run(self, path: Path) -> None:
        self.lua.execute(path.read_bytes().decode("latin-1"), name=f"@{path.name}", mode="t")

    def table(self, value: Any) -> Any:
        """A value of Python as one of Lua's."""
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape").decode("latin-1")
        if isinstance(value, dict):
            return self.lua.table_from({self.table(key): self.table(item) for key, item in value.items()})
        if isinstance(value, list | tuple):
            return self.lua.table_from([self.table(item) for item in value])
        return value

    def call(self, function: Any, *arguments: Any) -> Any:
        """What a function of Lua gives for values of Python; several results are a tuple."""
        found = function(*(self.table(each) for each in arguments))
        return tuple(python(each) for each in found) if isinstance(found, tuple) else python(found)

    def encode(self, value: Any) -> Any:
        return self.call(self.all.Codec.Encode, self.json, value)

    def decode(self, text: Any) -> Any:
        return self.call(self.all.Reply.Decode, self.json, text)


def python(value: Any) -> Any:
    """A value of Lua as one of Python's; an empty table is an empty list."""
    if isinstance(value, str):
        return value.encode("latin-1").decode("utf-8", "surrogateescape")
    if lua_type(value) != "table":
        return value
    keys = list(value.keys())
    if sorted(map(str, keys)) == sorted(str(place) for place in range(1, len(keys) + 1)):
        return [python(value[place]) for place in range(1, len(keys) + 1)]
    return {python(key): python(item) for key, item in value.items()}
