"""Game events: hooks before and after, the Event methodmap, events that plugins make."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, Callback, native
from ..game.facts import EVENTS, Value
from ..machine import NativeError
from ..memory import Buffer

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

PRE, POST, POST_NO_COPY = range(3)
HANDLED, STOP = 3, 4


@dataclass(eq=False, slots=True)
class Event:
    """One event on its way. `silent` means that clients do not hear of it."""

    name: str
    fields: dict[str, Value]
    silent: bool = False


@dataclass(slots=True)
class Events:
    """The hooks of a server, as (mode, function) by event, in the order in which they were added.

    Source: core/EventManager.cpp (OnFireEvent, OnFireEvent_Post).
    """

    sm: "SourceMod"
    hooks: dict[str, list[tuple[int, Callback]]] = field(default_factory=lambda: defaultdict(list))

    def fire(self, event: Event) -> bool:
        """Pre hooks, the game's own listeners and the clients, post hooks; False when a pre hook blocked it.

        A blocked event is gone for the game and the clients. The plugins' post hooks still run: they hang on the call
        of FireEvent, which SourceHook calls them after whatever became of it.
        """
        blocked = self._run_before(event) >= HANDLED
        copy = Event(event.name, dict(event.fields), event.silent)
        if not blocked:
            self.sm.world.event_sent(event)
        self._run_after(copy)
        return not blocked

    def forget(self, plugin: object) -> None:
        """Drop an unloaded plugin's hooks."""
        for name, hooks in self.hooks.items():
            self.hooks[name] = [(mode, callback) for mode, callback in hooks if callback.plugin is not plugin]

    def _run_before(self, event: Event) -> int:
        hooks = [callback for mode, callback in self.hooks.get(event.name, ()) if mode == PRE]
        silent, result = event.silent, 0
        if not hooks:
            return 0
        with self._handle(event) as handle:
            for callback in hooks:
                result = max(result, callback(handle, event.name, silent) or 0)
                if result >= STOP:
                    break
        return result

    def _run_after(self, event: Event) -> None:
        """One list of hooks, with and without a copy: all get the copy if any of them asked for one."""
        hooks = [(mode, callback) for mode, callback in self.hooks.get(event.name, ()) if mode != PRE]
        if not hooks:
            return
        with self._handle(event) as handle:
            copied = any(mode == POST for mode, _ in hooks)
            for _, callback in hooks:
                callback(handle if copied else 0, event.name, event.silent)

    @contextmanager
    def _handle(self, event: Event) -> Iterator[int]:
        handle = self.sm.handles.open(event, closable=False)
        try:
            yield handle
        finally:
            self.sm.handles.drop(handle)


def _hook(call: Call, name: str, callback: Callback, mode: int) -> bool:
    if name not in EVENTS:
        return False
    call.sm.events.hooks[name].append((mode, callback))
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
    hooks = call.sm.events.hooks[name]
    if (mode, callback) not in hooks:
        raise NativeError(f'Game event "{name}" has no active hook')
    hooks.remove((mode, callback))


@native()
def CreateEvent(call: Call, name: str, force: bool) -> int:
    if name not in EVENTS or not (force or call.sm.events.hooks[name]):
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
    """Numbers as KeyValues::GetString writes them (src/tier1/KeyValues.cpp)."""
    value = event.fields.get(key, default)
    text = f"{value:f}" if isinstance(value, float) else str(int(value)) if isinstance(value, bool) else str(value)
    buffer.write(text)


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
