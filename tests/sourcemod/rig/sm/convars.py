"""Console variables: bounds, change hooks, and the ones the engine brings along."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, Callback, native
from ..machine import NativeError
from ..memory import Buffer, Ref
from .strings import NUMBER

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

UPPER, LOWER = 0, 1
DONTRECORD = 1 << 17

ENGINE = {
    "hostname": "Rig", "mp_autoteambalance": "1", "mp_scrambleteams_auto": "1",
    "mp_scrambleteams_auto_windifference": "2", "sv_vote_issue_scramble_teams_allowed": "1",
    "mp_teams_unbalance_limit": "1", "mp_forceautoteam": "0", "tf_arena_use_queue": "1", "tf_arena_max_streak": "3",
    "tf_arena_preround_time": "10", "tf_arena_first_blood": "1", "tf_arena_override_team_size": "0",
    "mp_tournament": "0", "mp_waitingforplayers_time": "30", "mp_waitingforplayers_cancel": "0",
    "mp_bonusroundtime": "15", "mp_enableroundwaittime": "1", "mp_stalemate_enable": "0", "mp_timelimit": "0",
    "mp_maxrounds": "0", "mp_winlimit": "0", "mp_windifference": "0", "mp_restartgame": "0",
    "mp_disable_respawn_times": "0", "sv_tags": "", "sm_show_activity": "13",
    "sm_vote_delay": "30", "sv_visiblemaxplayers": "-1",
    "tf_gamemode_arena": "0",
    "mp_waitingforplayers_restart": "0", "mp_restartround": "0", "mp_restartgame_immediate": "0", "nextlevel": "",
    "mp_chattime": "10", "mp_windifference_min": "0", "mp_stalemate_timelimit": "240", "mp_match_end_at_timelimit": "0",
    "mp_humans_must_join_team": "any", "mp_highlander": "0", "mp_idlemaxtime": "3", "mp_idledealmethod": "1",
    "mp_respawnwavetime": "10", "mp_allowspectators": "1", "mp_spectators_restricted": "0",
    "tf_flag_caps_per_round": "3", "tf_passtime_scores_per_round": "5", "tf_arena_round_time": "0",
    "tf_powerup_mode": "0", "tf_autobalance_dead_candidates_maxtime": "15",
    "tf_autobalance_force_candidates_maxtime": "5", "tf_arena_force_class": "0", "tf_arena_change_limit": "1",
    "tf_bot_offline_practice": "0",
    "spec_freeze_time": "4.0", "spec_freeze_traveltime": "0.4", "tf_stalematechangeclasstime": "20",
}  # fmt: skip
"""TF2's own variables that a balancing plugin may look at, with the engine's defaults."""

Hook = Callable[["ConVar", str, str], None]


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
    plugin: object | None = None
    hooks: list[Hook] = field(default_factory=list)

    @property
    def number(self) -> float:
        """The value as a number, 0 if it is none."""
        match = NUMBER.match(self.value)
        return float(match[1]) if match else 0.0

    def set(self, value: str) -> None:
        """Store `value` within the bounds; hooks hear of a change."""
        old = self.value
        self.value = self._bounded(value)
        if self.value != old:
            for hook in list(self.hooks):
                hook(self, old, self.value)

    def _bounded(self, value: str) -> str:
        match = NUMBER.match(value)
        number = float(match[1]) if match else 0.0
        if self.low is not None and number < self.low:
            return f"{self.low:f}"
        if self.high is not None and number > self.high:
            return f"{self.high:f}"
        return value


class ConVars:
    """All variables of a server, by name in lower case."""

    def __init__(self, sm: "SourceMod") -> None:
        self.sm = sm
        self.by_name = {name: ConVar(name, value, value) for name, value in ENGINE.items()}

    def __getitem__(self, name: str) -> ConVar:
        return self.by_name[name.lower()]

    def handle(self, convar: ConVar) -> int:
        """The one handle of a variable; it cannot be closed."""
        return self.sm.handles.find(convar) or self.sm.handles.open(convar, closable=False)

    def forget(self, plugin: object) -> None:
        """Drop an unloaded plugin's hooks; its variables stay, as on a real server."""
        for convar in self.by_name.values():
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
    convars = call.sm.convars
    convar = convars.by_name.get(name.lower())
    if convar is None:
        convar = ConVar(name, default, default)
        convars.by_name[name.lower()] = convar
    convar.help, convar.flags, convar.plugin = text, flags, call.plugin
    convar.low, convar.high = low if has_low else None, high if has_high else None
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
    convar.set(str(int(value)))


@native("ConVar.IntValue.set", "ConVar.SetInt", "SetConVarInt")
def convar_set_int(call: Call, convar: ConVar, value: int, *flags: int) -> None:
    convar.set(str(value))


@native("ConVar.FloatValue.set", "ConVar.SetFloat", "SetConVarFloat")
def convar_set_float(call: Call, convar: ConVar, value: float, *flags: int) -> None:
    convar.set(f"{value:f}")


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
