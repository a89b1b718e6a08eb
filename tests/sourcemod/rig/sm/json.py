"""sm-ripext's JSON natives (1.3.2): handles to shared values, 32-bit integers, errors for missing keys."""

import json
import math
from collections.abc import Callable, Iterator
from typing import NoReturn

from ..binding import Call, native
from ..machine import NativeError, to_cell
from ..memory import Buffer
from .files import inside
from .strings import INTEGER

DECODE_ANY, ALLOW_NUL, COMPACT, ENSURE_ASCII, SORT_KEYS = 0x4, 0x10, 0x20, 0x40, 0x80
MAX_INDENT = 0x1F

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]


class JSON:
    """A handle's value; containers are shared with the handles that hold them."""

    def __init__(self, value: Value) -> None:
        self.value = value


class JSONObject(JSON):
    """A handle to an object."""


class JSONArray(JSON):
    """A handle to an array."""


class JSONObjectKeys:
    """The keys of an object, read one by one."""

    def __init__(self, value: Value) -> None:
        self.keys: Iterator[str] = iter(value if isinstance(value, dict) else ())


def wrap(value: Value) -> JSON:
    """A handle's object for `value`."""
    if isinstance(value, dict):
        return JSONObject(value)
    return JSONArray(value) if isinstance(value, list) else JSON(value)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _real(digits: str) -> float:
    if not math.isfinite(float(digits)):
        _refuse(digits)
    return float(digits)


def _whole(digits: str) -> int:
    if not -(1 << 63) <= int(digits) < 1 << 63:
        _refuse(digits)
    return int(digits)


def parse(text: str | None, flags: int = 0) -> Value:
    """Strict UTF-8 JSON of 64-bit integers whose top is an object or an array, as jansson reads it.

    Without text (an empty body) and otherwise a native error says where it is wrong; no real place for no text.
    """
    if text is None:
        raise NativeError("Invalid JSON in line -1, column -1: wrong arguments")
    try:
        text.encode()
        value: Value = json.loads(text, parse_constant=_refuse, parse_int=_whole, parse_float=_real)
        _check(value, flags)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise NativeError(f"Invalid JSON in {place}: {error.msg}") from None
    except ValueError as error:
        raise NativeError(f"Invalid JSON in line 1, column 1: {error}") from None
    return value


def _check(value: Value, flags: int) -> None:
    if not isinstance(value, dict | list) and not flags & DECODE_ANY:
        raise ValueError("'[' or '{' expected")
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str) and "\0" in one and not flags & ALLOW_NUL:
            raise ValueError("\\u0000 is not allowed without JSON_ALLOW_NUL")
        if isinstance(one, dict):
            pending += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            pending += one


def encode(value: Value, flags: int = 0) -> str:
    """The text that jansson writes: by default with a blank after commas and colons, and in UTF-8."""
    separators = (",", ":") if flags & COMPACT else (", ", ": ")
    indent = flags & MAX_INDENT or None
    return json.dumps(
        value, ensure_ascii=bool(flags & ENSURE_ASCII), separators=(",", separators[1]) if indent else separators,
        indent=indent, sort_keys=bool(flags & SORT_KEYS),
    )  # fmt: skip


def _valid(value: Value) -> bool:
    """Whether JSON can hold it: no broken UTF-8, no infinities."""
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, str) or value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def _integer(text: str) -> int:
    match = INTEGER.match(text)
    return min(max(int(match[1]), -(1 << 63)), (1 << 63) - 1) if match else 0


def _member(container: JSON, key: str) -> Value:
    if not isinstance(container.value, dict) or key not in container.value:
        raise NativeError(f"Could not retrieve value for key '{key}'")
    return container.value[key]


def _element(container: JSON, index: int) -> Value:
    if not isinstance(container.value, list) or not 0 <= index < len(container.value):
        raise NativeError(f"Could not retrieve value at index {index}")
    return container.value[index]


def _put(container: JSON, key: int | str, value: Value) -> bool:
    if not _valid(value) or value is container.value:
        return False
    if isinstance(key, str) and isinstance(container.value, dict) and _valid(key):
        container.value[key] = value
        return True
    if isinstance(key, int) and isinstance(container.value, list) and 0 <= key < len(container.value):
        container.value[key] = value
        return True
    return False


def _as_int(value: Value) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _digits(value: Value) -> str:
    """GetInt64 prints into 20 bytes, so the smallest number of all loses its last digit."""
    return str(_as_int(value))[:19]


def _as_float(value: Value) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _read_text(value: Value, buffer: Buffer) -> bool:
    if isinstance(value, str):
        buffer.write(value)
    return isinstance(value, str)


def _provide_reads(prefix: str, key_type: type, find: Callable[[JSON, object], Value]) -> None:
    def read(name: str, function: Callable[..., object], **hints: type) -> None:
        def body(call: Call, container: JSON, key: object) -> object:
            return function(call, find(container, key))

        body.__annotations__ = {"container": JSON, "key": key_type}
        native(f"{prefix}.{name}")(body)

    read("Get", lambda call, value: call.open(wrap(value)))
    read("GetBool", lambda call, value: value is True)
    read("GetFloat", lambda call, value: _as_float(value))
    read("GetInt", lambda call, value: to_cell(_as_int(value)))
    read("IsNull", lambda call, value: value is None)


