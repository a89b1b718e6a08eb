"""SourceMod itself: handles, libraries, features, what a plugin says about itself, the command `sm`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..binding import NATIVES, Call, Text, native
from ..machine import NativeError
from ..memory import Buffer
from .files import File
from .menus import Menu
from .timers import Timer

if TYPE_CHECKING:
    from ..plugin import Plugin
    from ..sourcemod import SourceMod

VERSION = "1.11.0.6931"
AVAILABLE, UNAVAILABLE, UNKNOWN = range(3)
FEATURE_NATIVE = 0
RUNNING = 0


class FailState(NativeError):
    """The plugin gave up: SourceMod stops it (CPlugin::EvictWithError)."""


@native()
def VerifyCoreVersion(call: Call) -> int:
    return 0


@native()
def MarkNativeAsOptional(call: Call, name: str) -> None:
    call.plugin.optional.add(name)


@native()
def CloseHandle(call: Call, handle: int) -> None:
    if not handle:
        return
    thing = call.sm.handles.close(handle)
    if isinstance(thing, Menu):
        call.sm.menus.cancel(thing)
    elif isinstance(thing, Timer):
        call.sm.timers.kill(thing)
    elif isinstance(thing, File):
        thing.stream.close()


@native()
def IsValidHandle(call: Call, handle: int) -> bool:
    return call.sm.handles.valid(handle)


@native()
def CloneHandle(call: Call, handle: int, plugin: int) -> int:
    return call.sm.handles.open(call.sm.handles.get(handle, object), call.sm.plugin_of(plugin, call.plugin))


@native()
def GetMyHandle(call: Call) -> int:
    return call.sm.plugin_handle(call.plugin)


@dataclass(eq=False, slots=True)
class PluginIterator:
    """Plugins as they were when it was made (CPluginManager::CPluginIterator); `at`: how many were read."""

    plugins: "list[Plugin]"
    at: int = 0


@native("PluginIterator.PluginIterator", "GetPluginIterator")
def plugin_iterator_new(call: Call) -> int:
    return call.open(PluginIterator(list(call.sm.plugins)))


@native("PluginIterator.Next")
def plugin_iterator_next(call: Call, iterator: PluginIterator) -> bool:
    iterator.at += 1
    return iterator.at <= len(iterator.plugins)


@native("PluginIterator.Plugin.get")
def plugin_iterator_plugin(call: Call, iterator: PluginIterator) -> int:
    return call.sm.plugin_handle(iterator.plugins[iterator.at - 1])


def print_about(sm: "SourceMod", words: list[str]) -> None:
    """What `sm version` (RootConsoleMenu.cpp) and `sm exts list` (ExtensionSys.cpp) print."""
    if words == ["version"]:
        sm.print(" SourceMod Version Information:")
        sm.print(f"    SourceMod Version: {VERSION}")
    elif words == ["exts", "list"]:
        sm.print(f"[SM] Displaying {len(sm.extensions)} extensions:")
        for number, name in enumerate(sorted(sm.extensions), 1):
            sm.print(f"[{number:02}] {name} ({VERSION}): {name}")


@native()
def GetPluginFilename(call: Call, plugin: int, buffer: Buffer) -> None:
    buffer.write(call.sm.plugin_of(plugin, call.plugin).name)


@native()
def GetPluginStatus(call: Call, plugin: int) -> int:
    return RUNNING


@native()
def GetPluginInfo(call: Call, plugin: int, what: int, buffer: Buffer) -> bool:
    keys = ("name", "author", "description", "version", "url")
    return bool(buffer.write(call.sm.plugin_of(plugin, call.plugin).info.get(keys[what], "")))


@native()
def SetFailState(call: Call, text: Text) -> None:
    call.sm.fail(call.plugin, text.to(0))
    raise FailState(text.to(0))


@native()
def RegPluginLibrary(call: Call, name: str) -> None:
    call.plugin.libraries.append(name)


@native()
def LibraryExists(call: Call, name: str) -> bool:
    return name in call.sm.libraries()


@native()
def GetExtensionFileStatus(call: Call, name: str, error: Buffer) -> int:
    return 1 if name in call.sm.extensions else -2


@native()
def GetFeatureStatus(call: Call, kind: int, name: str) -> int:
    if kind != FEATURE_NATIVE:
        return AVAILABLE
    if name in call.sm.dynamic or (name in NATIVES and call.sm.provides(name)):
        return AVAILABLE
    return UNAVAILABLE if name in call.plugin.optional else UNKNOWN


@native()
def IsNullString(call: Call, address: int) -> bool:
    return call.plugin.is_null(address, "NULL_STRING")


@native()
def IsNullVector(call: Call, address: int) -> bool:
    return call.plugin.is_null(address, "NULL_VECTOR")


@native()
def GetCommandLineParam(call: Call, name: str, buffer: Buffer, default: str) -> None:
    """The word behind a parameter (core/smn_commandline.cpp)."""
    buffer.write(call.sm.world.command_line.get(name, default))
