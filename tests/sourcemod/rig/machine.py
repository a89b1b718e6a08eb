"""pysmx's virtual machine with its faults mended and its bytecode translated to Python.

What pysmx 0.4.0 gets wrong, and this subclass puts right: heap scopes are entered but never recorded (live arrays
are freed), registers are unbounded integers, `stradjust` enlarges dynamic strings sixteenfold, reads outside memory
crash Python, every executed instruction is kept for ever, and heap and stack may grow into each other.
"""

import struct
import sys
from collections.abc import Callable, Sequence
from ctypes import Array, addressof, c_byte, memmove, sizeof
from functools import cached_property
from traceback import walk_stack, walk_tb
from types import TracebackType
from typing import NoReturn

from smx.definitions import cell
from smx.pawn import SMXInstructions
from smx.plugin import SourcePawnPlugin
from smx.vm import Frame, SourcePawnAbstractMachine, dump_stack

from .translate import MARGIN, Functions

CELL = struct.Struct("<i")
SMALLEST_FRAME = 12
"""Bytes of the stack that a call needs at least."""
CALLS_OF_PYTHON = 1000
"""Those below a plugin's, in the deepest test."""


class PluginError(Exception):
    """A runtime error of a plugin: it ends the callback that raised it and nothing else."""

    trace = ""


class NativeError(PluginError):
    """What SourceMod's ThrowNativeError does."""


