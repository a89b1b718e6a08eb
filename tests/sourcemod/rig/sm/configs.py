"""The configuration files of a map, in the order one command buffer executes them.

`server.cfg` (CMultiplayRules constructor), `<map>.cfg` (CTFGameRules constructor) and in arena `config_arena.cfg`
(CTFGameRules::Activate) are queued while the map is loaded; SourceMod queues its own and every plugin's
`AutoExecConfig` file right after OnMapStart (PlayerManager::OnServerActivate, CoreConfig.cpp SM_ExecuteAllConfigs).
The buffer runs at the start of the next frame. That frame's hook announces OnAutoConfigsBuffered and queues the
command behind which OnServerCfg and OnConfigsExecuted hide: they come one more frame later, when clients may be there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..binding import Call, native
from .convars import DONTRECORD, ConVar
from .strings import split_command

if TYPE_CHECKING:
    from ..plugin import Plugin
    from ..sourcemod import SourceMod

_COMMENT = re.compile(r'^((?:"[^"]*"|[^"/]|/(?!/))*)//.*')
"""What follows `//`, but not inside quotes: there it is an address."""
_PARTS = re.compile(r'(?:"[^"]*"?|[^";])+')


def command_lines(text: str) -> Iterator[str]:
    """The commands of a text: one a line, or several with semicolons between them outside quotes."""
    for line in text.splitlines():
        parts = _PARTS.findall(_COMMENT.sub(r"\1", line))
        yield from (part.strip() for part in parts if part.strip())


@dataclass(frozen=True, slots=True)
class AutoConfig:
    """A file that `AutoExecConfig` asked for. `file` is relative to the folder `cfg`, without its ending."""

    plugin: "Plugin"
    create: bool
    file: str


@dataclass(slots=True)
class Configs:
    """The files of one server.

    `regenerates`: does SourceMod rewrite a plugin's file when variables are missing from it, or too many? Version 1.13
    does and keeps the operator's values; 1.11 and 1.12 never touch a file that exists. `arena` is what
    `config_arena.cfg` sets: the file is in no repository, so the default is what makes life hardest.
    """

    sm: "SourceMod"
    wanted: list[AutoConfig] = field(default_factory=list)
    regenerates: bool = False
    arena: dict[str, str] = field(default_factory=lambda: {"tf_arena_use_queue": "1"})
    executed: bool = False
    """Whether OnConfigsExecuted came on this map."""
    _pending: bool = False

    @property
    def folder(self) -> Path:
        """The game's folder `cfg`."""
        return self.sm.root.parent.parent / "cfg"

    def load_map(self, name: str, *, arena: bool) -> None:
        """A map is being loaded: queue the game's own files."""
        self.executed = self._pending = False
        files = ["server.cfg", f"{name}.cfg", *(["config_arena.cfg"] if arena else [])]
        self.sm.commands.queue += [f"exec {file}" for file in files]

    def server_activated(self) -> None:
        """OnMapStart is over: queue SourceMod's files and the plugins'."""
        self.sm.commands.queue.append("exec sourcemod/sourcemod.cfg")
        for plugin in self.sm.plugins:
            self._queue(plugin)
        self._pending = True

    def run_late(self, plugin: "Plugin") -> None:
        """A plugin was loaded on a running map: it gets no OnAutoConfigsBuffered (SM_ExecuteForPlugin)."""
        if not self._queue(plugin):
            self.tell_late(plugin)
        else:
            self.sm.commands.queue.append(f"sm_internal 2 {self.sm.plugin_handle(plugin)}")

    def frame(self) -> None:
        """The part of a frame in which the files count as buffered (SM_InternalCmdTrigger)."""
        if self._pending:
            self._pending = False
            self.sm.forward("OnAutoConfigsBuffered")
            self.sm.commands.queue.append("sm_internal 1")

    def obey(self, words: list[str]) -> bool:
        """Execute `exec` and `sm_internal`; whether it was one of them."""
        match words:
            case ["exec", name, *_]:
                self._execute(name)
            case ["sm_internal", "1"] if not self.executed:
                self.executed = True
                self.sm.forward("OnServerCfg")
                self.sm.forward("OnConfigsExecuted")
            case ["sm_internal", "2", handle]:
                late = next((p for p in self.sm.plugins if str(self.sm.plugin_handle(p)) == handle), None)
                if late is not None:
                    self.tell_late(late)
            case _:
                return words[0] in ("exec", "sm_internal")
        return True

    def tell_late(self, plugin: "Plugin") -> None:
        """The forwards of a plugin loaded late."""
        plugin.call("OnServerCfg")
        plugin.call("OnConfigsExecuted")

    def forget(self, plugin: object) -> None:
        """Drop an unloaded plugin's files from the list."""
        self.wanted = [config for config in self.wanted if config.plugin is not plugin]

    def _queue(self, plugin: "Plugin") -> bool:
        """Write a plugin's files where that is due and queue them; whether it has any (SM_ExecuteConfig)."""
        own = [config for config in self.wanted if config.plugin is plugin]
        may_write = True
        for config in own:
            path = self.folder / f"{config.file}.cfg"
            if may_write and config.create and self._write(plugin, path):
                may_write = False
            if path.exists():
                self.sm.commands.queue.append(f"exec {config.file}.cfg")
        return bool(own)

    def _write(self, plugin: "Plugin", path: Path) -> bool:
        """Write the file if it is missing or (1.13) out of step with the plugin's variables; whether it was written."""
        variables = [c for c in self.sm.convars.by_name.values() if plugin in c.plugins and not c.flags & DONTRECORD]
        if not variables:
            return False
        kept: dict[str, str] = {}
        if path.exists():
            lines = command_lines(path.read_text(encoding="utf-8"))
            kept = {words[0].lower(): words[1] for words in map(split_command, lines) if len(words) > 1}
            if not self.regenerates or kept.keys() == {c.name.lower() for c in variables}:
                return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(_section(c, kept.get(c.name.lower(), c.default)) for c in variables), encoding="utf-8")
        return True

    def _execute(self, name: str) -> None:
        path = self.folder / name
        held = {"server.cfg": self.sm.world.server_cfg, "config_arena.cfg": self.arena}.get(name, {})
        lines = [f'{convar} "{value}"' for convar, value in held.items()]
        if path.is_file():
            lines += command_lines(path.read_text(encoding="utf-8"))
        for line in lines:
            self.sm.commands.from_server(line)


def _section(convar: ConVar, value: str) -> str:
    """The lines a variable gets in a written file."""
    bounds = [("Minimum", convar.low), ("Maximum", convar.high)]
    comments = [*convar.help.splitlines(), "-", f'Default: "{convar.default}"']
    comments += [f'{name}: "{bound:f}"' for name, bound in bounds if bound is not None]
    return "".join(f"// {comment}\n" for comment in comments) + f'{convar.name} "{value}"\n\n'


@native()
def AutoExecConfig(call: Call, create: bool, name: str, folder: str) -> None:
    stem = name or f"plugin.{call.plugin.name.removesuffix('.smx')}"
    call.sm.configs.wanted.append(AutoConfig(call.plugin, create, f"{folder}/{stem}" if folder else stem))
