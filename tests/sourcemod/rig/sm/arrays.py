"""ArrayList, ArrayStack and the sorting natives."""

import functools
import struct
from collections.abc import Callable

from ..binding import Call, Callback, native
from ..machine import CELL, NativeError
from ..memory import Buffer, Ref, cell_to_float, cut
from .strings import raw, unraw

ASCENDING, DESCENDING, RANDOM = range(3)
INTEGER, FLOAT, STRING = range(3)


class ArrayList:
    """Blocks of `block` cells, kept as bytes so that text and cells may share them."""

    def __init__(self, block: int, rows: list[bytearray] | None = None) -> None:
        self.block, self.rows = block, rows or []

    @property
    def width(self) -> int:
        """Bytes of one block."""
        return 4 * self.block

    def row(self, index: int) -> bytearray:
        """The block at `index`, or a native error."""
        if not 0 <= index < len(self.rows):
            raise NativeError(f"Invalid index {index} (count: {len(self.rows)})")
        return self.rows[index]

    def cell(self, index: int, block: int = 0) -> int:
        """One cell of one block."""
        row = self.row(index)
        if not 0 <= block < self.block:
            raise NativeError(f"Invalid block {block} (blocksize: {self.block})")
        value: int = CELL.unpack_from(row, 4 * block)[0]
        return value

    def set_cell(self, index: int, value: int, block: int = 0) -> None:
        """Store one cell of one block."""
        self.cell(index, block)
        CELL.pack_into(self.rows[index], 4 * block, value)

    def text(self, index: int) -> str:
        """A block as a string."""
        return unraw(bytes(self.row(index)).split(b"\0")[0])

    def set_text(self, index: int, value: str) -> int:
        """Store a string in a block, cut to fit; the bytes stored."""
        data = cut(raw(value), self.width - 1)
        self.row(index)[: len(data) + 1] = data + b"\0"
        return len(data)

    def append(self) -> int:
        """A new zero block at the end; its index."""
        self.rows.append(bytearray(self.width))
        return len(self.rows) - 1

    def clone(self) -> "ArrayList":
        """A copy that shares nothing."""
        return type(self)(self.block, [bytearray(row) for row in self.rows])


class ArrayStack(ArrayList):
    """An ArrayList used from its end."""


def _copy_in(array: ArrayList, index: int, values: Ref, size: int) -> int:
    count = array.block if size == -1 else min(size, array.block)
    struct.pack_into(f"<{count}i", array.row(index), 0, *values.read(count))
    return count


def _copy_out(array: ArrayList, index: int, buffer: Ref, size: int) -> int:
    count = array.block if size == -1 else min(size, array.block)
    buffer.write(struct.unpack_from(f"<{count}i", array.row(index)))
    return count


@native("ArrayList.ArrayList", "CreateArray")
def array_new(call: Call, block: int, size: int) -> int:
    if block <= 0:
        raise NativeError(f"Invalid block size ({block})")
    return call.open(ArrayList(block, [bytearray(4 * block) for _ in range(size)]))


@native("ArrayList.Clear", "ClearArray")
def array_clear(call: Call, array: ArrayList) -> None:
    array.rows.clear()


@native("ArrayList.Clone", "CloneArray")
def array_clone(call: Call, array: ArrayList) -> int:
    return call.open(array.clone())


@native("ArrayList.Resize", "ResizeArray")
def array_resize(call: Call, array: ArrayList, size: int) -> None:
    del array.rows[size:]
    while len(array.rows) < size:
        array.append()


@native("ArrayList.Push", "PushArrayCell")
def array_push(call: Call, array: ArrayList, value: int) -> int:
    index = array.append()
    array.set_cell(index, value)
    return index


@native("ArrayList.PushString", "PushArrayString")
def array_push_string(call: Call, array: ArrayList, value: str) -> int:
    index = array.append()
    array.set_text(index, value)
    return index


@native("ArrayList.PushArray", "PushArrayArray")
def array_push_array(call: Call, array: ArrayList, values: Ref, size: int) -> int:
    index = array.append()
    _copy_in(array, index, values, size)
    return index


@native("ArrayList.Get", "GetArrayCell")
def array_get(call: Call, array: ArrayList, index: int, block: int, as_char: bool) -> int:
    return array.row(index)[block] if as_char else array.cell(index, block)


@native("ArrayList.GetString", "GetArrayString")
def array_get_string(call: Call, array: ArrayList, index: int, buffer: Buffer) -> int:
    return buffer.write(array.text(index))


@native("ArrayList.GetArray", "GetArrayArray")
def array_get_array(call: Call, array: ArrayList, index: int, buffer: Ref, size: int) -> int:
    return _copy_out(array, index, buffer, size)


@native("ArrayList.Set", "SetArrayCell")
def array_set(call: Call, array: ArrayList, index: int, value: int, block: int, as_char: bool) -> None:
    if as_char:
        array.row(index)[block] = value & 0xFF
    else:
        array.set_cell(index, value, block)


@native("ArrayList.SetString", "SetArrayString")
def array_set_string(call: Call, array: ArrayList, index: int, value: str) -> int:
    return array.set_text(index, value)


@native("ArrayList.SetArray", "SetArrayArray")
def array_set_array(call: Call, array: ArrayList, index: int, values: Ref, size: int) -> int:
    return _copy_in(array, index, values, size)


