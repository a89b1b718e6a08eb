"""Bytecode as Python: each function of a plugin becomes one function of Python, made when it is first called.

Such a function takes the machine and the index of its frame's cell, and returns what PRI holds at its end. A run of
instructions begins at the function's start or where a jump leads, goes on past jumps that are not taken, and ends where
it cannot go on; runs are branches of one loop. Within a run registers are expressions, and what was pushed last is kept
in variables: a value gets to the plugin's memory when something could see it there. The compiler leaves the stack
equally deep on every way to an instruction, so all places on it are known.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

from smx.opcodes import SourcePawnInstructionParam, opcodes

if TYPE_CHECKING:
    from .machine import Image

Function = Callable[[Any, int], int]

LONGEST = 60
"""Instructions of one run that repeats what others have."""
MARGIN = 256
"""Bytes that must stay free between heap and stack, as SourceMod demands."""

IDLE = {"break", "nop", "proc", "endproc"}
COMPARISONS = {"eq": "==", "neq": "!=", "sless": "<", "sleq": "<=", "sgrtr": ">", "sgeq": ">="}
JUMPS = {f"j{name}": operator for name, operator in COMPARISONS.items()}
TESTS = {name: f"{{p}} {operator} {{a}}" for name, operator in COMPARISONS.items()} | {
    "not_": "not {p}",
    "eq_c_pri": "{p} == {n}",
    "eq_c_alt": "{a} == {n}",
}
"""What leaves 0 or 1 in PRI."""
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
PLAIN = {"and_": "{p} & {a}", "or_": "{p} | {a}", "xor": "{p} ^ {a}"}
"""What leaves PRI within 32 bits."""
HEAP = {"heap", "heap_save", "heap_restore", "genarray", "genarray_z"}


def wrapped(value: str) -> str:
    """An expression as a signed 32-bit cell."""
    return f"({value} + 2147483648 & 4294967295) - 2147483648"


@dataclass(frozen=True, slots=True)
class Value:
    """A cell as an expression that may be written more than once."""

    text: str

    @property
    def condition(self) -> str:
        """Whether it is not 0."""
        return self.text


class Number(Value):
    """One that is known."""

    def __init__(self, number: int) -> None:
        super().__init__(f"({number})" if number < 0 else str(number))

    @property
    def number(self) -> int:
        return int(self.text.strip("()"))


class Test(Value):
    """What a comparison leaves."""

    @property
    def condition(self) -> str:
        return self.text.removeprefix("(1 if ").removesuffix(" else 0)")


class Place(Value):
    """The address of a cell that is there."""

    @property
    def cell(self) -> str:
        """Its index."""
        return self.text[1:].removesuffix(" << 2)")


def place(cell: str) -> Place:
    """The address of a cell by its index."""
    return Place(f"({cell} << 2)")


class Functions(dict[int, Function]):
    """The functions of a plugin by their address."""

    def __init__(self, image: "Image") -> None:
        super().__init__()
        self.memory: int = image.memsize
        self.code: bytes = image.base[image.pcode.pcode :][: image.pcode.size]
        self.data: bytes = image.base[image.data :][: image.datasize]
        self.names: dict[str, Any] = {}
        """What the functions see: each other, and constants."""
        self.places: dict[CodeType, list[int]] = {}
        """The address of the instruction that each line of a function is about."""

    def __missing__(self, at: int) -> Function:
        translation = Translation(self, at)
        text, places = translation.function()
        exec(compile(text, f"<code at {at:#x}>", "exec"), self.names)
        made: Function = self.names[f"f{at}"]
        self.places[made.__code__] = places
        self[at] = made
        return made

    def name(self, at: int) -> str:
        """The name of a function for another that calls it."""
        name = f"f{at}"
        self.names.setdefault(name, lambda machine, frame: self[at](machine, frame))
        return name

    def cell(self, at: int) -> int:
        """The cell of the code at `at`."""
        value: int = struct.unpack_from("<i", self.code, at)[0]
        return value

    def native(self, at: int) -> int | None:
        """Which native the instruction at `at` calls, if it calls one."""
        return self.cell(at + 4) if opcodes[self.cell(at) & 0xFFFF].method == "sysreq_n" else None


class Translation:
    """One function on its way to Python."""

    def __init__(self, functions: Functions, start: int) -> None:
        self.functions, self.start = functions, start
        self.runs: dict[int, list[tuple[str, int]]] = {}
        """Lines, and the instructions they are about, by where a run begins."""
        self.depths = {start: 0}
        """Cells of the frame that are on the stack where a run begins."""
        self.deepest = self.count = 0
        self.scoped = False
        """Whether something on the heap has to go when the function ends."""

    def function(self) -> tuple[str, list[int]]:
        """Its text, and the instruction that each line is about."""
        while waiting := self.depths.keys() - self.runs.keys():
            self._run(min(waiting))
        head = [f"def f{self.start}(m, f):", " c = m.cells; n = m.natives; z = f << 2; p = a = 0"]
        head.append(f" if z - {4 * self.deepest + MARGIN} < m.HEA: m.overflow()")
        if self.scoped:
            head.append(" h = m.HEA; q = m._hp_scope")
        lines = [(line, self.start) for line in head]
        if len(self.runs) == 1:
            lines += [(f" {line}", at) for line, at in self.runs[self.start]]
        else:
            lines += [(f" b = {self.start}", self.start), (" while True:", self.start)]
            lines += self._choice(sorted(self.runs), "  ")
        return "\n".join(line for line, _ in lines), [self.start, *(at for _, at in lines)]

    def _choice(self, starts: list[int], indent: str) -> list[tuple[str, int]]:
        """Find the run of the address `b` by halves."""
        if len(starts) == 1:
            return [(indent + line, at) for line, at in self.runs[starts[0]]]
        half = len(starts) // 2
        lower, upper = (self._choice(part, indent + " ") for part in (starts[:half], starts[half:]))
        at = starts[half]
        return [(f"{indent}if b < {at}:", at), *lower, (f"{indent}else:", at), *upper]

    def _run(self, start: int) -> None:
        self.lines: list[tuple[str, int]] = []
        self.runs[start] = self.lines
        self.p: Value = Value("p")
        self.a: Value = Value("a")
        self.limits: dict[Value, int] = {}
        """What indices were found to be at most."""
        self.down = self.depths[start]
        self.pushed: list[Value] = []
        """What is on top of the stack, but not in memory."""
        self.at, seen = start, set[int]()
        following: int | None = start
        while following is not None:
            if following in seen or len(seen) >= LONGEST or (seen and following in self.depths and len(seen) > 20):
                self._go(following)
                break
            seen.add(following)
            self.at = following
            following = self._instruction()

    def _instruction(self) -> int | None:
        """Translate one: where to go on, or None where the run ends."""
        name, method, kinds, _ = opcodes[self.functions.cell(self.at) & 0xFFFF]
        values = [self.functions.cell(self.at + 4 * (number + 1)) for number in range(len(kinds))]
        following = self.at + 4 * (1 + len(kinds))
        self.scoped |= method in HEAP
        if name in IDLE:
            return following
        if method in ENDS:
            return ENDS[method](self, *values)
        if method in JUMPS:
            self._jump_if(f"{self.p.text} {JUMPS[method]} {self.a.text}", *values)
        elif method in TESTS:
            self._test(TESTS[method], *values)
        elif method in WRAPPED or method in PLAIN:
            self._calculate(method, *values)
        elif method in STEPS:
            STEPS[method](self, *values)
        else:
            on_stack = [kind is SourcePawnInstructionParam.STACK for kind in kinds]
            self._by_pysmx(method, *(f"z + {v}" if s else str(v) for v, s in zip(values, on_stack, strict=True)))
        return following

    def _line(self, text: str) -> None:
        self.lines.append((text, self.at))

    def _name(self, text: str) -> Value:
        """A variable that keeps what an expression gives now."""
        self.count += 1
        self._line(f"t{self.count} = {text}")
        return Value(f"t{self.count}")

    # The stack: cells are counted down from the frame's.

    def _cell(self, offset: int) -> str:
        """The index of a cell by its offset from the frame, in bytes."""
        return f"f + {offset >> 2}" if offset > 0 else f"f - {-offset >> 2}"

    def _top(self) -> str:
        return f"z - {4 * self.down}"

    def _push(self, value: Value) -> None:
        self.pushed.append(value)
        self.down += 1
        self.deepest = max(self.deepest, self.down)

    def _pop(self) -> Value:
        value = self.pushed.pop() if self.pushed else self._name(f"c[f - {self.down}]")
        self.down -= 1
        return value

    def _writes(self) -> list[str]:
        """What memory lacks."""
        first = self.down - len(self.pushed) + 1
        return [f"c[f - {first + number}] = {value.text}" for number, value in enumerate(self.pushed)]

    def _write_pushed(self) -> None:
        for line in self._writes():
            self._line(line)
        self.pushed = []

    def _stack(self, size: int) -> None:
        """Take cells from the stack, or make room that nobody has written to."""
        self.a = place(f"f - {self.down}")
        if size < 0:
            self._write_pushed()
            self.down -= size // 4
            self.deepest = max(self.deepest, self.down)
        for _ in range(size // 4):
            self.pushed[-1:] = []
            self.down -= 1

    def _load(self, offset: int) -> Value:
        number = -offset // 4 - (self.down - len(self.pushed)) - 1
        return self.pushed[number] if offset < 0 <= number else self._name(f"c[{self._cell(offset)}]")

    def _store(self, offset: int, value: Value) -> None:
        number = -offset // 4 - (self.down - len(self.pushed)) - 1
        if offset < 0 <= number:
            self.pushed[number] = value
        else:
            self._line(f"c[{self._cell(offset)}] = {value.text}")

    def _address(self, offset: int) -> Value:
        """The address of a variable, through which it may be read from now on."""
        self._write_pushed()
        return place(self._cell(offset))

    # Memory

    def _read(self, address: Value) -> Value:
        if isinstance(address, Place):
            return self._name(f"c[{address.cell}]")
        a, memory = address.text, self.functions.memory
        return self._name(f"c[{a} >> 2] if 0 <= {a} < {memory} and not {a} & 3 else m.read({a})")

    def _write(self, address: Value, value: Value) -> None:
        if isinstance(address, Place):
            self._line(f"c[{address.cell}] = {value.text}")
            return
        a, top = address.text, self._top()
        self._line(f"if {a} & 3 or not (0 <= {a} < m.HEA or {top} <= {a} < {self.functions.memory}):")
        self._line(f" m.STK = {top}; m.write({a}, {value.text})")
        self._line(f"else: c[{a} >> 2] = {value.text}")

    def _read_byte(self, size: int) -> None:
        p = self.p.text
        if size == 1:
            self.p = self._name(f"m.bytes[{p}] if 0 <= {p} < {self.functions.memory} else m.read({p})")
        else:
            self._by_pysmx("lodb_i", str(size))

    def _initialise(self, address: int, vectors: int, copied: int, filled: int, value: int) -> None:
        """An array's first contents, known before but for the addresses of rows."""
        if vectors:
            return self._by_pysmx("initarray_pri", *map(str, (address, vectors, copied, filled, value)))
        contents = self.functions.data[address : address + 4 * copied] + struct.pack("<i", value) * filled
        self.functions.names[f"contents{self.at}"] = contents
        p = self.p.text
        self._line(f"m.STK = {self._top()}; m._throw_if_bad_addr({p})")
        self._line(f"m.bytes[{p}:{p} + {len(contents)}] = contents{self.at}")
        return None

    # Instructions that do something and go on

    def _test(self, form: str, number: int = 0) -> None:
        self.p = Test(f"(1 if {form.format(p=self.p.text, a=self.a.text, n=number)} else 0)")

    def _calculate(self, method: str, number: int = 0) -> None:
        p, a, n = self.p, self.a, Number(number)
        if method == "add_c" or (method == "add" and isinstance(p, Number) != isinstance(a, Number)):
            one, other = (p, n) if method == "add_c" else (p, a) if isinstance(a, Number) else (a, p)
            if isinstance(one, Place) and isinstance(other, Number) and not other.number & 3:
                self.p = place(f"{one.cell} + {other.number >> 2}")
                return
        if method == "idxaddr" and (isinstance(p, Number) or p in self.limits):
            if isinstance(a, Number) and not a.number & 3:
                self.p = place(f"{p.text} + {a.number >> 2}")
                return
            if isinstance(a, Place):
                self.p = place(f"{a.cell} + {p.text}")
                return
        if method in WRAPPED:
            self.p = self._name(wrapped(WRAPPED[method].format(p=p.text, a=a.text, n=n.text)))
        else:
            self.p = self._name(PLAIN[method].format(p=p.text, a=a.text))

    def _add_to(self, offset: int, number: int) -> None:
        self._store(offset, self._name(wrapped(f"{self._load(offset).text} + {number}")))

    def _bounds(self, limit: int) -> None:
        p = self.p
        if not (isinstance(p, Number) and 0 <= p.number <= limit):
            if not isinstance(p, Number):
                p = self.p = p if p.text.isidentifier() else self._name(p.text)
                self.limits[p] = limit
            self._line(f"if not 0 <= {p.text} <= {limit}: m.report_out_of_bounds_error({p.text}, {limit})")

    def _native(self, index: int, count: int) -> None:
        cells = [self._pop().text for _ in range(count)]
        self._line(f"m.STK = z - {4 * (self.down + count + 1)}")
        self.p = self._name(f"n[{index}]([{', '.join(cells)}])")

    def _call(self, function: int) -> None:
        self._write_pushed()
        count = self.functions.cell(self.at - 4)
        assert opcodes[self.functions.cell(self.at - 8) & 0xFFFF].method == "push_c"
        self.p = self._name(f"{self.functions.name(function)}(m, f - {self.down + 2})")
        self.down -= count + 1

    def _heap(self, size: int) -> None:
        self._line(f"m.STK = {self._top()}")
        self.a = self._name(f"m._heap_alloc({size})")

    def _scope(self, method: str) -> None:
        self._line(f"m.STK = {self._top()}; m.{method}()")

    def _by_pysmx(self, method: str, *values: str) -> None:
        """Instructions that are rare, or that need more of the machine."""
        self._write_pushed()
        self._line(f"m.PRI = {self.p.text}; m.ALT = {self.a.text}; m.STK = {self._top()}; m.FRM = z")
        self._line(f"m.instructions.{method}({', '.join(['m', *values])})")
        self.p, self.a = self._name("m.PRI"), self._name("m.ALT")
        if method.startswith("genarray"):
            self.down -= int(values[0]) - 1

    # Instructions that end a run, or may

    def _leave(self, to: str) -> list[str]:
        registers = [("p", self.p.text), ("a", self.a.text)]
        changes = [(name, text) for name, text in registers if name != text]
        names, texts = ", ".join(name for name, _ in changes), ", ".join(text for _, text in changes)
        return [*self._writes(), *([f"{names} = {texts}"] if changes else []), f"b = {to}", "continue"]

    def _to(self, target: int) -> None:
        """Let a run begin at `target`."""
        depth = self.depths.setdefault(target, self.down)
        assert depth == self.down, f"{target:#x} is reached with {depth} and with {self.down} cells on the stack"

    def _go(self, target: int) -> None:
        self._to(target)
        for line in self._leave(str(target)):
            self._line(line)

    def _jump_if(self, condition: str, to: int) -> None:
        self._to(to)
        self._line(f"if {condition}: {'; '.join(self._leave(str(to)))}")

    def _jump_if_zero(self, to: int) -> None:
        p, condition = self.p, self.p.condition
        self.p = Number(0) if isinstance(p, Test) else p
        self._jump_if(f"not ({condition})", to)
        self.p = Number(1) if isinstance(p, Test) else p

    def _jump_if_not_zero(self, to: int) -> None:
        p, condition = self.p, self.p.condition
        self.p = Number(1) if isinstance(p, Test) else p
        self._jump_if(condition, to)
        self.p = Number(0) if isinstance(p, Test) else p

    def _return(self) -> None:
        self._line(f"{'m.HEA = h; m._hp_scope = q; ' if self.scoped else ''}return {self.p.text}")

    def _switch(self, table: int) -> None:
        count, default = self.functions.cell(table + 4), self.functions.cell(table + 8)
        rows = [table + 12 + 8 * number for number in reversed(range(count))]
        cases = {self.functions.cell(row): self.functions.cell(row + 4) for row in rows}
        self.functions.names[f"cases{table}"] = cases
        for target in {default, *cases.values()}:
            self._to(target)
        for line in self._leave(f"cases{table}.get({self.p.text}, {default})"):
            self._line(line)

    def _set(self, name: str, value: Value) -> None:
        setattr(self, name, value)

    def _exchange(self) -> None:
        self.p, self.a = self.a, self.p


