"""How a native is written: a Python function named like it, whose annotations say how its cells are read.

`int bool float str` are what they say; `Ref` is an address (by reference, or an array), `Buffer` a `char[], maxlength`
pair, `Text` a format string with all arguments after it, `Callback` a function, `InGame` a client in the game and
`Connected` one that may still be loading; any other class means a handle to such an object (`X | None`: 0 allowed).
`*cells: int` takes what is left.
"""

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from .game.players import Player
from .machine import NativeError
from .memory import Buffer, Ref, cell_to_float, float_to_cell

if TYPE_CHECKING:
    from .plugin import Plugin
    from .sourcemod import SourceMod

Reader = Callable[["Call", Sequence[int], int], Any]
"""Reads an argument from all cells of a call, beginning with the one of this index."""


@dataclass(frozen=True, slots=True)
class Callback:
    """A function of a plugin that SourceMod may call back."""

    plugin: "Plugin"
    function: int

    def __call__(self, *arguments: Any) -> int | None:
        """Call it; None when it ended with an error, which is logged."""
        return self.plugin.call(self.function, *arguments)


InGame = Annotated[Player, "in the game"]
Connected = Annotated[Player, "connected, perhaps still loading"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a native: by which plugin, on which server."""

    plugin: "Plugin"
    sm: "SourceMod"

    def open(self, thing: object) -> int:
        """A handle for `thing`, owned by the calling plugin."""
        return self.sm.handles.open(thing, self.plugin)

    def client(self, index: int, *, in_game: bool) -> Player:
        """The player in slot `index`; a native error if the slot is empty (or its client not yet in the game)."""
        if not 1 <= index <= self.sm.world.slots:
            raise NativeError(f"Client index {index} is invalid")
        player = self.sm.world.players.get(index)
        if player is None:
            raise NativeError(f"Client {index} is not connected")
        if in_game and not player.in_game:
            raise NativeError(f"Client {index} is not in game")
        return player


class Text:
    """A format string and its arguments, not yet formatted: the language depends on who will read it."""

    def __init__(self, call: Call, template: str, arguments: Sequence[int]) -> None:
        self.call, self.template, self.arguments = call, template, arguments

    def __str__(self) -> str:
        return self.call.sm.formats.format(self.call, self.template, self.arguments)

    def to(self, client: int) -> str:
        """Formatted for `client` (0: the server), who becomes the translation target."""
        self.call.sm.target = client
        return str(self)


def _read_buffer(call: Call, cells: Sequence[int], at: int) -> Buffer:
    return Buffer(call.plugin.memory, cells[at], cells[at + 1])


def _read_text(call: Call, cells: Sequence[int], at: int) -> Text:
    return Text(call, call.plugin.memory.text(cells[at]), cells[at + 1 :])


def _read_callback(call: Call, cells: Sequence[int], at: int) -> Callback | None:
    return None if cells[at] == -1 else Callback(call.plugin, cells[at])


def _handle_of(kind: type, *, optional: bool) -> Reader:
    def read(call: Call, cells: Sequence[int], at: int) -> object:
        return None if optional and not cells[at] else call.sm.handles.get(cells[at], kind)

    return read


READERS: dict[object, Reader] = {
    int: lambda call, cells, at: cells[at],
    bool: lambda call, cells, at: cells[at] != 0,
    float: lambda call, cells, at: cell_to_float(cells[at]),
    str: lambda call, cells, at: call.plugin.memory.text(cells[at]),
    Ref: lambda call, cells, at: Ref(call.plugin.memory, cells[at]),
    Buffer: _read_buffer,
    Text: _read_text,
    Callback: _read_callback,
    InGame: lambda call, cells, at: call.client(cells[at], in_game=True),
    Connected: lambda call, cells, at: call.client(cells[at], in_game=False),
}


def _reader(annotation: object) -> Reader:
    if annotation in READERS:
        return READERS[annotation]
    if isinstance(annotation, types.UnionType):
        kind = next(part for part in typing.get_args(annotation) if part is not type(None))
        return READERS.get(kind) or _handle_of(kind, optional=True)
    assert isinstance(annotation, type), annotation
    return _handle_of(annotation, optional=False)


class Native:
    """A native as plugins call it: cells in, a cell out."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.rest = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL
        self.readers: list[tuple[Reader, int]] = []
        self.cells = 0
        """How many it reads at least."""
        for parameter in parameters[: len(parameters) - self.rest]:
            self.readers.append((_reader(hints[parameter.name]), self.cells))
            self.cells += 2 if hints[parameter.name] is Buffer else 1

    def __call__(self, call: Call, cells: Sequence[int]) -> int:
        """Read the arguments, perform, and return the result as a cell."""
        if len(cells) < self.cells:
            raise NativeError(f"{self.function.__name__}: too few arguments")
        arguments = [read(call, cells, at) for read, at in self.readers]
        if self.rest:
            arguments += cells[self.cells :]
        result = self.function(call, *arguments)
        return float_to_cell(result) if isinstance(result, float) else int(result or 0)


NATIVES: dict[str, Native] = {}
"""Every native the rig provides, by the name plugins bind to."""


def native(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Provide a function as the natives `names`, or under its own name."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (function.__name__,):
            assert name not in NATIVES, name
            NATIVES[name] = Native(function)
        return function

    return register