def to_cell(value: int) -> int:
    """`value` as a signed 32-bit cell."""
    return (value + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def _bounded(name: str, register: str) -> Callable[..., None]:
    operate = getattr(SMXInstructions, name)

    def bounded(self: SMXInstructions, amx: "Machine", *params: int) -> None:
        operate(self, amx, *params)
        setattr(amx, register, to_cell(getattr(amx, register)))

    return bounded


class Instructions(SMXInstructions):  # type: ignore[misc]
    """Opcodes whose results can leave 32 bits, and the few that pysmx has wrong."""

    for _name in ["shl", "shl_c_pri", "shr", "invert"]:
        locals()[_name] = _bounded(_name, "PRI")
    for _name in ["shl_c_alt", "inc_alt", "dec_alt"]:
        locals()[_name] = _bounded(_name, "ALT")
    del _name

    def movs(self, amx: "Machine", size: int) -> None:
        """Copy `size` bytes from PRI to ALT."""
        target, source = amx._throw_if_bad_addr(amx.ALT), amx._throw_if_bad_addr(amx.PRI)
        memmove(target, source, size)

    def stradjust_pri(self, amx: "Machine") -> None:
        """The cells that PRI characters and their terminator need."""
        amx.PRI = (amx.PRI + sizeof(cell)) >> 2


class Image(SourcePawnPlugin):  # type: ignore[misc]
    """A compiled plugin; its type information, which pysmx misreads for typesets, is not needed to run it."""

    functions: Functions
    """Its code in Python, translated by the machines that run it."""

    @cached_property
    def native_names(self) -> list[str]:
        """The natives it calls, by their numbers."""
        return [native.name for native in self.natives]

    def rtti_from_type_id(self, type_id: int) -> None: ...

    def rtti_function_from_offset(self, offset: int) -> None: ...


class Machine(SourcePawnAbstractMachine):  # type: ignore[misc]
    """One plugin's memory, registers and natives; a native takes its argument cells and returns a cell."""

    heap: Array[c_byte]
    STK: int
    HEA: int
    _hp_scope: int

    def __init__(self, plugin: SourcePawnPlugin) -> None:
        super().__init__(plugin.runtime, plugin)
        self.natives: list[Callable[[Sequence[int]], int]] = []
        self.init()
        self.instructions = Instructions()
        self.raw = bytearray(self.heap)
        self.heap = (c_byte * len(self.raw)).from_buffer(self.raw)
        self.bytes: memoryview[int] = memoryview(self.raw)
        self.cells: memoryview[int] = self.bytes.cast("i")
        if not hasattr(plugin, "functions"):
            plugin.functions = Functions(plugin)
        self.functions: Functions = plugin.functions
        # Calls nest in Python as they do in the plugin: it has to reach the end of its own stack first.
        deepest = (self.STP - self.HEA) // SMALLEST_FRAME
        sys.setrecursionlimit(max(sys.getrecursionlimit(), deepest + CALLS_OF_PYTHON))

    def run(self, code: int, arguments: Sequence[int]) -> int:
        """Call the function at `code`; stack and heap are as before when it returns or fails."""
        saved = self.STK, self.HEA, self._hp_scope
        cells, top = self.cells, (self.STK >> 2) - len(arguments) - 1
        try:
            if top << 2 < self.HEA + MARGIN:
                self.overflow()
            cells[top] = len(arguments)
            for argument in arguments:
                top += 1
                cells[top] = argument
            return self.functions[code](self, top - len(arguments) - 2)
        except PluginError as error:
            error.trace = error.trace or self.trace(error.__traceback__)
            raise
        finally:
            self.STK, self.HEA, self._hp_scope = saved

    def allocate(self, size: int) -> int:
        """Heap for an argument of `size` bytes; `run` frees it when the outer call returns."""
        return self._heap_alloc((max(size, 1) + 3) // 4 * 4)

    def trace(self, raised: TracebackType | None = None) -> str:
        """The plugin's call stack, innermost first; `raised`: from here to where an error was raised."""
        frames: list[Frame] = []
        for frame, line in [*reversed([*walk_stack(None)]), *walk_tb(raised)]:
            places = self.functions.places.get(frame.f_code)
            if places is not None and frame.f_locals["m"] is self:
                frames.append(Frame(self.plugin, 0, places[line], None, 0))
                native = self.functions.native(places[line])
                if native is not None:
                    frames.append(Frame(self.plugin, 0, 0, self.plugin.natives[native], 0))
        return str(dump_stack(frames))

    def caller_arguments(self) -> Sequence[int]:
        """The argument cells of the plugin function that is calling a native."""
        frames = (frame for frame, _ in walk_stack(None) if frame.f_code in self.functions.places)
        first: int = next(frames).f_locals["f"] + 2
        return self.cells[first + 1 : first + 1 + self.cells[first]].tolist()

    # For translated code.

    def read(self, address: int) -> int:
        """A cell that is not aligned, or none at all."""
        return self._getheapcell(address)

    def write(self, address: int, value: int) -> None:
        """Likewise."""
        self._writeheap(address, cell(value))

    def overflow(self) -> NoReturn:
        """The stack would meet the heap."""
        self.report_error("Not enough space on the stack")

    def _enter_heap_scope(self) -> int:
        scope = self._heap_alloc(4)
        self.cells[scope >> 2] = self._hp_scope
        self._hp_scope = scope
        return scope

    def _leave_heap_scope(self, saved_hp_scope: int | None = None) -> int:
        self.HEA = self._hp_scope if saved_hp_scope is None else saved_hp_scope
        self._hp_scope = self.cells[self.HEA >> 2]
        return self.HEA

    def _heap_alloc(self, amount: int) -> int:
        if self.HEA + amount + MARGIN > self.STK:
            self.report_error("Not enough space on the heap")
        address: int = super()._heap_alloc(amount)
        return address

    def _pop(self) -> int:
        value = self.cells[self.STK >> 2]
        self.STK += 4
        return value

    # pysmx mirrors the stack in a list for its debugger; nothing here needs it.
    def _filter_stack(self, new_stk: int) -> None: ...

    def _stack_set(self, set_addr: int, set_val: int) -> None: ...

    def _getheapcell(self, offset: int) -> int:
        self._check_read(offset, 4)
        value: int = self.cells[offset >> 2] if not offset & 3 else CELL.unpack_from(self.bytes, offset)[0]
        return value

    def _getheapchar(self, offset: int) -> int:
        self._check_read(offset, 1)
        return self.bytes[offset]

    def _check_read(self, offset: int, size: int) -> None:
        if offset < 0 or offset + size > len(self.bytes):
            self.report_error(f"Invalid memory access at {offset}")

    def _writeheap(self, offset: int, value: object, **kwargs: bool) -> None:
        self._throw_if_bad_addr(offset, **kwargs)
        raw = bytes(value)  # type: ignore[call-overload]
        self.bytes[offset : offset + len(raw)] = raw

    def _throw_if_bad_addr(self, offset: int, *, is_heap: bool = False) -> int:
        free = self.HEA <= offset < self.STK
        if not 0 <= offset < self.STP or (not free if is_heap else free):
            self.report_error(f"Invalid memory access at {offset}")
        return addressof(self.heap) + offset

    def report_error(self, code_or_msg: object, msg: str | None = None) -> NoReturn:
        """Raise the plugin error that the virtual machine found."""
        raise PluginError(msg or getattr(code_or_msg, "msg", str(code_or_msg)))
