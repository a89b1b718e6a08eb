"""Console variables: bounds, change hooks, and the ones the engine brings along."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ..binding import Call, Callback, native
from ..machine import NativeError
from ..memory import Buffer, Ref
from .enginevars import ENGINE, NOTIFY
from .events import Event
from .strings import NUMBER

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

UPPER, LOWER = 0, 1
DONTRECORD = 1 << 17

Hook = Callable[["ConVar", str, str], None]


@lru_cache(maxsize=4096)
def number_in(text: str) -> float:
    """The number at the start of a text, 0 if there is none."""
    match = NUMBER.match(text)
    return float(match[1]) if match else 0.0


@dataclass(eq=False, slots=True)
class ConVar:
    """One variable. Values are strings; numbers are read from their start, as the engine does."""

    name: str
    value: str
    default: str
    help: str = ""
    flags: int = 0
    low: float | None = None
    high: float | None = None
    plugins: list[object] = field(default_factory=list)
    hooks: list[Hook] = field(default_factory=list)

    @property
    def number(self) -> float:
        """The value as a number, 0 if it is none."""
        return number_in(self.value)

    def set(self, value: str) -> None:
        """Store `value` within the bounds, for plugins, files and consoles alike (ConVar::InternalSetValue)."""
        number = number_in(value)
        held = self._held(number)
        self._change(value if held == number else f"{held:f}")

    def set_int(self, value: int) -> None:
        """Store a whole number, unless the variable has it already in another spelling (InternalSetIntValue)."""
        if value != int(self.number):
            self._change(str(int(self._held(value))))

    def set_float(self, value: float) -> None:
        """Store a number, likewise (InternalSetFloatValue)."""
        if value != self.number:
            self._change(f"{self._held(value):f}")

    def _held(self, number: float) -> float:
        if self.low is not None and number < self.low:
            return self.low
        return self.high if self.high is not None and number > self.high else number

    def _change(self, value: str) -> None:
        """Hooks hear of a change of the text: the game's own first, then the plugins' (ChangeStringValue)."""
        old, self.value = self.value, value
        if value != old:
            for hook in list(self.hooks):
                hook(self, old, value)


class ConVars:
    """All variables of a server, by name in lower case."""

    def __init__(self, sm: "SourceMod") -> None:
        self.sm = sm
        self.by_name = {
            one.name: ConVar(one.name, one.default, one.default, flags=one.flags, low=one.low, high=one.high)
            for one in ENGINE
        }
        for convar in self.by_name.values():
            if convar.flags & NOTIFY:
                convar.hooks.append(self._tell)

    def _tell(self, convar: ConVar, old: str, new: str) -> None:
        """The game tells its players of a change (clientmode_shared.cpp, FireGameEvent, `server_cvar`)."""
        self.sm.events.fire(Event("server_cvar", {"cvarname": convar.name, "cvarvalue": new}))

    def __getitem__(self, name: str) -> ConVar:
        return self.by_name[name.lower()]

    def handle(self, convar: ConVar) -> int:
        """The one handle of a variable; it cannot be closed."""
        return self.sm.handles.find(convar) or self.sm.handles.open(convar, closable=False)

    def forget(self, plugin: object) -> None:
        """Drop an unloaded plugin's hooks; its variables stay, as on a real server."""
        for convar in self.by_name.values():
            convar.plugins[:] = [owner for owner in convar.plugins if owner is not plugin]
            convar.hooks[:] = [
                h for h in convar.hooks if not (isinstance(h, PluginHook) and h.callback.plugin is plugin)
            ]


@dataclass(frozen=True, slots=True)
class PluginHook:
    """A plugin's change hook."""

    sm: "SourceMod"
    callback: Callback

    def __call__(self, convar: ConVar, old: str, new: str) -> None:
        self.callback(self.sm.convars.handle(convar), old, new)


@native()
def CreateConVar(
    call: Call, name: str, default: str, text: str, flags: int, has_low: bool, low: float, has_high: bool, high: float
) -> int:
    """A variable that exists stays as it is; it only joins those of the plugin (ConVarManager::CreateConVar)."""
    convars = call.sm.convars
    if not name:
        raise NativeError("Convar with blank name is not permitted")
    if call.sm.commands.registered.get(name.lower()):
        raise NativeError(f'Convar "{name}" was not created. A console command with the same might already exist.')
    convar = convars.by_name.get(name.lower())
    if convar is None:
        bounds = low if has_low else None, high if has_high else None
        convar = ConVar(name, default, default, text, flags, *bounds)
        convars.by_name[name.lower()] = convar
        # What the server was started with: sourcemod.cpp, ConVarRegistrar::RegisterConCommandBase.
        convar.set(call.sm.world.command_line.get(f"+{name}", default))
    if call.plugin not in convar.plugins:
        convar.plugins.append(call.plugin)
    return convars.handle(convar)


