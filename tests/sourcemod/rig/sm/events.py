"""Game events: hooks before and after, the Event methodmap, events that plugins make."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, Callback, native
from ..game.facts import EVENTS, Value
from ..machine import NativeError
from ..memory import Buffer

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

PRE, POST, POST_NO_COPY = range(3)
HANDLED = 3


@dataclass(eq=False, slots=True)
class Event:
    """One event on its way. `silent` means that clients do not hear of it."""

    name: str
    fields: dict[str, Value]
    silent: bool = False


@dataclass(slots=True)
class Events:
    """The hooks of a server."""

    sm: "SourceMod"
    hooks: dict[tuple[str, int], list[Callback]] = field(default_factory=lambda: defaultdict(list))

    def fire(self, event: Event) -> bool:
        """Run the hooks; False when one of them blocked the event."""
        blocked = self._run(event, PRE) >= HANDLED
        if not blocked:
            self.sm.world.event_sent(event)
            self._run(event, POST)
            for callback in list(self.hooks[event.name, POST_NO_COPY]):
                callback(0, event.name, event.silent)
        return not blocked

    def _run(self, event: Event, mode: int) -> int:
        hooks = list(self.hooks[event.name, mode])
        if not hooks:
            return 0
        handle = self.sm.handles.open(event, closable=False)
        try:
            return max(callback(handle, event.name, event.silent) or 0 for callback in hooks)
        finally:
            self.sm.handles.drop(handle)

    def forget(self, plugin: object) -> None:
        """Drop an unloaded plugin's hooks."""
        for key, callbacks in self.hooks.items():
            self.hooks[key] = [c for c in callbacks if c.plugin is not plugin]


def _hook(call: Call, name: str, callback: Callback, mode: int) -> bool:
    if name not in EVENTS:
        return False
    call.sm.events.hooks[name, mode].append(callback)
    return True


@native()
def HookEvent(call: Call, name: str, callback: Callback, mode: int) -> None:
    if not _hook(call, name, callback, mode):
        raise NativeError(f'Game event "{name}" does not exist')


@native()
def HookEventEx(call: Call, name: str, callback: Callback, mode: int) -> bool:
    return _hook(call, name, callback, mode)


@native()
def UnhookEvent(call: Call, name: str, callback: Callback, mode: int) -> None:
    hooks = call.sm.events.hooks[name, mode]
    if callback not in hooks:
        raise NativeError(f'Game event "{name}" has no active hook')
    hooks.remove(callback)


@native()
def CreateEvent(call: Call, name: str, force: bool) -> int:
    if name not in EVENTS or not (force or any(call.sm.events.hooks[name, mode] for mode in range(3))):
        return 0
    return call.open(Event(name, {}))


@native("Event.Fire", "FireEvent")
def event_fire(call: Call, event: Event, silent: bool) -> None:
    call.sm.handles.drop(call.sm.handles.find(event))
    event.silent = silent
    call.sm.events.fire(event)


@native("Event.Cancel", "CancelCreatedEvent")
def event_cancel(call: Call, event: Event) -> None:
    call.sm.handles.drop(call.sm.handles.find(event))


@native("Event.GetBool", "GetEventBool")
def event_bool(call: Call, event: Event, key: str, default: bool) -> bool:
    return bool(event.fields.get(key, default))


@native("Event.GetInt", "GetEventInt")
def event_int(call: Call, event: Event, key: str, default: int) -> int:
    return int(event.fields.get(key, default))


@native("Event.GetFloat", "GetEventFloat")
def event_float(call: Call, event: Event, key: str, default: float) -> float:
    return float(event.fields.get(key, default))


@native("Event.GetString", "GetEventString")
def event_string(call: Call, event: Event, key: str, buffer: Buffer, default: str) -> None:
    value = event.fields.get(key, default)
    buffer.write(str(int(value)) if isinstance(value, bool) else str(value))


@native("Event.SetBool", "SetEventBool")
def event_set_bool(call: Call, event: Event, key: str, value: bool) -> None:
    event.fields[key] = value


@native("Event.SetInt", "SetEventInt")
def event_set_int(call: Call, event: Event, key: str, value: int) -> None:
    event.fields[key] = value


@native("Event.SetFloat", "SetEventFloat")
def event_set_float(call: Call, event: Event, key: str, value: float) -> None:
    event.fields[key] = value


@native("Event.SetString", "SetEventString")
def event_set_string(call: Call, event: Event, key: str, value: str) -> None:
    event.fields[key] = value


@native("Event.GetName", "GetEventName")
def event_name(call: Call, event: Event, buffer: Buffer) -> None:
    buffer.write(event.name)


@native("Event.BroadcastDisabled.set", "SetEventBroadcast")
def event_set_silent(call: Call, event: Event, silent: bool) -> None:
    event.silent = silent


@native("Event.BroadcastDisabled.get")
def event_silent(call: Call, event: Event) -> bool:
    return event.silent