def _provide_writes(prefix: str, verb: str, key_type: type | None, put: Callable[..., bool]) -> None:
    def write(name: str, value_type: type, convert: Callable[..., Value]) -> None:
        def keyed(call: Call, container: JSON, key: object, value: object) -> bool:
            return put(container, key, convert(value))

        def unkeyed(call: Call, container: JSON, value: object) -> bool:
            return put(container, convert(value))

        body = keyed if key_type else unkeyed
        body.__annotations__ = {"container": JSON, "value": value_type, **({"key": key_type} if key_type else {})}
        native(f"{prefix}.{verb}{name}")(body)

    write("", JSON, lambda json_: json_.value)
    write("Bool", bool, lambda value: value)
    write("Float", float, lambda value: value)
    write("Int", int, lambda value: value)
    write("Int64", str, _integer)


def _push(container: JSON, value: Value) -> bool:
    if not isinstance(container.value, list) or not _valid(value) or value is container.value:
        return False
    container.value.append(value)
    return True


_provide_reads("JSONObject", str, _member)  # type: ignore[arg-type]
_provide_reads("JSONArray", int, _element)  # type: ignore[arg-type]
_provide_writes("JSONObject", "Set", str, _put)
_provide_writes("JSONArray", "Set", int, _put)
_provide_writes("JSONArray", "Push", None, _push)


@native("JSONObject.JSONObject")
def object_new(call: Call) -> int:
    return call.open(JSONObject({}))


@native("JSONArray.JSONArray")
def array_new(call: Call) -> int:
    return call.open(JSONArray([]))


@native("JSONObject.GetString")
def object_string(call: Call, container: JSON, key: str, buffer: Buffer) -> bool:
    return isinstance(container.value, dict) and _read_text(container.value.get(key), buffer)


@native("JSONObject.GetInt64")
def object_int64(call: Call, container: JSON, key: str, buffer: Buffer) -> bool:
    if not isinstance(container.value, dict) or key not in container.value:
        return False
    return bool(buffer.write(_digits(container.value[key])))


@native("JSONArray.GetString")
def array_string(call: Call, container: JSON, index: int, buffer: Buffer) -> bool:
    return _read_text(_element(container, index), buffer)


@native("JSONArray.GetInt64")
def array_int64(call: Call, container: JSON, index: int, buffer: Buffer) -> None:
    buffer.write(_digits(_element(container, index)))


@native("JSONObject.SetString")
def object_set_string(call: Call, container: JSON, key: str, value: str) -> bool:
    return _put(container, key, value)


@native("JSONArray.SetString")
def array_set_string(call: Call, container: JSON, index: int, value: str) -> bool:
    return _put(container, index, value)


@native("JSONArray.PushString")
def array_push_string(call: Call, container: JSON, value: str) -> bool:
    return _push(container, value)


@native("JSONObject.SetNull")
def object_set_null(call: Call, container: JSON, key: str) -> bool:
    return _put(container, key, None)


@native("JSONArray.SetNull")
def array_set_null(call: Call, container: JSON, index: int) -> bool:
    return _put(container, index, None)


@native("JSONArray.PushNull")
def array_push_null(call: Call, container: JSON) -> bool:
    return _push(container, None)


@native("JSONObject.HasKey")
def object_has(call: Call, container: JSON, key: str) -> bool:
    return isinstance(container.value, dict) and key in container.value


@native("JSONObject.Remove")
def object_remove(call: Call, container: JSON, key: str) -> bool:
    present = isinstance(container.value, dict) and key in container.value
    if isinstance(container.value, dict):
        container.value.pop(key, None)
    return present


@native("JSONArray.Remove")
def array_remove(call: Call, container: JSON, index: int) -> bool:
    """False, and no error, for an index that is not there."""
    if not isinstance(container.value, list) or not 0 <= index < len(container.value):
        return False
    del container.value[index]
    return True


@native("JSONObject.Clear", "JSONArray.Clear")
def clear(call: Call, container: JSON) -> bool:
    assert isinstance(container.value, dict | list)
    container.value.clear()
    return True


@native("JSONObject.Size.get", "JSONArray.Length.get")
def size(call: Call, container: JSON) -> int:
    return len(container.value) if isinstance(container.value, dict | list) else 0


@native("JSONObject.Keys")
def object_keys(call: Call, container: JSON) -> int:
    return call.open(JSONObjectKeys(container.value))


@native("JSONObjectKeys.ReadKey")
def read_key(call: Call, keys: JSONObjectKeys, buffer: Buffer) -> bool:
    """The extension walks over the live object: a change meanwhile makes it read freed memory, here an error."""
    try:
        key = next(keys.keys, None)
    except RuntimeError:
        raise NativeError("The object was changed while its keys were read") from None
    if key is not None:
        buffer.write(key)
    return key is not None


@native("JSONObject.FromString", "JSONArray.FromString")
def from_string(call: Call, text: str, flags: int) -> int:
    return call.open(wrap(parse(text, flags)))


@native("JSONObject.FromFile", "JSONArray.FromFile")
def from_file(call: Call, path: str, flags: int) -> int:
    full = inside(call, path)
    if not full.is_file():
        why = "Is a directory" if full.is_dir() else "No such file or directory"
        raise NativeError(f"Invalid JSON in line -1, column -1: unable to open {path}: {why}")
    return call.open(wrap(parse(full.read_text(encoding="utf-8", errors="surrogateescape"), flags)))


@native("JSON.ToString")
def to_string(call: Call, container: JSON, buffer: Buffer, flags: int) -> bool:
    """Cut to the buffer without a word."""
    buffer.write(encode(container.value, flags))
    return True


@native("JSON.ToFile")
def to_file(call: Call, container: JSON, path: str, flags: int) -> bool:
    """False where no file can be made: `json_dump_file` opens it for writing, which empties one that is there."""
    try:
        inside(call, path).write_text(encode(container.value, flags), encoding="utf-8")
    except OSError:
        return False
    return True
