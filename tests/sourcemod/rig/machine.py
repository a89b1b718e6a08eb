"""pysmx's virtual machine with its faults mended and its bytecode decoded once.

What pysmx 0.4.0 gets wrong, and this subclass puts right: heap scopes are entered but never recorded (live arrays
are freed), registers are unbounded integers, `stradjust` enlarges dynamic strings sixteenfold, reads outside memory
crash Python, every executed instruction is kept for ever, and heap and stack may grow into each other.
"""

import struct
from collections.abc import Callable, Sequence
from ctypes import addressof, memmove, sizeof
from functools import partial
from typing import NoReturn

from smx.definitions import cell
from smx.opcodes import SourcePawnInstructionParam, opcodes
from smx.pawn import SMXInstructions
from smx.plugin import SourcePawnPlugin
from smx.vm import Frame, SourcePawnAbstractMachine, dump_stack

CELL = struct.Struct("<i")
IDLE = {"break", "nop", "proc", "endproc"}
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

    for _name in [
        "add",
        "add_c",
        "sub",
        "sub_alt",
        "smul",
        "smul_c",
        "shl",
        "shl_c_pri",
        "shr",
        "neg",
        "invert",
        "inc_pri",
        "dec_pri",
    ]:
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
        amx.PRI = amx._nativecall(native, amx.STK)


Decoded = tuple[str, list[int], list[bool], int]
"""An instruction: its method, its parameters, which of them are offsets from the frame, where the next one is."""


class Image(SourcePawnPlugin):  # type: ignore[misc]
    """A compiled plugin; its type information, which pysmx misreads for typesets, is not needed to run it."""

    decoded: dict[int, Decoded]
    """By address, filled by the machines that run it."""

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
        self._decoded: dict[int, tuple[Callable[[], object], int]] = {}
        self._native_frames = [Frame(plugin, 0, 0, native, 0) for native in plugin.natives]
        if not hasattr(plugin, "decoded"):
            plugin.decoded = {}

    def run(self, code: int, arguments: Sequence[int]) -> int:
        """Call the function at `code`; registers, heap and frames are as before when it returns or fails."""
        saved = self.PRI, self.ALT, self.STK, self.HEA, self.FRM, self._hp_scope, self.CIP, self.halted
        frames, at = len(self._frames), self.instr_addr
        try:
            self.CIP = 0
            for argument in reversed(arguments):
                self._push(argument)
            self._push(len(arguments))
            self.instructions.call(self, code)
            self._execute(code)
            return to_cell(int(self.PRI))
        finally:
            self.PRI, self.ALT, self.STK, self.HEA, self.FRM, self._hp_scope, self.CIP, self.halted = saved
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

    def _execute(self, code_offs: int) -> int:
        self.halted = False
        self.CIP = code_offs
        decoded = self._decoded
        while not self.halted:
            self.instr_addr = at = self.CIP
            if at not in decoded:
                decoded[at] = self._decode(at)
            perform, self.CIP = decoded[at]
            perform()
        return self.PRI

    def _decode(self, at: int) -> tuple[Callable[[], object], int]:
        """What to do at `at`, and where to go on."""
        known = self.plugin.decoded
        if at not in known:
            known[at] = self._read(at)
        method, values, on_stack, following = known[at]
        handler = getattr(self.instructions, method)
        if not any(on_stack):
            return partial(handler, self, *values), following
        if len(values) == 1:
            offset = values[0]
            return (lambda: handler(self, self.FRM + offset)), following
        pairs = list(zip(values, on_stack, strict=True))
        return (lambda: handler(self, *(v + self.FRM if s else v for v, s in pairs))), following

    def _read(self, at: int) -> Decoded:
        """The instruction at `at`: those that do nothing are passed over once and for all."""
        while (instruction := opcodes[self._readcodecell(at) & 0xFFFF]).name in IDLE:
            at += 4
        kinds = instruction.params
        values = [self._readcodecell(at + 4 * (i + 1)) for i in range(len(kinds))]
        on_stack = [kind is SourcePawnInstructionParam.STACK for kind in kinds]
        return instruction.method, values, on_stack, at + 4 * (1 + len(kinds))

    def _nativecall(self, index: int, paramoffs: int) -> int:
        # A native leaves stack and heap as they are: its frame is there for traces and `caller_arguments` only.
        self._frames[-1].addr = self.instr_addr
        self._frames.append(self._native_frames[index])
        try:
            first = paramoffs >> 2
            return self.natives[index](self.cells[first + 1 : first + 1 + self.cells[first]].tolist())
        except PluginError as error:
            error.trace = error.trace or self.trace()
            raise
        finally:
            self._frames.pop()

    def _push_frame(self, return_addr: int, *, addr: int, native: None = None) -> Frame:
        """Save the frame and the heap's scope on the stack, and begin new ones."""
        if self._frames:
            self._frames[-1].addr = self.instr_addr
        self._push(self.FRM)
        self._push(self._enter_heap_scope())
        self.FRM = self.STK
        frame = Frame(self.plugin, self.FRM, addr, native, return_addr)
        self._frames.append(frame)
        return frame

    def _pop_frame(self) -> Frame:
        self.STK = self.FRM
        self._leave_heap_scope(self._pop())
        self.FRM = self._pop()
        frame: Frame = self._frames.pop()
        return frame

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
