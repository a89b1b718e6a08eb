"""Forwards between plugins (with Python listeners for tests) and natives that plugins provide."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, Callback, Text, native
from ..machine import NativeError
from ..memory import Buffer, Ref, Shared
from .strings import raw

if TYPE_CHECKING:
    from ..plugin import Plugin

IGNORE, SINGLE, EVENT, HOOK = range(4)
STOP = 4
COPYBACK = 1
ERROR_NATIVE = 23
"""`SP_ERROR_NATIVE`. Errors of other kinds have other numbers, which no plugin tells apart."""

Argument = int | float | str | Shared
Listener = Callable[..., int | None]


@dataclass(eq=False, slots=True)
class GlobalForward:
    """A forward: all plugins' public functions of its name, or (private) the functions added to it."""

    name: str
    kind: int
    private: list[Callback] = field(default_factory=list)

    def combine(self, results: Sequence[int]) -> int:
        """The result of its listeners' results."""
        if not results or self.kind == IGNORE:
            return 0
        return results[-1] if self.kind == SINGLE else max(results)


class PrivateForward(GlobalForward):
    """A forward that functions are added to by hand."""


@dataclass(slots=True)
class Pending:
    """A forward (or function) being called: arguments arrive one by one."""

    target: GlobalForward | Callback
    arguments: list[Argument] = field(default_factory=list)
    copy_back: list[tuple[Shared, Ref, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DynamicNative:
    """A native that a plugin provides."""

    callback: Callback

    def serve(self, caller: "Plugin", cells: Sequence[int]) -> int:
        """Run it for `caller`; its errors are the caller's."""
        owner = self.callback.plugin
        owner.native_calls.append((caller, cells))
        try:
            handle = caller.sm.plugin_handle(caller)
            return owner.invoke(self.callback.function, handle, len(cells))
        finally:
            owner.native_calls.pop()


class _CalleeError(Exception):
    """The function that was called ended with an error, which is logged."""


def finish(call: Call, pending: Pending) -> int:
    """Call all listeners; the combined result."""
    sm = call.sm
    if isinstance(pending.target, Callback):
        returned = pending.target(*pending.arguments)
        if returned is None:
            raise _CalleeError
        return returned
    results: list[int] = []
    for listener in sm.listeners_of(pending.target):
        result = listener(*pending.arguments)
        if result is not None:
            results.append(result)
        if pending.target.kind == HOOK and result is not None and result >= STOP:
            break
    return pending.target.combine(results)


def _pending(call: Call) -> Pending:
    if call.sm.pending is None:
        raise NativeError("Cannot push parameters when there is no call in progress")
    return call.sm.pending


@native("GlobalForward.GlobalForward", "CreateGlobalForward")
def forward_new(call: Call, name: str, kind: int, *types: int) -> int:
    return call.open(GlobalForward(name, kind))


@native("PrivateForward.PrivateForward", "CreateForward")
def private_forward_new(call: Call, kind: int, *types: int) -> int:
    return call.open(PrivateForward("", kind))


@native("PrivateForward.AddFunction", "AddToForward")
def forward_add(call: Call, forward: PrivateForward, plugin: int, callback: Callback) -> bool:
    owner = call.sm.plugin_of(plugin, call.plugin)
    forward.private.append(Callback(owner, callback.function))
    return True


@native("PrivateForward.RemoveFunction", "RemoveFromForward")
def forward_remove(call: Call, forward: PrivateForward, plugin: int, callback: Callback) -> bool:
    wanted = Callback(call.sm.plugin_of(plugin, call.plugin), callback.function)
    before = len(forward.private)
    forward.private[:] = [c for c in forward.private if c != wanted]
    return len(forward.private) < before


@native("GlobalForward.FunctionCount.get", "GetForwardFunctionCount")
def forward_count(call: Call, forward: GlobalForward) -> int:
    return len(call.sm.listeners_of(forward))


@native()
def Call_StartForward(call: Call, forward: GlobalForward) -> None:
    call.sm.pending = Pending(forward)


@native()
def Call_StartFunction(call: Call, plugin: int, callback: Callback) -> None:
    call.sm.pending = Pending(Callback(call.sm.plugin_of(plugin, call.plugin), callback.function))


@native()
def Call_PushCell(call: Call, value: int) -> None:
    _pending(call).arguments.append(value)


@native()
def Call_PushFloat(call: Call, value: float) -> None:
    _pending(call).arguments.append(value)


def _push_shared(call: Call, shared: Shared, ref: Ref, size: int) -> None:
    pending = _pending(call)
    pending.arguments.append(shared)
    if size:
        pending.copy_back.append((shared, ref, size))


@native("Call_PushCellRef", "Call_PushFloatRef")
def push_ref(call: Call, ref: Ref) -> None:
    _push_shared(call, Shared([ref.value]), ref, 1)


@native()
def Call_PushArray(call: Call, array: Ref, size: int) -> None:
    _push_shared(call, Shared(array.read(size)), array, 0)


@native()
def Call_PushArrayEx(call: Call, array: Ref, size: int, flags: int) -> None:
    _push_shared(call, Shared(array.read(size)), array, size if flags & COPYBACK else 0)


@native()
def Call_PushString(call: Call, text: str) -> None:
    _pending(call).arguments.append(text)


@native()
def Call_PushStringEx(call: Call, text: Ref, length: int, string_flags: int, copy_flags: int) -> None:
    held = call.plugin.memory.text(text.address)
    _push_shared(call, Shared.buffer(length, held), text, length if copy_flags & COPYBACK else 0)


@native()
def Call_Finish(call: Call, result: Ref) -> int:
    """An error of a function ends that function alone: the caller gets its code (smn_functions.cpp sm_CallFinish)."""
    pending, call.sm.pending = _pending(call), None
    try:
        result.value = finish(call, pending)
    except _CalleeError:
        return ERROR_NATIVE
    for shared, ref, size in pending.copy_back:
        if shared.text is not None:
            call.plugin.memory.write_text(ref.address, size, shared.text)
        else:
            ref.write(shared.cells)
    return 0


@native()
def Call_Cancel(call: Call) -> None:
    call.sm.pending = None


@native()
def GetFunctionByName(call: Call, plugin: int, name: str) -> int:
    found = call.sm.plugin_of(plugin, call.plugin).public(name)
    return -1 if found is None else found


@native()
def CreateNative(call: Call, name: str, callback: Callback) -> None:
    call.sm.dynamic[name] = DynamicNative(callback)


def _argument(call: Call, number: int) -> "tuple[Plugin, int]":
    """The plugin that called our native and the cell of its argument `number`."""
    if not call.plugin.native_calls:
        raise NativeError("Not called from inside a native function")
    caller, cells = call.plugin.native_calls[-1]
    if not 1 <= number <= len(cells):
        raise NativeError(f"Invalid parameter number: {number}")
    return caller, cells[number - 1]


@native()
def ThrowNativeError(call: Call, code: int, text: Text) -> int:
    if not call.plugin.native_calls:
        raise NativeError("Not called from inside a native function")
    raise NativeError(str(text))


@native("GetNativeCell", "GetNativeFunction")
def GetNativeCell(call: Call, number: int) -> int:
    return _argument(call, number)[1]


@native()
def GetNativeCellRef(call: Call, number: int) -> int:
    caller, address = _argument(call, number)
    return caller.memory.cells(address, 1)[0]


@native()
def SetNativeCellRef(call: Call, number: int, value: int) -> None:
    caller, address = _argument(call, number)
    caller.memory.write_cells(address, [value])


@native()
def GetNativeStringLength(call: Call, number: int, length: Ref) -> int:
    caller, address = _argument(call, number)
    length.value = len(raw(caller.memory.text(address)))
    return 0


@native()
def GetNativeString(call: Call, number: int, buffer: Buffer, used: Ref) -> int:
    caller, address = _argument(call, number)
    used.value = buffer.write(caller.memory.text(address))
    return 0


@native()
def SetNativeString(call: Call, number: int, text: str, size: int, utf8: bool, used: Ref) -> int:
    caller, address = _argument(call, number)
    used.value = caller.memory.write_text(address, size, text, whole=utf8)
    return 0


@native()
def GetNativeArray(call: Call, number: int, target: Ref, size: int) -> int:
    caller, address = _argument(call, number)
    target.write(caller.memory.cells(address, size))
    return 0


@native()
def SetNativeArray(call: Call, number: int, source: Ref, size: int) -> int:
    caller, address = _argument(call, number)
    caller.memory.write_cells(address, source.read(size))
    return 0


@native()
def IsNativeParamNullString(call: Call, number: int) -> bool:
    caller, address = _argument(call, number)
    return caller.is_null(address, "NULL_STRING")
