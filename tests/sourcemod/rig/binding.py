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
from .machine import NativeError, to_cell
from .memory import Buffer, Ref, cell_to_float, float_to_cell

if TYPE_CHECKING:
    from .plugin import Plugin
    from .sourcemod import SourceMod

Native = Callable[["Call", Sequence[int]], int]


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


NAMES = {
    each.__name__: each for each in (Buffer, Callback, NativeError, Ref, Text, cell_to_float, float_to_cell, to_cell)
}
READERS: dict[object, str] = {
    int: "cells[{at}]",
    bool: "cells[{at}] != 0",
    float: "cell_to_float(cells[{at}])",
    str: "call.plugin.memory.text(cells[{at}])",
    Ref: "Ref(call.plugin.memory, cells[{at}])",
    Buffer: "Buffer(call.plugin.memory, cells[{at}], cells[{at} + 1])",
    Text: "Text(call, call.plugin.memory.text(cells[{at}]), cells[{at} + 1:])",
    Callback: "None if cells[{at}] == -1 else Callback(call.plugin, cells[{at}])",
    InGame: "call.client(cells[{at}], in_game=True)",
    Connected: "call.client(cells[{at}], in_game=False)",
}
"""How an argument is read from the cells of a call, from the one at `at` on."""


def _reader(annotation: object, kind: str) -> tuple[object, str]:
    """The class that an annotation stands for, and how it is read; `kind`: the name of that class."""
    optional = isinstance(annotation, types.UnionType)
    if optional:
        annotation = next(part for part in typing.get_args(annotation) if part is not type(None))
    if annotation in READERS:
        return annotation, READERS[annotation]
    assert isinstance(annotation, type), annotation
    read = f"call.sm.handles.get(cells[{{at}}], {kind})"
    return annotation, f"None if not cells[{{at}}] else {read}" if optional else read


def _as_called(function: Callable[..., Any]) -> Native:
    """A native as plugins call it: cells in, a cell out."""
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    names: dict[str, Any] = {"function": function, **NAMES}
    arguments, at = [], 0
    for number, parameter in enumerate(parameters):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            arguments.append(f"*cells[{at}:]")
        else:
            names[f"kind{number}"], read = _reader(hints[parameter.name], f"kind{number}")
            arguments.append(read.format(at=at))
            at += 2 if hints[parameter.name] is Buffer else 1
    text = f"""
def native(call, cells):
    if len(cells) < {at}:
        raise NativeError("{function.__name__}: too few arguments")
    result = function({", ".join(["call", *arguments])})
    if type(result) is int and -0x80000000 <= result <= 0x7FFFFFFF:
        return result
    return float_to_cell(result) if isinstance(result, float) else to_cell(int(result or 0))
"""
    exec(compile(text, f"<native {function.__name__}>", "exec"), names)
    made: Native = names["native"]
    return made


NATIVES: dict[str, Native] = {}
"""Every native the rig provides, by the name plugins bind to."""


def native(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Provide a function as the natives `names`, or under its own name."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        called = _as_called(function)
        for name in names or (function.__name__,):
            assert name not in NATIVES, name
            NATIVES[name] = called
        return function

    return register
