"""StringMap and its snapshot."""

from ..binding import Call, native
from ..machine import NativeError
from ..memory import Buffer, Ref
from .strings import raw

Value = int | str | list[int]


class StringMap(dict[str, Value]):
    """Cells, strings or arrays by name."""


class StringMapSnapshot(list[str]):
    """The keys a map had."""


def _put(data: StringMap, key: str, value: Value, replace: bool) -> bool:
    if not replace and key in data:
        return False
    data[key] = value
    return True


@native("StringMap.StringMap", "CreateTrie")
def map_new(call: Call) -> int:
    return call.open(StringMap())


@native("StringMap.Clone")
def map_clone(call: Call, data: StringMap) -> int:
    return call.open(StringMap(data))


@native("StringMap.SetValue", "SetTrieValue")
def map_set_value(call: Call, data: StringMap, key: str, value: int, replace: bool) -> bool:
    return _put(data, key, value, replace)


@native("StringMap.SetArray", "SetTrieArray")
def map_set_array(call: Call, data: StringMap, key: str, array: Ref, count: int, replace: bool) -> bool:
    return _put(data, key, array.read(count), replace)


@native("StringMap.SetString", "SetTrieString")
def map_set_string(call: Call, data: StringMap, key: str, value: str, replace: bool) -> bool:
    return _put(data, key, value, replace)


@native("StringMap.GetValue", "GetTrieValue")
def map_get_value(call: Call, data: StringMap, key: str, value: Ref) -> bool:
    found = data.get(key)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, int):
        return False
    value.value = found
    return True


@native("StringMap.GetArray", "GetTrieArray")
def map_get_array(call: Call, data: StringMap, key: str, array: Ref, size: int, used: Ref) -> bool:
    found = data.get(key)
    if not isinstance(found, list):
        return False
    array.write(found[:size])
    used.value = min(size, len(found))
    return True


@native("StringMap.GetString", "GetTrieString")
def map_get_string(call: Call, data: StringMap, key: str, buffer: Buffer, used: Ref) -> bool:
    found = data.get(key)
    if not isinstance(found, str):
        return False
    used.value = buffer.write(found)
    return True


@native("StringMap.ContainsKey")
def map_contains(call: Call, data: StringMap, key: str) -> bool:
    return key in data


@native("StringMap.Remove", "RemoveFromTrie")
def map_remove(call: Call, data: StringMap, key: str) -> bool:
    return data.pop(key, None) is not None


@native("StringMap.Clear", "ClearTrie")
def map_clear(call: Call, data: StringMap) -> None:
    data.clear()


@native("StringMap.Size.get", "GetTrieSize")
def map_size(call: Call, data: StringMap) -> int:
    return len(data)


@native("StringMap.Snapshot", "CreateTrieSnapshot")
def map_snapshot(call: Call, data: StringMap) -> int:
    return call.open(StringMapSnapshot(data))


def _key(snapshot: StringMapSnapshot, index: int) -> str:
    if not 0 <= index < len(snapshot):
        raise NativeError(f"Invalid index {index}")
    return snapshot[index]


@native("StringMapSnapshot.Length.get", "TrieSnapshotLength")
def snapshot_length(call: Call, snapshot: StringMapSnapshot) -> int:
    return len(snapshot)


@native("StringMapSnapshot.KeyBufferSize", "TrieSnapshotKeyBufferSize")
def snapshot_key_size(call: Call, snapshot: StringMapSnapshot, index: int) -> int:
    return len(raw(_key(snapshot, index))) + 1


@native("StringMapSnapshot.GetKey", "GetTrieSnapshotKey")
def snapshot_key(call: Call, snapshot: StringMapSnapshot, index: int, buffer: Buffer) -> int:
    return buffer.write(_key(snapshot, index))
