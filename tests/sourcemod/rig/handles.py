"""SourceMod's handles: numbers that stand for objects, owned by plugins, counted so that leaks show."""

from collections import Counter
from dataclasses import dataclass
from typing import TypeVar

from .machine import NativeError, to_cell

T = TypeVar("T")


@dataclass(slots=True)
class Entry:
    """What a handle stands for and who owns it; `owner` is None for SourceMod's own."""

    thing: object
    owner: object | None
    closable: bool


class Handles:
    """All handles of a server. A handle number is never used twice."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._next = 0x10001

    def open(self, thing: object, owner: object | None = None, *, closable: bool = True) -> int:
        """A new handle for `thing`."""
        handle = self._next
        self._next = to_cell(self._next + 0x10001)
        self._entries[handle] = Entry(thing, owner, closable)
        return handle

    def find(self, thing: object) -> int:
        """The handle that stands for exactly `thing`, or 0."""
        return next((handle for handle, entry in self._entries.items() if entry.thing is thing), 0)

    def get(self, handle: int, kind: type[T]) -> T:
        """The object behind `handle`, which must be of `kind`."""
        entry = self._entries.get(handle)
        if entry is None:
            raise NativeError(f"Invalid {kind.__name__} handle {handle:x} (error {1 if handle else 4})")
        if not isinstance(entry.thing, kind):
            raise NativeError(
                f"Invalid {kind.__name__} handle {handle:x}: it is a {type(entry.thing).__name__} (error 2)"
            )
        return entry.thing

    def valid(self, handle: int) -> bool:
        """Whether `handle` is open."""
        return handle in self._entries

    def close(self, handle: int) -> object:
        """What CloseHandle does: error for a stale or foreign handle; the object that it stood for."""
        entry = self._entries.get(handle)
        if entry is None or not entry.closable:
            raise NativeError(f"Handle {handle:x} is invalid (error {1 if entry is None else 5})")
        del self._entries[handle]
        return entry.thing

    def drop(self, handle: int) -> bool:
        """Close a handle that SourceMod itself ends (a fired timer, an event); whether it was still open."""
        return self._entries.pop(handle, None) is not None

    def drop_owned(self, owner: object) -> list[object]:
        """Close all handles of a plugin that unloads; what they stood for."""
        owned = [handle for handle, entry in self._entries.items() if entry.owner is owner]
        return [self._entries.pop(handle).thing for handle in owned]

    def live(self, owner: object | None = None) -> Counter[str]:
        """Open handles by kind: a plugin's, or all plugins'. Equal before and after means nothing leaked."""
        return Counter(
            type(entry.thing).__name__
            for entry in self._entries.values()
            if entry.owner is not None and (owner is None or entry.owner is owner)
        )
