"""Bytecode as Python: each run of instructions becomes one function, made when it is first reached.

A run begins where a call, a return or a jump leads, goes on past jumps that are not taken, and ends where it cannot go
on. Within it registers are local variables and places on the stack are known. What the machine keeps is brought up to
date wherever it can be seen: at the end, in natives, and in the instructions that pysmx carries out. A function takes
the machine and returns the address to go on at, 0 at the end.
"""

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from smx.opcodes import SourcePawnInstructionParam, opcodes

if TYPE_CHECKING:
    from .machine import Image, Machine

Block = Callable[["Machine"], int]

LONGEST = 120
"""Instructions of one function: longer ones repeat what others have."""

IDLE = {"break", "nop", "proc", "endproc"}
COMPARED = {"eq": "==", "neq": "!=", "sless": "<", "sleq": "<=", "sgrtr": ">", "sgeq": ">="}
JUMPS = {f"j{name}": operator for name, operator in COMPARED.items()}
REGISTERS = {"p": "PRI", "a": "ALT"}
WRAPPED = {
    "add": "{p} + {a}",
    "sub": "{p} - {a}",
    "sub_alt": "{a} - {p}",
    "smul": "{p} * {a}",
    "idxaddr": "{p} * 4 + {a}",
    "add_c": "{p} + {n}",
    "smul_c": "{p} * {n}",
    "neg": "-{p}",
    "inc_pri": "{p} + 1",
    "dec_pri": "{p} - 1",
}
"""What leaves PRI, and may leave 32 bits."""
PLAIN = {name: f"{{p}} {operator} {{a}}" for name, operator in COMPARED.items()} | {
    "and_": "{p} & {a}",
    "or_": "{p} | {a}",
    "xor": "{p} ^ {a}",
    "not_": "not {p}",
    "eq_c_pri": "{p} == {n}",
    "eq_c_alt": "{a} == {n}",
}
"""What leaves PRI within 32 bits."""


def wrapped(value: str) -> str:
    """An expression as a signed 32-bit cell."""
    return f"({value} + 2147483648 & 4294967295) - 2147483648"


class Blocks(dict[int, Block]):
    """The functions of a plugin by their address."""

    def __init__(self, image: "Image") -> None:
        super().__init__()
        self.memory: int = image.memsize
        self.code: bytes = image.base[image.pcode.pcode :][: image.pcode.size]
        self.data: bytes = image.base[image.data :][: image.datasize]

    def __missing__(self, at: int) -> Block:
        self[at] = made = Translation(self, at).block()
        return made

    def cell(self, at: int) -> int:
        """The cell of the code at `at`."""
        value: int = struct.unpack_from("<i", self.code, at)[0]
        return value