@native("ArrayList.ShiftUp", "ShiftArrayUp")
def array_shift_up(call: Call, array: ArrayList, index: int) -> None:
    array.row(index)
    array.rows.insert(index, bytearray(array.width))


@native("ArrayList.Erase", "RemoveFromArray")
def array_erase(call: Call, array: ArrayList, index: int) -> None:
    array.row(index)
    del array.rows[index]


@native("ArrayList.SwapAt", "SwapArrayItems")
def array_swap(call: Call, array: ArrayList, a: int, b: int) -> None:
    array.rows[a], array.rows[b] = array.row(b), array.row(a)


@native("ArrayList.FindString", "FindStringInArray")
def array_find_string(call: Call, array: ArrayList, item: str) -> int:
    return next((i for i in range(len(array.rows)) if array.text(i) == item), -1)


@native("ArrayList.FindValue", "FindValueInArray")
def array_find_value(call: Call, array: ArrayList, item: int, block: int) -> int:
    return next((i for i in range(len(array.rows)) if array.cell(i, block) == item), -1)


@native("ArrayList.Length.get", "GetArraySize")
def array_length(call: Call, array: ArrayList) -> int:
    return len(array.rows)


@native("ArrayList.BlockSize.get", "GetArrayBlockSize", "ArrayStack.BlockSize.get", "GetStackBlockSize")
def array_block_size(call: Call, array: ArrayList) -> int:
    return array.block


@native("ArrayList.Sort", "SortADTArray")
def array_sort(call: Call, array: ArrayList, order: int, kind: int) -> None:
    keys: dict[int, Callable[[bytearray], object]] = {
        INTEGER: lambda row: int.from_bytes(row[:4], "little", signed=True),
        FLOAT: lambda row: cell_to_float(int.from_bytes(row[:4], "little", signed=True)),
        STRING: lambda row: bytes(row).split(b"\0")[0],
    }
    if order == RANDOM:
        call.sm.random.shuffle(array.rows)
    else:
        array.rows.sort(key=keys[kind], reverse=order == DESCENDING)  # type: ignore[arg-type]


@native("ArrayList.SortCustom", "SortADTArrayCustom")
def array_sort_custom(call: Call, array: ArrayList, compare: Callback, data: int) -> None:
    """The comparator sees indices, and what it reads there must not move while it is compared: sort a copy."""
    handle = call.sm.handles.find(array)
    order = sorted(range(len(array.rows)), key=functools.cmp_to_key(lambda a, b: compare(a, b, handle, data) or 0))
    array.rows[:] = [array.rows[i] for i in order]


def _sort_cells(call: Call, array: Ref, size: int, order: int, key: Callable[[int], float]) -> None:
    cells = array.read(size)
    if order == RANDOM:
        call.sm.random.shuffle(cells)
    array.write(cells if order == RANDOM else sorted(cells, key=key, reverse=order == DESCENDING))


@native()
def SortIntegers(call: Call, array: Ref, size: int, order: int) -> None:
    _sort_cells(call, array, size, order, lambda cell: cell)


@native()
def SortFloats(call: Call, array: Ref, size: int, order: int) -> None:
    _sort_cells(call, array, size, order, cell_to_float)


@native()
def SortCustom1D(call: Call, array: Ref, size: int, compare: Callback, data: int) -> None:
    key = functools.cmp_to_key(lambda a, b: compare(a, b, array.address, data) or 0)
    array.write(sorted(array.read(size), key=key))


@native("ArrayStack.ArrayStack", "CreateStack")
def stack_new(call: Call, block: int) -> int:
    return call.open(ArrayStack(block))


@native("ArrayStack.Push", "PushStackCell")
def stack_push(call: Call, stack: ArrayStack, value: int) -> None:
    stack.set_cell(stack.append(), value)


@native("ArrayStack.PushString", "PushStackString")
def stack_push_string(call: Call, stack: ArrayStack, value: str) -> None:
    stack.set_text(stack.append(), value)


@native("ArrayStack.PushArray", "PushStackArray")
def stack_push_array(call: Call, stack: ArrayStack, values: Ref, size: int) -> None:
    _copy_in(stack, stack.append(), values, size)


def _top(stack: ArrayStack) -> int:
    if not stack.rows:
        raise NativeError("Stack is empty")
    return len(stack.rows) - 1


@native("ArrayStack.Pop")
def stack_pop(call: Call, stack: ArrayStack, block: int, as_char: bool) -> int:
    top = _top(stack)
    value = stack.row(top)[block] if as_char else stack.cell(top, block)
    del stack.rows[top]
    return value


@native("ArrayStack.PopString")
def stack_pop_string(call: Call, stack: ArrayStack, buffer: Buffer, written: Ref) -> None:
    written.value = buffer.write(stack.text(_top(stack)))
    del stack.rows[-1]


@native("ArrayStack.PopArray")
def stack_pop_array(call: Call, stack: ArrayStack, buffer: Ref, size: int) -> None:
    _copy_out(stack, _top(stack), buffer, size)
    del stack.rows[-1]


@native("ArrayStack.Empty.get", "IsStackEmpty")
def stack_empty(call: Call, stack: ArrayStack) -> bool:
    return not stack.rows
