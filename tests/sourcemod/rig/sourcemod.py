"""SourceMod on the fake server: loads plugins, keeps what they registered, runs their frame."""

import random
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .binding import Callback
from .handles import Handles
from .machine import PluginError
from .memory import Shared
from .plugin import Argument, LoadError, Plugin
from .sm import adminmenu, nativevotes
from .sm.adminmenu import AdminMenu
from .sm.chat import Chat, Log
from .sm.commands import Commands
from .sm.configs import Configs
from .sm.convars import ConVars
from .sm.events import Events
from .sm.formats import Formats
from .sm.forwards import DynamicNative, GlobalForward, Listener, Pending, PrivateForward
from .sm.http import EXTENSION, LIBRARY, Http
from .sm.menu_natives import MenuStyle
from .sm.menus import Menu, Menus
from .sm.nativevotes import NativeVotes
from .sm.phrases import Phrases
from .sm.timers import Timers
from .sm.votes import Votes

if TYPE_CHECKING:
    from .game.game import Game


class Keeper(Protocol):
    """A part of SourceMod that keeps things of plugins."""

    def forget(self, plugin: Plugin) -> None: ...


RIPEXT = ("HTTPRequest.", "HTTPResponse.", "JSON.", "JSONObject", "JSONArray")


class SourceMod:
    """`world` is the game it runs in; `root` its folder (`addons/sourcemod`); `ripext`: is the extension there?"""

    def __init__(self, world: "Game", root: Path, *, ripext: bool = True) -> None:
        self.world, self.root = world, root
        (root / "data").mkdir(exist_ok=True)
        self.random = random.Random(1)
        self.replaces = True
        self.handles = Handles()
        self.log = Log()
        self.console: list[str] = []
        self.plugins: list[Plugin] = []
        self.dynamic: dict[str, DynamicNative] = {}
        self.overrides: dict[str, int] = {}
        self.python_listeners: dict[str, list[Listener]] = {}
        self.extensions = {"core", "sdktools.ext", "game.tf2.ext", "topmenus.ext"} | ({EXTENSION} if ripext else set())
        self.language, self.target = "en", 0
        self.pending: Pending | None = None
        self.variant = 0
        self.phrases, self.formats = Phrases([]), Formats()
        self.convars, self.configs, self.commands = ConVars(self), Configs(self), Commands(self)
        self.events, self.timers = Events(self), Timers(self)
        self.chat, self.http = Chat(self), Http(self)
        self.menus, self.votes, self.menu_style = Menus(self), Votes(self), MenuStyle()
        self.admin_menu, self.native_votes = AdminMenu(self), NativeVotes(self)

    def load(self, path: Path, *, translations: Path | None = None) -> Plugin:
        """Load a compiled plugin; late if a map is running. LoadError if SourceMod would refuse it."""
        if translations is not None and translations not in self.phrases.folders:
            self.phrases.folders.insert(0, translations)
        plugin = Plugin(self, path)
        self.plugins.append(plugin)
        try:
            self._introduce(plugin)
        except LoadError:
            plugin.failed = True  # OnPluginEnd is the end of an OnPluginStart that went well (CPluginManager::Purge)
            self.unload(plugin)
            raise
        return plugin

    def unload(self, plugin: Plugin) -> None:
        """End a plugin: OnPluginEnd, then everything that was its own."""
        if plugin not in self.plugins:
            return
        # CPluginManager::UnloadPluginImpl and Purge: it is in the list no more, its libraries go first, and a plugin
        # that failed is not asked to clean up.
        self.plugins.remove(plugin)
        libraries, plugin.libraries = plugin.libraries, []
        for name in libraries:
            self.forward("OnLibraryRemoved", name)
        plugin.call("OnPluginEnd")
        plugin.failed = True
        self._forget(plugin)
        for thing in self.handles.drop_owned(plugin):
            if isinstance(thing, Menu):
                self.menus.cancel(thing)
        self.dynamic = {name: native for name, native in self.dynamic.items() if native.callback.plugin is not plugin}

    def reload(self, plugin: Plugin) -> Plugin:
        """`sm plugins reload`: its end and its late load at once, at its place in the list (ReloadPluginImpl)."""
        place = self.plugins.index(plugin)
        self.unload(plugin)
        loaded = self.load(plugin.path)
        self.plugins.remove(loaded)
        self.plugins.insert(place, loaded)
        return loaded

    def pause(self, plugin: Plugin) -> None:
        """`sm plugins pause`: its libraries go, it hears of it, and runs no more (CPlugin::SetPauseState)."""
        for name in plugin.libraries:
            self.forward("OnLibraryRemoved", name)
        plugin.call("OnPluginPauseChange", True)
        plugin.paused = True

    def resume(self, plugin: Plugin) -> None:
        """`sm plugins unpause`. Single timers and frames that fell into the pause are gone."""
        plugin.paused = False
        plugin.call("OnPluginPauseChange", False)
        for name in plugin.libraries:
            self.forward("OnLibraryAdded", name)

    def _forget(self, plugin: Plugin) -> None:
        parts: list[Keeper] = [self.convars, self.configs, self.commands, self.events, self.timers, self.http]
        for part in [*parts, self.menus, self.admin_menu]:
            part.forget(plugin)

    def fail(self, plugin: Plugin, reason: str) -> None:
        """`SetFailState`: the plugin is logged, runs no more code, and is gone in the next frame."""
        self.log.errors.append((plugin.name, reason))
        plugin.failed = True

    def forward(self, name: str, *arguments: Argument) -> int:
        """Call a public function in every plugin that has it; the highest Action."""
        results = [plugin.call(name, *arguments) or 0 for plugin in list(self.plugins) if plugin.public(name)]
        # PlayerManager::OnClientDisconnect_Post: SourceMod's own listeners hear of it after the plugins.
        if name == "OnClientDisconnect_Post":
            for part in (self.menus, self.votes, self.native_votes):
                part.client_left(int(arguments[0]))  # type: ignore[arg-type]
        return max(results, default=0)

    def listen(self, name: str, listener: Listener) -> None:
        """Let a Python function hear a plugin's global forward; what it returns counts (Plugin_Handled: 3)."""
        self.python_listeners.setdefault(name, []).append(listener)

    def listeners_of(self, forward: GlobalForward) -> list[Listener]:
        """All that a forward calls, plugins first."""
        if isinstance(forward, PrivateForward):
            return list(forward.private)
        publics = ((plugin, plugin.public(forward.name)) for plugin in self.plugins)
        plugins: list[Listener] = [Callback(plugin, function) for plugin, function in publics if function is not None]
        return plugins + self.python_listeners.get(forward.name, [])

    def libraries(self) -> set[str]:
        """Names that LibraryExists knows."""
        own = {"sdktools", "__CanTestFeatures__"} | ({LIBRARY} if EXTENSION in self.extensions else set())
        own |= set(self._base_plugins)
        return own.union(*(plugin.libraries for plugin in self.plugins if not plugin.paused))

    def provides(self, native: str) -> bool:
        """Whether a native is bound: sm-ripext's only with the extension, a base plugin's only with that plugin."""
        if native in adminmenu.NATIVES:
            return self.admin_menu.menu is not None
        if native in nativevotes.NATIVES:
            return self.native_votes.loaded
        return EXTENSION in self.extensions or not native.startswith(RIPEXT)

    def steady(self, native: str) -> bool:
        """Whether a native of the rig's is bound for as long as the server runs."""
        return native not in adminmenu.NATIVES + nativevotes.NATIVES and self.provides(native)

    @property
    def _base_plugins(self) -> list[str]:
        """The libraries of plugins that the rig itself stands in for."""
        menu = [adminmenu.LIBRARY] if self.admin_menu.menu else []
        return [*menu, nativevotes.LIBRARY] if self.native_votes.loaded else menu

    def plugin_handle(self, plugin: Plugin) -> int:
        """The handle of a plugin."""
        return self.handles.find(plugin) or self.handles.open(plugin, closable=False)

    def plugin_of(self, handle: int, caller: Plugin) -> Plugin:
        """The plugin behind a handle; 0 is the caller itself."""
        return self.handles.get(handle, Plugin) if handle else caller

    def print(self, text: str) -> None:
        """Print to the server's console."""
        self.console.append(text)

    def core_phrase(self, key: str, client: int) -> str:
        """A phrase of SourceMod's own for `client`."""
        language = self.world.players[client].language if client else self.language
        return self.phrases.text(None, key, language)[1]

    def frame(self) -> None:
        """What comes before the game's own frame (TimerSystem::GameFrame, RunFrameHooks in frame_hooks.cpp).

        The command buffer is the engine's and runs before SourceMod's hook; so do the commands clients sent.
        """
        self.commands.run_queue()
        self.timers.run()
        self.native_votes.frame()
        self.timers.run_requested()
        self.commands.run_delayed()
        self.configs.frame()
        for plugin in [plugin for plugin in self.plugins if plugin.failed]:
            self.unload(plugin)
        self.http.run()
        self.menus.frame()
        self.forward("OnGameFrame")

    def start_map(self) -> None:
        """The map runs: OnMapStart. Its configuration is executed two frames later."""
        self.votes.end_map()
        self.forward("OnMapStart")
        self.configs.server_activated()

    def _introduce(self, plugin: Plugin) -> None:
        error = Shared.buffer(256)
        for name in plugin.publics():
            if name.endswith("_SetNTVOptional"):
                plugin.call(name)
        self._require(plugin)
        result = plugin.call("AskPluginLoad2", self.plugin_handle(plugin), self.world.running, error, 256)
        if result:
            raise LoadError(error.text or "AskPluginLoad2 refused")
        if missing := plugin.missing_natives():
            raise LoadError(f"Native not found: {', '.join(missing)}")
        try:
            plugin.invoke("OnPluginStart")
        except PluginError as error:
            raise LoadError(f"Error detected in plugin startup: {error}\n{error.trace}") from error
        self._tell_libraries(plugin)
        # CPlugin::Call_OnAllPluginsLoaded.
        plugin.call("OnAllPluginsLoaded")
        if self.world.running:
            plugin.call("OnMapStart")
        if self.world.running and self.configs.executed:
            self.configs.run_late(plugin)

    def _tell_libraries(self, plugin: Plugin) -> None:
        """OnLibraryAdded of its libraries to all, and of the others' to it (CPluginManager::RunSecondPass)."""
        for name in plugin.libraries:
            self.forward("OnLibraryAdded", name)
        others = [name for other in self.plugins if other is not plugin for name in other.libraries]
        for name in [*self._base_plugins, *others]:
            plugin.call("OnLibraryAdded", name)

    def _require(self, plugin: Plugin) -> None:
        """Extensions and libraries that the plugin declares as required must be there."""
        for name, file, _, required in plugin.published("__ext_"):
            if required and plugin.memory.text(file) not in self.extensions:
                raise LoadError(
                    f'Required extension "{plugin.memory.text(name)}" ({plugin.memory.text(file)}) not running'
                )
        for name, file, required, _ in plugin.published("__pl_"):
            own = plugin.memory.text(file) == plugin.name
            if required and not own and plugin.memory.text(name) not in self.libraries():
                raise LoadError(f'Could not find required plugin "{plugin.memory.text(name)}"')