class Translation:
    """One run of instructions on its way to Python."""

    def __init__(self, blocks: Blocks, start: int) -> None:
        self.blocks, self.at = blocks, start
        self.lines = ["def block(m):", " c = m.cells", " s = m.STK >> 2", " f = m.FRM >> 2"]
        self.constants: dict[str, object] = {}
        self.held: dict[str, str | None] = dict.fromkeys(REGISTERS)
        """What holds PRI and ALT: a variable or a number; None: the machine alone."""
        self.changed: set[str] = set()
        self.down = self.kept = 0
        """Cells between the top of the stack and where it was in `s`: now, and when the machine was told."""
        self._straight_on()

    def block(self) -> Block:
        """The function."""
        seen: set[int] = set()
        following: int | None = self.at
        while following is not None:
            if following in seen or len(seen) == LONGEST:
                self._leave(str(following))
                break
            seen.add(following)
            self.at = following
            following = self._instruction()
        self._check_stack()
        exec(compile("\n".join(self.lines), f"<code at {min(seen):#x}>", "exec"), self.constants)
        made: Block = self.constants["block"]  # type: ignore[assignment]
        return made

    def _instruction(self) -> int | None:
        """Translate one: where to go on, or None where the function ends."""
        name, method, kinds, _ = opcodes[self.blocks.cell(self.at) & 0xFFFF]
        values = [self.blocks.cell(self.at + 4 * (place + 1)) for place in range(len(kinds))]
        following = self.at + 4 * (1 + len(kinds))
        if name in IDLE:
            return following
        if method in ENDS:
            return ENDS[method](self, following, *values)
        if method in JUMPS:
            self._jump_if(f"{self._get('p')} {JUMPS[method]} {self._get('a')}", *values)
        elif method in WRAPPED or method in PLAIN:
            self._calculate(method, *values)
        elif method in STEPS:
            STEPS[method](self, *values)
        else:
            on_stack = [kind is SourcePawnInstructionParam.STACK for kind in kinds]
            self._by_pysmx(method, *(f"m.FRM + {v}" if s else str(v) for v, s in zip(values, on_stack, strict=True)))
        return following

    # Registers, and what the machine keeps of them

    def _line(self, text: str) -> None:
        self.lines.append(" " + text)

    def _get(self, name: str) -> str:
        if (value := self.held[name]) is None:
            self._line(f"{name} = m.{REGISTERS[name]}")
            self.held[name] = value = name
        return value

    def _set(self, name: str, value: str | int) -> None:
        """Let a register be a number, or what an expression gives."""
        if isinstance(value, int):
            self.held[name] = f"({value})" if value < 0 else str(value)
        else:
            self._line(f"{name} = {value}")
            self.held[name] = name
        self.changed.add(name)

    def _top(self, cells: int = 0) -> str:
        """The index of a cell on the stack, from the top on."""
        place = cells - self.down
        return f"s{place:+}" if place else "s"

    def _state(self) -> list[str]:
        lines = [f"m.{REGISTERS[name]} = {self.held[name]}" for name in sorted(self.changed)]
        return lines + [f"m.STK = {self._top()} << 2"] * (self.down != self.kept)

    def _keep_stack(self) -> None:
        if self.down != self.kept:
            self._line(f"m.STK = {self._top()} << 2")
            self.kept = self.down

    def _leave(self, to: str) -> None:
        for line in [*self._state(), f"return {to}"]:
            self._line(line)

    def _by_pysmx(self, method: str, *values: str) -> None:
        """Instructions that are rare, or that need more of the machine."""
        for line in [
            *self._state(),
            f"m.instr_addr = {self.at}",
            f"m.instructions.{method}({', '.join(['m', *values])})",
        ]:
            self._line(line)
        self._line("s = m.STK >> 2")
        self._check_stack()
        self.held, self.down, self.kept = dict.fromkeys(REGISTERS), 0, 0
        self.changed.clear()

    # The stack is checked once for what is carried out together: at its deepest, before.

    def _straight_on(self) -> None:
        self.straight, self.deepest = len(self.lines), None

    def _check_stack(self) -> None:
        if self.deepest is not None:
            self.lines.insert(self.straight, f" if s - {self.deepest} << 2 < m.HEA: m.overflow({self.at})")
        self._straight_on()

    def _down(self, cells: int) -> None:
        self.down += cells
        if cells > 0:
            self.deepest = self.down if self.deepest is None else max(self.deepest, self.down)

    def _push(self, value: str) -> None:
        self._down(1)
        self._line(f"c[{self._top()}] = {value}")

    def _pop(self, name: str) -> None:
        self._set(name, f"c[{self._top()}]")
        self._down(-1)

    # Memory

    def _read(self, address: str) -> str:
        return f"c[{address} >> 2] if 0 <= {address} < {self.blocks.memory} and not {address} & 3 else " \
            f"m.read({address}, {self.at})"  # fmt: skip

    def _write(self, address: str, value: str) -> None:
        self._keep_stack()
        top = f"{self._top()} << 2"
        self._line(f"if {address} & 3 or not (0 <= {address} < m.HEA or {top} <= {address} < {self.blocks.memory}):")
        self._line(f" m.write({address}, {value}, {self.at})")
        self._line(f"else: c[{address} >> 2] = {value}")

    def _add_to(self, place: str, number: int) -> None:
        self._line(f"c[{place}] = {wrapped(f'c[{place}] + {number}')}")

    def _read_byte(self, size: int) -> None:
        p = self._get("p")
        if size == 1:
            self._set("p", f"m.bytes[{p}] if 0 <= {p} < {self.blocks.memory} else m.read({p}, {self.at})")
        else:
            self._by_pysmx("lodb_i", str(size))

    # Instructions that do something and go on

    def _calculate(self, method: str, *values: int) -> None:
        form = WRAPPED.get(method) or PLAIN[method]
        used = {name: self._get(name) for name in REGISTERS if f"{{{name}}}" in form}
        result = form.format(**used, n=values[0] if values else None)
        self._set("p", wrapped(result) if method in WRAPPED else result)

    def _move(self, target: str, source: str) -> None:
        value = self._get(source)
        if value == source:
            self._set(target, value)
        else:
            self.held[target] = value
            self.changed.add(target)

    def _exchange(self) -> None:
        p, a = self._get("p"), self._get("a")
        self._line(f"p, a = {a}, {p}")
        self.held = {"p": "p", "a": "a"}
        self.changed |= {"p", "a"}

    def _stack(self, size: int) -> None:
        self._set("a", f"{self._top()} << 2")
        self._down(-size // 4)

    def _native(self, index: int, count: int) -> None:
        self._push(str(count))
        self._keep_stack()
        self._set("p", f"m.native({index}, {self._top()}, {self.at})")
        self._down(-count - 1)
        self._check_stack()

    def _heap(self, size: int) -> None:
        self._keep_stack()
        self._line(f"m.instr_addr = {self.at}")
        self._set("a", f"m._heap_alloc({size})")
        self._check_stack()

    def _bounds(self, limit: int) -> None:
        p = self._get("p")
        self._line(f"if not 0 <= {p} <= {limit}: m.out_of_bounds({p}, {limit}, {self.at})")

    def _initialise(self, address: int, vectors: int, copied: int, filled: int, value: int) -> None:
        """An array's first contents, known before but for the addresses of rows."""
        if vectors:
            return self._by_pysmx("initarray_pri", *map(str, (address, vectors, copied, filled, value)))
        contents = self.blocks.data[address : address + 4 * copied] + struct.pack("<i", value) * filled
        name = f"contents{self.at}"
        self.constants[name] = contents
        p = self._get("p")
        self._keep_stack()
        self._line(f"m.instr_addr = {self.at}; m._throw_if_bad_addr({p})")
        self._line(f"m.bytes[{p}:{p} + {len(contents)}] = {name}")
        return None

    # Instructions that end a run, or may

    def _jump_if(self, condition: str, to: int) -> None:
        self._line(f"if {condition}: {'; '.join([*self._state(), f'return {to}'])}")
        self._check_stack()

    def _call(self, following: int, function: int) -> None:
        for line in self._state():
            self._line(line)
        self._line(f"m.enter({function}, {self.at}, {following})")
        self._line(f"return {function}")

    def _return(self, following: int) -> None:
        self._leave("m.leave()")

    def _halt(self, following: int, code: int) -> None:
        self._leave("0")

    def _switch(self, following: int, table: int) -> None:
        count, default = self.blocks.cell(table + 4), self.blocks.cell(table + 8)
        rows = [table + 12 + 8 * number for number in reversed(range(count))]
        self.constants["cases"] = {self.blocks.cell(row): self.blocks.cell(row + 4) for row in rows}
        self._leave(f"cases.get({self._get('p')}, {default})")


Step = Callable[..., None]

ENDS: dict[str, Callable[..., int | None]] = {
    "jump": lambda t, following, to: to,
    "call": Translation._call,
    "retn": Translation._return,
    "halt": Translation._halt,
    "switch": Translation._switch,
}

STEPS: dict[str, Step] = {
    "bounds": Translation._bounds,
    "heap": Translation._heap,
    "jzer": lambda t, to: t._jump_if(f"not {t._get('p')}", to),
    "jnz": lambda t, to: t._jump_if(t._get("p"), to),
    "sysreq_n": Translation._native,
    "initarray_pri": Translation._initialise,
    "stack": Translation._stack,
    "xchg": Translation._exchange,
    "move_pri": lambda t: t._move("p", "a"),
    "move_alt": lambda t: t._move("a", "p"),
    "lodb_i": Translation._read_byte,
    "load_i": lambda t: t._set("p", t._read(t._get("p"))),
    "stor_i": lambda t: t._write(t._get("a"), t._get("p")),
    "inc": lambda t, address: t._add_to(str(address >> 2), 1),
    "dec": lambda t, address: t._add_to(str(address >> 2), -1),
    "inc_s": lambda t, offset: t._add_to(f"f + {offset >> 2}", 1),
    "dec_s": lambda t, offset: t._add_to(f"f + {offset >> 2}", -1),
    "zero": lambda t, address: t._line(f"c[{address >> 2}] = 0"),
    "zero_s": lambda t, offset: t._line(f"c[f + {offset >> 2}] = 0"),
    "const_": lambda t, address, value: t._line(f"c[{address >> 2}] = {value}"),
    "const_s": lambda t, offset, value: t._line(f"c[f + {offset >> 2}] = {value}"),
    "load_both": lambda t, *places: [t._set(n, f"c[{v >> 2}]") for n, v in zip("pa", places, strict=True)],
    "load_s_both": lambda t, *places: [t._set(n, f"c[f + {v >> 2}]") for n, v in zip("pa", places, strict=True)],
}
for _short, _name in (("pri", "p"), ("alt", "a")):
    STEPS |= {
        f"push_{_short}": lambda t, n=_name: t._push(t._get(n)),
        f"pop_{_short}": lambda t, n=_name: t._pop(n),
        f"zero_{_short}": lambda t, n=_name: t._set(n, 0),
        f"const_{_short}": lambda t, value, n=_name: t._set(n, value),
        f"addr_{_short}": lambda t, offset, n=_name: t._set(n, f"(f << 2) + {offset}"),
        f"load_{_short}": lambda t, address, n=_name: t._set(n, f"c[{address >> 2}]"),
        f"load_s_{_short}": lambda t, offset, n=_name: t._set(n, f"c[f + {offset >> 2}]"),
        f"stor_{_short}": lambda t, address, n=_name: t._line(f"c[{address >> 2}] = {t._get(n)}"),
        f"stor_s_{_short}": lambda t, offset, n=_name: t._line(f"c[f + {offset >> 2}] = {t._get(n)}"),
    }
for _count in ("", *"2345"):
    STEPS |= {
        f"push{_count}_c": lambda t, *values: [t._push(str(value)) for value in values],
        f"push{_count}_adr": lambda t, *offsets: [t._push(f"(f << 2) + {offset}") for offset in offsets],
        f"push{_count}_s": lambda t, *offsets: [t._push(f"c[f + {offset >> 2}]") for offset in offsets],
        f"push{_count}": lambda t, *places: [t._push(f"c[{address >> 2}]") for address in places],
    }