Step = Callable[..., Any]

ENDS: dict[str, Callable[..., int | None]] = {
    "jump": lambda t, to: to,
    "retn": Translation._return,
    "switch": Translation._switch,
}

STEPS: dict[str, Step] = {
    "bounds": Translation._bounds,
    "heap": Translation._heap,
    "heap_save": lambda t: t._scope("_enter_heap_scope"),
    "heap_restore": lambda t: t._scope("_leave_heap_scope"),
    "jzer": Translation._jump_if_zero,
    "jnz": Translation._jump_if_not_zero,
    "sysreq_n": Translation._native,
    "call": Translation._call,
    "initarray_pri": Translation._initialise,
    "stack": Translation._stack,
    "xchg": Translation._exchange,
    "move_pri": lambda t: t._set("p", t.a),
    "move_alt": lambda t: t._set("a", t.p),
    "lodb_i": Translation._read_byte,
    "load_i": lambda t: t._set("p", t._read(t.p)),
    "stor_i": lambda t: t._write(t.a, t.p),
    "inc": lambda t, address: t._line(f"c[{address >> 2}] = {wrapped(f'c[{address >> 2}] + 1')}"),
    "dec": lambda t, address: t._line(f"c[{address >> 2}] = {wrapped(f'c[{address >> 2}] - 1')}"),
    "inc_s": lambda t, offset: t._add_to(offset, 1),
    "dec_s": lambda t, offset: t._add_to(offset, -1),
    "zero": lambda t, address: t._line(f"c[{address >> 2}] = 0"),
    "zero_s": lambda t, offset: t._store(offset, Number(0)),
    "const_": lambda t, address, value: t._line(f"c[{address >> 2}] = {value}"),
    "const_s": lambda t, offset, value: t._store(offset, Number(value)),
    "load_both": lambda t, *places: [t._set(n, t._name(f"c[{v >> 2}]")) for n, v in zip("pa", places, strict=True)],
    "load_s_both": lambda t, *places: [t._set(n, t._load(v)) for n, v in zip("pa", places, strict=True)],
}
for _short, _name in (("pri", "p"), ("alt", "a")):
    STEPS |= {
        f"push_{_short}": lambda t, n=_name: t._push(getattr(t, n)),
        f"pop_{_short}": lambda t, n=_name: t._set(n, t._pop()),
        f"zero_{_short}": lambda t, n=_name: t._set(n, Number(0)),
        f"const_{_short}": lambda t, value, n=_name: t._set(n, Number(value)),
        f"addr_{_short}": lambda t, offset, n=_name: t._set(n, t._address(offset)),
        f"load_{_short}": lambda t, address, n=_name: t._set(n, t._name(f"c[{address >> 2}]")),
        f"load_s_{_short}": lambda t, offset, n=_name: t._set(n, t._load(offset)),
        f"stor_{_short}": lambda t, address, n=_name: t._line(f"c[{address >> 2}] = {getattr(t, n).text}"),
        f"stor_s_{_short}": lambda t, offset, n=_name: t._store(offset, getattr(t, n)),
        f"lref_s_{_short}": lambda t, offset, n=_name: t._set(n, t._read(t._load(offset))),
        f"sref_s_{_short}": lambda t, offset, n=_name: t._write(t._load(offset), getattr(t, n)),
    }
for _count in ("", *"2345"):
    STEPS |= {
        f"push{_count}_c": lambda t, *values: [t._push(Number(value)) for value in values],
        f"push{_count}_adr": lambda t, *offsets: [t._push(t._address(offset)) for offset in offsets],
        f"push{_count}_s": lambda t, *offsets: [t._push(t._load(offset)) for offset in offsets],
        f"push{_count}": lambda t, *places: [t._push(t._name(f"c[{address >> 2}]")) for address in places],
    }