@native()
def FindConVar(call: Call, name: str) -> int:
    convar = call.sm.convars.by_name.get(name.lower())
    return call.sm.convars.handle(convar) if convar else 0


@native("ConVar.BoolValue.get", "GetConVarBool")
def convar_bool(call: Call, convar: ConVar) -> bool:
    return int(convar.number) != 0


@native("ConVar.IntValue.get", "GetConVarInt")
def convar_int(call: Call, convar: ConVar) -> int:
    return int(convar.number)


@native("ConVar.FloatValue.get", "GetConVarFloat")
def convar_float(call: Call, convar: ConVar) -> float:
    return convar.number


@native("ConVar.BoolValue.set", "ConVar.SetBool", "SetConVarBool")
def convar_set_bool(call: Call, convar: ConVar, value: bool, *flags: int) -> None:
    convar.set_int(int(value))


@native("ConVar.IntValue.set", "ConVar.SetInt", "SetConVarInt")
def convar_set_int(call: Call, convar: ConVar, value: int, *flags: int) -> None:
    convar.set_int(value)


@native("ConVar.FloatValue.set", "ConVar.SetFloat", "SetConVarFloat")
def convar_set_float(call: Call, convar: ConVar, value: float, *flags: int) -> None:
    convar.set_float(value)


@native("ConVar.SetString", "SetConVarString")
def convar_set_string(call: Call, convar: ConVar, value: str, *flags: int) -> None:
    convar.set(value)


@native("ConVar.GetString", "GetConVarString")
def convar_string(call: Call, convar: ConVar, buffer: Buffer) -> None:
    buffer.write(convar.value)


@native("ConVar.RestoreDefault", "ResetConVar")
def convar_reset(call: Call, convar: ConVar, *flags: int) -> None:
    convar.set(convar.default)


@native("ConVar.GetDefault", "GetConVarDefault")
def convar_default(call: Call, convar: ConVar, buffer: Buffer) -> int:
    return buffer.write(convar.default)


@native("ConVar.GetName", "GetConVarName")
def convar_name(call: Call, convar: ConVar, buffer: Buffer) -> None:
    buffer.write(convar.name)


@native("ConVar.GetDescription")
def convar_description(call: Call, convar: ConVar, buffer: Buffer) -> None:
    buffer.write(convar.help)


@native("ConVar.Flags.get", "GetConVarFlags")
def convar_flags(call: Call, convar: ConVar) -> int:
    return convar.flags


@native("ConVar.Flags.set", "SetConVarFlags")
def convar_set_flags(call: Call, convar: ConVar, flags: int) -> None:
    convar.flags = flags


@native("ConVar.GetBounds", "GetConVarBounds")
def convar_bounds(call: Call, convar: ConVar, kind: int, value: Ref) -> bool:
    bound = convar.high if kind == UPPER else convar.low
    if bound is not None:
        value.number = bound
    return bound is not None


@native("ConVar.SetBounds", "SetConVarBounds")
def convar_set_bounds(call: Call, convar: ConVar, kind: int, present: bool, value: float) -> None:
    bound = value if present else None
    if kind == UPPER:
        convar.high = bound
    else:
        convar.low = bound


@native("ConVar.AddChangeHook", "HookConVarChange")
def convar_hook(call: Call, convar: ConVar, callback: Callback) -> None:
    convar.hooks.append(PluginHook(call.sm, callback))


@native("ConVar.RemoveChangeHook", "UnhookConVarChange")
def convar_unhook(call: Call, convar: ConVar, callback: Callback) -> None:
    hook = PluginHook(call.sm, callback)
    if hook not in convar.hooks:
        raise NativeError(f"Invalid hook callback specified for convar {convar.name}")
    convar.hooks.remove(hook)


@native("ConVar.ReplicateToClient", "SendConVarValue")
def convar_replicate(call: Call, *unused: int) -> bool:
    return True
