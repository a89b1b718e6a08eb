"""Values between Python and a plugin's memory: UTF-8 text, cells, floats, arrays."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from .machine import Machine


def float_to_cell(value: float) -> int:
    """The cell that holds `value` as a 32-bit float."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def cell_to_float(cell: int) -> float:
    """The 32-bit float that `cell` holds."""
    return float(struct.unpack("<f", struct.pack("<i", cell))[0])


def cut(raw: bytes, size: int) -> bytes:
    """At most `size` bytes of `raw`, not ending inside a UTF-8 sequence."""
    if len(raw) <= size:
        return raw
    while size > 0 and raw[size] & 0xC0 == 0x80:
        size -= 1
    return raw[:size]


class Memory:
    """One plugin's memory by address. Bytes that are no UTF-8 survive a round trip (surrogateescape)."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def text(self, address: int) -> str:
        """The terminated string at `address`."""
        raw = self.machine.raw
        if not 0 <= address < len(raw):
            self.machine.report_error(f"Invalid memory access at {address}")
        if (end := raw.find(0, address)) < 0:
            raise IndexError(f"no end of the text at {address}")
        return raw[address:end].decode("utf-8", "surrogateescape")

    def write_text(self, address: int, size: int, text: str, *, whole: bool = True) -> int:
        """Store `text` in a buffer of `size` bytes; the bytes written. `whole` characters, or as many bytes as fit."""
        if size <= 0:
            return 0
        raw = text.encode("utf-8", "surrogateescape")
        raw = cut(raw, size - 1) if whole else raw[: size - 1]
        self.write(address, raw + b"\0")
        return len(raw)

    def write(self, address: int, raw: bytes) -> None:
        """Store bytes as they are."""
        self.machine._check_read(address, len(raw))
        self.machine.bytes[address : address + len(raw)] = raw

    def cells(self, address: int, count: int) -> list[int]:
        """`count` cells at `address`."""
        self.machine._check_read(address, 4 * count)
        return list(struct.unpack_from(f"<{count}i", self.machine.bytes, address))

    def write_cells(self, address: int, cells: Sequence[int]) -> None:
        """Store cells one after another."""
        self.write(address, struct.pack(f"<{len(cells)}i", *cells))


class Ref:
    """A by-reference argument of a native."""

    def __init__(self, memory: Memory, address: int) -> None:
        self.memory, self.address = memory, address

    @property
    def value(self) -> int:
        """The cell it refers to."""
        return self.memory.cells(self.address, 1)[0]

    @value.setter
    def value(self, cell: int) -> None:
        self.memory.write_cells(self.address, [int(cell)])

    @property
    def number(self) -> float:
        """The cell it refers to, as a float."""
        return cell_to_float(self.value)

    @number.setter
    def number(self, value: float) -> None:
        self.value = float_to_cell(value)

    def read(self, count: int) -> list[int]:
        """The array it refers to."""
        return self.memory.cells(self.address, count)

    def write(self, cells: Sequence[int]) -> None:
        """Fill the array it refers to."""
        self.memory.write_cells(self.address, cells)


@dataclass(slots=True)
class Buffer:
    """A `char[] buffer, int maxlength` pair of a native."""

    memory: Memory
    address: int
    size: int

    def write(self, text: str, *, whole: bool = True) -> int:
        """Store `text`; the bytes written."""
        return self.memory.write_text(self.address, self.size, text, whole=whole)

    def read(self) -> str:
        """What is in it now."""
        return self.memory.text(self.address)


@dataclass(slots=True)
class Shared:
    """An argument a callback may change: cells or text. `cells` holds what the callback left there."""

    cells: list[int]
    text: str | None = None
    size: int = 0

    @classmethod
    def buffer(cls, size: int, text: str = "") -> "Shared":
        """Room for `size` bytes of text."""
        return cls([], text, size)

    def store(self, machine: Machine, memory: Memory) -> int:
        """Put it on the heap for one call; its address."""
        if self.text is not None:
            address = machine.allocate(self.size)
            memory.write_text(address, self.size, self.text)
        else:
            address = machine.allocate(4 * len(self.cells))
            memory.write_cells(address, self.cells)
        return address

    def fetch(self, memory: Memory, address: int) -> None:
        """Take back what the callback left."""
        if self.text is not None:
            self.text = memory.text(address)
        else:
            self.cells = memory.cells(address, len(self.cells))


class Table(Shared):
    """A two-dimensional array for a callback: the addresses of its rows, then the rows (direct arrays, 1.11 on)."""

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        super().__init__([])
        self.rows = rows

    def store(self, machine: Machine, memory: Memory) -> int:
        """Put it on the heap for one call; its address."""
        count = len(self.rows)
        address = machine.allocate(4 * (count + sum(len(row) for row in self.rows)))
        starts, place = [], address + 4 * count
        for row in self.rows:
            starts.append(place)
            place += 4 * len(row)
        memory.write_cells(address, [*starts, *(cell for row in self.rows for cell in row)])
        return address
