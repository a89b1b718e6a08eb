"""DataPack."""

from ..binding import Call, native
from ..machine import NativeError
from ..memory import Buffer, Ref


class DataPack:
    """Values in order and the position of the next read or write."""

    def __init__(self) -> None:
        self.items: list[object] = []
        self.position = 0

    def write(self, value: object, insert: bool = False) -> None:
        """Put a value at the position: over what is there, or before it."""
        if insert:
            self.items.insert(self.position, value)
        else:
            self.items[self.position : self.position + 1] = [value]
        self.position += 1

    def read(self, kind: type) -> object:
        """The value at the position, which must be of `kind`."""
        if self.position >= len(self.items):
            raise NativeError("Data pack operation is out of bounds.")
        value = self.items[self.position]
        if type(value) is not kind:
            raise NativeError(f"Invalid data pack type (got {type(value).__name__}, expected {kind.__name__}).")
        self.position += 1
        return value


@native("DataPack.DataPack", "CreateDataPack")
def pack_new(call: Call) -> int:
    return call.open(DataPack())


@native("DataPack.WriteCell", "WritePackCell", "DataPack.WriteFunction", "WritePackFunction")
def pack_write_cell(call: Call, pack: DataPack, value: int, *insert: int) -> None:
    pack.write(value, any(insert))


@native("DataPack.WriteFloat", "WritePackFloat")
def pack_write_float(call: Call, pack: DataPack, value: float, *insert: int) -> None:
    pack.write(value, any(insert))


@native("DataPack.WriteString", "WritePackString")
def pack_write_string(call: Call, pack: DataPack, value: str, *insert: int) -> None:
    pack.write(value, any(insert))


@native("DataPack.WriteCellArray", "DataPack.WriteFloatArray")
def pack_write_array(call: Call, pack: DataPack, values: Ref, count: int, insert: bool) -> None:
    pack.write(values.read(count), insert)


@native("DataPack.ReadCell", "ReadPackCell", "DataPack.ReadFunction", "ReadPackFunction")
def pack_read_cell(call: Call, pack: DataPack) -> int:
    return pack.read(int)  # type: ignore[return-value]


@native("DataPack.ReadFloat", "ReadPackFloat")
def pack_read_float(call: Call, pack: DataPack) -> float:
    return pack.read(float)  # type: ignore[return-value]


@native("DataPack.ReadString", "ReadPackString")
def pack_read_string(call: Call, pack: DataPack, buffer: Buffer) -> None:
    buffer.write(str(pack.read(str)))


@native("DataPack.ReadCellArray", "DataPack.ReadFloatArray")
def pack_read_array(call: Call, pack: DataPack, buffer: Ref, count: int) -> None:
    values = pack.read(list)
    assert isinstance(values, list)
    buffer.write(values[:count])


@native("DataPack.Reset", "ResetPack")
def pack_reset(call: Call, pack: DataPack, clear: bool) -> None:
    pack.position = 0
    if clear:
        pack.items.clear()


@native("DataPack.IsReadable", "IsPackReadable")
def pack_readable(call: Call, pack: DataPack, unused: int) -> bool:
    return pack.position < len(pack.items)


@native("DataPack.Position.get", "GetPackPosition")
def pack_position(call: Call, pack: DataPack) -> int:
    return pack.position


@native("DataPack.Position.set", "SetPackPosition")
def pack_seek(call: Call, pack: DataPack, position: int) -> None:
    if not 0 <= position <= len(pack.items):
        raise NativeError(f"Invalid data pack position, {position} is out of bounds")
    pack.position = position
