"""pysmx's virtual machine with its faults mended and its bytecode translated to Python.

What pysmx 0.4.0 gets wrong, and this subclass puts right: heap scopes are entered but never recorded (live arrays
are freed), registers are unbounded integers, `stradjust` enlarges dynamic strings sixteenfold, reads outside memory
crash Python, every executed instruction is kept for ever, and heap and stack may grow into each other.
"""

import struct
from collections.abc import Callable, Sequence
from ctypes import addressof, memmove, sizeof
from typing import NoReturn

from smx.definitions import cell
from smx.pawn import SMXInstructions
from smx.plugin import SourcePawnPlugin
from smx.vm import Frame, SourcePawnAbstractMachine, dump_stack

from .translate import Blocks

CELL = struct.Struct("<i")
MARGIN = 256
"""Bytes that must stay free between heap and stack, as SourceMod demands."""


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

    def sysreq_c(self, amx: "Machine", native: int) -> None:
        """A native call whose arguments the caller pops."""
        amx.PRI = amx.native(native, amx.STK >> 2, amx.instr_addr)


class Image(SourcePawnPlugin):  # type: ignore[misc]
    """A compiled plugin; its type information, which pysmx misreads for typesets, is not needed to run it."""

    blocks: Blocks
    """Its code in Python, translated by the machines that run it."""

    def rtti_from_type_id(self, type_id: int) -> None: ...

    def rtti_function_from_offset(self, offset: int) -> None: ...


class Machine(SourcePawnAbstractMachine):  # type: ignore[misc]
    """One plugin's memory, registers and natives; a native takes its argument cells and returns a cell."""

    PRI: int
    ALT: int
    STK: int
    HEA: int
    FRM: int
    CIP: int
    _hp_scope: int
    halted: bool
    instr_addr: int

    def __init__(self, plugin: SourcePawnPlugin) -> None:
        super().__init__(plugin.runtime, plugin)
        self.natives: list[Callable[[Sequence[int]], int]] = []
        self.init()
        self.instructions = Instructions()
        self.bytes: memoryview[int] = memoryview(self.heap).cast("B")
        self.cells: memoryview[int] = self.bytes.cast("i")
        self._native_frames = [Frame(plugin, 0, 0, native, 0) for native in plugin.natives]
        if not hasattr(plugin, "blocks"):
            plugin.blocks = Blocks(plugin)

    def run(self, code: int, arguments: Sequence[int]) -> int:
        """Call the function at `code`; registers, heap and frames are as before when it returns or fails."""
        saved = self.PRI, self.ALT, self.STK, self.HEA, self.FRM, self._hp_scope
        frames, at = len(self._frames), self.instr_addr
        blocks = self.plugin.blocks
        try:
            for argument in reversed(arguments):
                self._push(argument)
            self._push(len(arguments))
            self.enter(code, at, 0)
            following = code
            while following:
                following = blocks[following](self)
            return int(self.PRI)
        finally:
            self.PRI, self.ALT, self.STK, self.HEA, self.FRM, self._hp_scope = saved
            del self._frames[frames:]
            self.instr_addr = at

    def allocate(self, size: int) -> int:
        """Heap for an argument of `size` bytes; `run` frees it when the outer call returns."""
        return self._heap_alloc((max(size, 1) + 3) // 4 * 4)

    def trace(self) -> str:
        """The plugin's call stack, innermost first."""
        if self._frames and self._frames[-1].native is None:
            self._frames[-1].addr = self.instr_addr
        return str(dump_stack(self._frames))

    def caller_arguments(self) -> Sequence[int]:
        """The argument cells of the plugin function that is calling a native."""
        first = (self._frames[-2].frm + 8) // 4
        return self.cells[first + 1 : first + 1 + self.cells[first]].tolist()

    # What translated code calls, with the address of its instruction `at`.

    def native(self, index: int, first: int, at: int) -> int:
        """Call a native; `first`: the index of the cell with the number of arguments, which stay on the stack.

        A native leaves stack and heap as they are: its frame is there for traces and `caller_arguments` only.
        """
        frames, cells = self._frames, self.cells
        self.instr_addr = frames[-1].addr = at
        frames.append(self._native_frames[index])
        try:
            result = self.natives[index](cells[first + 1 : first + 1 + cells[first]].tolist())
            return result if -0x80000000 <= result <= 0x7FFFFFFF else to_cell(result)
        except PluginError as error:
            error.trace = error.trace or self.trace()
            raise
        finally:
            frames.pop()

    def enter(self, function: int, at: int, following: int) -> None:
        """Save the frame and the heap's scope on the stack, and begin new ones; the function returns to `following`."""
        frames, cells, scope = self._frames, self.cells, self.HEA
        if frames:
            frames[-1].addr = at
        self.instr_addr = at
        stack = self.STK - 8
        if scope + 4 + MARGIN > stack:
            self.report_error("Not enough space on the stack")
        cells[stack + 4 >> 2] = self.FRM
        cells[stack >> 2] = scope
        cells[scope >> 2] = self._hp_scope
        self._hp_scope, self.HEA = scope, scope + 4
        self.STK = self.FRM = stack
        frames.append(Frame(self.plugin, stack, function, None, following))

    def leave(self) -> int:
        """End the innermost function, and take its arguments from the stack; where to go on."""
        cells, place = self.cells, self.FRM >> 2
        self.HEA = scope = cells[place]
        self._hp_scope = cells[scope >> 2]
        self.FRM = cells[place + 1]
        self.STK = place + 3 + cells[place + 2] << 2
        following: int = self._frames.pop().return_addr
        return following

    def read(self, address: int, at: int) -> int:
        """A cell that is not aligned, or none at all."""
        self.instr_addr = at
        return self._getheapcell(address)

    def write(self, address: int, value: int, at: int) -> None:
        """Likewise."""
        self.instr_addr = at
        self._writeheap(address, cell(value))

    def overflow(self, at: int) -> NoReturn:
        """The stack would meet the heap."""
        self.instr_addr = at
        self.report_error("Not enough space on the stack")

    def out_of_bounds(self, index: int, limit: int, at: int) -> NoReturn:
        """An index that its array does not have."""
        self.instr_addr = at
        self.report_out_of_bounds_error(index, limit)

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

    def _push(self, value: int) -> None:
        self.STK -= 4
        if self.STK < self.HEA:
            self.report_error("Not enough space on the stack")
        self.cells[self.STK >> 2] = value if -0x80000000 <= value <= 0x7FFFFFFF else to_cell(value)

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
        error = PluginError(msg or getattr(code_or_msg, "msg", str(code_or_msg)))
        error.trace = self.trace()
        raise error
